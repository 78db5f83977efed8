/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's remarks of openmp-opt as records, and places and names of IR for
 * remarks of our own.
 */
#ifndef OMPJIT_LLVM_REMARKS_H
#define OMPJIT_LLVM_REMARKS_H

#include <llvm-c/Types.h>

#include "optimizer/remark.h"

/* From now on the context's remarks of openmp-opt are added to `list`, and its
 * other diagnostics collected as before, until remarks_end. */
void ompjit__remarks_begin(LLVMContextRef context, ompjit__buf *list);
void ompjit__remarks_end(LLVMContextRef context);

/* Adds a remark about an instruction: the function, file, line and column are
 * the instruction's, all else the remark's. */
void ompjit__remark_at(ompjit__buf *list, LLVMValueRef at,
                       const ompjit__remark *r);
/* The source's name of a local variable, by its allocation, of a function, and
 * of the one that a call calls; malloc'd, "" where the IR has no name. */
char *ompjit__remark_variable(LLVMValueRef allocation);
char *ompjit__remark_function(LLVMValueRef function);
char *ompjit__remark_called(LLVMValueRef call);

#endif
