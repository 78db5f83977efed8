/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of flang's runtime library that arrange elements anew, for a GPU:
 * RESHAPE, SPREAD, TRANSPOSE, PACK, UNPACK, CSHIFT, EOSHIFT, and MATMUL; and
 * TRANSFER.
 */
#include "fortran_derived.h"

#ifdef __NVPTX__

/* A result with a type's elements, whose extents are set by the caller before
 * allocate_result. Elements that own memory would need copies of it. */
static void establish_from(struct descriptor *result,
                           const struct descriptor *from, int rank,
                           const char *file, int line)
{
    if (owner_type(from))
        fail_at(file, line, "a GPU has no such function of a type with "
                            "allocatable components");
    establish_like(result, from, rank);
}

static int64_t integer_of(const struct descriptor *a, int64_t i)
{
    return integer_at(a->base + i * a->dims[0].stride, a->element);
}

EXPORT void _FortranAReshape(struct descriptor *result,
                             const struct descriptor *from,
                             const struct descriptor *shape,
                             const struct descriptor *pad,
                             const struct descriptor *order, const char *file,
                             int line)
{
    const int rank = (int)shape->dims[0].extent;
    struct descriptor way; /* the result's dimensions in the order of filling */
    struct place p, q;
    bool is_padded = false;
    if (rank < 0 || rank > RANK_MOST)
        fail_at(file, line, "RESHAPE has too many dimensions");
    establish_from(result, from, rank, file, line);
    for (int i = 0; i < rank; i++) {
        const int64_t n = integer_of(shape, i);
        result->dims[i].extent = n > 0 ? n : 0;
    }
    allocate_result(result, file, line);
    way.base = result->base;
    way.rank = (uint8_t)rank;
    for (int i = 0; i < rank; i++) {
        const int64_t at = order && order->base ? integer_of(order, i) - 1 : i;
        if (at < 0 || at >= rank)
            fail_at(file, line, "ORDER= of RESHAPE names no dimension");
        way.dims[i] = result->dims[at];
    }
    begin(&q, from);
    for (begin(&p, &way); p.at; next(&p, &way)) {
        if (!q.at) {
            if (!pad || !has_elements(pad))
                fail_at(file, line, "RESHAPE has too few elements");
            is_padded = true;
            begin(&q, pad);
        }
        copy_element(p.at, q.at, result->element);
        next(&q, is_padded ? pad : from);
    }
}

EXPORT void _FortranASpread(struct descriptor *result,
                            const struct descriptor *from, int dim, int64_t n,
                            const char *file, int line)
{
    const int rank = from->rank + 1;
    struct place p, q;
    if (dim < 1 || dim > rank || rank > RANK_MOST)
        fail_at(file, line, "DIM= of SPREAD names no dimension");
    establish_from(result, from, rank, file, line);
    for (int i = 0; i < rank; i++)
        result->dims[i].extent = i == dim - 1 ? n > 0 ? n : 0
                                 : from->dims[i > dim - 1 ? i - 1 : i].extent;
    allocate_result(result, file, line);
    begin(&q, from);
    for (begin(&p, result); p.at; next_but(&p, result, dim - 1)) {
        for (int64_t i = 0; i < n; i++)
            copy_element(p.at + i * result->dims[dim - 1].stride, q.at,
                         result->element);
        next(&q, from);
    }
}

EXPORT void _FortranATranspose(struct descriptor *result,
                               const struct descriptor *from, const char *file,
                               int line)
{
    struct descriptor turned;
    struct place p, q;
    establish_from(result, from, 2, file, line);
    result->dims[0].extent = from->dims[1].extent;
    result->dims[1].extent = from->dims[0].extent;
    allocate_result(result, file, line);
    turned.base = from->base;
    turned.rank = 2;
    turned.dims[0] = from->dims[1];
    turned.dims[1] = from->dims[0];
    begin(&q, &turned);
    for (begin(&p, result); p.at; next(&p, result)) {
        copy_element(p.at, q.at, result->element);
        next(&q, &turned);
    }
}

/* ---------------------------------------------------------- PACK and UNPACK */

static int64_t count_true(const struct descriptor *mask)
{
    struct place m;
    int64_t n = 0;
    for (begin(&m, mask); m.at; next(&m, mask))
        n += is_true(m.at, mask->element);
    return n;
}

