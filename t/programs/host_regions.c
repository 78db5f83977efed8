// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 110 0 0 21 2 31 5 0 7 1
// not ahead of time: right only without clang's own openmp-opt
//
// Regions in device code that are begun as in host code: a teams region, and
// regions of the thread that begins them, outside of a parallel region, inside
// of one and inside of each other. They are one level each, and end with what
// is set in them. (clang makes the host's calls of its own; these are written
// out.)
#include <omp.h>
#include <stdio.h>

#pragma omp begin declare target
struct ident {
    int reserved[4];
    const char *source;
};
static const struct ident loc = {{0, 2, 0, 1}, ";host_regions.c;;1;1;;"};
typedef void region(int *thread, int *bound, ...);
void __kmpc_fork_teams(const struct ident *loc, int n, region *f, ...);
int __kmpc_global_thread_num(const struct ident *loc);
void __kmpc_serialized_parallel(const struct ident *loc, int thread);
void __kmpc_end_serialized_parallel(const struct ident *loc, int thread);

static void body(int *thread, int *bound, int *sum, long by)
{
    *sum += (int)by + *bound + (*thread != __kmpc_global_thread_num(&loc));
#pragma omp parallel num_threads(4)
#pragma omp single
    *sum += 100;
}

// All iterations of a loop that a region's threads would share.
static int iterations(void)
{
    int n = 0;
#pragma omp for nowait
    for (int i = 0; i < 21; i++)
        n++;
    return n;
}
static int alone(int levels)
{
    int thread = __kmpc_global_thread_num(&loc), n;
    __kmpc_serialized_parallel(&loc, thread);
    omp_set_num_threads(3);
    n = iterations() + 10 * (omp_get_level() - levels - 1) +
        (omp_get_num_threads() - 1) + omp_get_thread_num();
    __kmpc_end_serialized_parallel(&loc, thread);
    return n;
}
static int alone_in_alone(void)
{
    int thread = __kmpc_global_thread_num(&loc), n;
    __kmpc_serialized_parallel(&loc, thread);
    n = alone(1) + 10 * omp_get_level();
    __kmpc_end_serialized_parallel(&loc, thread);
    return n;
}
#pragma omp end declare target

int main(void)
{
    int r[10] = {0};
#pragma omp target map(r) thread_limit(8)
    {
        int sum = 3, most = omp_get_max_threads();
        __kmpc_fork_teams(&loc, 2, (region *)body, &sum, 7L);
        r[0] = sum;
        r[1] = omp_get_level();
        r[2] = omp_in_parallel();
        r[3] = alone(0);
        r[4] = alone_in_alone() - 29;
        r[5] = alone_in_alone();
        int wrong = 0, threads = 0, level = 0;
#pragma omp parallel num_threads(5) reduction(+ : wrong, threads, level)
        {
            wrong += alone(1) != 21;
            wrong += omp_get_num_threads() != 5;
            threads++;
            level += omp_get_level();
        }
        r[6] = threads;
        r[7] = wrong;
        r[8] = 2 + level;
        r[9] = omp_get_max_threads() == most;
    }
    for (int i = 0; i < 10; i++)
        printf("%d%s", r[i], i < 9 ? " " : "\n");
    return 0;
}
