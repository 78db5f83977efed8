/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Arguments of target regions that are boxes, in HLFIR. flang 22 maps a dummy
 * of assumed shape by a reference, and the region's argument is a box. In MLIR's
 * text both have one type, so that flang does not read what it has written. The
 * region gets a reference to the box, and loads it:
 *
 *   %12 = omp.map.info ... -> !fir.ref<!fir.box<!fir.array<?xf32>>>
 *   omp.target map_entries(%12 -> %ompjit_arg1 : !fir.ref<!fir.box<...>>) {
 *     %arg1 = fir.load %ompjit_arg1 : !fir.ref<!fir.box<!fir.array<?xf32>>>
 *
 * That of an optional dummy only if the argument is present.
 */
#include <string.h>

#include "frontend/flang/flang.h"
#include "frontend/flang/part.h"

/* The box as which a region declares an argument; n 0: it is no box. */
static struct part box_of(struct part argument, struct part body,
                          bool *optional)
{
    const char *end = end_of(body);
    ompjit__buf word = {0};
    ompjit__buf_printf(&word, "hlfir.declare %.*s", PRINT(argument));
    const char *use = word.failed ? NULL : find(body, word.data);
    while (use && use + word.size < end &&
           use[word.size] != ' ' && use[word.size] != '(')
        use = find(up_to(use + 1, end), word.data);
    const char *stop = use ? end_of_line(use, end) : NULL;
    const char *type = use ? find(up_to(use, stop), " : (") : NULL;
    ompjit__buf_free(&word);
    *optional = type && find(up_to(use, type), "optional");
    if (!type || (strncmp(type + 4, "!fir.box<", 9) &&
                  strncmp(type + 4, "!fir.class<", 11)))
        return (struct part){end, 0};
    return type_at(type + 4, stop);
}

/* Gives the map of a value another type, in the text so far. False: there is no
 * such map. */
static bool retype_map(ompjit__buf *text, struct part value, struct part box)
{
    ompjit__buf word = {0}, rest = {0};
    bool good = false;
    ompjit__buf_printf(&word, "%.*s = omp.map.info ", PRINT(value));
    const char *end = text->data + text->size, *last = NULL;
    const char *p = word.failed ? NULL : text->data;
    while (p && (p = find(up_to(p, end), word.data)))
        last = p++;
    const char *stop = last ? end_of_line(last, end) : NULL;
    const char *arrow = last ? find(up_to(last, stop), ") -> ") : NULL;
    if (arrow) {
        const struct part old = type_at(arrow + 5, stop);
        ompjit__buf_add(&rest, old.p + old.n, (size_t)(end - old.p - old.n));
        text->size = (size_t)(old.p - text->data);
        ompjit__buf_printf(text, "!fir.ref<%.*s>", PRINT(box));
        ompjit__buf_add(text, rest.data, rest.size);
        good = !rest.failed;
    }
    text->failed |= rest.failed || word.failed;
    ompjit__buf_free(&word);
    ompjit__buf_free(&rest);
    return good;
}

/* Where the next pair and the next type of map_entries are. */
struct entries {
    const char *pair, *type, *stop; /* of the line */
    struct part body;               /* of the region */
};

/* Adds a load of the box: of an optional dummy, where there is one. There are no
 * branches, which would make another kernel of the region. */
static void add_load(ompjit__buf *loads, struct part argument, struct part box,
                     bool optional)
{
    const struct part name = {argument.p + 1, argument.n - 1};
    if (!optional) {
        ompjit__buf_printf(loads,
                           "%%%.*s = fir.load %%ompjit_%.*s : "
                           "!fir.ref<%.*s>\n",
                           PRINT(name), PRINT(name), PRINT(box));
        return;
    }
    ompjit__buf_printf(loads,
                       "%%ompjit_is_%.*s = fir.is_present %%ompjit_%.*s : "
                       "(!fir.ref<%.*s>) -> i1\n"
                       "%%ompjit_room_%.*s = fir.alloca %.*s\n"
                       "%%ompjit_at_%.*s = arith.select %%ompjit_is_%.*s, "
                       "%%ompjit_%.*s, %%ompjit_room_%.*s : !fir.ref<%.*s>\n",
                       PRINT(name), PRINT(name), PRINT(box), PRINT(name),
                       PRINT(box), PRINT(name), PRINT(name), PRINT(name),
                       PRINT(name), PRINT(box));
    ompjit__buf_printf(loads,
                       "%%ompjit_box_%.*s = fir.load %%ompjit_at_%.*s : "
                       "!fir.ref<%.*s>\n"
                       "%%ompjit_no_%.*s = fir.absent %.*s\n"
                       "%%%.*s = arith.select %%ompjit_is_%.*s, "
                       "%%ompjit_box_%.*s, %%ompjit_no_%.*s : %.*s\n",
                       PRINT(name), PRINT(name), PRINT(box), PRINT(name),
                       PRINT(box), PRINT(name), PRINT(name), PRINT(name),
                       PRINT(name), PRINT(box));
}

/* Adds one type, and a load for `loads` where the argument is a box. */
static void add_type(struct entries *e, ompjit__buf *out, ompjit__buf *types,
                     ompjit__buf *names, ompjit__buf *loads)
{
    const struct part value = type_at(e->pair, e->stop);
    const char *arrow = value.p + value.n + sizeof " -> " - 1;
    const struct part argument = type_at(arrow, e->stop);
    const struct part type = type_at(e->type, e->stop);
    bool optional;
    const struct part box = box_of(argument, e->body, &optional);
    const bool is_box = box.n && retype_map(out, value, box);
    ompjit__buf_printf(names, "%.*s -> %s%.*s", PRINT(value),
                       is_box ? "%ompjit_" : "%", (int)argument.n - 1,
                       argument.p + 1);
    if (is_box) {
        ompjit__buf_printf(types, "!fir.ref<%.*s>", PRINT(box));
        add_load(loads, argument, box, optional);
    } else {
        ompjit__buf_add(types, type.p, type.n);
    }
    e->pair = argument.p + argument.n;
    e->type = type.p + type.n;
}

/* Adds the first line of a region, and loads of its boxes. False: it maps
 * nothing. */
static bool add_region(struct part line, const char *end, ompjit__buf *out)
{
    static const char maps[] = "map_entries(";
    ompjit__buf types = {0}, names = {0}, loads = {0};
    const char *stop = line.p + line.n;
    const char *first = find(up_to(line.p, stop), maps);
    const char *colon = first ? find(up_to(first, stop), " : ") : NULL;
    if (!colon)
        return false;
    first += sizeof maps - 1;
    struct entries e = {first, colon + 3, stop, body_of(line, end, "}")};
    for (;;) {
        add_type(&e, out, &types, &names, &loads);
        if (e.pair >= colon)
            break;
        e.pair += sizeof ", " - 1;
        e.type += sizeof ", " - 1;
        ompjit__buf_add(&types, ", ", 2);
        ompjit__buf_add(&names, ", ", 2);
    }
    ompjit__buf_add(out, line.p, (size_t)(first - line.p));
    ompjit__buf_add(out, names.data, names.size);
    ompjit__buf_add(out, " : ", 3);
    ompjit__buf_add(out, types.data, types.size);
    ompjit__buf_add(out, e.type, (size_t)(stop - e.type));
    if (loads.size) {
        ompjit__buf_add(out, "\n", 1);
        ompjit__buf_add(out, loads.data, loads.size - 1);
    }
    out->failed |= types.failed || names.failed || loads.failed;
    ompjit__buf_free(&types);
    ompjit__buf_free(&names);
    ompjit__buf_free(&loads);
    return true;
}

void ompjit__hlfir_boxes(const ompjit__buf *hlfir, ompjit__buf *out)
{
    const char *p = hlfir->data, *end = p + hlfir->size;
    while (p && p < end) {
        const struct part line = up_to(p, end_of_line(p, end));
        const char *op = find(up_to(p, line.p + line.n), " omp.target ");
        const bool region = op && line.p[line.n - 1] == '{';
        if (!region || !add_region(line, end, out))
            ompjit__buf_add(out, line.p, line.n);
        p = line.p + line.n;
        ompjit__buf_add(out, "\n", p < end);
        p += p < end;
    }
    out->failed |= hlfir->failed;
}
