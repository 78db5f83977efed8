/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A whole target construct: data in, the kernel's arguments, the kernel, data
 * out. Arguments are the TARGET_PARAM entries in order: by value (literal), a
 * private copy's address, or the mapped storage's address on the device.
 */
#include <stdlib.h>
#include <string.h>

#include "context/ompt.h"
#include "launch/module.h"
#include "omptarget/offload.h"
#include "mapping/transfer.h"
#include "launch/tune.h"

/* A private copy begins at a cache line, so that the fact `aligned` holds for
 * it. */
#define PRIVATE_ALIGNMENT 64
/* As ompjit_arg's: more contents than this are not looked at. */
enum { FEW_CONTENTS = 16 };

/* Arguments under construction. `at` has, for each of the caller's entries,
 * where its storage begins on the device. */
typedef struct arguments {
    uint64_t *values;
    uint64_t *sizes;       /* bytes from there on that can be read; 0: not
                              known                              */
    char **at;
    unsigned n;
    char *storage;         /* all private copies, in one piece   */
    bool own;              /* an allocation of their own         */
    size_t filled, total;  /* bytes: before those that are initialised;
                              all                                */
    uint64_t few_values[2 * OMPJIT__FEW_ITEMS];
    char *few_at[OMPJIT__FEW_ITEMS];
} arguments;

/* *a needs no initial values. Few entries need no allocation, since the arrays
 * for them lie in *a itself. */
static ompjit_status arguments_init(arguments *a, size_t n, ompjit_error *err)
{
    a->values = a->few_values;
    a->at = a->few_at;
    a->n = 0;
    a->storage = NULL;
    a->own = false;
    a->filled = a->total = 0;
    a->sizes = a->values + OMPJIT__FEW_ITEMS;
    if (n <= OMPJIT__FEW_ITEMS)
        return OMPJIT_OK;
    a->values = malloc(2 * n * sizeof *a->values);
    a->sizes = a->values + n;
    a->at = malloc(n * sizeof *a->at);
    if (a->values && a->at)
        return OMPJIT_OK;
    free(a->values);
    free(a->at);
    a->values = a->few_values;
    a->at = a->few_at;
    return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
}

/* Frees the private copies too; the first error counts. */
static ompjit_status arguments_free(arguments *a, ompjit__construct *c,
                                    ompjit_error *err)
{
    ompjit_status st = ompjit__small_block_end(c, err);
    if (a->own) {
        ompjit_status freed =
            ompjit__construct_free_memory(c, a->storage, st ? NULL : err);
        st = st ? st : freed;
    }
    if (a->values != a->few_values)
        free(a->values);
    if (a->at != a->few_at)
        free(a->at);
    return st;
}

/* ---------------------------------------------------------------- privates */

/* Does entry i stand for a copy of the construct's own, whose address is passed?
 * An absent dummy of Fortran's has none. */
static bool is_private(const ompjit__maps *m, int32_t i)
{
    const uint64_t type = (uint64_t)m->types[i];
    return type & OMPJIT__MAP_PRIVATE && type & OMPJIT__MAP_TARGET_PARAM &&
           !(type & OMPJIT__MAP_LITERAL) && (m->bases[i] || m->begins[i]);
}

/* firstprivate, or a pointer that the construct initialises (ATTACH). */
static bool is_initialised(uint64_t type)
{
    return type & (OMPJIT__MAP_TO | OMPJIT__MAP_ATTACH);
}

/* Gives each private entry its offset: the initialised ones come last, so that
 * one copy fills them and what is behind them. */
static void lay_out(arguments *a, const ompjit__maps *m)
{
    for (int initialised = 0; initialised <= 1; initialised++) {
        for (int32_t i = 0; i < m->n; i++) {
            uint64_t type = (uint64_t)m->types[i];
            if (!is_private(m, i) || is_initialised(type) != initialised)
                continue;
            a->at[i] = (char *)a->total;
            a->total += ((size_t)m->sizes[i] + PRIVATE_ALIGNMENT - 1) /
                        PRIVATE_ALIGNMENT * PRIVATE_ALIGNMENT;
        }
        if (!initialised)
            a->filled = a->total;
    }
}

