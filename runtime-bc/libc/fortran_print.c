/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PRINT and WRITE to the standard output or to characters, on a GPU, as flang's
 * runtime library writes them: a statement's records are made in memory and go
 * out at its end.
 */
#include "fortran_derived.h"
#include "fortran_io.h"

#ifdef __NVPTX__

size_t fwrite(const void *from, size_t size, size_t n, void *file);

enum { RECORD = 79 }; /* characters of a list-directed line, unless an item has
                         more */

EXPORT NOINLINE void ompjit_fortran_error(struct statement *s, int status,
                                          const char *message)
{
    if (!s->handled)
        fail_at(s->file, s->line, message);
    if (s->status)
        return;
    s->status = status;
    s->message = message;
}

/* ------------------------------------------------------------------ records */

static void reserve(struct statement *s, size_t end)
{
    if (end <= s->capacity)
        return;
    const size_t capacity = 2 * end;
    char *more = malloc(capacity);
    if (!more)
        fail_at(s->file, s->line, "no memory for PRINT");
    __builtin_memcpy(more, s->text, s->n);
    free(s->text);
    s->text = more;
    s->capacity = capacity;
}

/* Blanks from the end of the text up to the place in the record. */
static void fill(struct statement *s)
{
    reserve(s, s->record + s->position);
    while (s->n < s->record + s->position)
        s->text[s->n++] = ' ';
}

/* Room for n characters at the place; fewer where the record ends. */
static char *claim(struct statement *s, size_t *n)
{
    const size_t at = s->record + s->position;
    const size_t most = s->unit.element;
    if (s->internal && s->position + *n > most) {
        *n = s->position < most && !s->status ? most - s->position : 0;
        ompjit_fortran_error(s, ERROR_RECORD,
                             "Excessive output to fixed-size record");
    }
    if (!*n)
        return NULL;
    fill(s);
    reserve(s, at + *n);
    s->position += *n;
    if (s->n < at + *n)
        s->n = at + *n;
    return s->text + at;
}

EXPORT NOINLINE void ompjit_fortran_put(struct statement *s, const char *text,
                                        size_t n)
{
    char *to = s->status ? NULL : claim(s, &n);
    if (to)
        __builtin_memcpy(to, text, n);
}

EXPORT NOINLINE void ompjit_fortran_repeat(struct statement *s, char c,
                                           int64_t n)
{
    size_t count = n > 0 ? (size_t)n : 0;
    char *to = s->status ? NULL : claim(s, &count);
    for (size_t i = 0; to && i < count; i++)
        to[i] = c;
}

/* An internal unit's record is full, with blanks. */
static void fill_record(struct statement *s)
{
    s->position = s->unit.element;
    fill(s);
}

EXPORT NOINLINE void ompjit_fortran_end_record(struct statement *s)
{
    if (s->status)
        return;
    if (!s->internal) {
        s->position = s->n - s->record;
        ompjit_fortran_put(s, "\n", 1);
    } else {
        fill_record(s);
        if (++s->records == count_of(&s->unit)) {
            ompjit_fortran_error(s, ERROR_UNIT,
                                 "Internal write overran available records");
            s->records--;
            return;
        }
    }
    s->record = s->n;
    s->position = 0;
}

/* ------------------------------------------------------ list-directed items */

/* A new record where the item does not fit into this one. */
EXPORT NOINLINE void ompjit_fortran_fit(struct statement *s, size_t n)
{
    const size_t record = s->internal ? s->unit.element : RECORD;
    if (s->position && s->position + n > record)
        ompjit_fortran_end_record(s);
}

/* Texts in a row have no blanks. */
EXPORT NOINLINE void ompjit_fortran_separate(struct statement *s, size_t n,
                                             bool is_text)
{
    const bool blank = !is_text || !s->after_text;
    ompjit_fortran_fit(s, blank + n);
    if (blank || !s->position)
        ompjit_fortran_put(s, " ", 1);
    s->after_text = is_text;
}

