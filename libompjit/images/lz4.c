/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LZ4 blocks (LZ4 Block Format Description), which CUDA's tools write into fat
 * binaries. A block is sequences of a token (4 bits of literals' length, 4 of
 * the match's), literals, the match's offset of 16 bits, and more lengths.
 */
#include <string.h>

#include "images/decompress.h"

/* A match is at least 4 bytes, so 4 is not written; a length of 15 has more
 * bytes. */
enum { MATCH_LEAST = 4, LENGTH_MORE = 15 };

/* A length of 15 goes on: bytes are added up to the first that is not 255. */
static bool length(ompjit__bytes *in, size_t *n)
{
    unsigned char more = 255;
    if (*n != LENGTH_MORE)
        return true;
    while (more == 255) {
        if (!in->n)
            return false;
        more = *in->p;
        in->p++;
        in->n--;
        *n += more;
    }
    return true;
}

/* Copies n literals, or more where n is 15. False: there are fewer, or no room.
 */
static bool literals(ompjit__bytes *in, size_t n, unsigned char *out,
                     size_t size, size_t *at)
{
    if (!length(in, &n) || n > in->n || n > size - *at)
        return false;
    memcpy(out + *at, in->p, n);
    in->p += n;
    in->n -= n;
    *at += n;
    return true;
}

/* A match may overlap what it makes, so its bytes are copied one by one. */
static bool match(ompjit__bytes *in, size_t n, unsigned char *out, size_t size,
                  size_t *at)
{
    if (in->n < 2)
        return false;
    size_t offset = in->p[0] | (size_t)in->p[1] << 8;
    in->p += 2;
    in->n -= 2;
    if (!length(in, &n) || !offset || offset > *at ||
        n + MATCH_LEAST > size - *at)
        return false;
    for (n += MATCH_LEAST; n; n--, ++*at)
        out[*at] = out[*at - offset];
    return true;
}

/* The last sequence has no match. */
bool ompjit__lz4(ompjit__bytes in, unsigned char *out, size_t size)
{
    size_t at = 0;
    while (in.n) {
        unsigned token = *in.p;
        in.p++;
        in.n--;
        if (!literals(&in, token >> 4, out, size, &at))
            return false;
        if (in.n && !match(&in, token & 15, out, size, &at))
            return false;
    }
    return at == size;
}
