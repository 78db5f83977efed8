/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The kernels of a unit as modules of their own. C and C++ read this.
 */
#ifndef OMPJIT_EXTRACT_KERNEL_H
#define OMPJIT_EXTRACT_KERNEL_H

#include <llvm-c/Types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A unit's module whose kernels are taken out one by one. The module must outlive
 * it and not be changed. NULL: its kernels cannot be told apart.
 * extract_kernel.cc */
typedef struct ompjit__kernels ompjit__kernels;
ompjit__kernels *ompjit__kernels_new(LLVMModuleRef m);
void ompjit__kernels_free(ompjit__kernels *kernels); /* accepts NULL */
/* A new module in the same context, the caller's, without other kernels and what
 * only they need. NULL: there is no such kernel. Requires a module as it was
 * read. */
LLVMModuleRef ompjit__kernels_take(const ompjit__kernels *kernels,
                                   const char *kernel);

/* Is it a constant with the address of a shared variable in it, which is named?
 * globals.c */
bool ompjit__refers_to_shared(LLVMValueRef g);

#ifdef __cplusplus
}
#endif

#endif
