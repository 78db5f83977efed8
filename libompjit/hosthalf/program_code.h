/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The interface of program_code.c, rewrite.c, hosthalf/cache.c and omp_alloc.c.
 */
#ifndef OMPJIT_OFFLOAD_HOSTJIT_H
#define OMPJIT_OFFLOAD_HOSTJIT_H

#include "abi/served.h"
#include "cache/cache.h"
#include "core/host_half.h"
#include "door/door.h"
#include "loader/jit.h"
#include "omptarget/offload.h"

/* Host halves in the cache. hosthalf/cache.c
 *
 * Fills *key with all that the compiled half depends on. False: out of memory,
 * and the half is compiled without the cache. The caller frees the key in both
 * cases. */
bool ompjit__half_key(const ompjit__unit *unit, ompjit__key *key);
/* Reads a cached half into `half`, an ompjit__host_half that the caller frees
 * then. False: the payload is damaged or needs a function that this library
 * lacks; *half is untouched. */
bool ompjit__half_take(void *half, const void *payload, size_t size);

/* The address of a function of abi/served.h; NULL: it has none. cache.c */
void *ompjit__served_address(const char *name);

/* __cxa_thread_atexit with the life of the host half first. program_code.c */
extern const ompjit__served ompjit__thread_atexit_row;

/* Allocator functions in place of libomp's. omp_alloc.c */
extern const ompjit__served ompjit__alloc_table[];
extern const size_t ompjit__alloc_count;

#endif
