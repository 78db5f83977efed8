/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A context's cache. An entry is looked for in memory (entries that could not
 * be written to disk), at the application's callback, and on disk. A new one
 * goes to the callback and to disk, or, if the disk does not take it, into
 * memory. The lock is held for memory alone; a child of fork gives up a lock
 * that another thread of the parent held.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fork.h"
#include "cache/cache.h"

/* Bytes on disk, if nobody says how many, and in a context's memory. */
#define DEFAULT_LIMIT ((uint64_t)1 << 30)
#define MEMORY_LIMIT ((uint64_t)64 << 20)
/* CLAIM_MS: milliseconds to wait for another process that makes an entry.
 * BUCKETS: lists of nodes, by the digest's first byte. */
enum { CLAIM_MS = 20000, BUCKETS = 256 };

/* An entry that this context has used. */
struct node {
    struct node *next;
    uint8_t digest[OMPJIT__DIGEST];
    ompjit__buf bytes; /* empty: the store or the callback has it */
};

struct ompjit__cache {
    ompjit_context *ctx;
    ompjit__store store; /* path NULL: none */
    ompjit_cache_get_fn *get;
    ompjit_cache_put_fn *put;
    void *data;
    pthread_mutex_t lock; /* nodes, kept */
    ompjit__fork_lock at_fork;
    struct node *nodes[BUCKETS];
    uint64_t kept; /* bytes in nodes */
    _Atomic uint64_t hits[3], misses, stored, rejected, waited, read, written;
};
/* The places of an entry, in the order in which they are asked; index of
 * `hits`. */
enum { MEMORY, CALLBACK, DISK };

/* -------------------------------------------------------------- settings */

/* Options come before OMPJIT_CACHE, whose empty value is as if it were not set.
 */
static ompjit_status read_mode(const ompjit_context_options *o,
                               ompjit_cache_mode *mode, ompjit_error *err)
{
    static const struct {
        const char *word;
        ompjit_cache_mode mode;
    } words[] = {{"", OMPJIT_CACHE_DISK},
                 {"1", OMPJIT_CACHE_DISK},
                 {"disk", OMPJIT_CACHE_DISK},
                 {"memory", OMPJIT_CACHE_MEMORY},
                 {"0", OMPJIT_CACHE_OFF},
                 {"off", OMPJIT_CACHE_OFF}};
    const char *text = getenv("OMPJIT_CACHE");
    *mode = o->cache.mode ? o->cache.mode : OMPJIT_CACHE_DISK;
    if (o->cache.mode || !text)
        return OMPJIT_OK;
    for (size_t i = 0; i < OMPJIT__COUNT(words); i++)
        if (!strcmp(text, words[i].word)) {
            *mode = words[i].mode;
            return OMPJIT_OK;
        }
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "OMPJIT_CACHE=%s: not one of 0, off, memory, disk, 1",
                        text);
}

/* Bytes. A size of 0 is an error rather than a cache that keeps nothing. */
static ompjit_status read_limit(const ompjit_context_options *o,
                                uint64_t *limit, ompjit_error *err)
{
    *limit = o->cache.limit ? o->cache.limit : DEFAULT_LIMIT;
    if (o->cache.limit)
        return OMPJIT_OK;
    ompjit_status status = ompjit__env_bytes("OMPJIT_CACHE_SIZE", limit, err);
    if (!status && !*limit)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "OMPJIT_CACHE_SIZE=0: it is OMPJIT_CACHE=0 that "
                            "switches the cache off");
    return status;
}

/* If no folder is known, the store has no path, and memory and callbacks
 * remain. */
ompjit_status ompjit__cache_new(ompjit_context *ctx,
                                const ompjit_context_options *o,
                                ompjit__cache **out, ompjit_error *err)
{
    ompjit_cache_mode mode;
    uint64_t limit;
    ompjit_status status = read_mode(o, &mode, err);
    if (!status)
        status = read_limit(o, &limit, err);
    if (status)
        return status;
    *out = NULL;
    if (mode == OMPJIT_CACHE_OFF)
        return OMPJIT_OK;
    ompjit__cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    cache->ctx = ctx;
    cache->store.limit = limit;
    cache->get = o->cache.get;
    cache->put = o->cache.put;
    cache->data = o->cache.data;
    ompjit__fork_lock_init(&cache->at_fork, &cache->lock);
    if (mode == OMPJIT_CACHE_DISK)
        cache->store.path = o->cache.dir ? ompjit__strdup(o->cache.dir)
                                         : ompjit__folder_default();
    *out = cache;
    return OMPJIT_OK;
}

/* No thread uses it any more. Entries that only memory had are lost. */
void ompjit__cache_free(ompjit__cache *cache)
{
    if (!cache)
        return;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct node *n = cache->nodes[i], *next; n; n = next) {
            next = n->next;
            ompjit__buf_free(&n->bytes);
            free(n);
        }
    ompjit__fork_lock_end(&cache->at_fork);
    free(cache->store.path);
    free(cache);
}

