// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions are cancelled, with OMP_CANCELLATION: the results are those of any
// number of threads, and of any order of them. Without it (the argument `off`)
// nothing is cancelled.
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { N = 8, ROUNDS = 3 };
static int wrong;
static int cancels;

#pragma omp begin declare target
// A barrier that is not in the function of its region.
__attribute__((noinline)) void wait(void)
{
#pragma omp barrier
}
#pragma omp end declare target

static void check(const char *what, int is, int with, int without)
{
    int right = cancels ? with : without;
    if (is == right)
        return;
    printf("%s: %d, not %d\n", what, is, right);
    wrong++;
}

// Threads leave at a barrier, at a cancellation point, or at the region's end.
static void regions(void)
{
    int came = 0, after = 0, ends = 0, threads = 0, on = 0;
#pragma omp target map(tofrom : came, after, ends, threads, on)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(N)
        {
            int me = omp_get_thread_num();
#pragma omp atomic
            came++;
            if (me == 0) {
                threads = omp_get_num_threads();
                on = omp_get_cancellation();
            }
            if (me == omp_get_num_threads() - 1) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp atomic
            after++;
        }
#pragma omp parallel num_threads(N)
#pragma omp atomic
        ends++;
    }
    check("cancellation", on, 1, 0);
    check("threads that come", came, ROUNDS * threads, ROUNDS * threads);
    check("threads behind a barrier", after, 0, ROUNDS * threads);
    check("threads of the next region", ends, ROUNDS * threads,
          ROUNDS * threads);
}

// Some threads come to no barrier, and some to one that asks nothing. Without
// cancellation the program would be wrong.
static void apart(void)
{
    int late = 0, ends = 0, threads = 0;
#pragma omp target map(tofrom : late, ends, threads)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(N)
        {
#pragma omp cancel parallel if (omp_get_thread_num() == 0)
            if (omp_get_thread_num() % 2) {
#pragma omp cancellation point parallel
            } else {
                wait();
#pragma omp single
#pragma omp atomic
                late++;
#pragma omp barrier
#pragma omp atomic
                late++;
            }
        }
#pragma omp parallel num_threads(N)
        {
#pragma omp atomic write
            threads = omp_get_num_threads();
#pragma omp atomic
            ends++;
        }
    }
    check("threads behind a second barrier", late, 0, 0);
    check("threads of the region behind", ends, ROUNDS * threads, 0);
}

static void loops(void)
{
    int fixed = 0, drawn = 0, after = 0, sum = 0, threads = 0, parts = 0;
#pragma omp target map(tofrom : fixed, drawn, after, sum, threads, parts)
    {
#pragma omp parallel num_threads(N)
        {
#pragma omp atomic write
            threads = omp_get_num_threads();
#pragma omp for schedule(static, 1)
            for (int i = 0; i < 10 * N; i++) {
#pragma omp atomic
                fixed++;
#pragma omp cancel for if (i >= omp_get_num_threads())
            }
#pragma omp for schedule(dynamic, 1)
            for (int i = 0; i < 10 * N; i++) {
#pragma omp cancel for
#pragma omp atomic
                drawn++;
            }
#pragma omp for schedule(dynamic, 3) reduction(+ : sum)
            for (int i = 0; i < 10 * N; i++)
                sum += i;
#pragma omp atomic
            after++;
        }
#pragma omp parallel sections num_threads(2)
        {
#pragma omp section
            {
#pragma omp cancel sections
#pragma omp atomic
                parts++;
            }
#pragma omp section
            {
#pragma omp cancel sections
#pragma omp atomic
                parts++;
            }
        }
    }
    // Each thread leaves with its second iteration.
    check("static loop", fixed, 2 * threads, 10 * N);
    check("dynamic loop", drawn, 0, 10 * N);
    check("threads behind loops", after, threads, threads);
    check("the next loop", sum, 10 * N * (10 * N - 1) / 2,
          10 * N * (10 * N - 1) / 2);
    check("sections", parts, 0, 2);
}

static void spmd(void)
{
    int n = 0, teams = 0;
#pragma omp target teams distribute parallel for num_teams(2) thread_limit(N) \
    map(tofrom : n, teams)
    for (int i = 0; i < 64; i++) {
#pragma omp atomic write
        teams = omp_get_num_teams() * omp_get_num_threads();
#pragma omp atomic
        n++;
#pragma omp cancel for
    }
    check("loop of all teams", n <= teams, 1, 0);
}

static void tasks(void)
{
    int n = 0, loop = 0, inner = 0;
#pragma omp target map(tofrom : n, loop, inner)
#pragma omp parallel num_threads(N)
#pragma omp single
    {
#pragma omp taskgroup
        for (int i = 0; i < 10; i++) {
#pragma omp task firstprivate(i)
            {
                if (i == 3) {
#pragma omp taskgroup
                    {
#pragma omp task
#pragma omp atomic
                        inner++;
                    }
#pragma omp cancel taskgroup
                }
#pragma omp atomic
                n++;
            }
        }
#pragma omp taskgroup
        for (int i = 0; i < 2; i++) {
#pragma omp taskloop nogroup
            for (int k = 0; k < 10; k++) {
#pragma omp cancellation point taskgroup
#pragma omp atomic
                loop++;
#pragma omp cancel taskgroup if (k == 4)
            }
        }
    }
    check("tasks", n, 3, 10);
    check("tasks of an inner group", inner, 1, 1);
    check("tasks of a loop", loop, 5, 20);
}

int main(int argc, char **argv)
{
    cancels = argc < 2 || strcmp(argv[1], "off");
    regions();
    if (cancels)
        apart();
    loops();
    spmd();
    tasks();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