/* A text goes on in the next record. */
static void list_text(struct statement *s, const char *text, size_t n)
{
    const size_t record = s->internal ? s->unit.element : RECORD;
    ompjit_fortran_separate(s, n > 0, true);
    while (s->position + n > record && !s->status) {
        const size_t part = record - s->position;
        ompjit_fortran_put(s, text, part);
        ompjit_fortran_end_record(s);
        ompjit_fortran_put(s, " ", 1);
        text += part;
        n -= part;
    }
    ompjit_fortran_put(s, text, n);
}

/* ------------------------------------------------------------------- items */

/* The edit descriptor of the next item; false: it cannot be written. */
static bool begin_item(struct statement *s, struct edit *e)
{
    *e = (struct edit){LIST, 0, NONE, NONE, NONE};
    if (!s->format.text)
        return !s->status;
    if (!ompjit_fortran_next_edit(s, true))
        return false;
    *e = s->format.edit;
    return true;
}

static NOINLINE bool put_integer_item(struct statement *s, int_wide x,
                                      size_t size)
{
    struct edit e;
    if (begin_item(s, &e))
        ompjit_fortran_edit_integer(s, &e, x, size);
    return !s->status;
}

static NOINLINE bool put_logical_item(struct statement *s, bool x)
{
    struct edit e;
    if (begin_item(s, &e))
        ompjit_fortran_edit_logical(s, &e, x);
    return !s->status;
}

static NOINLINE bool put_text_item(struct statement *s, const char *text,
                                   size_t n)
{
    struct edit e;
    if (begin_item(s, &e)) {
        if (e.letter == LIST)
            list_text(s, text, n);
        else
            ompjit_fortran_edit_text(s, &e, text, n);
    }
    return !s->status;
}

/* variation: of a list-directed item */
static NOINLINE bool put_real_item(struct statement *s, double x, bool single,
                                   char variation)
{
    struct edit e;
    if (begin_item(s, &e)) {
        if (e.letter == LIST)
            e.variation = variation;
        ompjit_fortran_edit_real(s, &e, x, single);
    }
    return !s->status;
}

static NOINLINE bool put_complex_item(struct statement *s, double re, double im,
                                      bool single)
{
    return put_real_item(s, re, single, REAL_PART) &&
           put_real_item(s, im, single, IMAGINARY);
}

EXPORT bool _FortranAioOutputAscii(struct statement *s, const char *text,
                                   size_t n)
{
    return put_text_item(s, text, n);
}

EXPORT bool _FortranAioOutputLogical(struct statement *s, bool x)
{
    return put_logical_item(s, x);
}

#define OUTPUT_INTEGER(bits, t)                                                \
    EXPORT bool _FortranAioOutputInteger##bits(struct statement *s, t x)       \
    {                                                                          \
        return put_integer_item(s, x, sizeof x);                               \
    }

OUTPUT_INTEGER(8, int8_t)
OUTPUT_INTEGER(16, int16_t)
OUTPUT_INTEGER(32, int32_t)
OUTPUT_INTEGER(64, int64_t)
OUTPUT_INTEGER(128, int_wide)

#define OUTPUT_REAL(bits, t, single)                                           \
    EXPORT bool _FortranAioOutputReal##bits(struct statement *s, t x)          \
    {                                                                          \
        return put_real_item(s, x, single, 0);                                 \
    }                                                                          \
    EXPORT bool _FortranAioOutputComplex##bits(struct statement *s, t re,      \
                                               t im)                           \
    {                                                                          \
        return put_complex_item(s, re, im, single);                            \
    }

OUTPUT_REAL(32, float, true)
OUTPUT_REAL(64, double, false)

static NOINLINE bool put_element(struct statement *s,
                                 const struct descriptor *a, const char *at)
{
    const float *f = (const float *)at;
    const double *d = (const double *)at;
    switch (a->type) {
    case TYPE_INTEGER1:
    case TYPE_INTEGER2:
    case TYPE_INTEGER4:
    case TYPE_INTEGER8:
        return put_integer_item(s, integer_at(at, a->element), a->element);
    case TYPE_INTEGER16:
        return put_integer_item(s, *(const int_wide *)at, a->element);
    case TYPE_REAL4: return put_real_item(s, *f, true, 0);
    case TYPE_REAL8: return put_real_item(s, *d, false, 0);
    case TYPE_COMPLEX4: return put_complex_item(s, f[0], f[1], true);
    case TYPE_COMPLEX8: return put_complex_item(s, d[0], d[1], false);
    case TYPE_LOGICAL1:
    case TYPE_LOGICAL2:
    case TYPE_LOGICAL4:
    case TYPE_LOGICAL8:
        return put_logical_item(s, is_true(at, a->element));
    case TYPE_CHARACTER: return put_text_item(s, at, a->element);
    default: fail_at(s->file, s->line, "a GPU does not print this type");
    }
}

