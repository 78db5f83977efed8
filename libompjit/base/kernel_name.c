/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernel symbols for people: clang's
 * __omp_offloading_<device>_<file>_<function>_l<line>[_<count>], whose function
 * is mangled in C++.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* Skips "<hex digits>_"; NULL if there is none. */
static const char *skip_id(const char *s)
{
    size_t n = s ? strspn(s, "0123456789abcdef") : 0;
    return n && s[n] == '_' ? s + n + 1 : NULL;
}

/* The last "_l<digits>", with "_<digits>" or nothing behind; NULL if none. */
static const char *find_line(const char *s)
{
    const char *found = NULL;
    for (const char *p = s; (p = strstr(p, "_l")); p += 2) {
        const char *digits = p + 2;
        const char *end = digits + strspn(digits, "0123456789");
        const char *rest = end;
        if (*end == '_' && isdigit((unsigned char)end[1]))
            rest = end + 1 + strspn(end + 1, "0123456789");
        if (p > s && end > digits && !*rest)
            found = p;
    }
    return found;
}

/* "operator<" and its kin are names, not brackets; their length at p, or 0. */
static size_t operator_at(const char *s, const char *p)
{
    static const char word[] = "operator";
    size_t n = sizeof word - 1;
    if (strncmp(p, word, n) || (p > s && (isalnum((unsigned char)p[-1]) ||
                                          p[-1] == '_')))
        return 0;
    size_t more = strspn(p + n, "<>()[]=-+*/%^&|~!,");
    if (!more)
        return 0;
    if (p[n] == '(')
        return n + 2;
    /* operator< and operator<< with template arguments behind */
    if (p[n] == '<')
        more = p[n + 1] == '<' ? 2 : 1;
    while (more && p[n + more - 1] == '(')
        more--;
    return n + more;
}

/* Brackets around p. Inside of round ones "<" and ">" compare. */
struct depth {
    int round, angle;
};

/* Tells whether *p is a bracket, and counts it then. */
static bool bracket(struct depth *d, char c)
{
    if (strchr("([{", c))
        d->round++;
    else if (strchr(")]}", c))
        d->round--;
    else if (c == '<' && !d->round)
        d->angle++;
    else if (c == '>' && !d->round)
        d->angle--;
    else
        return false;
    return true;
}

/* "std::vector<int> ns::f<int>(...)": the blank ends the result's type; not
 * that in "operator bool" or before a closing "const". */
static bool ends_type(const char *s, const char *p, const char *end)
{
    static const char word[] = "operator";
    size_t n = sizeof word - 1;
    if (p - s >= (ptrdiff_t)n && !strncmp(p - n, word, n))
        return false;
    return !end || p[-1] == '>';
}

/* "void ns::axpy<float>(float*, int)": where "ns" begins, and "axpy", and where
 * that ends, before the first outermost bracket that is not a scope's. */
struct parts {
    const char *scope, *name, *end;
};

static struct parts find_parts(const char *s)
{
    struct parts it = {s, s, NULL};
    struct depth d = {0};
    for (const char *p = s; *p; p++) {
        bool outside = !d.round && !d.angle;
        size_t op = outside ? operator_at(s, p) : 0;
        if (op) {
            p += op - 1;
            it.end = p + 1;
        } else if (bracket(&d, *p)) {
            if (outside && !it.end && p > it.name)
                it.end = p;
        } else if (outside && *p == ':' && p[1] == ':') {
            it.name = ++p + 1;
            it.end = NULL;
        } else if (outside && *p == ' ' && ends_type(s, p, it.end)) {
            it.scope = it.name = p + 1;
            it.end = NULL;
        }
    }
    if (!it.end)
        it.end = it.name + strlen(it.name);
    return it;
}

/* "axpy", or whole: "ns::axpy<float>(float*, int)"; malloc'd. */
static char *demangled(const char *name, bool whole)
{
    char *full = ompjit__demangle(name);
    if (!full)
        return ompjit__strdup(name);
    struct parts it = find_parts(full);
    char *text = whole ? ompjit__strdup(it.scope)
                       : ompjit__format("%.*s", (int)(it.end - it.name),
                                        it.name);
    free(full);
    return text;
}

static char *readable(const char *symbol, bool whole, unsigned *line)
{
    static const char prefix[] = "__omp_offloading_";
    const char *name = symbol, *at = NULL;
    *line = 0;
    if (!strncmp(symbol, prefix, sizeof prefix - 1)) {
        const char *function = skip_id(skip_id(symbol + sizeof prefix - 1));
        at = function ? find_line(function) : NULL;
        if (at) {
            name = function;
            *line = (unsigned)strtoul(at + 2, NULL, 10);
        }
    }
    char *copy = at ? ompjit__format("%.*s", (int)(at - name), name)
                    : ompjit__strdup(name);
    if (!copy || strncmp(copy, "_Z", 2))
        return copy;
    char *text = demangled(copy, whole);
    free(copy);
    return text;
}

char *ompjit__kernel_name(const char *symbol, unsigned *line)
{
    return readable(symbol, false, line);
}

char *ompjit__kernel_signature(const char *symbol)
{
    unsigned line;
    return readable(symbol, true, &line);
}
