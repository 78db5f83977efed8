/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The effects of calls on the sets of the points-to analysis.
 *
 *   f(p)          f is of the module: its parameter grows by p's set, and the
 *                 call by that of f's result
 *   malloc(n)     an object of its own for this call in the text
 *   strchr(s, c)  known: the result leads into what its arguments lead to
 *   memcpy(d, s)  known: pointers stored where s leads are stored where d does
 *   g(p)          not known: p's objects escape, and the result is LIBRARY
 *   (*q)(p)       each function that q leads to, as above
 *
 * Calls of the OpenMP runtime are taken apart by name, since clang hands over
 * pointers to functions and blocks of arguments in them. A call __tgt_... moves
 * no pointers here: the runtime keeps host addresses, but changes nothing there
 * that the walk does not follow.
 */
#include <string.h>

#include "core/core.h"
#include "passes/hosthalf/points/call.h"
#include "passes/hosthalf/points/points_graph.h"

enum { DEEP = 8 };

static const char memalign[] = "posix_memalign";

/* Functions outside of the module have these from now on: they may read and
 * write there, and call the functions among them, at any later time. A pointer
 * to anything gives them all. */
void ompjit__points_escape(ompjit__points *p, const ompjit__set *pointers)
{
    p->changed |= pointers->anything && !p->all_escaped;
    p->all_escaped |= pointers->anything;
    for (unsigned i = 0; i < pointers->n; i++) {
        unsigned object = ompjit__object_of(pointers->at[i]);
        if (object == OMPJIT__NOWHERE || object == OMPJIT__LITERALS)
            continue;
        p->changed |= !p->objects[object].escaped;
        p->objects[object].escaped = true;
    }
}

static void escape_arguments(ompjit__points *p, LLVMValueRef call)
{
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        ompjit__set v = ompjit__points_operand(p, call, i);
        ompjit__points_escape(p, &v);
    }
}

/* memcpy and the like: each pointer stored in the objects of `from` is stored
 * in those of `to`, as far behind as it was. The offset at which the copy
 * begins is subtracted. The length is not asked, so more may be copied here
 * than by the program. Objects move when others are made: they are looked up
 * each time. */
static void copy_contents(ompjit__points *p, const ompjit__set *to,
                          const ompjit__set *from)
{
    for (unsigned i = 0; i < from->n; i++) {
        const struct ompjit__object *o =
            &p->objects[ompjit__object_of(from->at[i])];
        unsigned begin = ompjit__offset_of(from->at[i]);
        ompjit__points_store_in(p, to, &o->any);
        if (ompjit__points_is_written(p, ompjit__object_of(from->at[i])) ||
            p->objects[ompjit__object_of(from->at[i])].crowded) {
            ompjit__set there = {.n = 1, .at = {from->at[i]}};
            there = ompjit__points_load(p, &there);
            ompjit__points_store_in(p, to, &there);
        }
        for (unsigned k = 0;
             k < p->objects[ompjit__object_of(from->at[i])].ncells; k++) {
            struct ompjit__cell c =
                p->objects[ompjit__object_of(from->at[i])].cells[k];
            ompjit__set at =
                ompjit__set_moved(p, to, begin != OMPJIT__ANY,
                                  (int64_t)c.offset - (int64_t)begin);
            ompjit__points_store(p, &at, &c.holds);
        }
    }
    ompjit__set anything = {.anything = true};
    if (from->anything)
        ompjit__points_store_in(p, to, &anything);
    if (!ompjit__set_is_empty(&p->wild))
        ompjit__points_store_in(p, to, &p->wild);
}

/* A short list: allocators of a program are few. */
bool ompjit__points_is_allocator(const ompjit__points *p, LLVMValueRef f,
                                 const struct ompjit__object *o)
{
    for (unsigned i = 0; i < p->nallocators; i++) {
        const struct ompjit__allocator *a = &p->allocators[i];
        if (a->function == f && a->site == o->site && a->call == o->call)
            return true;
    }
    return false;
}

/* The result of a call. Each call of an allocator has an object of its own. */
static ompjit__set result_for(ompjit__points *p, LLVMValueRef call,
                              LLVMValueRef f)
{
    ompjit__set all = ompjit__points_lookup(p, ompjit__points_result(f)),
                own = {.anything = all.anything};
    for (unsigned i = 0; i < all.n; i++) {
        unsigned object = ompjit__object_of(all.at[i]);
        if (ompjit__points_is_allocator(p, f, &p->objects[object]))
            object = ompjit__points_object(p, p->objects[object].site, call);
        ompjit__set_add(p, &own,
                        ompjit__location(object, ompjit__offset_of(all.at[i])));
    }
    return own;
}

/* A call of the module's function: parameters from the param-th on get the
 * call's arguments from the first on; arguments beyond the last parameter are
 * read by va_arg. One that the runtime makes (first > 0) gives no result to the
 * program. */
