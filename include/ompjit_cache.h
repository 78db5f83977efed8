/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_cache.h - the cache of compiled code. The conventions of ompjit.h
 * hold; the group `cache` of ompjit_context_options says where it is.
 */
#ifndef OMPJIT_CACHE_H
#define OMPJIT_CACHE_H

#include "ompjit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiled code is remembered: front-end results under source, flags and
 * compiler (as long as included files are what they were), images under IR, all
 * that was folded, architecture or processor, and the versions of LLVM,
 * assembler and library. A key's text says all of it; its 256-bit digest names
 * the entry. On disk, entries are files in a folder that only its owner can
 * write; any number of processes and machines may share it. The cache is never
 * an error: an entry that cannot be read, is damaged or out of date is compiled
 * anew, and what cannot be written is kept in memory (64 MiB at most). */

typedef struct ompjit_cache_stats {
    size_t size;            /* OMPJIT_CACHE_STATS_INIT                     */
    uint64_t hits_memory;   /* entries found in the context's memory       */
    uint64_t hits_callback; /* by the application's callback               */
    uint64_t hits_disk;
    uint64_t misses;        /* found nowhere                               */
    uint64_t stored;        /* made here, or imported                      */
    uint64_t rejected;      /* found, but damaged or out of date           */
    uint64_t waited;        /* times another process or thread made it     */
    uint64_t evicted;       /* removed to keep the limit                   */
    uint64_t bytes_read, bytes_written;
    uint64_t limit;         /* bytes that there may be on disk             */
} ompjit_cache_stats;
#define OMPJIT_CACHE_STATS_INIT OMPJIT_SIZED(ompjit_cache_stats)

/* The counts of the context's cache so far; all 0 where it is off. */
ompjit_status ompjit_cache_stats_get(ompjit_context *ctx,
                                     ompjit_cache_stats *stats,
                                     ompjit_error *err);

/* The folder on disk, whether or not it exists yet; NULL: none. The context
 * owns the text. */
const char *ompjit_cache_path(ompjit_context *ctx);

/* One entry on disk. */
typedef struct ompjit_cache_entry {
    size_t size;      /* the library's                                     */
    char key[72];     /* 64 hexadecimal digits                             */
    char kind[16];    /* "source", "ir", "host", "image", "tune"; "damaged" */
    uint64_t bytes;   /* on disk                                           */
    int64_t used;     /* last use, seconds since 1970, to the hour         */
    const char *text; /* the key's text; valid during the call             */
} ompjit_cache_entry;

/* Called for an entry. Other than 0 ends the walk. */
typedef int ompjit_cache_entry_fn(void *data, const ompjit_cache_entry *entry);

/* Calls `fn` for each entry on disk whose key begins with `key` ("" for all),
 * in the order of last use, the latest first. Each is read and checked as a
 * whole. UNAVAILABLE where the context has no folder. */
ompjit_status ompjit_cache_walk(ompjit_context *ctx, const char *key,
                                ompjit_cache_entry_fn *fn, void *data,
                                ompjit_error *err);

/* Removes entries from disk, those not used for longest first, until at most
 * `size` bytes are left; 0 removes all, damaged ones too. *removed (or NULL)
 * receives how many. UNAVAILABLE where the context has no folder. */
ompjit_status ompjit_cache_prune(ompjit_context *ctx, uint64_t size,
                                 uint64_t *removed, ompjit_error *err);

/* Removes the damaged entries from disk, and counts both kinds. */
ompjit_status ompjit_cache_verify(ompjit_context *ctx, uint64_t *good,
                                  uint64_t *damaged, ompjit_error *err);

/* Entries as bytes, for instance for one rank to compile and broadcast. `all`
 * 0: those that this context has used so far; 1: all on disk. The bytes are
 * freed with ompjit_bytes_free. */
ompjit_status ompjit_cache_export(ompjit_context *ctx, int all, void **bytes,
                                  size_t *size, ompjit_error *err);

/* Takes exported entries into the cache: onto disk, or into the context's
 * memory where there is no disk. *count (or NULL) receives how many. INVALID,
 * and nothing is taken, where the bytes are no export or are damaged. Import
 * only what you trust as you trust a program: entries hold machine code. */
ompjit_status ompjit_cache_import(ompjit_context *ctx, const void *bytes,
                                  size_t size, uint64_t *count,
                                  ompjit_error *err);

#ifdef __cplusplus
}
#endif
#endif
