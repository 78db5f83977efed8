/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the files that make modules share: module.c and image.c.
 */
#ifndef OMPJIT_API_MODULE_H
#define OMPJIT_API_MODULE_H

#include "launch/module.h"
#include "omptarget/offload.h"

/* The options in `room`; NULL where they are wrong. */
const ompjit_module_options *
ompjit__module_options(const ompjit_module_options *options,
                       ompjit_module_options *room, ompjit_error *err);

/* Takes the unit, also on failure, and gives it the optimizer's options. The
 * unit's content moves into the module: the caller's struct must not be used or
 * freed afterwards. The options have been checked. NO_MEMORY. */
ompjit_status ompjit__module_new(ompjit_context *ctx, ompjit__unit *unit,
                                 const ompjit_module_options *o,
                                 ompjit_module **out, ompjit_error *err);

/* A module of the two halves that a front end has made of a source, as clang
 * writes them. INVALID, IR and ABI errors. */
ompjit_status ompjit__module_from_halves(ompjit_context *ctx,
                                         const ompjit__buf *device,
                                         const ompjit__buf *host,
                                         const ompjit_module_options *options,
                                         ompjit_module **mod,
                                         ompjit_error *err);
/* The same where the host half has no target regions, of clang's bitcode without
 * any CPU in it, which is not read. NO_MEMORY. */
ompjit_status ompjit__module_from_host(ompjit_context *ctx,
                                       const ompjit__buf *host,
                                       const ompjit_module_options *options,
                                       ompjit_module **mod, ompjit_error *err);
/* Makes the host half of one of several modules. Its constructors do not run.
 * mod->hostjit is there then. */
ompjit_status ompjit__module_link(ompjit_module *mod,
                                  const ompjit__linkage *linkage,
                                  ompjit_error *err);

/* Gives a linked module of which no kernel could be built yet the device code
 * of another one, of the same host half; it may use more variables of other
 * modules. The other gets its own, which may have
 * been referred to: it has to live as long. False: both are as they were. No
 * launch is under way. */
bool ompjit__module_exchange(ompjit_module *mod, ompjit_module *other);
/* Is a kernel's image loaded? */
bool ompjit__module_is_built(ompjit_module *mod);

/* Of code that programs register. image.c */
extern const ompjit__module_maker ompjit__module_maker_all;

#endif
