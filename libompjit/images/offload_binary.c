/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's offload binaries (llvm/Object/OffloadBinary.h), which clang puts into
 * a section of a host object and llvm-offload-binary writes:
 *
 *   header   magic, version, size of all, then the offset of the entry and its
 *            size (version 1, to LLVM 22), or of all entries and their number
 *            (version 2, from 23 on)
 *   entry    kind of image, producer, flags, offset and number of strings,
 *            offset and size of the image
 *   string   offsets of key and value; from version 2 on the value's size
 *
 * Offsets count from the header. Several binaries may follow each other.
 */
#include <stdio.h>
#include <string.h>

#include "images/reader.h"

static const unsigned char magic[4] = {0x10, 0xff, 0x10, 0xad};

struct header {
    unsigned char magic[4];
    uint32_t version;
    uint64_t size, entries, count; /* count: version 1 has the entry's size */
};

/* An entry as it is in the file. */
struct entry {
    uint16_t image_kind, producer;
    uint32_t flags;
    uint64_t strings, nstrings;
    uint64_t image, image_size;
};

struct string {
    uint64_t key, value, value_size; /* the last: version 2 */
};

/* Fields' offsets in the file, for messages. */
#define AT_ENTRY(e, field) ((e)->at + offsetof(struct entry, field))

/* One entry, and where it is. */
struct place {
    ompjit__bytes whole;
    uint32_t version;
    const unsigned char *at;
    struct entry e;
};

bool ompjit__offload_binary_is(ompjit__bytes b)
{
    return b.n >= sizeof magic && !memcmp(b.p, magic, sizeof magic);
}

/* --------------------------------------------------------------- strings */

/* A key is compared with its NUL; nothing else of it is read. */
static bool is_key(const struct place *p, uint64_t at, const char *word)
{
    ompjit__bytes key;
    return ompjit__bytes_slice(p->whole, at, strlen(word) + 1, &key) &&
           !memcmp(key.p, word, key.n);
}

/* Up to the NUL, or all the value's bytes, or as much as there is room for. */
static void value(const struct place *p, const struct string *s, char *to,
                  size_t room)
{
    uint64_t left = p->whole.n - s->value;
    size_t n = left < room ? (size_t)left : room;
    if (p->version > 1 && s->value_size < n)
        n = (size_t)s->value_size;
    const char *from = (const char *)p->whole.p + s->value;
    ompjit__image_copy(to, room, from, strnlen(from, n));
}

/* Reads triple and arch into *out. A key may be anything, so keys that are not
 * known are passed over. */
static ompjit_status strings(ompjit__image_reader *r, const struct place *p,
                             ompjit__content *out)
{
    size_t each = p->version > 1 ? 24 : 16;
    ompjit__bytes table;
    if (p->e.nstrings > p->whole.n / each ||
        !ompjit__bytes_slice(p->whole, p->e.strings, p->e.nstrings * each,
                             &table))
        return ompjit__image_bad(
            r, AT_ENTRY(p, strings), "%llu strings from offset %llu are not "
            "within the offload binary's %zu bytes",
            (unsigned long long)p->e.nstrings, (unsigned long long)p->e.strings,
            p->whole.n);
    ompjit_status status = ompjit__image_charge(r, p->at, table.n);
    for (size_t at = 0; !status && at < table.n; at += each) {
        struct string s = {0};
        memcpy(&s, table.p + at, each);
        if (s.key >= p->whole.n || s.value > p->whole.n ||
            (p->version > 1 && s.value_size > p->whole.n - s.value))
            return ompjit__image_bad(r, table.p + at, "a string is not within "
                                     "the offload binary");
        if (is_key(p, s.key, "triple"))
            value(p, &s, out->triple, sizeof out->triple);
        else if (is_key(p, s.key, "arch"))
            value(p, &s, out->arch, sizeof out->arch);
    }
    return status;
}

/* --------------------------------------------------------------- entries */

/* The entry's kind in messages; "" for one that is not known here. */
static const char *image_kind(unsigned kind)
{
    static const char *const names[] = {
        "", "an object", "bitcode", "a cubin", "a fat binary", "PTX", "SPIR-V"};
    return kind < OMPJIT__COUNT(names) ? names[kind] : "";
}

/* The content decides on the image's kind. The entry's is for messages. */
static ompjit_status entry(ompjit__image_reader *r, struct place *p,
                           const ompjit__content *content)
{
    ompjit__content image = *content;
    memcpy(&p->e, p->at, sizeof p->e);
    ompjit_status status = strings(r, p, &image);
    if (status)
        return status;
    if (!ompjit__bytes_slice(p->whole, p->e.image, p->e.image_size,
                             &image.bytes))
        return ompjit__image_bad(
            r, AT_ENTRY(p, image), "the image of %llu bytes from offset %llu "
            "is not within the offload binary's %zu",
            (unsigned long long)p->e.image_size, (unsigned long long)p->e.image,
            p->whole.n);
    const char *kind = image_kind(p->e.image_kind);
    snprintf(image.name, sizeof image.name, "the offload binary's image%s%s",
             *kind ? ", called " : "", kind);
    return ompjit__piece_found(r, &image);
}

/* Reads the header, and checks that all of the binary is there. */
static ompjit_status header(ompjit__image_reader *r, ompjit__bytes b,
                            struct header *h)
{
    if (!ompjit__bytes_read(b, 0, h, sizeof *h))
        return ompjit__image_bad(r, b.p, "an offload binary is cut: its header "
                                 "has %zu bytes, %zu are left", sizeof *h, b.n);
    if (!h->version || h->version > 2)
        return ompjit__image_bad(
            r, b.p + offsetof(struct header, version), "version %u of LLVM's "
            "offload binaries is not known (1 and 2 are)", h->version);
    if (h->size < sizeof *h || h->size > b.n)
        return ompjit__image_bad(
            r, b.p + offsetof(struct header, size), "the offload binary's size "
            "is %llu bytes, %zu are left", (unsigned long long)h->size, b.n);
    return OMPJIT_OK;
}

/* One offload binary, which ends *size bytes on. */
static ompjit_status binary(ompjit__image_reader *r,
                            const ompjit__content *content, size_t *size)
{
    struct header h;
    ompjit_status status = header(r, content->bytes, &h);
    if (status)
        return status;
    *size = (size_t)h.size;
    struct place p = {{content->bytes.p, *size}, h.version, NULL, {0}};
    uint64_t n = h.version > 1 ? h.count : 1;
    ompjit__bytes entries;
    if (n > h.size / sizeof p.e ||
        !ompjit__bytes_slice(p.whole, h.entries, n * sizeof p.e, &entries))
        return ompjit__image_bad(
            r, content->bytes.p + offsetof(struct header, entries), "%llu "
            "entries from offset %llu are not within the offload binary's %zu "
            "bytes", (unsigned long long)n, (unsigned long long)h.entries,
            *size);
    for (size_t i = 0; !status && i < n; i++) {
        p.at = entries.p + i * sizeof p.e;
        status = entry(r, &p, content);
    }
    return status;
}

ompjit_status ompjit__offload_binary_read(ompjit__image_reader *r,
                                          const ompjit__content *content)
{
    return ompjit__image_each(r, content,
                              (ompjit__bytes){magic, sizeof magic},
                              "an offload binary", binary);
}
