/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the other rooms ask of the runtime table.
 */
#ifndef OMPJIT_TABLE_H
#define OMPJIT_TABLE_H

#include <llvm-c/Types.h>

#include "base/base.h"

/* Checks every declaration and definition in the module whose name is in the
 * table: its type must be that of a row, of any accepted release. ABI error
 * that lists all that are wrong, with row and both types, and says where the
 * IR is from a clang older than 18. */
ompjit_status ompjit__table_check(LLVMModuleRef m, ompjit_error *err);

/* Likewise, but only LLVM 22's rows are right: for IR that is upgraded. */
ompjit_status ompjit__table_check_inner(LLVMModuleRef m, ompjit_error *err);

/* The row of a function, by its name and type; -1: none has both. */
int ompjit__table_row(LLVMValueRef fn);

/* The row of LLVM 22 that an upgrade turns calls of `row` into; -1: calls
 * stay as they are. */
int ompjit__table_successor(int row);

/* Whether the device runtime has the function and programs may call it. */
bool ompjit__table_device_function(const char *name);

/* Appends declarations of all those functions, and the macros that
 * ompjit_module_from_cuda promises, as CUDA C++. declarations.c */
void ompjit__table_header(ompjit__buf *out);

#endif
