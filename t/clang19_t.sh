#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Ordinary programs that clang 19 has built: its entries of 32 bytes, its bitcode,
# its calls, linked with libompjit-omptarget. Programs of t/programs, on both
# devices, and shared libraries with kernels of one name. (t/rex_t.sh has those
# of source-to-source compilers, t/built_t.sh those of clang 22.)
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/dropin/built.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY OMPJIT_CACHE
OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE_DIR
! lacks clang-19 "programs of clang 19's" || { done_testing; exit; }
omp_h=$(dirname "$(find "$(dirname "$(dirname "$(readlink -f "$CLANG")")")/lib" \
    -name omp.h | head -n 1)")

# objects19 OUT OPTION... -- FILE: $objects, and one that registers the image
objects19() {
    objects_out=$tmp/$1-19 objects_flags=; shift
    while [ "$1" != -- ]; do
        objects_flags="$objects_flags $1"; shift
    done
    for half in device host; do
        # shellcheck disable=SC2086 # several words
        clang-19 -fopenmp --offload-arch=sm_90 -nogpulib -O2 $objects_flags \
            -idirafter "$omp_h" --offload-$half-only \
            $([ $half = host ] || echo -emit-llvm) -c "$2" \
            -o "$objects_out.$half" || return
    done
    "$builddir/clang-tools/llvm-offload-binary" -o "$objects_out.image" \
        "--image=file=$objects_out.device,triple=nvptx64-nvidia-cuda,arch=sm_90" &&
        "$CLANG" -fPIC -DENTRIES='"omp_offloading_entries"' \
            "-DIMAGE=\"$objects_out.image\"" -c "$from/image.c" \
            -o "$objects_out.o" &&
        mv "$objects_out.host" "$objects_out.host.o" &&
        objects="$objects_out.host.o $objects_out.o"
}
# built19 OUT OPTION... -- FILE, shared19 OUT OPTION... -- FILE: $tmp/OUT
# shellcheck disable=SC2086
built19() {
    objects19 "$@" && "${CXX:-c++}" $objects -o "$tmp/$1" $dropin "$LIBOMP" -lm
}
# shellcheck disable=SC2086
shared19() {
    objects19 "$@" &&
        "${CC:-cc}" -shared $objects -o "$tmp/$1" $dropin "$LIBOMP"
}
# shellcheck disable=SC2086
shared22() {
    objects "$@" && "${CC:-cc}" -shared $objects -o "$tmp/$1" $dropin "$LIBOMP"
}
says() { sed -n "s,^// $2: ,,p" "$1"; }
prints() {
    text=$1; shift
    succeeds "$@"
    is "$out" "$text" "  prints what it must"
}

for name in call_table.c constructors.cpp counted_wait.c function_map.c \
    generic_region.c geometry.c inline_variables.cpp operator_new.cpp \
    shared_locals.c state_machine.c strides.c turns.c votes.c; do
    program=$srcdir/t/programs/$name
    threads=$(says "$program" options | sed -n 's/.*--threads=\([0-9]*\).*/\1/p')
    rm -f "$tmp/program"
    succeeds "$name" built19 program -- "$program"
    like "$(readelf -SW "$tmp/program")" ' omp_offloading_entries ' \
        "  has entries of clang 19's"
    expect=$(says "$program" expect)
    prints "$expect" "  on the host device" timeout 120 env OMPJIT_DEVICE=host \
        OMPJIT_HOST_MEMORY=separate ${threads:+OMPJIT_THREADS=$threads} \
        "$tmp/program" host
    succeeds "  doctor" "$ompjit" doctor "$tmp/program"
    [ -e "${PTXI:-}/libcuda.so.1" ] || continue
    expect_cuda=$(says "$program" "expect cuda")
    prints "${expect_cuda:-$expect}" "  as PTX" timeout 120 env \
        LD_LIBRARY_PATH="$PTXI" OMPJIT_DEVICE=cuda OMPJIT_ASSEMBLER=driver \
        OMPJIT_TEAMS=4 OMPJIT_THREADS="${threads:-32}" "$tmp/program" cuda
done

# Two shared libraries, and a third of clang 22's, in one process.
for factor in 2 3; do
    succeeds "library $factor" shared19 lib$factor.so -fPIC -DFACTOR=$factor \
        -- "$from/library.c"
done
succeeds "clang 22's" shared22 lib4.so -fPIC -DFACTOR=4 -- "$from/library.c"
succeeds "a program that loads them" "${CC:-cc}" "$from/loader.c" \
    -o "$tmp/loader" -ldl -lpthread
for how in "twice 1" "again 20"; do
    # shellcheck disable=SC2086
    prints "0 wrong" "  $how" timeout 120 env OMPJIT_DEVICE=host "$tmp/loader" \
        $how "$tmp/lib2.so" "$tmp/lib3.so" "$tmp/lib4.so"
done
done_testing
