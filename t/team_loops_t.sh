#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Kernels whose threads meet become loops over their threads, where all come to
# the same barriers, and fibers where that does not show; results are the same.
# Random kernels of the kind are t/random_threads_t.sh's.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
unset OMP_NUM_THREADS OMPJIT_SPECIALIZE OMP_TEAMS_THREAD_LIMIT
OMP_TARGET_OFFLOAD=mandatory
export OMP_TARGET_OFFLOAD
program=$srcdir/t/data/team_loops.c

for way in "off -O3" "now -O3" "off -O1" "now -O2" "off -O0" "off -O3 --check"
do
    # shellcheck disable=SC2086
    succeeds "right: OMPJIT_SPECIALIZE=$way" env OMPJIT_CACHE=0 \
        OMPJIT_SPECIALIZE="${way%% *}" timeout 100 "$ompjit" run \
        --device=host ${way#* } "$program"
    is "$out" "" "  all kernels"
done
for threads in 1 5; do
    succeeds "right with $threads OS threads" env OMP_NUM_THREADS=$threads \
        timeout 100 "$ompjit" run --device=host "$program"
done

succeeds "a thread with a small stack" env OMP_NUM_THREADS=1 timeout 100 \
    "$ompjit" run --device=host "$srcdir/t/data/team_stack.c"
is "$out" "0 are wrong" "  right"

# Forms for whole teams are functions NAME.team.
succeeds "the code shows it" "$ompjit" compile --no-cache --arch host \
    --emit opt-ll "$program" -o "$tmp/code.ll"
name='\(loops_[a-z_]*\|fibers_[a-z_]*\)'
forms=$(sed -n "s/^define.*@__omp_offloading_[^.]*_${name}_l[0-9]*\.team(.*/\1/p" \
    "$tmp/code.ll" | sort -u | paste -s -d ' ' -)
is "$forms" "$(sed -n 's/^static void \(loops_[a-z_]*\)(.*/\1/p' "$program" |
    sort | paste -s -d ' ' -)" "  those with loops, and no others"
is "$(sed -n '/^define.*\.team(/,/^}/p' "$tmp/code.ll" |
    grep -c 'ompjit_host_barrier')" 0 "  without barriers"

# An error names the thread where a loop does one thread's work at a time, and
# all of the team's where one may do the work of several.
cat >"$tmp/fault.c" <<'E2'
#include <omp.h>
int main(int argc, char **argv)
{
    int *bad = 0;
#pragma omp target teams num_teams(2) thread_limit(64) firstprivate(bad, argc)
    {
        int all[64];
#pragma omp parallel num_threads(64)
        {
            int me = omp_get_thread_num();
            all[me] = me;
#pragma omp barrier
            for (int i = 0; i < 3 * argc; i++)
                if (all[63 - me] == 23 && i == 2)
                    *(volatile int *)(bad + me) = 1;
        }
    }
}
E2
fails_with "team [01], thread 40: .*fault.c:15" "a fault names its thread" \
    timeout 100 "$ompjit" run --device=host "$tmp/fault.c"
sed 's/for (.*/if (argc)/; s/ && i == 2//; s/\*(volatile.*) =/bad[me] =/' \
    "$tmp/fault.c" >"$tmp/simple.c"
fails_with "team [01], one of threads 0 to 63: .*simple.c:15" \
    "a fault in a vectorized loop names the team" \
    timeout 100 "$ompjit" run --device=host "$tmp/simple.c"
done_testing