static void call_defined(ompjit__points *p, LLVMValueRef call, LLVMValueRef f,
                         unsigned first, unsigned param)
{
    unsigned n = LLVMGetNumArgOperands(call), params = LLVMCountParams(f);
    for (unsigned i = first; i < n; i++, param++) {
        ompjit__set v = ompjit__points_operand(p, call, i);
        if (param < params)
            ompjit__points_grow(p, LLVMGetParam(f, param), &v);
        else
            p->changed |=
                ompjit__set_merge(p, &p->objects[OMPJIT__VARIADIC].any, &v);
    }
    ompjit__set result = result_for(p, call, f);
    if (!first)
        ompjit__points_grow(p, call, &result);
}

/* A function of which nothing is known. Its result may be anything outside,
 * which includes all that has escaped: what it was given, too. */
static void call_unknown(ompjit__points *p, LLVMValueRef call)
{
    ompjit__set result = ompjit__set_library();
    escape_arguments(p, call);
    ompjit__points_grow(p, call, &result);
}

/* All that the arguments point to may then hold all those pointers, and what
 * was in there. */
static void mix(ompjit__points *p, LLVMValueRef call, ompjit__set *all)
{
    ompjit__set inside = ompjit__points_load(p, all);
    inside = ompjit__set_moved(p, &inside, false, 0);
    ompjit__set_merge(p, all, &inside);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        ompjit__set to = ompjit__points_operand(p, call, i);
        ompjit__points_store_in(p, &to, all);
    }
}

/* A function of the C or C++ library. Its result may lead into what an argument
 * leads to, as strchr's, or into the library's own memory, as getenv's. One
 * that keeps what it is given (KEEPER), or that may call functions of the
 * module while some have escaped, lets its arguments escape. */
static void call_known(ompjit__points *p, LLVMValueRef call,
                       const ompjit__call *known)
{
    ompjit__set result = ompjit__set_library();
    if (known->keeps || (known->calls && p->given))
        escape_arguments(p, call);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        ompjit__set v = ompjit__points_operand(p, call, i);
        v = ompjit__set_moved(p, &v, false, 0);
        ompjit__set_merge(p, &result, &v);
    }
    if (known->class == OMPJIT__CALL_MIXES)
        mix(p, call, &result);
    if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind)
        ompjit__points_grow(p, call, &result);
    if (LLVMIsAMemIntrinsic(call) || ompjit__is_call_of(call, "memcpy")) {
        ompjit__set to = ompjit__points_operand(p, call, 0),
                    from = ompjit__points_operand(p, call, 1);
        if (LLVMGetNumArgOperands(call) > 2)
            copy_contents(p, &to, &from);
    }
}

/* New storage holds no pointers; calloc's holds null pointers. */
void ompjit__points_call_new(ompjit__points *p, LLVMValueRef call)
{
    ompjit__set fresh = ompjit__set_one(ompjit__points_object(p, call, NULL));
    ompjit__points_grow(p, call, &fresh);
    if (ompjit__is_call_of(call, "calloc")) {
        ompjit__set null = ompjit__set_one(OMPJIT__NOWHERE);
        ompjit__points_store_in(p, &fresh, &null);
    }
}

/* posix_memalign(&p, alignment, size): new storage whose address is stored
 * where the first argument says. */
static void call_memalign(ompjit__points *p, LLVMValueRef call)
{
    ompjit__set fresh = ompjit__set_one(ompjit__points_object(p, call, NULL)),
                to = ompjit__points_operand(p, call, 0);
    ompjit__points_store(p, &to, &fresh);
}

/* __cxa_atexit(f, argument, module): f is called at the program's end with the
 * second argument. */
static void call_atexit(ompjit__points *p, LLVMValueRef call)
{
    LLVMValueRef f = LLVMGetOperand(call, 0);
    ompjit__set argument = ompjit__points_operand(p, call, 1);
    if (LLVMIsAFunction(f) && LLVMCountParams(f))
        ompjit__points_grow(p, LLVMGetParam(f, 0), &argument);
}

/* The function that adds up gets two lists of variables like the one here. */
static void call_reduction(ompjit__points *p, LLVMValueRef call)
{
    enum { LIST = 4, FUNCTION };
    LLVMValueRef f = LLVMGetOperand(call, FUNCTION);
    ompjit__set list = ompjit__points_operand(p, call, LIST);
    for (unsigned i = 0; LLVMIsAFunction(f) && i < LLVMCountParams(f); i++)
        ompjit__points_grow(p, LLVMGetParam(f, i), &list);
}

/* __kmpc_omp_task_alloc(location, thread, flags, bytes of the task, bytes of
 * the shared variables, entry): storage for a kmp_task_t. Its first word leads
 * to its shared variables, an object of their own, which clang's code fills
 * before it hands the task over. The runtime calls entry(thread, task). */
static void call_new_task(ompjit__points *p, LLVMValueRef call)
{
    enum { ENTRY = 5, TASK = 1 };
    LLVMValueRef f = LLVMGetOperand(call, ENTRY);
    ompjit__set task = ompjit__set_one(ompjit__points_object(p, call, NULL));
    ompjit__set shared = ompjit__set_one(ompjit__points_object(p, call, call));
    ompjit__points_grow(p, call, &task);
    ompjit__points_store(p, &task, &shared);
    if (LLVMIsAFunction(f) && LLVMCountParams(f) > TASK)
        ompjit__points_grow(p, LLVMGetParam(f, TASK), &task);
}

