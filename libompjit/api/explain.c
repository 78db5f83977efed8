/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What specialization can do for a kernel, and what it has done: which
 * parameters can be folded, which variants there are, what code comes of it.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "door/door.h"
#include "core/arch.h"
#include "core/instruction_count.h"
#include "cache/cache.h"
#include "abi/offload.h"
#include "launch/launch.h"

static const ompjit__kernel_desc *desc(const ompjit_kernel *kernel)
{
    return &kernel->mod->unit.kernels[kernel->index];
}

/* ------------------------------------------------------------- parameters */

/* The order of the questions is that of what a reader wants to know. */
static ompjit_foldable foldable(const ompjit__kernel_desc *k, unsigned i)
{
    const ompjit__param *p = &k->params[i];
    if (p->kind != OMPJIT__PARAM_POINTER ||
        (i < 64 && ompjit__small_structs(k) >> i & 1))
        return i < 64 ? OMPJIT_FOLDABLE : OMPJIT_FOLDABLE_TOO_MANY;
    if (!p->map_type || p->map_type & OMPJIT__MAP_LITERAL)
        return OMPJIT_FOLDABLE_POINTER;
    if (p->map_type & OMPJIT__MAP_FROM)
        return OMPJIT_FOLDABLE_COPY_BACK;
    if (!p->size)
        return OMPJIT_FOLDABLE_SECTION;
    return p->size > 8 ? OMPJIT_FOLDABLE_TOO_LARGE : OMPJIT_FOLDABLE_STORAGE;
}

static void say_why(ompjit_param_state *s)
{
    static const char *const words[] = {
        [OMPJIT_FOLDABLE] = "can be folded",
        [OMPJIT_FOLDABLE_POINTER] = "an address, not a value",
        [OMPJIT_FOLDABLE_COPY_BACK] = "copied back: the kernel changes it",
        [OMPJIT_FOLDABLE_SECTION] =
            "a section whose size is known at run time only",
        [OMPJIT_FOLDABLE_TOO_LARGE] = "too large",
        [OMPJIT_FOLDABLE_STORAGE] = "mapped: the kernel gets its address",
        [OMPJIT_FOLDABLE_TOO_MANY] = "only the first 64 parameters are folded"};
    if (s->foldable == OMPJIT_FOLDABLE_TOO_LARGE)
        snprintf(s->why, sizeof s->why,
                 "too large: %" PRIu64 " bytes, more than 8", s->storage);
    else
        snprintf(s->why, sizeof s->why, "%s", words[s->foldable]);
}

static void add_sightings(ompjit_kernel *kernel, unsigned i,
                          ompjit_param_state *s)
{
    ompjit__sightings *seen = atomic_load_explicit(&kernel->sightings,
                                                   memory_order_acquire);
    if (!seen || s->foldable != OMPJIT_FOLDABLE)
        return;
    s->launches = atomic_load_explicit(&seen->launches, memory_order_relaxed);
    s->changes = atomic_load_explicit(&seen->changes[i], memory_order_relaxed);
    s->given_up = atomic_load_explicit(&seen->given_up, memory_order_relaxed)
                      >> i & 1;
    if (s->given_up)
        snprintf(s->why, sizeof s->why,
                 "given up after %u launches with other values", s->changes);
}

ompjit_status ompjit_kernel_param_state(ompjit_kernel *kernel, unsigned i,
                                        ompjit_param_state *state,
                                        ompjit_error *err)
{
    if (!kernel || !state || state->size != sizeof *state)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_param_state: a kernel and "
                            "OMPJIT_PARAM_STATE_INIT are needed");
    const ompjit__param *p = ompjit__kernel_param_at(kernel, i, err);
    if (!p)
        return OMPJIT_ERR_INVALID;
    *state = (ompjit_param_state)OMPJIT_PARAM_STATE_INIT;
    state->foldable = foldable(desc(kernel), i);
    if (p->kind == OMPJIT__PARAM_POINTER &&
        state->foldable != OMPJIT_FOLDABLE_POINTER)
        state->storage = p->size;
    say_why(state);
    if (state->foldable != OMPJIT_FOLDABLE && i < 64 &&
        atomic_load(&kernel->contents) >> i & 1)
        strcat(state->why, "; its contents shall be folded");
    add_sightings(kernel, i, state);
    return OMPJIT_OK;
}

/* --------------------------------------------------------------- variants */

