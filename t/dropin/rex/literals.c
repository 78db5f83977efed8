/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Numbers of every size as literals.
 */
#include "rex.h"

#ifdef KERNELS
void literals(double *out, char a, short b, unsigned c, long d, float e,
              double f)
{
#pragma omp target map(from: out[:6])
    {
        out[0] = a;
        out[1] = b;
        out[2] = c;
        out[3] = d;
        out[4] = e;
        out[5] = f;
    }
}
#else
KERNEL(literals);

static int test(void)
{
    double out[6] = {0};
    char a = 'x';
    short b = -2;
    unsigned c = 4000000000;
    long d = -(1L << 40);
    float e = 0.25f;
    double f = 1e300;
    int wrong = LAUNCH(literals, ARRAY(out, 6, FROM), VALUE(a), VALUE(b),
                       VALUE(c), VALUE(d), VALUE(e), VALUE(f)) != 0;
    return wrong + (out[0] != a) + (out[1] != b) + (out[2] != c) +
           (out[3] != d) + (out[4] != e) + (out[5] != f);
}
#endif
