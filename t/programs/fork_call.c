// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 0 0 0 1 1
//
// Parallel regions in device code that are started as in host code: with
// arguments, without, with a condition that holds, and with one that does not.
// (clang makes the host's calls of its own; these are written out.)
#include <omp.h>
#include <stdio.h>

#pragma omp begin declare target
struct ident {
    int reserved[4];
    const char *source;
};
static const struct ident loc = {{0, 2, 0, 1}, ";fork_call.c;;1;1;;"};
typedef void region(int *thread, int *bound, ...);
void __kmpc_fork_call(const struct ident *loc, int n, region *f, ...);
void __kmpc_fork_call_if(const struct ident *loc, int n,
                         void (*f)(int *, int *, void *), int condition,
                         void *args);
static int runs;

static void add(int *thread, int *bound, int *sum, long by, int *threads)
{
    (void)thread;
    (void)bound;
#pragma omp atomic
    *sum += (int)by;
    if (!omp_get_thread_num())
        *threads = omp_get_num_threads();
}
static void count(int *thread, int *bound)
{
    (void)thread;
    (void)bound;
#pragma omp atomic
    runs++;
}
static void add_one(int *thread, int *bound, void *sum)
{
    (void)thread;
    (void)bound;
#pragma omp atomic
    ++*(int *)sum;
}
static __attribute__((noinline)) int number(void)
{
    int n = 0;
#pragma omp parallel
    if (!omp_get_thread_num())
        n = omp_get_num_threads();
    return n;
}
#pragma omp end declare target

int main(void)
{
    int r[5] = {9, 9, 9, 9, 9};
#pragma omp target map(r)
    {
        int sum = 5, threads = 0, all = number();
        runs = 0;
        __kmpc_fork_call(&loc, 3, (region *)add, &sum, 3L, &threads);
        r[0] = sum - 5 - 3 * threads;
        r[1] = threads - all;
        __kmpc_fork_call(&loc, 0, (region *)count);
        r[2] = runs - all;
        sum = 0;
        __kmpc_fork_call_if(&loc, 1, add_one, 1, &sum);
        r[3] = sum == all;
        sum = 0;
        __kmpc_fork_call_if(&loc, 1, add_one, 0, &sum);
        r[4] = sum;
    }
    for (int i = 0; i < 5; i++)
        printf("%d%s", r[i], i < 4 ? " " : "\n");
    return 0;
}
