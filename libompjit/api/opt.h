/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads the optimizer's options that contexts and modules are given.
 */
#ifndef OMPJIT_API_OPT_H
#define OMPJIT_API_OPT_H

#include "optimizer/opt.h"

/* Sets those of the list, over what is there. `where` begins the messages.
 * INVALID. */
ompjit_status ompjit__opts_read(const char *where, const char *const *list,
                                unsigned n, ompjit__opts *opts,
                                ompjit_error *err);
/* Those of OMPJIT_OPT, if it is set. */
ompjit_status ompjit__opts_environment(ompjit__opts *opts, ompjit_error *err);

#endif
