/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a context tells at its end, for one that never ends.
 */
#ifndef OMPJIT_API_CONTEXT_H
#define OMPJIT_API_CONTEXT_H

#include "core/core.h"

/* The profile that OMPJIT_PROFILE asked for, if it did. The table goes to the
 * log or standard error, the trace to a file. A failure to write is logged. Any
 * thread. */
void ompjit__tell_profile(ompjit_context *ctx);

#endif
