/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR to a unit, whoever made the IR:
 *
 *   ir.c        reads, verifies and writes both halves
 *   dialect/    LLVM 22's dialect, and what it must be (upgrade.c)
 *   describe/   kernels, parameters and variables
 */
#ifndef OMPJIT_FRONTEND_H
#define OMPJIT_FRONTEND_H

#include <llvm-c/Types.h>

#include "core/core.h"

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

/* Those of a half, which has line information. */
void ompjit__lambda_regions_find(LLVMModuleRef m, ompjit__lambda_regions *out);
void ompjit__lambda_regions_free(ompjit__lambda_regions *all);
/* Has the device half, bitcode, the same regions by the same names? */
bool ompjit__lambda_regions_agree(const ompjit__lambda_regions *host,
                                  const ompjit__buf *device);
/* As ompjit__offload_info, with all numbers that lambdas can have. False: those
 * are too many. */
bool ompjit__lambda_info(LLVMModuleRef host, unsigned numbers,
                         ompjit__buf *out);
/* Names a device half's kernels as the host half does, where it was compiled
 * with that. SOURCE error where it is not clear which are the same. */
ompjit_status ompjit__lambda_regions_rename(LLVMModuleRef m,
                                            const ompjit__lambda_regions *host,
                                            ompjit_error *err);

/* ------------------------------------------------------------ IR to unit */

/* As much of a host half as a device half reads, as bitcode. offload_info.c */
void ompjit__offload_info(LLVMModuleRef host, ompjit__buf *out);

/* A host half that is read while the device half is still being compiled. */
typedef struct ompjit__early ompjit__early;

/* own_lines: nobody asked for its line information; all_numbers: the device half is
 * compiled by ompjit__early_numbers. NULL without memory; the caller frees
 * it. ir.c */
ompjit__early *ompjit__early_read(const ompjit__buf *host, const char *name,
                                  bool own_lines, bool all_numbers);
/* Appends what a device half reads of its host half, as bitcode; nothing where
 * the host half could not be read. */
void ompjit__early_info(const ompjit__early *early, ompjit__buf *info);
/* Has the device half, bitcode, its regions by the host half's names? */
bool ompjit__early_agrees(const ompjit__early *early,
                          const ompjit__buf *device);
/* As ompjit__early_info, with every number that lambdas can have, for a device
 * half that is then renamed. False: those are too many. */
bool ompjit__early_numbers(const ompjit__early *early, ompjit__buf *info);
void ompjit__early_free(ompjit__early *early); /* accepts NULL */

/* Reads, upgrades, checks and describes both halves. `early` may be NULL: the
 * host half has not been read. ir.c */
ompjit_status ompjit__unit_read(const ompjit__buf *device,
                                const ompjit__buf *host, const char *name,
                                unsigned opt_level, ompjit__early *early,
                                ompjit__unit *out, ompjit_error *err);
/* Likewise of CUDA, whose kernels are the unit's. ir.c */
ompjit_status ompjit__unit_read_cuda(const ompjit__buf *device,
                                     const char *name, unsigned opt_level,
                                     ompjit__unit *out, ompjit_error *err);
/* To LLVM 22's dialect. IR errors for what cannot be. upgrade.c */
ompjit_status ompjit__upgrade_device(LLVMModuleRef m, const char *name,
                                     ompjit_error *err);
/* Adds what is wrong with a device half's kernels: their environments, their
 * parameters, how they start. kernel_check.c */
void ompjit__check_kernels(LLVMModuleRef m, ompjit__findings *findings);
/* The one call of a function that is a kernel's body under full debug
 * information; NULL: it is none. kernel_check.c */
LLVMValueRef ompjit__debug_kernel_call(LLVMValueRef f);
/* Makes such bodies part of their kernels. debug_wrapper.cc */
void ompjit__inline_debug_kernels(LLVMModuleRef m);
/* Gives the regions of generic kernels wrappers where calls have none. Of LLVM
 * 22's dialect. region_wrapper.c */
ompjit_status ompjit__wrap_regions(LLVMModuleRef m, ompjit_error *err);
/* Does the kernel's main thread run what is in no parallel region?
 * region_wrapper.c */
bool ompjit__is_generic(LLVMModuleRef m, LLVMValueRef f);
/* Moves locals of such kernels that their regions refer to where every thread
 * of the team sees them. Of LLVM 22's dialect. ABI errors. shared_locals.c */