/* Writes entry i's initial value to `to`, in host memory. */
static void fill_one(const ompjit__construct *c, int32_t i, char *to)
{
    const ompjit__maps *m = c->maps;
    size_t size = (size_t)m->sizes[i];
    if (!(m->types[i] & OMPJIT__MAP_ATTACH)) {
        memcpy(to, m->begins[i], size);
        return;
    }
    /* A private copy of the pointer at `base`, whose pointee is mapped. */
    char *pointer, *begin = m->begins[i];
    memcpy(to, m->bases[i], size);
    memcpy(&pointer, m->bases[i], sizeof pointer);
    if (begin)
        pointer = ompjit__translate(c->table, pointer, begin, 0);
    memcpy(to, &pointer, sizeof pointer);
}

/* In the construct's small block, if it has room for private copies there, or
 * an allocation of its own. */
static ompjit_status find_storage(arguments *a, ompjit__construct *c,
                                  ompjit_error *err)
{
    a->storage = ompjit__small_block_privates(c);
    if (a->storage)
        return OMPJIT_OK;
    ompjit_status st =
        ompjit__construct_alloc(c, a->total, (void **)&a->storage, err);
    a->own = !st;
    return st;
}

/* Offsets become addresses. `staging` is freed here, so a copy that may still
 * read it is waited for. a->at[i] is an offset before, by lay_out, and an
 * address on the device after. */
static ompjit_status make_privates(arguments *a, ompjit__construct *c,
                                   ompjit_error *err)
{
    const ompjit__maps *m = c->maps;
    /* Bytes of the copies that have initial values, which are the last ones. */
    size_t filled = a->total - a->filled;
    if (!a->total)
        return OMPJIT_OK;
    char *staging = malloc(filled ? filled : 1);
    if (!staging)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    ompjit_status st = find_storage(a, c, err);
    for (int32_t i = 0; i < m->n && !st; i++) {
        uint64_t type = (uint64_t)m->types[i];
        if (!is_private(m, i))
            continue;
        if (is_initialised(type))
            fill_one(c, i, staging + ((uintptr_t)a->at[i] - a->filled));
        a->at[i] = a->storage + (uintptr_t)a->at[i];
    }
    if (!st && filled)
        st = ompjit__transfer_put(c, a->storage + a->filled, staging, filled,
                                  err);
    /* A small copy has been read when transfer_put returns, and one to the
     * small block is in its image. */
    if (a->own && filled > OMPJIT__SMALL_COPY) {
        ompjit_status waited = ompjit__transfer_wait(c, st ? NULL : err);
        st = st ? st : waited;
    }
    free(staging);
    return st;
}

/* --------------------------------------------------------------- arguments */

/* An implicit map may be larger than what is mapped. */
static uint64_t readable(const ompjit__item *it)
{
    uint64_t there = it->entry->end - (uintptr_t)it->begin;
    bool inside = (uintptr_t)it->begin >= it->entry->begin;
    return inside && (uint64_t)it->size < there ? (uint64_t)it->size
           : inside                             ? there
                                                : 0;
}

/* The value of entry i's parameter. For storage that is the base pointer as the
 * device has it: where the section begins there, less what the base lies before
 * it on the host (KernelArgsTy's ArgBasePtrs and ArgPtrs). at[i] is where the
 * section itself begins. */
