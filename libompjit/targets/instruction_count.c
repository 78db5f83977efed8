/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Instructions are counted in text: that needs no disassembler, which is three
 * megabytes for x86-64 alone.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "targets/instruction_count.h"

/* ------------------------------------------------------------------- PTX */

/* Past blanks and // comments. */
static const char *skip_blanks(const char *p)
{
    for (;; p++) {
        if (p[0] == '/' && p[1] == '/')
            p += strcspn(p, "\n");
        if (!isspace((unsigned char)*p))
            return p;
    }
}

/* Statements within bodies end in a semicolon; those of directives begin with
 * a dot, and labels end in a colon. */
uint32_t ompjit__count_ptx(const char *p)
{
    uint32_t n = 0;
    unsigned depth = 0;
    while (*(p = skip_blanks(p))) {
        size_t word = strcspn(p, " \t\n;:{}");
        if (*p == '{' || *p == '}') {
            depth += *p == '{' ? 1 : depth ? -1u : 0;
            p++;
        } else if (p[word] == ':' && p[word + 1] != ':') {
            p += word + 1;
        } else {
            size_t end = strcspn(p, depth ? ";" : "{;");
            n += depth && *p != '.';
            p += end + (p[end] == ';');
        }
    }
    return n;
}

/* ------------------------------------------------------------------- host */

/* "... # 8-byte Folded Spill": the 8, where the comment ends so. */
static uint32_t comment_bytes(const char *line, size_t n, const char *what)
{
    const char *mark = memmem(line, n, "-byte ", 6);
    if (!mark || !memmem(mark, (size_t)(line + n - mark), what, strlen(what)))
        return 0;
    while (mark > line && isdigit((unsigned char)mark[-1]))
        mark--;
    return (uint32_t)strtoul(mark, NULL, 10);
}

uint32_t ompjit__count_assembly(const char *text, uint32_t *stores,
                                uint32_t *loads)
{
    uint32_t n = 0;
    *stores = *loads = 0;
    for (const char *line = text; *line; line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        const char *p = line + strspn(line, " \t");
        /* Labels begin in the first column. */
        if (p > line && p < line + length && *p != '.' && *p != '#') {
            n++;
            *stores += comment_bytes(p, (size_t)(line + length - p), "Spill");
            *loads += comment_bytes(p, (size_t)(line + length - p), "Reload");
        }
        line += length;
    }
    return n;
}
