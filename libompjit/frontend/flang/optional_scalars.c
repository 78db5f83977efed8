/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Optional scalars that a target region has without a clause, in HLFIR. flang 22
 * passes their values, and loads them where there is none: the program dies if
 * the argument is absent. And present(x) is true in the region. They become
 * private copies, whose addresses are passed, null if there is none:
 *
 *   %5 = omp.map.info var_ptr(%3#1 : ...) map_clauses(implicit) capture(ByCopy)
 *        -> ... {name = "x"}
 *   omp.target map_entries(%5 -> %arg2 : ...) {
 *     %18:2 = hlfir.declare %arg2 {fortran_attrs = #fir.var_attrs<optional>, ...
 *
 * Both halves get the same change. None is made where a region has something at
 * its device address: flang does not read its own text of such regions' boxes.
 */
#include <string.h>

#include "frontend/flang/flang.h"
#include "frontend/flang/part.h"

static const char by_value[] = "map_clauses(implicit) capture(ByCopy)";
static const char as_private[] = "map_clauses(implicit, to, private) "
                                 "capture(ByRef)";

/* Is the region's argument an optional dummy? */
static bool is_optional(struct part body, struct part argument)
{
    static const char declares[] = " = hlfir.declare ";
    const char *end = end_of(body);
    for (const char *p = body.p; p < end;) {
        struct part line = line_at(p, end);
        const char *at = find(line, declares);
        if (at && same(next_value(at, end_of(line)), argument))
            return find(line, "#fir.var_attrs<") && find(line, "optional");
        p = next_line(line, end);
    }
    return false;
}

/* Adds the place of the clauses of each map of the region that is to change. */
static void add_places(ompjit__buf *places, struct part function,
                       struct part head, struct part body)
{
    struct part entries = between(head, "map_entries(", " : ");
    const char *end = end_of(entries);
    for (struct part x = next_value(entries.p, end); x.n;
         x = next_value(end_of(x), end)) {
        struct part argument = next_value(end_of(x), end);
        const char *at = find(last_definition(function, x), by_value);
        if (at && is_optional(body, argument))
            ompjit__buf_add(places, (const char *)&at, sizeof at);
        x = argument;
    }
}

static void find_places(struct part text, ompjit__buf *places)
{
    struct target t = {.function = text};
    for (const char *p = text.p; next_target(&p, end_of(text), &t);)
        add_places(places, t.function, t.head, t.body);
}

/* The text with the new clauses. Those of one region come before the next one,
 * and each in order of its entries, which need not be that of the text. */
static void rewrite(struct part text, const ompjit__buf *places,
                    ompjit__buf *out)
{
    const char *const *list = (const void *)places->data;
    const size_t n = places->size / sizeof *list;
    for (const char *p = text.p, *end = end_of(text); p < end;) {
        const char *next = end;
        for (size_t i = 0; i < n; i++)
            if (list[i] >= p && list[i] < next)
                next = list[i];
        ompjit__buf_add(out, p, (size_t)(next - p));
        if (next < end)
            ompjit__buf_add(out, as_private, sizeof as_private - 1);
        p = next < end ? next + sizeof by_value - 1 : end;
    }
}

static bool is_readable(struct part text)
{
    return !find(text, " has_device_addr(") && !find(text, " use_device_addr(") &&
           !find(text, " use_device_ptr(");
}

bool ompjit__hlfir_optional_scalars(ompjit__buf *hlfir)
{
    const struct part text = {hlfir->data, hlfir->size};
    ompjit__buf places = {0}, out = {0};
    if (find(text, by_value) && is_readable(text))
        find_places(text, &places);
    if (places.size) {
        rewrite(text, &places, &out);
        out.failed |= places.failed;
        ompjit__buf_free(hlfir);
        *hlfir = out;
    }
    const bool changed = places.size != 0;
    ompjit__buf_free(&places);
    return changed;
}
