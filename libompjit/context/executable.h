/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The process's executable, as a file with symbols.
 */
#ifndef OMPJIT_CONTEXT_EXECUTABLE_H
#define OMPJIT_CONTEXT_EXECUTABLE_H

#include <stdbool.h>

/* Does the address lie in the executable, rather than in a library or in memory
 * that was allocated? */
bool ompjit__in_executable(const void *at);

/* The address of a global variable or function that the executable defines,
 * exported or not. NULL: it has none of that name, or its symbols were stripped.
 * Reads the file: for names that nothing else has. */
void *ompjit__executable_symbol(const char *name);

#endif
