/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA C++ to a unit. clang makes the IR that the host device runs and that a
 * GPU can; NVRTC makes PTX, for GPUs only (backend/cuda/cuda_image.c). A source
 * that only one of them takes makes a unit that has only the one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cuda_source.h"
#include "frontend/clang/clang.h"
#include "table/rows.h"

/* The text that clang reads: our header, a system header to it; then the
 * source, at the lines of its own file. */
static ompjit_status text_for_clang(ompjit_context *ctx, const char *source,
                                    const char *name, ompjit__buf *text,
                                    ompjit_error *err)
{
    ompjit__buf_printf(text, "# 1 \"ompjit/cuda.h\" 1 3\n");
    ompjit_status status =
        ompjit__door_cuda_header(&ctx->compiler, text, err);
    ompjit__table_header(text);
    ompjit__buf_printf(text, "# 1 ");
    ompjit__cuda_add_name(text, name);
    ompjit__buf_printf(text, " 2\n");
    ompjit__buf_add(text, source, strlen(source));
    return status || !text->failed
               ? status
               : ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
}

/* The header and the source in one text, by clang. */
static ompjit_status by_clang(ompjit_context *ctx, const char *source,
                              const ompjit_module_options *options,
                              ompjit__unit *out, ompjit_error *err)
{
    ompjit__buf text = {0};
    ompjit_status status =
        text_for_clang(ctx, source, options->name, &text, err);
    if (!status)
        status = ompjit__clang_cuda(ctx, text.data, options, out, err);
    ompjit__buf_free(&text);
    return status;
}

/* clang's word is not the last where NVRTC may take the source. */
static bool may_differ(ompjit_status status)
{
    return status == OMPJIT_ERR_SOURCE || status == OMPJIT_ERR_UNAVAILABLE;
}

/* A unit without IR. If NVRTC does not take the source either, both say why; if
 * there is no NVRTC, clang alone does. */
static ompjit_status by_nvrtc(ompjit_context *ctx, ompjit__cuda *cuda,
                              const ompjit_error *clang, unsigned opt_level,
                              ompjit__unit *out, ompjit_error *err)
{
    ompjit_error nvrtc;
    uint64_t start = ompjit__now();
    ompjit_status status = ompjit__door_cuda_kernels(
        &ctx->compiler, cuda, clang->text, out, &nvrtc);
    ompjit__stage_done(ctx, OMPJIT_STAGE_FRONTEND, start);
    if (!status) {
        out->opt_level = opt_level ? opt_level - 1 : 3;
        ompjit__log(ctx, "%s: only NVRTC takes it: %s", cuda->name,
                    clang->text);
        return OMPJIT_OK;
    }
    if (status == OMPJIT_ERR_UNAVAILABLE &&
        cuda->compiler == OMPJIT_CUDA_COMPILER_AUTO) {
        if (err)
            *err = *clang;
        return clang->status;
    }
    return ompjit__fail_logged(ctx, err, status, OMPJIT_STAGE_FRONTEND,
                               "%s\nclang, for the host device: %s", nvrtc.text,
                               clang->text);
}

/* By clang first. Its unit is kept even where NVRTC makes the code for GPUs:
 * the host device runs it, and it tells of parameters and variables. */
static ompjit_status compile(ompjit_context *ctx, ompjit__cuda *cuda,
                             const ompjit_module_options *options,
                             ompjit__unit *out, ompjit_error *err)
{
    ompjit_error clang;
    ompjit_status status =
        by_clang(ctx, cuda->source, options, out, &clang);
    if (!status && cuda->compiler == OMPJIT_CUDA_COMPILER_NVRTC) {
        status = ompjit__door_cuda_check(&ctx->compiler, cuda, err);
        if (status)
            ompjit__unit_free(out);
        return status;
    }
    if (!status)
        return OMPJIT_OK;
    if (may_differ(status) && cuda->compiler != OMPJIT_CUDA_COMPILER_CLANG)
        return by_nvrtc(ctx, cuda, &clang, options->opt_level, out, err);
    if (err)
        *err = clang;
    return status;
}

ompjit_status ompjit__frontend_cuda(ompjit_context *ctx, const char *source,
                                    const ompjit_module_options *options,
                                    ompjit__unit *out, ompjit_error *err)
{
    ompjit_module_options named = *options;
    if (!named.name)
        named.name = "snippet.cu";
    ompjit__cuda *cuda;
    ompjit_status status = ompjit__cuda_new(source, &named, &cuda, err);
    if (status)
        return status;
    status = compile(ctx, cuda, &named, out, err);
    if (status)
        ompjit__cuda_free(cuda);
    else
        out->cuda = cuda;
    return status;
}
