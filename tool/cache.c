/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit cache: what is in the cache on disk, and less of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/tool.h"
#include "ompjit_cache.h"

struct kind {
    char name[16];
    uint64_t entries, bytes;
};

/* --------------------------------------------------------------- commands */

static int show_path(ompjit_context *ctx, const char *argument)
{
    puts(ompjit_cache_path(ctx));
    return EXIT_OK;
}

/* The value of the first line of a key's text that has the name. */
static const char *line_of(const char *text, const char *name, int *length)
{
    size_t n = strlen(name);
    for (; text && *text; text = strchr(text, '\n'), text += text != NULL)
        if (!strncmp(text, name, n) && text[n] == ' ') {
            *length = (int)strcspn(text + n + 1, "\n");
            return text + n + 1;
        }
    *length = 0;
    return "";
}

static int print_entry(void *data, const ompjit_cache_entry *e)
{
    char date[32];
    time_t used = (time_t)e->used;
    struct tm tm;
    int arch, kernel, name;
    const char *arch_at = line_of(e->text, "arch", &arch);
    const char *kernel_at = line_of(e->text, "kernel", &kernel);
    const char *name_at = line_of(e->text, "name", &name);
    localtime_r(&used, &tm);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M", &tm);
    printf("%.16s  %-7s %9llu  %s  %.*s%s%.*s%.*s\n", e->key, e->kind,
           (unsigned long long)e->bytes, date, arch, arch_at,
           arch && kernel ? " " : "", kernel, kernel_at, name, name_at);
    return 0;
}

static int walk(ompjit_context *ctx, const char *key,
                ompjit_cache_entry_fn *fn, void *data)
{
    ompjit_error err;
    return ompjit_cache_walk(ctx, key, fn, data, &err) ? failed(&err)
                                                       : EXIT_OK;
}

static int list(ompjit_context *ctx, const char *argument)
{
    return walk(ctx, "", print_entry, NULL);
}

enum { KINDS = 8 };

static int count_entry(void *data, const ompjit_cache_entry *e)
{
    struct kind *kinds = data;
    int i = 0;
    while (i < KINDS - 1 && *kinds[i].name && strcmp(kinds[i].name, e->kind))
        i++;
    snprintf(kinds[i].name, sizeof kinds[i].name, "%s", e->kind);
    kinds[i].entries++;
    kinds[i].bytes += e->bytes;
    return 0;
}

static int show_stat(ompjit_context *ctx, const char *argument)
{
    struct kind kinds[KINDS] = {{{0}, 0, 0}}, all = {"all", 0, 0};
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    int status = walk(ctx, "", count_entry, kinds);
    if (status)
        return status;
    ompjit_cache_stats_get(ctx, &stats, NULL);
    printf("%s\n", ompjit_cache_path(ctx));
    for (int i = 0; i < KINDS && *kinds[i].name; i++) {
        printf("%-8s %8llu entries %12llu bytes\n", kinds[i].name,
               (unsigned long long)kinds[i].entries,
               (unsigned long long)kinds[i].bytes);
        all.entries += kinds[i].entries;
        all.bytes += kinds[i].bytes;
    }
    printf("%-8s %8llu entries %12llu bytes of %llu\n", all.name,
           (unsigned long long)all.entries, (unsigned long long)all.bytes,
           (unsigned long long)stats.limit);
    return EXIT_OK;
}

static int verify(ompjit_context *ctx, const char *argument)
{
    uint64_t good, damaged;
    ompjit_error err;
    if (ompjit_cache_verify(ctx, &good, &damaged, &err))
        return failed(&err);
    printf("%llu entries are good, %llu damaged ones were removed\n",
           (unsigned long long)good, (unsigned long long)damaged);
    return EXIT_OK;
}

static int prune_to(ompjit_context *ctx, uint64_t size)
{
    uint64_t removed;
    ompjit_error err;
    if (ompjit_cache_prune(ctx, size, &removed, &err))
        return failed(&err);
    printf("%llu entries removed\n", (unsigned long long)removed);
    return EXIT_OK;
}

