/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Locals whose address other threads of the team get: shared with parallel
 * regions, in a recursion, in loops, and larger than a stack has room for.
 */
// expect: right
// not ahead of time: right only without clang's own openmp-opt
#include <omp.h>
#include <stdio.h>

enum { N = 64, LARGE = 1 << 20 };

static void fill(int *v, int n, int from)
{
    #pragma omp parallel for
    for (int i = 0; i < n; i++) v[i] = from + i;
}

static int sum(const int *v, int n)
{
    int s = 0;
    #pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) s += v[i];
    return s;
}

/* Each frame has its own, which the deeper ones leave alone. */
static int nested(int depth)
{
    int v[N];
    fill(v, N, depth);
    int below = depth ? nested(depth - 1) : 0;
    return below + sum(v, N);
}

static int large(int at)
{
    static const int step = 4099;
    char v[LARGE];
    for (int i = 0; i < LARGE; i += step) v[i] = (char)(i / step);
    #pragma omp parallel for
    for (int i = 0; i < LARGE; i += step) v[i]++;
    return v[at * step];
}

static void move(int *to, const int *from) { *to += *from; }

int main(void)
{
    int got[4] = {0}, want[4] = {0}, all = 0;
    #pragma omp target map(tofrom : got)
    {
        got[0] = nested(5);
        for (int k = 0; k < 3; k++) {
            int v[N];
            fill(v, N, k);
            got[1] += sum(v, N);
        }
        got[2] = large(7);
    }
    #pragma omp target teams distribute parallel for reduction(+ : all)
    for (int i = 0; i < 1000; i++) {
        int mine = i;
        move(&all, &mine);
    }
    got[3] = all;
    for (int d = 0; d <= 5; d++) want[0] += N * d + N * (N - 1) / 2;
    for (int k = 0; k < 3; k++) want[1] += N * k + N * (N - 1) / 2;
    want[2] = 8;
    want[3] = 999 * 500;
    for (int i = 0; i < 4; i++)
        if (got[i] != want[i])
            return printf("%d: %d, not %d\n", i, got[i], want[i]), 1;
    return puts("right"), 0;
}
