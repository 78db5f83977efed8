/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Makes a compiler's standard error readable for the author of the source: each
 * diagnostic is there once, although two processes saw it, and crashes are told
 * from mistakes.
 */
#include <string.h>

#include "frontend/clang/clang.h"

/* ----------------------------------------------------------------- rules */

/* A whole rule in the text, which ends with the first line that has no
 * backslash at its end; NULL: none. */
static char *find_rule(const ompjit__buf *text, size_t *size)
{
    static const char target[] = OMPJIT__DEPS_TARGET ":";
    char *rule = text->size ? strstr(text->data, target) : NULL;
    for (const char *end = rule; end; end++) {
        end = strchr(end, '\n');
        if (!end)
            break;
        *size = (size_t)(end + 1 - rule);
        if (end[-1] != '\\')
            return rule;
    }
    return NULL;
}

bool ompjit__has_deps(const ompjit__buf *text)
{
    size_t n;
    return find_rule(text, &n) != NULL;
}

void ompjit__take_deps(ompjit__buf *text, ompjit__buf *rules)
{
    char *rule;
    size_t n;
    while ((rule = find_rule(text, &n))) {
        ompjit__buf_add(rules, rule, n);
        memmove(rule, rule + n, strlen(rule + n) + 1);
        text->size -= n;
    }
}

/* ---------------------------------------------------------------- blocks */

/* A part of the text, borrowed. */
typedef struct span {
    const char *data;
    size_t size;
} span;

/* Is the word in the text, at any place? */
static bool has(span s, const char *word)
{
    return memmem(s.data, s.size, word, strlen(word)) != NULL;
}

/* With its line break, if it has one. */
static span first_line(span s)
{
    const char *end = memchr(s.data, '\n', s.size);
    return (span){s.data, end ? (size_t)(end - s.data) + 1 : s.size};
}

/* Is the line a diagnostic's first: FILE:LINE:COLUMN: error: ...? */
static bool is_head(span line)
{
    return has(line, " warning: ") || has(line, " error: ") ||
           has(line, " remark: ") || has(line, "fatal error: ");
}

static bool starts(span s, const char *with)
{
    size_t n = strlen(with);
    return s.size >= n && !memcmp(s.data, with, n);
}

/* "In file included from" stands before the message that it belongs to. */
static bool leads(span line)
{
    return starts(line, "In file included from ") ||
           starts(line, "In module ");
}

/* "2 warnings and 1 error generated." */
static bool is_count(span line)
{
    return line.size && line.data[0] >= '0' && line.data[0] <= '9' &&
           has(line, " generated") && !has(line, ": ");
}

/* One diagnostic: what leads to it, its head, its source lines and notes. */
static span first_block(span s)
{
    span block = {s.data, 0};
    bool headed = false;
    while (block.size < s.size) {
        span rest = {s.data + block.size, s.size - block.size};
        span line = first_line(rest);
        if (block.size && headed &&
            (is_head(line) || leads(line) || is_count(line)))
            break;
        headed |= is_head(line) || is_count(line);
        block.size += line.size;
    }
    return block;
}

void ompjit__diagnostics_add(ompjit__buf *out, const ompjit__buf *text,
                             const ompjit__buf *known)
{
    span rest = {text->data, text->size};
    while (rest.size) {
        span block = first_block(rest);
        bool repeated = known && known->size &&
                        memmem(known->data, known->size, block.data,
                               block.size);
        if (!repeated && !is_count(first_line(block)))
            ompjit__buf_add(out, block.data, block.size);
        rest.data += block.size;
        rest.size -= block.size;
    }
}

/* --------------------------------------------------------------- failure */

static void trim(ompjit__buf *b)
{
    while (b->size && b->data[b->size - 1] == '\n')
        b->data[--b->size] = 0;
}

/* Is the line one of a stack dump that tells nothing about the source: the
 * report address, the command line, a frame? */
static bool is_dump(span line)
{
    return starts(line, "PLEASE submit") || starts(line, "0.\tProgram") ||
           (has(line, " 0x") && memchr(line.data, '#', 3 < line.size ? 3 : 0));
}

/* The text without the dump of the stack. */
static void add_last_words(ompjit__buf *out, const ompjit__buf *diag)
{
    span rest = {diag->data, diag->size};
    while (rest.size) {
        span line = first_line(rest);
        if (!is_dump(line))
            ompjit__buf_add(out, line.data, line.size);
        rest.data += line.size;
        rest.size -= line.size;
    }
    trim(out);
}

/* The compiler's own trouble: a signal, or LLVM's "fatal error" (exit code 70). */
static ompjit_status crashed(const char *name, const char *half,
                             const ompjit__talk *talk, ompjit_error *err)
{
    enum { TAIL = 2000 };
    ompjit__buf words = {0};
    add_last_words(&words, &talk->diag);
    size_t skip = words.size > TAIL ? words.size - TAIL : 0;
    bool signal = talk->exit.how == OMPJIT__END_SIGNAL;
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_COMPILE, OMPJIT_STAGE_FRONTEND,
        "%s crashed on the %s half of %s (%s %d); it said:\n%s%s",
        talk->program, half, name, signal ? "signal" : "exit code", talk->exit.code,
        skip ? "..." : "", words.size ? words.data + skip : "(nothing)");
    ompjit__buf_free(&words);
    return status;
}

/* A mistake in the source has an exit code and an error among the diagnostics.
 * Anything else is the compiler's own failure. */
ompjit_status ompjit__diagnose(ompjit_context *ctx, const char *name,
                               const char *half, const ompjit__talk *talk,
                               const ompjit__buf *known, ompjit_error *err)
{
    enum { EXIT_CRASH = 70 };
    span all = {talk->diag.data, talk->diag.size};
    bool mistake = talk->exit.how == OMPJIT__END_EXIT
                       ? talk->exit.code && talk->exit.code != EXIT_CRASH
                       : talk->exit.how == OMPJIT__END_UNKNOWN;
    if (!mistake || !all.size || !has(all, "error: "))
        return crashed(name, half, talk, err);
    ompjit__buf text = {0};
    ompjit__diagnostics_add(&text, &talk->diag, known);
    trim(&text);
    ompjit_status status = ompjit__fail_logged(
        ctx, err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND, "%s",
        text.size ? text.data : "");
    ompjit__buf_free(&text);
    return status;
}
