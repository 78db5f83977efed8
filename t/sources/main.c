/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program of four sources. Three of them have a `twice` and a `local` of
 * their own, and two a FACTOR and a `hidden`.
 */
#include <stdlib.h>

#include "program.h"

#define FACTOR 2
enum { N = 4096 };

#pragma omp declare target
int counter = 5;
static int hidden = 2;
#pragma omp end declare target

static int local = 1;

static int twice(int x)
{
    return FACTOR * x;
}

/* Uses a device function and variables of another source. */
static int call(void)
{
    int r = 0;
#pragma omp target map(from : r)
    r = add(twice(10), counter) + table[2];
    return r;
}

/* Two sources have a `hidden` of their own, on the device too. */
static int hide(void)
{
    int r = 0;
    hidden = 20;
#pragma omp target map(from : r) map(always, to : hidden)
    r = hidden;
    return 1000 * r + hide_other();
}

/* The host reads in another source while a kernel's values are newer. */
static double share(void)
{
    double *a = calloc(N, sizeof *a);
#pragma omp target data map(tofrom : a[:N])
    {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            a[i] = i;
        look(a);
    }
    double last = a[5];
    free(a);
    return last;
}

int main(int argc, char **argv)
{
    printf("%d %d\n", call(), local);
    printf("%d %d\n", other(3), third(3));
    int r = 0;
#pragma omp target map(from : r) map(tofrom : linked)
    {
        r = counter;
        linked[3]++;
    }
    printf("%d %d\n", r, linked[3]);
    double last = share();
    printf("%g %g\n", seen, last);
    printf("%d\n", hide());
    return argc > 1 ? atoi(argv[1]) : 0;
}
