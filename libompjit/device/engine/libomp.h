/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The OpenMP runtime that host halves call and that the host device runs its
 * teams on: the process's own libomp where there is one (two would abort),
 * else the first that loads.
 */
#ifndef OMPJIT_LIBOMP_H
#define OMPJIT_LIBOMP_H

#include "base/base.h"

/* Named as libomp's functions, without the underscores in front. */
struct ompjit__libomp {
    void *handle; /* for dlsym */
    /* ident_t *, arguments, void f(int32_t *gtid, int32_t *tid, ...) */
    void (*kmpc_fork_call)(void *loc, int32_t n, void *f, ...);
    void (*kmpc_push_num_threads)(void *loc, int32_t gtid, int32_t n);
    int32_t (*kmpc_global_thread_num)(void *loc);
    int (*omp_get_max_threads)(void);
    int (*omp_get_num_threads)(void);
    int (*omp_get_thread_num)(void);
    int (*omp_in_parallel)(void);
    int (*omp_get_level)(void);
    int (*omp_in_explicit_task)(void);
    int32_t (*kmpc_omp_taskwait)(void *loc, int32_t gtid);
    /* Allocators, for hosthalf/omp_alloc.c. */
    void *(*kmpc_init_allocator)(int32_t gtid, uint64_t memspace, int32_t n,
                                 void *traits);
    const uint64_t *omp_default_mem_space;
    /* For omptarget/omp_alloc_device.c. */
    void *(*omp_alloc)(size_t size, uint64_t allocator);
    void *(*omp_aligned_alloc)(size_t align, size_t size, uint64_t allocator);
    void *(*omp_calloc)(size_t n, size_t size, uint64_t allocator);
    void *(*omp_aligned_calloc)(size_t align, size_t n, size_t size,
                                uint64_t allocator);
    void *(*omp_realloc)(void *ptr, size_t size, uint64_t allocator,
                         uint64_t free_allocator);
    void (*omp_free)(void *ptr, uint64_t allocator);
    uint64_t (*omp_get_default_allocator)(void);
    int (*omp_get_default_device)(void);
};

/* Loads it on first use, by any thread; it stays for the life of the process,
 * as does the failure. UNAVAILABLE with all causes. */
ompjit_status ompjit__libomp(const struct ompjit__libomp **out,
                             ompjit_error *err);

/* The same where it is loaded already, else NULL. In signal handlers, too. */
const struct ompjit__libomp *ompjit__libomp_loaded(void);
/* Is it in the process already? */
bool ompjit__libomp_here(void);
/* How many threads a parallel region gets: it is asked where it is here; else,
 * as starting it takes a millisecond, what it will find in the environment and
 * the process's processors. */
uint32_t ompjit__libomp_threads(void);

#endif
