/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Texts within other texts, of HLFIR as MLIR writes it.
 */
#ifndef OMPJIT_FLANG_PART_H
#define OMPJIT_FLANG_PART_H

#include <stdbool.h>
#include <string.h>

struct part {
    const char *p;
    size_t n;
};

/* For "%.*s". */
#define PRINT(x) (int)(x).n, (x).p

static inline struct part up_to(const char *from, const char *end)
{
    return (struct part){from, (size_t)(end - from)};
}

/* The first place of the word; NULL: it has none. */
static inline const char *find(struct part in, const char *word)
{
    return in.n ? memmem(in.p, in.n, word, strlen(word)) : NULL;
}

static inline const char *end_of(struct part x)
{
    return x.p + x.n;
}

/* Between two words; n 0: they are not there. */
static inline struct part between(struct part text, const char *start,
                                  const char *stop)
{
    const char *p = find(text, start);
    const char *from = p ? p + strlen(start) : NULL;
    const char *to = p ? find(up_to(from, end_of(text)), stop) : NULL;
    return to ? up_to(from, to) : (struct part){text.p, 0};
}

/* Where p's line ends, its end not included. */
static inline const char *end_of_line(const char *p, const char *end)
{
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    return stop ? stop : end;
}

/* The line at p, without its end. */
static inline struct part line_at(const char *p, const char *end)
{
    return up_to(p, end_of_line(p, end));
}

static inline const char *next_line(struct part line, const char *end)
{
    return end_of(line) < end ? end_of(line) + 1 : end;
}

static inline size_t indentation(struct part line)
{
    size_t n = 0;
    while (n < line.n && line.p[n] == ' ')
        n++;
    return n;
}

static inline bool starts(struct part text, size_t at, const char *word)
{
    size_t n = strlen(word);
    return text.n >= at + n && !memcmp(text.p + at, word, n);
}

/* The lines of the region whose first line is `head`. The one behind them begins
 * with `last`. */
static inline struct part body_of(struct part head, const char *end,
                                  const char *last)
{
    const char *start = next_line(head, end), *p = start;
    while (p < end) {
        struct part line = line_at(p, end);
        size_t n = indentation(line);
        if (n == indentation(head) && starts(line, n, last))
            break;
        p = next_line(line, end);
    }
    return up_to(start, p);
}

static inline bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

/* The next value's name from p on, with its %; n 0: none. A # and the number of
 * a result are not part of it. */
static inline struct part next_value(const char *p, const char *end)
{
    while (p < end && (p = memchr(p, '%', (size_t)(end - p)))) {
        const char *q = p + 1;
        while (q < end && is_name_char(*q))
            q++;
        if (q > p + 1)
            return up_to(p, q);
        p = q;
    }
    return (struct part){end, 0};
}

static inline bool same(struct part a, struct part b)
{
    return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

/* The value that the line defines; n 0: none. */
static inline struct part defined_by(struct part line)
{
    size_t at = indentation(line);
    return starts(line, at, "%") && find(line, " = ")
               ? next_value(line.p + at, end_of(line))
               : (struct part){line.p, 0};
}

/* The line that defines the value; n 0: none. Values of a function have names of
 * their own. */
static inline struct part definition(struct part function, struct part value)
{
    const char *end = end_of(function);
    for (const char *p = function.p; p < end;) {
        struct part line = line_at(p, end);
        if (same(defined_by(line), value))
            return line;
        p = next_line(line, end);
    }
    return (struct part){end, 0};
}

/* The last line that defines the value; n 0: none. Regions that have ended may
 * have had values of the same name. */
static inline struct part last_definition(struct part text, struct part value)
{
    const char *end = end_of(text);
    struct part found = {end, 0};
    for (const char *p = text.p; p < end;) {
        struct part line = line_at(p, end);
        if (same(defined_by(line), value))
            found = line;
        p = next_line(line, end);
    }
    return found;
}

/* The type at p, up to a comma, blank or bracket that is not within it. */
static inline struct part type_at(const char *p, const char *end)
{
    int depth = 0;
    const char *q = p;
    for (; q < end; q++) {
        depth += *q == '<' || *q == '(' || *q == '{' || *q == '[';
        depth -= (*q == '>' && q[-1] != '-') || *q == ')' || *q == '}' ||
                 *q == ']';
        if (depth < 0 || (!depth && (*q == ',' || *q == ' ')))
            break;
    }
    return up_to(p, q);
}

/* A target region that has statements, and the text of its function before it. */
struct target {
    struct part function, head, body;
};

/* The next one from `*p` on; `function` is the text at first. False: there is
 * none. */
static inline bool next_target(const char **p, const char *end,
                               struct target *t)
{
    while (*p < end) {
        struct part line = line_at(*p, end);
        size_t n = indentation(line);
        *p = next_line(line, end);
        if (starts(line, n, "func.func "))
            t->function.p = line.p;
        if (starts(line, n, "omp.target ") && line.p[line.n - 1] == '{') {
            t->function = up_to(t->function.p, line.p);
            t->head = line;
            t->body = body_of(line, end, "}");
            return true;
        }
    }
    return false;
}

#endif
