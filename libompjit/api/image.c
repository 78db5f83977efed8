/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Modules of device images: what a compiler has made of target regions ahead of
 * time, in whatever container, handed over by the application or registered by
 * a program with its offload entries.
 *
 * Bitcode is compiled and specialized like any IR. Several bitcodes for the
 * same architecture are the objects of one program, and are linked.
 */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/module.h"
#include "base/structs.h"
#include "images/prebuilt_unit.h"
#include "frontend/clang/clang.h"
#include "launch/module.h"
#include "omptarget/library.h"

/* --------------------------------------------------------------- entries
 * What a host half tells of a program's variables: its offload entries, as IR,
 * so that device code is described as if clang had just made both. */

#if defined __aarch64__
#define TRIPLE "aarch64-unknown-linux-gnu"
#else
#define TRIPLE "x86_64-unknown-linux-gnu"
#endif
/* The smallest IR of either half: a unit is always read from both. */
static const char empty_host[] = "target triple = \"" TRIPLE "\"\n";
static const char empty_device[] = "target triple = \"nvptx64-nvidia-cuda\"\n";

/* Any bytes may be in a name. */
static void add_text(ompjit__buf *ir, size_t i, const char *text)
{
    ompjit__buf_printf(ir, "@name%zu = private constant [%zu x i8] c\"", i,
                       strlen(text) + 1);
    for (const char *c = text; *c; c++)
        ompjit__buf_printf(ir, "\\%02x", (unsigned char)*c);
    ompjit__buf_printf(ir, "\\00\"\n");
}

/* Kernels are in the device code itself. */
static void add_entry(ompjit__buf *ir, size_t i, const ompjit__offload_entry *e)
{
    if (e->kind != OMPJIT__OFFLOAD_OPENMP || ompjit__entry_is_kernel(e))
        return;
    add_text(ir, i, e->name ? e->name : "");
    ompjit__buf_printf(ir, "@host%zu = external global i8\n"
                       "@.offloading.entry.%zu = constant %%entry { i64 0, i16 1, i16 1, "
                       "i32 %u, ptr @host%zu, ptr @name%zu, i64 %llu, "
                       "i64 %llu, ptr null }, section \""
                       OMPJIT__ENTRY_SECTION "\"\n", i, i, e->flags, i, i,
                       (unsigned long long)e->size,
                       (unsigned long long)e->data);
}

/* `entries` may be NULL. */
static void write_entries(const ompjit__entries *entries, ompjit__buf *ir)
{
    ompjit__buf_printf(ir, "%s%%entry = type { i64, i16, i16, i32, ptr, ptr, "
                       "i64, i64, ptr }\n", empty_host);
    for (size_t i = 0; entries && i < entries->n; i++) {
        ompjit__offload_entry e = ompjit__entry_at(entries, i);
        add_entry(ir, i, &e);
    }
}

/* --------------------------------------------------------------- bitcode */

/* IR for GPUs. What does not say for which device it is, is tried. */
static bool is_ir(const ompjit__piece *p)
{
    return (p->kind == OMPJIT__PIECE_BITCODE ||
            p->kind == OMPJIT__PIECE_IR_TEXT) &&
           (!p->triple[0] || !strncmp(p->triple, "nvptx", 5));
}

/* Each part by itself, by the cache; the entries are the last one's. */
static ompjit_status read_parts(ompjit_context *ctx,
                                const ompjit__piece *const *parts, unsigned n,
                                const ompjit__buf *entries,
                                const ompjit_module_options *o,
                                ompjit__unit *units, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    for (unsigned i = 0; !status && i < n; i++)
        status = ompjit__frontend_ir(ctx, parts[i]->data, parts[i]->size,
                                     empty_host, sizeof empty_host - 1, o,
                                     &units[i], err);
    return status ? status
                  : ompjit__frontend_ir(ctx, empty_device,
                                        sizeof empty_device - 1, entries->data,
                                        entries->size, o, &units[n], err);
}

/* Joins the parts, and the entries as one more. The parts' units are freed here
 * in any case. */
