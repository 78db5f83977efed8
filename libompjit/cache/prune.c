/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Lists a store's entries, measures its size and prunes it. There is no stored
 * sum, which killed processes would falsify: the size is read from the folders.
 * Digests spread entries evenly over the 256 folders, so one folder gives an
 * estimate, and all are read only if that is above the limit.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache.h"

/* ------------------------------------------------------------------ list */

/* A lower-case hexadecimal digit; -1: it is none. */
static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* The digest of a file's name; false where it is no entry's. */
static bool digest_of(unsigned shard, const char *name,
                      uint8_t out[OMPJIT__DIGEST])
{
    if (strlen(name) != 2 * OMPJIT__DIGEST - 2)
        return false;
    out[0] = (uint8_t)shard;
    for (int i = 1; i < OMPJIT__DIGEST; i++, name += 2) {
        int high = digit(name[0]), low = digit(name[1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* Is it a temporary file of a process that was killed? No write takes an hour.
 * Times up to an hour in the future may come from another machine's clock. */
static bool is_litter(const char *name, const struct stat *s)
{
    enum { HOUR = 3600 };
    int64_t age = (int64_t)time(NULL) - (int64_t)s->st_mtim.tv_sec;
    return !strncmp(name, "tmp-", 4) && (age > HOUR || age < -HOUR);
}

/* Also removes temporary files that killed processes have left behind. */
void ompjit__store_list_shard(int root, unsigned shard, ompjit__buf *items)
{
    int fd = ompjit__folder_shard(root, shard, false);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat s;
        ompjit__item item;
        if (*e->d_name == '.' ||
            fstatat(fd, e->d_name, &s, AT_SYMLINK_NOFOLLOW))
            continue;
        item.size = (uint64_t)s.st_size;
        item.used = s.st_mtim.tv_sec;
        if (digest_of(shard, e->d_name, item.digest))
            ompjit__buf_add(items, &item, sizeof item);
        else if (is_litter(e->d_name, &s))
            unlinkat(fd, e->d_name, 0);
    }
    closedir(dir);
}

/* A new list each time: other processes change the folders. */
size_t ompjit__store_list(const ompjit__store *store, ompjit__buf *items)
{
    int root = ompjit__folder_open(store->path, false);
    for (unsigned i = 0; root >= 0 && i < OMPJIT__SHARDS; i++)
        ompjit__store_list_shard(root, i, items);
    if (root >= 0)
        close(root);
    return items->size / sizeof(ompjit__item);
}

/* ----------------------------------------------------------------- prune */

/* For qsort: entries that were used longest ago come first. */
static int by_use(const void *a, const void *b)
{
    int64_t x = ((const ompjit__item *)a)->used;
    int64_t y = ((const ompjit__item *)b)->used;
    return (x > y) - (x < y);
}

/* Entries with a time in the future count as the oldest. If the clock was ahead
 * once, they would otherwise be the latest for ever. */
static void judge_times(ompjit__item *items, size_t n)
{
    enum { MINUTE = 60 };
    int64_t now = (int64_t)time(NULL);
    for (size_t i = 0; i < n; i++)
        if (items[i].used > now + MINUTE)
            items[i].used = 0;
}

/* Returns how many were removed. Another process may prune at the same time: an
 * entry that is gone already is not counted, but its bytes are. */
size_t ompjit__store_prune(ompjit__store *store, uint64_t target)
{
    size_t removed = 0;
    uint64_t total = 0;
    ompjit__buf list = {0};
    size_t n = ompjit__store_list(store, &list);
    ompjit__item *items = (ompjit__item *)(void *)list.data;
    for (size_t i = 0; i < n; i++)
        total += items[i].size;
    if (total > target) {
        judge_times(items, n);
        qsort(items, n, sizeof *items, by_use);
    }
    for (size_t i = 0; i < n && total > target; i++) {
        total -= items[i].size;
        removed += ompjit__store_remove(store, items[i].digest);
    }
    ompjit__buf_free(&list);
    return removed;
}

/* Bytes in all folders, if they are like this one. */
static uint64_t estimate(const ompjit__store *store, unsigned shard)
{
    ompjit__buf items = {0};
    uint64_t total = 0;
    int root = ompjit__folder_open(store->path, false);
    if (root < 0)
        return 0;
    ompjit__store_list_shard(root, shard, &items);
    close(root);
    const ompjit__item *item = (const ompjit__item *)(void *)items.data;
    for (size_t i = 0; i < items.size / sizeof *item; i++)
        total += item[i].size;
    ompjit__buf_free(&items);
    return total * OMPJIT__SHARDS;
}

/* Checks the size after a process's first entry, and each time it has written
 * 1/64 of the limit. Prunes to 90 % of the limit, which leaves room for a
 * while. */
void ompjit__store_watch(ompjit__store *store,
                         const uint8_t digest[OMPJIT__DIGEST])
{
    uint64_t written = atomic_load(&store->written);
    bool first = !atomic_exchange(&store->watched, true);
    if (!first && written < store->limit / 64)
        return;
    if (!atomic_compare_exchange_strong(&store->written, &written, 0))
        return; /* another thread looks */
    if (estimate(store, digest[0]) <= store->limit)
        return;
    uint64_t target = store->limit - store->limit / 10;
    uint64_t total = 0;
    ompjit__buf list = {0};
    size_t n = ompjit__store_list(store, &list);
    const ompjit__item *items = (const ompjit__item *)(void *)list.data;
    for (size_t i = 0; i < n; i++)
        total += items[i].size;
    ompjit__buf_free(&list);
    if (total > store->limit)
        atomic_fetch_add(&store->evicted, ompjit__store_prune(store, target));
}
