/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * jacobi [N] [SWEEPS]: heat spreads over an N x N plate whose upper edge is hot.
 * The plate stays on the device between the sweeps; each sweep brings back one
 * number, the largest change. Checked against the same sweeps on the host.
 */
#include <string.h>

#include "check.h"

/* One sweep from `old` to `new`; both are on the device already. */
static float sweep(long n, const float *old, float *new)
{
    float change = 0;
    #pragma omp target teams distribute parallel for collapse(2) \
        reduction(max : change) map(to : old[:n * n]) map(from : new[:n * n]) \
        map(tofrom : change)
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++) {
            float value = (old[(i - 1) * n + j] + old[(i + 1) * n + j] +
                           old[i * n + j - 1] + old[i * n + j + 1]) / 4;
            float step = value - old[i * n + j];
            step = step < 0 ? -step : step;
            change = step > change ? step : change;
            new[i * n + j] = value;
        }
    return change;
}

static float relax(long n, long sweeps, float *a, float *b)
{
    float change = 0;
    #pragma omp target data map(tofrom : a[:n * n]) map(tofrom : b[:n * n])
    for (long s = 0; s < sweeps; s++)
        change = s % 2 ? sweep(n, b, a) : sweep(n, a, b);
    return change;
}

/* One sweep, without OpenMP. */
static void sweep_plain(long n, const float *old, float *new)
{
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            new[i * n + j] = (old[(i - 1) * n + j] + old[(i + 1) * n + j] +
                              old[i * n + j - 1] + old[i * n + j + 1]) / 4;
}

static float *plate(long n)
{
    float *p = must(calloc(n * n, sizeof *p));
    for (long j = 0; j < n; j++)
        p[j] = 100;
    return p;
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 512), wrong = 0;
    long sweeps = size_argument(argc, argv, 2, 50);
    float *a = plate(n), *b = plate(n), *c = plate(n), *d = plate(n);
    float change = relax(n, sweeps, a, b);
    for (long s = 0; s < sweeps; s++)
        s % 2 ? sweep_plain(n, d, c) : sweep_plain(n, c, d);
    for (long i = 0; i < n * n; i++)
        wrong += a[i] != c[i] || b[i] != d[i];
    printf("jacobi: largest change of the last sweep %g\n", change);
    int status = report("jacobi", wrong, sweeps % 2 ? b : a,
                        n * n * sizeof *a);
    free(a);
    free(b);
    free(c);
    free(d);
    return status;
}
