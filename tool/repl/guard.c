/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs a session's code, of which nothing ends the session.
 */
#include "device/engine/fault.h"
#include "tool/repl/engine.h"

bool guard_run(engine *e, void (*f)(void *arg), void *arg, ompjit_error *err)
{
    char cause[512];
    if (ompjit__fault_guard(f, arg, cause, sizeof cause))
        return true;
    ompjit__fail(err, OMPJIT_ERR_DEVICE, OMPJIT_STAGE_LAUNCH, "%s", cause);
    return false;
}

void guard_missing(void *data, const char *name)
{
}
