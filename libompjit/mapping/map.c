/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The map clause (OpenMP 5.2, 5.8): entering a data environment, leaving it,
 * and target update.
 *
 *   begin:  find or allocate all -> copy all -> attach all
 *   end:    take all counts -> copy all -> free all
 *
 * A table's lock is held for the whole of either, but given back for long
 * copies (deferred_copy.c): another thread that finds storage present comes
 * after what fills it. Nothing is copied where an address is its own
 * counterpart: on a device that shares memory, and where a construct borrows
 * the original.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"
#include "mapping/construct.h"

/* ----------------------------------------------------------------- errors */

static void item_text(char text[OMPJIT__RANGE_TEXT], const ompjit__item *it)
{
    ompjit__range_text(text, it->begin, (uint64_t)it->size, it->name);
}

/* `doing`: "map", "unmap" or "update". */
static ompjit_status overlap(const ompjit__construct *c, const char *doing,
                             const ompjit__item *it,
                             const ompjit__mapped *entry, ompjit_error *err)
{
    char want[OMPJIT__RANGE_TEXT], have[OMPJIT__RANGE_TEXT];
    item_text(want, it);
    ompjit__range_text(have, (void *)entry->begin, entry->end - entry->begin,
                       entry->name);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "cannot %s %s: only a part of it is on device %u, by "
                        "the mapping of %s",
                        doing, want, c->dev->number, have);
}

/* The error of the `present` modifier for storage that is not there. In unified
 * shared memory all is. */
static ompjit_status absent(const ompjit__construct *c, const ompjit__item *it,
                            ompjit_error *err)
{
    char want[OMPJIT__RANGE_TEXT];
    if (!(it->type & OMPJIT__MAP_PRESENT) || ompjit__is_unified(c->dev))
        return OMPJIT_OK;
    item_text(want, it);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "%s must be present on device %u (`present` modifier) "
                        "and is not", want, c->dev->number);
}

/* ----------------------------------------------------------------- copies */

size_t ompjit__item_held(const ompjit__item *it, const ompjit__mapped *entry,
                         char **host)
{
    uintptr_t begin = (uintptr_t)it->begin, end = begin + (uint64_t)it->size;
    if (begin < entry->begin)
        begin = entry->begin;
    if (end > entry->end)
        end = entry->end;
    *host = (char *)begin;
    return end > begin ? end - begin : 0;
}

static ompjit_status copy_to(ompjit__construct *c, ompjit__mapped *entry,
                             char *host, size_t size, ompjit_error *err)
{
    char *device = ompjit__present_device(entry, host);
    if (device == host || !size)
        return OMPJIT_OK;
    ompjit_status st = ompjit__construct_copy_entry(
        c, entry, OMPJIT__COPY_TO, device, host, size, err);
    for (ompjit__attached *a = entry->attached; a && !st; a = a->next)
        if (ompjit__attached_in(a, host, size))
            st = ompjit__construct_copy(c, OMPJIT__COPY_TO, a->device,
                                        a->value, a->size, err);
    return st ? st : ompjit__construct_fills(c, entry, err);
}

/* The bytes between the attached pointers. */
static ompjit_status fetch_between(ompjit__construct *c, ompjit__mapped *entry,
                                   char *host, size_t size, ompjit_error *err)
{
    char *end = host + size;
    ompjit_status st = OMPJIT_OK;
    while (host < end && !st) {
        const ompjit__attached *a =
            ompjit__present_next_attached(entry, host, end);
        char *to = a ? a->host : end;
        if (to > host)
            st = ompjit__gather_fetch(c, entry, host, (size_t)(to - host), err);
        host = a ? a->host + a->size : end;
    }
    return st;
}

/* Puts the host's attached pointers back after a copy overwrote them with the
 * device's; `saved` has them one after the other. */
