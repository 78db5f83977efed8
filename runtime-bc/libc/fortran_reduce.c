/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of flang's runtime library that make a value, or the place of one,
 * of an array, or of each of its lines along a dimension, for a GPU: SUM,
 * PRODUCT, MAXVAL, MINVAL, IALL, IANY, IPARITY, ALL, ANY, COUNT, PARITY, NORM2,
 * MAXLOC, MINLOC, FINDLOC and DOT_PRODUCT.
 */
#include "fortran_lines.h"

#ifdef __NVPTX__

/* ----------------------------------------------------------------- elements */

static double real_at(const char *at, size_t size)
{
    return size == sizeof(float) ? *(const float *)at : *(const double *)at;
}

static void put_real(char *at, size_t size, double x)
{
    if (size == sizeof(float))
        *(float *)at = (float)x;
    else
        *(double *)at = x;
}

enum kind { INTEGERS, REALS, COMPLEXES, LOGICALS, TEXTS };

static enum kind kind_of(const struct descriptor *a, const char *file, int line)
{
    switch (a->type) {
    case TYPE_INTEGER1:
    case TYPE_INTEGER2:
    case TYPE_INTEGER4:
    case TYPE_INTEGER8:
    case TYPE_INTEGER16: return INTEGERS;
    case TYPE_REAL4:
    case TYPE_REAL8: return REALS;
    case TYPE_COMPLEX4:
    case TYPE_COMPLEX8: return COMPLEXES;
    case TYPE_LOGICAL1:
    case TYPE_LOGICAL2:
    case TYPE_LOGICAL4:
    case TYPE_LOGICAL8: return LOGICALS;
    case TYPE_CHARACTER: return TEXTS;
    default: fail_at(file, line, "a GPU has no such function of this type");
    }
}

#define compare_texts _FortranACharacterCompareScalar1
int compare_texts(const char *x, const char *y, size_t nx, size_t ny);

/* -------------------------------------------------------------- their value */

enum op { SUM, PRODUCT, MAXVAL, MINVAL, IALL, IANY, IPARITY };

static int64_t least_integer(size_t size)
{
    return INT64_MIN >> (64 - 8 * size);
}

static int_wide least_wide(size_t size)
{
    return (int_wide)((uint_wide)1 << (8 * size - 1));
}

#define REDUCE_INTEGERS(name, t, ut, read, least)                              \
    static t name(enum op op, const struct line *l)                            \
    {                                                                          \
        const size_t size = l->a->element;                                     \
        t r = op == PRODUCT  ? 1                                               \
              : op == MAXVAL ? least(size)                                     \
              : op == MINVAL ? ~least(size)                                    \
              : op == IALL   ? -1                                              \
                             : 0;                                              \
        struct place p, m;                                                     \
        for (EACH(l, p, m)) {                                                  \
            const t x = read(p.at, size);                                      \
            switch (op) {                                                      \
            case SUM: r = (t)((ut)r + (ut)x); break;                           \
            case PRODUCT: r = (t)((ut)r * (ut)x); break;                       \
            case MAXVAL: r = x > r ? x : r; break;                             \
            case MINVAL: r = x < r ? x : r; break;                             \
            case IALL: r &= x; break;                                          \
            case IANY: r |= x; break;                                          \
            case IPARITY: r ^= x; break;                                       \
            }                                                                  \
        }                                                                      \
        return r;                                                              \
    }

REDUCE_INTEGERS(reduce_integers, int64_t, uint64_t, integer_at, least_integer)
REDUCE_INTEGERS(reduce_wide, int_wide, uint_wide, wide_at, least_wide)

static void reduce_integers_to(char *to, enum op op, const struct line *l)
{
    const size_t size = l->a->element;
    if (size == sizeof(int_wide)) {
        const int_wide x = reduce_wide(op, l);
        __builtin_memcpy(to, &x, sizeof x);
    } else {
        put_integer(to, size, reduce_integers(op, l));
    }
}

