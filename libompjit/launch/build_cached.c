/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Images that are remembered, and the key that says what they depend on. The
 * key must have everything that changes an image: a line that is missing gives
 * an image of other code, without an error. The library's own build is in every
 * key (cache/). A unit's part of that is its digest (core/unit_pack.c).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/prebuilt.h"
#include "targets/arch.h"
#include "targets/cuda_files.h"
#include "core/cuda_source.h"
#include "cache/cache.h"
#include "door/door.h"
#include "frontend/clang/clang.h"

/* ------------------------------------------------------------------- key */

/* The first file of a kind; what the loader finds by itself is named only. */
static void add_tool(ompjit__key *key, const char *name,
                     enum ompjit__cuda_file kind)
{
    char **paths = ompjit__cuda_paths(kind);
    char **p = paths;
    while (p && *p && access(*p, R_OK))
        p++;
    ompjit__key_file(key, name, p ? *p : NULL);
    ompjit__cuda_paths_free(paths);
}

/* ptxas and nvJitLink make other code of the same PTX, version by version. */
static void add_assembler(ompjit__key *key, const ompjit_context *ctx)
{
    ompjit__buf_printf(&key->text, "assembler %d\n",
                       (int)ctx->compiler.assembler);
    add_tool(key, "nvjitlink", OMPJIT__CUDA_NVJITLINK);
    add_tool(key, "ptxas", OMPJIT__CUDA_PTXAS);
}

/* Adds the folded facts, and the kernel of the unit that they are for. */
static void add_spec(ompjit__key *key, const ompjit__spec *spec)
{
    if (spec->kernel)
        ompjit__buf_printf(&key->text, "kernel %s\n", spec->kernel);
    ompjit__buf_printf(&key->text, "import_globals %d\n",
                       spec->import_globals);
    if (spec->keeps_environments)
        ompjit__buf_printf(&key->text, "keeps_environments\n");
    ompjit__facts_text(&spec->facts, &key->text);
}

/* NVRTC reads the source, not the unit's IR. */
static void add_cuda(ompjit__key *key, const ompjit__unit *unit)
{
    uint8_t digest[OMPJIT__DIGEST];
    const ompjit__cuda *cuda = unit->cuda;
    if (!ompjit__cuda_by_nvrtc(unit))
        return;
    ompjit__digest(cuda->source, strlen(cuda->source), digest);
    ompjit__key_digest(key, "cuda", digest);
    ompjit__buf_printf(&key->text, "cuda_name %s\ncuda_compiler %d\n",
                       cuda->name, (int)cuda->compiler);
    for (unsigned i = 0; i < cuda->noptions; i++)
        ompjit__buf_printf(&key->text, "cuda_option %s\n", cuda->options[i]);
    add_tool(key, "nvrtc", OMPJIT__CUDA_NVRTC);
}

/* NVRTC's PTX may be too new for the driver, whichever that is. */
static void add_ptx(ompjit__key *key, const ompjit__unit *unit,
                    const char *arch, const ompjit__spec *spec)
{
    const ompjit__arch *row;
    if (!ompjit__arch_find(arch, &row, NULL))
        ompjit__buf_printf(&key->text, "ptx %u\n",
                           ompjit__cuda_by_nvrtc(unit)
                               ? spec->ptx
                               : ompjit__ptx_version(row, spec->ptx));
}

/* False: out of memory, and the image is built without the cache. */
static bool make_key(const ompjit_context *ctx, const ompjit__unit *unit,
                     const char *arch, ompjit_format format,
                     const ompjit__spec *spec, ompjit__key *key)
{
    ompjit__key_begin(key, "image");
    ompjit__key_digest(key, "unit", unit->digest);
    ompjit__buf_printf(&key->text, "arch %s\nformat %d\nchecked %d\n", arch,
                       (int)format, ctx->check != NULL);
    if (ctx->compiler.cancellation)
        ompjit__buf_printf(&key->text, "cancellation\n");
    ompjit__buf_printf(&key->text, "chunk_is_default %d\nown_lines %d\n",
                       unit->chunk_is_default, unit->own_lines);
    if (!strcmp(arch, "host"))
        ompjit__key_cpu(key);
    else
        add_tool(key, "libdevice", OMPJIT__CUDA_LIBDEVICE);
    if (format == OMPJIT_FORMAT_CUBIN)
        add_assembler(key, ctx);
    if (strcmp(arch, "host"))
        add_cuda(key, unit);
    add_ptx(key, unit, arch, spec);
    add_spec(key, spec);
    return ompjit__key_end(key);
}

/* ----------------------------------------------------------------- build */

/* Builds without the cache. The front end may use the processors then
 * (ompjit__frontend_rest). */
static ompjit_status build(ompjit_context *ctx, const ompjit__unit *unit,
                           const char *arch, ompjit_format format,
                           const ompjit__spec *spec, ompjit__image *out,
                           ompjit_error *err)
{
    ompjit_status status = ompjit__door_build(&ctx->compiler, unit, arch,
                                              format, spec, out, err);
    ompjit__frontend_rest(ctx);
    return status;
}

/* For the cache: reads the image; false: the payload is not one. */
static bool take(void *data, const void *payload, size_t size)
{
    ompjit__reader r = {payload, size, false};
    return ompjit__image_unpack(&r, data);
}

/* Images of prebuilt units are in the unit: nothing is built or looked up. */
ompjit_status ompjit__build_cached(ompjit_context *ctx,
                                   const ompjit__unit *unit, const char *arch,
                                   ompjit_format format,
                                   const ompjit__spec *spec,
                                   ompjit__image *out, ompjit_error *err)
{
    ompjit__key key = {0};
    ompjit__claim claim;
    if (unit->nprebuilt)
        return ompjit__prebuilt_image(unit, arch, out, err);
    /* A unit without IR was compiled by NVRTC alone: nobody knows the files
     * that it includes. OPT_LL is asked for by people, once. */
    bool known = unit->device_bc.size;
    if (!ctx->cache || !known || format == OMPJIT_FORMAT_OPT_LL ||
        !make_key(ctx, unit, arch, format, spec, &key)) {
        ompjit__key_free(&key);
        return build(ctx, unit, arch, format, spec, out, err);
    }
    ompjit_status status = OMPJIT_OK;
    /* A miss leaves this thread the claim, which ends in any case, and only
     * after the entry was put: whoever waits finds it then. */
    if (!ompjit__cache_enter(ctx->cache, &key, take, out, &claim)) {
        status = build(ctx, unit, arch, format, spec, out, err);
        ompjit__buf payload = {0};
        if (!status) {
            ompjit__image_pack(out, &payload);
            ompjit__cache_put(ctx->cache, &key, &payload);
        }
        ompjit__buf_free(&payload);
        ompjit__claim_end(&claim);
    } else {
        ompjit__frontend_rest(ctx);
    }
    ompjit__key_free(&key);
    return status;
}
