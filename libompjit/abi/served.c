/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Names and signatures of the functions that the library provides.
 */
#include "abi/served.h"

#define C(theirs, ours, types) {#theirs, OMPJIT__SYMBOL_CONTEXT, types},
#define P(theirs, ours, types) {#theirs, NULL, types},

/* The first two have their addresses in hosthalf/omp_alloc.c, the last one in
 * hosthalf/program_code.c. */
const ompjit__served_name ompjit__served_names[] = {
    {"__kmpc_init_allocator", NULL, "l:ilip"},
    {"omp_init_allocator", NULL, "l:lip"},
#include "abi/entry_points.def"
    {"__cxa_thread_atexit", OMPJIT__SYMBOL_LIFE, "i:ppp"},
};

const size_t ompjit__nserved_names =
    sizeof ompjit__served_names / sizeof *ompjit__served_names;
