/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Data regions that need no copy.
 */
#ifndef OMPJIT_PASSES_HOSTHALF_SHARE_H
#define OMPJIT_PASSES_HOSTHALF_SHARE_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Marks the entries of data regions that no program can tell from a copy;
 * before anything else. It cannot fail: without memory it marks fewer entries
 * or none, and those are copied. `unit`, borrowed: says what the module's
 * kernels write. `whole`: nothing outside of the module calls more than main.
 * share.c */
void ompjit__host_share(ompjit__compiler *compiler, LLVMModuleRef m,
                        const ompjit__unit *unit, bool whole);

#endif