static void add_value(arguments *a, const ompjit__construct *c, int32_t i,
                      const ompjit__item *it)
{
    const ompjit__maps *m = c->maps;
    uint64_t type = (uint64_t)m->types[i];
    uintptr_t base = (uintptr_t)m->bases[i], begin = (uintptr_t)m->begins[i];
    uint64_t *value = &a->values[a->n];
    a->sizes[a->n] = 0;
    if (type & OMPJIT__MAP_LITERAL) {
        /* A compiler leaves the rest of the word as it was. */
        int64_t size = m->sizes[i];
        bool part = size > 0 && size < 8;
        *value = part ? base & ((UINT64_C(1) << 8 * size) - 1) : base;
    } else if (type & OMPJIT__MAP_PRIVATE) {
        uintptr_t delta = type & OMPJIT__MAP_ATTACH ? 0 : base - begin;
        *value = is_private(m, i) ? (uintptr_t)a->at[i] + delta : 0;
        a->sizes[a->n] = delta ? 0 : (uint64_t)m->sizes[i];
    } else {
        if (it) /* PTR_AND_OBJ: begin has loaded the pointer */
            base = (uintptr_t)it->base;
        *value = (uintptr_t)ompjit__translate(c->table, (char *)base,
                                              (char *)begin,
                                              (uint64_t)m->sizes[i]);
        a->at[i] = (char *)(uintptr_t)(*value + (begin - base));
        if (it && it->entry && base == begin)
            a->sizes[a->n] = readable(it);
    }
    if (type & OMPJIT__MAP_TARGET_PARAM)
        a->n++;
}

/* Where a captured field of a lambda points to. clang gives the field's own address
 * for `this`, and for a copy of *this, which is no pointer: what it has looks like
 * an address of mapped storage only by chance. NULL: it points nowhere. */
static char *captured_at(const ompjit__maps *m, int32_t i, int parent)
{
    char *field = m->bases[i], *pointer = NULL;
    if (m->begins[i] != m->bases[i])
        return m->begins[i];
    const size_t before = (size_t)(field - (char *)m->begins[parent]);
    if (before + sizeof pointer <= (uint64_t)m->sizes[parent])
        memcpy(&pointer, field, sizeof pointer);
    return pointer;
}

/* Variables that a lambda captured by reference: the device's copy of the
 * lambda, entry `parent`, gets their device addresses. */
static ompjit_status add_capture(const arguments *a, ompjit__construct *c,
                                 int32_t i, ompjit_error *err)
{
    const ompjit__maps *m = c->maps;
    int parent = ompjit__map_parent((uint64_t)m->types[i]);
    if (parent < 0 || parent >= i)
        return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                            "map entry %d is a capture of entry %d", i,
                            parent);
    ompjit__mapped *captured = NULL;
    char *at = captured_at(m, i, parent);
    if (at)
        ompjit__present_find(c->table, at, 1, &captured);
    char *field = a->at[parent] +
                  ((char *)m->bases[i] - (char *)m->begins[parent]);
    if (!captured || field == m->bases[i])
        return OMPJIT_OK;
    char *value = ompjit__present_device(captured, at);
    return ompjit__transfer_put(c, field, &value, sizeof value, err);
}

/* Under the table's lock where the construct has storage. Items of the
 * construct are those of its entries that are mapped, in order; components of a
 * mapper's have the index of its entry, and are no arguments. */
static ompjit_status make_arguments(arguments *a, ompjit__construct *c,
                                    ompjit_error *err)
{
    const uint64_t capture = OMPJIT__MAP_PTR_AND_OBJ | OMPJIT__MAP_LITERAL |
                             OMPJIT__MAP_IMPLICIT;
    const ompjit__maps *m = c->maps;
    ompjit_status st = make_privates(a, c, err);
    size_t k = 0;
    for (int32_t i = 0; i < m->n && !st; i++) {
        uint64_t type = (uint64_t)m->types[i];
        while (k < c->n && c->items[k].index < i)
            k++;
        bool own = k < c->n && c->items[k].index == i &&
                   !c->items[k].component;
        if (!(type & OMPJIT__MAP_TARGET_PARAM) &&
            (type & capture) == capture)
            st = add_capture(a, c, i, err);
        else if (type & OMPJIT__MAP_TARGET_PARAM)
            add_value(a, c, i, own ? &c->items[k] : NULL);
    }
    return st;
}

/* --------------------------------------------------------------------- run */

