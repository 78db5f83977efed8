/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Explains what specialization can do for a kernel, and what it has done: which
 * parameters can be folded, which variants there are.
 *
 * Nothing here changes what launches do. Counts are read one by one while
 * launches go on, so they may differ by a launch or two. Texts are for people,
 * and may change.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "cache/cache.h"
#include "abi/offload.h"
#include "launch/launch.h"

/* ------------------------------------------------------------- parameters */

/* The order of the questions is that of what a reader wants to know. Masks of
 * parameters have 64 bits, hence the limit. A pointer can be folded only where
 * it points to a private copy of 8 bytes at most (ompjit__small_structs). */
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

/* Writes s->why, which holds the longest of these texts with room for the
 * sentence that ompjit_kernel_param_state adds. */
static void say_why(ompjit_param_state *s)
{
    static const char *const words[] = {
        [OMPJIT_FOLDABLE] = "can be folded",
        [OMPJIT_FOLDABLE_POINTER] = "an address, not a value",
        [OMPJIT_FOLDABLE_COPY_BACK] = "copied back: the kernel may change it",
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

/* Adds the counts of the automatic policy. `sightings` is made by the first
 * launch under that policy and lives as long as the kernel. */
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

/* Any thread, also while the kernel is launched. */
ompjit_status ompjit_kernel_param_state(ompjit_kernel *kernel, unsigned i,
                                        ompjit_param_state *state,
                                        ompjit_error *err)
{
    ompjit_param_state full = {0};
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_param_state, state, err);
    if (status)
        return status;
    if (!kernel)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_param_state: no kernel");
    const ompjit__param *p = ompjit__kernel_param_at(kernel, i, err);
    if (!p)
        return OMPJIT_ERR_INVALID;
    full.foldable = foldable(ompjit__desc_of(kernel), i);
    if (p->kind == OMPJIT__PARAM_POINTER &&
        full.foldable != OMPJIT_FOLDABLE_POINTER)
        full.storage = p->size;
    say_why(&full);
    if (full.foldable != OMPJIT_FOLDABLE && i < 64 &&
        atomic_load(&kernel->contents) >> i & 1)
        strcat(full.why, "; its contents shall be folded");
    add_sightings(kernel, i, &full);
    ompjit__result_fill(OMPJIT__STRUCT_param_state, &full, state);
    return OMPJIT_OK;
}

/* --------------------------------------------------------------- variants */

/* Infos one after the other, each followed by its kernel's parameters: they are
 * taken under the variants' lock, and told without it. The application's
 * function may then call the library, even launch the kernel. */
struct snapshot {
    ompjit__buf bytes;
    unsigned nparams;
};

/* Is the fact about parameter i? One macro or function for each kind. */
#define about_NUMBER(fact, i) false
#define about_EXTENT about_NUMBER
#define about_POINTERS(fact, i) (*(fact) >> (i) & 1)
#define about_SCALAR_VALUES(fact, i) ((fact)->mask >> (i) & 1)
#define about_POINTER_VALUES about_SCALAR_VALUES

static bool about_CONTENTS(const ompjit__contents_list *fact, unsigned i)
{
    for (uint32_t c = 0; c < fact->n; c++)
        if (fact->list[c].param == i)
            return true;
    return false;
}

/* The facts of one variant about parameter i, by the rows of core/facts.def. */
static ompjit_variant_param param_of(const ompjit__facts *f, unsigned i)
{
    ompjit_variant_param p = {0};
    if (i >= 64)
        return p;
#define FACT(name, kind, fold, word, said) \
    p.facts |= about_##kind(&f->name, i) ? OMPJIT_FOLD_##fold : 0;
#include "core/facts.def"
    if (p.facts & OMPJIT_FOLD_LITERALS)
        p.value = f->literals.values[i];
    if (p.facts & OMPJIT_FOLD_SIZES)
        p.bytes = f->sizes.values[i];
    return p;
}

/* For ompjit__variants_walk: a value other than 0 ends the walk. A failed
 * buffer stays failed and is told by the caller. */
static int take_info(void *data, const ompjit__variant_key *key)
{
    struct snapshot *s = data;
    ompjit_variant_info info = {.size = sizeof info,
                                .device = key->dev,
                                .generic = ompjit__variant_is_generic(key),
                                .teams = key->facts.teams.all,
                                .threads = key->facts.threads.all,
                                .resident_teams = key->facts.resident_teams,
                                .nparams = s->nparams};
    ompjit__buf_add(&s->bytes, &info, sizeof info);
    for (unsigned i = 0; i < s->nparams; i++) {
        ompjit_variant_param p = param_of(&key->facts, i);
        ompjit__buf_add(&s->bytes, &p, sizeof p);
    }
    return s->bytes.failed;
}

/* `info` and its parameters, which lie in the snapshot, are valid during the
 * call of `fn` only. A value other than 0 from it ends the walk. */
ompjit_status ompjit_kernel_variants(ompjit_kernel *kernel,
                                     ompjit_variant_fn *fn, void *data,
                                     ompjit_error *err)
{
    if (!kernel || !fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_variants: a kernel and a function "
                            "are needed");
    struct snapshot s = {.nparams = ompjit__desc_of(kernel)->nparams};
    ompjit__variants_walk(kernel->mod, kernel->index, take_info, &s);
    ompjit_status status = s.bytes.failed
                               ? ompjit__no_memory(err, OMPJIT_STAGE_API)
                               : OMPJIT_OK;
    for (size_t at = 0; !status && at < s.bytes.size;) {
        ompjit_variant_info info;
        memcpy(&info, s.bytes.data + at, sizeof info);
        at += sizeof info;
        info.params = (const void *)(s.bytes.data + at);
        at += s.nparams * sizeof *info.params;
        if (fn(data, &info))
            break;
    }
    ompjit__buf_free(&s.bytes);
    return status;
}

/* ------------------------------------------------------------------- text */

/* The explanation as it grows; a failure of memory shows at its end. */
struct text {
    ompjit__buf buf;
    const ompjit__kernel_desc *k;
};

/* One line: name, type, and why it can or cannot be folded. */
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

/* Facts speak of parameters that there are, so `i` needs no check. */
static const char *name_of(const struct text *t, unsigned i)
{
    return t->k->params[i].name;
}

/* The words for each kind of fact. */
static void say_NUMBER(struct text *t, const char *said, const uint32_t *fact)
{
    if (*fact)
        ompjit__buf_printf(&t->buf, ", %" PRIu32 " %s", *fact, said);
}

#define say_EXTENT(t, said, fact) say_NUMBER(t, said, &(fact)->all)

static void say_POINTERS(struct text *t, const char *said, const uint64_t *fact)
{
    if (*fact)
        ompjit__buf_printf(&t->buf, ", %s", said);
    for (uint64_t rest = *fact; rest; rest &= rest - 1)
        ompjit__buf_printf(&t->buf, " %s",
                           name_of(t, (unsigned)__builtin_ctzll(rest)));
}

static void say_SCALAR_VALUES(struct text *t, const char *said,
                              const ompjit__param_values *fact)
{
    for (uint64_t rest = fact->mask; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        ompjit__buf_printf(&t->buf, ", %s%s=0x%" PRIx64, said, name_of(t, i),
                           fact->values[i]);
    }
}

static void say_POINTER_VALUES(struct text *t, const char *said,
                               const ompjit__param_values *fact)
{
    for (uint64_t rest = fact->mask; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        ompjit__buf_printf(&t->buf, ", %s has %" PRIu64 " %s", name_of(t, i),
                           fact->values[i], said);
    }
}

static void say_CONTENTS(struct text *t, const char *said,
                         const ompjit__contents_list *fact)
{
    if (fact->n)
        ompjit__buf_printf(&t->buf, ", %s", said);
    for (uint32_t i = 0; i < fact->n; i++)
        ompjit__buf_printf(&t->buf, " %s", name_of(t, fact->list[i].param));
}

/* Under the variants' lock. One line for each variant: its device, and each
 * fact that it knows, as core/facts.def words it. */
static int add_variant(void *data, const ompjit__variant_key *key)
{
    struct text *t = data;
    ompjit__buf_printf(&t->buf, "    device %u: %s", key->dev->number,
                       ompjit__variant_is_generic(key) ? "for all values"
                                                       : "specialized");
#define FACT(name, kind, fold, word, said) \
    say_##kind(t, said, &key->facts.name);
#include "core/facts.def"
    ompjit__buf_printf(&t->buf, "\n");
    return t->buf.failed;
}

/* A line for each size class that is tuned, by the least tripcount in it. Size
 * class c has tripcounts whose highest bit is bit c - 1; class 0 is for those
 * that are unknown. */
static void add_tuned(struct text *t, ompjit_kernel *kernel)
{
    ompjit_context *ctx = kernel->mod->ctx;
    unsigned n = atomic_load(&ctx->devices_known) ? ctx->ndevices : 0;
    for (unsigned d = 0; d < n; d++)
        for (unsigned c = 0; c <= 64; c++) {
            ompjit_tuned r = OMPJIT_TUNED_INIT;
            uint64_t least = c ? UINT64_C(1) << (c - 1) : 0;
            if (ompjit_kernel_tuned(kernel, ctx->devices[d], least, &r, NULL))
                continue;
            ompjit__buf_printf(&t->buf, "    device %u: tuned from %" PRIu64
                               " iterations on: %u teams, %u threads\n", d,
                               least, r.teams, r.threads);
        }
}

/* *text is malloc'd, and freed by ompjit_bytes_free. Without memory for the
 * title the short name is used. */
ompjit_status ompjit_kernel_explain(ompjit_kernel *kernel, char **text,
                                    ompjit_error *err)
{
    static const char *const modes[] = {"bare", "generic", "SPMD",
                                        "SPMD, generic in the source"};
    if (!kernel || !text)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_explain: a kernel and a place for "
                            "the text are needed");
    struct text t = {.k = ompjit__desc_of(kernel)};
    ompjit__sightings *seen = atomic_load(&kernel->sightings);
    char *title = ompjit__kernel_title(kernel);
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_kernel_info_get(kernel, &info, NULL);
    ompjit__buf_printf(&t.buf, "%s:%u (%s)\n", title ? title : t.k->name,
                       t.k->line, modes[info.mode & 3]);
    free(title);
    for (unsigned i = 0; i < t.k->nparams; i++)
        add_param(&t, kernel, i);
    if (seen)
        ompjit__buf_printf(&t.buf, "    automatic: %u launches found no "
                           "variant\n", atomic_load(&seen->launches));
    ompjit__variants_walk(kernel->mod, kernel->index, add_variant, &t);
    add_tuned(&t, kernel);
    if (t.buf.failed) {
        ompjit__buf_free(&t.buf);
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    }
    *text = t.buf.data;
    return OMPJIT_OK;
}

/* Line by line, as the log takes them. A kernel without memory for its text is
 * left out. */
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
