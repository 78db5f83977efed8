/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One program at a time on the context's first device, and what is in it. A
 * failure ends the test.
 */
#ifndef OMPJIT_T_PROGRAM_H
#define OMPJIT_T_PROGRAM_H

#include "launch/module.h"
#include "tap.h"

static ompjit_error err;
static ompjit_context *ctx;
static ompjit_device *dev;
static ompjit_module *mod;

static inline void must(ompjit_status status)
{
    if (!status)
        return;
    printf("Bail out! %s\n", err.text);
    exit(1);
}

static inline void open_program(const ompjit_context_options *options,
                                const char *source)
{
    must(ompjit_context_create(options, &ctx, &err));
    must(ompjit_context_device(ctx, 0, &dev, &err));
    must(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
}

static inline void close_module(void)
{
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

static inline ompjit_kernel *kernel(const char *name)
{
    ompjit_kernel *k = NULL;
    must(ompjit_module_kernel(mod, name, &k, &err));
    return k;
}

/* As many as there are: the kernel has none of that name. */
static inline unsigned param(ompjit_kernel *k, const char *name)
{
    ompjit_param_info info = OMPJIT_PARAM_INFO_INIT;
    unsigned i = 0;
    while (!ompjit_kernel_param(k, i, &info, NULL) && strcmp(info.name, name))
        i++;
    return i;
}
#endif
