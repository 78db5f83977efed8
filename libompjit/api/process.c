/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The context of the programs that are linked with libompjit-omptarget, which
 * have none of their own: one for the process, made when it is first asked for.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "context/ompt.h"
#include "hosthalf/program_code.h"
#include "ompjit_debug.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* NULL: not yet, or it could not be made, see `why`. */
static ompjit_context *_Atomic process;
static ompjit_error why;

/* As `ompjit run` has it, unless the environment says something else. Nobody
 * reads a failure, so it ends the process, as libomptarget's do. */
static void make(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    o.after_failure = OMPJIT_AFTER_FAILURE_END;
    if (!getenv("OMPJIT_HOST_MEMORY"))
        o.host_memory = OMPJIT_HOST_MEMORY_AUTO;
    if (!getenv("OMPJIT_SPECIALIZE"))
        o.specialize.mode = OMPJIT_SPECIALIZE_AUTO;
    ompjit_context *ctx;
    if (!ompjit_context_create(&o, &ctx, &why))
        atomic_store(&process, ctx);
}

ompjit_status ompjit_process_context(ompjit_context **ctx, ompjit_error *err)
{
    if (!ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_process_context: a place for the context "
                            "is needed");
    pthread_once(&once, make);
    *ctx = atomic_load(&process);
    if (!*ctx && err)
        *err = why;
    return *ctx ? OMPJIT_OK : why.status;
}

/* Threads of the program may still run: the context stays. */
static void leave(void)
{
    ompjit_context *ctx = atomic_load(&process);
    ompjit__libraries_tell(ctx->tgt);
    ompjit__tell_profile(ctx);
}

static pthread_once_t tells = PTHREAD_ONCE_INIT;

static void add_handler(void)
{
    atexit(leave);
}

void ompjit__process_tells(ompjit_context *ctx)
{
    if (ctx == atomic_load(&process))
        pthread_once(&tells, add_handler);
}

void *ompjit_process_function(const char *name)
{
    if (name && !strcmp(name, "ompjit_caller"))
        return (void *)(uintptr_t)ompjit__ompt_caller;
    return name ? ompjit__served_address(name) : NULL;
}
