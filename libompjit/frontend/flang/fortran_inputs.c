/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The files that a Fortran source may read, which flang does not list. Its
 * words say which: a module's file has the module's name, and an included file
 * stands behind the word "include". Each file is looked through as the source
 * is. In comments and strings there are such words, too: then a file counts
 * that is not read. flang's own modules are flang's, and do not count.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "frontend/flang/flang.h"

/* A .mod file of one of the folders. A submodule's is PARENT-NAME.mod. */
struct module {
    char *name; /* without .mod */
    size_t folder;
    bool counts;
};

struct search {
    const ompjit__args *dirs;
    ompjit__key *key;
    struct module *modules;
    size_t n, capacity;
    ompjit__args included; /* paths of included files that count */
    bool failed;           /* no memory                          */
    bool tells_time;
    struct ompjit__fortran_names names;
    bool fixed;            /* fixed form                         */
    char *reduces;         /* FILE:LINE of the first such loop   */
};

/* ---------------------------------------------------------------- modules */

static void add_module(struct search *s, const char *file, size_t folder)
{
    static const char ending[] = ".mod";
    size_t n = strlen(file), m = sizeof ending - 1;
    if (n <= m || strcmp(file + n - m, ending))
        return;
    if (s->n == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 32;
        struct module *more = realloc(s->modules, capacity * sizeof *more);
        s->failed |= !more;
        if (!more)
            return;
        s->modules = more;
        s->capacity = capacity;
    }
    char *name = ompjit__format("%.*s", (int)(n - m), file);
    s->failed |= !name;
    if (name)
        s->modules[s->n++] = (struct module){name, folder, false};
}

static void list_modules(struct search *s)
{
    for (size_t i = 0; i < s->dirs->n; i++) {
        DIR *dir = opendir(s->dirs->v[i]);
        for (struct dirent *e; dir && (e = readdir(dir));)
            add_module(s, e->d_name, i);
        if (dir)
            closedir(dir);
    }
}

