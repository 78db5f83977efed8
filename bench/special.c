/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * special NAME REPEATS: seconds of one run of a kernel whose loops depend on
 * arguments: the best of the repeats, which are after several that are not
 * counted. `ompjit run` takes it generic and specialized. Built by clang with
 * -DBY_HAND it is what one writes by hand: the arguments are constants.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BY_HAND
#define ARGUMENTS(...)
enum { radius = 3, degree = 11, relativistic = 1, magnetic = 0, drag = 0,
       periodic = 1, length = 5 };
#define c0 0.5
#define c1 0.25
#define c2 0.125
#define c3 0.0
#define c4 0.0
#define dt 0.125
#define size 16.0
#else
#define ARGUMENTS(...) __VA_ARGS__,
/* Values that the compiler of the host half cannot know. */
static volatile double given_values[64];
static int given_count;
static double given(double value)
{
    int i = given_count++ % 64;
    given_values[i] = value;
    return given_values[i];
}
#endif

enum { N = 1 << 20, WARM = 3 };

static double *allocate(long n)
{
    double *p = aligned_alloc(64, (size_t)(n + 7) / 8 * 64);
    if (!p)
        exit(1);
    for (long i = 0; i < n; i++)
        p[i] = (double)(i % 7) / 8;
    return p;
}

#define BEST(statement)                                                        \
    double best = 1e30;                                                        \
    for (int r = 0; r < repeats + WARM; r++) {                                 \
        double start = omp_get_wtime();                                        \
        statement;                                                             \
        double took = omp_get_wtime() - start;                                 \
        if (r >= WARM && took < best)                                          \
            best = took;                                                       \
    }

/* A stencil in one dimension: its radius and coefficients are arguments. */
static void stencil_once(ARGUMENTS(int radius, double c0, double c1, double c2,
                                   double c3, double c4)
                         long n, const double *x, double *y)
{
    #pragma omp target teams distribute parallel for map(to : x[:n]) \
        map(tofrom : y[:n])
    for (long i = 8; i < n - 8; i++) {
        double c[5] = {c0, c1, c2, c3, c4}, sum = c[0] * x[i];
        for (int k = 1; k <= radius; k++)
            sum += c[k] * (x[i - k] + x[i + k]);
        y[i] = sum;
    }
}

static double stencil(int repeats)
{
    double *x = allocate(N), *y = allocate(N);
    #pragma omp target enter data map(to : x[:N], y[:N])
    BEST(stencil_once(ARGUMENTS((int)given(3), given(0.5), given(0.25),
                                given(0.125), given(0), given(0)) N, x, y))
    return best;
}

/* Many small matrix products, whose size is an argument. */
#define PRODUCTS(m_value)                                                      \
    static double products##m_value(int repeats)                               \
    {                                                                          \
        long count = N / (m_value * m_value);                                  \
        double *a = allocate(N), *b = allocate(N), *c = allocate(N);           \
        _Pragma("omp target enter data map(to : a[:N], b[:N], c[:N])")         \
        BEST(products_once##m_value(ARGUMENTS((int)given(m_value)) count, a,   \
                                    b, c))                                     \
        return best;                                                           \
    }
#define PRODUCTS_ONCE                                                          \
    for (long p = 0; p < count; p++) {                                         \
        const double *A = a + p * m * m, *B = b + p * m * m;                   \
        double *C = c + p * m * m;                                             \
        for (int i = 0; i < m; i++)                                            \
            for (int j = 0; j < m; j++) {                                      \
                double sum = 0;                                                \
                for (int k = 0; k < m; k++)                                    \
                    sum += A[i * m + k] * B[k * m + j];                        \
                C[i * m + j] = sum;                                            \
            }                                                                  \
    }

static void products_once4(ARGUMENTS(int m) long count, const double *a,
                           const double *b, double *c)
{
#ifdef BY_HAND
    enum { m = 4 };
#endif
    #pragma omp target teams distribute parallel for \
        map(to : a[:count * m * m], b[:count * m * m]) \
        map(tofrom : c[:count * m * m])
    PRODUCTS_ONCE
}
PRODUCTS(4)

static void products_once8(ARGUMENTS(int m) long count, const double *a,
                           const double *b, double *c)
{
#ifdef BY_HAND
    enum { m = 8 };
#endif
    #pragma omp target teams distribute parallel for \
        map(to : a[:count * m * m], b[:count * m * m]) \
        map(tofrom : c[:count * m * m])
    PRODUCTS_ONCE
}
PRODUCTS(8)

