/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR of clang 18 to 22 to LLVM 22's dialect, checked. A device half's way:
 *
 *   flang's mistakes   corrected                                      flang.c
 *   linked libraries   dropped                                   libraries.cc
 *   checked            triple, producer, runtime calls, kernels      upgrade.c
 *   debug bodies       inlined into their kernels            debug_wrapper.cc
 *   old calls          lengthened                                   upgrade.c
 *   regions            get functions for the workers         region_wrapper.c
 *   locals             moved to where all threads see them    shared_locals.c
 *   allocations        get an alignment                             upgrade.c
 *   reductions         corrected                                  reduction.c
 *
 * and then, with the host half: lambda.c, unified.cc. A host half is checked,
 * and its kernel arguments and entries become clang 22's (upgrade.c).
 */
#ifndef OMPJIT_DIALECT_H
#define OMPJIT_DIALECT_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Checks a device half, and brings it to LLVM 22's dialect. Requires verified
 * IR. On an error, of all faults at once, nothing has been changed where a
 * check found them. Any thread, one for each LLVM context, as all of this room.
 * upgrade.c */
ompjit_status ompjit__upgrade_device(LLVMModuleRef m, const char *name,
                                     ompjit_error *err);
/* Adds what is wrong with a device half's kernels: their environments, their
 * parameters, how they start. Changes nothing. kernel_check.c */
void ompjit__check_kernels(LLVMModuleRef m, ompjit__findings *findings);
/* Adds calls in code of CUDA that need a launch environment. kernel_check.c */
void ompjit__check_no_buffer(LLVMModuleRef m, ompjit__findings *findings);
/* The one call of a function that is a kernel's body under full debug
 * information; NULL: it is none. kernel_check.c */
LLVMValueRef ompjit__debug_kernel_call(LLVMValueRef f);
/* Corrects a device half that flang has made; others stay as they are. Before
 * any check, which would refuse it. flang.c */
void ompjit__mend_flang(LLVMModuleRef m);
/* Has procedures find variables of `declare target link` where they are mapped. A
 * step of it. link_variables.cc */
void ompjit__load_link_variables(LLVMModuleRef m);
/* Has flang made the module? flang.c */
bool ompjit__is_flang(LLVMModuleRef m);
/* Its kernels' modes, once all calls have LLVM 22's form. flang.c */
void ompjit__mend_flang_modes(LLVMModuleRef m);
/* May the code around a kernel's only parallel region not be run by all threads
 * of a team? True also without memory; false where openmp-opt has made it code
 * for all threads. main_thread.c */
bool ompjit__needs_main_thread(LLVMValueRef kernel);
/* The functions of libraries that have been linked into a device half, LLVM's
 * device runtime and CUDA's libdevice, are declarations again, and what only
 * they use is gone. Before any check. libraries.cc */
void ompjit__drop_libraries(LLVMModuleRef m);
/* Makes such bodies part of their kernels, which describe/ and the passes look
 * into. A body that LLVM cannot inline stays. debug_wrapper.cc */
void ompjit__inline_debug_kernels(LLVMModuleRef m);
/* Brings parallel regions in the form of host code to that of LLVM 22's device
 * code. Requires checked calls. fork_calls.c */
void ompjit__lower_forks(LLVMModuleRef m);
/* Gives the regions of generic kernels wrappers where calls have none. Requires
 * LLVM 22's dialect. NO_MEMORY. region_wrapper.c */
ompjit_status ompjit__wrap_regions(LLVMModuleRef m, ompjit_error *err);
/* Does the kernel's main thread run what is in no parallel region?
 * region_wrapper.c */
bool ompjit__is_generic(LLVMModuleRef m, LLVMValueRef f);
/* Moves locals of such kernels that their regions refer to where every thread
 * of the team sees them. Requires LLVM 22's dialect. ABI errors.
 * shared_locals.c */
ompjit_status ompjit__share_locals(LLVMModuleRef m, const char *name,
                                   ompjit_error *err);
/* Has flang's reductions of arrays add up. array_reduction.c */
void ompjit__mend_array_reductions(LLVMModuleRef m);
/* Gives captured pointers to arrays of variable length the values that clang
 * leaves out. IR, where they cannot be told from each other.
 * array_pointers.c */
ompjit_status ompjit__mend_array_pointers(LLVMModuleRef m, ompjit_error *err);
/* Is it a call of `alloc`, __kmpc_alloc_shared, for 8 bytes? member_copies.c */
bool ompjit__gets_word(LLVMValueRef call, LLVMValueRef alloc);
/* Joins the parts of untied tasks, whose locals clang would lose. untied_tasks.c
 */
void ompjit__mend_untied_tasks(LLVMModuleRef m);
/* Corrects clang's copies of members of classes that are firstprivate. Before
 * ompjit__share_locals, which would refuse them. member_copies.c */
