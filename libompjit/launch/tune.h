/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The geometry that was found best: tried out, remembered, used. A geometry is
 * best for a kernel, a device and a size class: the highest bit of the
 * tripcount.
 */
#ifndef OMPJIT__TUNE_H
#define OMPJIT__TUNE_H

#include "launch/launch.h"

/* Gives the teams and threads to ask for (0: the device's choice) that are
 * known to be best, where the call leaves all of the geometry to the device;
 * else, and where nothing is known, false. Takes a lock, and reads the
 * cache, at a kernel's first call on a device only. */
bool ompjit__tuned(const ompjit__call *call, ompjit_geometry *best);
/* Makes the request ask for exactly these, where they are not 0. */
void ompjit__ask_geometry(ompjit__request *r, uint32_t teams,
                          uint32_t threads);

/* Is there something to try out for this call, which nobody has yet? */
bool ompjit__tune_wanted(const ompjit__call *call);

/* Tries geometries; see ompjit_kernel_tune. */
ompjit_status ompjit__tune(const ompjit__call *call,
                           const ompjit_tune_options *options,
                           ompjit_tuned *out, ompjit_error *err);

/* The same for a target construct in place (`c` NULL: it maps nothing), with
 * its private storage: what the kernel can reach is saved and put back. Does
 * nothing where there is nothing to try, and tells the log why where it cannot
 * be done. omptarget/tune_construct.c */
struct ompjit__construct;
void ompjit__map_tune(const struct ompjit__construct *c,
                      const ompjit__call *call, void *privates, size_t size);

#endif
