/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels and variables of PTX (PTX ISA, "Directives"), token by token. Only
 * directives at the top level are looked at:
 *
 *   .visible .entry k ( .param .align 8 .b8 k_param_0[24], ... )
 *   .maxntid 128, 1, 1 { ... }
 *   .weak .global .align 8 .u64 k_kernel_environment[6] = { 1, generic(x) };
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "images/gpu_reader.h"

/* The rest of the text, and the token before it: a name or directive, a number,
 * a string, or one other character; empty at the end. */
struct scan {
    ompjit__gpu_reader *r;
    ompjit__bytes rest;
    ompjit__bytes token;
};

/* A name with what its declaration says. */
struct declaration {
    ompjit__bytes name;
    uint64_t element, count; /* bytes of one, and how many */
    uint64_t align;          /* 0: the element's           */
};

/* ------------------------------------------------------------------ tokens */

/* Drops n bytes, or all there are. */
static void drop(ompjit__bytes *b, size_t n)
{
    n = n < b->n ? n : b->n;
    b->p += n;
    b->n -= n;
}

/* May the character stand in a name or directive? Numbers are names here. */
static bool is_name(unsigned char c)
{
    return isalnum(c) || c == '_' || c == '$' || c == '.' || c == '%';
}

/* Past white space and comments. */
static void drop_blanks(ompjit__bytes *b)
{
    while (b->n) {
        if (memchr(" \t\r\n", *b->p, 4)) {
            drop(b, 1);
        } else if (b->n > 1 && b->p[0] == '/' && b->p[1] == '/') {
            while (b->n && *b->p != '\n')
                drop(b, 1);
        } else if (b->n > 1 && b->p[0] == '/' && b->p[1] == '*') {
            while (b->n > 1 && (b->p[0] != '*' || b->p[1] != '/'))
                drop(b, 1);
            drop(b, 2);
        } else {
            return;
        }
    }
}

/* The next token; an empty one at the end. */
static void next(struct scan *s)
{
    ompjit__bytes *b = &s->rest;
    drop_blanks(b);
    s->token = (ompjit__bytes){b->p, 0};
    if (!b->n)
        return;
    unsigned char first = *b->p;
    do
        drop(b, 1);
    while (b->n && ((is_name(first) && is_name(*b->p)) ||
                    (first == '"' && *b->p != '"')));
    if (first == '"')
        drop(b, 1);
    s->token.n = (size_t)(b->p - s->token.p);
}

static bool is(const struct scan *s, const char *word)
{
    return s->token.n == strlen(word) &&
           !memcmp(s->token.p, word, s->token.n);
}

/* The token's offset in the text, for messages. */
static uint64_t at(const struct scan *s)
{
    return (uint64_t)(s->token.p - s->r->bytes.p);
}

/* INVALID, at the token. */
static ompjit_status bad(struct scan *s, const char *what)
{
    return ompjit__gpu_bad(s->r, at(s), "%s", what);
}

/* C's integers: 12, 0x1f, 017, 0b1, 3U. False: the token is none, or too
 * large. */
static bool number(const struct scan *s, uint64_t *out)
{
    const unsigned char *p = s->token.p, *end = p + s->token.n;
    unsigned base = 10;
    uint64_t v = 0;
    if (end - p > 1 && end[-1] == 'U')
        end--;
    if (end - p > 1 && *p == '0') {
        bool letter = end - p > 2 && isalpha(p[1]);
        base = !letter ? 8 : tolower(p[1]) == 'x' ? 16 : 2;
        p += letter ? 2 : 1;
    }
    if (p == end)
        return false;
    for (; p < end; p++) {
        unsigned digit = isdigit(*p)    ? *p - '0' + 0u
                         : isxdigit(*p) ? tolower(*p) - 'a' + 10u
                                        : base;
        if (digit >= base || v > (UINT64_MAX - digit) / base)
            return false;
        v = v * base + digit;
    }
    *out = v;
    return true;
}

/* Behind the brace that closes the one that is the token. */
static ompjit_status skip_block(struct scan *s)
{
    struct scan first = *s;
    size_t depth = 0;
    do {
        depth += is(s, "{");
        depth -= is(s, "}");
        if (depth)
            next(s);
        if (!s->token.n)
            return bad(&first, "a brace is not closed");
    } while (depth);
    next(s);
    return OMPJIT_OK;
}

/* ------------------------------------------------------------ declarations */

/* Bytes of a fundamental type: its digits are bits; 0: the token is none. Those
 * of opaque types are what a kernel's parameter takes. */
