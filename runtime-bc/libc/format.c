/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * printf and its relatives on a GPU as C has them, where the driver's vprintf
 * is not enough: it knows no asterisk and no %zu, and returns another number.
 * A call becomes text here, and the driver prints that text. Arguments lie
 * packed, each at its natural alignment. Standard error is standard output,
 * since there is no other way out.
 */
#include "decimal.h"

#ifdef __NVPTX__

typedef const void *va; /* the next argument */

/* ------------------------------------------------------------------ text */

/* Characters that do not fit are counted, as snprintf does. */
typedef struct text {
    char *to;
    size_t size, n;
    bool failed; /* there was no memory */
} text;

INLINE void put(text *t, char c)
{
    if (t->n < t->size)
        t->to[t->n] = c;
    t->n++;
}

static NOINLINE void put_times(text *t, char c, int64_t n)
{
    for (; n > 0; n--)
        put(t, c);
}

/* A conversion: "%-08.3ld". */
typedef struct spec {
    bool left, plus, blank, alternative, zero, upper;
    char size;         /* h, H: hh, l, or 0 */
    int64_t width, precision; /* precision < 0: none */
} spec;

/* Room for `n` characters behind the prefix in a field: what stands left of
 * them, and how much right of them. */
static NOINLINE int64_t begin_field(text *t, const spec *s, const char *prefix,
                                    int64_t n, bool zeros)
{
    int64_t rest = s->width - n;
    for (const char *p = prefix; *p; p++)
        rest--;
    if (!s->left && !zeros)
        put_times(t, ' ', rest);
    while (*prefix)
        put(t, *prefix++);
    if (!s->left && zeros)
        put_times(t, '0', rest);
    return s->left ? rest : 0;
}

static NOINLINE void put_text(text *t, const spec *s, const char *from,
                              int64_t n)
{
    int64_t behind = begin_field(t, s, "", n, false);
    for (int64_t i = 0; i < n; i++)
        put(t, from[i]);
    put_times(t, ' ', behind);
}

static NOINLINE void put_string(text *t, const spec *s, const char *from)
{
    int64_t n = 0;
    if (!from)
        from = s->precision < 0 || s->precision > 5 ? "(null)" : "";
    while ((s->precision < 0 || n < s->precision) && from[n])
        n++;
    put_text(t, s, from, n);
}

/* -------------------------------------------------------------- integers */

static NOINLINE void put_integer(text *t, const spec *s, const char *prefix,
                                 uint64_t value, unsigned base)
{
    char digits[24];
    int n = 0;
    for (uint64_t rest = value; rest; rest /= base) {
        unsigned d = (unsigned)(rest % base);
        digits[n++] = (char)(d < 10 ? '0' + d
                                    : (s->upper ? 'A' : 'a') + (d - 10));
    }
    int64_t least = s->precision < 0 ? 1 : s->precision;
    if (base == 8 && s->alternative && n >= least)
        least = n + 1;
    int64_t zeros = least > n ? least - n : 0;
    int64_t behind = begin_field(t, s, prefix, n + zeros,
                                 s->zero && s->precision < 0);
    put_times(t, '0', zeros);
    while (n > 0)
        put(t, digits[--n]);
    put_times(t, ' ', behind);
}

static const char *sign(const spec *s, bool negative)
{
    return negative ? "-" : s->plus ? "+" : s->blank ? " " : "";
}

/* ------------------------------------------------------- floating numbers */

static NOINLINE void put_special(text *t, const spec *s, const char *prefix,
                                 bool nan)
{
    const char *name = nan ? s->upper ? "NAN" : "nan"
                           : s->upper ? "INF" : "inf";
    int64_t behind = begin_field(t, s, prefix, 3, false);
    while (*name)
        put(t, *name++);
    put_times(t, ' ', behind);
}

static NOINLINE void put_fixed(text *t, const spec *s, const char *prefix,
                               const decimal *d, int64_t precision)
{
    int64_t first = ompjit_decimal_top(d);
    if (first < 0)
        first = 0;
    bool point = precision > 0 || s->alternative;
    int64_t behind = begin_field(t, s, prefix, first + 1 + point + precision,
                                 s->zero);
    for (int64_t place = first; place >= -precision; place--) {
        put(t, (char)('0' + ompjit_decimal_digit(d, place)));
        if (place == 0 && point)
            put(t, '.');
    }
    put_times(t, ' ', behind);
}

