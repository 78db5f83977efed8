/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads lines of C and C++ for what stays open: brackets, comments, conditionals
 * of the preprocessor, lines that a backslash ends. All else about whether an
 * input is complete is known to clang.
 */
#include <ctype.h>
#include <string.h>

#include "tool/repl/scan.h"

/* The text behind a quote, up to the one that closes it, or to the line's end.
 */
static const char *skip_quoted(const char *p, const char *end, char quote)
{
    for (; p < end && *p != quote; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    return p < end ? p + 1 : end;
}

/* R"TAG( up to )TAG" */
static const char *begin_raw(struct scan *s, const char *p, const char *end)
{
    size_t n = 0;
    while (p + n < end && p[n] != '(' && n < sizeof s->end - 3)
        n++;
    if (p + n >= end || p[n] != '(')
        return p;
    s->end[0] = ')';
    memcpy(s->end + 1, p, n);
    s->end[n + 1] = '"';
    s->end[n + 2] = '\0';
    s->raw = true;
    return p + n + 1;
}

static const char *skip_raw(struct scan *s, const char *p, const char *end)
{
    const char *found = memmem(p, (size_t)(end - p), s->end, strlen(s->end));
    if (!found)
        return end;
    s->raw = false;
    return found + strlen(s->end);
}

static const char *skip_comment(struct scan *s, const char *p, const char *end)
{
    const char *found = memmem(p, (size_t)(end - p), "*/", 2);
    s->comment = !found;
    return found ? found + 2 : end;
}

static void count(struct scan *s, char c)
{
    if (strchr("([{", c))
        s->depth++;
    else if (strchr(")]}", c))
        s->depth--;
    if (!isspace((unsigned char)c)) {
        s->some = true;
        s->last = c;
    }
}

/* 1'000 is a number of C++, and u8'x' is a letter. */
static bool is_in_number(const char *begin, const char *p)
{
    const char *first = p;
    while (first > begin &&
           (isalnum((unsigned char)first[-1]) || first[-1] == '\''))
        first--;
    return isdigit((unsigned char)*first);
}

/* One token or letter from `p` on. */
static const char *step(struct scan *s, const char *begin, const char *p,
                        const char *end)
{
    if (s->raw)
        return skip_raw(s, p, end);
    if (s->comment)
        return skip_comment(s, p, end);
    if (p + 1 < end && p[0] == '/' && p[1] == '/')
        return end;
    if (p + 1 < end && p[0] == '/' && p[1] == '*')
        return skip_comment(s, p + 2, end);
    if (*p == '"' && p > begin && p[-1] == 'R') {
        count(s, *p);
        return begin_raw(s, p + 1, end);
    }
    count(s, *p ? *p : ' ');
    if (*p == '"' || (*p == '\'' && !is_in_number(begin, p)))
        return skip_quoted(p + 1, end, *p);
    return p + 1;
}

static bool has_word(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && !memcmp(p, word, n);
}

/* In directives brackets need not match: they are counted of none but pragmas,
 * which have no other meaning in them. */
static void read_directive(struct scan *s, const char *p, const char *end)
{
    for (p++; p < end && isblank((unsigned char)*p);)
        p++;
    if (has_word(p, end, "if"))
        s->conditionals++;
    else if (has_word(p, end, "endif"))
        s->conditionals--;
    s->some = true;
    s->last = ';';
}

void scan_line(struct scan *s, const char *line, size_t size)
{
    while (size && (line[size - 1] == '\n' || line[size - 1] == '\r'))
        size--;
    const char *end = line + size, *p = line;
    while (p < end && isblank((unsigned char)*p))
        p++;
    bool begins = p < end && *p == '#' && !s->comment && !s->raw &&
                  !s->continued;
    s->directive = begins || (s->directive && s->continued);
    s->continued = size && end[-1] == '\\' && !s->comment && !s->raw;
    if (begins)
        read_directive(s, p, end);
    int depth = s->depth;
    bool some = s->some;
    char last = s->last;
    while (p < end)
        p = step(s, line, p, end);
    if (s->directive) {
        s->depth = depth;
        s->some = some;
        s->last = last;
    }
}

bool scan_is_open(const struct scan *s)
{
    return s->depth > 0 || s->conditionals > 0 || s->comment || s->raw ||
           s->continued;
}

bool scan_goes_on(const struct scan *before, const char *line, size_t size)
{
    static const char *const operators[] = {"<<", ">>", ".", "->", "?", ":",
                                            "||", "&&", "==", "!=", "<=",
                                            ">=", "=", "/", "%", "|", "^",
                                            ")", "]"};
    const char *end = line + size;
    while (line < end && isspace((unsigned char)*line))
        line++;
    if (has_word(line, end, "else") &&
        (line + 4 == end ||
         !(isalnum((unsigned char)line[4]) || line[4] == '_')))
        return true;
    if (before->last == ';' || before->last == '}' || !before->some ||
        has_word(line, end, "//") || has_word(line, end, "/*") ||
        has_word(line, end, "::") || before->directive)
        return false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (has_word(line, end, operators[i]))
            return true;
    return false;
}
