/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C library's functions on strings, memory and characters on a GPU, beside
 * those of libc.c. Characters are ASCII's.
 */
#include "plat.h"

#ifdef __NVPTX__

size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
void *memcpy(void *restrict to, const void *restrict from, size_t n);

static int lower(int c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* ---------------------------------------------------------------- memory */

EXPORT void *memchr(const void *in, int c, size_t n)
{
    const unsigned char *p = in;
    for (; n > 0; n--, p++)
        if (*p == (unsigned char)c)
            return (void *)(uintptr_t)p;
    return NULL;
}
EXPORT void *memrchr(const void *in, int c, size_t n)
{
    const unsigned char *p = in;
    while (n-- > 0)
        if (p[n] == (unsigned char)c)
            return (void *)(uintptr_t)(p + n);
    return NULL;
}
EXPORT void *mempcpy(void *restrict to, const void *restrict from, size_t n)
{
    return (char *)memcpy(to, from, n) + n;
}
EXPORT void *memccpy(void *restrict to, const void *restrict from, int c,
                     size_t n)
{
    char *t = to;
    const char *f = from;
    for (size_t i = 0; i < n; i++)
        if ((t[i] = f[i]) == (char)c)
            return t + i + 1;
    return NULL;
}

/* --------------------------------------------------------------- strings */

EXPORT size_t strnlen(const char *s, size_t most)
{
    size_t n = 0;
    while (n < most && s[n])
        n++;
    return n;
}
EXPORT int strncmp(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int difference = (unsigned char)a[i] - (unsigned char)b[i];
        if (difference || !a[i])
            return difference;
    }
    return 0;
}
EXPORT int strncasecmp(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int difference =
            lower((unsigned char)a[i]) - lower((unsigned char)b[i]);
        if (difference || !a[i])
            return difference;
    }
    return 0;
}
EXPORT int strcasecmp(const char *a, const char *b)
{
    return strncasecmp(a, b, SIZE_MAX);
}
EXPORT int strcoll(const char *a, const char *b)
{
    return strcmp(a, b);
}

EXPORT char *stpcpy(char *restrict to, const char *restrict from)
{
    while ((*to = *from++))
        to++;
    return to;
}
EXPORT char *strcpy(char *restrict to, const char *restrict from)
{
    stpcpy(to, from);
    return to;
}
EXPORT char *stpncpy(char *restrict to, const char *restrict from, size_t n)
{
    size_t length = strnlen(from, n);
    for (size_t i = 0; i < n; i++)
        to[i] = i < length ? from[i] : 0;
    return to + length;
}
EXPORT char *strncpy(char *restrict to, const char *restrict from, size_t n)
{
    stpncpy(to, from, n);
    return to;
}
EXPORT char *strcat(char *restrict to, const char *restrict from)
{
    stpcpy(to + strlen(to), from);
    return to;
}
EXPORT char *strncat(char *restrict to, const char *restrict from, size_t n)
{
    char *end = to + strlen(to);
    size_t length = strnlen(from, n);
    memcpy(end, from, length);
    end[length] = 0;
    return to;
}

EXPORT char *strchrnul(const char *s, int c)
{
    while (*s && *s != (char)c)
        s++;
    return (char *)(uintptr_t)s;
}
EXPORT char *strchr(const char *s, int c)
{
    char *found = strchrnul(s, c);
    return *found == (char)c ? found : NULL;
}
EXPORT char *strrchr(const char *s, int c)
{
    return memrchr(s, c, strlen(s) + 1);
}
EXPORT char *strstr(const char *s, const char *what)
{
    size_t n = strlen(what);
    for (;; s++) {
        if (!strncmp(s, what, n))
            return (char *)(uintptr_t)s;
        if (!*s)
            return NULL;
    }
}
EXPORT size_t strspn(const char *s, const char *of)
{
    size_t n = 0;
    while (s[n] && strchr(of, s[n]))
        n++;
    return n;
}
EXPORT size_t strcspn(const char *s, const char *of)
{
    size_t n = 0;
    while (s[n] && !strchr(of, s[n]))
        n++;
    return n;
}
EXPORT char *strpbrk(const char *s, const char *of)
{
    s += strcspn(s, of);
    return *s ? (char *)(uintptr_t)s : NULL;
}

EXPORT char *strtok_r(char *restrict s, const char *restrict of,
                      char **restrict rest)
{
    if (!s)
        s = *rest;
    s += strspn(s, of);
    char *end = s + strcspn(s, of);
    *rest = *end ? end + 1 : end;
    if (end == s)
        return NULL;
    *end = 0;
    return s;
}
EXPORT char *__strtok_r(char *restrict s, const char *restrict of,
                        char **restrict rest)
{
    return strtok_r(s, of, rest);
}

