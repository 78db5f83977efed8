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
 *
 * What of these is possible is a set. What breaks a rule spoils the entry, and
 * so does what the walk does not understand. Kernels are known by
 * frontend/describe/writes.c. Accesses are told apart by what they are accesses
 * to (place.h), and by their types as C has it (strict aliasing).
 *
 * Requires a host half as clang made it, of unoptimized code.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/offload.h"
#include "passes/hosthalf/place.h"
#include "hosthalf/program_code.h"

enum { SAME = 1, DEVICE = 2, HOST = 4, ENDED = 8 };
enum { MOST_ENTRIES = 32, MOST_STORED = 128, DEEP = 12, MOST_STEPS = 100000 };

enum class { NOTHING, READS, WRITES, FREES, ANYTHING };

/* For each entry a set. */
typedef struct state {
    unsigned char of[MOST_ENTRIES];
} state;

/* Operands of __tgt_target_data_* from the left. */
enum { DEVICE_NUMBER = 1, COUNT, BASES, BEGINS, SIZES, TYPES, MAPPERS = 8 };

struct entry {
    ompjit__place begin;
    LLVMValueRef size;
    LLVMTypeRef element; /* of scalars; NULL: not known */
    uint64_t type;
};

/* One mapping call's arrays. */
struct maps {
    LLVMValueRef bases, begins, sizes, types;
    unsigned n;
};

struct walk {
    const ompjit__unit *unit;
    LLVMTargetDataRef layout;
    unsigned tbaa; /* the kind of metadata */
    LLVMValueRef begin, device;
    bool structured; /* its end has the same arrays */
    struct maps maps;
    struct entry entries[MOST_ENTRIES];
    unsigned n;
    uint32_t spoilt; /* a bit for each entry */
    bool learns;     /* something new of the rest: then it walks again */
    LLVMValueRef stored[MOST_STORED]; /* roots that are stored to */
    unsigned nstored;
    LLVMValueRef called[MOST_STORED]; /* calls that return a pointer, which is
                                         another one each time            */
    unsigned ncalled;
    bool stores_anywhere; /* and places that are not known */
    unsigned steps;
};

static bool is_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

static bool has_storage(uint64_t type)
{
    return !(type & (OMPJIT__MAP_LITERAL | OMPJIT__MAP_ATTACH |
                     OMPJIT__MAP_PRIVATE));
}

static void spoil(struct walk *w, unsigned i)
{
    w->spoilt |= UINT32_C(1) << i;
}

static void spoil_all(struct walk *w)
{
    w->spoilt = UINT32_MAX;
}

/* ------------------------------------------------------------------ places */

static bool was_stored(const void *data, LLVMValueRef root)
{
    const struct walk *w = data;
    for (unsigned i = 0; i < w->nstored; i++)
        if (w->stored[i] == root)
            return true;
    return false;
}

static void note_store(struct walk *w, const ompjit__place *p)
{
    if (!w->learns)
        return;
    if (!p->root || p->loads || LLVMIsAArgument(p->root))
        w->stores_anywhere = true;
    else if (!was_stored(w, p->root) && w->nstored < MOST_STORED)
        w->stored[w->nstored++] = p->root;
    else if (!was_stored(w, p->root))
        spoil_all(w);
}

static bool was_called(const struct walk *w, LLVMValueRef call)
{
    for (unsigned i = 0; i < w->ncalled; i++)
        if (w->called[i] == call)
            return true;
    return false;
}

static void note_call(struct walk *w, LLVMValueRef call)
{
    if (LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMPointerTypeKind ||
        was_called(w, call))
        return;
    if (w->ncalled == MOST_STORED)
        spoil_all(w);
    else
        w->called[w->ncalled++] = call;
}

/* Does the place lead to the same storage all the time? */
static bool is_stable(const struct walk *w, const ompjit__place *p)
{
    if (!p->root || was_called(w, p->root))
        return false;
    if (!p->loads)
        return true;
    if (was_stored(w, p->root))
        return false;
    return !w->stores_anywhere ||
           (p->loads == 1 && LLVMIsAAllocaInst(p->root) &&
            !ompjit__place_escapes(p->root));
}

