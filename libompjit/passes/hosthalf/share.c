/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which data regions may use the application's storage in `auto` memory: those
 * of which the host half shows that the program cannot tell it from a copy. The
 * walk follows the host's code from where data is mapped to where that mapping
 * ends, through the functions that it calls, and keeps for each entry how the
 * two storages would differ:
 *
 *   SAME    they have the same values
 *   DEVICE  the device's is newer: the host must not read its own
 *   HOST    the host's is newer: kernels must not run
 *   ENDED   the mapping is over
 *   STALE   it is over, and the host's would have older values: they must not
 *           be read before the storage is freed
 *
 * and beside that
 *
 *   PENDING  a deferred kernel may run: the host must not write
 *
 * What of these is possible is a set. What breaks a rule spoils the entry, and
 * so does what the walk does not understand. Kernels are known by
 * frontend/describe/writes.c. Accesses are told apart by what they are accesses to
 * (place.h), and by their types as C has it (strict aliasing).
 *
 * Requires a host half as clang made it, of unoptimized code.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "passes/hosthalf/call.h"
#include "passes/hosthalf/walk.h"
#include "passes/hosthalf/hosthalf.h"

enum { SAME = 1, DEVICE = 2, HOST = 4, ENDED = 8, STALE = 16, PENDING = 32 };
enum { LIVE = SAME | DEVICE | HOST };
enum { MOST_ENTRIES = OMPJIT__WALK_ENTRIES, DEEP = 24, MOST_STEPS = 2000000 };
enum { MOST_MEMOS = 256 };

/* For each entry a set. */
typedef struct state {
    unsigned char of[MOST_ENTRIES];
} state;

/* Operands of __tgt_target_data_* from the left. */
enum { DEVICE_NUMBER = 1, BASES = 3, TYPES = 6 };

static bool has_storage(uint64_t type)
{
    return !(type & (OMPJIT__MAP_LITERAL | OMPJIT__MAP_ATTACH |
                     OMPJIT__MAP_PRIVATE));
}

void ompjit__walk_spoil(ompjit__walk *w, unsigned i, const char *why)
{
    if (!w->why[i]) {
        w->why[i] = why;
        w->where[i] = w->now;
    }
    w->spoilt |= UINT32_C(1) << i;
}

void ompjit__walk_spoil_all(ompjit__walk *w, const char *why)
{
    for (unsigned i = 0; i < w->n; i++)
        ompjit__walk_spoil(w, i, why);
    w->spoilt = UINT32_MAX;
}

static uint32_t all_entries(const ompjit__walk *w)
{
    return w->n < 32 ? (UINT32_C(1) << w->n) - 1 : UINT32_MAX;
}

/* Those of the entries that may be in one of the states. */
static uint32_t those(const ompjit__walk *w, const state *s, uint32_t all,
                      unsigned char states)
{
    for (unsigned i = 0; i < w->n; i++)
        if (!(s->of[i] & states))
            all &= ~(UINT32_C(1) << i);
    return all;
}

static void spoil_these(ompjit__walk *w, uint32_t all, const char *why)
{
    for (unsigned i = 0; i < w->n; i++)
        if (all >> i & 1)
            ompjit__walk_spoil(w, i, why);
}

/* ---------------------------------------------------------------- accesses */

/* If the mapping is not over. */
static void become(state *s, unsigned i, unsigned char now)
{
    if (s->of[i] & LIVE)
        s->of[i] = (s->of[i] & ~LIVE) | now;
}

static void host_reads(ompjit__walk *w, state *s, unsigned i)
{
    if (s->of[i] & (DEVICE | STALE))
        ompjit__walk_spoil(w, i, "the host reads what a kernel has written");
}

static void host_writes(ompjit__walk *w, state *s, unsigned i)
{
    if (s->of[i] & DEVICE)
        ompjit__walk_spoil(w, i, "the host writes what a kernel has written");
    if (s->of[i] & PENDING)
        ompjit__walk_spoil(w, i, "the host writes while a kernel may run");
    if (s->of[i] & SAME)
        s->of[i] |= HOST;
}

static bool is_constant(const ompjit__place *p)
{
    return p->root && !p->loads && LLVMIsAGlobalVariable(p->root) &&
           LLVMIsGlobalConstant(p->root);
}

static void access(ompjit__walk *w, state *s, ompjit__access *a, bool writes)
{
    if (is_constant(&a->place))
        return;
    if (writes)
        ompjit__walk_note_store(w, a);
    for (unsigned i = 0; i < w->n; i++) {
        const ompjit__mapped_at *e = &w->entries[i];
        unsigned char matters = writes ? LIVE : DEVICE | STALE;
        if (!has_storage(e->type) || !(s->of[i] & matters) ||
            (a->type && e->element && a->type != e->element) ||
            !ompjit__walk_may_be_in(w, e, a))
            continue;
        if (writes)
            host_writes(w, s, i);
        else
            host_reads(w, s, i);
    }
}

static void access_by(ompjit__walk *w, const ompjit__frame *frame, state *s,
                      LLVMValueRef i)
{
    bool store = LLVMIsAStoreInst(i) != NULL;
    if (LLVMGetVolatile(i) ||
        LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic) {
        ompjit__walk_spoil_all(w, "a volatile or atomic access");
        return;
    }
    ompjit__access a = ompjit__walk_access(frame, LLVMGetOperand(i, store));
    a.type = ompjit__access_type(w->tbaa, i);
    access(w, s, &a, store);
}

/* ------------------------------------------------------------------- maps */

static ompjit__access access_at(const ompjit__walk *w,
                                const ompjit__frame *frame, LLVMValueRef array,
                                unsigned i)
{
    return ompjit__walk_access(
        frame, ompjit__map_pointer_at(w->layout, array, i));
}

/* The place of the mapped storage; a strided section's entry has a descriptor
 * in place of its begin. */
