/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A file, a pipe or -e: inputs are executed one by one, and the first error is
 * the end. A file is there as a whole. A pipe is read line by line, through the
 * C library's stdin: what the session's own code reads of it comes behind the
 * input's last line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/repl/terminal/colour.h"
#include "tool/repl/commands.h"
#include "tool/repl/repl.h"
#include "tool/repl/scan.h"
#include "tool/tool.h"

/* Where inputs come from. */
struct source {
    const char *name;
    unsigned line;      /* of the text that waits                   */
    ompjit__buf text;   /* what waits                               */
    size_t used;        /* of it                                    */
    FILE *pipe;         /* with more; NULL: there is none           */
    bool quits;         /* a command has said so                    */
};

static const char *waiting(const struct source *s)
{
    return s->text.data ? s->text.data + s->used : "";
}

static size_t waiting_size(const struct source *s)
{
    return s->text.size - s->used;
}

/* One more line of the pipe. False: there is none. */
static bool read_line(struct source *s)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n = s->pipe ? getline(&line, &room, s->pipe) : -1;
    if (n > 0)
        ompjit__buf_add(&s->text, line, (size_t)n);
    else
        s->pipe = NULL;
    free(line);
    return n > 0 && !s->text.failed;
}

/* The size of the line that begins there, with its line break; 0: there is none.
 */
static size_t line_at(struct source *s, size_t at)
{
    while (at >= waiting_size(s) && read_line(s))
        ;
    if (at >= waiting_size(s))
        return 0;
    const char *line = waiting(s) + at;
    size_t left = waiting_size(s) - at;
    const char *end = memchr(line, '\n', left);
    return end ? (size_t)(end - line) + 1 : left;
}

static bool begins_with_if(const char *text, size_t size)
{
    size_t blank = strspn(text, " \t\r\n");
    return size - blank > 2 && !memcmp(text + blank, "if", 2) &&
           strchr(" \t(\n", text[blank + 2]);
}

/* Does the next line that is not empty go on with the `n` bytes before it? A
 * pipe is not asked for more than it has to. */
static bool goes_on(struct source *s, const struct scan *scan, size_t n)
{
    if (s->pipe && !begins_with_if(waiting(s), n))
        return false;
    for (size_t size; (size = line_at(s, n)); n += size)
        if (strspn(waiting(s) + n, " \t\r\n") < size)
            return !command_is(waiting(s) + n, size) &&
                   scan_goes_on(scan, waiting(s) + n, size);
    return false;
}

/* The size of the next input: as many lines as it has to have, by brackets and
 * by what follows, and more than `least`. */
static size_t next_input(struct source *s, size_t least)
{
    struct scan scan = {0};
    size_t n = 0, size = line_at(s, 0);
    if (command_is(waiting(s), size))
        return size;
    while ((size = line_at(s, n))) {
        scan_line(&scan, waiting(s) + n, size);
        n += size;
        if (n > least && scan.some && !scan_is_open(&scan) &&
            !goes_on(s, &scan, n))
            break;
    }
    return n;
}

static void consume(struct source *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->line += waiting(s)[i] == '\n';
    s->used += n;
    if (s->used == s->text.size) {
        ompjit__buf_free(&s->text);
        s->used = 0;
    }
}

void print_outcome(const struct repl *r, const struct outcome *out)
{
    if (out->value)
        colour_value(stdout, repl_colours(r, STDOUT_FILENO), out->type,
                     out->value);
    fflush(stdout);
    if (out->text)
        colour_messages(stderr, repl_colours(r, STDERR_FILENO), out->text);
}

/* One input, which may turn out to have more lines. False: an error. */
static bool execute_one(struct repl *r, struct source *s, size_t n)
{
    for (;;) {
        struct outcome out;
        repl_execute(r, s->name, s->line, waiting(s), n, &out);
        size_t more = 0;
        if (out.kind == OUTCOME_UNDONE)
            more = next_input(s, n);
        bool again = more > n;
        if (!again)
            print_outcome(r, &out);
        bool good = out.kind == OUTCOME_GOOD;
        s->quits = out.quits;
        outcome_free(&out);
        if (!again) {
            consume(s, n);
            return good;
        }
        n = more;
    }
}

static int run_source(struct repl *r, struct source *s)
{
    bool good = true;
    size_t n;
    while (good && !s->quits && (n = next_input(s, 0)))
        if (strspn(waiting(s), " \t\r\n\f\v") < n)
            good = execute_one(r, s, n);
        else
            consume(s, n);
    ompjit__buf_free(&s->text);
    return good ? EXIT_OK : EXIT_FAILED;
}

int batch_text(struct repl *r, const char *name, const char *text, size_t size)
{
    struct source s = {.name = name, .line = 1};
    ompjit__buf_add(&s.text, text, size);
    return run_source(r, &s);
}

int batch_pipe(struct repl *r)
{
    struct source s = {.name = "stdin", .line = 1, .pipe = stdin};
    return run_source(r, &s);
}
