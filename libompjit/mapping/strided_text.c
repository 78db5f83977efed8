/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The strides in a map item's text, ";m[1:3:2][2:2:3];file.c;4;6;;".
 * Executables that ompjit cc, or clang with -g, has built contain such texts;
 * strided.c reads the strides here that the descriptors do not tell. The text
 * is read from its end: the last subscript is the innermost dimension.
 */
#include <string.h>

#include "mapping/construct.h"

/* A text with one of these is not read: a conditional expression has a colon
 * that separates no subscripts, and a literal may contain anything. */
static const char UNREAD[] = "?\"'";

const char *ompjit__section_text_end(const char *name)
{
    const char *end = name && *name == ';' ? strchr(name + 1, ';') : NULL;
    return end && end[-1] == ']' &&
                   strcspn(name, UNREAD) > (size_t)(end - name)
               ? end
               : NULL;
}

/* The opening bracket of the closing one right before `end`; NULL: none. */
static const char *opening(const char *name, const char *end)
{
    int depth = 0;
    while (end-- > name) {
        depth += *end == ']' || *end == ')';
        depth -= *end == '[' || *end == '(';
        if (!depth)
            return end;
    }
    return NULL;
}

/* The third part of "lower:length:stride"; NULL: it has fewer. After C++'s "::"
 * the part is no number, which the caller takes for a stride that is not told.
 */
static const char *third(const char *from, const char *end)
{
    for (int colons = 0; from < end; from++)
        if (*from == ':' && ++colons == 2)
            return from + 1;
    return NULL;
}

uint64_t ompjit__section_text_stride(const char *name, const char **end)
{
    const char *last = *end - 1, *open = opening(name, *end);
    *end = open && open > name && open[-1] == ']' ? open : NULL;
    const char *s = open ? third(open + 1, last) : NULL;
    if (!open || !s)
        return open != NULL;
    uint64_t stride = 0;
    while (*s == ' ')
        s++;
    for (; *s >= '0' && *s <= '9' && stride < UINT32_MAX; s++)
        stride = stride * 10 + (uint64_t)(*s - '0');
    return s == last ? stride : 0;
}

bool ompjit__section_text_index(const char *name, const char *end)
{
    while (end) {
        const char *open = opening(name, end);
        if (!open || end - open != 3 || open[1] != '0')
            return true;
        end = open > name && open[-1] == ']' ? open : NULL;
    }
    return false;
}
