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

#include <llvm-c/Core.h>

#include "frontend/describe/describe.h"

/* The threads that run a function. */
enum place {
    MAIN,   /* one thread, outside of regions                             */
    SPMD,   /* each thread of an SPMD kernel, outside of regions          */
    REGION, /* each thread of a parallel region                           */
    NESTED, /* each of those too, in a region inside that, of one thread  */
    SHARED  /* one of the threads: an iteration of a loop that they share */
};

/* The threads that come to an instruction, as a set: */
enum {
    EACH = 1,   /* each of them                                 */
    LOOP = 2,   /* one, for an iteration of a shared loop       */
    LAST = 4,   /* the one that had such a loop's last iteration */
    PICKED = 8, /* one that was picked                          */
    ALONE = 16  /* the main thread, outside of regions          */
};

/* The class that observe.def states; OBSERVES: of the runtime, without a row;
 * FOREIGN: not of the runtime. */
enum class {
    FREE, TEAM, NUMBER, HARDWARE, BEGIN, END, NEXT, CHOOSE, ELECT, BODY, FORK,
    TASK, WIDTH, OBSERVES, FOREIGN
};

/* A function, run in a place. A bit of a mask is for the parameter with its
 * number. */
struct visited {
    LLVMValueRef f;
    enum place place;
    uint64_t own;       /* point to memory of the thread's own   */
    uint64_t functions; /* are functions that have been looked at */
};

/* Functions that have been looked at, or are being; so many calls deep. */
struct scan {
    struct visited *visited;
    size_t n, capacity;
    unsigned depth;
};

struct block {
    LLVMBasicBlockRef block;
    unsigned char state; /* how threads come to it                 */
    bool turns;          /* it has calls that change how they are  */
    bool reached;        /* the mark of a search                   */
};

struct body {
    struct scan *scan;
    struct visited of;
    struct block *blocks; /* by address */
    unsigned n;
    unsigned *stack; /* of a search: has room for all blocks */
};

static bool visit(struct scan *scan, const struct visited *v);

/* ----------------------------------------------------------------- names */

static bool fits(const char *name, const char *pattern)
{
    size_t n = strlen(pattern) - 1;
    return pattern[n] == '*' ? !strncmp(name, pattern, n)
                             : !strcmp(name, pattern);
}

static bool begins_with_any(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (!strncmp(name, *prefixes, strlen(*prefixes)))
            return true;
    return false;
}

static enum class class_of(const char *name)
{
    static const char *const runtime[] = {
        "omp_",      "ompx_",   "__kmpc_",     "kmp_", "__tgt_",
        "llvm_omp_", "ompjit_", "__llvm_omp_", NULL};
    static const struct {
        const char *pattern;
        enum class class;
    } rows[] = {
#define OBSERVE(pattern, class) {pattern, class},
#include "frontend/describe/observe.def"
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        if (fits(name, rows[i].pattern))
            return rows[i].class;
    return begins_with_any(name, runtime) ? OBSERVES : FOREIGN;
}

static bool is_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

static enum class class_of_call(LLVMValueRef v)
{
    size_t n;
    LLVMValueRef f = is_call(v) ? LLVMGetCalledValue(v) : NULL;
    return f && LLVMIsAFunction(f) && LLVMIsDeclaration(f)
               ? class_of(LLVMGetValueName2(f, &n))
               : FOREIGN;
}

/* ---------------------------------------------------------------- values */

static bool is_number(LLVMValueRef v, int64_t number)
{
    return v && LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == number;
}

static bool is_opcode(LLVMValueRef v, LLVMOpcode code)
{
    return LLVMIsAInstruction(v)    ? LLVMGetInstructionOpcode(v) == code
           : LLVMIsAConstantExpr(v) ? LLVMGetConstOpcode(v) == code
                                    : false;
}

/* The object that the pointer is an address in. */
static LLVMValueRef base_of(LLVMValueRef pointer)
{
    while (is_opcode(pointer, LLVMGetElementPtr) ||
           is_opcode(pointer, LLVMBitCast) ||
           is_opcode(pointer, LLVMAddrSpaceCast))
        pointer = LLVMGetOperand(pointer, 0);
    return pointer;
}

/* The value that a variable always holds, where it is stored once, and loaded,
 * and has no other use; else NULL. Unoptimized code has such a variable for
 * each parameter. */
static LLVMValueRef held_by(LLVMValueRef variable)
{
    LLVMValueRef held = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user) || LLVMIsAIntrinsicInst(user))
            continue;
        if (held || !LLVMIsAStoreInst(user) ||
            LLVMGetOperand(user, 1) != variable)
            return NULL;
        held = LLVMGetOperand(user, 0);
    }
    return held;
}

