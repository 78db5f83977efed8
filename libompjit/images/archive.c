/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Archives of ar, GNU's and BSD's (ar(5)): a header of text and a member, which
 * an odd size pads with a line feed. The archive's own members are its symbols
 * (/, /SYM64/, __.SYMDEF) and GNU's long names (//).
 */
#include <ar.h>
#include <stdio.h>
#include <string.h>

#include "images/reader.h"

static const char thin_magic[] = "!<thin>\n";

/* Where members are, and GNU's long names once they have been. */
struct archive {
    ompjit__bytes whole, names;
};

/* Thin archives are recognised, too, so that their error can say what to do. */
bool ompjit__archive_is(ompjit__bytes b)
{
    return b.n >= SARMAG && (!memcmp(b.p, ARMAG, SARMAG) ||
                             !memcmp(b.p, thin_magic, SARMAG));
}

/* Decimal digits, then blanks to the end. */
static bool number(const char *field, size_t n, uint64_t *out)
{
    size_t i = 0;
    for (*out = 0; i < n && field[i] >= '0' && field[i] <= '9'; i++)
        *out = *out * 10 + (uint64_t)(field[i] - '0');
    bool digits = i > 0;
    while (i < n && field[i] == ' ')
        i++;
    return digits && i == n;
}

/* The part up to a NUL or to a character that ends it. */
static ompjit__bytes up_to(ompjit__bytes b, const char *ends)
{
    size_t n = 0;
    while (n < b.n && b.p[n] && !strchr(ends, b.p[n]))
        n++;
    return (ompjit__bytes){b.p, n};
}

/* The name of a member. BSD's long one begins the member, which loses it; false
 * where it does not fit in. */
static bool name_of(const struct archive *a, const struct ar_hdr *h,
                    ompjit__bytes *member, ompjit__bytes *out)
{
    ompjit__bytes field = {(const unsigned char *)h->ar_name,
                           sizeof h->ar_name};
    bool bsd = !memcmp(h->ar_name, "#1/", 3);
    size_t digits = bsd ? 3 : 1;
    uint64_t n;
    *out = up_to(field, "/ ");
    if ((!bsd && h->ar_name[0] != '/') ||
        !number(h->ar_name + digits, sizeof h->ar_name - digits, &n))
        return true;
    if (bsd)
        return ompjit__bytes_slice(*member, 0, n, out) &&
               ompjit__bytes_slice(*member, n, member->n - n, member);
    if (n < a->names.n) {
        ompjit__bytes_slice(a->names, n, a->names.n - n, out);
        *out = up_to(*out, "/\n");
    }
    return true;
}

/* The archive's own members: GNU's symbols ("/" and "/SYM64/") and BSD's. GNU's
 * names ("//") are dealt with before. */
static bool is_own(const struct ar_hdr *h, ompjit__bytes name)
{
    return !memcmp(h->ar_name, "/ ", 2) || !memcmp(h->ar_name, "/SYM64/ ", 8) ||
           (name.n >= 9 && !memcmp(name.p, "__.SYMDEF", 9));
}

/* A member from `at` on, which goes on to the next. */
static ompjit_status member(ompjit__image_reader *r, struct archive *a,
                            size_t *at, const ompjit__content *content)
{
    struct ar_hdr h;
    ompjit__content image = *content;
    const unsigned char *p = a->whole.p + *at;
    uint64_t size;
    if (!ompjit__bytes_read(a->whole, *at, &h, sizeof h))
        return ompjit__image_bad(r, p, "an archive member's header is cut");
    if (memcmp(h.ar_fmag, ARFMAG, 2) ||
        !number(h.ar_size, sizeof h.ar_size, &size))
        return ompjit__image_bad(r, p + offsetof(struct ar_hdr, ar_size),
                                 "an archive member's header has no size or no "
                                 "end");
    if (!ompjit__bytes_slice(a->whole, *at + sizeof h, size, &image.bytes))
        return ompjit__image_bad(r, p + offsetof(struct ar_hdr, ar_size),
                                 "an archive member has %llu bytes, %zu are "
                                 "left", (unsigned long long)size,
                                 a->whole.n - *at - sizeof h);
    /* A member begins at an even offset; the last one may lack its padding. */
    *at += sizeof h + (size_t)size;
    *at += *at % 2 && *at < a->whole.n;
    if (!memcmp(h.ar_name, "// ", 3)) {
        a->names = image.bytes;
        return OMPJIT_OK;
    }
    ompjit__bytes name;
    if (!name_of(a, &h, &image.bytes, &name))
        return ompjit__image_bad(r, p, "an archive member's name is longer "
                                 "than the member");
    if (is_own(&h, name))
        return OMPJIT_OK;
    snprintf(image.name, sizeof image.name, "member %.*s",
             name.n < 32 ? (int)name.n : 32, (const char *)name.p);
    return ompjit__piece_found(r, &image);
}

/* Members that are of no use are passed over, as ompjit__piece_found decides.
 */
ompjit_status ompjit__archive_read(ompjit__image_reader *r,
                                   const ompjit__content *content)
{
    struct archive a = {.whole = content->bytes};
    ompjit_status status = OMPJIT_OK;
    if (!memcmp(a.whole.p, thin_magic, SARMAG))
        return ompjit__image_bad(r, a.whole.p, "a thin archive has only the "
                                 "names of its members; make one without ar's "
                                 "option T");
    for (size_t at = SARMAG; !status && at < a.whole.n;)
        status = member(r, &a, &at, content);
    return status;
}
