/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Andersen's points-to analysis of a host half, insensitive to the order of
 * execution. A location is an object and an offset in it; each location that
 * holds pointers has the set of locations to which they lead. All functions are
 * gone through until no set grows. Objects are variables, functions, calls that
 * allocate, LIBRARY, all that functions outside of the module have of their
 * own, and LITERALS, all constants without pointers. Sets that become large are
 * `anything`.
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
#include "passes/hosthalf/points.h"

enum { ANY = 0xffff, NEAR = 1024, MOST_OF_ONE = 6, MOST = OMPJIT__POINTS_MOST };
enum { MOST_PASSES = 60, DEEP = 8 };
enum { LIBRARY, LITERALS, OBJECTS }; /* OBJECTS: the first of the others */

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
    set wild; /* stored through pointers that lead anywhere */
    set unknown_params; /* of functions that anything calls */
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

static bool add(set *s, uint64_t at)
{
    unsigned of_one = 0;
    if (s->anything)
        return false;
    for (unsigned i = 0; i < s->n; i++) {
        if (s->at[i] == at || (object_of(s->at[i]) == object_of(at) &&
                               offset_of(s->at[i]) == ANY))
            return false;
        of_one += object_of(s->at[i]) == object_of(at);
    }
    if (offset_of(at) == ANY || of_one == MOST_OF_ONE) {
        drop_object(s, object_of(at));
        at = location(object_of(at), ANY);
    }
    if (s->n == MOST)
        return add_anything(s);
    s->at[s->n++] = at;
    return true;
}

static bool merge(set *into, const set *from)
{
    if (from->anything)
        return add_anything(into);
    bool news = false;
    for (unsigned i = 0; i < from->n; i++)
        news |= add(into, from->at[i]);
    return news;
}

