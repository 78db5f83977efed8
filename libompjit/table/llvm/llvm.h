/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What declare.c and check.c share: rows and what a module has in their place.
 */
#ifndef OMPJIT_TABLE_LLVM_H
#define OMPJIT_TABLE_LLVM_H

#include <llvm-c/Types.h>

#include "table/rows.h"

/* The function type that a row's letters stand for. */
LLVMTypeRef ompjit__rtl_function_type(LLVMContextRef ctx, const char *letters);

/* The function, else the variable, else the alias of that name, or NULL. */
LLVMValueRef ompjit__rtl_value(LLVMModuleRef m, const char *name);

/* What it is, for an error: its type, and what is odd about it. */
void ompjit__rtl_found_text(ompjit__buf *out, LLVMValueRef value);

#endif
