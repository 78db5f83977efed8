/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Shows a value as C would write it: 42, 1.5, 'a', "text", {.x = 1, .y = 2},
 * {1, 2, 3}. Long arrays are tables, with an index in front of each line.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/pack.h"
#include "core/repl.h"
#include "tool/repl/session/show.h"

enum {
    LINE = 72,       /* letters that a list takes in one line       */
    ROWS = 12,       /* of a table; of longer ones the last is shown */
    TEXT_MOST = 400, /* letters of a string                         */
    DEPTH = 16       /* of structs in each other                    */
};

struct show {
    ompjit__reader shape;
    const char *at;
    ompjit__buf *out;
    show_how how;
};

static void skip_numbers(ompjit__reader *r, unsigned n)
{
    while (n--)
        ompjit__read_number(r);
}

void show_skip(ompjit__reader *r)
{
    const uint64_t kind = ompjit__read_number(r);
    const bool record =
        kind == OMPJIT__SHAPE_RECORD || kind == OMPJIT__SHAPE_UNION;
    size_t size;
    if (kind == OMPJIT__SHAPE_COMPLEX) {
        show_skip(r);
    } else if (kind == OMPJIT__SHAPE_ARRAY) {
        skip_numbers(r, 2);
        show_skip(r);
    } else if (kind == OMPJIT__SHAPE_OBJECT) {
        skip_numbers(r, 2);
        ompjit__read_bytes(r, &size);
    } else if (kind == OMPJIT__SHAPE_TEXT) {
        return;
    } else if (record || kind == OMPJIT__SHAPE_ENUM) {
        skip_numbers(r, record ? 1 : 2);
        for (size_t n = ompjit__read_count(r); n && !r->bad; n--) {
            ompjit__read_bytes(r, &size);
            skip_numbers(r, record ? 3 : 1);
            if (record)
                show_skip(r);
        }
    } else {
        skip_numbers(r, kind == OMPJIT__SHAPE_CHAR ||
                                kind == OMPJIT__SHAPE_INTEGER ||
                                kind == OMPJIT__SHAPE_FLOAT
                            ? 2
                            : 1);
    }
}

static void show(struct show *s);

static void add(struct show *s, const char *text)
{
    ompjit__buf_add(s->out, text, strlen(text));
}

static uint64_t number(struct show *s)
{
    return ompjit__read_number(&s->shape);
}

/* ----------------------------------------------------------------- scalars */

/* `size` bytes, the lowest first. */
static uint64_t bits_at(const char *at, uint64_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, at, size < sizeof bits ? size : sizeof bits);
    return bits;
}

static int64_t extend(uint64_t bits, uint64_t size)
{
    unsigned unused = size < 8 ? 64 - 8 * (unsigned)size : 0;
    return (int64_t)(bits << unused) >> unused;
}

/* Of 16 bytes, in decimal. */
static void show_wide(struct show *s, bool is_signed)
{
    __extension__ unsigned __int128 n;
    char digits[48], *p = digits + sizeof digits - 1;
    memcpy(&n, s->at, sizeof n);
    bool minus = is_signed && (n >> 127);
    if (minus)
        n = -n;
    *p = '\0';
    do
        *--p = (char)('0' + (int)(n % 10));
    while (n /= 10);
    if (minus)
        *--p = '-';
    add(s, p);
}

static void show_integer(struct show *s)
{
    uint64_t size = number(s);
    bool is_signed = number(s);
    if (size > 8)
        show_wide(s, is_signed);
    else if (is_signed)
        ompjit__buf_printf(s->out, "%" PRId64,
                           extend(bits_at(s->at, size), size));
    else
        ompjit__buf_printf(s->out, "%" PRIu64, bits_at(s->at, size));
}

/* As in a literal with this quote. */
static void add_letter(struct show *s, uint64_t c, char quote)
{
    static const char codes[] = "abtnvfr";
    if (c == (unsigned char)quote || c == '\\')
        ompjit__buf_printf(s->out, "\\%c", (char)c);
    else if (c >= '\a' && c <= '\r')
        ompjit__buf_printf(s->out, "\\%c", codes[c - '\a']);
    else if (c < ' ' || c == 0x7f)
        ompjit__buf_printf(s->out, c ? "\\%03o" : "\\%o", (unsigned)c);
    else
        ompjit__buf_printf(s->out, "%c", (char)c);
}

