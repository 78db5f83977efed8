/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds which threads come to each instruction of a function. Calls that begin
 * and end shared loops change that, and so do branches on what the runtime says
 * of a thread.
 */
#include <stdlib.h>

#include "frontend/describe/observe.h"

/* ---------------------------------------------------------------- guards */

/* A branch on whether a value is 0, and the threads that go each way. */
struct guard {
    unsigned char zero, other; /* how threads go on; 0: as they came */
};

/* The thread's part of a shared loop is in variables that the runtime fills. */
bool ompjit__is_loop_variable(LLVMValueRef variable)
{
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        enum ompjit__call kind = ompjit__call_kind(LLVMGetUser(u));
        if (kind == OMPJIT__CALL_BEGIN || kind == OMPJIT__CALL_NEXT)
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
        enum ompjit__call kind = ompjit__call_kind(call);
        if ((kind == OMPJIT__CALL_BEGIN &&
             LLVMGetOperand(call, BEGIN_LAST) == variable) ||
            (kind == OMPJIT__CALL_NEXT &&
             LLVMGetOperand(call, NEXT_LAST) == variable))
            return true;
    }
    return false;
}

/* Masked may choose another thread than the first. */
static bool chooses_first(LLVMValueRef call)
{
    enum { FILTER = 2 };
    return LLVMGetNumArgOperands(call) != FILTER + 1 ||
           ompjit__is_constant(LLVMGetOperand(call, FILTER), 0);
}

/* A guard that only a region's code has. */
static struct guard guard_in_region(LLVMValueRef v)
{
    switch (ompjit__call_kind(v)) {
    case OMPJIT__CALL_CHOOSE:
        return (struct guard){.other =
                                  chooses_first(v) ? OMPJIT__BY_PICKED : 0};
    case OMPJIT__CALL_NUMBER: return (struct guard){.zero = OMPJIT__BY_PICKED};
    case OMPJIT__CALL_NEXT:
        return (struct guard){.zero = OMPJIT__BY_EACH,
                              .other = OMPJIT__BY_LOOP};
    default:
        return (struct guard){.other = LLVMIsALoadInst(v) &&
                                               tells_last(ompjit__address_base(
                                                   LLVMGetOperand(v, 0)))
                                           ? OMPJIT__BY_LAST
                                           : 0};
    }
}

/* The guard that a branch on `v` is: 0 in both fields where it is none. */
static struct guard guard_of(const struct ompjit__threads_body *b,
                             LLVMValueRef v)
{
    v = ompjit__held_value(v);
    switch (ompjit__call_kind(v)) {
    case OMPJIT__CALL_ELECT: return (struct guard){.other = OMPJIT__BY_PICKED};
    case OMPJIT__CALL_HARDWARE:
        return (struct guard){.zero = OMPJIT__BY_PICKED};
    default:
        return b->of.place == OMPJIT__IN_REGION ? guard_in_region(v)
                                                : (struct guard){0};
    }
}

/* The branch is
 *
 *     %c = icmp eq i32 %v, 0        (or ne, or 1 in place of 0)
 *     br i1 %c, label %0, label %1
 *
 * with %v from a call that guard_of knows. Any other condition lets threads go
 * on as they came, which is the cautious answer.
 *
 * How threads go on from a block to its successor i when they come to its end
 * as `state` says. Comparisons with 1 are of what is 0 or 1. */
static unsigned char state_behind(const struct ompjit__threads_body *b,
                                  LLVMValueRef branch, unsigned i,
                                  unsigned char state)
{
    LLVMValueRef compare =
        LLVMIsABranchInst(branch) && LLVMIsConditional(branch)
            ? LLVMGetCondition(branch)
            : NULL;
    if (!(state & OMPJIT__BY_EACH) || !compare || !LLVMIsAICmpInst(compare))
        return state;
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(compare);
    bool zero = ompjit__is_constant(LLVMGetOperand(compare, 1), 0);
    if ((!zero && !ompjit__is_constant(LLVMGetOperand(compare, 1), 1)) ||
        (predicate != LLVMIntEQ && predicate != LLVMIntNE))
        return state;
    struct guard guard = guard_of(b, LLVMGetOperand(compare, 0));
    bool equal = (predicate == LLVMIntEQ) == (i == 0);
    unsigned char next = equal == zero ? guard.zero : guard.other;
    return next ? next : state;
}

/* ------------------------------------------------------------------ flow */

/* Does the instruction begin or end a shared loop? Only a region's threads
 * share loops; elsewhere the calls divide nothing. */
