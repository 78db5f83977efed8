/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Only in the host build: the functions of CUDA's libdevice that clang's
 * headers call for <math.h> where a program is compiled on a machine with CUDA.
 * Here they are the C library's, and those that it lacks are made of others.
 * For a GPU libdevice itself is linked (passes/gpu/math.c).
 */
#include "plat.h"

/* F(C's function), and with a suffix for float: __nv_sqrt, __nv_sqrtf. */
#define ONE(t, s, f)                                                           \
    EXPORT t __nv_##f##s(t x) { return __builtin_##f##s(x); }
#define TWO(t, s, f)                                                           \
    EXPORT t __nv_##f##s(t x, t y) { return __builtin_##f##s(x, y); }
#define BY_INT(t, s, f)                                                        \
    EXPORT t __nv_##f##s(t x, int n) { return __builtin_##f##s(x, n); }

#define ALL(t, s)                                                              \
    ONE(t, s, acos) ONE(t, s, acosh) ONE(t, s, asin) ONE(t, s, asinh)          \
    ONE(t, s, atan) ONE(t, s, atanh) ONE(t, s, cbrt) ONE(t, s, ceil)           \
    ONE(t, s, cos) ONE(t, s, cosh) ONE(t, s, erf) ONE(t, s, erfc)              \
    ONE(t, s, exp) ONE(t, s, exp10) ONE(t, s, exp2) ONE(t, s, expm1)           \
    ONE(t, s, fabs) ONE(t, s, floor)                                         \
    ONE(t, s, lgamma) ONE(t, s, log) ONE(t, s, log10) ONE(t, s, log1p)         \
    ONE(t, s, log2) ONE(t, s, logb) ONE(t, s, nearbyint) ONE(t, s, rint)       \
    ONE(t, s, round) ONE(t, s, sin) ONE(t, s, sinh) ONE(t, s, sqrt)            \
    ONE(t, s, tan) ONE(t, s, tanh) ONE(t, s, tgamma) ONE(t, s, trunc)          \
    TWO(t, s, atan2) TWO(t, s, copysign) TWO(t, s, fdim) TWO(t, s, fmax)       \
    TWO(t, s, fmin) TWO(t, s, fmod) TWO(t, s, hypot) TWO(t, s, nextafter)      \
    TWO(t, s, pow) TWO(t, s, remainder)                                        \
    BY_INT(t, s, ldexp) BY_INT(t, s, powi) BY_INT(t, s, scalbn)                \
    EXPORT t __nv_fma##s(t x, t y, t z) { return __builtin_fma##s(x, y, z); }  \
    EXPORT t __nv_frexp##s(t x, int *n) { return __builtin_frexp##s(x, n); }   \
    EXPORT t __nv_modf##s(t x, t *n) { return __builtin_modf##s(x, n); }       \
    EXPORT t __nv_remquo##s(t x, t y, int *n)                                  \
    {                                                                          \
        return __builtin_remquo##s(x, y, n);                                   \
    }                                                                          \
    EXPORT int __nv_ilogb##s(t x) { return __builtin_ilogb##s(x); }            \
    EXPORT long long __nv_llrint##s(t x) { return __builtin_llrint##s(x); }    \
    EXPORT long long __nv_llround##s(t x) { return __builtin_llround##s(x); }  \
    EXPORT void __nv_sincos##s(t x, t *sine, t *cosine)                        \
    {                                                                          \
        *sine = __builtin_sin##s(x);                                           \
        *cosine = __builtin_cos##s(x);                                         \
    }                                                                          \
    EXPORT t __nv_rsqrt##s(t x) { return 1 / __builtin_sqrt##s(x); }           \
    EXPORT t __nv_rcbrt##s(t x) { return 1 / __builtin_cbrt##s(x); }           \
    EXPORT t __nv_rhypot##s(t x, t y) { return 1 / __builtin_hypot##s(x, y); } \
    INLINE t reduced##s(t x)                                                   \
    {                                                                          \
        return __builtin_remainder##s(x, 2); /* exact, in half turns */        \
    }                                                                          \
    INLINE t sine##s(t x) /* of half turns, -1 to 1: exact at the halves */    \
    {                                                                          \
        t half = __builtin_rint##s(2 * x), rest = x - half / 2;                \
        t angle = rest * (t)3.14159265358979323846;                            \
        int quarter = (int)half & 3;                                           \
        t v = quarter & 1 ? __builtin_cos##s(angle) : __builtin_sin##s(angle); \
        return quarter & 2 ? -v : v;                                           \
    }                                                                          \
    EXPORT t __nv_sinpi##s(t x) { return sine##s(reduced##s(x)); }             \
    EXPORT t __nv_cospi##s(t x)                                                \
    {                                                                          \
        t y = __builtin_fabs##s(reduced##s(x));                                \
        return sine##s((t)0.5 - y);                                            \
    }                                                                          \
    EXPORT void __nv_sincospi##s(t x, t *sine, t *cosine)                      \
    {                                                                          \
        *sine = __nv_sinpi##s(x);                                              \
        *cosine = __nv_cospi##s(x);                                            \
    }                                                                          \
    EXPORT t __nv_normcdf##s(t x)                                              \
    {                                                                          \
        return __builtin_erfc##s(x * (t)-0.70710678118654752440) / 2;          \
    }

