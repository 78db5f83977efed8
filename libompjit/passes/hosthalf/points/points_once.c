/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Must-alias and known contents, by code that runs at most once in the whole
 * program. A set with one location means that location for certain, if its
 * object stands for one piece of storage: null pointers have a location of
 * their own (NOWHERE), and a variable that has not been stored to may not be
 * read. An object is one if it is a global variable, or if what allocates it
 * runs at most once: it is in no loop, and its function has one call, which
 * runs at most once. In programs that use setjmp nothing of this holds; the
 * callers see to that.
 *
 *   struct mesh { int n; double *x; } *m;
 *   void make(int n)                     called once, from main
 *   {
 *       double *x = malloc(n * sizeof *x);
 *       m = malloc(sizeof *m);
 *       m->n = n;                        the only store to that n
 *       m->x = x;
 *       #pragma omp target enter data map(to: x[:n])
 *   }
 *   void step(void)
 *   {
 *       #pragma omp target update from(m->x[:m->n])
 *   }
 *
 * By places, x and m->x are different: the walk does not know that the one was
 * stored in the other. But both lead to the begin of what the first malloc
 * returns, and m->n is reduced to make's n by its only store (fixed.c). So the
 * update is of the whole entry.
 */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "passes/hosthalf/points/call.h"
#include "passes/hosthalf/points/points_graph.h"

enum { DEEP = 8, CALLERS = 24 };

/* ------------------------------------------------------------------- once */

static unsigned find_block(const LLVMBasicBlockRef *blocks, unsigned n,
                           LLVMBasicBlockRef block)
{
    unsigned i = 0;
    while (i < n && blocks[i] != block)
        i++;
    return i;
}

/* Can control come to the block again, from its end? Searches the blocks that
 * are reached from there. True without memory. */
static bool is_in_loop(LLVMBasicBlockRef block)
{
    LLVMValueRef f = LLVMGetBasicBlockParent(block);
    LLVMBasicBlockRef *reached =
        malloc(LLVMCountBasicBlocks(f) * sizeof(LLVMBasicBlockRef));
    LLVMBasicBlockRef from = block;
    bool found = !reached;
    for (unsigned n = 0, next = 0; !found; from = reached[next++]) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(from);
        for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
            LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
            found |= to == block;
            if (find_block(reached, n, to) == n)
                reached[n++] = to;
        }
        if (next == n)
            break;
    }
    free(reached);
    return found;
}

/* Is it in the list of functions that run before main, and in no other? */
static bool is_constructor(LLVMValueRef v, unsigned depth)
{
    static const char list[] = "llvm.global_ctors";
    size_t n;
    if (LLVMIsAGlobalVariable(v))
        return !strcmp(LLVMGetValueName2(v, &n), list);
    LLVMUseRef u = LLVMGetFirstUse(v);
    return depth && LLVMIsAConstant(v) && u && !LLVMGetNextUse(u) &&
           is_constructor(LLVMGetUser(u), depth - 1);
}

/* Counts the calls of a function and all else that names it, and keeps a
 * call. */
static unsigned count_uses(LLVMValueRef f, LLVMValueRef *call)
{
    unsigned n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        bool calls = (LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) &&
                     LLVMGetCalledValue(user) == f;
        if (LLVMIsAGlobalAlias(user)) {
            n += count_uses(user, call);
        } else {
            *call = calls ? user : NULL;
            n++;
        }
    }
    return n;
}

/* The function's only call; NULL: there is another way to call it. */
static LLVMValueRef only_call(LLVMValueRef f)
{
    LLVMValueRef call = NULL;
    return count_uses(f, &call) == 1 ? call : NULL;
}

static bool runs_once(const ompjit__points *p, LLVMValueRef i, unsigned depth);

/* Has the function one call in the whole program, which runs once? main has one
 * if nothing in the module names it. A recursive function never has: going up
 * its only call, which is in itself, ends where `depth` does. */
static bool is_called_once(const ompjit__points *p, LLVMValueRef f,
                           unsigned depth)
{
    LLVMUseRef u = LLVMGetFirstUse(f);
    if (ompjit__live_is_entry(f, p->whole))
        return !u;
    if (u && !LLVMGetNextUse(u) && LLVMIsAConstant(LLVMGetUser(u)) &&
        !LLVMIsAGlobalAlias(LLVMGetUser(u)))
        return is_constructor(f, DEEP);
    LLVMValueRef call = only_call(f);
    return call && depth && runs_once(p, call, depth - 1);
}

/* No more than once: whether it runs at all does not matter. Only in a whole
 * program are all calls known. */
static bool runs_once(const ompjit__points *p, LLVMValueRef i, unsigned depth)
{
    return p->whole && !is_in_loop(LLVMGetInstructionParent(i)) &&
           is_called_once(p, ompjit__function_of(i), depth);
}

