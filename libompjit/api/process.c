/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The context of the programs that are linked with libompjit-omptarget, which
 * have none of their own: one for the process, made when it is first asked for.
 */
#include <pthread.h>
#include <stdlib.h>

#include "api/context.h"
#include "hosthalf/program_code.h"
#include "ompjit_debug.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static ompjit_context *process; /* NULL: it could not be made, see `why` */
static ompjit_error why;

/* Programs unregister what they have registered before this, since the context
 * was there first. Their threads may still run: the context stays. */
static void leave(void)
{
    ompjit__tell_profile(process);
}

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
    if (!ompjit_context_create(&o, &process, &why))
        atexit(leave);
}

ompjit_status ompjit_process_context(ompjit_context **ctx, ompjit_error *err)
{
    if (!ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_process_context: a place for the context "
                            "is needed");
    pthread_once(&once, make);
    *ctx = process;
    if (!process && err)
        *err = why;
    return process ? OMPJIT_OK : why.status;
}

void *ompjit_process_function(const char *name)
{
    return name ? ompjit__served_address(name) : NULL;
}
