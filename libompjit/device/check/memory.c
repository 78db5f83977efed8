/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The memory that a checked device has: blocks with red zones beside them, and
 * the variables of images. One array, sorted, whose ranges do not overlap, red
 * zones included. Freed blocks stay in it for a while.
 */
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"

/* A red zone is half of the block, between these, so that a stencil or a row
 * beyond the end is found to be beside it. */
enum {
    ALIGN = 128,
    RED_LEAST = 256,
    RED_MOST = 64 * 1024,
    VARIABLE_NEAR = 64,      /* bytes beside a variable that count as beside */
    KEPT_BLOCKS = 1024,      /* freed ones, and their bytes                  */
    KEPT_BYTES = 64 << 20
};

/* False: no lock can be had. */
bool ompjit__memory_open(ompjit__memory_map *map)
{
    return !pthread_rwlock_init(&map->lock, NULL);
}

/* Frees a range that is in no list. */
static void range_free(ompjit__range *r)
{
    free(r->block);
    ompjit__lost_free(r->lost);
    free(r->written);
    free(r->name);
    free(r);
}

/* With all blocks, also those that kernels have not freed. */
void ompjit__memory_close(ompjit__memory_map *map)
{
    for (size_t i = 0; i < map->n; i++)
        range_free(map->ranges[i]);
    free(map->ranges);
    pthread_rwlock_destroy(&map->lock);
}

/* ---------------------------------------------------------- the array */

/* How many ranges begin at or below p. */
static size_t below(const ompjit__memory_map *map, uintptr_t p)
{
    size_t low = 0, high = map->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map->ranges[middle]->begin <= p)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Under the lock to write, as all that changes the array. False: out of memory.
 */
static bool insert(ompjit__memory_map *map, ompjit__range *r)
{
    if (map->n == map->capacity) {
        size_t capacity = map->capacity ? 2 * map->capacity : 64;
        void *p = realloc(map->ranges, capacity * sizeof *map->ranges);
        if (!p)
            return false;
        map->ranges = p;
        map->capacity = capacity;
    }
    size_t at = below(map, r->begin);
    memmove(map->ranges + at + 1, map->ranges + at,
            (map->n - at) * sizeof *map->ranges);
    map->ranges[at] = r;
    map->n++;
    return true;
}

/* The range that begins there and was not freed, or NULL. */
static ompjit__range *begins(const ompjit__memory_map *map, uintptr_t p)
{
    size_t i = below(map, p);
    ompjit__range *r = i ? map->ranges[i - 1] : NULL;
    return r && r->begin == p && !r->freed ? r : NULL;
}

/* r is in the array, and no other range begins where it does. */
static void take_out(ompjit__memory_map *map, const ompjit__range *r)
{
    size_t at = below(map, r->begin) - 1;
    memmove(map->ranges + at, map->ranges + at + 1,
            (map->n - at - 1) * sizeof *map->ranges);
    map->n--;
}

/* ------------------------------------------------------------- blocks */

/* Blocks of kernels' malloc have no record of which bytes were written. NULL:
 * no memory. */
void *ompjit__memory_new(ompjit__memory_map *map, size_t size,
                         enum ompjit__memory kind)
{
    size_t red = size / 2;
    red = red < RED_LEAST ? RED_LEAST : red > RED_MOST ? RED_MOST : red;
    red = (red + ALIGN - 1) / ALIGN * ALIGN;
    if (size > SIZE_MAX - 2 * red - ALIGN)
        return NULL;
    size_t whole = (size + ALIGN - 1) / ALIGN * ALIGN + 2 * red;
    ompjit__range *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    bool device = kind == OMPJIT__MEMORY_DEVICE;
    char *block = r->block = aligned_alloc(ALIGN, whole);
    r->written = device ? calloc(size + 1, 1) : NULL;
    if (!block || (device && !r->written)) {
        range_free(r);
        return NULL;
    }
    r->begin = (uintptr_t)block + red;
    r->end = r->begin + size;
    r->red = red;
    r->kind = kind;
    pthread_rwlock_wrlock(&map->lock);
    bool added = insert(map, r);
    pthread_rwlock_unlock(&map->lock);
    if (added)
        return block + red;
    range_free(r);
    return NULL;
}

/* Bytes that the block takes, with both red zones. */
static size_t bytes(const ompjit__range *r)
{
    return r->end - r->begin + 2 * r->red;
}

