/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Included files, and whether they are still what they were. A file of the
 * same size and time is taken to be; of another time, its text decides. A
 * header that appears where an earlier folder of the search path had none goes
 * unnoticed.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "frontend/clang/clang.h"

bool ompjit__tells_time(const char *text, size_t size)
{
    static const char *const words[] = {"__DATE__", "__TIME__",
                                        "__TIMESTAMP__"};
    for (size_t i = 0; size && i < OMPJIT__COUNT(words); i++)
        if (memmem(text, size, words[i], strlen(words[i])))
            return true;
    return false;
}

/* -------------------------------------------------------------- make rules */

/* The next file of a list of rules ("target: file file \\\n file"), malloc'd;
 * NULL at the end. Spaces and '#' have a backslash before them, '$' doubles. */
static char *next_file(const char **at)
{
    const char *p = *at;
    for (;;) {
        while (*p == ' ' || *p == '\n' || (*p == '\\' && p[1] == '\n'))
            p++;
        size_t n = strcspn(p, " \n");
        if (!n || p[n - 1] != ':') /* no target */
            break;
        p += n;
    }
    ompjit__buf name = {0};
    for (; *p && *p != ' ' && *p != '\n'; p++) {
        if ((*p == '\\' && (p[1] == ' ' || p[1] == '#')) ||
            (*p == '$' && p[1] == '$'))
            p++;
        ompjit__buf_add(&name, p, 1);
    }
    *at = p;
    if (name.failed)
        ompjit__buf_free(&name);
    return name.data;
}

/* ----------------------------------------------------------------- files */

/* A file as it was, in a payload as these bytes. */
struct file {
    uint64_t size;
    int64_t seconds, nanoseconds; /* of the last change */
    uint8_t digest[OMPJIT__DIGEST];
};

/* Size and time alone; false: it is no regular file, or is not there. */
static bool look(const char *path, struct file *out)
{
    struct stat s;
    if (stat(path, &s) || !S_ISREG(s.st_mode))
        return false;
    *out = (struct file){.size = (uint64_t)s.st_size,
                         .seconds = s.st_mtim.tv_sec,
                         .nanoseconds = s.st_mtim.tv_nsec};
    return true;
}

static bool read_digest(const char *path, struct file *out, bool *tells_time)
{
    ompjit__buf text = {0};
    bool good = !ompjit__read_file(path, &text, NULL);
    if (good) {
        ompjit__digest(text.data, text.size, out->digest);
        *tells_time = ompjit__tells_time(text.data, text.size);
    }
    ompjit__buf_free(&text);
    return good;
}

/* A file that was changed since the compile began may not be the one that was
 * read. Times are coarse, so the same time counts as changed. */
static bool older(const struct file *file, const struct timespec *than)
{
    return file->seconds < than->tv_sec ||
           (file->seconds == than->tv_sec &&
            file->nanoseconds < than->tv_nsec);
}

/* False: the file cannot be relied on, and the unit is not remembered. */
static bool pack_file(const char *path, const struct timespec *began,
                      ompjit__buf *out)
{
    struct file file;
    bool tells_time = false;
    if (!look(path, &file) || !older(&file, began) ||
        !read_digest(path, &file, &tells_time) || tells_time)
        return false;
    ompjit__pack_string(out, path);
    ompjit__pack_bytes(out, &file, sizeof file);
    return true;
}

/* ------------------------------------------------------------- interface */

/* Both halves read much the same. */
static bool seen(char **names, size_t n, const char *name)
{
    while (n--)
        if (!strcmp(names[n], name))
            return true;
    return false;
}

bool ompjit__deps_pack(const char *rules, const char *source,
                       const struct timespec *began, ompjit__buf *out)
{
    char **names = NULL, *name;
    size_t n = 0;
    bool good = true;
    ompjit__buf files = {0};
    while (good && (name = next_file(&rules))) {
        char **more = NULL;
        bool known = !strcmp(name, source) || seen(names, n, name);
        if (!known && (more = realloc(names, (n + 1) * sizeof *names))) {
            names = more;
            names[n++] = name;
            good = pack_file(name, began, &files);
        } else {
            free(name);
            good = known;
        }
    }
    ompjit__pack_number(out, n);
    ompjit__buf_add(out, files.data, files.size);
    out->failed |= files.failed;
    while (n)
        free(names[--n]);
    free(names);
    ompjit__buf_free(&files);
    return good;
}

/* Another time with the same text is no change: a file may have been checked
 * out again. */
static bool unchanged(const char *path, const struct file *was)
{
    struct file now;
    bool tells_time;
    if (!look(path, &now) || now.size != was->size)
        return false;
    if (now.seconds == was->seconds && now.nanoseconds == was->nanoseconds)
        return true;
    return read_digest(path, &now, &tells_time) &&
           !memcmp(now.digest, was->digest, sizeof now.digest);
}

bool ompjit__deps_check(ompjit__reader *r)
{
    bool good = true;
    for (size_t n = ompjit__read_count(r); good && n; n--) {
        struct file was;
        size_t size;
        char *path = ompjit__read_string(r);
        const void *file = ompjit__read_bytes(r, &size);
        good = path && size == sizeof was;
        if (good) {
            memcpy(&was, file, size);
            good = unchanged(path, &was);
        }
        free(path);
    }
    return good && !r->bad;
}
