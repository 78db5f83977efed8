/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's own options of openmp-opt, which are the process's, for one run of
 * passes.
 */
#ifndef OMPJIT_LLVM_OPTIONS_H
#define OMPJIT_LLVM_OPTIONS_H

#include "optimizer/opt.h"

/* Every run of openmp-opt stands between these two. Threads whose options of
 * LLVM's are the defaults run together, whatever those of this library's own
 * passes are; one with others waits until it is alone, and sets them. `end`
 * brings the defaults back; without a `begin` of the same thread it does
 * nothing, so that a guard that was left can call it. Options that LLVM lacks,
 * as of another version, have no effect. */
void ompjit__llvm_options_begin(const ompjit__opts *opts);
void ompjit__llvm_options_end(void);

#endif
