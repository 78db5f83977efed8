#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs as they are built, t/dropin: those of source-to-source compilers, with
# entries of their own, and those of clang, are linked with libompjit-omptarget
# and find their kernels in the images that they register.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/dropin/built.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY OMPJIT_CACHE
OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE_DIR
succeeds "device code" "$ompjit" compile "$from/kernels.c" -o "$tmp/k.bc"
"$ompjit" inspect "$from/kernels.c" >"$tmp/inspect"
symbol() { sed -n "s/^ *symbol *\(.*_$1_l[0-9]*\)\$/\1/p" "$tmp/inspect"; }
scale=$(symbol scale)
add=$(symbol add)

# rex NAME OPTION...: rex.c as an executable
rex() {
    rex_name=$1; shift
    # shellcheck disable=SC2086 # several words
    succeeds "$rex_name is linked" "${CC:-cc}" -DSCALE="\"$scale\"" "-DADD=\"$add\"" \
        "$@" "$from/rex.c" "$from/register.c" -o "$tmp/$rex_name" $dropin
}
rex program
expect="entries 2 failures 0 wrong 0"
for memory in auto separate shared; do
    succeeds "it runs, memory $memory" env OMPJIT_DEVICE=host \
        OMPJIT_HOST_MEMORY=$memory "$tmp/program" "$tmp/k.bc"
    is "$out" "$expect" "  right"
done
succeeds "under ompjit run" "$ompjit" run --device=host -DSCALE="\"$scale\"" \
    -DADD="\"$add\"" "$from/rex.c" "$from/register.c" -- "$tmp/k.bc"
is "$out" "$expect" "  right"
if [ -n "$PTXI" ]; then
    succeeds "as PTX" emulated "$tmp/program" "$tmp/k.bc"
    is "$out" "$expect" "  right"
else
    skip "as PTX" "no PTXI"
fi

# Machine code and PTX in place of bitcode.
for arch in sm_75 sm_90; do
    succeeds "PTX for $arch" "$ompjit" compile "$from/kernels.c" --arch $arch \
        -o "$tmp/$arch.ptx"
done
if [ -n "$PTXI" ]; then
    for arch in sm_75 sm_90; do
        succeeds "it runs" emulated "$tmp/program" "$tmp/$arch.ptx"
        is "$out" "$expect" "  right"
    done
else
    skip "it runs" "no PTXI"
fi
status_is 1 "no code for the host device: launches return that" \
    env OMPJIT_DEVICE=host "$tmp/program" "$tmp/sm_90.ptx"
is "$out" "entries 2 failures 6 wrong 99" "  and do nothing"
fails_with "has no code for host; it has PTX for sm_90" \
    "where offloading is mandatory that is an error" env OMPJIT_DEVICE=host \
    OMP_TARGET_OFFLOAD=mandatory "$tmp/program" "$tmp/sm_90.ptx"

# Several images: the best one, and why.
for arch in sm_70 sm_75 sm_80 sm_120; do
    printf '%s\n' "--image=file=$tmp/k.bc,triple=nvptx64-nvidia-cuda,arch=$arch"
done >"$tmp/images"
pack=$builddir/clang-tools/llvm-offload-binary
# shellcheck disable=SC2046 # several words
succeeds "four images" "$pack" -o "$tmp/several" $(cat "$tmp/images")
succeeds "they run" env OMPJIT_DEVICE=host OMPJIT_EXPLAIN=1 "$tmp/program" \
    "$tmp/several"
is "$out" "$expect" "  right"
like "$(cat "$tmp/stderr")" "program: bitcode for sm_120 is taken: the newest IR" \
    "  the host device takes the newest, and says so"
like "$(cat "$tmp/stderr")" "program: bitcode for sm_80 is left out: it is for an older" \
    "  and of the others, why not"
if [ -n "$PTXI" ]; then
    succeeds "as PTX" emulated OMPJIT_EXPLAIN=1 "$tmp/program" "$tmp/several"
    is "$out" "$expect" "  right"
    like "$(cat "$tmp/stderr")" "bitcode for sm_120 is left out: .* newer GPU" \
        "  a GPU takes none that is for a newer one"
    cat "$tmp/sm_75.ptx" >"$tmp/old.ptx"
    succeeds "two texts of PTX" "$ompjit" compile "$from/kernels.c" --arch sm_80 \
        -o "$tmp/new.ptx"
    "${AR:-ar}" rc "$tmp/ptx.a" "$tmp/old.ptx" "$tmp/new.ptx"
    succeeds "they run" emulated OMPJIT_EXPLAIN=1 "$tmp/program" "$tmp/ptx.a"
    like "$(cat "$tmp/stderr")" "PTX for sm_80 is taken on sm_[0-9]*: the best" \
        "  the newest"
    like "$(cat "$tmp/stderr")" "PTX for sm_75 is left out .* older GPU" "  alone"
