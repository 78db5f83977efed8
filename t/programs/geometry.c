// expect: teams 4, threads 32 and 32
// expect: static chunks of 2: 10 threads, 10 with the team's number
// expect: 4 threads count, and 4 do that ask for their team
// expect: combined constructs: 10 10 10 10
// expect: bare: 4096 threads, blocks of 64
// expect: exchange: 255 0
// expect: set: 5, unknown: 7
// expect: critical: 64 64
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A team has the threads that clauses say wherever a program can tell, whatever
 * else it asks for.
 */
#include <omp.h>
#include <stdio.h>

#pragma omp begin declare target
#ifdef __NVPTX__
int ompx_thread_id(int dimension);
int ompx_block_id(int dimension);
int ompx_block_dim(int dimension);
#else /* of the version that the host never runs */
static int ompx_thread_id(int dimension) { return dimension; }
static int ompx_block_id(int dimension) { return dimension; }
static int ompx_block_dim(int dimension) { return dimension; }
#endif
#pragma omp end declare target

static void limits(void)
{
    int n = -1, m = -1, k = -1;
#pragma omp target teams num_teams(4) thread_limit(32) map(from: n, m)
    {
#pragma omp parallel
        if (omp_get_team_num() == 0 && omp_get_thread_num() == 0) {
            n = omp_get_num_threads();
            m = omp_get_num_teams();
        }
    }
#pragma omp target teams num_teams(4) thread_limit(32) map(from: k)
    {
#pragma omp parallel num_threads(32)
        if (omp_get_team_num() == 0 && omp_get_thread_num() == 0)
            k = omp_get_num_threads();
    }
    printf("teams %d, threads %d and %d\n", m, n, k);
}

/* How many threads have taken their parts; 0: some have taken others. */
static int takers(const int *a)
{
    int most = 0;
    for (int i = 0; i < 100; i++) {
        if (a[i] != i / 2 % 10)
            return 0;
        most = a[i] > most ? a[i] : most;
    }
    return most + 1;
}

static void chunks(void)
{
    int a[100], b[100];
#pragma omp target parallel for num_threads(10) schedule(static, 2) map(from: a)
    for (int i = 0; i < 100; i++)
        a[i] = omp_get_thread_num();
#pragma omp target parallel for num_threads(10) schedule(static, 2) map(from: b)
    for (int i = 0; i < 100; i++)
        b[i] = omp_get_thread_num() + omp_get_team_num() * 256;
    printf("static chunks of 2: %d threads, %d with the team's number\n",
           takers(a), takers(b));
}

static void counts(void)
{
    int n = 0, m = 0, t = -1;
#pragma omp target parallel num_threads(4) map(tofrom: n)
    {
#pragma omp atomic
        n++;
    }
#pragma omp target parallel num_threads(4) map(tofrom: m, t)
    {
#pragma omp atomic
        m++;
        if (omp_get_thread_num() == 3)
            t = omp_get_team_num();
    }
    printf("%d threads count, and %d do that ask for their team\n", n, m + t);
}

static int most(const int *a)
{
    int n = 0;
    for (int i = 0; i < 100; i++)
        n = a[i] > n ? a[i] : n;
    return n;
}

static void combined(void)
{
    int a[100] = {0}, b[100] = {0}, c[100] = {0}, d[100] = {0}, ten = most(a);
    ten += 10;
#pragma omp target parallel for num_threads(10) map(a)
    for (int i = 0; i < 100; i++)
        a[i] = omp_get_num_threads();
#pragma omp target teams distribute parallel for num_threads(ten) map(b)
    for (int i = 0; i < 100; i++)
        b[i] = omp_get_num_threads();
#pragma omp target teams distribute parallel for num_teams(1) num_threads(10) \
    map(c)
    for (int i = 0; i < 100; i++)
        c[i] = omp_get_thread_num() + 1;
#pragma omp target teams num_teams(1) map(d)
#pragma omp parallel num_threads(10)
    d[omp_get_thread_num()] = omp_get_num_threads();
    printf("combined constructs: %d %d %d %d\n", most(a), most(b), most(c),
           d[9]);
}

static void bare(void)
{
    int n = 0, dim = 0, came[4096] = {0};
#pragma omp target teams ompx_bare num_teams(64) thread_limit(64) \
    map(tofrom: came, dim)
    {
        int i = ompx_block_id(0) * ompx_block_dim(0) + ompx_thread_id(0);
        came[i] = 1;
        if (i == 0)
            dim = ompx_block_dim(0);
    }
    for (int i = 0; i < 4096; i++)
        n += came[i];
    printf("bare: %d threads, blocks of %d\n", n, dim);
}

static void exchange(void)
{
    int test[256];
    for (int i = 0; i < 256; i++)
        test[i] = i;
#pragma omp target teams num_teams(1) thread_limit(256) map(test)
    {
        int s[256];
#pragma omp parallel num_threads(256)
        {
            int t = omp_get_thread_num();
            s[t] = test[t];
#pragma omp barrier
            test[t] = s[255 - t];
        }
    }
    printf("exchange: %d %d\n", test[0], test[255]);
}

/* Numbers of threads that only the kernel knows. */
static void unknown(void)
{
    int n = 0, m = 0;
#pragma omp target teams num_teams(2) thread_limit(9) map(tofrom: n)
    {
        omp_set_num_threads(5);
#pragma omp parallel
        if (omp_get_team_num() == 0 && omp_get_thread_num() == 4)
            n = omp_get_num_threads();
    }
#pragma omp target map(tofrom: m)
    {
        int k = omp_get_num_teams() + 6;
#pragma omp parallel num_threads(k)
        {
#pragma omp atomic
            m++;
        }
    }
    printf("set: %d, unknown: %d\n", n, m);
}

static void critical(void)
{
    int n = 0, m = 0;
#pragma omp target parallel num_threads(64) map(tofrom: n)
    {
#pragma omp critical
        n++;
    }
#pragma omp target parallel for num_threads(16) map(tofrom: m)
    for (int i = 0; i < 64; i++) {
#pragma omp critical(other)
        m += omp_get_num_threads() == 16;
    }
    printf("critical: %d %d\n", n, m);
}

int main(void)
{
    limits();
    chunks();
    counts();
    combined();
    bare();
    exchange();
    unknown();
    critical();
    return 0;
}
