/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Andersen's points-to analysis of a host half, insensitive to the order of
 * execution. A location is an object and an offset in it; each location that
 * holds pointers has the set of locations to which they lead. All functions are
 * gone through until no set grows. Objects are variables, functions and calls
 * that allocate; LITERALS, all constants without pointers; VARIADIC, all that
 * is passed to the module's variadic functions; NOWHERE, to which null pointers
 * lead; and LIBRARY, all that functions
 * outside of the module have: their own memory, and the objects that have
 * escaped to them. Where a set becomes large its objects join the CROWD: one of
 * them stands for all.
 *
 * An object escapes if its address is passed to a function that is not known or
 * that keeps it, or stored where such functions can read it. They may store
 * there what they have, and call the functions among it.
 *
 * Numbers are followed like pointers, since clang passes small structs as such.
 *
 * A function that does no more with new storage than to fill it with numbers
 * and to return it is an allocator: each call of one is an object of its own.
 * Allocators are found by a pass over the program in which there are none.
 */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "passes/hosthalf/call.h"
#include "passes/hosthalf/live.h"
#include "passes/hosthalf/points.h"

enum { ANY = 0xffff, NEAR = 1024, MOST_OF_ONE = 6, MOST = OMPJIT__POINTS_MOST };
enum { MOST_PASSES = 60, DEEP = 8 };
/* OBJECTS: the first of the others */
enum { LIBRARY, CROWD, LITERALS, VARIADIC, NOWHERE, OBJECTS };

/* Locations: the object's number times 2^16 and the offset, or ANY. */
typedef struct set {
    unsigned n;
    bool anything;
    uint64_t at[MOST];
} set;

/* Pointers that are stored in an object. */
struct cell {
    unsigned offset;
    set holds;
};

struct object {
    LLVMValueRef site, call; /* call: of the allocator with the site in it */
    struct cell *cells;
    unsigned ncells;
    set any; /* stored where it is not known; all reads find it */
    bool escaped, crowded;
};

struct value {
    const void *key; /* LLVMValueRef, or of a function's result &name of it */
    set *holds;
};

/* The function's call, or an allocator's call in it, that allocates. */
struct allocator {
    LLVMValueRef function, site, call;
};

struct ompjit__points {
    LLVMModuleRef m;
    LLVMTargetDataRef layout;
    unsigned tbaa; /* the kind of metadata */
    struct object *objects;
    unsigned nobjects;
    struct value *values; /* hashed; a power of two */
    size_t nvalues, capacity;
    struct allocator *allocators;
    unsigned nallocators;
    struct ompjit__live live;
    set wild; /* stored through pointers that lead anywhere */
    bool all_escaped;
    bool crowd_escaped; /* some of the crowd */
    bool given; /* functions of the module have escaped */
    bool whole, changed, failed;
};

static const char memalign[] = "posix_memalign";

/* ------------------------------------------------------------------- sets */

static uint64_t location(unsigned object, unsigned offset)
{
    return (uint64_t)object << 16 | offset;
}

static unsigned object_of(uint64_t at)
{
    return (unsigned)(at >> 16);
}

static unsigned offset_of(uint64_t at)
{
    return at & ANY;
}

static bool add_anything(set *s)
{
    bool news = !s->anything;
    s->anything = true;
    s->n = 0;
    return news;
}

static void drop_object(set *s, unsigned object)
{
    unsigned n = 0;
    for (unsigned i = 0; i < s->n; i++)
        if (object_of(s->at[i]) != object)
            s->at[n++] = s->at[i];
    s->n = n;
}

/* Its objects and one more are in the crowd from now on. */
static void join_crowd(ompjit__points *p, set *s, unsigned object)
{
    for (unsigned i = 0; i <= s->n; i++) {
        unsigned one = i < s->n ? object_of(s->at[i]) : object;
        bool joins = one != NOWHERE && one != LITERALS;
        p->changed |= joins && !p->objects[one].crowded;
        p->objects[one].crowded = joins;
    }
    p->objects[CROWD].crowded = true;
    s->at[0] = location(CROWD, ANY);
    s->n = 1;
}

static bool add(ompjit__points *p, set *s, uint64_t at)
{
    unsigned of_one = 0;
    if (s->anything)
        return false;
    for (unsigned i = 0; i < s->n; i++) {
        unsigned object = object_of(s->at[i]);
        if (s->at[i] == at ||
            (object == object_of(at) && offset_of(s->at[i]) == ANY) ||
            (object == CROWD && p->objects[object_of(at)].crowded))
            return false;
        of_one += object == object_of(at);
    }
    if (offset_of(at) == ANY || of_one == MOST_OF_ONE) {
        drop_object(s, object_of(at));
        at = location(object_of(at), ANY);
    }
    if (s->n == MOST)
        join_crowd(p, s, object_of(at));
    else
        s->at[s->n++] = at;
    return true;
}

static bool merge(ompjit__points *p, set *into, const set *from)
{
    if (from->anything)
        return add_anything(into);
    bool news = false;
    for (unsigned i = 0; i < from->n; i++)
        news |= add(p, into, from->at[i]);
    return news;
}

