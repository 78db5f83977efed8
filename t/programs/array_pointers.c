// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// not ahead of time: clang leaves out what the pointers have
// expect: 0 0 0 0 0 0
// Pointers to arrays of variable length, mapped and used by the main thread of
// a region, in regions of several teams, and in parallel regions of those.
#include <stdio.h>
#include <stdlib.h>

static int wrong_in(int n, double (*a)[n], double scale)
{
    int wrong = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            wrong += a[i][j] != scale * (10 * i + j);
    return wrong;
}

static int alone(int n, double a[n][n])
{
#pragma omp target map(tofrom : a[0 : n][0 : n])
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] += 10 * i + j;
    return wrong_in(n, a, 1);
}

static int nested(int n, double (*a)[n])
{
#pragma omp target teams distribute map(tofrom : a[0 : n][0 : n])
    for (int i = 0; i < n; i++) {
#pragma omp parallel for
        for (int j = 0; j < n; j++)
            a[i][j] += 10 * i + j;
    }
    return wrong_in(n, a, 2);
}

// The names differ by digits: a copy of `a`, `a12`, may be one of `a1`, too.
static int several(int n, double (*a)[n], double (*a1)[n], double (*a2)[n])
{
#pragma omp target map(tofrom : a[0 : n]) map(to : a1[0 : n], a2[0 : n])
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = a1[i][j] + a2[i][j] + a[i][j];
    return wrong_in(n, a, 4);
}

// Calls get the pointer's value, and its address.
#pragma omp begin declare target
static double at(int n, double (*a)[n], int i, int j) { return a[i][j]; }
#pragma omp end declare target

static int handed_on(int n, double (*a)[n])
{
#pragma omp target map(tofrom : a[0 : n])
    {
        double(**at_a)[] = (double(**)[])&a;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                a[i][j] += (**at_a)[i * n + j] + at(n, a, i, j) * 2;
    }
    return wrong_in(n, a, 16);
}

static int flat(int n, double (*a)[n])
{
#pragma omp target teams distribute parallel for collapse(2) \
    map(tofrom : a[0 : n])
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] *= 2;
    return wrong_in(n, a, 32);
}

static int of_stack(int n)
{
    int c[n], a[n], wrong = 0;
    int(*x)[n] = &c;
    for (int i = 0; i < n; i++)
        (*x)[i] = 4 * i, a[i] = 7 * i;
#pragma omp target map(to : x[0][2 : 4], a[0 : n]) map(tofrom : wrong)
    for (int i = 2; i < 6; i++)
        wrong += (*x)[i] != 4 * i || a[i] != 7 * i;
    return wrong;
}

int main(void)
{
    enum { N = 7 };
    double(*a)[N] = calloc(N, sizeof *a), (*b)[N] = calloc(N, sizeof *b);
    int first = alone(N, a), second = nested(N, a);
    for (int i = 0; i < N * N; i++)
        b[0][i] = a[0][i] / 2;
    printf("%d %d", first, second);
    printf(" %d", several(N, a, b, b));
    printf(" %d %d %d\n", handed_on(N, a), flat(N, a), of_stack(N));
    free(a);
    free(b);
    return 0;
}
