/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the other rooms ask of the runtime table.
 */
#ifndef OMPJIT_TABLE_H
#define OMPJIT_TABLE_H

#include <llvm-c/Types.h>

#include "base/base.h"

/* Checks every declaration and definition in the module whose name is in the
 * table against its row. ABI error that names the row and both types. */
ompjit_status ompjit__table_check(LLVMModuleRef m, ompjit_error *err);

#endif