/* Bessel functions, for which clang has no builtins. */
#define BESSEL(t, s, f)                                                        \
    t f##0##s(t x);                                                            \
    t f##1##s(t x);                                                            \
    t f##n##s(int n, t x);                                                     \
    EXPORT t __nv_##f##0##s(t x) { return f##0##s(x); }                        \
    EXPORT t __nv_##f##1##s(t x) { return f##1##s(x); }                        \
    EXPORT t __nv_##f##n##s(int n, t x) { return f##n##s(n, x); }
BESSEL(double, , j)
BESSEL(double, , y)
BESSEL(float, f, j)
BESSEL(float, f, y)

/* Lengths of vectors: hypot cannot overflow on the way. */
#define NORMS(t, s, d)                                                         \
    EXPORT t __nv_norm3##d(t x, t y, t z)                                      \
    {                                                                          \
        return __builtin_hypot##s(__builtin_hypot##s(x, y), z);                \
    }                                                                          \
    EXPORT t __nv_norm4##d(t x, t y, t z, t w)                                 \
    {                                                                          \
        return __builtin_hypot##s(__nv_norm3##d(x, y, z), w);                  \
    }                                                                          \
    EXPORT t __nv_norm##s(int n, const t *v)                                   \
    {                                                                          \
        t sum = 0;                                                             \
        for (int i = 0; i < n; i++)                                            \
            sum = __builtin_hypot##s(sum, v[i]);                               \
        return sum;                                                            \
    }                                                                          \
    EXPORT t __nv_rnorm3##d(t x, t y, t z)                                     \
    {                                                                          \
        return 1 / __nv_norm3##d(x, y, z);                                     \
    }                                                                          \
    EXPORT t __nv_rnorm4##d(t x, t y, t z, t w)                                \
    {                                                                          \
        return 1 / __nv_norm4##d(x, y, z, w);                                  \
    }                                                                          \
    EXPORT t __nv_rnorm##s(int n, const t *v) { return 1 / __nv_norm##s(n, v); }

ALL(double, )
ALL(float, f)
NORMS(double, , d)
NORMS(float, f, df)

/* CUDA's fast versions may be less exact, and need not be. */
#define FAST(name)                                                             \
    EXPORT float __nv_fast_##name##f(float x) { return __builtin_##name##f(x); }