static ompjit__access mapped_at(const ompjit__walk *w,
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
static uint32_t meant(ompjit__walk *w, ompjit__access *a)
{
    uint32_t all = 0;
    for (unsigned i = 0; i < w->n; i++) {
        if (!has_storage(w->entries[i].type))
            continue;
        if (ompjit__walk_same_place(w, &w->entries[i].begin, &a->place))
            return UINT32_C(1) << i;
        all |= (uint32_t)ompjit__walk_may_be_in(w, &w->entries[i], a) << i;
    }
    return all;
}

/* Is it that one entry for certain? */
static bool is_one(ompjit__walk *w, const ompjit__access *a, uint32_t all)
{
    return all &&
           ompjit__walk_same_place(w, &w->entries[__builtin_ctz(all)].begin,
                                   &a->place);
}

static bool is_whole(ompjit__walk *w, const ompjit__frame *frame,
                     const ompjit__host_maps *m, unsigned k,
                     const ompjit__access *a, unsigned i)
{
    ompjit__number size;
    if (ompjit__map_type_at(m, k) & OMPJIT__MAP_NON_CONTIG ||
        !ompjit__walk_same_place(w, &w->entries[i].begin, &a->place))
        return false;
    ompjit__walk_number(frame, ompjit__map_size_at(w->layout, m, k), &size);
    if (size.reach < w->reach)
        w->reach = size.reach;
    return ompjit__walk_same_number(w, &w->entries[i].size, &size);
}

/* A pointer that may lie in an entry's storage is attached: device addresses
 * are written there. */
static void attach(ompjit__walk *w, const ompjit__frame *frame,
                   const ompjit__host_maps *m, unsigned k)
{
    ompjit__access a = access_at(w, frame, m->bases, k);
    for (unsigned i = 0; i < w->n; i++)
        if (!w->entries[i].element &&
            ompjit__walk_may_be_in(w, &w->entries[i], &a))
            ompjit__walk_spoil(w, i, "a pointer is attached in it");
}

/* ----------------------------------------------------------------- updates */

static void update(ompjit__walk *w, const ompjit__frame *frame, state *s,
                   const ompjit__host_maps *m, unsigned k)
{
    uint64_t type = ompjit__map_type_at(m, k);
    ompjit__access a = mapped_at(w, frame, m, k);
    uint32_t all = meant(w, &a);
    for (unsigned i = 0; i < w->n; i++) {
        if (!(all >> i & 1))
            continue;
        if (s->of[i] & (type & OMPJIT__MAP_TO ? DEVICE : 0) ||
            s->of[i] & (type & OMPJIT__MAP_FROM ? HOST : 0))
            ompjit__walk_spoil(w, i, "an update brings old values back");
        if (is_whole(w, frame, m, k, &a, i))
            become(s, i, SAME);
    }
}

/* ----------------------------------------------------------------- kernels */

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

static void kernel_writes(ompjit__walk *w, state *s, uint32_t all)
{
    for (unsigned i = 0; i < w->n; i++)
        if (all >> i & 1)
            become(s, i, DEVICE);
}

/* A copy from new storage to the host is a store there. */
static void comes_back(ompjit__walk *w, const ompjit__frame *frame,
                       const ompjit__host_maps *m, unsigned k, bool written)
{
    ompjit__access a = mapped_at(w, frame, m, k);
    uint32_t all = meant(w, &a);
    if (ompjit__map_type_at(m, k) & OMPJIT__MAP_FROM && written &&
        !is_one(w, &a, all))
        ompjit__walk_note_store(w, &a);
}

/* Which of a kernel's maps it writes: through its parameters, or pointers that
 * it loads. */
static bool writes_map(const ompjit__kernel_desc *k, uint64_t type,
                       unsigned param, bool parent_written)
{
    bool is_param = type & OMPJIT__MAP_TARGET_PARAM;
    return !k || parent_written ||
           (is_param ? param >= 64 || k->written >> param & 1
                     : k->writes_loaded);
}

static const char reads_stale[] = "it is mapped again with old values";

/* Entries where the task's i-th map may lie. */
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

/* A task has the pointers in arrays of its own. */
static void launch_of_task(ompjit__walk *w, state *s,
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
        if (!has_storage(type))
            continue;
        uint32_t all = meant_by_task(w, m, i);
        if (type & OMPJIT__MAP_TO)
            spoil_these(w, those(w, s, all, STALE), reads_stale);
        if (writes)
            kernel_writes(w, s, all);
    }
}

static void launch(ompjit__walk *w, const ompjit__frame *frame, state *s,
                   LLVMValueRef call)
{
    ompjit__host_maps m;
    const ompjit__kernel_desc *k = kernel_of(w, call);
    bool is_read = ompjit__read_kernel_maps(w->layout, call, &m);
    spoil_these(w, those(w, s, all_entries(w), HOST),
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
    uint64_t written[MOST_ENTRIES] = {0};
    unsigned param = 0;
    for (unsigned i = 0; i < m.n; i++) {
        uint64_t type = ompjit__map_type_at(&m, i);
        int parent = ompjit__map_parent(type);
        bool writes = writes_map(k, type, param,
                                 parent >= 0 && parent < (int)i &&
                                     parent < MOST_ENTRIES && written[parent]);
        if (i < MOST_ENTRIES)
            written[i] = writes;
        param += (type & OMPJIT__MAP_TARGET_PARAM) != 0;
        if (type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ))
            attach(w, frame, &m, i);
        if (!has_storage(type))
            continue;
        ompjit__access a = mapped_at(w, frame, &m, i);
        if (type & OMPJIT__MAP_TO)
            spoil_these(w, those(w, s, meant(w, &a), STALE), reads_stale);
        if (writes)
            kernel_writes(w, s, meant(w, &a));
        if (type & OMPJIT__MAP_ALWAYS)
            spoil_these(w, meant(w, &a), "a kernel maps it `always`");
        comes_back(w, frame, &m, i, writes);
    }
}

/* ------------------------------------------------------------ data regions */

static bool is_named(LLVMValueRef call, const char *name)
{
    return !strcmp(ompjit__callee_name(call), name);
}

/* The call of that name in the same function that has the same arrays, if it is
 * the only one. */
static LLVMValueRef partner(LLVMValueRef call, const char *name)
{
    LLVMValueRef found = NULL;
    LLVMValueRef bases = ompjit__map_array_of(LLVMGetOperand(call, BASES));
    LLVMBasicBlockRef block = LLVMGetInstructionParent(call);
    LLVMValueRef f = LLVMGetBasicBlockParent(block);
    for (block = LLVMGetFirstBasicBlock(f); bases && block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i)) {
            if (!ompjit__is_host_call(i) || !is_named(i, name) ||
                ompjit__map_array_of(LLVMGetOperand(i, BASES)) != bases)
                continue;
            if (found)
                return NULL;
            found = i;
        }
    return found;
}

static void end_entry(ompjit__walk *w, state *s, unsigned i, uint64_t type,
                      bool whole)
{
    bool from = type & OMPJIT__MAP_FROM;
    if (from && (s->of[i] & HOST || !whole))
        ompjit__walk_spoil(w, i, "its end brings old values back, or a part");
    unsigned char now = !from && s->of[i] & DEVICE ? STALE : 0;
    if (s->of[i] & (from ? LIVE : SAME | HOST))
        now |= ENDED;
    become(s, i, now);
}

static const char begins_data[] = "__tgt_target_data_begin_mapper";
static const char ends_data[] = "__tgt_target_data_end_mapper";

/* Another data region that begins or ends. What is mapped already it only
 * counts; then it must give that back. */