static set moved(ompjit__points *p, const set *s, bool known, int64_t by)
{
    set to = {.anything = s->anything};
    for (unsigned i = 0; i < s->n; i++) {
        int64_t at = (int64_t)offset_of(s->at[i]) + by;
        bool near = known && offset_of(s->at[i]) != ANY && at >= 0 && at < NEAR;
        add(p, &to, location(object_of(s->at[i]), near ? (unsigned)at : ANY));
    }
    return to;
}

/* ---------------------------------------------------------------- objects */

static unsigned object_for(ompjit__points *p, LLVMValueRef site,
                           LLVMValueRef call)
{
    for (unsigned i = OBJECTS; i < p->nobjects; i++)
        if (p->objects[i].site == site && p->objects[i].call == call)
            return i;
    if (!(p->nobjects & (p->nobjects - 1))) {
        size_t capacity = p->nobjects ? 2 * (size_t)p->nobjects : 1;
        struct object *more =
            realloc(p->objects, capacity * sizeof *p->objects);
        if (!more) {
            p->failed = true;
            return LIBRARY;
        }
        p->objects = more;
    }
    p->objects[p->nobjects] = (struct object){.site = site, .call = call};
    p->changed = true;
    return p->nobjects++;
}

static set *cell_at(ompjit__points *p, unsigned object, unsigned offset)
{
    struct object *o = &p->objects[object];
    if (offset == ANY)
        return &o->any;
    offset &= ~7U;
    for (unsigned i = 0; i < o->ncells; i++)
        if (o->cells[i].offset == offset)
            return &o->cells[i].holds;
    struct cell *more = realloc(o->cells, (o->ncells + 1) * sizeof *more);
    if (!more) {
        p->failed = true;
        return &o->any;
    }
    o->cells = more;
    more[o->ncells] = (struct cell){.offset = offset};
    return &more[o->ncells++].holds;
}

/* A constant of numbers, such as a text. */
static bool is_literal(LLVMValueRef v)
{
    LLVMValueRef init = LLVMIsAGlobalVariable(v) && LLVMIsGlobalConstant(v)
                            ? LLVMGetInitializer(v)
                            : NULL;
    return init && LLVMGetLinkage(v) != LLVMWeakAnyLinkage &&
           (LLVMIsAConstantDataSequential(init) ||
            LLVMIsAConstantAggregateZero(init) || LLVMIsAConstantInt(init) ||
            LLVMIsAConstantFP(init));
}

static bool has_escaped(const ompjit__points *p, unsigned object)
{
    return object == LIBRARY || p->objects[object].escaped ||
           (p->all_escaped && object != LITERALS && object != NOWHERE);
}

/* May functions outside of the module write there? */
static bool is_written_outside(const ompjit__points *p, unsigned object)
{
    LLVMValueRef site = p->objects[object].site;
    return has_escaped(p, object) &&
           !(site && LLVMIsAGlobalVariable(site) &&
             LLVMIsGlobalConstant(site) && LLVMGetInitializer(site));
}

static set load_from(ompjit__points *p, const set *pointers)
{
    set found = p->wild;
    if (pointers->anything)
        add_anything(&found);
    for (unsigned i = 0; i < pointers->n; i++) {
        const struct object *o = &p->objects[object_of(pointers->at[i])];
        unsigned offset = offset_of(pointers->at[i]);
        if (is_written_outside(p, object_of(pointers->at[i])))
            add(p, &found, location(LIBRARY, ANY));
        merge(p, &found, &o->any);
        if (o->crowded)
            merge(p, &found, &p->objects[CROWD].any);
        for (unsigned k = 0; k < o->ncells; k++)
            if (offset == ANY || o->cells[k].offset == (offset & ~7U))
                merge(p, &found, &o->cells[k].holds);
    }
    return found;
}

static bool leads_to(const ompjit__points *p, const set *s, unsigned object)
{
    for (unsigned i = 0; i < s->n; i++)
        if (object_of(s->at[i]) == object ||
            (object_of(s->at[i]) == CROWD && p->objects[object].crowded))
            return true;
    return s->anything;
}

static bool is_empty(const set *s)
{
    return !s->n && !s->anything;
}

static void store_to(ompjit__points *p, const set *pointers, const set *value)
{
    if (is_empty(value))
        return;
    if (pointers->anything)
        p->changed |= merge(p, &p->wild, value);
    for (unsigned i = 0; i < pointers->n; i++) {
        uint64_t at = pointers->at[i];
        if (object_of(at) != NOWHERE)
            p->changed |=
                merge(p, cell_at(p, object_of(at), offset_of(at)), value);
    }
}

static void store_anywhere_in(ompjit__points *p, const set *pointers,
                              const set *value)
{
    set all = moved(p, pointers, false, 0);
    store_to(p, &all, value);
}

/* ----------------------------------------------------------------- values */

