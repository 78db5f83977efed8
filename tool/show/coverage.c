/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * --coverage: how often each line of device code ran, on each device: the
 * source with counts for people, or what lcov and genhtml read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompjit_debug.h"
#include "tool/tool.h"

/* The report that is being written. A source's lines come one after the other,
 * and each may come several times, for several functions. */
struct report {
    FILE *out;
    bool lcov;
    char *file;      /* of the lines so far; NULL: none            */
    FILE *source;    /* the same, open, or NULL                    */
    unsigned read;   /* lines of it that have been written         */
    unsigned line;   /* the one whose count is in hand; 0: none    */
    uint64_t count;  /* of all its functions                       */
    bool profile;    /* clang's counters have begun                */
    bool values;     /* and values where clang notes them          */
};

/* ------------------------------------------------------------------ lines */

/* Writes the source's next line, with a count or without. False at its end. */
static bool source_line(struct report *r, const char *count)
{
    char *text = NULL;
    size_t room = 0;
    bool more = r->source && getline(&text, &room, r->source) >= 0;
    if (more) {
        text[strcspn(text, "\r\n")] = '\0';
        fprintf(r->out, "%12s:%5u:%s\n", count, ++r->read, text);
    }
    free(text);
    return more;
}

/* The line in hand is complete. */
static void end_line(struct report *r)
{
    char count[24];
    if (!r->line)
        return;
    snprintf(count, sizeof count, "%llu", (unsigned long long)r->count);
    if (r->lcov)
        fprintf(r->out, "DA:%u,%s\n", r->line, count);
    while (!r->lcov && r->read + 1 < r->line && source_line(r, "-"))
        ;
    if (!r->lcov && !source_line(r, count))
        fprintf(r->out, "%12s:%5u:\n", count, r->line);
    r->line = 0;
    r->count = 0;
}

static void end_file(struct report *r)
{
    end_line(r);
    while (!r->lcov && source_line(r, "-"))
        ;
    if (r->lcov && r->file)
        fprintf(r->out, "end_of_record\n");
    if (r->source)
        fclose(r->source);
    free(r->file);
    r->file = NULL;
    r->source = NULL;
    r->read = 0;
}

static void begin_file(struct report *r, const char *file)
{
    r->file = strdup(file);
    if (r->lcov)
        fprintf(r->out, "SF:%s\n", file);
    else
        fprintf(r->out, "%12s:%5s:%s\n", "count", "line", file);
    r->source = r->lcov ? NULL : fopen(file, "r");
}

/* A counter of clang's: its lines are only those where functions begin. */
static void profile_counter(struct report *r, const ompjit_count *c)
{
    if (r->lcov)
        return;
    if (!r->profile) {
        end_file(r);
        fprintf(r->out, "%12s counter\n", "count");
    }
    r->profile = true;
    fprintf(r->out, "%12llu %u of %s\n", (unsigned long long)c->count,
            c->number, c->function);
}

/* The values that came to a place where clang notes them. */
static void profile_value(struct report *r, const ompjit_count *c)
{
    if (r->lcov)
        return;
    if (!r->values) {
        end_file(r);
        fprintf(r->out, "%12s value\n", "count");
    }
    r->values = true;
    fprintf(r->out, "%12llu ", (unsigned long long)c->count);
    if (c->kind == OMPJIT_COUNT_OTHERS)
        fprintf(r->out, "others");
    else if (*c->target)
        fprintf(r->out, "%s", c->target);
    else
        fprintf(r->out, "%llu", (unsigned long long)c->value);
    fprintf(r->out, " at %u of %s\n", c->number, c->function);
}

static int add(void *data, const ompjit_count *c)
{
    struct report *r = data;
    if (c->kind == OMPJIT_COUNT_VALUE || c->kind == OMPJIT_COUNT_OTHERS) {
        profile_value(r, c);
        return 0;
    }
    if (c->kind == OMPJIT_COUNT_PROFILE) {
        profile_counter(r, c);
        return 0;
    }
    if (!r->file || strcmp(r->file, c->file)) {
        end_file(r);
        begin_file(r, c->file);
    }
    if (c->line != r->line)
        end_line(r);
    r->line = c->line;
    r->count += c->count;
    return !r->file; /* out of memory */
}

/* ---------------------------------------------------------------- devices */

static int write_device(struct report *r, ompjit_context *ctx, unsigned i,
                        ompjit_module *mod)
{
    ompjit_device *dev;
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    ompjit_error err;
    if (ompjit_context_device(ctx, i, &dev, &err) ||
        ompjit_device_info_get(dev, &info, &err))
        return failed(&err);
    if (r->lcov)
        fprintf(r->out, "TN:device_%u\n", i);
    else
        fprintf(r->out, "device %u: %s\n", i, info.name);
    r->profile = r->values = false;
    ompjit_status status = ompjit_module_counts(mod, dev, add, r, &err);
    end_file(r);
    return status ? failed(&err) : EXIT_OK;
}

void coverage_write(const struct options *o, ompjit_context *ctx,
                    ompjit_module *mod)
{
    char *text = NULL;
    size_t size = 0;
    unsigned n = 0;
    struct report r = {.out = open_memstream(&text, &size),
                       .lcov = ends_in(o->coverage, ".info")};
    if (!r.out) {
        complain("--coverage: out of memory");
        return;
    }
    ompjit_context_device_count(ctx, &n, NULL);
    for (unsigned i = 0; i < n && !write_device(&r, ctx, i, mod); i++)
        ;
    fclose(r.out);
    if (!strcmp(o->coverage, "-"))
        write_stderr(text, size);
    else
        write_output(o->coverage, text, size);
    free(text);
}
