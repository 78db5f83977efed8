/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The locals that other threads than the main thread can get at. pointees.c
 */
#ifndef OMPJIT_POINTEES_H
#define OMPJIT_POINTEES_H

#include "frontend/describe/reach.h"

/* The allocas of generic kernels and of what their main threads call whose
 * addresses other threads may have. The list is the caller's. */
ompjit__reached ompjit__shared_locals_of(LLVMModuleRef m);

#endif
