/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Markers: calls of undefined functions that are in a module while openmp-opt
 * runs, whose attributes tell it something. marker.c
 */
#ifndef OMPJIT_PASSES_MARKER_H
#define OMPJIT_PASSES_MARKER_H

#include <llvm-c/Types.h>

/* Declares the function `void name(void)`, which accesses inaccessible memory
 * alone. flags: its enumeration attributes, a NULL behind the last; assumption:
 * the text of its attribute "llvm.assume". */
LLVMValueRef ompjit__marker_declare(LLVMModuleRef m, const char *name,
                                    const char *const *flags,
                                    const char *assumption);
/* Removes the function and all of its calls, if the module has it. */
void ompjit__marker_drop(LLVMModuleRef m, const char *name);

#endif
