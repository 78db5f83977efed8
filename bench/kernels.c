/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * kernels NAME REPEATS: seconds of one run of a kernel whose data is on the
 * device already; the best of the repeats, which are after one that is not
 * counted. The same file is built by clang and run by `ompjit run`.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 24, EDGE = 2048, M = 512 };

static double *allocate(long n)
{
    double *p = malloc(n * sizeof *p);
    if (!p)
        exit(1);
    for (long i = 0; i < n; i++)
        p[i] = i % 7;
    return p;
}

#define BEST(statement) \
    double best = 1e30; \
    for (int r = 0; r <= repeats; r++) { \
        double start = omp_get_wtime(); \
        statement; \
        double took = omp_get_wtime() - start; \
        if (r > 0 && took < best) \
            best = took; \
    }

static void saxpy_once(long n, double a, const double *x, double *y)
{
    #pragma omp target teams distribute parallel for map(to : x[:n]) \
        map(tofrom : y[:n])
    for (long i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

static double saxpy(int repeats)
{
    double *x = allocate(N), *y = allocate(N);
    #pragma omp target enter data map(to : x[:N], y[:N])
    BEST(saxpy_once(N, 0.5, x, y))
    return best;
}

static double dot_once(long n, const double *x, const double *y)
{
    double sum = 0;
    #pragma omp target teams distribute parallel for reduction(+ : sum) \
        map(to : x[:n], y[:n]) map(tofrom : sum)
    for (long i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static volatile double sink;

static double dot(int repeats)
{
    double *x = allocate(N), *y = allocate(N);
    #pragma omp target enter data map(to : x[:N], y[:N])
    BEST(sink = dot_once(N, x, y))
    return best;
}

static void jacobi_once(long n, const double *old, double *new)
{
    #pragma omp target teams distribute parallel for \
        map(to : old[:n * n]) map(tofrom : new[:n * n])
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            new[i * n + j] = 0.25 * (old[(i - 1) * n + j] +
                                     old[(i + 1) * n + j] +
                                     old[i * n + j - 1] + old[i * n + j + 1]);
}

static double jacobi(int repeats)
{
    double *a = allocate(EDGE * EDGE), *b = allocate(EDGE * EDGE);
    #pragma omp target enter data map(to : a[:EDGE * EDGE], b[:EDGE * EDGE])
    BEST(r % 2 ? jacobi_once(EDGE, b, a) : jacobi_once(EDGE, a, b))
    return best;
}

static void matmul_once(long n, const double *a, const double *b, double *c)
{
    #pragma omp target teams distribute parallel for \
        map(to : a[:n * n], b[:n * n]) map(tofrom : c[:n * n])
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (long k = 0; k < n; k++)
            for (long j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

static double matmul(int repeats)
{
    double *a = allocate(M * M), *b = allocate(M * M), *c = allocate(M * M);
    #pragma omp target enter data map(to : a[:M * M], b[:M * M], c[:M * M])
    BEST(matmul_once(M, a, b, c))
    return best;
}

/* One team: the threads are what there is. */
static double sum_once(long n, const double *x)
{
    double sum = 0;
    #pragma omp target parallel for reduction(+ : sum) map(to : x[:n])
    for (long i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

static double sum(int repeats)
{
    double *x = allocate(N);
    #pragma omp target enter data map(to : x[:N])
    BEST(sink = sum_once(N, x))
    return best;
}

/* A sequential part between two parallel regions. */
static void generic_once(long n, double *x)
{
    #pragma omp target map(tofrom : x[:n])
    {
        double scale = 0.5;
        #pragma omp parallel for
        for (long i = 0; i < n; i++)
            x[i] = scale * x[i];
        scale = 1 / (1 + x[0]);
        #pragma omp parallel for
        for (long i = 0; i < n; i++)
            x[i] += scale;
    }
}

static double generic(int repeats)
{
    double *x = allocate(N);
    #pragma omp target enter data map(to : x[:N])
    BEST(generic_once(N, x))
    return best;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        double (*run)(int repeats);
    } kernels[] = {{"saxpy", saxpy}, {"dot", dot}, {"jacobi", jacobi},
                   {"matmul", matmul}, {"sum", sum}, {"generic", generic}};
    for (unsigned i = 0; argc > 2 && i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(argv[1], kernels[i].name)) {
            printf("%.9f\n", kernels[i].run(atoi(argv[2])));
            return 0;
        }
    fprintf(stderr, "usage: kernels saxpy|dot|jacobi|matmul|sum|generic REPEATS\n");
    return 2;
}
