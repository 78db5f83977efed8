/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * eleven KERNEL N: microseconds of one of eleven kernels. Without DEVICE a
 * compiler's own OpenMP is the peer. Data is present before the clock starts.
 * Prints a checksum behind the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef DEVICE
#define LOOP _Pragma("omp target teams distribute parallel for")
#define LOOP_SUM                                                              \
    _Pragma("omp target teams distribute parallel for reduction(+ : sum)")
#define TARGET _Pragma("omp target map(sum)")
#else
#define LOOP _Pragma("omp parallel for")
#define LOOP_SUM _Pragma("omp parallel for reduction(+ : sum)")
#define TARGET
#endif

static double saxpy(long n, const double *a, double *b, const int *at)
{
    (void)at;
    LOOP
    for (long i = 0; i < n; i++)
        b[i] += 1.5 * a[i];
    return 0;
}

static double dot(long n, const double *a, double *b, const int *at)
{
    double sum = 0;
    (void)at;
    LOOP_SUM
    for (long i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double jacobi(long n, const double *a, double *b, const int *at)
{
    (void)at;
    LOOP
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            b[i * n + j] = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] +
                                   a[i * n + j - 1] + a[i * n + j + 1]);
    return 0;
}

static double matmul(long n, const double *a, double *b, const int *at)
{
    const double *c = a + n * n;
    (void)at;
    LOOP
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++)
            b[i * n + j] = 0;
        for (long k = 0; k < n; k++)
            for (long j = 0; j < n; j++)
                b[i * n + j] += a[i * n + k] * c[k * n + j];
    }
    return 0;
}

static double nbody(long n, const double *a, double *b, const int *at)
{
    (void)at;
    LOOP
    for (long i = 0; i < n; i++) {
        double fx = 0, fy = 0, fz = 0;
        for (long j = 0; j < n; j++) {
            double dx = a[j] - a[i], dy = a[n + j] - a[n + i],
                   dz = a[2 * n + j] - a[2 * n + i];
            double r = dx * dx + dy * dy + dz * dz + 0.01;
            double f = 1 / (r * __builtin_sqrt(r));
            fx += f * dx;
            fy += f * dy;
            fz += f * dz;
        }
        b[i] = fx;
        b[n + i] = fy;
        b[2 * n + i] = fz;
    }
    return 0;
}

/* Rows of 16 elements. */
static double spmv(long n, const double *a, double *b, const int *at)
{
    LOOP
    for (long i = 0; i < n; i++) {
        double sum = 0;
        for (int k = (int)i * 16; k < (int)i * 16 + 16; k++)
            sum += a[k] * a[at[k] % n];
        b[i] = sum;
    }
    return 0;
}

static double histogram(long n, const double *a, double *b, const int *at)
{
    (void)a;
    LOOP
    for (long i = 0; i < n; i++) {
        _Pragma("omp atomic") b[at[i] & 255] += 1;
    }
    return 0;
}

static double mandelbrot(long n, const double *a, double *b, const int *at)
{
    (void)a, (void)at;
    LOOP
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            double cx = -2 + 3.0 * (double)j / (double)n,
                   cy = -1.5 + 3.0 * (double)i / (double)n, x = 0, y = 0;
            int k = 0;
            for (; k < 100 && x * x + y * y < 4; k++) {
                double t = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = t;
            }
            b[i * n + j] = k;
        }
    return 0;
}

static double stencil(long n, const double *a, double *b, const int *at)
{
    (void)at;
    LOOP
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            for (long k = 1; k < n - 1; k++) {
                long p = (i * n + j) * n + k;
                b[p] = 0.4 * a[p] + 0.1 * (a[p - 1] + a[p + 1] + a[p - n] +
                                           a[p + n] + a[p - n * n] + a[p + n * n]);
            }
    return 0;
}

static double scan(long n, const double *a, double *b, const int *at)
{
    double sum = 0;
    (void)at;
    TARGET
    _Pragma("omp parallel for reduction(inscan, + : sum)")
    for (long i = 0; i < n; i++) {
        sum += a[i];
        _Pragma("omp scan inclusive(sum)") b[i] = sum;
    }
    return sum;
}

static double branchy(long n, const double *a, double *b, const int *at)
{
    LOOP
    for (long i = 0; i < n; i++) {
        double x = a[i];
        switch (at[i] & 3) {
        case 0: x = x * x + 1; break;
        case 1: x = x < 3 ? 1 / (x + 1) : x - 3; break;
        case 2:
            while (x > 1)
                x *= 0.5;
            break;
        default: x = -x;
        }
        b[i] = x;
    }
    return 0;
}

static const struct {
    const char *name;
    double (*run)(long n, const double *a, double *b, const int *at);
    long elements; /* of each array at n = 1, ... */
    int power;     /* ... times n to this power   */
} kernels[] = {
    {"saxpy", saxpy, 1, 1},
    {"dot", dot, 1, 1},
    {"jacobi", jacobi, 1, 2},
    {"matmul", matmul, 2, 2},
    {"nbody", nbody, 3, 1},
    {"spmv", spmv, 16, 1},
    {"histogram", histogram, 1, 1},
    {"mandelbrot", mandelbrot, 1, 2},
    {"stencil", stencil, 1, 3},
    {"scan", scan, 1, 1},
    {"branchy", branchy, 1, 1},
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    unsigned k = 0;
    for (unsigned i = 0; argc > 1 && i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(argv[1], kernels[i].name))
            k = i;
    long n = argc > 2 ? atol(argv[2]) : 100, m = kernels[k].elements;
    for (int i = 0; i < kernels[k].power; i++)
        m *= n;
    if (m < 256)
        m = 256;
    double *a = malloc((size_t)m * sizeof *a), *b = malloc((size_t)m * sizeof *b);
    int *at = malloc((size_t)m * sizeof *at);
    double best = 1e30, sum = 0, end = now() + 0.4;
    for (long i = 0; i < m; i++) {
        a[i] = (double)(i % 7);
        b[i] = (double)(i % 5);
        at[i] = (int)((unsigned)i * 2654435761u >> 4);
    }
#ifdef DEVICE
#pragma omp target data map(to : a[:m], at[:m]) map(tofrom : b[:m])
#endif
    for (int rounds = 0; rounds < 20 || now() < end; rounds++) {
        double start = now();
        sum = kernels[k].run(n, a, b, at);
        double time = now() - start;
        best = time < best ? time : best;
    }
    printf("%.3f %.12g\n", best * 1e6, sum);
    return b[0] < -1e300;
}
