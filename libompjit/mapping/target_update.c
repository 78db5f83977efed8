/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * target update (OpenMP 5.2, 13.9): copies sections whose storage is present,
 * in the directions of their items, and changes no count.
 *
 *   wait for others -> copy all -> send -> wait
 */
#include "mapping/info.h"
#include "mapping/transfer.h"

/* Copies one contiguous piece in the item's directions, if all of it is
 * present. */
static ompjit_status update_piece(ompjit__construct *c, ompjit__item *it,
                                  ompjit_error *err)
{
    ompjit__mapped *entry;
    enum ompjit__found found =
        ompjit__present_find(c->table, it->begin, (uint64_t)it->size, &entry);
    if (found == OMPJIT__OVERLAPS && it->type & OMPJIT__MAP_PRESENT)
        return ompjit__item_overlaps(c, "update", it, entry, err);
    if (found != OMPJIT__CONTAINED)
        return ompjit__item_absent(c, it, err);
    ompjit_status st = ompjit__arrival_come_after(c, entry, err);
    size_t size = (size_t)it->size;
    entry->shared = true;
    if (!st && it->type & OMPJIT__MAP_TO)
        st = ompjit__transfer_to(c, entry, it->begin, size, err);
    if (!st && it->type & OMPJIT__MAP_FROM)
        st = ompjit__transfer_from(c, it, entry, it->begin, size, err);
    if (!st)
        ompjit__info_updated(c, it, entry);
    return st;
}

/* A contiguous section, or Fortran's. */
static ompjit_status update_range(ompjit__construct *c, ompjit__item *it,
                                  ompjit_error *err)
{
    ompjit__section_find(c->table, it);
    return update_piece(c, it, err);
}

/* Updates each piece of the n outer dimensions. `piece` is moved meanwhile, and
 * is at its place again afterwards. */
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

/* A section with gaps: its pieces are updated one by one. */
static ompjit_status update_section(ompjit__construct *c,
                                    const ompjit__item *it, ompjit_error *err)
{
    ompjit__strided s;
    ompjit__item piece = *it;
    ompjit_status st = ompjit__strided_read(c, it, &s, err);
    c->guessed = !st && s.guessed ? it : c->guessed;
    piece.begin = s.begin;
    piece.size = (int64_t)s.piece;
    if (!st)
        st = ompjit__strided_check(c, it, &s, err);
    return st ? st : update_strided(c, &piece, s.dimensions, s.n, err);
}

/* No counts change, so there is nothing to undo after a failure. */
ompjit_status ompjit__map_update(ompjit_device *dev, const ompjit__maps *maps,
                                 ompjit_error *err)
{
    ompjit__construct c;
    ompjit_status st = ompjit__construct_init(&c, dev, maps, err);
    if (!st) {
        ompjit__present_lock(c.table);
        ompjit__arrival_wait_sent(&c);
        for (size_t i = 0; i < c.n && !st; i++) {
            ompjit__item *it = &c.items[i];
            if (!ompjit__item_maps(it))
                continue;
            st = it->type & OMPJIT__MAP_NON_CONTIG
                     ? update_section(&c, it, err)
                     : update_range(&c, it, err);
        }
        st = ompjit__transfer_send(&c, st, err);
        ompjit__present_unlock(c.table);
        if (!st)
            st = ompjit__transfer_wait(&c, err);
        if (!st)
            ompjit__strided_tell(&c);
    }
    ompjit__construct_free(&c);
    return st;
}
