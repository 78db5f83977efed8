#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Cancellation in device code, where OMP_CANCELLATION is set: on the host device
# with and without the checker, and as PTX with several orders of the warps.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
unset OMP_NUM_THREADS OMPJIT_SPECIALIZE OMP_TEAMS_THREAD_LIMIT
program=$srcdir/t/cancel/regions.c

# on_device on|off VARIABLE=VALUE... -- OPTION...
on_device() {
    set_to=$1; shift
    settings=
    while [ "$1" != -- ]; do settings="$settings $1"; shift; done
    shift
    argument=$set_to
    [ "$set_to" != on ] || set_to=true
    # shellcheck disable=SC2086
    succeeds "$argument:$settings $*" timeout 200 env $settings \
        OMP_CANCELLATION="$set_to" "$ompjit" run -q "$@" "$program" "$argument"
    is "$out" "0 wrong" "  right"
}
for options in "" "--threads=1" "--threads=8" "--check" "-O0"; do
    # shellcheck disable=SC2086
    on_device on -- --device=host $options
done
on_device off -- --device=host
on_device on OMP_NUM_THREADS=1 -- --device=host --threads=8
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    for order in PTXI_SLICE=1 PTXI_SLICE=100000 PTXI_SEED=1 PTXI_SEED=3; do
        on_device on $order LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
            PTXI_LOG="$tmp/ptxi.log" -- --device=cuda
    done
    on_device off LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
        PTXI_LOG="$tmp/ptxi.log" -- --device=cuda
else
    skip "PTX" "no PTX interpreter"
fi

# Without the variable the code is as if there were no `cancel`.
for set_to in 0 1; do
    OMP_CANCELLATION=$set_to "$ompjit" compile -q --no-cache "$program" \
        -o "$tmp/$set_to.ptx"
done
is "$(grep -c 'ompjit_counted_barrier\|ompjit_cancel' "$tmp/0.ptx")" 0 \
    "off: nothing of it is in the kernels"
like "$(grep -c 'ompjit_counted_barrier' "$tmp/1.ptx")" '[1-9]' "on: it is"
done_testing