static void other_region(ompjit__walk *w, const ompjit__frame *frame, state *s,
                         LLVMValueRef call, bool ends)
{
    const uint64_t tells = OMPJIT__MAP_RETURN_PARAM | OMPJIT__MAP_ALWAYS |
                           OMPJIT__MAP_DELETE;
    ompjit__host_maps m;
    if (!ompjit__read_maps(call, &m)) {
        ompjit__walk_spoil_all(w, "a data region is not understood");
        return;
    }
    bool counts = !partner(call, ends ? begins_data : ends_data);
    for (unsigned k = 0; k < m.n; k++) {
        uint64_t type = ompjit__map_type_at(&m, k);
        if (type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ) && !ends)
            attach(w, frame, &m, k);
        if (!has_storage(type))
            continue;
        ompjit__access a = mapped_at(w, frame, &m, k);
        uint32_t may = meant(w, &a), all = those(w, s, may, LIVE);
        if (!ends && type & OMPJIT__MAP_TO)
            spoil_these(w, those(w, s, may, STALE), reads_stale);
        if (ends && counts && is_one(w, &a, all) && !w->structured) {
            unsigned i = (unsigned)__builtin_ctz(all);
            end_entry(w, s, i, type, is_whole(w, frame, &m, k, &a, i));
        } else if (counts || type & tells) {
            spoil_these(w, all, "it may be mapped or unmapped once more");
        }
        if (ends)
            comes_back(w, frame, &m, k, true);
    }
}

/* False: nothing is left to be watched. */
static bool end_region(ompjit__walk *w, state *s)
{
    for (unsigned i = 0; i < w->n; i++)
        end_entry(w, s, i, w->entries[i].type, true);
    return those(w, s, ~w->spoilt & all_entries(w), STALE);
}

/* ------------------------------------------------------------------- calls */

/* Where the program ends it may be mapped still; kernels must not run then. */
static void free_storage(ompjit__walk *w, state *s, ompjit__access *a,
                         bool ends)
{
    for (unsigned i = 0; i < w->n; i++)
        if (!has_storage(w->entries[i].type))
            continue;
        else if (ompjit__walk_same_place(w, &w->entries[i].begin, &a->place))
            s->of[i] = s->of[i] & LIVE ? s->of[i] : ENDED;
    for (unsigned i = 0; i < w->n; i++)
        if (!(s->of[i] & LIVE) ||
            !ompjit__walk_may_be_in(w, &w->entries[i], a))
            continue;
        else if (ends)
            become(s, i, HOST);
        else
            ompjit__walk_spoil(w, i, "it is freed while it is mapped");
}

static const char unknown_call[] = "a function is called that is not known";
static const ompjit__call unknown = {OMPJIT__CALL_ANYTHING, true, true};

/* OpenMP's functions know more than what they are given: what is mapped. */
static bool knows_maps(LLVMValueRef call)
{
    static const char *const names[] = {"__tgt_", "__kmpc_", "omp", "kmp",
                                        "GOMP_", "acc"};
    const char *name = ompjit__callee_name(call);
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return LLVMIsAInlineAsm(LLVMGetCalledValue(call));
}

/* An unknown function reads and writes what has escaped, and nothing else; it
 * returns once, where setjmp is not used. */
static void unknown_function(ompjit__walk *w, state *s, LLVMValueRef call)
{
    uint32_t watched = those(w, s, UINT32_MAX, LIVE | STALE), reached = 0;
    ompjit__access a = {.found = true};
    if (!w->points || w->jumps || knows_maps(call)) {
        spoil_these(w, watched, unknown_call);
        return;
    }
    a.targets = ompjit__points_outside(w->points);
    for (unsigned i = 0; i < w->n; i++)
        reached |= (uint32_t)ompjit__walk_may_be_in(w, &w->entries[i], &a) << i;
    spoil_these(w, watched & reached, unknown_call);
    ompjit__walk_note_store(w, &a);
}

static void argument(ompjit__walk *w, const ompjit__frame *frame, state *s,
                     LLVMValueRef call, unsigned i, ompjit__call_class class)
{
    bool is_copy = LLVMIsAMemIntrinsic(call) != NULL;
    ompjit__access a = ompjit__walk_access(frame, LLVMGetOperand(call, i));
    if (class == OMPJIT__CALL_FREES) {
        free_storage(w, s, &a, frame->ends);
        return;
    }
    if (!(is_copy && !i))
        access(w, s, &a, false);
    if (class >= OMPJIT__CALL_WRITES && !(is_copy && i))
        access(w, s, &a, true);
}

static void run_given(ompjit__walk *w, const ompjit__frame *frame, state *s,
                      LLVMValueRef call);
static void end_program(ompjit__walk *w, const ompjit__frame *frame,
                        const state *s);

/* A function that is not the module's, or not known. */
static void foreign_call(ompjit__walk *w, const ompjit__frame *frame, state *s,
                         LLVMValueRef call, ompjit__call known)
{
    if (known.class == OMPJIT__CALL_ANYTHING) {
        unknown_function(w, s, call);
        end_program(w, frame, s);
    } else if (known.class != OMPJIT__CALL_NOTHING) {
        for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
            if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, i))) ==
                LLVMPointerTypeKind)
                argument(w, frame, s, call, i, known.class);
    }
    if (frame->is_given && !LLVMIsAIntrinsicInst(call))
        run_given(w, frame, s, call);
}

static bool walk_function(ompjit__walk *w, const ompjit__frame *frame,
                          LLVMValueRef from, state *s);

/* --------------------------------------------------------------- functions */

/* A function that is being walked through. Where it is called again, the call
 * does what is known of it so far, and the walk through it is repeated until
 * that is all that it does. */
struct running {
    struct running *outer;
    const ompjit__frame *frame;
    state in, out;
    bool returns, called_again;
};

/* The effect on a state of a function that was walked through. */
struct memo {
    LLVMValueRef f;
    ompjit__place args[OMPJIT__PLACE_ARGS];
    bool called_back, ends, forks;
    state in, out;
    bool returns;
};

static struct memo *find_memo(const ompjit__walk *w, const ompjit__frame *frame,
                              const state *s)
{
    for (unsigned i = 0; i < w->nmemos; i++) {
        struct memo *m = &w->memos[i];
        if (m->f == frame->f && m->called_back == frame->called_back &&
            m->ends == frame->ends && m->forks == frame->forks &&
            !memcmp(m->in.of, s->of, w->n) &&
            !memcmp(m->args, frame->args, sizeof m->args))
            return m;
    }
    return NULL;
}

/* The oldest ones are forgotten. */
static void note_memo(ompjit__walk *w, const ompjit__frame *frame,
                      const state *in, const state *out, bool returns)
{
    struct memo *m = &w->memos[w->next_memo++ % MOST_MEMOS];
    if (w->nmemos < MOST_MEMOS)
        w->nmemos++;
    m->f = frame->f;
    m->called_back = frame->called_back;
    m->ends = frame->ends;
    m->forks = frame->forks;
    memcpy(m->args, frame->args, sizeof m->args);
    m->in = *in;
    m->out = *out;
    m->returns = returns;
}

static void forget_memos(ompjit__walk *w)
{
    w->nmemos = w->next_memo = 0;
}

