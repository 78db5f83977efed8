/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels that are launched, and data regions that begin and end.
 *
 * A kernel reads all that is mapped on the device, and writes what its
 * description (frontend/describe/writes.c) does not exclude. Its launch is
 * __tgt_target_kernel(location, device, teams, threads, key, block), where the
 * block has the same arrays as a data region's call (maps.c). An entry of these
 * arrays that is mapped already is only counted; one that is not is mapped for
 * the launch, and copied there and back by its type.
 */
#include <string.h>

#include "passes/hosthalf/share/walk_state.h"

const char ompjit__begins_data[] = "__tgt_target_data_begin_mapper";
const char ompjit__ends_data[] = "__tgt_target_data_end_mapper";
const char ompjit__reads_stale[] = "it is mapped again with old values";

/* ----------------------------------------------------------------- kernels */

/* The description of the kernel that a launch names: its key is the variable
 * `.SYMBOL.region_id`. NULL: not known; then it may write anything. */
static const ompjit__kernel_desc *kernel_of(const ompjit__walk *w,
                                            LLVMValueRef call)
{
    enum { KEY = 4 };
    static const char ending[] = ".region_id";
    LLVMValueRef key = LLVMGetOperand(call, KEY);
    size_t n, end = sizeof ending - 1;
    const char *name =
        LLVMIsAGlobalVariable(key) ? LLVMGetValueName2(key, &n) : NULL;
    if (!name || n <= end + 1 || strcmp(name + n - end, ending))
        return NULL;
    for (unsigned i = 0; i < w->unit->nkernels; i++) {
        const ompjit__kernel_desc *k = &w->unit->kernels[i];
        if (*name == '.' && strlen(k->symbol) == n - end - 1 &&
            !memcmp(k->symbol, name + 1, n - end - 1))
            return k;
    }
    return NULL;
}

/* The entries of which `all` has a bit are newer on the device. DEVICE alone is
 * right even if the kernel writes elsewhere: it allows less than SAME does. */
static void kernel_writes(ompjit__walk *w, ompjit__state *s, uint32_t all)
{
    for (unsigned i = 0; i < w->n; i++)
        if (all >> i & 1)
            ompjit__walk_become(s, i, OMPJIT__DEVICE);
}

/* A copy from new storage to the host is a store there, of which comparisons of
 * places and numbers must know. If the storage is an entry's for certain, it is
 * mapped already, and nothing is copied. */
static void comes_back(ompjit__walk *w, const ompjit__frame *frame,
                       const ompjit__host_maps *m, unsigned k, bool written)
{
    ompjit__access a = ompjit__walk_mapped_at(w, frame, m, k);
    uint32_t all = ompjit__walk_meant(w, &a);
    if (ompjit__map_type_at(m, k) & OMPJIT__MAP_FROM && written &&
        !ompjit__walk_is_one(w, &a, all))
        ompjit__walk_note_store(w, &a);
}

/* May the kernel write what an entry maps, through its parameter or, where the
 * entry is a member, through a pointer that it loads? Parameters are counted
 * over the entries with TARGET_PARAM, in their order; the description has bits
 * for 64. A member of a structure that is written may be, too. */
static bool writes_map(const ompjit__kernel_desc *k, uint64_t type,
                       unsigned param, bool parent_written)
{
    bool is_param = type & OMPJIT__MAP_TARGET_PARAM;
    return !k || parent_written ||
           (is_param ? param >= 64 || k->written >> param & 1
                     : k->writes_loaded);
}

/* Entries where the task's i-th map may lie. The task reads its pointers from
 * an array that was copied into it, so no single place is known, but points.c
 * knows the pointers that may be in there. */
static uint32_t meant_by_task(ompjit__walk *w, const ompjit__host_maps *m,
                              unsigned i)
{
    enum { POINTER = 8 };
    ompjit__access a = {.found = true};
    uint32_t all = 0;
    a.targets = ompjit__points_held(w->points, m->begins, i * POINTER);
    for (unsigned k = 0; k < w->n; k++)
        all |= (uint32_t)ompjit__walk_may_be_in(w, &w->entries[k], &a) << k;
    if (ompjit__map_type_at(m, i) & OMPJIT__MAP_FROM)
        ompjit__walk_note_store(w, &a);
    return all;
}

