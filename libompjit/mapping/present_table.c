/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The present table of one device: which host storage has a counterpart
 * there. A treap over disjoint address ranges; map.c gives counts and copies
 * their meaning.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapping/present_table.h"

/* NULL: no memory. */
ompjit__present *ompjit__present_new(void)
{
    ompjit__present *table = calloc(1, sizeof *table);
    if (table) {
        ompjit__fork_lock_init(&table->at_fork, &table->lock);
        ompjit__fork_cond_init(&table->at_fork, &table->changed);
    }
    return table;
}

void *ompjit__block_drop(ompjit__block *block)
{
    if (!block || --block->refs)
        return NULL;
    void *memory = block->memory;
    free(block);
    return memory;
}

void ompjit__arrival_drop(ompjit__arrival *arrival)
{
    if (!arrival || --arrival->refs)
        return;
    if (arrival->event)
        arrival->dev->ops->events->destroy(arrival->dev, arrival->event);
    free(arrival);
}

/* Frees the entry. Returns its device memory if nothing else lies in it. */
static void *mapped_free(ompjit__mapped *entry)
{
    void *memory = entry->block ? ompjit__block_drop(entry->block)
                                : entry->allocation;
    if (entry->literal) {
        entry->literal->used = false;
        entry->literal->known &= !entry->shared;
    }
    ompjit__arrival_drop(entry->arrival);
    for (ompjit__attached *a = entry->attached, *next; a; a = next) {
        next = a->next;
        free(a);
    }
    free(entry->name);
    free(entry);
    return memory;
}

/* Frees a tree and its device memory, when the table ends. */
static void tree_free(ompjit_device *dev, ompjit__mapped *entry)
{
    if (!entry)
        return;
    tree_free(dev, entry->left);
    tree_free(dev, entry->right);
    void *memory = mapped_free(entry);
    if (memory)
        ompjit__device_drop(dev, memory);
}

/* The device is still open. */
void ompjit__present_free(ompjit_device *dev, ompjit__present *table)
{
    if (!table)
        return;
    tree_free(dev, table->root);
    if (table->literals)
        ompjit__device_drop(dev, table->literals->memory);
    free(table->literals);
    pthread_cond_destroy(&table->changed);
    ompjit__fork_lock_end(&table->at_fork);
    free(table);
}

void ompjit__present_lock(ompjit__present *table)
{
    pthread_mutex_lock(&table->lock);
}

void ompjit__present_unlock(ompjit__present *table)
{
    pthread_mutex_unlock(&table->lock);
}

void ompjit__present_wait_change(ompjit__present *table)
{
    pthread_cond_wait(&table->changed, &table->lock);
}

void ompjit__present_tell_change(ompjit__present *table)
{
    pthread_cond_broadcast(&table->changed);
}

/* ------------------------------------------------------------------ treap */

/* A hash of the address. A tree in heap order of random priorities is balanced
 * with high probability. */
