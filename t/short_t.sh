#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Short kernels inside of `target data` (bench/short): a launch is one launch of
# the driver's, with no copy and no allocation.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_OPT OMPJIT_SPECIALIZE OMPJIT_TEAMS OMPJIT_THREADS
[ -e "${PTXI:-}/libcuda.so.1" ] || skip_all "PTXI names no libcuda.so.1"

# calls ROUNDS OPTION... PROGRAM: launches, copies, allocations and frees
calls() {
    rm -f "$tmp/trace"
    succeeds "$name, rounds: $1" emulated PTXI_TRACE="$tmp/trace" \
        PTXI_LOG="$tmp/ptxi.log" timeout 120 "$ompjit" run -q -DROUNDS="$@"
    results=${out#* }
    figures=
    for call in cuLaunchKernel cuMemcpy 'cuMem(Alloc|Free|Create|HostAlloc)'; do
        figures="$figures $(grep -cE "^$call" "$tmp/trace")"
    done
}
# costs LAUNCHES OPTION... PROGRAM: two rounds of so many launches
costs() {
    launches=$1; shift
    calls 1 "$@"
    first=$results
    # shellcheck disable=SC2086 # three numbers
    set -- $figures "$@"
    copies=$2 allocations=$3 before=$1; shift 3
    calls 3 "$@"
    is "$results" "$first" "  the same results"
    is "$figures" " $((before + 2 * launches)) $copies $allocations" \
        "  a launch each, no copies, no allocations"
}

name=nn
costs 10 "$srcdir/bench/short/nn.c"
name="nn, map(to:)"
costs 10 '-DMAP=map(to : here, there)' "$srcdir/bench/short/nn.c"
name=gaussian
costs 30 "$srcdir/bench/short/gaussian.c"
done_testing
