# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ten kernels at three sizes beside Numba and numexpr: in turns, the least of
many, ratios to the faster peer. Results must agree.

All write the same array where they do not read it, and who goes first changes:
where an array begins in a line of the cache, and what was in the cache before,
is worth a tenth.

CLOCK=cpu: one thread each, and the CPU's time instead of the clock's, for a
machine that others use too."""
import os
import random
import sys
import time

import numba
import numexpr
import numpy as np
import ompjit

SECONDS = float(os.environ.get("SECONDS_EACH", 0.3))
ROUNDS = 10
clock = time.perf_counter
if os.environ.get("CLOCK") == "cpu":
    clock = time.process_time
    numba.set_num_threads(1)
    numexpr.set_num_threads(1)
SOURCE = """
#include <math.h>

void products(long n, const double *a, const double *b, double *c) {
    #pragma omp target teams distribute parallel for is_device_ptr(a, b, c)
    for (long k = 0; k < n; k++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                double s = 0;
                for (int l = 0; l < 4; l++)
                    s += a[16 * k + 4 * i + l] * b[16 * k + 4 * l + j];
                c[16 * k + 4 * i + j] = s;
            }
}
void nbody(long n, const double *x, const double *y, const double *z,
           const double *m, double *f) {
    #pragma omp target teams distribute parallel for is_device_ptr(x, y, z, m, f)
    for (long i = 0; i < n; i++) {
        double s = 0;
        #pragma omp simd reduction(+: s)
        for (long j = 0; j < n; j++) {
            double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            double d = dx * dx + dy * dy + dz * dz + 1e-3;
            s += m[j] / (d * sqrt(d)) * dx;
        }
        f[i] = s;
    }
}
void spmv(long n, const int *row, const int *col, const double *v,
          const double *x, double *y) {
    #pragma omp target teams distribute parallel for is_device_ptr(row, col, v, x, y)
    for (long i = 0; i < n; i++) {
        double s = 0;
        for (int k = row[i]; k < row[i + 1]; k++) s += v[k] * x[col[k]];
        y[i] = s;
    }
}
void histogram(long n, long parts, const unsigned char *x, long *h) {
    #pragma omp target teams distribute parallel for is_device_ptr(x, h)
    for (long p = 0; p < parts; p++) {
        unsigned a[4][256] = {{0}};
        long begin = n * p / parts, end = n * (p + 1) / parts, i = begin;
        for (; i + 4 <= end; i += 4)
            for (int k = 0; k < 4; k++) a[k][x[i + k]]++;
        for (; i < end; i++) a[0][x[i]]++;
        for (int b = 0; b < 256; b++)
            h[256 * p + b] = (long)a[0][b] + a[1][b] + a[2][b] + a[3][b];
    }
}
void mandelbrot(long n, int most, int *out) {
    #pragma omp target teams distribute parallel for schedule(dynamic) \\
        is_device_ptr(out)
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j += 8) {
            double zr[8] = {0}, zi[8] = {0}, cr[8], ci = 2.0 * i / n - 1;
            int count[8] = {0};
            for (int l = 0; l < 8; l++) cr[l] = 3.0 * (j + l) / n - 2;
            for (int k = 0; k < most; k++) {
                int some = 0;
                for (int l = 0; l < 8; l++) {
                    double r2 = zr[l] * zr[l], i2 = zi[l] * zi[l];
                    int in = r2 + i2 <= 4;
                    double nr = r2 - i2 + cr[l], ni = 2 * zr[l] * zi[l] + ci;
                    zr[l] = in ? nr : zr[l];
                    zi[l] = in ? ni : zi[l];
                    count[l] += in;
                    some |= in;
                }
                if (!some) break;
            }
            for (int l = 0; l < 8; l++) out[n * i + j + l] = count[l];
        }
}
"""
module = ompjit.compile(SOURCE)
jit = numba.njit(parallel=True, fastmath=True)
rng = np.random.default_rng(1)


@jit
def n_saxpy(a, x, y):
    for i in numba.prange(len(x)):
        y[i] = a * x[i] + y[i]


@jit
def n_dot(x, y):
    s = 0.0
    for i in numba.prange(len(x)):
        s += x[i] * y[i]
    return s


@jit
def n_jacobi(u, v):
    for i in numba.prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@jit
def n_stencil(u, c, a, v):
    for i in numba.prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = u[i, j] + a * c[i, j] * (
                u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]
            )


@jit
def n_products(a, b, c):
    for k in numba.prange(len(a)):
        for i in range(4):
            for j in range(4):
                s = 0.0
                for m in range(4):
                    s += a[k, i, m] * b[k, m, j]
                c[k, i, j] = s


@jit
def n_nbody(x, y, z, m, f):
    for i in numba.prange(len(x)):
        s = 0.0
        for j in range(len(x)):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            d = dx * dx + dy * dy + dz * dz + 1e-3
            s += m[j] / (d * np.sqrt(d)) * dx
        f[i] = s


@jit
def n_spmv(row, col, v, x, y):
    for i in numba.prange(len(y)):
        s = 0.0
        for k in range(row[i], row[i + 1]):
            s += v[k] * x[col[k]]
        y[i] = s


@jit
def n_histogram(x, parts):
    n = len(x)
    h = np.zeros((parts, 256), np.int64)
    for p in numba.prange(parts):
        for i in range(n * p // parts, n * (p + 1) // parts):
            h[p, x[i]] += 1
    return h


@jit
def n_mandelbrot(n, most, out):
    for i in numba.prange(n):
        for j in range(n):
            cr, ci = 3.0 * j / n - 2, 2.0 * i / n - 1
            zr = zi = 0.0
            k = 0
            while k < most and zr * zr + zi * zi <= 4:
                zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
                k += 1
            out[i, j] = k


@numba.njit
def n_scan(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        y[i] = s


def results(array, calls):
    """What ompjit and the first peer write into an array."""

    def both():
        found = []
        for call in (calls[0], next(iter(calls[1].values()))):
            array[...] = 0
            call()
            found.append(array.copy())
        return found

    return both


def saxpy(n):
    x, y = rng.random(n), np.zeros(n)
    f = ompjit.elementwise("y = a*x + y")
    return (
        lambda: f(0.5, x, y),
        {
            "Numba": lambda: n_saxpy(0.5, x, y),
            "numexpr": lambda: numexpr.evaluate("0.5*x + y", {"x": x, "y": y}, out=y),
        },
        lambda: (f(0.5, x, y.copy()), 0.5 * x + y),
    )


def dot(n):
    x, y = rng.random(n), rng.random(n)
    f = ompjit.reduction("a*b")
    return (
        lambda: f(x, y),
        {"Numba": lambda: n_dot(x, y), "numexpr": lambda: numexpr.evaluate("sum(x*y)", {"x": x, "y": y})},
        lambda: (f(x, y), n_dot(x, y)),
    )


def jacobi(n):
    u, v = rng.random((n, n)), np.zeros((n, n))
    f = ompjit.stencil("v = 0.25*(u[-1,0] + u[1,0] + u[0,-1] + u[0,1])")
    calls = lambda: f(u, out=v), {"Numba": lambda: n_jacobi(u, v)}
    return *calls, results(v, calls)


def stencil(n):
    u, c, v = rng.random((n, n)), rng.random((n, n)), np.zeros((n, n))
    f = ompjit.stencil(
        "v = u[0,0] + a*c*(u[-1,0] + u[1,0] + u[0,-1] + u[0,1] - 4*u[0,0])"
    )
    calls = (
        lambda: f(u=u, a=0.1, c=c, out=v),
        {"Numba": lambda: n_stencil(u, c, 0.1, v)},
    )
    return *calls, results(v, calls)


def bound(name, *args, **options):
    return module.kernels[name].bind(
        *args, noalias=True, specialize="now", **options
    )


def products(n):
    a, b = rng.random((n, 4, 4)), rng.random((n, 4, 4))
    c = np.zeros_like(a)
    k = bound("products", n, a, b, c, tripcount=n)
    calls = k, {"Numba": lambda: n_products(a, b, c)}
    return *calls, results(c, calls)


def nbody(n):
    x, y, z, m = rng.random((4, n))
    f = np.zeros(n)
    k = bound("nbody", n, x, y, z, m, f, tripcount=n)
    calls = k, {"Numba": lambda: n_nbody(x, y, z, m, f)}
    return *calls, results(f, calls)


def spmv(n):
    row = (np.arange(n + 1) * 8).astype("i4")
    col = rng.integers(0, n, 8 * n).astype("i4")
    v, x, y = rng.random(8 * n), rng.random(n), np.zeros(n)
    k = bound("spmv", n, row, col, v, x, y, tripcount=n)
    calls = k, {"Numba": lambda: n_spmv(row, col, v, x, y)}
    return *calls, results(y, calls)


def histogram(n):
    x = rng.integers(0, 256, n).astype("u1")
    parts = ompjit.device().multiprocessors
    h = np.zeros((parts, 256), "i8")
    k = bound("histogram", n, parts, x, h, tripcount=parts)
    return k, {"Numba": lambda: n_histogram(x, parts)}, lambda: (h, n_histogram(x, parts))


def mandelbrot(n):
    a = np.zeros((n, n), "i4")
    k = bound("mandelbrot", n, 100, a, tripcount=n)
    return k, {"Numba": lambda: n_mandelbrot(n, 100, a)}, None


def prefix(n):
    x, y = rng.random(n), np.zeros(n)
    f = ompjit.scan()
    calls = (
        lambda: f(x, out=y),
        {"Numba": lambda: n_scan(x, y), "numpy": lambda: np.cumsum(x, out=y)},
    )
    return *calls, results(y, calls)


KERNELS = {
    saxpy: (1000, 100_000, 10_000_000),
    dot: (1000, 100_000, 10_000_000),
    jacobi: (32, 300, 3000),
    stencil: (32, 300, 3000),
    products: (100, 10_000, 300_000),
    nbody: (64, 512, 4096),
    spmv: (1000, 30_000, 1_000_000),
    histogram: (1000, 100_000, 30_000_000),
    mandelbrot: (32, 256, 1024),
    prefix: (1000, 100_000, 10_000_000),
}


def timed(call):
    start = clock()
    call()
    once = clock() - start
    count = max(1, int(SECONDS / 2 / ROUNDS / max(once, 1e-7)))
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def main(words):
    print(f"{'kernel':12} {'size':>9} {'ompjit us':>11} {'peers us':>28}  ratio")
    worst, faster = 0.0, set()
    for make, sizes in KERNELS.items():
        name = make.__name__
        if words and not any(w in name for w in words):
            continue
        for n in sizes:
            ours, peers, check = make(n)
            calls = {"ompjit": ours, **peers}
            for call in calls.values():
                call()
            if check:
                np.testing.assert_allclose(*check(), rtol=1e-9)
            best = dict.fromkeys(calls, 1e9)
            for _ in range(ROUNDS):
                for who, call in random.sample(list(calls.items()), len(calls)):
                    best[who] = min(best[who], timed(call))
            mine = best.pop("ompjit")
            ratio = mine / min(best.values())
            worst = max(worst, ratio)
            if ratio < 1:
                faster.add(name)
            shown = " ".join(f"{w} {t * 1e6:.1f}" for w, t in best.items())
            print(f"{name:12} {n:9} {mine * 1e6:11.1f} {shown:>28}  {ratio:.2f}", flush=True)
    print(f"worst ratio {worst:.2f}; faster on {len(faster)} kernels at some size")


main(sys.argv[1:])
