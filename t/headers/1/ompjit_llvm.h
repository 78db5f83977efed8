/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_llvm.h - for applications that make their IR with LLVM 22's C API.
 *
 * The library's own LLVM is hidden in it. These functions are therefore of use
 * only where application and library share one LLVM: the library configured
 * with --enable-shared-llvm, and the application linked with the same libLLVM.
 * Other applications hand IR over as text or bitcode, with
 * ompjit_module_from_ir(), which makes the same check.
 *
 * As everywhere in LLVM, one thread at a time may use a context and what is in
 * it.
 */
#ifndef OMPJIT_LLVM_H
#define OMPJIT_LLVM_H

#include <llvm-c/Types.h>

#include "ompjit_rtl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Declares the function of row `index` in the module, with the attributes and
 * the callback metadata that LLVM gives it, and stores it in *fn. A function
 * of that name and type that is already there, declared or defined, is
 * stored as it is. ABI error, which names the row and both types, where the
 * name is taken by something else; NOT_FOUND where there is no such row. */
ompjit_status ompjit_rtl_declare(LLVMModuleRef module, unsigned index,
                                 LLVMValueRef *fn, ompjit_error *err);

/* Checks each function of the module whose name is in the table: its type must
 * be that of a row of LLVM 18 to 22. The ABI error lists every function that
 * is wrong, with its row and both types, and tells where the IR comes from a
 * clang older than 18. */
ompjit_status ompjit_rtl_check(LLVMModuleRef module, ompjit_error *err);

/* The structs that clang's code, kernels and runtimes share. KERNEL_ARGS is of
 * versions 2 and 3, OFFLOAD_ENTRY_OLD of LLVM 18 and 19. */
typedef enum ompjit_rtl_struct {
#define OMPJIT_RTL_STRUCT(id, type, name, c_type) OMPJIT_RTL_STRUCT_##id,
#include "ompjit_rtl.def"
    OMPJIT_RTL_STRUCT_COUNT
} ompjit_rtl_struct;

/* The type in a context, the same on each call. It has LLVM's own name for it
 * ("struct.ident_t"), unless another type has that name there already, or
 * LLVM itself uses the name for a struct of other fields: then it has none. */
ompjit_status ompjit_rtl_type(LLVMContextRef context, ompjit_rtl_struct which,
                              LLVMTypeRef *type, ompjit_error *err);

#ifdef __cplusplus
}
#endif
#endif
