/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Entries as files: FOLDER/ab/cdef..., named by their digests. A file is
 * written under a name of its own and renamed, so that readers see all of it or
 * nothing. Any failure is a miss. Files are not synced, which would take
 * milliseconds: after a machine's crash an incomplete file fails its digests.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache.h"

/* The file's name in its shard: the digest but for its first byte. */
static void name_of(const uint8_t digest[OMPJIT__DIGEST], char out[63])
{
    char text[65];
    ompjit__digest_text(digest, text);
    memcpy(out, text + 2, 63);
}

/* The descriptor of the entry's folder, which the caller closes; -1: there is
 * none. */
static int shard_of(const ompjit__store *store,
                    const uint8_t digest[OMPJIT__DIGEST], bool make)
{
    int root = ompjit__folder_open(store->path, make);
    if (root < 0)
        return -1;
    int shard = ompjit__folder_shard(root, digest[0], make);
    close(root);
    return shard;
}

/* ------------------------------------------------------------------ read */

/* A file's modification time is that of its last use. It is set again if it is
 * an hour old, or in the future. */
static void touch(int fd, const struct stat *s)
{
    enum { HOUR = 3600 };
    int64_t age = (int64_t)time(NULL) - (int64_t)s->st_mtim.tv_sec;
    if (age > HOUR || age < -1)
        futimens(fd, NULL);
}

/* Reads exactly `size` bytes, and puts a NUL behind them. False: the file has
 * fewer, or memory ran out. */
static bool read_all(int fd, size_t size, ompjit__buf *out)
{
    char *data = malloc(size + 1);
    size_t got = 0;
    while (data && got < size) {
        ssize_t n = read(fd, data + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    if (!data || got < size) {
        free(data);
        return false;
    }
    data[size] = 0;
    *out = (ompjit__buf){.data = data, .size = size, .capacity = size + 1};
    return true;
}

/* Does not read a file that others own or may write, nor one that is too small
 * or too large for an entry. `use`: notes the time. */
static bool read_file(int fd, bool use, ompjit__buf *out)
{
    enum { MAX_SIZE = 1 << 30 };
    struct stat s;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_uid != geteuid() ||
        s.st_mode & 022 || s.st_size < OMPJIT__ENTRY_HEADER ||
        s.st_size > MAX_SIZE || !read_all(fd, (size_t)s.st_size, out))
        return false;
    if (use)
        touch(fd, &s);
    return true;
}

/* The descriptors of folders are opened anew for each entry (folder.c). */
static bool read_entry(const ompjit__store *store,
                       const uint8_t digest[OMPJIT__DIGEST], bool use,
                       ompjit__buf *out)
{
    char name[63];
    name_of(digest, name);
    int shard = shard_of(store, digest, false);
    if (shard < 0)
        return false;
    int fd = openat(shard, name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool good = fd >= 0 && read_file(fd, use, out);
    if (fd >= 0)
        close(fd);
    close(shard);
    return good;
}

bool ompjit__store_read(const ompjit__store *store,
                        const uint8_t digest[OMPJIT__DIGEST], ompjit__buf *out)
{
    return read_entry(store, digest, true, out);
}

bool ompjit__store_peek(const ompjit__store *store,
                        const uint8_t digest[OMPJIT__DIGEST], ompjit__buf *out)
{
    return read_entry(store, digest, false, out);
}

/* ----------------------------------------------------------------- write */

/* Makes a file with a name of its own, also among processes of other machines
 * that share the folder: O_EXCL decides. */
static int make_temporary(int shard, char name[64])
{
    for (int i = 0; i < 16; i++) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        snprintf(name, 64, "tmp-%lx-%lx-%lx", (unsigned long)getpid(),
                 (unsigned long)t.tv_sec, (unsigned long)t.tv_nsec);
        int fd = openat(shard, name,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* False: the disk is full, or another error; the file is then incomplete. */
static bool write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Beyond the limit of RLIMIT_FSIZE a write raises SIGXFSZ, which would end the
 * process. */
static bool may_write(uint64_t size)
{
    struct rlimit limit;
    return !getrlimit(RLIMIT_FSIZE, &limit) &&
           (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

/* Writes the parts under a name of its own, and renames that. On failure
 * nothing is left behind. */
static bool publish(int shard, const char *name, const struct iovec *parts,
                    int n)
{
    char temporary[64];
    int fd = make_temporary(shard, temporary);
    if (fd < 0)
        return false;
    bool good = true;
    for (int i = 0; good && i < n; i++)
        good = write_all(fd, parts[i].iov_base, parts[i].iov_len);
    good = !close(fd) && good;
    good = good && !renameat(shard, temporary, shard, name);
    if (!good)
        unlinkat(shard, temporary, 0);
    return good;
}

/* Writes the entry also to a full cache, and prunes after that. An entry larger
 * than the limit is not written. */
bool ompjit__store_write(ompjit__store *store,
                         const uint8_t digest[OMPJIT__DIGEST],
                         const struct iovec *parts, int n)
{
    uint64_t size = 0;
    char name[63];
    for (int i = 0; i < n; i++)
        size += parts[i].iov_len;
    if (size > store->limit || !may_write(size))
        return false;
    int shard = shard_of(store, digest, true);
    if (shard < 0)
        return false;
    name_of(digest, name);
    bool good = publish(shard, name, parts, n);
    close(shard);
    if (good) {
        atomic_fetch_add(&store->written, size);
        ompjit__store_watch(store, digest);
    }
    return good;
}

/* False: there is no such file, or it cannot be removed. */
bool ompjit__store_remove(const ompjit__store *store,
                          const uint8_t digest[OMPJIT__DIGEST])
{
    char name[63];
    name_of(digest, name);
    int shard = shard_of(store, digest, false);
    if (shard < 0)
        return false;
    bool good = !unlinkat(shard, name, 0);
    close(shard);
    return good;
}
