/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "program.h"

#ifdef FACTOR
#error "another source's macro"
#endif
#define FACTOR 200

#pragma omp declare target
int table[4] = {1, 2, 3, 4};
int add(int a, int b)
{
    return a + b + 1000;
}
static int hidden = 3;
#pragma omp end declare target

int linked[8] = {7, 7, 7, 7};
double seen;
static int local = 2;

static int twice(int x)
{
    return FACTOR * x;
}

int other(int n)
{
    int r = 0;
#pragma omp target map(from : r)
    {
        counter++;
        r = twice(n) + local;
    }
    return r;
}

void look(const double *p)
{
    seen += p[5];
}

int hide_other(void)
{
    int r = 0;
    hidden = 30;
#pragma omp target map(from : r) map(always, to : hidden)
    r = hidden++;
#pragma omp target map(always, from : hidden)
    {
    }
    return r + hidden;
}
