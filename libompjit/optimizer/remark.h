/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Remarks: what the optimizer of device code did or left, each a record. An
 * image has those of its build as one list of bytes. remark.c
 */
#ifndef OMPJIT_REMARK_H
#define OMPJIT_REMARK_H

#include "base/base.h"
#include "base/pack.h"
#include "ompjit_opt.h"

/* The rows of remarks.def. */
enum ompjit__remark_id {
#define REMARK(id, kind, why, advice) OMPJIT__REMARK_##id,
#include "optimizer/remarks.def"
    OMPJIT__REMARK_COUNT
};

/* A text that a pass knows, each NULL for none. `subject` is what takes the
 * place of $ in a row's texts: a variable or a function. */
typedef struct ompjit__remark {
    enum ompjit__remark_id id;
    const char *pass;     /* NULL: this library's */
    const char *symbol;   /* of the function      */
    const char *kernel;   /* its symbol; NULL: that of the function, if that
                             has one's name in its own                      */
    const char *variable, *subject, *file, *what;
    const char *why, *advice; /* NULL: the row's */
    unsigned line, column;
} ompjit__remark;

/* The row of "OMP120"; OMPJIT__REMARK_COUNT: there is none. */
enum ompjit__remark_id ompjit__remark_named(const char *name);
/* Appends; `why` and `advice` are the row's where the pass has none. */
void ompjit__remark_add(ompjit__buf *list, const ompjit__remark *r);
/* Drops those that the list has already, since what more than one run of
 * openmp-opt finds is in it several times, and what a later run has settled.
 * False: out of memory. */
bool ompjit__remarks_unite(ompjit__buf *list);
/* Reads the next one; its strings are part of the list. False at the end, and
 * where the list is damaged. */
bool ompjit__remark_next(ompjit__reader *r, ompjit_remark *out);

#endif