/* Is one found in the other's storage, as far as pointers go? */
static bool same_object(const struct walk *w, const ompjit__place *p,
                        const ompjit__place *q)
{
    return is_stable(w, p) && is_stable(w, q) && p->root == q->root &&
           p->loads == q->loads &&
           !memcmp(p->at, q->at, p->loads * sizeof *p->at);
}

static bool same_place(const struct walk *w, const ompjit__place *p,
                       const ompjit__place *q)
{
    return same_object(w, p, q) && p->exact && q->exact &&
           p->at[p->loads] == q->at[q->loads];
}

static bool is_variable(const ompjit__place *p)
{
    return p->root && !p->loads &&
           (LLVMIsAAllocaInst(p->root) || LLVMIsAGlobalVariable(p->root));
}

/* Storage that is known by itself: variables, and what was just allocated. */
static bool is_object(const ompjit__place *p)
{
    return is_variable(p) ||
           (p->root && !p->loads && ompjit__place_is_fresh(p->root));
}

/* Can an unknown pointer, or a parameter's, not lead there? */
static bool is_hidden(const ompjit__place *object, const ompjit__place *p)
{
    bool parameter = p->root && !p->loads && LLVMIsAArgument(p->root);
    bool own = !LLVMIsAGlobalVariable(object->root);
    return own && (parameter || (LLVMIsAAllocaInst(object->root) &&
                                 !ompjit__place_escapes(object->root)));
}

/* A variable of a function that was called since the data was mapped. */
static bool is_younger(const struct walk *w, const ompjit__place *p)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(w->begin);
    return p->root && !p->loads && LLVMIsAAllocaInst(p->root) &&
           LLVMGetBasicBlockParent(LLVMGetInstructionParent(p->root)) !=
               LLVMGetBasicBlockParent(block);
}

static bool may_be_in(const struct walk *w, const ompjit__place *entry,
                      const ompjit__place *p)
{
    if (is_younger(w, p))
        return false;
    bool one = is_object(entry), other = is_object(p);
    if (one && other)
        return entry->root == p->root;
    if (one)
        return !is_hidden(entry, p);
    return !other || !is_hidden(p, entry);
}

/* ------------------------------------------------------------------- types */

/* True for accesses by type: those as char are not. */
static bool has_type(const struct walk *w, LLVMValueRef i)
{
    LLVMValueRef tag = LLVMGetMetadata(i, w->tbaa);
    unsigned n = tag ? (unsigned)LLVMGetMDNodeNumOperands(tag) : 0;
    LLVMValueRef operands[8], names[8];
    if (n < 3 || n > 8)
        return false;
    LLVMGetMDNodeOperands(tag, operands);
    if (!operands[1] || !LLVMIsAMDNode(operands[1]))
        return false;
    n = (unsigned)LLVMGetMDNodeNumOperands(operands[1]);
    if (!n || n > 8)
        return false;
    LLVMGetMDNodeOperands(operands[1], names);
    unsigned length = 0;
    const char *name =
        names[0] ? LLVMGetMDString(names[0], &length) : NULL;
    return name && !(length == 15 && !memcmp(name, "omnipotent char", 15));
}

static bool is_scalar(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind ||
           (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) > 8);
}

/* ---------------------------------------------------------------- accesses */

/* Where the mapping is not over. */
static void become(state *s, unsigned i, unsigned char now)
{
    unsigned char ended = s->of[i] & ENDED;
    s->of[i] = s->of[i] == ended ? ended : ended | now;
}

static void host_reads(struct walk *w, state *s, unsigned i)
{
    if (s->of[i] & DEVICE)
        spoil(w, i);
}

static void host_writes(struct walk *w, state *s, unsigned i)
{
    if (s->of[i] & DEVICE)
        spoil(w, i);
    if (s->of[i] & SAME)
        s->of[i] |= HOST;
}

static bool is_constant(const ompjit__place *p)
{
    return p->root && !p->loads && LLVMIsAGlobalVariable(p->root) &&
           LLVMIsGlobalConstant(p->root);
}