static unsigned type_size(const struct scan *s)
{
    static const char *const names[] = {"b", "u", "s", "f", "bf"};
    if (is(s, ".texref") || is(s, ".samplerref") || is(s, ".surfref"))
        return 8;
    if (is(s, ".f16x2") || is(s, ".bf16x2"))
        return 4;
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++) {
        size_t n = strlen(names[i]);
        struct scan digits = {.token = {s->token.p + n + 1, 0}};
        uint64_t bits;
        if (s->token.n < n + 2 || s->token.n > n + 4 || *s->token.p != '.' ||
            memcmp(s->token.p + 1, names[i], n))
            continue;
        digits.token.n = s->token.n - n - 1;
        if (number(&digits, &bits) && bits >= 8 && bits <= 128 &&
            !(bits & (bits - 1)))
            return (unsigned)bits / 8;
    }
    return 0;
}

/* From behind the state space to before the name: attributes come before the
 * type, and of a pointer those of what it points to behind it. */
static ompjit_status read_type(struct scan *s, struct declaration *d)
{
    unsigned vector = 1;
    *d = (struct declaration){.count = 1};
    for (; s->token.n && *s->token.p == '.'; next(s)) {
        if (is(s, ".align") && !d->element) {
            next(s);
            if (!number(s, &d->align) || !d->align || d->align > 1 << 16)
                return bad(s, "an alignment that is no number from 1 to 65536");
        } else if (is(s, ".align")) {
            next(s);
        } else if (is(s, ".v2") || is(s, ".v4") || is(s, ".v8")) {
            vector = s->token.p[2] - '0';
        } else if (type_size(s)) {
            d->element = type_size(s) * vector;
        } else if (is(s, ".attribute")) {
            while (s->token.n && !is(s, ")"))
                next(s);
        }
    }
    return d->element ? OMPJIT_OK : bad(s, "a declaration without a type");
}

/* "[4]"; "[]" is 0, and the values tell. */
static ompjit_status read_dimension(struct scan *s, uint64_t *n)
{
    *n = 0;
    next(s);
    if (!is(s, "]")) {
        if (!number(s, n))
            return bad(s, "a dimension that is no number");
        next(s);
    }
    if (!is(s, "]"))
        return bad(s, "a dimension without a closing bracket");
    next(s);
    return OMPJIT_OK;
}

/* To behind the name and its dimensions. */
static ompjit_status read_name(struct scan *s, struct declaration *d)
{
    d->name = s->token;
    d->count = 1;
    if (!d->name.n || !is_name(*d->name.p))
        return bad(s, "a declaration without a name");
    next(s);
    while (is(s, "[")) {
        uint64_t n;
        ompjit_status status = read_dimension(s, &n);
        if (status)
            return status;
        if (n && d->count > (UINT64_MAX >> 10) / n)
            return bad(s, "a variable larger than the address space");
        d->count *= n;
    }
    return OMPJIT_OK;
}

/* ----------------------------------------------------------------- kernels */

/* A parameter lies behind the last one, at the next multiple of its alignment,
 * as the driver lays them out. */
static ompjit_status add_param(struct scan *s, ompjit__gpu_kernel *k,
                               const struct declaration *d)
{
    ompjit__gpu_param *last = k->nparams ? &k->params[k->nparams - 1] : NULL;
    uint64_t align = d->align ? d->align : d->element;
    uint64_t offset = last ? (uint64_t)last->offset + last->size : 0;
    uint64_t size = d->element * d->count;
    offset = (offset + align - 1) / align * align;
    if (size > UINT32_MAX || offset > UINT32_MAX - size)
        return bad(s, "parameters of more than 4 GiB");
    if (!(k->nparams & (k->nparams - 1))) { /* full: a power of two */
        size_t room = k->nparams ? 2 * (size_t)k->nparams : 1;
        ompjit__gpu_param *params = realloc(k->params, room * sizeof *params);
        if (!params)
            return ompjit__no_memory(s->r->err, OMPJIT_STAGE_READ);
        k->params = params;
    }
    k->params[k->nparams++] = (ompjit__gpu_param){(uint32_t)offset,
                                                  (uint32_t)size};
    return OMPJIT_OK;
}

/* From the opening parenthesis to behind the closing one. */
static ompjit_status read_params(struct scan *s, ompjit__gpu_kernel *k)
{
    ompjit_status status = OMPJIT_OK;
    next(s);
    while (!status && is(s, ".param")) {
        struct declaration d;
        next(s);
        status = read_type(s, &d);
        if (!status)
            status = read_name(s, &d);
        if (!status)
            status = add_param(s, k, &d);
        if (!status && is(s, ","))
            next(s);
    }
    if (!status && !is(s, ")"))
        return bad(s, "a kernel's parameter that is neither .param nor ends");
    if (!status)
        next(s);
    return status;
}

