// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: right
// One kind of regions for each CASE, which t/flat_t.sh sets: what the library
// takes for flat or plain (passes/execution/no_thread_state.c), and what only
// looks so.
#include <omp.h>
#include <stdio.h>

enum { N = 300 };

#if CASE == 3 || CASE == 4
#pragma omp declare target
// How many regions deep the innermost is, and its threads.
static int __attribute__((noinline)) inner(void)
{
    int seen = 0;
#pragma omp parallel reduction(+ : seen)
    seen += 100 * omp_get_level() + omp_get_num_threads();
    return seen;
}
#pragma omp end declare target
#endif

int main(void)
{
    int a[N], wrong = 0;
#if CASE == 0 /* plain */
#define EXPECTED (3 * i + 1)
#pragma omp target teams distribute parallel for map(from : a)
    for (int i = 0; i < N; i++)
        a[i] = 3 * i + 1;
#elif CASE == 1 /* two plain ones, one with a number of threads */
#define EXPECTED (i + 5)
#pragma omp target parallel for num_threads(40) map(from : a)
    for (int i = 0; i < N; i++)
        a[i] = i + 2;
#pragma omp target parallel for schedule(static, 3) map(tofrom : a)
    for (long i = N - 1; i >= 0; i--)
        a[i] += 3;
#elif CASE == 2 /* a region in a region */
#define EXPECTED 201
#pragma omp target teams distribute parallel for map(from : a)
    for (int i = 0; i < N; i++) {
        int seen = 0;
#pragma omp parallel reduction(+ : seen)
        seen += 100 * omp_get_level() + omp_get_num_threads();
        a[i] = seen;
    }
#elif CASE == 3 /* in a function, called inside and outside of regions */
#define EXPECTED (201 + 100 * (i < 0))
#pragma omp target map(from : a) map(tofrom : wrong)
    {
        wrong += inner() < 101;
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            a[i] = inner();
    }
#elif CASE == 4 /* by a pointer */
#define EXPECTED 201
#pragma omp target teams distribute parallel for map(from : a)
    for (int i = 0; i < N; i++) {
        int (*volatile by_pointer)(void) = inner;
        a[i] = by_pointer();
    }
#elif CASE == 5 /* settings */
#define EXPECTED (i % 7 + 1)
#pragma omp target teams distribute parallel for map(from : a)
    for (int i = 0; i < N; i++) {
        omp_set_num_threads(i % 7 + 1);
        a[i] = omp_get_max_threads();
    }
#elif CASE == 6 /* flat, but not plain */
#define EXPECTED (i + 1)
#pragma omp target teams distribute parallel for map(from : a) \
    reduction(+ : wrong)
    for (int i = 0; i < N; i++) {
        a[i] = i + omp_get_level();
        wrong += omp_get_level() != 1;
    }
#endif
    for (int i = 0; i < N; i++)
        wrong += a[i] != EXPECTED;
    puts(wrong ? "wrong" : "right");
    return 0;
}
