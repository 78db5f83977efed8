/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pointers that a kernel's arguments do not show: attached in a struct before,
 * kept in a variable, put into mapped memory by another kernel. And variables
 * that are reached by their names, beside arguments that are not theirs, and
 * one that is.
 */
#include <stdio.h>

typedef struct box {
    double *q;
    int n;
} box;

#pragma omp declare target
double *kept;
double table[64];
int calls;
#pragma omp end declare target

static double buf[8];

static double attached(double *b)
{
    box s = {buf, 8};
    double r = 0;
#pragma omp target enter data map(to : s) map(to : s.q[:8])
#pragma omp target map(tofrom : s) map(tofrom : b[:8]) map(from : r)
    {
        b[0] = 1;
        s.q[0] = 2;
        r = b[0];
    }
#pragma omp target exit data map(release : s.q[:8]) map(release : s)
    return r;
}

static double in_variable(double *b)
{
    double r = 0;
    kept = buf;
#pragma omp target enter data map(to : kept[:8])
#pragma omp target map(tofrom : b[:8]) map(from : r)
    {
        b[0] = 1;
        kept[0] = 3;
        r = b[0];
    }
#pragma omp target exit data map(release : kept[:8])
    return r;
}

static double handed_on(double *b)
{
    double *places[2] = {0};
    double r = 0;
#pragma omp target data map(tofrom : places) map(tofrom : b[:8])
    {
#pragma omp target map(present, tofrom : places) map(present, tofrom : b[:8])
        places[1] = b;
#pragma omp target map(present, tofrom : places)                              \
    map(present, tofrom : b[:8]) map(from : r)
        {
            b[0] = 1;
            places[1][0] = 4;
            r = b[0];
        }
    }
    return r;
}

static void add(int n, double *x, double *y)
{
#pragma omp target teams distribute parallel for map(to : x[:n])              \
    map(tofrom : y[:n])
    for (int i = 0; i < n; i++) {
        y[i] += table[i % 64] + x[i];
        if (!i)
            calls++;
    }
}

static void own(int n, double *t)
{
#pragma omp target map(tofrom : t[:n])
    {
        t[0] = 1;
        table[0] = 5;
        t[1] = t[0];
    }
}

int main(void)
{
    static double x[1000], y[1000];
    double a = attached(buf), k = in_variable(buf), h = handed_on(buf);
    for (int i = 0; i < 64; i++)
        table[i] = 1;
    for (int i = 0; i < 1000; i++)
        x[i] = i;
#pragma omp target update to(table)
    add(1000, x, y);
    own(64, table);
#pragma omp target update from(table, calls)
    printf("%g %g %g %g %d %g\n", a, k, h, y[999], calls, table[1]);
    return 0;
}
