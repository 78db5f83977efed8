/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Items of an output statement of Fortran as texts, by an edit descriptor or
 * list-directed, as flang's runtime library writes them.
 */
#include "fortran_io.h"

#ifdef __NVPTX__

#define put_text ompjit_fortran_put
#define repeat ompjit_fortran_repeat

static int at_least_zero(int n)
{
    return n > 0 ? n : 0;
}

/* The descriptor is not for such an item. */
static NOINLINE void wrong(struct statement *s, const struct edit *e,
                           const char *type)
{
    static const char begin[] = "Data edit descriptor 'x' may not be used "
                                "with ";
    enum { LETTER = 22 };
    size_t n = 0;
    for (; n < sizeof begin - 1; n++)
        s->own_message[n] = begin[n];
    s->own_message[LETTER] = e->letter;
    while (*type)
        s->own_message[n++] = *type++;
    s->own_message[n] = 0;
    ompjit_fortran_error(s, ERROR_FORMAT, s->own_message);
}

/* Room for a number of `length` characters: the blanks before it. False: it
 * does not fit, and asterisks are there. */
static bool begin_number(struct statement *s, const struct edit *e, int length)
{
    if (e->letter == LIST) {
        if (e->variation == REAL_PART) {
            ompjit_fortran_separate(s, (size_t)length + 2, false);
            put_text(s, "(", 1);
        } else if (e->variation == IMAGINARY) {
            ompjit_fortran_fit(s, (size_t)length + 1);
        } else {
            ompjit_fortran_separate(s, (size_t)length, false);
        }
        return true;
    }
    if (e->width > 0 && length > e->width) {
        repeat(s, '*', e->width);
        return false;
    }
    repeat(s, ' ', e->width - length);
    return true;
}

/* Behind a part of a list-directed complex number. */
static void end_number(struct statement *s, const struct edit *e)
{
    if (e->letter == LIST && e->variation == REAL_PART)
        put_text(s, ",", 1);
    else if (e->letter == LIST && e->variation == IMAGINARY)
        put_text(s, ")", 1);
}

/* ---------------------------------------------------- integers and logicals */

/* Digits of base 2**shift, at least as many as the descriptor says, or one. */
static void edit_bits(struct statement *s, const struct edit *e, uint_wide x,
                      int shift)
{
    enum { WIDE_BITS = 128 };
    int n = 0;
    while (shift * n < WIDE_BITS && x >> (shift * n))
        n++;
    int least = e->digits == NONE ? 1 : e->digits;
    int zeros = at_least_zero(least - n);
    const bool blank = n + zeros == 0 && e->width <= 0;
    if (!begin_number(s, e, n + zeros))
        return;
    repeat(s, ' ', blank);
    repeat(s, '0', zeros);
    while (n-- > 0) {
        const unsigned d =
            (unsigned)(x >> (shift * n)) & ((1u << shift) - 1);
        repeat(s, (char)(d < 10 ? '0' + d : 'A' + (d - 10)), 1);
    }
}

/* B, O and Z, of any item. False: it is another one. */
static bool edit_as_bits(struct statement *s, const struct edit *e,
                         uint_wide x)
{
    switch (e->letter) {
    case 'B': edit_bits(s, e, x, 1); return true;
    case 'O': edit_bits(s, e, x, 3); return true;
    case 'Z': edit_bits(s, e, x, 4); return true;
    default: return false;
    }
}

enum { INTEGER_DIGITS = 39 }; /* of 128 bits */

/* The digits of x, the last one first; parts of 18 are numbers of 64 bits. */
static int integer_digits(char digits[INTEGER_DIGITS], uint_wide x)
{
    enum { PART_DIGITS = 18 };
    const uint64_t part = 1000000000000000000;
    int n = 0;
    for (; x >> 64; x /= part) {
        uint64_t rest = (uint64_t)(x % part);
        for (int i = 0; i < PART_DIGITS; i++, rest /= 10)
            digits[n++] = (char)('0' + rest % 10);
    }
    for (uint64_t rest = (uint64_t)x; rest; rest /= 10)
        digits[n++] = (char)('0' + rest % 10);
    return n;
}

