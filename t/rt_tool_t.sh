#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What kernels get from beyond the runtime, as a program gets it: mathematics,
# output, what device they are on; and calls that only host code can make. On
# the host device, and as PTX where PTXI names an emulated libcuda.so.1.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
data=$srcdir/t/data

# on DEVICE NAME ARGUMENT...: like `ompjit run`
on() {
    device=$1; shift
    set -- "$ompjit" run --device="$device" "$@"
    if [ "$device" = cuda ]; then
        set -- env LD_LIBRARY_PATH="$PTXI" PTXI_DEVICES=2 \
            OMPJIT_ASSEMBLER=driver PTXI_LOG="$tmp/ptxi.log" "$@"
    fi
    timeout 120 "$@"
}

for name in $(sed -n 's/^MATH_NVPTX("\([a-z0-9]*\)".*/\1/p' \
    "$srcdir/libompjit/passes/gpu/math_nvptx.def"); do
    case $name in # the C library does not have it
    erfcx) grep -q erfc_scaled "$srcdir/t/fortran/erfc.f90" && continue ;;
    esac
    grep -q "[( _]$name(\|($name)" "$data/math.c" || missing="$missing $name"
done
is "${missing-}" "" "math.c calls every function of math_nvptx.def"

cat >"$tmp/everyone.c" <<'END'
#include <assert.h>
void all(int n) {
_Pragma("omp target parallel num_threads(64)") assert(n < 0);
}
int main(void) { all(1); return 0; }
END
devices="host"
if [ -e "${PTXI:-}/libcuda.so.1" ]; then devices="host cuda"; fi
for device in $devices; do
    for options in -O0 -O3 "-O3 -ffast-math"; do
        if [ $device = cuda ] && ! has_libdevice; then
            skip "cuda: mathematics, $options" "no libdevice, which is CUDA's"
            continue
        fi
        # shellcheck disable=SC2086
        succeeds "$device: mathematics, $options" \
            on $device $options "$data/math.c"
        is "$out" "141 results, 0 wrong" "  as on the host"
    done
    succeeds "$device: output" on $device "$data/output.c"
    like "$out" '^printed 1 words 0.5$' "  is printed"
    like "$out" '^ompjit: warning: a warning$' "  and so is a warning"
    fails_with 'kernel (is )?__omp_offloading.*main' "$device: an assertion fails" \
        on $device "$data/output.c" x
    is "$(printf '%s\n' "$out" | grep -c after)" 0 "  which ends the program"
    fails_with 'output.c:16: .*main.*: `x != 2' "  and is told, with its place" \
        on $device "$data/output.c" x
    fails_with 'everyone.c:3: .*: `n < 0' "$device: assertions fail in all threads" \
        on $device "$tmp/everyone.c"
    fails_with 'kernel (is )?__omp_offloading.*main' "$device: a fatal error" \
        on $device "$data/output.c" x y
    like "$out" '^ompjit: error: the end$' "  is printed, too"
    succeeds "$device: device numbers" on $device "$data/device_numbers.c"
    case $device in
    host) is "$out" "0 of 1 1 0, 1" "  are right" ;;
    cuda) is "$out" "0 of 2 2 0, 1 of 2 2 1, 2" "  are right" ;;
    esac
    succeeds "$device: a lock on the stack" on $device "$data/stack_lock.c"
    is "$out" "0 wrong" "  is one"
    fails_with 'device code calls omp_display_env, omp_target_free' \
        "$device: host-only functions" on $device "$data/host_only.c"
done
succeeds "a lock on the stack, as PTX" "$ompjit" compile --arch=sm_90 \
    "$data/stack_lock.c" -o "$tmp/lock.ptx"
is "$(grep -c 'atom[a-z.]*\.local' "$tmp/lock.ptx")" 0 "  has no atom.local"
if [ "$devices" = host ]; then
    pass "as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi
done_testing
