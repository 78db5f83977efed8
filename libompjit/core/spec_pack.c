/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What is folded into a build, as bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

/* A struct's new field needs a new line here. */
_Static_assert(sizeof(ompjit__spec) == 104 &&
                   offsetof(ompjit__spec, sizes) == 96,
               "a spec is passed on whole");

/* The values that `mask` says are there; bit i stands for values[i]. */
static void pack_values(uint64_t mask, const uint64_t *values, ompjit__buf *out)
{
    ompjit__pack_number(out, mask);
    for (; mask; mask &= mask - 1)
        ompjit__pack_number(out, values[__builtin_ctzll(mask)]);
}

static const uint64_t *unpack_values(ompjit__reader *r, uint64_t *mask)
{
    *mask = ompjit__read_number(r);
    uint64_t *values = *mask ? calloc(64, sizeof *values) : NULL;
    r->bad |= *mask && !values;
    for (uint64_t m = *mask; m && !r->bad; m &= m - 1)
        values[__builtin_ctzll(m)] = ompjit__read_number(r);
    return values;
}

static void pack_shape(const ompjit__shape *shape, ompjit__buf *out)
{
    ompjit__pack_bytes(out, shape, sizeof *shape);
}

static void unpack_shape(ompjit__reader *r, ompjit__shape *shape)
{
    size_t size;
    const void *bytes = ompjit__read_bytes(r, &size);
    if (size == sizeof *shape)
        memcpy(shape, bytes, size);
    else
        r->bad = true;
}

static void pack_contents(const ompjit__spec *spec, ompjit__buf *out)
{
    ompjit__pack_number(out, spec->ncontents);
    for (unsigned i = 0; i < spec->ncontents; i++) {
        ompjit__pack_number(out, spec->contents[i].param);
        ompjit__pack_bytes(out, spec->contents[i].bytes,
                           spec->contents[i].size);
    }
}

static void unpack_contents(ompjit__reader *r, ompjit__spec *spec)
{
    size_t n = ompjit__read_count(r), size;
    ompjit__contents *contents = n ? calloc(n, sizeof *contents) : NULL;
    r->bad |= n && !contents;
    for (size_t i = 0; i < n && !r->bad; i++) {
        contents[i].param = (unsigned)ompjit__read_number(r);
        contents[i].bytes = ompjit__read_bytes(r, &size);
        contents[i].size = (uint32_t)size;
    }
    spec->ncontents = (uint32_t)n;
    spec->contents = contents;
}

void ompjit__spec_pack(const ompjit__spec *spec, ompjit__buf *out)
{
    ompjit__pack_number(out, spec->threads);
    ompjit__pack_number(out, spec->teams);
    pack_shape(&spec->shape, out);
    ompjit__pack_string(out, spec->kernel ? spec->kernel : "");
    pack_values(spec->literal_mask, spec->literals, out);
    ompjit__pack_number(out, spec->aligned);
    ompjit__pack_number(out, spec->noalias);
    ompjit__pack_number(out, spec->import_globals);
    ompjit__pack_number(out, spec->residents);
    ompjit__pack_number(out, spec->ptx);
    pack_contents(spec, out);
    pack_values(spec->sized, spec->sizes, out);
}

bool ompjit__spec_unpack(ompjit__reader *r, ompjit__spec *out)
{
    ompjit__spec spec = {.threads = (uint32_t)ompjit__read_number(r),
                         .teams = (uint32_t)ompjit__read_number(r)};
    unpack_shape(r, &spec.shape);
    char *kernel = ompjit__read_string(r);
    spec.literals = unpack_values(r, &spec.literal_mask);
    spec.aligned = ompjit__read_number(r);
    spec.noalias = ompjit__read_number(r);
    spec.import_globals = ompjit__read_number(r);
    spec.residents = (uint32_t)ompjit__read_number(r);
    spec.ptx = (uint32_t)ompjit__read_number(r);
    unpack_contents(r, &spec);
    spec.sizes = unpack_values(r, &spec.sized);
    if (kernel && *kernel)
        spec.kernel = kernel;
    else
        free(kernel);
    if (r->bad)
        ompjit__spec_free(&spec);
    else
        *out = spec;
    return !r->bad;
}

void ompjit__spec_free(ompjit__spec *spec)
{
    free((char *)spec->kernel);
    free((uint64_t *)spec->literals);
    free((uint64_t *)spec->sizes);
    free((ompjit__contents *)spec->contents);
    *spec = (ompjit__spec){0};
}
