/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The objects that pointers of a host half may lead to, wherever the program
 * is: a points-to analysis by inclusion, for share.c. points.c has an example.
 *
 * Answers are of two kinds. Those of "may" name every object that is possible,
 * and too many are right, too: `anything` is always a right answer. Answers of
 * "for certain" (one, once, only) are 0, NULL or false where it is not known.
 * No answer changes once the analysis is made; all functions belong to one
 * thread, since some of them note what they have found. Values and functions
 * are the module's, which must not change as long as the answers are asked.
 */
#ifndef OMPJIT_PASSES_HOSTHALF_POINTS_H
#define OMPJIT_PASSES_HOSTHALF_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "passes/hosthalf/points/place.h"

typedef struct ompjit__points ompjit__points;

/* The most locations that a set lists. One more, and the objects in it join the
 * crowd (points_set.c). */
enum { OMPJIT__POINTS_MOST = 24 };

/* The locations that a pointer may lead to: each an object's number and an
 * offset in bytes, packed (points_graph.h). Compare them with the functions
 * below, not as numbers: an object may stand for several. */
typedef struct ompjit__targets {
    unsigned n;
    bool anything; /* everywhere */
    uint64_t at[OMPJIT__POINTS_MOST];
} ompjit__targets;

/* Analyses a module. The caller frees it with ompjit__points_free, which takes
 * NULL, too. NULL: no memory, or too much work; then nothing is known of
 * pointers. `whole`: nothing outside of the module calls its functions, but
 * main. `layout` is borrowed. */
ompjit__points *ompjit__points_create(LLVMModuleRef m,
                                      LLVMTargetDataRef layout, bool whole);
void ompjit__points_free(ompjit__points *points);

/* The locations where a pointer may lead: by a value (NULL: it is not known)
 * and by a place (no root: neither). */
ompjit__targets ompjit__points_of(ompjit__points *points,
                                  LLVMValueRef pointer,
                                  const ompjit__place *place);
/* Into what pointers lead that are stored so many bytes behind where the value
 * leads. */
ompjit__targets ompjit__points_held(ompjit__points *points,
                                    LLVMValueRef pointer, int64_t offset);
/* The one place where the pointer leads for certain, whenever it is computed,
 * and no other one; 0: it is not known. By a value (NULL: it is not known) or a
 * place (no root: neither). points_once.c */
uint64_t ompjit__points_one(ompjit__points *points, LLVMValueRef pointer,
                            const ompjit__place *place);
/* Does the program run the instruction once at most? */
bool ompjit__points_runs_once(const ompjit__points *points, LLVMValueRef i);
/* The argument of the function's only call; NULL: not known. `once`: the
 * parameter has one value in the whole program. */
LLVMValueRef ompjit__points_only_argument(const ompjit__points *points,
                                          LLVMValueRef param, bool *once);
/* The only store of what is loaded, in the whole program; NULL: not known. */
LLVMValueRef ompjit__points_only_store(ompjit__points *points,
                                       LLVMValueRef load);
/* Have they one and the same object, which was allocated? */
bool ompjit__points_in_heap(const ompjit__points *points,
                            const ompjit__targets *a,
                            const ompjit__targets *b);
/* May they have an object in common? Offsets play no role. */
bool ompjit__targets_meet(const ompjit__points *points,
                          const ompjit__targets *a, const ompjit__targets *b);
/* Leaves those of `a` whose objects `b` has, too. If none would be left, `a`
 * stays. */
void ompjit__targets_restrict(const ompjit__points *points, ompjit__targets *a,
                              const ompjit__targets *b);
/* May words at the two locations overlap? */
bool ompjit__locations_meet(const ompjit__points *points, uint64_t a,
                            uint64_t b);
/* The functions that an indirect call may call. */
typedef struct ompjit__callees {
    unsigned n;
    LLVMValueRef function[OMPJIT__POINTS_MOST];
    bool library; /* and some outside of the module */
} ompjit__callees;

/* False: any function. */
bool ompjit__points_callees(ompjit__points *points, LLVMValueRef callee,
                            ompjit__callees *out);

/* All to which functions outside of the module have pointers. */
ompjit__targets ompjit__points_outside(const ompjit__points *points);
/* Have they functions of the module? */
bool ompjit__points_given(const ompjit__points *points);
/* Those, from the i-th object on; NULL: no more. */
LLVMValueRef ompjit__points_next_given(const ompjit__points *points,
                                       unsigned *i);

#endif
