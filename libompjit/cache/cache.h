/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The cache keeps compiled code in memory, at the application's callbacks, and
 * on disk. It never causes an error: an entry that cannot be read, written or
 * trusted is a miss.
 *
 *   key.c      what an entry depends on, as text, and its digest
 *   entry.c    an entry's bytes: header, key's text, payload
 *   store.c    entries as files (folder.c: where, prune.c: how many)
 *   claim.c    one process at a time makes an entry
 *   cache.c    a context's cache: memory, callbacks, store
 *   bundle.c   the public functions: statistics, walk, prune, export, import
 *
 * The makers of an entry define its key's lines and its payload:
 * frontend/clang/unit_cache.c and frontend/flang/ (units),
 * launch/build_cached.c (images), launch/tune.c (measured geometry), hosthalf/
 * (host halves).
 */
#ifndef OMPJIT_CACHE_CACHE_H
#define OMPJIT_CACHE_CACHE_H

#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include "core/core.h"
#include "ompjit_cache.h"

/* ---------------------------------------------------------------- key.c */

/* Lines "name value" with everything that an entry depends on. The first has
 * the kind of entry; the library's version and LLVM's follow. */
typedef struct ompjit__key {
    ompjit__buf text;
    uint8_t digest[OMPJIT__DIGEST];
} ompjit__key;

void ompjit__key_begin(ompjit__key *key, const char *kind);
void ompjit__key_digest(ompjit__key *key, const char *name,
                        const uint8_t digest[OMPJIT__DIGEST]);
/* Adds "name path size mtime", or "name none". */
void ompjit__key_file(ompjit__key *key, const char *name, const char *path);
/* Adds this processor as LLVM generates code for it. */
void ompjit__key_cpu(ompjit__key *key);
/* Computes the digest. False: memory ran out, and the key is not usable. */
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
/* True if the bytes are one whole entry whose digests are right. */
bool ompjit__entry_check(const void *bytes, size_t size,
                        ompjit__entry_view *out);

/* ------------------------------------------------------------- folder.c */

/* The folder of the environment: OMPJIT_CACHE_DIR, else the user's cache
 * folder. malloc'd; NULL where there is neither. */
char *ompjit__folder_default(void);
/* Open the cache's folder, and in it the folder of a shard; with `make` a
 * missing one is made. Return a descriptor, which the caller closes; -1: it is
 * missing, cannot be made, or others own it or may write to it. */
int ompjit__folder_open(const char *path, bool make);
int ompjit__folder_shard(int root, unsigned shard, bool make);

/* -------------------------------------------------------------- store.c */

typedef struct ompjit__store {
    char *path;
    uint64_t limit;               /* bytes                                */
    _Atomic uint64_t written;     /* bytes since the size was last checked */
    _Atomic uint64_t evicted;     /* entries that were pruned              */
    _Atomic bool watched;         /* the size was checked once             */
} ompjit__store;

/* Folders in the cache's folder; the first byte of an entry's digest is its
 * folder's number. */
enum { OMPJIT__SHARDS = 256 };

/* One file of the store. */
typedef struct ompjit__item {
    uint8_t digest[OMPJIT__DIGEST];
    uint64_t size;
    int64_t used; /* seconds since 1970 */
} ompjit__item;

/* Reads the file and notes its use; the bytes are unchecked. False: a miss. */
bool ompjit__store_read(const ompjit__store *store,
                        const uint8_t digest[OMPJIT__DIGEST],
                        ompjit__buf *out);
/* The same, but not noted as a use. */
bool ompjit__store_peek(const ompjit__store *store,
                        const uint8_t digest[OMPJIT__DIGEST],
                        ompjit__buf *out);
/* Writes a file whole or not at all. May prune. */
bool ompjit__store_write(ompjit__store *store,
                         const uint8_t digest[OMPJIT__DIGEST],
                         const struct iovec *parts, int n);
bool ompjit__store_remove(const ompjit__store *store,
                          const uint8_t digest[OMPJIT__DIGEST]);
/* Appends an ompjit__item for each file, in no order; if memory runs out,
 * items->failed is set. Returns how many there are now. prune.c */
size_t ompjit__store_list(const ompjit__store *store, ompjit__buf *items);
/* Files of one shard, appended. prune.c */
void ompjit__store_list_shard(int root, unsigned shard, ompjit__buf *items);
/* Removes what was not used for longest until at most `target` bytes are
 * left, and what killed processes left behind. prune.c */
size_t ompjit__store_prune(ompjit__store *store, uint64_t target);
/* Prunes where the limit seems to be passed. prune.c */
void ompjit__store_watch(ompjit__store *store,
                         const uint8_t digest[OMPJIT__DIGEST]);

/* ------------------------------------------------------------- claim.c */

/* The right to make an entry. It ends with the process at the latest. */
typedef struct ompjit__claim {
    int fd;      /* -1: goes on without the right */
    bool waited; /* another process had it        */
} ompjit__claim;

/* Waits for the right, `limit_ms` at most. After that, and where files cannot
 * be locked, the caller goes on without it. */
void ompjit__claim_begin(const ompjit__store *store,
                          const uint8_t digest[OMPJIT__DIGEST],
                          unsigned limit_ms, ompjit__claim *out);
void ompjit__claim_end(ompjit__claim *claim);

/* -------------------------------------------------------------- cache.c */

typedef struct ompjit__cache ompjit__cache;

/* Makes a cache as options and environment say. *out is NULL if it is switched
 * off. */
ompjit_status ompjit__cache_new(ompjit_context *ctx,
                                const ompjit_context_options *options,
                                ompjit__cache **out, ompjit_error *err);
void ompjit__cache_free(ompjit__cache *cache);

/* The caller's function that reads a payload. False: the payload is not usable,
 * and the entry counts as a miss. */
typedef bool ompjit__cache_take(void *data, const void *payload, size_t size);

/* Looks a key up. True: `take` has read the payload. */
bool ompjit__cache_get(ompjit__cache *cache, const ompjit__key *key,
                       ompjit__cache_take *take, void *data);
/* The same, but on a miss it claims the entry, and first waits for another
 * process that makes it. If it returns false, make the entry, put it, and end
 * the claim in any case. */
bool ompjit__cache_enter(ompjit__cache *cache, const ompjit__key *key,
                         ompjit__cache_take *take, void *data,
                         ompjit__claim *claim);
void ompjit__cache_put(ompjit__cache *cache, const ompjit__key *key,
                       const ompjit__buf *payload);
/* Reads a whole entry by its digest alone, and checks it. True: free `out`. */
bool ompjit__cache_entry(ompjit__cache *cache,
                         const uint8_t digest[OMPJIT__DIGEST],
                         ompjit__buf *out);
/* Stores a whole entry, which the caller has checked. */
void ompjit__cache_keep(ompjit__cache *cache, const void *bytes, size_t size,
                        const ompjit__entry_view *view);
/* Appends the digests of the entries that the context has used. */
void ompjit__cache_used(ompjit__cache *cache, ompjit__buf *digests);
/* The store on disk; NULL: none. Accepts NULL. */
ompjit__store *ompjit__cache_store(ompjit__cache *cache);
/* Reads the cache's counters. */
void ompjit__cache_count(ompjit__cache *cache, ompjit_cache_stats *out);

#endif