/* False where every entry is passed by value. */
static bool needs_table(const ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].type & OMPJIT__MAP_ATTACH ||
            !(c->items[i].type & OMPJIT__MAP_LITERAL) ||
            c->items[i].type & OMPJIT__MAP_PTR_AND_OBJ)
            return true;
    return false;
}

/* Data in, and the arguments, both under the table's lock. */
static ompjit_status enter(ompjit__construct *c, arguments *a,
                           const ompjit__kernel_desc *kernel,
                           ompjit_error *err)
{
    ompjit__construct_borrow(c, kernel);
    lay_out(a, c->maps);
    ompjit__small_block_reserve(c, a->total, a->filled);
    ompjit__present_lock(c->table);
    ompjit_status st = ompjit__construct_begin(c, err);
    bool begun = !st;
    if (begun) {
        ompjit__attach_use(c);
        st = make_arguments(a, c, err);
    }
    st = ompjit__construct_commit(c, begun, st, err);
    if (!st)
        ompjit__construct_join(c);
    ompjit__present_unlock(c->table);
    return st;
}

/* After a kernel that failed the device's data is not copied back; after a copy
 * that failed everything is released all the same. The error of the copy is
 * kept: the second end passes none. */
static ompjit_status leave(ompjit__construct *c, ompjit_status st,
                           ompjit_error *err)
{
    ompjit__transfer_wait(c, NULL);
    ompjit__present_lock(c->table);
    ompjit__construct_leave(c);
    if (!st)
        st = ompjit__construct_end(c, true, true, err);
    if (st)
        ompjit__construct_end(c, true, false, NULL);
    ompjit__present_unlock(c->table);
    return st;
}

/* Does the entry stand for storage? Those that only set pointers do not. */
static bool has_storage(uint64_t type)
{
    return !(type & (OMPJIT__MAP_LITERAL | OMPJIT__MAP_ATTACH));
}

/* Is entry i's section apart from every other entry's? */
static bool stands_alone(const ompjit__maps *m, int32_t i)
{
    const char *begin = m->begins[i], *end = begin + m->sizes[i];
    for (int32_t j = 0; j < m->n; j++) {
        const char *other = m->begins[j];
        if (j != i && has_storage((uint64_t)m->types[j]) && other < end &&
            begin < other + m->sizes[j])
            return false;
    }
    return true;
}

/* May entry i's storage be that of a variable of the program, which kernels
 * reach by its name? */
static bool is_variable(const ompjit__construct *c, int32_t i)
{
    const ompjit__maps *m = c->maps;
    ompjit__mapped *entry;
    if ((uint64_t)m->types[i] & OMPJIT__MAP_PRIVATE)
        return false;
    ompjit__present_lock(c->table);
    ompjit__present_find(c->table, m->begins[i], (uint64_t)m->sizes[i], &entry);
    bool variable = !entry || entry->dynamic == OMPJIT__FOREVER ||
                    entry->hold == OMPJIT__FOREVER;
    ompjit__present_unlock(c->table);
    return variable;
}

/* The pointer arguments whose storage the kernel reaches by nothing else,
 * unless it finds pointers in memory, which the build looks for
 * (passes/pointer_escape.c). None where there may be more than the sections
 * tell: a section of no length stands for whatever is present there, and a
 * pointer passed by value for anything. Variables have storage of their own,
 * except where all memory is shared. */
static uint64_t find_unshared(const ompjit__construct *c, const arguments *a,
                              const ompjit_module *mod, unsigned kernel)
{
    const ompjit__kernel_desc *k = &mod->unit.kernels[kernel];
    const ompjit__maps *m = c->maps;
    bool variables = mod->unit.nglobals != 0;
    uint64_t unshared = 0;
    unsigned param = 0;
    if (a->n != k->nparams || (variables && c->dev->shares_memory))
        return 0;
    for (int32_t i = 0; i < m->n; i++) {
        uint64_t type = (uint64_t)m->types[i];
        if (has_storage(type) && !m->sizes[i])
            return 0;
        if (!(type & OMPJIT__MAP_TARGET_PARAM))
            continue;
        if (type & OMPJIT__MAP_LITERAL &&
            k->params[param].kind == OMPJIT__PARAM_POINTER)
            return 0;
        if (has_storage(type) && param < 64 && stands_alone(m, i) &&
            !(variables && is_variable(c, i)))
            unshared |= UINT64_C(1) << param;
        param++;
    }
    return unshared;
}

