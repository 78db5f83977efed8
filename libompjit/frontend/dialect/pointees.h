/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The memory that the pointers of kernels' main threads lead to. pointees.c
 */
#ifndef OMPJIT_POINTEES_H
#define OMPJIT_POINTEES_H

#include "frontend/describe/reach.h"

/* An analysis of the code that the kernel's main thread runs, or, for NULL,
 * those of all generic kernels. NULL: out of memory. The caller frees it. */
typedef struct ompjit__pointees ompjit__pointees;
ompjit__pointees *ompjit__pointees_new(LLVMModuleRef m, LLVMValueRef kernel);
void ompjit__pointees_free(ompjit__pointees *p);
/* The functions of that code. They are the analysis's. */
const ompjit__reached *ompjit__pointees_code(const ompjit__pointees *p);

/* Places that a value of that code may point to. */
enum {
    OMPJIT__TO_OWN = 1,    /* locals of the thread's own                     */
    OMPJIT__TO_SHARED = 2, /* locals whose addresses other threads may have  */
    OMPJIT__TO_OTHER = 4   /* memory that is no local                        */
};
unsigned ompjit__points_to(const ompjit__pointees *p, LLVMValueRef value);

/* The allocas of generic kernels and of what their main threads call whose
 * addresses other threads may have. The list is the caller's. */
ompjit__reached ompjit__shared_locals_of(LLVMModuleRef m);

#endif
