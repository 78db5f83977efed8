/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The public functions of the cache: statistics, a walk over the entries,
 * maintenance, and export and import. An export is a bundle: a magic word, then
 * for each entry its size and its bytes as they are on disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "cache/cache.h"

/* The last character is the format's version. */
static const char magic[8] = "ompjitX1";

ompjit_status ompjit_cache_stats_get(ompjit_context *ctx,
                                     ompjit_cache_stats *stats,
                                     ompjit_error *err)
{
    ompjit_cache_stats full = {0};
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_cache_stats, stats, err);
    if (status)
        return status;
    if (!ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_CACHE,
                            "the cache of no context");
    if (ctx->cache)
        ompjit__cache_count(ctx->cache, &full);
    ompjit__result_fill(OMPJIT__STRUCT_cache_stats, &full, stats);
    return OMPJIT_OK;
}

/* Valid as long as the context; NULL: there is no cache on disk. */
const char *ompjit_cache_path(ompjit_context *ctx)
{
    const ompjit__store *store = ctx ? ompjit__cache_store(ctx->cache) : NULL;
    return store ? store->path : NULL;
}

/* The store of the context's cache. INVALID, or UNAVAILABLE where there is none
 * on disk. */
static ompjit_status get_store(ompjit_context *ctx, ompjit__store **out,
                               ompjit_error *err)
{
    if (!ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_CACHE,
                            "the cache of no context");
    *out = ompjit__cache_store(ctx->cache);
    if (*out)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_CACHE,
                        "there is no cache on disk: it is switched off, or "
                        "neither OMPJIT_CACHE_DIR nor HOME says where");
}

/* ------------------------------------------------------------------ walk */

/* For qsort: by the time of the last use. */
static int latest_first(const void *a, const void *b)
{
    int64_t x = ((const ompjit__item *)a)->used;
    int64_t y = ((const ompjit__item *)b)->used;
    return (x < y) - (x > y);
}

/* Reads an entry; its text is copied, to end in NUL. False: damaged. */
static bool read_entry(const ompjit__store *store, const ompjit__item *item,
                       ompjit__buf *text)
{
    ompjit__buf bytes = {0};
    ompjit__entry_view view;
    bool good = ompjit__store_peek(store, item->digest, &bytes) &&
                ompjit__entry_check(bytes.data, bytes.size, &view) &&
                !memcmp(view.digest, item->digest, OMPJIT__DIGEST);
    text->size = 0;
    if (good)
        ompjit__buf_add(text, view.text, view.text_size);
    ompjit__buf_free(&bytes);
    return good && !text->failed;
}

/* Calls `fn` if the entry's digest begins with `key`, in hexadecimal. The
 * entry's text is valid during the call. Damaged entries are shown, too.
 * Returns the result of `fn`; other than 0 ends the walk. */
static int show(const ompjit__store *store, const ompjit__item *item,
                const char *key, ompjit_cache_entry_fn *fn, void *data)
{
    ompjit_cache_entry entry = {.size = sizeof entry,
                                .bytes = item->size,
                                .used = item->used};
    ompjit__buf text = {0};
    ompjit__digest_text(item->digest, entry.key);
    if (strncmp(entry.key, key, strlen(key)))
        return 0;
    bool good = read_entry(store, item, &text);
    snprintf(entry.kind, sizeof entry.kind, "%.*s",
             good ? (int)strcspn(text.data, " \n") : 7,
             good ? text.data : "damaged");
    entry.text = good ? text.data : "";
    int stop = fn(data, &entry);
    ompjit__buf_free(&text);
    return stop;
}

/* The list is made first: entries that come or go meanwhile are not seen, or
 * seen as damaged. */
ompjit_status ompjit_cache_walk(ompjit_context *ctx, const char *key,
                                ompjit_cache_entry_fn *fn, void *data,
                                ompjit_error *err)
{
    ompjit__store *store;
    if (!key || !fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_CACHE,
                            "ompjit_cache_walk: a key's beginning and a "
                            "function are needed");
    ompjit_status status = get_store(ctx, &store, err);
    if (status)
        return status;
    ompjit__buf list = {0};
    size_t n = ompjit__store_list(store, &list);
    ompjit__item *items = (ompjit__item *)(void *)list.data;
    if (n)
        qsort(items, n, sizeof *items, latest_first);
    int stop = list.failed;
    for (size_t i = 0; !stop && i < n; i++)
        stop = show(store, &items[i], key, fn, data);
    status = list.failed ? ompjit__no_memory(err, OMPJIT_STAGE_CACHE)
                         : OMPJIT_OK;
    ompjit__buf_free(&list);
    return status;
}

/* ------------------------------------------------------------ maintenance */

/* *removed counts entries. */
ompjit_status ompjit_cache_prune(ompjit_context *ctx, uint64_t size,
                                 uint64_t *removed, ompjit_error *err)
{
    ompjit__store *store;
    ompjit_status status = get_store(ctx, &store, err);
    if (status)
        return status;
    size_t n = ompjit__store_prune(store, size);
    if (removed)
        *removed = n;
    return OMPJIT_OK;
}

