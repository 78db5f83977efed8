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
 * An entry has a set of states: those that are possible. An access that breaks a
 * rule spoils the entry, and so does code that the walk does not understand.
 * Kernels are known by frontend/describe/writes.c. Accesses are told apart by
 * the objects that they lead to (place.h), and by their types as C has it
 * (strict aliasing).
 *
 * The walk is in walk_flow.c, walk_functions.c and walk_calls.c; walk_access.c
 * and walk_kernels.c have what changes the states.
 *
 * Requires a host half as clang made it, of unoptimized code.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "passes/hosthalf/hosthalf.h"
#include "passes/hosthalf/walk_state.h"

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
    LLVMValueRef begin = ompjit__map_pointer_at(w->layout, w->maps.begins, i);
    ompjit__access a = ompjit__walk_access(frame, begin);
    ompjit__frame resolving = *frame;
    resolving.resolves = true;
    *e = (ompjit__mapped_at){.begin = a.place,
                             .outer =
                                 ompjit__walk_access(&resolving, begin).place,
                             .type = ompjit__map_type_at(&w->maps, i)};
    LLVMValueRef size = ompjit__map_size_at(w->layout, &w->maps, i);
    ompjit__walk_number(frame, size, &e->size);
    ompjit__walk_fixed_number(w, size, &e->fixed);
    if (w->points) {
        e->targets = ompjit__points_of(w->points, begin, &a.place);
        e->one = w->jumps ? 0 : ompjit__points_one(w->points, begin, &a.place);
    }
    e->element = begin ? element_of(begin) : NULL;
    if (!begin || !e->begin.root || !is_candidate(e->type))
        ompjit__walk_spoil(w, i, "a part of a structure, or not understood");
}

static bool read_region(ompjit__walk *w, const ompjit__frame *frame)
{
    if (!ompjit__read_maps(w->begin, &w->maps))
        return false;
    w->device = LLVMGetOperand(w->begin, OMPJIT__MAP_ARG_DEVICE_NUMBER);
    w->structured = ompjit__map_partner(w->begin, ompjit__ends_data) != NULL;
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
           ompjit__map_partner(w->begin, ompjit__begins_data);
}

static void walk_region(ompjit__walk *w, const ompjit__frame *frame)
{
    ompjit__state s = {0};
    memset(s.of, OMPJIT__SAME, w->n);
    w->steps = 0;
    w->learns = true;
    while (w->learns) {
        unsigned known = ompjit__walk_knowledge(w);
        ompjit__state on = s;
        ompjit__walk_forget(w);
        if (ompjit__walk_function(w, frame, w->begin, &on))
            ompjit__walk_outwards(w, frame, NULL, &on);
        w->learns = ompjit__walk_knowledge(w) != known;
    }
}

/* The call gets a list of types in which the entries are marked. */
static void mark(ompjit__walk *w, uint32_t good)
{
    LLVMModuleRef m = LLVMGetGlobalParent(w->maps.types);
    LLVMTypeRef number = LLVMInt64TypeInContext(LLVMGetModuleContext(m));
    uint64_t unseen =
        w->whole ? OMPJIT__MAP_UNSEEN_IN_MAIN : OMPJIT__MAP_UNSEEN;
    LLVMValueRef types[OMPJIT__WALK_ENTRIES];
    for (unsigned i = 0; i < w->n; i++)
        types[i] = LLVMConstInt(
            number, w->entries[i].type | (good >> i & 1 ? unseen : 0), 0);
    LLVMValueRef g =
        LLVMAddGlobal(m, LLVMArrayType2(number, w->n), ".ompjit_maptypes");
    LLVMSetInitializer(g, LLVMConstArray2(number, types, w->n));
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetOperand(w->begin, OMPJIT__MAP_ARG_TYPES, g);
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
        const char *callee =
            why == ompjit__unknown_call ? ompjit__callee_name(at) : "";
        if (ompjit__has_storage(w->entries[i].type) && w->spoilt >> i & 1)
            ompjit__report(
                compiler,
                "entry %u of the %u that %s maps is copied: "
                "%s%s%s (%s)",
                i + 1, w->n, LLVMGetValueName2(frame->f, &n), why,
                *callee ? ": " : "", callee,
                block ? LLVMGetValueName2(LLVMGetBasicBlockParent(block), &n)
                      : "?");
    }
}

static void find_unseen(ompjit__walk *w, ompjit__compiler *compiler)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(w->begin);
    ompjit__frame frame = {.f = LLVMGetBasicBlockParent(block),
                           .from = w->begin,
                           .layout = w->layout,
                           .is_given =
                               !w->points || ompjit__points_given(w->points),
                           .was_stored = ompjit__walk_was_stored,
                           .data = w};
    memset(&w->stored, 0, sizeof w->stored);
    memset(&w->called, 0, sizeof w->called);
    w->pointers.n = w->numbers.n = 0;
    w->pointers.anywhere = w->numbers.anywhere = w->stores_anywhere = false;
    if (!read_region(w, &frame))
        return;
    walk_region(w, &frame);
    uint32_t good = ~w->spoilt & ompjit__walk_all(w);
    if (good)
        mark(w, good);
    tell(w, compiler, &frame);
}

/* ------------------------------------------------------------------ module */

/* Does the program use setjmp or the like, or coroutines? Before LLVM splits a
 * coroutine, its body is one function. The walk would take the whole of it for
 * run where it is called first, though its rest runs where it is resumed. */
static bool jumps(LLVMModuleRef m)
{
    static const char name[] = "returns_twice", resumes[] = "llvm.coro.";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        size_t n;
        if (LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, kind) ||
            !strncmp(LLVMGetValueName2(f, &n), resumes, sizeof resumes - 1))
            return true;
    }
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
    LLVMValueRef begin = LLVMGetNamedFunction(m, ompjit__begins_data);
    ompjit__walk *w = begin ? calloc(1, sizeof *w) : NULL;
    if (!w)
        return;
    bool room = ompjit__walk_make_memos(w);
    w->unit = unit;
    w->layout = LLVMGetModuleDataLayout(m);
    w->tbaa = ompjit__tbaa_kind(m);
    w->whole = defines_main(m);
    w->points = ompjit__points_create(m, w->layout, w->whole);
    w->jumps = jumps(m);
    for (LLVMUseRef u = LLVMGetFirstUse(begin); u && room;
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
