/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds `do concurrent` loops with a `reduce` clause. Where such loops become
 * target regions (-fdo-concurrent-to-openmp=device), flang 22 passes the
 * clause's variables by value, so that the sums stay on the device: IR does not
 * tell that from a region that wants nothing back. Statements are put together
 * as flang has them, without comments and strings; a macro's text counts where
 * it is defined. What macros make otherwise, HLFIR shows (hlfir.c).
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "frontend/flang/flang.h"

struct statement {
    bool concurrent; /* `do concurrent` was there                */
    unsigned line;   /* of that                                  */
    bool is_do;      /* the last name is `do`, nothing behind it */
    bool reduce;     /* likewise `reduce`, behind both           */
};

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r");
}

/* Does the line at p continue the statement before, in fixed form? */
static bool continues_fixed(const char *p)
{
    return strspn(p, " ") == 5 && p[5] && !strchr("0\n\r\t", p[5]);
}

/* Is it nothing but a comment, or empty? The statement may go on behind it. */
static bool is_comment(const char *p, bool fixed)
{
    const char *first = skip_blanks(p);
    return *first == '!' || *first == '\n' ||
           (fixed && *p && strchr("cC*dD", *p));
}

/* Behind the end of a line: where the next one that counts begins. */
static const char *next_line(const char *p, bool fixed, unsigned *line)
{
    while (*p && is_comment(p, fixed)) {
        p += strcspn(p, "\n");
        *line += *p == '\n';
        p += *p == '\n';
    }
    return p;
}

static const char *behind_string(const char *p)
{
    const char ends[] = {*p, '\n', 0};
    p++;
    p += strcspn(p, ends);
    return *p == ends[0] ? p + 1 : p;
}

static const char *take_name(struct statement *s, const char *p, unsigned line)
{
    size_t n = 1;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    if (s->is_do && n == strlen("concurrent") &&
        !strncasecmp(p, "concurrent", n)) {
        s->concurrent = true;
        s->line = line;
    }
    s->is_do = n == strlen("do") && !strncasecmp(p, "do", n);
    s->reduce = s->concurrent && n == strlen("reduce") &&
                !strncasecmp(p, "reduce", n);
    return p + n;
}

unsigned ompjit__fortran_reduces(const char *text, bool fixed)
{
    struct statement s = {0};
    unsigned line = 1;
    bool goes_on = false; /* behind '&' in this line */
    for (const char *p = next_line(text, fixed, &line); *p;) {
        if (*p == '\n') {
            line++;
            p = next_line(p + 1, fixed, &line);
            bool same = goes_on || (fixed && continues_fixed(p));
            goes_on = false;
            if (!same)
                s = (struct statement){0};
            else if (fixed && continues_fixed(p))
                p += 6;
            else if (*skip_blanks(p) == '&')
                p = skip_blanks(p) + 1;
        } else if (*p == '!') {
            p += strcspn(p, "\n");
        } else if (*p == '\'' || *p == '"') {
            p = behind_string(p);
        } else if (isalpha((unsigned char)*p) || *p == '_') {
            p = take_name(&s, p, line);
        } else if (*p == '(' && s.reduce) {
            return s.line;
        } else {
            goes_on = *p == '&' || (goes_on && isspace((unsigned char)*p));
            if (!isspace((unsigned char)*p) && *p != '&')
                s.is_do = s.reduce = false;
            if (*p == ';')
                s = (struct statement){0};
            p++;
        }
    }
    return 0;
}
