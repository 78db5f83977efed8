/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Passes about loops as clang writes them: their schedules, and scans.
 */
#ifndef OMPJIT_PASSES_LOOPS_H
#define OMPJIT_PASSES_LOOPS_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Gives the threads that share a scan one buffer for it, and leaves out its
 * passes over a single element. Requires IR as clang writes it, not optimized.
 * passes/loops/scan.c */
void ompjit__share_scans(LLVMModuleRef m);

/* Gives loops of default schedules the form that suits a GPU, or a CPU. Before
 * the runtime is linked, and of what clang has not optimized. chunk_is_default:
 * ompjit__unit. passes/loops/schedule.c */
void ompjit__stride_loops(LLVMModuleRef m);
void ompjit__block_loops(LLVMModuleRef m, bool chunk_is_default);

#endif
