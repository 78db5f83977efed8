/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For a GPU, what flang calls its library for where it knows too little of the
 * shapes: assignments of arrays and to allocatable variables, ALLOCATE and
 * DEALLOCATE, copies of arguments, and array constructors.
 */
#include "fortran_derived.h"

#ifdef __NVPTX__

static size_t size_in_bytes(const struct descriptor *a)
{
    return offsetof(struct descriptor, dims) +
           a->rank * sizeof(struct dimension) +
           (a->extra & HAS_TYPE ? 2 * sizeof(int64_t) : 0);
}

/* The bytes from *least to *most, of the address `base`, have all elements. */
static void range_of(const struct descriptor *a, intptr_t *least,
                     intptr_t *most)
{
    *least = *most = (intptr_t)a->base;
    for (int i = 0; i < a->rank; i++) {
        const int64_t far = (a->dims[i].extent - 1) * a->dims[i].stride;
        *least += far < 0 ? far : 0;
        *most += far > 0 ? far : 0;
    }
    *most += (intptr_t)a->element;
}

static bool may_overlap(const struct descriptor *x, const struct descriptor *y)
{
    intptr_t xleast, xmost, yleast, ymost;
    if (!has_elements(x) || !has_elements(y))
        return false;
    range_of(x, &xleast, &xmost);
    range_of(y, &yleast, &ymost);
    return xleast < ymost && yleast < xmost;
}

struct from {
    const char *file;
    int line;
};

/* Characters are cut, or have blanks behind them. */
static void assign_element(const struct descriptor *to, char *at,
                           const struct descriptor *from, const char *value,
                           const struct from *place)
{
    const struct derived *type = owner_type(to);
    if (to->element > from->element) {
        if (to->type != TYPE_CHARACTER)
            fail_at(place->file, place->line,
                    "an assignment of elements of another size");
        __builtin_memcpy(at, value, from->element);
        __builtin_memset(at + from->element, ' ', to->element - from->element);
        return;
    }
    const struct elements one = {type, at, 1, 0, place->file, place->line};
    if (type)
        ompjit_fortran_destroy(&one);
    copy_element(at, value, to->element);
    if (type)
        ompjit_fortran_duplicate(&one);
}

/* Between arrays that do not overlap, and have their memory. */
static void assign_elements(const struct descriptor *to,
                            const struct descriptor *from,
                            const struct from *place)
{
    struct place p, q;
    const struct derived *type = type_of(to);
    struct elements one = {type, NULL, 1, 0, place->file, place->line};
    const bool is_checked = type && !type->is_assigned_by_components;
    if (from->rank && count_of(to) != count_of(from))
        fail_at(place->file, place->line,
                "an assignment of another number of elements");
    begin(&q, from);
    for (begin(&p, to); p.at; next(&p, to)) {
        one.at = q.at;
        if (is_checked)
            ompjit_fortran_check_assignment(&one);
        assign_element(to, p.at, from, q.at, place);
        next_or_same(&q, from);
    }
}

static void set_bounds(struct dimension *dim, int64_t lower, int64_t upper)
{
    dim->extent = upper < lower ? 0 : upper - lower + 1;
    dim->lower = upper < lower ? 1 : lower;
}

static void destroy(const struct descriptor *a, const struct from *place)
{
    struct place p;
    struct elements one = {owner_type(a), NULL, 1, 0, place->file, place->line};
    for (begin(&p, a); one.type && p.at; next(&p, a)) {
        one.at = p.at;
        ompjit_fortran_destroy(&one);
    }
}

/* First values of components; `type` is the elements' one. */
static void initialize(const struct descriptor *a, const struct derived *type,
                       const struct from *place)
{
    struct place p;
    struct elements one = {type, NULL, 1, 0, place->file, place->line};
    if (!type || type->is_not_initialized)
        return;
    for (begin(&p, a); p.at; next(&p, a)) {
        one.at = p.at;
        ompjit_fortran_initialize(&one);
    }
}

