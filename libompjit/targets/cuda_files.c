/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The places of the pieces of a CUDA toolkit: the table cuda_files.def
 * times the roots that the environment names.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "targets/cuda_files.h"

enum root { HOME, SYSTEM, WHEEL };

static const struct {
    enum ompjit__cuda_file kind;
    enum root root;
    const char *path;
} files[] = {
#define FILE(kind, root, path) {OMPJIT__CUDA_##kind, root, path},
#include "targets/cuda_files.def"
#undef FILE
};

/* A growing list that remembers that memory ran out. */
struct list {
    char **paths;
    size_t n;
    bool failed;
};

static void append(struct list *list, char *path)
{
    char **grown = path ? realloc(list->paths, (list->n + 2) * sizeof *grown)
                        : NULL;
    if (!grown) {
        free(path);
        list->failed = true;
        return;
    }
    list->paths = grown;
    list->paths[list->n++] = path;
    list->paths[list->n] = NULL;
}

/* Adds the rows of that kind and root below the first n bytes of `folder`. */
static void add_below(struct list *list, enum ompjit__cuda_file kind,
                      enum root root, const char *folder, size_t n)
{
    for (size_t i = 0; n && i < OMPJIT__COUNT(files); i++)
        if (files[i].kind == kind && files[i].root == root)
            append(list, ompjit__format("%.*s/%s", (int)n, folder,
                                        files[i].path));
}

/* As add_below, under each of the folders in an environment variable. */
static void add_folders(struct list *list, enum ompjit__cuda_file kind,
                        enum root root, const char *variable)
{
    const char *folders = getenv(variable);
    while (folders && *folders) {
        size_t n = strcspn(folders, ":");
        add_below(list, kind, root, folders, n);
        folders += n + (folders[n] == ':');
    }
}

static int newest_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

static void add_installed(struct list *list, enum ompjit__cuda_file kind)
{
    static const char standard[] = "/usr/local/cuda";
    add_below(list, kind, HOME, standard, sizeof standard - 1);
    glob_t found;
    if (glob("/usr/local/cuda-*", GLOB_NOSORT, NULL, &found))
        return;
    qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv,
          newest_first);
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_below(list, kind, HOME, found.gl_pathv[i],
                  strlen(found.gl_pathv[i]));
    globfree(&found);
}

static bool is_program(enum ompjit__cuda_file kind)
{
    return kind == OMPJIT__CUDA_PTXAS || kind == OMPJIT__CUDA_NVDISASM ||
           kind == OMPJIT__CUDA_CUOBJDUMP;
}

static void add_system(struct list *list, enum ompjit__cuda_file kind)
{
    if (is_program(kind)) {
        add_folders(list, kind, SYSTEM, "PATH");
        return;
    }
    for (size_t i = 0; i < OMPJIT__COUNT(files); i++)
        if (files[i].kind == kind && files[i].root == SYSTEM)
            append(list, ompjit__strdup(files[i].path));
}

char **ompjit__cuda_paths(enum ompjit__cuda_file kind)
{
    struct list list = {0};
    const char *only = getenv("OMPJIT_CUDA_HOME");
    bool chosen = only && *only;
    if (chosen) {
        add_below(&list, kind, HOME, only, strlen(only));
    } else {
        add_folders(&list, kind, HOME, "CUDA_HOME");
        add_folders(&list, kind, HOME, "CUDA_PATH");
        add_installed(&list, kind);
    }
    if (!chosen || kind == OMPJIT__CUDA_DRIVER)
        add_system(&list, kind);
    add_folders(&list, kind, WHEEL, "OMPJIT_CUDA_WHEELS");
    if (!list.failed)
        return list.paths;
    ompjit__cuda_paths_free(list.paths);
    return NULL;
}

void ompjit__cuda_paths_free(char **paths)
{
    for (char **p = paths; p && *p; p++)
        free(*p);
    free(paths);
}

char *ompjit__cuda_find(enum ompjit__cuda_file kind, int mode)
{
    char **paths = ompjit__cuda_paths(kind), *found = NULL;
    for (char **p = paths; p && *p && !found; p++)
        if (!access(*p, mode))
            found = ompjit__strdup(*p);
    ompjit__cuda_paths_free(paths);
    return found;
}
