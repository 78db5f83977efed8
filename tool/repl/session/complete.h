/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Words that go on with a command's argument and are no names of the session.
 */
#ifndef OMPJIT_REPL_COMPLETE_H
#define OMPJIT_REPL_COMPLETE_H

#include "tool/repl/session/front.h"

/* Appends a completion where its name begins as the text does. False: no
 * memory. */
bool complete_add(struct answer *out, const char *text, size_t size,
                  const char *name, const char *detail);
/* Those of "[a|b|c[:N]]": a, b, c. */
bool complete_choices(struct answer *out, const char *text, size_t size,
                      const char *choices);
/* Paths of files and folders. */
bool complete_files(struct answer *out, const char *text, size_t size);

#endif
