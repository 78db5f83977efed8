/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The test kernels of the device runtime as programs run them: which there are,
 * the data they get, and what is wrong with what they leave.
 */
#ifndef OMPJIT_T_RT_WORK_H
#define OMPJIT_T_RT_WORK_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_kernels.h"

typedef struct kernel {
    const char *name;
    void (*sequential)(args *p);
    int inexact;
} kernel;

#define RT_ROW(name, inexact) {#name, rt_##name, inexact},
static const kernel kernels[] = {RT_KERNELS(RT_ROW)};

typedef const char *(*entry_fn)(int i);

/* ------------------------------------------------------------- the data */

static inline args *args_new(void)
{
    args *p = calloc(1, sizeof *p);
    p->n = N;
    for (int i = 0; i <= N; i++) {
        p->a[i] = i * 37 % 101;
        p->b[i] = 1000 - i * 13 % 89;
        p->u[i] = (i * 7 % 23) / 8.0;
        p->v[i] = (i * 11 % 31) / 4.0;
    }
    p->sum = 5;
    p->isum = 3;
    p->imin = 999;
    return p;
}

static inline int close_to(double x, double y, int inexact)
{
    return x == y || (inexact && fabs(x - y) <= 1e-9 * (fabs(x) + fabs(y)));
}

/* The first difference, as text, or NULL. */
static inline const char *difference(const args *got, const args *want, int inexact)
{
    static char text[128];
#define DIFFERENT(what, i, format)                                             \
    return snprintf(text, sizeof text,                                         \
                    #what "[%d]: " format ", want " format, i, got->what[i],   \
                    want->what[i]),                                            \
           text
    for (int i = 0; i <= N; i++) {
        if (got->a[i] != want->a[i])
            DIFFERENT(a, i, "%d");
        if (got->b[i] != want->b[i])
            DIFFERENT(b, i, "%d");
        if (!close_to(got->u[i], want->u[i], inexact))
            DIFFERENT(u, i, "%.17g");
        if (!close_to(got->v[i], want->v[i], inexact))
            DIFFERENT(v, i, "%.17g");
    }
    for (int i = 0; i < 16; i++)
        if (got->out[i] != want->out[i])
            DIFFERENT(out, i, "%" PRId64);
    if (!close_to(got->sum, want->sum, inexact) || got->isum != want->isum ||
        got->imin != want->imin)
        return "sums differ";
    if (!close_to(got->p.x, want->p.x, inexact) || got->p.tag != want->p.tag ||
        got->p.y[0] != want->p.y[0] || got->p.y[2] != want->p.y[2])
        return "structures differ";
    return NULL;
}

/* ---------------------------------------------------------- running them */

/* The k-th entry that belongs to function `name`, in the source's order. */
static inline const char *find_entry(entry_fn entries, const char *name, int k)
{
    char part[64];
    const char *found = NULL;
    int line = 0;
    snprintf(part, sizeof part, "_rt_%s_l", name);
    for (; k >= 0; k--) {
        int best = 1 << 30;
        found = NULL;
        for (int i = 0; entries(i); i++) {
            const char *at = strstr(entries(i), part);
            int l = at ? atoi(at + strlen(part)) : 0;
            if (at && l > line && l < best) {
                best = l;
                found = entries(i);
            }
        }
        line = best;
    }
    return found;
}

/* Kernels whose result depends on how many teams run the region. */
static inline int one_team(const char *name)
{
    static const char *const names[] = {
        "generic",      "many_arguments", "static_chunks", "lastprivates",
        "dynamics",     "dynamic_types",  "runtime_schedules", "ordereds",
        "locks",        "singles",        "nested",        "num_threads",
        "if_clause",    "icvs",           "tasks",         "taskloops",
        "orphaned",     "sections",       "spmd_parallel", "reduce_struct",
        "reduce_spmd",  "settings",       "memory",        "pools",
        "stack",        "more_locks",     "prepared",      "task_calls",
        "output",       "together",       "spmd_stack",
        "state_machine", "task_clauses",  "complexes",
        "for_calls",         "dispatch_calls", "callback_calls",
        "ordered_schedules", "ordered_places", "doacross_chain",
        "doacross_nest", "doacross_calls", "loops_in_loops"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return 1;
    return 0;
}

/* RT_KERNEL in the environment is a list with commas. */
static inline int wanted(const kernel *k)
{
    const char *only = getenv("RT_KERNEL");
    char list[4096], name[64];
    snprintf(list, sizeof list, ",%s,", only ? only : "");
    snprintf(name, sizeof name, ",%s,", k->name);
    return !only || strstr(list, name);
}

#endif
