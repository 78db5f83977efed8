/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the other rooms ask of the runtime table.
 */
#ifndef OMPJIT_TABLE_H
#define OMPJIT_TABLE_H

#include <llvm-c/Types.h>

#include "base/base.h"
#include "ompjit_llvm.h"

/* Checks every declaration and definition in the module whose name is in the
 * table: its type must be that of a row, of any accepted release. Adds a finding
 * that lists all that are wrong, with row and both types. ABI error where the IR
 * is from a clang older than 18. check.c */
ompjit_status ompjit__table_find(LLVMModuleRef m, ompjit__findings *out,
                                 ompjit_error *err);
/* Checks the functions that the module hands to functions of the table:
 * outlined regions, bodies of loops, helpers of reductions. Requires that calls
 * are of their functions' types; findings for what is wrong. callback.c */
void ompjit__table_callbacks(LLVMModuleRef m, bool host, ompjit__findings *out);

/* Whether only LLVM 22's rows are there, as in IR that is upgraded: an ABI error
 * that lists what is wrong. check.c */
ompjit_status ompjit__table_check_inner(LLVMModuleRef m, ompjit_error *err);

/* The row of a function, by its name and type; -1: none has both. */
int ompjit__table_row(LLVMValueRef fn);

/* The row of LLVM 22 that an upgrade turns calls of `row` into; -1: calls
 * stay as they are. */
int ompjit__table_successor(int row);

/* ompjit_llvm.h's functions of these names. declare.c, check.c */
ompjit_status ompjit__rtl_declare(LLVMModuleRef m, unsigned index,
                                  LLVMValueRef *fn, ompjit_error *err);
ompjit_status ompjit__rtl_check(LLVMModuleRef m, ompjit_error *err);
ompjit_status ompjit__rtl_type(LLVMContextRef ctx, ompjit_rtl_struct which,
                               LLVMTypeRef *type, ompjit_error *err);

#endif
