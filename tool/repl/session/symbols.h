/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Addresses of a session's functions and variables, by the linker's names.
 */
#ifndef OMPJIT_REPL_SYMBOLS_H
#define OMPJIT_REPL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct symbols symbols;

/* `missing` is told of a call of a function that was declared and is still not
 * defined; it need not return. NULL: no memory. */
symbols *symbols_new(void (*missing)(const char *name));
void symbols_free(symbols *s);
/* The name is that input's. False: no memory. */
bool symbols_add(symbols *s, const char *name, void *address, unsigned input);
/* The same of one whose code is not made yet: `late` has it made and returns the
 * address; NULL: it cannot be, or it is under way. `lasts`: set to false where
 * whoever asks next is to have another address. */
typedef void *symbols_late(void *owner, const char *name, bool function,
                           bool *lasts);
bool symbols_add_late(symbols *s, const char *name, bool function,
                      symbols_late *late, void *owner, unsigned input);
/* A function is declared, and may be defined later. */
bool symbols_declare(symbols *s, const char *name, unsigned input);
/* Forgets those of that input and of all after it. */
void symbols_drop(symbols *s, unsigned input);
/* NULL: nobody's. Of a function that is declared only, and that the process does
 * not have, an address that works as soon as it is defined. */
void *symbols_find(symbols *s, const char *name);
/* A name that is defined at exactly that address; NULL: none. */
const char *symbols_name(const symbols *s, const void *address);

#endif