static bool merge(state *into, const state *s, unsigned n)
{
    bool news = false;
    for (unsigned i = 0; i < n; i++) {
        news |= (s->of[i] & ~into->of[i]) != 0;
        into->of[i] |= s->of[i];
    }
    return news;
}

static bool includes(const state *all, const state *s, unsigned n)
{
    state both = *all;
    return !merge(&both, s, n);
}

static bool is_walked(const ompjit__frame *frame, LLVMValueRef f)
{
    for (; frame; frame = frame->caller)
        if (frame->f == f)
            return true;
    return false;
}

/* The same function with the same arguments in a caller. */
static struct running *find_running(const ompjit__walk *w,
                                    const ompjit__frame *frame, const state *s)
{
    for (struct running *r = w->running; r; r = r->outer)
        if (r->frame->f == frame->f &&
            r->frame->called_back == frame->called_back &&
            r->frame->ends == frame->ends &&
            r->frame->forks == frame->forks && includes(&r->in, s, w->n) &&
            !memcmp(r->frame->args, frame->args, sizeof frame->args))
            return r;
    return NULL;
}

/* A function that calls itself gets other arguments each time. */
static ompjit__place widened(ompjit__place p)
{
    if (p.loads)
        return (ompjit__place){0};
    p.at[0] = 0;
    p.exact = false;
    return p;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Walks through a function until it does what its calls of itself do. */
static void run_function(ompjit__walk *w, struct running *r)
{
    bool news = true;
    r->outer = w->running;
    w->running = r;
    while (news) {
        state s = r->in;
        r->called_again = false;
        bool returns = walk_function(w, r->frame, NULL, &s);
        news = merge(&r->out, &s, w->n) || returns != r->returns;
        news = news && r->called_again;
        r->returns |= returns;
    }
    w->running = r->outer;
    if (r->called_again && w->reach < r->frame->depth)
        ompjit__walk_spoil_all(w, "a function calls itself with a size");
}

/* As a memo has it, or from now on will have it: nothing of it depends on what
 * is not the memo's key. */
static bool enter_frame(ompjit__walk *w, const ompjit__frame *frame, state *s)
{
    struct memo *known = find_memo(w, frame, s);
    if (known) {
        *s = known->out;
        return known->returns;
    }
    struct running *again = find_running(w, frame, s);
    if (again) {
        again->called_again = true;
        w->assumed = least(w->assumed, again->frame->depth);
        *s = again->out;
        return again->returns;
    }
    struct running r = {.frame = frame, .in = *s};
    unsigned knowledge = ompjit__walk_knowledge(w);
    unsigned assumed = w->assumed, reach = w->reach;
    w->assumed = w->reach = UINT_MAX;
    run_function(w, &r);
    *s = r.out;
    if (w->assumed >= frame->depth)
        w->assumed = UINT_MAX;
    if (knowledge == ompjit__walk_knowledge(w) && w->assumed == UINT_MAX &&
        w->reach >= frame->depth)
        note_memo(w, frame, &r.in, s, r.returns);
    w->assumed = least(w->assumed, assumed);
    w->reach = least(w->reach, reach);
    return r.returns;
}

/* `call` NULL: its operands are not the function's arguments. */
static ompjit__frame frame_in(const ompjit__frame *frame, LLVMValueRef f,
                              LLVMValueRef call)
{
    ompjit__frame inner = *frame;
    inner.caller = frame;
    inner.f = f;
    inner.call = call;
    inner.depth = frame->depth + 1;
    memset(inner.args, 0, sizeof inner.args);
    return inner;
}

/* Parameters of `f` from the param-th on are the call's arguments from the
 * first on. */
static bool enter_function(ompjit__walk *w, const ompjit__frame *frame,
                           state *s, LLVMValueRef call, LLVMValueRef f,
                           unsigned first, unsigned param)
{
    unsigned n = LLVMGetNumArgOperands(call);
    bool again = is_walked(frame, f);
    ompjit__frame inner = frame_in(frame, f, first || param ? NULL : call);
    if (inner.depth > DEEP || f == w->top) {
        ompjit__walk_spoil_all(w, "functions call each other deeply");
        return false;
    }
    for (; first < n && param < OMPJIT__PLACE_ARGS; first++, param++) {
        ompjit__place p = ompjit__place_of(frame, LLVMGetOperand(call, first));
        inner.args[param] = again ? widened(p) : p;
    }
    return enter_frame(w, &inner, s);
}

/* Calls a function as often as may be with pointers into what the call's
 * arguments lead to. */
static void call_back(ompjit__walk *w, const ompjit__frame *frame, state *s,
                      LLVMValueRef call, const ompjit__call_back *back)
{
    LLVMValueRef f = LLVMGetOperand(call, back->function);
    ompjit__frame inner = frame_in(frame, f, NULL);
    state once = *s;
    if (!LLVMIsAFunction(f) || LLVMIsDeclaration(f) || f == w->top ||
        inner.depth > DEEP) {
        foreign_call(w, frame, s, call, unknown);
        return;
    }
    for (unsigned i = 0; i < OMPJIT__COUNT(back->argument); i++)
        inner.args[i] = widened(ompjit__place_of(
            frame, LLVMGetOperand(call, back->argument[i])));
    while (enter_frame(w, &inner, &once) && merge(s, &once, w->n))
        once = *s;
}

/* Functions that functions outside were given are called as often as may be, in
 * any order and by any thread. A thread that waits in one has changed no more
 * than one that returns from it: those that map anything spoil all. */
static void run_given(ompjit__walk *w, const ompjit__frame *frame, state *s,
                      LLVMValueRef call)
{
    bool news = !frame->called_back;
    if (!w->points)
        spoil_these(w, those(w, s, UINT32_MAX, LIVE | STALE), unknown_call);
    while (news && w->points) {
        unsigned i = 0;
        news = false;
        for (LLVMValueRef f;
             (f = ompjit__points_next_given(w->points, &i)) != NULL;) {
            ompjit__frame inner = frame_in(frame, f, NULL);
            state once = *s;
            inner.called_back = true;
            if (f == w->top || inner.depth > DEEP) {
                ompjit__walk_spoil_all(w, unknown_call);
                return;
            }
            w->now = call;
            if (enter_frame(w, &inner, &once))
                news |= merge(s, &once, w->n);
        }
    }
}

/* A function that was registered to run at the program's end, with the argument
 * that it was registered with. */
static void run_at_end(ompjit__walk *w, const ompjit__frame *frame, state *s,
                       LLVMValueRef call)
{
    enum { ARGUMENT = 1 };
    LLVMValueRef f = LLVMGetOperand(call, 0);
    ompjit__frame inner = frame_in(frame, f, NULL);
    if (!LLVMIsAFunction(f)) {
        spoil_these(w, those(w, s, UINT32_MAX, LIVE | STALE),
                    "an unknown function runs at the end");
    } else if (inner.depth > DEEP || f == w->top) {
        ompjit__walk_spoil_all(w, "functions call each other deeply");
    } else if (!LLVMIsDeclaration(f)) {
        inner.ends = true;
        if (LLVMGetNumArgOperands(call) > ARGUMENT &&
            LLVMIsAConstant(LLVMGetOperand(call, ARGUMENT)))
            inner.args[0] =
                ompjit__place_of(frame, LLVMGetOperand(call, ARGUMENT));
        enter_frame(w, &inner, s);
    }
}

/* Functions that run at the program's end: destructors of variables. */
static void end_program(ompjit__walk *w, const ompjit__frame *frame,
                        const state *at_end)
{
    static const char *const names[] = {"__cxa_atexit", "atexit"};
    enum { ROUNDS = 2 };
    state last = *at_end, *s = &last;
    LLVMModuleRef m = LLVMGetGlobalParent(frame->f);
    for (int k = 0; k < 2 * ROUNDS && !frame->ends; k++) {
        LLVMValueRef registers = LLVMGetNamedFunction(m, names[k % 2]);
        LLVMUseRef u = registers ? LLVMGetFirstUse(registers) : NULL;
        for (; u; u = LLVMGetNextUse(u)) {
            state one = *s;
            if (ompjit__is_host_call(LLVMGetUser(u)))
                run_at_end(w, frame, &one, LLVMGetUser(u));
            else
                spoil_these(w, those(w, s, UINT32_MAX, LIVE | STALE),
                            "an unknown function runs at the end");
            merge(s, &one, w->n);
        }
    }
}

/* A function that is not the module's. */
static void call_of_library(ompjit__walk *w, const ompjit__frame *frame,
                            state *s, LLVMValueRef call)
{
    const char *name = ompjit__callee_name(call);
    const ompjit__call_back *back = ompjit__call_back_of(name);
    if (!strcmp(name, "exit"))
        end_program(w, frame, s);
    foreign_call(w, frame, s, call, ompjit__call_of(name));
    if (back)
        call_back(w, frame, s, call, back);
}

static bool one_of_several(ompjit__walk *w, const ompjit__frame *frame,
                           state *s, LLVMValueRef call, LLVMValueRef f)
{
    size_t n;
    if (!ompjit__may_call(call, f))
        return false;
    if (!LLVMIsDeclaration(f))
        return enter_function(w, frame, s, call, f, 0, 0);
    const char *name = LLVMGetValueName2(f, &n);
    foreign_call(w, frame, s, call,
                 ompjit__call_back_of(name) ? unknown : ompjit__call_of(name));
    return true;
}

static bool call_by_pointer(ompjit__walk *w, const ompjit__frame *frame,
                            state *s, LLVMValueRef call)
{
    ompjit__callees callees;
    state out = {0};
    bool returns = false;
    if (!w->points || !ompjit__points_callees(
                          w->points, LLVMGetCalledValue(call), &callees)) {
        spoil_these(w, those(w, s, UINT32_MAX, LIVE | STALE), unknown_call);
        return true;
    }
    for (unsigned i = 0; i < callees.n; i++) {
        state one = *s;
        if (one_of_several(w, frame, &one, call, callees.function[i])) {
            merge(&out, &one, w->n);
            returns = true;
        }
    }
    if (callees.library) {
        foreign_call(w, frame, s, call, unknown);
        merge(&out, s, w->n);
        returns = true;
    }
    *s = out;
    return returns;
}

static bool same_device(const ompjit__walk *w, LLVMValueRef call)
{
    return LLVMGetNumArgOperands(call) > DEVICE_NUMBER &&
           LLVMGetOperand(call, DEVICE_NUMBER) == w->device;
}

static void updates(ompjit__walk *w, const ompjit__frame *frame, state *s,
                    LLVMValueRef call)
{
    ompjit__host_maps m;
    if (!ompjit__read_maps(call, &m)) {
        ompjit__walk_spoil_all(w, "an update is not understood");
        return;
    }
    for (unsigned k = 0; k < m.n; k++)
        if (has_storage(ompjit__map_type_at(&m, k)))
            update(w, frame, s, &m, k);
}

/* Threads that run a function one after the other do as all do at once, where
 * they do not race. */
static bool fork(ompjit__walk *w, const ompjit__frame *frame, state *s,
                 LLVMValueRef call)
{
    enum { FUNCTION = 2, ROUNDS = 4 };
    LLVMValueRef f = LLVMGetOperand(call, FUNCTION);
    ompjit__frame threads = *frame;
    state in = *s;
    bool returns = true;
    threads.forks = true;
    if (!LLVMIsAFunction(f) || LLVMIsDeclaration(f)) {
        call_of_library(w, frame, s, call);
        return true;
    }
    for (int i = 0; i < ROUNDS && returns; i++) {
        *s = in;
        returns =
            enter_function(w, &threads, s, call, f, FUNCTION + 1, FUNCTION);
        merge(&in, s, w->n);
    }
    return returns;
}

/* A task that launches a kernel, now or later. */
static void defer(ompjit__walk *w, const ompjit__frame *frame, state *s,
                  LLVMValueRef call)
{
    enum { TASK = 2, ENTRY = 5 };
    LLVMValueRef task = LLVMGetOperand(call, TASK);
    LLVMValueRef f = ompjit__is_host_call(task) &&
                             is_named(task, "__kmpc_omp_target_task_alloc")
                         ? LLVMGetOperand(task, ENTRY)
                         : NULL;
    if (!f || !LLVMIsAFunction(f) || LLVMIsDeclaration(f) || frame->forks) {
        foreign_call(w, frame, s, call, unknown);
        return;
    }
    enter_function(w, frame, s, call, f, 1, 0);
    for (unsigned i = 0; i < w->n; i++)
        if (s->of[i] & LIVE)
            s->of[i] |= PENDING;
}

/* All tasks of this one are done, which is the program's own. */
static void wait_for_tasks(ompjit__walk *w, const ompjit__frame *frame,
                           state *s, LLVMValueRef call)
{
    call_of_library(w, frame, s, call);
    for (unsigned i = 0; i < w->n && !frame->forks; i++)
        s->of[i] &= (unsigned char)~PENDING;
}

/* A function adds a thread's variables up; they are in a list. */
static void reduce(ompjit__walk *w, const ompjit__frame *frame, state *s,
                   LLVMValueRef call)
{
    enum { LIST = 4, FUNCTION };
    LLVMValueRef f = LLVMGetOperand(call, FUNCTION);
    if (LLVMIsAFunction(f) && !LLVMIsDeclaration(f))
        enter_function(w, frame, s, call, f, LIST, 0);
    else
        call_of_library(w, frame, s, call);
}

static void call_of_runtime(ompjit__walk *w, const ompjit__frame *frame,
                            state *s, LLVMValueRef call, const char *name)
{
    if (frame->called_back)
        spoil_these(w, those(w, s, UINT32_MAX, LIVE | STALE), unknown_call);
    else if (!same_device(w, call))
        ompjit__walk_spoil_all(w, "another device, or an unknown one");
    else if (!strcmp(name, "__tgt_target_kernel"))
        launch(w, frame, s, call);
    else if (!strcmp(name, "__tgt_target_data_update_mapper"))
        updates(w, frame, s, call);
    else if (call == w->begin && w->structured &&
             those(w, s, UINT32_MAX, LIVE))
        ompjit__walk_spoil_all(w, "it begins again before its end");
    else if (!strcmp(name, begins_data) || !strcmp(name, ends_data))
        other_region(w, frame, s, call, !strcmp(name, ends_data));
    else
        call_of_library(w, frame, s, call);
}

/* False: nothing comes behind the call. */
static bool step_call(ompjit__walk *w, const ompjit__frame *frame, state *s,
                      LLVMValueRef call)
{
    LLVMValueRef f = ompjit__callee(call);
    const char *name = ompjit__callee_name(call);
    ompjit__walk_note_call(w, call);
    if (!LLVMIsAFunction(f) && !LLVMIsAInlineAsm(f))
        return call_by_pointer(w, frame, s, call);
    if (w->structured && !frame->caller && !strcmp(name, ends_data) &&
        partner(call, begins_data) == w->begin)
        return end_region(w, s);
    if (!strncmp(name, "__tgt_", 6))
        call_of_runtime(w, frame, s, call, name);
    else if (!strcmp(name, "__kmpc_fork_call"))
        return fork(w, frame, s, call);
    else if (!strcmp(name, "__kmpc_omp_task") ||
             !strcmp(name, "__kmpc_omp_task_with_deps"))
        defer(w, frame, s, call);
    else if (!strcmp(name, "__kmpc_omp_taskwait"))
        wait_for_tasks(w, frame, s, call);
    else if (!strncmp(name, "__kmpc_reduce", 13))
        reduce(w, frame, s, call);
    else if (LLVMIsAFunction(f) && !LLVMIsDeclaration(f))
        return enter_function(w, frame, s, call, f, 0, 0);
    else
        call_of_library(w, frame, s, call);
    return true;
}

/* -------------------------------------------------------------------- flow */

struct block {
    LLVMBasicBlockRef block;
    state in;
    bool reached, waits;
};

/* Threads that functions outside have made may meet there. */
static void step_atomic(ompjit__walk *w, const ompjit__frame *frame, state *s,
                        LLVMValueRef i)
{
    if (!LLVMIsAFenceInst(i)) {
        ompjit__access a = ompjit__walk_access(frame, LLVMGetOperand(i, 0));
        access(w, s, &a, false);
        access(w, s, &a, true);
    }
    if (frame->is_given)
        run_given(w, frame, s, i);
}

static bool step(ompjit__walk *w, const ompjit__frame *frame, state *s,
                 LLVMValueRef i)
{
    w->now = i;
    if (++w->steps > MOST_STEPS)
        ompjit__walk_spoil_all(w, "the program is large");
    if (LLVMGetInstructionOpcode(i) == LLVMIndirectBr)
        ompjit__walk_spoil_all(w, "a jump to a label's address");
    if ((w->spoilt & all_entries(w)) == all_entries(w))
        return false;
    if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) ||
        LLVMIsAFenceInst(i))
        step_atomic(w, frame, s, i);
    else if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i))
        access_by(w, frame, s, i);
    return !ompjit__is_host_call(i) || step_call(w, frame, s, i);
}