EXPORT NOINLINE bool _FortranAioOutputDescriptor(struct statement *s,
                                                 const struct descriptor *a)
{
    struct place p;
    bool is = true;
    for (begin(&p, a); p.at && is; next(&p, a))
        is = put_element(s, a, p.at);
    return is;
}

/* --------------------------------------------------------- derived types */

/* An element of which components before `component` are written. */
struct part {
    struct part *whole; /* whose component it is */
    const struct derived *type;
    char *at;
    int64_t component, index; /* the next one, and its element */
};

static struct part *begin_part(struct statement *s, struct part *whole,
                               const struct derived *type, char *at)
{
    enum { WRITE_FORMATTED = 1 << 5 };
    struct part *p = malloc(sizeof *p);
    if (!p)
        fail_at(s->file, s->line, "no memory for PRINT");
    if (type->special_set & WRITE_FORMATTED)
        fail_at(s->file, s->line, "a GPU does not call WRITE of a type");
    *p = (struct part){whole, type, at, 0, 0};
    return p;
}

/* The next element of the next component, which is a new part where it is of a
 * derived type. */
static struct part *put_part(struct statement *s, struct part *p)
{
    const struct component *c = &components_of(p->type)[p->component];
    struct descriptor a;
    if (c->genre != GENRE_DATA)
        fail_at(s->file, s->line, "output of a component without a fixed size");
    if (p->index == elements_in(c)) {
        p->component++;
        p->index = 0;
        return p;
    }
    a.type = (uint8_t)ompjit_fortran_type_code(c);
    a.element = ompjit_fortran_element_bytes(c);
    char *at = p->at + c->offset + p->index++ * (int64_t)a.element;
    if (c->category == CATEGORY_DERIVED)
        return begin_part(s, p, type_in(c), at);
    put_element(s, &a, at);
    return p;
}

EXPORT NOINLINE bool _FortranAioOutputDerivedType(struct statement *s,
                                                  const struct descriptor *a,
                                                  const void *defined)
{
    struct place p;
    for (begin(&p, a); p.at; next(&p, a))
        for (struct part *now = begin_part(s, NULL, type_of(a), p.at); now;) {
            struct part *whole = now->whole;
            if (now->component < components_in(now->type)) {
                now = put_part(s, now);
            } else {
                free(now);
                now = whole;
            }
        }
    return !s->status;
}

/* --------------------------------------------------------------- statements */

static NOINLINE struct statement *begin_statement(const char *file, int line)
{
    struct statement *s = malloc(sizeof *s);
    if (!s)
        fail_at(file, line, "no memory for PRINT");
    s->text = NULL;
    s->n = s->capacity = s->record = s->position = 0;
    s->after_text = s->stay = s->internal = s->handled = false;
    s->records = 0;
    s->status = 0;
    s->file = file;
    s->line = line;
    s->format = (struct format){.text = NULL};
    return s;
}

static struct statement *begin_external(int unit, const char *file, int line)
{
    enum { STANDARD_ERROR = 0, STANDARD_OUTPUT = 6, DEFAULT = -1 };
    if (unit != STANDARD_OUTPUT && unit != DEFAULT && unit != STANDARD_ERROR)
        fail_at(file, line, "a GPU writes to the standard output only");
    return begin_statement(file, line);
}

static struct statement *begin_internal(char *to, size_t length,
                                        const char *file, int line)
{
    struct statement *s = begin_statement(file, line);
    s->internal = true;
    s->unit.base = to;
    s->unit.element = length;
    s->unit.rank = 0;
    return s;
}

