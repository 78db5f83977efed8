// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 1998 3996 90.5 7 9 98 0
// not ahead of time: right only without clang's own openmp-opt
// The last iteration's values, whichever team and thread has it.
#include <stdio.h>

struct pair {
    int a, b;
};

static int scalar(int n, int step)
{
    int last = -1;
#pragma omp target teams distribute parallel for map(tofrom: last) \
    lastprivate(last)
    for (int i = 0; i < n; i++)
        last = i * step;
    return last;
}

static double collapsed(int rows, int columns)
{
    double last = 0;
#pragma omp target teams distribute parallel for collapse(2) \
    map(tofrom: last) lastprivate(last)
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            last = i * 10 + j + 0.5;
    return last;
}

static struct pair both(int n)
{
    struct pair p = {0, 0};
    int v[3] = {0, 0, 0};
#pragma omp target teams distribute parallel for simd map(tofrom: p, v) \
    lastprivate(p, v) schedule(static, 5)
    for (int i = 0; i < n; i++) {
        p.a = i - 92;
        v[0] = i;
        v[2] = p.a + 2;
    }
    p.b = v[2];
    return p;
}

static int of_threads(int n)
{
    int last = -1;
#pragma omp target parallel for map(tofrom: last) lastprivate(last)
    for (int i = 0; i < n; i++)
        last = i * 2;
    return last;
}

/* Too much for a team's shared memory, and of a size that only the run knows. */
static int large(int n)
{
    enum { SIZE = 3000 };
    static double v[SIZE];
    int w[n * 7], wrong = 0;
#pragma omp target teams distribute parallel for map(tofrom: v) lastprivate(v)
    for (int i = 0; i < n; i++)
        for (int k = 0; k < SIZE; k += 9)
            v[k] = i + k;
#pragma omp target teams distribute parallel for map(tofrom: w[:n * 7]) \
    lastprivate(w)
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n * 7; k++)
            w[k] = i * k;
    for (int k = 0; k < SIZE; k += 9)
        wrong += v[k] != n - 1 + k;
    for (int k = 0; k < n * 7; k++)
        wrong += w[k] != (n - 1) * k;
    return wrong;
}

int main(void)
{
    struct pair p = both(100);
    printf("%d %d %g %d %d %d %d\n", scalar(1000, 2), scalar(1333, 3),
           collapsed(10, 1), p.a, p.b, of_threads(50), large(50));
}