static struct block *find_block(struct block *blocks, unsigned n,
                                LLVMBasicBlockRef block)
{
    for (unsigned i = 0; i < n; i++)
        if (blocks[i].block == block)
            return &blocks[i];
    return NULL;
}

struct flow {
    struct block *blocks;
    unsigned n;
    state out;     /* where the function returns, or an exception leaves it */
    bool returns;
};

/* Does the function end behind a call that throws an exception? */
static bool throws(LLVMValueRef end)
{
    static const char *const names[] = {"__cxa_throw", "__cxa_rethrow",
                                        "_ZSt"};
    LLVMValueRef last =
        LLVMIsAUnreachableInst(end) ? LLVMGetPreviousInstruction(end) : NULL;
    const char *name =
        last && ompjit__is_host_call(last) ? ompjit__callee_name(last) : "";
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

static bool is_in(LLVMBasicBlockRef block, const LLVMBasicBlockRef *list,
                  unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == block)
            return true;
    return false;
}

/* Blocks from which the structured region's end is reached, but not through its
 * begin; the caller frees them. */
static LLVMBasicBlockRef *find_inside(const ompjit__walk *w, unsigned *n)
{
    LLVMValueRef end = partner(w->begin, ends_data);
    LLVMBasicBlockRef begin = LLVMGetInstructionParent(w->begin);
    LLVMValueRef f = LLVMGetBasicBlockParent(begin);
    LLVMBasicBlockRef *inside =
        malloc(LLVMCountBasicBlocks(f) * sizeof *inside);
    *n = 0;
    if (inside)
        inside[(*n)++] = LLVMGetInstructionParent(end);
    for (unsigned i = 0; i < *n; i++) {
        LLVMUseRef u =
            LLVMGetFirstUse(LLVMBasicBlockAsValue(inside[i]));
        for (; u && inside[i] != begin; u = LLVMGetNextUse(u)) {
            LLVMValueRef from = LLVMGetUser(u);
            LLVMBasicBlockRef block = LLVMIsATerminatorInst(from)
                                          ? LLVMGetInstructionParent(from)
                                          : NULL;
            if (block && !is_in(block, inside, *n))
                inside[(*n)++] = block;
        }
    }
    return inside;
}

