/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Types of polymorphic objects, on a GPU: SELECT TYPE, SAME_TYPE_AS and
 * EXTENDS_TYPE_OF, and which type an object has before and after its memory.
 */
#include "fortran_derived.h"

#ifdef __NVPTX__

enum { TYPE_NONE = 255 }; /* of class(*) without a value */

static bool is_or_extends(const struct derived *type,
                          const struct derived *other)
{
    while (type && type != other)
        type = parent_of(type);
    return type != NULL;
}

EXPORT bool _FortranAClassIs(const struct descriptor *a,
                             const struct derived *type)
{
    return is_or_extends(type_of(a), type);
}

EXPORT bool _FortranASameTypeAs(const struct descriptor *a,
                                const struct descriptor *b)
{
    return a->type == b->type && a->type != TYPE_NONE &&
           type_of(a) == type_of(b);
}

EXPORT bool _FortranAExtendsTypeOf(const struct descriptor *a,
                                   const struct descriptor *mold)
{
    if (mold->type == TYPE_NONE)
        return true;
    return a->type == TYPE_DERIVED && mold->type == TYPE_DERIVED &&
           is_or_extends(type_of(a), type_of(mold));
}

static void set_type(struct descriptor *a, const struct derived *type)
{
    if (a->extra & HAS_TYPE)
        *(const void **)&a->dims[a->rank] = type;
}

/* With the type that ALLOCATE names, for objects without memory. */
static void establish_derived(struct descriptor *a, const struct derived *type,
                              int rank, int attribute)
{
    establish(a, TYPE_DERIVED, (size_t)type->bytes, rank);
    a->attribute = (uint8_t)attribute;
    a->extra = HAS_TYPE;
    set_type(a, type);
}

static bool has_memory(const struct descriptor *a)
{
    return a->attribute == IS_ALLOCATABLE && a->base;
}

EXPORT void _FortranAAllocatableInitDerivedForAllocate(
    struct descriptor *a, const struct derived *type, int rank, int corank)
{
    if (!has_memory(a))
        establish_derived(a, type, rank, IS_ALLOCATABLE);
}

EXPORT void _FortranAPointerNullifyDerived(struct descriptor *a,
                                           const struct derived *type, int rank,
                                           int corank)
{
    establish_derived(a, type, rank, IS_POINTER);
}

static void establish_intrinsic(struct descriptor *a, int category, int kind,
                                size_t length, int rank, int attribute)
{
    const uint8_t extra = a->extra & HAS_TYPE;
    const struct component like = {.category = (uint8_t)category,
                                   .kind = (uint8_t)kind,
                                   .length = {VALUE_EXPLICIT, (int64_t)length}};
    establish(a, ompjit_fortran_type_code(&like),
              ompjit_fortran_element_bytes(&like), rank);
    a->attribute = (uint8_t)attribute;
    a->extra = extra;
    set_type(a, NULL);
}

EXPORT void _FortranAAllocatableInitIntrinsicForAllocate(struct descriptor *a,
                                                         int category, int kind,
                                                         int rank, int corank)
{
    if (!has_memory(a))
        establish_intrinsic(a, category, kind, 0, rank, IS_ALLOCATABLE);
}

EXPORT void _FortranAAllocatableInitCharacterForAllocate(struct descriptor *a,
                                                         int64_t length,
                                                         int kind, int rank,
                                                         int corank)
{
    if (!has_memory(a))
        establish_intrinsic(a, CATEGORY_CHARACTER, kind, (size_t)length, rank,
                            IS_ALLOCATABLE);
}

EXPORT void _FortranAPointerNullifyIntrinsic(struct descriptor *a, int category,
                                             int kind, int rank, int corank)
{
    establish_intrinsic(a, category, kind, 0, rank, IS_POINTER);
}

EXPORT void _FortranAPointerNullifyCharacter(struct descriptor *a,
                                             int64_t length, int kind, int rank,
                                             int corank)
{
    establish_intrinsic(a, CATEGORY_CHARACTER, kind, (size_t)length, rank,
                        IS_POINTER);
}

/* ------------------------------------------------------------- DEALLOCATE */

/* Behind it the object has its declared type again; NULL: class(*). */
#define DEALLOCATE(name)                                                       \
    int _FortranA##name##Deallocate(struct descriptor *a, bool has_stat,       \
                                    const struct descriptor *text,             \
                                    const char *file, int line);               \
    EXPORT int _FortranA##name##DeallocatePolymorphic(                         \
        struct descriptor *a, const struct derived *type, bool has_stat,       \
        const struct descriptor *text, const char *file, int line)             \
    {                                                                          \
        const int stat =                                                       \
            _FortranA##name##Deallocate(a, has_stat, text, file, line);        \
        if (!stat) {                                                           \
            set_type(a, type);                                                 \
            a->type = type ? TYPE_DERIVED : TYPE_NONE;                         \
        }                                                                      \
        return stat;                                                           \
    }

DEALLOCATE(Allocatable)
DEALLOCATE(Pointer)

#endif
