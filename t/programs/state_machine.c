// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 1 team of n, each came twice
// A generic kernel for which openmp-opt makes a state machine: its workers are
// the threads that the launch has, however many its bound allows.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int came[1024] = {0}, n = 0, wrong = 0;
#pragma omp target map(tofrom: came, n) firstprivate(argc)
    {
        int *one = malloc(argc * sizeof *one);
        one[0] = 1;
#pragma omp parallel
        {
#pragma omp atomic
            came[omp_get_thread_num()] += one[0];
#pragma omp barrier
#pragma omp single
            n = omp_get_num_threads();
        }
        one[0] = came[0];
#pragma omp parallel
        {
#pragma omp atomic
            came[omp_get_thread_num()] += one[0];
#pragma omp barrier
        }
        free(one);
    }
    for (int i = 0; i < 1024; i++)
        wrong += came[i] != (i < n ? 2 : 0);
    if (wrong)
        printf("%d threads of %d wrong: ", wrong, n);
    printf("1 team of n, each came twice\n");
}