static void deallocate(struct descriptor *a, const struct from *place)
{
    destroy(a, place);
    free(a->base);
    a->base = NULL;
}

/* With nothing in components that own memory. */
static void clear(const struct descriptor *a)
{
    if (owner_type(a))
        __builtin_memset(a->base, 0, (size_t)count_of(a) * a->element);
}

static bool has_other_shape(const struct descriptor *to,
                            const struct descriptor *from)
{
    bool other = false;
    for (int i = 0; from->rank && i < to->rank; i++)
        other |= to->dims[i].extent != from->dims[i].extent;
    return other;
}

/* Gives an object without memory the dynamic type of another one. */
static void take_type(struct descriptor *a, const struct descriptor *from)
{
    a->element = from->element;
    a->type = from->type;
    if (a->extra & HAS_TYPE)
        *(const void **)&a->dims[a->rank] = type_of(from);
}

/* Gives an allocatable variable memory for what it is to have. */
static void allocate_for(struct descriptor *to, const struct descriptor *from,
                         bool keeps_length, const struct from *place)
{
    if (from->rank && to->rank != from->rank)
        fail_at(place->file, place->line, "an assignment of another rank");
    if (!keeps_length)
        to->element = from->element;
    for (int i = 0; i < from->rank; i++) {
        const struct dimension *d = &from->dims[i];
        set_bounds(&to->dims[i], d->lower, d->lower + d->extent - 1);
    }
    allocate_result(to, place->file, place->line);
    clear(to);
}

static void assign(struct descriptor *to, const struct descriptor *from,
                   bool reallocates, bool keeps_length,
                   const struct from *place)
{
    struct descriptor old, copy;
    bool is_new = false, is_copied = false;
    if (to->type != from->type)
        fail_at(place->file, place->line, "an assignment of another type");
    if (reallocates && to->attribute == IS_ALLOCATABLE) {
        is_new = !to->base || has_other_shape(to, from) ||
                 (!keeps_length && to->element != from->element);
        if (is_new) {
            /* Its elements may be those that are assigned. */
            __builtin_memcpy(&old, to, size_in_bytes(to));
            allocate_for(to, from, keeps_length, place);
        }
    }
    if (may_overlap(to, from)) {
        __builtin_memcpy(&copy, from, size_in_bytes(from));
        allocate_result(&copy, place->file, place->line);
        clear(&copy);
        assign_elements(&copy, from, place);
        from = &copy;
        is_copied = true;
    }
    assign_elements(to, from, place);
    if (is_copied)
        deallocate(&copy, place);
    if (is_new && old.base)
        deallocate(&old, place);
}

EXPORT void _FortranAAssign(struct descriptor *to,
                            const struct descriptor *from, const char *file,
                            int line)
{
    const struct from place = {file, line};
    assign(to, from, true, false, &place);
}

/* To a class: the variable has the other one's type then. */
EXPORT void _FortranAAssignPolymorphic(struct descriptor *to,
                                       const struct descriptor *from,
                                       const char *file, int line)
{
    const struct from place = {file, line};
    if (to->attribute == IS_ALLOCATABLE &&
        (to->type != from->type || type_of(to) != type_of(from))) {
        struct descriptor old;
        __builtin_memcpy(&old, to, size_in_bytes(to));
        to->base = NULL;
        take_type(to, from);
        assign(to, from, true, false, &place);
        if (old.base)
            deallocate(&old, &place);
        return;
    }
    assign(to, from, true, false, &place);
}

EXPORT void _FortranAAssignTemporary(struct descriptor *to,
                                     const struct descriptor *from,
                                     const char *file, int line)
{
    const struct from place = {file, line};
    assign(to, from, true, false, &place);
}

EXPORT void _FortranAAssignExplicitLengthCharacter(
    struct descriptor *to, const struct descriptor *from, const char *file,
    int line)
{
    const struct from place = {file, line};
    assign(to, from, true, true, &place);
}

