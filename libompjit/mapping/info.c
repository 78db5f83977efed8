/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The lines of LIBOMPTARGET_INFO about mappings and copies, from a construct's
 * items when it has begun and when it ends. Their text is libomptarget's, which
 * tools read.
 */
#include <inttypes.h>
#include <stdio.h>

#include "mapping/info.h"

#define ADDRESS "0x%016" PRIx64
#define LINE(c, ...) \
    ompjit__info_line((c)->dev->ctx, (c)->dev->number, __VA_ARGS__)

/* Has the user asked for one of these kinds of lines? */
static bool asked(const ompjit__construct *c, uint32_t flags)
{
    return ompjit__informs(c->dev->ctx, flags);
}

static uint64_t address(const void *pointer)
{
    return (uintptr_t)pointer;
}

/* A count as text, returned by value for use in an argument list. */
typedef struct count_text {
    char text[24];
} count_text;

static count_text count_of(uint64_t n)
{
    count_text t;
    snprintf(t.text, sizeof t.text, n == OMPJIT__FOREVER ? "INF" : "%" PRIu64,
             n);
    return t;
}

/* Tells nothing where host and device have the same address: there is no copy.
 */
static void tell_copy(const ompjit__construct *c, bool to_device,
                      const ompjit__mapped *entry, char *host, uint64_t size)
{
    ompjit__info_place place;
    char *device = ompjit__present_device(entry, host);
    if (device == host)
        return;
    ompjit__info_place_read(entry->name, false, &place);
    LINE(c, "Copying data from %s, %s=" ADDRESS ", %s=" ADDRESS
            ", Size=%" PRIu64 ", Name=%s",
         to_device ? "host to device" : "device to host",
         to_device ? "HstPtr" : "TgtPtr",
         to_device ? address(host) : address(device),
         to_device ? "TgtPtr" : "HstPtr",
         to_device ? address(device) : address(host), size, place.name);
}

static void tell_new(const ompjit__construct *c, const ompjit__mapped *e)
{
    ompjit__info_place place;
    ompjit__info_place_read(e->name, false, &place);
    LINE(c, "Creating new map entry with HstPtrBase=" ADDRESS ", HstPtrBegin="
            ADDRESS ", TgtAllocBegin=" ADDRESS ", TgtPtrBegin=" ADDRESS
            ", Size=%" PRIu64 ", DynRefCount=%s, HoldRefCount=%s, Name=%s",
         (uint64_t)e->base, (uint64_t)e->begin,
         address(e->allocation ? e->allocation : e->device), address(e->device),
         (uint64_t)(e->end - e->begin), count_of(e->dynamic).text,
         count_of(e->hold).text, place.name);
}

/* `change` is the text behind the count that the item changed. `last`: the item
 * subtracted the last count; libomptarget then tells the count before. */
static void tell_existing(const ompjit__construct *c, const ompjit__item *it,
                          const char *change, bool last)
{
    const ompjit__mapped *e = it->entry;
    ompjit__info_place place;
    bool hold = it->type & OMPJIT__MAP_HOLD;
    uint64_t before = last ? it->taken : 0;
    ompjit__info_place_read(it->name, false, &place);
    LINE(c, "Mapping exists%s with HstPtrBegin=" ADDRESS ", TgtPtrBegin="
            ADDRESS ", Size=%" PRId64 ", DynRefCount=%s%s, HoldRefCount=%s%s, "
            "Name=%s",
         it->type & OMPJIT__MAP_IMPLICIT ? " (implicit)" : "",
         address(it->begin), address(ompjit__present_device(e, it->begin)),
         it->size, count_of(e->dynamic + (hold ? 0 : before)).text,
         hold ? "" : change, count_of(e->hold + (hold ? before : 0)).text,
         hold ? change : "", place.name);
}

/* Is the item the first of the construct's with its entry? */
static bool is_first(const ompjit__construct *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (c->items[k].entry == c->items[i].entry)
            return false;
    return true;
}

