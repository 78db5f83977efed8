/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How a GPU tells the library which assertion has failed: in page-locked memory
 * of the host, which can be read when the driver has given up the context.
 * CUDA tells the application of its own assertion no more than that there was
 * one.
 */
#ifndef OMPJIT_RT_ASSERTION_H
#define OMPJIT_RT_ASSERTION_H

#include <stdint.h>

enum { ASSERTION_NONE, ASSERTION_BEGUN, ASSERTION_TOLD };

typedef struct ompjit_assertion {
    uint32_t state; /* the first that fails takes it */
    uint32_t line;
    char file[1024], function[1024], expression[1024]; /* cut, NUL at the end */
} ompjit_assertion;

/* The device variable that has its address, or NULL: the library fills it in
 * each image that has it. */
#define OMPJIT_ASSERTION_AT "ompjit_assertion_at"

#endif
