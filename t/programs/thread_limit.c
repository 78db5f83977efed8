// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 4 4 4
// Bounds on a team's threads hold, in kernels that openmp-opt makes SPMD and
// in those that it cannot, and one above what a device can do is no error. The host
// may give less than was asked for.
#include <omp.h>
#include <stdio.h>
#include <string.h>

static int made_spmd(void)
{
    int n = 0, before = 0;
#pragma omp target thread_limit(4) map(from: n, before)
    {
        before = 1;
#pragma omp parallel num_threads(4)
#pragma omp single
        n = omp_get_num_threads();
    }
    return before ? n : 0;
}

static int generic(int limit)
{
    int n = 0;
#pragma omp target thread_limit(4) map(tofrom: n) firstprivate(limit)
    {
        int own[4] = {0};
        for (int i = 0; i < limit; i++)
            own[i] = i;
#pragma omp parallel num_threads(limit)
        {
#pragma omp atomic
            n += own[0] + 1;
        }
    }
    return n;
}

static int spmd(int threads)
{
    int n = 0;
#pragma omp target teams distribute parallel for thread_limit(4) \
    num_threads(threads) map(from: n)
    for (int i = 0; i < 1; i++)
        n = omp_get_num_threads();
    return n;
}

static int seen(int n, const char *device)
{
    return strcmp(device, "host") || n < 1 || n > 4 ? n : 4;
}

int main(int argc, char **argv)
{
    int many[100] = {0}, more = 0;
#pragma omp target teams distribute parallel for num_threads(10000) map(many)
    for (int i = 0; i < 100; i++)
        many[i] = omp_get_num_threads();
    for (int i = 0; i < 100; i++)
        if (many[i] < 1 || many[i] > 10000)
            printf("%d of 10000 threads\n", many[i]);
#pragma omp target thread_limit(10000) map(from: more)
#pragma omp parallel
#pragma omp single
    more = omp_get_num_threads();
    if (more < 1 || more > 10000)
        printf("%d of 10000 threads\n", more);
    printf("%d %d %d\n", seen(made_spmd(), argv[1]), seen(generic(4), argv[1]),
           seen(spmd(4), argv[1]));
}
