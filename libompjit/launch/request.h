/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Launches as the API and target constructs ask for them.
 */
#ifndef OMPJIT_REQUEST_H
#define OMPJIT_REQUEST_H

#include "device/device.h"

/* The request of a launch; zero means the device's choice. */
typedef struct ompjit__request {
    uint32_t teams[3], threads[3]; /* clauses or explicit, by dimension; 0:
                              free, in y and z 1                          */
    bool teams_fixed;    /* the number of teams must be exactly this      */
    bool threads_fixed;  /* likewise; else threads is an upper bound      */
    bool of_construct;   /* threads has all that clauses say: 0 is nothing,
                            and the kernel's thread_limit does not count  */
    uint32_t dynamic_shared; /* bytes of a team's                         */
    uint64_t tripcount;    /* iterations of its loop; 0: not known        */
    ompjit_specialize policy; /* DEFAULT: the context's                    */
    unsigned fold;         /* OMPJIT_FOLD_...; 0: all                     */
    uint64_t varies;       /* parameters that are not folded              */
    ompjit__facts facts;   /* known before the geometry and the values are */
    bool cooperative;      /* all teams at the same time                  */
    uint32_t limit_ms;     /* NOW: what a compile may take; 0: any time   */
    uint32_t run_limit_ms; /* what the kernel may; 0: the context's       */
    bool passes_environment; /* a kernel whose parameters nobody tells takes a
                              launch environment first                    */
    bool tuned;            /* the geometry is one to try: none remembered */
    ompjit_queue *queue;   /* of the API: the launch goes into it         */
    bool *begun;           /* out: true where the kernel may have begun; NULL:
                              nobody asks                                 */
} ompjit__request;

/* Runs kernel `index` of `mod` on `dev`. `values[i]` holds the bytes of
 * parameter i (a pointer is a device pointer), in the low end. Compiles and
 * loads what is missing. Waits for the end, and with `queue`, in which the
 * kernel runs after what is there, for all of it. */
ompjit_status ompjit__run(ompjit_module *mod, unsigned index,
                          ompjit_device *dev, const ompjit__request *request,
                          const uint64_t *values, unsigned nvalues,
                          ompjit__queue *queue, ompjit_error *err);

/* Frees what launches left to be used again. launch_environment.c */
void ompjit__environments_free(ompjit_device *dev);

/* Loads the module on the device (where it is not yet), without a launch, and
 * gives the device address of a declare-target variable. */
ompjit_status ompjit__module_symbol(ompjit_module *mod, ompjit_device *dev,
                                    const char *symbol, void **address,
                                    size_t *size, ompjit_error *err);

#endif
