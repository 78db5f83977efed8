/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The signatures of a host half's functions, as core/signature.h has them.
 */
#ifndef OMPJIT_FRONTEND_SIGNATURE_H
#define OMPJIT_FRONTEND_SIGNATURE_H

#include <llvm-c/Types.h>

#include "base/base.h"

/* Appends those of the functions that others may call, one packed string for the
 * module, which has not been optimized and is in the end what it was. Without
 * debug information names and types are those of the IR. out->failed: no
 * memory. */
void ompjit__signatures(LLVMModuleRef host, ompjit__buf *out);
/* Appends how those are called, one packed string for the module; without those
 * for which pieces cannot say it. */
void ompjit__passing(LLVMModuleRef host, ompjit__buf *out);
/* Takes off what of debug information only ompjit__signatures reads: lines are
 * left. */
void ompjit__strip_types(LLVMModuleRef host);

#endif