/* An exception that would leave the region, as no program may do. */
static bool leaves_region(const ompjit__walk *w, const ompjit__frame *frame,
                          const state *s, LLVMValueRef end, unsigned successor)
{
    LLVMBasicBlockRef begin = LLVMGetInstructionParent(w->begin);
    if (!w->structured || frame->caller || successor != 1 ||
        !LLVMIsAInvokeInst(end) || frame->f != LLVMGetBasicBlockParent(begin) ||
        !those(w, s, all_entries(w), LIVE))
        return false;
    unsigned n;
    LLVMBasicBlockRef *inside = find_inside(w, &n);
    bool leaves =
        inside && !is_in(LLVMGetSuccessor(end, successor), inside, n);
    free(inside);
    return leaves;
}

static void flow_on(ompjit__walk *w, const ompjit__frame *frame,
                    struct flow *flow, LLVMValueRef end, const state *s)
{
    if (LLVMIsAReturnInst(end) || LLVMIsAResumeInst(end) || throws(end)) {
        merge(&flow->out, s, w->n);
        flow->returns = true;
    }
    for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) {
        struct block *next =
            find_block(flow->blocks, flow->n, LLVMGetSuccessor(end, k));
        if (!next || (!k && ompjit__is_launch_failure(end)) ||
            leaves_region(w, frame, s, end, k))
            continue;
        bool news = merge(&next->in, s, w->n);
        next->waits |= news || !next->reached;
        next->reached = true;
    }
}

