#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests that want an emulated driver end well on a machine that has none, as the
# one of everybody who has only this tree.
#
# runs t/cuda_fault_t t/cuda_map_t t/cuda_t t/events_t t/gather_t
# runs t/host_memory_t t/hot_t t/image_t t/late_t t/map_fault_t
# runs t/nvrtc_cuda_t t/queue_t t/staging_t t/update_t t/variables_t
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_TEST_GPU

# A plan, which is what was run, and no failure.
ended() {
    awk '/^ok /{ n++ } /^not ok /{ bad = 1 }
        /^1\.\./ { split($1, plan, /\.\./); said = plan[2]; plans++ }
        END { exit !(plans == 1 && said == n + 0 && !bad) }' "$tmp/stdout"
}

for source in $(grep -l run_scenarios "$srcdir"/t/*_t.c); do
    name=$(basename "$source" .c)
    if PTXI=/nonexistent "$builddir/t/$name" >"$tmp/stdout" 2>"$tmp/stderr"; then
        is "$(ended && echo yes)" yes "$name"
    else
        is "exit code $?" "exit code 0" "$name"
    fi
done
like "$(cat "$tmp/stdout")" '# SKIP' "the last one says that it skips"
done_testing