static ompjit_status link_parts(ompjit_context *ctx,
                                const ompjit__piece *const *parts, unsigned n,
                                const ompjit__buf *entries,
                                const ompjit_module_options *o,
                                ompjit__unit *out, ompjit_error *err)
{
    ompjit__unit *units = calloc(n + 1u, sizeof *units);
    if (!units)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    ompjit_status status =
        read_parts(ctx, parts, n, entries, o, units, err);
    if (!status)
        status = ompjit__frontend_join(ctx, units, n + 1, o, out, err);
    for (unsigned i = 0; i <= n; i++)
        ompjit__unit_free(&units[i]);
    free(units);
    return status;
}

/* The host half has served when the unit is made: it has no code. */
static ompjit_status unit_of_parts(ompjit_context *ctx,
                                   const ompjit__piece *const *parts,
                                   unsigned n, const ompjit__entries *entries,
                                   const ompjit_module_options *o,
                                   ompjit__unit *out, ompjit_error *err)
{
    ompjit__buf ir = {0};
    write_entries(entries, &ir);
    ompjit_status status = OMPJIT_OK;
    if (ir.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_READ);
    else if (n > 1)
        status = link_parts(ctx, parts, n, &ir, o, out, err);
    else
        status = ompjit__frontend_ir(ctx, parts[0]->data, parts[0]->size,
                                     ir.data, ir.size, o, out, err);
    ompjit__buf_free(&ir);
    if (!status) {
        ompjit__buf_free(&out->host_bc);
        out->host_bc = (ompjit__buf){0};
    }
    return status;
}

/* ---------------------------------------------------------------- choice */

/* 90 of "sm_90a"; 0: no NVIDIA architecture. */
static unsigned arch_number(const char *arch)
{
    return strncmp(arch, "sm_", 3) ? 0 : (unsigned)strtoul(arch + 3, NULL, 10);
}

/* The least architecture of the context's GPUs; 0: it has none. */
static unsigned gpu_arch(ompjit_context *ctx)
{
    unsigned least = 0;
    for (unsigned i = 0; i < ctx->ndevices; i++) {
        char arch[32];
        ompjit_format format;
        uint32_t ptx;
        ompjit_device *dev = ctx->devices[i];
        dev->ops->target(dev, arch, &format, &ptx);
        unsigned number = arch_number(arch);
        if (number && (!least || number < least))
            least = number;
    }
    return least;
}

/* Is code for `arch` better than what there is for `than` (NULL: nothing), on
 * GPUs of `least` and newer? Code for older ones runs there, too. */
static bool is_better(const char *arch, const char *than, unsigned least)
{
    unsigned a = arch_number(arch), b = than ? arch_number(than) : 0;
    bool a_runs = !least || a <= least, b_runs = !least || b <= least;
    return !than || (a_runs && !b_runs) ||
           (a_runs == b_runs && (a_runs ? a > b : a < b));
}

/* The IR for one architecture, the best one. `out` has room for all; their
 * number. */
static unsigned choose_ir(const ompjit__pieces *all, unsigned least,
                          const ompjit__piece **out)
{
    const char *best = NULL;
    unsigned n = 0;
    for (unsigned i = 0; i < all->n; i++) {
        const ompjit__piece *p = &all->list[i];
        if (is_ir(p) && is_better(p->arch, best, least))
            best = p->arch;
    }
    for (unsigned i = 0; best && i < all->n; i++)
        if (is_ir(&all->list[i]) && !strcmp(all->list[i].arch, best))
            out[n++] = &all->list[i];
    return n;
}

/* Tells why: a line for each piece. */
static void tell_lines(ompjit_context *ctx, const char *name, ompjit__buf *text)
{
    ompjit__buf line = {0};
    if (!text->size)
        return;
    ompjit__buf_add(text, "", 1);
    for (char *at = text->failed ? NULL : text->data; at && *at;) {
        size_t n = strcspn(at, "\n");
        line.size = 0;
        ompjit__buf_printf(&line, "%s: %.*s", name, (int)n, at);
        if (!line.failed)
            ompjit__tell(ctx, line.data);
        at += n + (at[n] != 0);
    }
    ompjit__buf_free(&line);
}