static struct value *slot(const ompjit__points *p, const void *key)
{
    size_t i = ((uintptr_t)key >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (;; i++) {
        struct value *v = &p->values[i & (p->capacity - 1)];
        if (!v->key || v->key == key)
            return v;
    }
}

static bool more_values(ompjit__points *p)
{
    struct ompjit__points larger = *p;
    larger.capacity = p->capacity ? 2 * p->capacity : 1024;
    larger.values = calloc(larger.capacity, sizeof *larger.values);
    if (!larger.values)
        return false;
    for (size_t i = 0; i < p->capacity; i++)
        if (p->values[i].key)
            *slot(&larger, p->values[i].key) = p->values[i];
    free(p->values);
    p->values = larger.values;
    p->capacity = larger.capacity;
    return true;
}

static void grow(ompjit__points *p, const void *key, const set *by)
{
    if (is_empty(by))
        return;
    if (2 * p->nvalues >= p->capacity && !more_values(p)) {
        p->failed = true;
        return;
    }
    struct value *v = slot(p, key);
    if (!v->key) {
        v->holds = calloc(1, sizeof *v->holds);
        p->failed |= !v->holds;
        if (!v->holds)
            return;
        v->key = key;
        p->nvalues++;
    }
    p->changed |= merge(p, v->holds, by);
}

static set lookup(const ompjit__points *p, const void *key)
{
    const struct value *v = p->capacity ? slot(p, key) : NULL;
    return v && v->key ? *v->holds : (set){0};
}

/* A function's result. */
static const void *result_of(LLVMValueRef f)
{
    return (const char *)f + 1;
}

static set one(unsigned object)
{
    return (set){.n = 1, .at = {location(object, 0)}};
}

static set library(void)
{
    return (set){.n = 1, .at = {location(LIBRARY, ANY)}};
}

static set value_of(ompjit__points *p, LLVMValueRef v, unsigned depth)
{
    set all = {0};
    if (!LLVMIsConstant(v))
        return lookup(p, v);
    if (LLVMIsNull(v))
        return one(NOWHERE);
    if (is_literal(v))
        return one(LITERALS);
    if (LLVMIsAGlobalVariable(v) || LLVMIsAFunction(v))
        return one(object_for(p, v, NULL));
    if (LLVMIsAGlobalAlias(v))
        return value_of(p, LLVMAliasGetAliasee(v), depth);
    if (!depth) {
        add_anything(&all);
        return all;
    }
    int n = LLVMGetNumOperands(v);
    bool is_gep = LLVMIsAConstantExpr(v) &&
                  LLVMGetConstOpcode(v) == LLVMGetElementPtr;
    for (int i = 0; i < (is_gep ? 1 : n); i++) {
        set part = value_of(p, LLVMGetOperand(v, (unsigned)i), depth - 1);
        int64_t by = 0;
        bool known = is_gep && ompjit__gep_offset(p->layout, v, &by);
        if (is_gep)
            part = moved(p, &part, known, by);
        merge(p, &all, &part);
    }
    return all;
}

static set operand(ompjit__points *p, LLVMValueRef i, unsigned k)
{
    return value_of(p, LLVMGetOperand(i, k), DEEP);
}

/* ------------------------------------------------------------------ calls */

/* Functions outside of the module have these from now on. */
static void escape(ompjit__points *p, const set *pointers)
{
    p->changed |= pointers->anything && !p->all_escaped;
    p->all_escaped |= pointers->anything;
    for (unsigned i = 0; i < pointers->n; i++) {
        unsigned object = object_of(pointers->at[i]);
        if (object == NOWHERE || object == LITERALS)
            continue;
        p->changed |= !p->objects[object].escaped;
        p->objects[object].escaped = true;
    }
}

static void escape_arguments(ompjit__points *p, LLVMValueRef call)
{
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        set v = operand(p, call, i);
        escape(p, &v);
    }
}

static void copy_contents(ompjit__points *p, const set *to, const set *from)
{
    for (unsigned i = 0; i < from->n; i++) {
        const struct object *o = &p->objects[object_of(from->at[i])];
        unsigned begin = offset_of(from->at[i]);
        store_anywhere_in(p, to, &o->any);
        if (is_written_outside(p, object_of(from->at[i])) ||
            p->objects[object_of(from->at[i])].crowded) {
            set there = {.n = 1, .at = {from->at[i]}};
            there = load_from(p, &there);
            store_anywhere_in(p, to, &there);
        }
        for (unsigned k = 0; k < p->objects[object_of(from->at[i])].ncells;
             k++) {
            struct cell c = p->objects[object_of(from->at[i])].cells[k];
            set at = moved(p, to, begin != ANY,
                           (int64_t)c.offset - (int64_t)begin);
            store_to(p, &at, &c.holds);
        }
    }
    set anything = {.anything = true};
    if (from->anything)
        store_anywhere_in(p, to, &anything);
    if (!is_empty(&p->wild))
        store_anywhere_in(p, to, &p->wild);
}

static bool is_named(LLVMValueRef call, const char *name)
{
    return !strcmp(ompjit__callee_name(call), name);
}