/* NULL: there is no store on disk. Accepts NULL. */
ompjit__store *ompjit__cache_store(ompjit__cache *cache)
{
    return cache && cache->store.path ? &cache->store : NULL;
}

/* ---------------------------------------------------------------- memory */

/* False if the lock is not free in time: after a fork, a thread of the parent
 * may hold it for ever. */
static bool lock(ompjit__cache *cache)
{
    enum { MS = 1000000, PATIENCE = 100 * MS, SECOND = 1000 * MS };
    if (!pthread_mutex_trylock(&cache->lock))
        return true;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += PATIENCE;
    t.tv_sec += t.tv_nsec / SECOND;
    t.tv_nsec %= SECOND;
    return !pthread_mutex_timedlock(&cache->lock, &t);
}

/* Under the lock. */
static struct node *find(ompjit__cache *cache,
                         const uint8_t digest[OMPJIT__DIGEST])
{
    struct node *n = cache->nodes[digest[0]];
    while (n && memcmp(n->digest, digest, OMPJIT__DIGEST))
        n = n->next;
    return n;
}

/* Notes that the entry was used. `bytes`, if not NULL, are kept in memory if
 * there is room, else freed. */
static void remember(ompjit__cache *cache,
                     const uint8_t digest[OMPJIT__DIGEST], ompjit__buf *bytes)
{
    if (lock(cache)) {
        struct node *n = find(cache, digest);
        if (!n && (n = calloc(1, sizeof *n))) {
            memcpy(n->digest, digest, OMPJIT__DIGEST);
            n->next = cache->nodes[digest[0]];
            cache->nodes[digest[0]] = n;
        }
        if (n && bytes && !n->bytes.size && !bytes->failed &&
            bytes->size <= MEMORY_LIMIT - cache->kept) {
            n->bytes = *bytes;
            cache->kept += bytes->size;
            *bytes = (ompjit__buf){0};
        }
        pthread_mutex_unlock(&cache->lock);
    }
    if (bytes)
        ompjit__buf_free(bytes);
}

/* A copy of an entry whose bytes are in memory; false: there is none. */
static bool recall(ompjit__cache *cache,
                   const uint8_t digest[OMPJIT__DIGEST], ompjit__buf *out)
{
    if (!lock(cache))
        return false;
    const struct node *n = find(cache, digest);
    if (n && n->bytes.size)
        ompjit__buf_add(out, n->bytes.data, n->bytes.size);
    pthread_mutex_unlock(&cache->lock);
    return out->size && !out->failed;
}

/* Appends none if a fork has left the lock held. */
void ompjit__cache_used(ompjit__cache *cache, ompjit__buf *digests)
{
    if (!lock(cache))
        return;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (const struct node *n = cache->nodes[i]; n; n = n->next)
            ompjit__buf_add(digests, n->digest, OMPJIT__DIGEST);
    pthread_mutex_unlock(&cache->lock);
}

/* ---------------------------------------------------------------- lookup */

/* The application's callback passes the entry to this function, which copies
 * it. If it is called twice, the last call counts. */
static void give(void *to, const void *bytes, size_t size)
{
    ompjit__buf *b = to;
    b->size = 0;
    ompjit__buf_add(b, bytes, size);
}

/* Reads an entry's bytes from one place; the caller frees `out` in any case. */
static bool fetch(ompjit__cache *cache, int place,
                  const uint8_t digest[OMPJIT__DIGEST], ompjit__buf *out)
{
    *out = (ompjit__buf){0};
    if (place == MEMORY)
        return recall(cache, digest, out);
    if (place == DISK)
        return cache->store.path &&
               ompjit__store_read(&cache->store, digest, out);
    if (cache->get)
        cache->get(cache->data, digest, give, out);
    return out->size && !out->failed;
}

/* Accepts an entry only if its key's text is the same, not just the digest. */
static bool accept(const ompjit__buf *bytes, const ompjit__key *key,
                   ompjit__cache_take *take, void *data)
{
    ompjit__entry_view view;
    return ompjit__entry_check(bytes->data, bytes->size, &view) &&
           !memcmp(view.digest, key->digest, OMPJIT__DIGEST) &&
           view.text_size == key->text.size &&
           !memcmp(view.text, key->text.data, view.text_size) &&
           take(data, view.payload, view.payload_size);
}

/* Asks all places until one has the entry and `take` takes it. *rejected counts
 * entries that were there and of no use. */
static bool look(ompjit__cache *cache, const ompjit__key *key,
                 ompjit__cache_take *take, void *data, unsigned *rejected)
{
    for (int place = MEMORY; place <= DISK; place++) {
        ompjit__buf bytes;
        bool there = fetch(cache, place, key->digest, &bytes);
        size_t size = bytes.size;
        bool good = there && accept(&bytes, key, take, data);
        ompjit__buf_free(&bytes);
        if (good) {
            atomic_fetch_add(&cache->hits[place], 1);
            atomic_fetch_add(&cache->read, size);
            remember(cache, key->digest, NULL);
            return true;
        }
        *rejected += there;
    }
    return false;
}

