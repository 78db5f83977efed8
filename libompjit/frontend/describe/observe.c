/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Can a kernel observe how many threads its teams have? One that cannot gets
 * the same results from one thread as from many, and the host device gives it
 * one. The answer is yes unless the IR shows that it is no; observe.def has
 * the facts about the runtime's functions.
 *
 * Code that each thread of a region runs is run as often as there are threads.
 * So a kernel observes its threads where such code has an effect outside of the
 * thread's own memory, asks for a thread's number or for their count, or waits
 * for what another thread stores. Iterations of a loop that the threads share,
 * and a block that one of them is chosen for, run once however many there are:
 * those may have effects, but may not depend on who runs them. They do where a
 * private variable brings a value from iteration to iteration.
 *
 * Requires the inner dialect, optimized or not.
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/describe/describe.h"
#include "frontend/describe/observe.h"

/* Does the function, run in that place, observe its threads? Below. */
static bool visit(struct ompjit__scan *scan, const struct ompjit__visit *v);

/* ---------------------------------------------------------------- memory */

/* An atomic update that the machine has no instruction for begins by loading
 * what a compare-and-exchange then expects. */
static bool begins_update(LLVMValueRef load)
{
    for (LLVMUseRef u = LLVMGetFirstUse(load); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef phi = LLVMGetUser(u);
        LLVMUseRef its = LLVMIsAPHINode(phi) ? LLVMGetFirstUse(phi) : NULL;
        for (; its; its = LLVMGetNextUse(its))
            if (LLVMIsAAtomicCmpXchgInst(LLVMGetUser(its)) &&
                LLVMGetOperand(LLVMGetUser(its), 1) == phi)
                return true;
    }
    return false;
}

/* Code that reads like this may wait for another thread. */
static bool may_wait(const struct ompjit__threads_body *b, LLVMValueRef load)
{
    LLVMValueRef from = LLVMGetOperand(load, 0);
    bool plain = LLVMGetOrdering(load) == LLVMAtomicOrderingNotAtomic &&
                 !LLVMGetVolatile(load);
    return !plain && !ompjit__is_thread_own(b, from) && !begins_update(load);
}

/* Does the function promise to write no memory? Then it makes no difference
 * how often it is called. */
static bool has_attribute_of_readers(LLVMValueRef f)
{
    /* llvm::MemoryEffects: of each kind of memory a bit for reads and one for
     * writes. */
    const uint64_t writes = UINT64_C(0xaaaaaaaaaaaaaaaa);
    LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMGetEnumAttributeKindForName("memory", 6));
    return a && !(LLVMGetEnumAttributeValue(a) & writes);
}

/* Has a call by each thread of a function that the module does not define an
 * effect outside of the thread? */
static bool foreign_has_effect(const struct ompjit__threads_body *b,
                               LLVMValueRef call, LLVMValueRef f)
{
    static const char *const harmless[] = {
        "llvm.assume",      "llvm.dbg.",        "llvm.experimental.noalias",
        "llvm.invariant.",  "llvm.launder.",    "llvm.lifetime.",
        "llvm.pseudoprobe", "llvm.sideeffect",  "llvm.stackrestore",
        "llvm.stacksave",   "llvm.trap",        "llvm.var.annotation",
        NULL};
    static const char *const heap[] = {"free", "malloc", NULL};
    static const char *const fill[] = {"llvm.memcpy.", "llvm.memmove.",
                                       "llvm.memset.", NULL};
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    if (ompjit__begins_with_any(name, fill))
        return !ompjit__is_thread_own(b, LLVMGetOperand(call, 0));
    return !ompjit__begins_with_any(name, harmless) &&
           !ompjit__has_name(f, heap) && !has_attribute_of_readers(f);
}

/* ----------------------------------------------------------------- calls */

/* The place of code that is called, or handed on, from where threads come as
 * `state` says. */
static enum ompjit__place place_behind(const struct ompjit__threads_body *b,
                                       unsigned char state)
{
    return state == OMPJIT__BY_MAIN  ? OMPJIT__IN_MAIN
           : state & OMPJIT__BY_EACH ? b->of.place
                                     : OMPJIT__IN_SHARED;
}