static void run_from(ompjit__walk *w, const ompjit__frame *frame,
                     struct flow *flow, LLVMValueRef i, state s)
{
    LLVMValueRef last = NULL;
    for (; i; last = i, i = LLVMGetNextInstruction(i))
        if (!step(w, frame, &s, i))
            return;
    if (last)
        flow_on(w, frame, flow, last, &s);
}

static struct block *waiting(const struct flow *flow)
{
    for (unsigned i = 0; i < flow->n; i++)
        if (flow->blocks[i].waits)
            return &flow->blocks[i];
    return NULL;
}

/* From behind a call on, or (NULL) the whole function; false: it does not
 * return. */
static bool walk_function(ompjit__walk *w, const ompjit__frame *frame,
                          LLVMValueRef from, state *s)
{
    struct flow flow = {.n = LLVMCountBasicBlocks(frame->f)};
    flow.blocks = calloc(flow.n, sizeof *flow.blocks);
    if (!flow.blocks) {
        ompjit__walk_spoil_all(w, "no memory");
        return false;
    }
    LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(frame->f);
    for (unsigned i = 0; i < flow.n; i++, b = LLVMGetNextBasicBlock(b))
        flow.blocks[i].block = b;
    if (!from)
        run_from(w, frame, &flow,
                 LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(frame->f)),
                 *s);
    else if (LLVMIsAInvokeInst(from))
        flow_on(w, frame, &flow, from, s);
    else
        run_from(w, frame, &flow, LLVMGetNextInstruction(from), *s);
    for (struct block *next; (next = waiting(&flow));) {
        next->waits = false;
        run_from(w, frame, &flow, LLVMGetFirstInstruction(next->block),
                 next->in);
    }
    free(flow.blocks);
    *s = flow.out;
    return flow.returns;
}

/* ----------------------------------------------------------------- callers */

/* A function in which the walk goes on behind a call. */
struct outer {
    const struct outer *inner;
    LLVMValueRef f;
};

static bool was_left(const struct outer *outer, LLVMValueRef f)
{
    for (; outer; outer = outer->inner)
        if (outer->f == f)
            return true;
    return false;
}

static bool is_internal(LLVMValueRef f)
{
    return LLVMGetLinkage(f) == LLVMInternalLinkage ||
           LLVMGetLinkage(f) == LLVMPrivateLinkage;
}

static bool is_main(LLVMValueRef f)
{
    size_t n;
    return !strcmp(LLVMGetValueName2(f, &n), "main");
}

static void walk_outwards(ompjit__walk *w, const ompjit__frame *frame,
                          const struct outer *left, state *s);

/* The entries as the caller has them. */
static void translate(ompjit__walk *w, const ompjit__frame *caller,
                      LLVMValueRef call)
{
    for (unsigned i = 0; i < w->n; i++) {
        ompjit__mapped_at *e = &w->entries[i];
        e->begin = ompjit__walk_outer_place(caller, call, &e->outer);
        e->outer = e->begin;
        ompjit__walk_outer_number(caller, call, &e->size);
        if (w->points && e->begin.root) {
            ompjit__targets t =
                ompjit__points_of(w->points, NULL, &e->begin);
            ompjit__targets_restrict(w->points, &e->targets, &t);
        }
    }
}

static void walk_caller(ompjit__walk *w, const ompjit__frame *frame,
                        const struct outer *left, LLVMValueRef call,
                        const state *s)
{
    ompjit__frame outer = *frame;
    LLVMValueRef top = w->top;
    state on = *s;
    outer.f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
    outer.from = call;
    ompjit__mapped_at *saved = malloc(sizeof w->entries);
    if (!saved || was_left(left, outer.f)) {
        ompjit__walk_spoil_all(w, "a function calls itself");
        free(saved);
        return;
    }
    memcpy(saved, w->entries, sizeof w->entries);
    w->top = outer.f;
    translate(w, &outer, call);
    forget_memos(w);
    if (walk_function(w, &outer, call, &on))
        walk_outwards(w, &outer, left, &on);
    memcpy(w->entries, saved, sizeof w->entries);
    w->top = top;
    free(saved);
}

/* `f`: the outermost function, or an alias of it. */
static void walk_callers(ompjit__walk *w, const ompjit__frame *frame,
                         const struct outer *left, LLVMValueRef f,
                         const state *s)
{
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (ompjit__is_host_call(call) && LLVMGetCalledValue(call) == f)
            walk_caller(w, frame, left, call, s);
        else if (LLVMIsAGlobalAlias(call))
            walk_callers(w, frame, left, call, s);
        else
            spoil_these(w, those(w, s, all_entries(w), LIVE | STALE),
                        "its function may be called by pointer");
    }
}

/* The outermost function's own variables are gone with it. */
static void leave_variables(ompjit__walk *w, state *s)
{
    for (unsigned i = 0; i < w->n; i++) {
        const ompjit__place *p = &w->entries[i].begin;
        if (!p->root || p->loads || !LLVMIsAAllocaInst(p->root))
            continue;
        if (s->of[i] & LIVE)
            ompjit__walk_spoil(w, i, "a variable stays mapped");
        s->of[i] = ENDED;
    }
}

/* Goes on where the outermost function returns. */
static void walk_outwards(ompjit__walk *w, const ompjit__frame *frame,
                          const struct outer *left, state *s)
{
    leave_variables(w, s);
    uint32_t rest = those(w, s, all_entries(w) & ~w->spoilt, LIVE | STALE);
    LLVMValueRef f = frame->f;
    const struct outer here = {left, f};
    if (!rest)
        return;
    if (w->whole && is_main(f)) {
        end_program(w, frame, s);
        if (frame->is_given)
            run_given(w, frame, s, w->now);
        return;
    }
    if (!w->whole && !is_internal(f)) {
        spoil_these(w, rest, "an unknown caller gets it");
        return;
    }
    walk_callers(w, frame, &here, f, s);
}

/* ----------------------------------------------------------------- regions */

/* The type of the section's elements, as clang computes where it begins. */
static LLVMTypeRef element_of(LLVMValueRef begin)
{
    LLVMTypeRef type = NULL;
    if (LLVMIsAGetElementPtrInst(begin))
        type = LLVMGetGEPSourceElementType(begin);
    else if (LLVMIsAAllocaInst(begin))
        type = LLVMGetAllocatedType(begin);
    else if (LLVMIsAGlobalVariable(begin))
        type = LLVMGlobalGetValueType(begin);
    while (type && LLVMGetTypeKind(type) == LLVMArrayTypeKind)
        type = LLVMGetElementType(type);
    return type && ompjit__is_scalar_type(type) ? type : NULL;
}

