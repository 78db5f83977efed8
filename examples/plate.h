/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The plate of the jacobi examples of the API: its upper edge is hot.
 */
#ifndef EXAMPLES_PLATE_H
#define EXAMPLES_PLATE_H

#include "check.h"

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