/* Marks a block freed, and really frees the oldest of those that are. */
static void keep(ompjit__memory_map *map, ompjit__range *r)
{
    r->freed = true;
    if (map->newest)
        map->newest->next = r;
    else
        map->oldest = r;
    map->newest = r;
    map->kept++;
    map->kept_bytes += bytes(r);
    while (map->kept > KEPT_BLOCKS || map->kept_bytes > KEPT_BYTES) {
        ompjit__range *old = map->oldest;
        map->oldest = old->next;
        if (!old->next)
            map->newest = NULL;
        map->kept--;
        map->kept_bytes -= bytes(old);
        take_out(map, old);
        range_free(old);
    }
}

/* False: no block of ours begins there, or it was freed before. */
bool ompjit__memory_end(ompjit__memory_map *map, void *begin)
{
    pthread_rwlock_wrlock(&map->lock);
    ompjit__range *r = begins(map, (uintptr_t)begin);
    bool ours = r && r->block;
    if (ours) {
        keep(map, r);
        atomic_fetch_add(&map->removals, 1);
    }
    pthread_rwlock_unlock(&map->lock);
    return ours;
}

/* The text is copied. A block keeps one name, the last. */
void ompjit__memory_name(ompjit__memory_map *map, void *begin,
                         const void *host, uint64_t size, const char *text)
{
    pthread_rwlock_wrlock(&map->lock);
    ompjit__range *r = begins(map, (uintptr_t)begin);
    if (r) {
        free(r->name);
        r->name = ompjit__strdup(text);
        r->host = (uintptr_t)host;
        r->host_end = r->host + size;
    }
    pthread_rwlock_unlock(&map->lock);
}

/* ------------------------------------------------------- lost writes */

void ompjit__memory_is_to(ompjit__memory_map *map, void *begin)
{
    pthread_rwlock_wrlock(&map->lock);
    ompjit__range *r = begins(map, (uintptr_t)begin);
    if (r)
        r->to = true;
    pthread_rwlock_unlock(&map->lock);
}

/* The block that p is in, or NULL. */
static ompjit__range *around(const ompjit__memory_map *map, const void *p)
{
    size_t i = below(map, (uintptr_t)p);
    ompjit__range *r = i ? map->ranges[i - 1] : NULL;
    return r && !r->freed && (uintptr_t)p < r->end ? r : NULL;
}

/* False: the block is no more, is not mapped only `to`, or has a lost write:
 * then `lost` is still the caller's. */
bool ompjit__memory_lose(ompjit__memory_map *map, const void *p,
                         ompjit__lost *lost)
{
    pthread_rwlock_wrlock(&map->lock);
    ompjit__range *r = around(map, p);
    bool taken = r && r->to && !r->lost;
    if (taken)
        r->lost = lost;
    pthread_rwlock_unlock(&map->lock);
    return taken;
}

/* The block's contents go to the host: its write is not lost. */
void ompjit__memory_copied(ompjit__memory_map *map, const void *p)
{
    pthread_rwlock_wrlock(&map->lock);
    ompjit__range *r = around(map, p);
    if (r) {
        ompjit__lost_free(r->lost);
        r->lost = NULL;
    }
    pthread_rwlock_unlock(&map->lock);
}

/* The caller frees it; NULL: there is none. */
ompjit__lost *ompjit__memory_take_lost(ompjit__memory_map *map,
                                       const void *begin)
{
    pthread_rwlock_wrlock(&map->lock);
    ompjit__range *r = begins(map, (uintptr_t)begin);
    ompjit__lost *lost = r ? r->lost : NULL;
    if (r)
        r->lost = NULL;
    pthread_rwlock_unlock(&map->lock);
    return lost;
}

/* ----------------------------------------------------------- variables */

/* Under the lock to write. */
static void remove_all(ompjit__memory_map *map, const ompjit__check_variable *v,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ompjit__range *r = begins(map, (uintptr_t)v[i].address);
        if (!r || r->kind != OMPJIT__MEMORY_VARIABLE)
            continue;
        take_out(map, r);
        range_free(r);
    }
}

