/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The effects of the host's reads and writes and of updates on the states of
 * entries, and the entries that a mapping construct means.
 *
 * The questions go both ways. An access that may be in an entry changes that
 * entry for the worse, so "may be" errs to yes. An update makes host and device
 * agree again, so it needs to be of the entry for certain, and of all of it:
 *
 *   x[n - 1] = 1;                                  x: SAME, HOST
 *   #pragma omp target update to(x[:1])            still SAME, HOST
 *   #pragma omp target                             spoils x: the device's
 *   y = x[n - 1];                                  x[n - 1] is the old one
 */
#include "passes/hosthalf/share/walk_state.h"

bool ompjit__has_storage(uint64_t type)
{
    return !(type &
             (OMPJIT__MAP_LITERAL | OMPJIT__MAP_ATTACH | OMPJIT__MAP_PRIVATE));
}

void ompjit__walk_spoil(ompjit__walk *w, unsigned i, const char *why)
{
    if (!w->why[i]) {
        w->why[i] = why;
        w->where[i] = w->now;
    }
    w->spoilt |= UINT32_C(1) << i;
}

/* Sets all bits, also those of entries that do not exist (compare with
 * ompjit__walk_all): the walk ends at its next step. */
void ompjit__walk_spoil_all(ompjit__walk *w, const char *why)
{
    for (unsigned i = 0; i < w->n; i++)
        ompjit__walk_spoil(w, i, why);
    w->spoilt = UINT32_MAX;
}

uint32_t ompjit__walk_all(const ompjit__walk *w)
{
    return w->n < 32 ? (UINT32_C(1) << w->n) - 1 : UINT32_MAX;
}

/* Those of the entries that may be in one of the states. */
uint32_t ompjit__walk_those(const ompjit__walk *w, const ompjit__state *s,
                            uint32_t all, unsigned char states)
{
    for (unsigned i = 0; i < w->n; i++)
        if (!(s->of[i] & states))
            all &= ~(UINT32_C(1) << i);
    return all & ompjit__walk_all(w);
}

void ompjit__walk_spoil_these(ompjit__walk *w, uint32_t all, const char *why)
{
    for (unsigned i = 0; i < w->n; i++)
        if (all >> i & 1)
            ompjit__walk_spoil(w, i, why);
}

/* ---------------------------------------------------------------- accesses */

/* If the mapping is not over. */
void ompjit__walk_become(ompjit__state *s, unsigned i, unsigned char now)
{
    if (s->of[i] & OMPJIT__LIVE)
        s->of[i] = (s->of[i] & ~OMPJIT__LIVE) | now;
}

/* A read finds the older value in its own storage if a kernel has written since
 * (DEVICE), or had before the mapping ended without a copy back (STALE). In
 * shared storage it would find the newer one. */
static void host_reads(ompjit__walk *w, ompjit__state *s, unsigned i)
{
    if (s->of[i] & (OMPJIT__DEVICE | OMPJIT__STALE))
        ompjit__walk_spoil(w, i, "the host reads what a kernel has written");
}

/* A write after a kernel's (DEVICE) leaves each side with some values of its
 * own: a later copy in either direction would lose the other side's. A write
 * while a deferred kernel may run (PENDING) may come before or after it. One to
 * storage that is the same makes it HOST; SAME stays possible, since the write
 * may be elsewhere. */
static void host_writes(ompjit__walk *w, ompjit__state *s, unsigned i)
{
    if (s->of[i] & OMPJIT__DEVICE)
        ompjit__walk_spoil(w, i, "the host writes what a kernel has written");
    if (s->of[i] & OMPJIT__PENDING)
        ompjit__walk_spoil(w, i, "the host writes while a kernel may run");
    if (s->of[i] & OMPJIT__SAME)
        s->of[i] |= OMPJIT__HOST;
}

/* Is it in a constant variable? Nobody writes there: all its copies agree. */
static bool is_constant(const ompjit__place *p)
{
    return p->root && !p->loads && LLVMIsAGlobalVariable(p->root) &&
           LLVMIsGlobalConstant(p->root);
}

/* By the types that the language gives them; any type fits an unknown one. */
static bool is_of_type(const ompjit__mapped_at *e, const ompjit__access *a)
{
    return !a->type || !e->element || a->type == e->element;
}

void ompjit__walk_touch(ompjit__walk *w, ompjit__state *s, ompjit__access *a,
                        bool writes)
{
    if (is_constant(&a->place))
        return;
    if (writes)
        ompjit__walk_note_store(w, a);
    /* Behind the mapping's end a write changes what is the host's alone, but a
     * read may still find a value that is too new. An access by a scalar type
     * cannot be in an array of another one (C 6.5, "effective type"), but a
     * store gives allocated storage another type: one that is there for certain
     * counts. */
    for (unsigned i = 0; i < w->n; i++) {
        const ompjit__mapped_at *e = &w->entries[i];
        unsigned char matters =
            writes ? OMPJIT__LIVE : OMPJIT__DEVICE | OMPJIT__STALE;
        if (!ompjit__has_storage(e->type) || !(s->of[i] & matters) ||
            !(is_of_type(e, a) ||
              (writes && ompjit__walk_is_in_heap(w, e, a))) ||
            !ompjit__walk_may_be_in(w, e, a))
            continue;
        if (writes)
            host_writes(w, s, i);
        else
            host_reads(w, s, i);
    }
}

