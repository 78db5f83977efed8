/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Components of derived types, on a GPU: their ends, copies and first values,
 * by flang's tables. Elements within elements wait in a list, since functions
 * that call themselves would give each kernel a stack of unknown size.
 */
#include "fortran_derived.h"

#ifdef __NVPTX__

/* Elements that wait, or, without a type, memory that is to be freed. */
struct work {
    struct work *next;
    struct elements elements;
};

static void push(struct work **list, const struct elements *like,
                 const struct derived *type, char *at, int64_t n, int64_t bytes)
{
    struct work *w = malloc(sizeof *w);
    if (!w)
        fail_at(like->file, like->line, "no memory for components");
    *w = (struct work){*list, *like};
    w->elements.type = type;
    w->elements.at = at;
    w->elements.n = n;
    w->elements.bytes = bytes;
    *list = w;
}

/* The next element on the list, of which `now` tells; NULL: there is none. The
 * caller's own elements are the list's last. */
static char *next_element(struct work **list, struct elements *now)
{
    while (*list) {
        struct work *w = *list;
        struct elements *e = &w->elements;
        if (e->type && e->n > 0) {
            char *at = e->at;
            *now = *e;
            e->at += e->bytes;
            e->n--;
            return at;
        }
        if (!e->type)
            free(e->at);
        *list = w->next;
        if (w->next)
            free(w);
    }
    return NULL;
}

static bool has_descriptor(const struct component *c)
{
    return c->genre != GENRE_DATA;
}

static bool is_allocatable(const struct component *c)
{
    return c->genre == GENRE_ALLOCATABLE || c->genre == GENRE_AUTOMATIC;
}

EXPORT NOINLINE int64_t elements_in(const struct component *c)
{
    int64_t n = 1;
    for (int i = 0; i < c->rank; i++) {
        const int64_t extent =
            c->bounds[2 * i + 1].value - c->bounds[2 * i].value + 1;
        n *= extent > 0 ? extent : 0;
    }
    return n;
}

/* Where there is no type with components of itself. */
WEAK const void *ompjit_fortran_table(uint64_t number)
{
    (void)number;
    return NULL;
}

/* The type of elements that are part of others'; NULL: of no type. */
static const struct derived *part_type(const struct component *c)
{
    return c->category == CATEGORY_DERIVED && !has_descriptor(c) ? type_in(c)
                                                                 : NULL;
}

/* Has the type, or one that it extends, one of these procedures? */
static bool has_special(const struct derived *type, int32_t set)
{
    while (type && !(type->special_set & set))
        type = parent_of(type);
    return type != NULL;
}

/* ------------------------------------------------------------- their ends */

static bool has_final(const struct derived *type)
{
    enum { FIRST_FINAL = 7 }; /* of elements; those of arrays follow */
    return has_special(type, ~((1 << FIRST_FINAL) - 1));
}

static void destroy_component(struct work **list, const struct elements *now,
                              const struct component *c, char *at)
{
    const struct derived *part = part_type(c);
    if (part && !part->is_not_destroyed)
        push(list, now, part, at, elements_in(c), part->bytes);
    if (!is_allocatable(c))
        return;
    struct descriptor *a = (struct descriptor *)at;
    const struct derived *type = a->base ? owner_type(a) : NULL;
    if (type) {
        push(list, now, NULL, a->base, 0, 0);
        push(list, now, type, a->base, count_of(a), (int64_t)a->element);
    } else {
        free(a->base);
    }
    a->base = NULL;
}

EXPORT NOINLINE void ompjit_fortran_destroy(const struct elements *e)
{
    struct work own = {NULL, *e}, *list = &own;
    struct elements now;
    for (char *at; (at = next_element(&list, &now));) {
        const struct component *c = components_of(now.type);
        if (!now.type->is_not_finalized && has_final(now.type))
            fail_at(e->file, e->line, "a GPU does not finalize objects");
        for (int64_t i = 0; i < components_in(now.type); i++)
            destroy_component(&list, &now, &c[i], at + c[i].offset);
    }
}

/* ------------------------------------------------------------ their copies */

static void duplicate_component(struct work **list, const struct elements *now,
                                const struct component *c, char *at)
{
    const struct derived *part = part_type(c);
    if (part && !part->is_not_destroyed)
        push(list, now, part, at, elements_in(c), part->bytes);
    if (!is_allocatable(c))
        return;
    struct descriptor *a = (struct descriptor *)at;
    const char *from = a->base;
    if (!from)
        return;
    const int64_t n = count_of(a);
    const struct derived *type = owner_type(a);
    allocate_result(a, now->file, now->line);
    __builtin_memcpy(a->base, from, (size_t)n * a->element);
    if (type)
        push(list, now, type, a->base, n, (int64_t)a->element);
}

EXPORT NOINLINE void ompjit_fortran_duplicate(const struct elements *e)
{
    struct work own = {NULL, *e}, *list = &own;
    struct elements now;
    for (char *at; (at = next_element(&list, &now));) {
        const struct component *c = components_of(now.type);
        for (int64_t i = 0; i < components_in(now.type); i++)
            duplicate_component(&list, &now, &c[i], at + c[i].offset);
    }
}

/* ------------------------------------------------------- their assignments */

