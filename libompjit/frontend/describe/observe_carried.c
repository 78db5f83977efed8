/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Private variables that show how the iterations of a shared loop were dealt
 * out: those that bring a value from one iteration to another, or out of the
 * loop.
 */
#include "frontend/describe/observe.h"

/* The threads that store to a variable and that load from it, as sets of
 * OMPJIT__BY_... */
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
    LLVMValueRef list = ompjit__address_base(LLVMGetOperand(store, 1));
    for (LLVMUseRef u = LLVMGetFirstUse(list); u; u = LLVMGetNextUse(u)) {
        enum ompjit__call kind = ompjit__call_kind(LLVMGetUser(u));
        if (kind == OMPJIT__CALL_CHOOSE || kind == OMPJIT__CALL_ELECT)
            return true;
    }
    return false;
}

/* A store by each thread before the loop is the variable's first value. One
 * constant is the same in every thread; anything else may differ. */
static void note_store(LLVMValueRef store, unsigned char state, struct use *use)
{
    bool constant = LLVMIsConstant(LLVMGetOperand(store, 0));
    use->stored |= state;
    use->initials += state & OMPJIT__BY_EACH && constant;
    use->fills += state & OMPJIT__BY_EACH && !constant;
}

/* One use of a variable, or of a place in it. Whoever gets the address may
 * store and load; where it stands in memory, iterations may. */
static void note_use(LLVMValueRef user, LLVMValueRef v, unsigned char state,
                     struct use *use)
{
    enum ompjit__call kind = ompjit__call_kind(user);
    if (kind == OMPJIT__CALL_BEGIN || kind == OMPJIT__CALL_NEXT) {
        use->of_loop = true;
    } else if (LLVMIsALoadInst(user)) {
        use->loaded |= state;
    } else if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == v) {
        note_store(user, state, use);
    } else if (LLVMIsAStoreInst(user) && is_for_reduction(user)) {
        use->reduced = true;
    } else if (LLVMIsAMemIntrinsic(user) && LLVMGetOperand(user, 0) != v) {
        use->loaded |= state;
    } else if (LLVMIsAStoreInst(user) || !ompjit__is_call(user)) {
        use->stored |= state | OMPJIT__BY_LOOP;
        use->loaded |= OMPJIT__BY_LOOP;
        use->fills++;
    } else if (!ompjit__is_for_lifetime(user)) {
        use->stored |= state;
        use->loaded |= LLVMIsAMemIntrinsic(user) ? 0 : state;
        use->fills += state & OMPJIT__BY_EACH;
    }
}

/* All uses of the variable, those of addresses within it included. */
static void note_uses(const struct ompjit__threads_body *b, LLVMValueRef v,
                      struct use *use)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (ompjit__address_base(user) != user) {
            note_uses(b, user, use);
            continue;
        }
        const struct ompjit__threads_block *at =
            ompjit__body_block(b, LLVMGetInstructionParent(user));
        note_use(user, v, ompjit__threads_at(b, at, user), use);
    }
}

/* The rows of is_carried, by an example of each:
 *
 *     int t = 0;                          stored by EACH
 *     #pragma omp for
 *     for (...) t += a[i];                stored and loaded by LOOP: carried
 *     sum = t;                            loaded by EACH: carried
 *
 *     #pragma omp single
 *     t = 1;                              stored by PICKED
 *     b = t;                              loaded by EACH: carried
 *
 * Does a thread's variable bring a value into an iteration, or out of a
 * thread's share of a loop? It shows then who runs which iterations. A value
 * that is combined of all threads begins with one constant in each, and gets
 * the rest from iterations. */