/* Infos one after the other, each followed by its kernel's values. */
struct snapshot {
    ompjit__buf bytes;
    unsigned nparams;
};

static int take_info(void *data, const ompjit__variant_key *key)
{
    struct snapshot *s = data;
    ompjit_variant_info info = {.device = key->dev,
                                .generic = ompjit__variant_is_generic(key),
                                .teams = key->teams,
                                .threads = key->threads,
                                .residents = key->residents,
                                .literals = key->literal_mask,
                                .aligned = key->aligned,
                                .noalias = key->noalias,
                                .sized = key->sized};
    uint64_t values[64] = {0};
    for (uint32_t i = 0; i < key->ncontents; i++)
        info.contents |= UINT64_C(1) << key->contents[i].param;
    for (uint64_t rest = key->literal_mask; rest; rest &= rest - 1)
        values[__builtin_ctzll(rest)] = key->values[__builtin_ctzll(rest)];
    for (uint64_t rest = key->sized; rest; rest &= rest - 1)
        values[__builtin_ctzll(rest)] = key->sizes[__builtin_ctzll(rest)];
    ompjit__buf_add(&s->bytes, &info, sizeof info);
    ompjit__buf_add(&s->bytes, values, sizeof values);
    return s->bytes.failed;
}

ompjit_status ompjit_kernel_variants(ompjit_kernel *kernel,
                                     ompjit_variant_fn *fn, void *data,
                                     ompjit_error *err)
{
    struct snapshot s = {0};
    if (!kernel || !fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_variants: a kernel and a function "
                            "are needed");
    ompjit__variants_walk(kernel->mod, kernel->index, take_info, &s);
    ompjit_status status = s.bytes.failed
                               ? ompjit__no_memory(err, OMPJIT_STAGE_API)
                               : OMPJIT_OK;
    for (size_t at = 0; !status && at < s.bytes.size;) {
        ompjit_variant_info info;
        uint64_t values[64];
        memcpy(&info, s.bytes.data + at, sizeof info);
        memcpy(values, s.bytes.data + at + sizeof info, sizeof values);
        at += sizeof info + sizeof values;
        info.values = values;
        if (fn(data, &info))
            break;
    }
    ompjit__buf_free(&s.bytes);
    return status;
}

/* ------------------------------------------------------------------- text */

struct text {
    ompjit__buf buf;
    const ompjit__kernel_desc *k;
};

static void add_param(struct text *t, ompjit_kernel *kernel, unsigned i)
{
    const ompjit__param *p = &t->k->params[i];
    ompjit_param_state s = OMPJIT_PARAM_STATE_INIT;
    char type[16] = "pointer";
    ompjit_kernel_param_state(kernel, i, &s, NULL);
    if (p->kind != OMPJIT__PARAM_POINTER)
        snprintf(type, sizeof type, "%u bytes", p->size ? p->size : p->bytes);
    ompjit__buf_printf(&t->buf, "  %-12s %-8s %s\n", *p->name ? p->name : "-",
                       type, s.why);
}

static void add_names(struct text *t, const char *what, uint64_t mask)
{
    if (mask)
        ompjit__buf_printf(&t->buf, ", %s", what);
    for (; mask; mask &= mask - 1)
        ompjit__buf_printf(&t->buf, " %s",
                           t->k->params[__builtin_ctzll(mask)].name);
}

static int add_variant(void *data, const ompjit_variant_info *v)
{
    struct text *t = data;
    ompjit__buf_printf(&t->buf, "    device %u: %s", v->device->number,
                       v->generic ? "for all values" : "specialized");
    if (v->teams)
        ompjit__buf_printf(&t->buf, ", %u teams", v->teams);
    if (v->threads)
        ompjit__buf_printf(&t->buf, ", %u threads", v->threads);
    if (v->residents)
        ompjit__buf_printf(&t->buf, ", %u resident teams", v->residents);
    for (uint64_t rest = v->literals; rest; rest &= rest - 1) {
        int i = __builtin_ctzll(rest);
        ompjit__buf_printf(&t->buf, ", %s=0x%" PRIx64, t->k->params[i].name,
                           v->values[i]);
    }
    add_names(t, "aligned", v->aligned);
    add_names(t, "unshared", v->noalias);
    for (uint64_t rest = v->sized; rest; rest &= rest - 1) {
        int i = __builtin_ctzll(rest);
        ompjit__buf_printf(&t->buf, ", %s has %" PRIu64 " bytes",
                           t->k->params[i].name, v->values[i]);
    }
    add_names(t, "contents of", v->contents);
    ompjit__buf_printf(&t->buf, "\n");
    return 0;
}