/* ".maxntid 16, 16": missing dimensions are 1. The token is the directive. */
static ompjit_status read_threads(struct scan *s, ompjit__gpu_kernel *k)
{
    uint64_t n = 1, v;
    k->threads_required |= is(s, ".reqntid");
    do {
        next(s);
        if (!number(s, &v) || v > UINT32_MAX)
            return bad(s, "a bound of threads that is no number of 32 bits");
        n *= v;
        n = n > UINT32_MAX ? UINT32_MAX : n;
        next(s);
    } while (is(s, ","));
    k->max_threads = (uint32_t)n;
    return OMPJIT_OK;
}

/* From .entry to behind the body. A declaration alone, which ends in a
 * semicolon, is taken back. A declaration is followed by the definition in the
 * same text or another, which alone has what is needed. */
static ompjit_status read_kernel(struct scan *s)
{
    ompjit__gpu_kernel *k;
    next(s);
    if (!s->token.n || !is_name(*s->token.p))
        return bad(s, "a kernel without a name");
    ompjit_status status = ompjit__gpu_add_kernel(s->r, s->token, &k);
    if (status)
        return status;
    next(s);
    if (is(s, "("))
        status = read_params(s, k);
    while (!status && s->token.n && !is(s, "{") && !is(s, ";")) {
        if (is(s, ".maxntid") || is(s, ".reqntid"))
            status = read_threads(s, k);
        else
            next(s);
    }
    if (status || is(s, "{"))
        return status ? status : skip_block(s);
    if (!s->token.n)
        return bad(s, "a kernel without a body");
    free(k->symbol);
    free(k->params);
    s->r->nkernels--;
    next(s);
    return OMPJIT_OK;
}

/* --------------------------------------------------------------- variables */

/* The values of a variable; of those that are numbers the first bytes go to
 * `out`, which is zeros. The token is behind the sign of equality. Ends at the
 * semicolon, or at the comma before another variable. Returns their number. */
static uint64_t read_values(struct scan *s, const struct declaration *d,
                            uint8_t *out, size_t room)
{
    uint64_t values = 0, v = 0;
    size_t depth = 0, parentheses = 0, tokens = 0;
    bool minus = false, plain = false;
    for (;; next(s)) {
        bool end = !s->token.n || is(s, ";");
        bool comma = is(s, ",") && !parentheses;
        if ((end || comma || is(s, "}")) && tokens) {
            if (plain && tokens == 1 && d->element <= sizeof v &&
                values < room / d->element) {
                v = minus ? -v : v;
                memcpy(out + values * d->element, &v, d->element);
            }
            values++;
            tokens = 0;
            minus = false;
        }
        if (end || (comma && !depth))
            return values;
        if (is(s, "{")) {
            depth++;
        } else if (is(s, "}")) {
            depth -= depth > 0;
        } else if (is(s, "-") && !tokens) {
            minus = true;
        } else if (!comma) {
            parentheses += is(s, "(");
            parentheses -= parentheses && is(s, ")");
            plain = number(s, &v);
            tokens++;
        }
    }
}

/* From .global or .const to the semicolon. */
static ompjit_status read_variables(struct scan *s, bool outside)
{
    struct declaration d;
    next(s);
    ompjit_status status = read_type(s, &d);
    while (!status && !(status = read_name(s, &d))) {
        uint8_t initial[sizeof(ompjit__kernel_environment)] = {0};
        ompjit__gpu_found *found;
        uint64_t values = 0;
        if (is(s, "=")) {
            next(s);
            values = read_values(s, &d, initial, sizeof initial);
        }
        if (!outside)
            status = ompjit__gpu_add_found(s->r, d.name, &found);
        if (!outside && !status) {
            found->size = d.element * (d.count ? d.count : values);
            memcpy(found->initial, initial, sizeof initial);
        }
        if (!is(s, ","))
            break;
        next(s);
    }
    return status;
}

/* ------------------------------------------------------------------- whole */

/* To behind a function's header: its parameters are of no interest. */
static void skip_header(struct scan *s)
{
    while (s->token.n && !is(s, "{") && !is(s, ";"))
        next(s);
}

/* What stands before a directive belongs to it, to the end of its statement. */
ompjit_status ompjit__gpu_read_ptx(ompjit__gpu_reader *r)
{
    struct scan s = {.r = r, .rest = r->bytes};
    ompjit_status status = OMPJIT_OK;
    bool outside = false;
    next(&s);
    while (!status && s.token.n) {
        bool end = true;
        if (is(&s, ".entry")) {
            status = read_kernel(&s);
        } else if (is(&s, ".global") || is(&s, ".const")) {
            status = read_variables(&s, outside);
        } else if (is(&s, ".func")) {
            skip_header(&s);
        } else if (is(&s, "{")) {
            status = skip_block(&s);
        } else {
            end = is(&s, ";");
            outside |= is(&s, ".extern");
            next(&s);
        }
        outside &= !end;
    }
    return status;
}
