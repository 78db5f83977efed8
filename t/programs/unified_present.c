// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a program requires unified shared memory, all memory is present. (On a
// device that has it: the emulated one has not.)
// expect: 3 4 5
#include <omp.h>
#include <stdio.h>

#pragma omp requires unified_shared_memory

int main(void)
{
    int a[1] = {1}, b[1] = {2}, c[1] = {3};
#pragma omp target map(present, tofrom: a)
    a[0] += 2;
#pragma omp target data map(present, tofrom: b)
#pragma omp target
    b[0] += 2;
#pragma omp target update to(present: c)
#pragma omp target
    c[0] += 2;
#pragma omp target update from(present: c)
    printf("%d %d %d\n", a[0], b[0], c[0]);
}
