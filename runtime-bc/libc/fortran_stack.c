/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stacks of flang's runtime library, for a GPU: what a FORALL or a WHERE needs
 * before it assigns, as descriptors or as copies of values. And descriptors that
 * are like others.
 */
#include "fortran_derived.h"

#ifdef __NVPTX__

static size_t descriptor_bytes(const struct descriptor *a)
{
    return offsetof(struct descriptor, dims) +
           a->rank * sizeof(struct dimension) +
           (a->extra & HAS_TYPE ? 2 * sizeof(int64_t) : 0);
}

static void copy_descriptor(struct descriptor *to,
                            const struct descriptor *from)
{
    __builtin_memcpy(to, from, descriptor_bytes(from));
}

/* A descriptor with another type, attribute and lower bounds. */
EXPORT void _FortranACopyAndUpdateDescriptor(struct descriptor *to,
                                             const struct descriptor *from,
                                             const struct derived *type,
                                             uint8_t attribute, int bounds)
{
    enum { KEEP, ONES };
    copy_descriptor(to, from);
    if (type) {
        *(const void **)&to->dims[to->rank] = type;
        to->element = (size_t)type->bytes;
    }
    to->attribute = attribute;
    for (int i = 0; bounds != KEEP && i < to->rank; i++)
        to->dims[i].lower = bounds == ONES;
}

/* -------------------------------------------------------------------- stacks */

struct stack {
    struct descriptor **all;
    uint64_t n;
    const char *file;
    int line;
};

static void *new_stack(const char *file, int line)
{
    struct stack *s = malloc(sizeof *s);
    if (!s)
        fail_at(file, line, "no memory for values");
    *s = (struct stack){NULL, 0, file, line};
    return s;
}

/* A descriptor like `from`, on the stack. */
static struct descriptor *push(struct stack *s, const struct descriptor *from)
{
    if (!(s->n & (s->n - 1))) {
        const uint64_t room = s->n ? 2 * s->n : 1;
        struct descriptor **grown = malloc(room * sizeof(*grown));
        if (!grown)
            fail_at(s->file, s->line, "no memory for values");
        if (s->n)
            __builtin_memcpy(grown, s->all, s->n * sizeof(*grown));
        free(s->all);
        s->all = grown;
    }
    struct descriptor *a = malloc(descriptor_bytes(from));
    if (!a)
        fail_at(s->file, s->line, "no memory for values");
    copy_descriptor(a, from);
    s->all[s->n++] = a;
    return a;
}

static void at(const struct stack *s, uint64_t i, struct descriptor *out)
{
    if (i >= s->n)
        fail_at(s->file, s->line, "a stack of values has too few");
    copy_descriptor(out, s->all[i]);
}

static void destroy(struct stack *s, bool values)
{
    for (uint64_t i = 0; i < s->n; i++) {
        if (values)
            free(s->all[i]->base);
        free(s->all[i]);
    }
    free(s->all);
    free(s);
}

EXPORT void *_FortranACreateDescriptorStack(const char *file, int line)
{
    return new_stack(file, line);
}

EXPORT void _FortranAPushDescriptor(void *s, const struct descriptor *a)
{
    push(s, a);
}

EXPORT void _FortranADescriptorAt(void *s, uint64_t i, struct descriptor *out)
{
    at(s, i, out);
}

EXPORT void _FortranADestroyDescriptorStack(void *s)
{
    destroy(s, false);
}

EXPORT void *_FortranACreateValueStack(const char *file, int line)
{
    return new_stack(file, line);
}

/* Copies of the elements' bytes, one behind the other. */
EXPORT void _FortranAPushValue(void *stack, const struct descriptor *from)
{
    struct stack *s = stack;
    struct descriptor *a = push(s, from);
    struct place p;
    allocate_result(a, s->file, s->line);
    char *to = a->base;
    for (begin(&p, from); p.at; next(&p, from), to += a->element)
        copy_element(to, p.at, a->element);
}

EXPORT void _FortranAValueAt(void *s, uint64_t i, struct descriptor *out)
{
    at(s, i, out);
}

EXPORT void _FortranADestroyValueStack(void *s)
{
    destroy(s, true);
}

#endif
