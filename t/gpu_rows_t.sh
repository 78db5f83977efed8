#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Every kernel of the device runtime's tests by the library's API on the
# emulated driver, in each mode of streams and each schedule, though not in each
# pair (which make check-rows has); and that what fails, leaks or did not run is
# not said to have passed.
. "${srcdir:-.}/t/tap.sh"
[ -e "${PTXI:-}/libcuda.so.1" ] ||
    skip_all "PTXI names no emulated libcuda.so.1"
KERNELS=$tmp/kernels
JOBS=1
export KERNELS JOBS builddir srcdir PTXI
rows=$srcdir/t/gpu/rows.sh
# fails WHAT NAME COMMAND...
fails() {
    tap_what=$1 tap_name=$2
    shift 2
    out=$("$@" 2>&1) && fail "$tap_name" "$out"
    like "$out" "$tap_what" "$tap_name"
}

succeeds "the kernels" sh "$srcdir/t/gpu/prepare.sh" "$KERNELS"
number=$(grep -c '^ *K(' "$srcdir/t/rt_kernels.h")
ways='sync PTXI_SLICE=4
async PTXI_SLICE=100000
lazy PTXI_SEED=1
async PTXI_SEED=2'
succeeds "all rows, modes and schedules" env WAYS="$ways" sh "$rows"
all=$((number * 4))
like "$out" "^check-rows: $all of $all runs passed, 0 failed$" "  $all runs"
is "$(echo "$out" | grep -c ": $number of $number rows, ")" 4 \
    "  in each of 4 ways"

MODES=async SCHEDULES=PTXI_SLICE=4
export MODES SCHEDULES
ROWS='saxpy grid'
export ROWS
succeeds "two rows" sh "$rows"
like "$out" '2 of 2 runs passed, 0 failed' "  are two runs"
fails '0 of 2 runs passed, 2 failed' "a launch that fails" \
    env PTXI_FAIL=cuLaunchKernel:1:999 sh "$rows"
fails '0 of 2 runs passed, 2 failed' "a stream that leaks" \
    env PTXI_FAIL=cuStreamDestroy_v2:1:999,cuStreamDestroy_v2:2:999 sh "$rows"
fails '1 of 2 runs passed, 1 failed' "a row that is nowhere" \
    env ROWS='saxpy nowhere' sh "$rows"
fails 'nothing to run' "no row at all" env ROWS= sh "$rows"
done_testing
