/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The map clause (OpenMP 5.2, 5.8): the path of a construct's data, from the
 * top of this file to its end.
 *
 *   begin:   wait for others -> find or make all entries, count -> copy all to
 *            the device -> attach all pointers
 *   commit:  send the copies
 *   end:     subtract all counts -> copy all to the host -> wait -> free all
 *
 * A table's lock is held for the whole of begin, commit and end, but commit
 * gives it back while it sends long copies: another thread that finds storage
 * present comes after the copies that fill it (arrival.c). transfer.c chooses
 * each copy's route. A construct with a kernel waits for it between commit and
 * end (omptarget/target_construct.c), where early_copy_back.c copies ahead.
 */
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"
#include "mapping/info.h"
#include "mapping/ompt.h"
#include "mapping/transfer.h"

/* The kinds of LIBOMPTARGET_INFO lines that tell of a construct's items. */
#define INFO_KINDS \
    (OMPJIT__INFO_EXISTS | OMPJIT__INFO_CHANGES | OMPJIT__INFO_COPIES)

ompjit_status ompjit__construct_init(ompjit__construct *c, ompjit_device *dev,
                                     const ompjit__maps *maps,
                                     ompjit_error *err)
{
    /* Not the whole struct: `few` is large, and a launch should be quick. */
    c->dev = dev;
    c->table = dev->present;
    c->maps = maps;
    c->number = 0;
    c->borrows = false;
    c->kernel = NULL;
    c->queue = NULL;
    c->copying = false;
    c->arrival = NULL;
    c->small = (ompjit__small_block){0};
    c->deferred = c->pieces = (ompjit__buf){0};
    c->early = (ompjit__early){0};
    c->attachments = NULL;
    c->guessed = NULL;
    return ompjit__items_read(c, err);
}

/* --------------------------------------------- begin: find or make entries */

/* The bytes that a counterpart begins behind an aligned address. A struct that
 * is mapped in part keeps the host's offset from the alignment that its members
 * may need, 16 at most. */
static uint64_t padding(const ompjit__item *it)
{
    if (!it->combined || !it->base)
        return 0;
    uint64_t alignment = (uintptr_t)it->base & -(uintptr_t)it->base;
    if (alignment > 16)
        alignment = 16;
    return (uintptr_t)it->begin % alignment;
}

/* For ompjit check: reports name the memory as the program does, and memory
 * that is mapped `to` alone is watched for lost writes. */
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

/* Adds an entry whose counterpart begins at `device`, in `allocation` unless
 * that is NULL. */
static ompjit_status add_entry(ompjit__construct *c, const ompjit__item *it,
                               const char *host, uint64_t size, char *device,
                               void *allocation, ompjit__mapped **out,
                               ompjit_error *err)
{
    ompjit_device *dev = c->dev;
    ompjit__mapped *entry = ompjit__present_add(c->table, host, size, device,
                                                it->name);
    ompjit_status st = entry ? ompjit__arrival_mark(c, entry, err)
                             : ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    if (st) {
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

/* Makes an entry. Its counterpart is the original, or a slot for values, or a
 * part of the construct's small block, or an allocation of its own. Storage
 * whose address use_device_addr has given to the program is device memory, and
 * so is its own counterpart when the program maps it. */
static ompjit_status create(ompjit__construct *c, const ompjit__item *it,
                            const char *host, uint64_t size, uint64_t pad,
                            ompjit__mapped **out, ompjit_error *err)
{
    void *allocation;
    *out = NULL;
    if (host == it->begin &&
        (ompjit__item_stays(c, it) ||
         ompjit__present_was_given(c->table, host, size)))
        return add_entry(c, it, host, size, (char *)host, NULL, out, err);
    ompjit_status st = OMPJIT_OK;
    if (host == it->begin && size == (uint64_t)it->size)
        st = ompjit__literal_add(c, it, out, err);
    if (st || *out)
        return st;
    st = ompjit__small_block_add(c, host, size, pad, it->name, out, err);
    if (st || *out)
        return st;
    st = ompjit__construct_alloc(c, pad + size, &allocation, err);
    if (st)
        return st;
    st = add_entry(c, it, host, size, (char *)allocation + pad, allocation, out,
                   err);
    if (st)
        ompjit__construct_free_memory(c, allocation, NULL);
    return st;
}

/* Counts that are FOREVER do not change. */
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
        return ompjit__item_overlaps(c, "map", it, entry, err);
    if (!entry) {
        ompjit_status st = ompjit__item_absent(c, it, err);
        if (st || !size)
            return st;
        uint64_t pad = host == it->begin ? padding(it) : 0;
        st = create(c, it, host, size, pad, &entry, err);
        if (st)
            return st;
        if (host == it->begin && it->base < it->begin)
            entry->base = (uintptr_t)it->base;
        if (host == it->begin)
            ompjit__section_note(it, entry);
        wanted = true;
    } else {
        entry->shared |= !ompjit__is_new(c, entry);
        ompjit_status st = ompjit__arrival_come_after(c, entry, err);
        if (st)
            return st;
    }
    if (wanted)
        count_up(entry, it);
    *out = entry;
    *counted = wanted;
    return OMPJIT_OK;
}

/* Enters an item: first the pointer, where it is one with its object, and then
 * what it points to. */
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

/* Called when every new entry has its device address. */
static void set_device_addresses(ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++) {
        ompjit__item *it = &c->items[i];
        if (it->entry)
            it->device = ompjit__present_device(it->entry, it->begin);
    }
}