static void add_tuned(struct text *t, ompjit_kernel *kernel)
{
    ompjit_context *ctx = kernel->mod->ctx;
    for (unsigned d = 0; d < ctx->ndevices; d++)
        for (unsigned c = 0; c <= 64; c++) {
            ompjit_tuned r;
            uint64_t least = c ? UINT64_C(1) << (c - 1) : 0;
            if (ompjit_kernel_tuned(kernel, ctx->devices[d], least, &r, NULL))
                continue;
            ompjit__buf_printf(&t->buf, "    device %u: tuned from %" PRIu64
                               " iterations on: %u teams, %u threads\n", d,
                               least, r.teams, r.threads);
        }
}

ompjit_status ompjit_kernel_explain(ompjit_kernel *kernel, char **text,
                                    ompjit_error *err)
{
    static const char *const modes[] = {"bare", "generic", "SPMD",
                                        "SPMD, generic in the source"};
    if (!kernel || !text)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_explain: a kernel and a place for "
                            "the text are needed");
    struct text t = {.k = desc(kernel)};
    ompjit__sightings *seen = atomic_load(&kernel->sightings);
    char *title = ompjit__kernel_title(kernel);
    ompjit_kernel_info info;
    ompjit_kernel_info_get(kernel, &info);
    ompjit__buf_printf(&t.buf, "%s:%u (%s)\n", title ? title : t.k->name,
                       t.k->line, modes[info.mode & 3]);
    free(title);
    for (unsigned i = 0; i < t.k->nparams; i++)
        add_param(&t, kernel, i);
    if (seen)
        ompjit__buf_printf(&t.buf, "    automatic: %u launches found no "
                           "variant\n", atomic_load(&seen->launches));
    ompjit_status status =
        ompjit_kernel_variants(kernel, add_variant, &t, err);
    if (!status)
        add_tuned(&t, kernel);
    if (!status && t.buf.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (status)
        ompjit__buf_free(&t.buf);
    else
        *text = t.buf.data;
    return status;
}

void ompjit__explain_module(ompjit_module *mod)
{
    for (unsigned i = 0; i < mod->unit.nkernels; i++) {
        char *text, *rest;
        if (ompjit_kernel_explain(&mod->kernels[i], &text, NULL))
            continue;
        for (char *line = strtok_r(text, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest))
            ompjit__tell(mod->ctx, line);
        ompjit_bytes_free(text);
    }
}

/* ------------------------------------------------------------------- code */

static ompjit_status add_args(ompjit_kernel *kernel,
                              const ompjit__request *r, const ompjit_arg *args,
                              unsigned nargs, uint64_t *values,
                              ompjit__spec *spec, ompjit_error *err)
{
    const ompjit__kernel_desc *k = desc(kernel);
    unsigned fold = r->fold ? r->fold : OMPJIT_FOLD_ALL;
    for (unsigned i = 0; i < nargs; i++) {
        unsigned at = i;
        uint64_t value;
        if (!args[i].name && i >= k->nparams)
            return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_API,
                                "kernel %s takes %u arguments, got %u", k->name,
                                k->nparams, nargs);
        ompjit_status status =
            ompjit__kernel_value(kernel, &args[i], &at, &value, err);
        if (status)
            return status;
        uint64_t bit = at < 64 ? UINT64_C(1) << at : 0;
        values[at] = value;
        if (!(bit & kernel->eligible) && fold & OMPJIT_FOLD_ALIGNMENT &&
            value % OMPJIT__ALIGNMENT == 0)
            spec->aligned |= bit;
        if (bit & kernel->eligible && fold & OMPJIT_FOLD_LITERALS &&
            (!r->literals || r->literals & bit))
            spec->literal_mask |= bit;
    }
    return OMPJIT_OK;
}

static void add_launch(const ompjit__request *r, bool host,
                       ompjit__spec *spec)
{
    unsigned fold = r->fold ? r->fold : OMPJIT_FOLD_ALL;
    if (fold & OMPJIT_FOLD_THREADS)
        ompjit__set_folded(r->threads, &spec->threads, spec->shape.threads);
    if (fold & OMPJIT_FOLD_TEAMS)
        ompjit__set_folded(r->teams, &spec->teams, spec->shape.teams);
    if (fold & OMPJIT_FOLD_NOALIAS)
        spec->noalias = r->noalias;
    if (fold & OMPJIT_FOLD_SIZES) {
        spec->sized = r->sized;
        spec->sizes = r->sizes;
    }
    if (fold & OMPJIT_FOLD_CONTENTS) {
        spec->ncontents = r->ncontents;
        spec->contents = r->contents;
    }
    if (host && r->threads[0] <= 1 && r->threads[1] <= 1 && r->threads[2] <= 1)
        spec->threads = 1;
    if (!host && spec->threads)
        spec->residents = r->residents;
}

