/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * REDUCE of flang's runtime library, by a function of the program's, for a GPU:
 * of integers and real numbers, whole arrays and along a dimension. The function
 * has its arguments by reference or, where they have VALUE, as they are.
 */
#include "fortran_lines.h"

#ifdef __NVPTX__

static _Noreturn void fail_without(const char *file, int line)
{
    fail_at(file, line, "REDUCE of no elements needs IDENTITY=");
}

/* name: of the type; BY_REF and BY_VALUE are how `f` takes two of them. */
#define BY_REF(t) t (*f)(const t *, const t *)
#define BY_VALUE(t) t (*f)(t, t)
#define CALL_REF(x, y) f(&(x), &(y))
#define CALL_VALUE(x, y) f(x, y)

#define REDUCE(name, t, how, TAKES, CALL)                                      \
    static t one_##name##how(const struct line *l, TAKES(t),                   \
                             const t *identity, const char *file, int line)    \
    {                                                                          \
        struct place p, m;                                                     \
        bool any = false;                                                      \
        t r = 0;                                                               \
        for (EACH(l, p, m)) {                                                  \
            const t x = *(const t *)p.at;                                      \
            r = any ? CALL(r, x) : x;                                          \
            any = true;                                                        \
        }                                                                      \
        if (!any && !identity)                                                 \
            fail_without(file, line);                                          \
        return any ? r : *identity;                                            \
    }                                                                          \
    EXPORT t _FortranAReduce##name##how(                                       \
        const struct descriptor *a, TAKES(t), const char *file, int line,      \
        int dim, const struct descriptor *mask, const t *identity,             \
        bool ordered)                                                          \
    {                                                                          \
        struct line l;                                                         \
        start_line(&l, a, mask, -1);                                           \
        return one_##name##how(&l, f, identity, file, line);                   \
    }                                                                          \
    EXPORT void _FortranAReduce##name##Dim##how(                               \
        struct descriptor *result, const struct descriptor *a, TAKES(t),       \
        const char *file, int line, int dim, const struct descriptor *mask,    \
        const t *identity, bool ordered)                                       \
    {                                                                          \
        struct line l;                                                         \
        establish_lines(result, a->type, a->element, a, dim, file, line);      \
        start_line(&l, a, mask, dim - 1);                                      \
        t *to = (t *)result->base;                                             \
        for (int64_t n = count_of(result); n; n--, to++) {                     \
            *to = one_##name##how(&l, f, identity, file, line);                \
            if (l.p.at)                                                        \
                next_line(&l);                                                 \
        }                                                                      \
    }
#define REDUCES(name, t)                                                       \
    REDUCE(name, t, Ref, BY_REF, CALL_REF)                                     \
    REDUCE(name, t, Value, BY_VALUE, CALL_VALUE)

REDUCES(Integer1, int8_t)
REDUCES(Integer2, int16_t)
REDUCES(Integer4, int32_t)
REDUCES(Integer8, int64_t)
REDUCES(Real4, float)
REDUCES(Real8, double)

#endif
