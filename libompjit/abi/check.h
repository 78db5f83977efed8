/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The contract that instrumented kernels (passes/host/instrument.c) and the
 * checker (device/check/) must agree on. The structs are laid out in IR by the
 * same order of members.
 */
#ifndef OMPJIT_CHECK_ABI_H
#define OMPJIT_CHECK_ABI_H

#include <stdint.h>

/* An access that is both reads and writes (an atomic update) has WRITE. */
enum ompjit__site_flag {
    OMPJIT__SITE_WRITE = 1,
    OMPJIT__SITE_ATOMIC = 2,
    OMPJIT__SITE_CALL = 4 /* through a pointer */
};

/* One access in the source, or a call. */
typedef struct ompjit__site {
    const char *file;     /* "": no debug information      */
    const char *function;
    const char *variable; /* that the pointer is, or ""    */
    uint32_t line, column;
    uint32_t size;        /* bytes; 0: the call tells      */
    uint32_t flags;
} ompjit__site;

/* A variable of the image. The image exports an array of them and its length,
 * a uint64_t, by these names. */
typedef struct ompjit__check_variable {
    char *address;
    uint64_t size;
    const char *name;
} ompjit__check_variable;
#define OMPJIT__CHECK_VARIABLES "ompjit.check.variables"
#define OMPJIT__CHECK_COUNT "ompjit.check.count"

/* And the functions of which the image has pointers, up to NULL: only these may
 * be called through one. */
#define OMPJIT__CHECK_CALLEES "ompjit.check.callees"

#endif