/* The value that a load gets from such a variable; else v. */
static LLVMValueRef original(LLVMValueRef v)
{
    enum { MOST_STEPS = 8 };
    for (int i = 0; i < MOST_STEPS && LLVMIsALoadInst(v); i++) {
        LLVMValueRef from = base_of(LLVMGetOperand(v, 0));
        LLVMValueRef held = LLVMIsAAllocaInst(from) ? held_by(from) : NULL;
        if (!held)
            break;
        v = held;
    }
    return v;
}

static bool allocates(LLVMValueRef call)
{
    static const char *const names[] = {"__kmpc_alloc_shared", "malloc"};
    LLVMValueRef f = is_call(call) ? LLVMGetCalledValue(call) : NULL;
    size_t n;
    for (size_t i = 0; f && i < OMPJIT__COUNT(names); i++)
        if (LLVMIsAFunction(f) && !strcmp(LLVMGetValueName2(f, &n), names[i]))
            return true;
    return false;
}

/* The parameter's number; -1: v is none of f's, or one beyond the 64th. */
static int param_number(LLVMValueRef f, LLVMValueRef v)
{
    unsigned n = LLVMIsAArgument(v) ? LLVMCountParams(f) : 0;
    for (unsigned i = 0; i < n && i < 64; i++)
        if (LLVMGetParam(f, i) == v)
            return (int)i;
    return -1;
}

/* Is the pointer one into memory that each thread has for itself? */
static bool is_own(const struct body *b, LLVMValueRef pointer)
{
    LLVMValueRef base = base_of(original(base_of(pointer)));
    int param = param_number(b->of.f, base);
    return LLVMIsAAllocaInst(base) || allocates(base) ||
           (param >= 0 && b->of.own >> param & 1);
}

/* A value that nothing is done with but to compare it with 0, for branches. */
static bool is_only_compared(LLVMValueRef v, unsigned depth);

static bool is_comparison_for_branches(LLVMValueRef compare, LLVMValueRef v)
{
    if (!LLVMIsAICmpInst(compare) || LLVMGetOperand(compare, 0) != v ||
        !is_number(LLVMGetOperand(compare, 1), 0))
        return false;
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(compare);
    for (LLVMUseRef u = LLVMGetFirstUse(compare); u; u = LLVMGetNextUse(u))
        if (!LLVMIsABranchInst(LLVMGetUser(u)))
            return false;
    return predicate == LLVMIntEQ || predicate == LLVMIntNE;
}

static bool loads_are_only_compared(LLVMValueRef variable, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u))
        if (LLVMIsALoadInst(LLVMGetUser(u)) &&
            !is_only_compared(LLVMGetUser(u), depth))
            return false;
    return true;
}

static bool is_only_compared(LLVMValueRef v, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (is_comparison_for_branches(user, v))
            continue;
        LLVMValueRef to = LLVMIsAStoreInst(user) ? LLVMGetOperand(user, 1) : v;
        if (!depth || !LLVMIsAAllocaInst(to) || held_by(to) != v ||
            !loads_are_only_compared(to, depth - 1))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- guards */

/* A branch on whether a value is 0, and the threads that go each way. */
struct guard {
    unsigned char zero, other; /* how threads go on; 0: as they came */
};

/* The thread's part of a shared loop is in variables that the runtime fills. */
static bool is_loop_variable(LLVMValueRef variable)
{
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        enum class class = class_of_call(LLVMGetUser(u));
        if (class == BEGIN || class == NEXT)
            return true;
    }
    return false;
}

