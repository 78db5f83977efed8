/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sources to units by clang's processes, and the cache of units. The way of a C
 * snippet:
 *
 *   find_clang.c     which clang, its headers
 *   command.c        the two command lines (flags.c: the user's flags in them)
 *   unit_cache.c     units that the cache has (deps.c: the files they came of)
 *   clang.c          one compile, in a pair of processes
 *   warm_pairs.c     those pairs, new or started ahead (process.c)
 *   clang_io.c       source in; bitcode and diagnostics out
 *   region_guess.c   the host half's part of the device half, ahead of it
 *   diagnose.c       diagnostics for the application
 *   door             both halves into a unit
 */
#ifndef OMPJIT_FRONTEND_CLANG_H
#define OMPJIT_FRONTEND_CLANG_H

#include <sys/types.h>
#include <time.h>

#include "core/core.h"
#include "door/door.h"

/* --------------------------------------------------- the front ends' calls */

/* C or C++ to a unit, by clang in its own process, or by the cache. options may
 * be NULL; source and options are borrowed. The unit is the caller's, on
 * success. Any thread, several at a time. SOURCE error with clang's
 * diagnostics, INVALID for flags, UNAVAILABLE without clang, TIMEOUT, ABORTED.
 * frontend/clang/clang.c */
ompjit_status ompjit__frontend_c(ompjit_context *ctx, const char *source,
                                 const ompjit_module_options *options,
                                 ompjit__unit *out, ompjit_error *err);
/* CUDA C++ to a unit, by clang and, for GPUs, NVRTC. options are not NULL; all
 * else as above. frontend/clang/cuda.c */
ompjit_status ompjit__frontend_cuda(ompjit_context *ctx, const char *source,
                                    const ompjit_module_options *options,
                                    ompjit__unit *out, ompjit_error *err);
/* Tells the front end that what it made last has been compiled further: it may
 * use the processors now, to start the next processes ahead of time. */
void ompjit__frontend_rest(ompjit_context *ctx);
/* IR text or bitcode to a unit. host may be NULL, of size 0. Errors are those
 * of ompjit__unit_read (frontend/frontend.h). unit_cache.c */
ompjit_status ompjit__frontend_ir(ompjit_context *ctx, const void *device,
                                  size_t device_size, const void *host,
                                  size_t host_size,
                                  const ompjit_module_options *options,
                                  ompjit__unit *out, ompjit_error *err);

/* The units of a program's sources to one, or that by the cache. n > 0; borrows
 * all. The name is the options', or the first unit's. Errors are those of
 * ompjit__units_join (frontend/frontend.h). unit_cache.c */
ompjit_status ompjit__frontend_join(ompjit_context *ctx,
                                    const ompjit__unit *units, unsigned n,
                                    const ompjit_module_options *options,
                                    ompjit__unit *out, ompjit_error *err);

/* ------------------------------------------------ arguments (command.c) */

/* A growing argv, NULL-terminated once anything was added; `failed` is sticky
 * as in ompjit__buf. */
typedef struct ompjit__args {
    char **v;
    size_t n, capacity;
    bool failed;
} ompjit__args;

/* Adds a copy. */
void ompjit__args_add(ompjit__args *args, const char *arg);
void ompjit__args_free(ompjit__args *args);

/* --------------------------------------------- programs (find_program.c) */

/* The release of clang and flang whose IR the library's dialect is. */
#define OMPJIT__COMPILER_MAJOR "22"

/* A regular file that this process may run? */
bool ompjit__executable(const char *path);
/* The first executable of that name on PATH, malloc'd; NULL: there is none. */
char *ompjit__on_path(const char *name);
/* The program that somebody asked for, by its path or by a name on PATH:
 * UNAVAILABLE error where it is not there, which says who asked and what is
 * needed. */
ompjit_status ompjit__program_named(const char *who, const char *path,
                                    const char *need, char **out,
                                    ompjit_error *err);
/* OK if the executable says that it is `name` of that release, else UNAVAILABLE
 * error that names what was found. */
ompjit_status ompjit__version_check(char *path, const char *name,
                                    unsigned limit_ms, ompjit_error *err);

/* ------------------------------------------------ clang (find_clang.c) */

/* Everything that is known of the installed compiler. */
typedef struct ompjit__clang {
    char *path;          /* of the executable                          */
    bool own;            /* it is ompjitc, and needs no look at its version */
    char *resource_dir;  /* of its own headers                         */
    char *triple;        /* of this machine                            */
    ompjit__args c_dirs; /* system headers of C, in order              */
    ompjit__args cxx_dirs; /* those that C++ has before them           */
} ompjit__clang;

/* Finds clang: `wanted` (the context's option, or NULL), OMPJIT_CLANG, ompjitc
 * where clang is a part of it, the one configure found, PATH. UNAVAILABLE error
 * that lists what was tried, NO_MEMORY. `out` is the caller's to free, and set
 * on success only. */
ompjit_status ompjit__clang_find(const char *wanted, unsigned limit_ms,
                                 ompjit__clang *out, ompjit_error *err);
void ompjit__clang_free(ompjit__clang *clang);
/* Finds the driver, which ompjitc does not have: OMPJIT_CLANG, the clang that
 * configure found, clang-22 on PATH. Its path is the caller's to free, and set on
 * success only. UNAVAILABLE error that lists what was tried. */
ompjit_status ompjit__clang_driver(char **out, ompjit_error *err);
/* OK if the executable says that it is clang 22, else UNAVAILABLE error that
 * names what was found. */
ompjit_status ompjit__clang_check(const ompjit__clang *clang,
                                  unsigned limit_ms, ompjit_error *err);

/* -------------------------------------- command lines (command.c, flags.c) */

/* The files that a half has read come with its diagnostics, as a make rule for
 * this target. */
#define OMPJIT__DEPS_TARGET "ompjit-deps"

typedef struct ompjit__command {
    ompjit__args host, device;
    const char *folder; /* in which they work; NULL: this process's */
} ompjit__command;

/* Do the flags ask for line tables? */
bool ompjit__lines_wanted(const ompjit_module_options *options);
/* How the options have a host half read: enum ompjit__half_flag, together. */
unsigned ompjit__options_half(const ompjit_module_options *options);
/* The cc1 command lines of both halves, which the caller frees. options are not
 * NULL. INVALID error for flags, names and versions that cannot work;
 * NO_MEMORY. */
ompjit_status ompjit__command_make(const ompjit__clang *clang,
                                   const ompjit_module_options *options,
                                   ompjit__command *out, ompjit_error *err);
/* The same for CUDA, which has a device half only. */
ompjit_status ompjit__command_make_cuda(const ompjit__clang *clang,
                                        const ompjit_module_options *options,
                                        ompjit__command *out,
                                        ompjit_error *err);
void ompjit__command_free(ompjit__command *command);
/* What becomes of a user's flag that is not simply passed on. */
typedef struct ompjit__flag {
    const char *flag;
    enum {
        OMPJIT__FLAG_PAIRED, /* has a value                                  */
        OMPJIT__FLAG_OTHERS, /* likewise, but is another compiler's          */
        OMPJIT__FLAG_IGNORED, /* begins so, and means nothing here           */
        OMPJIT__FLAG_MEANS,  /* others in its place: words for both halves   */
        OMPJIT__FLAG_REFUSED /* `host` is the reason                         */
    } kind;
    const char *host, *device;
} ompjit__flag;
/* A compiler's flags. Those of a family (a prefix) that have no row are passed
 * on. */
typedef struct ompjit__flags {
    const ompjit__flag *rows;
    size_t n;
    const char *const *families; /* NULL-terminated */
} ompjit__flags;
extern const ompjit__flags ompjit__clang_flags;
/* Adds the user's flags to both command lines. `dir` is the source's folder
 * or NULL. INVALID error for one that cannot work. */
ompjit_status ompjit__flags_add(const ompjit__flags *flags,
                                const ompjit_module_options *options,
                                const char *dir, ompjit__command *command,
                                ompjit_error *err);
/* INVALID error for a name or a version that cannot work. */
ompjit_status ompjit__options_check(const ompjit_module_options *options,
                                    ompjit_error *err);
/* The name that the application gives the source, or "snippet.c". */
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
 * after so much CPU time and a few seconds more. It works in `folder`; that and
 * `environment`: NULL is this process's. UNAVAILABLE error that names the program; nothing is left then. */
ompjit_status ompjit__child_start(char *const *argv, unsigned limit_ms,
                                  char **environment, const char *folder,
                                  ompjit__child *out, ompjit_error *err);
/* This process's environment for a child whose work comes later: it may take
 * its time to start, and the source will be like this one. It is a copy, since
 * the background thread uses it while the application may change its own. One
 * block, to be freed; NULL: no memory. */
char **ompjit__child_environment(const char *like);
/* Closes our descriptors. The child is killed, unless a process that was forked
 * from ours has them too. */
void ompjit__child_hang_up(ompjit__child *child);
/* Hangs up, and the child is no longer waited for: it is another process's
 * child. */
void ompjit__child_forget(ompjit__child *child);
/* Kills the process group and waits for the child, if there is one. */
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
    const char *program; /* its name in errors                           */
    ompjit__child *child;
    bool text; /* out is no bitcode: what the child has written at its end */
    ompjit__buf out, diag;
    size_t sent, forwarded; /* of the source; of the host half's bitcode */
    ompjit__exit exit;      /* RUNNING where the output was complete     */
    bool whole;             /* out is a whole bitcode file               */
    bool complete;          /* and what it was made of was told          */
} ompjit__talk;

