/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compressed contents: into memory that the pieces own. How much that is says
 * the container; more than the method can make of so many bytes, or more than
 * 1 GiB for an image, is refused before anything is allocated. zlib and zstd
 * are loaded when an image needs them, since hardly any does.
 */
#include <stdio.h>
#include <stdlib.h>

#include "images/decompress.h"

/* The most that an image may decompress to, and bytes that any content may,
 * however short it is. */
enum { MOST = 1 << 30, SMALL = 1 << 10 };

/* `most`: bytes that a byte becomes, at most. */
static const struct {
    const char *name;
    unsigned most;
} methods[] = {
    [OMPJIT__ZLIB] = {"zlib", 1032},
    [OMPJIT__ZSTD] = {"zstd", 1 << 17},
    [OMPJIT__LZ4] = {"LZ4", 255},
};

/* zlib.h, zstd.h */
struct zlib {
    int (*uncompress)(unsigned char *to, unsigned long *room,
                      const unsigned char *from, unsigned long size);
};
struct zstd {
    size_t (*decompress)(void *to, size_t room, const void *from, size_t size);
};

/* Loads a library for this one call; UNAVAILABLE tells what to do. */
static ompjit_status load(ompjit__image_reader *r, const unsigned char *at,
                          enum ompjit__compression method,
                          const char *const *paths, const char *symbol,
                          void *table)
{
    ompjit_error cause = {.text = ""};
    const ompjit__symbol symbols[] = {{symbol, 0, true}};
    ompjit_status status = ompjit__load_library(paths[0], paths, symbols, 1,
                                                table, &cause);
    if (!status)
        return OMPJIT_OK;
    return ompjit__fail(
        r->err, status, OMPJIT_STAGE_READ, "device image, byte %zu%s: it is "
        "compressed by %s; install %s, or make the image without compression "
        "(%s)", (size_t)(at - r->origin.base), r->origin.of,
        methods[method].name, paths[0], cause.text);
}

/* How a decompression ended. */
enum end { GOOD, DAMAGED, NO_MEMORY };

/* uncompress() of zlib, which wants to know the size before. */
static ompjit_status zlib(ompjit__image_reader *r, ompjit__bytes in,
                          unsigned char *out, size_t size, enum end *end)
{
    static const char *const paths[] = {"libz.so.1", NULL};
    enum { Z_OK = 0, Z_MEM_ERROR = -4 };
    struct zlib z;
    unsigned long made = size;
    ompjit_status status = load(r, in.p, OMPJIT__ZLIB, paths, "uncompress", &z);
    if (status)
        return status;
    int result = z.uncompress(out, &made, in.p, in.n);
    *end = result == Z_MEM_ERROR             ? NO_MEMORY
           : result == Z_OK && made == size ? GOOD
                                             : DAMAGED;
    return OMPJIT_OK;
}

/* An error is a size that no object has: the negative code. */
static ompjit_status zstd(ompjit__image_reader *r, ompjit__bytes in,
                          unsigned char *out, size_t size, enum end *end)
{
    static const char *const paths[] = {"libzstd.so.1", NULL};
    enum { MEMORY_ALLOCATION = 64 };
    struct zstd z;
    ompjit_status status = load(r, in.p, OMPJIT__ZSTD, paths,
                                "ZSTD_decompress", &z);
    if (status)
        return status;
    size_t made = z.decompress(out, size, in.p, in.n);
    *end = made == (size_t)-MEMORY_ALLOCATION ? NO_MEMORY
           : made == size                     ? GOOD
                                              : DAMAGED;
    return OMPJIT_OK;
}

/* Decompresses to exactly `size` bytes, or fails: INVALID names the place. */
static ompjit_status decompress(ompjit__image_reader *r, ompjit__bytes in,
                                enum ompjit__compression method,
                                unsigned char *out, size_t size)
{
    enum end end = GOOD;
    ompjit_status status = OMPJIT_OK;
    if (method == OMPJIT__ZLIB)
        status = zlib(r, in, out, size, &end);
    else if (method == OMPJIT__ZSTD)
        status = zstd(r, in, out, size, &end);
    else
        end = ompjit__lz4(in, out, size) ? GOOD : DAMAGED;
    if (!status && end == NO_MEMORY)
        return ompjit__no_memory(r->err, OMPJIT_STAGE_READ);
    if (status || end == GOOD)
        return status;
    return ompjit__image_bad(r, in.p, "the %zu bytes compressed by %s are "
                             "damaged, or do not become %zu bytes", in.n,
                             methods[method].name, size);
}

/* Memory that the pieces own. */
static ompjit_status allocate(ompjit__image_reader *r, size_t size,
                              unsigned char **out)
{
    ompjit__pieces *p = &r->pieces;
    void **memory = realloc(p->memory, (p->nmemory + 1u) * sizeof *memory);
    if (memory)
        p->memory = memory;
    *out = memory ? malloc(size) : NULL;
    if (!*out)
        return ompjit__no_memory(r->err, OMPJIT_STAGE_READ);
    p->memory[p->nmemory++] = *out;
    return OMPJIT_OK;
}

/* The limits are looked at before memory is allocated. While the content is
 * read, offsets in messages count from the decompressed bytes. */
ompjit_status ompjit__compressed_found(ompjit__image_reader *r,
                                       const ompjit__content *content,
                                       enum ompjit__compression method,
                                       uint64_t size)
{
    ompjit__bytes in = content->bytes;
    ompjit__content own = *content;
    ompjit__origin outer = r->origin;
    unsigned char *out;
    if (size > MOST - r->decompressed)
        return ompjit__image_bad(r, in.p, "%zu bytes compressed by %s are said "
                                 "to become %llu, and all together more than "
                                 "1 GiB", in.n, methods[method].name,
                                 (unsigned long long)size);
    if (!size || size > (uint64_t)in.n * methods[method].most + SMALL)
        return ompjit__image_bad(r, in.p, "%zu bytes compressed by %s are said "
                                 "to become %llu", in.n, methods[method].name,
                                 (unsigned long long)size);
    r->decompressed += size;
    ompjit_status status = allocate(r, (size_t)size, &out);
    if (!status)
        status = decompress(r, in, method, out, (size_t)size);
    if (status)
        return status;
    snprintf(r->origin.of, sizeof r->origin.of, " of what byte %zu%s "
             "decompresses to", (size_t)(in.p - outer.base),
             *outer.of ? " of that" : "");
    r->origin.base = out;
    own.bytes = (ompjit__bytes){out, (size_t)size};
    ompjit__image_allow(r, size);
    status = ompjit__piece_found(r, &own);
    r->origin = outer;
    return status;
}