static NOINLINE void put_exponent(text *t, const spec *s, char letter,
                                  int64_t exponent, int64_t least)
{
    spec plain = {.precision = least};
    put(t, (char)(s->upper ? letter - 32 : letter));
    put(t, exponent < 0 ? '-' : '+');
    put_integer(t, &plain, "", (uint64_t)(exponent < 0 ? -exponent : exponent),
                10);
}

static NOINLINE void put_scientific(text *t, const spec *s, const char *prefix,
                                    const decimal *d, int64_t precision)
{
    int64_t first = ompjit_decimal_top(d);
    bool point = precision > 0 || s->alternative;
    int64_t size = first >= 100 || first <= -100 ? 5 : 4;
    int64_t behind = begin_field(t, s, prefix, 1 + point + precision + size,
                                 s->zero);
    put(t, (char)('0' + ompjit_decimal_digit(d, first)));
    if (point)
        put(t, '.');
    for (int64_t i = 1; i <= precision; i++)
        put(t, (char)('0' + ompjit_decimal_digit(d, first - i)));
    put_exponent(t, s, 'e', first, 2);
    put_times(t, ' ', behind);
}

static NOINLINE void put_general(text *t, const spec *s, const char *prefix,
                                 decimal *d, int64_t precision)
{
    enum { LOWEST = -4 };
    if (!precision)
        precision = 1;
    ompjit_decimal_round(d, ompjit_decimal_top(d) - (precision - 1));
    int64_t first = ompjit_decimal_top(d), last = first - (precision - 1);
    bool fixed = precision > first && first >= LOWEST;
    while (!s->alternative && last < (fixed ? 0 : first) &&
           !ompjit_decimal_digit(d, last))
        last++;
    if (fixed)
        put_fixed(t, s, prefix, d, last < 0 ? -last : 0);
    else
        put_scientific(t, s, prefix, d, first - last);
}

/* letter: e, f or g */
static NOINLINE void put_decimal(text *t, const spec *s, const char *prefix,
                                 uint64_t mantissa, int exponent, char letter)
{
    decimal *d = malloc(sizeof *d);
    if (!d) {
        t->failed = true;
        return;
    }
    int64_t precision = s->precision < 0 ? 6 : s->precision;
    ompjit_decimal_set(d, mantissa, exponent);
    if (letter == 'g') {
        put_general(t, s, prefix, d, precision);
    } else if (letter == 'f') {
        ompjit_decimal_round(d, -precision);
        put_fixed(t, s, prefix, d, precision);
    } else {
        ompjit_decimal_round(d, ompjit_decimal_top(d) - precision);
        put_scientific(t, s, prefix, d, precision);
    }
    free(d);
}

/* 0xH.HHHp+D of mantissa * 2^(exponent - 52), where bit 52 is the H. */
static NOINLINE void put_hexadecimal(text *t, const spec *s,
                                     const char *prefix, uint64_t mantissa,
                                     int exponent)
{
    enum { BITS = 52, DIGITS = BITS / 4 };
    int64_t n = s->precision;
    if (n < 0)
        for (n = DIGITS; n > 0 && !(mantissa >> (BITS - 4 * n) & 15);)
            n--;
    if (n < DIGITS) {
        int dropped = (int)(BITS - 4 * n);
        uint64_t half = 1ull << (dropped - 1);
        uint64_t rest = mantissa & (2 * half - 1);
        mantissa -= rest;
        if (rest > half || (rest == half && mantissa >> dropped & 1))
            mantissa += 2 * half;
    }
    bool point = n > 0 || s->alternative;
    int64_t size = 3, e = exponent < 0 ? -exponent : exponent;
    for (; e >= 10; e /= 10)
        size++;
    int64_t behind = begin_field(t, s, prefix, 1 + point + n + size, s->zero);
    put(t, (char)('0' + (mantissa >> BITS)));
    if (point)
        put(t, '.');
    for (int64_t i = 1; i <= n; i++) {
        unsigned d = i > DIGITS ? 0 : mantissa >> (BITS - 4 * i) & 15;
        put(t, (char)(d < 10 ? '0' + d : (s->upper ? 'A' : 'a') + (d - 10)));
    }
    put_exponent(t, s, 'p', exponent, 1);
    put_times(t, ' ', behind);
}