ompjit_status ompjit__share_locals(LLVMModuleRef m, const char *name,
                                   ompjit_error *err);
/* Corrects clang's mistakes in the functions of reductions. reduction.c */
ompjit_status ompjit__mend_reductions(LLVMModuleRef m, ompjit_error *err);
ompjit_status ompjit__upgrade_cuda(LLVMModuleRef m, const char *name,
                                   ompjit_error *err);
/* upgrade.c calls it for the function that starts a kernel. */
ompjit_status ompjit__upgrade_host(LLVMModuleRef m, const char *name,
                                   ompjit_error *err);
/* Fills kernels and globals. `host` may be NULL. describe.c */
ompjit_status ompjit__describe(LLVMModuleRef device, LLVMModuleRef host,
                               ompjit__unit *unit, ompjit_error *err);
/* Can a kernel of that mode (ompjit_mode) get other results from teams of
 * several threads than from teams of one? observe.c */
bool ompjit__observes_threads(LLVMValueRef kernel, uint8_t mode);
/* Fills written and writes_loaded of a kernel that has its parameters; `r`:
 * what it reaches. writes.c */
struct ompjit__reached;
void ompjit__find_writes(LLVMValueRef kernel, const struct ompjit__reached *r,
                         ompjit__kernel_desc *k);

/* ---------------------------------------------------------- CUDA (cuda.c) */

/* What is particular to CUDA's kernels, once they are described: how many
 * threads they are for, and that those which call the OpenMP runtime begin by
 * preparing it. SOURCE error for parameters that no launch can pass.
 * cuda_kernel.c */
ompjit_status ompjit__cuda_kernels(LLVMModuleRef m, ompjit__unit *unit,
                                   ompjit_error *err);

/* A kernel's `<symbol>_kernel_environment`, or NULL. describe.c */
LLVMValueRef ompjit__environment_variable(LLVMModuleRef m, LLVMValueRef fn);
uint8_t ompjit__environment_mode(LLVMValueRef env); /* ompjit_mode */
bool ompjit__is_kernel(LLVMValueRef fn);

/* One offload entry of a host half, whichever layout it has. host_entries.c */
typedef struct ompjit__entry {
    LLVMValueRef address, name; /* globals, or NULL */
    uint64_t size;
    uint32_t flags;
    uint64_t data;
    bool old; /* 32 bytes, as clang 18 and 19 write them */
} ompjit__entry;
bool ompjit__entry_read(LLVMValueRef global, ompjit__entry *out);

/* Do the host half's entries say that the program requires unified shared
 * memory? host_entries.c */
bool ompjit__requires_unified(LLVMModuleRef host);
/* Adds an entry for a pointer of the host half, as `declare target link` has
 * it. upgrade.c */
void ompjit__link_entry(LLVMModuleRef host, LLVMValueRef pointer);
/* What device code refers to of such a program's variables is the host's. True:
 * that changed both halves. unified.cc */
bool ompjit__unify_variables(LLVMModuleRef device, LLVMModuleRef host);

/* The map types and sizes that the host half passes when it launches the
 * kernel: n of them, malloc'd, 0 where they are not constant. n is 0 where no
 * launch is found. */
typedef struct ompjit__host_args {
    bool known;     /* a launch was found                          */
    uint32_t teams; /* it asks for; 0: the device's choice, or not
                       constant                                    */
    uint32_t threads; /* that a team may have, likewise              */
    unsigned n;
    uint64_t *types, *sizes;
    LLVMValueRef *passed; /* base pointers or literal values; NULL: not found */
} ompjit__host_args;
ompjit_status ompjit__host_args_find(LLVMModuleRef host, const char *symbol,
                                     ompjit__host_args *out,
                                     ompjit_error *err);
void ompjit__host_args_free(ompjit__host_args *args);
/* Fills `kind` and `source_order` of the parameters of the kernel `fn`. passed:
 * what the host half passes for each, or NULL. param_types.c */
ompjit_status ompjit__param_types(LLVMValueRef fn, const LLVMValueRef *passed,
                                  ompjit__kernel_desc *k, ompjit_error *err);
/* The field of a __tgt_kernel_arguments that a store writes, by byte offset;
 * -1 if the store is not into `args`. */
int64_t ompjit__store_offset(LLVMValueRef store, LLVMValueRef args);

#endif
