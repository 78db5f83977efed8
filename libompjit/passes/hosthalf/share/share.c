/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds the data regions that may use the application's storage in `auto`
 * memory: the host half must show that the program cannot tell it from a copy.
 * The walk follows the host's code from where data is mapped to where that
 * mapping ends, through the functions that it calls, and keeps for each entry
 * how the two storages would differ:
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
 * An entry has a set of states: those that are possible. An access that breaks
 * a rule spoils the entry, and so does code that the walk does not understand.
 * Kernels are known by frontend/describe/writes.c. Accesses are told apart by
 * the objects that they lead to (place.h), and by their types as C has it
 * (strict aliasing).
 *
 * The states of x behind each line of a program, in which n never changes:
 *
 *   #pragma omp target enter data map(to: x[:n])    SAME
 *   #pragma omp target
 *   for (int i = 0; i < n; i++) x[i] *= 2;          DEVICE
 *   printf("%g\n", x[0]);                           spoilt: see below
 *   #pragma omp target update from(x[:n])           SAME
 *   x[0] = 1;                                       SAME, HOST
 *   #pragma omp target update to(x[:n])             SAME
 *   #pragma omp target exit data map(release: x[:n])  ENDED
 *
 * With a copy, printf shows the value from before the kernel; with one storage
 * it would show the kernel's. So x has to be copied. Without that line no
 * statement can tell, and the map type of `enter data` gets a mark, by which
 * mapping/borrow.c lends the device the application's own storage.
 *
 * A wrong "shared" changes a program's results, and a wrong "copied" costs
 * memory and time only. So each answer that is not certain ends in a copy, and
 * there is no way from spoilt back.
 *
 * The walk is in walk_flow.c, walk_functions.c and walk_calls.c; walk_access.c
 * and walk_kernels.c have what changes the states.
 *
 * Requires a host half as clang made it, of unoptimized code.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "passes/hosthalf/share/share.h"
#include "passes/hosthalf/share/walk_state.h"

/* ----------------------------------------------------------------- regions */

/* The type of the section's elements, as clang computes where it begins: for
 * x[a:n] with double *x, `getelementptr inbounds double, ptr %x, i64 %a`. NULL
 * if that is no scalar: then accesses of all types count. */
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

/* Does the entry map plain storage, with no flag but those of copying? A flag
 * such as ALWAYS, PTR_AND_OBJ, CLOSE or PRESENT, or a parent (MEMBER_OF), asks
 * for behaviour that the walk does not follow. */
static bool is_candidate(uint64_t type)
{
    return !(type & ~(uint64_t)(OMPJIT__MAP_TO | OMPJIT__MAP_FROM |
                                OMPJIT__MAP_IMPLICIT));
}

/* Describes the i-th entry of the region's arrays. `begin` is the place as the
 * region's own function sees it. `outer` is meant for its callers, where the
 * function's local variables do not exist any more: it is computed by the
 * arguments as far as that can be done. */
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

/* Reads the region that w->begin begins, and resets the walk for it. False:
 * none of its entries can be shared. That is so with use_device_ptr
 * (RETURN_PARAM), where the program is given device addresses; where the device
 * is chosen at run time, since the walk tells devices apart by their constant;
 * where the call is an invoke; and where several calls begin a region with the
 * same arrays, since a list of types belongs to one of them. */
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

/* Walks until a round finds no store and no call that it has not known before.
 * A comparison of places believes that nothing is stored on the way to them,
 * and a store that proves it wrong may come later in the walk:
 *
 *   #pragma omp target enter data map(to: p->x[:n])
 *   for (;;) {
 *       #pragma omp target update from(p->x[:n])   the entry, in round one
 *       p->x = y;                                  from now on it is not
 *   }
 *
 * Entries that an earlier round has spoilt stay so. The states and memos are
 * made anew in each round, since they rest on what was known then. */
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
        memset(w->thrown, 0, sizeof w->thrown);
        if (!ompjit__walk_function(w, frame, w->begin, &on))
            memset(&on, 0, sizeof on);
        ompjit__walk_outwards(w, frame, NULL, &on);
        w->learns = ompjit__walk_knowledge(w) != known;
    }
}

/* The call gets a list of types in which the entries are marked: a bit for each
 * in `good`. It is a new list, since clang gives the region's end the same one
 * as its begin. Only the begin decides where the storage is. In a program with
 * main the proof rests on main's being the only function that is called from
 * outside. The runtime ignores that mark once the application has asked for
 * another function of the module. */
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

/* Logs why entries are copied, if the context wants explanations: the first
 * reason of each, and the function in which it was found. */
static void tell(const ompjit__walk *w, ompjit__compiler *compiler,
                 const ompjit__frame *frame)
{
    size_t n;
    for (unsigned i = 0; compiler->explains && i < w->n; i++) {
        const char *why = w->why[i] ? w->why[i] : "it is not understood";
        LLVMValueRef at = w->why[i] ? w->where[i] : NULL;
        LLVMBasicBlockRef block = at ? LLVMGetInstructionParent(at) : NULL;
        const char *callee =
            why == ompjit__unknown_call && ompjit__is_host_call(at)
                ? ompjit__callee_name(at)
                : "";
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

/* Proves and marks for one call that begins a data region. It starts with
 * nothing from the regions before it: stores and calls that they have met may
 * not be on this one's way. */
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

/* One points-to analysis serves all regions. If it would be too much work,
 * w->points is NULL, and most accesses through pointers may be anywhere. */
void ompjit__host_share(ompjit__compiler *compiler, LLVMModuleRef m,
                        const ompjit__unit *unit,
                        enum ompjit__callers callers)
{
    LLVMValueRef begin = LLVMGetNamedFunction(m, ompjit__begins_data);
    ompjit__walk *w = begin ? calloc(1, sizeof *w) : NULL;
    if (!w)
        return;
    bool room = ompjit__walk_make_memos(w);
    w->unit = unit;
    w->layout = LLVMGetModuleDataLayout(m);
    w->tbaa = ompjit__tbaa_kind(m);
    w->whole = callers == OMPJIT__CALLERS_NONE;
    w->linked = callers == OMPJIT__CALLERS_OBJECTS;
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