/* The subject of an exchange. */
typedef struct ompjit__order {
    const char *source;
    size_t size;
    unsigned limit_ms;
    const atomic_uint *cancels; /* ABORTED when it changes; NULL: it does not */
    /* Bitcode that the device half gets in place of the host half's, or NULL:
     * the metadata alone (ompjit__early_info). */
    const ompjit__buf *info;
    /* The part of a third child, which gets the source and writes text; NULL:
     * there is none. */
    struct ompjit__talk *beside;
    /* Each called once, when this thread has nothing to do but wait: when the
     * source is sent, and when the host half is there and the device half has
     * all it needs. */
    void (*at_first)(void *data);
    void (*meanwhile)(void *data);
    void *data;
} ompjit__order;

/* Sends the source to both children, passes the host half's bitcode (or order's
 * info) on to the device half's child, and collects what they answer. Returns
 * as soon as both are complete or one child has ended without its bitcode.
 * TIMEOUT error when the deadline passes: the children are killed then. `host`
 * may be NULL: there is only the device half. */
ompjit_status ompjit__exchange(const ompjit__order *order, ompjit__talk *host,
                               ompjit__talk *device, ompjit_error *err);
/* Runs a command to its end and collects its standard output and, unless `diag`
 * is NULL, its standard error, which the caller frees; `how` tells how it ended.
 * Set on success only. */
