#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make check-rows: every kernel of the device runtime's tests on the emulated
# driver that PTXI names, in each mode of its streams and four schedules, by the
# library's API, with nothing left in the driver. An hour on two cores; ROWS,
# MODES and SCHEDULES in the environment name some.
set -u
: "${srcdir:?}" "${builddir:?}"
if [ ! -e "${PTXI:-}/libcuda.so.1" ]; then
    echo "check-rows: PTXI names no emulated libcuda.so.1"
    exit 1
fi
rows=${ROWS-$(sed -n 's/^ *K(\([a-z_]*\),.*/\1/p' "$srcdir/t/rt_kernels.h")}
log=$(mktemp)
trap 'rm -f "$log" "$log.ptxi"' EXIT
failed=0 passed=0
for row in $rows; do
    for mode in ${MODES-sync async lazy}; do
        for schedule in ${SCHEDULES-PTXI_SLICE=4 PTXI_SLICE=100000 PTXI_SEED=1 \
            PTXI_SEED=2}; do
            rm -f "$log.ptxi"
            if env LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
                OMPJIT_CACHE=0 OMPJIT_DEVICE=cuda PTXI_STREAM="$mode" \
                "$schedule" PTXI_LOG="$log.ptxi" RT_KERNEL="$row" \
                timeout 600 "$builddir/t/gpu/rows" \
                "$builddir/t/gpu/kernels" >"$log" 2>&1 &&
                tail -n 1 "$log.ptxi" | grep -q '^exit: 0 leaks'; then
                passed=$((passed + 1))
            else
                failed=$((failed + 1))
                echo "FAILED $row, $mode, $schedule"
                grep -v '^ok' "$log"
                cat "$log.ptxi"
            fi
        done
    done
done
echo "check-rows: $passed runs passed, $failed failed"
[ $failed = 0 ]