static ompjit_status copy_from(ompjit__construct *c, ompjit__mapped *entry,
                               char *host, size_t size, ompjit_error *err)
{
    char *device = ompjit__present_device(entry, host);
    if (device == host || !size)
        return OMPJIT_OK;
    if (ompjit__gathers(c, size))
        return fetch_between(c, entry, host, size, err);
    ompjit__buf saved = {0};
    for (ompjit__attached *a = entry->attached; a; a = a->next)
        if (ompjit__attached_in(a, host, size))
            ompjit__buf_add(&saved, a->host, a->size);
    if (saved.failed) {
        ompjit__buf_free(&saved);
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    }
    ompjit_status st = ompjit__construct_copy_entry(
        c, entry, OMPJIT__COPY_FROM, host, device, size, err);
    if (!st && saved.size)
        st = ompjit__construct_wait(c, err);
    size_t at = 0;
    for (ompjit__attached *a = entry->attached; a; a = a->next)
        if (ompjit__attached_in(a, host, size)) {
            memcpy(a->host, saved.data + at, a->size);
            at += a->size;
        }
    ompjit__buf_free(&saved);
    return st;
}

/* Constants that clang maps implicitly, as `tofrom`, stay what they are. */
static ompjit_status copy_out(ompjit__construct *c, const ompjit__item *it,
                              ompjit__mapped *entry, char *host, size_t size,
                              ompjit_error *err)
{
    if (!size || ompjit__present_device(entry, host) == host ||
        ompjit__writable(host, size))
        return copy_from(c, entry, host, size, err);
    if (it->type & OMPJIT__MAP_IMPLICIT)
        return OMPJIT_OK;
    char text[OMPJIT__RANGE_TEXT];
    ompjit__range_text(text, host, size, it->name);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "%s is mapped `from`, but is read-only", text);
}

/* ------------------------------------------------------- begin: allocation */

/* A struct that is mapped in part must lie on the device as it does on the
 * host relative to the alignment its members may need, 16 at most. */
static uint64_t padding(const ompjit__item *it)
{
    if (!it->combined || !it->base)
        return 0;
    uint64_t alignment = (uintptr_t)it->base & -(uintptr_t)it->base;
    if (alignment > 16)
        alignment = 16;
    return (uintptr_t)it->begin % alignment;
}

static void name_for_check(ompjit_device *dev, const ompjit__mapped *entry,
                           uint64_t size, int64_t type)
{
    char text[OMPJIT__RANGE_TEXT];
    const void *host = (const void *)entry->begin;
    ompjit__range_text(text, host, size, entry->name);
    ompjit__memory_name(&dev->ctx->check->memory, entry->allocation, host,
                        size, text);
    if (type & OMPJIT__MAP_TO && !(type & OMPJIT__MAP_FROM))
        ompjit__memory_is_to(&dev->ctx->check->memory, entry->allocation);
}

static ompjit_status create(ompjit__construct *c, const ompjit__item *it,
                            const char *host, uint64_t size, uint64_t pad,
                            ompjit__mapped **out, ompjit_error *err)
{
    ompjit_device *dev = c->dev;
    void *allocation = NULL;
    char *device = (char *)host;
    if (!ompjit__item_stays(c, it) || host != it->begin) {
        ompjit_status st =
            ompjit__gather_entry(c, host, size, pad, it->name, out, err);
        if (st || *out)
            return st;
        st =
            ompjit__construct_alloc(c, pad + size, &allocation, err);
        if (st)
            return st;
        device = (char *)allocation + pad;
    }
    ompjit__mapped *entry = ompjit__present_add(c->table, host, size, device,
                                                it->name);
    ompjit_status st = entry ? ompjit__construct_fills(c, entry, err)
                             : ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    if (st) {
        if (allocation)
            ompjit__construct_free_memory(c, allocation, NULL);
        if (entry)
            ompjit__present_remove(c->table, entry);
        return st;
    }
    entry->allocation = allocation;
    entry->construct = c->number;
    if (allocation && dev->ctx && dev->ctx->check)
        name_for_check(dev, entry, size, it->combined ? 0 : it->type);
    *out = entry;
    return OMPJIT_OK;
}

