/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Objects of which target regions use more than flang maps, in HLFIR. Where a
 * region names an allocatable component of an object, flang 22 may map that
 * component alone: the object's other components are not on the device then,
 * though the region's statements or the bounds of its loops name them. Its mark
 * for that goes, and LLVM maps the whole object:
 *
 *   %9 = omp.map.info var_ptr(%3#1 : ...) ... members(%8, %7 : [2], [2, 0] : ..)
 *        -> ... {name = "s", partial_map = true}
 *   omp.target host_eval(%5 -> %arg0, ...) map_entries(%9 -> %arg1, ... {
 *     %10:2 = hlfir.declare %arg1 ...
 *     %11 = hlfir.designate %10#0{"n"} ...
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/flang/flang.h"
#include "frontend/flang/part.h"

enum { MAX_DEPTH = 16 };

/* A value that is the object, or a component of it: the numbers of components,
 * from the object on. */
struct value {
    struct part name;
    size_t depth;
    unsigned path[MAX_DEPTH];
};

/* One mapped object, and the values of it that the lines so far define. */
struct object {
    struct part members; /* "[2], [2, 0]": the paths that are mapped */
    struct value *values;
    size_t n;
    bool bad; /* no memory */
};

static void add_value(struct object *o, struct part name,
                      const struct value *of)
{
    if (!(o->n & (o->n - 1))) {
        size_t room = o->n ? 2 * o->n : 1;
        struct value *more = realloc(o->values, room * sizeof *more);
        o->bad |= !more;
        if (!more)
            return;
        o->values = more;
    }
    struct value v = of ? *of : (struct value){.depth = 0};
    v.name = name;
    o->values[o->n++] = v;
}

static const struct value *find_value(const struct object *o, struct part name)
{
    for (size_t i = 0; i < o->n; i++)
        if (same(o->values[i].name, name))
            return &o->values[i];
    return NULL;
}

/* ---------------------------------------------------------------- components */

/* The number of a component, by the type of the line's first operand. False: the
 * type does not show it. */
static bool number_of(struct part line, struct part component, unsigned *out)
{
    const char *end = end_of(line), *p = find(line, " : (");
    p = p ? find(up_to(p, end), "!fir.type<") : NULL;
    if (!p || !(p = memchr(p, '{', (size_t)(end - p))))
        return false;
    for (unsigned i = 0; p < end && *p != '}'; i++) {
        const char *name = ++p;
        while (p < end && *p != ':' && *p != '}')
            p++;
        if (same(up_to(name, p), component)) {
            *out = i;
            return true;
        }
        p = end_of(type_at(p + (p < end), end));
    }
    return false;
}

/* The component that the line designates of its operand, whose name ends at p;
 * n 0: it designates none. */
static struct part component_at(const char *p, const char *end)
{
    const char *q = p;
    if (q + 2 < end && *q == '#')
        q += 2;
    if (q + 2 >= end || memcmp(q, "{\"", 2))
        return (struct part){p, 0};
    const char *stop = memchr(q + 2, '"', (size_t)(end - q - 2));
    return stop ? up_to(q + 2, stop) : (struct part){p, 0};
}

enum mapped { NOT_MAPPED, PARTS_MAPPED, MAPPED };

/* Reads one path of the members, "[1, 2]", from *p on. */
static bool next_path(const char **p, const char *end, struct value *out)
{
    const char *q = memchr(*p, '[', (size_t)(end - *p));
    out->depth = 0;
    if (!q)
        return false;
    while (q < end && *q != ']' && out->depth < MAX_DEPTH) {
        out->path[out->depth++] = (unsigned)strtoul(q + 1, NULL, 10);
        for (q++; q < end && *q != ',' && *q != ']';)
            q++;
    }
    *p = q;
    return true;
}

static enum mapped mapped(const struct object *o, const struct value *v)
{
    const char *p = o->members.p, *end = end_of(o->members);
    struct value member;
    enum mapped best = NOT_MAPPED;
    while (best != MAPPED && next_path(&p, end, &member)) {
        size_t n = member.depth < v->depth ? member.depth : v->depth;
        if (!memcmp(member.path, v->path, n * sizeof *v->path))
            best = member.depth > v->depth ? PARTS_MAPPED : MAPPED;
    }
    return best;
}

/* --------------------------------------------------------------------- uses */

/* Does the line use something of the object that is not mapped? */
static bool line_uses_more(struct object *o, struct part line)
{
    const char *end = end_of(line), *equals = find(line, " = ");
    struct part result = {line.p, 0};
    const char *from = line.p;
    if (equals) {
        result = next_value(line.p, equals);
        from = equals;
    }
    for (struct part x = next_value(from, end); x.n;
         x = next_value(end_of(x), end)) {
        const struct value *of = find_value(o, x);
        struct value part;
        if (!of)
            continue;
        part = *of;
        if (find(line, " = hlfir.declare ")) {
            add_value(o, result, &part);
            continue;
        }
        struct part component = component_at(end_of(x), end);
        if (!find(line, " = hlfir.designate ") || !component.n ||
            part.depth == MAX_DEPTH ||
            !number_of(line, component, &part.path[part.depth]))
            return true;
        part.depth++;
        switch (mapped(o, &part)) {
        case NOT_MAPPED: return true;
        case PARTS_MAPPED: add_value(o, result, &part); break;
        case MAPPED: break;
        }
    }
    return o->bad;
}

/* Do the lines of a region use more than what is mapped of its argument? */
static bool region_uses_more(struct part body, struct part argument,
                             struct part members)
{
    struct object o = {.members = members};
    bool more = false;
    add_value(&o, argument, NULL);
    const char *end = end_of(body);
    for (const char *p = body.p; p < end && !more;) {
        struct part line = line_at(p, end);
        more = line_uses_more(&o, line);
        p = next_line(line, end);
    }
    free(o.values);
    return more;
}

static bool holds(const struct part *list, size_t n, struct part x)
{
    for (size_t i = 0; i < n; i++)
        if (same(list[i], x))
            return true;
    return false;
}

/* Appends all values of the text. */
static bool add_values(ompjit__buf *list, struct part text)
{
    for (struct part x = next_value(text.p, end_of(text)); x.n;
         x = next_value(end_of(x), end_of(text)))
        ompjit__buf_add(list, (const char *)&x, sizeof x);
    return !list->failed;
}

/* Do the values that are computed before a region, and stand in its first line,
 * come from more than what is mapped of a variable? */
static bool bounds_use_more(struct part function, struct part bounds,
                            struct part variable, struct part members)
{
    struct object o = {.members = members};
    ompjit__buf needed = {0}, lines = {0};
    const char *end = end_of(function);
    bool more = !add_values(&needed, bounds);
    for (const char *p = end; p > function.p && !more;) {
        const char *stop = p - (p[-1] == '\n');
        const char *start = stop;
        while (start > function.p && start[-1] != '\n')
            start--;
        struct part line = up_to(start, stop);
        struct part result = defined_by(line);
        if (result.n && holds((const struct part *)(const void *)needed.data,
                              needed.size / sizeof result, result)) {
            more = !add_values(&needed, up_to(end_of(result), stop));
            ompjit__buf_add(&lines, (const char *)&line, sizeof line);
        }
        p = start;
    }
    add_value(&o, variable, NULL);
    for (size_t i = lines.size / sizeof(struct part); i-- > 0 && !more;)
        more = line_uses_more(
            &o, ((const struct part *)(const void *)lines.data)[i]);
    more |= lines.failed;
    ompjit__buf_free(&needed);
    ompjit__buf_free(&lines);
    free(o.values);
    return more;
}

/* ------------------------------------------------------------------ regions */

static const char mark[] = ", partial_map = true";

/* Takes the mark from the map of a region's argument, where the region uses
 * more than that maps. */
static bool widen(struct part function, struct part head, struct part body,
                  struct part value, struct part argument)
{
    struct part map = last_definition(function, value);
    char *at = (char *)(uintptr_t)find(map, mark);
    if (!at)
        return false;
    struct part list = between(map, " members(", ") ->");
    struct part members = between(list, " : ", " : ");
    struct part variable = next_value(between(map, "var_ptr(", ")").p,
                                      end_of(map));
    struct part bounds = between(head, "host_eval(", " : ");
    if (!region_uses_more(body, argument, members) &&
        !bounds_use_more(function, bounds, variable, members))
        return false;
    memset(at, ' ', sizeof mark - 1);
    return true;
}

static bool widen_all(struct part function, struct part head,
                      struct part body)
{
    struct part entries = between(head, "map_entries(", " : ");
    const char *end = end_of(entries);
    bool changed = false;
    for (struct part x = next_value(entries.p, end); x.n;
         x = next_value(end_of(x), end)) {
        struct part argument = next_value(end_of(x), end);
        changed |= widen(function, head, body, x, argument);
        x = argument;
    }
    return changed;
}

bool ompjit__hlfir_whole_objects(ompjit__buf *hlfir)
{
    const struct part text = {hlfir->data, hlfir->size};
    struct target t = {.function = text};
    bool changed = false;
    if (!find(text, mark))
        return false;
    for (const char *p = text.p; next_target(&p, end_of(text), &t);)
        changed |= widen_all(t.function, t.head, t.body);
    return changed;
}