static bool is_carried(const struct ompjit__threads_body *b,
                       LLVMValueRef variable)
{
    struct use use = {0};
    note_uses(b, variable, &use);
    if (use.of_loop)
        return false;
    if (use.reduced)
        return use.fills || use.initials > 1;
    if (use.stored & OMPJIT__BY_LOOP &&
        use.loaded & (OMPJIT__BY_EACH | OMPJIT__BY_PICKED))
        return true;
    if (use.stored & OMPJIT__BY_PICKED &&
        use.loaded & (OMPJIT__BY_EACH | OMPJIT__BY_LOOP))
        return true;
    return use.stored & OMPJIT__BY_EACH && use.stored & OMPJIT__BY_LOOP &&
           use.loaded & OMPJIT__BY_LOOP;
}

/* Is it made of what the runtime has put into a loop's variables? */
static bool comes_from_loop(LLVMValueRef v, unsigned depth)
{
    if (LLVMIsALoadInst(v))
        return ompjit__is_loop_variable(
            ompjit__address_base(LLVMGetOperand(v, 0)));
    if (!depth || !LLVMIsAInstruction(v) || LLVMIsAPHINode(v))
        return false;
    for (int i = 0; i < LLVMGetNumOperands(v); i++)
        if (comes_from_loop(LLVMGetOperand(v, (unsigned)i), depth - 1))
            return true;
    return false;
}

/* A walk from a value to the phis behind its loop that it is. */
struct walk {
    LLVMValueRef seen[16];
    unsigned n;
};

static bool is_new(struct walk *w, LLVMValueRef v)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->seen[i] == v)
            return false;
    if (w->n == sizeof w->seen / sizeof *w->seen)
        return false;
    w->seen[w->n++] = v;
    return true;
}

/* Is the value itself stored where the runtime combines all threads' ones? */
static bool is_combined(const struct ompjit__threads_body *b, LLVMValueRef v,
                        struct walk *w)
{
    if (!is_new(w, v))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        struct use use = {0};
        if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) == v)
            note_uses(b, ompjit__address_base(LLVMGetOperand(user, 1)), &use);
        if (use.reduced ||
            (LLVMIsAPHINode(user) && is_combined(b, user, w)))
            return true;
    }
    return false;
}

/* A value that optimized code hands from iteration to iteration is a phi where
 * the loop is entered. The loop's own counter begins with what the runtime
 * says, and a thread's part of a reduction with the same constant in each. */
static bool is_carried_phi(struct ompjit__threads_body *b, LLVMValueRef phi)
{
    enum { DEEP = 4 };
    bool is_cycle = false, carries = false, constant = true, combined = false;
    LLVMValueRef first = NULL;
    ompjit__mark_reachable(
        b, ompjit__body_block(b, LLVMGetInstructionParent(phi)));
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef v = LLVMGetIncomingValue(phi, i);
        if (ompjit__body_block(b, LLVMGetIncomingBlock(phi, i))->reached) {
            struct walk w = {.seen = {phi}, .n = 1};
            is_cycle = true;
            combined |= is_combined(b, v, &w);
        } else if (!LLVMIsUndef(v) && !comes_from_loop(v, DEEP)) {
            carries = true;
            constant &= LLVMIsConstant(v) && (!first || first == v);
            first = v;
        }
    }
    return is_cycle && carries && !(constant && combined);
}

/* A variable whose address is passed on has no alloca: clang takes it from
 * __kmpc_alloc_shared. */
static bool is_variable(LLVMValueRef i)
{
    return LLVMIsAAllocaInst(i) || ompjit__allocates(i);
}

bool ompjit__carries_values(struct ompjit__threads_body *b)
{
    for (unsigned k = 0; k < b->n; k++) {
        const struct ompjit__threads_block *block = &b->blocks[k];
        LLVMValueRef i = LLVMGetFirstInstruction(block->block);
        for (; i; i = LLVMGetNextInstruction(i)) {
            bool in_loop = block->state & OMPJIT__BY_LOOP;
            if ((is_variable(i) && is_carried(b, i)) ||
                (LLVMIsAPHINode(i) && in_loop && is_carried_phi(b, i)))
                return true;
        }
    }
    return false;
}
