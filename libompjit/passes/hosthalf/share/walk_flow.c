/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The walk along the blocks of a function, and on in its callers.
 *
 * In a function it is a forward data-flow analysis: each block keeps the union
 * of the states in which it is entered, and waits to be walked again whenever
 * that grows. A state is 6 bits for each of at most 32 entries, and only grows,
 * so this ends.
 *
 *   A: enter data            out: SAME
 *   B: loop:                 in: SAME, and behind C's first walk SAME, DEVICE
 *      y += x[0];            the second walk of B spoils x: the host reads
 *   C: kernel; goto B        out: DEVICE
 *
 * The walk begins behind the call that maps, and not at the program's begin.
 * When the function with that call returns, the walk goes on behind each call
 * of it (ompjit__walk_outwards), up to main.
 */
#include <stdlib.h>
#include <string.h>

#include "passes/hosthalf/share/walk_state.h"

enum { MOST_STEPS = 2000000 };

/* -------------------------------------------------------------------- flow */

/* `in`: the union of states at its first instruction. `waits`: that has grown
 * since it was walked. */
struct block {
    LLVMBasicBlockRef block;
    ompjit__state in;
    bool reached, waits;
};

/* An atomic operation reads and writes its operand. Threads that functions
 * outside have made may meet there: what they run may come first. */
static void step_atomic(ompjit__walk *w, const ompjit__frame *frame,
                        ompjit__state *s, LLVMValueRef i)
{
    if (!LLVMIsAFenceInst(i)) {
        ompjit__access a = ompjit__walk_access(frame, LLVMGetOperand(i, 0));
        ompjit__walk_touch(w, s, &a, false);
        ompjit__walk_touch(w, s, &a, true);
    }
    if (frame->is_given)
        ompjit__walk_run_given(w, frame, s, i);
}

static unsigned kind_of_nounwind(void)
{
    static const char name[] = "nounwind";
    return LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
}

static bool has_nounwind(LLVMValueRef f)
{
    return LLVMIsAFunction(f) &&
           LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                       kind_of_nounwind());
}

/* May the call throw an exception? clang marks C++ functions that throw
 * nothing, and C's functions in host_calls.def throw nothing either. True where
 * it is not known. */
static bool may_throw(LLVMValueRef call)
{
    LLVMValueRef f = ompjit__callee(call);
    const char *callee = ompjit__callee_name(call);
    if (LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex,
                                     kind_of_nounwind()) ||
        has_nounwind(f) || ompjit__is_of_runtime(call))
        return false;
    return !LLVMIsAFunction(f) || !LLVMIsDeclaration(f) ||
           !strncmp(callee, "_Z", 2) || !strncmp(callee, "__cxa_", 6) ||
           ompjit__call_of(callee).class == OMPJIT__CALL_ANYTHING;
}

/* An exception goes from a call to where its callers catch it, in any state
 * that there was during the call:
 *
 *     static void step(double *a, int n) {
 *         work(a);                           a kernel: DEVICE
 *         fail(n);                           may throw: DEVICE comes out
 *     #pragma omp target update from(a[:N])
 *     }                                      returns with SAME alone
 *
 * Those states are gathered in w->thrown. No exception leaves a structured
 * region. */
static bool step_call(ompjit__walk *w, const ompjit__frame *frame,
                      ompjit__state *s, LLVMValueRef call)
{
    unsigned char outer[OMPJIT__WALK_ENTRIES];
    bool inside = w->structured && !frame->caller &&
                  ompjit__walk_those(w, s, UINT32_MAX, OMPJIT__LIVE);
    memcpy(outer, w->thrown, sizeof outer);
    memset(w->thrown, 0, sizeof w->thrown);
    ompjit__walk_throw(w, s);
    bool returns = ompjit__walk_step_call(w, frame, s, call);
    if (returns)
        ompjit__walk_throw(w, s);
    memcpy(w->during, w->thrown, sizeof w->during);
    bool adds = !inside && !LLVMIsAInvokeInst(call) && may_throw(call) &&
                !has_nounwind(frame->f);
    for (unsigned i = 0; i < w->n; i++)
        w->thrown[i] = outer[i] | (adds ? w->during[i] : 0);
    return returns;
}

/* The effect of one instruction. False: control does not go on behind it, or
 * all entries are spoilt, so that no answer can change any more. */
static bool step(ompjit__walk *w, const ompjit__frame *frame, ompjit__state *s,
                 LLVMValueRef i)
{
    w->now = i;
    if (++w->steps > MOST_STEPS)
        ompjit__walk_spoil_all(w, "the program is large");
    if (LLVMGetInstructionOpcode(i) == LLVMIndirectBr)
        ompjit__walk_spoil_all(w, "a jump to a label's address");
    if ((w->spoilt & ompjit__walk_all(w)) == ompjit__walk_all(w))
        return false;
    if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) ||
        LLVMIsAFenceInst(i))
        step_atomic(w, frame, s, i);
    else if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i))
        ompjit__walk_touch_by(w, frame, s, i);
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

