/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Data regions that need no copy.
 */
#ifndef OMPJIT_PASSES_HOSTHALF_SHARE_H
#define OMPJIT_PASSES_HOSTHALF_SHARE_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Where a module's functions are called from, beside its own code. */
enum ompjit__callers {
    OMPJIT__CALLERS_NONE,    /* main alone is called from outside            */
    OMPJIT__CALLERS_OUTSIDE, /* what calls them does so when the host half is
                                not running                                  */
    OMPJIT__CALLERS_OBJECTS  /* other objects of the program call them by name,
                                also in functions that the host half calls   */
};

/* Marks the entries of data regions that no program can tell from a copy;
 * before anything else. It cannot fail: without memory it marks fewer entries
 * or none, and those are copied. `unit`, borrowed: says what the module's
 * kernels write. share.c */
void ompjit__host_share(ompjit__compiler *compiler, LLVMModuleRef m,
                        const ompjit__unit *unit,
                        enum ompjit__callers callers);

#endif
