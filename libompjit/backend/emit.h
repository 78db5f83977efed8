/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's code generator. C and C++ read this.
 */
#ifndef OMPJIT_BACKEND_EMIT_H
#define OMPJIT_BACKEND_EMIT_H

#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stddef.h>

/* Which of its passes run: all, or not those that take long and gain nothing for
 * a variant whose template was nothing but its kernel (codegen.cc). */
typedef enum ompjit__passes {
    OMPJIT__PASSES_ALL,
    OMPJIT__PASSES_LEAN
} ompjit__passes;

/* Calls `take` once with a module's file; false, without the call, where the
 * machine has no such files. codegen.cc */
bool ompjit__codegen(LLVMModuleRef m, LLVMTargetMachineRef tm,
                     LLVMCodeGenFileType type, ompjit__passes passes,
                     void (*take)(void *to, const char *bytes, size_t size),
                     void *to);

#endif