/* The small block is allocated when all entries are known; until then the
 * entries in it have no device address. */
static ompjit_status enter_all(ompjit__construct *c, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; i < c->n && !st; i++)
        if (ompjit__item_maps(&c->items[i]))
            st = enter(c, &c->items[i], err);
    if (!st)
        st = ompjit__small_block_place(c, err);
    if (!st)
        set_device_addresses(c);
    if (!st && ompjit__ompt())
        ompjit__ompt_entered(c);
    return st;
}

/* ------------------------------------------------------------ begin: undo */

/* Ignores a failure to free: begin has an error already. */
static void discard(ompjit__construct *c, ompjit__mapped *entry)
{
    void *memory = ompjit__present_remove(c->table, entry);
    if (memory)
        ompjit__construct_free_memory(c, memory, NULL);
}

/* Entries that this construct has made go with their last count. */
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

/* ------------------------------------------------------------------ begin */

/* Under the lock. Only commit sends what is deferred here. */
static ompjit_status copy_all_to(ompjit__construct *c, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; i < c->n && !st; i++) {
        ompjit__item *it = &c->items[i];
        char *host;
        if (ompjit__copies_in(c, it)) {
            size_t size = ompjit__item_held(it, it->entry, &host);
            st = ompjit__transfer_to(c, it->entry, host, size, err);
        }
    }
    return st;
}

/* Each wait gives the lock back, so the conditions are checked again until both
 * hold without a wait. */
ompjit_status ompjit__construct_begin(ompjit__construct *c, ompjit_error *err)
{
    do
        ompjit__arrival_wait_sent(c);
    while (ompjit__attach_wait(c));
    c->number = ++c->table->constructs;
    ompjit_status st = enter_all(c, err);
    if (!st)
        st = copy_all_to(c, err);
    if (!st)
        st = ompjit__attach_all(c, err);
    if (st)
        undo(c);
    else
        ompjit__attach_keep(c);
    if (!st && ompjit__informs(c->dev->ctx, INFO_KINDS))
        ompjit__info_entered(c);
    return st;
}

ompjit_status ompjit__construct_commit(ompjit__construct *c, bool begun,
                                       ompjit_status st, ompjit_error *err)
{
    st = ompjit__transfer_send(c, st, err);
    if (begun && st)
        ompjit__construct_end(c, true, false, NULL);
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
                ompjit__translate_given(c->table, it->base, it->begin,
                                        (uint64_t)it->size);
    }
}

/* Waits for the copies; unmaps everything if they fail. */
static ompjit_status wait_or_undo(ompjit__construct *c, ompjit_error *err)
{
    ompjit_status st = ompjit__transfer_wait(c, err);
    if (st) {
        ompjit__present_lock(c->table);
        ompjit__construct_end(c, true, false, NULL);
        ompjit__present_unlock(c->table);
    }
    return st;
}

/* Nothing is mapped after a failure. */
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
        if (!st)
            st = wait_or_undo(&c, err);
    }
    ompjit__construct_free(&c);
    return st;
}

/* ---------------------------------------------------- end: subtract counts */

/* Returns how many counts it subtracted: one, or with `all` (`delete`) each. */
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

/* Finds the item's entry again and subtracts its counts. Storage that is
 * present in part counts as absent: no count changes. */
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
            return ompjit__item_overlaps(c, "unmap", it, part, err);
    }
    ompjit_status st = it->entry ? ompjit__arrival_come_after(c, it->entry, err)
                       : entered ? OMPJIT_OK
                                 : ompjit__item_absent(c, it, err);
    if (st)
        return st;
    /* clang sets `delete` in the entry of a structure's member, not in the
     * combined entry of the structure: that one takes one count, and the member
     * takes the others. */
    bool all = it->type & OMPJIT__MAP_DELETE;
    if (it->entry && (counts || (all && !entered)))
        it->taken = count_down(it->entry, it, all);
    if (pointer_counts &&
        ompjit__present_find(c->table, it->pointer_at, OMPJIT__POINTER_SIZE,
                             &it->pointer) == OMPJIT__CONTAINED)
        it->pointer_taken = count_down(it->pointer, it, false);
    return OMPJIT_OK;
}

/* Adds the counts that `leave` subtracted for the first n items. */
static void restore_counts(ompjit__construct *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ompjit__item *it = &c->items[i];
        if (it->taken)
            *ompjit__item_counter(it->entry, it) += it->taken;
        if (it->pointer_taken)
            *ompjit__item_counter(it->pointer, it) += it->pointer_taken;
    }
}

