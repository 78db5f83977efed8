/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Errors as values: status, stage and a text of fixed size.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"

static const struct {
    ompjit_status status;
    const char *name;
} status_names[] = {
    {OMPJIT_OK, "success"},
    {OMPJIT_ERR_INVALID, "invalid argument"},
    {OMPJIT_ERR_NO_MEMORY, "out of memory"},
    {OMPJIT_ERR_SOURCE, "source does not compile"},
    {OMPJIT_ERR_IR, "invalid IR"},
    {OMPJIT_ERR_ABI, "runtime ABI mismatch"},
    {OMPJIT_ERR_NOT_FOUND, "not found"},
    {OMPJIT_ERR_ARGUMENT, "kernel arguments do not fit"},
    {OMPJIT_ERR_GEOMETRY, "launch geometry not possible"},
    {OMPJIT_ERR_TARGET, "unknown architecture"},
    {OMPJIT_ERR_COMPILE, "back end failed"},
    {OMPJIT_ERR_ASSEMBLE, "assembler failed"},
    {OMPJIT_ERR_LINK, "undefined symbols"},
    {OMPJIT_ERR_UNAVAILABLE, "not available"},
    {OMPJIT_ERR_DRIVER, "CUDA driver error"},
    {OMPJIT_ERR_MAPPING, "data mapping failed"},
    {OMPJIT_ERR_DEVICE, "kernel failed"},
    {OMPJIT_ERR_TIMEOUT, "time limit passed"},
    {OMPJIT_ERR_IO, "input or output failed"},
    {OMPJIT_ERR_INTERNAL, "internal error"},
    {OMPJIT_ERR_ABORTED, "aborted"},
};

static const char *const stage_names[OMPJIT_STAGE_COUNT] = {
    [OMPJIT_STAGE_API] = "call",
    [OMPJIT_STAGE_FRONTEND] = "front end",
    [OMPJIT_STAGE_READ] = "read",
    [OMPJIT_STAGE_SPECIALIZE] = "specialize",
    [OMPJIT_STAGE_LINK] = "link",
    [OMPJIT_STAGE_OPTIMIZE] = "optimize",
    [OMPJIT_STAGE_CODEGEN] = "code generation",
    [OMPJIT_STAGE_ASSEMBLE] = "assemble",
    [OMPJIT_STAGE_LOAD] = "load",
    [OMPJIT_STAGE_MAP] = "map",
    [OMPJIT_STAGE_LAUNCH] = "launch",
    [OMPJIT_STAGE_CACHE] = "cache",
};

const char *ompjit_status_name(ompjit_status status)
{
    for (size_t i = 0; i < OMPJIT__COUNT(status_names); i++)
        if (status_names[i].status == status)
            return status_names[i].name;
    return "unknown status";
}

const char *ompjit_stage_name(ompjit_stage stage)
{
    if ((unsigned)stage >= OMPJIT_STAGE_COUNT)
        return "unknown stage";
    return stage_names[stage];
}

ompjit_status ompjit__fail(ompjit_error *err, ompjit_status status,
                           ompjit_stage stage, const char *format, ...)
{
    if (!err)
        return status;
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(err->text, sizeof err->text, format, ap);
    va_end(ap);
    if (n >= (int)sizeof err->text)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
    err->status = status;
    err->stage = stage;
    return status;
}

ompjit_status ompjit__no_memory(ompjit_error *err, ompjit_stage stage)
{
    return ompjit__fail(err, OMPJIT_ERR_NO_MEMORY, stage, "out of memory");
}

ompjit__limit_text ompjit__limit(unsigned ms)
{
    ompjit__limit_text out;
    if (ms % 1000)
        snprintf(out.text, sizeof out.text, "%u ms", ms);
    else
        snprintf(out.text, sizeof out.text, "%u second%s", ms / 1000,
                 ms == 1000 ? "" : "s");
    return out;
}
