/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Units as bytes, and what of a unit an image depends on, as a digest.
 */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/cuda_source.h"
#include "core/prebuilt.h"

/* A struct's new field needs a new line here. */
_Static_assert(sizeof(ompjit__param) == 24 && sizeof(ompjit__kernel_desc) == 96,
               "a unit is stored whole");

static void pack_kernel(const ompjit__kernel_desc *k, ompjit__buf *out)
{
    const int64_t numbers[] = {
        k->line,        k->mode,      k->launch_env,     k->min_threads,
        k->max_threads, k->min_teams, k->max_teams,      k->reduction_size,
        k->reduction_length, k->teams, k->parallel, k->num_threads,
        k->thread_limit, k->free_region, k->observes_threads,
        (int64_t)k->written, k->writes_loaded,
        k->cuda,        k->openmp,    k->nparams,
    };
    ompjit__pack_string(out, k->symbol);
    ompjit__pack_string(out, k->name);
    ompjit__buf_add(out, numbers, sizeof numbers);
    for (unsigned i = 0; i < k->nparams; i++) {
        const ompjit__param *p = &k->params[i];
        ompjit__pack_string(out, p->name);
        ompjit__pack_number(out, p->kind);
        ompjit__pack_number(out, p->bytes);
        ompjit__pack_number(out, p->source_order);
        ompjit__pack_number(out, p->size);
        ompjit__pack_number(out, p->map_type);
    }
}

static void unpack_kernel(ompjit__reader *r, ompjit__kernel_desc *k)
{
    k->symbol = ompjit__read_string(r);
    k->name = ompjit__read_string(r);
    k->line = (unsigned)ompjit__read_number(r);
    k->mode = (uint8_t)ompjit__read_number(r);
    k->launch_env = ompjit__read_number(r);
    k->min_threads = (int32_t)ompjit__read_number(r);
    k->max_threads = (int32_t)ompjit__read_number(r);
    k->min_teams = (int32_t)ompjit__read_number(r);
    k->max_teams = (int32_t)ompjit__read_number(r);
    k->reduction_size = (int32_t)ompjit__read_number(r);
    k->reduction_length = (int32_t)ompjit__read_number(r);
    k->teams = (uint32_t)ompjit__read_number(r);
    k->parallel = ompjit__read_number(r);
    k->num_threads = (uint32_t)ompjit__read_number(r);
    k->thread_limit = (uint32_t)ompjit__read_number(r);
    k->free_region = ompjit__read_number(r);
    k->observes_threads = ompjit__read_number(r);
    k->written = (uint64_t)ompjit__read_number(r);
    k->writes_loaded = ompjit__read_number(r);
    k->cuda = ompjit__read_number(r);
    k->openmp = ompjit__read_number(r);
    size_t n = ompjit__read_count(r);
    k->params = calloc(n + 1, sizeof *k->params);
    r->bad |= !k->params;
    while (!r->bad && k->nparams < n) {
        ompjit__param *p = &k->params[k->nparams++];
        p->name = ompjit__read_string(r);
        p->kind = (uint8_t)ompjit__read_number(r);
        p->bytes = (uint8_t)ompjit__read_number(r);
        p->source_order = (uint16_t)ompjit__read_number(r);
        p->size = (uint32_t)ompjit__read_number(r);
        p->map_type = ompjit__read_number(r);
    }
}

/* All but the name and the bitcode. */
static void pack_descriptions(const ompjit__unit *unit, ompjit__buf *out)
{
    ompjit__pack_number(out, unit->opt_level);
    ompjit__opts_pack(&unit->opts, out);
    ompjit__pack_number(out, unit->chunk_is_default);
    ompjit__pack_number(out, unit->stays_generic);
    ompjit__pack_number(out, unit->nkernels);
    for (unsigned i = 0; i < unit->nkernels; i++)
        pack_kernel(&unit->kernels[i], out);
    ompjit__pack_number(out, unit->nglobals);
    for (unsigned i = 0; i < unit->nglobals; i++) {
        ompjit__pack_string(out, unit->globals[i].symbol);
        ompjit__pack_number(out, unit->globals[i].size);
        ompjit__pack_number(out, unit->globals[i].flags);
    }
}

