/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The cache's folder, and the 256 shards in it. They are opened for each use:
 * if the application closes all descriptors, a kept number may become another
 * file's. The folders themselves must not be links, and those that others may
 * write are not used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hold.h"
#include "cache/cache.h"

/* The folder itself must not be a link: O_NOFOLLOW. */
enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

char *ompjit__folder_default(void)
{
    const char *own = getenv("OMPJIT_CACHE_DIR");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own && *own)
        return ompjit__strdup(own);
    if (xdg && *xdg == '/') /* a relative one is to be ignored: XDG */
        return ompjit__format("%s/ompjit", xdg);
    return home && *home == '/' ? ompjit__format("%s/.cache/ompjit", home)
                                : NULL;
}

/* Makes the folders of the path that are missing. */
static bool make_path(const char *path)
{
    char *p = ompjit__strdup(path);
    bool good = p && *p;
    for (char *s = good ? p + 1 : NULL; good && (s = strchr(s, '/')); s++) {
        *s = 0;
        good = !mkdir(p, 0700) || errno == EEXIST || errno == EROFS ||
               errno == EACCES; /* the folder may exist nevertheless */
        *s = '/';
    }
    good = good && (!mkdir(p, 0700) || errno == EEXIST);
    free(p);
    return good;
}

/* Returns the descriptor. If others own the folder or may write there, closes
 * it and returns -1. */
static int ours_alone(int fd)
{
    struct stat s;
    if (fd < 0)
        return -1;
    if (!fstat(fd, &s) && s.st_uid == geteuid() && !(s.st_mode & 022))
        return fd;
    close(fd);
    return -1;
}

/* Writes the file that tells backup programs to skip the folder
 * (bford.info/cachedir). */
static void tag(int root)
{
    static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# Compiled kernels of libompjit.\n";
    int fd = openat(root, "CACHEDIR.TAG",
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    ompjit__held held;
    ompjit__hold(&held, SIGXFSZ);
    if (write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1)
        unlinkat(root, "CACHEDIR.TAG", 0);
    ompjit__release(&held);
    close(fd);
}

/* The process that makes the folder also writes the tag. */
int ompjit__folder_open(const char *path, bool make)
{
    int fd = open(path, FLAGS);
    if (fd >= 0 || !make || errno != ENOENT)
        return ours_alone(fd);
    if (!make_path(path))
        return -1;
    fd = ours_alone(open(path, FLAGS));
    if (fd >= 0)
        tag(fd);
    return fd;
}

/* Two processes may make it at once: EEXIST is as good. */
int ompjit__folder_shard(int root, unsigned shard, bool make)
{
    char name[3];
    snprintf(name, sizeof name, "%02x", shard & 255);
    int fd = openat(root, name, FLAGS);
    if (fd < 0 && make && errno == ENOENT &&
        (!mkdirat(root, name, 0700) || errno == EEXIST))
        fd = openat(root, name, FLAGS);
    return ours_alone(fd);
}
