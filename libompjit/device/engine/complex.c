/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C library's functions of complex numbers for device code on the host: as
 * pairs of doubles, which every CPU passes and returns as device IR does
 * (runtime-bc/libc/complex_math.c).
 */
#include <complex.h>

#include "runtime-bc/host_abi.h"

/* Set part by part: a sum with a product by I loses the sign of a zero. */
static double complex pair(double re, double im)
{
    union { double part[2]; double complex z; } u = {{re, im}};
    return u.z;
}
static float complex pairf(float re, float im)
{
    union { float part[2]; float complex z; } u = {{re, im}};
    return u.z;
}

double complex ompjit_complex(uint32_t function, double x, double y, double a,
                              double b)
{
    double complex z = pair(x, y);
    switch (function) {
#define COMPLEX_TO_COMPLEX(g) case OMPJIT_COMPLEX_##g: return g(z);
#define COMPLEX_TO_REAL(g) case OMPJIT_COMPLEX_##g: return g(z);
#include "runtime-bc/libc/complex_math.def"
#undef COMPLEX_TO_COMPLEX
#undef COMPLEX_TO_REAL
    default: return cpow(z, pair(a, b));
    }
}

double complex ompjit_complexf(uint32_t function, float x, float y, float a,
                               float b)
{
    float complex z = pairf(x, y);
    switch (function) {
#define COMPLEX_TO_COMPLEX(g) case OMPJIT_COMPLEX_##g: z = g##f(z); break;
#define COMPLEX_TO_REAL(g) case OMPJIT_COMPLEX_##g: z = g##f(z); break;
#include "runtime-bc/libc/complex_math.def"
#undef COMPLEX_TO_COMPLEX
#undef COMPLEX_TO_REAL
    default: z = cpowf(z, pairf(a, b));
    }
    return pair(crealf(z), cimagf(z));
}
