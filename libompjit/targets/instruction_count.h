/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How many instructions a text in assembly language has.
 */
#ifndef OMPJIT_INSTRUCTION_COUNT_H
#define OMPJIT_INSTRUCTION_COUNT_H

#include "base/base.h"
#include "ompjit_tune.h"

/* A format of ompjit__build beside the public ones, for the host: LLVM's
 * assembly text with its comments. */
#define OMPJIT__FORMAT_ASSEMBLY OMPJIT_FORMAT_COUNT

/* Instructions of all functions in PTX as LLVM writes it. */
uint32_t ompjit__count_ptx(const char *ptx);

/* Likewise of assembly for the host, and the bytes that are spilled to the
 * stack and read back, as LLVM's comments tell. */
uint32_t ompjit__count_assembly(const char *text, uint32_t *stores,
                                uint32_t *loads);

#endif