/* The piece's form in explanations. */
static const char *kind_of(const ompjit__piece *p)
{
    static const char *const kinds[] = {
        [OMPJIT__PIECE_BITCODE] = "bitcode", [OMPJIT__PIECE_IR_TEXT] = "IR",
        [OMPJIT__PIECE_PTX] = "PTX", [OMPJIT__PIECE_CUBIN] = "a cubin",
        [OMPJIT__PIECE_HOST_OBJECT] = "a host object",
        [OMPJIT__PIECE_HOST_LIBRARY] = "a host library"};
    return kinds[p->kind];
}

/* Why a piece is not of the IR that was taken, which is for `arch`. */
static const char *why_not(const ompjit__piece *p, const char *arch,
                           unsigned least)
{
    if (!is_ir(p))
        return "IR is compiled for the device, and specialized";
    return least && arch_number(p->arch) > least
               ? "it is for a newer GPU than there is"
           : arch_number(p->arch) < arch_number(arch)
               ? "it is for an older GPU"
               : "older code runs on more GPUs";
}

/* Where one image of several was chosen. */
static void explain_ir(ompjit_context *ctx, const ompjit__pieces *all,
                       const char *name, const char *arch, unsigned least)
{
    ompjit__buf text = {0};
    for (unsigned i = 0; i < all->n; i++) {
        const ompjit__piece *p = &all->list[i];
        bool taken = is_ir(p) && !strcmp(p->arch, arch);
        ompjit__buf_printf(&text, "%s%s for %s is %s: %s", i ? "\n" : "",
                           kind_of(p), *p->arch ? p->arch : "any GPU",
                           taken ? "taken" : "left out",
                           taken ? "the newest IR that all devices run"
                                 : why_not(p, arch, least));
    }
    tell_lines(ctx, name, &text);
    ompjit__buf_free(&text);
}

/* For each device, which of the pieces it runs. */
static void explain_machine_code(ompjit_context *ctx, const ompjit__unit *unit)
{
    for (unsigned i = 0; i < ctx->ndevices; i++) {
        ompjit__buf text = {0};
        char arch[32];
        ompjit_format format;
        uint32_t ptx;
        ompjit_device *dev = ctx->devices[i];
        dev->ops->target(dev, arch, &format, &ptx);
        ompjit__prebuilt_explain(unit, arch, &text);
        tell_lines(ctx, unit->name, &text);
        ompjit__buf_free(&text);
    }
}

/* The pieces of all images in one list, which borrows them. */
static ompjit_status read_images(const ompjit__library_code *code,
                                 ompjit__pieces *pieces, ompjit__pieces *all,
                                 ompjit_error *err)
{
    size_t n = 0;
    for (unsigned i = 0; i < code->n; i++) {
        const ompjit__device_image *image = &code->images[i];
        const char *begin = image->image_begin, *end = image->image_end;
        ompjit_status status = ompjit__pieces_read(
            begin, (size_t)(end - begin), &pieces[i], err);
        if (status)
            return status;
        n += pieces[i].n;
    }
    all->list = calloc(n + 1, sizeof *all->list);
    if (!all->list)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    for (unsigned i = 0; i < code->n; i++)
        for (unsigned k = 0; k < pieces[i].n; k++)
            all->list[all->n++] = pieces[i].list[k];
    return OMPJIT_OK;
}

/* As it is: it is not specialized, and runs where it is for alone. */
static ompjit_status unit_of_machine_code(const ompjit__pieces *all,
                                          const ompjit__entries *entries,
                                          const char *name, ompjit__unit *out,
                                          ompjit_error *err)
{
    ompjit__kernel_names names = {0};
    size_t n = entries ? entries->n : 0;
    const char **list = calloc(n + 1, sizeof *list);
    if (!list)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    for (size_t i = 0; i < n; i++) {
        ompjit__offload_entry e = ompjit__entry_at(entries, i);
        if (e.kind == OMPJIT__OFFLOAD_OPENMP && ompjit__entry_is_kernel(&e))
            list[names.n++] = e.name;
    }
    names.list = list;
    ompjit_status status = ompjit__prebuilt_unit(all, &names, name, out, err);
    free(list);
    return status;
}

