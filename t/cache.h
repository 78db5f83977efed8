/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A folder of a test's own, contexts on it, and entries that need no compiler,
 * for the tests of the cache.
 */
#ifndef OMPJIT_T_CACHE_H
#define OMPJIT_T_CACHE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/cache.h"
#include "ompjit_cache.h"
#include "tap.h"

static char folder[PATH_MAX]; /* does not exist at first */

static inline int remove_one(const char *path, const struct stat *s, int type,
                             struct FTW *at)
{
    return remove(path);
}

static inline void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A new folder's name; the old one's contents are gone. */
static inline void fresh_folder(void)
{
    if (*folder) {
        chmod(folder, 0700);
        remove_tree(folder);
    } else {
        const char *tmp = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/ompjit-cache-XXXXXX",
                 tmp && *tmp ? tmp : "/tmp");
        if (!mkdtemp(folder))
            skip_all("cannot make a folder: %s", strerror(errno));
        rmdir(folder);
    }
}

static inline ompjit_context *open_context(uint64_t size)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_error err;
    o.devices = "host";
    o.cache.mode = OMPJIT_CACHE_DISK;
    o.cache.dir = folder;
    o.cache.limit = size;
    if (!ompjit_context_create(&o, &ctx, &err))
        return ctx;
    printf("Bail out! %s\n", err.text);
    exit(1);
}

/* Entry number i: its payload is what its key says, `size` bytes of it. */
static inline void make_key(ompjit__key *key, unsigned i)
{
    ompjit__key_begin(key, "test");
    ompjit__buf_printf(&key->text, "number %u\n", i);
    ompjit__key_end(key);
}

static inline void make_payload(ompjit__buf *payload, unsigned i, size_t size)
{
    char number[16];
    int n = snprintf(number, sizeof number, "%u,", i);
    *payload = (ompjit__buf){0};
    while (payload->size < size)
        ompjit__buf_add(payload, number, (size_t)n);
}

struct wanted {
    unsigned i;
    size_t size;
    bool good;
};

static inline bool take(void *data, const void *payload, size_t size)
{
    struct wanted *w = data;
    ompjit__buf want;
    make_payload(&want, w->i, w->size);
    w->good = size == want.size && !memcmp(payload, want.data, size);
    ompjit__buf_free(&want);
    return w->good;
}

static inline bool get_entry(ompjit_context *ctx, unsigned i, size_t size)
{
    ompjit__key key;
    struct wanted w = {i, size, false};
    make_key(&key, i);
    bool hit = ompjit__cache_get(ctx->cache, &key, take, &w);
    ompjit__key_free(&key);
    return hit;
}

static inline void put_entry(ompjit_context *ctx, unsigned i, size_t size)
{
    ompjit__key key;
    ompjit__buf payload;
    make_key(&key, i);
    make_payload(&payload, i, size);
    ompjit__cache_put(ctx->cache, &key, &payload);
    ompjit__buf_free(&payload);
    ompjit__key_free(&key);
}

/* Gets the entry, or makes it as a compile would; true: made it. */
static inline bool use_entry(ompjit_context *ctx, unsigned i, size_t size)
{
    ompjit__key key;
    struct wanted w = {i, size, false};
    ompjit__claim claim;
    make_key(&key, i);
    bool hit = ompjit__cache_enter(ctx->cache, &key, take, &w, &claim);
    if (!hit) {
        ompjit__buf payload;
        make_payload(&payload, i, size);
        ompjit__cache_put(ctx->cache, &key, &payload);
        ompjit__buf_free(&payload);
        ompjit__claim_end(&claim);
    }
    ompjit__key_free(&key);
    return !hit;
}

static inline void path_of(unsigned i, char out[PATH_MAX])
{
    ompjit__key key;
    char text[65];
    make_key(&key, i);
    ompjit__digest_text(key.digest, text);
    snprintf(out, PATH_MAX, "%.3000s/%.2s/%s", folder, text, text + 2);
    ompjit__key_free(&key);
}

/* How many files lie in the folders of entries whose names begin so. */
static inline unsigned count_files(const char *with)
{
    unsigned n = 0;
    for (unsigned i = 0; i < OMPJIT__SHARDS; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.3000s/%02x", folder, i);
        DIR *dir = opendir(path);
        for (struct dirent *e; dir && (e = readdir(dir));)
            n += *e->d_name != '.' && !strncmp(e->d_name, with, strlen(with));
        if (dir)
            closedir(dir);
    }
    return n;
}

static inline ompjit_cache_stats stats_of(ompjit_context *ctx)
{
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    ompjit_cache_stats_get(ctx, &stats, NULL);
    return stats;
}
#endif
