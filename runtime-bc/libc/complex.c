/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Multiplication and division of complex numbers, which clang calls for types
 * that have infinities: C11 Annex G.5.1. A result that is not a number is
 * corrected where an operand was infinite. And div, which returns a pair, too.
 */
#include "plat.h"

#define COMPLEX(t, name_mul, name_div, suffix)                                 \
    INLINE bool finite_##t(t x)                                                \
    {                                                                          \
        return __builtin_fabs##suffix(x) < __builtin_inf##suffix();            \
    }                                                                          \
    INLINE bool infinite_##t(t x)                                              \
    {                                                                          \
        return __builtin_fabs##suffix(x) == __builtin_inf##suffix();           \
    }                                                                          \
    /* An infinity becomes 1, what is finite 0; the sign stays. */             \
    INLINE t unit_##t(t x)                                                     \
    {                                                                          \
        return __builtin_copysign##suffix(infinite_##t(x), x);                 \
    }                                                                          \
    INLINE t zero_for_nan_##t(t x)                                             \
    {                                                                          \
        return x == x ? x : __builtin_copysign##suffix(0, x);                  \
    }                                                                          \
    INLINE t _Complex pair_##t(t re, t im)                                     \
    {                                                                          \
        t _Complex z;                                                          \
        __real__ z = re;                                                       \
        __imag__ z = im;                                                       \
        return z;                                                              \
    }                                                                          \
    EXPORT t _Complex name_mul(t a, t b, t c, t d)                             \
    {                                                                          \
        t ac = a * c, bd = b * d, ad = a * d, bc = b * c;                      \
        t re = ac - bd, im = ad + bc;                                          \
        if (re == re || im == im)                                              \
            return pair_##t(re, im);                                           \
        bool left = infinite_##t(a) || infinite_##t(b);                        \
        bool right = infinite_##t(c) || infinite_##t(d);                       \
        bool products = infinite_##t(ac) || infinite_##t(bd) ||                \
                        infinite_##t(ad) || infinite_##t(bc);                  \
        if (!left && !right && !products)                                      \
            return pair_##t(re, im);                                           \
        a = left ? unit_##t(a) : zero_for_nan_##t(a);                          \
        b = left ? unit_##t(b) : zero_for_nan_##t(b);                          \
        c = right ? unit_##t(c) : zero_for_nan_##t(c);                         \
        d = right ? unit_##t(d) : zero_for_nan_##t(d);                         \
        t infinity = __builtin_inf##suffix();                                  \
        return pair_##t(infinity * (a * c - b * d),                            \
                        infinity * (a * d + b * c));                           \
    }                                                                          \
    /* The divisor is scaled by a power of two that makes its larger part a   \
     * number in [1, 2), so that nothing overflows on the way. */              \
    EXPORT t _Complex name_div(t a, t b, t c, t d)                             \
    {                                                                          \
        t most = __builtin_fabs##suffix(c);                                    \
        if (__builtin_fabs##suffix(d) > most || most != most)                  \
            most = __builtin_fabs##suffix(d);                                  \
        t scale = power_below_##t(most);                                       \
        t c1 = c * scale, d1 = d * scale, length = c1 * c1 + d1 * d1;          \
        t re = (a * c1 + b * d1) / length * scale;                             \
        t im = (b * c1 - a * d1) / length * scale;                             \
        if (re == re || im == im)                                              \
            return pair_##t(re, im);                                           \
        t infinity = __builtin_inf##suffix();                                  \
        if (length == 0 && (a == a || b == b)) {                               \
            t x = __builtin_copysign##suffix(infinity, c);                     \
            return pair_##t(x * a, x * b);                                     \
        }                                                                      \
        if ((infinite_##t(a) || infinite_##t(b)) && finite_##t(c) &&           \
            finite_##t(d)) {                                                   \
            t x = unit_##t(a), y = unit_##t(b);                                \
            return pair_##t(infinity * (x * c + y * d),                        \
                            infinity * (y * c - x * d));                       \
        }                                                                      \
        if (infinite_##t(most) && finite_##t(a) && finite_##t(b)) {            \
            t x = unit_##t(c), y = unit_##t(d);                                \
            return pair_##t((t)0 * (a * x + b * y), (t)0 * (b * x - a * y));   \
        }                                                                      \
        return pair_##t(re, im);                                               \
    }

/* 2 to the -exponent of x, by its bits; 1 for what has none. Kept in the range
 * of normal numbers. */
INLINE float power_below_float(float x)
{
    enum { BITS = 23, BIAS = 127, LAST = 2 * BIAS };
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    int32_t e = (int32_t)(bits >> BITS & (LAST + 1));
    if (e == 0 || e > LAST)
        return 1;
    e = 2 * BIAS - e;
    bits = (uint32_t)(e > 1 ? e : 1) << BITS;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
INLINE double power_below_double(double x)
{
    enum { BITS = 52, BIAS = 1023, LAST = 2 * BIAS };
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    int32_t e = (int32_t)(bits >> BITS & (LAST + 1));
    if (e == 0 || e > LAST)
        return 1;
    e = 2 * BIAS - e;
    bits = (uint64_t)(e > 1 ? e : 1) << BITS;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

COMPLEX(float, __mulsc3, __divsc3, f)
COMPLEX(double, __muldc3, __divdc3, )

/* The names are what structures of two units are recognized by. */
typedef struct { int quotient, rest; } div_t;
typedef struct { long quotient, rest; } ldiv_t;
typedef struct { long long quotient, rest; } lldiv_t;

EXPORT div_t div(int a, int b)
{
    return (div_t){a / b, a % b};
}
EXPORT ldiv_t ldiv(long a, long b)
{
    return (ldiv_t){a / b, a % b};
}
EXPORT lldiv_t lldiv(long long a, long long b)
{
    return (lldiv_t){a / b, a % b};
}