static bool is_candidate(uint64_t type)
{
    return !(type & ~(uint64_t)(OMPJIT__MAP_TO | OMPJIT__MAP_FROM |
                                OMPJIT__MAP_IMPLICIT));
}

static void read_entry(ompjit__walk *w, const ompjit__frame *frame, unsigned i)
{
    ompjit__mapped_at *e = &w->entries[i];
    LLVMValueRef begin =
        ompjit__map_pointer_at(w->layout, w->maps.begins, i);
    ompjit__access a = ompjit__walk_access(frame, begin);
    ompjit__frame resolving = *frame;
    resolving.resolves = true;
    *e = (ompjit__mapped_at){.begin = a.place,
                             .outer = ompjit__walk_access(&resolving, begin)
                                          .place,
                             .type = ompjit__map_type_at(&w->maps, i)};
    ompjit__walk_number(frame, ompjit__map_size_at(w->layout, &w->maps, i),
                        &e->size);
    if (w->points)
        e->targets = ompjit__points_of(w->points, begin, &a.place);
    e->element = begin ? element_of(begin) : NULL;
    if (!begin || !e->begin.root || !is_candidate(e->type))
        ompjit__walk_spoil(w, i, "a part of a structure, or not understood");
}

static bool read_region(ompjit__walk *w, const ompjit__frame *frame)
{
    if (!ompjit__read_maps(w->begin, &w->maps))
        return false;
    w->device = LLVMGetOperand(w->begin, DEVICE_NUMBER);
    w->structured = partner(w->begin, ends_data) != NULL;
    w->top = frame->f;
    w->now = w->begin;
    w->n = w->maps.n;
    w->spoilt = 0;
    w->assumed = w->reach = UINT_MAX;
    memset(w->why, 0, sizeof w->why);
    for (unsigned i = 0; i < w->n; i++) {
        read_entry(w, frame, i);
        if (w->entries[i].type & OMPJIT__MAP_RETURN_PARAM)
            return false;
    }
    return LLVMIsACallInst(w->begin) && LLVMIsAConstantInt(w->device) &&
           partner(w->begin, begins_data);
}

static void walk_region(ompjit__walk *w, const ompjit__frame *frame)
{
    state s = {0};
    memset(s.of, SAME, w->n);
    w->steps = 0;
    w->learns = true;
    while (w->learns) {
        unsigned known = ompjit__walk_knowledge(w);
        state on = s;
        forget_memos(w);
        if (walk_function(w, frame, w->begin, &on))
            walk_outwards(w, frame, NULL, &on);
        w->learns = ompjit__walk_knowledge(w) != known;
    }
}

/* The call gets a list of types in which the entries are marked. */
static void mark(ompjit__walk *w, uint32_t good)
{
    LLVMModuleRef m = LLVMGetGlobalParent(w->maps.types);
    LLVMTypeRef number = LLVMInt64TypeInContext(LLVMGetModuleContext(m));
    uint64_t unseen = w->whole ? OMPJIT__MAP_UNSEEN_IN_MAIN
                               : OMPJIT__MAP_UNSEEN;
    LLVMValueRef types[MOST_ENTRIES];
    for (unsigned i = 0; i < w->n; i++)
        types[i] = LLVMConstInt(
            number, w->entries[i].type | (good >> i & 1 ? unseen : 0), 0);
    LLVMValueRef g = LLVMAddGlobal(m, LLVMArrayType2(number, w->n),
                                   ".ompjit_maptypes");
    LLVMSetInitializer(g, LLVMConstArray2(number, types, w->n));
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetOperand(w->begin, TYPES, g);
}

/* Says why entries are copied. */
static void tell(const ompjit__walk *w, ompjit__compiler *compiler,
                 const ompjit__frame *frame)
{
    size_t n;
    for (unsigned i = 0; compiler->explains && i < w->n; i++) {
        const char *why = w->why[i] ? w->why[i] : "it is not understood";
        LLVMValueRef at = w->why[i] ? w->where[i] : NULL;
        LLVMBasicBlockRef block = at ? LLVMGetInstructionParent(at) : NULL;
        const char *callee = why == unknown_call ? ompjit__callee_name(at) : "";
        if (has_storage(w->entries[i].type) && w->spoilt >> i & 1)
            ompjit__report(compiler,
                           "entry %u of the %u that %s maps is copied: "
                           "%s%s%s (%s)",
                           i + 1, w->n, LLVMGetValueName2(frame->f, &n), why,
                           *callee ? ": " : "", callee,
                           block ? LLVMGetValueName2(
                                       LLVMGetBasicBlockParent(block), &n)
                                 : "?");
    }
}

static void find_unseen(ompjit__walk *w, ompjit__compiler *compiler)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(w->begin);
    ompjit__frame frame = {.f = LLVMGetBasicBlockParent(block),
                           .from = w->begin,
                           .layout = w->layout,
                           .is_given = !w->points ||
                                       ompjit__points_given(w->points),
                           .was_stored = ompjit__walk_was_stored,
                           .data = w};
    memset(&w->stored, 0, sizeof w->stored);
    memset(&w->called, 0, sizeof w->called);
    w->pointers.n = w->numbers.n = 0;
    w->pointers.anywhere = w->numbers.anywhere = w->stores_anywhere = false;
    if (!read_region(w, &frame))
        return;
    walk_region(w, &frame);
    uint32_t good = ~w->spoilt & all_entries(w);
    if (good)
        mark(w, good);
    tell(w, compiler, &frame);
}

/* ------------------------------------------------------------------ module */

/* Does the program use setjmp or the like? */
static bool jumps(LLVMModuleRef m)
{
    static const char name[] = "returns_twice";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        if (LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, kind))
            return true;
    return false;
}

static bool defines_main(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, "main");
    return f && !LLVMIsDeclaration(f);
}

void ompjit__host_share(ompjit__compiler *compiler, LLVMModuleRef m,
                        const ompjit__unit *unit)
{
    LLVMValueRef begin = LLVMGetNamedFunction(m, begins_data);
    ompjit__walk *w = begin ? calloc(1, sizeof *w) : NULL;
    if (!w)
        return;
    w->memos = malloc(MOST_MEMOS * sizeof *w->memos);
    w->unit = unit;
    w->layout = LLVMGetModuleDataLayout(m);
    w->tbaa = ompjit__tbaa_kind(m);
    w->whole = defines_main(m);
    w->points = ompjit__points_create(m, w->layout, w->whole);
    w->jumps = jumps(m);
    for (LLVMUseRef u = LLVMGetFirstUse(begin); u && w->memos;
         u = LLVMGetNextUse(u)) {
        w->begin = LLVMGetUser(u);
        if (ompjit__is_host_call(w->begin) &&
            LLVMGetCalledValue(w->begin) == begin)
            find_unseen(w, compiler);
    }
    ompjit__points_free(w->points);
    free(w->memos);
    free(w);
}
