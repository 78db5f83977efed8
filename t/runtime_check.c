/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The kernels of bench/runtime, whose cost is compared with another runtime's:
 * what they compute. Prints the name of each that is wrong.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/runtime/dot.c"
#include "bench/runtime/gemv.c"
#include "bench/runtime/generic.c"
#include "bench/runtime/histogram.c"
#include "bench/runtime/jacobi.c"
#include "bench/runtime/last.c"
#include "bench/runtime/mandelbrot.c"
#include "bench/runtime/matmul.c"
#include "bench/runtime/nested.c"
#include "bench/runtime/saxpy.c"
#include "bench/runtime/sections.c"
#include "bench/runtime/tasks.c"

enum { M = 7, N = 61, L = 13, MANY = 1000 };

static int wrongs;
#define CHECK(name, condition)                                                 \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("%s, %s:%d\n", name, __FILE__, __LINE__);                   \
            wrongs++;                                                          \
            return;                                                            \
        }                                                                      \
    } while (0)

static double d[MANY], e[MANY], f[MANY];
static float s[MANY], t[MANY], u[M];
static int v[MANY], w[MANY];

static void reset(void)
{
    for (int i = 0; i < MANY; i++) {
        d[i] = i % 7;
        e[i] = i % 5;
        f[i] = -1;
        s[i] = i % 3;
        t[i] = i % 4;
        v[i] = i % 11;
        w[i] = -1;
    }
}

static void check_flat(void)
{
    double sum = 0;
    saxpy(MANY, 2, s, t);
    for (int i = 0; i < MANY; i++) {
        CHECK("saxpy", t[i] == i % 4 + 2 * (i % 3));
        sum += d[i] * e[i];
    }
    CHECK("dot", dot(MANY, d, e) == sum);
    CHECK("dot of nothing", dot(0, d, e) == 0);
}

static void check_matmul(void)
{
    matmul(M, N, L, d, e, f);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < L; k++)
                sum += d[i * L + k] * e[k * N + j];
            CHECK("matmul", f[i * N + j] == sum);
        }
}

static void check_jacobi(void)
{
    const int n = 29;
    jacobi(n, d, f);
    for (int i = 0; i < n * n; i++) {
        int inside = i / n > 0 && i / n < n - 1 && i % n > 0 && i % n < n - 1;
        double mean = 0.25 * (d[inside ? i - n : 0] + d[inside ? i + n : 0] +
                              d[inside ? i - 1 : 0] + d[inside ? i + 1 : 0]);
        CHECK("jacobi", f[i] == (inside ? mean : -1));
    }
}

static void check_generic(void)
{
    double norms[M];
    normalize(M, N, d, norms);
    for (int r = 0; r < M; r++) {
        double norm = 0;
        for (int i = 0; i < N; i++)
            norm += (r * N + i) % 7 * ((r * N + i) % 7);
        CHECK("generic", norms[r] == norm);
        for (int i = 0; i < N; i++)
            CHECK("generic", d[r * N + i] == (r * N + i) % 7 * (1 / norm));
    }
}

static void check_gemv(void)
{
    gemv(M, N, s, t, u);
    for (int r = 0; r < M; r++) {
        float sum = 0;
        for (int i = 0; i < N; i++)
            sum += s[r * N + i] * t[i];
        CHECK("gemv", u[r] == sum);
    }
}

static void check_nested(void)
{
    nested(M, N, s, t);
    for (int i = 0; i < M * N; i++)
        CHECK("nested", t[i] == i % 4 + i % 3);
}

static void check_mandelbrot(void)
{
    mandelbrot(19, 11, 50, w);
    long sum = 0;
    for (int i = 0; i < 19 * 11; i++)
        sum += w[i];
    CHECK("mandelbrot", w[0] == 1 && w[5 * 19 + 13] == 50 && sum > 50);
    CHECK("mandelbrot", w[19 * 11] == -1);
}

static void check_histogram(void)
{
    static unsigned char data[MANY];
    int bins[256] = {0}, expected[256] = {0}, largest = 0;
    long lock = 0;
    for (int i = 0; i < MANY; i++) {
        data[i] = (unsigned char)(i * 7);
        expected[data[i]]++;
    }
    histogram(MANY, data, bins, &largest, &lock);
    for (int i = 0; i < 256; i++)
        CHECK("histogram", bins[i] == expected[i]);
    int i = MANY - 1;
    while (data[i] <= 250)
        i--;
    CHECK("histogram", largest == i && !lock);
}

static void check_tasks(void)
{
    tasks(N, 8, d);
    for (int i = 0; i < MANY; i++)
        CHECK("tasks", d[i] == (i < N ? i % 7 * (i % 7) + 1 : i % 7));
}

static void check_last(void)
{
    CHECK("last", last(MANY, v, w) == (MANY - 1) % 11 * 3);
    for (int i = 0; i < MANY; i++)
        CHECK("last", w[i] == v[i] * 3 + i);
}

static void check_sections(void)
{
    long sums[8] = {0}, expected[4] = {1};
    sections(MANY, v, sums);
    for (int i = 0; i < MANY; i++)
        expected[i & 3] += v[i];
    for (int i = 0; i < 4; i++)
        CHECK("sections", sums[i] == expected[i]);
    CHECK("sections", sums[7] == expected[0] + expected[1]);
}

int main(void)
{
    static void (*const checks[])(void) = {
        check_flat,   check_matmul, check_jacobi,     check_generic,
        check_gemv,   check_nested, check_mandelbrot, check_histogram,
        check_tasks,  check_last,   check_sections};
    for (unsigned i = 0; i < sizeof checks / sizeof *checks; i++) {
        reset();
        checks[i]();
    }
    puts(wrongs ? "wrong" : "right");
    return wrongs != 0;
}
