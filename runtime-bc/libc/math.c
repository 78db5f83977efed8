/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mathematics on a GPU that libdevice has in another form: the pipeline
 * replaces LLVM's intrinsics of two results (passes/gpu/math_nvptx.def), and
 * calls here of the C library's functions by libdevice's.
 */
#include "plat.h"

#ifdef __NVPTX__

/* Two results: what clang returns as the pair that LLVM's intrinsics have. */
#define PAIRS(t, f)                                                            \
    t sin##f(t x);                                                             \
    t cos##f(t x);                                                             \
    t modf##f(t x, t *whole);                                                  \
    t scalbn##f(t x, int n);                                                   \
    INLINE t _Complex pair##f(t first, t second)                               \
    {                                                                          \
        t _Complex z;                                                          \
        __real__ z = first;                                                    \
        __imag__ z = second;                                                   \
        return z;                                                              \
    }                                                                          \
    EXPORT t _Complex ompjit_sincos##f(t x)                                    \
    {                                                                          \
        return pair##f(sin##f(x), cos##f(x));                                  \
    }                                                                          \
    EXPORT t _Complex ompjit_modf##f(t x)                                      \
    {                                                                          \
        t whole, part = modf##f(x, &whole);                                    \
        return pair##f(part, whole);                                           \
    }                                                                          \
    EXPORT t scalbln##f(t x, long n)                                           \
    {                                                                          \
        enum { MOST = 1 << 20 };                                               \
        long within = n > MOST ? MOST : n < -MOST ? -MOST : n;                 \
        return scalbn##f(x, (int)within);                                      \
    }

PAIRS(double, )
PAIRS(float, f)

#endif