/* Is it the one that tells who has the last iteration? */
static bool tells_last(LLVMValueRef variable)
{
    enum { BEGIN_LAST = 3, NEXT_LAST = 2 }; /* among the calls' arguments */
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        enum class class = class_of_call(call);
        if ((class == BEGIN && LLVMGetOperand(call, BEGIN_LAST) == variable) ||
            (class == NEXT && LLVMGetOperand(call, NEXT_LAST) == variable))
            return true;
    }
    return false;
}

/* Masked may choose another thread than the first. */
static bool chooses_first(LLVMValueRef call)
{
    enum { FILTER = 2 };
    return LLVMGetNumArgOperands(call) != FILTER + 1 ||
           is_number(LLVMGetOperand(call, FILTER), 0);
}

static struct guard guard_in_region(LLVMValueRef v)
{
    switch (class_of_call(v)) {
    case CHOOSE:
        return (struct guard){.other = chooses_first(v) ? PICKED : 0};
    case NUMBER:
        return (struct guard){.zero = PICKED};
    case NEXT:
        return (struct guard){.zero = EACH, .other = LOOP};
    default:
        return (struct guard){
            .other = LLVMIsALoadInst(v) &&
                             tells_last(base_of(LLVMGetOperand(v, 0)))
                         ? LAST
                         : 0};
    }
}

static struct guard guard_of(const struct body *b, LLVMValueRef v)
{
    v = original(v);
    switch (class_of_call(v)) {
    case ELECT:
        return (struct guard){.other = PICKED};
    case HARDWARE:
        return (struct guard){.zero = PICKED};
    default:
        return b->of.place == REGION ? guard_in_region(v) : (struct guard){0};
    }
}

/* How threads go on from a block to its successor i when they come to its end
 * as `state` says. Comparisons with 1 are of what is 0 or 1. */
static unsigned char state_behind(const struct body *b, LLVMValueRef branch,
                                  unsigned i, unsigned char state)
{
    LLVMValueRef compare = LLVMIsABranchInst(branch) &&
                                   LLVMIsConditional(branch)
                               ? LLVMGetCondition(branch)
                               : NULL;
    if (!(state & EACH) || !compare || !LLVMIsAICmpInst(compare))
        return state;
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(compare);
    bool zero = is_number(LLVMGetOperand(compare, 1), 0);
    if ((!zero && !is_number(LLVMGetOperand(compare, 1), 1)) ||
        (predicate != LLVMIntEQ && predicate != LLVMIntNE))
        return state;
    struct guard guard = guard_of(b, LLVMGetOperand(compare, 0));
    bool equal = (predicate == LLVMIntEQ) == (i == 0);
    unsigned char next = equal == zero ? guard.zero : guard.other;
    return next ? next : state;
}

/* ------------------------------------------------------------------ flow */

static bool turns(const struct body *b, LLVMValueRef i)
{
    enum class class = class_of_call(i);
    return b->of.place == REGION && (class == BEGIN || class == END);
}

/* How threads are behind an instruction. */
static unsigned char step(const struct body *b, LLVMValueRef i,
                          unsigned char state)
{
    if (!turns(b, i))
        return state;
    return class_of_call(i) == BEGIN ? LOOP : EACH;
}

/* How threads come to an instruction of the block; NULL: to its end. */
static unsigned char state_at(const struct body *b, const struct block *block,
                              LLVMValueRef at)
{
    unsigned char state = block->state;
    if (!block->turns)
        return state;
    LLVMValueRef i = LLVMGetFirstInstruction(block->block);
    for (; i && i != at; i = LLVMGetNextInstruction(i))
        state = step(b, i, state);
    return state;
}

static int compare_blocks(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct block *)a)->block;
    uintptr_t y = (uintptr_t)((const struct block *)b)->block;
    return x < y ? -1 : x > y;
}

static struct block *find_block(const struct body *b, LLVMBasicBlockRef block)
{
    struct block key = {.block = block};
    return bsearch(&key, b->blocks, b->n, sizeof key, compare_blocks);
}

/* Hands a block's state on to its successors, and those that it is news to to
 * the stack. */
static unsigned flow_on(struct body *b, const struct block *from, unsigned top)
{
    unsigned char state = state_at(b, from, NULL);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(from->block);
    for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) {
        struct block *next = find_block(b, LLVMGetSuccessor(end, k));
        unsigned char with = next->state | state_behind(b, end, k, state);
        if (with == next->state)
            continue;
        next->state = with;
        if (!next->reached)
            b->stack[top++] = (unsigned)(next - b->blocks);
        next->reached = true;
    }
    return top;
}

