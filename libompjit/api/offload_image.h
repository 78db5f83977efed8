/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A shared library in memory, whose functions call back into this process.
 */
#ifndef OMPJIT_OFFLOAD_IMAGE_H
#define OMPJIT_OFFLOAD_IMAGE_H

#include "base/base.h"

enum {
#if defined(__aarch64__)
    OMPJIT__WORDS_IN_REGISTERS = 8
#else
    OMPJIT__WORDS_IN_REGISTERS = 6
#endif
};

/* A function of words, however many: the first ones in registers, the others on
 * the stack. */
typedef void ompjit__words_fn(void *data, const uint64_t *in_registers,
                              const uint64_t *on_stack);

typedef struct ompjit__stub {
    const char *symbol;
    void *data; /* for `fn` */
} ompjit__stub;

/* Appends an ELF file to `out`, which is empty: a shared library with a function
 * for each stub, which calls fn(data, ...) at this process's addresses. */
void ompjit__stub_library(const ompjit__stub *stubs, uint32_t n,
                          ompjit__words_fn *fn, ompjit__buf *out);

#endif