static void unpack_descriptions(ompjit__reader *r, ompjit__unit *unit)
{
    unit->opt_level = (unsigned)ompjit__read_number(r);
    ompjit__opts_unpack(r, &unit->opts);
    unit->chunk_is_default = ompjit__read_number(r);
    unit->stays_generic = ompjit__read_number(r);
    size_t n = ompjit__read_count(r);
    unit->kernels = calloc(n + 1, sizeof *unit->kernels);
    r->bad |= !unit->kernels;
    while (!r->bad && unit->nkernels < n)
        unpack_kernel(r, &unit->kernels[unit->nkernels++]);
    n = ompjit__read_count(r);
    unit->globals = calloc(n + 1, sizeof *unit->globals);
    r->bad |= !unit->globals;
    while (!r->bad && unit->nglobals < n) {
        ompjit__global_desc *g = &unit->globals[unit->nglobals++];
        g->symbol = ompjit__read_string(r);
        g->size = ompjit__read_number(r);
        g->flags = (uint32_t)ompjit__read_number(r);
    }
}

bool ompjit__unit_seal(ompjit__unit *unit)
{
    ompjit__buf text = {0};
    pack_descriptions(unit, &text);
    ompjit__pack_bytes(&text, unit->device_bc.data, unit->device_bc.size);
    for (unsigned i = 0; i < unit->nprebuilt; i++)
        ompjit__pack_bytes(&text, unit->prebuilt[i].bytes.data,
                           unit->prebuilt[i].bytes.size);
    if (!text.failed)
        ompjit__digest(text.data, text.size, unit->digest);
    ompjit__digest(unit->host_bc.data, unit->host_bc.size, unit->host_digest);
    bool good = !text.failed;
    ompjit__buf_free(&text);
    return good;
}

void ompjit__unit_pack(const ompjit__unit *unit, ompjit__buf *out)
{
    ompjit__pack_string(out, unit->name);
    pack_descriptions(unit, out);
    ompjit__pack_bytes(out, unit->device_bc.data, unit->device_bc.size);
    ompjit__pack_bytes(out, unit->host_bc.data, unit->host_bc.size);
    ompjit__pack_bytes(out, unit->signatures.data, unit->signatures.size);
    ompjit__pack_bytes(out, unit->passing.data, unit->passing.size);
    ompjit__buf_add(out, unit->digest, sizeof unit->digest);
    ompjit__buf_add(out, unit->host_digest, sizeof unit->host_digest);
}

bool ompjit__unit_unpack(ompjit__reader *r, ompjit__unit *out)
{
    ompjit__unit unit = {.name = ompjit__read_string(r)};
    unpack_descriptions(r, &unit);
    ompjit__read_buf(r, &unit.device_bc);
    ompjit__read_buf(r, &unit.host_bc);
    ompjit__read_buf(r, &unit.signatures);
    ompjit__read_buf(r, &unit.passing);
    r->bad |= r->left < sizeof unit.digest + sizeof unit.host_digest;
    if (r->bad) {
        ompjit__unit_free(&unit);
        return false;
    }
    memcpy(unit.digest, r->at, sizeof unit.digest);
    memcpy(unit.host_digest, r->at + sizeof unit.digest,
           sizeof unit.host_digest);
    r->at += sizeof unit.digest + sizeof unit.host_digest;
    r->left -= sizeof unit.digest + sizeof unit.host_digest;
    *out = unit;
    return true;
}

void ompjit__unit_identity(const ompjit__unit *unit,
                           uint8_t out[OMPJIT__DIGEST])
{
    ompjit__buf text = {0};
    ompjit__buf_add(&text, unit->digest, sizeof unit->digest);
    ompjit__buf_add(&text, unit->host_digest, sizeof unit->host_digest);
    ompjit__pack_string(&text, unit->name);
    if (unit->cuda)
        ompjit__cuda_pack(unit->cuda, &text);
    memset(out, 0, OMPJIT__DIGEST);
    if (!text.failed)
        ompjit__digest(text.data, text.size, out);
    ompjit__buf_free(&text);
}