/* A copy of an argument that is passed as elements in a row. */
EXPORT void _FortranACopyInAssign(struct descriptor *copy,
                                  const struct descriptor *from,
                                  const char *file, int line)
{
    const struct from place = {file, line};
    __builtin_memcpy(copy, from, size_in_bytes(from));
    copy->base = NULL;
    copy->attribute = IS_ALLOCATABLE;
    assign(copy, from, true, false, &place);
}

/* Gives it back; NULL: the argument stays as it is. */
EXPORT void _FortranACopyOutAssign(struct descriptor *to,
                                   struct descriptor *copy, const char *file,
                                   int line)
{
    const struct from place = {file, line};
    if (to)
        assign(to, copy, false, false, &place);
    deallocate(copy, &place);
}

EXPORT void _FortranADestroy(const struct descriptor *a)
{
    const struct from place = {"", 0};
    destroy(a, &place);
}

EXPORT void _FortranAInitialize(const struct descriptor *a, const char *file,
                                int line)
{
    const struct from place = {file, line};
    initialize(a, type_of(a), &place);
}

/* ------------------------------------------------ allocatables and pointers */

/* The numbers that ISO_Fortran_binding.h gives STAT=. */
enum { IS_NULL = 11, IS_NOT_NULL = 12, NO_MEMORY = 19 };

static const char *text_of(int stat)
{
    return stat == IS_NULL       ? "Base address is null"
           : stat == IS_NOT_NULL ? "Base address is not null"
                                 : "Memory allocation failed";
}

struct outcome {
    bool has_stat;
    const struct descriptor *text; /* ERRMSG=, or NULL */
    struct from place;
};

static int told(int stat, const struct outcome *o)
{
    if (stat && !o->has_stat)
        fail_at(o->place.file, o->place.line, text_of(stat));
    if (stat && o->text && o->text->base) {
        const char *text = text_of(stat);
        for (size_t i = 0; i < o->text->element; i++) {
            o->text->base[i] = *text ? *text : ' ';
            text += *text != 0;
        }
    }
    return stat;
}

static int allocate(struct descriptor *a, const struct descriptor *source,
                    const struct outcome *o)
{
    if (a->attribute == IS_ALLOCATABLE && a->base)
        return told(IS_NOT_NULL, o);
    char *memory = memory_for(a);
    if (!memory)
        return told(NO_MEMORY, o);
    a->base = memory;
    if (source) {
        clear(a);
        assign(a, source, false, false, &o->place);
    } else {
        initialize(a, type_of(a), &o->place);
    }
    return 0;
}

static int release(struct descriptor *a, const struct outcome *o)
{
    if (!a->base)
        return told(IS_NULL, o);
    deallocate(a, &o->place);
    return 0;
}

/* Allocatables and pointers do the same, but that the ALLOCATE of an
 * allocatable that is allocated changes nothing. */
#define OBJECTS(name, async)                                                   \
    EXPORT void _FortranA##name##SetBounds(struct descriptor *a, int dim,      \
                                           int64_t lower, int64_t upper)       \
    {                                                                          \
        if (a->attribute != IS_ALLOCATABLE || !a->base)                        \
            set_bounds(&a->dims[dim], lower, upper);                           \
    }                                                                          \
    EXPORT void _FortranA##name##ApplyMold(                                    \
        struct descriptor *a, const struct descriptor *mold, int rank)         \
    {                                                                          \
        if (a->attribute == IS_ALLOCATABLE && a->base)                         \
            return;                                                            \
        take_type(a, mold);                                                    \
        for (int i = 0; i < rank; i++)                                         \
            a->dims[i] = mold->dims[i];                                        \
    }                                                                          \
    EXPORT int _FortranA##name##Allocate(                                      \
        struct descriptor *a, async bool has_stat,                             \
        const struct descriptor *text, const char *file, int line, void *copy) \
    {                                                                          \
        const struct outcome o = {has_stat, text, {file, line}};               \
        return allocate(a, NULL, &o);                                          \
    }                                                                          \
    EXPORT int _FortranA##name##AllocateSource(                                \
        struct descriptor *a, const struct descriptor *source, bool has_stat,  \
        const struct descriptor *text, const char *file, int line)             \
    {                                                                          \
        const struct outcome o = {has_stat, text, {file, line}};               \
        return allocate(a, source, &o);                                        \
    }                                                                          \
    EXPORT int _FortranA##name##Deallocate(                                    \
        struct descriptor *a, bool has_stat, const struct descriptor *text,    \
        const char *file, int line)                                            \
    {                                                                          \
        const struct outcome o = {has_stat, text, {file, line}};               \
        return release(a, &o);                                                 \
    }