static bool is_surrogate(uint64_t c)
{
    return c >= 0xd800 && c < 0xe000;
}

/* In UTF-8, of which a byte is a letter where it is none of ASCII's. */
static void add_wide_letter(struct show *s, uint64_t c, char quote)
{
    if (c < 0x80)
        add_letter(s, c, quote);
    else if (c < 0x800)
        ompjit__buf_printf(s->out, "%c%c", (int)(0xc0 | c >> 6),
                           (int)(0x80 | (c & 63)));
    else if (c < 0x10000 && !is_surrogate(c))
        ompjit__buf_printf(s->out, "%c%c%c", (int)(0xe0 | c >> 12),
                           (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
    else if (c < 0x110000 && !is_surrogate(c))
        ompjit__buf_printf(s->out, "%c%c%c%c", (int)(0xf0 | c >> 18),
                           (int)(0x80 | (c >> 12 & 63)),
                           (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
    else
        ompjit__buf_printf(s->out, "\\x%x", (unsigned)c);
}

static void show_char(struct show *s)
{
    uint64_t size = number(s);
    bool is_signed = number(s);
    uint64_t bits = bits_at(s->at, size);
    if (size == 1 ? bits < 0x80 : bits < 0x110000 && !is_surrogate(bits)) {
        add(s, "'");
        add_wide_letter(s, bits, '\'');
        add(s, "'");
    } else if (is_signed) {
        ompjit__buf_printf(s->out, "%" PRId64, extend(bits, size));
    } else {
        ompjit__buf_printf(s->out, "%" PRIu64, bits);
    }
}

static double half_value(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double fraction = bits & 1023;
    double value = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                   : exponent     ? ldexp(fraction + 1024, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

/* The number has a point, an exponent or letters, so that it is seen not to be
 * an integer. */
static void add_float(struct show *s, char *text)
{
    add(s, text);
    if (!strpbrk(text, ".enf"))
        add(s, ".0");
}

/* With as many digits as tell it from all others of its type. */
static void show_double(struct show *s, double value, bool is_float)
{
    char text[40];
    for (int digits = is_float ? 6 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (is_float ? strtof(text, NULL) == (float)value
                     : strtod(text, NULL) == value)
            break;
    }
    add_float(s, text);
}

static void show_float(struct show *s)
{
    uint64_t size = number(s), format = number(s);
    uint64_t bits = bits_at(s->at, size);
    uint32_t low = (uint32_t)bits;
    char text[64];
    double d;
    float f;
    long double l = 0;
    switch (format) {
    case 16:
        show_double(s, half_value((unsigned)bits), true);
        break;
    case 17:
        low <<= 16;
        memcpy(&f, &low, sizeof f);
        show_double(s, f, true);
        break;
    case 32:
        memcpy(&f, &low, sizeof f);
        show_double(s, f, true);
        break;
    case 64:
        memcpy(&d, &bits, sizeof d);
        show_double(s, d, false);
        break;
    default:
        memcpy(&l, s->at, size < sizeof l ? size : sizeof l);
        snprintf(text, sizeof text, "%.18Lg", l);
        add_float(s, text);
    }
}

static void show_complex(struct show *s)
{
    ompjit__reader part = s->shape;
    const char *at = s->at;
    uint64_t kind = number(s), size = number(s);
    s->shape = part;
    show(s);
    s->shape = part;
    s->at = at + size;
    size_t plus = s->out->size;
    show(s);
    if (kind && s->out->size > plus && s->out->data[plus] != '-') {
        ompjit__buf tail = {0};
        ompjit__buf_add(&tail, s->out->data + plus, s->out->size - plus);
        s->out->size = plus;
        add(s, "+");
        ompjit__buf_add(s->out, tail.data, tail.size);
        ompjit__buf_free(&tail);
    }
    add(s, "i");
}

static void show_enum(struct show *s)
{
    uint64_t size = number(s);
    bool is_signed = number(s), known = false;
    uint64_t bits = bits_at(s->at, size);
    int64_t value = is_signed ? extend(bits, size) : (int64_t)bits;
    for (uint64_t n = ompjit__read_count(&s->shape); n; n--) {
        char *name = ompjit__read_string(&s->shape);
        if ((int64_t)number(s) == value && !known && name) {
            add(s, name);
            known = true;
        }
        free(name);
    }
    if (!known)
        ompjit__buf_printf(s->out, "%" PRId64, value);
}

/* ---------------------------------------------------------------- pointers */

/* Bytes of this process, which need not be there. */
static size_t peek(const void *from, char *to, size_t size)
{
    enum { PAGE = 4096 };
    size_t done = 0;
    while (done < size) {
        uintptr_t at = (uintptr_t)from + done;
        size_t piece = PAGE - at % PAGE;
        if (piece > size - done)
            piece = size - done;
        struct iovec here = {to + done, piece}, there = {(void *)at, piece};
        if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) !=
            (ssize_t)piece)
            break;
        done += piece;
    }
    return done;
}

/* The letter there of n; *used: how many of UTF-16 it takes. */
static uint64_t letter_at(const char *text, size_t n, size_t size, size_t *used)
{
    const uint64_t c = bits_at(text, size);
    const uint64_t next = size == 2 && n > 1 ? bits_at(text + 2, 2) : 0;
    const bool pair = c >= 0xd800 && c < 0xdc00 && next >= 0xdc00 &&
                      next < 0xe000 && size == 2;
    *used = pair ? 2 : 1;
    return pair ? 0x10000 + ((c - 0xd800) << 10) + (next - 0xdc00) : c;
}

/* n letters, of `size` bytes each. */
static void add_text(struct show *s, const char *text, size_t n, size_t size)
{
    add(s, "\"");
    for (size_t i = 0, used; i < n; i += used) {
        const uint64_t c = letter_at(text + i * size, n - i, size, &used);
        if (size == 1)
            add_letter(s, c, '"');
        else
            add_wide_letter(s, c, '"');
    }
    add(s, "\"");
}

static bool show_text_at(struct show *s, const void *address, size_t size)
{
    char text[TEXT_MOST];
    const size_t most = peek(address, text, sizeof text) / size;
    size_t n = 0;
    while (n < most && bits_at(text + n * size, size))
        n++;
    if (!most)
        return false;
    add_text(s, text, n, size);
    if (n == most)
        add(s, "...");
    return true;
}

static void show_pointer(struct show *s)
{
    uint64_t to = number(s);
    const void *address;
    memcpy(&address, s->at, sizeof address);
    if (!address) {
        add(s, "NULL");
        return;
    }
    if (to >= OMPJIT__POINTEE_CHAR &&
        show_text_at(s, address, to - OMPJIT__POINTEE_CHAR + 1))
        return;
    const char *name = s->how.name(s->how.data, address);
    if (name)
        ompjit__buf_printf(s->out, "%s%.*s",
                           to == OMPJIT__POINTEE_FUNCTION ? "" : "&",
                           (int)strcspn(name, "$"), name);
    else
        ompjit__buf_printf(s->out, "0x%" PRIxPTR, (uintptr_t)address);
}

/* -------------------------------------------------------------------- lists */

/* Text of one element, in one line. */
static char *element(struct show *s, const ompjit__reader *shape,
                     const char *at)
{
    ompjit__buf text = {0};
    struct show one = *s;
    one.shape = *shape;
    one.at = at;
    one.out = &text;
    one.how.inside = true;
    one.how.depth++;
    show(&one);
    s->shape = one.shape;
    if (!text.data)
        ompjit__buf_add(&text, "", 0);
    return text.data;
}

/* {1, 2, 3}; false: it does not fit, and nothing was added. */
static bool show_list(struct show *s, uint64_t n, uint64_t size,
                      const ompjit__reader *shape, const char *at)
{
    enum { MOST = 64, SHORT = 8 };
    size_t before = s->out->size;
    uint64_t shown = s->how.inside && n > SHORT ? SHORT : n;
    if (n > MOST && !s->how.inside)
        return false;
    add(s, "{");
    for (uint64_t i = 0; i < shown; i++) {
        char *text = element(s, shape, at + i * size);
        ompjit__buf_printf(s->out, "%s%s", i ? ", " : "", text ? text : "");
        free(text);
    }
    add(s, shown < n ? ", ...}" : "}");
    if (s->how.inside || s->out->size - before <= LINE)
        return true;
    s->out->size = before;
    return false;
}

/* The texts of one line of a table. */
struct row {
    char *texts[16];
    unsigned n;
};

static unsigned widest(char *const *texts, unsigned n)
{
    unsigned width = 0;
    for (unsigned i = 0; i < n; i++)
        if (texts[i] && strlen(texts[i]) > width)
            width = (unsigned)strlen(texts[i]);
    return width;
}

/* Lines of as many elements as fit, each line with the index of its first. */
static void show_table(struct show *s, uint64_t n, uint64_t size,
                       const ompjit__reader *shape, const char *at)
{
    enum { PROBE = 64 };
    char *probe[PROBE];
    unsigned samples = n < PROBE ? (unsigned)n : PROBE, columns = 16;
    for (unsigned i = 0; i < samples; i++)
        probe[i] = element(s, shape, at + (n - 1) * i / samples * size);
    unsigned width = widest(probe, samples);
    for (unsigned i = 0; i < samples; i++)
        free(probe[i]);
    while (columns > 1 && columns * (width + 2) > LINE)
        columns /= 2;
    if (columns == 16 && columns * (width + 2) <= LINE)
        columns = 16;
    uint64_t rows = (n + columns - 1) / columns;
    int digits = snprintf(NULL, 0, "%" PRIu64, (rows - 1) * columns);
    for (uint64_t row = 0; row < rows; row++) {
        if (rows > ROWS && row == ROWS - 2) {
            ompjit__buf_printf(s->out, "\n%*s...", digits + 3, "");
            row = rows - 1;
        }
        ompjit__buf_printf(s->out, "\n[%*" PRIu64 "]", digits, row * columns);
        for (uint64_t i = row * columns; i < n && i < (row + 1) * columns;
             i++) {
            char *text = element(s, shape, at + i * size);
            ompjit__buf_printf(s->out, "  %*s", (int)width,
                               text ? text : "");
            free(text);
        }
    }
}

/* An array of char, up to the zeros at its end. */
static bool show_char_array(struct show *s, uint64_t n, uint64_t size,
                            const ompjit__reader *shape, const char *at)
{
    ompjit__reader look = *shape;
    if (ompjit__read_number(&look) != OMPJIT__SHAPE_CHAR)
        return false;
    while (n && !bits_at(at + (n - 1) * size, size))
        n--;
    add_text(s, at, n < TEXT_MOST ? n : TEXT_MOST, size);
    if (n > TEXT_MOST)
        add(s, "...");
    show_skip(&s->shape);
    return true;
}

static void show_array(struct show *s)
{
    uint64_t n = ompjit__read_number(&s->shape), size = number(s);
    ompjit__reader shape = s->shape;
    const char *at = s->at;
    if (s->how.depth > DEPTH) {
        show_skip(&s->shape);
        return;
    }
    if (show_char_array(s, n, size, &shape, at))
        return;
    if (!show_list(s, n, size, &shape, at))
        show_table(s, n, size, &shape, at);
    if (!n)
        show_skip(&s->shape);
}

/* The bits of a field, as a whole number of bytes. */
static void take_bits(const char *at, uint64_t first, uint64_t bits,
                      char *out)
{
    uint64_t value = 0;
    for (uint64_t i = 0; i < bits && i < 64; i++) {
        uint64_t bit = first + i;
        value |= (uint64_t)(at[bit / 8] >> bit % 8 & 1) << i;
    }
    memcpy(out, &value, sizeof value);
}

/* A signed field's upper bits are those of its sign. */
static void extend_bits(const ompjit__reader *shape, uint64_t bits, char *at)
{
    ompjit__reader look = *shape;
    uint64_t kind = ompjit__read_number(&look);
    ompjit__read_number(&look); /* size */
    uint64_t value;
    if ((kind != OMPJIT__SHAPE_INTEGER && kind != OMPJIT__SHAPE_CHAR &&
         kind != OMPJIT__SHAPE_ENUM) ||
        !ompjit__read_number(&look) || !bits || bits >= 64)
        return;
    memcpy(&value, at, sizeof value);
    if (value >> (bits - 1) & 1)
        value |= UINT64_MAX << bits;
    memcpy(at, &value, sizeof value);
}

static void show_field(struct show *s, const char *at, bool first)
{
    char *name = ompjit__read_string(&s->shape);
    uint64_t offset = number(s), bit = number(s), bits = number(s);
    char value[16] = {0};
    const char *place = at + offset;
    if (bits) {
        take_bits(place, bit, bits, value);
        extend_bits(&s->shape, bits, value);
        place = value;
    }
    bool blind = s->how.depth > DEPTH;
    ompjit__reader shape = s->shape;
    char *text = NULL;
    if (blind)
        show_skip(&s->shape);
    else
        text = element(s, &shape, place);
    if (!blind && name && *name)
        ompjit__buf_printf(s->out, "%s.%s = %s", first ? "" : ", ", name,
                           text ? text : "");
    else if (!blind)
        ompjit__buf_printf(s->out, "%s%s", first ? "" : ", ",
                           text ? text : "");
    free(text);
    free(name);
}

static void show_record(struct show *s)
{
    const char *at = s->at;
    number(s); /* size */
    uint64_t n = ompjit__read_count(&s->shape);
    add(s, "{");
    for (uint64_t i = 0; i < n && !s->shape.bad; i++)
        show_field(s, at, i == 0);
    add(s, "}");
}

static void show_class(struct show *s)
{
    const uint64_t size = number(s), function = number(s);
    char *symbol = ompjit__read_string(&s->shape);
    if (!s->how.object || s->how.depth > DEPTH ||
        !s->how.object(&s->how, (void *)(uintptr_t)function, symbol, s->at,
                       s->out))
        ompjit__buf_printf(s->out, "<%" PRIu64 " bytes>", size);
    free(symbol);
}

static void show_ready(struct show *s)
{
    const char *text;
    memcpy(&text, s->at, sizeof text);
    add(s, text ? text : "");
}

/* ---------------------------------------------------------------- any value */

static void show(struct show *s)
{
    uint64_t kind = number(s);
    switch (kind) {
    case OMPJIT__SHAPE_BOOL:
        add(s, bits_at(s->at, number(s)) & 1 ? "true" : "false");
        break;
    case OMPJIT__SHAPE_CHAR:
        show_char(s);
        break;
    case OMPJIT__SHAPE_INTEGER:
        show_integer(s);
        break;
    case OMPJIT__SHAPE_FLOAT:
        show_float(s);
        break;
    case OMPJIT__SHAPE_COMPLEX:
        show_complex(s);
        break;
    case OMPJIT__SHAPE_ENUM:
        show_enum(s);
        break;
    case OMPJIT__SHAPE_POINTER:
        show_pointer(s);
        break;
    case OMPJIT__SHAPE_ARRAY:
        show_array(s);
        break;
    case OMPJIT__SHAPE_RECORD:
    case OMPJIT__SHAPE_UNION:
        show_record(s);
        break;
    case OMPJIT__SHAPE_OBJECT:
        show_class(s);
        break;
    case OMPJIT__SHAPE_TEXT:
        show_ready(s);
        break;
    default:
        ompjit__buf_printf(s->out, "<%" PRIu64 " bytes>", number(s));
    }
}

void show_value(const ompjit__buf *shape, const void *address,
                const show_how *how, ompjit__buf *out)
{
    struct show s = {.shape = {shape->data, shape->size, false},
                     .at = (const char *)address,
                     .out = out,
                     .how = *how};
    show(&s);
}
