/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Atomic updates; an integer array.
 */
#include "rex.h"

#ifdef KERNELS
void histogram(int n, unsigned char *text, unsigned *counts)
{
#pragma omp target teams distribute parallel for map(to: text[:n]) \
    map(tofrom: counts[:8])
    for (int i = 0; i < n; i++) {
#pragma omp atomic
        counts[text[i] % 8]++;
    }
}
#else
KERNEL(histogram);

static int test(void)
{
    enum { N = 4000 };
    static unsigned char text[N];
    unsigned counts[8] = {0};
    int n = N, wrong = 0;
    for (int i = 0; i < N; i++)
        text[i] = (unsigned char)i;
    wrong += LAUNCH(histogram, VALUE(n), ARRAY(counts, 8, TO | FROM),
                    ARRAY(text, N, TO)) != 0;
    for (int i = 0; i < 8; i++)
        wrong += counts[i] != N / 8;
    return wrong;
}
#endif
