/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C library's numbers from text on a GPU, and nan. Nothing sets errno,
 * which a GPU has not.
 */
#include "plat.h"

#ifdef __NVPTX__

static int space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* 36: none */
static unsigned value_of(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 10
                                  : 36;
}

/* -------------------------------------------------------------- integers */

typedef struct integer {
    uint64_t value; /* of what follows the sign */
    bool negative, large;
} integer;

/* The base that a number's beginning stands for. */
static const char *read_prefix(const char *s, unsigned *base)
{
    bool zero = s[0] == '0', x = zero && (s[1] == 'x' || s[1] == 'X') &&
                                 value_of(s[2]) < 16;
    bool b = zero && (s[1] == 'b' || s[1] == 'B') && value_of(s[2]) < 2;
    if (x && (*base == 0 || *base == 16)) {
        *base = 16;
        return s + 2;
    }
    if (b && *base == 2)
        return s + 2;
    if (*base == 0)
        *base = zero ? 8 : 10;
    return s;
}

static NOINLINE integer read_integer(const char *s, char **end, unsigned base)
{
    integer n = {0};
    const char *begin = s, *digits;
    while (space(*s))
        s++;
    n.negative = *s == '-';
    s += *s == '-' || *s == '+';
    digits = s = read_prefix(s, &base);
    for (; value_of(*s) < base; s++) {
        uint64_t next;
        n.large |= __builtin_mul_overflow(n.value, base, &next) ||
                   __builtin_add_overflow(next, value_of(*s), &n.value);
    }
    if (end)
        *end = (char *)(uintptr_t)(s > digits ? s : begin);
    return n;
}

EXPORT long strtol(const char *restrict s, char **restrict end, int base)
{
    integer n = read_integer(s, end, (unsigned)base);
    uint64_t most = (uint64_t)INT64_MAX + n.negative;
    uint64_t value = n.large || n.value > most ? most : n.value;
    return (long)(n.negative ? -value : value);
}
EXPORT unsigned long strtoul(const char *restrict s, char **restrict end,
                             int base)
{
    integer n = read_integer(s, end, (unsigned)base);
    return n.large ? UINT64_MAX : n.negative ? -n.value : n.value;
}
EXPORT long long strtoll(const char *restrict s, char **restrict end, int base)
{
    return strtol(s, end, base);
}
EXPORT unsigned long long strtoull(const char *restrict s, char **restrict end,
                                   int base)
{
    return strtoul(s, end, base);
}
/* The names that newer headers of glibc call. */
EXPORT long __isoc23_strtol(const char *restrict s, char **restrict end,
                            int base)
{
    return strtol(s, end, base);
}
EXPORT unsigned long __isoc23_strtoul(const char *restrict s,
                                      char **restrict end, int base)
{
    return strtoul(s, end, base);
}
EXPORT long long __isoc23_strtoll(const char *restrict s, char **restrict end,
                                  int base)
{
    return strtol(s, end, base);
}
EXPORT unsigned long long __isoc23_strtoull(const char *restrict s,
                                            char **restrict end, int base)
{
    return strtoul(s, end, base);
}
EXPORT int atoi(const char *s)
{
    return (int)strtol(s, NULL, 10);
}
EXPORT long atol(const char *s)
{
    return strtol(s, NULL, 10);
}
EXPORT long long atoll(const char *s)
{
    return strtol(s, NULL, 10);
}

EXPORT int abs(int x)
{
    return x < 0 ? -x : x;
}
EXPORT long labs(long x)
{
    return x < 0 ? -x : x;
}
EXPORT long long llabs(long long x)
{
    return x < 0 ? -x : x;
}

/* -------------------------------------------------------- floating numbers */

/* A format: bits of the mantissa without the first, and the exponent's bias. */
typedef struct form { int bits, bias; } form;
/* Handed on by address: see t/runtime_t.sh. */
static const form of_double = {52, 1023}, of_float = {23, 127};

/* A decimal number 0.DDD * 10^point. No number that is halfway between two
 * doubles has more digits; of those behind only whether they are 0 counts. */
enum { MOST_DIGITS = 800 };
typedef struct digits {
    int n;
    int64_t point;
    bool more;
    char d[MOST_DIGITS];
} digits;

static void trim(digits *x)
{
    while (x->n > 0 && !x->d[x->n - 1])
        x->n--;
}

/* x *= 2^by, by < 60 */
static NOINLINE void shift_left(digits *x, int by)
{
    uint64_t carry = 0;
    int ahead = 0, n = x->n;
    char extra[20];
    for (int i = n - 1; i >= 0; i--) {
        carry += (uint64_t)x->d[i] << by;
        x->d[i] = (char)(carry % 10);
        carry /= 10;
    }
    for (; carry; carry /= 10)
        extra[ahead++] = (char)(carry % 10);
    int kept = n + ahead < MOST_DIGITS ? n : MOST_DIGITS - ahead;
    for (int i = kept; i < n; i++)
        x->more |= x->d[i] != 0;
    for (int i = kept - 1; i >= 0; i--)
        x->d[i + ahead] = x->d[i];
    for (int i = 0; i < ahead; i++)
        x->d[i] = extra[ahead - 1 - i];
    x->n = kept + ahead;
    x->point += ahead;
    trim(x);
}

