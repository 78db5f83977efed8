/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * From a program's target constructs to a device: which kernel a host address
 * stands for, its arguments, and its launch; and a program's host half. Which
 * data is present, and what has to be copied, is mapping/'s. For the rooms
 * above (hosthalf/, api/); the files of this room share program.h.
 */
#ifndef OMPJIT_OFFLOAD_H
#define OMPJIT_OFFLOAD_H

#include "launch/request.h"
#include "mapping/mapping.h"

/* A whole target construct: map, run the kernel, unmap. Returns when it has
 * ended. MAPPING errors, and those of the launch; request->begun tells whether
 * the kernel may have changed anything. Any thread. target_construct.c */
ompjit_status ompjit__map_run(ompjit_device *dev, const ompjit__maps *maps,
                              ompjit_module *mod, unsigned kernel,
                              const ompjit__request *request,
                              ompjit_error *err);

/* ------------------------------------------------ served programs (program.c)
 * The __tgt_* and omp_* functions that clang's host code calls. Each takes the
 * context first; the JIT binds that argument (program_code.c). */

/* One function to bind: its name in the program, and ours. The table comes
 * from abi/entry_points.def. */
typedef struct ompjit__served {
    const char *name;      /* __tgt_target_kernel                         */
    void *address;         /* takes ompjit_context * before its arguments;
                              or exactly the program's own arguments where
                              has_context is false                        */
    bool has_context;
    const char *signature; /* "i:plii..." result and arguments, without the
                              context: v void, i i32, l i64, s size_t, p
                              pointer                                     */
} ompjit__served;
extern const ompjit__served ompjit__served_table[];
extern const size_t ompjit__served_count;

/* The code that a program registers (library.h), of the file `name`. */
typedef struct ompjit__library_code {
    const char *name;
    const ompjit__device_image *images;
    unsigned n;
    const struct ompjit__entries *entries;
} ompjit__library_code;

/* Modules of registered code, which the rooms above make and end. */
typedef struct ompjit__module_maker {
    ompjit_status (*make)(ompjit_context *ctx,
                          const ompjit__library_code *code,
                          ompjit_module **out, ompjit_error *err);
    void (*destroy)(ompjit_module *mod);
    void (*tell)(ompjit_module *mod); /* what destroy tells */
} ompjit__module_maker;

/* One for each context, made with it (ctx->tgt); touches no device. Freed
 * before the devices are closed. NULL: out of memory. */
struct ompjit__tgt *ompjit__tgt_new(ompjit_context *ctx,
                                    const ompjit__module_maker *maker);
void ompjit__tgt_free(struct ompjit__tgt *tgt);
/* Of all modules of registered libraries, for a process that exits, which keeps
 * them. Any thread. library.c */
void ompjit__libraries_tell(struct ompjit__tgt *tgt);

/* A served function cannot return an error. Its text goes to the log, the
 * first one is kept, and then the hook is called, if there is one; it may end
 * the process or jump out. If it returns, `after` says what follows. */
typedef void ompjit__tgt_fatal_fn(void *data, const ompjit_error *err);
void ompjit__tgt_on_fatal(ompjit_context *ctx, ompjit__tgt_fatal_fn *fn,
                          void *data, ompjit_after_failure after);
/* Does a failure end the process? */
bool ompjit__tgt_ends(struct ompjit__tgt *tgt);
/* Log, keep, call the hook, end the process if that is asked for. Not under any
 * lock. */
void ompjit__tgt_fail(struct ompjit__tgt *tgt, const ompjit_error *err);
/* Returns the error that was kept, filling *err, and forgets it; OMPJIT_OK
 * where there is none. */
ompjit_status ompjit__tgt_error(ompjit_context *ctx, ompjit_error *err);

/* Tells the served functions what a program's offload entries are: `key` is
 * the host address by which host code names the kernel or variable. `size` and
 * `flags` are the entry's; of a `requires` entry (flag 0x10) `size` is its
 * data, and `host` and `symbol` are not used. `symbol` is copied. The kernel
 * OMPJIT__NO_KERNEL is a region that has no device version. */
#define OMPJIT__NO_KERNEL UINT32_MAX
ompjit_status ompjit__tgt_add_kernel(ompjit_context *ctx, const void *key,
                                     ompjit_module *mod, unsigned kernel,
                                     ompjit_error *err);
ompjit_status ompjit__tgt_add_global(ompjit_context *ctx, void *host,
                                     uint64_t size, uint32_t flags,
                                     ompjit_module *mod, const char *symbol,
                                     ompjit_error *err);
/* Forgets all entries of a module, and unmaps its globals. Before the module
 * is unloaded from its devices. */
void ompjit__tgt_remove(ompjit_context *ctx, ompjit_module *mod);
/* The module has other device code, with the same kernels: its globals are entered
 * where the code before could not be built, and forgotten where this one has not
 * got them. */
void ompjit__tgt_exchanged(ompjit_context *ctx, ompjit_module *mod);

/* Data that a guarded call has mapped: notes it; forgets it, when it is unmapped;
 * and forgets all at the end of the call, after unmapping it where the call was
 * left in its middle. begun.c */
struct ompjit__call_guard;
void ompjit__begun_add(struct ompjit__call_guard *call, ompjit_device *dev,
                       const ompjit__maps *maps);
void ompjit__begun_remove(struct ompjit__call_guard *call,
                          const ompjit__maps *maps);
void ompjit__begun_end(struct ompjit__call_guard *call, bool undo);

/* ------------------------------------------------- host half (program_code.c)
 * The host half of a unit, compiled into this process with its __tgt_* calls
 * bound to the context. */

typedef struct ompjit__hostjit ompjit__hostjit; /* one for each module */

/* Compiles, registers the offload entries with tgt, runs the static
 * constructors. */
ompjit_status ompjit__hostjit_new(ompjit_module *mod, ompjit__hostjit **out,
                                  ompjit_error *err);
/* Runs the program's destructors, and unmaps its code. Accepts NULL. */
void ompjit__hostjit_free(ompjit__hostjit *jit);
/* The address of a function of the module that others may call, whose host half
 * is made where it is not yet. Any thread. */
ompjit_status ompjit__hostjit_function(ompjit_module *mod, const char *name,
                                       void **address, ompjit_error *err);
/* The half's code. */
const struct ompjit__module_code *
ompjit__hostjit_code(const ompjit__hostjit *jit);
/* Has the half constructs that may go on when its functions have returned? */
bool ompjit__hostjit_defers(const ompjit__hostjit *jit);
/* The address of a function that others may call. */
ompjit_status ompjit__hostjit_lookup(ompjit__hostjit *jit, const char *name,
                                     void **address, ompjit_error *err);

/* Runs the constructors of a module that is one of several (ompjit__linkage),
 * where they do not run by themselves. */
void ompjit__hostjit_construct(const ompjit__hostjit *jit);
/* The address of any symbol that others see. NOT_FOUND. */
ompjit_status ompjit__hostjit_symbol(ompjit__hostjit *jit, const char *name,
                                     void **address, ompjit_error *err);
/* No code of a module that is one of several runs any more: nobody asks for its
 * lines. */
void ompjit__hostjit_forget_lines(ompjit__hostjit *jit);
/* Is the instruction the half's? In signal handlers, too. False where nobody
 * knows. */
bool ompjit__hostjit_has(const ompjit__hostjit *jit, uintptr_t pc);
/* Appends " (FILE:LINE)" of an instruction; false: it is not the half's. */
bool ompjit__hostjit_place(ompjit__hostjit *jit, uintptr_t pc,
                           ompjit__buf *text);

#endif
