/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A host half, as clang made it without passes, becomes an object:
 *
 *   repair.c    clang's mistakes
 *   share.c     data regions that no program can tell from a copy (place.c)
 *   rewrite.c   calls of the library, offload entries, constructors
 *   compile.c   LLVM's passes and code generator
 */
#ifndef OMPJIT_PASSES_HOSTHALF_H
#define OMPJIT_PASSES_HOSTHALF_H

#include <llvm-c/TargetMachine.h>

#include "abi/served.h"
#include "core/core.h"
#include "core/host_half.h"

/* Rewrites a host half that was just parsed: served functions get their
 * context, constructors become one function, everything is for this CPU.
 * `out` is filled also on failure, for ompjit__host_half_free. rewrite.c */
ompjit_status ompjit__host_prepare(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                   ompjit__host_half *out, ompjit_error *err);
/* Corrects clang's mistakes; before anything else. repair.c */
void ompjit__host_repair(LLVMModuleRef m);
/* Marks the entries of data regions that no program can tell from a copy;
 * before anything else. share.c */
void ompjit__host_share(ompjit__compiler *compiler, LLVMModuleRef m,
                        const ompjit__unit *unit);

/* A unit's host half as an object for this CPU. `out` is set on success only;
 * the caller frees it. compile.c */
ompjit_status ompjit__half_compile(ompjit__compiler *compiler,
                                   const ompjit__unit *unit,
                                   ompjit__host_half *out, ompjit_error *err);

#endif
