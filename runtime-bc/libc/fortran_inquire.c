/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Inquiries of flang's runtime library about descriptors, for a GPU: IS_CONTIGUOUS,
 * ASSOCIATED, SIZE, SHAPE, LBOUND and UBOUND.
 */
#include "fortran.h"

#ifdef __NVPTX__

EXPORT bool _FortranAIsContiguous(const struct descriptor *a)
{
    int64_t bytes = (int64_t)a->element;
    bool contiguous = true;
    for (int i = 0; i < a->rank; i++) {
        contiguous &= a->dims[i].extent == 1 || a->dims[i].stride == bytes;
        bytes *= a->dims[i].extent;
    }
    return contiguous || bytes == 0;
}

EXPORT bool _FortranAPointerIsAssociated(const struct descriptor *p)
{
    return p->base != NULL;
}

EXPORT bool _FortranAPointerIsAssociatedWith(const struct descriptor *p,
                                             const struct descriptor *target)
{
    if (!target)
        return p->base != NULL;
    bool same = has_elements(p) && p->element > 0 && p->base == target->base &&
                p->element == target->element && p->rank == target->rank;
    for (int i = 0; same && i < p->rank; i++)
        same = p->dims[i].extent == target->dims[i].extent &&
               (p->dims[i].extent == 1 ||
                p->dims[i].stride == target->dims[i].stride);
    return same;
}

static const struct dimension *dimension_of(const struct descriptor *a, int dim,
                                            const char *file, int line)
{
    if (dim < 1 || dim > a->rank)
        fail_at(file, line, "DIM= names no dimension of the array");
    return &a->dims[dim - 1];
}

EXPORT int64_t _FortranASizeDim(const struct descriptor *a, int dim,
                                const char *file, int line)
{
    return dimension_of(a, dim, file, line)->extent;
}

EXPORT int64_t _FortranALboundDim(const struct descriptor *a, int dim,
                                  const char *file, int line)
{
    return dimension_of(a, dim, file, line)->lower;
}

EXPORT int64_t _FortranASize(const struct descriptor *a, const char *file,
                             int line)
{
    return count_of(a);
}

EXPORT void _FortranAShape(char *result, const struct descriptor *a, int kind,
                           const char *file, int line)
{
    for (int i = 0; i < a->rank; i++)
        put_integer(result + i * kind, (size_t)kind, a->dims[i].extent);
}

EXPORT void _FortranALbound(char *result, const struct descriptor *a, int kind,
                            const char *file, int line)
{
    for (int i = 0; i < a->rank; i++)
        put_integer(result + i * kind, (size_t)kind, a->dims[i].lower);
}

EXPORT void _FortranAUbound(char *result, const struct descriptor *a, int kind,
                            const char *file, int line)
{
    for (int i = 0; i < a->rank; i++)
        put_integer(result + i * kind, (size_t)kind,
                    a->dims[i].lower + a->dims[i].extent - 1);
}

#endif
