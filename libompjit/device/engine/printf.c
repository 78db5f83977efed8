/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * printf of device code on the host: clang packs the arguments into a buffer,
 * each at its natural alignment; here they are taken out again, conversion by
 * conversion, and formatted by the C library. Each call is one write, so that
 * lines of concurrent threads stay whole. A call with a width or precision of
 * more than WIDEST prints nothing and returns -1.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "runtime-bc/host_abi.h"

struct packed {
    const char *data; /* clang's buffer, as vprintf on a GPU gets it */
    size_t at;        /* bytes that were taken                       */
};

static const void *take(struct packed *p, size_t size)
{
    p->at = (p->at + size - 1) / size * size;
    const void *value = p->data + p->at;
    p->at += size;
    return value;
}

#define TAKE(p, type) (*(const type *)take(p, sizeof(type)))

/* One conversion, `spec` without its asterisks, which are in star[]. */
struct conversion {
    char spec[32];
    int nstars, star[2];
};

/* %n, in the size that the conversion names. */
static void store_count(const char *spec, void *to, size_t n)
{
    if (strpbrk(spec, "lzjt"))
        *(long *)to = (long)n;
    else if (strstr(spec, "hh"))
        *(signed char *)to = (signed char)n;
    else if (strchr(spec, 'h'))
        *(short *)to = (short)n;
    else
        *(int *)to = (int)n;
}

#define EMIT(out, c, value) \
    ((c)->nstars == 0   ? ompjit__buf_printf(out, (c)->spec, value) \
     : (c)->nstars == 1 ? ompjit__buf_printf(out, (c)->spec, (c)->star[0], \
                                             value) \
                        : ompjit__buf_printf(out, (c)->spec, (c)->star[0], \
                                             (c)->star[1], value))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
static void convert(ompjit__buf *out, const struct conversion *c,
                    struct packed *args)
{
    char last = c->spec[strlen(c->spec) - 1];
    bool wide = strpbrk(c->spec, "lzjtL") != NULL;
    switch (last) {
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a':
    case 'A':
        EMIT(out, c, TAKE(args, double));
        break;
    case 's': {
        const char *s = TAKE(args, char *);
        EMIT(out, c, s ? s : "(null)");
        break;
    }
    case 'p':
        EMIT(out, c, TAKE(args, void *));
        break;
    case 'n':
        store_count(c->spec, *(void *const *)take(args, sizeof(void *)),
                    out->size);
        break;
    default:
        if (wide)
            EMIT(out, c, TAKE(args, long));
        else
            EMIT(out, c, TAKE(args, int));
    }
}
#pragma GCC diagnostic pop

/* Reads the conversion behind the '%' at f; its end, or NULL if it is none. */
static const char *parse(const char *f, struct conversion *c,
                         struct packed *args)
{
    size_t n = 0;
    c->nstars = 0;
    for (const char *start = f++; n < sizeof c->spec - 1; f++) {
        if (f == start + 1)
            c->spec[n++] = '%';
        if (!*f)
            return NULL;
        if (*f == '*' && c->nstars < 2)
            c->star[c->nstars++] = TAKE(args, int);
        c->spec[n++] = *f;
        c->spec[n] = 0;
        if (strchr("diouxXcspneEfFgGaA", *f))
            return f + 1;
        if (!strchr("-+ #0123456789.*hlLzjt", *f))
            return NULL;
    }
    return NULL;
}

/* C lets an implementation bound a conversion's characters. Beyond this the C
 * library would write for seconds, and no time limit could stop it. */
enum { WIDEST = 1 << 20 };

/* Is its width or precision too large? */
static bool is_too_wide(const struct conversion *c)
{
    for (int i = 0; i < c->nstars; i++)
        if (c->star[i] > WIDEST || c->star[i] < -WIDEST)
            return true;
    for (const char *s = c->spec; *s; s++)
        if (isdigit((unsigned char)*s)) {
            char *end;
            if (strtoul(s, &end, 10) > WIDEST)
                return true;
            s = end - 1;
        }
    return false;
}

/* The number of characters, or -1. */
int32_t ompjit_host_vprintf(const char *format, const void *data)
{
    struct packed args = {data, 0};
    ompjit__buf out = {0};
    for (const char *f = format; *f;) {
        size_t plain = strcspn(f, "%");
        ompjit__buf_add(&out, f, plain);
        f += plain;
        if (!*f)
            break;
        if (f[1] == '%') {
            ompjit__buf_add(&out, "%", 1);
            f += 2;
            continue;
        }
        struct conversion c;
        const char *end = parse(f, &c, &args);
        if (!end) { /* no conversion that printf knows: as it stands */
            ompjit__buf_add(&out, f, strlen(f));
            break;
        }
        if (is_too_wide(&c)) {
            out.failed = true;
            break;
        }
        convert(&out, &c, &args);
        f = end;
    }
    int32_t n = out.failed || out.size > INT32_MAX ? -1 : (int32_t)out.size;
    if (n > 0)
        fwrite(out.data, 1, out.size, stdout);
    ompjit__buf_free(&out);
    return n;
}
