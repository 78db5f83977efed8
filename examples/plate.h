/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The plate of the jacobi examples of the API, whose upper edge is hot, and the
 * kernel that lets the heat spread.
 */
#ifndef EXAMPLES_PLATE_H
#define EXAMPLES_PLATE_H

#include "check.h"

#define SWEEP_SOURCE                                                           \
    "void sweep(long n, float *old, float *new)\n"                             \
    "{\n"                                                                      \
    "    #pragma omp target teams distribute parallel for collapse(2) \\\n"    \
    "        is_device_ptr(old, new)\n"                                        \
    "    for (long i = 1; i < n - 1; i++)\n"                                   \
    "        for (long j = 1; j < n - 1; j++)\n"                               \
    "            new[i * n + j] =\n"                                           \
    "                (old[(i - 1) * n + j] + old[(i + 1) * n + j] +\n"         \
    "                 old[i * n + j - 1] + old[i * n + j + 1]) / 4;\n"         \
    "}\n"

static inline float *new_plate(long n)
{
    float *plate = must(calloc(n * n, sizeof *plate));
    for (long j = 0; j < n; j++)
        plate[j] = 100;
    return plate;
}

/* Inner points that are not between their neighbours' extremes, or edges that
 * changed: what no number of sweeps can bring about. */
static inline long impossible(long n, const float *a)
{
    long wrong = 0;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            float value = a[i * n + j];
            if (i == 0)
                wrong += value != 100;
            else if (i == n - 1 || j == 0 || j == n - 1)
                wrong += value != 0;
            else
                wrong += value < 0 || value > 100 || value > a[(i - 1) * n + j];
        }
    return wrong;
}
#endif