/* `first`: counts rejected entries. A second look at the same key does not. */
static bool timed_look(ompjit__cache *cache, const ompjit__key *key,
                       ompjit__cache_take *take, void *data, bool first)
{
    unsigned rejected = 0;
    uint64_t start = ompjit__now();
    bool hit = look(cache, key, take, data, &rejected);
    ompjit__stage_done(cache->ctx, OMPJIT_STAGE_CACHE, start);
    if (first)
        atomic_fetch_add(&cache->rejected, rejected);
    return hit;
}

/* Counts a hit or a miss, and waits for nobody. */
bool ompjit__cache_get(ompjit__cache *cache, const ompjit__key *key,
                       ompjit__cache_take *take, void *data)
{
    bool hit = timed_look(cache, key, take, data, true);
    if (!hit)
        atomic_fetch_add(&cache->misses, 1);
    return hit;
}

bool ompjit__cache_enter(ompjit__cache *cache, const ompjit__key *key,
                         ompjit__cache_take *take, void *data,
                         ompjit__claim *claim)
{
    *claim = (ompjit__claim){.fd = -1};
    if (timed_look(cache, key, take, data, true))
        return true;
    bool hit = false;
    if (cache->store.path) {
        ompjit__claim_begin(&cache->store, key->digest, CLAIM_MS, claim);
        /* Also if it did not wait: another process may have made the entry
         * since the first look. */
        hit = timed_look(cache, key, take, data, false);
    }
    if (claim->waited)
        atomic_fetch_add(&cache->waited, 1);
    if (hit)
        ompjit__claim_end(claim);
    else
        atomic_fetch_add(&cache->misses, 1);
    return hit;
}

bool ompjit__cache_entry(ompjit__cache *cache,
                         const uint8_t digest[OMPJIT__DIGEST],
                         ompjit__buf *out)
{
    for (int place = MEMORY; place <= DISK; place++) {
        ompjit__entry_view view;
        if (fetch(cache, place, digest, out) &&
            ompjit__entry_check(out->data, out->size, &view) &&
            !memcmp(view.digest, digest, OMPJIT__DIGEST))
            return true;
        ompjit__buf_free(out);
    }
    return false;
}

/* ----------------------------------------------------------------- store */

static void join(const struct iovec *parts, int n, ompjit__buf *out)
{
    for (int i = 0; i < n; i++)
        ompjit__buf_add(out, parts[i].iov_base, parts[i].iov_len);
}

/* Writes to disk and to the callback, and into memory if the disk has not taken
 * it. */
static void keep(ompjit__cache *cache, const uint8_t digest[OMPJIT__DIGEST],
                 const struct iovec *parts, int n)
{
    ompjit__buf bytes = {0};
    bool on_disk = cache->store.path &&
                   ompjit__store_write(&cache->store, digest, parts, n);
    if (cache->put || !on_disk)
        join(parts, n, &bytes);
    if (cache->put && !bytes.failed)
        cache->put(cache->data, digest, bytes.data, bytes.size);
    for (int i = 0; i < n; i++)
        atomic_fetch_add(&cache->written, parts[i].iov_len);
    atomic_fetch_add(&cache->stored, 1);
    if (!on_disk) {
        remember(cache, digest, &bytes);
    } else {
        remember(cache, digest, NULL);
        ompjit__buf_free(&bytes);
    }
}

/* Does not store a payload that is incomplete because memory ran out. */
void ompjit__cache_put(ompjit__cache *cache, const ompjit__key *key,
                       const ompjit__buf *payload)
{
    uint8_t header[OMPJIT__ENTRY_HEADER];
    if (payload->failed)
        return;
    uint64_t start = ompjit__now();
    ompjit__entry_header(key, payload->data, payload->size, header);
    const struct iovec parts[] = {{header, sizeof header},
                                  {key->text.data, key->text.size},
                                  {payload->data, payload->size}};
    keep(cache, key->digest, parts, 3);
    ompjit__stage_done(cache->ctx, OMPJIT_STAGE_CACHE, start);
}

/* `bytes` has been checked (ompjit__entry_check). */
void ompjit__cache_keep(ompjit__cache *cache, const void *bytes, size_t size,
                        const ompjit__entry_view *view)
{
    const struct iovec part = {(void *)bytes, size};
    keep(cache, view->digest, &part, 1);
}

void ompjit__cache_count(ompjit__cache *cache, ompjit_cache_stats *out)
{
    *out = (ompjit_cache_stats){
        .hits_memory = atomic_load(&cache->hits[MEMORY]),
        .hits_callback = atomic_load(&cache->hits[CALLBACK]),
        .hits_disk = atomic_load(&cache->hits[DISK]),
        .misses = atomic_load(&cache->misses),
        .stored = atomic_load(&cache->stored),
        .rejected = atomic_load(&cache->rejected),
        .waited = atomic_load(&cache->waited),
        .evicted = atomic_load(&cache->store.evicted),
        .bytes_read = atomic_load(&cache->read),
        .bytes_written = atomic_load(&cache->written),
        .limit = cache->store.limit,
    };
}
