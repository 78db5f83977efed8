// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// options: --threads=96
// expect: 61
// A kernel that openmp-opt would make SPMD only when it looks at it again, with
// code in it by then that is for generic kernels.
#include <stdio.h>

#pragma omp begin declare target
typedef void body_fn(int i, void *arg);
void __kmpc_distribute_static_loop_4(void *loc, body_fn *body, void *arg, int n,
                                     int chunk, unsigned char once);
#pragma omp end declare target

static void count(int i, void *arg)
{
    int *p = arg;
#pragma omp atomic
    p[i]++;
}

int main(int argc, char **argv)
{
    int a[61] = {0}, ones = 0;
#pragma omp target teams map(tofrom: a)
    __kmpc_distribute_static_loop_4(0, count, a, 61, 0, 0);
    for (int i = 0; i < 61; i++)
        ones += a[i] == 1;
    printf("%d\n", ones);
}

// What only device code calls is nowhere on the host.
#ifndef __NVPTX__
void __kmpc_distribute_static_loop_4(void *loc, body_fn *body, void *arg, int n,
                                     int chunk, unsigned char once)
{
}
#endif