static bool has_assignment(const struct derived *type)
{
    enum { SCALAR_ASSIGNMENT = 1 << 1, ELEMENTAL_ASSIGNMENT = 1 << 2 };
    return has_special(type, SCALAR_ASSIGNMENT | ELEMENTAL_ASSIGNMENT);
}

static void check_component(struct work **list, const struct elements *now,
                            const struct component *c, char *at)
{
    const struct descriptor *a = (const struct descriptor *)at;
    const struct derived *type;
    int64_t n, bytes;
    if (is_allocatable(c)) {
        type = a->base ? type_of(a) : NULL;
        n = type ? count_of(a) : 0;
        bytes = (int64_t)a->element;
        at = a->base;
    } else {
        type = part_type(c);
        n = type ? elements_in(c) : 0;
        bytes = type ? type->bytes : 0;
    }
    if (has_assignment(type))
        fail_at(now->file, now->line,
                "a GPU does not call the assignments of components' types");
    if (type && !type->is_assigned_by_components)
        push(list, now, type, at, n, bytes);
}

EXPORT NOINLINE void ompjit_fortran_check_assignment(const struct elements *e)
{
    struct work own = {NULL, *e}, *list = &own;
    struct elements now;
    for (char *at; (at = next_element(&list, &now));) {
        const struct component *c = components_of(now.type);
        for (int64_t i = 0; i < components_in(now.type); i++)
            check_component(&list, &now, &c[i], at + c[i].offset);
    }
}

/* ------------------------------------------------------------ first values */

EXPORT NOINLINE int ompjit_fortran_type_code(const struct component *c)
{
    const int k = c->kind;
    switch (c->category) {
    case CATEGORY_INTEGER:
        return k == 1   ? TYPE_INTEGER1
               : k == 2 ? TYPE_INTEGER2
               : k == 4 ? TYPE_INTEGER4
               : k == 8 ? TYPE_INTEGER8
                        : TYPE_INTEGER16;
    case CATEGORY_REAL: return k == 4 ? TYPE_REAL4 : TYPE_REAL8;
    case CATEGORY_COMPLEX: return k == 4 ? TYPE_COMPLEX4 : TYPE_COMPLEX8;
    case CATEGORY_CHARACTER: return TYPE_CHARACTER;
    case CATEGORY_LOGICAL:
        return k == 1   ? TYPE_LOGICAL1
               : k == 2 ? TYPE_LOGICAL2
               : k == 4 ? TYPE_LOGICAL4
                        : TYPE_LOGICAL8;
    default: return TYPE_DERIVED;
    }
}

EXPORT NOINLINE size_t ompjit_fortran_element_bytes(const struct component *c)
{
    if (c->category == CATEGORY_CHARACTER)
        return c->length.genre == VALUE_EXPLICIT
                   ? (size_t)c->length.value * c->kind
                   : 0;
    if (c->category == CATEGORY_DERIVED)
        return type_in(c) ? (size_t)type_in(c)->bytes : 0;
    return (size_t)c->kind * (c->category == CATEGORY_COMPLEX ? 2 : 1);
}

static size_t bytes_of(const struct component *c)
{
    if (!has_descriptor(c))
        return (size_t)elements_in(c) * ompjit_fortran_element_bytes(c);
    return offsetof(struct descriptor, dims) +
           c->rank * sizeof(struct dimension) +
           (c->category == CATEGORY_DERIVED ? 2 * sizeof(int64_t) : 0);
}

/* A descriptor with nothing. */
static void establish_component(const struct component *c, char *at)
{
    struct descriptor *a = (struct descriptor *)at;
    establish(a, ompjit_fortran_type_code(c),
              ompjit_fortran_element_bytes(c), c->rank);
    a->attribute = is_allocatable(c) ? IS_ALLOCATABLE : IS_POINTER;
    for (int i = 0; i < c->rank; i++)
        a->dims[i] = (struct dimension){1, 0, 0};
    if (c->category == CATEGORY_DERIVED) {
        a->extra = HAS_TYPE;
        *(const void **)&a->dims[c->rank] = type_in(c);
    }
}

static void initialize_component(struct work **list, const struct elements *now,
                                 const struct component *c, char *at)
{
    const struct derived *part = part_type(c);
    if (!is_allocatable(c) && c->initial)
        __builtin_memcpy(at, in_table(c->initial), bytes_of(c));
    else if (has_descriptor(c))
        establish_component(c, at);
    else if (part && !part->is_not_initialized)
        push(list, now, part, at, elements_in(c), part->bytes);
}

EXPORT NOINLINE void ompjit_fortran_initialize(const struct elements *e)
{
    struct work own = {NULL, *e}, *list = &own;
    struct elements now;
    for (char *at; (at = next_element(&list, &now));) {
        const struct component *c = components_of(now.type);
        const struct lines *procedures = &now.type->procedures;
        const struct procedure *p = procedures->base;
        for (int64_t i = 0; i < components_in(now.type); i++)
            initialize_component(&list, &now, &c[i], at + c[i].offset);
        for (int64_t i = 0; p && i < procedures->dim.extent; i++)
            *(void (**)(void))(at + p[i].offset) = p[i].initial;
    }
}

#endif