/* The functions among a call's arguments, run in `place`. */
static bool visit_arguments(struct ompjit__threads_body *b, LLVMValueRef call,
                            enum ompjit__place place)
{
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMValueRef v = LLVMGetOperand(call, i);
        const struct ompjit__visit argument = {v, place, 0, 0};
        if (LLVMIsAFunction(v) && !LLVMIsDeclaration(v) &&
            visit(b->scan, &argument))
            return true;
    }
    return false;
}

/* A region's first two parameters are its thread's own. A region that has one
 * thread, by its clauses, is run by the main thread, or by one of an SPMD
 * kernel's. One that another module defines may do anything. */
static bool observes_in_region(struct ompjit__threads_body *b,
                               LLVMValueRef call, unsigned char state)
{
    enum { CONDITION = 2, THREADS, FUNCTION = 5, OF_SPMD = 2, OWN = 3 };
    bool spmd = LLVMGetNumArgOperands(call) <= FUNCTION;
    LLVMValueRef f = LLVMGetOperand(call, spmd ? OF_SPMD : FUNCTION);
    bool one =
        !spmd && (ompjit__is_constant(LLVMGetOperand(call, CONDITION), 0) ||
                  ompjit__is_constant(LLVMGetOperand(call, THREADS), 1));
    enum ompjit__place place =
        b->of.place == OMPJIT__IN_REGION || b->of.place == OMPJIT__IN_NESTED
            ? OMPJIT__IN_NESTED
            : OMPJIT__IN_REGION;
    if (!(state & (OMPJIT__BY_EACH | OMPJIT__BY_MAIN)) ||
        (one && place == OMPJIT__IN_REGION))
        place = OMPJIT__IN_SHARED;
    const struct ompjit__visit region = {f, place, OWN, 0};
    return !LLVMIsAFunction(f) || LLVMIsDeclaration(f) ||
           visit(b->scan, &region);
}

/* The number of threads in a team, or their mask, passed to the runtime, or the
 * bound of turns, and no more. */
static bool is_only_width(LLVMValueRef v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        enum ompjit__call kind = ompjit__call_kind(user);
        bool passed = kind == OMPJIT__CALL_FREE || kind == OMPJIT__CALL_BODY ||
                      kind == OMPJIT__CALL_BEGIN || ompjit__limits_turns(user);
        if (!passed && !(LLVMIsACastInst(user) && is_only_width(user)))
            return false;
    }
    return true;
}

/* Does the call divide a loop, by v as the number of threads? As the number of
 * iterations, or in a chunk, v would be observed. */
static bool divides_by(LLVMValueRef call, LLVMValueRef v)
{
    enum { THREADS = 4 };
    if (ompjit__call_kind(call) != OMPJIT__CALL_BODY)
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
        if ((LLVMGetOperand(call, i) == v) != (i == THREADS))
            return false;
    return true;
}

/* flang asks how many threads a region has to pass that to the function that
 * divides its loop, which knows it. Any other use of the number observes. */
static bool is_loop_width(LLVMValueRef v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (!divides_by(user, v) &&
            !(LLVMIsACastInst(user) && is_loop_width(user)))
            return false;
    }
    return LLVMGetFirstUse(v);
}

/* Is the thread's number only compared with the turn of a critical section's
 * loop (critical_turns.c)? Every thread gets its turn then, however many there
 * are. */
static bool is_only_for_turns(LLVMValueRef number)
{
    LLVMUseRef u = LLVMGetFirstUse(number);
    while (u && ompjit__turn_limit(LLVMGetUser(u)))
        u = LLVMGetNextUse(u);
    return !u;
}

/* omp_get_thread_num is 0 for whoever runs alone: outside of regions, and in a
 * region inside another. There it tells nothing. In a region it may only say
 * who is the first thread (ompjit__is_only_compared). */