static bool turns(const struct ompjit__threads_body *b, LLVMValueRef i)
{
    if (b->of.place != OMPJIT__IN_REGION)
        return false;
    enum ompjit__call kind = ompjit__call_kind(i);
    return kind == OMPJIT__CALL_BEGIN || kind == OMPJIT__CALL_END;
}

/* How threads are behind an instruction. */
unsigned char ompjit__threads_behind(const struct ompjit__threads_body *b,
                                     LLVMValueRef i, unsigned char state)
{
    if (!turns(b, i))
        return state;
    return ompjit__call_kind(i) == OMPJIT__CALL_BEGIN ? OMPJIT__BY_LOOP
                                                      : OMPJIT__BY_EACH;
}

/* How threads come to an instruction of the block; NULL: to its end. */
unsigned char ompjit__threads_at(const struct ompjit__threads_body *b,
                                 const struct ompjit__threads_block *block,
                                 LLVMValueRef at)
{
    unsigned char state = block->state;
    if (!block->turns)
        return state;
    LLVMValueRef i = LLVMGetFirstInstruction(block->block);
    for (; i && i != at; i = LLVMGetNextInstruction(i))
        state = ompjit__threads_behind(b, i, state);
    return state;
}

/* By address, which is all that identifies a block. */
static int compare_blocks(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct ompjit__threads_block *)a)->block;
    uintptr_t y = (uintptr_t)((const struct ompjit__threads_block *)b)->block;
    return x < y ? -1 : x > y;
}

struct ompjit__threads_block *
ompjit__body_block(const struct ompjit__threads_body *b,
                   LLVMBasicBlockRef block)
{
    struct ompjit__threads_block key = {.block = block};
    return bsearch(&key, b->blocks, b->n, sizeof key, compare_blocks);
}

/* Hands a block's state on to its successors, and those that it is news to to
 * the stack. */
static unsigned flow_on(struct ompjit__threads_body *b,
                        const struct ompjit__threads_block *from, unsigned top)
{
    unsigned char state = ompjit__threads_at(b, from, NULL);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(from->block);
    for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) {
        struct ompjit__threads_block *next =
            ompjit__body_block(b, LLVMGetSuccessor(end, k));
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
static void flow(struct ompjit__threads_body *b)
{
    static const unsigned char first[] = {[OMPJIT__IN_MAIN] = OMPJIT__BY_MAIN,
                                          [OMPJIT__IN_SPMD] = OMPJIT__BY_EACH,
                                          [OMPJIT__IN_REGION] = OMPJIT__BY_EACH,
                                          [OMPJIT__IN_NESTED] = OMPJIT__BY_EACH,
                                          [OMPJIT__IN_SHARED] =
                                              OMPJIT__BY_LOOP};
    struct ompjit__threads_block *entry =
        ompjit__body_block(b, LLVMGetEntryBasicBlock(b->of.f));
    entry->state = first[b->of.place];
    entry->reached = true;
    b->stack[0] = (unsigned)(entry - b->blocks);
    for (unsigned top = 1; top;) {
        struct ompjit__threads_block *block = &b->blocks[b->stack[--top]];
        block->reached = false;
        top = flow_on(b, block, top);
    }
}

/* Marks the blocks that threads can come to from one. */
void ompjit__mark_reachable(struct ompjit__threads_body *b,
                            const struct ompjit__threads_block *from)
{
    unsigned top = 0;
    for (unsigned k = 0; k < b->n; k++)
        b->blocks[k].reached = false;
    for (;;) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(from->block);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) {
            struct ompjit__threads_block *next =
                ompjit__body_block(b, LLVMGetSuccessor(end, k));
            if (!next->reached)
                b->stack[top++] = (unsigned)(next - b->blocks);
            next->reached = true;
        }
        if (!top)
            break;
        from = &b->blocks[b->stack[--top]];
    }
}

/* Fills `blocks` in the order that ompjit__body_block searches them by. */
static void read_blocks(struct ompjit__threads_body *b)
{
    struct ompjit__threads_block *to = b->blocks;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(b->of.f); block;
         block = LLVMGetNextBasicBlock(block), to++) {
        to->block = block;
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i))
            to->turns |= turns(b, i);
    }
    qsort(b->blocks, b->n, sizeof *b->blocks, compare_blocks);
}

bool ompjit__threads_find(struct ompjit__threads_body *b)
{
    b->n = LLVMCountBasicBlocks(b->of.f);
    b->blocks = calloc(b->n, sizeof *b->blocks);
    b->stack = calloc(b->n, sizeof *b->stack);
    if (!b->blocks || !b->stack)
        return false;
    read_blocks(b);
    flow(b);
    return true;
}

void ompjit__threads_free(struct ompjit__threads_body *b)
{
    free(b->blocks);
    free(b->stack);
}