/* IR comes before machine code, since it can be specialized. The devices are
 * looked for here, since the choice depends on them. */
static ompjit_status unit_of_pieces(ompjit_context *ctx,
                                    const ompjit__pieces *all,
                                    const ompjit__entries *entries,
                                    const ompjit_module_options *o,
                                    ompjit__unit *out, ompjit_error *err)
{
    const ompjit__piece **parts = calloc(all->n + 1u, sizeof *parts);
    if (!parts)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    ompjit_status status = ompjit__devices(ctx, err);
    const unsigned least = status ? 0 : gpu_arch(ctx);
    unsigned n = status ? 0 : choose_ir(all, least, parts);
    const bool explains = ctx->explain && all->n > 1;
    if (n && explains)
        explain_ir(ctx, all, o->name, parts[0]->arch, least);
    if (n)
        status = unit_of_parts(ctx, parts, n, entries, o, out, err);
    else if (!status)
        status = unit_of_machine_code(all, entries, o->name, out, err);
    if (!n && !status && explains)
        explain_machine_code(ctx, out);
    free(parts);
    return status;
}

/* Everything that was read or decompressed is freed: a unit has copies. */
static ompjit_status module_of(ompjit_context *ctx,
                               const ompjit__library_code *code,
                               const ompjit_module_options *o,
                               ompjit_module **out, ompjit_error *err)
{
    ompjit__pieces all = {0};
    ompjit__pieces *pieces = calloc(code->n + 1u, sizeof *pieces);
    if (!pieces)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    ompjit__unit unit = {0};
    ompjit_status status = read_images(code, pieces, &all, err);
    if (!status)
        status = unit_of_pieces(ctx, &all, code->entries, o, &unit, err);
    if (!status)
        status = ompjit__module_new(ctx, &unit, o, out, err);
    for (unsigned i = 0; i < code->n; i++)
        ompjit__pieces_free(&pieces[i]);
    free(pieces);
    free(all.list);
    return status;
}

/* ------------------------------------------------------------- interface */

/* From the first registered code on, the process's context tells at the exit
 * what it has to (ompjit__process_tells). */
static ompjit_status make(ompjit_context *ctx, const ompjit__library_code *code,
                          ompjit_module **out, ompjit_error *err)
{
    const ompjit_module_options o = {.size = sizeof o, .name = code->name};
    ompjit_status status = module_of(ctx, code, &o, out, err);
    ompjit__process_tells(ctx);
    return status;
}

/* For a process that exits with its modules (ompjit__libraries_tell). */
static void tell(ompjit_module *mod)
{
    if (mod->ctx->explain)
        ompjit__explain_module(mod);
}

const ompjit__module_maker ompjit__module_maker_all = {
    .make = make, .destroy = ompjit_module_destroy, .tell = tell};

/* The bytes are only read during the call. */
ompjit_status ompjit_module_from_image(ompjit_context *ctx, const void *image,
                                       size_t size,
                                       const ompjit_module_options *options,
                                       ompjit_module **mod, ompjit_error *err)
{
    ompjit_module_options room;
    if (!ctx || !image || !mod)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_from_image: context, image and a "
                            "place for the module are needed");
    const ompjit_module_options *o =
        ompjit__module_options(options, &room, err);
    if (!o)
        return OMPJIT_ERR_INVALID;
    ompjit_module_options named = *o;
    if (!named.name)
        named.name = "image";
    ompjit__device_image one = {(void *)(uintptr_t)image,
                                (char *)(uintptr_t)image + size, NULL, NULL};
    const ompjit__library_code code = {named.name, &one, 1, NULL};
    return module_of(ctx, &code, &named, mod, err);
}
