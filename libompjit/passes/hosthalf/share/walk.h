/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The walk of share.c: its state, and the questions that it asks of places
 * and numbers (alias.c) and of mapping calls (maps.c).
 */
#ifndef OMPJIT_PASSES_HOSTHALF_WALK_H
#define OMPJIT_PASSES_HOSTHALF_WALK_H

#include "core/core.h"
#include "abi/offload.h"
#include "passes/hosthalf/points/place.h"
#include "passes/hosthalf/points/points.h"

/* Bounds. A region of more ENTRIES is not shared; they are the bits of a
 * uint32_t. More than STORED locations count as anywhere. A set SEEN is kept
 * half empty; where it would hold more, all entries are spoilt. A number of
 * more TERMS is not known. */
enum {
    OMPJIT__WALK_ENTRIES = 32,
    OMPJIT__WALK_STORED = 512,
    OMPJIT__WALK_SEEN = 8192, /* a power of two */
    OMPJIT__WALK_TERMS = 12
};

/* How a number is computed, in postfix notation. The size of x[:n] for doubles
 * and an int n is four terms: LOAD of n, OPERATION sext, CONSTANT 8, OPERATION
 * mul. Numbers are not simplified: the same number by another expression, 8 * n
 * for n * 8, counts as another one, which costs a copy. */
typedef struct ompjit__number {
    unsigned n;     /* 0: not known */
    unsigned reach; /* depth of the outermost call whose arguments it is of */
    struct ompjit__term {
        enum {
            OMPJIT__TERM_CONSTANT,
            OMPJIT__TERM_LOAD,  /* from a place                             */
            OMPJIT__TERM_VALUE, /* a parameter, or a call's result          */
            OMPJIT__TERM_OPERATION
        } kind;
        uint64_t number; /* or the operation's code */
        LLVMTypeRef type;
        LLVMValueRef value;
        ompjit__place place;
    } term[OMPJIT__WALK_TERMS];
} ompjit__number;

/* One mapping call's arrays, as values of the IR. The local arrays of pointers
 * are allocas that clang fills with stores just before the call. `types` is a
 * constant global variable; `sizes` is one, too, where all sizes are constant,
 * and else an alloca. n: how many entries. */
typedef struct ompjit__host_maps {
    LLVMValueRef bases, begins, sizes, types;
    unsigned n;
} ompjit__host_maps;

/* An entry of the data region whose sharing is to be proved. */
typedef struct ompjit__mapped_at {
    ompjit__place begin;
    ompjit__place outer; /* the same as callers can know it                  */
    ompjit__targets targets; /* the objects that the begin may lie in        */
    uint64_t one; /* the place of points.h that it is for certain, or 0     */
    ompjit__number size;     /* bytes                                        */
    ompjit__number fixed;    /* the same by what is one in the whole program */
    LLVMTypeRef element; /* of scalars; NULL: not known                      */
    uint64_t type;       /* its map type (OMPJIT__MAP_...)                   */
} ompjit__mapped_at;

/* Locations (points_graph.h) that were stored to. `anywhere`: too many, or a
 * store that may be in any object. */
typedef struct ompjit__stores {
    bool anywhere;
    unsigned n;
    uint64_t at[OMPJIT__WALK_STORED];
} ompjit__stores;

/* Values that were met: a hashed set by address, open addressing. Nothing is
 * taken out of it. */
typedef struct ompjit__seen {
    unsigned n;
    LLVMValueRef slot[OMPJIT__WALK_SEEN];
} ompjit__seen;

/* The walk from one call that begins a data region, with what is known of the
 * module. share.c makes one and uses it for each region in turn: unit, points,
 * layout, tbaa, whole, jumps and the memos' memory stay; the rest is of one
 * region. */
typedef struct ompjit__walk {
    const ompjit__unit *unit;
    ompjit__points *points; /* NULL: not known */
    LLVMTargetDataRef layout;
    unsigned tbaa; /* the kind of metadata */
    LLVMValueRef begin;  /* the call */
    LLVMValueRef device; /* its device number */
    LLVMValueRef top; /* the outermost function */
    bool structured; /* its end has the same arrays */
    bool whole;      /* nothing outside of the module calls more than main */
    bool linked;     /* other objects call what is not static by its name  */
    ompjit__host_maps maps; /* of the call */
    ompjit__mapped_at entries[OMPJIT__WALK_ENTRIES];
    unsigned n;
    uint32_t spoilt; /* a bit for each entry: it is not shared ... */
    const char *why[OMPJIT__WALK_ENTRIES]; /* ... for this reason, ... */
    LLVMValueRef where[OMPJIT__WALK_ENTRIES]; /* ... which stands there */
    LLVMValueRef now; /* the instruction that the walk is at */
    bool learns; /* something new of the rest: then it walks again */
    ompjit__seen stored; /* roots that are stored to */
    ompjit__seen called; /* calls that return a value: another one each time */
    bool stores_anywhere; /* and places that are not known */
    ompjit__stores pointers, numbers; /* where they were stored */
    /* States as bits (walk_state.h) in which an exception may have left the
     * functions that were walked through, and the last call. */
    unsigned char thrown[OMPJIT__WALK_ENTRIES], during[OMPJIT__WALK_ENTRIES];
    unsigned steps;
    bool jumps;       /* code may run again, or later, without a call: setjmp,
                         coroutines */
    struct running *running;
    unsigned assumed; /* depth of the outermost function that is being walked
                         through and has been called again             */
    unsigned reach;   /* of the outermost call whose arguments mattered */
    struct memo *memos;
    unsigned nmemos, next_memo;
} ompjit__walk;

