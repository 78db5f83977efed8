/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime table's interface for the other rooms.
 */
#ifndef OMPJIT_TABLE_H
#define OMPJIT_TABLE_H

#include <llvm-c/Types.h>

#include "base/base.h"

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

#endif
