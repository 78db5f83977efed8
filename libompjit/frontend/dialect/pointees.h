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

/* May the code around a kernel's only parallel region not be run by all threads
 * of a team? It writes memory that is not a thread's own, reads memory that other
 * threads may write, or locals that the region may, or calls what is not known.
 * True also without memory. False where openmp-opt has made it code for all
 * threads. */
bool ompjit__needs_main_thread(LLVMValueRef kernel);

#endif
