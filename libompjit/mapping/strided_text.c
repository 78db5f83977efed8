/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The strides in a map item's text, ";m[1:3:2][2:2:3];file.c;4;6;;", which
 * executables have that ompjit cc, or clang with -g, has built. strided.c looks
 * here for what the descriptors of such executables lack. The text is read from
 * its end: the last subscript is the innermost dimension.
 */
#include <string.h>

#include "mapping/construct.h"

/* A conditional expression has a colon of another kind, and a literal may have
 * anything: a text with one is not read. */
static const char UNREAD[] = "?\"'";

const char *ompjit__section_text_end(const char *name)
{
    const char *end = name && *name == ';' ? strchr(name + 1, ';') : NULL;
    return end && end[-1] == ']' &&
                   strcspn(name, UNREAD) > (size_t)(end - name)
               ? end
               : NULL;
}

/* The bracket that the one before `end` closes. */
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

/* The third part of "lower:length:stride"; NULL: it has fewer. Behind C++'s
 * "::" it is no number: the stride is not told. */
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