static void count_up(ompjit__mapped *entry, const ompjit__item *it)
{
    uint64_t *n = ompjit__item_counter(entry, it);
    if (*n != OMPJIT__FOREVER)
        ++*n;
}

/* Finds or makes the entry of [host, host+size), and counts it where
 * `wanted`: members are covered by the count of their struct. */
static ompjit_status acquire(ompjit__construct *c, const ompjit__item *it,
                             const char *host, uint64_t size, bool wanted,
                             ompjit__mapped **out, bool *counted,
                             ompjit_error *err)
{
    ompjit__mapped *entry;
    enum ompjit__found found = ompjit__present_find(c->table, host, size,
                                                    &entry);
    if (found == OMPJIT__OVERLAPS && !(it->type & OMPJIT__MAP_IMPLICIT))
        return overlap(c, "map", it, entry, err);
    if (!entry) {
        ompjit_status st = absent(c, it, err);
        if (st || !size)
            return st;
        uint64_t pad = host == it->begin ? padding(it) : 0;
        st = create(c, it, host, size, pad, &entry, err);
        if (st)
            return st;
        if (host == it->begin && it->base < it->begin)
            entry->base = (uintptr_t)it->base;
        wanted = true;
    } else {
        entry->shared |= !ompjit__is_new(c, entry);
        ompjit_status st = ompjit__construct_after(c, entry, err);
        if (st)
            return st;
    }
    if (wanted)
        count_up(entry, it);
    *out = entry;
    *counted = wanted;
    return OMPJIT_OK;
}

static ompjit_status enter(ompjit__construct *c, ompjit__item *it,
                           ompjit_error *err)
{
    bool counts = !(it->type & OMPJIT__MAP_MEMBER_OF);
    ompjit_status st;
    if (it->type & OMPJIT__MAP_PTR_AND_OBJ) {
        char *at = it->base;
        st = acquire(c, it, at, OMPJIT__POINTER_SIZE, counts, &it->pointer,
                     &it->pointer_counted, err);
        if (st)
            return st;
        it->pointer_at = at;
        memcpy(&it->base, at, OMPJIT__POINTER_SIZE);
        counts = true;
    }
    return acquire(c, it, it->begin, (uint64_t)it->size, counts, &it->entry,
                   &it->counted, err);
}

/* Once all that is new has its place on the device. */
static void find_devices(ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++) {
        ompjit__item *it = &c->items[i];
        if (it->entry)
            it->device = ompjit__present_device(it->entry, it->begin);
    }
}

/* ------------------------------------------------------------------ begin */

static void discard(ompjit__construct *c, ompjit__mapped *entry)
{
    void *memory = ompjit__present_remove(c->table, entry);
    if (memory)
        ompjit__construct_free_memory(c, memory, NULL);
}

static void undo_count(ompjit__construct *c, const ompjit__item *it,
                       ompjit__mapped *entry)
{
    uint64_t *n = ompjit__item_counter(entry, it);
    if (*n != OMPJIT__FOREVER)
        --*n;
    if (ompjit__is_new(c, entry) && !ompjit__mapped_count(entry))
        discard(c, entry);
}

/* Takes back what begin did to the table. Contents that `always` overwrote
 * stay overwritten. */
static void undo(ompjit__construct *c)
{
    ompjit__attach_undo(c);
    for (size_t i = c->n; i-- > 0;) {
        ompjit__item *it = &c->items[i];
        if (it->counted && it->entry)
            undo_count(c, it, it->entry);
        if (it->pointer_counted && it->pointer)
            undo_count(c, it, it->pointer);
        it->counted = it->pointer_counted = false;
    }
}