/* Adds what rounding took from the sum before (Kahan). */
static void add(double *sum, double *lost, double x)
{
    const double next = x - *lost, before = *sum;
    *sum += next;
    *lost = (*sum - before) - next;
}

static double largest_real(size_t size)
{
    return size == sizeof(float) ? (double)__FLT_MAX__ : __DBL_MAX__;
}

static double reduce_reals(enum op op, const struct line *l)
{
    const size_t size = l->a->element;
    double r = op == PRODUCT ? 1 : 0, lost = 0;
    bool any = false;
    struct place p, m;
    for (EACH(l, p, m)) {
        const double x = real_at(p.at, size);
        if (op == SUM)
            add(&r, &lost, x);
        else if (op == PRODUCT)
            r *= x;
        else if (!any || r != r || (op == MAXVAL ? x > r : x < r))
            r = x;
        any = true;
    }
    if (any || op < MAXVAL)
        return r;
    return op == MAXVAL ? -largest_real(size) : largest_real(size);
}

static void reduce_complexes(enum op op, const struct line *l, char *to)
{
    const size_t half = l->a->element / 2;
    double re = op == PRODUCT, im = 0, lost_re = 0, lost_im = 0;
    struct place p, m;
    for (EACH(l, p, m)) {
        const double x = real_at(p.at, half), y = real_at(p.at + half, half);
        if (op == SUM) {
            add(&re, &lost_re, x);
            add(&im, &lost_im, y);
        } else {
            const double product = re * x - im * y;
            im = re * y + im * x;
            re = product;
        }
    }
    put_real(to, half, re);
    put_real(to + half, half, im);
}

/* The first one of those that are largest, or least. */
static void reduce_texts(enum op op, const struct line *l, char *to)
{
    const size_t size = l->a->element;
    const char *best = NULL;
    struct place p, m;
    for (EACH(l, p, m)) {
        const int order = best ? compare_texts(p.at, best, size, size) : 0;
        if (!best || (op == MAXVAL ? order > 0 : order < 0))
            best = p.at;
    }
    if (best)
        __builtin_memcpy(to, best, size);
    else
        __builtin_memset(to, op == MAXVAL ? 0 : 0xff, size);
}

/* ------------------------------------------------------------- in all lines */

static void reduce_lines(enum op op, struct descriptor *result,
                         const struct descriptor *a, int dim,
                         const struct descriptor *mask, const char *file,
                         int line)
{
    const enum kind kind = kind_of(a, file, line);
    struct line l;
    establish_lines(result, a->type, a->element, a, dim, file, line);
    start_line(&l, a, mask, dim - 1);
    char *to = result->base;
    for (int64_t n = count_of(result); n; n--, to += a->element) {
        if (kind == INTEGERS)
            reduce_integers_to(to, op, &l);
        else if (kind == REALS)
            put_real(to, a->element, reduce_reals(op, &l));
        else if (kind == COMPLEXES && op <= PRODUCT)
            reduce_complexes(op, &l, to);
        else if (kind == TEXTS && (op == MAXVAL || op == MINVAL))
            reduce_texts(op, &l, to);
        else
            fail_at(file, line, "a GPU has no such function of this type");
        if (l.p.at)
            next_line(&l);
    }
}

#define SCALAR(name, op, reduce, t)                                            \
    EXPORT t _FortranA##name(const struct descriptor *a, const char *file,     \
                             int line, int dim, const struct descriptor *mask) \
    {                                                                          \
        struct line l;                                                         \
        start_line(&l, a, mask, -1);                                           \
        return (t)reduce(op, &l);                                              \
    }
#define LINES(name, op)                                                        \
    EXPORT void _FortranA##name##Dim(                                          \
        struct descriptor *result, const struct descriptor *a, int dim,        \
        const char *file, int line, const struct descriptor *mask)             \
    {                                                                          \
        reduce_lines(op, result, a, dim, mask, file, line);                    \
    }