/* A forward analysis to a fixed point: a block's state is the union of those
 * that its predecessors hand on, so it only grows. */
static void flow(struct body *b)
{
    static const unsigned char first[] = {[MAIN] = ALONE,
                                          [SPMD] = EACH,
                                          [REGION] = EACH,
                                          [NESTED] = EACH,
                                          [SHARED] = LOOP};
    struct block *entry = find_block(b, LLVMGetEntryBasicBlock(b->of.f));
    entry->state = first[b->of.place];
    entry->reached = true;
    b->stack[0] = (unsigned)(entry - b->blocks);
    for (unsigned top = 1; top;) {
        struct block *block = &b->blocks[b->stack[--top]];
        block->reached = false;
        top = flow_on(b, block, top);
    }
}

/* Marks the blocks that threads can come to from one. */
static void reach(struct body *b, const struct block *from)
{
    unsigned top = 0;
    for (unsigned k = 0; k < b->n; k++)
        b->blocks[k].reached = false;
    for (;;) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(from->block);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) {
            struct block *next = find_block(b, LLVMGetSuccessor(end, k));
            if (!next->reached)
                b->stack[top++] = (unsigned)(next - b->blocks);
            next->reached = true;
        }
        if (!top)
            break;
        from = &b->blocks[b->stack[--top]];
    }
}

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
static bool may_wait(const struct body *b, LLVMValueRef load)
{
    LLVMValueRef from = LLVMGetOperand(load, 0);
    bool plain = LLVMGetOrdering(load) == LLVMAtomicOrderingNotAtomic &&
                 !LLVMGetVolatile(load);
    return !plain && !is_own(b, from) && !begins_update(load);
}

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
static bool foreign_has_effect(const struct body *b, LLVMValueRef call,
                               LLVMValueRef f)
{
    static const char *const harmless[] = {
        "llvm.assume", "llvm.dbg.", "llvm.experimental.noalias",
        "llvm.invariant.", "llvm.launder.", "llvm.lifetime.",
        "llvm.pseudoprobe", "llvm.sideeffect", "llvm.stackrestore",
        "llvm.stacksave", "llvm.trap", "llvm.var.annotation", "free",
        "malloc", NULL};
    static const char *const fill[] = {"llvm.memcpy.", "llvm.memmove.",
                                       "llvm.memset.", NULL};
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    if (begins_with_any(name, fill))
        return !is_own(b, LLVMGetOperand(call, 0));
    return !begins_with_any(name, harmless) && !has_attribute_of_readers(f);
}

/* ----------------------------------------------------------------- calls */

/* The state of code that is called, or handed on, from where threads come as
 * `state` says. */
static enum place place_behind(const struct body *b, unsigned char state)
{
    return state == ALONE  ? MAIN
           : state & EACH ? b->of.place
                          : SHARED;
}

/* The functions among a call's arguments, run in `place`. */
static bool visit_arguments(struct body *b, LLVMValueRef call,
                            enum place place)
{
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMValueRef v = LLVMGetOperand(call, i);
        const struct visited argument = {v, place, 0, 0};
        if (LLVMIsAFunction(v) && !LLVMIsDeclaration(v) &&
            visit(b->scan, &argument))
            return true;
    }
    return false;
}

/* A region's first two parameters are its thread's own. A region that has one
 * thread, by its clauses, is run by the main thread, or by one of an SPMD
 * kernel's. */
static bool observes_in_region(struct body *b, LLVMValueRef call,
                               unsigned char state)
{
    enum { CONDITION = 2, THREADS, FUNCTION = 5, OF_SPMD = 2, OWN = 3 };
    bool spmd = LLVMGetNumArgOperands(call) <= FUNCTION;
    LLVMValueRef f = LLVMGetOperand(call, spmd ? OF_SPMD : FUNCTION);
    bool one = !spmd && (is_number(LLVMGetOperand(call, CONDITION), 0) ||
                         is_number(LLVMGetOperand(call, THREADS), 1));
    enum place place = b->of.place == REGION || b->of.place == NESTED ? NESTED
                                                                : REGION;
    if (!(state & (EACH | ALONE)) || (one && place == REGION))
        place = SHARED;
    const struct visited region = {f, place, OWN, 0};
    return !LLVMIsAFunction(f) || visit(b->scan, &region);
}

