/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Command lines: reads them by the table in options.def, lists the table as
 * help, and finds what a mistyped word may have meant.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

enum kind {
    TEXT,    /* --name VALUE, --name=VALUE                             */
    NUMBER,  /* likewise, at least 1                                   */
    SWITCH,  /* takes no value                                         */
    LIST,    /* as TEXT or FLAG, and may be given several times        */
    LEVEL,   /* -O0 to -O3                                             */
    COVER,   /* a file, and an option of the optimizer                 */
    SHARE,   /* a memory model, kept as an option of the optimizer     */
    FLAG,    /* -IVALUE, -I VALUE: handed to clang in the joined form  */
    PAIR,    /* -include VALUE: handed to clang as two                 */
    JOINED,  /* -fVALUE: handed to clang as it is                      */
    WORD,    /* -g: likewise, without a value                          */
    IGNORED,
};

struct option {
    const char *name, *alias, *argument;
    enum kind kind;
    unsigned commands;
    size_t field;
    const char *help;
};

static const struct option table[] = {
#define OPTION(name, alias, argument, kind, commands, field, help) \
    {name, alias, argument, kind, commands, offsetof(struct options, field), \
     help},
#include "tool/options.def"
};
#define NOPTIONS (sizeof table / sizeof table[0])

bool list_add(struct list *list, const char *item)
{
    const char **items = realloc(list->items,
                                 (list->n + 1) * sizeof *list->items);
    if (!items)
        return false;
    list->items = items;
    items[list->n++] = item;
    return true;
}

void options_free(struct options *o)
{
    struct list *lists[] = {&o->sources, &o->libraries, &o->library_dirs,
                            &o->dumps, &o->flags, &o->settings,
                            &o->contents, &o->opts, &o->code};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        free(lists[i]->items);
}

/* ------------------------------------------------------------- likeness */

