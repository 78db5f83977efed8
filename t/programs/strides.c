/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops of default schedules, whose form on a GPU passes/loops/schedule.c changes,
 * and scalars that regions read, which passes/sharing/pass_by_value.c hands over.
 * Prints `right`, or the lines that are wrong.
 */
// expect: right
#include <stdio.h>
#include <string.h>

enum { N = 700, ROWS = 5 };
static int seen[N], wrongs;
static double d[N];

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            wrongs++, printf("line %d\n", __LINE__);                           \
    } while (0)

/* Each of n places was come to once, and no other. */
static int once(int n)
{
    int good = 1;
    for (int i = 0; i < N; i++)
        good &= seen[i] == (i < n);
    memset(seen, 0, sizeof seen);
    return good;
}

static void combined(int n)
{
    long sum = 0;
    #pragma omp target teams distribute parallel for num_teams(3) \
        thread_limit(64) map(tofrom : seen)
    for (int i = 0; i < n; i++)
        seen[i]++;
    CHECK(once(n));
    #pragma omp target teams distribute parallel for num_teams(3) \
        thread_limit(64) map(tofrom : seen)
    for (unsigned i = 0; i < (unsigned)n; i++)
        seen[i]++;
    CHECK(once(n));
    #pragma omp target teams distribute parallel for reduction(+ : sum) \
        num_teams(2) thread_limit(32) map(tofrom : seen, sum)
    for (long i = n - 1; i >= 0; i--) {
        seen[i]++;
        sum += i;
    }
    CHECK(once(n) && sum == (long)n * (n - 1) / 2);
    #pragma omp target teams distribute parallel for collapse(2) \
        num_teams(4) thread_limit(32) map(tofrom : seen)
    for (int i = 0; i < n / 7; i++)
        for (int j = 0; j < 7; j++)
            seen[i * 7 + j]++;
    CHECK(once(n / 7 * 7));
    #pragma omp target teams distribute parallel for num_threads(5) \
        num_teams(3) map(tofrom : seen)
    for (int i = 0; i < n; i++)
        seen[i]++;
    CHECK(once(n));
    #pragma omp target teams distribute parallel for if (parallel : n < 0) \
        num_teams(3) map(tofrom : seen)
    for (int i = 0; i < n; i++)
        seen[i]++;
    CHECK(once(n));
    #pragma omp target teams distribute parallel for simd num_teams(2) \
        dist_schedule(static, 9) map(tofrom : seen)
    for (int i = 0; i < n; i++)
        seen[i]++;
    CHECK(once(n));
}

static void split(int n)
{
    int width = n / ROWS, last = -1;
    #pragma omp target teams distribute num_teams(2) thread_limit(64) \
        map(tofrom : seen)
    for (int r = 0; r < ROWS; r++) {
        int *row = seen + r * width;
        #pragma omp parallel for
        for (int i = 0; i < width; i++)
            row[i]++;
    }
    CHECK(once(ROWS * width));
    #pragma omp target parallel for thread_limit(64) \
        map(tofrom : seen, last) lastprivate(last)
    for (int i = 3; i < n; i += 2) {
        last = i;
        seen[(i - 3) / 2]++;
    }
    CHECK(once(n > 3 ? (n - 2) / 2 : 0) &&
          last == (n > 3 ? 3 + ((n - 4) / 2) * 2 : -1));
    #pragma omp target parallel thread_limit(64) map(tofrom : seen)
    {
        #pragma omp for schedule(static, 1)
        for (long i = 0; i < n; i++)
            seen[i]++;
        #pragma omp for schedule(static, 5)
        for (long i = 0; i < n; i++)
            seen[i] += seen[i] == 1 ? 0 : 100;
    }
    CHECK(once(n));
}

/* Of each type, read by one region, and written by the team between two. */
static void values(int n)
{
    double product = 0;
    int turns = 0;
    #pragma omp target teams num_teams(1) thread_limit(64) \
        map(tofrom : d, product, turns)
    {
        char c = 1;
        short s = 2;
        float f = 0.5f;
        double g = 0.25;
        long l = 3;
        double *p = d;
        for (int turn = 0; turn < 3; turn++) {
            #pragma omp parallel for
            for (int i = 0; i < n; i++)
                p[i] = c + s * f + l * g + turn;
            c += 1;
            s *= 2;
            f += 1;
            g *= 2;
            l = -l;
            product += p[0];
            turns++;
        }
        int count = 0;
        #pragma omp parallel for reduction(+ : count)
        for (int i = 0; i < n; i++)
            count += p[i] > 0;
        if (count != n)
            turns = -1;
        #pragma omp parallel
        {
            #pragma omp masked
            turns += 10; /* not read only */
        }
    }
    double expected[3] = {1 + 2 * 0.5 + 3 * 0.25, 2 + 4 * 1.5 - 3 * 0.5 + 1,
                          3 + 8 * 2.5 + 3 * 1. + 2};
    CHECK(product == expected[0] + expected[1] + expected[2]);
    CHECK(turns == 13);
    for (int i = 0; i < n; i++)
        CHECK(d[i] == expected[2]);
}

int main(void)
{
    static const int lengths[] = {0, 1, 31, 64, 191, 192, 193, 500, 700};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        combined(lengths[i]);
        split(lengths[i]);
        if (lengths[i])
            values(lengths[i]);
    }
    puts(wrongs ? "wrong" : "right");
    return wrongs != 0;
}
