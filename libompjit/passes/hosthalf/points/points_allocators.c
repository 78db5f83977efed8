/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function that does no more with new storage than to fill it with numbers
 * and to return it is an allocator: each call of one is an object of its own.
 * Allocators are found by a pass over the program in which there are none.
 *
 *   static double *make(int n)
 *   {
 *       double *p = malloc(n * sizeof *p);
 *       for (int i = 0; i < n; i++) p[i] = 0;
 *       return p;
 *   }
 *   double *x = make(n), *y = make(n);
 *
 * Most programs allocate like this, and C++'s std::allocator does. With one
 * object for malloc's call, an access to y would be one to x.
 *
 * An allocator must not keep the address: a list of all blocks would lead to
 * the object of the site, which is no more than one of x, y and all others
 * then. Nor may the object hold pointers, as those would be stored in the
 * site's object while the callers have others. So no name of the site's object
 * is left in use but the result, which each call replaces by its own.
 */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "passes/hosthalf/points/call.h"
#include "passes/hosthalf/points/points_graph.h"

static const char memalign[] = "posix_memalign";

LLVMValueRef ompjit__function_of(LLVMValueRef i)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(i));
}

/* Are they variables of the function that stores? */
static bool are_locals(const ompjit__points *p, const ompjit__set *s,
                       LLVMValueRef f)
{
    for (unsigned i = 0; i < s->n; i++) {
        LLVMValueRef site = p->objects[ompjit__object_of(s->at[i])].site;
        if (!site || !LLVMIsAAllocaInst(site) || ompjit__function_of(site) != f)
            return false;
    }
    return !s->anything;
}

static bool keeps(ompjit__points *p, LLVMValueRef f, unsigned object,
                  unsigned depth);

/* posix_memalign stores the address of its object through an argument. Does
 * this call do so for the object, in memory that may outlive the caller? */
static bool stores_elsewhere(ompjit__points *p, LLVMValueRef call,
                             unsigned object)
{
    ompjit__set to = ompjit__points_operand(p, call, 0);
    return p->objects[object].site == call &&
           !are_locals(p, &to, ompjit__function_of(call));
}

/* May a call in the allocator keep the object's address, or map it? Functions
 * of the module are looked into, `depth` calls deep; of the library's, those
 * that neither store pointers nor call back may be given it. An indirect call
 * may do anything. */
static bool call_keeps(ompjit__points *p, LLVMValueRef call, unsigned object,
                       unsigned depth)
{
    LLVMValueRef f = ompjit__callee(call);
    if (!LLVMIsAFunction(f) ||
        !strncmp(ompjit__callee_name(call), "__tgt_", 6) ||
        !strncmp(ompjit__callee_name(call), "__kmpc_omp_t", 12))
        return true;
    if (!LLVMIsDeclaration(f))
        return !depth || keeps(p, f, object, depth - 1);
    if (ompjit__is_call_of(call, memalign))
        return stores_elsewhere(p, call, object);
    ompjit__call known = ompjit__call_of(ompjit__callee_name(call));
    if (known.class != OMPJIT__CALL_ANYTHING &&
        known.class != OMPJIT__CALL_MIXES && !known.keeps && !known.calls)
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        ompjit__set v = ompjit__points_operand(p, call, i);
        if (ompjit__set_leads_to(p, &v, object))
            return true;
    }
    return false;
}

/* Does the function, or one that it calls, store the object's address other
 * than in variables of its own, or hand it on, or map anything? */
static bool keeps(ompjit__points *p, LLVMValueRef f, unsigned object,
                  unsigned depth)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            if (LLVMIsAStoreInst(i)) {
                ompjit__set v = ompjit__points_operand(p, i, 0),
                            to = ompjit__points_operand(p, i, 1);
                if (ompjit__set_leads_to(p, &v, object) &&
                    !are_locals(p, &to, f))
                    return true;
            } else if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) {
                return true;
            } else if ((LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) &&
                       call_keeps(p, i, object, depth)) {
                return true;
            }
        }
    return false;
}

/* Does the set lead nowhere, or only where null pointers do? */
static bool is_null(const ompjit__set *s)
{
    return !s->anything && (!s->n || (s->n == 1 && ompjit__object_of(*s->at) ==
                                                       OMPJIT__NOWHERE));
}

/* Are no pointers stored in the object? */
static bool holds_numbers(const struct ompjit__object *o)
{
    bool numbers = is_null(&o->any);
    for (unsigned i = 0; numbers && i < o->ncells; i++)
        numbers = is_null(&o->cells[i].holds);
    return numbers;
}

/* Is function `f` an allocator of the object, which it returns? The object may
 * be a call of malloc in it, or the result of another allocator that it calls
 * (o->call), as make2() { return make(2); } does. */
static bool allocates(ompjit__points *p, LLVMValueRef f, unsigned object)
{
    enum { CALLS = 4 };
    const struct ompjit__object *o = &p->objects[object];
    return o->site &&
           (ompjit__place_is_fresh(o->site) ||
            (LLVMIsACallInst(o->site) &&
             ompjit__is_call_of(o->site, memalign))) &&
           ompjit__function_of(o->call ? o->call : o->site) == f &&
           holds_numbers(o) && !ompjit__points_is_allocator(p, f, o) &&
           !keeps(p, f, object, CALLS);
}

/* The list only grows: an allocator of one solution is taken for one in the
 * next. */
bool ompjit__points_find_allocators(ompjit__points *p)
{
    unsigned had = p->nallocators;
    for (LLVMValueRef f = LLVMGetFirstFunction(p->m); f;
         f = LLVMGetNextFunction(f)) {
        ompjit__set result = ompjit__points_lookup(p, ompjit__points_result(f));
        for (unsigned i = 0; i < result.n; i++) {
            unsigned object = ompjit__object_of(result.at[i]);
            if (!allocates(p, f, object))
                continue;
            struct ompjit__allocator *more =
                realloc(p->allocators, (p->nallocators + 1) * sizeof *more);
            if (!more)
                return false;
            p->allocators = more;
            more[p->nallocators++] = (struct ompjit__allocator){
                f, p->objects[object].site, p->objects[object].call};
        }
    }
    return p->nallocators != had;
}
