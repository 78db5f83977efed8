/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The sets and objects of the points-to analysis (points.c), for its files.
 */
#ifndef OMPJIT_PASSES_HOSTHALF_POINTS_GRAPH_H
#define OMPJIT_PASSES_HOSTHALF_POINTS_GRAPH_H

#include "passes/hosthalf/points/live.h"
#include "passes/hosthalf/points/points.h"

/* ANY: an offset that is not known. Offsets from NEAR bytes on become ANY,
 * which bounds the cells of an object. CONTENTS: how many searches for an only
 * store are remembered. */
enum { OMPJIT__ANY = 0xffff, OMPJIT__NEAR = 1024, OMPJIT__CONTENTS = 64 };
/* Objects that stand for more than one variable; points.c says for what.
 * OMPJIT__OBJECTS: the first of the others */
enum {
    OMPJIT__LIBRARY,
    OMPJIT__CROWD,
    OMPJIT__LITERALS,
    OMPJIT__VARIADIC,
    OMPJIT__NOWHERE,
    OMPJIT__OBJECTS
};

/* Locations: the object's number times 2^16 and the offset, or ANY. With
 * `anything` no location is listed. At most 6 are of one object; one with ANY
 * stands for all others of its object. */
typedef struct ompjit__set {
    unsigned n;
    bool anything;
    uint64_t at[OMPJIT__POINTS_MOST];
} ompjit__set;

/* Pointers that are stored in an object, in the word of 8 bytes at the offset.
 * Parts of a word share its cell. */
struct ompjit__cell {
    unsigned offset;
    ompjit__set holds;
};

/* Storage that pointers may lead to: a variable, a function, or what a call
 * allocates. `site` is the variable, the function or the call; NULL for the
 * objects of the list above. */
struct ompjit__object {
    LLVMValueRef site, call; /* call: of the allocator with the site in it */
    struct ompjit__cell *cells;
    unsigned ncells;
    ompjit__set any; /* stored where it is not known; all reads find it */
    bool escaped; /* functions outside of the module may reach it      */
    bool crowded; /* it has joined the CROWD, which stands for it      */
    unsigned char once; /* 2: allocated once at most; 1: not; 0: not known */
};

/* The only store to that location, or NULL, as points_once.c has found. */
struct ompjit__content {
    uint64_t at, size;
    LLVMValueRef store;
};

/* The locations that a value may lead to, so far. */
struct ompjit__value {
    const void *key; /* LLVMValueRef, or of a function's result &name of it */
    ompjit__set *holds;
};

/* The function's call, or an allocator's call in it, that allocates. */
struct ompjit__allocator {
    LLVMValueRef function, site, call;
};

struct ompjit__points {
    LLVMModuleRef m;
    LLVMTargetDataRef layout;
    unsigned tbaa; /* the kind of metadata */
    struct ompjit__object *objects;
    unsigned nobjects;
    struct ompjit__value *values; /* hashed; a power of two */
    size_t nvalues, capacity;
    struct ompjit__allocator *allocators;
    unsigned nallocators;
    struct ompjit__live live;
    struct ompjit__content contents[OMPJIT__CONTENTS];
    unsigned ncontents;
    ompjit__set wild; /* stored through pointers that lead anywhere */
    bool all_escaped;
    bool crowd_escaped; /* some of the crowd */
    bool parts;   /* numbers of any width may be parts of pointers */
    bool given; /* functions of the module have escaped */
    bool whole;   /* nothing outside calls more than main          */
    bool changed; /* a set has grown since the pass over all began */
    bool failed;  /* no memory, or too much work                   */
};

/* A location, and its parts. Object 0 is LIBRARY, so no location of a variable
 * is 0: that can mean "not known". */
uint64_t ompjit__location(unsigned object, unsigned offset);
unsigned ompjit__object_of(uint64_t at);
unsigned ompjit__offset_of(uint64_t at);
/* Adds a location, and all of another set. True: that was not in the set.
 * Neither sets p->changed for the set itself; who stores it does. */
