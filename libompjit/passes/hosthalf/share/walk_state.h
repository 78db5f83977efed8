/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The walk of share.c for its files: what state entries are in, and how code
 * changes it.
 */
#ifndef OMPJIT_PASSES_HOSTHALF_WALK_STATE_H
#define OMPJIT_PASSES_HOSTHALF_WALK_STATE_H

#include "passes/hosthalf/points/call.h"
#include "passes/hosthalf/share/walk.h"

/* How the host's storage and a device's copy of it would differ; share.c says
 * it in full, with an example. Bits of a set, of what is possible: behind
 * `if (c) x[0] = 1;` a state that was SAME is SAME | HOST. More bits mean more
 * ways to break a rule, so a set may be too large, but never too small. */
enum {
    OMPJIT__SAME = 1,    /* they have the same values                         */
    OMPJIT__DEVICE = 2,  /* a kernel has written: the host must not read      */
    OMPJIT__HOST = 4,    /* the host has written: no kernel may run           */
    OMPJIT__ENDED = 8,   /* nothing is mapped any more                        */
    OMPJIT__STALE = 16,  /* nor here, but the host's values would be older    */
    OMPJIT__PENDING = 32 /* beside another: a deferred kernel may run         */
};
/* Mapped still. An entry that has neither one of these nor STALE can break no
 * rule any more. */
enum { OMPJIT__LIVE = OMPJIT__SAME | OMPJIT__DEVICE | OMPJIT__HOST };

/* The state of the walk at an instruction: for each entry a set. No bit: the
 * walk has not come there. */
typedef struct ompjit__state {
    unsigned char of[OMPJIT__WALK_ENTRIES];
} ompjit__state;

/* Operands of __tgt_target_data_* from the left. */
enum {
    OMPJIT__MAP_ARG_DEVICE_NUMBER = 1,
    OMPJIT__MAP_ARG_BASES = 3,
    OMPJIT__MAP_ARG_TYPES = 6
};

/* Two reasons, of which tell() in share.c knows the first by its address, and
 * the names of two functions of the runtime. `enter data` and `exit data` call
 * them as `target data` does: the arrays alone tell which begin belongs to
 * which end. */
extern const char ompjit__unknown_call[];
extern const char ompjit__begins_data[];
extern const char ompjit__ends_data[];
extern const char ompjit__reads_stale[];

/* Does a map of that type map storage, and not a literal or a pointer's
 * attachment? */
bool ompjit__has_storage(uint64_t type);
/* A bit for each entry of the region. Compare with this: w->spoilt may have
 * bits of entries that do not exist. */
uint32_t ompjit__walk_all(const ompjit__walk *w);
/* The entries of `all` that may be in one of the states. Bits of `all` for
 * entries that do not exist are dropped. */
uint32_t ompjit__walk_those(const ompjit__walk *w, const ompjit__state *s,
                            uint32_t all, unsigned char states);
void ompjit__walk_spoil_these(ompjit__walk *w, uint32_t all, const char *why);
/* The entry is in the state `now`, in place of the LIVE ones, if one of these
 * was possible. Its other states stay possible: it may have ended on another
 * way here. */
void ompjit__walk_become(ompjit__state *s, unsigned i, unsigned char now);
/* The host reads or writes: spoils the entries in which that breaks a rule, and
 * changes the states of those where it may be. `_by`: a load or store, which
 * brings its type. One that is volatile or atomic spoils all, since it may
 * depend on another thread. */
void ompjit__walk_touch(ompjit__walk *w, ompjit__state *s, ompjit__access *a,
                        bool writes);
void ompjit__walk_touch_by(ompjit__walk *w, const ompjit__frame *frame,
                           ompjit__state *s, LLVMValueRef i);
/* The place of the k-th map's storage. */
ompjit__access ompjit__walk_mapped_at(const ompjit__walk *w,
                                      const ompjit__frame *frame,
                                      const ompjit__host_maps *m, unsigned k);
/* Entries that a mapping construct may mean. */
uint32_t ompjit__walk_meant(ompjit__walk *w, ompjit__access *a);
/* Is it that one entry for certain? */
bool ompjit__walk_is_one(ompjit__walk *w, const ompjit__access *a,
                         uint32_t all);
/* Is the k-th map the whole of entry i: the same begin and size? Only then do
 * its copies bring all of the entry up to date. */
bool ompjit__walk_is_whole(ompjit__walk *w, const ompjit__frame *frame,
                           const ompjit__host_maps *m, unsigned k,
                           const ompjit__access *a, unsigned i);
/* The k-th map attaches a pointer: spoils the entries in which that may lie.
 * The runtime writes a device address there, which the host would find in its
 * own storage if that were shared. */