/* x /= 2^by, by < 60 */
static NOINLINE void shift_right(digits *x, int by)
{
    uint64_t rest = 0, mask = (1ull << by) - 1;
    int from = 0, to = 0;
    while (rest >> by == 0) {
        if (from >= x->n && !rest)
            break;
        rest = 10 * rest + (uint64_t)(from < x->n ? x->d[from] : 0);
        from++;
    }
    x->point -= from - 1;
    while (from < x->n || rest) {
        uint64_t digit = rest >> by;
        rest = (rest & mask) * 10 +
               (uint64_t)(from < x->n ? x->d[from] : 0);
        from++;
        if (to < MOST_DIGITS)
            x->d[to++] = (char)digit;
        else
            x->more |= digit != 0;
    }
    x->n = to;
    trim(x);
}

/* The integer nearest to x, and of two the even one. */
static NOINLINE uint64_t nearest(const digits *x)
{
    uint64_t value = 0;
    int64_t i = 0;
    for (; i < x->point; i++)
        value = 10 * value + (uint64_t)(i < x->n ? x->d[i] : 0);
    if (x->point < 0 || x->point >= x->n)
        return value;
    char next = x->d[x->point];
    bool tie = next == 5 && x->point + 1 == x->n && !x->more;
    return value + (tie ? value & 1 : next >= 5);
}

/* To between 1/2 and 1; what the power of two is that this leaves. */
static NOINLINE int normalize(digits *x)
{
    enum { STEP = 50, FAR = 16 };
    int exponent = 0, by;
    for (; x->point > 0; exponent += by) {
        by = x->point > FAR ? STEP : 1;
        shift_right(x, by);
    }
    for (; x->point < 0 || x->d[0] < 5; exponent -= by) {
        by = x->point < -FAR ? STEP : 1;
        shift_left(x, by);
    }
    return exponent;
}

/* x as bits of the form. */
static NOINLINE uint64_t decimal_bits(digits *x, const form *f)
{
    enum { TOO_LARGE = 310, TOO_SMALL = -330, MOST_SHIFT = 59 };
    uint64_t infinite = (2 * (uint64_t)f->bias + 1) << f->bits;
    trim(x);
    if (!x->n || x->point < TOO_SMALL)
        return 0;
    if (x->point > TOO_LARGE)
        return infinite;
    int biased = normalize(x) - 1 + f->bias;
    int small = biased < 1 ? 1 - biased : 0;
    for (; small > 0; small -= MOST_SHIFT) {
        shift_right(x, small < MOST_SHIFT ? small : MOST_SHIFT);
        biased = 1;
    }
    shift_left(x, f->bits + 1);
    /* A mantissa that becomes a power of two carries into the exponent. */
    uint64_t bits = ((uint64_t)(biased - 1) << f->bits) + nearest(x);
    return bits < infinite ? bits : infinite;
}

/* mantissa * 2^exponent, the lowest bit standing for all below it. */
static NOINLINE uint64_t binary_bits(uint64_t mantissa, int64_t exponent,
                                     const form *f)
{
    uint64_t infinite = (2 * (uint64_t)f->bias + 1) << f->bits;
    if (!mantissa)
        return 0;
    int free = __builtin_clzll(mantissa);
    mantissa <<= free;
    int64_t biased = exponent - free + 63 + f->bias;
    int64_t dropped = 63 - f->bits + (biased < 1 ? 1 - biased : 0);
    if (biased >= 2 * f->bias + 1)
        return infinite;
    if (dropped > 64)
        return 0;
    uint64_t kept = dropped < 64 ? mantissa >> dropped : 0;
    uint64_t half = 1ull << (dropped - 1);
    uint64_t rest = mantissa & (half | (half - 1));
    kept += rest > half || (rest == half && kept & 1);
    return ((uint64_t)(biased < 1 ? 0 : biased - 1) << f->bits) + kept;
}

/* ------------------------------------------------------- text of a number */

/* The place of a number's digits, and what follows them. */
typedef struct scanned {
    const char *digits, *end; /* end NULL: there is none */
    int64_t exponent;         /* behind the e or p */
    int n;                    /* digits, without zeros at the beginning */
    int64_t behind;           /* digits behind the point */
    uint64_t value;           /* of the first ones, at most 15 */
    bool more;                /* a digit that is not 0 follows those */
} scanned;

static const char *scan_exponent(const char *s, char letter, int64_t *exponent)
{
    const char *at = s + 1;
    if ((*s | 32) != letter)
        return s;
    bool negative = *at == '-';
    at += *at == '-' || *at == '+';
    if (value_of(*at) > 9)
        return s;
    for (; value_of(*at) < 10; at++)
        if (*exponent < 1 << 20)
            *exponent = 10 * *exponent + value_of(*at);
    if (negative)
        *exponent = -*exponent;
    return at;
}

