/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The data of the device runtime's test kernels, and their list. A kernel gets
 * one pointer. Read by a compiler that ignores OpenMP, their sources are the
 * sequential program that each result is compared with.
 */
#ifndef OMPJIT_T_RT_KERNELS_H
#define OMPJIT_T_RT_KERNELS_H

#include <stdint.h>

enum { N = 500 };

typedef struct point {
    double x;
    int tag;
    short y[3];
} point;

typedef struct args {
    int n;
    int a[N + 1], b[N + 1];
    double u[N + 1], v[N + 1];
    int64_t out[16];
    uint64_t lock, nest;
    double sum;
    int isum, imin;
    point p;
} args;

/* name, whether floating point sums may differ in their order */
#define RT_KERNELS(K)                                                          \
    K(saxpy, 0)                                                                \
    K(dot, 1)                                                                  \
    K(reduce_many, 1)                                                          \
    K(reduce_struct, 1)                                                        \
    K(reduce_team, 1)                                                          \
    K(reduce_main, 1)                                                          \
    K(reduce_spmd, 1)                                                          \
    K(generic, 0)                                                              \
    K(generic_teams, 1)                                                        \
    K(many_arguments, 0)                                                       \
    K(static_chunks, 0)                                                        \
    K(static_types, 0)                                                         \
    K(lastprivates, 0)                                                         \
    K(dynamics, 0)                                                             \
    K(dynamic_types, 0)                                                        \
    K(runtime_schedules, 0)                                                    \
    K(ordereds, 0)                                                             \
    K(criticals, 0)                                                            \
    K(locks, 0)                                                                \
    K(singles, 0)                                                              \
    K(nested, 0)                                                               \
    K(num_threads, 0)                                                          \
    K(if_clause, 0)                                                            \
    K(icvs, 0)                                                                 \
    K(tasks, 0)                                                                \
    K(taskloops, 0)                                                            \
    K(orphaned, 0)                                                             \
    K(sections, 0)                                                             \
    K(spmd_parallel, 1)                                                        \
    K(alloc, 0)                                                                \
    K(grid, 0)                                                                 \
    K(settings, 0)                                                             \
    K(memory, 0)                                                               \
    K(pools, 0)                                                                \
    K(stack, 0)                                                                \
    K(more_locks, 0)                                                           \
    K(prepared, 0)                                                             \
    K(task_calls, 0)                                                           \
    K(output, 0)                                                               \
    K(together, 0)                                                             \
    K(spmd_stack, 0)                                                           \
    K(state_machine, 0)                                                        \
    K(task_clauses, 0)                                                         \
    K(complexes, 1)                                                            \
    K(for_calls, 0)                                                            \
    K(distribute_calls, 0)                                                     \
    K(dist_for_calls, 0)                                                       \
    K(dispatch_calls, 0)                                                       \
    K(dist_dispatch_calls, 0)                                                  \
    K(callback_calls, 0)                                                       \
    K(distribute_callback_calls, 0)                                            \
    K(both_callback_calls, 0)                                                  \
    K(ordered_schedules, 0)                                                    \
    K(ordered_places, 0)                                                       \
    K(doacross_chain, 0)                                                       \
    K(doacross_nest, 0)                                                        \
    K(doacross_calls, 0)                                                       \
    K(doacross_teams, 0)                                                       \
    K(loops_in_loops, 0)                                                       \
    K(distributed, 0)

#define RT_DECLARE(name, inexact) void rt_##name(args *p);
RT_KERNELS(RT_DECLARE)

#endif
