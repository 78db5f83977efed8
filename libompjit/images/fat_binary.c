/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA's fat binaries, which nvcc, fatbinary and clang make, and which lie in
 * the section .nv_fatbin of host files:
 *
 *   header   magic, version, size of the header and of all that follows it
 *   entry    kind, size of its header, of its data with padding, and without it
 *            where it is compressed; architecture; flags; decompressed size
 *
 * Several may follow each other.
 */
#include <stdio.h>
#include <string.h>

#include "images/decompress.h"

/* The word 0xba55ed50 as its bytes. */
static const unsigned char magic[4] = {0x50, 0xed, 0x55, 0xba};

/* CUDA documents no layout; nvcc, fatbinary and clang write this one. */
struct header {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size;
};

struct entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size;
    uint32_t compressed, options;
    uint16_t minor, major;
    uint32_t arch, name, name_size;
    uint64_t flags, reserved, decompressed;
};

/* The one version that is known, and bits of `flags`. */
enum { FORMAT_VERSION = 1, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };
enum { KIND_PTX = 1, KIND_CUBIN = 2, KIND_LTO = 8 };

_Static_assert(sizeof(struct header) == 16 && sizeof(struct entry) == 64,
               "as in the file");

bool ompjit__fat_binary_is(ompjit__bytes b)
{
    return b.n >= sizeof magic && !memcmp(b.p, magic, sizeof magic);
}

/* What is in an entry, whose header and data lie within the fat binary. */
static ompjit_status data(ompjit__image_reader *r, const struct entry *e,
                          const unsigned char *at,
                          const ompjit__content *content)
{
    ompjit__content image = *content;
    bool lz4 = e->flags & FLAG_LZ4, zstd = e->flags & FLAG_ZSTD;
    image.bytes = (ompjit__bytes){at + e->header_size, (size_t)e->size};
    snprintf(image.arch, sizeof image.arch, "sm_%u", e->arch);
    snprintf(image.triple, sizeof image.triple, "nvptx64-nvidia-cuda");
    snprintf(image.name, sizeof image.name, "the fat binary's %s",
             e->kind == KIND_PTX ? "PTX" : "cubin");
    if (e->kind != KIND_PTX && e->kind != KIND_CUBIN)
        return ompjit__image_skip(
            r, at + offsetof(struct entry, kind), "an entry of the fat binary "
            "is of kind %u%s, neither PTX nor a cubin", e->kind,
            e->kind == KIND_LTO ? ", LTO-IR of nvcc -dlto" : "");
    if (!lz4 && !zstd)
        return ompjit__piece_found(r, &image);
    if (e->compressed > e->size)
        return ompjit__image_bad(
            r, at + offsetof(struct entry, compressed), "the fat binary's "
            "entry has %llu bytes of data, of which %u are compressed",
            (unsigned long long)e->size, e->compressed);
    image.bytes.n = e->compressed;
    return ompjit__compressed_found(r, &image,
                                    lz4 ? OMPJIT__LZ4 : OMPJIT__ZSTD,
                                    e->decompressed);
}

/* An entry from the beginning of *rest, which then begins behind it. */
static ompjit_status entry(ompjit__image_reader *r, ompjit__bytes *rest,
                           const ompjit__content *content)
{
    struct entry e;
    if (!ompjit__bytes_read(*rest, 0, &e, sizeof e))
        return ompjit__image_bad(r, rest->p, "a fat binary's entry is cut: its "
                                 "header has %zu bytes, %zu are left",
                                 sizeof e, rest->n);
    if (e.header_size < sizeof e || e.header_size > rest->n)
        return ompjit__image_bad(
            r, rest->p + offsetof(struct entry, header_size), "the header of a "
            "fat binary's entry has %u bytes, %zu are left", e.header_size,
            rest->n);
    if (e.size > rest->n - e.header_size)
        return ompjit__image_bad(
            r, rest->p + offsetof(struct entry, size), "the data of a fat "
            "binary's entry has %llu bytes, %zu are left",
            (unsigned long long)e.size, rest->n - e.header_size);
    ompjit_status status = data(r, &e, rest->p, content);
    size_t all = e.header_size + (size_t)e.size;
    rest->p += all;
    rest->n -= all;
    return status;
}

/* One fat binary, which ends *size bytes on. */
static ompjit_status fat_binary(ompjit__image_reader *r,
                                const ompjit__content *content, size_t *size)
{
    struct header h;
    ompjit__bytes b = content->bytes, rest;
    if (!ompjit__bytes_read(b, 0, &h, sizeof h))
        return ompjit__image_bad(r, b.p, "a fat binary is cut: its header has "
                                 "%zu bytes, %zu are left", sizeof h, b.n);
    if (h.version != FORMAT_VERSION || h.header_size < sizeof h)
        return ompjit__image_bad(
            r, b.p + offsetof(struct header, version), "version %u of CUDA's "
            "fat binaries, with a header of %u bytes, is not known",
            h.version, h.header_size);
    if (!ompjit__bytes_slice(b, h.header_size, h.size, &rest))
        return ompjit__image_bad(
            r, b.p + offsetof(struct header, size), "the fat binary has %llu "
            "bytes behind its header, %zu are left",
            (unsigned long long)h.size, b.n - sizeof h);
    *size = h.header_size + (size_t)h.size;
    ompjit_status status = OMPJIT_OK;
    while (!status && rest.n)
        status = entry(r, &rest, content);
    return status;
}

ompjit_status ompjit__fat_binary_read(ompjit__image_reader *r,
                                      const ompjit__content *content)
{
    return ompjit__image_each(r, content,
                              (ompjit__bytes){magic, sizeof magic},
                              "a fat binary", fat_binary);
}
