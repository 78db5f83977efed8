/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Device addresses that use_device_ptr and use_device_addr returned to the
 * program. The entries are in a second treap, by their device addresses, beside
 * the present table's own by host addresses. Associated storage may overlap on
 * the device, so each node has the greatest end in its subtree.
 */
#include "mapping/present_table.h"

static uintptr_t device_of(const ompjit__mapped *e)
{
    return (uintptr_t)e->device;
}

static uintptr_t device_end(const ompjit__mapped *e)
{
    return device_of(e) + (e->end - e->begin);
}

static bool is_before(const ompjit__mapped *a, const ompjit__mapped *b)
{
    return device_of(a) != device_of(b) ? device_of(a) < device_of(b)
                                        : a->begin < b->begin;
}

static uintptr_t reach_of(const ompjit__mapped *tree)
{
    return tree ? tree->given_reach : 0;
}

/* Called when a subtree has changed; returns the tree. */
static ompjit__mapped *update_reach(ompjit__mapped *tree)
{
    uintptr_t below = reach_of(tree->given_below);
    uintptr_t above = reach_of(tree->given_above);
    uintptr_t reach = below > above ? below : above;
    tree->given_reach =
        reach > device_end(tree) ? reach : device_end(tree);
    return tree;
}

/* Everything in `below` comes before everything in `above`. */
static ompjit__mapped *merge(ompjit__mapped *below, ompjit__mapped *above)
{
    if (!below || !above)
        return below ? below : above;
    if (below->priority > above->priority) {
        below->given_above = merge(below->given_above, above);
        return update_reach(below);
    }
    above->given_below = merge(below, above->given_below);
    return update_reach(above);
}

/* Splits at `e`, which is not in the tree. */
static void split(ompjit__mapped *tree, const ompjit__mapped *e,
                  ompjit__mapped **below, ompjit__mapped **above)
{
    if (!tree) {
        *below = *above = NULL;
    } else if (is_before(tree, e)) {
        split(tree->given_above, e, &tree->given_above, above);
        *below = update_reach(tree);
    } else {
        split(tree->given_below, e, below, &tree->given_below);
        *above = update_reach(tree);
    }
}

void ompjit__given_add(ompjit__present *table, ompjit__mapped *e)
{
    ompjit__mapped *below, *above;
    if (e->is_given)
        return;
    e->is_given = true;
    e->given_below = e->given_above = NULL;
    split(table->given, e, &below, &above);
    table->given = merge(merge(below, update_reach(e)), above);
}

/* The tree without `e`, which is in it. */
static ompjit__mapped *without(ompjit__mapped *tree, const ompjit__mapped *e)
{
    if (tree == e)
        return merge(e->given_below, e->given_above);
    if (is_before(e, tree))
        tree->given_below = without(tree->given_below, e);
    else
        tree->given_above = without(tree->given_above, e);
    return update_reach(tree);
}

void ompjit__given_remove(ompjit__present *table, ompjit__mapped *e)
{
    if (e->is_given)
        table->given = without(table->given, e);
    e->is_given = false;
}

/* Finds the greatest end of all storage that begins at or before the address.
 */
bool ompjit__present_was_given(const ompjit__present *table,
                               const void *address, uint64_t size)
{
    const uintptr_t at = (uintptr_t)address;
    uintptr_t reach = 0;
    for (const ompjit__mapped *e = table->given; e;) {
        if (device_of(e) > at) {
            e = e->given_below;
            continue;
        }
        if (reach_of(e->given_below) > reach)
            reach = reach_of(e->given_below);
        if (device_end(e) > reach)
            reach = device_end(e);
        e = e->given_above;
    }
    return reach > at && size <= reach - at;
}