bool ompjit__points_runs_once(const ompjit__points *p, LLVMValueRef i)
{
    return runs_once(p, i, CALLERS);
}

LLVMValueRef ompjit__points_only_argument(const ompjit__points *p,
                                          LLVMValueRef param, bool *once)
{
    LLVMValueRef f = LLVMGetParamParent(param), call = only_call(f);
    *once = p->whole && is_called_once(p, f, CALLERS);
    for (unsigned i = 0; *once && call && i < LLVMCountParams(f); i++)
        if (LLVMGetParam(f, i) == param && i < LLVMGetNumArgOperands(call))
            return LLVMGetOperand(call, i);
    return NULL;
}

/* ------------------------------------------------------------------- one */

/* Does the object stand for one piece of storage? A thread-local variable is
 * one for each thread. The answer is kept, since it takes a search. */
static bool is_one(ompjit__points *p, unsigned object)
{
    struct ompjit__object *o = &p->objects[object];
    if (!o->site || LLVMIsAFunction(o->site))
        return false;
    if (LLVMIsAGlobalVariable(o->site))
        return !LLVMIsThreadLocal(o->site);
    if (!o->once)
        o->once = 1 + runs_once(p, o->call ? o->call : o->site, CALLERS);
    return o->once > 1;
}

/* The set's only location, if it is one piece of storage at a known offset; 0:
 * it is not. A set of one crowd or of LIBRARY stands for several objects. */
static uint64_t only_location(ompjit__points *p, const ompjit__set *s)
{
    bool one = s->n == 1 && !s->anything &&
               ompjit__offset_of(*s->at) != OMPJIT__ANY &&
               ompjit__object_of(*s->at) >= OMPJIT__OBJECTS &&
               is_one(p, ompjit__object_of(*s->at));
    return one ? *s->at : 0;
}

uint64_t ompjit__points_one(ompjit__points *p, LLVMValueRef pointer,
                            const ompjit__place *place)
{
    ompjit__set s = ompjit__points_by_place(p, place);
    uint64_t at = only_location(p, &s);
    if (at || !pointer)
        return at;
    s = ompjit__points_value(p, pointer, DEEP);
    return only_location(p, &s);
}

/* --------------------------------------------------------------- contents */

/* A location that is looked at, with the store that has been found. */
struct search {
    uint64_t at, size;
    LLVMValueRef store;
    bool several; /* or something that is not understood */
};

/* May pointers of that set lead into the object? Those of an empty set may: the
 * analysis has not followed them. */
static bool leads_to(const ompjit__points *p, const ompjit__set *s,
                     const struct search *c)
{
    return ompjit__set_is_empty(s) ||
           ompjit__set_leads_to(p, s, ompjit__object_of(c->at));
}

/* May the access, of so many bytes, be of the location's? */
static bool overlaps(const ompjit__points *p, const ompjit__set *s,
                     const struct search *c, uint64_t size)
{
    uint64_t begin = ompjit__offset_of(c->at);
    if (!leads_to(p, s, c))
        return false;
    for (unsigned i = 0; i < s->n; i++) {
        uint64_t at = ompjit__offset_of(s->at[i]);
        if (ompjit__object_of(s->at[i]) != ompjit__object_of(c->at))
            continue;
        if (at == OMPJIT__ANY || (at < begin + c->size && begin < at + size))
            return true;
    }
    return s->anything || !s->n ||
           ompjit__set_leads_to(p, s, OMPJIT__CROWD);
}

/* Arrays of addresses may be those of a map: the runtime may write there. Each
 * address that is stored in an array counts as handed over to it. */
static bool is_array(LLVMValueRef v)
{
    return v && LLVMGetTypeKind(LLVMGetAllocatedType(v)) == LLVMArrayTypeKind;
}

/* Counts a store if it may touch the location, and lets the search fail if that
 * is the second one, if it is of another size, so that it writes a part of the
 * word or more, if it is volatile or atomic, or if it may be elsewhere in the
 * object: then it would not be certain that it stores here at all. */
static void look_at_store(ompjit__points *p, struct search *c, LLVMValueRef i)
{
    LLVMValueRef value = LLVMGetOperand(i, 0), to = LLVMGetOperand(i, 1);
    ompjit__set v = ompjit__points_operand(p, i, 0),
                s = ompjit__points_operand(p, i, 1);
    int64_t by;
    LLVMValueRef array = ompjit__variable_at(p->layout, to, &by);
    if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind &&
        is_array(array))
        c->several |= leads_to(p, &v, c);
    uint64_t size = LLVMABISizeOfType(p->layout, LLVMTypeOf(value));
    if (!overlaps(p, &s, c, size))
        return;
    c->several |= c->store || size != c->size || LLVMGetVolatile(i) ||
                  LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic;
    for (unsigned k = 0; k < s.n; k++)
        c->several |= ompjit__object_of(s.at[k]) == ompjit__object_of(c->at) &&
                      s.at[k] != c->at;
    c->store = i;
}