void ompjit__mend_member_copies(LLVMModuleRef m);
/* Corrects clang's mistakes in the functions of reductions. NO_MEMORY.
 * reduction.c */
ompjit_status ompjit__mend_reductions(LLVMModuleRef m, ompjit_error *err);
/* Likewise of clang's IR of a CUDA source. upgrade.c */
ompjit_status ompjit__upgrade_cuda(LLVMModuleRef m, const char *name,
                                   ompjit_error *err);
/* Likewise of a host half, which has to be for this CPU: versions of kernel
 * arguments, and offload entries in clang 22's layout. upgrade.c */
ompjit_status ompjit__upgrade_host(LLVMModuleRef m, const char *name,
                                   ompjit_error *err);

/* Adds the properties of CUDA's kernels, once they are described: how many
 * threads they are for, and that those which call the OpenMP runtime begin by
 * preparing it. SOURCE error for parameters that no launch can pass.
 * cuda_kernel.c */
ompjit_status ompjit__cuda_kernels(LLVMModuleRef m, ompjit__unit *unit,
                                   ompjit_error *err);

/* Adds an entry for a pointer of the host half, as `declare target link` has
 * it: registration fills the device's pointer of that name with the address of
 * what this one points to. upgrade.c */
void ompjit__link_entry(LLVMModuleRef host, LLVMValueRef pointer);
/* Adds an entry for a variable of the host half, of which the device has one of
 * that name and size in bytes. upgrade.c */
void ompjit__variable_entry(LLVMModuleRef host, LLVMValueRef variable,
                            const char *name, uint64_t size);
/* Gives variables and constants of the device half the first values that clang
 * leaves out. True: it has changed. first_values.cc */
bool ompjit__copy_first_values(LLVMModuleRef device, LLVMModuleRef host);
/* Adds entries for variables of `declare target` that front ends leave out, as
 * `static` ones. True: both halves have changed. unlisted.cc */
bool ompjit__list_variables(LLVMModuleRef device, LLVMModuleRef host);
/* Gives target regions of functions that other files cannot see, names that these
 * do not have. True: both halves have changed. own_regions.cc */
bool ompjit__own_regions(LLVMModuleRef device, LLVMModuleRef host);
/* In a program that requires unified shared memory, the variables that device
 * code refers to become the host's. True: both halves may have changed, and the
 * host half's bitcode is to be written again. unified.cc */
bool ompjit__unify_variables(LLVMModuleRef device, LLVMModuleRef host);
/* In an input of a session, entries for the device half's pointers to variables
 * of earlier inputs. True: the host half has changed. unified.cc */
bool ompjit__point_to_session(LLVMModuleRef device, LLVMModuleRef host);

/* Appends as much of a host half as a device half reads, as bitcode: what clang
 * takes by -fopenmp-host-ir-file-path. out->failed where memory runs out.
 * offload_info.c */
void ompjit__offload_info(LLVMModuleRef host, ompjit__buf *out);

/* ---------------------------------------------------- lambdas (lambda.c) */

/* A target region in whose name clang has numbered lambdas. */
typedef struct ompjit__lambda_region {
    char *symbol, *pattern; /* its name, and that without numbers        */
    char *places;           /* where the lambdas stand that it calls     */
    char apart[40];         /* its name while kernels are being renamed ... */
    bool taken;             /* ... and whether it has another by now     */
} ompjit__lambda_region;
typedef struct ompjit__lambda_regions {
    ompjit__lambda_region *v;
    size_t n;
    unsigned numbers; /* all are below this */
    bool failed;      /* no memory          */
} ompjit__lambda_regions;

/* Fills `out`, which is zero, with those of a half, which has line information;
 * `failed` where memory runs out. The caller frees the list in any case. */
void ompjit__lambda_regions_find(LLVMModuleRef m, ompjit__lambda_regions *out);
void ompjit__lambda_regions_free(ompjit__lambda_regions *all);
/* Has the device half, bitcode, the same regions by the same names? True as
 * well where it cannot be read: reading it as a half will say why. */
bool ompjit__lambda_regions_agree(const ompjit__lambda_regions *host,
                                  const ompjit__buf *device);
/* How many types without a name the module uses. unnamed_types.cc */
unsigned ompjit__unnamed_types(LLVMModuleRef m);
/* As ompjit__offload_info, with all numbers that lambdas can have. False: those
 * are too many. */
bool ompjit__lambda_info(LLVMModuleRef host, unsigned numbers,
                         ompjit__buf *out);
/* Names a device half's kernels as the host half does, where it was compiled
 * with that. SOURCE error where it is not clear which are the same. */
ompjit_status ompjit__lambda_regions_rename(LLVMModuleRef m,
                                            const ompjit__lambda_regions *host,
                                            ompjit_error *err);

#endif
