/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A context's profile as text, with the times that devices measure themselves.
 */
#include "base/structs.h"
#include "context/profile.h"
#include "device/device.h"
#include "ompjit_debug.h"

/* Waits for the GPUs: their times are read when the work has ended. May be
 * called at any time, and again; *text, with a NUL behind it, is malloc'd and
 * freed by ompjit_bytes_free. `size` may be NULL. UNAVAILABLE where nothing was
 * recorded. */
ompjit_status ompjit_context_profile(ompjit_context *ctx,
                                     ompjit_profile_format format, char **text,
                                     size_t *size, ompjit_error *err)
{
    if (!ctx || !text)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_context_profile: an argument is NULL");
    ompjit_status status =
        ompjit__enum_check("ompjit_context_profile", "format", (int)format,
                           OMPJIT_PROFILE_TRACE, err);
    if (status)
        return status;
    if (!ctx->spans)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                            "the context is not profiled: its option `profile` "
                            "or OMPJIT_PROFILE asks for that");
    ompjit__buf out = {0};
    ompjit__devices_settle_times(ctx);
    if (!ompjit__profile_text(ctx, format, &out)) {
        ompjit__buf_free(&out);
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    }
    *text = out.data;
    if (size)
        *size = out.size;
    return OMPJIT_OK;
}