static bool is_allocator(const ompjit__points *p, LLVMValueRef f,
                         const struct object *o)
{
    for (unsigned i = 0; i < p->nallocators; i++) {
        const struct allocator *a = &p->allocators[i];
        if (a->function == f && a->site == o->site && a->call == o->call)
            return true;
    }
    return false;
}

/* Of an allocator each call has an object of its own. */
static set result_for(ompjit__points *p, LLVMValueRef call, LLVMValueRef f)
{
    set all = lookup(p, result_of(f)), own = {.anything = all.anything};
    for (unsigned i = 0; i < all.n; i++) {
        unsigned object = object_of(all.at[i]);
        if (is_allocator(p, f, &p->objects[object]))
            object = object_for(p, p->objects[object].site, call);
        add(p, &own, location(object, offset_of(all.at[i])));
    }
    return own;
}

static void call_defined(ompjit__points *p, LLVMValueRef call, LLVMValueRef f,
                         unsigned first, unsigned param)
{
    unsigned n = LLVMGetNumArgOperands(call), params = LLVMCountParams(f);
    for (unsigned i = first; i < n; i++, param++) {
        set v = operand(p, call, i);
        if (param < params)
            grow(p, LLVMGetParam(f, param), &v);
        else
            p->changed |= merge(p, &p->objects[VARIADIC].any, &v);
    }
    set result = result_for(p, call, f);
    if (!first)
        grow(p, call, &result);
}

static void call_unknown(ompjit__points *p, LLVMValueRef call)
{
    set result = library();
    escape_arguments(p, call);
    grow(p, call, &result);
}

/* All that the arguments point to may then hold all those pointers, and what
 * was in there. */
static void mix(ompjit__points *p, LLVMValueRef call, set *all)
{
    set inside = load_from(p, all);
    inside = moved(p, &inside, false, 0);
    merge(p, all, &inside);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        set to = operand(p, call, i);
        store_anywhere_in(p, &to, all);
    }
}

/* A function of the C or C++ library. */
static void call_known(ompjit__points *p, LLVMValueRef call,
                       const ompjit__call *known)
{
    set result = library();
    if (known->keeps || (known->calls && p->given))
        escape_arguments(p, call);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        set v = operand(p, call, i);
        v = moved(p, &v, false, 0);
        merge(p, &result, &v);
    }
    if (known->class == OMPJIT__CALL_MIXES)
        mix(p, call, &result);
    if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind)
        grow(p, call, &result);
    if (LLVMIsAMemIntrinsic(call) || is_named(call, "memcpy")) {
        set to = operand(p, call, 0), from = operand(p, call, 1);
        if (LLVMGetNumArgOperands(call) > 2)
            copy_contents(p, &to, &from);
    }
}

static void call_new(ompjit__points *p, LLVMValueRef call)
{
    set fresh = one(object_for(p, call, NULL));
    grow(p, call, &fresh);
    if (is_named(call, "calloc")) {
        set null = one(NOWHERE);
        store_anywhere_in(p, &fresh, &null);
    }
}

/* New storage whose address is stored where the first argument says. */
static void call_memalign(ompjit__points *p, LLVMValueRef call)
{
    set fresh = one(object_for(p, call, NULL)), to = operand(p, call, 0);
    store_to(p, &to, &fresh);
}

/* A function is called at the program's end with the second argument. */
static void call_atexit(ompjit__points *p, LLVMValueRef call)
{
    LLVMValueRef f = LLVMGetOperand(call, 0);
    set argument = operand(p, call, 1);
    if (LLVMIsAFunction(f) && LLVMCountParams(f))
        grow(p, LLVMGetParam(f, 0), &argument);
}

/* The function that adds up gets two lists of variables like the one here. */
static void call_reduction(ompjit__points *p, LLVMValueRef call)
{
    enum { LIST = 4, FUNCTION };
    LLVMValueRef f = LLVMGetOperand(call, FUNCTION);
    set list = operand(p, call, LIST);
    for (unsigned i = 0; LLVMIsAFunction(f) && i < LLVMCountParams(f); i++)
        grow(p, LLVMGetParam(f, i), &list);
}

/* A task: its first word leads to its shared variables, an object of their
 * own. */
static void call_new_task(ompjit__points *p, LLVMValueRef call)
{
    enum { ENTRY = 5, TASK = 1 };
    LLVMValueRef f = LLVMGetOperand(call, ENTRY);
    set task = one(object_for(p, call, NULL));
    set shared = one(object_for(p, call, call));
    grow(p, call, &task);
    store_to(p, &task, &shared);
    if (LLVMIsAFunction(f) && LLVMCountParams(f) > TASK)
        grow(p, LLVMGetParam(f, TASK), &task);
}

/* The runtime calls a function with arguments of the call; those of a parallel
 * region's follow two of its own. */