else
    skip "as PTX" "no PTXI"
fi

# Images that have been linked with a device runtime, as LLVM's device LTO does,
# and with libdevice. Neither is used: this one's functions do nothing.
cat >"$tmp/brought.ll" <<'END'
target triple = "nvptx64-nvidia-cuda"
@__omp_rtl_debug_kind = weak_odr constant i32 0
@state = internal addrspace(3) global i32 0
@llvm.compiler.used = appending global [1 x ptr] [ptr @__omp_rtl_debug_kind]
define internal void @helper() {
  store i32 1, ptr addrspace(3) @state
  call void @llvm.nvvm.cp.async.wait.all()
  ret void
}
define i32 @__kmpc_target_init(ptr %environment, ptr %launch) {
  call void @helper()
  ret i32 0
}
define void @__kmpc_target_deinit() {
  call void @helper()
  ret void
}
define double @__nv_sqrt(double %x) {
  ret double 0.0
}
declare void @llvm.nvvm.cp.async.wait.all()
!llvm.ident = !{!0}
!0 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
END
succeeds "an image with libraries" "$LLVM_BINDIR/llvm-link" "$tmp/k.bc" \
    "$tmp/brought.ll" -o "$tmp/brought.bc"
succeeds "it runs" env OMPJIT_DEVICE=host "$tmp/program" "$tmp/brought.bc"
is "$out" "$expect" "  right"
if [ -n "$PTXI" ]; then
    succeeds "as PTX" emulated "$tmp/program" "$tmp/brought.bc"
    is "$out" "$expect" "  right"
else
    skip "as PTX" "no PTXI"
fi

# Broken identities, each with its own name.
like_program() { fails_with "$1" "$2" env OMPJIT_DEVICE=host "$tmp/$3" "$tmp/$4"; }
right_add=$add
add=${add}x
rex drifted
add=$right_add
like_program "entry for kernel ${add}x, but .* most similar one is $add" \
    "a name that has drifted" drifted k.bc
rex wrong_key -DWRONG_KEY
like_program "no kernel is registered for host address .* nearest .* $add" \
    "a key that is no entry's" wrong_key k.bc
"$ompjit" compile "$from/other.c" -o "$tmp/stale.bc" 2>"$tmp/stale"
head -c 1000 "$tmp/k.bc" >"$tmp/short.bc"
like_program "program: .*device half" "a truncated image" program short.bc
printf 'no code at all' >"$tmp/text"
like_program "image" "an image of no kind" program text

# Programs of clang's.
if lacks objcopy "programs of clang's"; then
    done_testing
    exit
fi
succeeds "two files of clang's" built built -- "$from/program.c" "$from/other.c"
expect="1000 41 42, host 0, devices 1"
succeeds "runs on the host device" env OMPJIT_DEVICE=host "$tmp/built"
is "$out" "$expect" "  right"
succeeds "from the cache" env OMPJIT_DEVICE=host LD_DEBUG=files "$tmp/built"
is "$out" "$expect" "  right"
is "$(grep -c 'file=.*ompjit-compiler' "$tmp/stderr")" 0 "  without a compiler"
succeeds "disabled" env OMP_TARGET_OFFLOAD=disabled "$tmp/built"
is "$out" "1000 41 42, host 1, devices 0" "  on the host"
if [ -n "$PTXI" ]; then
    # Of one region there is only the host version.
    succeeds "as PTX" emulated OMP_TARGET_OFFLOAD=default "$tmp/built"
    is "$out" "$expect" "  right"
else
    skip "as PTX" "no PTXI"