/* An access to memory, or what is mapped. One with no pointer, no place and no
 * targets may be anywhere. `targets` count only if `found` is set; the first
 * question that needs them asks for them, since most are answered without. */
typedef struct ompjit__access {
    ompjit__place place;
    LLVMValueRef pointer; /* NULL: not known        */
    LLVMTypeRef type;     /* NULL: of any type      */
    ompjit__targets targets;
    bool found;           /* the targets are known  */
} ompjit__access;

/* The entry is copied, for a reason, which is borrowed, at the instruction that
 * the walk is at. The first reason is kept. `_all`: each of them, and the walk
 * ends, since step() in walk_flow.c goes on only while an entry is left. */
void ompjit__walk_spoil(ompjit__walk *w, unsigned i, const char *why);
void ompjit__walk_spoil_all(ompjit__walk *w, const char *why);

/* The findings of the walk so far: more of it each time it is asked, until it
 * knows all. */
unsigned ompjit__walk_knowledge(const ompjit__walk *w);
/* Has the walk met a store to the variable? `walk`: an ompjit__walk. */
bool ompjit__walk_was_stored(const void *walk, LLVMValueRef root);
/* Notes what later comparisons of places and numbers depend on. */
void ompjit__walk_note_store(ompjit__walk *w, ompjit__access *a);
void ompjit__walk_note_call(ompjit__walk *w, LLVMValueRef call);

/* An access through a pointer of the frame's function; NULL: through one that
 * is not known. It is of any type until the caller sets one. */
ompjit__access ompjit__walk_access(const ompjit__frame *frame,
                                   LLVMValueRef pointer);
/* Do both lead to the same storage, for certain, all the time that the walk
 * watches? */
bool ompjit__walk_same_place(ompjit__walk *w, const ompjit__place *p,
                             const ompjit__place *q);
/* Does the pointer lead to the entry's begin, for certain? False means only
 * that it is not known. Ask this where "yes" lets the walk forget that storage
 * differs, as an update does. */
bool ompjit__walk_is_at(ompjit__walk *w, const ompjit__mapped_at *entry,
                        const ompjit__access *a);
/* May the access be in the entry's object? It may, unless something shows that
 * it cannot. Objects are asked, not bytes: x[5] is in the object of x[0:2]. Ask
 * this where "no" lets the walk ignore an access. */
bool ompjit__walk_may_be_in(ompjit__walk *w,
                            const ompjit__mapped_at *entry,
                            ompjit__access *a);

/* Does the access lie in the entry's object for certain, and is that storage
 * that was allocated? Such storage has the type that was stored there last. */
bool ompjit__walk_is_in_heap(ompjit__walk *w, const ompjit__mapped_at *entry,
                             ompjit__access *a);
/* A number by the expression that computes it, and whether two are the same for
 * certain. */
void ompjit__walk_number(const ompjit__frame *frame, LLVMValueRef v,
                         ompjit__number *out);
bool ompjit__walk_same_number(ompjit__walk *w, const ompjit__number *a,
                              const ompjit__number *b);
/* A number by constants, parameters and results of calls that the program has
 * once: the expression stands for one number wherever it is found (fixed.c).
 * out->n 0: not known. */
void ompjit__walk_fixed_number(const ompjit__walk *w, LLVMValueRef v,
                               ompjit__number *out);
bool ompjit__walk_same_fixed(const ompjit__number *a, const ompjit__number *b);
/* A place and a number of the outermost function as its caller has them, in
 * which the walk goes on behind `call`: parameters become the call's arguments.
 * If it rests on the function's own variables, it is lost: the place has no
 * root then, and the number no terms. */
ompjit__place ompjit__walk_outer_place(const ompjit__frame *caller,
                                       LLVMValueRef call,
                                       const ompjit__place *p);
void ompjit__walk_outer_number(const ompjit__frame *caller, LLVMValueRef call,
                               ompjit__number *number);

/* A call or an invoke. */
bool ompjit__is_host_call(LLVMValueRef v);
/* The arrays that a mapping call, a launch, gets; false: they are not
 * understood. maps.c */
bool ompjit__read_maps(LLVMValueRef call, ompjit__host_maps *m);
bool ompjit__read_kernel_maps(LLVMTargetDataRef layout, LLVMValueRef call,
                              ompjit__host_maps *m);
/* A task's launch: only the begins, as a pointer that is no array of the
 * function, and the types are known. */
bool ompjit__read_task_maps(LLVMTargetDataRef layout, LLVMValueRef call,
                            ompjit__host_maps *m);
/* The i-th map type, bits OMPJIT__MAP_...; ALWAYS where it is not known, which
 * spoils the entries that are meant. */
uint64_t ompjit__map_type_at(const ompjit__host_maps *m, unsigned i);
/* The value that the function stores as the array's i-th pointer, and as the
 * i-th size in bytes. NULL: not known. */
LLVMValueRef ompjit__map_pointer_at(LLVMTargetDataRef layout,
                                    LLVMValueRef array, unsigned i);
LLVMValueRef ompjit__map_size_at(LLVMTargetDataRef layout,
                                 const ompjit__host_maps *m, unsigned i);
/* The local array that a pointer is of, as clang passes it: the address of its
 * first element. NULL: it is no local array. */
LLVMValueRef ompjit__map_array_of(LLVMValueRef pointer);

#endif
