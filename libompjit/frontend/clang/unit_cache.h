/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The front end's use of the cache.
 */
#ifndef OMPJIT_FRONTEND_RECALL_H
#define OMPJIT_FRONTEND_RECALL_H

#include "cache/cache.h"
#include "frontend/clang/clang.h"

/* A C source and how it is compiled. Borrowed. */
typedef struct ompjit__snippet {
    const char *source;
    const ompjit_module_options *options;
    const ompjit__clang *clang;
    const ompjit__command *command;
} ompjit__snippet;

/* One look-up. Ended by ompjit__recall_end in any case. */
typedef struct ompjit__recall {
    ompjit__key key;
    bool use;              /* there is a cache, and a key         */
    ompjit__claim claim;
    struct timespec began; /* coarse, as the times of files are   */
    ompjit__unit unit;     /* of a hit; the caller takes it over  */
    ompjit__buf warnings;  /* of a hit, or to be remembered       */
} ompjit__recall;

/* True: a hit, whose unit and warnings are in `recall`. Else compile, and
 * remember what came out of it: other processes that want the same wait for the
 * claim. */
bool ompjit__recall_c(ompjit_context *ctx, const ompjit__snippet *snippet,
                      ompjit__recall *recall);
/* Puts the unit into the cache. `rules`: the make rules of the files that clang
 * read; NULL: not known, and nothing is remembered. Failures go unnoticed: the
 * next compile is a miss then. */
void ompjit__remember_c(ompjit_context *ctx, const ompjit__snippet *snippet,
                        const char *rules, const ompjit__unit *unit,
                        ompjit__recall *recall);
/* Ends the claim. The unit of a hit is the caller's by now. */
void ompjit__recall_end(ompjit__recall *recall);

#endif