static void put_integer_field(struct statement *s, const struct edit *e,
                              int_wide x)
{
    char digits[INTEGER_DIGITS];
    int n = integer_digits(digits, x < 0 ? 0 - (uint_wide)x : (uint_wide)x);
    const int least = e->letter == 'I' && e->digits != NONE ? e->digits : 1;
    const int zeros = at_least_zero(least - n);
    const bool sign = n + zeros && (x < 0 || s->format.plus);
    const bool blank = n + zeros == 0 && e->width <= 0;
    if (!begin_number(s, e, sign + zeros + n))
        return;
    repeat(s, ' ', blank);
    repeat(s, x < 0 ? '-' : '+', sign);
    repeat(s, '0', zeros);
    while (n > 0)
        repeat(s, digits[--n], 1);
}

EXPORT NOINLINE void ompjit_fortran_edit_integer(struct statement *s,
                                                 const struct edit *e,
                                                 int_wide x, size_t size)
{
    const int unused = 8 * (int)(sizeof x - size); /* bits */
    if (e->letter == LIST || e->letter == 'I' || e->letter == 'G')
        put_integer_field(s, e, x);
    else if (e->letter == 'L')
        ompjit_fortran_edit_logical(s, e, x != 0);
    else if (!edit_as_bits(s, e, (uint_wide)x << unused >> unused))
        wrong(s, e, "an INTEGER data item");
}

EXPORT NOINLINE void ompjit_fortran_edit_logical(struct statement *s,
                                                 const struct edit *e, bool x)
{
    if (e->letter == LIST)
        ompjit_fortran_separate(s, 1, false);
    else if (e->letter == 'L' || e->letter == 'G')
        repeat(s, ' ', e->width - 1);
    else {
        if (!edit_as_bits(s, e, x))
            wrong(s, e, "a LOGICAL data item");
        return;
    }
    put_text(s, x ? "T" : "F", 1);
}

/* ---------------------------------------------------------------- texts */

EXPORT NOINLINE void ompjit_fortran_edit_text(struct statement *s,
                                              const struct edit *e,
                                              const char *text, size_t n)
{
    size_t width = e->width == NONE ? n : (size_t)e->width;
    if (e->letter == 'G' && width == 0)
        width = n;
    if (e->letter != 'A' && e->letter != 'G') {
        wrong(s, e, "a CHARACTER data item");
        return;
    }
    if (width > n)
        repeat(s, ' ', (int64_t)(width - n));
    put_text(s, text, width < n ? width : n);
}

/* ------------------------------------------------------------ real numbers */

enum { BITS = 52, MOST = 0x7ff, BIAS = 1023 };
enum { SINGLE_BITS = 23, SINGLE_LEAST = -149, DOUBLE_LEAST = 1 - BIAS - BITS };
enum { SHORTEST_MOST = 18 }; /* within which digits of neighbours differ */

/* The magnitude m * 2**e of a number. */
struct binary {
    uint64_t m;
    int e;
    bool single;
};

/* Digits of a magnitude, of which the first stands at 10**(exponent - 1). */
struct digits {
    int n, exponent;
    bool zero;
    bool kept; /* `text` has them; else the statement's number */
    char text[SHORTEST_MOST];
};

static uint64_t bits_of(double x)
{
    return __builtin_bit_cast(uint64_t, x);
}

static struct binary binary_of(double x, bool single)
{
    const uint64_t fraction = bits_of(x) & (((uint64_t)1 << BITS) - 1);
    const int field = (int)(bits_of(x) >> BITS & MOST);
    return (struct binary){fraction | (uint64_t)(field != 0) << BITS,
                           (field ? field : 1) - BIAS - BITS, single};
}

/* How many bits the least one that counts is above m's. */
static int unit_of(const struct binary *b)
{
    const int unit = BITS - SINGLE_BITS;
    if (!b->single)
        return 0;
    return b->e + unit < SINGLE_LEAST ? SINGLE_LEAST - b->e : unit;
}

static bool is_largest(const struct binary *b)
{
    const double huge = b->single ? (double)__FLT_MAX__ : __DBL_MAX__;
    const struct binary most = binary_of(huge, b->single);
    return b->m == most.m && b->e == most.e;
}

