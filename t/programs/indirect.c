// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// options: -fopenmp-version=51
// expect: 5 7 7 100 12, host 105
// Functions called through pointers that the host has filled, or that another
// region has, are the device's; on the host they are the host's.
#include <omp.h>
#include <stdio.h>

#define DEVICE_OR(n) (omp_is_initial_device() ? 100 : (n))

static int ten = 10;
#pragma omp declare target(ten)

int five(int x) { return DEVICE_OR(0) + 5 + 0 * x; }
int seven(int x) { return DEVICE_OR(0) + 7 + 0 * x; }
int add_ten(int x) { return ++ten + x + 0 * DEVICE_OR(0); }
#pragma omp declare target to(five, seven, add_ten) indirect

struct table {
    int (*f[3])(int);
};

int main(void)
{
    int (*p)(int) = five, (*kept)(int) = 0;
    struct table t = {{seven, add_ten, seven}};
    int r[4] = {0}, sum = 0;
#pragma omp target map(from: r, kept) map(to: t)
    {
        r[0] = p(0);
        r[1] = t.f[0](1);
        kept = t.f[2];
    }
#pragma omp target map(tofrom: r)
    r[2] = kept(3);
#pragma omp target teams distribute parallel for reduction(+: sum)
    for (int i = 0; i < 20; i++)
        sum += p(i);
#pragma omp target map(tofrom: r) map(to: t)
    r[3] = t.f[1](1);
    printf("%d %d %d %d %d, host %d\n", r[0], r[1], r[2], sum, r[3], p(0));
}
