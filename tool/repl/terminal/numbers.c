/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads arrays of integers and floating-point numbers by their shapes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "core/repl.h"
#include "tool/repl/terminal/numbers.h"

/* The form of an element. */
struct number {
    uint64_t kind, size, detail; /* detail: signed, or bits of the format */
};

static bool is_known(const struct number *how)
{
    if (how->kind == OMPJIT__SHAPE_FLOAT)
        return how->detail == 32 || how->detail == 64 || how->detail == 80;
    return (how->kind == OMPJIT__SHAPE_INTEGER ||
            how->kind == OMPJIT__SHAPE_CHAR ||
            how->kind == OMPJIT__SHAPE_BOOL) &&
           how->size <= sizeof(uint64_t);
}

static double read_float(const char *at, uint64_t bits)
{
    float f;
    double d;
    long double l = 0;
    if (bits == 32) {
        memcpy(&f, at, sizeof f);
        return f;
    }
    if (bits == 64) {
        memcpy(&d, at, sizeof d);
        return d;
    }
    memcpy(&l, at, sizeof l);
    return (double)l;
}

static double read_number(const struct number *how, const char *at)
{
    uint64_t bits = 0;
    if (how->kind == OMPJIT__SHAPE_FLOAT)
        return read_float(at, how->detail);
    memcpy(&bits, at, how->size);
    if (how->kind == OMPJIT__SHAPE_BOOL || !how->detail)
        return (double)bits;
    unsigned unused = 64 - 8 * (unsigned)how->size;
    return (double)((int64_t)(bits << unused) >> unused);
}

double *numbers_of(const ompjit__buf *shape, const void *address, size_t *n)
{
    ompjit__reader r = {shape->data, shape->size, false};
    struct number how = {.kind = ompjit__read_number(&r)};
    uint64_t all = 1;
    bool array = how.kind == OMPJIT__SHAPE_ARRAY;
    while (how.kind == OMPJIT__SHAPE_ARRAY && !r.bad) {
        all *= ompjit__read_number(&r);
        ompjit__read_number(&r); /* size of an element */
        how.kind = ompjit__read_number(&r);
    }
    how.size = ompjit__read_number(&r);
    how.detail = how.kind == OMPJIT__SHAPE_BOOL ? 0 : ompjit__read_number(&r);
    if (!array || r.bad || !all || !is_known(&how))
        return NULL;
    double *numbers = calloc(all, sizeof *numbers);
    for (uint64_t i = 0; numbers && i < all; i++)
        numbers[i] = read_number(&how, (const char *)address + i * how.size);
    *n = all;
    return numbers;
}
