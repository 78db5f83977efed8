/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One process, and one thread in it, makes an entry; the others wait for it.
 * The right is an open file description lock (F_OFD_SETLK) on one byte of the
 * file "locks", at an offset from the key's digest. It ends with the process
 * that holds it, and works where several machines share the folder. If it does
 * not work, or takes too long, entries are made twice, which is harmless.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache.h"

/* Opens the file of locks, which is made if missing and stays empty; -1: it
 * cannot be opened. */
static int open_locks(const ompjit__store *store)
{
    int root = ompjit__folder_open(store->path, true);
    if (root < 0)
        return -1;
    int fd = openat(root, "locks",
                    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                    0600);
    close(root);
    return fd;
}

/* Sets a lock. Returns 0 or an errno. */
static int try_lock(int fd, const uint8_t digest[OMPJIT__DIGEST], short type)
{
    uint64_t at;
    memcpy(&at, digest, sizeof at);
    struct flock range = {.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)(at >> 2),
                          .l_len = 1};
    int result;
    do
        result = fcntl(fd, F_OFD_SETLK, &range);
    while (result && errno == EINTR);
    return result ? errno : 0;
}

/* Sleeps for less than 1000 milliseconds. */
static void rest(unsigned ms)
{
    struct timespec t = {.tv_nsec = (long)ms * 1000000};
    nanosleep(&t, NULL);
}

/* Polls after 1, 2, 4, 8 and then each 16 ms: another process cannot wake this
 * one, and a blocking lock has no time limit. */
void ompjit__claim_begin(const ompjit__store *store,
                          const uint8_t digest[OMPJIT__DIGEST],
                          unsigned limit_ms, ompjit__claim *out)
{
    enum { LONGEST_REST = 16 };
    *out = (ompjit__claim){.fd = open_locks(store)};
    if (out->fd < 0)
        return;
    uint64_t deadline = ompjit__now() + limit_ms * 1000000ull;
    unsigned ms = 1;
    int cause;
    while ((cause = try_lock(out->fd, digest, F_WRLCK)) == EAGAIN ||
           cause == EACCES) {
        out->waited = true;
        if (ompjit__now() > deadline)
            break;
        rest(ms);
        ms = ms < LONGEST_REST ? 2 * ms : ms;
    }
    if (cause)
        ompjit__claim_end(out);
}

/* Unlocks before it closes: a child of fork may have a copy of the descriptor,
 * which would keep the lock. */
void ompjit__claim_end(ompjit__claim *claim)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (claim->fd < 0)
        return;
    fcntl(claim->fd, F_OFD_SETLK, &all);
    close(claim->fd);
    claim->fd = -1;
}
