/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs the programs of core/signature.h: what of the memory that arguments point
 * to a call maps.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "function/function.h"

/* ----------------------------------------------------------------- programs */

/* An operation, read. */
struct op {
    enum ompjit__expression_op op;
    unsigned width;
    uint64_t k;
};

/* Is the operation followed by a word of 8 bytes? */
static bool has_word(unsigned op)
{
    return op == OMPJIT__EXPR_CONSTANT || op == OMPJIT__EXPR_PIECE ||
           op == OMPJIT__EXPR_DOUBLE || op == OMPJIT__EXPR_SIGN_EXTEND;
}

/* False: the program is over. */
static bool next_op(const ompjit__buf *program, size_t *at, struct op *out)
{
    if (*at + 2 > program->size)
        return false;
    const unsigned char *p = (const unsigned char *)program->data + *at;
    *out = (struct op){(enum ompjit__expression_op)p[0], p[1], 0};
    *at += 2;
    if (has_word(p[0])) {
        if (*at + 8 > program->size)
            return false;
        memcpy(&out->k, p + 2, 8);
        *at += 8;
    }
    return true;
}

/* How many words the operation takes from the stack. Each puts one back. */
static unsigned takes(unsigned op)
{
    switch (op) {
    case OMPJIT__EXPR_CONSTANT:
    case OMPJIT__EXPR_PIECE:
    case OMPJIT__EXPR_DOUBLE: return 0;
    case OMPJIT__EXPR_TRUNCATE:
    case OMPJIT__EXPR_SIGN_EXTEND: return 1;
    case OMPJIT__EXPR_SELECT: return 3;
    default: return 2;
    }
}

bool ompjit__program_valid(const ompjit__buf *program, unsigned npieces)
{
    struct op op;
    size_t at = 0;
    unsigned depth = 0;
    while (at < program->size) {
        if (!next_op(program, &at, &op) || !op.op || op.op >= OMPJIT__EXPRS ||
            !op.width || op.width > 64 || depth < takes(op.op))
            return false;
        bool piece =
            op.op == OMPJIT__EXPR_PIECE || op.op == OMPJIT__EXPR_DOUBLE;
        if ((piece && op.k >= npieces) ||
            (op.op == OMPJIT__EXPR_SIGN_EXTEND && (!op.k || op.k > 64)))
            return false;
        depth += 1 - takes(op.op);
        if (depth > OMPJIT__EXPRESSION_DEPTH)
            return false;
    }
    return !program->size || depth == 1;
}

/* The low `width` bits; the others are 0. */
static uint64_t low(uint64_t value, unsigned width)
{
    return width < 64 ? value & ((UINT64_C(1) << width) - 1) : value;
}

/* The low `width` bits as a signed number. */
static int64_t signed_of(uint64_t value, unsigned width)
{
    uint64_t sign = UINT64_C(1) << (width - 1);
    return (int64_t)((low(value, width) ^ sign) - sign);
}