/* The pointer arguments to storage of a known size. */
static uint64_t find_sized(const arguments *a)
{
    uint64_t sized = 0;
    for (unsigned i = 0; i < a->n && i < 64; i++)
        sized |= (uint64_t)(a->sizes[i] != 0) << i;
    return sized;
}

/* Does the device have at entry i what the host has? */
static bool is_current(const ompjit__construct *c, int32_t i, uint64_t value)
{
    ompjit__mapped *entry;
    const void *begin = c->maps->begins[i];
    if (value == (uintptr_t)begin ||
        (uint64_t)c->maps->types[i] & OMPJIT__MAP_ALWAYS)
        return true;
    ompjit__present_lock(c->table);
    ompjit__present_find(c->table, begin, (uint64_t)c->maps->sizes[i], &entry);
    bool current = entry && ompjit__is_new(c, entry);
    ompjit__present_unlock(c->table);
    return current;
}

/* May the storage of entry i, which parameter `param` points to, be taken for a
 * constant, if the kernel only reads it? */
static bool is_constant(const ompjit__construct *c, const arguments *a,
                        int32_t i, unsigned param, uint64_t noalias)
{
    const ompjit__maps *m = c->maps;
    uint64_t type = (uint64_t)m->types[i];
    if (m->sizes[i] <= 0 || m->sizes[i] > OMPJIT_CONTENTS_MAX || !m->begins[i] ||
        m->bases[i] != m->begins[i] || !(type & OMPJIT__MAP_TO) ||
        type & (OMPJIT__MAP_FROM | OMPJIT__MAP_LITERAL |
                OMPJIT__MAP_PTR_AND_OBJ | OMPJIT__MAP_ATTACH))
        return false;
    return is_private(m, i) || (noalias >> param & 1 &&
                                is_current(c, i, a->values[param]));
}

/* The targets of the pointers in `wanted`; their number. Only for parameters
 * that `wanted` has; at most FEW_CONTENTS, the first ones. */
static uint32_t find_contents(const ompjit__construct *c, const arguments *a,
                              uint64_t wanted, uint64_t noalias,
                              ompjit__contents out[FEW_CONTENTS])
{
    const ompjit__maps *m = c->maps;
    unsigned param = 0;
    uint32_t n = 0;
    for (int32_t i = 0; i < m->n && param < 64 && n < FEW_CONTENTS; i++) {
        if (!((uint64_t)m->types[i] & OMPJIT__MAP_TARGET_PARAM))
            continue;
        if (wanted >> param & 1 && is_constant(c, a, i, param, noalias))
            out[n++] = (ompjit__contents){param, (uint32_t)m->sizes[i],
                                         m->begins[i]};
        param++;
    }
    return n;
}

/* Has the context been told to tune (OMPJIT_TUNE)? */
static bool tunes(const ompjit_device *dev)
{
    return dev->ctx && dev->ctx->tune;
}

/* Tools hear of each kernel's submission; teams[0] is 0 where the request
 * leaves it open. */
static void submit_begin(const ompjit__request *request)
{
    if (ompjit__ompt())
        ompjit__ompt_submit_begin(request->teams[0]);
}

static void submit_end(const ompjit__request *request)
{
    if (ompjit__ompt())
        ompjit__ompt_submit_end(request->teams[0]);
}

/* Runs the kernel, and waits for it. */
static ompjit_status run_alone(const ompjit__call *call, unsigned n,
                               ompjit__queue *queue, ompjit_error *err)
{
    submit_begin(call->request);
    ompjit_status st = ompjit__run(call->mod, call->index, call->dev,
                                   call->request, call->values, n, queue, err);
    submit_end(call->request);
    return st;
}