/* Is the neighbour below twice as near as the one above? */
static bool is_power(const struct binary *b, int unit)
{
    return b->m == (uint64_t)1 << BITS &&
           b->e + unit > (b->single ? SINGLE_LEAST : DOUBLE_LEAST);
}

/* n digits, of which the first stands at `place`, as an integer. */
static uint64_t leading(const decimal *d, int64_t place, int n)
{
    uint64_t x = 0;
    for (int i = 0; i < n; i++)
        x = 10 * x + (uint64_t)ompjit_decimal_digit(d, place - i);
    return x;
}

/* The first digit in which low and high differ, between both. */
static void digits_between(struct digits *to, uint64_t low, uint64_t high)
{
    uint64_t unit = 1;
    for (int i = 1; i < SHORTEST_MOST; i++)
        unit *= 10;
    for (; unit; unit /= 10) {
        const uint64_t h = high / unit, l = low / unit;
        to->text[to->n++] =
            (char)('0' + (h == l ? h : h - (h % 10 - l % 10) / 2) % 10);
        if (h != l)
            break;
    }
}

/* The fewest digits that are read as the number again, as flang finds them:
 * those of all numbers between the middles to its two neighbours, and one more.
 * The bound of the largest number is the number itself. */
static NOINLINE void shortest(struct statement *s, const struct binary *b,
                              struct digits *to)
{
    decimal *d = &s->number;
    const int unit = unit_of(b);
    const uint64_t half = (uint64_t)2 << unit; /* of m's bits, 4 are its one */
    *to = (struct digits){.kept = true, .zero = !b->m};
    if (to->zero) {
        to->text[to->n++] = '0';
        return;
    }
    ompjit_decimal_set(d, 4 * b->m + (is_largest(b) ? 0 : half), b->e - 2);
    const int64_t top = ompjit_decimal_top(d);
    const uint64_t high =
        leading(d, top, SHORTEST_MOST) -
        ompjit_decimal_ends(d, top - SHORTEST_MOST + 1);
    ompjit_decimal_set(d, 4 * b->m - (is_power(b, unit) ? half / 2 : half),
                       b->e - 2);
    to->exponent = (int)top + 1;
    digits_between(to, leading(d, top, SHORTEST_MOST), high);
}

/* n digits, the last one rounded. */
static void rounded(struct statement *s, const struct binary *b, int n,
                    struct digits *to)
{
    decimal *d = &s->number;
    ompjit_decimal_set(d, b->m, b->e);
    if (n > 0)
        ompjit_decimal_round(d, ompjit_decimal_top(d) - (n - 1));
    *to = (struct digits){.n = n, .zero = !b->m,
                          .exponent = (int)ompjit_decimal_top(d) + 1};
}

/* Digits from `first` to that before `end`; 0 where the number has none. */
static void put_digits(struct statement *s, const struct digits *d, int first,
                       int end)
{
    for (int i = first; i < end; i++) {
        int digit = 0;
        if (!d->kept)
            digit = ompjit_decimal_digit(&s->number, d->exponent - 1 - i);
        else if (i >= 0 && i < d->n)
            digit = d->text[i] - '0';
        repeat(s, (char)('0' + digit), 1);
    }
}

static char sign_of(const struct statement *s, double x)
{
    return bits_of(x) >> 63 ? '-' : s->format.plus ? '+' : 0;
}

static void edit_special(struct statement *s, const struct edit *e, double x)
{
    const bool nan = x != x;
    const char sign = nan ? 0 : sign_of(s, x);
    if (!begin_number(s, e, (sign != 0) + 3))
        return;
    repeat(s, sign, sign != 0);
    put_text(s, nan ? "NaN" : "Inf", 3);
    end_number(s, e);
}

/* ------------------------------------------------------- with an exponent */

enum { EXPONENT_MOST = 6 }; /* digits */

struct exponent {
    char text[EXPONENT_MOST + 2];
    int n;
};

