/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Replacements, for device code on the host, of functions of the C library that
 * would end its OS thread, leave its stack, or lose a lock of the heap. Kernels
 * find them under the C library's names.
 */
#ifndef OMPJIT_HOST_LIBC_H
#define OMPJIT_HOST_LIBC_H

#include <stddef.h>

#include "runtime-bc/host_abi.h"

/* malloc is in host_abi.h. */
void *ompjit_host_calloc(size_t n, size_t size);
void *ompjit_host_realloc(void *p, size_t size);
void ompjit_host_free(void *p);

/* End the kernel. */
void ompjit_host_abort(void) __attribute__((noreturn));
void ompjit_host_pthread_exit(void *value) __attribute__((noreturn));

/* setjmp and longjmp for one device thread and one launch. setjmp is assembly
 * code, fiber_<CPU>.c. */
int ompjit_host_setjmp(void *buffer) __attribute__((returns_twice));
int ompjit_host_sigsetjmp(void *buffer, int mask)
    __attribute__((returns_twice));
void ompjit_host_longjmp(void *buffer, int value) __attribute__((noreturn));

#endif