void ompjit__walk_touch_by(ompjit__walk *w, const ompjit__frame *frame,
                           ompjit__state *s, LLVMValueRef i)
{
    bool store = LLVMIsAStoreInst(i) != NULL;
    if (LLVMGetVolatile(i) ||
        LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic) {
        ompjit__walk_spoil_all(w, "a volatile or atomic access");
        return;
    }
    ompjit__access a = ompjit__walk_access(frame, LLVMGetOperand(i, store));
    a.type = ompjit__access_type(w->tbaa, i);
    ompjit__walk_touch(w, s, &a, store);
}

/* ------------------------------------------------------------------- maps */

static ompjit__access access_at(const ompjit__walk *w,
                                      const ompjit__frame *frame,
                                      LLVMValueRef array, unsigned i)
{
    return ompjit__walk_access(frame,
                               ompjit__map_pointer_at(w->layout, array, i));
}

/* The place of the mapped storage. A strided section's entry has a descriptor
 * in place of its begin (repair.c): only its object is known, by its base. */
ompjit__access ompjit__walk_mapped_at(const ompjit__walk *w,
                                      const ompjit__frame *frame,
                                      const ompjit__host_maps *m, unsigned k)
{
    bool strided = ompjit__map_type_at(m, k) & OMPJIT__MAP_NON_CONTIG;
    ompjit__access a =
        access_at(w, frame, strided ? m->bases : m->begins, k);
    a.place.exact = a.place.exact && !strided;
    return a;
}

/* Entries that a mapping construct may mean by its k-th: that one where it is
 * one's begin, since no two of them overlap, else all where it may lie. */
uint32_t ompjit__walk_meant(ompjit__walk *w, ompjit__access *a)
{
    uint32_t all = 0;
    for (unsigned i = 0; i < w->n; i++) {
        if (!ompjit__has_storage(w->entries[i].type))
            continue;
        if (ompjit__walk_is_at(w, &w->entries[i], a))
            return UINT32_C(1) << i;
        all |= (uint32_t)ompjit__walk_may_be_in(w, &w->entries[i], a) << i;
    }
    return all;
}

/* Is it that one entry for certain? The lowest bit of `all` is asked: where an
 * entry is certain, ompjit__walk_meant gives that one only. */
bool ompjit__walk_is_one(ompjit__walk *w, const ompjit__access *a, uint32_t all)
{
    return all && ompjit__walk_is_at(w, &w->entries[__builtin_ctz(all)], a);
}

/* The same begin is not enough, as the example on top shows: the sizes have to
 * agree, by the expressions that compute them here and there or by what they
 * are in the whole program. A size that is made of a caller's arguments is
 * noted in w->reach: the memo of this function would not know of them. */
bool ompjit__walk_is_whole(ompjit__walk *w, const ompjit__frame *frame,
                           const ompjit__host_maps *m, unsigned k,
                           const ompjit__access *a, unsigned i)
{
    const ompjit__mapped_at *e = &w->entries[i];
    LLVMValueRef bytes = ompjit__map_size_at(w->layout, m, k);
    ompjit__number size, fixed;
    if (ompjit__map_type_at(m, k) & OMPJIT__MAP_NON_CONTIG ||
        !ompjit__walk_is_at(w, e, a))
        return false;
    ompjit__walk_number(frame, bytes, &size);
    if (size.reach < w->reach)
        w->reach = size.reach;
    if (ompjit__walk_same_number(w, &e->size, &size))
        return true;
    ompjit__walk_fixed_number(w, bytes, &fixed);
    return ompjit__walk_same_fixed(&e->fixed, &fixed);
}

/* A pointer that may lie in an entry's storage is attached: device addresses
 * are written there. No pointer lies in an array of scalars (`element`). */
void ompjit__walk_attach(ompjit__walk *w, const ompjit__frame *frame,
                         const ompjit__host_maps *m, unsigned k)
{
    ompjit__access a = access_at(w, frame, m->bases, k);
    for (unsigned i = 0; i < w->n; i++)
        if (!w->entries[i].element &&
            ompjit__walk_may_be_in(w, &w->entries[i], &a))
            ompjit__walk_spoil(w, i, "a pointer is attached in it");
}

/* ----------------------------------------------------------------- updates */

/* One entry of a `target update`. `to` after a kernel's write, and `from` after
 * the host's, overwrite newer values with older ones, which shared storage
 * cannot do. Otherwise both sides agree behind it, if it is of the whole entry;
 * after a part of it the states stay. */
static void update(ompjit__walk *w, const ompjit__frame *frame,
                   ompjit__state *s, const ompjit__host_maps *m, unsigned k)
{
    uint64_t type = ompjit__map_type_at(m, k);
    ompjit__access a = ompjit__walk_mapped_at(w, frame, m, k);
    uint32_t all = ompjit__walk_meant(w, &a);
    for (unsigned i = 0; i < w->n; i++) {
        if (!(all >> i & 1))
            continue;
        if (s->of[i] & (type & OMPJIT__MAP_TO ? OMPJIT__DEVICE : 0) ||
            s->of[i] & (type & OMPJIT__MAP_FROM ? OMPJIT__HOST : 0))
            ompjit__walk_spoil(w, i, "an update brings old values back");
        if (ompjit__walk_is_whole(w, frame, m, k, &a, i))
            ompjit__walk_become(s, i, OMPJIT__SAME);
    }
}

void ompjit__walk_updates(ompjit__walk *w, const ompjit__frame *frame,
                          ompjit__state *s, LLVMValueRef call)
{
    ompjit__host_maps m;
    if (!ompjit__read_maps(call, &m)) {
        ompjit__walk_spoil_all(w, "an update is not understood");
        return;
    }
    for (unsigned k = 0; k < m.n; k++)
        if (ompjit__has_storage(ompjit__map_type_at(&m, k)))
            update(w, frame, s, &m, k);
}