static NOINLINE void put_double(text *t, const spec *s, double value,
                                char letter)
{
    enum { BITS = 52, MOST = 0x7ff, BIAS = 1023 };
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bool negative = bits >> 63;
    int exponent = (int)(bits >> BITS & MOST);
    uint64_t mantissa = bits & ((1ull << BITS) - 1);
    char prefix[4];
    const char *p = sign(s, negative);
    prefix[0] = *p;
    prefix[1] = 0;
    if (exponent == MOST) {
        put_special(t, s, prefix, mantissa != 0);
        return;
    }
    if (exponent)
        mantissa |= 1ull << BITS;
    else if (mantissa)
        exponent = 1;
    else
        exponent = BIAS;
    if (letter != 'a') {
        put_decimal(t, s, prefix, mantissa, exponent - BIAS - BITS, letter);
        return;
    }
    int at = *p != 0;
    prefix[at] = '0';
    prefix[at + 1] = s->upper ? 'X' : 'x';
    prefix[at + 2] = 0;
    put_hexadecimal(t, s, prefix, mantissa, exponent - BIAS);
}

/* ----------------------------------------------------------------- formats */

/* The next argument: size 4 or 8. */
INLINE uint64_t take(va *at, unsigned size)
{
    uintptr_t p = ((uintptr_t)*at + size - 1) & -(uintptr_t)size;
    *at = (va)(p + size);
    return size == 8 ? *(const uint64_t *)p : *(const uint32_t *)p;
}

static int64_t number(const char **f, va *args, bool *found)
{
    int64_t n = 0;
    *found = true;
    if (**f == '*') {
        ++*f;
        return (int32_t)take(args, 4);
    }
    *found = **f >= '0' && **f <= '9';
    for (; **f >= '0' && **f <= '9'; ++*f)
        n = n < INT32_MAX ? 10 * n + (**f - '0') : n;
    return n;
}

static void read_flags(const char **f, spec *s)
{
    for (;; ++*f)
        switch (**f) {
        case '-': s->left = true; break;
        case '+': s->plus = true; break;
        case ' ': s->blank = true; break;
        case '#': s->alternative = true; break;
        case '0': s->zero = true; break;
        case '\'': break;
        default: return;
        }
}

/* Up to the conversion's letter. */
static NOINLINE void read_spec(const char **f, va *args, spec *s)
{
    bool found;
    read_flags(f, s);
    s->width = number(f, args, &found);
    if (s->width < 0) {
        s->left = true;
        s->width = -s->width;
    }
    s->precision = -1;
    if (**f == '.') {
        ++*f;
        s->precision = number(f, args, &found);
    }
    for (;; ++*f)
        switch (**f) {
        case 'h': s->size = s->size == 'h' ? 'H' : 'h'; break;
        case 'l': case 'z': case 'j': case 't': case 'q':
            s->size = 'l';
            break;
        case 'L': break;
        default: return;
        }
}

static int64_t as_signed(const spec *s, uint64_t x)
{
    return s->size == 'l'   ? (int64_t)x
           : s->size == 'h' ? (int16_t)x
           : s->size == 'H' ? (int8_t)x
                            : (int32_t)x;
}
static uint64_t as_unsigned(const spec *s, uint64_t x)
{
    return s->size == 'h' ? (uint16_t)x : s->size == 'H' ? (uint8_t)x : x;
}

static void store_count(const spec *s, void *to, size_t n)
{
    if (s->size == 'l')
        *(int64_t *)to = (int64_t)n;
    else if (s->size == 'h')
        *(int16_t *)to = (int16_t)n;
    else if (s->size == 'H')
        *(int8_t *)to = (int8_t)n;
    else
        *(int32_t *)to = (int32_t)n;
}

static void put_signed(text *t, const spec *s, int64_t x)
{
    put_integer(t, s, sign(s, x < 0), x < 0 ? -(uint64_t)x : (uint64_t)x, 10);
}

static void put_pointer(text *t, spec *s, uint64_t x)
{
    s->precision = -1;
    if (x)
        put_integer(t, s, "0x", x, 16);
    else
        put_text(t, s, "(nil)", 5);
}

/* False: there is no such conversion. */
static NOINLINE bool convert(text *t, spec *s, char letter, va *args)
{
    unsigned size = s->size == 'l' ? 8 : 4;
    char c;
    s->upper = letter >= 'A' && letter <= 'Z';
    switch (letter) {
    case 'd': case 'i':
        put_signed(t, s, as_signed(s, take(args, size)));
        return true;
    case 'o': case 'u': case 'x': case 'X': {
        uint64_t x = as_unsigned(s, take(args, size));
        const char *prefix =
            x && s->alternative && letter == 'x'   ? "0x"
            : x && s->alternative && letter == 'X' ? "0X"
                                                   : "";
        put_integer(t, s, prefix, x,
                    letter == 'o' ? 8 : letter == 'u' ? 10 : 16);
        return true;
    }
    case 'c':
        c = (char)take(args, 4);
        put_text(t, s, &c, 1);
        return true;
    case 's':
        put_string(t, s, (const char *)(uintptr_t)take(args, 8));
        return true;
    case 'p':
        put_pointer(t, s, take(args, 8));
        return true;
    case 'n':
        store_count(s, (void *)(uintptr_t)take(args, 8), t->n);
        return true;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a':
    case 'A': {
        uint64_t bits = take(args, 8);
        double value;
        __builtin_memcpy(&value, &bits, sizeof value);
        put_double(t, s, value, (char)(s->upper ? letter + 32 : letter));
        return true;
    }
    default:
        return false;
    }
}

