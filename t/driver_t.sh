#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Executables that the drivers of clang 19 and 22 have linked themselves with
# LLVM's libomptarget, as users have them: with bitcode for a GPU
# (-fopenmp-target-jit) and with a shared library for the CPU. This library takes
# libomptarget's place by each of its three ways. (t/built_t.sh and
# t/clang19_t.sh have more programs, linked by hand.)
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY OMPJIT_CACHE \
    LD_PRELOAD LD_LIBRARY_PATH OMP_TARGET_OFFLOAD
OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE_DIR
omp_h=$(dirname "$(find "$(dirname "$(dirname "$(readlink -f "$CLANG")")")/lib" \
    -name omp.h | head -n 1)")
cat >"$tmp/program.c" <<'END'
#include <omp.h>
#include <stdio.h>
int main(void)
{
    double x[100], sum = 0;
    int on_device = 0;
    for (int i = 0; i < 100; i++)
        x[i] = i;
#pragma omp target teams distribute parallel for map(tofrom: x) \
    reduction(+: sum)
    for (int i = 0; i < 100; i++)
        sum += x[i] *= 2;
#pragma omp target map(from: on_device)
    on_device = !omp_is_initial_device();
    printf("%g %g %d\n", sum, x[99], on_device);
}
END
expect="9900 198 1"
# prints WHAT COMMAND...
prints() {
    succeeds "$@"
    is "$out" "$expect" "    prints what it must"
}

# ways LLVM PROGRAM: with LLVM's own library out of sight, or before us
ways() {
    prints "  ompjit exec" "$ompjit" exec -q --device=host "$2"
    prints "  LD_LIBRARY_PATH" env OMPJIT_DEVICE=host \
        LD_LIBRARY_PATH="$builddir/.libs/omptarget" "$2"
    prints "  LD_PRELOAD" env OMPJIT_DEVICE=host LD_LIBRARY_PATH="$1" \
        LD_PRELOAD="$builddir/.libs/libompjit-omptarget.so.0" "$2"
    if [ "$3" = bitcode ] && [ -e "${PTXI:-}/libcuda.so.1" ]; then
        prints "  as PTX" env LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
            "$ompjit" exec -q --device=cuda --teams=4 --threads=32 "$2"
    fi
}

# Device code names the program's own variable: unified memory has no copies.
cat >"$tmp/unified.c" <<'END'
#include <stdio.h>
#pragma omp requires unified_shared_memory
int counter;
static void count(void) { counter += 21; }
int main(void)
{
    for (int i = 0; i < 2; i++) {
#pragma omp target
        count();
    }
    printf("%d\n", counter);
}
END

for release in 19 22; do
    llvm=/usr/lib/llvm-$release/lib
    ! lacks clang-linker-wrapper-$release "clang $release's driver" || continue
    if [ ! -e "$llvm/libomptarget.so.$release.1" ]; then
        skip "clang $release's driver" "no libomptarget.so.$release.1"
        continue
    fi
    # As a development package would have them, which Debian has none of.
    mkdir "$tmp/$release"
    ln -s "$llvm/libomptarget.so.$release.1" "$tmp/$release/libomptarget.so"
    ar rc "$tmp/$release/libomptarget.devicertl.a"
    for image in bitcode cpu; do
        case $image in
        bitcode) flags="--offload-arch=sm_90 -fopenmp-target-jit -nogpulib" ;;
        cpu) flags="-fopenmp-targets=$(uname -m)-pc-linux-gnu" ;;
        esac
        # shellcheck disable=SC2086 # several words
        succeeds "clang $release, $image" "clang-$release" -O2 -fopenmp $flags \
            -idirafter "$omp_h" "$tmp/program.c" -L"$tmp/$release" \
            -o "$tmp/program$release$image"
        like "$(readelf -d "$tmp/program$release$image")" \
            "NEEDED.*libomptarget.so.$release.1" "  with LLVM's libomptarget"
        ways "$llvm" "$tmp/program$release$image" $image
    done
    for linking in "" -rdynamic -no-pie; do
        # shellcheck disable=SC2086 # several words
        succeeds "clang $release, unified memory $linking" \
            "clang-$release" -O2 -fopenmp $linking --offload-arch=sm_90 \
            -fopenmp-target-jit -nogpulib -idirafter "$omp_h" \
            "$tmp/unified.c" -L"$tmp/$release" -o "$tmp/unified"
        succeeds "  ompjit exec" "$ompjit" exec -q --device=host "$tmp/unified"
        is "$out" 42 "    the program's own variable"
    done
    strip "$tmp/unified"
    fails_with 'undefined symbols: counter' "  a stripped one has none" \
        env OMP_TARGET_OFFLOAD=mandatory "$ompjit" exec -q --device=host \
        "$tmp/unified"
done
done_testing
