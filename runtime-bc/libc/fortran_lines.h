/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The lines of an array along a dimension, or all of its elements, and results
 * with one value of each line: for functions that make a value of many.
 */
#ifndef OMPJIT_RT_FORTRAN_LINES_H
#define OMPJIT_RT_FORTRAN_LINES_H

#include "fortran.h"

/* The elements along a dimension, or all of them for -1, and what a mask says
 * of them. */
struct line {
    const struct descriptor *a, *mask; /* no mask: NULL */
    struct place p, m;
    int dim;
};

INLINE void start_line(struct line *l, const struct descriptor *a,
                       const struct descriptor *mask, int dim)
{
    l->a = a;
    l->mask = mask && mask->base ? mask : NULL;
    l->dim = dim;
    begin(&l->p, a);
    l->m.at = NULL;
    if (l->mask)
        begin(&l->m, l->mask);
}

/* The line behind it; false: it was the last one. */
INLINE bool next_line(struct line *l)
{
    next_but(&l->p, l->a, l->dim);
    if (l->mask && l->mask->rank)
        next_but(&l->m, l->mask, l->dim);
    return l->p.at != NULL;
}

INLINE void step_in(struct place *p, const struct descriptor *a, int dim)
{
    if (dim < 0) {
        next(p, a);
    } else if (++p->index[dim] < a->dims[dim].extent) {
        p->at += a->dims[dim].stride;
    } else {
        p->at = NULL;
    }
}

/* The place of the line's first element that counts, and then of each further
 * one; at is NULL behind the last one. */
INLINE void skip_masked(const struct line *l, struct place *p, struct place *m)
{
    while (p->at && l->mask && !is_true(m->at, l->mask->element)) {
        step_in(p, l->a, l->dim);
        if (l->mask->rank)
            step_in(m, l->mask, l->dim);
    }
}

INLINE void first_in(const struct line *l, struct place *p, struct place *m)
{
    *p = l->p;
    *m = l->m;
    skip_masked(l, p, m);
}

INLINE void next_in(const struct line *l, struct place *p, struct place *m)
{
    step_in(p, l->a, l->dim);
    if (l->mask && l->mask->rank)
        step_in(m, l->mask, l->dim);
    skip_masked(l, p, m);
}

#define EACH(l, p, m) first_in(l, &p, &m); p.at; next_in(l, &p, &m)

/* A result that has the array's shape but for a dimension. */
INLINE void establish_lines(struct descriptor *result, int type, size_t element,
                            const struct descriptor *a, int dim,
                            const char *file, int line)
{
    if (dim < 1 || dim > a->rank)
        fail_at(file, line, "DIM= names no dimension of the array");
    establish(result, type, element, a->rank - 1);
    for (int i = 0, k = 0; i < a->rank; i++)
        if (i != dim - 1)
            result->dims[k++].extent = a->dims[i].extent;
    allocate_result(result, file, line);
}

#endif