void ompjit__walk_attach(ompjit__walk *w, const ompjit__frame *frame,
                         const ompjit__host_maps *m, unsigned k);
/* The effect of __tgt_target_data_update*, and of a kernel's launch. Arrays
 * that cannot be read spoil all entries. */
void ompjit__walk_updates(ompjit__walk *w, const ompjit__frame *frame,
                          ompjit__state *s, LLVMValueRef call);
void ompjit__walk_launch(ompjit__walk *w, const ompjit__frame *frame,
                         ompjit__state *s, LLVMValueRef call);
/* The only call of that name in the function that has the same arrays; NULL:
 * none, or several. `target data` has such a pair of calls, and `enter data`
 * has none. */
LLVMValueRef ompjit__map_partner(LLVMValueRef call, const char *name);
/* The effect of another data region's begin or end. */
void ompjit__walk_other_region(ompjit__walk *w, const ompjit__frame *frame,
                               ompjit__state *s, LLVMValueRef call, bool ends);
/* The structured region ends. False: nothing is left to be watched. True: an
 * entry is STALE, and the walk goes on until its storage is freed. */
bool ompjit__walk_end_region(ompjit__walk *w, ompjit__state *s);
/* The effect of a function outside of the module, by its class, and of the
 * functions of the module that it may call. */
void ompjit__walk_foreign_call(ompjit__walk *w, const ompjit__frame *frame,
                               ompjit__state *s, LLVMValueRef call,
                               ompjit__call known);
/* Room for what functions do that were walked through; false: no memory. The
 * caller frees w->memos. */
bool ompjit__walk_make_memos(ompjit__walk *w);
/* Forgets them: the entries have changed. */
void ompjit__walk_forget(ompjit__walk *w);
/* The union, where two ways come together. True: it has grown. */
bool ompjit__state_merge(ompjit__state *into, const ompjit__state *s,
                         unsigned n);
/* An exception may leave the function in that state. */
void ompjit__walk_throw(ompjit__walk *w, const ompjit__state *s);
/* The same place, anywhere in its object. */
ompjit__place ompjit__walk_widened(ompjit__place p);
/* Walks through a function of the module, or takes what is remembered of it.
 * False: it does not return. */
bool ompjit__walk_enter_frame(ompjit__walk *w, const ompjit__frame *frame,
                              ompjit__state *s);
/* `call` NULL: its operands are not the function's arguments. */
ompjit__frame ompjit__walk_frame_in(const ompjit__frame *frame, LLVMValueRef f,
                                    LLVMValueRef call);
/* Parameters of `f` from the param-th on are the call's arguments from the
 * first on. False: it does not return. */
bool ompjit__walk_enter_function(ompjit__walk *w, const ompjit__frame *frame,
                                 ompjit__state *s, LLVMValueRef call,
                                 LLVMValueRef f, unsigned first,
                                 unsigned param);
/* Functions that functions outside were given run as often as may be: signal
 * handlers, threads, virtual functions. `call`: the place for messages. */
void ompjit__walk_run_given(ompjit__walk *w, const ompjit__frame *frame,
                            ompjit__state *s, LLVMValueRef call);
/* Functions that were registered for the program's end run, from the state
 * `at_end`. They can only spoil: no state comes back, as nothing follows. */
void ompjit__walk_end_program(ompjit__walk *w, const ompjit__frame *frame,
                              const ompjit__state *at_end);
/* The handlers that run at the end of a program of which the module is a part
 * only. They call functions of the module, too. `at`: the place for messages. */
void ompjit__walk_handlers_of_others(ompjit__walk *w,
                                     const ompjit__frame *frame,
                                     ompjit__state *s, LLVMValueRef at);
/* A call of a function that is not the module's, by its name. */
void ompjit__walk_call_of_library(ompjit__walk *w, const ompjit__frame *frame,
                                  ompjit__state *s, LLVMValueRef call);
/* The effect of any call. False: nothing comes behind it. */
bool ompjit__walk_step_call(ompjit__walk *w, const ompjit__frame *frame,
                            ompjit__state *s, LLVMValueRef call);
/* From behind a call on, or (NULL) the whole function; false: it does not
 * return. `s`: the state there, and then the one in which it returns, merged
 * over all its returns. */
bool ompjit__walk_function(ompjit__walk *w, const ompjit__frame *frame,
                           LLVMValueRef from, ompjit__state *s);
/* Goes on where the outermost function returns: behind each call of it. `left`:
 * the functions that the walk has left before, innermost first. */
struct ompjit__outer;
void ompjit__walk_outwards(ompjit__walk *w, const ompjit__frame *frame,
                           const struct ompjit__outer *left, ompjit__state *s);

#endif
