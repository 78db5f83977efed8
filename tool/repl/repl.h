/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The modes of `ompjit repl`.
 */
#ifndef OMPJIT_REPL_REPL_H
#define OMPJIT_REPL_REPL_H

#include "tool/repl/engine.h"

/* Executes a whole text; `name` is its file's. EXIT_OK or, with a message on
 * standard error, EXIT_FAILED. batch.c */
int batch_text(engine *e, const char *name, const char *text, size_t size);
/* Executes what comes through standard input. */
int batch_pipe(engine *e);
/* The value on standard output, the messages on standard error. */
void print_outcome(const struct outcome *out);

#endif