fi
# An image for the CPU, as clang's -fopenmp-targets=x86_64-pc-linux-gnu makes it:
# a shared library, whose kernels are functions.
triple=$("$CLANG" -print-target-triple)
native() {
    for file in program other; do
        "$CLANG" -fopenmp -fopenmp-targets="$triple" --offload-device-only \
            -fPIC -O2 -c "$from/$file.c" -o "$tmp/$file-device.o" &&
            "$CLANG" -fopenmp -fopenmp-targets="$triple" --offload-host-only \
                -O2 -c "$from/$file.c" -o "$tmp/$file-host.o" || return
    done
    # shellcheck disable=SC2086
    "${CC:-cc}" -shared "$tmp/program-device.o" "$tmp/other-device.o" \
        -o "$tmp/native.so" "$LIBOMP" &&
        "$CLANG" "-DIMAGE=\"$tmp/native.so\"" -c "$from/image.c" \
            -o "$tmp/image.o" &&
        "${CC:-cc}" "$tmp/program-host.o" "$tmp/other-host.o" "$tmp/image.o" \
            -o "$tmp/native" $dropin "$LIBOMP"
}
succeeds "machine code for this CPU" native
succeeds "runs" env OMPJIT_DEVICE=host OMP_TARGET_OFFLOAD=mandatory "$tmp/native"
is "$out" "$expect" "  right"

# Shared libraries with kernels of one name.
# shared FACTOR
shared() {
    objects "lib$1" -fPIC "-DFACTOR=$1" -- "$from/library.c" &&
        # shellcheck disable=SC2086
        "${CC:-cc}" -shared $objects -o "$tmp/lib$1.so" $dropin "$LIBOMP"
}
for factor in 2 3 4; do
    succeeds "library $factor" shared $factor
done
succeeds "a program that loads them" "${CC:-cc}" "$from/loader.c" \
    -o "$tmp/loader" -ldl -lpthread
for how in "twice 1" "again 100" "threads 40" "fork 1"; do
    # shellcheck disable=SC2086
    succeeds "$how" timeout 120 env OMPJIT_DEVICE=host "$tmp/loader" $how \
        "$tmp/lib2.so" "$tmp/lib3.so" "$tmp/lib4.so"
    is "$out" "0 wrong" "  right, and takes no more memory"
    if [ -z "$PTXI" ]; then
        skip "  as PTX" "no PTXI"
        continue
    fi
    # The emulated driver calls the dynamic linker under its lock where a thread
    # is new to it, which those that build in the background would be.
    # shellcheck disable=SC2086
    succeeds "  as PTX" timeout 120 env LD_LIBRARY_PATH="$PTXI" \
        OMPJIT_DEVICE=cuda OMPJIT_ASSEMBLER=driver OMPJIT_SPECIALIZE=off \
        "$tmp/loader" $how "$tmp/lib2.so" "$tmp/lib3.so" "$tmp/lib4.so"
    is "$out" "0 wrong" "  right"
done

# LIBOMPTARGET_INFO. told FLAGS: the lines, without addresses
told() {
    env OMPJIT_DEVICE=host OMPJIT_HOST_MEMORY=separate LIBOMPTARGET_INFO="$1" \
        "$tmp/info" 2>&1 | sed 's/0x[0-9a-f]*/P/g; s,[^ ]*/info.c,info.c,
            s/offloading_[0-9a-f_]*main_l[0-9]*/main/; s/ *$//'
}
succeeds "a program with places" built info -gline-tables-only \
    -fopenmp-extensions -- "$from/info.c"
is "$(told 0)" "" "nothing is told that is not asked for"
is "$(told 0x10 | sed 's/\[[0-9,]*\]/[]/g')" \
    '"PluginInterface" device 0 info: Launching kernel __omp_main with [] blocks and [] threads in Generic-SPMD mode' \
    "launches"
is "$(told 1 | sed 's/.*info: //; s/[0-9]*:[0-9]* with/L with/')" \
    "Entering OpenMP data region with being_mapper at info.c:L with 3 arguments:
alloc(a)[256]
tofrom(b)[256]
to(c)[256]
Entering OpenMP kernel at info.c:L with 2 arguments:
tofrom(b)[256]
firstprivate(val)[4]
Updating data within the OpenMP data region with update_mapper at info.c:L with 1 arguments:
from(c[:1])[4]
Exiting OpenMP data region with end_mapper at info.c:L with 3 arguments:
alloc(a)[256]
tofrom(b)[256]
to(c)[256]" "arguments"
is "$(told 2 | grep -c "^omptarget device 0 info: Mapping exists with ")" 5 \
    "what was mapped"
