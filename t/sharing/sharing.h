/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For programs that look at mapped data while a kernel's is newer.
 */
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096 };

static double *A;
static double seen;

static inline void look(void)
{
    seen += A[5];
}

static inline void work(double *a)
{
#pragma omp target teams distribute parallel for
    for (int i = 0; i < N; i++)
        a[i] += 1;
}

static inline double *field(void)
{
    return (double *)calloc(N, sizeof(double));
}