EXPORT void _FortranAPack(struct descriptor *result,
                          const struct descriptor *from,
                          const struct descriptor *mask,
                          const struct descriptor *vector, const char *file,
                          int line)
{
    struct place p, m;
    int64_t n;
    const bool has_rest = vector && vector->base;
    if (has_rest)
        n = vector->dims[0].extent;
    else if (mask->rank)
        n = count_true(mask);
    else
        n = is_true(mask->base, mask->element) ? count_of(from) : 0;
    establish_from(result, from, 1, file, line);
    result->dims[0].extent = n;
    allocate_result(result, file, line);
    char *to = result->base, *end = to + n * (int64_t)result->element;
    begin(&m, mask);
    for (begin(&p, from); p.at && to < end; next(&p, from)) {
        if (is_true(m.at, mask->element)) {
            copy_element(to, p.at, result->element);
            to += result->element;
        }
        next_or_same(&m, mask);
    }
    for (; to < end; to += result->element)
        copy_element(to, vector->base + (to - result->base) /
                             (int64_t)result->element * vector->dims[0].stride,
                     result->element);
}

EXPORT void _FortranAUnpack(struct descriptor *result,
                            const struct descriptor *vector,
                            const struct descriptor *mask,
                            const struct descriptor *field, const char *file,
                            int line)
{
    struct place m, f;
    const char *from = vector->base;
    establish_from(result, vector, mask->rank, file, line);
    for (int i = 0; i < mask->rank; i++)
        result->dims[i].extent = mask->dims[i].extent;
    allocate_result(result, file, line);
    if (count_true(mask) > vector->dims[0].extent)
        fail_at(file, line, "VECTOR= of UNPACK has too few elements");
    char *to = result->base;
    begin(&f, field);
    for (begin(&m, mask); m.at; next(&m, mask), to += result->element) {
        const bool is_taken = is_true(m.at, mask->element);
        copy_element(to, is_taken ? from : f.at, result->element);
        from += is_taken ? vector->dims[0].stride : 0;
        next_or_same(&f, field);
    }
}

/* ------------------------------------------------------------------- shifts */

/* How a line is shifted: by the same for all, or as an array of a dimension
 * less says. */
struct shift {
    const struct descriptor *all; /* NULL: by `n` */
    int64_t n;
    bool around;                      /* CSHIFT */
    const struct descriptor *boundary; /* EOSHIFT: NULL or no base: zeros */
};

static void fill_boundary(char *to, const struct descriptor *a,
                          const struct shift *s, const struct place *b)
{
    if (s->boundary)
        copy_element(to, b->at, a->element);
    else
        __builtin_memset(to, a->type == TYPE_CHARACTER ? ' ' : 0, a->element);
}

static void shift_line(char *to, int64_t to_stride, const char *from,
                       const struct descriptor *a, int dim, int64_t by,
                       const struct shift *s, const struct place *b)
{
    const int64_t n = a->dims[dim].extent;
    for (int64_t i = 0; i < n; i++, to += to_stride) {
        int64_t k = i + by;
        if (s->around)
            k = (k % n + n) % n;
        if (k >= 0 && k < n)
            copy_element(to, from + k * a->dims[dim].stride, a->element);
        else
            fill_boundary(to, a, s, b);
    }
}

static void shift(struct descriptor *result, const struct descriptor *a,
                  int dim, const struct shift *s, const char *file, int line)
{
    struct place p, q, v, b = {0};
    if (dim < 1 || dim > a->rank)
        fail_at(file, line, "DIM= of a shift names no dimension");
    establish_from(result, a, a->rank, file, line);
    for (int i = 0; i < a->rank; i++)
        result->dims[i].extent = a->dims[i].extent;
    allocate_result(result, file, line);
    begin(&q, a);
    if (s->all)
        begin(&v, s->all);
    if (s->boundary)
        begin(&b, s->boundary);
    for (begin(&p, result); p.at; next_but(&p, result, dim - 1)) {
        int64_t by = s->n;
        if (s->all) {
            by = integer_at(v.at, s->all->element);
            next_or_same(&v, s->all);
        }
        shift_line(p.at, result->dims[dim - 1].stride, q.at, a, dim - 1, by, s,
                   &b);
        if (s->boundary)
            next_or_same(&b, s->boundary);
        next_but(&q, a, dim - 1);
    }
}

