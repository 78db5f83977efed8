/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Builds in the test's own process, without the door between: with the
 * templates and target machines that a worker has otherwise.
 */
#ifndef OMPJIT_T_DIRECT_H
#define OMPJIT_T_DIRECT_H

#include "backend/backend.h"
#include "core/template.h"
#include "launch/module.h"

/* As ompjit_module_from_c, for ompjit__build. */
static inline ompjit_status direct_module(ompjit_context *ctx, const char *text,
                                          ompjit_module **mod,
                                          ompjit_error *err)
{
    ompjit_status status = ompjit_module_from_c(ctx, text, NULL, mod, err);
    if (!status)
        (*mod)->unit.templates = ompjit__templates_new();
    return status;
}

static inline void direct_end(ompjit_context *ctx)
{
    ompjit__machines_free(ctx->compiler.machines);
    ctx->compiler.machines = NULL;
    ompjit_context_destroy(ctx);
}

#endif
