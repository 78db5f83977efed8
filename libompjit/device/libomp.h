/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's OpenMP runtime for the host, loaded when first needed: kernels run
 * their teams on its threads, and programs call it.
 */
#ifndef OMPJIT_LIBOMP_H
#define OMPJIT_LIBOMP_H

#include "base/base.h"
#include "offload/abi.h"

typedef struct ompjit__libomp {
    void (*fork_call)(const ompjit__ident *loc, int32_t argc,
                      void (*microtask)(int32_t *, int32_t *, ...), ...);
    int32_t (*global_thread_num)(const ompjit__ident *loc);
    void (*push_num_threads)(const ompjit__ident *loc, int32_t gtid,
                             int32_t num_threads);
    int (*get_thread_num)(void);
    int (*get_num_threads)(void);
    int (*get_max_threads)(void);
    int (*get_default_device)(void);
} ompjit__libomp;

/* Loads libomp, with its symbols visible to the whole process, so that JIT'd
 * programs find them: OMPJIT_LIBOMP, else the one found by configure, else
 * libomp.so.5 and libomp.so of the loader's path. UNAVAILABLE error that says
 * what was tried. Loaded once in a process. */
ompjit_status ompjit__libomp_get(const ompjit__libomp **out,
                                 ompjit_error *err);

#endif
