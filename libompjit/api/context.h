/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a context tells at its end, and the process's, which has none.
 */
#ifndef OMPJIT_API_CONTEXT_H
#define OMPJIT_API_CONTEXT_H

#include "core/core.h"

/* The profile that OMPJIT_PROFILE asked for, if it did. The table goes to the
 * log or standard error, the trace to a file. A failure to write is logged. Any
 * thread. */
void ompjit__tell_profile(ompjit_context *ctx);

/* The process's context tells it when the process exits, from now on: called
 * when its devices are known, it does so before their driver ends, whose handler
 * of exit is there by then. Nothing for other contexts. Any thread. process.c */
void ompjit__process_tells(ompjit_context *ctx);

#endif