static bool call_of_runtime(ompjit__points *p, LLVMValueRef call)
{
    enum { FORK_FUNCTION = 2 };
    const char *name = ompjit__callee_name(call);
    unsigned n = LLVMGetNumArgOperands(call);
    if (!strncmp(name, "__tgt_", 6) || ompjit__place_is_fresh(call)) {
        if (*name != '_' || name[1] != '_')
            call_new(p, call);
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
        set v = operand(p, call, back->argument[i]);
        v = moved(p, &v, false, 0);
        grow(p, LLVMGetParam(f, i), &v);
    }
}

/* The list of a variadic function's arguments. */
static void call_va(ompjit__points *p, LLVMValueRef call)
{
    set arguments = {0};
    add(p, &arguments, location(VARIADIC, ANY));
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        set list = operand(p, call, i);
        store_anywhere_in(p, &list, &arguments);
    }
}

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
    set callees = value_of(p, LLVMGetCalledValue(call), DEEP);
    bool outside = callees.anything;
    for (unsigned i = OBJECTS; i < p->nobjects; i++) {
        LLVMValueRef f = p->objects[i].site;
        if (LLVMIsAFunction(f) && leads_to(p, &callees, i) &&
            ompjit__may_call(call, f))
            call_function(p, call, f);
    }
    outside |= leads_to(p, &callees, LIBRARY);
    if (outside)
        call_unknown(p, call);
}

static void step_call(ompjit__points *p, LLVMValueRef call)
{
    LLVMValueRef f = ompjit__callee(call);
    if (LLVMIsAInlineAsm(f))
        call_unknown(p, call);
    else if (!LLVMIsAFunction(f))
        call_by_pointer(p, call);
    else if (!LLVMIsDeclaration(f) || !call_of_runtime(p, call))
        call_function(p, call, f);
}

/* ----------------------------------------------------------- instructions */

/* May a value of this type be a pointer, or have one in it, or be a part that
 * is copied? */
static bool may_be_pointer(LLVMTypeRef type)
{
    enum { CHAR = 8, POINTER = 64 };
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMIntegerTypeKind) {
        unsigned width = LLVMGetIntTypeWidth(type);
        return width == CHAR || width >= POINTER;
    }
    return kind == LLVMPointerTypeKind || kind == LLVMStructTypeKind ||
           kind == LLVMArrayTypeKind || kind == LLVMVectorTypeKind;
}

/* Accesses as small numbers by the language's types move no pointers. */
static bool moves_pointers(const ompjit__points *p, LLVMValueRef i)
{
    bool store = LLVMIsAStoreInst(i) != NULL;
    LLVMTypeRef type = ompjit__access_type(p->tbaa, i);
    if (!type)
        type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
    return may_be_pointer(type);
}

/* How far one pointer is behind another leads nowhere. */
static bool is_distance(LLVMValueRef i)
{
    return LLVMGetInstructionOpcode(i) == LLVMSub &&
           LLVMIsAPtrToIntInst(LLVMGetOperand(i, 0)) &&
           LLVMIsAPtrToIntInst(LLVMGetOperand(i, 1));
}

static bool is_access(LLVMValueRef i)
{
    return LLVMIsALoadInst(i) || LLVMIsAStoreInst(i);
}

static bool is_followed(const ompjit__points *p, LLVMValueRef i)
{
    if (is_access(i))
        return moves_pointers(p, i);
    return LLVMIsACallInst(i) || LLVMIsAInvokeInst(i) ||
           LLVMIsAReturnInst(i) ||
           (may_be_pointer(LLVMTypeOf(i)) && !is_distance(i));
}

static void step(ompjit__points *p, LLVMValueRef f, LLVMValueRef i)
{
    set v, to;
    int64_t by = 0;
    if (!is_followed(p, i))
        return;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMAlloca:
        call_new(p, i);
        break;
    case LLVMLoad:
        v = operand(p, i, 0);
        v = load_from(p, &v);
        grow(p, i, &v);
        break;
    case LLVMStore:
        v = operand(p, i, 0);
        to = operand(p, i, 1);
        store_to(p, &to, &v);
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        to = operand(p, i, 0);
        for (unsigned k = 1; k < (unsigned)LLVMGetNumOperands(i); k++) {
            v = operand(p, i, k);
            store_to(p, &to, &v);
        }
        v = load_from(p, &to);
        grow(p, i, &v);
        break;
    case LLVMGetElementPtr:
        v = operand(p, i, 0);
        bool known = ompjit__gep_offset(p->layout, i, &by);
        v = moved(p, &v, known, by);
        grow(p, i, &v);
        break;
    case LLVMCall:
    case LLVMInvoke:
        step_call(p, i);
        break;
    case LLVMRet:
        if (LLVMGetNumOperands(i)) {
            v = operand(p, i, 0);
            grow(p, result_of(f), &v);
        }
        break;
    case LLVMLandingPad:
        v = library(); /* the exception */
        grow(p, i, &v);
        break;
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMPHI:
    case LLVMSelect:
    case LLVMExtractValue:
    case LLVMInsertValue:
    case LLVMFreeze:
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++) {
            v = operand(p, i, k);
            grow(p, i, &v);
        }
        break;
    default: /* computed of pointers as numbers */
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++) {
            v = operand(p, i, k);
            v = moved(p, &v, false, 0);
            grow(p, i, &v);
        }
    }
}