/* Bytes of machine code in an object of this process's own making. */
static uint32_t code_bytes(const ompjit__buf *object)
{
    const Elf64_Ehdr *head = (const void *)object->data;
    const Elf64_Shdr *s = (const void *)(object->data + head->e_shoff);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (s[i].sh_flags & SHF_EXECINSTR)
            bytes += s[i].sh_size;
    return (uint32_t)bytes;
}

static ompjit_status host_code(ompjit_kernel *kernel, const char *arch,
                               const ompjit__spec *spec, ompjit_code *code,
                               ompjit_error *err)
{
    ompjit__image image = {0};
    ompjit_status status =
        ompjit__door_build(&kernel->mod->ctx->compiler, &kernel->mod->unit,
                           arch,
                      OMPJIT_FORMAT_OBJECT, spec, &image, err);
    if (status)
        return status;
    code->use.code = code_bytes(&image.bytes);
    ompjit__image_free(&image);
    image = (ompjit__image){0};
    status = ompjit__door_build(&kernel->mod->ctx->compiler,
                                &kernel->mod->unit, arch,
                           OMPJIT__FORMAT_ASSEMBLY, spec, &image, err);
    if (status)
        return status;
    code->instructions = ompjit__count_assembly(
        image.bytes.data, &code->use.spill_stores, &code->use.spill_loads);
    ompjit__image_free(&image);
    return OMPJIT_OK;
}

static ompjit_status cuda_code(ompjit_kernel *kernel, const char *arch,
                               const ompjit__spec *spec, ompjit_code *code,
                               ompjit_error *err)
{
    enum { SASS_BYTES = 16 }; /* of an instruction, since sm_70 */
    ompjit__image image = {0};
    ompjit_status status =
        ompjit__build_cached(kernel->mod->ctx, &kernel->mod->unit, arch,
                             OMPJIT_FORMAT_CUBIN, spec, &image, err);
    if (status)
        return status;
    bool cubin = image.kind == OMPJIT__IMAGE_CUBIN;
    const ompjit__buf *ptx = cubin ? &image.ptx : &image.bytes;
    code->ptx = ptx->size ? ompjit__count_ptx(ptx->data) : 0;
    if (cubin)
        status = ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_ASSEMBLE,
                              "the cubin for %s does not tell what kernel %s "
                              "uses", arch, desc(kernel)->name);
    for (unsigned i = 0; i < image.nusage; i++)
        if (!strcmp(image.usage[i].symbol, desc(kernel)->symbol)) {
            code->use = image.usage[i].res;
            code->instructions = code->use.code / SASS_BYTES;
            status = OMPJIT_OK;
        }
    ompjit__image_free(&image);
    return status;
}

ompjit_status ompjit_kernel_code(ompjit_kernel *kernel, const char *arch,
                                 const ompjit_launch *launch,
                                 const ompjit_arg *args, unsigned nargs,
                                 ompjit_code *code, ompjit_error *err)
{
    if (!kernel || !arch || (nargs && !args) || !code ||
        code->size != sizeof *code)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_code: a kernel, an architecture "
                            "and OMPJIT_CODE_INIT are needed");
    const ompjit__arch *found;
    uint64_t values[desc(kernel)->nparams + 1];
    ompjit__spec spec = {.kernel = desc(kernel)->symbol, .literals = values};
    ompjit__request r;
    ompjit_code result = OMPJIT_CODE_INIT;
    ompjit_status status = ompjit__arch_find(arch, &found, err);
    if (!status)
        status = ompjit__kernel_folds(kernel, launch, &r, err);
    if (!status)
        status = add_args(kernel, &r, args, nargs, values, &spec, err);
    if (status)
        return status;
    bool host = found->triple != NULL;
    add_launch(&r, host, &spec);
    status = host ? host_code(kernel, arch, &spec, &result, err)
                  : cuda_code(kernel, arch, &spec, &result, err);
    if (!status)
        *code = result;
    return status;
}