/* As ompjit__run; what comes back is put into the queue behind the kernel. */
static ompjit_status run_queued(ompjit__construct *c, const ompjit__call *call,
                                ompjit_error *err)
{
    ompjit__inflight inflight;
    submit_begin(call->request);
    ompjit_status st = ompjit__start(call, c->queue, NULL, &inflight, err);
    submit_end(call->request);
    if (st)
        return st;
    st = ompjit__early_copy(c, err);
    ompjit_status waited =
        c->dev->ops->queues->wait(c->dev, c->queue, st ? NULL : err);
    ompjit__inflight_end(&inflight, !waited);
    return st ? st : waited;
}

/* The facts about pointers are found only where a policy may fold them: that
 * takes the table's lock again. */
static ompjit_status run_mapped(ompjit__construct *c, ompjit_module *mod,
                                unsigned kernel,
                                const ompjit__request *request,
                                ompjit_error *err)
{
    arguments a;
    bool table = needs_table(c);
    ompjit_status st = arguments_init(&a, (size_t)c->maps->n, err);
    if (st)
        return st;
    const ompjit__kernel_desc *k = mod ? &mod->unit.kernels[kernel] : NULL;
    st = table ? enter(c, &a, k, err) : make_arguments(&a, c, err);
    if (!st) {
        /* The caller's request stays as it is: the facts hold for this launch
         * alone. */
        ompjit__request asked = *request;
        ompjit__contents contents[FEW_CONTENTS];
        if (asked.policy == OMPJIT_SPECIALIZE_NOW ||
            asked.policy == OMPJIT_SPECIALIZE_AUTO) {
            asked.facts.noalias = find_unshared(c, &a, mod, kernel);
            asked.facts.sizes.mask = find_sized(&a);
            asked.facts.sizes.values = a.sizes;
            uint64_t wanted = atomic_load_explicit(
                &mod->kernels[kernel].contents, memory_order_relaxed);
            asked.facts.contents.list = contents;
            asked.facts.contents.n =
                wanted ? find_contents(c, &a, wanted, asked.facts.noalias,
                                       contents)
                       : 0;
        }
        ompjit__call call = {mod, kernel, c->dev, &asked, a.values, 0};
        /* Tuning runs the kernel several times: all data has to be there
         * before, and is put back after each. */
        if (tunes(c->dev) && !(st = ompjit__transfer_wait(c, err)))
            ompjit__map_tune(c, &call, a.storage, a.total);
        /* ompjit__run takes a kernel whose parameters are not known, and has
         * the error of a wrong number of arguments. */
        bool queued = c->queue && !k->any_params && a.n == k->nparams;
        if (!st && queued && !(st = ompjit__device_ready(c->dev, err)))
            st = run_queued(c, &call, err);
        else if (!st)
            st = run_alone(&call, a.n, c->queue, err);
        if (c->copying && !st) /* the kernel has been waited for */
            ompjit__transfer_waited(c);
        if (table)
            st = leave(c, st, err);
    } else
        ompjit__transfer_wait(c, NULL);
    ompjit_status freed = arguments_free(&a, c, st ? NULL : err);
    return st ? st : freed;
}

/* Without entries there is nothing to map, and no construct is made. The order
 * of cleaning up is the reverse: data out, private copies, construct. */
ompjit_status ompjit__map_run(ompjit_device *dev, const ompjit__maps *maps,
                              ompjit_module *mod, unsigned kernel,
                              const ompjit__request *request,
                              ompjit_error *err)
{
    ompjit__call call = {mod, kernel, dev, request, NULL, 0};
    bool mapped = maps && maps->n;
    if (!mapped && tunes(dev))
        ompjit__map_tune(NULL, &call, NULL, 0);
    if (!mapped)
        return run_alone(&call, 0, NULL, err);
    ompjit__construct c;
    ompjit_status st = ompjit__construct_init(&c, dev, maps, err);
    if (!st)
        st = run_mapped(&c, mod, kernel, request, err);
    ompjit__construct_free(&c);
    return st;
}