static set moved(const set *s, bool known, int64_t by)
{
    set to = {.anything = s->anything};
    for (unsigned i = 0; i < s->n; i++) {
        int64_t at = (int64_t)offset_of(s->at[i]) + by;
        bool near = known && offset_of(s->at[i]) != ANY && at >= 0 && at < NEAR;
        add(&to, location(object_of(s->at[i]), near ? (unsigned)at : ANY));
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

static set load_from(const ompjit__points *p, const set *pointers)
{
    set found = p->wild;
    if (pointers->anything)
        add_anything(&found);
    for (unsigned i = 0; i < pointers->n; i++) {
        const struct object *o = &p->objects[object_of(pointers->at[i])];
        unsigned offset = offset_of(pointers->at[i]);
        merge(&found, &o->any);
        for (unsigned k = 0; k < o->ncells; k++)
            if (offset == ANY || o->cells[k].offset == (offset & ~7U))
                merge(&found, &o->cells[k].holds);
    }
    return found;
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
        p->changed |= merge(&p->wild, value);
    for (unsigned i = 0; i < pointers->n; i++) {
        uint64_t at = pointers->at[i];
        p->changed |= merge(cell_at(p, object_of(at), offset_of(at)), value);
    }
}

static void store_anywhere_in(ompjit__points *p, const set *pointers,
                              const set *value)
{
    set all = moved(pointers, false, 0);
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
    p->changed |= merge(v->holds, by);
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
    set s = {0};
    add(&s, location(object, 0));
    return s;
}

static set library(void)
{
    set s = {0};
    add(&s, location(LIBRARY, ANY));
    return s;
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

static set value_of(ompjit__points *p, LLVMValueRef v, unsigned depth)
{
    set all = {0};
    if (!LLVMIsConstant(v))
        return lookup(p, v);
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
            part = moved(&part, known, by);
        merge(&all, &part);
    }
    return all;
}

static set operand(ompjit__points *p, LLVMValueRef i, unsigned k)
{
    return value_of(p, LLVMGetOperand(i, k), DEEP);
}

/* ------------------------------------------------------------------ calls */

/* What a function outside may have stored: all that it reaches. */
static void escape(ompjit__points *p, const set *pointers, unsigned depth)
{
    set anything = {.anything = true};
    for (unsigned i = 0; i < pointers->n && depth; i++) {
        unsigned object = object_of(pointers->at[i]);
        LLVMValueRef site = p->objects[object].site;
        if (p->objects[object].any.anything || object == LITERALS)
            continue;
        if (site && LLVMIsAFunction(site)) {
            for (unsigned k = 0; k < LLVMCountParams(site); k++)
                grow(p, LLVMGetParam(site, k), &anything);
            continue;
        }
        set from = {0};
        add(&from, location(object, ANY));
        set inside = load_from(p, &from);
        store_anywhere_in(p, &from, &anything);
        escape(p, &inside, depth - 1);
    }
}

static void copy_contents(ompjit__points *p, const set *to, const set *from)
{
    for (unsigned i = 0; i < from->n; i++) {
        const struct object *o = &p->objects[object_of(from->at[i])];
        unsigned begin = offset_of(from->at[i]);
        store_anywhere_in(p, to, &o->any);
        for (unsigned k = 0; k < p->objects[object_of(from->at[i])].ncells;
             k++) {
            struct cell c = p->objects[object_of(from->at[i])].cells[k];
            set at = moved(to, begin != ANY,
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
        add(&own, location(object, offset_of(all.at[i])));
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
            escape(p, &v, DEEP); /* read by va_arg */
    }
    set result = result_for(p, call, f);
    if (!first)
        grow(p, call, &result);
}

static void call_unknown(ompjit__points *p, LLVMValueRef call)
{
    set anything = {.anything = true};
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        set v = operand(p, call, i);
        escape(p, &v, DEEP);
    }
    grow(p, call, &anything);
}

/* All that the arguments point to may then hold all those pointers, and what
 * was in there. */
static void mix(ompjit__points *p, LLVMValueRef call, set *all)
{
    set inside = load_from(p, all);
    inside = moved(&inside, false, 0);
    merge(all, &inside);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        set to = operand(p, call, i);
        store_anywhere_in(p, &to, all);
    }
}

/* A function of the C or C++ library that keeps no pointer. */
static void call_known(ompjit__points *p, LLVMValueRef call,
                       ompjit__call_class class)
{
    set result = library();
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        set v = operand(p, call, i);
        v = moved(&v, false, 0);
        merge(&result, &v);
    }
    if (class == OMPJIT__CALL_MIXES)
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
}

/* New storage whose address is stored where the first argument says. */
static void call_memalign(ompjit__points *p, LLVMValueRef call)
{
    set fresh = one(object_for(p, call, NULL)), to = operand(p, call, 0);
    store_to(p, &to, &fresh);
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

/* A task: its first word leads to its shared variables, which are behind it. */
static void call_new_task(ompjit__points *p, LLVMValueRef call)
{
    enum { ENTRY = 5, TASK = 1 };
    LLVMValueRef f = LLVMGetOperand(call, ENTRY);
    set task = one(object_for(p, call, NULL)), inside = moved(&task, false, 0);
    grow(p, call, &task);
    store_to(p, &task, &inside);
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
        v = moved(&v, false, 0);
        grow(p, LLVMGetParam(f, i), &v);
    }
}

static void call_function(ompjit__points *p, LLVMValueRef call, LLVMValueRef f)
{
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    ompjit__call_class class = ompjit__call_class_of(name);
    const ompjit__call_back *back = ompjit__call_back_of(name);
    LLVMValueRef called = back ? LLVMGetOperand(call, back->function) : NULL;
    bool calls =
        called && LLVMIsAFunction(called) && !LLVMIsDeclaration(called);
    if (calls)
        call_back(p, call, back);
    if (!LLVMIsDeclaration(f))
        call_defined(p, call, f, 0, 0);
    else if (class != OMPJIT__CALL_ANYTHING && (!back || calls) &&
             strncmp(name, "llvm.va_", 8) != 0)
        call_known(p, call, class);
    else
        call_unknown(p, call);
}

/* Functions of the library's own objects are like others of the library. */
static void call_by_pointer(ompjit__points *p, LLVMValueRef call)
{
    set callees = value_of(p, LLVMGetCalledValue(call), DEEP);
    unsigned n = LLVMGetNumArgOperands(call);
    for (unsigned i = 0; i < callees.n; i++) {
        unsigned object = object_of(callees.at[i]);
        LLVMValueRef f = p->objects[object].site;
        if (object == LIBRARY)
            call_known(p, call, OMPJIT__CALL_WRITES);
        else if (LLVMIsAFunction(f) && LLVMCountParams(f) == n)
            call_function(p, call, f);
    }
    if (callees.anything)
        call_unknown(p, call);
}

static void step_call(ompjit__points *p, LLVMValueRef call)
{
    LLVMValueRef f = LLVMGetCalledValue(call);
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

/* Accesses as numbers by the language's types move no pointers. */
static bool moves_pointers(const ompjit__points *p, LLVMValueRef i)
{
    bool store = LLVMIsAStoreInst(i) != NULL;
    LLVMTypeRef type = ompjit__access_type(p->tbaa, i);
    if (type)
        return LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    return may_be_pointer(LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i));
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
           LLVMIsAReturnInst(i) || may_be_pointer(LLVMTypeOf(i));
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
        v = moved(&v, known, by);
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
            v = moved(&v, false, 0);
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

/* Functions of a header that the library has, too, are called here only. */
static bool is_internal(LLVMValueRef g)
{
    LLVMLinkage linkage = LLVMGetLinkage(g);
    return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage ||
           (linkage == LLVMAvailableExternallyLinkage && LLVMIsAFunction(g));
}

/* Initial values, and what comes from outside. */
static void begin(ompjit__points *p)
{
    const set anything = {.anything = true}, outside = library();
    merge(&p->objects[LIBRARY].any, &outside);
    for (LLVMValueRef g = LLVMGetFirstGlobal(p->m); g;
         g = LLVMGetNextGlobal(g)) {
        LLVMValueRef init = LLVMGetInitializer(g);
        if (is_literal(g))
            continue;
        unsigned object = object_for(p, g, NULL);
        set v = init ? value_of(p, init, DEEP) : outside;
        merge(&p->objects[object].any, &v);
        if (!p->whole && !is_internal(g) && !LLVMIsGlobalConstant(g))
            merge(&p->objects[object].any, &anything);
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(p->m); f;
         f = LLVMGetNextFunction(f)) {
        size_t n;
        bool is_main = !strcmp(LLVMGetValueName2(f, &n), "main");
        for (unsigned i = 0; i < LLVMCountParams(f); i++)
            if (is_main && p->whole)
                grow(p, LLVMGetParam(f, i), &outside);
            else if (!p->whole && !is_internal(f))
                grow(p, LLVMGetParam(f, i), &anything);
    }
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
        for (LLVMValueRef f = LLVMGetFirstFunction(p->m); f && !p->failed;
             f = LLVMGetNextFunction(f))
            step_function(p, f);
    }
    return !p->failed;
}

/* ------------------------------------------------------------- allocators */

static LLVMValueRef function_of(LLVMValueRef i)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(i));
}

