#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Locals whose address is passed are on the stack of the host device, where other
# threads of the team reach them: no call of the runtime is left. program_t.sh
# runs the same program optimized.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
program=$srcdir/t/programs/stack_locals.c

right() {
    succeeds "$@"
    is "$out" right "  is right"
}
right "not optimized" timeout 300 "$ompjit" run --device=host -O0 \
    --threads=7 "$program"
right "checked" timeout 300 "$ompjit" run --check --threads=7 "$program"

cat >"$tmp/local.c" <<'END'
static void fill(int k, double *t) { for (int j = 0; j < 8; j++) t[j] = k + j; }
static double one(int k, const int *idx) { double t[8]; fill(k, t); return t[idx[k & 7]]; }
void sum(int n, const int *idx, double *out) {
  double s = 0;
  #pragma omp target teams distribute parallel for reduction(+:s) map(to: idx[:8])
  for (int k = 0; k < n; k++) s += one(k, idx);
  *out = s; }
END
succeeds "an array whose address is passed" "$ompjit" compile "$tmp/local.c" \
    --arch host --emit opt-ll -o -
is "$(printf '%s\n' "$out" | grep -c 'call .*@malloc')" 0 "  takes no heap"
like "$out" 'alloca \[64 x i8\]' "  is on the stack"
done_testing