ompjit_status ompjit__run_tool(char *const *argv, unsigned limit_ms,
                               ompjit__buf *out, ompjit__buf *diag,
                               ompjit__exit *how, ompjit_error *err);

/* ------------------------------------------------ guesses (region_guess.c) */

/* A source's regions, as its host half named them. */
typedef struct ompjit__guess {
    char *key;         /* of the command lines; NULL: no guess */
    char *marks;
    ompjit__buf info;
} ompjit__guess;
enum { OMPJIT__GUESSES = 8 }; /* in a list, the last one used first */

/* The lines of a source on which it depends where its regions are, malloc'd;
 * NULL: there are none, or no memory. */
char *ompjit__source_marks(const char *source);

void ompjit__guesses_free(ompjit__guess *all);
/* Appends what is known of such a source; nothing where nothing is, or a string
 * is NULL. */
void ompjit__guess_take(ompjit__guess *all, const char *key, const char *marks,
                        ompjit__buf *info);
/* Keeps a copy, in place of the oldest. Nothing without memory. The caller
 * holds the front end's lock for both. */
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

/* CUDA to a unit by clang alone; `source` is complete. clang.c */
ompjit_status ompjit__clang_cuda(ompjit_context *ctx, const char *source,
                                 const ompjit_module_options *options,
                                 ompjit__unit *out, ompjit_error *err);

/* --------------------------------------------------------------- deps.c */

/* Whether a text's meaning changes with the time of day. */
bool ompjit__tells_time(const char *text, size_t size);
/* The files that a compile has read, a list of make rules as clang writes them,
 * and what they were: appended to a payload. False where they cannot be read,
 * have changed since the compile began (coarse wall clock), or tell the time.
 * `source` is the name of the main file, which is not looked at. */
bool ompjit__deps_pack(const char *rules, const char *source,
                       const struct timespec *began, ompjit__buf *out);
/* Are they what they were? */
bool ompjit__deps_check(ompjit__reader *r);

#endif
