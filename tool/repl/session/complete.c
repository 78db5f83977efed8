/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Words that go on with a command's argument: some of a few, or files.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/repl/session/complete.h"

bool complete_add(struct answer *out, const char *text, size_t size,
                  const char *name, const char *detail)
{
    if (strlen(name) < size || memcmp(name, text, size))
        return true;
    struct completion *more = realloc(
        out->completions, (out->ncompletions + 1) * sizeof *more);
    if (!more)
        return false;
    out->completions = more;
    more += out->ncompletions++;
    more->name = ompjit__strdup(name);
    more->detail = ompjit__strdup(detail);
    return more->name && more->detail;
}

bool complete_choices(struct answer *out, const char *text, size_t size,
                      const char *choices)
{
    char word[32];
    bool good = true;
    for (const char *p = choices + strspn(choices, "["); good && *p;) {
        size_t n = strcspn(p, "|[]");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        good = complete_add(out, text, size, word, "");
        p += strcspn(p, "|");
        p += *p == '|';
    }
    return good;
}

static int compare(const void *a, const void *b)
{
    const struct completion *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* A folder's name ends in a slash: what is typed next is a name in it. */
static bool add_file(struct answer *out, const char *text, size_t size,
                     const char *path)
{
    struct stat is;
    const bool folder = !stat(path, &is) && S_ISDIR(is.st_mode);
    char *name = ompjit__format("%s%s", path, folder ? "/" : "");
    const bool good = name && complete_add(out, text, size, name,
                                           folder ? "folder" : "file");
    free(name);
    return good;
}

/* Hidden files are for those alone who type the dot. */
bool complete_files(struct answer *out, const char *text, size_t size)
{
    size_t folder = size;
    while (folder && text[folder - 1] != '/')
        folder--;
    char *where = ompjit__format("%.*s", folder ? (int)folder : 1,
                                 folder ? text : ".");
    DIR *dir = where ? opendir(where) : NULL;
    bool good = where != NULL;
    for (struct dirent *each; good && dir && (each = readdir(dir));) {
        if (each->d_name[0] == '.' && (folder == size || text[folder] != '.'))
            continue;
        char *path = ompjit__format("%.*s%s", (int)folder, text, each->d_name);
        good = path && add_file(out, text, size, path);
        free(path);
    }
    if (dir)
        closedir(dir);
    free(where);
    if (out->ncompletions)
        qsort(out->completions, out->ncompletions, sizeof *out->completions,
              compare);
    return good;
}
