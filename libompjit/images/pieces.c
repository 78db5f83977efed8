/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which format bytes have, and the list of pieces. Containers call back for
 * what is in them, to a fixed depth. Contents may be parts of each other if
 * damaged offsets say so; the work is bounded by what a sound image of this
 * size can need at that depth.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/reader.h"

/* Containers within each other: a deeper image is damaged or made to harm. */
enum {
    DEPTH = 8,
    WORK_FREE = 1 << 16, /* a small image may need more than its size     */
    WORK_EACH = 64       /* of any content, beside its bytes              */
};

/* In the order in which they are asked; a format that says yes is the only one.
 */
static const struct {
    bool (*is)(ompjit__bytes b);
    ompjit_status (*read)(ompjit__image_reader *r,
                          const ompjit__content *content);
} formats[] = {
#define FORMAT(name) {ompjit__##name##_is, ompjit__##name##_read},
    OMPJIT__IMAGE_FORMATS(FORMAT)
#undef FORMAT
};

/* ---------------------------------------------------------------- messages */

/* "byte 80", or "byte 8 of what byte 80 decompresses to". */
static void place(const ompjit__image_reader *r, const unsigned char *at,
                  char *out, size_t room)
{
    snprintf(out, room, "byte %zu%s", (size_t)(at - r->origin.base),
             r->origin.of);
}

ompjit_status ompjit__image_bad(ompjit__image_reader *r,
                                const unsigned char *at, const char *format,
                                ...)
{
    char where[128], text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    place(r, at, where, sizeof where);
    return ompjit__fail(r->err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_READ,
                        "device image, %s: %s", where, text);
}

ompjit_status ompjit__image_skip(ompjit__image_reader *r,
                                 const unsigned char *at, const char *format,
                                 ...)
{
    /* Only the first reason is kept: it is told where no piece is found at all.
     */
    if (r->skipped[0])
        return OMPJIT_OK;
    place(r, at, r->skipped, sizeof r->skipped);
    size_t n = strlen(r->skipped);
    n += (size_t)snprintf(r->skipped + n, sizeof r->skipped - n, ": ");
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->skipped + n, sizeof r->skipped - n, format, ap);
    va_end(ap);
    return OMPJIT_OK;
}

ompjit_status ompjit__image_charge(ompjit__image_reader *r,
                                   const unsigned char *at, uint64_t work)
{
    if (work > r->work)
        return ompjit__image_bad(r, at, "what containers hold overlaps: it is "
                                 "more than the image has bytes");
    r->work -= work;
    return OMPJIT_OK;
}

void ompjit__image_allow(ompjit__image_reader *r, uint64_t bytes)
{
    r->work += bytes * DEPTH;
}

void ompjit__image_copy(char *to, size_t room, const void *from, size_t n)
{
    n = n < room ? n : room - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

/* ---------------------------------------------------------------- contents */

ompjit_status ompjit__piece_add(ompjit__image_reader *r,
                                const ompjit__content *content,
                                enum ompjit__piece_kind kind,
                                const char *triple, const char *arch)
{
    ompjit__pieces *p = &r->pieces;
    if (!(p->n & (p->n - 1))) { /* full: room is a power of two */
        size_t room = p->n ? 2 * (size_t)p->n : 1;
        ompjit__piece *list = realloc(p->list, room * sizeof *list);
        if (!list)
            return ompjit__no_memory(r->err, OMPJIT_STAGE_READ);
        p->list = list;
    }
    ompjit__piece *piece = &p->list[p->n++];
    *piece = (ompjit__piece){.kind = (uint8_t)kind,
                             .data = content->bytes.p,
                             .size = content->bytes.n};
    snprintf(piece->triple, sizeof piece->triple, "%s",
             *triple ? triple : content->triple);
    snprintf(piece->arch, sizeof piece->arch, "%s",
             *arch ? arch : content->arch);
    return OMPJIT_OK;
}

/* What no format begins with. */
static ompjit_status unknown(ompjit__image_reader *r,
                             const ompjit__content *content)
{
    static const char spirv[] = "\3\2#\7";
    ompjit__bytes b = content->bytes;
    char first[8 * 3 + 1] = "";
    const char *of = *content->name ? content->name : "the image";
    if (!b.n)
        return ompjit__image_skip(r, b.p, "%s is empty", of);
    if (b.n >= 4 && !memcmp(b.p, spirv, 4))
        return ompjit__image_skip(r, b.p, "%s is SPIR-V, for which the library "
                                  "has no device", of);
    for (size_t i = 0; i < b.n && i < 8; i++)
        snprintf(first + 3 * i, 4, " %02x", b.p[i]);
    return ompjit__image_skip(r, b.p, "%s is of no known format: it begins "
                              "with%s", of, first);
}

/* Each content is charged before a format looks at it, so that each look is
 * bounded, too. */
ompjit_status ompjit__piece_found(ompjit__image_reader *r,
                                  const ompjit__content *content)
{
    ompjit__bytes b = content->bytes;
    if (r->depth == DEPTH)
        return ompjit__image_bad(r, b.p, "containers are nested deeper than %d",
                                 DEPTH);
    ompjit_status status = ompjit__image_charge(r, b.p, b.n + WORK_EACH);
    if (status)
        return status;
    for (size_t i = 0; i < OMPJIT__COUNT(formats); i++) {
        if (!formats[i].is(b))
            continue;
        r->depth++;
        status = formats[i].read(r, content);
        r->depth--;
        return status;
    }
    return unknown(r, content);
}

/* An empty content has none of them, which is no error. */
ompjit_status ompjit__image_each(ompjit__image_reader *r,
                                 const ompjit__content *content,
                                 ompjit__bytes magic, const char *what,
                                 ompjit__image_one *one)
{
    ompjit__content rest = *content;
    ompjit__bytes *b = &rest.bytes;
    while (b->n) {
        size_t size = 0;
        if (b->n < magic.n || memcmp(b->p, magic.p, magic.n))
            return ompjit__image_bad(r, b->p, "neither %s nor zero bytes "
                                     "follow %s", what, what);
        ompjit_status status = one(r, &rest, &size);
        if (status)
            return status;
        b->p += size;
        b->n -= size;
        while (b->n && !*b->p) {
            b->p++;
            b->n--;
        }
    }
    return OMPJIT_OK;
}

/* --------------------------------------------------------------- interface */

ompjit_status ompjit__pieces_read(const void *bytes, size_t size,
                                  ompjit__pieces *out, ompjit_error *err)
{
    ompjit__image_reader r = {
        .err = err,
        .origin = {.base = bytes},
        .work = (uint64_t)size * DEPTH + WORK_FREE};
    ompjit__content content = {.bytes = {bytes, size}};
    ompjit_status status = ompjit__piece_found(&r, &content);
    if (!status && !r.pieces.n)
        status = ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_READ,
                              "device image of %zu bytes: it has no code that "
                              "can be used; %s", size,
                              *r.skipped ? r.skipped : "its containers are "
                                                       "empty");
    if (status)
        ompjit__pieces_free(&r.pieces);
    else
        *out = r.pieces;
    return status;
}

void ompjit__pieces_free(ompjit__pieces *pieces)
{
    for (unsigned i = 0; i < pieces->nmemory; i++)
        free(pieces->memory[i]);
    free(pieces->memory);
    free(pieces->list);
    *pieces = (ompjit__pieces){0};
}