ompjit_status ompjit__construct_begin(ompjit__construct *c, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    do
        ompjit__late_wait(c);
    while (ompjit__attach_wait(c));
    c->number = ++c->table->constructs;
    for (size_t i = 0; i < c->n && !st; i++)
        if (!ompjit__item_private(&c->items[i]) &&
            !(c->items[i].type & OMPJIT__MAP_ATTACH))
            st = enter(c, &c->items[i], err);
    if (!st)
        st = ompjit__gather_place(c, err);
    if (!st)
        find_devices(c);
    for (size_t i = 0; i < c->n && !st; i++) {
        ompjit__item *it = &c->items[i];
        char *host;
        if (ompjit__copies_in(c, it)) {
            size_t size = ompjit__item_held(it, it->entry, &host);
            st = copy_to(c, it->entry, host, size, err);
        }
    }
    if (!st)
        st = ompjit__attach_all(c, err);
    if (st)
        undo(c);
    else
        ompjit__attach_keep(c);
    return st;
}

ompjit_status ompjit__construct_commit(ompjit__construct *c, bool begun,
                                       ompjit_status st, ompjit_error *err)
{
    st = ompjit__construct_arrives(c, st, err);
    if (begun && st)
        ompjit__construct_end(c, true, false, NULL);
    return st;
}

char *ompjit__translate(ompjit__present *table, char *base, char *begin,
                        uint64_t size)
{
    ompjit__mapped *entry;
    ompjit__present_find(table, begin, size, &entry);
    if (!entry)
        return base;
    return (char *)((uintptr_t)ompjit__present_device(entry, begin) +
                    ((uintptr_t)base - (uintptr_t)begin));
}

ompjit_status ompjit__construct_settle(ompjit__construct *c, ompjit_status st,
                                       ompjit_error *err)
{
    if (st)
        return st;
    st = ompjit__construct_wait(c, err);
    if (st) {
        ompjit__present_lock(c->table);
        ompjit__construct_end(c, true, false, NULL);
        ompjit__present_unlock(c->table);
    }
    return st;
}

/* use_device_ptr and use_device_addr: the caller reads the device address
 * from its array of base pointers. */
static void return_params(const ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__item *it = &c->items[i];
        if (it->type & OMPJIT__MAP_RETURN_PARAM && !it->component)
            c->maps->bases[it->index] =
                ompjit__translate(c->table, it->base, it->begin,
                                  (uint64_t)it->size);
    }
}

ompjit_status ompjit__map_begin(ompjit_device *dev, const ompjit__maps *maps,
                                ompjit_error *err)
{
    ompjit__construct c;
    ompjit_status st = ompjit__construct_init(&c, dev, maps, err);
    if (!st) {
        ompjit__present_lock(c.table);
        st = ompjit__construct_begin(&c, err);
        if (!st)
            return_params(&c);
        st = ompjit__construct_commit(&c, !st, st, err);
        ompjit__present_unlock(c.table);
        st = ompjit__construct_settle(&c, st, err);
    }
    ompjit__construct_free(&c);
    return st;
}

/* -------------------------------------------------------------------- end */

static uint64_t count_down(ompjit__mapped *entry, const ompjit__item *it,
                           bool all)
{
    uint64_t *n = ompjit__item_counter(entry, it);
    if (*n == OMPJIT__FOREVER || !*n)
        return 0;
    uint64_t taken = all ? *n : 1;
    *n -= taken;
    return taken;
}

/* Finds the item's entry again and takes its count. Storage that is present in
 * part counts as absent: nothing of it is taken. */
