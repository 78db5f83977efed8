/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * flang's tables of derived types, and what is done by them with the components
 * of elements, however deep these lie.
 */
#ifndef OMPJIT_RT_FORTRAN_DERIVED_H
#define OMPJIT_RT_FORTRAN_DERIVED_H

#include "fortran.h"

/* flang's module __fortran_type_info: a descriptor of a scalar is 24 bytes, one
 * dimension 24 more, a type behind them 16. */
enum { SCALAR = 24, VECTOR = 48, MATRIX = 72, TYPED = 16 };

/* A descriptor of a table's lines. */
struct lines {
    const void *base;
    size_t element;
    char header[8];
    struct dimension dim;
    char type[TYPED];
};

struct derived {
    struct lines bindings;
    char name[SCALAR];
    int64_t bytes;
    char uninstantiated[SCALAR + TYPED];
    char kind_parameters[VECTOR], length_kinds[VECTOR];
    struct lines components;
    struct lines procedures, special;
    int32_t special_set;
    int8_t has_parent, is_not_initialized, is_not_destroyed, is_not_finalized,
        is_assigned_by_components;
};

enum { GENRE_DATA = 1, GENRE_POINTER, GENRE_ALLOCATABLE, GENRE_AUTOMATIC };
enum {
    CATEGORY_INTEGER,
    CATEGORY_UNSIGNED,
    CATEGORY_REAL,
    CATEGORY_COMPLEX,
    CATEGORY_CHARACTER,
    CATEGORY_LOGICAL,
    CATEGORY_DERIVED,
};

struct value {
    int8_t genre; /* VALUE_EXPLICIT: a constant */
    int64_t value;
};
enum { VALUE_EXPLICIT = 2 };

struct component {
    char name[SCALAR];
    uint8_t genre, category, kind, rank;
    int64_t offset;
    struct value length;
    const struct derived *type;
    char type_rest[SCALAR + TYPED - 8], lengths[VECTOR + TYPED];
    const struct value *bounds; /* two of each dimension */
    char bounds_rest[MATRIX + TYPED - 8];
    const void *initial;
};

/* A procedure pointer among the components. */
struct procedure {
    char name[SCALAR];
    int64_t offset;
    void (*initial)(void);
};

_Static_assert(sizeof(struct derived) == 440, "as flang has it");
_Static_assert(sizeof(struct component) == 256, "as flang has it");
_Static_assert(sizeof(struct procedure) == 40, "as flang has it");

INLINE const struct component *components_of(const struct derived *type)
{
    return type->components.base;
}

INLINE int64_t components_in(const struct derived *type)
{
    return type->components.base ? type->components.dim.extent : 0;
}

/* A table of components names by a number what names the table again:
 * libompjit/passes/gpu/type_tables.c defines the function where there is any. */
const void *ompjit_fortran_table(uint64_t number);

INLINE const void *in_table(const void *value)
{
    enum { NUMBERS = 1 << 16 }; /* no address is as low */
    const uintptr_t number = (uintptr_t)value;
    return number && number < NUMBERS ? ompjit_fortran_table(number) : value;
}

/* The type of a component's elements; NULL: none is known. */
INLINE const struct derived *type_in(const struct component *c)
{
    return in_table(c->type);
}

/* The type that it extends; NULL: none. */
INLINE const struct derived *parent_of(const struct derived *type)
{
    return type->has_parent ? type_in(components_of(type)) : NULL;
}

/* The type of elements that own memory; NULL: a copy of their bytes is one. */
INLINE const struct derived *owner_type(const struct descriptor *a)
{
    const struct derived *type = type_of(a);
    return type && !type->is_not_destroyed ? type : NULL;
}

/* Each with n elements of `bytes` in a row.
 * Destroy: gives their allocatable components back.
 * Duplicate: gives copies of the bytes of others components of their own.
 * Initialize: gives components their first values.
 * Check: fails where the type of a component has an assignment of its own,
 * which a GPU does not call. */
struct elements {
    const struct derived *type;
    char *at;
    int64_t n, bytes;
    const char *file; /* for messages */
    int line;
};
void ompjit_fortran_destroy(const struct elements *e);
void ompjit_fortran_duplicate(const struct elements *e);
void ompjit_fortran_initialize(const struct elements *e);
void ompjit_fortran_check_assignment(const struct elements *e);

/* How many elements a component has that is no descriptor. */
int64_t ompjit_fortran_elements_in(const struct component *c);
#define elements_in ompjit_fortran_elements_in

/* The code of a component's type, and the bytes of one element; 0 where its
 * length is not known. */
int ompjit_fortran_type_code(const struct component *c);
size_t ompjit_fortran_element_bytes(const struct component *c);

#endif