/* A forward analysis to a fixed point over one function. */
struct flow {
    struct block *blocks;
    unsigned n;
    ompjit__state
        out; /* where the function returns, or an exception leaves it */
    bool returns;
};

/* Does the function end behind a call that throws an exception? clang puts
 * `unreachable` there. Its callers go on with that state as if it had returned,
 * some of them in their handlers. Behind other calls that do not return, such
 * as abort(), nothing goes on. "_ZSt": std::__throw_out_of_range and others. */
static bool throws(LLVMValueRef end)
{
    static const char *const names[] = {"__cxa_throw", "__cxa_rethrow", "_ZSt"};
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
    LLVMValueRef end = ompjit__map_partner(w->begin, ompjit__ends_data);
    LLVMBasicBlockRef begin = LLVMGetInstructionParent(w->begin);
    LLVMValueRef f = LLVMGetBasicBlockParent(begin);
    LLVMBasicBlockRef *inside =
        malloc(LLVMCountBasicBlocks(f) * sizeof *inside);
    *n = 0;
    if (inside)
        inside[(*n)++] = LLVMGetInstructionParent(end);
    for (unsigned i = 0; i < *n; i++) {
        LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(inside[i]));
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

/* An exception that would leave the region, as no program may do (OpenMP's
 * rules for structured blocks). Successor 1 of an invoke is its landing pad.
 * One in the region leads to a block from which the region's end is reached
 * without its begin. Without this rule the pads that clang makes for
 * destructors behind the region would be entered with data still mapped. */
static bool leaves_region(const ompjit__walk *w, const ompjit__frame *frame,
                          const ompjit__state *s, LLVMValueRef end,
                          unsigned successor)
{
    LLVMBasicBlockRef begin = LLVMGetInstructionParent(w->begin);
    if (!w->structured || frame->caller || successor != 1 ||
        !LLVMIsAInvokeInst(end) || frame->f != LLVMGetBasicBlockParent(begin) ||
        !ompjit__walk_those(w, s, ompjit__walk_all(w), OMPJIT__LIVE))
        return false;
    unsigned n;
    LLVMBasicBlockRef *inside = find_inside(w, &n);
    bool leaves = inside && !is_in(LLVMGetSuccessor(end, successor), inside, n);
    free(inside);
    return leaves;
}

/* Merges the state behind a terminator into the blocks that follow. The host's
 * version of a kernel, which clang's code calls if the launch fails, is no way
 * on: the walk follows programs whose kernels run on the device. */
static void flow_on(ompjit__walk *w, const ompjit__frame *frame,
                    struct flow *flow, LLVMValueRef end, const ompjit__state *s)
{
    ompjit__state unwound;
    memcpy(unwound.of, w->during, sizeof unwound.of);
    if (LLVMIsAReturnInst(end) || LLVMIsAResumeInst(end) || throws(end)) {
        ompjit__state_merge(&flow->out, s, w->n);
        flow->returns = true;
    }
    for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) {
        struct block *next =
            find_block(flow->blocks, flow->n, LLVMGetSuccessor(end, k));
        if (!next || (!k && ompjit__is_launch_failure(end)) ||
            leaves_region(w, frame, s, end, k))
            continue;
        bool news = ompjit__state_merge(
            &next->in, k && LLVMIsAInvokeInst(end) ? &unwound : s, w->n);
        next->waits |= news || !next->reached;
        next->reached = true;
    }
}

/* Walks from instruction `i` to its block's end. */
static void run_from(ompjit__walk *w, const ompjit__frame *frame,
                     struct flow *flow, LLVMValueRef i, ompjit__state s)
{
    LLVMValueRef last = NULL;
    for (; i; last = i, i = LLVMGetNextInstruction(i))
        if (!step(w, frame, &s, i)) {
            if (LLVMIsAInvokeInst(i)) { /* it throws, if anything */
                memset(&s, 0, sizeof s);
                flow_on(w, frame, flow, i, &s);
            }
            return;
        }
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

/* An invoke ends its block: behind it are two blocks, the landing pad, too. */
bool ompjit__walk_function(ompjit__walk *w, const ompjit__frame *frame,
                           LLVMValueRef from, ompjit__state *s)
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
                 LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(frame->f)), *s);
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

/* A function that the walk has left, and the one that it left before. They live
 * on the stack of ompjit__walk_outwards. */
struct ompjit__outer {
    const struct ompjit__outer *inner;
    LLVMValueRef f;
};

static bool was_left(const struct ompjit__outer *outer, LLVMValueRef f)
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

/* Is it main of a C++ source? Nobody but the system calls that. */
static bool is_called_once(LLVMValueRef f)
{
    static const char name[] = "norecurse";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    return LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, kind) !=
           NULL;
}

/* The entries as the caller has them: places by its arguments, and sizes by its
 * numbers. One that it cannot know has no place, and may be anywhere. */
static void translate(ompjit__walk *w, const ompjit__frame *caller,
                      LLVMValueRef call)
{
    for (unsigned i = 0; i < w->n; i++) {
        ompjit__mapped_at *e = &w->entries[i];
        e->begin = ompjit__walk_outer_place(caller, call, &e->outer);
        e->outer = e->begin;
        ompjit__walk_outer_number(caller, call, &e->size);
        if (w->points && e->begin.root) {
            ompjit__targets t = ompjit__points_of(w->points, NULL, &e->begin);
            ompjit__targets_restrict(w->points, &e->targets, &t);
        }
    }
}

