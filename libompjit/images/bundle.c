/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Clang's offload bundles (Clang documentation, "Offload Bundler"; LLVM's
 * llvm/Object/OffloadBundle.h), and compressed ones:
 *
 *   bundle      magic, number of entries; entries; contents
 *   entry       offset and size of the content, length of the identifier, and
 *               that: "openmp-nvptx64-nvidia-cuda--sm_90"
 *   compressed  "CCOB", version, method, from version 2 on the size of all,
 *               decompressed size, hash, content. Version 3 has sizes of 64
 *               bits.
 */
#include <string.h>

#include "images/decompress.h"

static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const unsigned char compressed_magic[4] = {'C', 'C', 'O', 'B'};

enum {
    MAGIC = sizeof bundle_magic - 1,
    ENTRIES = MAGIC + 8, /* where the entries begin */
    HASH = 8
};

/* An entry as it is in the file, before the identifier's bytes. Numbers are
 * little-endian, as on this machine. */
struct entry {
    uint64_t offset, size, id_size;
};

/* ------------------------------------------------------------- identifiers */

/* The beginnings of all architectures that clang writes into identifiers. */
static bool is_arch(const unsigned char *p, size_t n)
{
    static const char *const words[] = {"sm_", "gfx", "compute_", "generic"};
    for (size_t i = 0; i < OMPJIT__COUNT(words); i++)
        if (n >= strlen(words[i]) && !memcmp(p, words[i], strlen(words[i])))
            return true;
    return false;
}

/* KIND-TRIPLE, KIND-TRIPLE-ARCH or, with an empty environment in the triple,
 * KIND-TRIPLE--ARCH. */
void ompjit__bundle_target(ompjit__bytes id, ompjit__content *out)
{
    const unsigned char *kind = id.n ? memchr(id.p, '-', id.n) : NULL;
    if (kind) {
        id.n -= (size_t)(kind + 1 - id.p);
        id.p = kind + 1;
    }
    const unsigned char *last = id.n ? memrchr(id.p, '-', id.n) : NULL;
    if (last) {
        size_t n = id.n - (size_t)(last + 1 - id.p);
        if (is_arch(last + 1, n)) {
            ompjit__image_copy(out->arch, sizeof out->arch, last + 1, n);
            id.n -= n + 1;
        }
    }
    while (id.n && id.p[id.n - 1] == '-')
        id.n--;
    if (id.n)
        ompjit__image_copy(out->triple, sizeof out->triple, id.p, id.n);
}

/* ----------------------------------------------------------------- bundles */

bool ompjit__bundle_is(ompjit__bytes b)
{
    return b.n >= MAGIC && !memcmp(b.p, bundle_magic, MAGIC);
}

/* An entry at *at, which goes on to the next. The host's is empty. */
static ompjit_status entry(ompjit__image_reader *r,
                           const ompjit__content *bundle, size_t *at)
{
    struct entry e;
    ompjit__bytes b = bundle->bytes, id;
    ompjit__content image = *bundle;
    if (!ompjit__bytes_read(b, *at, &e, sizeof e))
        return ompjit__image_bad(r, b.p + (*at < b.n ? *at : b.n),
                                 "an entry of the offload bundle is cut");
    if (!ompjit__bytes_slice(b, *at + sizeof e, e.id_size, &id))
        return ompjit__image_bad(
            r, b.p + *at + offsetof(struct entry, id_size), "an identifier of "
            "%llu bytes is not within the offload bundle's %zu",
            (unsigned long long)e.id_size, b.n);
    if (!ompjit__bytes_slice(b, e.offset, e.size, &image.bytes))
        return ompjit__image_bad(
            r, b.p + *at, "the content of %llu bytes from offset %llu is not "
            "within the offload bundle's %zu", (unsigned long long)e.size,
            (unsigned long long)e.offset, b.n);
    *at += sizeof e + id.n;
    ompjit__bundle_target(id, &image);
    ompjit__image_copy(image.name, sizeof image.name, id.p, id.n);
    return e.size ? ompjit__piece_found(r, &image) : OMPJIT_OK;
}

/* Entries follow each other without alignment, since identifiers have any
 * length. */
