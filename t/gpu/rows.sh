#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make check-rows: every kernel of the device runtime's tests on the emulated
# driver that PTXI names, in each mode of its streams and four schedules, by the
# library's API, with nothing left in the driver. A mode and schedule is one
# process with all rows; where that fails, each row has one of its own, which
# names it. What was compiled for the first is the others' from a cache.
#
# In the environment ROWS, MODES and SCHEDULES name some, WAYS are lines of a mode
# and a schedule instead of all pairs, JOBS how many at once, KERNELS the folder
# that prepare.sh filled.
set -u
: "${srcdir:?}" "${builddir:?}"
kernels=${KERNELS:-$builddir/t/gpu/kernels}

# A program that runs them all says "ok N - ROW, GEOMETRY" of each.
results() { grep -c "^ok [0-9]* - $1, " "$log"; }

# try ROW...: false where one fails, is not there, or leaves something.
try() {
    rm -f "$log.ptxi"
    # Each call's parameters take room of their own in ptxi's stacks.
    env LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
        OMPJIT_CACHE=1 OMPJIT_CACHE_DIR="$work/cache" OMPJIT_DEVICE=cuda \
        PTXI_LOCAL=262144 PTXI_STREAM="$mode" "$schedule" \
        PTXI_LOG="$log.ptxi" RT_KERNEL="$(echo "$*" | tr ' ' ,)" \
        timeout 1800 "$builddir/t/gpu/rows" "$kernels" >"$log" 2>&1 || return 1
    for row in "$@"; do
        [ "$(results "$row")" -gt 0 ] || return 1
    done
    tail -n 1 "$log.ptxi" | grep -q '^exit: 0 leaks'
}

# rows.sh --one MODE SCHEDULE: lines of "passed ROW" and "failed ROW" go to a
# file of its own.
one() {
    mode=$1 schedule=$2 log=$work/$1.$2
    began=$(date +%s)
    # shellcheck disable=SC2086 # one argument each
    if try $ROWS; then
        printf 'passed %s\n' $ROWS
    else
        for alone in $ROWS; do
            if try "$alone"; then
                echo "passed $alone"
            else
                echo "failed $alone"
                {
                    echo "FAILED $alone, $mode, $schedule"
                    grep -v '^ok' "$log"
                    cat "$log.ptxi" 2>&1
                } >&2
            fi
        done
    fi >"$log.rows"
    echo "check-rows: $mode, $schedule: $(grep -c '^passed' "$log.rows") of" \
        "$(echo "$ROWS" | wc -w) rows, $(($(date +%s) - began)) s"
}
if [ "${1-}" = --one ]; then
    one "$2" "$3"
    exit
fi

if [ ! -e "${PTXI:-}/libcuda.so.1" ]; then
    echo "check-rows: PTXI names no emulated libcuda.so.1"
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ROWS=${ROWS-$(sed -n 's/^ *K(\([a-z_]*\),.*/\1/p' "$srcdir/t/rt_kernels.h")}
export PTXI ROWS work
pairs() {
    for mode in ${MODES-sync async lazy}; do
        for schedule in ${SCHEDULES-PTXI_SLICE=4 PTXI_SLICE=100000 \
            PTXI_SEED=1 PTXI_SEED=2}; do
            echo "$mode $schedule"
        done
    done
}
echo "${WAYS-$(pairs)}" >"$work/list"
all=$(($(wc -l <"$work/list") * $(echo "$ROWS" | wc -w)))
if [ "$all" = 0 ]; then
    echo "check-rows: nothing to run"
    exit 1
fi
xargs -P "${JOBS:-$(nproc)}" -n 2 sh "$0" --one <"$work/list"
passed=$(cat "$work"/*.rows | grep -c '^passed')
echo "check-rows: $passed of $all runs passed," \
    "$(cat "$work"/*.rows | grep -c '^failed') failed"
[ "$passed" = "$all" ]