/* The number of threads in a team, or their mask, passed to the runtime, or the
 * bound of turns, and no more. */
static bool is_only_width(LLVMValueRef v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        enum class class = class_of_call(user);
        bool passed = class == FREE || class == BODY || class == BEGIN ||
                      ompjit__limits_turns(user);
        if (!passed && !(LLVMIsACastInst(user) && is_only_width(user)))
            return false;
    }
    return true;
}

static bool is_only_for_turns(LLVMValueRef number)
{
    LLVMUseRef u = LLVMGetFirstUse(number);
    while (u && ompjit__turn_limit(LLVMGetUser(u)))
        u = LLVMGetNextUse(u);
    return !u;
}

static bool observes_number(const struct body *b, LLVMValueRef call,
                            enum class class, unsigned char state)
{
    enum { DEEP = 4 };
    enum place place = b->of.place;
    bool outside = place == MAIN || place == SPMD || place == NESTED;
    if (class == NUMBER ? outside : is_only_for_turns(call))
        return false;
    return state != EACH || place == NESTED || !is_only_compared(call, DEEP);
}

static bool observes_by_runtime(struct body *b, LLVMValueRef call,
                                enum class class, unsigned char state)
{
    enum place here = place_behind(b, state);
    switch (class) {
    case FORK:
        return observes_in_region(b, call, state);
    case TASK:
        return state & EACH || visit_arguments(b, call, here);
    case BODY:
        return visit_arguments(b, call, here == REGION ? SHARED : here);
    case TEAM:
        return state != ALONE;
    case NUMBER:
    case HARDWARE:
        return observes_number(b, call, class, state);
    case WIDTH:
        return !is_only_width(call);
    case FREE:
        return visit_arguments(b, call, here);
    case OBSERVES:
        return true;
    default: /* the functions among the arguments are clang's own */
        return false;
    }
}

/* A call of a function that the module defines. */
static bool observes_in_callee(struct body *b, LLVMValueRef call,
                               unsigned char state)
{
    struct visited callee = {LLVMGetCalledValue(call), place_behind(b, state),
                             0, 0};
    unsigned n = LLVMGetNumArgOperands(call);
    for (unsigned i = 0; i < n && i < 64; i++) {
        LLVMValueRef v = LLVMGetOperand(call, i);
        uint64_t bit = UINT64_C(1) << i;
        if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind)
            continue;
        callee.own |= is_own(b, v) ? bit : 0;
        callee.functions |= LLVMIsAFunction(v) ? bit : 0;
    }
    return visit_arguments(b, call, callee.place) || visit(b->scan, &callee);
}

static bool observes_by_pointer(const struct body *b, LLVMValueRef pointer)
{
    int param = param_number(b->of.f, original(pointer));
    return param < 0 || !(b->of.functions >> param & 1);
}

/* Registers of a GPU tell who a thread is, and its other instructions what
 * other threads do. */
static bool observes_by_call(struct body *b, LLVMValueRef call,
                             unsigned char state)
{
    LLVMValueRef f = LLVMGetCalledValue(call);
    size_t n;
    if (!LLVMIsAFunction(f))
        return observes_by_pointer(b, f);
    enum class class = class_of_call(call);
    if (class != FOREIGN)
        return observes_by_runtime(b, call, class, state);
    if (!LLVMIsDeclaration(f))
        return observes_in_callee(b, call, state);
    if (!strncmp(LLVMGetValueName2(f, &n), "llvm.nvvm.", 10))
        return true;
    return state & EACH && foreign_has_effect(b, call, f);
}

/* Does an instruction that threads come to so have an effect that depends on
 * how many they are? Plain loads have none: what they read, another instruction
 * has stored. */
