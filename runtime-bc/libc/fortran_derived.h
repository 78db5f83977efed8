/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * flang's tables of derived types, and copies and ends of the allocatable
 * components that their elements have. A component of a derived type that
 * has allocatable components itself fails: a function that called itself would
 * give each kernel a stack of unknown size.
 */
#ifndef OMPJIT_RT_FORTRAN_DERIVED_H
#define OMPJIT_RT_FORTRAN_DERIVED_H

#include "fortran.h"

/* flang's module __fortran_type_info: a descriptor of a scalar is 24 bytes, one
 * dimension 24 more, a type behind them 16. */
enum { SCALAR = 24, VECTOR = 48, MATRIX = 72, TYPED = 16 };

struct derived {
    char bindings[VECTOR + TYPED], name[SCALAR];
    int64_t bytes;
    char uninstantiated[SCALAR + TYPED];
    char kind_parameters[VECTOR], length_kinds[VECTOR];
    const struct component *components;
    size_t component_bytes;
    char components_header[8];
    struct dimension components_dim;
    char components_type[TYPED];
    char procedures[VECTOR + TYPED], special[VECTOR + TYPED];
    int32_t special_set;
    int8_t has_parent, is_not_initialized, is_not_destroyed, is_not_finalized,
        is_assigned_by_components;
};

enum { GENRE_DATA = 1, GENRE_POINTER, GENRE_ALLOCATABLE };
enum {
    CATEGORY_INTEGER,
    CATEGORY_UNSIGNED,
    CATEGORY_REAL,
    CATEGORY_COMPLEX,
    CATEGORY_CHARACTER,
    CATEGORY_LOGICAL,
    CATEGORY_DERIVED,
};

struct component {
    char name[SCALAR];
    uint8_t genre, category, kind, rank;
    int64_t offset;
    struct {
        int8_t genre; /* 2: a constant */
        int64_t value;
    } length;
    const struct derived *type;
    char type_rest[SCALAR + TYPED - 8], lengths[VECTOR + TYPED];
    char bounds[MATRIX + TYPED];
    const void *initial;
};

_Static_assert(sizeof(struct derived) == 440, "as flang has it");
_Static_assert(sizeof(struct component) == 256, "as flang has it");

/* The type of elements that own memory; NULL: a copy of their bytes is one. */
INLINE const struct derived *owner_type(const struct descriptor *a)
{
    const struct derived *type = type_of(a);
    return type && !type->is_not_destroyed ? type : NULL;
}

INLINE bool owns_memory(const struct component *c)
{
    return c->category == CATEGORY_DERIVED && c->type &&
           !c->type->is_not_destroyed;
}

/* The allocatable component c of an element; NULL: it is none. */
INLINE struct descriptor *allocatable_of(const struct component *c, char *at,
                                         const char *file, int line)
{
    if (c->genre != GENRE_POINTER && owns_memory(c))
        fail_at(file, line, "a GPU has no copies of allocatable components "
                            "within components");
    return c->genre == GENRE_ALLOCATABLE ? (struct descriptor *)(at + c->offset)
                                         : NULL;
}

/* Gives an element's allocatable components back. */
INLINE void destroy_element(const struct derived *type, char *at,
                            const char *file, int line)
{
    if (!type->is_not_finalized)
        fail_at(file, line, "a GPU does not finalize objects");
    for (int64_t i = 0; i < type->components_dim.extent; i++) {
        struct descriptor *a =
            allocatable_of(&type->components[i], at, file, line);
        if (a) {
            free(a->base);
            a->base = NULL;
        }
    }
}

/* Gives an element that is a copy of another one's bytes memory of its own. */
INLINE void duplicate_element(const struct derived *type, char *at,
                              const char *file, int line)
{
    for (int64_t i = 0; i < type->components_dim.extent; i++) {
        struct descriptor *a =
            allocatable_of(&type->components[i], at, file, line);
        const char *from = a ? a->base : NULL;
        if (!from)
            continue;
        allocate_result(a, file, line);
        __builtin_memcpy(a->base, from, (size_t)count_of(a) * a->element);
    }
}

#endif
