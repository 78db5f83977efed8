/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Conversions between integers of 128 bits and floating numbers on a GPU, for
 * which NVPTX has neither instructions nor calls (libompjit/passes/gpu/wide.c
 * makes these). On the host the compiler's own library serves.
 */
#include "plat.h"

#ifdef __NVPTX__

typedef unsigned __int128 wide;

/* 2^n */
static double power(int n)
{
    enum { BITS = 52, BIAS = 1023 };
    uint64_t bits = (uint64_t)(n + BIAS) << BITS;
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

/* The upper 64 bits of x that count, of which the lowest stands for all that is
 * below them: rounding needs no more. */
static uint64_t upper(wide x, int *exponent)
{
    uint64_t high = (uint64_t)(x >> 64);
    *exponent = high ? 64 - __builtin_clzll(high) : 0;
    wide below = x & (((wide)1 << *exponent) - 1);
    return (uint64_t)(x >> *exponent) | (below != 0);
}

EXPORT double __floatuntidf(wide x)
{
    int exponent;
    uint64_t mantissa = upper(x, &exponent);
    return (double)mantissa * power(exponent);
}
EXPORT float __floatuntisf(wide x)
{
    int exponent;
    uint64_t mantissa = upper(x, &exponent);
    return (float)((double)(float)mantissa * power(exponent));
}
EXPORT double __floattidf(__int128 x)
{
    return x < 0 ? -__floatuntidf(-(wide)x) : __floatuntidf((wide)x);
}
EXPORT float __floattisf(__int128 x)
{
    return x < 0 ? -__floatuntisf(-(wide)x) : __floatuntisf((wide)x);
}

EXPORT wide __fixunsdfti(double x)
{
    enum { BITS = 52, MASK = 0x7ff, BIAS = 1023, MOST = 127 };
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> BITS & MASK) - BIAS;
    uint64_t mantissa = (bits & ((1ull << BITS) - 1)) | 1ull << BITS;
    if (exponent < 0 || bits >> 63)
        return 0;
    if (exponent > MOST)
        return ~(wide)0;
    return exponent > BITS ? (wide)mantissa << (exponent - BITS)
                           : mantissa >> (BITS - exponent);
}
EXPORT wide __fixunssfti(float x)
{
    return __fixunsdfti(x);
}
EXPORT __int128 __fixdfti(double x)
{
    return (__int128)(x < 0 ? -__fixunsdfti(-x) : __fixunsdfti(x));
}
EXPORT __int128 __fixsfti(float x)
{
    return __fixdfti(x);
}

#endif
