/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Attachment: the device's copy of a pointer in mapped storage is made to point
 * to the counterpart of the host's pointee (OpenMP 6.0, 7.9.6). A construct
 * keeps a list of the attachments that it makes, and undoes them if its begin
 * fails.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mapping/transfer.h"

/* Replaces `was` in the entry's list by `now`; `was` NULL appends. */
static void relink(ompjit__mapped *entry, const ompjit__attached *was,
                   ompjit__attached *now)
{
    ompjit__attached **link = &entry->attached;
    while (*link != was)
        link = &(*link)->next;
    *link = now;
}

/* Has this construct's begin made the attachment? */
static bool is_made_by(const ompjit__construct *c, const ompjit__attached *a)
{
    const ompjit__attached *l = c->attachments;
    while (l && l != a)
        l = l->next_made;
    return l != NULL;
}

/* The value of the device's copy of a pointer whose host value is `base`. */
static char *value_of(const char *base, const char *begin, char *device_begin)
{
    return (char *)((uintptr_t)device_begin -
                    ((uintptr_t)begin - (uintptr_t)base));
}

/* True if the attachment already gives the device what `at` would: the pointer
 * `value`, and of a Fortran descriptor the host's bounds behind it. */
static bool is_up_to_date(const ompjit__attached *a, const char *at,
                          uint32_t size, const char *value)
{
    return a->size == size &&
           !memcmp(a->value, &value, OMPJIT__POINTER_SIZE) &&
           !memcmp(a->value + OMPJIT__POINTER_SIZE, at + OMPJIT__POINTER_SIZE,
                   size - OMPJIT__POINTER_SIZE);
}

/* Makes the device's copy of the pointer at host address `at` point to where
 * the device has `begin`; `base` is the host pointer's value. */
static ompjit_status attach(ompjit__construct *c, ompjit__mapped *pointer,
                            char *at, uint32_t size, char *base,
                            const char *begin, char *device_begin,
                            ompjit_error *err)
{
    char *device = ompjit__present_device(pointer, at);
    char *value = value_of(base, begin, device_begin);
    if (device == at)
        return OMPJIT_OK;
    ompjit__attached *a = ompjit__present_attached(pointer, at);
    if (a && is_up_to_date(a, at, size, value))
        return OMPJIT_OK;
    if (a && a->size != size && is_made_by(c, a))
        return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                            "the pointer at %p is attached as %u and as %u "
                            "bytes", (void *)at, a->size, size);
    ompjit__attached *made = malloc(sizeof *made + size);
    if (!made)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    *made = (ompjit__attached){.host = at, .device = device, .size = size};
    memcpy(made->value, at, size);
    memcpy(made->value, &value, OMPJIT__POINTER_SIZE);
    ompjit_status st =
        ompjit__transfer_put(c, device, made->value, size, err);
    if (st || (a && a->size == size && is_made_by(c, a))) {
        if (!st) /* made before by this construct: nothing more to undo */
            memcpy(a->value, made->value, size);
        free(made);
        return st;
    }
    made->owner = pointer;
    made->replaced = a;
    made->next = a ? a->next : NULL;
    relink(pointer, a, made);
    made->next_made = c->attachments;
    c->attachments = made;
    return OMPJIT_OK;
}

/* Begin has succeeded: drops the records that would undo the attachments. */
void ompjit__attach_keep(ompjit__construct *c)
{
    for (ompjit__attached *a = c->attachments; a; a = a->next_made) {
        free(a->replaced);
        a->replaced = NULL;
    }
}

/* Begin has failed: the device gets back the value of the replaced attachment,
 * or else the host's. */
void ompjit__attach_undo(ompjit__construct *c)
{
    for (ompjit__attached *a = c->attachments, *next; a; a = next) {
        ompjit__attached *old = a->replaced;
        next = a->next_made;
        ompjit__transfer_put(c, a->device,
                             old ? (void *)old->value : a->host, a->size,
                             NULL);
        if (old)
            old->next = a->next;
        relink(a->owner, a, old ? old : a->next);
        free(a);
    }
    c->attachments = NULL;
}

/* An ATTACH entry: attaches the pointer at `base` if both it and its pointee
 * are present now, and either is new (or the type has `always`). */
static ompjit_status attach_item(ompjit__construct *c, const ompjit__item *it,
                                 ompjit_error *err)
{
    ompjit__mapped *pointer, *pointee;
    if (it->size < (int64_t)OMPJIT__POINTER_SIZE ||
        it->size > OMPJIT__SMALL_COPY)
        return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                            "attach entry for a pointer of %" PRId64 " bytes "
                            "at %p", it->size, (void *)it->base);
    if (!it->begin ||
        ompjit__present_find(c->table, it->begin, 0, &pointee) !=
            OMPJIT__CONTAINED ||
        ompjit__present_find(c->table, it->base, (uint64_t)it->size,
                             &pointer) != OMPJIT__CONTAINED)
        return OMPJIT_OK;
    if (!(it->type & OMPJIT__MAP_ALWAYS) && !ompjit__is_new(c, pointer) &&
        !ompjit__is_new(c, pointee))
        return OMPJIT_OK;
    char *base;
    pointee->shared |= !ompjit__is_new(c, pointee);
    memcpy(&base, it->base, OMPJIT__POINTER_SIZE);
    return attach(c, pointer, it->base, (uint32_t)it->size, base, it->begin,
                  ompjit__present_device(pointee, it->begin), err);
}