ompjit_status ompjit__bundle_read(ompjit__image_reader *r,
                                  const ompjit__content *content)
{
    ompjit__bytes b = content->bytes;
    ompjit_status status = OMPJIT_OK;
    uint64_t n;
    if (!ompjit__bytes_read(b, MAGIC, &n, sizeof n) ||
        n > (b.n - ENTRIES) / sizeof(struct entry))
        return ompjit__image_bad(r, b.p + MAGIC, "the number of entries of an "
                                 "offload bundle of %zu bytes is cut or too "
                                 "large", b.n);
    /* ENTRIES <= b.n here: the number of entries has been read. */
    size_t at = ENTRIES;
    for (uint64_t i = 0; !status && i < n; i++)
        status = entry(r, content, &at);
    return status;
}

/* -------------------------------------------------------------- compressed */

bool ompjit__compressed_bundle_is(ompjit__bytes b)
{
    return b.n >= sizeof compressed_magic &&
           !memcmp(b.p, compressed_magic, sizeof compressed_magic);
}

/* The i-th size behind version and method, of `bytes` bytes. */
static uint64_t size_at(ompjit__bytes b, unsigned i, unsigned bytes)
{
    uint64_t v = 0;
    ompjit__bytes_read(b, 8 + (uint64_t)i * bytes, &v, bytes);
    return v;
}

/* One compressed bundle, which ends *size bytes on. The hash, of 8 bytes, is
 * not checked. */
static ompjit_status compressed(ompjit__image_reader *r,
                                const ompjit__content *content, size_t *size)
{
    ompjit__bytes b = content->bytes;
    ompjit__content image = *content;
    uint16_t version = 0, method = 0;
    ompjit__bytes_read(b, 4, &version, sizeof version);
    ompjit__bytes_read(b, 6, &method, sizeof method);
    if (b.n >= 8 && (version < 1 || version > 3))
        return ompjit__image_bad(r, b.p + 4, "version %u of clang's compressed "
                                 "offload bundles is not known (1 to 3 are)",
                                 version);
    unsigned each = version == 3 ? 8 : 4, sizes = version == 1 ? 1 : 2;
    size_t header = 8 + (size_t)each * sizes + HASH;
    if (b.n < header)
        return ompjit__image_bad(r, b.p, "a compressed offload bundle is cut: "
                                 "its header has %zu bytes, %zu are left",
                                 header, b.n);
    if (method > 1)
        return ompjit__image_bad(r, b.p + 6, "compression %u of an offload "
                                 "bundle is neither zlib (0) nor zstd (1)",
                                 method);
    /* Version 1 does not say where it ends, so it takes all there is. */
    uint64_t all = version == 1 ? b.n : size_at(b, 0, each);
    if (all < header || all > b.n)
        return ompjit__image_bad(r, b.p + 8, "the compressed offload bundle's "
                                 "size is %llu bytes, %zu are left",
                                 (unsigned long long)all, b.n);
    *size = (size_t)all;
    image.bytes = (ompjit__bytes){b.p + header, *size - header};
    return ompjit__compressed_found(r, &image,
                                    method ? OMPJIT__ZSTD : OMPJIT__ZLIB,
                                    size_at(b, sizes - 1, each));
}

ompjit_status ompjit__compressed_bundle_read(ompjit__image_reader *r,
                                             const ompjit__content *content)
{
    return ompjit__image_each(
        r, content,
        (ompjit__bytes){compressed_magic, sizeof compressed_magic},
        "a compressed offload bundle", compressed);
}

/* ------------------------------------------------------------------- texts */

/* A bundle of texts begins with a comment of their language. */
bool ompjit__text_bundle_is(ompjit__bytes b)
{
    static const char start[] = "__CLANG_OFFLOAD_BUNDLE____START__";
    size_t n = strlen(start);
    while (b.n && memchr("\n;#/ ", *b.p, 5)) {
        b.p++;
        b.n--;
    }
    return b.n >= n && !memcmp(b.p, start, n);
}

ompjit_status ompjit__text_bundle_read(ompjit__image_reader *r,
                                       const ompjit__content *content)
{
    return ompjit__image_bad(r, content->bytes.p, "an offload bundle of texts "
                             "is not read; bundle bitcode or objects "
                             "(clang-offload-bundler -type=bc)");
}