static bool observes_number(const struct ompjit__threads_body *b,
                            LLVMValueRef call, enum ompjit__call kind,
                            unsigned char state)
{
    enum { DEEP = 4 };
    enum ompjit__place place = b->of.place;
    bool outside = place == OMPJIT__IN_MAIN || place == OMPJIT__IN_SPMD ||
                   place == OMPJIT__IN_NESTED;
    if (kind == OMPJIT__CALL_NUMBER ? outside : is_only_for_turns(call))
        return false;
    return state != OMPJIT__BY_EACH || place == OMPJIT__IN_NESTED ||
           !ompjit__is_only_compared(call, DEEP);
}

/* A function that the call hands over runs where the caller is, the body of a
 * shared loop once for each iteration. A task that each thread makes is as many
 * tasks as there are threads. */
static bool observes_by_runtime(struct ompjit__threads_body *b,
                                LLVMValueRef call, enum ompjit__call kind,
                                unsigned char state)
{
    enum ompjit__place here = place_behind(b, state);
    switch (kind) {
    case OMPJIT__CALL_FORK: return observes_in_region(b, call, state);
    case OMPJIT__CALL_TASK:
        return state & OMPJIT__BY_EACH || visit_arguments(b, call, here);
    case OMPJIT__CALL_BODY:
        return visit_arguments(
            b, call, here == OMPJIT__IN_REGION ? OMPJIT__IN_SHARED : here);
    case OMPJIT__CALL_TEAM:
        return state != OMPJIT__BY_MAIN && !is_loop_width(call);
    case OMPJIT__CALL_NUMBER:
    case OMPJIT__CALL_HARDWARE: return observes_number(b, call, kind, state);
    case OMPJIT__CALL_WIDTH: return !is_only_width(call);
    case OMPJIT__CALL_FREE: return visit_arguments(b, call, here);
    case OMPJIT__CALL_OBSERVES: return true;
    default: /* the functions among the arguments are clang's own */
        return false;
    }
}

/* A call of a function that the module defines. */
static bool observes_in_callee(struct ompjit__threads_body *b,
                               LLVMValueRef call, unsigned char state)
{
    struct ompjit__visit callee = {LLVMGetCalledValue(call),
                                   place_behind(b, state), 0, 0};
    unsigned n = LLVMGetNumArgOperands(call);
    for (unsigned i = 0; i < n && i < 64; i++) {
        LLVMValueRef v = LLVMGetOperand(call, i);
        uint64_t bit = UINT64_C(1) << i;
        if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind)
            continue;
        callee.own |= ompjit__is_thread_own(b, v) ? bit : 0;
        callee.functions |= LLVMIsAFunction(v) ? bit : 0;
    }
    return visit_arguments(b, call, callee.place) || visit(b->scan, &callee);
}

/* A function's parameter may be called where each caller's argument was a
 * function that visit_arguments has looked at. Every other pointer may lead
 * anywhere. */
static bool observes_by_pointer(const struct ompjit__threads_body *b,
                                LLVMValueRef pointer)
{
    int param = ompjit__param_number(b->of.f, ompjit__held_value(pointer));
    return param < 0 || !(b->of.functions >> param & 1);
}

/* Registers of a GPU tell who a thread is, and its other instructions what
 * other threads do. */
static bool observes_by_call(struct ompjit__threads_body *b, LLVMValueRef call,
                             unsigned char state)
{
    LLVMValueRef f = LLVMGetCalledValue(call);
    size_t n;
    if (!LLVMIsAFunction(f))
        return observes_by_pointer(b, f);
    enum ompjit__call kind = ompjit__call_kind(call);
    if (kind != OMPJIT__CALL_FOREIGN)
        return observes_by_runtime(b, call, kind, state);
    if (!LLVMIsDeclaration(f))
        return observes_in_callee(b, call, state);
    if (!strncmp(LLVMGetValueName2(f, &n), "llvm.nvvm.", 10))
        return true;
    return state & OMPJIT__BY_EACH && foreign_has_effect(b, call, f);
}

/* Does an instruction that threads come to so have an effect that depends on
 * how many they are? Plain loads have none: what they read, another instruction
 * has stored. */