EXPORT char *strndup(const char *s, size_t most)
{
    size_t n = strnlen(s, most);
    char *copy = malloc(n + 1);
    if (!copy)
        return NULL;
    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}
EXPORT char *strdup(const char *s)
{
    return strndup(s, SIZE_MAX);
}

/* ------------------------------------------------------------- characters */

/* Bits of glibc's table, in the order of its enumeration. */
#define BIT(n) ((n) < 8 ? 1 << (n) << 8 : 1 << (n) >> 8)
enum {
    UPPER = BIT(0), LOWER = BIT(1), ALPHA = BIT(2), DIGIT = BIT(3),
    XDIGIT = BIT(4), SPACE = BIT(5), PRINT = BIT(6), GRAPH = BIT(7),
    BLANK = BIT(8), CNTRL = BIT(9), PUNCT = BIT(10), ALNUM = BIT(11),
    SEEN = PRINT | GRAPH,
    LETTER = ALPHA | ALNUM | SEEN
};

enum { BELOW = 128 }; /* the table begins with the character -128 */
static const uint16_t classes[BELOW + 256] = {
    [BELOW + 0 ... BELOW + 8] = CNTRL,
    [BELOW + '\t'] = CNTRL | SPACE | BLANK,
    [BELOW + 10 ... BELOW + 13] = CNTRL | SPACE,
    [BELOW + 14 ... BELOW + 31] = CNTRL,
    [BELOW + ' '] = SPACE | BLANK | PRINT,
    [BELOW + '!' ... BELOW + '/'] = PUNCT | SEEN,
    [BELOW + '0' ... BELOW + '9'] = DIGIT | XDIGIT | ALNUM | SEEN,
    [BELOW + ':' ... BELOW + '@'] = PUNCT | SEEN,
    [BELOW + 'A' ... BELOW + 'F'] = UPPER | XDIGIT | LETTER,
    [BELOW + 'G' ... BELOW + 'Z'] = UPPER | LETTER,
    [BELOW + '[' ... BELOW + '`'] = PUNCT | SEEN,
    [BELOW + 'a' ... BELOW + 'f'] = LOWER | XDIGIT | LETTER,
    [BELOW + 'g' ... BELOW + 'z'] = LOWER | LETTER,
    [BELOW + '{' ... BELOW + '~'] = PUNCT | SEEN,
    [BELOW + 127] = CNTRL,
};
static const uint16_t *const classes_at = classes + BELOW;

EXPORT const uint16_t *const *__ctype_b_loc(void)
{
    return &classes_at;
}

#define CLASS(name, bit)                                                       \
    EXPORT int name(int c)                                                     \
    {                                                                          \
        return c >= 0 && c < 256 ? classes[BELOW + c] & (bit) : 0;             \
    }
CLASS(isalnum, ALNUM)
CLASS(isalpha, ALPHA)
CLASS(isblank, BLANK)
CLASS(iscntrl, CNTRL)
CLASS(isdigit, DIGIT)
CLASS(isgraph, GRAPH)
CLASS(islower, LOWER)
CLASS(isprint, PRINT)
CLASS(ispunct, PUNCT)
CLASS(isspace, SPACE)
CLASS(isupper, UPPER)
CLASS(isxdigit, XDIGIT)

#define FOUR(f, c) f(c), f((c) + 1), f((c) + 2), f((c) + 3)
#define SIXTEEN(f, c) FOUR(f, c), FOUR(f, (c) + 4), FOUR(f, (c) + 8), \
    FOUR(f, (c) + 12)
#define ALL(f, c) SIXTEEN(f, c), SIXTEEN(f, (c) + 16), SIXTEEN(f, (c) + 32), \
    SIXTEEN(f, (c) + 48), SIXTEEN(f, (c) + 64), SIXTEEN(f, (c) + 80), \
    SIXTEEN(f, (c) + 96), SIXTEEN(f, (c) + 112)
#define TO_LOWER(c) ((c) >= 'A' && (c) <= 'Z' ? (c) + 32 : (c))
#define TO_UPPER(c) ((c) >= 'a' && (c) <= 'z' ? (c) - 32 : (c))
static const int32_t lowers[] = {ALL(TO_LOWER, -128), ALL(TO_LOWER, 0),
                                 ALL(TO_LOWER, 128)};
static const int32_t uppers[] = {ALL(TO_UPPER, -128), ALL(TO_UPPER, 0),
                                 ALL(TO_UPPER, 128)};
static const int32_t *const lowers_at = lowers + BELOW;
static const int32_t *const uppers_at = uppers + BELOW;

EXPORT const int32_t *const *__ctype_tolower_loc(void)
{
    return &lowers_at;
}
EXPORT const int32_t *const *__ctype_toupper_loc(void)
{
    return &uppers_at;
}
EXPORT int tolower(int c)
{
    return lower(c);
}
EXPORT int toupper(int c)
{
    return TO_UPPER(c);
}

#endif
