/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An entry's bytes:
 *
 *   header    magic, format, sizes, digests of the key's text, of the body and
 *             of the header itself
 *   body      the key's text, then the payload
 *
 * Numbers are in this machine's byte order. The magic is wrong for an entry of
 * another order.
 */
#include <string.h>

#include "cache/cache.h"

/* The file begins with this struct as it lies in memory. */
struct header {
    uint64_t magic;
    uint32_t format, header_size;
    uint64_t text_size, payload_size;
    uint8_t key[OMPJIT__DIGEST];
    uint8_t body[OMPJIT__DIGEST];
    uint8_t self[OMPJIT__DIGEST]; /* of all above */
};
_Static_assert(sizeof(struct header) == OMPJIT__ENTRY_HEADER,
               "files have no padding");

#define MAGIC 0x0a54494a504d4f7fu /* "\177OMPJIT\n" */
enum { FORMAT = 1 };

static void digest_body(const char *text, size_t text_size,
                        const void *payload, size_t payload_size,
                        uint8_t out[OMPJIT__DIGEST])
{
    ompjit__digest_both(text, text_size, payload, payload_size, out);
}

static void digest_header(const struct header *h, uint8_t out[OMPJIT__DIGEST])
{
    ompjit__digest(h, offsetof(struct header, self), out);
}

/* The header alone: the caller writes text and payload behind it. */
void ompjit__entry_header(const ompjit__key *key, const void *payload,
                          size_t size, uint8_t out[OMPJIT__ENTRY_HEADER])
{
    struct header h = {.magic = MAGIC,
                       .format = FORMAT,
                       .header_size = sizeof h,
                       .text_size = key->text.size,
                       .payload_size = size};
    memcpy(h.key, key->digest, sizeof h.key);
    digest_body(key->text.data, key->text.size, payload, size, h.body);
    digest_header(&h, h.self);
    memcpy(out, &h, sizeof h);
}

/* The sizes are checked before anything is digested, the header before the
 * body. */
bool ompjit__entry_check(const void *bytes, size_t size,
                        ompjit__entry_view *out)
{
    struct header h;
    uint8_t digest[OMPJIT__DIGEST];
    if (size < sizeof h)
        return false;
    memcpy(&h, bytes, sizeof h);
    size -= sizeof h;
    if (h.magic != MAGIC || h.format != FORMAT || h.header_size != sizeof h ||
        h.text_size > size || h.payload_size != size - h.text_size)
        return false;
    digest_header(&h, digest);
    if (memcmp(digest, h.self, sizeof digest))
        return false;
    const char *text = (const char *)bytes + sizeof h;
    digest_body(text, h.text_size, text + h.text_size, h.payload_size, digest);
    if (memcmp(digest, h.body, sizeof digest))
        return false;
    *out = (ompjit__entry_view){
        .digest = (const uint8_t *)bytes + offsetof(struct header, key),
        .text = text,
        .text_size = h.text_size,
        .payload = text + h.text_size,
        .payload_size = h.payload_size};
    return true;
}
