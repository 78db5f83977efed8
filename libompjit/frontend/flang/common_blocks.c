/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variables of COMMON and EQUIVALENCE in HLFIR for a GPU. Their addresses are
 * constants, parts of one variable's. Where a region uses an element with constant
 * subscripts, flang 22 sees a part of that variable, and not of the region's
 * argument: so the kernel reads behind another argument, or what the device does
 * not have. In the code of the host, which the device half has for its regions
 * alone, such a variable becomes a local one, whose parts are no constants:
 *
 *   %1 = fir.address_of(@blk_) : !fir.ref<!fir.array<24xi8>>
 *   %1 = fir.alloca !fir.array<24xi8>
 *   %4:2 = hlfir.declare %3 storage(%1[8]) ...
 */
#include <string.h>

#include "frontend/flang/flang.h"
#include "frontend/flang/part.h"

/* Behind the type that begins at p; NULL: it does not end. */
static const char *behind_type(const char *p, const char *end)
{
    int depth = 0;
    for (; p < end; p++) {
        depth += (*p == '<') - (*p == '>' && p[-1] != '-');
        if (depth < 0)
            return p;
    }
    return NULL;
}

/* Where `before`, the value's name and `after` stand, from p on; NULL: nowhere. */
static const char *find_use(const char *p, const char *end, const char *before,
                            const char *name, const char *name_end,
                            const char *after)
{
    ompjit__buf use = {0};
    ompjit__buf_printf(&use, "%s%.*s%s", before, (int)(name_end - name), name,
                       after);
    p = use.failed ? NULL : find(up_to(p, end), use.data);
    ompjit__buf_free(&use);
    return p;
}

/* Is the value that is defined at `name` a variable's storage, before `end`? A
 * block with first values is a tuple, whose address is converted. */
static bool is_storage(const char *name, const char *name_end, const char *end)
{
    const char *p = name_end;
    if (find_use(p, end, "storage(", name, name_end, "["))
        return true;
    while ((p = find_use(p, end, " = fir.convert ", name, name_end, " :"))) {
        const char *to = p;
        while (to[-1] != ' ' && to[-1] != '\n')
            to--;
        if (find_use(p, end, "storage(", to, p, "["))
            return true;
        p++;
    }
    return false;
}

/* Appends a line of a function of the host's that ends at `end`, with the local
 * variable. False: the line defines no such storage. */
static bool add_local(const char *line, const char *stop, const char *end,
                      ompjit__buf *out)
{
    static const char address[] = " = fir.address_of(@";
    static const char type[] = " : !fir.ref<";
    const char *name = memchr(line, '%', (size_t)(stop - line));
    const char *op = name ? find(up_to(name, stop), address) : NULL;
    const char *at = op ? find(up_to(op, stop), type) : NULL;
    const char *of = at ? at + sizeof type - 1 : NULL;
    const char *behind = of ? behind_type(of, stop) : NULL;
    if (!behind || !is_storage(name, op, end))
        return false;
    ompjit__buf_add(out, line, (size_t)(op - line));
    ompjit__buf_printf(out, " = fir.alloca %.*s", (int)(behind - of), of);
    ompjit__buf_add(out, behind + 1, (size_t)(stop - behind - 1));
    return true;
}

/* Where the function whose first line is at p ends. */
static const char *end_of_function(const char *p, const char *end)
{
    const char *next = find(up_to(p + 1, end), "\n  func.func ");
    return next ? next : end;
}

void ompjit__hlfir_storage(const ompjit__buf *hlfir, ompjit__buf *out)
{
    static const char function[] = "  func.func ";
    const char *p = hlfir->data, *end = p + hlfir->size, *last = NULL;
    while (p && p < end) {
        const char *stop = end_of_line(p, end);
        if ((size_t)(stop - p) >= sizeof function &&
            !memcmp(p, function, sizeof function - 1))
            last = find(up_to(p, stop), "device_type = (any)") ||
                           find(up_to(p, stop), "device_type = (nohost)")
                       ? NULL
                       : end_of_function(p, end);
        if (!last || !add_local(p, stop, last, out))
            ompjit__buf_add(out, p, (size_t)(stop - p));
        ompjit__buf_add(out, "\n", stop < end);
        p = stop + (stop < end);
    }
    out->failed |= hlfir->failed;
}
