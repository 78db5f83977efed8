// options: -fno-strict-aliasing
// expect: 0 0
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pointers are copied, and put together, of two numbers of 32 bits.
 */
#include <stdint.h>
#include "sharing.h"

static double *copy;
static uint32_t low, high;

__attribute__((noinline)) static void halves(uint32_t *to, const uint32_t *from)
{
    to[0] = from[0];
    to[1] = from[1];
}

__attribute__((noinline)) static void split(const double *p)
{
    low = (uint32_t)(uintptr_t)p;
    high = (uint32_t)((uintptr_t)p >> 32);
}

int main(void)
{
    double *a = field(), *b = field(), *p = a, x, y;
    halves((uint32_t *)&copy, (uint32_t *)&p);
    split(b);
#pragma omp target data map(tofrom : a[:N], b[:N])
    {
        work(a);
        work(b);
        x = copy[5];
        y = ((double *)((uintptr_t)high << 32 | low))[5];
    }
    printf("%g %g\n", x, y);
}
