/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Numeric functions of flang's runtime library for a GPU. On the host device
 * kernels call the library itself (frontend/flang/flang_runtime.c). The place in
 * the source is for messages, which there are none of here: a second argument of 0
 * gives a NaN.
 */
#include "plat.h"

#ifdef __NVPTX__

/* MOD has the sign of x, MODULO that of p. An infinite p leaves x. */
#define REMAINDERS(t, f, kind)                                                 \
    t fmod##f(t x, t p);                                                       \
    EXPORT t _FortranAModReal##kind(t x, t p, const char *file, int line)      \
    {                                                                          \
        return fmod##f(x, p);                                                  \
    }                                                                          \
    EXPORT t _FortranAModuloReal##kind(t x, t p, const char *file, int line)   \
    {                                                                          \
        t r = fmod##f(x, p);                                                   \
        if ((x < 0) == (p < 0) || __builtin_isinf(p))                          \
            return r;                                                          \
        return r == 0 ? -r : r + p;                                            \
    }

REMAINDERS(float, f, 4)
REMAINDERS(double, , 8)

/* ------------------------------------------------------ parts of a number */

/* x is 0.1f * 2**e in binary, where the model's exponent e begins with 1 for 1.0.
 * Floats are computed as doubles, in which theirs are never denormal. */
enum { BITS = 52, BIAS = 1022 };

static uint64_t bits_of(double x)
{
    return __builtin_bit_cast(uint64_t, x);
}

/* The exponent of a finite x that is not 0. */
static int exponent_of(double x)
{
    const uint64_t magnitude = bits_of(x) << 1 >> 1;
    const int field = (int)(magnitude >> BITS);
    /* A denormal one has as many leading zeros more as its exponent is less. */
    return field ? field - BIAS
                 : -BIAS - (__builtin_clzll(magnitude) - (63 - BITS)) + 1;
}

/* 2**p, for a normal result. */
static double power(int p)
{
    return __builtin_bit_cast(double, (uint64_t)(p + BIAS + 1) << BITS);
}

/* x * 2**p, rounded once: where a step makes x denormal the result is 0. */
static double scaled(double x, int64_t p)
{
    enum { MOST = 1023, LEAST = -1022, STEP = LEAST + BITS + 1, FAR = 2200 };
    int n = p < -FAR ? -FAR : p > FAR ? FAR : (int)p;
    for (; n > MOST; n -= MOST)
        x *= power(MOST);
    for (; n < LEAST; n -= STEP)
        x *= power(STEP);
    return x * power(n);
}

static bool is_finite(double x)
{
    return __builtin_isfinite(x);
}

/* NaN of what is not finite. */
static double not_a_number(double x)
{
    return x - x;
}

/* Far beyond all exponents, and far from the largest numbers. */
static int64_t limited(int64_t p)
{
    enum { FAR = 1 << 20 };
    return p < -FAR ? -FAR : p > FAR ? FAR : p;
}

#define EXPONENT(t, i, kinds, huge)                                            \
    EXPORT i _FortranAExponent##kinds(t x)                                     \
    {                                                                          \
        return !is_finite(x) ? huge : x == 0 ? 0 : exponent_of(x);             \
    }

EXPONENT(float, int32_t, 4_4, INT32_MAX)
EXPONENT(float, int64_t, 4_8, INT64_MAX)
EXPONENT(double, int32_t, 8_4, INT32_MAX)
EXPONENT(double, int64_t, 8_8, INT64_MAX)

/* digits: of the significand; tiny: the least number that is not denormal. */
#define PARTS(t, kind, digits, tiny)                                           \
    EXPORT t _FortranAFraction##kind(t x)                                      \
    {                                                                          \
        if (!is_finite(x))                                                     \
            return (t)not_a_number(x);                                         \
        return x == 0 ? x : (t)scaled(x, -exponent_of(x));                     \
    }                                                                          \
    EXPORT t _FortranAScale##kind(t x, int64_t p)                              \
    {                                                                          \
        return (t)scaled(x, p);                                                \
    }                                                                          \
    EXPORT t _FortranASetExponent##kind(t x, int64_t p)                        \
    {                                                                          \
        if (!is_finite(x))                                                     \
            return (t)not_a_number(x);                                         \
        return x == 0 ? x : (t)scaled(x, limited(p) - exponent_of(x));         \
    }                                                                          \
    EXPORT t _FortranASpacing##kind(t x)                                       \
    {                                                                          \
        if (!is_finite(x))                                                     \
            return (t)not_a_number(x);                                         \
        t space = x == 0 ? 0 : (t)scaled(1, exponent_of(x) - digits);          \
        return space > tiny ? space : tiny;                                    \
    }                                                                          \
    EXPORT t _FortranARRSpacing##kind(t x)                                     \
    {                                                                          \
        if (!is_finite(x))                                                     \
            return (t)not_a_number(x);                                         \
        return x == 0 ? 0 : (t)scaled(x < 0 ? -x : x, digits - exponent_of(x));\
    }

PARTS(float, 4, 24, __FLT_MIN__)
PARTS(double, 8, 53, __DBL_MIN__)

/* NEAREST is flang's own code, which raises exceptions: a GPU has no flags of
 * them. */
EXPORT int32_t _FortranAMapException(int32_t e)
{
    return e;
}

EXPORT void _FortranAferaiseexcept(int32_t e)
{
    (void)e;
}

/* ------------------------------------------------------------ ERFC_SCALED */

/* exp(x**2) * erfc(x); flang's own is the largest number below that bound. */
#define ERFC_SCALED(t, f, kind, huge)                                          \
    t erfcx##f(t x);                                                           \
    EXPORT t _FortranAErfcScaled##kind(t x)                                    \
    {                                                                          \
        return x < (t)-26.628 ? huge : erfcx##f(x);                            \
    }

ERFC_SCALED(float, f, 4, __FLT_MAX__)
ERFC_SCALED(double, , 8, __DBL_MAX__)

#endif