static bool observes_by(struct ompjit__threads_body *b, LLVMValueRef i,
                        unsigned char state)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMCall:
    case LLVMInvoke: return observes_by_call(b, i, state);
    case LLVMStore:
        return state & OMPJIT__BY_EACH &&
               !ompjit__is_thread_own(b, LLVMGetOperand(i, 1));
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return state & OMPJIT__BY_EACH &&
               !ompjit__is_thread_own(b, LLVMGetOperand(i, 0));
    case LLVMLoad: return state != OMPJIT__BY_MAIN && may_wait(b, i);
    case LLVMFence: return state != OMPJIT__BY_MAIN;
    case LLVMCallBr: return true;
    default: return false;
    }
}

/* ------------------------------------------------------------- functions */

/* The end of a loop is not known that goes on where the function returns. */
static bool is_left_open(const struct ompjit__threads_body *b, LLVMValueRef i,
                         unsigned char state)
{
    return LLVMIsAReturnInst(i) && b->of.place == OMPJIT__IN_REGION &&
           state & OMPJIT__BY_LOOP;
}

/* Blocks that nobody comes to, whose state is 0, do not count. Values that are
 * carried are only looked for where a loop is shared. */
static bool observes_anywhere(struct ompjit__threads_body *b)
{
    bool shares = false;
    for (unsigned k = 0; k < b->n; k++) {
        unsigned char state = b->blocks[k].state;
        LLVMValueRef i = LLVMGetFirstInstruction(b->blocks[k].block);
        for (; state && i; i = LLVMGetNextInstruction(i)) {
            if (observes_by(b, i, state) || is_left_open(b, i, state))
                return true;
            state = ompjit__threads_behind(b, i, state);
            shares |= state != OMPJIT__BY_EACH;
        }
    }
    return shares && b->of.place == OMPJIT__IN_REGION &&
           ompjit__carries_values(b);
}

/* Without memory the answer is yes. */
static bool observes_in(struct ompjit__scan *scan,
                        const struct ompjit__visit *v)
{
    struct ompjit__threads_body b = {.scan = scan, .of = *v};
    bool observes = !ompjit__threads_find(&b) || observes_anywhere(&b);
    ompjit__threads_free(&b);
    return observes;
}

static bool is_known(const struct ompjit__scan *scan,
                     const struct ompjit__visit *v)
{
    for (size_t i = 0; i < scan->n; i++) {
        const struct ompjit__visit *known = &scan->visited[i];
        if (known->f == v->f && known->place == v->place &&
            known->own == v->own && known->functions == v->functions)
            return true;
    }
    return false;
}

/* False: no memory. */
static bool note_visit(struct ompjit__scan *scan, const struct ompjit__visit *v)
{
    if (scan->n == scan->capacity) {
        size_t capacity = scan->capacity ? 2 * scan->capacity : 32;
        void *p = realloc(scan->visited, capacity * sizeof *v);
        if (!p)
            return false;
        scan->visited = p;
        scan->capacity = capacity;
    }
    scan->visited[scan->n++] = *v;
    return true;
}

/* Each function is looked at once for each place and each set of parameters
 * that are special. One that is being looked at counts as not observing: its
 * own look will tell. True as well: that goes too deep. */
static bool visit(struct ompjit__scan *scan, const struct ompjit__visit *v)
{
    enum { DEEP = 100 };
    if (is_known(scan, v))
        return false;
    if (scan->depth == DEEP || !note_visit(scan, v))
        return true;
    scan->depth++;
    bool observes = observes_in(scan, v);
    scan->depth--;
    return observes;
}

/* A bare kernel (ompx_bare) runs on whatever threads the launch has, without
 * the runtime, and counts as observing. */
bool ompjit__observes_threads(LLVMValueRef kernel, uint8_t mode)
{
    struct ompjit__scan scan = {0};
    const struct ompjit__visit v = {
        kernel, mode == OMPJIT_MODE_GENERIC ? OMPJIT__IN_MAIN : OMPJIT__IN_SPMD,
        0, 0};
    bool observes = mode == OMPJIT_MODE_BARE || visit(&scan, &v);
    free(scan.visited);
    return observes;
}