/* To a size ("512M"), or to the limit. */
static int prune(ompjit_context *ctx, const char *argument)
{
    static const char letters[] = "KMGT";
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    ompjit_cache_stats_get(ctx, &stats, NULL);
    if (!argument)
        return prune_to(ctx, stats.limit);
    char *end;
    uint64_t n = strtoull(argument, &end, 10);
    const char *letter = *end ? strchr(letters, *end) : NULL;
    unsigned shift = letter ? 10 * (unsigned)(letter - letters + 1) : 0;
    if (end == argument || *argument == '-' || end[letter != NULL] ||
        n > UINT64_MAX >> shift) {
        complain("cache prune %s: not a number of bytes, which may end in K, "
                 "M, G or T",
                 argument);
        return EXIT_USAGE;
    }
    return prune_to(ctx, n << shift);
}

static int clear(ompjit_context *ctx, const char *argument)
{
    return prune_to(ctx, 0);
}

static int print_text(void *data, const ompjit_cache_entry *e)
{
    unsigned *n = data;
    printf("%s%s\n%llu bytes\n%s", (*n)++ ? "\n" : "", e->key,
           (unsigned long long)e->bytes, *e->text ? e->text : "damaged\n");
    return 0;
}

static int explain(ompjit_context *ctx, const char *argument)
{
    unsigned n = 0;
    int status = walk(ctx, argument, print_text, &n);
    if (!status && !n) {
        complain("no entry's key begins with %s", argument);
        status = EXIT_FAILED;
    }
    return status;
}

static int export_all(ompjit_context *ctx, const char *argument)
{
    void *bytes;
    size_t size;
    ompjit_error err;
    if (ompjit_cache_export(ctx, 1, &bytes, &size, &err))
        return failed(&err);
    int status = write_output(argument, bytes, size);
    ompjit_bytes_free(bytes);
    return status;
}

static int import_all(ompjit_context *ctx, const char *argument)
{
    char *bytes;
    size_t size;
    uint64_t count;
    ompjit_error err;
    int status = read_input(argument, 0, &bytes, &size);
    if (status)
        return status;
    if (ompjit_cache_import(ctx, bytes, size, &count, &err))
        status = failed(&err);
    else
        printf("%llu entries imported\n", (unsigned long long)count);
    free(bytes);
    return status;
}

/* ------------------------------------------------------------------ whole */

static const struct {
    const char *name;
    int (*function)(ompjit_context *ctx, const char *argument);
    const char *argument; /* NULL: takes none; in brackets: need not be */
} commands[] = {
    {"path", show_path, NULL},     {"list", list, NULL},
    {"stat", show_stat, NULL},     {"verify", verify, NULL},
    {"prune", prune, "[SIZE]"},    {"clear", clear, NULL},
    {"explain", explain, "KEY"},   {"export", export_all, "FILE"},
    {"import", import_all, "FILE"},
};
#define NCOMMANDS (sizeof commands / sizeof commands[0])

static int unknown(const char *name)
{
    const char *names[NCOMMANDS + 1] = {NULL};
    for (size_t i = 0; i < NCOMMANDS; i++)
        names[i] = commands[i].name;
    const char *like = nearest(name, names);
    if (like)
        complain("cache has no command %s; did you mean %s?", name, like);
    else
        complain("cache has no command %s; there are path, list, stat, "
                 "verify, prune, clear, explain, export and import",
                 name);
    return EXIT_USAGE;
}

int tool_cache(struct options *o)
{
    size_t i = 0;
    while (i < NCOMMANDS && strcmp(commands[i].name, o->file))
        i++;
    if (i == NCOMMANDS)
        return unknown(o->file);
    const char *takes = commands[i].argument, *argument = o->args[0];
    if (takes && *takes != '[' && !argument) {
        complain("cache %s needs %s", o->file, takes);
        return EXIT_USAGE;
    }
    if (argument && (!takes || o->args[1])) {
        complain("%s: one argument too many", o->args[takes ? 1 : 0]);
        return EXIT_USAGE;
    }
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_error err;
    options.cache.mode = OMPJIT_CACHE_DISK;
    if (ompjit_context_create(&options, &ctx, &err))
        return failed(&err);
    int status = EXIT_FAILED;
    if (ompjit_cache_path(ctx))
        status = commands[i].function(ctx, argument);
    else
        complain("no cache: OMPJIT_CACHE_DIR, XDG_CACHE_HOME and HOME do not "
                 "say where");
    ompjit_context_destroy(ctx);
    return status;
}
