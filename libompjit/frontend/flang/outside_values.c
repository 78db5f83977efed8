/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Values from outside of a target region in HLFIR. A region has only what is
 * mapped. flang 22 brings two kinds of values into none, and refuses its own
 * HLFIR: constant arrays (PARAMETER), whose elements a region names by variable
 * subscripts, and the tuple of a procedure's variables that its internal
 * procedures get as their last argument. Constants are named once more at the
 * region's start:
 *
 *   %1 = fir.address_of(@tab) : !fir.ref<!fir.array<4xi32>>
 *   %3:2 = hlfir.declare %1(%2) {fortran_attrs = #fir.var_attrs<parameter>, ...
 *   omp.target map_entries(...) {
 *     %ompjit0 = fir.address_of(@tab) : !fir.ref<!fir.array<4xi32>>
 *
 * A tuple becomes one of null pointers: OpenMP lets a device procedure use none
 * of these variables.
 *
 * MLIR writes the HLFIR that it had before its passes, with the passes, where
 * one of them fails. fir-opt runs them on the repaired text. It is in MLIR's
 * generic form, which alone has the types of a region's arguments:
 *
 *   "omp.target"(%7) <{...}> ({
 *   ^bb0(%arg3: !fir.box<!fir.array<?xf32>>):
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/flang/flang.h"
#include "frontend/flang/part.h"

/* One region, and what its values from outside are called within. */
struct region {
    struct part function; /* from its first line to the region's           */
    struct part body;     /* the lines between the region's first and last */
    struct part *defined; /* values of the body, sorted                    */
    size_t ndefined;
    struct part *outside; /* values from outside; %ompjit<first + index>   */
    size_t noutside;
    unsigned first;
    ompjit__buf start; /* the lines that define them                       */
    bool bad;
};

static int compare(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* Appends to an array; false: no memory. */
static bool append(struct part **list, size_t *n, struct part x)
{
    if (!(*n & (*n - 1))) {
        size_t room = *n ? 2 * *n : 1;
        struct part *grown = realloc(*list, room * sizeof **list);
        if (!grown)
            return false;
        *list = grown;
    }
    (*list)[(*n)++] = x;
    return true;
}

/* Is it the line of a block's arguments? */
static bool is_block(struct part line)
{
    return starts(line, indentation(line), "^bb");
}

static bool collect_arguments(struct region *r, struct part line)
{
    const char *end = end_of(line);
    for (struct part x = next_value(line.p, end); x.n;
         x = next_value(end_of(x), end))
        if (!append(&r->defined, &r->ndefined, x))
            return false;
    return true;
}

static bool collect(struct region *r)
{
    const char *end = end_of(r->body);
    for (const char *p = r->body.p; p < end;) {
        struct part line = line_at(p, end), value = defined_by(line);
        bool good = is_block(line)
                        ? collect_arguments(r, line)
                        : !value.n || append(&r->defined, &r->ndefined, value);
        if (!good)
            return false;
        p = next_line(line, end);
    }
    if (r->ndefined)
        qsort(r->defined, r->ndefined, sizeof *r->defined, compare);
    return true;
}

/* -------------------------------------------------------------- definitions */

/* The function's argument, from its name to the end of the line; n 0: none. */
static struct part argument(const struct region *r, struct part value)
{
    const char *end = end_of(r->function);
    struct part line = line_at(
        next_line(line_at(r->function.p, end), end), end);
    for (struct part x = next_value(line.p, end_of(line)); x.n;
         x = next_value(end_of(x), end_of(line)))
        if (same(x, value) && starts(up_to(end_of(x), end_of(line)), 0, ": "))
            return up_to(x.p, end_of(line));
    return (struct part){end_of(line), 0};
}

/* From the type `tuple<` to the > that ends it; n 0: another type. */
static struct part tuple_type(struct part text, const char *before)
{
    const char *p = find(text, before);
    const char *q = p ? p + strlen(before) : NULL;
    int depth = 0;
    if (!p || !starts(up_to(q, end_of(text)), 0, "tuple<"))
        return (struct part){text.p, 0};
    for (const char *c = q; c < end_of(text); c++) {
        depth += (*c == '<') - (*c == '>' && c[-1] != '-');
        if (*c == '>' && !depth)
            return up_to(q, c + 1);
    }
    return (struct part){text.p, 0};
}

static struct part tuple_of(const struct region *r, struct part value,
                            struct part line)
{
    if (line.n)
        return find(line, " = \"fir.alloca\"(")
                   ? tuple_type(line, "in_type = ")
                   : (struct part){line.p, 0};
    struct part arg = argument(r, value);
    struct part head = {arg.p, 0};
    if (arg.n && starts(arg, value.n, ": !fir.ref<tuple<"))
        head = tuple_type(arg, ": !fir.ref<");
    return head;
}

static bool is_constant(struct part line)
{
    static const char *const ops[] = {
        " = \"fir.address_of\"(", " = \"arith.constant\"(",
        " = \"fir.shape\"(", " = \"fir.shape_shift\"("};
    for (size_t i = 0; i < OMPJIT__COUNT(ops); i++)
        if (find(line, ops[i]))
            return true;
    return find(line, " = \"hlfir.declare\"(") &&
           find(line, "#fir.var_attrs<parameter>");
}

/* ------------------------------------------------------------------- within */

static bool is_defined(const struct region *r, struct part value)
{
    return r->ndefined && bsearch(&value, r->defined, r->ndefined,
                                  sizeof *r->defined, compare);
}

static void add_definition(struct region *r, struct part value);

/* Adds the name that a value has within the region: its own, or a new one. */
static void add_name(struct region *r, struct part value, ompjit__buf *out)
{
    for (size_t i = 0; i < r->noutside; i++)
        if (same(r->outside[i], value)) {
            ompjit__buf_printf(out, "%%ompjit%zu", r->first + i);
            return;
        }
    ompjit__buf_add(out, value.p, value.n);
}

static void add_renamed(struct region *r, struct part text, ompjit__buf *out)
{
    const char *p = text.p, *end = end_of(text);
    for (struct part x = next_value(p, end); x.n; x = next_value(p, end)) {
        ompjit__buf_add(out, p, (size_t)(x.p - p));
        add_name(r, x, out);
        p = end_of(x);
    }
    ompjit__buf_add(out, p, (size_t)(end - p));
}

/* Makes all values of a text known within the region. */
static void bring(struct region *r, struct part text)
{
    const char *end = end_of(text);
    for (struct part x = next_value(text.p, end); x.n && !r->bad;
         x = next_value(end_of(x), end)) {
        bool known = is_defined(r, x);
        for (size_t i = 0; i < r->noutside && !known; i++)
            known = same(r->outside[i], x);
        if (!known)
            add_definition(r, x);
    }
}

static void add_tuple(struct region *r, struct part value, struct part type)
{
    size_t n = r->first + r->noutside;
    r->bad = !append(&r->outside, &r->noutside, value);
    ompjit__buf_printf(&r->start,
                       "%%ompjit%zu = fir.alloca %.*s\n"
                       "%%ompjit%zu.0 = fir.zero_bits %.*s\n"
                       "fir.store %%ompjit%zu.0 to %%ompjit%zu : "
                       "!fir.ref<%.*s>\n",
                       n, PRINT(type), n, PRINT(type), n, n, PRINT(type));
}

/* The values that it is made of come first. */
static void add_definition(struct region *r, struct part value)
{
    struct part line = definition(r->function, value);
    struct part type = tuple_of(r, value, line);
    if (type.n) {
        add_tuple(r, value, type);
        return;
    }
    if (!line.n || !is_constant(line)) {
        r->bad = true;
        return;
    }
    bring(r, up_to(find(line, " = "), end_of(line)));
    if (!r->bad)
        r->bad = !append(&r->outside, &r->noutside, value);
    if (!r->bad)
        add_renamed(r, line, &r->start);
    ompjit__buf_add(&r->start, "\n", 1);
}

/* Appends the region's body; *n counts new names. False: it has a value that
 * cannot be brought in. */
static bool add_region(struct part function, struct part body, unsigned *n,
                       ompjit__buf *out)
{
    struct region r = {.function = function, .body = body, .first = *n};
    r.bad = !collect(&r);
    if (!r.bad)
        bring(&r, body);
    if (!r.bad) {
        struct part head = line_at(body.p, end_of(body));
        const char *p = is_block(head) ? next_line(head, end_of(body)) : body.p;
        ompjit__buf_add(out, body.p, (size_t)(p - body.p));
        ompjit__buf_add(out, r.start.data, r.start.size);
        add_renamed(&r, up_to(p, end_of(body)), out);
    }
    *n += (unsigned)r.noutside;
    out->failed |= r.start.failed;
    ompjit__buf_free(&r.start);
    free(r.defined);
    free(r.outside);
    return !r.bad;
}

/* ---------------------------------------------------------------- interface */

bool ompjit__flang_uses_outside(const ompjit__buf *diag)
{
    const struct part text = {diag->data, diag->size};
    return find(text, "op using value defined outside the region");
}

/* One thread: the failure ends the process, and no other pass still runs. */
const char *const ompjit__outside_words[] = {
    "-mmlir", "--mlir-print-debuginfo",
    "-mmlir", "--mlir-print-op-generic",
    "-mmlir", "--mlir-disable-threading", NULL};

void ompjit__outside_command(const ompjit__args *half, ompjit__args *out)
{
    for (size_t i = 0; i < half->n; i++) {
        ompjit__args_add(out, half->v[i]);
        if (i != 1) /* flang -fc1 */
            continue;
        for (size_t k = 0; ompjit__outside_words[k]; k++)
            ompjit__args_add(out, ompjit__outside_words[k]);
        ompjit__args_add(out, "-mmlir");
        ompjit__args_add(out, OMPJIT__OUTSIDE_FILE "-");
    }
    out->failed |= half->failed;
}

void ompjit__outside_passes(const ompjit__flang *flang,
                            const ompjit__buf *pipeline, ompjit__args *out)
{
    ompjit__args_add(out, flang->fir_opt);
    ompjit__args_add(out, "--mlir-print-debuginfo");
    ompjit__args_add(out, "--mlir-disable-threading");
    ompjit__args_add(out, pipeline->data ? pipeline->data : "");
    out->failed |= pipeline->failed;
}

/* pipeline: "builtin.module(a, func.func(b), unknown<C>)": flang's own pass is
 * only a check, and comes last. */
static bool add_pipeline(struct part text, ompjit__buf *out)
{
    static const char start[] = "pipeline: \"";
    static const char last[] = ", unknown<";
    const char *p = find(text, start);
    struct part rest = p ? line_at(p + sizeof start - 1, end_of(text))
                         : (struct part){text.p, 0};
    const char *stop = find(rest, last);
    if (!stop)
        return false;
    ompjit__buf_printf(out, "--pass-pipeline=%.*s)",
                       PRINT(up_to(rest.p, stop)));
    return true;
}

bool ompjit__outside_repair(const ompjit__buf *reproducer, ompjit__buf *out,
                            ompjit__buf *pipeline)
{
    static const char resources[] = "\n{-#";
    struct part text = {reproducer->data, reproducer->size};
    const char *p = text.p, *function = NULL;
    const char *end = find(text, resources);
    unsigned names = 0;
    if (!end || !add_pipeline(up_to(end, end_of(text)), pipeline))
        return false;
    while (p < end) {
        struct part line = line_at(p, end);
        size_t n = indentation(line);
        if (starts(line, n, "\"func.func\"("))
            function = p;
        p = next_line(line, end);
        ompjit__buf_add(out, line.p, (size_t)(p - line.p));
        if (function && starts(line, n, "\"omp.target\"(") &&
            line.p[line.n - 1] == '{') {
            struct part body = body_of(line, end, "})");
            if (!add_region(up_to(function, line.p), body, &names, out))
                return false;
            p = end_of(body);
        }
    }
    ompjit__buf_add(out, "\n", 1);
    out->failed |= reproducer->failed;
    return true;
}
