/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Borrowing: in `auto` memory (the context's choice of memory for the host
 * device) the device uses the application's storage for a mapping where no
 * program can tell it from a copy. For a construct with a kernel these are
 * sections that come back to the host at its end, and sections that the kernel
 * does not write (frontend/describe/writes.c says which). Storage in which a
 * device pointer may be attached always has a copy. For data regions
 * passes/hosthalf/share sets OMPJIT__MAP_UNSEEN in the map types for which the
 * host half shows this. The same conditions tell whether a scalar can be a
 * value (literal.c).
 */
#include "mapping/construct.h"

/* `kernel` is NULL for a construct without one, or whose kernel nobody
 * describes. */
void ompjit__construct_borrow(ompjit__construct *c,
                              const ompjit__kernel_desc *kernel)
{
    c->borrows = c->dev->borrows;
    c->kernel = kernel;
}

/* Is the item a part of a structure's or a pointer's mapping? Its parts have to
 * lie together on the device. */
static bool is_composed(const ompjit__item *it)
{
    return it->component || it->combined ||
           it->type & (OMPJIT__MAP_PTR_AND_OBJ | OMPJIT__MAP_MEMBER_OF);
}

/* Does the address lie in the item's section? */
static bool lies_in(const void *address, const ompjit__item *it)
{
    const char *at = address;
    return at >= it->begin && at < it->begin + it->size;
}

/* True where an entry of the construct has its pointer in the item. */
static bool holds_attached(const ompjit__construct *c, const ompjit__item *it)
{
    const uint64_t attaches = OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ;
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].type & attaches && lies_in(c->items[i].base, it))
            return true;
    return false;
}

/* Does the section `other`, or its address if it has no length, meet the item's
 * storage? */
static bool meets(const ompjit__item *other, const ompjit__item *it)
{
    const char *begin = other->begin, *end = it->begin + it->size;
    return begin < end ? begin + other->size > it->begin || begin >= it->begin
                       : begin == end && !other->size;
}

/* The number of the kernel's parameter that the item is for; -1: none. */
static int param_of(const ompjit__construct *c, const ompjit__item *it)
{
    const ompjit__maps *m = c->maps;
    int param = 0;
    if (!(it->type & OMPJIT__MAP_TARGET_PARAM) || it->component)
        return -1;
    for (int32_t i = 0; i < it->index; i++)
        param += ((uint64_t)m->types[i] & OMPJIT__MAP_TARGET_PARAM) != 0;
    return param;
}

/* May the kernel write to the item: through its parameter, or, if it has none,
 * through pointers that the kernel loads? */
static bool may_write(const ompjit__construct *c, const ompjit__item *it)
{
    int param = param_of(c, it);
    return param < 0 ? c->kernel->writes_loaded
                     : param >= 64 || c->kernel->written >> param & 1;
}

/* Is the pointer that leads to the item somewhere on the device, where the
 * kernel may load it? */
static bool is_attached(const ompjit__construct *c, const ompjit__item *attach)
{
    ompjit__mapped *entry;
    for (size_t i = 0; i < c->n; i++)
        if (lies_in(attach->base, &c->items[i]))
            return true;
    return ompjit__present_find(c->table, attach->base, OMPJIT__POINTER_SIZE,
                                &entry) != OMPJIT__ABSENT;
}

/* Does the kernel write neither by the item's own pointer nor by that of
 * another item that meets its storage? */
static bool is_only_read(const ompjit__construct *c, const ompjit__item *it)
{
    if (!c->kernel || may_write(c, it))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__item *other = &c->items[i];
        if (other == it || ompjit__item_private(other) || !meets(other, it))
            continue;
        if (other->type & OMPJIT__MAP_ATTACH
                ? c->kernel->writes_loaded && is_attached(c, other)
                : may_write(c, other))
            return false;
    }
    return true;
}

/* Does the map type say that no program can tell the storage from a copy? All
 * items that meet the storage have to say so. */
static bool is_unseen(const ompjit__construct *c, const ompjit__item *it)
{
    uint64_t unseen = OMPJIT__MAP_UNSEEN;
    if (!atomic_load(&c->dev->ctx->hands_out_functions))
        unseen |= OMPJIT__MAP_UNSEEN_IN_MAIN;
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__item *other = &c->items[i];
        if (!ompjit__item_private(other) &&
            !(other->type & (unseen | OMPJIT__MAP_ATTACH)) &&
            meets(other, it))
            return false;
    }
    return it->type & unseen;
}

/* Only a small section that begins at its base and is no part of another item.
 */
bool ompjit__item_is_value(const ompjit__construct *c, const ompjit__item *it)
{
    const uint64_t plain = OMPJIT__MAP_TO | OMPJIT__MAP_TARGET_PARAM |
                           OMPJIT__MAP_IMPLICIT;
    return c->kernel && it->type & OMPJIT__MAP_TO && !(it->type & ~plain) &&
           it->base == it->begin && it->size > 0 &&
           it->size <= OMPJIT__LITERAL_SIZE && !is_composed(it) &&
           !holds_attached(c, it) && is_only_read(c, it);
}

/* Shared memory has no copies at all; else only `auto` memory borrows. */
bool ompjit__item_stays(const ompjit__construct *c, const ompjit__item *it)
{
    if (ompjit__shares_memory(c->dev))
        return true;
    if (!c->dev->borrows || is_composed(it) || it->type & OMPJIT__MAP_CLOSE ||
        holds_attached(c, it))
        return false;
    if (!c->borrows)
        return is_unseen(c, it);
    return it->type & OMPJIT__MAP_FROM ||
           (it->type & OMPJIT__MAP_TO && is_only_read(c, it));
}
