/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A module of one source with the signatures of its functions, for tests of
 * ompjit_function.h.
 */
#ifndef OMPJIT_T_FUNCTION_H
#define OMPJIT_T_FUNCTION_H

#include "ompjit_function.h"
#include "tap.h"

static ompjit_context *ctx;
static ompjit_error err;

static inline void open_context(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    if (ompjit_context_create(&options, &ctx, &err)) {
        fprintf(stderr, "# %s\n", err.text);
        exit(1);
    }
}

static inline ompjit_module *module_named(const char *name, const char *source,
                                          int signatures)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod;
    options.name = name;
    options.signatures = signatures;
    if (ompjit_module_from_c(ctx, source, &options, &mod, &err)) {
        fprintf(stderr, "# %s\n", err.text);
        exit(1);
    }
    return mod;
}

static inline ompjit_function *function_of(ompjit_module *mod, const char *name)
{
    ompjit_function *fn;
    if (ompjit_module_function_find(mod, name, &fn, &err)) {
        fprintf(stderr, "# %s\n", err.text);
        exit(1);
    }
    return fn;
}

static inline ompjit_function_info info_of(ompjit_function *fn)
{
    ompjit_function_info info = OMPJIT_FUNCTION_INFO_INIT;
    ompjit_function_info_get(fn, &info, NULL);
    return info;
}

static inline ompjit_function_param_info param_of(ompjit_function *fn,
                                                  unsigned i)
{
    ompjit_function_param_info info = OMPJIT_FUNCTION_PARAM_INFO_INIT;
    ompjit_function_param(fn, i, &info, NULL);
    return info;
}

#endif
