// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 25 25 25 25 25 25 25 25 0 4
//
// A generic kernel whose region has eight threads.
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int a[10] = {0}, scale = 3;
    char step = 2;
    double base = 0.5;
#pragma omp target map(a)
    {
        int k = a[9] + scale;
#pragma omp parallel num_threads(8)
        a[omp_get_thread_num()] =
            k * omp_get_num_threads() + (int)(base * step);
        a[9] = 1 + k;
    }
    for (int i = 0; i < 10; i++)
        printf("%d%s", a[i], i < 9 ? " " : "\n");
    return 0;
}
