/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * flang's descriptor of an object, as ISO_Fortran_binding.h has it, and how the
 * functions of fortran*.c go through its elements, make results and fail.
 */
#ifndef OMPJIT_RT_FORTRAN_H
#define OMPJIT_RT_FORTRAN_H

#include "plat.h"

enum { RANK_MOST = 15 };

struct dimension {
    int64_t lower, extent, stride; /* bytes */
};

struct descriptor {
    char *base;
    size_t element;
    int32_t version;
    uint8_t rank, type, attribute, extra;
    /* as many as the rank, and behind them the type and its lengths where extra
     * has HAS_TYPE */
    struct dimension dims[RANK_MOST + 1];
};

enum { VERSION = 20240719, HAS_TYPE = 1 };
enum { IS_POINTER = 1, IS_ALLOCATABLE = 2 };

/* flang's codes of types; integers and logicals have several. */
enum {
    TYPE_INTEGER1 = 7,
    TYPE_INTEGER2,
    TYPE_INTEGER4,
    TYPE_INTEGER8,
    TYPE_INTEGER16,
    TYPE_LOGICAL2 = 13,
    TYPE_LOGICAL4,
    TYPE_LOGICAL8,
    TYPE_REAL4 = 27,
    TYPE_REAL8,
    TYPE_COMPLEX4 = 34,
    TYPE_COMPLEX8,
    TYPE_LOGICAL1 = 39,
    TYPE_CHARACTER = 40,
    TYPE_DERIVED = 42,
};

/* The type that follows the dimensions; NULL: none. */
INLINE const void *type_of(const struct descriptor *a)
{
    return a->extra & HAS_TYPE ? *(const void *const *)&a->dims[a->rank] : NULL;
}

INLINE int64_t count_of(const struct descriptor *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++)
        n *= a->dims[i].extent;
    return n;
}

INLINE bool has_elements(const struct descriptor *a)
{
    return a->base && count_of(a) > 0;
}

/* A place among the elements of an array, in their order. */
struct place {
    char *at; /* NULL: behind the last one */
    int64_t index[RANK_MOST];
};

INLINE void begin(struct place *p, const struct descriptor *a)
{
    p->at = has_elements(a) ? a->base : NULL;
    for (int i = 0; i < a->rank; i++)
        p->index[i] = 0;
}

/* The index of dimension `dim` stays as it is; -1: of none. */
INLINE void next_but(struct place *p, const struct descriptor *a, int dim)
{
    for (int i = 0; i < a->rank; i++) {
        if (i == dim)
            continue;
        p->at += a->dims[i].stride;
        if (++p->index[i] < a->dims[i].extent)
            return;
        p->at -= a->dims[i].extent * a->dims[i].stride;
        p->index[i] = 0;
    }
    p->at = NULL;
}

INLINE void next(struct place *p, const struct descriptor *a)
{
    next_but(p, a, -1);
}

/* Lets a scalar's one element be that of all of an array's. */
INLINE void next_or_same(struct place *p, const struct descriptor *a)
{
    if (a->rank)
        next(p, a);
}

/* Reads an integer or a logical of `size` bytes. */
INLINE int64_t integer_at(const char *at, size_t size)
{
    switch (size) {
    case 1: return *(const int8_t *)at;
    case 2: return *(const int16_t *)at;
    case 4: return *(const int32_t *)at;
    default: return *(const int64_t *)at;
    }
}

typedef __int128 int_wide;
typedef unsigned __int128 uint_wide;

/* The same with integers of 16 bytes. */
INLINE int_wide wide_at(const char *at, size_t size)
{
    int_wide x;
    if (size != sizeof x)
        return integer_at(at, size);
    __builtin_memcpy(&x, at, sizeof x);
    return x;
}

/* Is the logical at `at` true? */
INLINE bool is_true(const char *at, size_t size)
{
    return integer_at(at, size) != 0;
}

/* Writes an integer or a logical of `size` bytes. */
INLINE void put_integer(char *at, size_t size, int64_t value)
{
    switch (size) {
    case 1: *(int8_t *)at = (int8_t)value; break;
    case 2: *(int16_t *)at = (int16_t)value; break;
    case 4: *(int32_t *)at = (int32_t)value; break;
    default: *(int64_t *)at = value; break;
    }
}

INLINE void copy_element(char *to, const char *from, size_t size)
{
    if (size == 8 && ((uintptr_t)to | (uintptr_t)from) % 8 == 0)
        *(int64_t *)to = *(const int64_t *)from;
    else if (size == 4 && ((uintptr_t)to | (uintptr_t)from) % 4 == 0)
        *(int32_t *)to = *(const int32_t *)from;
    else
        __builtin_memcpy(to, from, size);
}

/* Ends the kernel with a message; the place is flang's, of the source. */
_Noreturn void ompjit_fortran_fail(const char *file, int line,
                                   const char *message);
#define fail_at ompjit_fortran_fail

/* Bytes in a row for all elements; 0 elements have memory, too. */
INLINE char *memory_for(struct descriptor *a)
{
    int64_t bytes = (int64_t)a->element;
    for (int i = 0; i < a->rank; i++) {
        a->dims[i].stride = bytes;
        bytes *= a->dims[i].extent;
    }
    return malloc(bytes > 0 ? (size_t)bytes : 1);
}

/* Makes a new allocatable of `rank`, whose extents the caller sets. */
INLINE void establish(struct descriptor *a, int type, size_t element, int rank)
{
    a->base = NULL;
    a->element = element;
    a->version = VERSION;
    a->rank = (uint8_t)rank;
    a->type = (uint8_t)type;
    a->attribute = IS_ALLOCATABLE;
    a->extra = 0;
    for (int i = 0; i < rank; i++)
        a->dims[i].lower = 1;
}

/* The same with the type of another one's elements. */
INLINE void establish_like(struct descriptor *a, const struct descriptor *from,
                           int rank)
{
    const void *type = type_of(from);
    establish(a, from->type, from->element, rank);
    if (from->extra & HAS_TYPE) {
        a->extra = HAS_TYPE;
        *(const void **)&a->dims[rank] = type;
    }
}

INLINE void allocate_result(struct descriptor *a, const char *file, int line)
{
    a->base = memory_for(a);
    if (!a->base)
        fail_at(file, line, "no memory for a result");
}

#endif
