/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Options of the optimizer of OpenMP device code: the rows of opt.def with the
 * values that a module's options give. opt.c
 */
#ifndef OMPJIT_OPT_ROOM_H
#define OMPJIT_OPT_ROOM_H

#include "base/base.h"
#include "base/pack.h"

enum ompjit__opt_id {
#define LLVM(id, name, kind, most, ordinary, help) OMPJIT__OPT_##id,
#include "optimizer/opt.def"
    OMPJIT__OPT_COUNT
};

enum ompjit__opt_kind {
    OMPJIT__OPT_SWITCH,
    OMPJIT__OPT_NUMBER,
    OMPJIT__OPT_FUNCTIONS
};

typedef struct ompjit__opt_row {
    const char *name, *help;
    enum ompjit__opt_kind kind;
    uint32_t most, ordinary;
} ompjit__opt_row;

/* Zero-initialised: all have their defaults. */
typedef struct ompjit__opts {
    uint32_t given; /* bit i: row i has values[i], or the functions */
    uint32_t values[OMPJIT__OPT_COUNT];
    char *functions; /* of the row of that kind, without repetition, each with
                        a newline behind it; malloc'd. NULL: none           */
} ompjit__opts;

const ompjit__opt_row *ompjit__opt_at(enum ompjit__opt_id id);
uint32_t ompjit__opt(const ompjit__opts *opts, enum ompjit__opt_id id);
/* Reads "NAME=VALUE" or "NAME". INVALID error that lists all names, or the
 * values there are; NO_MEMORY. A default value is as if nothing had been
 * said. */
ompjit_status ompjit__opt_set(ompjit__opts *opts, const char *text,
                              ompjit_error *err);

/* A copy with functions of its own; false: out of memory, and *to is zero. */
bool ompjit__opts_copy(ompjit__opts *to, const ompjit__opts *from);
/* Frees the functions, and leaves zeros. */
void ompjit__opts_free(ompjit__opts *opts);

void ompjit__opts_pack(const ompjit__opts *opts, ompjit__buf *out);
void ompjit__opts_unpack(ompjit__reader *r, ompjit__opts *out);

#endif
