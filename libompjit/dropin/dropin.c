/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * libompjit-omptarget.so: libomptarget's functions, for programs that are
 * linked with that or with this library. Each finds the process's context and
 * calls the function of the same name that libompjit has (entry_points.c, which
 * functions.awk makes from abi/entry_points.def).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "dropin/dropin.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A program without a context cannot offload. It cannot be told either, and
 * goes on on the host where OpenMP lets it. */
static void no_context(void)
{
    ompjit_context *ctx;
    ompjit_error err;
    ompjit_process_context(&ctx, &err);
    fprintf(stderr, "ompjit: no target region is offloaded: %s\n", err.text);
}

ompjit_context *ompjit__dropin_context(void)
{
    ompjit_context *ctx;
    if (ompjit_process_context(&ctx, NULL))
        pthread_once(&once, no_context);
    return ctx;
}