static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* A float's or a double's piece as a double's bits. */
static uint64_t as_double(const ompjit_function *fn, unsigned piece,
                          const ompjit_value *args)
{
    uint64_t bits = ompjit__piece_value(fn, piece, args);
    if (fn->steps[piece].bytes != sizeof(float))
        return bits;
    float f;
    memcpy(&f, &bits, sizeof f);
    double d = f;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* The product of two signed numbers, or the nearest number there is: a section
 * whose size overflows stays too large. */
static uint64_t scale(uint64_t a, uint64_t b)
{
    int64_t product;
    if (!__builtin_mul_overflow((int64_t)a, (int64_t)b, &product))
        return (uint64_t)product;
    return (uint64_t)(((int64_t)a < 0) == ((int64_t)b < 0) ? INT64_MAX
                                                           : INT64_MIN);
}

/* An operation of two words; false: a division that C does not have. */
static bool divide(const struct op *op, uint64_t a, uint64_t b, uint64_t *out)
{
    unsigned w = op->width;
    int64_t x = signed_of(a, w), y = signed_of(b, w);
    bool is_signed =
        op->op == OMPJIT__EXPR_SDIV || op->op == OMPJIT__EXPR_SREM;
    if (!b || (is_signed && y == -1 && x == INT64_MIN))
        return false;
    *out = op->op == OMPJIT__EXPR_SDIV   ? (uint64_t)(x / y)
           : op->op == OMPJIT__EXPR_SREM ? (uint64_t)(x % y)
           : op->op == OMPJIT__EXPR_UDIV ? a / b
                                         : a % b;
    return true;
}

/* Sets *out, of which the bits above op->width mean nothing. A shift by the
 * width or more, which LLVM IR does not define, counts as one by width - 1.
 * False: as `divide`. */
static bool compute(const struct op *op, uint64_t a, uint64_t b, uint64_t *out)
{
    unsigned w = op->width;
    uint64_t shift = b < w ? b : w - 1;
    switch (op->op) {
    case OMPJIT__EXPR_ADD: *out = a + b; break;
    case OMPJIT__EXPR_SUB: *out = a - b; break;
    case OMPJIT__EXPR_MUL: *out = a * b; break;
    case OMPJIT__EXPR_SCALE: *out = scale(a, b); break;
    case OMPJIT__EXPR_SHL: *out = a << shift; break;
    case OMPJIT__EXPR_LSHR: *out = a >> shift; break;
    case OMPJIT__EXPR_ASHR: *out = (uint64_t)(signed_of(a, w) >> shift); break;
    case OMPJIT__EXPR_AND: *out = a & b; break;
    case OMPJIT__EXPR_OR: *out = a | b; break;
    case OMPJIT__EXPR_XOR: *out = a ^ b; break;
    case OMPJIT__EXPR_EQ: *out = a == b; break;
    case OMPJIT__EXPR_ULT: *out = a < b; break;
    case OMPJIT__EXPR_ULE: *out = a <= b; break;
    case OMPJIT__EXPR_SLT: *out = signed_of(a, w) < signed_of(b, w); break;
    case OMPJIT__EXPR_SLE: *out = signed_of(a, w) <= signed_of(b, w); break;
    case OMPJIT__EXPR_FEQ: *out = double_of(a) == double_of(b); break;
    case OMPJIT__EXPR_FLT: *out = double_of(a) < double_of(b); break;
    case OMPJIT__EXPR_FLE: *out = double_of(a) <= double_of(b); break;
    default: return divide(op, a, b, out);
    }
    return true;
}

/* Also false of an empty program, which has no value. ompjit__program_valid has
 * accepted the program: the stack and the numbers of pieces are not checked
 * again. */
bool ompjit__program_run(const ompjit_function *fn, const ompjit__buf *program,
                         const ompjit_value *args, uint64_t *value)
{
    uint64_t stack[OMPJIT__EXPRESSION_DEPTH + 1], *top = stack;
    struct op op;
    size_t at = 0;
    while (next_op(program, &at, &op)) {
        switch (op.op) {
        case OMPJIT__EXPR_CONSTANT: *top++ = op.k; break;
        case OMPJIT__EXPR_PIECE:
            *top++ = low(ompjit__piece_value(fn, (unsigned)op.k, args),
                         op.width);
            break;
        case OMPJIT__EXPR_DOUBLE:
            *top++ = as_double(fn, (unsigned)op.k, args);
            break;
        case OMPJIT__EXPR_TRUNCATE: top[-1] = low(top[-1], op.width); break;
        case OMPJIT__EXPR_SIGN_EXTEND:
            top[-1] = low((uint64_t)signed_of(top[-1], (unsigned)op.k),
                          op.width);
            break;
        case OMPJIT__EXPR_SELECT:
            top -= 2;
            top[-1] = top[-1] ? top[0] : top[1];
            break;
        default:
            top--;
            if (!compute(&op, top[-1], top[0], &top[-1]))
                return false;
            top[-1] = low(top[-1], op.width);
        }
    }
    *value = stack[0];
    return top == stack + 1;
}

/* ----------------------------------------------------------------- sections */

/* The part of a section that a call maps. */
struct range {
    int64_t offset, size; /* bytes */
};

/* False: the call does not certainly come to its construct, or its place is not
 * known. */
static bool range_of(const ompjit_function *fn, const ompjit__section *s,
                     const ompjit_value *args, struct range *out)
{
    uint64_t comes = 0, offset = 0, size = 0;
    if (!s->offset.size || !s->size.size ||
        !ompjit__program_run(fn, &s->condition, args, &comes) || !(comes & 1) ||
        !ompjit__program_run(fn, &s->offset, args, &offset) ||
        !ompjit__program_run(fn, &s->size, args, &size))
        return false;
    *out = (struct range){(int64_t)offset, (int64_t)size};
    return true;
}

/* The section's end in bytes from the pointer on; INT64_MAX where it is beyond.
 */
static uint64_t end_of(const struct range *r)
{
    int64_t end;
    return __builtin_add_overflow(r->offset, r->size, &end) ? INT64_MAX
                                                            : (uint64_t)end;
}

/* The size of what the parameter points to, for messages in elements; 1 where
 * that has none. */
static uint64_t element_of(const ompjit_function *fn, unsigned param)
{
    const ompjit_type *target = fn->type->members[param].type->target;
    while (target && target->kind == OMPJIT_TYPE_ARRAY && target->target)
        target = target->target;
    return target && target->bytes ? target->bytes : 1;
}

/* "saxpy: x: map of x[:n] (line 2)", the first words of a message. */
static void place_text(const ompjit_function *fn, const ompjit__section *s,
                       char *text, size_t size)
{
    const char *name = fn->type->members[s->param].name;
    char line[32] = "";
    if (s->line)
        snprintf(line, sizeof line, ", line %u", s->line);
    if (*name)
        snprintf(text, size, "%s: %s: the map of %s%s", fn->name, name,
                 *s->text ? s->text : name, line);
    else
        snprintf(text, size, "%s: parameter %u: the map of %s%s", fn->name,
                 s->param + 1, *s->text ? s->text : "it", line);
}

/* The word that a message counts in. */
static const char *unit_of(uint64_t element)
{
    return element > 1 ? "elements" : "bytes";
}

/* A section of a negative length, or in front of what is pointed to. */
static ompjit_status check_range(const ompjit_function *fn,
                                 const ompjit__section *s,
                                 const struct range *r, ompjit_error *err)
{
    char place[512];
    int64_t element = (int64_t)element_of(fn, s->param);
    if (r->size >= 0 && (r->offset >= 0 || !r->size))
        return OMPJIT_OK;
    place_text(fn, s, place, sizeof place);
    if (r->size < 0)
        return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_API,
                            "%s has %" PRId64 " %s", place, r->size / element,
                            unit_of((uint64_t)element));
    return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_API,
                        "%s begins %" PRIu64 " %s before the array", place,
                        -(uint64_t)r->offset / (uint64_t)element,
                        unit_of((uint64_t)element));
}