static void access(struct walk *w, state *s, const ompjit__place *p,
                   LLVMTypeRef type, bool writes)
{
    if (is_constant(p))
        return;
    if (writes)
        note_store(w, p);
    for (unsigned i = 0; i < w->n; i++) {
        const struct entry *e = &w->entries[i];
        if (!has_storage(e->type) ||
            (type && e->element && type != e->element) ||
            !may_be_in(w, &e->begin, p))
            continue;
        if (writes)
            host_writes(w, s, i);
        else
            host_reads(w, s, i);
    }
}

static void access_by(struct walk *w, const ompjit__frame *frame, state *s,
                      LLVMValueRef i)
{
    bool store = LLVMIsAStoreInst(i) != NULL;
    LLVMValueRef pointer = LLVMGetOperand(i, store);
    LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
    if (LLVMGetVolatile(i) ||
        LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic) {
        spoil_all(w);
        return;
    }
    ompjit__place p = ompjit__place_of(frame, pointer);
    bool scalar = is_scalar(type) ||
                  LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    access(w, s, &p, scalar && has_type(w, i) ? type : NULL, store);
}

/* ------------------------------------------------------------------- maps */

/* The place's variable, if it is the one that some pointer leads to. */
static LLVMValueRef array_of(LLVMValueRef pointer)
{
    while (LLVMIsAGetElementPtrInst(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    return LLVMIsAAllocaInst(pointer) ? pointer : NULL;
}

static bool read_maps(LLVMValueRef call, struct maps *m)
{
    LLVMValueRef n = LLVMGetOperand(call, COUNT);
    m->bases = array_of(LLVMGetOperand(call, BASES));
    m->begins = array_of(LLVMGetOperand(call, BEGINS));
    m->sizes = LLVMGetOperand(call, SIZES);
    m->types = LLVMGetOperand(call, TYPES);
    if (!LLVMIsAConstantInt(n) || LLVMConstIntGetZExtValue(n) > MOST_ENTRIES)
        return false;
    m->n = (unsigned)LLVMConstIntGetZExtValue(n);
    return m->bases && m->begins && LLVMIsAGlobalVariable(m->types) &&
           LLVMIsNull(LLVMGetOperand(call, MAPPERS));
}

/* What a kernel is launched with, by the block of its arguments. */
static bool read_kernel_maps(const struct walk *w, LLVMValueRef call,
                             struct maps *m)
{
    enum { BLOCK = 5, N_AT = 4, BASES_AT = 8, BEGINS_AT = 16, SIZES_AT = 24,
           TYPES_AT = 32, MAPPERS_AT = 48 };
    int64_t at;
    LLVMValueRef block =
        ompjit__variable_at(w->layout, LLVMGetOperand(call, BLOCK), &at);
    static const int64_t offsets[] = {N_AT,     BASES_AT, BEGINS_AT,
                                      SIZES_AT, TYPES_AT, MAPPERS_AT};
    LLVMValueRef part[6];
    for (int i = 0; i < 6; i++) {
        part[i] =
            block ? ompjit__stored_at(w->layout, block, offsets[i]) : NULL;
        if (!part[i])
            return false;
    }
    if (!LLVMIsAConstantInt(part[0]) || !LLVMIsNull(part[5]))
        return false;
    m->n = (unsigned)LLVMConstIntGetZExtValue(part[0]);
    m->bases = array_of(part[1]);
    m->begins = array_of(part[2]);
    m->sizes = part[3];
    m->types = part[4];
    return !m->n ||
           (m->bases && m->begins && LLVMIsAGlobalVariable(m->types));
}

static uint64_t type_of(const struct maps *m, unsigned i)
{
    LLVMValueRef all = LLVMGetInitializer(m->types);
    LLVMValueRef v = all ? LLVMGetAggregateElement(all, i) : NULL;
    return v && LLVMIsAConstantInt(v) ? LLVMConstIntGetZExtValue(v)
                                      : OMPJIT__MAP_ALWAYS;
}

static LLVMValueRef pointer_at(const struct walk *w, LLVMValueRef array,
                               unsigned i)
{
    enum { POINTER = 8 };
    return ompjit__stored_at(w->layout, array, (int64_t)i * POINTER);
}

static ompjit__place place_at(const struct walk *w, const ompjit__frame *frame,
                              LLVMValueRef array, unsigned i)
{
    LLVMValueRef v = pointer_at(w, array, i);
    return v ? ompjit__place_of(frame, v) : (ompjit__place){0};
}

/* NULL: not known. */
static LLVMValueRef size_at(const struct walk *w, const struct maps *m,
                            unsigned i)
{
    enum { SIZE = 8 };
    if (LLVMIsAGlobalVariable(m->sizes))
        return LLVMGetAggregateElement(LLVMGetInitializer(m->sizes), i);
    LLVMValueRef array = array_of(m->sizes);
    return array ? ompjit__stored_at(w->layout, array, (int64_t)i * SIZE)
                 : NULL;
}

/* The same by how it is computed, of variables that are stored once. */
static bool same_number(LLVMValueRef a, LLVMValueRef b, unsigned depth)
{
    a = a ? ompjit__place_original(a) : NULL;
    b = b ? ompjit__place_original(b) : NULL;
    if (!a || !b || a == b)
        return a && a == b;
    if (!depth || !LLVMIsAInstruction(a) || !LLVMIsAInstruction(b) ||
        LLVMGetInstructionOpcode(a) != LLVMGetInstructionOpcode(b) ||
        LLVMTypeOf(a) != LLVMTypeOf(b) ||
        !(LLVMIsABinaryOperator(a) || LLVMIsACastInst(a)))
        return false;
    for (int i = 0; i < LLVMGetNumOperands(a); i++)
        if (!same_number(LLVMGetOperand(a, (unsigned)i),
                         LLVMGetOperand(b, (unsigned)i), depth - 1))
            return false;
    return true;
}

/* Where the mapped storage is; a strided section's entry has a descriptor in
 * place of its begin. */
static ompjit__place mapped_place(const struct walk *w,
                                  const ompjit__frame *frame,
                                  const struct maps *m, unsigned k)
{
    if (type_of(m, k) & OMPJIT__MAP_NON_CONTIG) {
        ompjit__place p = place_at(w, frame, m->bases, k);
        p.exact = false;
        return p;
    }
    return place_at(w, frame, m->begins, k);
}

/* Entries that a mapping construct may mean by its k-th: that one where it is
 * one's begin, since no two of them overlap, else all where it may lie. */
static uint32_t meant(const struct walk *w, const ompjit__place *p)
{
    uint32_t all = 0;
    for (unsigned i = 0; i < w->n; i++) {
        if (!has_storage(w->entries[i].type))
            continue;
        if (same_place(w, &w->entries[i].begin, p))
            return UINT32_C(1) << i;
        all |= (uint32_t)may_be_in(w, &w->entries[i].begin, p) << i;
    }
    return all;
}

/* Is it that one entry for certain? */
static bool is_one(const struct walk *w, const ompjit__place *p, uint32_t all)
{
    return all && same_place(w, &w->entries[__builtin_ctz(all)].begin, p);
}

static bool is_whole(const struct walk *w, const struct maps *m, unsigned k,
                     const ompjit__place *p, unsigned i)
{
    return !(type_of(m, k) & OMPJIT__MAP_NON_CONTIG) &&
           same_place(w, &w->entries[i].begin, p) &&
           same_number(w->entries[i].size, size_at(w, m, k), DEEP);
}

/* A pointer that may lie in an entry's storage is attached: device addresses
 * are written there. */
static void attach(struct walk *w, const ompjit__frame *frame,
                   const struct maps *m, unsigned k)
{
    ompjit__place p = place_at(w, frame, m->bases, k);
    for (unsigned i = 0; i < w->n; i++)
        if (!w->entries[i].element && may_be_in(w, &w->entries[i].begin, &p))
            spoil(w, i);
}

/* ----------------------------------------------------------------- updates */

static void update(struct walk *w, const ompjit__frame *frame, state *s,
                   const struct maps *m, unsigned k)
{
    uint64_t type = type_of(m, k);
    ompjit__place p = mapped_place(w, frame, m, k);
    uint32_t all = meant(w, &p);
    for (unsigned i = 0; i < w->n; i++) {
        if (!(all >> i & 1))
            continue;
        if (s->of[i] & (type & OMPJIT__MAP_TO ? DEVICE : 0) ||
            s->of[i] & (type & OMPJIT__MAP_FROM ? HOST : 0))
            spoil(w, i);
        if (is_whole(w, m, k, &p, i))
            become(s, i, SAME);
    }
}

/* ----------------------------------------------------------------- kernels */

static const ompjit__kernel_desc *kernel_of(const struct walk *w,
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

static void kernel_writes(struct walk *w, state *s, uint32_t all)
{
    for (unsigned i = 0; i < w->n; i++)
        if (all >> i & 1)
            become(s, i, DEVICE);
}

/* What new storage brings back to the host is stored there. */
static void comes_back(struct walk *w, const ompjit__frame *frame,
                       const struct maps *m, unsigned k, bool written)
{
    ompjit__place p = mapped_place(w, frame, m, k);
    uint32_t all = meant(w, &p);
    if (type_of(m, k) & OMPJIT__MAP_FROM && written && !is_one(w, &p, all))
        note_store(w, &p);
}

static void launch(struct walk *w, const ompjit__frame *frame, state *s,
                   LLVMValueRef call)
{
    struct maps m;
    const ompjit__kernel_desc *k = kernel_of(w, call);
    if (!read_kernel_maps(w, call, &m)) {
        spoil_all(w);
        return;
    }
    for (unsigned i = 0; i < w->n; i++)
        if (s->of[i] & HOST)
            spoil(w, i);
    if (!k || k->writes_loaded)
        kernel_writes(w, s, UINT32_MAX);
    uint64_t written[MOST_ENTRIES] = {0};
    unsigned param = 0;
    for (unsigned i = 0; i < m.n; i++) {
        uint64_t type = type_of(&m, i);
        bool is_param = type & OMPJIT__MAP_TARGET_PARAM;
        int parent = ompjit__map_parent(type);
        bool writes = !k || (is_param && (param >= 64 ||
                                          k->written >> param & 1)) ||
                      (!is_param && k->writes_loaded) ||
                      (parent >= 0 && parent < (int)i && parent < MOST_ENTRIES &&
                       written[parent]);
        if (i < MOST_ENTRIES)
            written[i] = writes;
        param += is_param;
        if (type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ))
            attach(w, frame, &m, i);
        if (!has_storage(type))
            continue;
        ompjit__place p = mapped_place(w, frame, &m, i);
        if (writes)
            kernel_writes(w, s, meant(w, &p));
        if (type & OMPJIT__MAP_ALWAYS)
            w->spoilt |= meant(w, &p);
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
    LLVMValueRef bases = array_of(LLVMGetOperand(call, BASES)), found = NULL;
    LLVMBasicBlockRef block = LLVMGetInstructionParent(call);
    LLVMValueRef f = LLVMGetBasicBlockParent(block);
    for (block = LLVMGetFirstBasicBlock(f); bases && block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i)) {
            if (!is_call(i) || !is_named(i, name) ||
                array_of(LLVMGetOperand(i, BASES)) != bases)
                continue;
            if (found)
                return NULL;
            found = i;
        }
    return found;
}

static void end_entry(struct walk *w, state *s, unsigned i, uint64_t type)
{
    int wrong = type & OMPJIT__MAP_FROM ? HOST : DEVICE;
    if (s->of[i] & wrong)
        spoil(w, i);
    s->of[i] = ENDED;
}

static const char begins_data[] = "__tgt_target_data_begin_mapper";
static const char ends_data[] = "__tgt_target_data_end_mapper";

/* Another data region that begins or ends. What is mapped already it only
 * counts; then it must give that back. */
static void other_region(struct walk *w, const ompjit__frame *frame, state *s,
                         LLVMValueRef call, bool ends)
{
    const uint64_t tells = OMPJIT__MAP_RETURN_PARAM | OMPJIT__MAP_ALWAYS |
                           OMPJIT__MAP_DELETE;
    struct maps m;
    if (!read_maps(call, &m)) {
        spoil_all(w);
        return;
    }
    bool counts = !partner(call, ends ? begins_data : ends_data);
    for (unsigned k = 0; k < m.n; k++) {
        uint64_t type = type_of(&m, k);
        if (type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ) && !ends)
            attach(w, frame, &m, k);
        if (!has_storage(type))
            continue;
        ompjit__place p = mapped_place(w, frame, &m, k);
        uint32_t all = meant(w, &p);
        if (ends && counts && is_one(w, &p, all) && !w->structured)
            end_entry(w, s, (unsigned)__builtin_ctz(all), type);
        else if (counts || type & tells)
            w->spoilt |= all;
        if (ends)
            comes_back(w, frame, &m, k, true);
    }
}

static void end_region(struct walk *w, state *s)
{
    for (unsigned i = 0; i < w->n; i++)
        end_entry(w, s, i, w->entries[i].type);
}

/* ------------------------------------------------------------------- calls */

static enum class class_of(const char *name)
{
    static const struct {
        const char *pattern;
        enum class class;
    } rows[] = {
#define CALL(pattern, class) {pattern, class},
#include "passes/hosthalf/host_calls.def"
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        size_t n = strlen(rows[i].pattern) - 1;
        if (rows[i].pattern[n] == '*' ? !strncmp(name, rows[i].pattern, n)
                                      : !strcmp(name, rows[i].pattern))
            return rows[i].class;
    }
    return ANYTHING;
}

static void free_storage(struct walk *w, const ompjit__place *p)
{
    for (unsigned i = 0; i < w->n; i++)
        if (may_be_in(w, &w->entries[i].begin, p))
            spoil(w, i);
}

static void foreign_call(struct walk *w, const ompjit__frame *frame, state *s,
                         LLVMValueRef call)
{
    enum class class = class_of(ompjit__callee_name(call));
    bool is_copy = LLVMIsAMemIntrinsic(call) != NULL;
    if (class == ANYTHING)
        spoil_all(w);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMValueRef v = LLVMGetOperand(call, i);
        if (class == NOTHING ||
            LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind)
            continue;
        ompjit__place p = ompjit__place_of(frame, v);
        if (class == FREES)
            free_storage(w, &p);
        else
            access(w, s, &p, NULL, class == WRITES && !(is_copy && i));
    }
}

