/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Private folders, and the .mod files that flang writes there. They are kept as
 * bytes with the unit of the source that defines the modules, and written again
 * for the sources that use them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/flang/flang.h"

/* ---------------------------------------------------------------- folders */

static ompjit_status fail(const char *verb, const char *path,
                          ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_FRONTEND,
                        "cannot %s %s: %s", verb, path, strerror(errno));
}

ompjit_status ompjit__folder_new(char **path, ompjit_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char *folder =
        ompjit__format("%s/ompjit-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!folder)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    if (mkdtemp(folder)) {
        *path = folder;
        return OMPJIT_OK;
    }
    ompjit_status status = fail("make the folder", folder, err);
    free(folder);
    return status;
}

static int remove_one(const char *path, const struct stat *s, int kind,
                      struct FTW *where)
{
    (void)s;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

void ompjit__folder_free(char *path)
{
    enum { DESCRIPTORS = 8 };
    if (path)
        nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    free(path);
}

/* ---------------------------------------------------------------- modules */

/* A plain file name that ends in ".mod". */
static bool is_module(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name && !strcmp(dot, ".mod") && !strchr(name, '/');
}

static bool is_in(const char *name, const char *folder,
                  const ompjit__args *dirs)
{
    bool found = false;
    for (size_t i = 0; i < dirs->n && !found; i++) {
        if (!strcmp(dirs->v[i], folder))
            continue;
        char *path = ompjit__format("%s/%s", dirs->v[i], name);
        found = !path || !access(path, F_OK);
        free(path);
    }
    return found;
}

bool ompjit__modules_hidden(const char *folder, const ompjit__args *dirs)
{
    DIR *dir = opendir(folder);
    bool hidden = false;
    for (struct dirent *e; dir && !hidden && (e = readdir(dir));)
        hidden = is_module(e->d_name) && is_in(e->d_name, folder, dirs);
    if (dir)
        closedir(dir);
    return hidden;
}

static ompjit_status pack_file(const char *folder, const char *name,
                               ompjit__buf *out, ompjit_error *err)
{
    ompjit__buf text = {0};
    char *path = ompjit__format("%s/%s", folder, name);
    ompjit_status status = path ? ompjit__read_file(path, &text, err)
                                : ompjit__no_memory(err,
                                                    OMPJIT_STAGE_FRONTEND);
    if (!status) {
        ompjit__pack_string(out, name);
        ompjit__pack_bytes(out, text.data, text.size);
    }
    ompjit__buf_free(&text);
    free(path);
    return status;
}

ompjit_status ompjit__modules_pack(const char *folder, ompjit__buf *out,
                                   ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    ompjit__buf files = {0};
    uint64_t n = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return fail("read", folder, err);
    for (struct dirent *e; !status && (e = readdir(dir));)
        if (is_module(e->d_name)) {
            status = pack_file(folder, e->d_name, &files, err);
            n++;
        }
    closedir(dir);
    ompjit__pack_number(out, n);
    ompjit__buf_add(out, files.data, files.size);
    out->failed |= files.failed;
    ompjit__buf_free(&files);
    return status;
}

/* Are these the file's bytes? Then it keeps its time. */
static bool has(const char *path, const void *bytes, size_t size)
{
    ompjit__buf text = {0};
    bool same = !access(path, R_OK) && !ompjit__read_file(path, &text, NULL) &&
                text.size == size && (!size || !memcmp(text.data, bytes, size));
    ompjit__buf_free(&text);
    return same;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

/* Whole or not at all: another process may read it. */
static ompjit_status replace(const char *path, const void *bytes, size_t size,
                             ompjit_error *err)
{
    enum { MODE = 0644 };
    ompjit_status status = OMPJIT_OK;
    char *young = ompjit__format("%s-XXXXXX", path);
    int fd = young ? mkostemp(young, O_CLOEXEC) : -1;
    if (fd < 0 || !write_all(fd, bytes, size) || fchmod(fd, MODE) ||
        rename(young, path)) {
        status = fail("write", path, err);
        if (fd >= 0)
            unlink(young);
    }
    if (fd >= 0)
        close(fd);
    free(young);
    return status;
}

ompjit_status ompjit__modules_install(ompjit__reader *r, const char *folder,
                                      ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    for (size_t n = ompjit__read_count(r); !status && !r->bad && n; n--) {
        size_t size;
        char *name = ompjit__read_string(r);
        const void *bytes = ompjit__read_bytes(r, &size);
        char *path = name ? ompjit__format("%s/%s", folder, name) : NULL;
        r->bad |= !name || !is_module(name);
        if (!r->bad && path && !has(path, bytes, size))
            status = replace(path, bytes, size, err);
        free(path);
        free(name);
    }
    return status;
}