/* Compares every section that the call surely maps. One of 0 bytes needs no
 * memory, wherever it begins. */
ompjit_status ompjit__extents_check(const ompjit_function *fn,
                                    const ompjit_value *args,
                                    const uint64_t *bytes, ompjit_error *err)
{
    for (unsigned i = 0; i < fn->nsections; i++) {
        const ompjit__section *s = &fn->sections[i];
        char place[512];
        struct range r;
        uint64_t has = bytes[s->param];
        if (has == OMPJIT_BYTES_UNKNOWN || !range_of(fn, s, args, &r))
            continue;
        ompjit_status status = check_range(fn, s, &r, err);
        if (status)
            return status;
        if (!r.size || end_of(&r) <= has)
            continue;
        uint64_t element = element_of(fn, s->param);
        place_text(fn, s, place, sizeof place);
        return ompjit__fail(
            err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_API,
            "%s needs %" PRIu64 " %s, but the argument has %" PRIu64, place,
            end_of(&r) / element + (end_of(&r) % element != 0),
            unit_of(element), has / element);
    }
    return OMPJIT_OK;
}

/* Are the bounds of any of the parameter's sections known? */
static bool any_known(const ompjit_function *fn, unsigned param,
                      const ompjit_value *args)
{
    struct range r;
    for (unsigned i = 0; i < fn->nsections; i++)
        if (fn->sections[i].param == param &&
            range_of(fn, &fn->sections[i], args, &r))
            return true;
    return false;
}

/* A parameter's number is the largest end of its sections that are known;
 * OMPJIT_BYTES_UNKNOWN where there are sections and none is known; 0 where
 * nothing of it is mapped. */
ompjit_status ompjit_function_extents(ompjit_function *fn,
                                      const ompjit_value *args, unsigned nargs,
                                      uint64_t *bytes, ompjit_error *err)
{
    if (!fn || (nargs && (!args || !bytes)))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_function_extents: function, arguments and "
                            "a place for each result are needed");
    if (nargs != fn->nparams)
        return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_API,
                            "%s takes %u arguments, not %u", fn->name,
                            fn->nparams, nargs);
    for (unsigned i = 0; i < nargs; i++)
        bytes[i] = 0;
    for (unsigned i = 0; i < fn->nsections; i++) {
        const ompjit__section *s = &fn->sections[i];
        uint64_t *most = &bytes[s->param];
        struct range r;
        if (!range_of(fn, s, args, &r)) {
            if (!any_known(fn, s->param, args))
                *most = OMPJIT_BYTES_UNKNOWN;
            continue;
        }
        ompjit_status status = check_range(fn, s, &r, err);
        if (status)
            return status;
        uint64_t end = r.size ? end_of(&r) : 0;
        if (end > *most)
            *most = end;
    }
    return OMPJIT_OK;
}