/* False: it has more digits than the descriptor has room for. */
static bool exponent_text(struct exponent *to, const struct edit *e, int x)
{
    char digits[EXPONENT_MOST];
    const int least = e->exponent == NONE ? 2
                      : e->exponent == 0  ? 1
                                          : e->exponent;
    int n = 0;
    for (int rest = x < 0 ? -x : x; rest; rest /= 10)
        digits[n++] = (char)('0' + rest % 10);
    if (e->exponent > 0 && (n > e->exponent || e->exponent > EXPONENT_MOST))
        return false;
    while (n < least)
        digits[n++] = '0';
    to->n = 0;
    if (e->exponent != NONE || e->letter == LIST || n == 2)
        to->text[to->n++] = e->letter == 'D' ? 'D' : 'E';
    to->text[to->n++] = x < 0 ? '-' : '+';
    while (n > 0)
        to->text[to->n++] = digits[--n];
    return true;
}

/* `before` digits stand before the point, or as many zeros behind it as
 * `before` is negative. */
static void put_with_exponent(struct statement *s, const struct edit *e,
                              const struct digits *d, int before, char sign)
{
    struct exponent x;
    const int whole = at_least_zero(before);
    const int behind = at_least_zero(d->n - whole) + at_least_zero(-before);
    if (!exponent_text(&x, e, d->zero ? 0 : d->exponent - before)) {
        repeat(s, '*', at_least_zero(e->width));
        return;
    }
    const int length = (sign != 0) + whole + 1 + behind + x.n;
    const bool lead = whole == 0 && e->width > length;
    if (!begin_number(s, e, length + lead))
        return;
    repeat(s, sign, sign != 0);
    repeat(s, '0', lead);
    put_digits(s, d, 0, whole);
    put_text(s, s->format.comma ? "," : ".", 1);
    put_digits(s, d, before, before + behind);
    put_text(s, x.text, (size_t)x.n);
    end_number(s, e);
}

/* EN: one to three digits before the point, so that the exponent is a multiple
 * of three, also after rounding. */
static int engineering(struct statement *s, const struct binary *b, int digits,
                       struct digits *to)
{
    enum { EXACT = 18 }; /* with so many digits the exponent does not change */
    rounded(s, b, EXACT, to);
    for (int exponent = INT32_MAX;;) {
        const int before =
            to->zero ? 1 : 1 + ((to->exponent - 1) % 3 + 3) % 3;
        if (to->exponent == exponent)
            return before;
        exponent = to->exponent;
        rounded(s, b, before + digits, to);
    }
}

/* The significant digits of E and D; -1: the scale factor cannot be. */
static int digits_of(struct statement *s, const struct edit *e, int scale)
{
    const int digits = at_least_zero(e->digits);
    if (e->variation == 'S')
        return digits + 1;
    if (scale < 0 ? scale <= -digits : scale >= digits + 2 && scale > 0) {
        ompjit_fortran_error(s, ERROR_SCALE,
                             "the scale factor does not fit the digits");
        return -1;
    }
    if (scale == 0 && e->digits == 0 && e->width > 0 && e->variation != 'G') {
        ompjit_fortran_error(s, ERROR_FORMAT, "Ew.d must have d > 0");
        return -1;
    }
    if (e->width <= 0 && digits == 0 && scale <= 0)
        return 1;
    return scale > 0 ? digits + 1 : digits + scale;
}

static void edit_with_exponent(struct statement *s, const struct edit *e,
                               double x, const struct binary *b)
{
    struct digits d;
    int before = e->letter == LIST || e->variation == 'S' ? 1
                                                          : s->format.scale;
    const bool fewest = e->width <= 0 && e->digits == NONE;
    if (e->variation == 'N') {
        before = engineering(s, b, at_least_zero(e->digits), &d);
    } else if (fewest) {
        shortest(s, b, &d);
    } else {
        const int n = digits_of(s, e, before);
        if (n < 0)
            return;
        rounded(s, b, n, &d);
    }
    put_with_exponent(s, e, &d, before, sign_of(s, x));
}

/* ---------------------------------------------------- without an exponent */