static uint64_t priority(uintptr_t address)
{
    uint64_t x = address;
    x = (x ^ x >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return x ^ x >> 32;
}

/* Everything in `left` lies below everything in `right`. */
static ompjit__mapped *merge(ompjit__mapped *left, ompjit__mapped *right)
{
    if (!left || !right)
        return left ? left : right;
    if (left->priority > right->priority) {
        left->right = merge(left->right, right);
        return left;
    }
    right->left = merge(left, right->left);
    return right;
}

/* Splits by address; the tree's order of priorities stays. */
static void split(ompjit__mapped *tree, uintptr_t begin, ompjit__mapped **below,
                  ompjit__mapped **above)
{
    if (!tree) {
        *below = *above = NULL;
    } else if (tree->begin < begin) {
        *below = tree;
        split(tree->right, begin, &tree->right, above);
    } else {
        *above = tree;
        split(tree->left, begin, below, &tree->left);
    }
}

/* Descends to the first node of a lower priority. The new entry takes its
 * place, and the subtree there, split by address, becomes the entry's two
 * subtrees. */
ompjit__mapped *ompjit__present_add(ompjit__present *table, const void *host,
                                    uint64_t size, char *device,
                                    const char *name)
{
    ompjit__mapped *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    if (name && !(entry->name = ompjit__strdup(name))) {
        free(entry);
        return NULL;
    }
    entry->begin = entry->base = (uintptr_t)host;
    entry->end = entry->begin + size;
    entry->device = device;
    entry->priority = priority(entry->begin);

    ompjit__mapped **at = &table->root;
    while (*at && (*at)->priority > entry->priority)
        at = entry->begin < (*at)->begin ? &(*at)->left : &(*at)->right;
    split(*at, entry->begin, &entry->left, &entry->right);
    *at = entry;
    table->count++;
    return entry;
}

/* The entry is in the table. */
void *ompjit__present_remove(ompjit__present *table, ompjit__mapped *entry)
{
    ompjit__mapped **at = &table->root;
    while (*at != entry)
        at = entry->begin < (*at)->begin ? &(*at)->left : &(*at)->right;
    *at = merge(entry->left, entry->right);
    table->count--;
    ompjit__given_remove(table, entry);
    return mapped_free(entry);
}

/* Calls f in the order of addresses. */
static void each(const ompjit__mapped *tree,
                 void (*f)(void *data, const ompjit__mapped *entry), void *data)
{
    if (!tree)
        return;
    each(tree->left, f, data);
    f(data, tree);
    each(tree->right, f, data);
}

void ompjit__present_each(ompjit__present *table,
                          void (*f)(void *data, const ompjit__mapped *entry),
                          void *data)
{
    each(table->root, f, data);
}

/* ---------------------------------------------------------------- look-up */

/* One walk finds the neighbours on both sides. */
enum ompjit__found ompjit__present_find(ompjit__present *table,
                                        const void *host, uint64_t size,
                                        ompjit__mapped **entry)
{
    uintptr_t begin = (uintptr_t)host;
    ompjit__mapped *below = NULL, *above = NULL;
    for (ompjit__mapped *e = table->root; e;) {
        if (e->begin <= begin) {
            below = e;
            e = e->right;
        } else {
            above = e;
            e = e->left;
        }
    }
    if (below && begin < below->end) {
        *entry = below;
        return size <= below->end - begin ? OMPJIT__CONTAINED
                                          : OMPJIT__OVERLAPS;
    }
    /* Nothing is mapped at the pointer itself, but a section of its array is:
     * p where p[10:20] is present. */
    if (above && !size && above->base && begin >= above->base) {
        *entry = above;
        return OMPJIT__CONTAINED;
    }
    if (above && size > above->begin - begin) {
        *entry = above;
        return OMPJIT__OVERLAPS;
    }
    *entry = NULL;
    return OMPJIT__ABSENT;
}

/* Also for addresses outside of the entry, such as a base pointer. */
char *ompjit__present_device(const ompjit__mapped *entry, const void *host)
{
    return (char *)((uintptr_t)entry->device +
                    ((uintptr_t)host - entry->begin));
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

/* Storage that the device shares with the host has no device address to note.
 */
char *ompjit__translate_given(ompjit__present *table, char *base, char *begin,
                              uint64_t size)
{
    ompjit__mapped *e;
    ompjit__present_find(table, begin, size, &e);
    if (e && (uintptr_t)e->device != e->begin)
        ompjit__given_add(table, e);
    return ompjit__translate(table, base, begin, size);
}

/* Two counts, since ompx_hold is LLVM's extension: `delete` does not take
 * holds. */
uint64_t ompjit__mapped_count(const ompjit__mapped *entry)
{
    if (entry->dynamic == OMPJIT__FOREVER || entry->hold == OMPJIT__FOREVER)
        return OMPJIT__FOREVER;
    return entry->dynamic + entry->hold;
}

/* Attached pointers of an entry are few: a list. */
ompjit__attached *ompjit__present_attached(const ompjit__mapped *entry,
                                           const void *host)
{
    ompjit__attached *a = entry->attached;
    while (a && a->host != host)
        a = a->next;
    return a;
}

const ompjit__attached *ompjit__present_next_attached(
    const ompjit__mapped *entry, const char *host, const char *end)
{
    const ompjit__attached *first = NULL;
    for (ompjit__attached *a = entry->attached; a; a = a->next)
        if (ompjit__attached_in(a, host, (size_t)(end - host)) &&
            (!first || a->host < first->host))
            first = a;
    return first;
}

void ompjit__mapped_hold(ompjit__mapped *entry)
{
    if (entry->hold != OMPJIT__FOREVER)
        entry->hold++;
}

/* The memory is freed without the lock. */
void ompjit__mapped_let_go(ompjit_device *dev, ompjit__mapped *entry)
{
    ompjit_error err;
    void *memory = NULL;
    ompjit__present_lock(dev->present);
    if (entry->hold != OMPJIT__FOREVER)
        entry->hold--;
    if (!ompjit__mapped_count(entry))
        memory = ompjit__present_remove(dev->present, entry);
    ompjit__present_unlock(dev->present);
    if (memory && dev->ops->free(dev, memory, &err))
        ompjit__log(dev->ctx, "the end of a mapping: %s", err.text);
}

void *ompjit__present_lookup(ompjit_device *dev, const void *host)
{
    ompjit__mapped *entry;
    void *device = NULL;
    ompjit__present_lock(dev->present);
    if (ompjit__present_find(dev->present, host, 1, &entry)) {
        device = ompjit__present_device(entry, host);
        entry->shared = true;
    }
    ompjit__present_unlock(dev->present);
    return device;
}

/* Writes "x (file.c:3), " from a name of the form ";name;file;line;column;;".
 */
static void range_name(char *text, size_t size, const char *name)
{
    const char *field[4];
    int length[4];
    for (int i = 0; i < 4; i++) {
        if (!name || *name != ';')
            return;
        field[i] = name + 1;
        name = strchr(name + 1, ';');
        if (!name)
            return;
        length[i] = (int)(name - field[i]);
    }
    snprintf(text, size, "%.*s (%.*s:%.*s), ", length[0], field[0], length[1],
             field[1], length[2], field[2]);
}

void ompjit__range_text(char text[OMPJIT__RANGE_TEXT], const void *begin,
                        uint64_t size, const char *name)
{
    /* Room for the numbers, however long the names are. */
    text[0] = 0;
    range_name(text, OMPJIT__RANGE_TEXT - 64, name);
    size_t n = strlen(text);
    snprintf(text + n, OMPJIT__RANGE_TEXT - n, "%" PRIu64 " bytes at %p", size,
             begin);
}

/* ------------------------------------------------------------ association */

static bool is_association(const ompjit__mapped *entry, const void *host,
                           uint64_t size)
{
    return entry->begin == (uintptr_t)host &&
           entry->end == (uintptr_t)host + size &&
           entry->dynamic == OMPJIT__FOREVER;
}

bool ompjit__present_is_associated(ompjit_device *dev, const void *host,
                                   uint64_t size)
{
    ompjit__mapped *entry;
    ompjit__present_lock(dev->present);
    bool is = ompjit__present_find(dev->present, host, size, &entry) &&
              is_association(entry, host, size);
    ompjit__present_unlock(dev->present);
    return is;
}

/* OK where the entry is this very association; else the MAPPING error. */
static ompjit_status check_same_association(ompjit_device *dev,
                                            const ompjit__mapped *entry,
                                            const void *host,
                                            const void *device, uint64_t size,
                                            ompjit_error *err)
{
    if (is_association(entry, host, size) && entry->device == device)
        return OMPJIT_OK;
    char want[OMPJIT__RANGE_TEXT], have[OMPJIT__RANGE_TEXT];
    ompjit__range_text(want, host, size, NULL);
    ompjit__range_text(have, (void *)entry->begin, entry->end - entry->begin,
                       entry->name);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "cannot associate %s with device %u: %s is mapped "
                        "there", want, dev->number, have);
}

ompjit_status ompjit__present_associate(ompjit_device *dev, const void *host,
                                        void *device, uint64_t size,
                                        ompjit_error *err)
{
    ompjit__present *table = dev->present;
    ompjit__mapped *entry;
    ompjit_status st = OMPJIT_OK;
    ompjit__present_lock(table);
    if (ompjit__present_find(table, host, size, &entry)) {
        st = check_same_association(dev, entry, host, device, size, err);
    } else {
        entry = ompjit__present_add(table, host, size, device, NULL);
        if (entry)
            entry->dynamic = OMPJIT__FOREVER;
        else
            st = ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    }
    ompjit__present_unlock(table);
    return st;
}

/* The device's memory is the caller's, before and after. */
ompjit_status ompjit__present_disassociate(ompjit_device *dev,
                                           const void *host,
                                           ompjit_error *err)
{
    ompjit__present *table = dev->present;
    ompjit__mapped *entry;
    ompjit_status st = OMPJIT_OK;
    ompjit__present_lock(table);
    ompjit__present_find(table, host, 1, &entry);
    if (!entry || entry->begin != (uintptr_t)host ||
        entry->dynamic != OMPJIT__FOREVER)
        st = ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_MAP,
                          "host address %p is not associated with device %u",
                          host, dev->number);
    else if (entry->hold)
        st = ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                          "host address %p is held on device %u by %" PRIu64
                          " constructs", host, dev->number, entry->hold);
    else
        ompjit__present_remove(table, entry);
    ompjit__present_unlock(table);
    return st;
}
