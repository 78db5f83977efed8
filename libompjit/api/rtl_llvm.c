/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_llvm.h: the compiler wing's functions, whose LLVM the application
 * shares.
 */
#include "door/door.h"
#include "ompjit_llvm.h"

ompjit_status ompjit_rtl_declare(LLVMModuleRef module, unsigned index,
                                 LLVMValueRef *fn, ompjit_error *err)
{
    const ompjit__door *door;
    void *value = NULL;
    ompjit_status status = ompjit__door_open(&door, err);
    if (!status)
        status = door->rtl_declare(module, index, fn ? &value : NULL, err);
    if (!status)
        *fn = value;
    return status;
}

ompjit_status ompjit_rtl_check(LLVMModuleRef module, ompjit_error *err)
{
    const ompjit__door *door;
    ompjit_status status = ompjit__door_open(&door, err);
    return status ? status : door->rtl_check(module, err);
}

ompjit_status ompjit_rtl_type(LLVMContextRef context, ompjit_rtl_struct which,
                              LLVMTypeRef *type, ompjit_error *err)
{
    const ompjit__door *door;
    void *found = NULL;
    ompjit_status status = ompjit__door_open(&door, err);
    if (!status)
        status = door->rtl_type(context, (int)which, type ? &found : NULL,
                                err);
    if (!status)
        *type = found;
    return status;
}
