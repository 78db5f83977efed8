/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Packs the facts that a build depends on into bytes.
 */
#include <stdlib.h>

#include "core/core.h"

void ompjit__spec_pack(const ompjit__spec *spec, ompjit__buf *out)
{
    ompjit__pack_string(out, spec->kernel ? spec->kernel : "");
    ompjit__facts_pack(&spec->facts, out);
    ompjit__pack_number(out, spec->ptx);
    ompjit__pack_number(out, spec->import_globals);
    ompjit__pack_number(out, spec->keeps_environments);
}

bool ompjit__spec_unpack(ompjit__reader *r, ompjit__spec *out)
{
    ompjit__spec spec = {0};
    char *kernel = ompjit__read_string(r);
    ompjit__facts_unpack(r, &spec.facts);
    spec.ptx = (uint32_t)ompjit__read_number(r);
    spec.import_globals = ompjit__read_number(r);
    spec.keeps_environments = ompjit__read_number(r);
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
    ompjit__facts_free(&spec->facts);
    *spec = (ompjit__spec){0};
}
