/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A unit's description: kernels, parameters, variables, and what the IR tells
 * of them.
 */
#ifndef OMPJIT_DESCRIBE_H
#define OMPJIT_DESCRIBE_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Fills kernels and globals. `host` may be NULL: then kernels have no map
 * types, and no launch says their teams. Changes neither half. IR error for a
 * parameter that no launch can pass, NO_MEMORY; the caller frees the unit, also
 * then. describe.c */
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

/* A kernel's `<symbol>_kernel_environment`, or NULL. describe.c */
LLVMValueRef ompjit__environment_variable(LLVMModuleRef m, LLVMValueRef fn);
/* The ompjit_mode of a kernel's environment; 0 (bare) where the environment has
 * no constant there. */
uint8_t ompjit__environment_mode(LLVMValueRef env);
/* Is it a definition with the calling convention ptx_kernel? Kernels that
 * nvvm.annotations name have it as well: LLVM's reader upgrades them. */
bool ompjit__is_kernel(LLVMValueRef fn);

/* One offload entry of a host half, whichever layout it has: a constant that
 * clang writes for each target region, each `declare target` variable and each
 * `requires` directive, and that registration reads (omptarget/). The globals
 * are the module's. host_entries.c */
typedef struct ompjit__entry {
    LLVMValueRef address, name; /* globals, or NULL; the name is a text */
    uint64_t size;  /* bytes of a variable; 0: a region or a function   */
    uint32_t flags; /* OMPTargetGlobalVarEntryKind and its kin          */
    uint64_t data;  /* of the requires entry: its clauses               */
    bool old; /* 32 bytes, as clang 18 and 19 write them */
} ompjit__entry;
/* Has a compiler made it an entry, by its name and section? Those that are
 * written by hand, in C, are the program's own, which registers them. */
bool ompjit__is_entry(LLVMValueRef global);
/* False: the global is no entry, or one of an unknown layout, and `out` is not
 * set. */
bool ompjit__entry_read(LLVMValueRef global, ompjit__entry *out);

/* Do the host half's entries say that the program requires unified shared
 * memory? host_entries.c */
bool ompjit__requires_unified(LLVMModuleRef host);

/* Is it a variable of the program's that code changes, in global memory? Not a
 * team's, nor a thread's. variables.c */
bool ompjit__is_storage(LLVMValueRef g);
/* Is it storage that all images of a unit must have in common? variables.c */
bool ompjit__is_shared_variable(LLVMValueRef g);

/* Clang puts a loop round a critical section, in which each thread of a team
 * has its turn. Returns the comparison that ends the loop for the one by which
 * a thread knows its turn; NULL: `compare` is not such a one.
 * critical_turns.c */
LLVMValueRef ompjit__turn_limit(LLVMValueRef compare);
/* Is it the comparison that ends such a loop? */
bool ompjit__limits_turns(LLVMValueRef compare);

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
/* `out` is set in any case, empty where no launch is found, which is no error:
 * a device half may come alone. NO_MEMORY. The caller frees it.
 * host_entries.c */
ompjit_status ompjit__host_args_find(LLVMModuleRef host, const char *symbol,
                                     ompjit__host_args *out,
                                     ompjit_error *err);
void ompjit__host_args_free(ompjit__host_args *args);
/* Fills `kind` and `source_order` of the parameters of the kernel `fn`, which
 * has its other facts already. passed: the value that the host half passes for
 * each, or NULL where that is not known. NO_MEMORY. param_types.c */
ompjit_status ompjit__param_types(LLVMValueRef fn, const LLVMValueRef *passed,
                                  ompjit__kernel_desc *k, ompjit_error *err);
/* Has a format of printf's no %n, by which it would write? False where the text
 * is not known. writes.c */
bool ompjit__format_only_reads(LLVMValueRef format);
/* The field of a __tgt_kernel_arguments that a store writes, by byte offset;
 * -1 if the store is not into `args`. */
int64_t ompjit__store_offset(LLVMValueRef store, LLVMValueRef args);
/* The only value that is stored right at an address; NULL: none, or several.
 * param_types.c */
LLVMValueRef ompjit__only_stored(LLVMValueRef address);

#endif