like "$(told 2)" "Size=256, DynRefCount=1 \(incremented\), HoldRefCount=1, Name=b" \
    "  is counted"
like "$(told 2)" "HoldRefCount=1 \(deferred final decrement\), Name=b" \
    "  and at its end"
is "$(told 8 | grep -c "Creating new map entry with HstPtrBase=P, ")" 3 \
    "entries are made"
is "$(told 8 | sed -n 's/.*Removing map entry with HstPtrBegin=P, TgtPtrBegin=P, //p')" \
    "Size=256, Name=a
Size=256, Name=b
Size=256, Name=c" "  and removed"
is "$(told 0x20 | sed 's/.*info: Copying data from //')" \
    "host to device, HstPtr=P, TgtPtr=P, Size=256, Name=b
host to device, HstPtr=P, TgtPtr=P, Size=256, Name=c
device to host, TgtPtr=P, HstPtr=P, Size=4, Name=c
device to host, TgtPtr=P, HstPtr=P, Size=256, Name=b" "copies"
like "$(told 4)" "^omptarget device 0 info: P P 256 +0 +1 +b at info.c:[0-9]+:[0-9]+$" \
    "the table"
is "$(told 4 | grep -c "pointer mappings after block at info.c:")" 3 \
    "  after each construct"
is "$(told 4 | grep -c "mappings table empty$")" 1 "  and when nothing is left"
is "$(told -1 | grep -vc " device 0 info: ")" 0 "all of it"

# Reductions in code that clang has optimized: threads' parts are in registers
# there. A team of one thread gives the same; where each thread counts its own
# iterations it does not.
cat >"$tmp/reduce.c" <<'END'
#include <stdio.h>
int main(void)
{
    long sum = 0, counts = 0;
#pragma omp target teams distribute parallel for reduction(+: sum)
    for (int i = 0; i < 1000; i++)
        if (i & 1)
            sum += i;
#pragma omp target parallel reduction(+: counts) num_threads(8)
    {
        long own = 0;
#pragma omp for
        for (int i = 0; i < 80; i++)
            counts += ++own;
    }
    printf("%ld %ld\n", sum, counts);
    return 0;
}
END
succeeds "reductions, optimized" built reduce -- "$tmp/reduce.c"
succeeds "run" env OMPJIT_DEVICE=host LIBOMPTARGET_INFO=0x10 "$tmp/reduce"
is "$out" "250000 440" "  right"
is "$(sed -n 's/.*blocks and \(\[[0-9]*\).*/\1/p' "$tmp/stderr" | tr '\n' ' ')" \
    "[1 [8 " "  by one thread where that makes no difference"

# Images that no device can use, and OMP_TARGET_OFFLOAD.
# spoilt: $tmp/spoilt, whose images are those in $tmp/bad
spoilt() {
    "$CLANG" -fPIC "-DIMAGE=\"$tmp/bad\"" -c "$from/image.c" \
        -o "$tmp/bad.o" &&
        # shellcheck disable=SC2086
        "${CC:-cc}" "$tmp"/built-program.c.o "$tmp"/built-other.c.o \
            "$tmp/bad.o" -o "$tmp/spoilt" $dropin "$LIBOMP"
}
for what in short empty text elf; do
    case $what in
    short) head -c 600 "$tmp/built.images" ;;
    empty) ;;
    text) echo no code at all ;;
    elf) head -c 4000 "$lib/libompjit.so.0" ;;
    esac >"$tmp/bad"
    succeeds "a program with $what images" spoilt
    succeeds "  on the host" env OMPJIT_DEVICE=host "$tmp/spoilt"
    is "$out" "1000 41 42, host 1, devices 0" "  right"
    like "$(cat "$tmp/stderr")" \
        "^ompjit: there is no device for the program: .*/spoilt: device image" \
        "  and told why"
    fails_with "^ompjit: .*/spoilt: device image" "  is an error where mandatory" \
        env OMPJIT_DEVICE=host OMP_TARGET_OFFLOAD=mandatory "$tmp/spoilt"
    succeeds "  where disabled" env OMP_TARGET_OFFLOAD=disabled \
        OMPJIT_DEVICE=host "$tmp/spoilt"
    is "$(cat "$tmp/stderr")" "" "  there is nothing to tell"
done
done_testing
