/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of flang's runtime library for a GPU. On the host device kernels
 * call the library itself (frontend/flang/flang_runtime.c). The place in the
 * source is for a message about a second argument of 0, which gives a NaN here.
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

#endif
