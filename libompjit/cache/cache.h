/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The cache remembers compiled code: in memory, by the application, on disk.
 * The cache is never an error to anybody: what cannot be read, written or
 * trusted is a miss.
 *
 *   key.c      what an entry depends on, as text, and its digest
 *   entry.c    an entry's bytes: header, key's text, payload
 *   store.c    entries as files (folder.c: where, prune.c: how many)
 *   claim.c    one process at a time makes an entry
 *   cache.c    a context's cache: memory, callbacks, store
 *   bundle.c   many entries as bytes, for other processes
 *
 * The lines of a key and the payload are defined by those who make the entry:
 * launch/build_cached.c (images), hosthalf/ (host halves), frontend/ (units).
 */
#ifndef OMPJIT__CACHE_H
#define OMPJIT__CACHE_H

#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include "core/core.h"
#include "ompjit_cache.h"

/* ---------------------------------------------------------------- key.c */

/* Lines "name value" that say all that an entry depends on. The first names
 * the kind of entry; those of the library follow. */
typedef struct ompjit__key {
    ompjit__buf text;
    uint8_t digest[OMPJIT__DIGEST];
} ompjit__key;

void ompjit__key_begin(ompjit__key *key, const char *kind);
void ompjit__key_digest(ompjit__key *key, const char *name,
                        const uint8_t digest[OMPJIT__DIGEST]);
/* "name path size mtime", or that there is none. */
void ompjit__key_file(ompjit__key *key, const char *name, const char *path);
/* This processor as LLVM generates code for it. */
void ompjit__key_cpu(ompjit__key *key);
/* False when memory ran out: the key is of no use then. */
bool ompjit__key_end(ompjit__key *key);
void ompjit__key_free(ompjit__key *key);

/* -------------------------------------------------------------- entry.c */

enum { OMPJIT__ENTRY_HEADER = 128 };

typedef struct ompjit__entry_view { /* into the entry's bytes */
    const uint8_t *digest;          /* of the key's text      */
    const char *text, *payload;
    size_t text_size, payload_size;
} ompjit__entry_view;

void ompjit__entry_header(const ompjit__key *key, const void *payload,
                          size_t size, uint8_t out[OMPJIT__ENTRY_HEADER]);
/* False unless the bytes are one whole, unspoilt entry. */
bool ompjit__entry_check(const void *bytes, size_t size,
                        ompjit__entry_view *out);

/* ------------------------------------------------------------- folder.c */

/* The folder of the environment: OMPJIT_CACHE_DIR, else the user's cache
 * folder. malloc'd; NULL where there is neither. */
char *ompjit__folder_default(void);
/* Descriptors of the cache's folder and of one entry's folder in it; -1 where
 * it is not there (`make` false), cannot be made, or is not this user's
 * alone to write. The caller closes. */
int ompjit__folder_open(const char *path, bool make);
int ompjit__folder_shard(int root, unsigned shard, bool make);

/* -------------------------------------------------------------- store.c */

typedef struct ompjit__store {
    char *path;
    uint64_t limit;               /* bytes                                */
    _Atomic uint64_t written;     /* since the size was last looked at    */
    _Atomic uint64_t evicted;
    _Atomic bool watched;         /* the size was looked at once          */
} ompjit__store;

enum { OMPJIT__SHARDS = 256 };

/* One file of the store. */
typedef struct ompjit__item {
    uint8_t digest[OMPJIT__DIGEST];
    uint64_t size;
    int64_t used; /* seconds since 1970 */
} ompjit__item;

/* The bytes of the file, unchecked. */
bool ompjit__store_read(const ompjit__store *store,
                        const uint8_t digest[OMPJIT__DIGEST],
                        ompjit__buf *out);
/* The same, which is no use of the entry. */
bool ompjit__store_peek(const ompjit__store *store,
                        const uint8_t digest[OMPJIT__DIGEST],
                        ompjit__buf *out);
/* Writes a file whole or not at all. May prune. */
bool ompjit__store_write(ompjit__store *store,
                         const uint8_t digest[OMPJIT__DIGEST],
                         const struct iovec *parts, int n);
bool ompjit__store_remove(const ompjit__store *store,
                          const uint8_t digest[OMPJIT__DIGEST]);
/* All files, in no order; malloc'd, NULL with *n 0 where there are none. */
ompjit__item *ompjit__store_list(const ompjit__store *store, size_t *n);
/* Files of one shard, appended. prune.c */
void ompjit__store_list_shard(int root, unsigned shard, ompjit__buf *items);
/* Removes what was not used for longest until at most `target` bytes are
 * left, and what killed processes left behind. prune.c */
size_t ompjit__store_prune(ompjit__store *store, uint64_t target);
/* Prunes where the limit seems to be passed. prune.c */
void ompjit__store_watch(ompjit__store *store,
                         const uint8_t digest[OMPJIT__DIGEST]);

/* ------------------------------------------------------------- claim.c */

/* The right to make an entry. Ends with its holder, however that ends. */
typedef struct ompjit__claim {
    int fd;      /* -1: nobody knows of it */
    bool waited; /* somebody else had it   */
} ompjit__claim;

/* Waits for the right for `limit_ms`; then, and where files cannot be locked,
 * goes on without it. */
void ompjit__claim_begin(const ompjit__store *store,
                          const uint8_t digest[OMPJIT__DIGEST],
                          unsigned limit_ms, ompjit__claim *out);
void ompjit__claim_end(ompjit__claim *claim);

/* -------------------------------------------------------------- cache.c */

typedef struct ompjit__cache ompjit__cache;

/* By options and environment. NULL in *out: switched off. */
ompjit_status ompjit__cache_new(ompjit_context *ctx,
                                const ompjit_context_options *options,
                                ompjit__cache **out, ompjit_error *err);
void ompjit__cache_free(ompjit__cache *cache);

/* Gets a payload, to make something of it. False: it does not fit after all,
 * which is a miss. */
typedef bool ompjit__cache_take(void *data, const void *payload, size_t size);

/* Looks a key up. True: `take` took it. */
bool ompjit__cache_get(ompjit__cache *cache, const ompjit__key *key,
                       ompjit__cache_take *take, void *data);
/* The same, and where it is a miss waits for another who makes the entry. When
 * it returns false, make it, put it, and in any case end the claim. */
bool ompjit__cache_enter(ompjit__cache *cache, const ompjit__key *key,
                         ompjit__cache_take *take, void *data,
                         ompjit__claim *claim);
void ompjit__cache_put(ompjit__cache *cache, const ompjit__key *key,
                       const ompjit__buf *payload);
/* Questions about whole entries, for other rooms. */
bool ompjit__cache_entry(ompjit__cache *cache,
                         const uint8_t digest[OMPJIT__DIGEST],
                         ompjit__buf *out);
void ompjit__cache_keep(ompjit__cache *cache, const void *bytes, size_t size,
                        const ompjit__entry_view *view);
/* Digests of the entries that the context has used; malloc'd. */
uint8_t (*ompjit__cache_used(ompjit__cache *cache,
                             size_t *n))[OMPJIT__DIGEST];
ompjit__store *ompjit__cache_store(ompjit__cache *cache);
void ompjit__cache_count(ompjit__cache *cache, ompjit_cache_stats *out);

#endif
