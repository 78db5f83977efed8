/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Is a module's idea of the runtime functions ours? openmp-opt and the linked
 * runtime take a function for what its name says; a wrong type there is silent
 * until the kernel runs, so it is found here, by ompjit_llvm.h's check.
 */
#include "ompjit_llvm.h"
#include "table/llvm/table.h"
#include "table/rows.h"

ompjit_status ompjit__table_find(LLVMModuleRef m, ompjit__findings *out,
                                 ompjit_error *err)
{
    ompjit_error faults;
    size_t n;
    int too_old;
    ompjit_status status =
        ompjit__llvm_faults(m, OMPJIT__OLDEST_CLANG, &faults, &too_old);
    if (status && too_old)
        return ompjit__fail(err, status, faults.stage, "%s %s",
                            LLVMGetModuleIdentifier(m, &n), faults.text);
    if (status)
        ompjit__finding(out, status, "%s", faults.text);
    return OMPJIT_OK;
}