static bool walk_function(struct walk *w, const ompjit__frame *frame,
                          LLVMValueRef from, state *s);

static bool is_walked(const ompjit__frame *frame, LLVMValueRef f)
{
    for (; frame; frame = frame->caller)
        if (frame->f == f)
            return true;
    return false;
}

static bool enter_function(struct walk *w, const ompjit__frame *frame,
                           state *s, LLVMValueRef call, LLVMValueRef f)
{
    ompjit__frame inner = {.caller = frame, .f = f, .layout = frame->layout,
                           .depth = frame->depth + 1};
    unsigned n = LLVMGetNumArgOperands(call);
    if (inner.depth > DEEP || is_walked(frame, f) ||
        LLVMIsFunctionVarArg(LLVMGlobalGetValueType(f))) {
        spoil_all(w);
        return false;
    }
    for (unsigned i = 0; i < n && i < OMPJIT__PLACE_ARGS; i++)
        inner.args[i] = ompjit__place_of(frame, LLVMGetOperand(call, i));
    return walk_function(w, &inner, NULL, s);
}

static bool same_device(const struct walk *w, LLVMValueRef call)
{
    return LLVMGetNumArgOperands(call) > DEVICE_NUMBER &&
           LLVMGetOperand(call, DEVICE_NUMBER) == w->device;
}

