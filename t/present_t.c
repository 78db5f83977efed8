/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The present table: look-ups against a plain list, associations, texts.
 */
#include "tap.h"
#include "fake.h"
#include "mapping/present_table.h"

static char arena[1 << 16];

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* The right answer of a look-up, by a list of ranges (end 0: not there). */
static enum ompjit__found model_find(const ompjit__mapped *list, size_t n,
                                     uintptr_t begin, uint64_t size,
                                     uintptr_t *found)
{
    for (size_t i = 0; i < n; i++) {
        const ompjit__mapped *e = &list[i];
        if (begin >= e->begin && begin < e->end) {
            *found = e->begin;
            return begin + size <= e->end ? OMPJIT__CONTAINED
                                          : OMPJIT__OVERLAPS;
        }
    }
    uintptr_t least = UINTPTR_MAX;
    for (size_t i = 0; i < n; i++)
        if (list[i].end && begin < list[i].begin && list[i].begin < least)
            least = list[i].begin;
    *found = least;
    return least != UINTPTR_MAX && begin + size > least ? OMPJIT__OVERLAPS
                                                        : OMPJIT__ABSENT;
}

static void random_ranges(void)
{
    enum { SLOTS = 512, SLOT = sizeof arena / SLOTS };
    static ompjit__mapped list[SLOTS];
    static ompjit__mapped *entries[SLOTS];
    ompjit__present *table = ompjit__present_new();
    uint32_t seed = 1;
    size_t wrong = 0, live = 0, adds = 0;
    for (int step = 0; step < 20000; step++) {
        uint32_t slot = next_random(&seed) % SLOTS;
        char *at = arena + slot * SLOT + next_random(&seed) % (SLOT / 2);
        uint64_t size = 1 + next_random(&seed) % (SLOT / 2);
        if (entries[slot]) {
            ompjit__present_remove(table, entries[slot]);
            entries[slot] = NULL;
            list[slot].begin = list[slot].end = 0;
            live--;
        } else {
            entries[slot] = ompjit__present_add(table, at, size, at, NULL);
            list[slot].begin = (uintptr_t)at;
            list[slot].end = (uintptr_t)at + size;
            live++;
            adds++;
        }
        char *probe = arena + next_random(&seed) % (sizeof arena - SLOT);
        uint64_t bytes = next_random(&seed) % SLOT;
        uintptr_t want;
        ompjit__mapped *got;
        enum ompjit__found model =
            model_find(list, SLOTS, (uintptr_t)probe, bytes, &want);
        enum ompjit__found found =
            ompjit__present_find(table, probe, bytes, &got);
        wrong += found != model || !got != !found ||
                 (got && got->begin != want);
    }
    ok(!wrong, "20000 look-ups agree with a list");
    ok(table->count == live && adds > 1000, "%zu entries are left", live);
    for (size_t i = 0; i < SLOTS; i++)
        if (entries[i])
            ompjit__present_remove(table, entries[i]);
    ok(!table->root && !table->count, "the table is empty");
    ompjit__present_free(NULL, table);
}

static int depth(const ompjit__mapped *e)
{
    if (!e)
        return 0;
    int l = depth(e->left), r = depth(e->right);
    return 1 + (l > r ? l : r);
}

static void ascending_is_balanced(void)
{
    ompjit_device *dev = fake_new(false);
    for (size_t i = 0; i < 4096; i++)
        ompjit__present_add(dev->present, arena + 16 * i, 16, NULL, NULL);
    ok(depth(dev->present->root) < 48, "4096 ascending ranges: depth %d",
       depth(dev->present->root));
    ok(!fake_delete(dev), "freed");
}

static void base_reach(void)
{
    ompjit_device *dev = fake_new(false);
    ompjit__mapped *e = ompjit__present_add(dev->present, arena + 100, 50,
                                            arena + 1000, NULL), *got;
    e->base = (uintptr_t)arena + 20;
    static const struct {
        int at, size;
        enum ompjit__found want;
    } rows[] = {
        {20, 0, OMPJIT__CONTAINED}, {19, 0, OMPJIT__ABSENT},
        {100, 0, OMPJIT__CONTAINED}, {149, 0, OMPJIT__CONTAINED},
        {150, 0, OMPJIT__ABSENT}, {20, 1, OMPJIT__ABSENT},
        {99, 1, OMPJIT__ABSENT}, {99, 2, OMPJIT__OVERLAPS},
        {0, 500, OMPJIT__OVERLAPS}, {100, 50, OMPJIT__CONTAINED},
        {100, 51, OMPJIT__OVERLAPS}, {149, 1, OMPJIT__CONTAINED},
        {149, 2, OMPJIT__OVERLAPS}, {150, 1, OMPJIT__ABSENT},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        ok(ompjit__present_find(dev->present, arena + rows[i].at,
                                (uint64_t)rows[i].size, &got) ==
               rows[i].want, "[100,150) from 20: %d+%d", rows[i].at,
           rows[i].size);
    ompjit__present_find(dev->present, arena + 20, 0, &got);
    ok(ompjit__present_device(got, arena + 20) == arena + 920,
       "the base's own address is 80 below");
    ok(!fake_delete(dev), "freed");
}

static void association(void)
{
    ompjit_device *dev = fake_new(false);
    ompjit_error err = {0};
    ok(!ompjit__present_associate(dev, arena, arena + 999, 10, &err),
       "associate");
    ok(!ompjit__present_associate(dev, arena, arena + 999, 10, &err),
       "the same again is nothing new");
    ok(ompjit__present_associate(dev, arena, arena + 998, 10, &err) ==
           OMPJIT_ERR_MAPPING, "another device address fails");
    ok_contains(err.text, "is mapped there", "the text says why");
    ok(ompjit__present_associate(dev, arena + 9, arena, 10, &err) ==
           OMPJIT_ERR_MAPPING, "an overlapping range fails");
    ok(ompjit__present_lookup(dev, arena + 3) == arena + 1002, "look-up");
    ok(!ompjit__present_lookup(dev, arena + 10), "not beyond the end");
    ok(ompjit__present_disassociate(dev, arena + 1, &err) ==
           OMPJIT_ERR_NOT_FOUND, "only from its beginning");
    ok(!ompjit__present_disassociate(dev, arena, &err), "disassociate");
    ok(ompjit__present_disassociate(dev, arena, &err) ==
           OMPJIT_ERR_NOT_FOUND, "once");
    ok(!fake_delete(dev), "nothing of ours was freed or left");
}

static void texts(void)
{
    static const struct {
        const char *name, *want;
    } rows[] = {
        {NULL, "8 bytes at 0x10"},
        {";x;f.c;3;7;;", "x (f.c:3), 8 bytes at 0x10"},
        {"x", "8 bytes at 0x10"},
        {";x;f.c", "8 bytes at 0x10"},
    };
    char text[OMPJIT__RANGE_TEXT], name[1000];
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__range_text(text, (void *)0x10, 8, rows[i].name);
        ok_string(text, rows[i].want, "name %s",
                  rows[i].name ? rows[i].name : "(null)");
    }
    memset(name, 'x', sizeof name);
    memcpy(name, ";", 1);
    memcpy(name + 980, ";f;1;2;;", 9);
    ompjit__range_text(text, (void *)0x10, 8, name);
    ok_contains(text, "8 bytes at 0x10", "a long name leaves the numbers");
}

int main(void)
{
    random_ranges();
    ascending_is_balanced();
    base_reach();
    association();
    texts();
    return done_testing();
}
