/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device runtime's bitcode, which is part of the library.
 */
#ifndef OMPJIT_RUNTIME_BITCODE_H
#define OMPJIT_RUNTIME_BITCODE_H

#include <llvm-c/Types.h>

#include "base/base.h"

/* The device runtime's bitcode for a triple that there is a machine for, which
 * lives as long as the library; NULL for any other. */
const void *ompjit__runtime_bc(const char *triple, size_t *size);
/* The runtime as a module whose function bodies are read when they are linked.
 * plain: the one for modules that are (ompjit__is_plain). `messages` are the
 * context's. The module is the caller's. INTERNAL error. */
ompjit_status ompjit__runtime_read(LLVMContextRef context, const char *triple,
                                   bool plain, const ompjit__buf *messages,
                                   LLVMModuleRef *out, ompjit_error *err);
/* runtime-bc/cuda.h, which clang reads before a CUDA source. */
const char *ompjit__cuda_header(void);

#endif