static bool observes_by(struct body *b, LLVMValueRef i, unsigned char state)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMCall:
    case LLVMInvoke:
        return observes_by_call(b, i, state);
    case LLVMStore:
        return state & EACH && !is_own(b, LLVMGetOperand(i, 1));
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return state & EACH && !is_own(b, LLVMGetOperand(i, 0));
    case LLVMLoad:
        return state != ALONE && may_wait(b, i);
    case LLVMFence:
        return state != ALONE;
    case LLVMCallBr:
        return true;
    default:
        return false;
    }
}

/* ----------------------------------------------------- private variables */

/* How threads are that store to a variable, and that load from it. */
struct use {
    unsigned char stored, loaded;
    unsigned fills;    /* stores by each thread, of anything but ... */
    unsigned initials; /* ... a constant                             */
    bool of_loop;      /* the runtime's, to divide a loop            */
    bool reduced;      /* values that the runtime combines           */
};

/* Is it a store of a variable's address for the runtime, which combines the
 * values of all threads? The array of addresses is an argument of its function.
 */
static bool is_for_reduction(LLVMValueRef store)
{
    LLVMValueRef list = base_of(LLVMGetOperand(store, 1));
    for (LLVMUseRef u = LLVMGetFirstUse(list); u; u = LLVMGetNextUse(u)) {
        enum class class = class_of_call(LLVMGetUser(u));
        if (class == CHOOSE || class == ELECT)
            return true;
    }
    return false;
}

static bool is_for_lifetime(LLVMValueRef call)
{
    static const char *const names[] = {"llvm.lifetime.", "llvm.dbg.", NULL};
    LLVMValueRef f = LLVMGetCalledValue(call);
    size_t n;
    return LLVMIsAFunction(f) &&
           begins_with_any(LLVMGetValueName2(f, &n), names);
}

static void note_store(LLVMValueRef store, unsigned char state,
                       struct use *use)
{
    bool constant = LLVMIsConstant(LLVMGetOperand(store, 0));
    use->stored |= state;
    use->initials += state & EACH && constant;
    use->fills += state & EACH && !constant;
}

/* One use of a variable, or of a place in it. Whoever gets the address may
 * store and load; where it stands in memory, iterations may. */
static void note_use(LLVMValueRef user, LLVMValueRef v, unsigned char state,
                     struct use *use)
{
    enum class class = class_of_call(user);
    if (class == BEGIN || class == NEXT) {
        use->of_loop = true;
    } else if (LLVMIsALoadInst(user)) {
        use->loaded |= state;
    } else if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == v) {
        note_store(user, state, use);
    } else if (LLVMIsAStoreInst(user) && is_for_reduction(user)) {
        use->reduced = true;
    } else if (LLVMIsAMemIntrinsic(user) && LLVMGetOperand(user, 0) != v) {
        use->loaded |= state;
    } else if (LLVMIsAStoreInst(user) || !is_call(user)) {
        use->stored |= state | LOOP;
        use->loaded |= LOOP;
        use->fills++;
    } else if (!is_for_lifetime(user)) {
        use->stored |= state;
        use->loaded |= LLVMIsAMemIntrinsic(user) ? 0 : state;
        use->fills += state & EACH;
    }
}

static void note_uses(const struct body *b, LLVMValueRef v, struct use *use)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (base_of(user) != user) {
            note_uses(b, user, use);
            continue;
        }
        const struct block *at = find_block(b, LLVMGetInstructionParent(user));
        note_use(user, v, state_at(b, at, user), use);
    }
}

/* Does a thread's variable bring a value into an iteration, or out of a
 * thread's share of a loop? It shows then who runs which iterations. A value
 * that is combined of all threads begins with one constant in each, and gets
 * the rest from iterations. */
static bool is_carried(const struct body *b, LLVMValueRef variable)
{
    struct use use = {0};
    note_uses(b, variable, &use);
    if (use.of_loop)
        return false;
    if (use.reduced)
        return use.fills || use.initials > 1;
    if (use.stored & LOOP && use.loaded & (EACH | PICKED))
        return true;
    if (use.stored & PICKED && use.loaded & (EACH | LOOP))
        return true;
    return use.stored & EACH && use.stored & LOOP && use.loaded & LOOP;
}