static ompjit_status leave(ompjit__construct *c, ompjit__item *it,
                           bool entered, ompjit_error *err)
{
    bool pointer_and_object = it->type & OMPJIT__MAP_PTR_AND_OBJ;
    bool member = it->type & OMPJIT__MAP_MEMBER_OF;
    bool counts = entered ? it->counted : !member || pointer_and_object;
    bool pointer_counts = entered ? it->pointer_counted
                                  : pointer_and_object && !member;
    if (!entered && pointer_and_object)
        it->pointer_at = it->base;
    it->taken = it->pointer_taken = 0;
    it->pointer = NULL;

    enum ompjit__found found =
        ompjit__present_find(c->table, it->begin, (uint64_t)it->size,
                             &it->entry);
    if (found == OMPJIT__OVERLAPS && !(it->type & OMPJIT__MAP_IMPLICIT)) {
        ompjit__mapped *part = it->entry;
        it->entry = NULL;
        if (it->type & OMPJIT__MAP_PRESENT && !entered)
            return overlap(c, "unmap", it, part, err);
    }
    ompjit_status st = it->entry ? ompjit__construct_after(c, it->entry, err)
                       : entered ? OMPJIT_OK
                                 : absent(c, it, err);
    if (st)
        return st;
    if (it->entry && counts)
        it->taken = count_down(it->entry, it,
                               it->type & OMPJIT__MAP_DELETE);
    if (pointer_counts &&
        ompjit__present_find(c->table, it->pointer_at, OMPJIT__POINTER_SIZE,
                             &it->pointer) == OMPJIT__CONTAINED)
        it->pointer_taken = count_down(it->pointer, it, false);
    return OMPJIT_OK;
}

static void untake(ompjit__construct *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ompjit__item *it = &c->items[i];
        if (it->taken)
            *ompjit__item_counter(it->entry, it) += it->taken;
        if (it->pointer_taken)
            *ompjit__item_counter(it->pointer, it) += it->pointer_taken;
    }
}

/* Frees an entry that nothing refers to any more; the first failure counts. */
static void release(ompjit__construct *c, ompjit__mapped *entry,
                    ompjit_status *st, ompjit_error *err)
{
    void *memory = ompjit__present_remove(c->table, entry);
    if (!memory)
        return;
    ompjit_status freed =
        ompjit__construct_free_memory(c, memory, *st ? NULL : err);
    if (!*st)
        *st = freed;
}

/* Several items may have the same entry: each entry that has to go is
 * collected once, by a number that no construct has. */
static ompjit_status release_all(ompjit__construct *c, ompjit_error *err)
{
    const uint64_t doomed = UINT64_MAX;
    ompjit_status st = OMPJIT_OK;
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        ompjit__item *it = &c->items[i];
        ompjit__mapped *both[2] = {it->taken ? it->entry : NULL,
                                   it->pointer_taken ? it->pointer : NULL};
        it->entry = it->pointer = NULL;
        for (int k = 0; k < 2; k++)
            if (both[k] && both[k]->construct != doomed &&
                !ompjit__mapped_count(both[k])) {
                both[k]->construct = doomed;
                *(k ? &it->pointer : &it->entry) = both[k];
                n++;
            }
    }
    for (size_t i = 0; i < c->n && n; i++) {
        if (c->items[i].entry)
            release(c, c->items[i].entry, &st, err);
        if (c->items[i].pointer)
            release(c, c->items[i].pointer, &st, err);
    }
    return st;
}

static bool copies_out(const ompjit__item *it)
{
    return it->entry && it->type & OMPJIT__MAP_FROM &&
           (it->type & OMPJIT__MAP_ALWAYS ||
            !ompjit__mapped_count(it->entry));
}

ompjit_status ompjit__construct_end(ompjit__construct *c, bool entered,
                                    bool copy, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    size_t done = 0;
    ompjit__late_wait(c);
    if (entered)
        ompjit__attach_unuse(c);
    for (; done < c->n && !st; done++) {
        ompjit__item *it = &c->items[done];
        if (ompjit__item_private(it) || it->type & OMPJIT__MAP_ATTACH) {
            it->entry = it->pointer = NULL;
            it->taken = it->pointer_taken = 0;
        } else {
            st = leave(c, it, entered, err);
        }
    }
    for (size_t i = 0; i < c->n && !st && copy; i++) {
        ompjit__item *it = &c->items[i];
        char *host;
        if (copies_out(it) && !ompjit__item_came(c, it)) {
            size_t size = ompjit__item_held(it, it->entry, &host);
            st = copy_out(c, it, it->entry, host, size, err);
        }
    }
    if (!st)
        st = ompjit__construct_wait(c, err);
    if (st) {
        ompjit__gather_forget(c);
        ompjit__construct_wait(c, NULL);
        untake(c, done);
        return st;
    }
    for (size_t i = 0; i < c->n; i++)
        c->items[i].counted = c->items[i].pointer_counted = false;
    return release_all(c, err);
}