/* The launch in a task of `target nowait`, which has the pointers in arrays of
 * its own. Only plain types are understood: a part of a structure or a pointer
 * that is attached spoils all. */
static void launch_of_task(ompjit__walk *w, ompjit__state *s,
                           const ompjit__kernel_desc *k,
                           const ompjit__host_maps *m)
{
    const uint64_t plain = OMPJIT__MAP_TO | OMPJIT__MAP_FROM |
                           OMPJIT__MAP_IMPLICIT | OMPJIT__MAP_LITERAL |
                           OMPJIT__MAP_TARGET_PARAM | OMPJIT__MAP_PRIVATE;
    unsigned param = 0;
    for (unsigned i = 0; i < m->n; i++) {
        uint64_t type = ompjit__map_type_at(m, i);
        bool writes = writes_map(k, type, param, false);
        if (type & ~plain || !w->points) {
            ompjit__walk_spoil_all(w, "a launch is not understood");
            return;
        }
        param += (type & OMPJIT__MAP_TARGET_PARAM) != 0;
        if (!ompjit__has_storage(type))
            continue;
        uint32_t all = meant_by_task(w, m, i);
        if (type & OMPJIT__MAP_TO)
            ompjit__walk_spoil_these(
                w, ompjit__walk_those(w, s, all, OMPJIT__STALE),
                ompjit__reads_stale);
        if (writes)
            kernel_writes(w, s, all);
    }
}

/* All entries count as read, since a kernel can have their addresses from
 * storage of another launch. An entry that the kernel maps `always` is copied
 * at each launch, also where it is mapped already: a copy back of old values
 * would be seen. */
void ompjit__walk_launch(ompjit__walk *w, const ompjit__frame *frame,
                         ompjit__state *s, LLVMValueRef call)
{
    ompjit__host_maps m;
    const ompjit__kernel_desc *k = kernel_of(w, call);
    bool is_read = ompjit__read_kernel_maps(w->layout, call, &m);
    ompjit__walk_spoil_these(
        w, ompjit__walk_those(w, s, ompjit__walk_all(w), OMPJIT__HOST),
        "a kernel runs where the host has written");
    if (!k || k->writes_loaded)
        kernel_writes(w, s, UINT32_MAX);
    if (!is_read && ompjit__read_task_maps(w->layout, call, &m)) {
        launch_of_task(w, s, k, &m);
        return;
    } else if (!is_read) {
        ompjit__walk_spoil_all(w, "a launch is not understood");
        return;
    }
    uint64_t written[OMPJIT__WALK_ENTRIES] = {0};
    unsigned param = 0;
    for (unsigned i = 0; i < m.n; i++) {
        uint64_t type = ompjit__map_type_at(&m, i);
        int parent = ompjit__map_parent(type);
        bool writes =
            writes_map(k, type, param,
                       parent >= 0 && parent < (int)i &&
                           parent < OMPJIT__WALK_ENTRIES && written[parent]);
        if (i < OMPJIT__WALK_ENTRIES)
            written[i] = writes;
        param += (type & OMPJIT__MAP_TARGET_PARAM) != 0;
        if (type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ))
            ompjit__walk_attach(w, frame, &m, i);
        if (!ompjit__has_storage(type))
            continue;
        ompjit__access a = ompjit__walk_mapped_at(w, frame, &m, i);
        if (type & OMPJIT__MAP_TO)
            ompjit__walk_spoil_these(
                w,
                ompjit__walk_those(w, s, ompjit__walk_meant(w, &a),
                                   OMPJIT__STALE),
                ompjit__reads_stale);
        if (writes)
            kernel_writes(w, s, ompjit__walk_meant(w, &a));
        if (type & OMPJIT__MAP_ALWAYS)
            ompjit__walk_spoil_these(w, ompjit__walk_meant(w, &a),
                                     "a kernel maps it `always`");
        comes_back(w, frame, &m, i, writes);
    }
}

/* ------------------------------------------------------------ data regions */

/* The call of that name in the same function that has the same arrays, if it is
 * the only one. */