static bool is_part(int c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Has the text the first n bytes of `word` as a name of its own, in letters of
 * either case? */
static bool has_name(const char *text, const char *word, size_t n)
{
    for (const char *p = text; *p; p++) {
        if (is_part(p[0]) && (p == text || !is_part(p[-1])) &&
            !strncasecmp(p, word, n) && !is_part(p[n]))
            return true;
    }
    return false;
}

static bool names_module(const char *text, const char *name)
{
    while (*name) {
        size_t n = strcspn(name, "-");
        if (!has_name(text, name, n))
            return false;
        name += n + (name[n] == '-');
    }
    return true;
}

static void look_through(struct search *s, const char *text);

static void look_for_loops(struct search *s, const char *name, const char *text)
{
    unsigned line = s->reduces ? 0 : ompjit__fortran_reduces(text, s->fixed);
    if (line)
        s->reduces = ompjit__format("%s:%u", name, line);
}

/* Counts the file, and those that it names. */
static void count(struct search *s, const char *kind, const char *name,
                  const char *path)
{
    uint8_t digest[OMPJIT__DIGEST];
    ompjit__buf text = {0};
    if (ompjit__read_file(path, &text, NULL)) {
        ompjit__buf_printf(&s->key->text, "%s %s none\n", kind, name);
    } else {
        ompjit__digest(text.data, text.size, digest);
        ompjit__buf_printf(&s->key->text, "%s ", kind);
        ompjit__key_digest(s->key, name, digest);
        s->tells_time |= ompjit__tells_time(text.data, text.size);
        ompjit__buf_add(&text, "", 1);
        if (!text.failed) {
            look_for_loops(s, name, text.data);
            look_through(s, text.data);
        }
    }
    ompjit__buf_free(&text);
}

/* A module is named by others, so each counts once. */
static void count_modules(struct search *s, const char *text)
{
    for (size_t i = 0; i < s->n; i++) {
        struct module *m = &s->modules[i];
        if (m->counts || !names_module(text, m->name))
            continue;
        m->counts = true;
        char *path = ompjit__format("%s/%s.mod", s->dirs->v[m->folder],
                                    m->name);
        s->failed |= !path;
        if (path)
            count(s, "module", m->name, path);
        free(path);
    }
}

/* --------------------------------------------------------- included files */

static bool is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Where it is found counts no file twice. */
static void count_path(struct search *s, const char *name, const char *path)
{
    for (size_t i = 0; i < s->included.n; i++)
        if (!strcmp(s->included.v[i], path))
            return;
    if (!is_file(path))
        return;
    ompjit__args_add(&s->included, path);
    count(s, "include", name, path);
}

/* In each folder that has it: which of them flang takes does not matter then. */
static void count_included(struct search *s, const char *name)
{
    if (*name == '/') {
        count_path(s, name, name);
        return;
    }
    for (size_t i = 0; i < s->dirs->n; i++) {
        char *path = ompjit__format("%s/%s", s->dirs->v[i], name);
        s->failed |= !path;
        if (path)
            count_path(s, name, path);
        free(path);
    }
}

/* The name in quotes or angle brackets behind the word, in its line. */
static char *quoted(const char *p)
{
    const char *begin = p + strcspn(p, "'\"<\n");
    if (!*begin || *begin == '\n')
        return NULL;
    const char ends[] = {*begin == '<' ? '>' : *begin, '\n', 0};
    size_t n = strcspn(begin + 1, ends);
    return n ? ompjit__format("%.*s", (int)n, begin + 1) : NULL;
}

static void count_includes(struct search *s, const char *text)
{
    static const char word[] = "include";
    for (const char *p = text; (p = strcasestr(p, word));) {
        p += sizeof word - 1;
        char *name = quoted(p);
        if (name)
            count_included(s, name);
        free(name);
    }
}

/* -------------------------------------------------------------- interface */

static void look_through(struct search *s, const char *text)
{
    s->names.storage |= has_name(text, "common", strlen("common")) ||
                        has_name(text, "equivalence", strlen("equivalence"));
    s->names.objects |= (strchr(text, '%') ||
                         has_name(text, "optional", strlen("optional"))) &&
                        (has_name(text, "target", strlen("target")) ||
                         has_name(text, "concurrent", strlen("concurrent")));
    count_modules(s, text);
    count_includes(s, text);
}

static void search(struct search *s, const char *source)
{
    s->tells_time = ompjit__tells_time(source, strlen(source));
    list_modules(s);
    look_through(s, source);
    for (size_t i = 0; i < s->n; i++)
        free(s->modules[i].name);
    free(s->modules);
    s->failed |= s->included.failed;
    ompjit__args_free(&s->included);
}

bool ompjit__fortran_inputs(const char *source, const ompjit__args *dirs,
                            ompjit__key *key)
{
    struct search s = {.dirs = dirs, .key = key};
    search(&s, source);
    free(s.reduces);
    return !s.tells_time && !s.failed;
}

struct ompjit__fortran_names ompjit__fortran_look(const char *source,
                                                  const ompjit__args *dirs)
{
    ompjit__key key = {0};
    struct search s = {.dirs = dirs, .key = &key};
    search(&s, source);
    free(s.reduces);
    ompjit__key_free(&key);
    if (s.failed)
        s.names = (struct ompjit__fortran_names){true, true};
    return s.names;
}

bool ompjit__fortran_loops_are_regions(const char *const *flags, size_t n)
{
    static const char flag[] = "-fdo-concurrent-to-openmp=";
    const char *value = "none";
    for (size_t i = 0; i < n; i++)
        if (!strncmp(flags[i], flag, sizeof flag - 1))
            value = flags[i] + sizeof flag - 1;
    return !strcmp(value, "device");
}

ompjit_status ompjit__fortran_reduce_fail(const char *place, ompjit_error *err)
{
    return ompjit__fail(
        err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
        "%s: error: a reduce clause of do concurrent has no effect on a "
        "device: flang 22 passes its variables by value. Write `!$omp "
        "target teams loop reduction(...)`, or compile with "
        "-fdo-concurrent-to-openmp=host", place);
}

ompjit_status ompjit__fortran_check(const char *source, const char *name,
                                    const char *const *flags, size_t nflags,
                                    const ompjit__args *dirs,
                                    ompjit_error *err)
{
    ompjit__key key = {0};
    struct search s = {.dirs = dirs, .key = &key};
    ompjit_status status = OMPJIT_OK;
    if (!ompjit__fortran_loops_are_regions(flags, nflags))
        return OMPJIT_OK;
    s.fixed = ompjit__fortran_name(name, NULL) == OMPJIT__FORTRAN_FIXED;
    look_for_loops(&s, name, source);
    if (!s.reduces)
        search(&s, source);
    if (s.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    else if (s.reduces)
        status = ompjit__fortran_reduce_fail(s.reduces, err);
    free(s.reduces);
    ompjit__key_free(&key);
    return status;
}
