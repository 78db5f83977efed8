/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PRINT *, and list-directed WRITE to the standard output, on a GPU, as flang's
 * runtime library writes them: a statement's records are made in memory and
 * printed at its end. Formats are not read.
 */
#include "fortran.h"

#ifdef __NVPTX__

int snprintf(char *to, size_t size, const char *f, ...);
double strtod(const char *s, char **end);
float strtof(const char *s, char **end);
size_t fwrite(const void *from, size_t size, size_t n, void *file);

enum { RECORD = 79 }; /* characters of a line, unless an item has more */

struct statement {
    char *text;
    size_t n, capacity, position; /* in the record */
    bool after_text;
    const char *file;
    int line;
};

static void put(struct statement *s, const char *text, size_t n)
{
    if (s->n + n > s->capacity) {
        const size_t capacity = 2 * (s->n + n);
        char *more = malloc(capacity);
        if (!more)
            fail_at(s->file, s->line, "no memory for PRINT");
        __builtin_memcpy(more, s->text, s->n);
        free(s->text);
        s->text = more;
        s->capacity = capacity;
    }
    __builtin_memcpy(s->text + s->n, text, n);
    s->n += n;
    s->position += n;
}

static void end_record(struct statement *s)
{
    put(s, "\n", 1);
    s->position = 0;
}

/* The blank before an item of n characters, and a new record where it does not
 * fit into this one. Texts in a row have no blanks. */
static void separate(struct statement *s, size_t n, bool is_text)
{
    const bool blank = !is_text || !s->after_text;
    if (s->position && s->position + blank + n > RECORD)
        end_record(s);
    if (blank || !s->position)
        put(s, " ", 1);
    s->after_text = is_text;
}

static void put_item(struct statement *s, const char *text, size_t n)
{
    separate(s, n, false);
    put(s, text, n);
}

/* A text goes on in the next record. */
static void put_text(struct statement *s, const char *text, size_t n)
{
    separate(s, n > 0, true);
    while (s->position + n > RECORD) {
        const size_t part = RECORD - s->position;
        put(s, text, part);
        end_record(s);
        put(s, " ", 1);
        text += part;
        n -= part;
    }
    put(s, text, n);
}

/* ------------------------------------------------------------------ numbers */

enum { NUMBER = 40 }; /* characters that are enough for one */

static size_t length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

static void put_integer_item(struct statement *s, int64_t x)
{
    char text[NUMBER];
    snprintf(text, sizeof text, "%lld", (long long)x);
    put_item(s, text, length(text));
}

/* The fewest digits that are read as x again, "d.ddde+dd". */
static void shortest(char *text, double x, bool single)
{
    enum { DIGITS_MOST = 17 };
    for (int n = 0; n < DIGITS_MOST; n++) {
        snprintf(text, NUMBER, "%.*e", n, x);
        if ((single ? strtof(text, NULL) : strtod(text, NULL)) == x)
            break;
    }
}

/* Without an exponent: from .1 on, and for as many digits before the point as
 * the type has. */
static size_t without_exponent(char *to, const char *digits, int n, int before)
{
    size_t at = 0;
    for (int i = 0; i < before; i++)
        to[at++] = i < n ? digits[i] : '0';
    to[at++] = '.';
    for (int i = before; i < n; i++)
        to[at++] = digits[i];
    return at;
}

static size_t with_exponent(char *to, const char *digits, int n, int exponent)
{
    size_t at = without_exponent(to, digits, n, 1);
    snprintf(to + at, NUMBER - at, "E%c%02d", exponent < 0 ? '-' : '+',
             exponent < 0 ? -exponent : exponent);
    return length(to);
}

static size_t real_text(char *to, double x, bool single)
{
    enum { SINGLE_DIGITS = 6, DOUBLE_DIGITS = 15 };
    char text[NUMBER], digits[NUMBER];
    int n = 0, exponent = 0;
    size_t at = 0;
    const char *from = text;
    if (x != x || __builtin_isinf(x)) {
        const char *name = x != x ? "NaN" : x < 0 ? "-Inf" : "Inf";
        __builtin_memcpy(to, name, length(name));
        return length(name);
    }
    shortest(text, x, single);
    if (*from == '-') {
        to[at++] = '-';
        from++;
    }
    for (; *from && *from != 'e'; from++)
        if (*from != '.')
            digits[n++] = *from;
    const bool small = *from && from[1] == '-';
    for (from += *from ? 2 : 0; *from; from++)
        exponent = 10 * exponent + (*from - '0');
    exponent = small ? -exponent : exponent;
    if (x == 0 || (exponent >= -1 &&
                   exponent < (single ? SINGLE_DIGITS : DOUBLE_DIGITS)))
        return at + without_exponent(to + at, digits, n, exponent + 1);
    return at + with_exponent(to + at, digits, n, exponent);
}

