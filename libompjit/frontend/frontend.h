/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the files of the front end share. The way of a C snippet:
 *
 *   find.c      which clang, its headers
 *   command.c   the two command lines (flags.c: the user's flags in them)
 *   clang.c     a pair of processes for them, new or kept warm
 *   unit_cache.c    units that the cache has
 *   clang_io.c  source in; bitcode and diagnostics out
 *   region_guess.c     what the device half needs of the host half, ahead of it
 *   lambda.c    the halves' numbers of lambdas, where they differ
 *   diagnose.c  what the application gets to read of the diagnostics
 *   ir.c        both halves into a unit, as for IR that was given:
 *               upgrade.c (kernel_check.c, debug_wrapper.cc,
 *               region_wrapper.c, shared_locals.c, reduction.c),
 *               host_entries.c, describe.c
 *               (param_types.c, reach.c, observe.c), kernel_name.c
 */
#ifndef OMPJIT_FRONTEND_H
#define OMPJIT_FRONTEND_H

#include <sys/types.h>

#include <llvm-c/Types.h>

#include "core/core.h"

/* ------------------------------------------------ arguments (command.c) */

/* A growing argv, NULL-terminated once anything was added; `failed` is sticky
 * as in ompjit__buf. */
typedef struct ompjit__args {
    char **v;
    size_t n, capacity;
    bool failed;
} ompjit__args;

void ompjit__args_add(ompjit__args *args, const char *arg);
void ompjit__args_free(ompjit__args *args);

/* ------------------------------------------------------ clang (find.c) */

/* Everything that is known of the installed compiler. */
typedef struct ompjit__clang {
    char *path;          /* of the executable                          */
    char *resource_dir;  /* of its own headers                         */
    char *triple;        /* of this machine                            */
    ompjit__args c_dirs; /* system headers of C, in order              */
    ompjit__args cxx_dirs; /* those that C++ has before them           */
} ompjit__clang;

/* Finds clang: `wanted` (the context's option, or NULL), OMPJIT_CLANG, the
 * one configure found, PATH. UNAVAILABLE error that lists what was tried. */
ompjit_status ompjit__clang_find(const char *wanted, unsigned time_limit,
                                 ompjit__clang *out, ompjit_error *err);
void ompjit__clang_free(ompjit__clang *clang);
/* OK if the executable says that it is clang 22, else UNAVAILABLE error that
 * names what was found. */
ompjit_status ompjit__clang_check(const ompjit__clang *clang,
                                  unsigned time_limit, ompjit_error *err);

/* -------------------------------------- command lines (command.c, flags.c) */

/* The files that a half has read come with its diagnostics, as a make rule for
 * this target. */
#define OMPJIT__DEPS_TARGET "ompjit-deps"

typedef struct ompjit__command {
    ompjit__args host, device;
} ompjit__command;

/* Do the flags ask for line tables? */
bool ompjit__lines_wanted(const ompjit_module_options *options);
/* The cc1 command lines of both halves. options are not NULL. */
ompjit_status ompjit__command_make(const ompjit__clang *clang,
                                   const ompjit_module_options *options,
                                   ompjit__command *out, ompjit_error *err);
/* Of CUDA, which has a device half only. */
ompjit_status ompjit__command_make_cuda(const ompjit__clang *clang,
                                        const ompjit_module_options *options,
                                        ompjit__command *out,
                                        ompjit_error *err);
void ompjit__command_free(ompjit__command *command);
/* Adds the user's flags to both command lines. `dir` is the source's folder
 * or NULL. INVALID error for one that cannot work. */
ompjit_status ompjit__flags_add(const ompjit_module_options *options,
                                const char *dir, ompjit__command *command,
                                ompjit_error *err);
const char *ompjit__source_name(const ompjit_module_options *options);

/* -------------------------------------------------- processes (process.c) */

/* A child that leads its own process group. Descriptors are ours, do not
 * block and are -1 when closed. */
typedef struct ompjit__child {
    pid_t pid;     /* 0: none                                   */
    int source;    /* write end of its standard input           */
    int host_ir;   /* write end of its descriptor 3             */
    int out, diag; /* read ends of its standard output and error */
    int life;      /* it is killed when this is closed          */
} ompjit__child;
#define OMPJIT__NO_CHILD \
    {.source = -1, .host_ir = -1, .out = -1, .diag = -1, .life = -1}

/* The child ends with this process, whatever ends that, and the kernel ends it
 * after `time_limit` seconds of CPU and a little more. `ahead`: its work will
 * come later, so it may take its time to start. */
ompjit_status ompjit__child_start(char *const *argv, unsigned time_limit,
                                  bool ahead, ompjit__child *out,
                                  ompjit_error *err);
/* Closes our descriptors. The child is killed, unless a process that was forked
 * from ours has them too. */
void ompjit__child_hang_up(ompjit__child *child);
/* Hangs up, and the child is no longer waited for: it is another process's
 * child. */
void ompjit__child_forget(ompjit__child *child);
/* Kills the process group and waits for the child. */
void ompjit__child_kill(ompjit__child *child);

enum ompjit__end {
    OMPJIT__END_RUNNING,  /* not yet                                     */
    OMPJIT__END_EXIT,     /* code                                        */
    OMPJIT__END_SIGNAL,   /* code: the signal                            */
    OMPJIT__END_UNKNOWN   /* somebody else in the process waited for it  */
};
typedef struct ompjit__exit {
    enum ompjit__end how;
    int code;
} ompjit__exit;

/* Waits until the time `deadline` of ompjit__now (0: looks only). A child that
 * has ended is gone afterwards: pid 0. */
ompjit__exit ompjit__child_wait(ompjit__child *child, uint64_t deadline);

/* ----------------------------------------------------- talk (clang_io.c) */

/* One child's part of an exchange. */
typedef struct ompjit__talk {
    ompjit__child *child;
    ompjit__buf out, diag;
    size_t sent, forwarded; /* of the source; of the host half's bitcode */
    ompjit__exit exit;      /* RUNNING where the output was complete     */
    bool whole;             /* out is a whole bitcode file               */
    bool complete;          /* and what it was made of was told          */
} ompjit__talk;

/* What an exchange is about. */
typedef struct ompjit__order {
    const char *source;
    size_t size;
    unsigned time_limit; /* seconds */
    /* What the device half gets in place of the host half's bitcode, or NULL.
     * */
    const ompjit__buf *info;
    /* Each called once, when this thread has nothing to do but wait: when the
     * source is sent, and when the host half is there and the device half has
     * all it needs. */
    void (*at_first)(void *data);
    void (*meanwhile)(void *data);
    void *data;
} ompjit__order;

/* Sends the source to both children, passes the host half's bitcode (or order's
 * info) on to the device half's child, and collects what they answer. Returns
 * as soon as both bitcodes are complete or one child has ended without. TIMEOUT
 * error when the deadline passes: the children are killed then. `host` may be
 * NULL: there is only the device half. */
ompjit_status ompjit__exchange(const ompjit__order *order, ompjit__talk *host,
                               ompjit__talk *device, ompjit_error *err);
/* Runs a command and collects its standard output. */
ompjit_status ompjit__run_tool(char *const *argv, unsigned time_limit,
                               ompjit__buf *out, ompjit__exit *how,
                               ompjit_error *err);

/* ------------------------------------------------ guesses (region_guess.c) */

/* What the host half of a source said of its regions. */
typedef struct ompjit__guess {
    char *key;         /* of the command lines; NULL: no guess */
    char *marks;
    ompjit__buf info;
} ompjit__guess;
enum { OMPJIT__GUESSES = 8 }; /* in a list, the last one used first */

/* The lines of a source on which it depends where its regions are, malloc'd;
 * NULL: there are none, or no memory. */
char *ompjit__source_marks(const char *source);
/* What a device half reads of its host half, as bitcode. */
void ompjit__offload_info(LLVMModuleRef host, ompjit__buf *out);

void ompjit__guesses_free(ompjit__guess *all);
/* Appends what is known of such a source; nothing where nothing is, or a string
 * is NULL. */
void ompjit__guess_take(ompjit__guess *all, const char *key, const char *marks,
                        ompjit__buf *info);
void ompjit__guess_put(ompjit__guess *all, const char *key, const char *marks,
                       const ompjit__buf *info);

/* ------------------------------------------------ diagnostics (diagnose.c) */

/* Whether `text` has a whole make rule of OMPJIT__DEPS_TARGET. */
bool ompjit__has_deps(const ompjit__buf *text);
/* Moves the make rules of OMPJIT__DEPS_TARGET from `text` to `rules`. */
void ompjit__take_deps(ompjit__buf *text, ompjit__buf *rules);
/* Appends the diagnostics in `text` to `out`, without clang's closing count
 * and without those that stand in `known` (or NULL) too. */
void ompjit__diagnostics_add(ompjit__buf *out, const ompjit__buf *text,
                             const ompjit__buf *known);
/* The error of a half that ended without bitcode. `known` are the other half's
 * diagnostics, or NULL; ctx's log gets what an error has no room for, or, where
 * it is NULL, nobody. */
ompjit_status ompjit__diagnose(ompjit_context *ctx, const char *name,
                               const char *half, const ompjit__talk *talk,
                               const ompjit__buf *known, ompjit_error *err);

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

/* A host half that is read while its device half is still being compiled, and
 * what became of it. All zero: not begun. ir.c */
typedef struct ompjit__early {
    LLVMContextRef context; /* both halves' */
    LLVMModuleRef host;
    bool own_lines; /* nobody asked for the host half's line information */
    bool all_numbers; /* the device half was compiled by ompjit__lambda_info */
    ompjit__lambda_regions lambdas;
    ompjit__buf host_bc, messages;
    ompjit_status status;
    ompjit_error err;
} ompjit__early;
void ompjit__early_read(ompjit__early *e, const ompjit__buf *host,
                        const char *name);
void ompjit__early_free(ompjit__early *e);

/* Reads, upgrades, checks and describes both halves. `early` is used up; NULL:
 * the host half has not been read. ir.c */
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
/* What clang gets wrong in the functions of reductions. reduction.c */
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

/* CUDA to a unit by clang alone; `source` is complete. clang.c */
ompjit_status ompjit__clang_cuda(ompjit_context *ctx, const char *source,
                                 const ompjit_module_options *options,
                                 ompjit__unit *out, ompjit_error *err);
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