bool ompjit__set_add(ompjit__points *p, ompjit__set *s, uint64_t at);
bool ompjit__set_merge(ompjit__points *p, ompjit__set *into,
                       const ompjit__set *from);
/* The locations so many bytes further on, or (not known) anywhere in their
 * objects. A pointer never leaves its object by arithmetic: C 6.5.6. */
ompjit__set ompjit__set_moved(ompjit__points *p, const ompjit__set *s,
                              bool known, int64_t by);
/* The object of a site, made when it is first asked for. `call`: the call of an
 * allocator in which the site is; NULL: the object is of all its calls. Objects
 * move when one is made: hold numbers and no pointers to them. */
unsigned ompjit__points_object(ompjit__points *p, LLVMValueRef site,
                               LLVMValueRef call);
/* The pointers that are stored at that offset of the object; the object's, and
 * valid until another cell of it, or an object, is made. */
ompjit__set *ompjit__points_cell(ompjit__points *p, unsigned object,
                                 unsigned offset);
/* A constant of numbers, such as a text. */
bool ompjit__is_literal(LLVMValueRef v);
/* May functions outside of the module reach the object? */
bool ompjit__points_has_escaped(const ompjit__points *p, unsigned object);
/* May functions outside of the module write there? */
bool ompjit__points_is_written(const ompjit__points *p, unsigned object);
/* The union of all pointers that may be stored at those locations, so far. */
ompjit__set ompjit__points_load(ompjit__points *p, const ompjit__set *pointers);
/* Is the object among those of the set, by itself or in the crowd? */
bool ompjit__set_leads_to(const ompjit__points *p, const ompjit__set *s,
                          unsigned object);
bool ompjit__set_is_empty(const ompjit__set *s);
/* Adds `value` to what each of the locations holds. It takes nothing away, as
 * it is not known when the store runs, or which location it means. */
void ompjit__points_store(ompjit__points *p, const ompjit__set *pointers,
                          const ompjit__set *value);
/* Anywhere in what the pointers lead to. */
void ompjit__points_store_in(ompjit__points *p, const ompjit__set *pointers,
                             const ompjit__set *value);
/* Adds to the set of a value, and gives it; empty: none so far. */
void ompjit__points_grow(ompjit__points *p, const void *key,
                         const ompjit__set *by);
ompjit__set ompjit__points_lookup(const ompjit__points *p, const void *key);
/* The key of a function's result. */
const void *ompjit__points_result(LLVMValueRef f);
/* The object's begin; all that is outside. */
ompjit__set ompjit__set_one(unsigned object);
ompjit__set ompjit__set_library(void);
/* The places that a value leads to. The set of one that is not constant has
 * grown so far, and may grow in a later round. */
ompjit__set ompjit__points_value(ompjit__points *p, LLVMValueRef v,
                                 unsigned depth);
/* The same of an instruction's k-th operand. */
ompjit__set ompjit__points_operand(ompjit__points *p, LLVMValueRef i,
                                   unsigned k);
/* Functions outside of the module have these from now on. */
void ompjit__points_escape(ompjit__points *p, const ompjit__set *pointers);
ompjit__set ompjit__points_by_place(ompjit__points *p,
                                    const ompjit__place *place);
/* Is the object one that function `f` allocates for its callers, so that each
 * call of `f` has an object of its own? points_calls.c */
bool ompjit__points_is_allocator(const ompjit__points *p, LLVMValueRef f,
                                 const struct ompjit__object *o);
/* Grows the sets by a call. points_calls.c */
void ompjit__points_step_call(ompjit__points *p, LLVMValueRef call);
/* New storage: a variable, or what a call allocates. */
void ompjit__points_call_new(ompjit__points *p, LLVMValueRef site);
/* The function that an instruction is in. */
LLVMValueRef ompjit__function_of(LLVMValueRef i);
/* Lists the functions that only return new storage, by the sets as they are.
 * True: there are new ones. points_allocators.c */
bool ompjit__points_find_allocators(ompjit__points *p);

#endif
