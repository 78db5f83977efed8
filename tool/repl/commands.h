/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Inputs that begin with a colon (commands.def), and the program that a session
 * is (save.c).
 */
#ifndef OMPJIT_REPL_COMMANDS_H
#define OMPJIT_REPL_COMMANDS_H

#include "tool/repl/repl.h"

/* Is the text a command? */
bool command_is(const char *text, size_t size);
/* Executes it. `out` is empty, and the caller's to free. */
void command_execute(struct repl *r, const char *file, unsigned line,
                     const char *text, size_t size, struct outcome *out);
/* Finds words that can end a text that begins with a colon: names of commands,
 * or arguments of the command. */
void command_complete(struct repl *r, const char *text, size_t size,
                      struct words *out);

/* Appends the session as a program of C or C++. */
void save_program(const engine *e, bool cxx, ompjit__buf *program);

#endif