/* False: nothing comes behind the call. */
static bool step_call(struct walk *w, const ompjit__frame *frame, state *s,
                      LLVMValueRef call)
{
    struct maps m;
    LLVMValueRef f = LLVMGetCalledValue(call);
    const char *name = ompjit__callee_name(call);
    bool runtime = !strncmp(name, "__tgt_", 6);
    note_call(w, call);
    if (runtime && !same_device(w, call)) {
        spoil_all(w);
    } else if (call == w->begin) {
        spoil_all(w); /* again, before its end */
    } else if (!strcmp(name, "__tgt_target_kernel")) {
        launch(w, frame, s, call);
    } else if (!strcmp(name, "__tgt_target_data_update_mapper")) {
        if (!read_maps(call, &m)) {
            spoil_all(w);
            return true;
        }
        for (unsigned k = 0; k < m.n; k++)
            if (has_storage(type_of(&m, k)))
                update(w, frame, s, &m, k);
    } else if (!strcmp(name, ends_data)) {
        if (w->structured && !frame->caller &&
            partner(call, begins_data) == w->begin) {
            end_region(w, s);
            return false;
        }
        other_region(w, frame, s, call, true);
    } else if (!strcmp(name, begins_data)) {
        other_region(w, frame, s, call, false);
    } else if (LLVMIsAFunction(f) && !LLVMIsDeclaration(f)) {
        return enter_function(w, frame, s, call, f);
    } else {
        foreign_call(w, frame, s, call);
    }
    return true;
}