/* Removes damaged entries. Does not count as a use of the others. */
ompjit_status ompjit_cache_verify(ompjit_context *ctx, uint64_t *good,
                                  uint64_t *damaged, ompjit_error *err)
{
    ompjit__store *store;
    ompjit_status status = get_store(ctx, &store, err);
    if (status)
        return status;
    uint64_t count[2] = {0};
    ompjit__buf text = {0}, list = {0};
    size_t n = ompjit__store_list(store, &list);
    const ompjit__item *items = (const ompjit__item *)(void *)list.data;
    for (size_t i = 0; i < n && !list.failed; i++) {
        bool whole = read_entry(store, &items[i], &text);
        count[whole]++;
        if (!whole)
            ompjit__store_remove(store, items[i].digest);
    }
    status = list.failed ? ompjit__no_memory(err, OMPJIT_STAGE_CACHE)
                         : OMPJIT_OK;
    ompjit__buf_free(&list);
    ompjit__buf_free(&text);
    if (status)
        return status;
    if (good)
        *good = count[true];
    if (damaged)
        *damaged = count[false];
    return OMPJIT_OK;
}

/* ---------------------------------------------------------------- export */

/* Appends the digests of all entries on disk. */
static void add_stored(const ompjit__store *store, ompjit__buf *digests)
{
    ompjit__buf list = {0};
    size_t n = ompjit__store_list(store, &list);
    const ompjit__item *items = (const ompjit__item *)(void *)list.data;
    for (size_t i = 0; i < n; i++)
        ompjit__buf_add(digests, items[i].digest, OMPJIT__DIGEST);
    digests->failed |= list.failed;
    ompjit__buf_free(&list);
}

/* Appends the entries of these digests, but for those that have gone. */
static void add_entries(ompjit__cache *cache, const ompjit__buf *digests,
                        ompjit__buf *out)
{
    for (size_t at = 0; at < digests->size; at += OMPJIT__DIGEST) {
        ompjit__buf entry;
        if (ompjit__cache_entry(cache, (const uint8_t *)digests->data + at,
                                &entry))
            ompjit__pack_bytes(out, entry.data, entry.size);
        ompjit__buf_free(&entry);
    }
}

/* The entries that the context has used, or with `all` those on disk. An entry
 * that has gone meanwhile is left out. The caller frees *bytes. */
ompjit_status ompjit_cache_export(ompjit_context *ctx, int all, void **bytes,
                                  size_t *size, ompjit_error *err)
{
    ompjit__store *store;
    if (!ctx || !bytes || !size)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_CACHE,
                            "ompjit_cache_export: context and places for "
                            "bytes and size are needed");
    ompjit_status status = all ? get_store(ctx, &store, err) : OMPJIT_OK;
    if (status)
        return status;
    ompjit__buf digests = {0}, out = {0};
    if (all)
        add_stored(store, &digests);
    else if (ctx->cache)
        ompjit__cache_used(ctx->cache, &digests);
    ompjit__buf_add(&out, magic, sizeof magic);
    add_entries(ctx->cache, &digests, &out);
    out.failed |= digests.failed;
    ompjit__buf_free(&digests);
    if (out.failed) {
        ompjit__buf_free(&out);
        return ompjit__no_memory(err, OMPJIT_STAGE_CACHE);
    }
    *bytes = out.data;
    *size = out.size;
    return OMPJIT_OK;
}

/* ---------------------------------------------------------------- import */

/* Checks the entries of a bundle, and stores each in `cache`, if not NULL. */
static ompjit_status read_bundle(ompjit__reader r, ompjit__cache *cache,
                                 uint64_t *count, ompjit_error *err)
{
    for (*count = 0; r.left && !r.bad; ++*count) {
        ompjit__entry_view view;
        size_t size;
        const void *entry = ompjit__read_bytes(&r, &size);
        if (!entry || !ompjit__entry_check(entry, size, &view))
            return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_CACHE,
                                "ompjit_cache_import: entry %llu is damaged "
                                "or cut short",
                                (unsigned long long)*count);
        if (cache)
            ompjit__cache_keep(cache, entry, size, &view);
    }
    return OMPJIT_OK;
}

/* Reads the bundle twice, so that nothing is stored of one that is damaged
 * anywhere. Without a cache it only checks the entries. */
ompjit_status ompjit_cache_import(ompjit_context *ctx, const void *bytes,
                                  size_t size, uint64_t *count,
                                  ompjit_error *err)
{
    uint64_t n;
    if (!ctx || !bytes)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_CACHE,
                            "ompjit_cache_import: context and bytes are "
                            "needed");
    if (size < sizeof magic || memcmp(bytes, magic, sizeof magic))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_CACHE,
                            "ompjit_cache_import: these bytes are no export "
                            "of a cache");
    ompjit__reader r = {(const char *)bytes + sizeof magic,
                        size - sizeof magic, false};
    ompjit_status status = read_bundle(r, NULL, &n, err);
    if (!status && ctx->cache)
        status = read_bundle(r, ctx->cache, &n, err);
    if (!status && count)
        *count = ctx->cache ? n : 0;
    return status;
}
