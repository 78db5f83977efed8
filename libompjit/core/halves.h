/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The two halves of a source of which another compiler makes objects, and what has
 * them agree (frontend/match.c).
 */
#ifndef OMPJIT_HALVES_H
#define OMPJIT_HALVES_H

#include "base/base.h"

/* Bitcode as clang's front end has made it. */
typedef struct ompjit__halves {
    ompjit__buf host, device;
    const char *name; /* for messages                                        */
    bool numbered;    /* the device half was compiled with the host half of
                         OMPJIT__MATCH_AGAIN                                 */
    bool may_differ;  /* they may be of two sources, and are left alone then */
} ompjit__halves;

enum ompjit__match {
    OMPJIT__MATCH_FINE,
    OMPJIT__MATCH_CHANGED, /* `host` and `device` have the bitcode           */
    OMPJIT__MATCH_AGAIN    /* the device half of `source` is to be compiled with
                              `host` as its host half, and matched again     */
};
typedef struct ompjit__matched {
    enum ompjit__match how;
    ompjit__buf host, device;
    ompjit__buf source; /* its name as clang has it; no NUL */
} ompjit__matched;

#endif
