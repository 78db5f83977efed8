/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The interface of program_code.c, parts.c, cache.c and omp_alloc.c.
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
 * Fills *key with all that the compiled half depends on, or its part (0: the core
 * or, if it is not divided, the whole). False: out of memory, and it is compiled
 * without the cache. The caller frees the key in both cases. */
bool ompjit__half_key(const ompjit__unit *unit, bool divided, size_t part,
                      ompjit__key *key);
/* Reads a cached half into `half`, an ompjit__host_half that the caller frees
 * then. False: the payload is damaged or needs a function that this library
 * lacks; *half is untouched. */
bool ompjit__half_take(void *half, const void *payload, size_t size);

/* The address of a function of abi/served.h; NULL: it has none. cache.c */
void *ompjit__served_address(const char *name);

/* __cxa_thread_atexit with the life of the host half first. program_code.c */
extern const ompjit__served ompjit__thread_atexit_row;

/* A function in place of one of the C library's that ends the process or the
 * thread; NULL: it has none of that name. exits.c */
void *ompjit__exit_address(const char *name);

/* Allocator functions in place of libomp's. omp_alloc.c */
extern const ompjit__served ompjit__alloc_table[];
extern const size_t ompjit__alloc_count;

/* ------------------------------------------------------ parts.c
 * Parts of a half that are compiled when they are called. */

typedef struct ompjit__host_parts ompjit__host_parts;

/* Makes a jit that knows all that a part of the half may name. */
typedef struct ompjit__host_linker {
    ompjit_status (*new_jit)(void *data, ompjit__jit **out, ompjit_error *err);
    /* Is told of a part's jit, and of code in it. */
    void (*loaded)(void *data, const ompjit__jit *jit, const void *code);
    void *data;
} ompjit__host_linker;

/* Both are the caller's, and outlive the parts. NULL: no memory. */
ompjit__host_parts *ompjit__host_parts_new(ompjit_module *mod,
                                           const ompjit__host_half *half,
                                           const ompjit__host_linker *linker);
/* Accepts NULL. Nobody runs any of it. */
void ompjit__host_parts_free(ompjit__host_parts *parts);
/* The address by which all but a part itself know its function, as code names it
 * for the linker; NULL: it is in no part. Accepts NULL for `parts`. */
void *ompjit__host_parts_find(const ompjit__host_parts *parts,
                              const char *name);
/* The same of a function that is to be there. False: it is in no part. */
bool ompjit__host_parts_need(ompjit__host_parts *parts, const char *name,
                             void **address, ompjit_status *status,
                             ompjit_error *err);

#endif