static bool leads_to(const set *s, unsigned object)
{
    for (unsigned i = 0; i < s->n; i++)
        if (object_of(s->at[i]) == object)
            return true;
    return s->anything;
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
    LLVMValueRef f = LLVMGetCalledValue(call);
    if (!LLVMIsAFunction(f) ||
        !strncmp(ompjit__callee_name(call), "__tgt_", 6))
        return true;
    if (!LLVMIsDeclaration(f))
        return !depth || keeps(p, f, object, depth - 1);
    if (is_named(call, memalign))
        return stores_elsewhere(p, call, object);
    ompjit__call_class class = ompjit__call_class_of(ompjit__callee_name(call));
    if (class != OMPJIT__CALL_ANYTHING && class != OMPJIT__CALL_MIXES)
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        set v = operand(p, call, i);
        if (leads_to(&v, object))
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
                if (leads_to(&v, object) && !are_locals(p, &to, f))
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

static bool holds_numbers(const struct object *o)
{
    bool numbers = is_empty(&o->any);
    for (unsigned i = 0; numbers && i < o->ncells; i++)
        numbers = is_empty(&o->cells[i].holds);
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
    bool good = solve(p);
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
    free(p);
}

static ompjit__targets targets_of(const set *s)
{
    ompjit__targets t = {.n = s->n, .anything = is_empty(s) || s->anything};
    memcpy(t.at, s->at, s->n * sizeof *s->at);
    return t;
}

/* Those of `a` whose objects `b` has, too. */
static ompjit__targets both(const ompjit__targets *a, const ompjit__targets *b)
{
    ompjit__targets t = {0};
    for (unsigned i = 0; i < a->n; i++) {
        unsigned k = 0;
        while (k < b->n && object_of(a->at[i]) != object_of(b->at[k]))
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
        s = moved(&s, true, place->at[i]);
        s = load_from(p, &s);
    }
    s = moved(&s, place->exact, place->at[place->loads]);
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
    ompjit__targets t = both(&by_place, &by_value);
    return t.n ? t : by_value;
}

bool ompjit__targets_meet(const ompjit__targets *a, const ompjit__targets *b)
{
    return a->anything || b->anything || both(a, b).n;
}

void ompjit__targets_restrict(ompjit__targets *a, const ompjit__targets *b)
{
    ompjit__targets t = both(a, b);
    if (a->anything)
        *a = *b;
    else if (!b->anything && t.n)
        *a = t;
}

bool ompjit__locations_meet(uint64_t a, uint64_t b)
{
    return object_of(a) == object_of(b) &&
           (offset_of(a) == ANY || offset_of(b) == ANY ||
            offset_of(a) >> 3 == offset_of(b) >> 3);
}

bool ompjit__points_callees(ompjit__points *p, LLVMValueRef callee,
                            ompjit__callees *out)
{
    set s = value_of(p, callee, DEEP);
    *out = (ompjit__callees){0};
    for (unsigned i = 0; i < s.n; i++) {
        unsigned object = object_of(s.at[i]);
        LLVMValueRef f = p->objects[object].site;
        if (object == LIBRARY)
            out->library = true;
        else if (LLVMIsAFunction(f))
            out->function[out->n++] = f;
    }
    return !s.anything && s.n;
}
