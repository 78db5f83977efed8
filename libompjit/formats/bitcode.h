/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The outer blocks of bitcode files, without LLVM: a file that was cut short
 * gets an error that says so.
 */
#ifndef OMPJIT_BITCODE_H
#define OMPJIT_BITCODE_H

#include <stddef.h>

/* The kind of some bytes, as far as their outer blocks tell. */
typedef enum ompjit__bitcode_state {
    OMPJIT__BITCODE_COMPLETE, /* from the magic number to the last block */
    OMPJIT__BITCODE_CUT,      /* the start of a file                     */
    OMPJIT__BITCODE_BROKEN    /* neither                                 */
} ompjit__bitcode_state;
ompjit__bitcode_state ompjit__bitcode_check(const char *data, size_t size);

#endif
