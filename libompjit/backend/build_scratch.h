/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The state that builds of variants by one target machine share: an LLVM
 * context, the templates that have been read into it, and the code generator.
 * Setting these up for each takes an eighth of the time of a small kernel's
 * build.
 */
#ifndef OMPJIT_STOCK_H
#define OMPJIT_STOCK_H

#include <llvm-c/TargetMachine.h>
#include <stdint.h>

#include "backend/codegen/emit.h"

typedef struct ompjit__stock ompjit__stock;

/* For files of the type; NULL: no memory. */
ompjit__stock *ompjit__stock_new(LLVMTargetMachineRef tm,
                                 LLVMCodeGenFileType type);
void ompjit__stock_free(ompjit__stock *s); /* accepts NULL */

LLVMContextRef ompjit__stock_context(const ompjit__stock *s);
ompjit__generator *ompjit__stock_generator(const ompjit__stock *s);

/* A template's module, by the template's number; NULL: not there. */
LLVMModuleRef ompjit__stock_find(ompjit__stock *s, uint64_t number);
/* Takes over the module, for a template that is not there. */
void ompjit__stock_keep(ompjit__stock *s, uint64_t number, LLVMModuleRef m);

/* After a build: true where so much of past ones lies in the context, which
 * forgets no constant and no type, that another is to take its place. */
bool ompjit__stock_is_used_up(ompjit__stock *s);

#endif
