/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Templates: one kernel of a unit, lowered for a CPU or a GPU, linked with the
 * runtime and simplified, but with nothing folded yet. A specialized variant
 * starts there: what is left to do is in proportion to the kernel, not to the
 * runtime.
 */
#ifndef OMPJIT_TEMPLATE_H
#define OMPJIT_TEMPLATE_H

#include "core/core.h"

typedef struct ompjit__template {
    struct ompjit__template *next;
    uint64_t number;     /* no other's in this process           */
    char *kernel, *arch; /* the key, with the next three         */
    unsigned ptx;        /* its version, in tenths; 0: a CPU     */
    bool alone;          /* for teams of one thread              */
    bool import_globals; /* as a spec's                          */
    bool any_gpu;        /* the same for every `arch` and `ptx` of GPUs */
    bool constructors;   /* as an image's                        */
    bool spmd, plain;    /* the kernel is: backend/build.h       */
    ompjit__buf bc;      /* bitcode                              */
    ompjit__buf remarks; /* as an image's                        */
    ompjit__variable *globals; /* as an image's                  */
    unsigned nglobals;
} ompjit__template;

/* A unit's, made with it. Its templates are in the process that builds. */
typedef struct ompjit__templates ompjit__templates;
ompjit__templates *ompjit__templates_new(void); /* NULL: out of memory */
void ompjit__templates_free(ompjit__templates *all); /* accepts NULL */

/* Something that is made of the unit once for all its templates, with the
 * function that frees it: NULL at first, then what ompjit__template_get's make()
 * has put there. */
typedef struct ompjit__template_source {
    void *data;
    void (*free)(void *data);
} ompjit__template_source;
ompjit__template_source *ompjit__templates_source(ompjit__templates *all);
void ompjit__templates_drop_source(ompjit__templates *all);

/* The template for the key's kernel, arch, ptx, alone and import_globals, made
 * by make(arg, template) where it is missing; one thread at a time makes one.
 * One that is the same for all GPUs is found for each of them. It lives as long
 * as the unit. */
ompjit_status ompjit__template_get(
    ompjit__templates *all, const ompjit__template *key,
    ompjit_status (*make)(void *arg, ompjit__template *t, ompjit_error *err),
    void *arg, const ompjit__template **out, ompjit_error *err);

#endif
