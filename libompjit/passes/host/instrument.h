/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The state that the parts of instrumentation share: instrument.c, the calls in
 * the program's code, and check_tables.c, the tables that the checker reads.
 */
#ifndef OMPJIT_PASSES_HOST_INSTRUMENT_H
#define OMPJIT_PASSES_HOST_INSTRUMENT_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <string.h>

#include "abi/check.h"
#include "base/base.h"

/* The instrumentation of one module. */
struct instrument {
    LLVMModuleRef m;
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTargetDataRef layout;
    LLVMTypeRef pointer, i32, i64, nothing;
    LLVMTypeRef site;      /* ompjit__site (abi/check.h)                   */
    LLVMValueRef f;        /* the function at hand                         */
    LLVMMetadataRef place; /* the instruction's debug location, for the calls
                              beside it; NULL: it has none                 */
};

static inline bool starts_with(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

static inline const char *name_of(LLVMValueRef v)
{
    size_t length;
    return LLVMGetValueName2(v, &length);
}

/* A private constant of the module: the text and a NUL. instrument.c */
LLVMValueRef ompjit__check_text(struct instrument *s, const char *data,
                                size_t n);

/* Exports the tables of the program's variables and of the functions that
 * pointers may lead to. Before any call is added, whose constants are none of
 * the program's. NO_MEMORY. check_tables.c */
ompjit_status ompjit__check_tables(struct instrument *s, ompjit_error *err);

#endif