ompjit_status ompjit__map_end(ompjit_device *dev, const ompjit__maps *maps,
                              ompjit_error *err)
{
    ompjit__construct c;
    ompjit_status st = ompjit__construct_init(&c, dev, maps, err);
    if (!st)
        st = ompjit__end_ahead(&c, err);
    if (!st) {
        ompjit__present_lock(c.table);
        st = ompjit__construct_end(&c, false, true, err);
        ompjit__present_unlock(c.table);
    }
    ompjit__construct_free(&c);
    return st;
}

/* ----------------------------------------------------------------- update */

/* Copies one contiguous piece in the item's directions, if all of it is
 * present. */
static ompjit_status update_piece(ompjit__construct *c, ompjit__item *it,
                                  ompjit_error *err)
{
    ompjit__mapped *entry;
    enum ompjit__found found =
        ompjit__present_find(c->table, it->begin, (uint64_t)it->size, &entry);
    if (found == OMPJIT__OVERLAPS && it->type & OMPJIT__MAP_PRESENT)
        return overlap(c, "update", it, entry, err);
    if (found != OMPJIT__CONTAINED)
        return absent(c, it, err);
    ompjit_status st = ompjit__construct_after(c, entry, err);
    size_t size = (size_t)it->size;
    entry->shared = true;
    if (!st && it->type & OMPJIT__MAP_TO)
        st = copy_to(c, entry, it->begin, size, err);
    if (!st && it->type & OMPJIT__MAP_FROM)
        st = copy_out(c, it, entry, it->begin, size, err);
    return st;
}

static ompjit_status update_strided(ompjit__construct *c, ompjit__item *piece,
                                    const ompjit__dimension *d, unsigned n,
                                    ompjit_error *err)
{
    if (!n)
        return update_piece(c, piece, err);
    char *begin = piece->begin;
    ompjit_status st = OMPJIT_OK;
    for (uint64_t i = 0; i < d->count && !st; i++) {
        piece->begin = begin + i * d->stride;
        st = update_strided(c, piece, d + 1, n - 1, err);
    }
    piece->begin = begin;
    return st;
}

static ompjit_status update_section(ompjit__construct *c,
                                    const ompjit__item *it, ompjit_error *err)
{
    ompjit__strided s;
    ompjit__item piece = *it;
    ompjit_status st = ompjit__strided_read(c, it, &s, err);
    piece.begin = s.begin;
    piece.size = (int64_t)s.piece;
    return st ? st : update_strided(c, &piece, s.dimensions, s.n, err);
}

ompjit_status ompjit__map_update(ompjit_device *dev, const ompjit__maps *maps,
                                 ompjit_error *err)
{
    ompjit__construct c;
    ompjit_status st = ompjit__construct_init(&c, dev, maps, err);
    if (!st) {
        ompjit__present_lock(c.table);
        ompjit__late_wait(&c);
        for (size_t i = 0; i < c.n && !st; i++) {
            ompjit__item *it = &c.items[i];
            if (ompjit__item_private(it) || it->type & OMPJIT__MAP_ATTACH)
                continue;
            st = it->type & OMPJIT__MAP_NON_CONTIG
                     ? update_section(&c, it, err)
                     : update_piece(&c, it, err);
        }
        st = ompjit__construct_arrives(&c, st, err);
        ompjit__present_unlock(c.table);
        if (!st)
            st = ompjit__construct_wait(&c, err);
    }
    ompjit__construct_free(&c);
    return st;
}