/* The runtime calls a function with arguments of the call; those of a parallel
 * region's follow two of its own. __kmpc_omp_task and its like only take a task
 * that call_new_task has made. False: the call is not one of these. */
static bool call_of_runtime(ompjit__points *p, LLVMValueRef call)
{
    enum { FORK_FUNCTION = 2 };
    const char *name = ompjit__callee_name(call);
    unsigned n = LLVMGetNumArgOperands(call);
    if (!strncmp(name, "__tgt_", 6) || ompjit__place_is_fresh(call)) {
        if (*name != '_' || name[1] != '_')
            ompjit__points_call_new(p, call);
        return true;
    }
    if (!strcmp(name, "__kmpc_omp_task_alloc") ||
        !strcmp(name, "__kmpc_omp_target_task_alloc")) {
        call_new_task(p, call);
        return true;
    }
    if (!strcmp(name, memalign)) {
        call_memalign(p, call);
        return true;
    }
    if (!strcmp(name, "__cxa_atexit")) {
        call_atexit(p, call);
        return true;
    }
    if (!strncmp(name, "__kmpc_omp_task", 15))
        return true;
    if (!strncmp(name, "__kmpc_reduce", 13)) {
        call_reduction(p, call);
        return true;
    }
    if ((!strcmp(name, "__kmpc_fork_call") ||
         !strcmp(name, "__kmpc_fork_teams")) &&
        n > FORK_FUNCTION && LLVMIsAFunction(LLVMGetOperand(call, 2))) {
        call_defined(p, call, LLVMGetOperand(call, FORK_FUNCTION),
                     FORK_FUNCTION + 1, 2);
        return true;
    }
    return false;
}

/* The function that it calls gets pointers into what the call's lead to. */
static void call_back(ompjit__points *p, LLVMValueRef call,
                      const ompjit__call_back *back)
{
    LLVMValueRef f = LLVMGetOperand(call, back->function);
    for (unsigned i = 0; i < 2 && i < LLVMCountParams(f); i++) {
        ompjit__set v = ompjit__points_operand(p, call, back->argument[i]);
        v = ompjit__set_moved(p, &v, false, 0);
        ompjit__points_grow(p, LLVMGetParam(f, i), &v);
    }
}

/* va_start(list) and its like: the list leads to all that any variadic function
 * of the module was given, since VARIADIC is one object. */
static void call_va(ompjit__points *p, LLVMValueRef call)
{
    ompjit__set arguments = {0};
    ompjit__set_add(p, &arguments,
                    ompjit__location(OMPJIT__VARIADIC, OMPJIT__ANY));
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        ompjit__set list = ompjit__points_operand(p, call, i);
        ompjit__points_store_in(p, &list, &arguments);
    }
}

/* A call of a function by its name. One that calls back (qsort) is known only
 * if the program's function is named in the call: any other might be meant. */
static void call_function(ompjit__points *p, LLVMValueRef call, LLVMValueRef f)
{
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    ompjit__call known = ompjit__call_of(name);
    const ompjit__call_back *back = ompjit__call_back_of(name);
    LLVMValueRef called = back ? LLVMGetOperand(call, back->function) : NULL;
    bool calls =
        called && LLVMIsAFunction(called) && !LLVMIsDeclaration(called);
    if (calls)
        call_back(p, call, back);
    if (!LLVMIsDeclaration(f))
        call_defined(p, call, f, 0, 0);
    else if (!strncmp(name, "llvm.va_", 8))
        call_va(p, call);
    else if (known.class != OMPJIT__CALL_ANYTHING && (!back || calls))
        call_known(p, call, &known);
    else
        call_unknown(p, call);
}

/* A pointer to a function outside of the module: it is not known which. */
static void call_by_pointer(ompjit__points *p, LLVMValueRef call)
{
    ompjit__set callees =
        ompjit__points_value(p, LLVMGetCalledValue(call), DEEP);
    bool outside = callees.anything;
    for (unsigned i = OMPJIT__OBJECTS; i < p->nobjects; i++) {
        LLVMValueRef f = p->objects[i].site;
        if (LLVMIsAFunction(f) && ompjit__set_leads_to(p, &callees, i) &&
            ompjit__may_call(call, f))
            call_function(p, call, f);
    }
    outside |= ompjit__set_leads_to(p, &callees, OMPJIT__LIBRARY);
    if (outside)
        call_unknown(p, call);
}

void ompjit__points_step_call(ompjit__points *p, LLVMValueRef call)
{
    LLVMValueRef f = ompjit__callee(call);
    if (LLVMIsAInlineAsm(f))
        call_unknown(p, call);
    else if (!LLVMIsAFunction(f))
        call_by_pointer(p, call);
    else if (!LLVMIsDeclaration(f) || !call_of_runtime(p, call))
        call_function(p, call, f);
}
