// expect: 72 3 480 9 64 2 12 31
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * All that the options of the optimizer are about: a generic kernel with
 * variables that it shares, sequential parts between regions, a loop round a
 * region, a region in a function, one within a region, regions that follow each
 * other, settings of the runtime, a reduction; on the host, regions that follow
 * each other and a data region whose copy can be waited for later. t/opt_t.sh
 * runs it with each option.
 */
#include <omp.h>
#include <stdio.h>

enum { N = 32 };

#pragma omp begin declare target
static int calls;
static int twice(int x)
{
    calls++;
    return 2 * x;
}
static __attribute__((noinline)) int in_function(int n)
{
    int sum = 0;
#pragma omp parallel num_threads(8) reduction(+ : sum)
    sum += n;
    return sum;
}
#pragma omp end declare target

static int shared_and_guarded(int *rounds)
{
    int sum = 0, count = 0;
#pragma omp target teams num_teams(1) thread_limit(N) map(tofrom : sum, count)
    {
        int a[N], total = 0, step = 1;
        for (int i = 0; i < N; i++)
            a[i] = i;
        for (int round = 0; round < 3; round++) {
            step = twice(step);
#pragma omp parallel num_threads(N)
            {
                int me = omp_get_thread_num();
                a[me] += step;
                if (me == 0)
                    total += step;
            }
            total += in_function(round) / 8;
        }
        calls = 0;
        for (int i = 0; i < 4; i++)
            sum += a[i];
        sum += total - 7;
        count = 3;
    }
    *rounds = count;
    return sum;
}

static int reduction(void)
{
    int sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) \
    num_teams(2) thread_limit(N)
    for (int i = 0; i < 16; i++)
        sum += 4 * i;
    return sum;
}

static int settings(void)
{
    int most = 0;
#pragma omp target map(from : most)
    {
        omp_set_num_threads(9);
        most = omp_get_max_threads();
        if (most > 9)
            most = 9;
    }
    return most;
}

static int in_a_row(int *nested)
{
    int v[N] = {0}, sum = 0, levels = 0;
#pragma omp target map(tofrom : v, levels)
    {
        int b[N];
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            b[i] = 1;
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            v[i] = b[i] + b[N - 1 - i];
#pragma omp parallel num_threads(4)
        {
#pragma omp parallel num_threads(2)
            if (omp_get_ancestor_thread_num(1) == 0)
#pragma omp atomic write
                levels = omp_get_level();
        }
    }
    for (int i = 0; i < N; i++)
        sum += v[i];
    *nested = levels;
    return sum;
}

static int on_host(int *after)
{
    int last[4] = {0}, x[N], sum = 0;
#pragma omp parallel num_threads(4)
    last[omp_get_thread_num()] = omp_get_thread_num();
#pragma omp parallel num_threads(4)
    last[omp_get_thread_num()] += last[omp_get_thread_num()];
    for (int i = 0; i < N; i++)
        x[i] = i;
#pragma omp target data map(tofrom : x)
    {
#pragma omp target
        x[0] = 0, x[N - 1] = 31;
    }
    for (int i = 0; i < 4; i++)
        sum += last[i];
    *after = x[N - 1];
    return sum;
}

int main(void)
{
    int rounds, nested, after;
    int shared = shared_and_guarded(&rounds);
    int row = in_a_row(&nested), host = on_host(&after);
    printf("%d %d %d %d %d %d %d %d\n", shared, rounds, reduction(),
           settings(), row, nested, host, after);
}
