/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds where a pointer of unoptimized host code points, as far as that can be
 * said without running it: share.c compares such places.
 *
 *   struct mesh { long n; double *x; } *m;       m is a global variable
 *
 *   &m              root m, no loads, at[0] 0
 *   m->x            root m, 2 loads: at[0] 0, at[1] 8, at[2] 0
 *   &m->x[3]        the same, but at[2] 24
 *   &m->x[i]        the same, but not exact
 *
 * Two equal places are the same storage only as long as nothing is stored where
 * their loads read: here in m and in m->x. alias.c asks that. Two different
 * places may be the same storage, too.
 */
#ifndef OMPJIT_PASSES_HOSTHALF_PLACE_H
#define OMPJIT_PASSES_HOSTHALF_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

/* Pointers behind more loads are not known, and neither are parameters beyond
 * the first ARGS. */
enum { OMPJIT__PLACE_LOADS = 6, OMPJIT__PLACE_ARGS = 32 };

/* Begins at the root: a local or global variable, a parameter of the outermost
 * function, or a call's result. at[0] bytes behind it a pointer is loaded,
 * at[1] bytes behind where that points the next one, and so on. */
typedef struct ompjit__place {
    LLVMValueRef root; /* NULL: nothing is known                           */
    unsigned loads;
    int64_t at[OMPJIT__PLACE_LOADS + 1];
    bool exact; /* the last offset is known; else it is anywhere in there  */
} ompjit__place;

/* A function that is walked through, called by another one or the outermost
 * (`caller` NULL). `depth`: how many calls it is below the outermost. Frames
 * live on the stack of the walk, the inner ones no longer than the outer. */
typedef struct ompjit__frame {
    const struct ompjit__frame *caller;
    LLVMValueRef f, call; /* call: in the caller; NULL: not one of f's own */
    LLVMTargetDataRef layout;
    LLVMValueRef from; /* the call behind which the outermost function's walk
                          began                                             */
    bool resolves; /* variables that hold then what they were computed from
                      stand for that                                         */
    ompjit__place args[OMPJIT__PLACE_ARGS];
    unsigned depth;
    bool called_back; /* functions outside of the module call it           */
    bool ends;        /* the program ends                                  */
    bool forks;       /* threads of a parallel region call it              */
    bool is_given;    /* functions outside may call some of the module's   */
    /* Is the variable of the outermost function stored where the walk was? */
    bool (*was_stored)(const void *data, LLVMValueRef variable);
    const void *data;
} ompjit__frame;

/* The place that a pointer of the frame's function leads to. Parameters are
 * replaced by the frame's arguments. No root: not known, so anywhere. */
ompjit__place ompjit__place_of(const ompjit__frame *frame,
                               LLVMValueRef pointer);
/* Is what the variable of the outermost function is computed from the same at
 * frame->from as when it was stored, for the only time? */
bool ompjit__place_is_kept(const ompjit__frame *frame, LLVMValueRef variable);
/* The value that a variable always has, where it is stored once and only loaded
 * besides; else v. It follows a chain of such variables; clang makes one for
 * each parameter. */
LLVMValueRef ompjit__place_original(LLVMValueRef v);
/* Does the program use the variable's address other than to load, store and
 * map? If it does not, no pointer leads there. True where that is not known. */
bool ompjit__place_escapes(LLVMValueRef variable);
/* A branch to where a launch has failed, its successor 0: the host's version of
 * a kernel that never began. */
bool ompjit__is_launch_failure(LLVMValueRef branch);
/* A call that returns storage which nothing else points to: malloc, new. */
bool ompjit__place_is_fresh(LLVMValueRef call);
/* The function that a call calls, or a pointer to it. */
LLVMValueRef ompjit__callee(LLVMValueRef call);
/* The name of the function that a call calls; "": it is not known. */
const char *ompjit__callee_name(LLVMValueRef call);
bool ompjit__is_call_of(LLVMValueRef call, const char *name);
/* A call of OpenMP's runtime, other than by the program itself. */
bool ompjit__is_of_runtime(LLVMValueRef call);
/* Has the function the parameters for what an indirect call passes? By number
 * only: C allows no call with others. */
bool ompjit__may_call(LLVMValueRef call, LLVMValueRef f);

/* The number of the metadata "tbaa". */
unsigned ompjit__tbaa_kind(LLVMModuleRef m);
/* The type that a load or store has by the language's rules; NULL: any. clang
 * says it by !tbaa, from -O1 on. */
LLVMTypeRef ompjit__access_type(unsigned tbaa, LLVMValueRef access);
bool ompjit__is_scalar_type(LLVMTypeRef type);

/* An array of pointers that the program hands to the offloading runtime. */
bool ompjit__is_offload_array(LLVMValueRef variable);
/* Adds the bytes that a GEP does; false: they are not constant. */
bool ompjit__gep_offset(LLVMTargetDataRef layout, LLVMValueRef gep,
                        int64_t *sum);
/* The variable that the address lies in, and the offset; NULL: none, or not
 * known where. */
LLVMValueRef ompjit__variable_at(LLVMTargetDataRef layout,
                                 LLVMValueRef address, int64_t *at);
/* The value that is stored there by the only store; NULL: none or several. */
LLVMValueRef ompjit__stored_at(LLVMTargetDataRef layout, LLVMValueRef variable,
                               int64_t at);

#endif