/* All or none: false, where memory runs out. */
bool ompjit__memory_add(ompjit__memory_map *map,
                        const ompjit__check_variable *v, size_t n)
{
    bool good = true;
    size_t i;
    pthread_rwlock_wrlock(&map->lock);
    for (i = 0; i < n && good; i++) {
        uintptr_t begin = (uintptr_t)v[i].address;
        if (begins(map, begin)) /* of size 0 beside another */
            continue;
        ompjit__range *r = calloc(1, sizeof *r);
        if (r)
            *r = (ompjit__range){.begin = begin, .end = begin + v[i].size,
                                 .kind = OMPJIT__MEMORY_VARIABLE,
                                 .name = ompjit__strdup(v[i].name)};
        good = r && r->name && insert(map, r);
        if (!good && r)
            range_free(r);
    }
    if (!good)
        remove_all(map, v, i);
    pthread_rwlock_unlock(&map->lock);
    return good;
}

/* Their image goes: the ranges are freed, not kept. */
void ompjit__memory_remove(ompjit__memory_map *map,
                           const ompjit__check_variable *v, size_t n)
{
    pthread_rwlock_wrlock(&map->lock);
    remove_all(map, v, n);
    atomic_fetch_add(&map->removals, 1);
    pthread_rwlock_unlock(&map->lock);
}

/* ------------------------------------------------------------- look-up */

/* *out is a copy without a name, so that nothing has to be freed. */
bool ompjit__memory_holds(ompjit__memory_map *map, const void *p,
                          uint64_t size, ompjit__range *out)
{
    pthread_rwlock_rdlock(&map->lock);
    size_t i = below(map, (uintptr_t)p);
    const ompjit__range *r = i ? map->ranges[i - 1] : NULL;
    bool held = r && !r->freed && (uintptr_t)p < r->end &&
                size <= r->end - (uintptr_t)p;
    if (held) {
        *out = *r;
        out->name = NULL;
    }
    pthread_rwlock_unlock(&map->lock);
    return held;
}

/* Threads of several teams may do this at once, with the same value. */
static void set_written(const ompjit__range *r, uintptr_t at, uint64_t size)
{
    for (uint64_t i = at - r->begin, end = i + size; i < end; i++)
        __atomic_store_n(&r->written[i], 1, __ATOMIC_RELAXED);
}

/* `size` 0 is all of the block that p is in. */
void ompjit__memory_written(ompjit__memory_map *map, const void *p,
                            uint64_t size)
{
    uintptr_t at = (uintptr_t)p;
    pthread_rwlock_rdlock(&map->lock);
    size_t i = below(map, at);
    const ompjit__range *r = i ? map->ranges[i - 1] : NULL;
    if (r && r->written && at < r->end) {
        if (!size)
            set_written(r, r->begin, r->end - r->begin);
        else
            set_written(r, at, size < r->end - at ? size : r->end - at);
    }
    pthread_rwlock_unlock(&map->lock);
}

/* Bytes beside a range that count as beside it and not as elsewhere. */
static uintptr_t reach(const ompjit__range *r)
{
    return r->red ? r->red : VARIABLE_NEAR;
}

/* Without memory for the name the copy has none. */
static bool copy(const ompjit__range *r, ompjit__range *out)
{
    if (!r)
        return false;
    *out = *r;
    out->name = r->name ? ompjit__strdup(r->name) : NULL;
    return true;
}

/* The range that p is in or beside; if there are two, the nearer one. out->name
 * is the caller's to free. */
bool ompjit__memory_find(ompjit__memory_map *map, const void *p,
                         ompjit__range *out)
{
    uintptr_t at = (uintptr_t)p;
    pthread_rwlock_rdlock(&map->lock);
    size_t i = below(map, at);
    const ompjit__range *low = i ? map->ranges[i - 1] : NULL;
    const ompjit__range *high = i < map->n ? map->ranges[i] : NULL;
    if (low && (at < low->begin || at - low->end >= reach(low)) &&
        at >= low->end)
        low = NULL;
    if (high && high->begin - at > reach(high))
        high = NULL;
    if (low && high && at >= low->end && high->begin - at < at - low->end)
        low = NULL;
    bool found = copy(low ? low : high, out);
    pthread_rwlock_unlock(&map->lock);
    return found;
}

/* By the address of the host's original; what is mapped now wins over what was.
 */
bool ompjit__memory_find_host(ompjit__memory_map *map, const void *host,
                              ompjit__range *out)
{
    uintptr_t at = (uintptr_t)host;
    const ompjit__range *found = NULL;
    pthread_rwlock_rdlock(&map->lock);
    for (size_t i = 0; i < map->n; i++) {
        const ompjit__range *r = map->ranges[i];
        if (at >= r->host && at < r->host_end && (!found || found->freed))
            found = r;
    }
    bool good = copy(found, out);
    pthread_rwlock_unlock(&map->lock);
    return good;
}