FAST(cos)
FAST(exp)
FAST(exp10)
FAST(log)
FAST(log10)
FAST(log2)
FAST(sin)
FAST(tan)
FAST(tanh)
EXPORT float __nv_fast_powf(float x, float y)
{
    return __builtin_powf(x, y);
}
EXPORT float __nv_fast_fdividef(float x, float y)
{
    return x / y;
}
EXPORT void __nv_fast_sincosf(float x, float *sine, float *cosine)
{
    __nv_sincosf(x, sine, cosine);
}

/* The functions of integers, and those that clang's <cmath> asks for. */
#define LEAST(t, name)                                                         \
    EXPORT t __nv_##name##min(t a, t b) { return a < b ? a : b; }              \
    EXPORT t __nv_##name##max(t a, t b) { return a < b ? b : a; }
LEAST(int, )
LEAST(unsigned, u)
LEAST(long long, ll)
LEAST(unsigned long long, ull)
EXPORT int __nv_abs(int n)
{
    return n < 0 ? (int)-(unsigned)n : n;
}
EXPORT long long __nv_llabs(long long n)
{
    return n < 0 ? (long long)-(unsigned long long)n : n;
}
#define KINDS(t, s, d)                                                         \
    EXPORT int __nv_isinf##d(t x) { return __builtin_isinf(x); }               \
    EXPORT int __nv_isnan##d(t x) { return __builtin_isnan(x); }               \
    EXPORT int __nv_##s(t x) { return __builtin_isfinite(x); }                 \
    EXPORT int __nv_signbit##d(t x) { return __builtin_signbit(x); }
KINDS(double, isfinited, d)
KINDS(float, finitef, f)

/* Sums and products that are rounded to zero or down, by the error of the
 * nearest one (passes/host/libdevice.cc). */
INLINE double error_of_sum(double x, double y, double sum)
{
    double part = sum - x;
    return (x - (sum - part)) + (y - part);
}
/* The neighbour of `sum` that is nearer to zero, where that is too large by its
 * error. */
INLINE double to_zero(double sum, double error)
{
    bool larger = sum > 0 ? error < 0 : error > 0;
    uint64_t bits;
    if (!larger || sum == 0 || !__builtin_isfinite(sum))
        return sum;
    __builtin_memcpy(&bits, &sum, sizeof bits);
    bits--;
    __builtin_memcpy(&sum, &bits, sizeof bits);
    return sum;
}
EXPORT double ompjit_nvvm_add_rz_d(double x, double y)
{
    double sum = x + y;
    return to_zero(sum, error_of_sum(x, y, sum));
}
/* A double that is on the same side of each float as the exact value. */
INLINE double sticky_sum(double x, double y)
{
    double sum = x + y, error = error_of_sum(x, y, sum);
    uint64_t bits;
    __builtin_memcpy(&bits, &sum, sizeof bits);
    if (error == 0 || !__builtin_isfinite(sum))
        return sum;
    if (!(bits & 1)) /* to odd, on the error's side */
        bits += (error > 0) == (sum > 0) ? 1 : -1;
    __builtin_memcpy(&sum, &bits, sizeof bits);
    return sum;
}
INLINE float float_to_zero(double x)
{
    float f = (float)x;
    bool larger = __builtin_fabs((double)f) > __builtin_fabs(x);
    return larger ? __builtin_nextafterf(f, 0) : f;
}
INLINE float float_down(double x)
{
    float f = (float)x;
    return (double)f > x ? __builtin_nextafterf(f, -__builtin_inff()) : f;
}
EXPORT float ompjit_nvvm_add_rz_f(float x, float y)
{
    return float_to_zero(sticky_sum(x, y));
}
EXPORT float ompjit_nvvm_mul_rz_f(float x, float y)
{
    return float_to_zero((double)x * y);
}
EXPORT float ompjit_nvvm_fma_rz_f(float x, float y, float z)
{
    return float_to_zero(sticky_sum((double)x * y, z));
}
EXPORT float ompjit_nvvm_fma_rm_f(float x, float y, float z)
{
    return float_down(sticky_sum((double)x * y, z));
}