/* Under the lock, when begin has succeeded. */
void ompjit__info_entered(const ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__item *it = &c->items[i];
        char *host;
        if (!it->entry)
            continue;
        bool created = ompjit__is_new(c, it->entry) && is_first(c, i);
        if (created && asked(c, OMPJIT__INFO_CHANGES))
            tell_new(c, it->entry);
        if (!created && asked(c, OMPJIT__INFO_EXISTS))
            tell_existing(c, it, it->counted ? " (incremented)"
                                             : " (update suppressed)", false);
        if (ompjit__copies_in(c, it) && asked(c, OMPJIT__INFO_COPIES)) {
            size_t size = ompjit__item_held(it, it->entry, &host);
            tell_copy(c, true, it->entry, host, size);
        }
    }
}

static void tell_removal(const ompjit__construct *c, const ompjit__mapped *e)
{
    ompjit__info_place place;
    ompjit__info_place_read(e->name, false, &place);
    LINE(c, "Removing map entry with HstPtrBegin=" ADDRESS ", TgtPtrBegin="
            ADDRESS ", Size=%" PRIu64 ", Name=%s",
         (uint64_t)e->begin, address(e->device), (uint64_t)(e->end - e->begin),
         place.name);
}

/* Under the lock, before entries that have to go are removed. */
void ompjit__info_left(const ompjit__construct *c, bool copies)
{
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__item *it = &c->items[i];
        char *host;
        if (!it->entry)
            continue;
        bool last = !ompjit__mapped_count(it->entry);
        if (asked(c, OMPJIT__INFO_EXISTS))
            tell_existing(c, it, !it->taken ? " (update suppressed)"
                                 : last     ? " (deferred final decrement)"
                                            : " (decremented)",
                          it->taken && last);
        if (copies && ompjit__copies_out(it) && asked(c, OMPJIT__INFO_COPIES)) {
            size_t size = ompjit__item_held(it, it->entry, &host);
            tell_copy(c, false, it->entry, host, size);
        }
        if (it->taken && last && is_first(c, i) &&
            asked(c, OMPJIT__INFO_CHANGES))
            tell_removal(c, it->entry);
    }
}

void ompjit__info_updated(const ompjit__construct *c, const ompjit__item *it,
                          const ompjit__mapped *entry)
{
    if (!asked(c, OMPJIT__INFO_COPIES))
        return;
    if (it->type & OMPJIT__MAP_TO)
        tell_copy(c, true, entry, it->begin, (uint64_t)it->size);
    if (it->type & OMPJIT__MAP_FROM)
        tell_copy(c, false, entry, it->begin, (uint64_t)it->size);
}

static void tell_row(void *data, const ompjit__mapped *e)
{
    ompjit_device *dev = data;
    ompjit__info_place place;
    ompjit__info_place_read(e->name, false, &place);
    ompjit__info_line(dev->ctx, dev->number,
                      ADDRESS " " ADDRESS " %-8" PRIu64 " %-11s %-12s %s at "
                      "%s:%u:%u", (uint64_t)e->begin, address(e->device),
                      (uint64_t)(e->end - e->begin), count_of(e->dynamic).text,
                      count_of(e->hold).text, place.name, place.file,
                      place.line, place.column);
}

/* Takes the lock. */
void ompjit__info_table(ompjit_device *dev, const char *where)
{
    ompjit__info_place at;
    ompjit__info_place_read(where, true, &at);
    ompjit__present_lock(dev->present);
    if (!dev->present->count) {
        ompjit__info_line(dev->ctx, dev->number,
                          "OpenMP Host-Device pointer mappings table empty");
    } else {
        ompjit__info_line(dev->ctx, dev->number, "OpenMP Host-Device pointer "
                          "mappings after block at %s:%u:%u:", at.file, at.line,
                          at.column);
        ompjit__info_line(dev->ctx, dev->number, "%-18s %-18s %s %s %s %s",
                          "Host Ptr", "Target Ptr", "Size (B)", "DynRefCount",
                          "HoldRefCount", "Declaration");
        ompjit__present_each(dev->present, tell_row, dev);
    }
    ompjit__present_unlock(dev->present);
}