EXPORT void _FortranACshift(struct descriptor *result,
                            const struct descriptor *a,
                            const struct descriptor *by, int dim,
                            const char *file, int line)
{
    const struct shift s = {by, 0, true, NULL};
    shift(result, a, dim, &s, file, line);
}

EXPORT void _FortranACshiftVector(struct descriptor *result,
                                  const struct descriptor *a, int64_t by,
                                  const char *file, int line)
{
    const struct shift s = {NULL, by, true, NULL};
    shift(result, a, 1, &s, file, line);
}

static const struct descriptor *present(const struct descriptor *boundary)
{
    return boundary && boundary->base ? boundary : NULL;
}

EXPORT void _FortranAEoshift(struct descriptor *result,
                             const struct descriptor *a,
                             const struct descriptor *by,
                             const struct descriptor *boundary, int dim,
                             const char *file, int line)
{
    const struct shift s = {by, 0, false, present(boundary)};
    shift(result, a, dim, &s, file, line);
}

EXPORT void _FortranAEoshiftVector(struct descriptor *result,
                                   const struct descriptor *a, int64_t by,
                                   const struct descriptor *boundary,
                                   const char *file, int line)
{
    const struct shift s = {NULL, by, false, present(boundary)};
    shift(result, a, 1, &s, file, line);
}

/* ------------------------------------------------------------------- MATMUL */

/* A vector is a matrix of one row before a matrix, and of one column behind
 * it. */
struct product {
    int64_t rows, columns, depth;
    int64_t a_row, a_depth, b_depth, b_column; /* strides, in bytes */
};

static void multiply_shapes(struct product *m, struct descriptor *result,
                            const struct descriptor *a,
                            const struct descriptor *b, int type,
                            size_t element, const char *file, int line)
{
    const struct dimension *ad = &a->dims[a->rank - 1];
    m->rows = a->rank == 2 ? a->dims[0].extent : 1;
    m->a_row = a->rank == 2 ? a->dims[0].stride : 0;
    m->columns = b->rank == 2 ? b->dims[1].extent : 1;
    m->b_column = b->rank == 2 ? b->dims[1].stride : 0;
    m->depth = ad->extent;
    m->a_depth = ad->stride;
    m->b_depth = b->dims[0].stride;
    if (m->depth != b->dims[0].extent)
        fail_at(file, line, "MATMUL of arrays that do not fit");
    establish(result, type, element, a->rank + b->rank - 2);
    if (a->rank == 2)
        result->dims[0].extent = m->rows;
    if (b->rank == 2)
        result->dims[result->rank - 1].extent = m->columns;
    allocate_result(result, file, line);
}

#define ADD_NUMBERS(sum, x, y) sum += x * y
#define ADD_LOGICALS(sum, x, y) sum |= x && y

/* Sums are made in `sum_t`, which is as wide as the result or wider. */
#define MATMUL(name, ta, tb, t, sum_t, type, add)                              \
    EXPORT void _FortranAMatmul##name(                                         \
        struct descriptor *result, const struct descriptor *a,                 \
        const struct descriptor *b, const char *file, int line)                \
    {                                                                          \
        struct product m;                                                      \
        multiply_shapes(&m, result, a, b, type, sizeof(t), file, line);        \
        t *to = (t *)result->base;                                             \
        for (int64_t k = 0; k < m.columns; k++)                                \
            for (int64_t i = 0; i < m.rows; i++) {                             \
                const char *x = a->base + i * m.a_row;                         \
                const char *y = b->base + k * m.b_column;                      \
                sum_t sum = 0;                                                 \
                for (int64_t j = 0; j < m.depth; j++) {                        \
                    add(sum, (sum_t)*(const ta *)x, (sum_t)*(const tb *)y);    \
                    x += m.a_depth;                                            \
                    y += m.b_depth;                                            \
                }                                                              \
                *to++ = (t)sum;                                                \
            }                                                                  \
    }
#define REAL_MATMUL(name, ta, tb, t, type)                                     \
    MATMUL(name, ta, tb, t, double, type, ADD_NUMBERS)
#define INTEGER_MATMUL(name, t, type)                                          \
    MATMUL(name, t, t, t, uint64_t, type, ADD_NUMBERS)

