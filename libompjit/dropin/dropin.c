/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * libompjit-omptarget.so: libomptarget's functions, for programs that are
 * linked with that or with this library. Each finds the process's context and
 * calls the function of the same name that libompjit has (entry_points.c, which
 * functions.awk makes from abi/entry_points.def).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "dropin/dropin.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Has a caller got the context? */
static atomic_bool is_made;

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
    else
        atomic_store_explicit(&is_made, true, memory_order_release);
    return ctx;
}

/* libomp serves a program that has no memory of devices, for which a context
 * would only cost time. 0 stands for the default allocator, which may be one of
 * target memory. */
ompjit_context *ompjit__dropin_allocates(int64_t allocator)
{
    enum { DEFAULT = 0, TARGET_FIRST = 100, TARGET_LAST = 102 };
    const bool may_be_target =
        allocator == DEFAULT ||
        (allocator >= TARGET_FIRST && allocator <= TARGET_LAST);
    return may_be_target || atomic_load_explicit(&is_made, memory_order_acquire)
               ? ompjit__dropin_context()
               : NULL;
}
