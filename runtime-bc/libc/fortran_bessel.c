/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * BESSEL_JN and BESSEL_YN of a range of orders, of flang's runtime library, for a
 * GPU. The caller has the values of two orders next to each other: of J the last
 * ones, of Y the first ones. All others follow by recurrence, in the direction in
 * which errors do not grow:
 *
 *   B(n - 1) + B(n + 1) = 2 n / x B(n)
 */
#include "fortran.h"

#ifdef __NVPTX__

/* An array of orders n1 to n2; how many these are. */
static int64_t establish_orders(struct descriptor *result, int type,
                                size_t element, int n1, int n2,
                                const char *file, int line)
{
    if (n1 < 0 || n2 < 0)
        fail_at(file, line, "a Bessel function of a negative order");
    establish(result, type, element, 1);
    result->dims[0].extent = n2 < n1 ? 0 : (int64_t)n2 - n1 + 1;
    allocate_result(result, file, line);
    return result->dims[0].extent;
}

#define BESSEL(kind, t)                                                        \
    EXPORT void _FortranABesselJn_##kind(                                      \
        struct descriptor *result, int n1, int n2, t x, t last, t before,      \
        const char *file, int line)                                            \
    {                                                                          \
        const int64_t n = establish_orders(result, TYPE_REAL##kind, sizeof(t), \
                                           n1, n2, file, line);                \
        t *b = (t *)result->base;                                              \
        if (n > 0)                                                             \
            b[n - 1] = last;                                                   \
        if (n > 1)                                                             \
            b[n - 2] = before;                                                 \
        for (int64_t i = n - 3; i >= 0; i--)                                   \
            b[i] = 2 * (t)(n1 + i + 1) / x * b[i + 1] - b[i + 2];              \
    }                                                                          \
    EXPORT void _FortranABesselYn_##kind(                                      \
        struct descriptor *result, int n1, int n2, t x, t first, t second,     \
        const char *file, int line)                                            \
    {                                                                          \
        const int64_t n = establish_orders(result, TYPE_REAL##kind, sizeof(t), \
                                           n1, n2, file, line);                \
        t *b = (t *)result->base;                                              \
        if (n > 0)                                                             \
            b[0] = first;                                                      \
        if (n > 1)                                                             \
            b[1] = second;                                                     \
        for (int64_t i = 2; i < n; i++)                                        \
            b[i] = 2 * (t)(n1 + i - 1) / x * b[i - 1] - b[i - 2];              \
    }                                                                          \
    EXPORT void _FortranABesselJnX0_##kind(struct descriptor *result, int n1,  \
                                           int n2, const char *file, int line) \
    {                                                                          \
        const int64_t n = establish_orders(result, TYPE_REAL##kind, sizeof(t), \
                                           n1, n2, file, line);                \
        for (int64_t i = 0; i < n; i++)                                        \
            ((t *)result->base)[i] = n1 + i == 0;                              \
    }                                                                          \
    EXPORT void _FortranABesselYnX0_##kind(struct descriptor *result, int n1,  \
                                           int n2, const char *file, int line) \
    {                                                                          \
        const int64_t n = establish_orders(result, TYPE_REAL##kind, sizeof(t), \
                                           n1, n2, file, line);                \
        for (int64_t i = 0; i < n; i++)                                        \
            ((t *)result->base)[i] = -(t)__builtin_inf();                      \
    }

BESSEL(4, float)
BESSEL(8, double)

#endif