static void put_real_item(struct statement *s, double x, bool single)
{
    char text[NUMBER];
    put_item(s, text, real_text(text, x, single));
}

static void put_complex_item(struct statement *s, double re, double im,
                             bool single)
{
    char text[2 * NUMBER + 3];
    size_t n = 0;
    text[n++] = '(';
    n += real_text(text + n, re, single);
    text[n++] = ',';
    n += real_text(text + n, im, single);
    text[n++] = ')';
    put_item(s, text, n);
}

/* --------------------------------------------------------------- statements */

EXPORT struct statement *_FortranAioBeginExternalListOutput(int unit,
                                                            const char *file,
                                                            int line)
{
    enum { STANDARD_ERROR = 0, STANDARD_OUTPUT = 6, DEFAULT = -1 };
    struct statement *s = malloc(sizeof *s);
    if (!s)
        fail_at(file, line, "no memory for PRINT");
    if (unit != STANDARD_OUTPUT && unit != DEFAULT && unit != STANDARD_ERROR)
        fail_at(file, line, "a GPU writes to the standard output only");
    *s = (struct statement){.file = file, .line = line};
    return s;
}

EXPORT int _FortranAioEndIoStatement(struct statement *s)
{
    end_record(s);
    fwrite(s->text, 1, s->n, NULL);
    free(s->text);
    free(s);
    return 0;
}

EXPORT bool _FortranAioOutputAscii(struct statement *s, const char *text,
                                   size_t n)
{
    put_text(s, text, n);
    return true;
}

EXPORT bool _FortranAioOutputLogical(struct statement *s, bool is)
{
    put_item(s, is ? "T" : "F", 1);
    return true;
}

#define OUTPUT_INTEGER(bits)                                                   \
    EXPORT bool _FortranAioOutputInteger##bits(struct statement *s,            \
                                               int##bits##_t x)                \
    {                                                                          \
        put_integer_item(s, x);                                                \
        return true;                                                           \
    }

OUTPUT_INTEGER(8)
OUTPUT_INTEGER(16)
OUTPUT_INTEGER(32)
OUTPUT_INTEGER(64)

#define OUTPUT_REAL(bits, t, single)                                           \
    EXPORT bool _FortranAioOutputReal##bits(struct statement *s, t x)          \
    {                                                                          \
        put_real_item(s, x, single);                                           \
        return true;                                                           \
    }                                                                          \
    EXPORT bool _FortranAioOutputComplex##bits(struct statement *s, t re,      \
                                               t im)                           \
    {                                                                          \
        put_complex_item(s, re, im, single);                                   \
        return true;                                                           \
    }

OUTPUT_REAL(32, float, true)
OUTPUT_REAL(64, double, false)

static void put_element(struct statement *s, const struct descriptor *a,
                        const char *at)
{
    switch (a->type) {
    case TYPE_INTEGER1: put_integer_item(s, *(const int8_t *)at); break;
    case TYPE_INTEGER2: put_integer_item(s, *(const int16_t *)at); break;
    case TYPE_INTEGER4: put_integer_item(s, *(const int32_t *)at); break;
    case TYPE_INTEGER8: put_integer_item(s, *(const int64_t *)at); break;
    case TYPE_REAL4: put_real_item(s, *(const float *)at, true); break;
    case TYPE_REAL8: put_real_item(s, *(const double *)at, false); break;
    case TYPE_COMPLEX4:
        put_complex_item(s, ((const float *)at)[0], ((const float *)at)[1],
                         true);
        break;
    case TYPE_COMPLEX8:
        put_complex_item(s, ((const double *)at)[0], ((const double *)at)[1],
                         false);
        break;
    case TYPE_LOGICAL1:
    case TYPE_LOGICAL2:
    case TYPE_LOGICAL4:
    case TYPE_LOGICAL8:
        put_item(s, is_true(at, a->element) ? "T" : "F", 1);
        break;
    case TYPE_CHARACTER: put_text(s, at, a->element); break;
    default: fail_at(s->file, s->line, "a GPU does not print this type");
    }
}

EXPORT bool _FortranAioOutputDescriptor(struct statement *s,
                                        const struct descriptor *a)
{
    struct place p;
    for (begin(&p, a); p.at; next(&p, a))
        put_element(s, a, p.at);
    return true;
}

#endif