static void step_function(ompjit__points *p, LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            step(p, f, i);
}

/* ------------------------------------------------------------------ begin */

/* What a variable's part is initialized with. */
static void initialize(ompjit__points *p, unsigned object, LLVMValueRef init,
                       uint64_t at, unsigned depth)
{
    LLVMTypeRef type = LLVMTypeOf(init);
    bool is_struct = LLVMIsAConstantStruct(init) != NULL;
    if (!depth || (!is_struct && !LLVMIsAConstantArray(init))) {
        set v = value_of(p, init, DEEP);
        bool cell =
            LLVMGetTypeKind(type) == LLVMPointerTypeKind && at < NEAR;
        merge(p, cell_at(p, object, cell ? (unsigned)at : ANY), &v);
        return;
    }
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(init); i++) {
        uint64_t by =
            is_struct ? LLVMOffsetOfElement(p->layout, type, i)
                      : i * LLVMABISizeOfType(p->layout,
                                              LLVMGetElementType(type));
        initialize(p, object, LLVMGetOperand(init, i), at + by, depth - 1);
    }
}

/* Initial values, and what comes from outside. */
static void begin(ompjit__points *p)
{
    const set outside = library();
    merge(p, &p->objects[LIBRARY].any, &outside);
    for (LLVMValueRef g = LLVMGetFirstGlobal(p->m); g;
         g = LLVMGetNextGlobal(g)) {
        LLVMValueRef init = LLVMGetInitializer(g);
        if (is_literal(g))
            continue;
        unsigned object = object_for(p, g, NULL);
        if (init)
            initialize(p, object, init, 0, DEEP);
        else
            merge(p, &p->objects[object].any, &outside);
        p->objects[object].escaped =
            !init || (!p->whole && !ompjit__live_is_internal(g));
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(p->m); f;
         f = LLVMGetNextFunction(f))
        for (unsigned i = 0; i < LLVMCountParams(f) &&
                             ompjit__live_is_entry(f, p->whole);
             i++)
            grow(p, LLVMGetParam(f, i), &outside);
}

/* --------------------------------------------------------------- outside */

/* A function of the module that functions outside call. */
static void is_called_outside(ompjit__points *p, LLVMValueRef f)
{
    const set outside = library();
    set result = lookup(p, result_of(f));
    for (unsigned i = 0; i < LLVMCountParams(f); i++)
        grow(p, LLVMGetParam(f, i), &outside);
    if (LLVMIsFunctionVarArg(LLVMGlobalGetValueType(f)))
        p->changed |= merge(p, &p->objects[VARIADIC].any, &outside);
    escape(p, &result);
    p->changed |= !p->given;
    p->given = true;
}

/* All in the crowd hold what one of them does. */
static void step_crowd(ompjit__points *p)
{
    for (unsigned i = 0; i < p->nobjects; i++) {
        set object = {.n = 1, .at = {location(i, ANY)}};
        if (!p->objects[i].crowded)
            continue;
        set inside = load_from(p, &object);
        p->changed |= merge(p, &p->objects[CROWD].any, &inside);
        if (p->objects[CROWD].escaped)
            escape(p, &object);
        p->crowd_escaped |= i != CROWD && has_escaped(p, i);
    }
}

/* What has escaped leads to more. */
static void step_outside(ompjit__points *p)
{
    for (unsigned i = 0; i < p->nobjects; i++) {
        LLVMValueRef site = p->objects[i].site;
        set object = {0};
        if (i == LITERALS || !has_escaped(p, i))
            continue;
        if (!site || !LLVMIsAFunction(site)) {
            add(p, &object, location(i, ANY));
            set inside = load_from(p, &object);
            escape(p, &inside);
        } else if (!LLVMIsDeclaration(site)) {
            is_called_outside(p, site);
        }
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(p->m); f && !p->whole;
         f = LLVMGetNextFunction(f)) {
        set result = lookup(p, result_of(f));
        if (ompjit__live_is_entry(f, p->whole))
            escape(p, &result);
    }
}

/* A pointer of which nothing is known is passed on. */
static bool gives_unknown(ompjit__points *p, LLVMValueRef call)
{
    LLVMValueRef f = ompjit__callee(call);
    ompjit__call known = ompjit__call_of(ompjit__callee_name(call));
    bool keeps = known.class == OMPJIT__CALL_ANYTHING || known.keeps ||
                 (known.calls && p->given);
    set callees = value_of(p, f, DEEP);
    if (LLVMIsAFunction(f) ? !LLVMIsDeclaration(f) || !keeps ||
                                 ompjit__is_of_runtime(call)
                           : !leads_to(p, &callees, LIBRARY))
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMValueRef v = LLVMGetOperand(call, i);
        set to = value_of(p, v, DEEP);
        if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind &&
            is_empty(&to))
            return true;
    }
    return false;
}