/* -------------------------------------------------------------------- flow */

struct block {
    LLVMBasicBlockRef block;
    state in;
    bool reached, waits;
};

static bool step(struct walk *w, const ompjit__frame *frame, state *s,
                 LLVMValueRef i)
{
    if (++w->steps > MOST_STEPS || LLVMIsAAtomicRMWInst(i) ||
        LLVMIsAAtomicCmpXchgInst(i) || LLVMIsAFenceInst(i) ||
        LLVMIsAIndirectBrInst(i))
        spoil_all(w);
    if (w->spoilt == UINT32_MAX)
        return false;
    if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i))
        access_by(w, frame, s, i);
    return !is_call(i) || step_call(w, frame, s, i);
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
    state out;     /* where the function returns */
    bool returns;
};

static void flow_on(struct walk *w, struct flow *flow, LLVMValueRef end,
                    const state *s)
{
    if (LLVMIsAReturnInst(end)) {
        merge(&flow->out, s, w->n);
        flow->returns = true;
    }
    for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) {
        struct block *next =
            find_block(flow->blocks, flow->n, LLVMGetSuccessor(end, k));
        if (!next || (!k && ompjit__is_launch_failure(end)))
            continue;
        bool news = merge(&next->in, s, w->n);
        next->waits |= news || !next->reached;
        next->reached = true;
    }
}