/* Does the construct copy the pointer to the device? */
static bool is_sent(const ompjit__construct *c, const char *pointer)
{
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__item *it = &c->items[i];
        if (it->type & OMPJIT__MAP_TO && it->begin <= pointer &&
            pointer + OMPJIT__POINTER_SIZE <= it->begin + it->size)
            return true;
    }
    return false;
}

/* Is the pointer NULL, and its new copy not yet? flang sends all of an array's
 * descriptor but its address, which says whether the array is allocated. */
static bool lacks_null(const ompjit__construct *c, const ompjit__item *it)
{
    return it->pointer && !it->base && ompjit__is_new(c, it->pointer) &&
           !is_sent(c, it->pointer_at);
}

static ompjit_status send_null(ompjit__construct *c, const ompjit__item *it,
                               ompjit_error *err)
{
    static char *const null;
    char *device = ompjit__present_device(it->pointer, it->pointer_at);
    return device == it->pointer_at
               ? OMPJIT_OK
               : ompjit__transfer_put(c, device, &null, sizeof null, err);
}

/* After a failure c->attachments has those that were made, for
 * ompjit__attach_undo. */
ompjit_status ompjit__attach_all(ompjit__construct *c, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; i < c->n && !st; i++) {
        const ompjit__item *it = &c->items[i];
        if (ompjit__item_private(it))
            continue;
        if (it->type & OMPJIT__MAP_ATTACH)
            st = attach_item(c, it, err);
        else if (it->pointer && it->device)
            st = attach(c, it->pointer, it->pointer_at, OMPJIT__POINTER_SIZE,
                        it->base, it->begin, it->device, err);
        else if (lacks_null(c, it))
            st = send_null(c, it, err);
    }
    return st;
}

/* ------------------------------------------------------------------ users */

/* The record of the item's attached pointer; NULL: none. It is looked up each
 * time, since another construct may have deleted it meanwhile. */
static ompjit__attached *attached_of(const ompjit__construct *c,
                                     const ompjit__item *it)
{
    const char *at = it->pointer_at ? it->pointer_at : it->base;
    ompjit__mapped *pointer;
    if (ompjit__item_private(it) ||
        !(it->type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ)) ||
        ompjit__present_find(c->table, at, OMPJIT__POINTER_SIZE, &pointer) !=
            OMPJIT__CONTAINED)
        return NULL;
    return ompjit__present_attached(pointer, at);
}

/* Each item counts as one user of its pointer. */
void ompjit__attach_use(ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++) {
        ompjit__attached *a = attached_of(c, &c->items[i]);
        c->items[i].uses = a != NULL;
        if (a)
            a->users++;
    }
}

/* The last user wakes threads that wait to redirect the pointer. */
void ompjit__attach_unuse(ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!c->items[i].uses)
            continue;
        ompjit__attached *a = attached_of(c, &c->items[i]);
        c->items[i].uses = false;
        if (a && a->users && !--a->users)
            ompjit__present_tell_change(c->table);
    }
}

/* Would the item change an attached pointer that a kernel under way may load?
 */
static bool redirects(const ompjit__construct *c, const ompjit__item *it)
{
    const ompjit__attached *a = attached_of(c, it);
    bool attach = it->type & OMPJIT__MAP_ATTACH;
    ompjit__mapped *pointee;
    char *base;
    if (!a || !a->users)
        return false;
    uint64_t size = attach ? 1 : (uint64_t)it->size;
    if (ompjit__present_find(c->table, it->begin, size, &pointee) !=
        OMPJIT__CONTAINED)
        return true;
    if (attach && !(it->type & OMPJIT__MAP_ALWAYS))
        return false;
    uint32_t bytes = attach ? (uint32_t)it->size : OMPJIT__POINTER_SIZE;
    memcpy(&base, it->base, sizeof base);
    char *value = value_of(base, it->begin,
                           ompjit__present_device(pointee, it->begin));
    return !is_up_to_date(a, it->base, bytes, value);
}

/* Checks all items again after each wait, since the lock was given back. */
bool ompjit__attach_wait(ompjit__construct *c)
{
    bool waited = false;
    for (size_t i = 0; i < c->n;) {
        if (redirects(c, &c->items[i])) {
            ompjit__present_wait_change(c->table);
            waited = true;
            i = 0;
        } else {
            i++;
        }
    }
    return waited;
}
