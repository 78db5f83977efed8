/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of the C library that a GPU has not and that clang calls or LLVM
 * makes calls of; others are in string.c, number.c and format.c. On the host
 * the C library's own serve.
 */
#include "plat.h"

#ifdef __NVPTX__

EXPORT void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    char *t = to;
    const char *f = from;
    for (size_t i = 0; i < n; i++)
        t[i] = f[i];
    return to;
}

EXPORT void *memmove(void *to, const void *from, size_t n)
{
    char *t = to;
    const char *f = from;
    if (t <= f)
        for (size_t i = 0; i < n; i++)
            t[i] = f[i];
    else
        for (size_t i = n; i > 0; i--)
            t[i - 1] = f[i - 1];
    return to;
}

EXPORT void *memset(void *to, int value, size_t n)
{
    char *t = to;
    for (size_t i = 0; i < n; i++)
        t[i] = (char)value;
    return to;
}

EXPORT int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}
/* LLVM makes it of a memcmp that is compared with 0. */
EXPORT int bcmp(const void *a, const void *b, size_t n)
{
    return memcmp(a, b, n);
}

EXPORT size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

EXPORT int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

EXPORT void *calloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    void *p = malloc(bytes);
    if (p)
        __builtin_memset(p, 0, bytes);
    return p;
}

#endif
