/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Numbers and strings as bytes, and back.
 */
#ifndef OMPJIT_PACK_H
#define OMPJIT_PACK_H

#include "base/base.h"

void ompjit__pack_number(ompjit__buf *b, uint64_t value);
void ompjit__pack_bytes(ompjit__buf *b, const void *data, size_t size);
void ompjit__pack_string(ompjit__buf *b, const char *s); /* NULL is "" */

/* Reads what was packed. `bad` is set when the bytes end too early, and all
 * further results are 0, NULL or empty. */
typedef struct ompjit__reader {
    const char *at; /* the next byte; the bytes are somebody else's */
    size_t left;    /* bytes from there on                          */
    bool bad;
} ompjit__reader;

uint64_t ompjit__read_number(ompjit__reader *r);
/* A count of things that take at least a byte each, so that no count makes the
 * caller allocate much more than there are bytes. */
size_t ompjit__read_count(ompjit__reader *r);
/* Bytes within the reader's own, which are not copied. */
const void *ompjit__read_bytes(ompjit__reader *r, size_t *size);
/* Appends a copy. */
void ompjit__read_buf(ompjit__reader *r, ompjit__buf *out);
char *ompjit__read_string(ompjit__reader *r); /* malloc'd */

/* An error, of OK too; reading gives its status, and fills *err (may be NULL)
 * where that is a failure. */
void ompjit__pack_error(ompjit__buf *b, const ompjit_error *err);
ompjit_status ompjit__read_error(ompjit__reader *r, ompjit_error *err);

#endif
