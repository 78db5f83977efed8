/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of flang's runtime library on characters of a byte, for a GPU: the
 * comparison, INDEX, SCAN, VERIFY, LEN_TRIM, TRIM, ADJUSTL, ADJUSTR and REPEAT.
 */
#include "fortran.h"

#ifdef __NVPTX__

/* -1, 0 or 1, as if the shorter one had blanks behind it. */
static int compare(const char *x, const char *y, size_t nx, size_t ny)
{
    const size_t n = nx > ny ? nx : ny;
    for (size_t i = 0; i < n; i++) {
        const uint8_t a = (uint8_t)(i < nx ? x[i] : ' ');
        const uint8_t b = (uint8_t)(i < ny ? y[i] : ' ');
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

EXPORT int _FortranACharacterCompareScalar1(const char *x, const char *y,
                                            size_t nx, size_t ny)
{
    return compare(x, y, nx, ny);
}

static bool begins(const char *s, const char *with, size_t n)
{
    size_t i = 0;
    while (i < n && s[i] == with[i])
        i++;
    return i == n;
}

EXPORT size_t _FortranAIndex1(const char *s, size_t n, const char *what,
                              size_t nwhat, bool back)
{
    const size_t places = n < nwhat ? 0 : n - nwhat + 1;
    for (size_t i = 0; i < places; i++) {
        const size_t at = back ? places - 1 - i : i;
        if (begins(s + at, what, nwhat))
            return at + 1;
    }
    return 0;
}

/* The first, or last, character that is one of a set, or none of it. */
static size_t first_of(const char *s, size_t n, const char *set, size_t nset,
                       bool back, bool in)
{
    for (size_t i = 0; i < n; i++) {
        const size_t at = back ? n - 1 - i : i;
        size_t k = 0;
        while (k < nset && set[k] != s[at])
            k++;
        if ((k < nset) == in)
            return at + 1;
    }
    return 0;
}

EXPORT size_t _FortranAScan1(const char *s, size_t n, const char *set,
                             size_t nset, bool back)
{
    return first_of(s, n, set, nset, back, true);
}

EXPORT size_t _FortranAVerify1(const char *s, size_t n, const char *set,
                               size_t nset, bool back)
{
    return first_of(s, n, set, nset, back, false);
}

static size_t trimmed(const char *s, size_t n)
{
    while (n && s[n - 1] == ' ')
        n--;
    return n;
}

EXPORT size_t _FortranALenTrim1(const char *s, size_t n)
{
    return trimmed(s, n);
}

static void check_type(const struct descriptor *a, const char *file, int line)
{
    if (a->type != TYPE_CHARACTER)
        fail_at(file, line, "a GPU has no such function of wide characters");
}

static void blank(char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = ' ';
}

EXPORT void _FortranATrim(struct descriptor *result,
                          const struct descriptor *string, const char *file,
                          int line)
{
    check_type(string, file, line);
    establish(result, TYPE_CHARACTER,
              trimmed(string->base, string->element), 0);
    allocate_result(result, file, line);
    __builtin_memcpy(result->base, string->base, result->element);
}

EXPORT void _FortranARepeat(struct descriptor *result,
                            const struct descriptor *string, int64_t n,
                            const char *file, int line)
{
    check_type(string, file, line);
    if (n < 0)
        fail_at(file, line, "REPEAT has a negative number of copies");
    establish(result, TYPE_CHARACTER, string->element * (size_t)n, 0);
    allocate_result(result, file, line);
    for (int64_t i = 0; i < n; i++)
        __builtin_memcpy(result->base + (size_t)i * string->element,
                         string->base, string->element);
}

/* Moves the blanks of each element to its other end. */
static void adjust(struct descriptor *result, const struct descriptor *string,
                   bool left, const char *file, int line)
{
    const size_t n = string->element;
    struct place p;
    check_type(string, file, line);
    establish(result, TYPE_CHARACTER, n, string->rank);
    for (int i = 0; i < string->rank; i++)
        result->dims[i].extent = string->dims[i].extent;
    allocate_result(result, file, line);
    char *to = result->base;
    for (begin(&p, string); p.at; next(&p, string), to += n) {
        size_t blanks = 0;
        while (left && blanks < n && p.at[blanks] == ' ')
            blanks++;
        if (!left)
            blanks = n - trimmed(p.at, n);
        __builtin_memcpy(to + (left ? 0 : blanks), p.at + (left ? blanks : 0),
                         n - blanks);
        blank(to + (left ? n - blanks : 0), blanks);
    }
}

EXPORT void _FortranAAdjustl(struct descriptor *result,
                             const struct descriptor *string, const char *file,
                             int line)
{
    adjust(result, string, true, file, line);
}

EXPORT void _FortranAAdjustr(struct descriptor *result,
                             const struct descriptor *string, const char *file,
                             int line)
{
    adjust(result, string, false, file, line);
}

#endif