/* Is it made of what the runtime has put into a loop's variables? */
static bool comes_from_loop(LLVMValueRef v, unsigned depth)
{
    if (LLVMIsALoadInst(v))
        return is_loop_variable(base_of(LLVMGetOperand(v, 0)));
    if (!depth || !LLVMIsAInstruction(v) || LLVMIsAPHINode(v))
        return false;
    for (int i = 0; i < LLVMGetNumOperands(v); i++)
        if (comes_from_loop(LLVMGetOperand(v, (unsigned)i), depth - 1))
            return true;
    return false;
}

/* A value that optimized code hands from iteration to iteration is a phi where
 * the loop is entered. The loop's own counter begins with what the runtime
 * says. */
static bool is_carried_phi(struct body *b, LLVMValueRef phi)
{
    enum { DEEP = 4 };
    bool is_cycle = false, carries = false;
    reach(b, find_block(b, LLVMGetInstructionParent(phi)));
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef v = LLVMGetIncomingValue(phi, i);
        if (find_block(b, LLVMGetIncomingBlock(phi, i))->reached)
            is_cycle = true;
        else if (!LLVMIsUndef(v) && !comes_from_loop(v, DEEP))
            carries = true;
    }
    return is_cycle && carries;
}

/* ------------------------------------------------------------- functions */

static bool carries_values(struct body *b)
{
    for (unsigned k = 0; k < b->n; k++) {
        const struct block *block = &b->blocks[k];
        LLVMValueRef i = LLVMGetFirstInstruction(block->block);
        for (; i; i = LLVMGetNextInstruction(i))
            if (LLVMIsAAllocaInst(i) ? is_carried(b, i)
                                     : LLVMIsAPHINode(i) &&
                                           block->state & LOOP &&
                                           is_carried_phi(b, i))
                return true;
    }
    return false;
}

/* The end of a loop is not known that goes on where the function returns. */
static bool is_left_open(const struct body *b, LLVMValueRef i,
                         unsigned char state)
{
    return LLVMIsAReturnInst(i) && b->of.place == REGION && state & LOOP;
}

static bool observes_anywhere(struct body *b)
{
    bool shares = false;
    for (unsigned k = 0; k < b->n; k++) {
        unsigned char state = b->blocks[k].state;
        LLVMValueRef i = LLVMGetFirstInstruction(b->blocks[k].block);
        for (; state && i; i = LLVMGetNextInstruction(i)) {
            if (observes_by(b, i, state) || is_left_open(b, i, state))
                return true;
            state = step(b, i, state);
            shares |= state != EACH;
        }
    }
    return shares && b->of.place == REGION && carries_values(b);
}

static void read_blocks(struct body *b)
{
    struct block *to = b->blocks;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(b->of.f); block;
         block = LLVMGetNextBasicBlock(block), to++) {
        to->block = block;
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i))
            to->turns |= turns(b, i);
    }
    qsort(b->blocks, b->n, sizeof *b->blocks, compare_blocks);
}

static bool observes_in(struct scan *scan, const struct visited *v)
{
    struct body b = {.scan = scan, .of = *v, .n = LLVMCountBasicBlocks(v->f)};
    b.blocks = calloc(b.n, sizeof *b.blocks);
    b.stack = calloc(b.n, sizeof *b.stack);
    bool observes = true;
    if (b.blocks && b.stack) {
        read_blocks(&b);
        flow(&b);
        observes = observes_anywhere(&b);
    }
    free(b.blocks);
    free(b.stack);
    return observes;
}

static bool is_known(const struct scan *scan, const struct visited *v)
{
    for (size_t i = 0; i < scan->n; i++) {
        const struct visited *known = &scan->visited[i];
        if (known->f == v->f && known->place == v->place &&
            known->own == v->own && known->functions == v->functions)
            return true;
    }
    return false;
}

static bool note_visit(struct scan *scan, const struct visited *v)
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
static bool visit(struct scan *scan, const struct visited *v)
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

bool ompjit__observes_threads(LLVMValueRef kernel, uint8_t mode)
{
    struct scan scan = {0};
    const struct visited v = {
        kernel, mode == OMPJIT_MODE_GENERIC ? MAIN : SPMD, 0, 0};
    bool observes = mode == OMPJIT_MODE_BARE || visit(&scan, &v);
    free(scan.visited);
    return observes;
}