/* The digits, and how many of them stand before the point. */
static int fixed_digits(struct statement *s, const struct edit *e,
                        const struct binary *b, int scale, struct digits *d)
{
    if (e->width <= 0 && e->digits == NONE) {
        shortest(s, b, d);
        const int before = d->zero ? 0 : d->exponent + scale;
        d->n = d->zero ? 0 : d->n;
        if (before <= d->n)
            return before;
        /* An integer has all of its digits. */
        rounded(s, b, 0, d);
        d->n = d->exponent + scale;
        return d->n;
    }
    const int places = at_least_zero(e->digits);
    ompjit_decimal_set(&s->number, b->m, b->e);
    ompjit_decimal_round(&s->number, -(places + scale));
    const int64_t top = ompjit_decimal_top(&s->number);
    const bool zero = !ompjit_decimal_digit(&s->number, top);
    const int before = zero ? 0 : (int)top + 1 + scale;
    *d = (struct digits){.exponent = (int)top + 1, .zero = zero,
                         .n = before + places};
    return before;
}

/* Fw.d, with blanks behind it in place of an exponent. */
static void edit_fixed(struct statement *s, const struct edit *e, double x,
                       const struct binary *b, int scale, int blanks)
{
    struct digits d;
    const char sign = sign_of(s, x);
    const int before = fixed_digits(s, e, b, scale, &d);
    const int whole = at_least_zero(before);
    const int behind = d.n - before;
    const int length = (sign != 0) + whole + 1 + behind + blanks;
    const bool lead = whole == 0 && (behind == 0 || e->width > length);
    if (!begin_number(s, e, length + lead))
        return;
    repeat(s, sign, sign != 0);
    repeat(s, '0', lead);
    put_digits(s, &d, 0, whole);
    put_text(s, s->format.comma ? "," : ".", 1);
    put_digits(s, &d, before, before + behind);
    repeat(s, ' ', blanks);
    end_number(s, e);
}

/* ------------------------------------------------------------ of both kinds */

static void edit_general(struct statement *s, const struct edit *e, double x,
                         const struct binary *b)
{
    enum { EXPONENT_WIDTH = 4, SINGLE_DIGITS = 6, DOUBLE_DIGITS = 15 };
    struct digits d;
    struct edit as = *e;
    const int digits = e->digits != NONE ? e->digits
                       : b->single       ? SINGLE_DIGITS
                                         : DOUBLE_DIGITS;
    rounded(s, b, digits, &d);
    const int exponent = d.zero ? 1 : d.exponent;
    if ((e->width > 0 && digits == 0) || exponent < 0 || exponent > digits) {
        as.letter = 'E';
        as.variation = 'G';
        if (e->width <= 0 && digits > 0 && e->exponent == NONE)
            as.exponent = 0;
        edit_with_exponent(s, &as, x, b);
        return;
    }
    if (e->digits != NONE)
        as.digits = at_least_zero(digits - exponent);
    edit_fixed(s, &as, x, b, 0,
               e->width <= 0      ? 0
               : e->exponent <= 0 ? EXPONENT_WIDTH
                                  : e->exponent + 2);
}

static void edit_list(struct statement *s, const struct edit *e, double x,
                      const struct binary *b)
{
    enum { SINGLE_MOST = 6, DOUBLE_MOST = 15 };
    struct digits d;
    rounded(s, b, 1, &d);
    const int exponent = d.zero ? 0 : d.exponent;
    if (exponent < 0 || exponent > (b->single ? SINGLE_MOST : DOUBLE_MOST))
        edit_with_exponent(s, e, x, b);
    else
        edit_fixed(s, e, x, b, 0, 0);
}

EXPORT NOINLINE void ompjit_fortran_edit_real(struct statement *s,
                                              const struct edit *e, double x,
                                              bool single)
{
    const struct binary b = binary_of(x, single);
    const uint64_t bits =
        single ? __builtin_bit_cast(uint32_t, (float)x) : bits_of(x);
    if (edit_as_bits(s, e, bits))
        return;
    if (e->letter != LIST && e->letter != 'F' && e->letter != 'E' &&
        e->letter != 'D' && e->letter != 'G') {
        wrong(s, e, "a REAL data item");
    } else if (x != x || __builtin_isinf(x)) {
        edit_special(s, e, x);
    } else if (e->letter == LIST) {
        edit_list(s, e, x, &b);
    } else if (e->letter == 'G') {
        edit_general(s, e, x, &b);
    } else if (e->letter == 'F') {
        edit_fixed(s, e, x, &b, s->format.scale, 0);
    } else {
        edit_with_exponent(s, e, x, &b);
    }
}

#endif
