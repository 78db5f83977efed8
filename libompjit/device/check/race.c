/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Races among the threads of one team, by vector clocks: every thread knows how
 * much of each other's past is before its present. Barriers, warp operations,
 * locks and atomics hand that on. Whatever may order two threads is taken to do
 * so (an atomic's address stands for all that fall into its slot), so that no
 * race is reported where there is none.
 *
 * The shadow of eight bytes of memory is a few cells, each one access by one
 * thread at one time; the oldest make room when there are more, and all of it
 * when a team touches more memory than the limit. Then races may be missed.
 */
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"

enum {
    GRANULE = 8,
    CELLS = 4,
    PAGE = 1024,              /* bytes of memory with one piece of shadow */
    PAGES_MOST = 32 * 1024,   /* of shadow: 32 MiB of memory              */
    BARRIERS = 16,
    WARPS = 32,
    SLOTS = 1024              /* of locks' and atomics' addresses         */
};

struct cell {
    const ompjit__site *site; /* NULL: empty */
    uint32_t time;            /* of its thread */
    uint16_t thread;
    uint8_t mask;             /* bytes of the granule */
    uint8_t flags;            /* enum ompjit__site_flag */
};

struct page {
    struct page *next;
    uintptr_t number;
    struct cell cells[PAGE / GRANULE][CELLS];
};

typedef uint32_t *clock_vector; /* [n]: a time of each thread */

struct ompjit__shadow {
    uint32_t n;
    clock_vector threads;     /* [n][n]: of each other's pasts, what is before a
                                 thread's present; [i][i] is i's own time */
    uint32_t *phase;          /* [n]: full barriers passed */
    /* Pasts that were left at places; NULL until somebody does. */
    clock_vector full[2], some[BARRIERS], warps[WARPS], objects[SLOTS];
    struct page **buckets;    /* by the number of the memory's page */
    size_t nbuckets, npages;
    uint32_t turn;            /* which cell goes next */
};

ompjit__shadow *ompjit__shadow_new(uint32_t n)
{
    ompjit__shadow *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->n = n;
    s->nbuckets = 1024;
    s->threads = calloc((size_t)n * n, sizeof *s->threads);
    s->phase = calloc(n, sizeof *s->phase);
    s->buckets = calloc(s->nbuckets, sizeof(struct page *));
    if (!s->threads || !s->phase || !s->buckets) {
        ompjit__shadow_free(s);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        s->threads[(size_t)i * n + i] = 1;
    return s;
}

/* All accesses that were noted; clocks stay. */
static void forget(ompjit__shadow *s)
{
    for (size_t i = 0; s->buckets && i < s->nbuckets; i++)
        while (s->buckets[i]) {
            struct page *page = s->buckets[i];
            s->buckets[i] = page->next;
            free(page);
        }
    s->npages = 0;
}

static void free_vectors(clock_vector *vectors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(vectors[i]);
}

void ompjit__shadow_free(ompjit__shadow *s)
{
    if (!s)
        return;
    forget(s);
    free_vectors(s->full, OMPJIT__COUNT(s->full));
    free_vectors(s->some, OMPJIT__COUNT(s->some));
    free_vectors(s->warps, OMPJIT__COUNT(s->warps));
    free_vectors(s->objects, OMPJIT__COUNT(s->objects));
    free(s->buckets);
    free(s->phase);
    free(s->threads);
    free(s);
}

/* -------------------------------------------------------------- clocks */

static clock_vector clock_of(ompjit__shadow *s, uint32_t thread)
{
    return s->threads + (size_t)thread * s->n;
}

/* The later of both, for each thread. */
static void join(clock_vector to, const uint32_t *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (to[i] < from[i])
            to[i] = from[i];
}

/* Threads pass a full barrier together, so at most two are in use. The others
 * only ever grow: that orders more than there is, never less. */
static clock_vector *vector_of(ompjit__shadow *s, uint32_t thread,
                               enum ompjit__sync kind, uint64_t id)
{
    switch (kind) {
    case OMPJIT__SYNC_BARRIER:
        return id ? &s->some[id % BARRIERS] : &s->full[s->phase[thread] % 2];
    case OMPJIT__SYNC_WARP:
        return &s->warps[id % WARPS];
    case OMPJIT__SYNC_OBJECT:
        break;
    }
    return &s->objects[(id >> 2) * UINT64_C(0x9E3779B97F4A7C15) >> 54];
}
_Static_assert(SLOTS == 1 << (64 - 54), "vector_of takes the upper bits");

void ompjit__shadow_release(ompjit__shadow *s, uint32_t thread,
                            enum ompjit__sync kind, uint64_t id)
{
    clock_vector mine = clock_of(s, thread);
    clock_vector *to = vector_of(s, thread, kind, id);
    if (!*to)
        *to = calloc(s->n, sizeof **to);
    if (*to)
        join(*to, mine, s->n);
    else
        forget(s); /* what cannot be ordered must not be compared */
    mine[thread]++;
}

void ompjit__shadow_acquire(ompjit__shadow *s, uint32_t thread,
                            enum ompjit__sync kind, uint64_t id)
{
    clock_vector *from = vector_of(s, thread, kind, id);
    if (*from)
        join(clock_of(s, thread), *from, s->n);
    if (kind == OMPJIT__SYNC_BARRIER && !id)
        s->phase[thread]++;
}

/* -------------------------------------------------------------- shadow */

static struct page **bucket_of(ompjit__shadow *s, uintptr_t number)
{
    return &s->buckets[number * UINT64_C(0x9E3779B97F4A7C15) %
                       s->nbuckets];
}

static struct page *find_page(ompjit__shadow *s, uintptr_t number)
{
    struct page *page = *bucket_of(s, number);
    while (page && page->number != number)
        page = page->next;
    return page;
}

/* Without memory the buckets only get longer. */
static void grow(ompjit__shadow *s)
{
    size_t n = s->nbuckets * 8;
    struct page **more = calloc(n, sizeof(struct page *)), **old = s->buckets;
    size_t nold = s->nbuckets;
    if (!more)
        return;
    s->buckets = more;
    s->nbuckets = n;
    for (size_t i = 0; i < nold; i++)
        while (old[i]) {
            struct page *page = old[i], **to = bucket_of(s, page->number);
            old[i] = page->next;
            page->next = *to;
            *to = page;
        }
    free(old);
}

/* Found or new. NULL: out of memory, and the access is not noted. */
static struct page *get_page(ompjit__shadow *s, uintptr_t number)
{
    struct page *page = find_page(s, number);
    if (page)
        return page;
    if (s->npages == PAGES_MOST)
        forget(s);
    if (s->npages > s->nbuckets)
        grow(s);
    page = calloc(1, sizeof *page);
    if (!page)
        return NULL;
    struct page **bucket = bucket_of(s, number);
    page->number = number;
    page->next = *bucket;
    *bucket = page;
    s->npages++;
    return page;
}

/* Is the earlier access before the thread's present? */
static bool ordered(ompjit__shadow *s, const struct cell *c, uint32_t thread)
{
    return c->thread == thread ||
           clock_of(s, thread)[c->thread] >= c->time;
}

/* Two accesses that are no race if something orders them: the same bytes, one
 * of them a write, and not both atomic. */
static bool conflict(const struct cell *a, const struct cell *b)
{
    return a->mask & b->mask && (a->flags | b->flags) & OMPJIT__SITE_WRITE &&
           !(a->flags & b->flags & OMPJIT__SITE_ATOMIC);
}

/* Whatever would meet the old access would meet the new one as well. */
static bool covers(const struct cell *new, const struct cell *old)
{
    return !(old->mask & ~new->mask) &&
           (new->flags & OMPJIT__SITE_WRITE ||
            !(old->flags & OMPJIT__SITE_WRITE)) &&
           (old->flags & OMPJIT__SITE_ATOMIC ||
            !(new->flags & OMPJIT__SITE_ATOMIC));
}

/* One loop over the bytes of a granule is one access of all of them. */
static bool continues(const struct cell *new, const struct cell *old)
{
    return old->thread == new->thread && old->time == new->time &&
           old->site == new->site && old->flags == new->flags;
}

/* True where the new access races with one in the cells. */
static bool note(ompjit__shadow *s, struct cell cells[CELLS],
                 const struct cell *new, ompjit__conflict *other)
{
    struct cell *room = NULL, all = *new;
    bool race = false;
    for (int i = 0; i < CELLS; i++) {
        struct cell *c = &cells[i];
        if (!c->site) {
            room = room ? room : c;
        } else if (ordered(s, c, new->thread)) {
            if (continues(new, c))
                all.mask |= c->mask;
            if (continues(new, c) || covers(new, c))
                room = c;
        } else if (!race && conflict(c, new)) {
            *other = (ompjit__conflict){c->site, c->thread,
                                        c->flags & OMPJIT__SITE_WRITE};
            race = true;
        }
    }
    *(room ? room : &cells[s->turn++ % CELLS]) = all;
    return race;
}

bool ompjit__shadow_access(ompjit__shadow *s, uint32_t thread, uintptr_t at,
                           uint64_t size, const ompjit__site *site,
                           ompjit__conflict *other)
{
    struct cell new = {.site = site,
                       .time = clock_of(s, thread)[thread],
                       .thread = (uint16_t)thread,
                       .flags = (uint8_t)site->flags};
    bool race = false;
    for (uintptr_t end = at + size, next; at < end; at = next) {
        uintptr_t granule = at / GRANULE;
        next = (granule + 1) * GRANULE;
        unsigned from = at % GRANULE;
        unsigned to = next <= end ? GRANULE : (unsigned)(end % GRANULE);
        new.mask = (uint8_t)((1u << to) - (1u << from));
        struct page *page = get_page(s, at / PAGE);
        ompjit__conflict one;
        if (page &&
            note(s, page->cells[granule % (PAGE / GRANULE)], &new, &one) &&
            !race) {
            race = true;
            *other = one;
        }
    }
    return race;
}

void ompjit__shadow_fresh(ompjit__shadow *s, uintptr_t at, uint64_t size)
{
    uintptr_t end = at + size;
    for (uintptr_t granule = at / GRANULE; granule * GRANULE < end;
         granule++) {
        struct page *page = find_page(s, granule * GRANULE / PAGE);
        if (page)
            memset(page->cells[granule % (PAGE / GRANULE)], 0,
                   sizeof page->cells[0]);
    }
}