static void run_from(struct walk *w, const ompjit__frame *frame,
                     struct flow *flow, LLVMValueRef i, state s)
{
    LLVMValueRef last = NULL;
    for (; i; last = i, i = LLVMGetNextInstruction(i))
        if (!step(w, frame, &s, i))
            return;
    if (last)
        flow_on(w, flow, last, &s);
}

static struct block *waiting(const struct flow *flow)
{
    for (unsigned i = 0; i < flow->n; i++)
        if (flow->blocks[i].waits)
            return &flow->blocks[i];
    return NULL;
}

/* From an instruction on, or (NULL) the whole function; false: it does not
 * return. */
static bool walk_function(struct walk *w, const ompjit__frame *frame,
                          LLVMValueRef from, state *s)
{
    struct flow flow = {.n = LLVMCountBasicBlocks(frame->f)};
    flow.blocks = calloc(flow.n, sizeof *flow.blocks);
    if (!flow.blocks) {
        spoil_all(w);
        return false;
    }
    LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(frame->f);
    for (unsigned i = 0; i < flow.n; i++, b = LLVMGetNextBasicBlock(b))
        flow.blocks[i].block = b;
    if (!from)
        from = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(frame->f));
    run_from(w, frame, &flow, from, *s);
    for (struct block *next; (next = waiting(&flow));) {
        next->waits = false;
        run_from(w, frame, &flow, LLVMGetFirstInstruction(next->block),
                 next->in);
    }
    free(flow.blocks);
    *s = flow.out;
    return flow.returns;
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
    return type && is_scalar(type) ? type : NULL;
}

static bool is_candidate(uint64_t type)
{
    return !(type & ~(uint64_t)(OMPJIT__MAP_TO | OMPJIT__MAP_FROM |
                                OMPJIT__MAP_IMPLICIT));
}