/* The descriptor may be gone when the statement ends. */
static NOINLINE struct statement *begin_array(const struct descriptor *a,
                                              const char *file, int line)
{
    struct statement *s = begin_internal(a->base, a->element, file, line);
    s->unit.rank = a->rank;
    for (int i = 0; i < a->rank; i++)
        s->unit.dims[i] = a->dims[i];
    return s;
}

/* The format is `text`, or the elements of an array one after the other. */
static NOINLINE struct statement *with_format(struct statement *s,
                                              const char *text, size_t n,
                                              const struct descriptor *array)
{
    if (!text && array) {
        struct place p;
        n = (size_t)count_of(array) * array->element;
        char *to = s->format.owned = malloc(n + 1);
        if (!to)
            fail_at(s->file, s->line, "no memory for a format");
        text = to;
        for (begin(&p, array); p.at; next(&p, array), to += array->element)
            __builtin_memcpy(to, p.at, array->element);
    }
    s->format.text = text;
    s->format.n = (int)n;
    return s;
}

/* Each statement has written its text when it ends. */
EXPORT struct statement *_FortranAioBeginFlush(int unit, const char *file,
                                               int line)
{
    struct statement *s = begin_statement(file, line);
    s->stay = true;
    return s;
}

EXPORT struct statement *_FortranAioBeginExternalListOutput(int unit,
                                                            const char *file,
                                                            int line)
{
    return begin_external(unit, file, line);
}

EXPORT struct statement *_FortranAioBeginExternalFormattedOutput(
    const char *format, size_t n, const struct descriptor *array, int unit,
    const char *file, int line)
{
    return with_format(begin_external(unit, file, line), format, n, array);
}

EXPORT struct statement *
_FortranAioBeginInternalListOutput(char *to, size_t length, void **scratch,
                                   size_t scratch_size, const char *file,
                                   int line)
{
    return begin_internal(to, length, file, line);
}

EXPORT struct statement *_FortranAioBeginInternalFormattedOutput(
    char *to, size_t length, const char *format, size_t n,
    const struct descriptor *array, void **scratch, size_t scratch_size,
    const char *file, int line)
{
    return with_format(begin_internal(to, length, file, line), format, n,
                       array);
}

EXPORT struct statement *
_FortranAioBeginInternalArrayListOutput(const struct descriptor *to,
                                        void **scratch, size_t scratch_size,
                                        const char *file, int line)
{
    return begin_array(to, file, line);
}

EXPORT struct statement *_FortranAioBeginInternalArrayFormattedOutput(
    const struct descriptor *to, const char *format, size_t n,
    const struct descriptor *array, void **scratch, size_t scratch_size,
    const char *file, int line)
{
    return with_format(begin_array(to, file, line), format, n, array);
}

EXPORT void _FortranAioEnableHandlers(struct statement *s, bool status,
                                      bool error, bool end, bool end_of_record,
                                      bool message)
{
    s->handled = status || error;
}

EXPORT bool _FortranAioSetAdvance(struct statement *s, const char *text,
                                  size_t n)
{
    s->stay = n > 0 && (*text == 'N' || *text == 'n');
    return true;
}

/* Blanks fill the message; without an error it stays as it is. */
EXPORT void _FortranAioGetIoMsg(struct statement *s, char *to, size_t n)
{
    if (!s->status)
        return;
    const char *from = s->message;
    for (size_t i = 0; i < n; i++)
        to[i] = *from ? *from++ : ' ';
}

/* The records that have been begun, into the unit's elements. */
static void give_records(struct statement *s)
{
    struct place p;
    const char *from = s->text;
    int64_t left = s->records + 1;
    for (begin(&p, &s->unit); p.at && left; next(&p, &s->unit), left--) {
        __builtin_memcpy(p.at, from, s->unit.element);
        from += s->unit.element;
    }
}

EXPORT NOINLINE int _FortranAioEndIoStatement(struct statement *s)
{
    if (s->format.text && !s->status)
        ompjit_fortran_next_edit(s, false);
    const int status = s->status;
    if (s->internal) {
        fill_record(s);
        give_records(s);
    } else {
        if (s->stay)
            fill(s);
        else
            ompjit_fortran_end_record(s);
        fwrite(s->text, 1, s->n, NULL);
    }
    free(s->format.owned);
    free(s->text);
    free(s);
    return status;
}

#endif
