#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Parallel regions that follow each other in an SPMD kernel cost what one region
# with the same loops does: one barrier between two loops, no more registers, no
# more code. So nothing is left to merge.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_OPT OMPJIT_TEAMS OMPJIT_THREADS
PTXAS=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
export PTXAS

# program BEGIN LOOP: the construct at the beginning of all loops and of each
program() {
    cat <<END
#include <stdio.h>
enum { N = 1000 };
static int a[N], b[N], c[N];
int main(void)
{
    int wrong = 0;
#pragma omp target teams num_teams(1) thread_limit(128) map(tofrom : a, b, c)
    {
        $1
        {
            $2
            for (int i = 0; i < N; i++)
                a[i] = i;
            $2
            for (int i = 0; i < N; i++)
                b[i] = a[N - 1 - i];
            $2
            for (int i = 0; i < N; i++)
                c[i] = b[(i + 40) % N] + a[i];
        }
    }
    for (int i = 0; i < N; i++)
        wrong += c[i] != N - 1 - (i + 40) % N + i;
    printf("%d wrong\n", wrong);
    return 0;
}
END
}
program "" "_Pragma(\"omp parallel for\")" >"$tmp/regions.c"
program "_Pragma(\"omp parallel\")" "_Pragma(\"omp for\")" >"$tmp/region.c"
for name in region regions; do
    succeeds "$name, on the host device" "$ompjit" run -q --device host \
        "$tmp/$name.c"
    is "$out" "0 wrong" "  is right"
    if [ -n "${PTXI:-}" ]; then
        succeeds "$name, as PTX" emulated PTXI_SLICE=4 timeout 120 "$ompjit" \
            run -q "$tmp/$name.c"
        is "$out" "0 wrong" "  is right"
    fi
    succeeds "  compiles" "$ompjit" compile "$tmp/$name.c" --arch sm_90 \
        -o "$tmp/$name.ptx"
    is "$(grep -c 'bar[a-z]*\.sync' "$tmp/$name.ptx")" 2 \
        "  two barriers between three loops"
done
if [ -x "$PTXAS" ]; then
    # shellcheck disable=SC2046 # six numbers
    set -- $(sh "$srcdir/bench/figures.sh" "$tmp/region.ptx") \
        $(sh "$srcdir/bench/figures.sh" "$tmp/regions.ptx")
    is "$(($7 <= $1))" 1 "three regions: $7 registers, one $1"
    is "$((${12} <= $6))" 1 "  ${12} instructions, one $6"
else
    skip "registers and instructions" "no ptxas"
fi
done_testing