static bool read_region(struct walk *w, const ompjit__frame *frame)
{
    if (!read_maps(w->begin, &w->maps))
        return false;
    w->device = LLVMGetOperand(w->begin, DEVICE_NUMBER);
    w->structured = partner(w->begin, ends_data) != NULL;
    w->n = w->maps.n;
    w->spoilt = 0;
    for (unsigned i = 0; i < w->n; i++) {
        struct entry *e = &w->entries[i];
        LLVMValueRef begin = pointer_at(w, w->maps.begins, i);
        *e = (struct entry){.size = size_at(w, &w->maps, i),
                            .type = type_of(&w->maps, i)};
        if (e->type & OMPJIT__MAP_RETURN_PARAM)
            return false;
        if (begin)
            e->begin = ompjit__place_of(frame, begin);
        e->element = begin ? element_of(begin) : NULL;
        if (!begin || !e->begin.root || !is_candidate(e->type))
            spoil(w, i);
    }
    return LLVMIsACallInst(w->begin) && LLVMIsAConstantInt(w->device) &&
           partner(w->begin, begins_data);
}

static uint32_t all_entries(const struct walk *w)
{
    return w->n < 32 ? (UINT32_C(1) << w->n) - 1 : UINT32_MAX;
}

static void walk_region(struct walk *w, const ompjit__frame *frame)
{
    state s = {0};
    memset(s.of, SAME, w->n);
    w->steps = 0;
    if (!walk_function(w, frame, LLVMGetNextInstruction(w->begin), &s))
        return;
    for (unsigned i = 0; i < w->n; i++)
        if (s.of[i] != ENDED)
            spoil(w, i);
}

/* The call gets a list of types in which the entries are marked. */
static void mark(struct walk *w, uint32_t good)
{
    LLVMModuleRef m = LLVMGetGlobalParent(w->maps.types);
    LLVMTypeRef number = LLVMInt64TypeInContext(LLVMGetModuleContext(m));
    LLVMValueRef types[MOST_ENTRIES];
    for (unsigned i = 0; i < w->n; i++)
        types[i] = LLVMConstInt(
            number,
            w->entries[i].type | (good >> i & 1 ? OMPJIT__MAP_UNSEEN : 0), 0);
    LLVMValueRef g = LLVMAddGlobal(m, LLVMArrayType2(number, w->n),
                                   ".ompjit_maptypes");
    LLVMSetInitializer(g, LLVMConstArray2(number, types, w->n));
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetOperand(w->begin, TYPES, g);
}

static void find_unseen(struct walk *w)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(w->begin);
    ompjit__frame frame = {.f = LLVMGetBasicBlockParent(block),
                           .layout = w->layout,
                           .was_stored = was_stored,
                           .data = w};
    w->ncalled = w->nstored = w->steps = 0;
    w->stores_anywhere = false;
    if (!read_region(w, &frame))
        return;
    uint32_t at_first = w->spoilt;
    w->learns = true;
    while (w->learns) {
        unsigned known = w->nstored + w->ncalled + w->stores_anywhere;
        w->spoilt = at_first;
        walk_region(w, &frame);
        w->learns = w->nstored + w->ncalled + w->stores_anywhere != known;
    }
    uint32_t good = ~w->spoilt & all_entries(w);
    if (good)
        mark(w, good);
}

void ompjit__host_share(LLVMModuleRef m, const ompjit__unit *unit)
{
    static const char tbaa[] = "tbaa";
    LLVMValueRef begin = LLVMGetNamedFunction(m, begins_data);
    struct walk *w = begin ? calloc(1, sizeof *w) : NULL;
    if (!w)
        return;
    w->unit = unit;
    w->layout = LLVMGetModuleDataLayout(m);
    w->tbaa = LLVMGetMDKindIDInContext(LLVMGetModuleContext(m), tbaa,
                                       sizeof tbaa - 1);
    for (LLVMUseRef u = LLVMGetFirstUse(begin); u; u = LLVMGetNextUse(u)) {
        w->begin = LLVMGetUser(u);
        if (is_call(w->begin) && LLVMGetCalledValue(w->begin) == begin)
            find_unseen(w);
    }
    free(w);
}
