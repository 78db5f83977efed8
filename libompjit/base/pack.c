/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Numbers and strings as bytes, and back. A number is 8 bytes and a string its
 * length and bytes, in this machine's order: packed bytes go to entries of the
 * cache, whose keys name this CPU or do not depend on it, and through the door,
 * and never to another machine. Entries have digests and a worker is of this
 * build, so what is read is what was written; still nothing is read beyond its
 * end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"

void ompjit__pack_number(ompjit__buf *b, uint64_t value)
{
    ompjit__buf_add(b, &value, sizeof value);
}

void ompjit__pack_bytes(ompjit__buf *b, const void *data, size_t size)
{
    ompjit__pack_number(b, size);
    ompjit__buf_add(b, data, size);
}

void ompjit__pack_string(ompjit__buf *b, const char *s)
{
    ompjit__pack_bytes(b, s, s ? strlen(s) : 0);
}

static const void *take(ompjit__reader *r, size_t size)
{
    if (r->bad || size > r->left) {
        r->bad = true;
        return NULL;
    }
    const void *at = r->at;
    r->at += size;
    r->left -= size;
    return at;
}

uint64_t ompjit__read_number(ompjit__reader *r)
{
    uint64_t value = 0;
    const void *at = take(r, sizeof value);
    if (at)
        memcpy(&value, at, sizeof value);
    return value;
}

size_t ompjit__read_count(ompjit__reader *r)
{
    uint64_t n = ompjit__read_number(r);
    if (n > r->left)
        r->bad = true;
    return r->bad ? 0 : (size_t)n;
}

const void *ompjit__read_bytes(ompjit__reader *r, size_t *size)
{
    size_t n = ompjit__read_count(r);
    const void *at = take(r, n);
    *size = at ? n : 0;
    return at;
}

void ompjit__read_buf(ompjit__reader *r, ompjit__buf *out)
{
    size_t size;
    const void *data = ompjit__read_bytes(r, &size);
    /* Not a byte more: units are kept, and nothing is added to them. */
    if (size && !out->data && (out->data = malloc(size + 1)))
        out->capacity = size + 1;
    if (size)
        ompjit__buf_add(out, data, size);
    r->bad |= out->failed;
}

char *ompjit__read_string(ompjit__reader *r)
{
    size_t size;
    const void *data = ompjit__read_bytes(r, &size);
    char *s = data ? malloc(size + 1) : NULL;
    if (s) {
        memcpy(s, data, size);
        s[size] = 0;
    }
    r->bad |= !s;
    return s;
}

void ompjit__pack_error(ompjit__buf *b, const ompjit_error *err)
{
    ompjit__pack_number(b, (uint64_t)(int64_t)err->status);
    ompjit__pack_number(b, err->stage);
    ompjit__pack_string(b, err->status ? err->text : "");
}

ompjit_status ompjit__read_error(ompjit__reader *r, ompjit_error *err)
{
    size_t size;
    ompjit_status status = (ompjit_status)(int64_t)ompjit__read_number(r);
    ompjit_stage stage = (ompjit_stage)ompjit__read_number(r);
    const char *text = ompjit__read_bytes(r, &size);
    if (status && !r->bad && stage < OMPJIT_STAGE_COUNT)
        ompjit__fail(err, status, stage, "%.*s", (int)size, text);
    return status;
}