static void products_once32(ARGUMENTS(int m) long count, const double *a,
                           const double *b, double *c)
{
#ifdef BY_HAND
    enum { m = 32 };
#endif
    #pragma omp target teams distribute parallel for \
        map(to : a[:count * m * m], b[:count * m * m]) \
        map(tofrom : c[:count * m * m])
    PRODUCTS_ONCE
}
PRODUCTS(32)

/* A polynomial of a degree that is an argument. */
static void polynomial_once(ARGUMENTS(int degree) long n, const double *c,
                            const double *x, double *y)
{
    #pragma omp target teams distribute parallel for \
        map(to : x[:n], c[:16]) map(tofrom : y[:n])
    for (long i = 0; i < n; i++) {
        double sum = 0;
        for (int k = degree; k >= 0; k--)
            sum = sum * x[i] + c[k];
        y[i] = sum;
    }
}

static double polynomial(int repeats)
{
    double *x = allocate(N), *y = allocate(N), *c = allocate(16);
    #pragma omp target enter data map(to : x[:N], y[:N], c[:16])
    BEST(polynomial_once(ARGUMENTS((int)given(11)) N, c, x, y))
    return best;
}

/* Particles moved by one of several laws, by switches that are arguments. */
static void push_once(ARGUMENTS(int relativistic, int magnetic, int drag,
                                int periodic, double dt, double size)
                      long n, const double *e, double *x, double *v)
{
    #pragma omp target teams distribute parallel for map(to : e[:n]) \
        map(tofrom : x[:n], v[:n])
    for (long i = 0; i < n; i++) {
        double u = v[i] + dt * e[i];
        if (magnetic)
            u = u * cos(dt) - e[i] * sin(dt * u);
        if (drag)
            u *= exp(-dt * fabs(u));
        if (relativistic)
            u /= sqrt(1 + u * u);
        double at = x[i] + dt * u;
        if (periodic == 1)
            at -= size * floor(at / size);
        else if (periodic == 2 && at > size)
            at = 2 * size - at;
        x[i] = at;
        v[i] = u;
    }
}

static double push(int repeats)
{
    double *e = allocate(N), *x = allocate(N), *v = allocate(N);
    #pragma omp target enter data map(to : e[:N], x[:N], v[:N])
    BEST(push_once(ARGUMENTS((int)given(1), (int)given(0), (int)given(0),
                             (int)given(1), given(0.125), given(16))
                   N, e, x, v))
    return best;
}

/* A sparse matrix by rows of a length that is an argument, times a vector. */
static void sparse_once(ARGUMENTS(int length) long rows, const int *column,
                        const double *value, const double *x, double *y)
{
    #pragma omp target teams distribute parallel for \
        map(to : column[:rows * length], value[:rows * length], x[:rows]) \
        map(tofrom : y[:rows])
    for (long i = 0; i < rows; i++) {
        double sum = 0;
        for (int k = 0; k < length; k++)
            sum += value[i * length + k] * x[column[i * length + k]];
        y[i] = sum;
    }
}

static double sparse(int repeats)
{
    enum { ROWS = N / 8, LENGTH = 5 };
    double *value = allocate(N), *x = allocate(ROWS), *y = allocate(ROWS);
    int *column = malloc(N * sizeof *column);
    for (long i = 0; i < N; i++)
        column[i] = (int)((i / LENGTH + i % LENGTH * 31) % ROWS);
    #pragma omp target enter data map(to : column[:N], value[:N], x[:ROWS], \
                                      y[:ROWS])
    BEST(sparse_once(ARGUMENTS((int)given(LENGTH)) ROWS, column, value, x, y))
    return best;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        double (*run)(int repeats);
    } kernels[] = {{"stencil", stencil},       {"products4", products4},
                   {"products8", products8},   {"products32", products32},
                   {"polynomial", polynomial}, {"push", push},
                   {"sparse", sparse}};
    for (unsigned i = 0; argc > 2 && i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(argv[1], kernels[i].name)) {
            printf("%.9f\n", kernels[i].run(atoi(argv[2])));
            return 0;
        }
    fprintf(stderr, "usage: special KERNEL REPEATS, where KERNEL is one of");
    for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++)
        fprintf(stderr, " %s", kernels[i].name);
    fprintf(stderr, "\n");
    return 2;
}