/* *done is the number of items that `leave` was called for, also on failure. */
static ompjit_status leave_all(ompjit__construct *c, bool entered,
                               size_t *done, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    for (*done = 0; *done < c->n && !st; ++*done) {
        ompjit__item *it = &c->items[*done];
        if (ompjit__item_maps(it)) {
            st = leave(c, it, entered, err);
        } else {
            it->entry = it->pointer = NULL;
            it->taken = it->pointer_taken = 0;
        }
    }
    return st;
}

/* --------------------------------------------------------------- end: free */

/* Frees an entry without counts. *st keeps the first failure. */
static void release(ompjit__construct *c, ompjit__mapped *entry,
                    ompjit_status *st, ompjit_error *err)
{
    if (ompjit__ompt())
        ompjit__ompt_removes(c, entry);
    void *memory = ompjit__present_remove(c->table, entry);
    if (!memory)
        return;
    ompjit_status freed =
        ompjit__construct_free_memory(c, memory, *st ? NULL : err);
    if (!*st)
        *st = freed;
}

/* Several items may have the same entry. The first loop keeps each entry that
 * has to go in one item only, and marks it by a number that no construct has;
 * the second frees these. */
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

/* -------------------------------------------------------------------- end */

/* Counts are subtracted: entries at 0 are copied to the host, and those that
 * are mapped `always`. */
static ompjit_status copy_all_from(ompjit__construct *c, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; i < c->n && !st; i++) {
        const ompjit__item *it = &c->items[i];
        char *host;
        if (ompjit__copies_out(it)) {
            size_t size = ompjit__item_held(it, it->entry, &host);
            st = ompjit__transfer_from(c, it, it->entry, host, size, err);
        }
    }
    return st;
}

/* Order matters: counts decide what is copied, copies are waited for, and only
 * then memory is freed. The lock is held throughout, also while copies are
 * under way; ompjit__arrival_wait_sent alone gives it back, before anything is
 * done. */
ompjit_status ompjit__construct_end(ompjit__construct *c, bool entered,
                                    bool copy, ompjit_error *err)
{
    size_t done;
    ompjit__arrival_wait_sent(c);
    if (entered)
        ompjit__attach_unuse(c);
    ompjit_status st = leave_all(c, entered, &done, err);
    if (!st && copy)
        st = copy_all_from(c, err);
    if (!st)
        st = ompjit__transfer_wait(c, err);
    if (st) {
        ompjit__transfer_abandon(c);
        restore_counts(c, done);
        return st;
    }
    if (copy)
        ompjit__literals_settle(c);
    for (size_t i = 0; i < c->n; i++)
        c->items[i].counted = c->items[i].pointer_counted = false;
    if (ompjit__informs(c->dev->ctx, INFO_KINDS))
        ompjit__info_left(c, copy);
    return release_all(c, err);
}

/* --------------------------------------------------------------- the list */

/* Its memory is given back. The arrays that it maps may be the child's, for
 * whose next constructs they are not present. */
static void drop(ompjit__construct *c)
{
    size_t done;
    ompjit__attach_unuse(c);
    leave_all(c, true, &done, NULL);
    release_all(c, NULL);
}

/* In a forked child. */
static void drop_lost(void *table)
{
    ompjit__present *t = table;
    ompjit__construct **at = &t->inside;
    while (*at) {
        ompjit__construct *c = *at;
        if (pthread_equal(c->thread, pthread_self())) {
            at = &c->next_inside;
            continue;
        }
        *at = c->next_inside;
        if (c->dev->caps.survives_fork)
            drop(c);
    }
}

void ompjit__construct_join(ompjit__construct *c)
{
    ompjit__present *t = c->table;
    if (!t->at_fork.in_child)
        ompjit__fork_call(&t->at_fork, drop_lost, t);
    c->thread = pthread_self();
    c->next_inside = t->inside;
    t->inside = c;
}

void ompjit__construct_leave(ompjit__construct *c)
{
    ompjit__construct **at = &c->table->inside;
    while (*at != c)
        at = &(*at)->next_inside;
    *at = c->next_inside;
}

void ompjit__construct_free(ompjit__construct *c)
{
    ompjit__transfer_close(c);
    ompjit__items_free(c);
}

/* Copies long sections and waits for them without the lock; the rest is done
 * under it. */
ompjit_status ompjit__map_end(ompjit_device *dev, const ompjit__maps *maps,
                              ompjit_error *err)
{
    ompjit__construct c;
    ompjit_status st = ompjit__construct_init(&c, dev, maps, err);
    if (!st) {
        st = ompjit__early_copy_ending(&c, err);
        ompjit_status waited = ompjit__transfer_wait(&c, st ? NULL : err);
        st = st ? st : waited;
    }
    if (!st) {
        ompjit__present_lock(c.table);
        st = ompjit__construct_end(&c, false, true, err);
        ompjit__present_unlock(c.table);
    }
    ompjit__construct_free(&c);
    return st;
}