static NOINLINE scanned scan(const char *s, unsigned base)
{
    enum { KEPT = 15 };
    scanned x = {.digits = s};
    bool point = false, any = false;
    for (; value_of(*s) < base || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        unsigned d = value_of(*s);
        any = true;
        x.behind += point;
        if (!d && !x.n)
            continue;
        if (x.n++ < KEPT)
            x.value = x.value * base + d;
        else
            x.more |= d != 0;
    }
    if (any)
        x.end = scan_exponent(s, base == 16 ? 'p' : 'e', &x.exponent);
    return x;
}

static uint64_t hexadecimal_bits(const scanned *x, const form *f)
{
    int64_t dropped = x->n > 15 ? x->n - 15 : 0;
    uint64_t value = x->value << 1 | x->more;
    return binary_bits(value, x->exponent - 4 * x->behind + 4 * dropped - 1,
                       f);
}

/* By one exact operation, where there is one. */
static bool is_simple(const scanned *x, double *out)
{
    int64_t power = x->exponent - x->behind;
    double ten = 1;
    if (x->n > 15 || power < -22 || power > 22)
        return false;
    for (int64_t i = power < 0 ? -power : power; i > 0; i--)
        ten *= 10;
    *out = power < 0 ? (double)x->value / ten : (double)x->value * ten;
    return true;
}

static NOINLINE uint64_t all_digits_bits(const scanned *x, const form *f)
{
    digits *all = malloc(sizeof *all);
    if (!all)
        return 0;
    all->n = 0;
    all->more = false;
    all->point = x->n - x->behind + x->exponent;
    for (const char *s = x->digits; value_of(*s) < 10 || *s == '.'; s++) {
        if (*s == '.' || (*s == '0' && !all->n))
            continue;
        if (all->n < MOST_DIGITS)
            all->d[all->n++] = (char)value_of(*s);
        else
            all->more |= *s != '0';
    }
    uint64_t bits = decimal_bits(all, f);
    free(all);
    return bits;
}

static bool begins(const char *s, const char *word)
{
    while (*word && (*s | 32) == *word)
        s++, word++;
    return !*word;
}

/* "inf", "infinity", "nan" or "nan(...)"; the end, or NULL. */
static const char *read_special(const char *s, const form *f, uint64_t *bits)
{
    uint64_t infinite = (2 * (uint64_t)f->bias + 1) << f->bits;
    *bits = infinite;
    if (begins(s, "infinity"))
        return s + 8;
    if (begins(s, "inf"))
        return s + 3;
    if (!begins(s, "nan"))
        return NULL;
    *bits = infinite | 1ull << (f->bits - 1);
    const char *at = s + 3;
    if (*at != '(')
        return at;
    do
        at++;
    while (value_of(*at) < 36 || *at == '_');
    return *at == ')' ? at + 1 : s + 3;
}

static NOINLINE uint64_t read_bits(const char *s, char **end, const form *f)
{
    const char *begin = s;
    while (space(*s))
        s++;
    bool negative = *s == '-';
    s += *s == '-' || *s == '+';
    uint64_t bits = 0;
    const char *behind = read_special(s, f, &bits);
    if (!behind) {
        scanned x = {0};
        bool hexadecimal = s[0] == '0' && (s[1] | 32) == 'x';
        double value;
        if (hexadecimal && (x = scan(s + 2, 16)).end)
            bits = hexadecimal_bits(&x, f);
        else if (!(x = scan(s, 10)).end)
            bits = 0;
        else if (f->bits == of_double.bits && is_simple(&x, &value))
            __builtin_memcpy(&bits, &value, sizeof bits);
        else
            bits = all_digits_bits(&x, f);
        behind = x.end;
    }
    if (end)
        *end = (char *)(uintptr_t)(behind ? behind : begin);
    uint64_t sign = (uint64_t)(behind && negative);
    return bits | sign << (f->bits == of_double.bits ? 63 : 31);
}

EXPORT double strtod(const char *restrict s, char **restrict end)
{
    uint64_t bits = read_bits(s, end, &of_double);
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
EXPORT float strtof(const char *restrict s, char **restrict end)
{
    uint32_t bits = (uint32_t)read_bits(s, end, &of_float);
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
EXPORT double atof(const char *s)
{
    return strtod(s, NULL);
}

/* --------------------------------------------------------------------- nan */

/* The number in the text is the payload, where it is one. */
static uint64_t payload(const char *tag)
{
    uint64_t value = 0;
    if (!*tag)
        return 0;
    char *end;
    value = strtoul(tag, &end, 0);
    return *end ? 0 : value;
}
EXPORT double nan(const char *tag)
{
    uint64_t bits = 0x7ff8ull << 48 | (payload(tag) & ((1ull << 51) - 1));
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
EXPORT float nanf(const char *tag)
{
    uint32_t bits = 0x7fc00000u | ((uint32_t)payload(tag) & ((1u << 22) - 1));
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
