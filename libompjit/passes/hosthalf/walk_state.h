/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The walk of share.c for its files: what state entries are in, and how code
 * changes it.
 */
#ifndef OMPJIT_PASSES_HOSTHALF_WALK_STATE_H
#define OMPJIT_PASSES_HOSTHALF_WALK_STATE_H

#include "passes/hosthalf/call.h"
#include "passes/hosthalf/walk.h"

enum {
    OMPJIT__SAME = 1,
    OMPJIT__DEVICE = 2,
    OMPJIT__HOST = 4,
    OMPJIT__ENDED = 8,
    OMPJIT__STALE = 16,
    OMPJIT__PENDING = 32
};
enum { OMPJIT__LIVE = OMPJIT__SAME | OMPJIT__DEVICE | OMPJIT__HOST };

/* For each entry a set. */
typedef struct ompjit__state {
    unsigned char of[OMPJIT__WALK_ENTRIES];
} ompjit__state;

/* Operands of __tgt_target_data_* from the left. */
enum {
    OMPJIT__MAP_ARG_DEVICE_NUMBER = 1,
    OMPJIT__MAP_ARG_BASES = 3,
    OMPJIT__MAP_ARG_TYPES = 6
};

extern const char ompjit__unknown_call[];
extern const char ompjit__begins_data[];
extern const char ompjit__ends_data[];
extern const char ompjit__reads_stale[];

bool ompjit__has_storage(uint64_t type);
uint32_t ompjit__walk_all(const ompjit__walk *w);
/* Those of the entries that may be in one of the states. */
uint32_t ompjit__walk_those(const ompjit__walk *w, const ompjit__state *s,
                            uint32_t all, unsigned char states);
void ompjit__walk_spoil_these(ompjit__walk *w, uint32_t all, const char *why);
/* If the mapping is not over. */
void ompjit__walk_become(ompjit__state *s, unsigned i, unsigned char now);
/* The host reads or writes. */
void ompjit__walk_touch(ompjit__walk *w, ompjit__state *s, ompjit__access *a,
                        bool writes);
void ompjit__walk_touch_by(ompjit__walk *w, const ompjit__frame *frame,
                           ompjit__state *s, LLVMValueRef i);
/* The place of a map's storage. */
ompjit__access ompjit__walk_mapped_at(const ompjit__walk *w,
                                      const ompjit__frame *frame,
                                      const ompjit__host_maps *m, unsigned k);
/* Entries that a mapping construct may mean. */
uint32_t ompjit__walk_meant(ompjit__walk *w, ompjit__access *a);
/* Is it that one entry for certain? */
bool ompjit__walk_is_one(ompjit__walk *w, const ompjit__access *a,
                         uint32_t all);
bool ompjit__walk_is_whole(ompjit__walk *w, const ompjit__frame *frame,
                           const ompjit__host_maps *m, unsigned k,
                           const ompjit__access *a, unsigned i);
void ompjit__walk_attach(ompjit__walk *w, const ompjit__frame *frame,
                         const ompjit__host_maps *m, unsigned k);
void ompjit__walk_updates(ompjit__walk *w, const ompjit__frame *frame,
                          ompjit__state *s, LLVMValueRef call);
void ompjit__walk_launch(ompjit__walk *w, const ompjit__frame *frame,
                         ompjit__state *s, LLVMValueRef call);
/* The only call of that name in the function that has the same arrays. */
LLVMValueRef ompjit__map_partner(LLVMValueRef call, const char *name);
void ompjit__walk_other_region(ompjit__walk *w, const ompjit__frame *frame,
                               ompjit__state *s, LLVMValueRef call, bool ends);
/* False: nothing is left to be watched. */
bool ompjit__walk_end_region(ompjit__walk *w, ompjit__state *s);
void ompjit__walk_foreign_call(ompjit__walk *w, const ompjit__frame *frame,
                               ompjit__state *s, LLVMValueRef call,
                               ompjit__call known);
/* Room for what functions do that were walked through; false: no memory. The
 * caller frees w->memos. */
bool ompjit__walk_make_memos(ompjit__walk *w);
void ompjit__walk_forget(ompjit__walk *w);
bool ompjit__state_merge(ompjit__state *into, const ompjit__state *s,
                         unsigned n);
ompjit__place ompjit__walk_widened(ompjit__place p);
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
/* Functions that functions outside were given run as often as may be. */
void ompjit__walk_run_given(ompjit__walk *w, const ompjit__frame *frame,
                            ompjit__state *s, LLVMValueRef call);
/* Functions that were registered for the program's end run. */
void ompjit__walk_end_program(ompjit__walk *w, const ompjit__frame *frame,
                              const ompjit__state *at_end);
void ompjit__walk_call_of_library(ompjit__walk *w, const ompjit__frame *frame,
                                  ompjit__state *s, LLVMValueRef call);
/* False: nothing comes behind the call. */
bool ompjit__walk_step_call(ompjit__walk *w, const ompjit__frame *frame,
                            ompjit__state *s, LLVMValueRef call);
/* From behind a call on, or (NULL) the whole function; false: it does not
 * return. */
bool ompjit__walk_function(ompjit__walk *w, const ompjit__frame *frame,
                           LLVMValueRef from, ompjit__state *s);
/* Goes on where the outermost function returns. */
struct ompjit__outer;
void ompjit__walk_outwards(ompjit__walk *w, const ompjit__frame *frame,
                           const struct ompjit__outer *left, ompjit__state *s);

#endif