REAL_MATMUL(Real4Real4, float, float, float, TYPE_REAL4)
REAL_MATMUL(Real4Real8, float, double, double, TYPE_REAL8)
REAL_MATMUL(Real8Real4, double, float, double, TYPE_REAL8)
REAL_MATMUL(Real8Real8, double, double, double, TYPE_REAL8)
REAL_MATMUL(Real4Integer4, float, int32_t, float, TYPE_REAL4)
REAL_MATMUL(Integer4Real4, int32_t, float, float, TYPE_REAL4)
REAL_MATMUL(Real8Integer4, double, int32_t, double, TYPE_REAL8)
REAL_MATMUL(Integer4Real8, int32_t, double, double, TYPE_REAL8)
INTEGER_MATMUL(Integer1Integer1, int8_t, TYPE_INTEGER1)
INTEGER_MATMUL(Integer2Integer2, int16_t, TYPE_INTEGER2)
INTEGER_MATMUL(Integer4Integer4, int32_t, TYPE_INTEGER4)
INTEGER_MATMUL(Integer8Integer8, int64_t, TYPE_INTEGER8)
MATMUL(Logical4Logical4, int32_t, int32_t, int32_t, int32_t, TYPE_LOGICAL4,
       ADD_LOGICALS)

#define COMPLEX_MATMUL(name, part, type)                                       \
    EXPORT void _FortranAMatmul##name(                                         \
        struct descriptor *result, const struct descriptor *a,                 \
        const struct descriptor *b, const char *file, int line)                \
    {                                                                          \
        struct product m;                                                      \
        multiply_shapes(&m, result, a, b, type, 2 * sizeof(part), file, line); \
        part *to = (part *)result->base;                                       \
        for (int64_t k = 0; k < m.columns; k++)                                \
            for (int64_t i = 0; i < m.rows; i++) {                             \
                double re = 0, im = 0;                                         \
                for (int64_t j = 0; j < m.depth; j++) {                        \
                    const part *x = (const part *)(a->base + i * m.a_row +     \
                                                   j * m.a_depth);             \
                    const part *y = (const part *)(b->base + k * m.b_column +  \
                                                   j * m.b_depth);             \
                    re += (double)x[0] * y[0] - (double)x[1] * y[1];           \
                    im += (double)x[0] * y[1] + (double)x[1] * y[0];           \
                }                                                              \
                *to++ = (part)re;                                              \
                *to++ = (part)im;                                              \
            }                                                                  \
    }

COMPLEX_MATMUL(Complex4Complex4, float, TYPE_COMPLEX4)
COMPLEX_MATMUL(Complex8Complex8, double, TYPE_COMPLEX8)

/* ----------------------------------------------------------------- TRANSFER */

/* size: how many elements an array has; -1: as many as the source's bytes need,
 * or a scalar where the mold is one. */
static void transfer(struct descriptor *result, const struct descriptor *from,
                     const struct descriptor *mold, int64_t size,
                     const char *file, int line)
{
    const int64_t bytes = count_of(from) * (int64_t)from->element;
    const int64_t element = (int64_t)mold->element;
    struct place p;
    establish_from(result, mold, size >= 0 || mold->rank, file, line);
    if (result->rank)
        result->dims[0].extent = size >= 0 ? size
                                 : element ? (bytes + element - 1) / element
                                           : 0;
    allocate_result(result, file, line);
    char *to = result->base;
    int64_t room = count_of(result) * element;
    for (begin(&p, from); p.at && room > 0; next(&p, from)) {
        const int64_t n =
            room < (int64_t)from->element ? room : (int64_t)from->element;
        __builtin_memcpy(to, p.at, (size_t)n);
        to += n;
        room -= n;
    }
}

EXPORT void _FortranATransfer(struct descriptor *result,
                              const struct descriptor *from,
                              const struct descriptor *mold, const char *file,
                              int line)
{
    transfer(result, from, mold, -1, file, line);
}

EXPORT void _FortranATransferSize(struct descriptor *result,
                                  const struct descriptor *from,
                                  const struct descriptor *mold,
                                  const char *file, int line, int64_t size)
{
    transfer(result, from, mold, size > 0 ? size : 0, file, line);
}

#endif