/* A function that is not the module's. It lets the search fail if it may write
 * and is given a pointer into the object. Copies (llvm.memcpy) write where
 * operand 0 leads. A function that frees ends the storage, and no load comes
 * behind that. */
static void look_at_function(ompjit__points *p, struct search *c,
                             LLVMValueRef call, const char *name)
{
    ompjit__call_class class = ompjit__call_of(name).class;
    unsigned n = LLVMIsAMemIntrinsic(call) ? 1 : LLVMGetNumArgOperands(call);
    if (class <= OMPJIT__CALL_READS || class == OMPJIT__CALL_FREES ||
        !strncmp(name, "__kmpc_fork_", 12))
        return;
    for (unsigned k = 0; k < n; k++) {
        ompjit__set s = ompjit__points_operand(p, call, k);
        if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, k))) ==
            LLVMPointerTypeKind)
            c->several |= leads_to(p, &s, c);
    }
}

/* Functions of the module are looked at themselves. */
static void look_at_call(ompjit__points *p, struct search *c, LLVMValueRef call)
{
    LLVMValueRef f = ompjit__callee(call);
    ompjit__callees all = {.n = 1, .function = {f}};
    if (LLVMIsAInlineAsm(f) ||
        (!LLVMIsAFunction(f) && !ompjit__points_callees(p, f, &all)) ||
        all.library)
        all = (ompjit__callees){.n = 1};
    for (unsigned i = 0; i < all.n; i++) {
        size_t n;
        f = all.function[i];
        if (!f || LLVMIsDeclaration(f))
            look_at_function(p, c, call, f ? LLVMGetValueName2(f, &n) : "");
    }
}

static void look_at(ompjit__points *p, struct search *c, LLVMValueRef i)
{
    if (LLVMIsAStoreInst(i)) {
        look_at_store(p, c, i);
    } else if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) {
        ompjit__set s = ompjit__points_operand(p, i, 0);
        c->several |= leads_to(p, &s, c);
    } else if (LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) {
        look_at_call(p, c, i);
    }
}

/* Looks at the instructions of all live functions, until the search fails. */
static void look_everywhere(ompjit__points *p, struct search *c)
{
    for (unsigned k = 0; k < p->live.n && !c->several; k++)
        for (LLVMBasicBlockRef b =
                 LLVMGetFirstBasicBlock(p->live.functions[k].f);
             b && p->live.functions[k].is_live && !c->several;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                look_at(p, c, i);
}

/* Storage without a value of its own, which only the module's code reaches. */
static bool is_plain(const ompjit__points *p, unsigned object)
{
    LLVMValueRef site = p->objects[object].site;
    bool fresh = ompjit__place_is_fresh(site) &&
                 !ompjit__is_call_of(site, "calloc");
    return (fresh || LLVMIsAAllocaInst(site)) &&
           !ompjit__points_has_escaped(p, object);
}

/* The location of a load or store, which is not where a null pointer leads. */
static uint64_t accessed_location(ompjit__points *p, LLVMValueRef pointer)
{
    ompjit__set all = ompjit__points_value(p, pointer, DEEP),
                some = {.anything = all.anything};
    for (unsigned i = 0; i < all.n; i++)
        if (ompjit__object_of(all.at[i]) != OMPJIT__NOWHERE)
            some.at[some.n++] = all.at[i];
    return only_location(p, &some);
}

/* Loads and stores of the location are of one type, so that the loaded value is
 * the stored one as it was, and not its bytes as another type. Answers are kept
 * for the first CONTENTS locations. */
LLVMValueRef ompjit__points_only_store(ompjit__points *p, LLVMValueRef load)
{
    struct search c = {
        .at = accessed_location(p, LLVMGetOperand(load, 0)),
        .size = LLVMABISizeOfType(p->layout, LLVMTypeOf(load))};
    if (!c.at || !is_plain(p, ompjit__object_of(c.at)))
        return NULL;
    for (unsigned i = 0; i < p->ncontents; i++)
        if (p->contents[i].at == c.at && p->contents[i].size == c.size)
            return p->contents[i].store;
    look_everywhere(p, &c);
    LLVMValueRef store = c.several ? NULL : c.store;
    if (store &&
        LLVMTypeOf(LLVMGetOperand(store, 0)) != LLVMTypeOf(load))
        store = NULL;
    if (p->ncontents < OMPJIT__COUNT(p->contents))
        p->contents[p->ncontents++] =
            (struct ompjit__content){c.at, c.size, store};
    return store;
}