/* Edits (insert, remove, replace) that make `a` of `b`; words are short. */
static unsigned distance(const char *a, const char *b)
{
    enum { MAX = 32 };
    size_t n = strlen(a), m = strlen(b);
    unsigned row[MAX + 1];
    if (n > MAX || m > MAX)
        return MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

const char *nearest(const char *word, const char *const *names)
{
    const char *best = NULL;
    unsigned least = strlen(word) / 3 + 1;
    for (; *names; names++) {
        unsigned d = distance(word, *names);
        if (d <= least && (!best || d < least)) {
            least = d;
            best = *names;
        }
    }
    return best;
}

static int unknown_option(const char *word, unsigned command)
{
    const char *names[2 * NOPTIONS + 1];
    size_t n = 0, length = strcspn(word, "=");
    char name[64];
    for (size_t i = 0; i < NOPTIONS; i++)
        if (table[i].commands & command && table[i].name[1] == '-')
            names[n++] = table[i].name;
    names[n] = NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const char *like = nearest(name, names);
    if (like)
        complain("unknown option %s; did you mean %s?", name, like);
    else
        complain("unknown option %s; see ompjit help", name);
    return EXIT_USAGE;
}

/* -------------------------------------------------------------- reading */

/* Whether the word is this option; *value is what is attached to it, NULL if
 * nothing is. */
static bool matches(const struct option *option, const char *word,
                    const char **value)
{
    *value = NULL;
    if (option->alias && !strcmp(word, option->alias))
        return true;
    size_t n = strlen(option->name);
    if (strncmp(word, option->name, n))
        return false;
    bool attached = option->kind == LEVEL || option->name[n - 1] == '=';
    if (word[n] == '\0' && !attached) /* -f alone means nothing */
        return option->kind != JOINED;
    if (option->name[1] == '-') {
        *value = word + n + 1;
        return word[n] == '=' && option->argument;
    }
    *value = word + n;
    return option->argument && option->kind != PAIR;
}

static const struct option *find(const char *word, unsigned command,
                                 const char **value)
{
    for (size_t i = 0; i < NOPTIONS; i++)
        if (table[i].commands & command && matches(&table[i], word, value))
            return &table[i];
    return NULL;
}

static int read_number(const char *name, const char *value, unsigned *out)
{
    char *end;
    errno = 0;
    long n = strtol(value, &end, 10);
    if (errno || *end || end == value || n < 1 || n > 0x7fffffff) {
        complain("%s %s: a number of at least 1 is needed", name, value);
        return EXIT_USAGE;
    }
    *out = (unsigned)n;
    return EXIT_OK;
}

static int read_level(const char *value, unsigned *out)
{
    if (strlen(value) != 1 || *value < '0' || *value > '3') {
        complain("-O%s: the levels are 0, 1, 2 and 3", value);
        return EXIT_USAGE;
    }
    *out = (unsigned)(*value - '0') + 1;
    return EXIT_OK;
}

static int add(struct list *list, const char *item)
{
    if (list_add(list, item))
        return EXIT_OK;
    complain("out of memory");
    return EXIT_FAILED;
}

/* The last one counts: an option of the optimizer that is given twice has its
 * last value. */
static int read_share(struct options *o, const char *value, char *text)
{
    char *end;
    errno = 0;
    unsigned long bytes = !strcmp(value, "auto") ? UINT32_MAX
                                                 : strtoul(value, &end, 10);
    bool named = !strcmp(value, "auto") || !strcmp(value, "global");
    if (!named && (errno || *value < '0' || *value > '9' || *end ||
                   bytes >= UINT32_MAX)) {
        complain("--share %s: not auto, global or a number of bytes", value);
        return EXIT_USAGE;
    }
    snprintf(text, SHARE_TEXT, "ompjit-share-limit=%lu", bytes);
    return add(&o->opts, text);
}

static int store(struct options *o, const struct option *option,
                 const char *word, const char *value)
{
    void *field = (char *)o + option->field;
    int status;
    switch (option->kind) {
    case TEXT:
        *(const char **)field = value;
        return EXIT_OK;
    case NUMBER:
        return read_number(option->name, value, field);
    case SWITCH:
        *(bool *)field = true;
        return EXIT_OK;
    case LIST:
        return add(field, value);
    case LEVEL:
        return read_level(value, field);
    case COVER:
        *(const char **)field = value;
        return add(&o->opts, "ompjit-coverage");
    case SHARE:
        return read_share(o, value, field);
    case JOINED:
    case WORD:
        return add(field, word);
    case FLAG:
        if (value == word + strlen(option->name))
            return add(field, word);
        /* fall through */
    case PAIR:
        status = add(field, option->name);
        return status ? status : add(field, value);
    case IGNORED:
        return EXIT_OK;
    }
    return EXIT_USAGE;
}

/* One option at argv[*i], and its value where that is the next word. */
static int read_option(struct options *o, unsigned command, int argc,
                       char **argv, int *i)
{
    const char *word = argv[*i], *value;
    const struct option *option = find(word, command, &value);
    if (!option)
        return unknown_option(word, command);
    if (option->argument && !value) {
        if (*i + 1 == argc) {
            complain("%s needs %s", word, option->argument);
            return EXIT_USAGE;
        }
        value = argv[++*i];
    }
    return store(o, option, word, value);
}

/* Whether the word names a file of a program. Only sources can be compiled with
 * others; session_module refuses the files that compilers make. */
static bool is_program_file(const char *word)
{
    static const char *const endings[] = {".c",   ".cc", ".cpp", ".cxx",
                                          ".c++", ".C",  ".cu"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_in(word, endings[i]))
            return true;
    return is_fortran(word) || is_ir(word) || is_output(word);
}

/* `ompjit run a.c b.c -- ARGUMENT...`: the words up to the `--` belong to the
 * program if all name files of it. Else all words are its arguments. args[0]
 * becomes the program's name. */
static int read_sources(struct options *o)
{
    char **word = o->args;
    while (*word && is_program_file(*word))
        word++;
    if (!*word || strcmp(*word, "--"))
        return EXIT_OK;
    int status = EXIT_OK;
    for (; o->args < word && !status; o->args++)
        status = add(&o->sources, *o->args);
    *o->args++ = (char *)o->file;
    return status;
}

int options_read(struct options *o, unsigned command, int argc, char **argv)
{
    bool only_names = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!only_names && !strcmp(word, "--")) {
            only_names = true;
        } else if (!only_names && word[0] == '-' && word[1]) {
            int status = read_option(o, command, argc, argv, &i);
            if (status)
                return status;
        } else if (command & (EXPLAIN | OCCUPANCY) && o->file && !o->kernel) {
            o->kernel = word;
        } else if (o->file &&
                   (command == DOCTOR || (command & (COMPILE | INSPECT) &&
                                          is_program_file(word)))) {
            int status = add(&o->sources, word);
            if (status)
                return status;
        } else if (o->file || command == DEVICES) {
            complain("%s: one argument too many", word);
            return EXIT_USAGE;
        } else {
            o->file = word;
            o->args = argv + i + 1;
            if (command & (RUN | TUNE)) /* the rest is the program's */
                return read_sources(o);
            if (command & (CACHE | EXEC))
                return EXIT_OK;
        }
    }
    return EXIT_OK;
}

/* ------------------------------------------------------------------ help */

void options_help(unsigned command)
{
    for (size_t i = 0; i < NOPTIONS; i++) {
        const struct option *option = &table[i];
        char left[64];
        if (!(option->commands & command))
            continue;
        bool joined = option->name[1] != '-' && option->kind != PAIR;
        snprintf(left, sizeof left, "%s%s%s%s%s",
                 option->alias ? option->alias : "",
                 option->alias ? ", " : "", option->name,
                 !option->argument || joined ? "" : " ",
                 option->argument ? option->argument : "");
        printf("  %-30s %s\n", left, option->help);
    }
}
