/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program as clang builds it: kernels, variables that are mapped by the
 * compiler, a function of another file, and a call through a pointer.
 */
#include <omp.h>
#include <stdio.h>

enum { N = 1000 };

#pragma omp declare target
int table[4] = {1, 2, 3, 4};
int twice(int x);
#pragma omp end declare target

int linked = 7;
#pragma omp declare target link(linked)

#pragma omp begin declare target indirect
int thrice(int x)
{
    return 3 * x;
}
#pragma omp end declare target

int main(void)
{
    double a[N];
    int right = 0, sum = 0, called = 0, host = 1;
    int (*pointer)(int) = thrice;
#pragma omp target teams distribute parallel for map(from: a)
    for (int i = 0; i < N; i++)
        a[i] = twice(i);
    for (int i = 0; i < N; i++)
        right += a[i] == 2 * i;
    table[2] = 30;
#pragma omp target update to(table)
#pragma omp target map(from: sum, called, host) map(to: linked)
    {
        sum = table[2] + table[3] + linked;
        called = pointer(14);
        host = omp_is_initial_device();
    }
    /* clang has a kernel for one of these in each half, and not for the same. */
#pragma omp metadirective \
    when(target_device = {kind(gpu)}: target map(tofrom: a)) \
    default(target map(tofrom: a))
    for (int i = 0; i < N; i++)
        a[i] += 1;
    for (int i = 0; i < N; i++)
        right -= a[i] != 2 * i + 1;
    printf("%d %d %d, host %d, devices %d\n", right, sum, called, host,
           omp_get_num_devices() > 0);
    return 0;
}