LLVMValueRef ompjit__map_partner(LLVMValueRef call, const char *name)
{
    LLVMValueRef found = NULL;
    LLVMValueRef bases =
        ompjit__map_array_of(LLVMGetOperand(call, OMPJIT__MAP_ARG_BASES));
    LLVMBasicBlockRef block = LLVMGetInstructionParent(call);
    LLVMValueRef f = LLVMGetBasicBlockParent(block);
    for (block = LLVMGetFirstBasicBlock(f); bases && block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i)) {
            if (!ompjit__is_host_call(i) || !ompjit__is_call_of(i, name) ||
                ompjit__map_array_of(
                    LLVMGetOperand(i, OMPJIT__MAP_ARG_BASES)) != bases)
                continue;
            if (found)
                return NULL;
            found = i;
        }
    return found;
}

/* The mapping of an entry ends. With `from` the device's values come to the
 * host, which is harmless if the host has not written since and if they are all
 * of them: of a part, the rest would keep the host's older values. Without
 * `from` a kernel's values are dropped, so the host's older ones are STALE:
 *
 *   #pragma omp target enter data map(to: x[:n])
 *   #pragma omp target
 *   ... x[i] = 0;
 *   #pragma omp target exit data map(release: x[:n])   STALE
 *   printf("%g\n", x[0]);       not 0, so x is copied
 *   free(x);                    without the printf, x is shared
 */
static void end_entry(ompjit__walk *w, ompjit__state *s, unsigned i,
                      uint64_t type, bool whole)
{
    bool from = type & OMPJIT__MAP_FROM;
    if (from && (s->of[i] & OMPJIT__HOST || !whole))
        ompjit__walk_spoil(w, i, "its end brings old values back, or a part");
    unsigned char now = !from && s->of[i] & OMPJIT__DEVICE ? OMPJIT__STALE : 0;
    if (s->of[i] & (from ? OMPJIT__LIVE : OMPJIT__SAME | OMPJIT__HOST))
        now |= OMPJIT__ENDED;
    ompjit__walk_become(s, i, now);
}

/* Another data region begins or ends. It only counts data that is mapped
 * already; then it must end before that mapping does. That is so for `target
 * data`, whose end stands in the same function. `enter data` has no partner
 * (`counts`): it may map what is mapped once more, so that the next `exit data`
 * would not end it. For a region that began with `enter data` itself, an `exit
 * data` of that entry for certain is its end. */
void ompjit__walk_other_region(ompjit__walk *w, const ompjit__frame *frame,
                               ompjit__state *s, LLVMValueRef call, bool ends)
{
    const uint64_t tells =
        OMPJIT__MAP_RETURN_PARAM | OMPJIT__MAP_ALWAYS | OMPJIT__MAP_DELETE;
    ompjit__host_maps m;
    if (!ompjit__read_maps(call, &m)) {
        ompjit__walk_spoil_all(w, "a data region is not understood");
        return;
    }
    bool counts = !ompjit__map_partner(call, ends ? ompjit__begins_data
                                                  : ompjit__ends_data);
    for (unsigned k = 0; k < m.n; k++) {
        uint64_t type = ompjit__map_type_at(&m, k);
        if (type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ) && !ends)
            ompjit__walk_attach(w, frame, &m, k);
        if (!ompjit__has_storage(type))
            continue;
        ompjit__access a = ompjit__walk_mapped_at(w, frame, &m, k);
        uint32_t may = ompjit__walk_meant(w, &a),
                 all = ompjit__walk_those(w, s, may, OMPJIT__LIVE);
        if (!ends && type & OMPJIT__MAP_TO)
            ompjit__walk_spoil_these(
                w, ompjit__walk_those(w, s, may, OMPJIT__STALE),
                ompjit__reads_stale);
        if (ends && counts && ompjit__walk_is_one(w, &a, all) &&
            !w->structured) {
            unsigned i = (unsigned)__builtin_ctz(all);
            end_entry(w, s, i, type,
                      ompjit__walk_is_whole(w, frame, &m, k, &a, i));
        } else if (counts || type & tells) {
            ompjit__walk_spoil_these(w, all,
                                     "it may be mapped or unmapped once more");
        }
        if (ends)
            comes_back(w, frame, &m, k, true);
    }
}

/* False: nothing is left to be watched. */
bool ompjit__walk_end_region(ompjit__walk *w, ompjit__state *s)
{
    for (unsigned i = 0; i < w->n; i++)
        end_entry(w, s, i, w->entries[i].type, true);
    return ompjit__walk_those(w, s, ~w->spoilt & ompjit__walk_all(w),
                              OMPJIT__STALE);
}