/* Goes on behind one call of the outermost function, which makes the caller the
 * outermost one. The entries are translated to what the caller can know, and
 * come back afterwards for the next caller. Memos are of other entries and
 * arguments then, so they go. A function that is left twice is recursive: the
 * places of one call would be taken for those of another. */
static void walk_caller(ompjit__walk *w, const ompjit__frame *frame,
                        const struct ompjit__outer *left, LLVMValueRef call,
                        const ompjit__state *s)
{
    ompjit__frame outer = *frame;
    LLVMValueRef top = w->top;
    ompjit__state on = *s;
    unsigned char thrown[OMPJIT__WALK_ENTRIES];
    outer.f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
    outer.from = call;
    ompjit__mapped_at *saved = malloc(sizeof w->entries);
    if (!saved || was_left(left, outer.f)) {
        ompjit__walk_spoil_all(w, "a function calls itself");
        free(saved);
        return;
    }
    memcpy(saved, w->entries, sizeof w->entries);
    memcpy(thrown, w->thrown, sizeof thrown);
    memcpy(w->during, w->thrown, sizeof w->during);
    if (LLVMIsAInvokeInst(call))
        memset(w->thrown, 0, sizeof w->thrown);
    w->top = outer.f;
    translate(w, &outer, call);
    ompjit__walk_forget(w);
    if (!ompjit__walk_function(w, &outer, call, &on))
        memset(&on, 0, sizeof on);
    ompjit__walk_outwards(w, &outer, left, &on);
    memcpy(w->entries, saved, sizeof w->entries);
    memcpy(w->thrown, thrown, sizeof thrown);
    w->top = top;
    free(saved);
}

/* `f`: the outermost function, or an alias of it. Any use but a call, such as a
 * store of its address, means that callers may not be known. */
static void walk_callers(ompjit__walk *w, const ompjit__frame *frame,
                         const struct ompjit__outer *left, LLVMValueRef f,
                         const ompjit__state *s)
{
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (ompjit__is_host_call(call) && LLVMGetCalledValue(call) == f)
            walk_caller(w, frame, left, call, s);
        else if (LLVMIsAGlobalAlias(call))
            walk_callers(w, frame, left, call, s);
        else
            ompjit__walk_spoil_these(
                w,
                ompjit__walk_those(w, s, ompjit__walk_all(w),
                                   OMPJIT__LIVE | OMPJIT__STALE),
                "its function may be called by pointer");
    }
}

/* The outermost function's own variables are gone with it. One that is still
 * mapped leaves its mapping to whatever has its place on the stack next. */
static void leave_variables(ompjit__walk *w, ompjit__state *s)
{
    for (unsigned i = 0; i < w->n; i++) {
        const ompjit__place *p = &w->entries[i].begin;
        if (!p->root || p->loads || !LLVMIsAAllocaInst(p->root))
            continue;
        if (s->of[i] & OMPJIT__LIVE)
            ompjit__walk_spoil(w, i, "a variable stays mapped");
        s->of[i] = OMPJIT__ENDED;
        w->thrown[i] = 0;
    }
}

/* main is left for the functions of the program's end, or for a caller: C allows
 * a program to call main, C++ does not (clang says norecurse of it then). Of a
 * program the module has all callers. Of an object it has not, and the handlers
 * that run at the end are others' as well, as for exit(). */
static void leave_main(ompjit__walk *w, const ompjit__frame *frame,
                       const struct ompjit__outer *left, ompjit__state *s)
{
    ompjit__walk_end_program(w, frame, s);
    if (!w->whole)
        ompjit__walk_handlers_of_others(w, frame, s, w->now);
    if (frame->is_given)
        ompjit__walk_run_given(w, frame, s, w->now);
    walk_callers(w, frame, left, frame->f, s);
}

/* Entries that are ENDED on all ways, or spoilt, need no caller. In a library's
 * code any caller outside may get a function that is not internal. */
void ompjit__walk_outwards(ompjit__walk *w, const ompjit__frame *frame,
                           const struct ompjit__outer *left, ompjit__state *s)
{
    leave_variables(w, s);
    ompjit__state all = *s;
    for (unsigned i = 0; i < w->n; i++)
        all.of[i] |= w->thrown[i];
    uint32_t rest =
        ompjit__walk_those(w, &all, ompjit__walk_all(w) & ~w->spoilt,
                           OMPJIT__LIVE | OMPJIT__STALE);
    LLVMValueRef f = frame->f;
    const struct ompjit__outer here = {left, f};
    if (!rest)
        return;
    if (is_main(f) && (w->whole || (w->linked && is_called_once(f)))) {
        leave_main(w, frame, &here, &all);
        return;
    }
    if (!w->whole && !is_internal(f)) {
        ompjit__walk_spoil_these(w, rest, "an unknown caller gets it");
        return;
    }
    walk_callers(w, frame, &here, f, s);
}