static void escape_unknown(ompjit__points *p)
{
    for (unsigned k = 0; k < p->live.n && !p->all_escaped; k++)
        for (LLVMBasicBlockRef b =
                 LLVMGetFirstBasicBlock(p->live.functions[k].f);
             b && p->live.functions[k].is_live; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                if ((LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) &&
                    gives_unknown(p, i))
                    p->changed = p->all_escaped = true;
}

static void forget(ompjit__points *p)
{
    for (unsigned i = 0; i < p->nobjects; i++)
        free(p->objects[i].cells);
    for (size_t i = 0; i < p->capacity; i++)
        free(p->values[i].holds);
    free(p->objects);
    free(p->values);
    p->objects = NULL;
    p->values = NULL;
    p->nobjects = 0;
    p->nvalues = p->capacity = 0;
    p->wild = (set){0};
    p->all_escaped = p->crowd_escaped = p->given = false;
}

static bool solve(ompjit__points *p)
{
    for (unsigned i = 0; i < OBJECTS; i++)
        object_for(p, NULL, NULL);
    if (!p->failed)
        begin(p);
    unsigned passes = 0;
    for (p->changed = true; p->changed && !p->failed;) {
        p->changed = false;
        if (++passes > MOST_PASSES)
            return false;
        for (unsigned i = 0; i < p->live.n && !p->failed; i++)
            if (p->live.functions[i].is_live)
                step_function(p, p->live.functions[i].f);
        step_crowd(p);
        step_outside(p);
        if (!p->changed)
            escape_unknown(p);
    }
    return !p->failed;
}

/* ------------------------------------------------------------- allocators */

static LLVMValueRef function_of(LLVMValueRef i)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(i));
}

/* Are they variables of the function that stores? */
static bool are_locals(const ompjit__points *p, const set *s, LLVMValueRef f)
{
    for (unsigned i = 0; i < s->n; i++) {
        LLVMValueRef site = p->objects[object_of(s->at[i])].site;
        if (!site || !LLVMIsAAllocaInst(site) || function_of(site) != f)
            return false;
    }
    return !s->anything;
}

static bool keeps(ompjit__points *p, LLVMValueRef f, unsigned object,
                  unsigned depth);

/* Of a call that stores where it has allocated. */
static bool stores_elsewhere(ompjit__points *p, LLVMValueRef call,
                             unsigned object)
{
    set to = operand(p, call, 0);
    return p->objects[object].site == call &&
           !are_locals(p, &to, function_of(call));
}

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
    if (is_named(call, memalign))
        return stores_elsewhere(p, call, object);
    ompjit__call known = ompjit__call_of(ompjit__callee_name(call));
    if (known.class != OMPJIT__CALL_ANYTHING &&
        known.class != OMPJIT__CALL_MIXES && !known.keeps && !known.calls)
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        set v = operand(p, call, i);
        if (leads_to(p, &v, object))
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
                set v = operand(p, i, 0), to = operand(p, i, 1);
                if (leads_to(p, &v, object) && !are_locals(p, &to, f))
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

static bool is_null(const set *s)
{
    return !s->anything &&
           (!s->n || (s->n == 1 && object_of(*s->at) == NOWHERE));
}

static bool holds_numbers(const struct object *o)
{
    bool numbers = is_null(&o->any);
    for (unsigned i = 0; numbers && i < o->ncells; i++)
        numbers = is_null(&o->cells[i].holds);
    return numbers;
}

static bool allocates(ompjit__points *p, LLVMValueRef f, unsigned object)
{
    enum { CALLS = 4 };
    const struct object *o = &p->objects[object];
    return o->site &&
           (ompjit__place_is_fresh(o->site) ||
            (LLVMIsACallInst(o->site) && is_named(o->site, memalign))) &&
           function_of(o->call ? o->call : o->site) == f && holds_numbers(o) &&
           !is_allocator(p, f, o) && !keeps(p, f, object, CALLS);
}

static bool find_allocators(ompjit__points *p)
{
    unsigned had = p->nallocators;
    for (LLVMValueRef f = LLVMGetFirstFunction(p->m); f;
         f = LLVMGetNextFunction(f)) {
        set result = lookup(p, result_of(f));
        for (unsigned i = 0; i < result.n; i++) {
            unsigned object = object_of(result.at[i]);
            if (!allocates(p, f, object))
                continue;
            struct allocator *more = realloc(
                p->allocators, (p->nallocators + 1) * sizeof *more);
            if (!more)
                return false;
            p->allocators = more;
            more[p->nallocators++] = (struct allocator){
                f, p->objects[object].site, p->objects[object].call};
        }
    }
    return p->nallocators != had;
}

/* ------------------------------------------------------------------ whole */

ompjit__points *ompjit__points_create(LLVMModuleRef m,
                                      LLVMTargetDataRef layout, bool whole)
{
    enum { ROUNDS = 4 };
    ompjit__points *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->m = m;
    p->layout = layout;
    p->whole = whole;
    p->tbaa = ompjit__tbaa_kind(m);
    bool good = ompjit__live_find(m, whole, &p->live) && solve(p);
    for (int i = 0; good && i < ROUNDS && find_allocators(p); i++) {
        forget(p);
        good = solve(p);
    }
    if (good)
        return p;
    ompjit__points_free(p);
    return NULL;
}