/* How many characters there are; -1: no memory. Characters that are no
 * conversion stand for themselves. */
static NOINLINE int64_t format(text *t, const char *f, va args)
{
    while (*f) {
        const char *begin = f++;
        spec s = {0};
        if (*begin != '%') {
            put(t, *begin);
            continue;
        }
        read_spec(&f, &args, &s);
        if (*f && convert(t, &s, *f, &args)) {
            f++;
            continue;
        }
        put(t, '%');
        f = begin + 1 + (begin[1] == '%');
    }
    return t->failed ? -1 : (int64_t)t->n;
}

/* ------------------------------------------------------------------ output */

/* The driver prints texts up to their end, so what has ends in it goes in
 * pieces. `to` has room for one more. */
static NOINLINE void print(char *to, size_t n)
{
    to[n] = 0;
    for (size_t at = 0; at < n;) {
        struct {
            const char *text;
        } args = {to + at};
        vprintf("%s", &args);
        while (at < n && to[at])
            at++;
        for (; at < n && !to[at]; at++) {
            int32_t c = 0;
            vprintf("%c", &c);
        }
    }
}

/* The text is made once where it is short, else again in memory for it. */
EXPORT NOINLINE int ompjit_vprintf(const char *f, const void *args)
{
    enum { SHORT = 128 };
    char here[SHORT], *to = here;
    text t = {.to = here, .size = SHORT - 1};
    int64_t n = format(&t, f, args);
    if (n >= SHORT) {
        to = malloc((size_t)n + 1);
        if (!to)
            return -1;
        t = (text){.to = to, .size = (size_t)n};
        n = format(&t, f, args);
    }
    if (n > 0)
        print(to, (size_t)n);
    if (to != here)
        free(to);
    return (int)n;
}

/* A va_list points to the packed arguments. */
#define WITH_ARGS(last, statement)                                             \
    __builtin_va_list args;                                                    \
    __builtin_va_start(args, last);                                            \
    int n = statement;                                                         \
    __builtin_va_end(args);                                                    \
    return n

EXPORT int printf(const char *f, ...)
{
    WITH_ARGS(f, ompjit_vprintf(f, (void *)args));
}
EXPORT int fprintf(void *file, const char *f, ...)
{
    WITH_ARGS(f, ompjit_vprintf(f, (void *)args));
}

static int format_into(char *to, size_t size, const char *f, va args)
{
    text t = {.to = to, .size = size ? size - 1 : 0};
    int64_t n = format(&t, f, args);
    if (size)
        to[t.n < size ? t.n : size - 1] = 0;
    return (int)n;
}
EXPORT int snprintf(char *to, size_t size, const char *f, ...)
{
    WITH_ARGS(f, format_into(to, size, f, (void *)args));
}
EXPORT int sprintf(char *to, const char *f, ...)
{
    WITH_ARGS(f, format_into(to, INT32_MAX, f, (void *)args));
}

/* glibc's; a program compares them, and nobody looks into them. */
void *stdin WEAK = (void *)1;
void *stdout WEAK = (void *)2;
void *stderr WEAK = (void *)3;

EXPORT int fputs(const char *s, void *file)
{
    vprintf("%s", &s);
    return 1;
}
EXPORT int puts(const char *s)
{
    vprintf("%s\n", &s);
    return 1;
}
EXPORT int putchar(int c)
{
    c &= 0xff;
    vprintf("%c", &c);
    return c;
}
EXPORT int fputc(int c, void *file)
{
    return putchar(c);
}
EXPORT int putc(int c, void *file)
{
    return putchar(c);
}
EXPORT size_t fwrite(const void *from, size_t size, size_t n, void *file)
{
    char *copy = size && n ? malloc(size * n + 1) : NULL;
    if (!copy)
        return 0;
    __builtin_memcpy(copy, from, size * n);
    print(copy, size * n);
    free(copy);
    return n;
}
EXPORT int fflush(void *file)
{
    return 0;
}

#endif