#define INTEGER_SCALARS(name, op)                                              \
    SCALAR(name##1, op, reduce_integers, int8_t)                               \
    SCALAR(name##2, op, reduce_integers, int16_t)                              \
    SCALAR(name##4, op, reduce_integers, int32_t)                              \
    SCALAR(name##8, op, reduce_integers, int64_t)                              \
    SCALAR(name##16, op, reduce_wide, int_wide)
#define NUMBER_SCALARS(name, op)                                               \
    INTEGER_SCALARS(name##Integer, op)                                         \
    SCALAR(name##Real4, op, reduce_reals, float)                               \
    SCALAR(name##Real8, op, reduce_reals, double)                              \
    LINES(name, op)
#define COMPLEX_SCALAR(name, op)                                               \
    EXPORT void _FortranACpp##name(                                            \
        char *result, const struct descriptor *a, const char *file, int line,  \
        int dim, const struct descriptor *mask)                                \
    {                                                                          \
        struct line l;                                                         \
        start_line(&l, a, mask, -1);                                           \
        reduce_complexes(op, &l, result);                                      \
    }

#define TEXT_SCALAR(name, op)                                                  \
    EXPORT void _FortranA##name##Character(                                    \
        struct descriptor *result, const struct descriptor *a,                 \
        const char *file, int line, const struct descriptor *mask)             \
    {                                                                          \
        struct line l;                                                         \
        establish(result, TYPE_CHARACTER, a->element, 0);                      \
        allocate_result(result, file, line);                                   \
        start_line(&l, a, mask, -1);                                           \
        reduce_texts(op, &l, result->base);                                    \
    }

NUMBER_SCALARS(Sum, SUM)
NUMBER_SCALARS(Product, PRODUCT)
NUMBER_SCALARS(Maxval, MAXVAL)
NUMBER_SCALARS(Minval, MINVAL)
TEXT_SCALAR(Maxval, MAXVAL)
TEXT_SCALAR(Minval, MINVAL)
COMPLEX_SCALAR(SumComplex4, SUM)
COMPLEX_SCALAR(SumComplex8, SUM)
COMPLEX_SCALAR(ProductComplex4, PRODUCT)
COMPLEX_SCALAR(ProductComplex8, PRODUCT)
INTEGER_SCALARS(IAll, IALL)
INTEGER_SCALARS(IAny, IANY)
INTEGER_SCALARS(IParity, IPARITY)
LINES(IAll, IALL)
LINES(IAny, IANY)
LINES(IParity, IPARITY)

/* -------------------------------------------------------------- of logicals */

static int64_t count_true(const struct line *l)
{
    int64_t n = 0;
    struct place p, m;
    for (EACH(l, p, m))
        n += is_true(p.at, l->a->element);
    return n;
}

static int64_t count_false(const struct line *l)
{
    int64_t n = 0;
    struct place p, m;
    for (EACH(l, p, m))
        n += !is_true(p.at, l->a->element);
    return n;
}

enum logical { ALL, ANY, PARITY, COUNT };

static int64_t reduce_logicals(enum logical op, const struct line *l)
{
    return op == ALL      ? !count_false(l)
           : op == ANY    ? count_true(l) > 0
           : op == PARITY ? count_true(l) % 2
                          : count_true(l);
}

static void logical_lines(enum logical op, struct descriptor *result,
                          const struct descriptor *a, int dim, const char *file,
                          int line)
{
    struct line l;
    start_line(&l, a, NULL, dim - 1);
    char *to = result->base;
    for (int64_t n = count_of(result); n; n--, to += result->element) {
        put_integer(to, result->element, reduce_logicals(op, &l));
        if (l.p.at)
            next_line(&l);
    }
}

#define LOGICAL(name, op, t)                                                   \
    EXPORT t _FortranA##name(const struct descriptor *a, const char *file,     \
                             int line, int dim)                                \
    {                                                                          \
        struct line l;                                                         \
        start_line(&l, a, NULL, -1);                                           \
        return (t)reduce_logicals(op, &l);                                     \
    }
#define LOGICAL_LINES(name, op)                                                \
    EXPORT void _FortranA##name##Dim(                                          \
        struct descriptor *result, const struct descriptor *a, int dim,        \
        const char *file, int line)                                            \
    {                                                                          \
        establish_lines(result, a->type, a->element, a, dim, file, line);      \
        logical_lines(op, result, a, dim, file, line);                         \
    }

LOGICAL(All, ALL, bool)
LOGICAL(Any, ANY, bool)
LOGICAL(Parity, PARITY, bool)
LOGICAL(Count, COUNT, int64_t)
LOGICAL_LINES(All, ALL)
LOGICAL_LINES(Any, ANY)
LOGICAL_LINES(Parity, PARITY)

static int integer_type(int kind)
{
    return kind == 1   ? TYPE_INTEGER1
           : kind == 2 ? TYPE_INTEGER2
           : kind == 4 ? TYPE_INTEGER4
                       : TYPE_INTEGER8;
}

EXPORT void _FortranACountDim(struct descriptor *result,
                              const struct descriptor *a, int dim, int kind,
                              const char *file, int line)
{
    establish_lines(result, integer_type(kind), (size_t)kind, a, dim, file,
                    line);
    logical_lines(COUNT, result, a, dim, file, line);
}

/* ---------------------------------------------------------------- of places */

/* A search: for which element, and how elements compare with it. */
struct search {
    enum { LARGEST, LEAST, EQUAL } what;
    enum kind kind;
    bool back;
    const char *target; /* EQUAL: the value, */
    size_t target_size; /* its size and its kind */
    enum kind target_kind;
};

static bool is_better(double x, double best, const struct search *s)
{
    if (best != best)
        return s->back || x == x;
    return x == best ? s->back : (s->what == LARGEST) == (x > best);
}

static bool is_better_integer(int_wide x, int_wide best, const struct search *s)
{
    return x == best ? s->back : (s->what == LARGEST) == (x > best);
}

/* NVPTX does not convert integers of 16 bytes. */
static double real_of(const char *at, size_t size)
{
    const int_wide x = wide_at(at, size);
    return size == sizeof x ? (double)(int64_t)(x >> 64) * 0x1p64 +
                                  (double)(uint64_t)x
                            : (double)integer_at(at, size);
}

static double part_of(const char *at, size_t size, enum kind kind, bool second)
{
    const size_t half = size / 2;
    return kind == INTEGERS    ? second ? 0 : real_of(at, size)
           : kind == REALS     ? second ? 0 : real_at(at, size)
           : second            ? real_at(at + half, half)
                               : real_at(at, half);
}

static bool is_equal(const char *at, size_t size, const struct search *s)
{
    if (s->kind == TEXTS)
        return !compare_texts(at, s->target, size, s->target_size);
    if (s->kind == LOGICALS)
        return is_true(at, size) == is_true(s->target, s->target_size);
    if (s->kind == INTEGERS && s->target_kind == INTEGERS)
        return wide_at(at, size) == wide_at(s->target, s->target_size);
    return part_of(at, size, s->kind, false) ==
               part_of(s->target, s->target_size, s->target_kind, false) &&
           part_of(at, size, s->kind, true) ==
               part_of(s->target, s->target_size, s->target_kind, true);
}

/* Is it what is looked for, or better than what was found before? */
static bool is_found(const char *at, const char *before, size_t size,
                     const struct search *s)
{
    if (s->what == EQUAL)
        return is_equal(at, size, s) && (s->back || !before);
    if (!before)
        return true;
    if (s->kind == TEXTS)
        return is_better_integer(compare_texts(at, before, size, size), 0, s);
    return s->kind == INTEGERS
               ? is_better_integer(wide_at(at, size), wide_at(before, size), s)
               : is_better(real_at(at, size), real_at(before, size), s);
}

/* The place in a line; at is NULL: none. */
static void find(const struct line *l, const struct search *s,
                 struct place *found)
{
    struct place p, m;
    found->at = NULL;
    for (EACH(l, p, m))
        if (is_found(p.at, found->at, l->a->element, s))
            *found = p;
}

static void find_in_all(struct descriptor *result, const struct descriptor *a,
                        int kind, const struct descriptor *mask,
                        const struct search *s, const char *file, int line)
{
    struct line l;
    struct place found;
    establish(result, integer_type(kind), (size_t)kind, 1);
    result->dims[0].extent = a->rank;
    allocate_result(result, file, line);
    start_line(&l, a, mask, -1);
    find(&l, s, &found);
    for (int i = 0; i < a->rank; i++)
        put_integer(result->base + i * kind, (size_t)kind,
                    found.at ? found.index[i] + 1 : 0);
}

static void find_in_lines(struct descriptor *result, const struct descriptor *a,
                          int kind, int dim, const struct descriptor *mask,
                          const struct search *s, const char *file, int line)
{
    struct line l;
    struct place found;
    establish_lines(result, integer_type(kind), (size_t)kind, a, dim, file,
                    line);
    start_line(&l, a, mask, dim - 1);
    char *to = result->base;
    for (int64_t n = count_of(result); n; n--, to += kind) {
        find(&l, s, &found);
        put_integer(to, (size_t)kind, found.at ? found.index[dim - 1] + 1 : 0);
        if (l.p.at)
            next_line(&l);
    }
}

#define LOCATION(name, op)                                                     \
    EXPORT void _FortranA##name(                                               \
        struct descriptor *result, const struct descriptor *a, int kind,       \
        const char *file, int line, const struct descriptor *mask, bool back)  \
    {                                                                          \
        const struct search s = {                                              \
            .what = op, .kind = kind_of(a, file, line), .back = back};         \
        find_in_all(result, a, kind, mask, &s, file, line);                    \
    }
#define LOCATIONS(name, op)                                                    \
    LOCATION(name##Integer1, op)                                               \
    LOCATION(name##Integer2, op)                                               \
    LOCATION(name##Integer4, op)                                               \
    LOCATION(name##Integer8, op)                                               \
    LOCATION(name##Integer16, op)                                              \
    LOCATION(name##Real4, op)                                                  \
    LOCATION(name##Real8, op)                                                  \
    LOCATION(name##Character, op)                                              \
    EXPORT void _FortranA##name##Dim(                                          \
        struct descriptor *result, const struct descriptor *a, int kind,       \
        int dim, const char *file, int line, const struct descriptor *mask,    \
        bool back)                                                             \
    {                                                                          \
        const struct search s = {                                              \
            .what = op, .kind = kind_of(a, file, line), .back = back};         \
        find_in_lines(result, a, kind, dim, mask, &s, file, line);             \
    }

LOCATIONS(Maxloc, LARGEST)
LOCATIONS(Minloc, LEAST)

EXPORT void _FortranAFindloc(struct descriptor *result,
                             const struct descriptor *a,
                             const struct descriptor *target, int kind,
                             const char *file, int line,
                             const struct descriptor *mask, bool back)
{
    const struct search s = {EQUAL, kind_of(a, file, line), back, target->base,
                             target->element, kind_of(target, file, line)};
    find_in_all(result, a, kind, mask, &s, file, line);
}

EXPORT void _FortranAFindlocDim(struct descriptor *result,
                                const struct descriptor *a,
                                const struct descriptor *target, int kind,
                                int dim, const char *file, int line,
                                const struct descriptor *mask, bool back)
{
    const struct search s = {EQUAL, kind_of(a, file, line), back, target->base,
                             target->element, kind_of(target, file, line)};
    find_in_lines(result, a, kind, dim, mask, &s, file, line);
}

/* -------------------------------------------------------------- DOT_PRODUCT */

#define DOT_PRODUCT(name, t, at, sum_t)                                        \
    EXPORT t _FortranADotProduct##name(                                        \
        const struct descriptor *a, const struct descriptor *b,                \
        const char *file, int line)                                            \
    {                                                                          \
        sum_t sum = 0;                                                         \
        for (int64_t i = 0; i < a->dims[0].extent; i++)                        \
            sum += (sum_t)at(a->base + i * a->dims[0].stride, sizeof(t)) *     \
                   (sum_t)at(b->base + i * b->dims[0].stride, sizeof(t));      \
        return (t)sum;                                                         \
    }

DOT_PRODUCT(Integer1, int8_t, integer_at, uint64_t)
DOT_PRODUCT(Integer2, int16_t, integer_at, uint64_t)
DOT_PRODUCT(Integer4, int32_t, integer_at, uint64_t)
DOT_PRODUCT(Integer8, int64_t, integer_at, uint64_t)
DOT_PRODUCT(Integer16, int_wide, wide_at, uint_wide)
DOT_PRODUCT(Real4, float, real_at, double)
DOT_PRODUCT(Real8, double, real_at, double)

EXPORT bool _FortranADotProductLogical(const struct descriptor *a,
                                       const struct descriptor *b,
                                       const char *file, int line)
{
    for (int64_t i = 0; i < a->dims[0].extent; i++)
        if (is_true(a->base + i * a->dims[0].stride, a->element) &&
            is_true(b->base + i * b->dims[0].stride, b->element))
            return true;
    return false;
}

/* The first one's conjugate times the second one. */
static void dot_product(char *result, const struct descriptor *a,
                        const struct descriptor *b)
{
    const size_t half = a->element / 2;
    double re = 0, im = 0;
    for (int64_t i = 0; i < a->dims[0].extent; i++) {
        const char *x = a->base + i * a->dims[0].stride;
        const char *y = b->base + i * b->dims[0].stride;
        const double xr = real_at(x, half), xi = real_at(x + half, half);
        const double yr = real_at(y, half), yi = real_at(y + half, half);
        re += xr * yr + xi * yi;
        im += xr * yi - xi * yr;
    }
    put_real(result, half, re);
    put_real(result + half, half, im);
}

#define COMPLEX_DOT_PRODUCT(name)                                              \
    EXPORT void _FortranACppDotProduct##name(                                  \
        char *result, const struct descriptor *a, const struct descriptor *b,  \
        const char *file, int line)                                            \
    {                                                                          \
        dot_product(result, a, b);                                             \
    }

COMPLEX_DOT_PRODUCT(Complex4)
COMPLEX_DOT_PRODUCT(Complex8)

/* -------------------------------------------------------------------- NORM2 */

/* Squares of parts of the largest one do not overflow, and those that are lost
 * would not count. */
static double norm(const struct line *l)
{
    const size_t size = l->a->element;
    double most = 0, sum = 0;
    struct place p, m;
    for (EACH(l, p, m)) {
        const double x = __builtin_fabs(real_at(p.at, size));
        most = x > most ? x : most;
    }
    const double unit = most > 0 ? most : 1;
    if (__builtin_isinf(most))
        return most;
    for (EACH(l, p, m)) {
        const double part = real_at(p.at, size) / unit;
        sum += part * part;
    }
    return unit * __nvvm_sqrt_rn_d(sum);
}

#define NORM2(kind, t)                                                         \
    EXPORT t _FortranANorm2_##kind(const struct descriptor *a,                 \
                                   const char *file, int line, int dim)        \
    {                                                                          \
        struct line l;                                                         \
        start_line(&l, a, NULL, -1);                                           \
        return (t)norm(&l);                                                    \
    }

NORM2(4, float)
NORM2(8, double)

EXPORT void _FortranANorm2Dim(struct descriptor *result,
                              const struct descriptor *a, int dim,
                              const char *file, int line)
{
    struct line l;
    establish_lines(result, a->type, a->element, a, dim, file, line);
    start_line(&l, a, NULL, dim - 1);
    char *to = result->base;
    for (int64_t n = count_of(result); n; n--, to += a->element) {
        put_real(to, a->element, norm(&l));
        if (l.p.at)
            next_line(&l);
    }
}

#endif