void ompjit__points_free(ompjit__points *p)
{
    if (!p)
        return;
    forget(p);
    free(p->allocators);
    free(p->live.functions);
    free(p);
}

static ompjit__targets targets_of(const set *s)
{
    ompjit__targets t = {.n = s->n, .anything = is_empty(s) || s->anything};
    memcpy(t.at, s->at, s->n * sizeof *s->at);
    return t;
}

/* May the first, if it stands for several objects, be the second? */
static bool includes(const ompjit__points *p, unsigned several, unsigned one)
{
    if (several == CROWD && p->objects[one].crowded)
        return true;
    return several == LIBRARY && (one == CROWD ? p->crowd_escaped
                                               : has_escaped(p, one));
}

/* Are they one object, or may they be? */
static bool meet(const ompjit__points *p, unsigned a, unsigned b)
{
    return (a == b && a != NOWHERE) || includes(p, a, b) || includes(p, b, a);
}

/* Those of `a` whose objects `b` has, too. */
static ompjit__targets both(const ompjit__points *p, const ompjit__targets *a,
                            const ompjit__targets *b)
{
    ompjit__targets t = {0};
    for (unsigned i = 0; i < a->n; i++) {
        unsigned k = 0;
        while (k < b->n && !meet(p, object_of(a->at[i]), object_of(b->at[k])))
            k++;
        if (k < b->n)
            t.at[t.n++] = a->at[i];
    }
    return t;
}

static ompjit__targets targets_of_place(ompjit__points *p,
                                        const ompjit__place *place)
{
    const set anything = {.anything = true};
    set s = place->root ? value_of(p, place->root, DEEP) : anything;
    for (unsigned i = 0; i < place->loads; i++) {
        s = moved(p, &s, true, place->at[i]);
        s = load_from(p, &s);
    }
    s = moved(p, &s, place->exact, place->at[place->loads]);
    return targets_of(&s);
}

ompjit__targets ompjit__points_of(ompjit__points *p, LLVMValueRef pointer,
                                  const ompjit__place *place)
{
    ompjit__targets by_place = targets_of_place(p, place);
    if (!pointer)
        return by_place;
    set s = value_of(p, pointer, DEEP);
    ompjit__targets by_value = targets_of(&s);
    if (by_place.anything)
        return by_value;
    if (by_value.anything)
        return by_place;
    ompjit__targets t = both(p, &by_place, &by_value);
    return t.n ? t : by_value;
}

ompjit__targets ompjit__points_held(ompjit__points *p, LLVMValueRef pointer,
                                    int64_t offset)
{
    set s = value_of(p, pointer, DEEP);
    s = moved(p, &s, true, offset);
    s = load_from(p, &s);
    s = moved(p, &s, false, 0);
    return targets_of(&s);
}

bool ompjit__targets_meet(const ompjit__points *p, const ompjit__targets *a,
                          const ompjit__targets *b)
{
    return a->anything || b->anything || both(p, a, b).n;
}

void ompjit__targets_restrict(const ompjit__points *p, ompjit__targets *a,
                              const ompjit__targets *b)
{
    ompjit__targets t = both(p, a, b);
    if (a->anything)
        *a = *b;
    else if (!b->anything && t.n)
        *a = t;
}

bool ompjit__locations_meet(const ompjit__points *p, uint64_t a, uint64_t b)
{
    if (object_of(a) != object_of(b))
        return meet(p, object_of(a), object_of(b));
    return offset_of(a) == ANY || offset_of(b) == ANY ||
           offset_of(a) >> 3 == offset_of(b) >> 3;
}

bool ompjit__points_callees(ompjit__points *p, LLVMValueRef callee,
                            ompjit__callees *out)
{
    set s = value_of(p, callee, DEEP);
    *out = (ompjit__callees){.library = leads_to(p, &s, LIBRARY)};
    for (unsigned i = OBJECTS; i < p->nobjects && !s.anything; i++) {
        LLVMValueRef f = p->objects[i].site;
        if (!LLVMIsAFunction(f) || !leads_to(p, &s, i))
            continue;
        if (out->n == OMPJIT__POINTS_MOST)
            return false;
        out->function[out->n++] = f;
    }
    return !s.anything && s.n;
}

ompjit__targets ompjit__points_outside(const ompjit__points *p)
{
    const set outside = library();
    ompjit__targets t = targets_of(&outside);
    t.anything = p->all_escaped;
    return t;
}

bool ompjit__points_given(const ompjit__points *p)
{
    return p->given;
}

LLVMValueRef ompjit__points_next_given(const ompjit__points *p, unsigned *i)
{
    for (; *i < p->nobjects; ++*i) {
        LLVMValueRef f = p->objects[*i].site;
        if (has_escaped(p, *i) && f && LLVMIsAFunction(f) &&
            !LLVMIsDeclaration(f))
            return p->objects[(*i)++].site;
    }
    return NULL;
}
