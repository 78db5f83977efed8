/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C library's functions of complex numbers, which C calls and std::complex
 * comes down to. Device IR passes such a number as a GPU does, which the
 * functions of a host's C library do not understand: on the host device the
 * engine calls them (OMPJIT_FOR_HOST); a GPU computes them here, in double.
 *
 * Each function takes its number apart and is inlined, so that no structure is
 * passed by value to what is not.
 */
#include "plat.h"

#define TAKES_APART EXPORT ALWAYS_INLINE

INLINE double _Complex pair(double re, double im)
{
    double _Complex z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}
INLINE float _Complex rounded(double _Complex z)
{
    float _Complex s;
    __real__ s = (float)__real__ z;
    __imag__ s = (float)__imag__ z;
    return s;
}

#ifdef OMPJIT_FOR_HOST

#include "host_abi.h"

#define COMPUTE(g) INLINE double _Complex compute_##g(double x, double y)      \
    {                                                                          \
        return ompjit_complex(OMPJIT_COMPLEX_##g, x, y, 0, 0);                 \
    }                                                                          \
    INLINE double _Complex compute_##g##f(float x, float y)                    \
    {                                                                          \
        return ompjit_complexf(OMPJIT_COMPLEX_##g, x, y, 0, 0);                \
    }
#define COMPLEX_TO_COMPLEX(g) COMPUTE(g)
#define COMPLEX_TO_REAL(g) COMPUTE(g)
#include "complex_math.def"
#undef COMPLEX_TO_COMPLEX
#undef COMPLEX_TO_REAL

INLINE double _Complex power(double x, double y, double a, double b)
{
    return ompjit_complex(OMPJIT_COMPLEX_cpow, x, y, a, b);
}
INLINE double _Complex powerf(float x, float y, float a, float b)
{
    return ompjit_complexf(OMPJIT_COMPLEX_cpow, x, y, a, b);
}

#else

double asinh(double x);
double atan2(double y, double x);
double cos(double x);
double cosh(double x);
double exp(double x);
double hypot(double x, double y);
double log(double x);
double log1p(double x);
double sin(double x);
double sinh(double x);
double sqrt(double x);
double tan(double x);

INLINE bool infinite(double x)
{
    return __builtin_fabs(x) == __builtin_inf();
}
INLINE bool finite(double x)
{
    return __builtin_fabs(x) < __builtin_inf();
}
/* -i times z: f(z) is that of g(i z) for sin and sinh, and their like. */
INLINE double _Complex turned(double _Complex z)
{
    return pair(__imag__ z, -__real__ z);
}

static NOINLINE double _Complex compute_cexp(double x, double y)
{
    const double large = 700; /* the square root of the exponential is finite */
    if (x == -__builtin_inf() && !finite(y))
        return pair(0, 0);
    if (x == __builtin_inf() && !finite(y))
        return pair(x, __builtin_nan(""));
    if (y == 0)
        return pair(exp(x), y);
    if (x > large && finite(x)) {
        double root = exp(x / 2);
        return pair(root * cos(y) * root, root * sin(y) * root);
    }
    double e = exp(x);
    return pair(e * cos(y), e * sin(y));
}

/* Near the unit circle the logarithm of the length is that of 1 plus a small
 * number, which is computed without the 1. */
static NOINLINE double _Complex compute_clog(double x, double y)
{
    double a = __builtin_fabs(x), b = __builtin_fabs(y);
    double length = hypot(x, y), most = a > b ? a : b, least = a > b ? b : a;
    double re = length > 0.5 && length < 2
                    ? log1p((most - 1) * (most + 1) + least * least) / 2
                    : log(length);
    return pair(re, atan2(y, x));
}

static NOINLINE double _Complex compute_csqrt(double x, double y)
{
    const double large = 0x1p1020, small = 0x1p-1000;
    if (infinite(y))
        return pair(__builtin_inf(), y);
    if (infinite(x)) {
        double zero = y == y ? 0 : y;
        return x > 0 ? pair(x, y == y ? __builtin_copysign(0, y) : y)
                     : pair(zero, __builtin_copysign(-x, y));
    }
    if (x == 0 && y == 0)
        return pair(0, y);
    double a = __builtin_fabs(x), b = __builtin_fabs(y), scale = 1;
    if (a > large || b > large)
        a /= 16, b /= 16, scale = 4;
    else if (a < small && b < small)
        a *= 0x1p60, b *= 0x1p60, scale = 0x1p-30;
    double t = sqrt((a + hypot(a, b)) / 2);
    double other = b / (2 * t) * scale;
    t *= scale;
    return x < 0 ? pair(other, __builtin_copysign(t, y))
                 : pair(t, __builtin_copysign(other, y));
}

static NOINLINE double _Complex compute_csinh(double x, double y)
{
    return y == 0 ? pair(sinh(x), y) : pair(sinh(x) * cos(y), cosh(x) * sin(y));
}
static NOINLINE double _Complex compute_ccosh(double x, double y)
{
    return y == 0 ? pair(cosh(x), x < 0 ? -y : y)
                  : pair(cosh(x) * cos(y), sinh(x) * sin(y));
}
/* W. Kahan, Branch cuts for complex elementary functions. */
static NOINLINE double _Complex compute_ctanh(double x, double y)
{
    const double large = 20; /* the real part is 1 from here on */
    if (__builtin_fabs(x) > large)
        return pair(__builtin_copysign(1, x),
                    4 * sin(y) * cos(y) * exp(-2 * __builtin_fabs(x)));
    double t = tan(y), slope = 1 + t * t, s = sinh(x);
    double d = 1 + slope * s * s;
    return pair(slope * sqrt(1 + s * s) * s / d, t / d);
}

static NOINLINE double _Complex compute_cacos(double x, double y)
{
    double _Complex less = compute_csqrt(1 - x, -y);
    double _Complex more = compute_csqrt(1 + x, y);
    return pair(2 * atan2(__real__ less, __real__ more),
                asinh(__real__ more * __imag__ less -
                      __imag__ more * __real__ less));
}
static NOINLINE double _Complex compute_cacosh(double x, double y)
{
    double _Complex less = compute_csqrt(x - 1, y);
    double _Complex more = compute_csqrt(x + 1, y);
    return pair(asinh(__real__ less * __real__ more +
                      __imag__ less * __imag__ more),
                2 * atan2(__imag__ less, __real__ more));
}
static NOINLINE double _Complex compute_casin(double x, double y)
{
    double _Complex less = compute_csqrt(1 - x, -y);
    double _Complex more = compute_csqrt(1 + x, y);
    return pair(atan2(x, __real__ less * __real__ more -
                             __imag__ less * __imag__ more),
                asinh(__real__ less * __imag__ more -
                      __imag__ less * __real__ more));
}
static NOINLINE double _Complex compute_catanh(double x, double y)
{
    double length = (1 - x) * (1 - x) + y * y;
    return pair(log1p(4 * x / length) / 4,
                atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2);
}
INLINE double _Complex compute_casinh(double x, double y)
{
    return turned(compute_casin(-y, x));
}
INLINE double _Complex compute_catan(double x, double y)
{
    return turned(compute_catanh(-y, x));
}
INLINE double _Complex compute_ccos(double x, double y)
{
    return compute_ccosh(-y, x);
}
INLINE double _Complex compute_csin(double x, double y)
{
    return turned(compute_csinh(-y, x));
}
INLINE double _Complex compute_ctan(double x, double y)
{
    return turned(compute_ctanh(-y, x));
}
INLINE double _Complex compute_cproj(double x, double y)
{
    return infinite(x) || infinite(y)
               ? pair(__builtin_inf(), __builtin_copysign(0, y))
               : pair(x, y);
}
INLINE double _Complex compute_cabs(double x, double y)
{
    return pair(hypot(x, y), 0);
}
INLINE double _Complex compute_carg(double x, double y)
{
    return pair(atan2(y, x), 0);
}

static NOINLINE double _Complex power(double x, double y, double a, double b)
{
    double _Complex l = compute_clog(x, y);
    if (x == 0 && y == 0)
        return a == 0 && b == 0 ? pair(1, 0) : pair(0, 0);
    return compute_cexp(a * __real__ l - b * __imag__ l,
                        a * __imag__ l + b * __real__ l);
}

#define SAME_IN_DOUBLE(g)                                                      \
    INLINE double _Complex compute_##g##f(float x, float y)                    \
    {                                                                          \
        return compute_##g(x, y);                                              \
    }
#define COMPLEX_TO_COMPLEX(g) SAME_IN_DOUBLE(g)
#define COMPLEX_TO_REAL(g) SAME_IN_DOUBLE(g)
#include "complex_math.def"
#undef COMPLEX_TO_COMPLEX
#undef COMPLEX_TO_REAL

INLINE double _Complex powerf(float x, float y, float a, float b)
{
    return power(x, y, a, b);
}

#endif

#define COMPLEX_TO_COMPLEX(g)                                                  \
    TAKES_APART double _Complex g(double _Complex z)                           \
    {                                                                          \
        return compute_##g(__real__ z, __imag__ z);                            \
    }                                                                          \
    TAKES_APART float _Complex g##f(float _Complex z)                          \
    {                                                                          \
        return rounded(compute_##g##f(__real__ z, __imag__ z));                \
    }
#define COMPLEX_TO_REAL(g)                                                     \
    TAKES_APART double g(double _Complex z)                                    \
    {                                                                          \
        return __real__ compute_##g(__real__ z, __imag__ z);                   \
    }                                                                          \
    TAKES_APART float g##f(float _Complex z)                                   \
    {                                                                          \
        return (float)__real__ compute_##g##f(__real__ z, __imag__ z);         \
    }
#include "complex_math.def"

TAKES_APART double _Complex cpow(double _Complex z, double _Complex w)
{
    return power(__real__ z, __imag__ z, __real__ w, __imag__ w);
}
TAKES_APART float _Complex cpowf(float _Complex z, float _Complex w)
{
    return rounded(powerf(__real__ z, __imag__ z, __real__ w, __imag__ w));
}

/* ------------------------------------------------------------ Fortran's ** */

/* Calls of these are made by frontend/flang/complex_results.c. */
TAKES_APART float _Complex ompjit_fortran_power4(float x, float y, float a,
                                                 float b)
{
    return rounded(powerf(x, y, a, b));
}
TAKES_APART double _Complex ompjit_fortran_power8(double x, double y, double a,
                                                  double b)
{
    return power(x, y, a, b);
}

/* Powers of powers of two are multiplied. The inverse does not overflow where
 * its parts do not. */
#define INTEGER_POWER(name, t)                                                 \
    EXPORT NOINLINE t _Complex name(t x, t y, int64_t n)                       \
    {                                                                          \
        uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;                 \
        t re = 1, im = 0;                                                      \
        t _Complex z;                                                          \
        for (;;) {                                                             \
            if (rest & 1) {                                                    \
                const t product = re * x - im * y;                             \
                im = re * y + im * x;                                          \
                re = product;                                                  \
            }                                                                  \
            if (!(rest >>= 1))                                                 \
                break;                                                         \
            const t square = x * x - y * y;                                    \
            y = 2 * x * y;                                                     \
            x = square;                                                        \
        }                                                                      \
        if (n < 0 && __builtin_fabs(re) >= __builtin_fabs(im)) {               \
            const t ratio = im / re, norm = re + im * ratio;                   \
            re = 1 / norm;                                                     \
            im = (0 - ratio) / norm;                                           \
        } else if (n < 0) {                                                    \
            const t ratio = re / im, norm = im + re * ratio;                   \
            re = ratio / norm;                                                 \
            im = -1 / norm;                                                    \
        }                                                                      \
        __real__ z = re;                                                       \
        __imag__ z = im;                                                       \
        return z;                                                              \
    }

INTEGER_POWER(ompjit_fortran_integer_power4, float)
INTEGER_POWER(ompjit_fortran_integer_power8, double)