#define STREAM int64_t *stream,
OBJECTS(Allocatable, STREAM)
OBJECTS(Pointer, )

EXPORT int _FortranAMoveAlloc(struct descriptor *to, struct descriptor *from,
                              const void *type, bool has_stat,
                              const struct descriptor *text, const char *file,
                              int line)
{
    const struct from place = {file, line};
    if (to == from)
        fail_at(file, line, "MOVE_ALLOC of a variable to itself");
    if (to->base)
        deallocate(to, &place);
    if (from->base)
        __builtin_memcpy(to, from, size_in_bytes(from));
    from->base = NULL;
    return 0;
}

/* ------------------------------------------------------ array constructors */

/* As flang reserves it in the caller's frame. */
struct constructor {
    struct descriptor *to;
    int64_t used, capacity; /* elements */
    const char *file;
    int line;
    bool takes_length; /* characters' from the first value */
};

EXPORT void _FortranAInitArrayConstructorVector(struct constructor *c,
                                                struct descriptor *to,
                                                bool takes_length,
                                                const char *file, int line)
{
    c->to = to;
    c->used = 0;
    c->capacity = to->base ? count_of(to) : 0;
    c->file = file;
    c->line = line;
    c->takes_length = takes_length;
}

/* Memory for n more. An array whose size was known before has all of it, as
 * soon as the length of its elements is known. */
static void reserve(struct constructor *c, int64_t n)
{
    enum { FEWEST = 16 };
    struct descriptor *to = c->to;
    const int64_t needed = c->used + n;
    int64_t most = needed > 2 * c->capacity ? needed : 2 * c->capacity;
    if (!to->base && to->dims[0].extent > most)
        most = to->dims[0].extent;
    if (needed > c->capacity || !to->base) {
        const size_t bytes =
            (size_t)(most < FEWEST ? FEWEST : most) * to->element;
        char *memory = malloc(bytes ? bytes : 1);
        if (!memory)
            fail_at(c->file, c->line, "no memory for an array constructor");
        if (to->base)
            __builtin_memcpy(memory, to->base, (size_t)c->used * to->element);
        free(to->base);
        to->base = memory;
        c->capacity = most < FEWEST ? FEWEST : most;
    }
    if (to->dims[0].extent < needed)
        set_bounds(&to->dims[0], 1, needed);
    to->dims[0].stride = (int64_t)to->element;
}

EXPORT void _FortranAPushArrayConstructorValue(struct constructor *c,
                                               const struct descriptor *value)
{
    struct descriptor *to = c->to;
    struct place p;
    const struct from place = {c->file, c->line};
    const int64_t n = count_of(value);
    if (owner_type(value))
        fail_at(c->file, c->line, "a GPU has no array constructors of types "
                                  "with allocatable components");
    if (c->takes_length && to->type == TYPE_CHARACTER) {
        if (!to->base)
            to->element = value->element;
        else if (to->element != value->element)
            fail_at(c->file, c->line,
                    "characters of an array constructor have two lengths");
    }
    reserve(c, n);
    char *at = to->base + c->used * (int64_t)to->element;
    for (begin(&p, value); p.at; next(&p, value), at += to->element)
        assign_element(to, at, value, p.at, &place);
    c->used += n;
}

EXPORT void _FortranAPushArrayConstructorSimpleScalar(struct constructor *c,
                                                      const char *value)
{
    reserve(c, 1);
    copy_element(c->to->base + c->used * (int64_t)c->to->element, value,
                 c->to->element);
    c->used++;
}

#endif
