/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's code generator. C and C++ read this.
 */
#ifndef OMPJIT_BACKEND_EMIT_H
#define OMPJIT_BACKEND_EMIT_H

#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

/* The code generator's passes that run: all, or not those that take long and
 * gain nothing for a variant whose template was nothing but its kernel
 * (generator.cc). */
typedef enum ompjit__passes {
    OMPJIT__PASSES_ALL,
    OMPJIT__PASSES_LEAN
} ompjit__passes;

/* The code generator for one machine and kind of file, and for modules of one
 * LLVM context, one after another: its passes keep types. One thread at a time.
 * The machine must outlive it. generator.cc */
typedef struct ompjit__generator ompjit__generator;
/* The caller's; its passes are set up at the first run of each kind. */
ompjit__generator *ompjit__generator_new(LLVMTargetMachineRef tm,
                                         LLVMCodeGenFileType type);
void ompjit__generator_free(ompjit__generator *g); /* accepts NULL */
/* Sets up all passes now, which takes a millisecond. */
void ompjit__generator_prepare(ompjit__generator *g);
/* Calls `take` once with a module's file; false, without the call, where the
 * machine has no such files. */
bool ompjit__generator_run(ompjit__generator *g, LLVMModuleRef m,
                           ompjit__passes passes,
                           void (*take)(void *to, const char *bytes,
                                        size_t size),
                           void *to);

/* Has the machine know what features mean of functions like this one, which it
 * keeps: it takes more than a millisecond. */
void ompjit__learn_features(LLVMTargetMachineRef tm, LLVMValueRef function);

/* Module to object bytes, or to assembly text, appended, by a code generator
 * for such files; NULL: by one for it alone. Changes the module, which is
 * lowered on the way. COMPILE error with LLVM's text, NO_MEMORY.
 * backend/codegen/emit.c */
ompjit_status ompjit__emit_object(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                  ompjit__generator *g, ompjit__passes passes,
                                  ompjit__buf *object, ompjit_error *err);
ompjit_status ompjit__emit_assembly(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                    ompjit__generator *g,
                                    ompjit__passes passes, ompjit__buf *text,
                                    ompjit_error *err);

#endif
