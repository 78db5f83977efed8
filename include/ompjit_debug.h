/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_debug.h - reports of checked kernels, times, profiles and counts. The
 * conventions of ompjit.h hold; the group `debug` of ompjit_context_options
 * switches them on.
 */
#ifndef OMPJIT_DEBUG_H
#define OMPJIT_DEBUG_H

#include "ompjit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A fault of a checked kernel. */
typedef enum ompjit_check_kind {
    OMPJIT_CHECK_BOUNDS = 1, /* beside a mapped section, a variable or an
                                allocation                               */
    OMPJIT_CHECK_UNMAPPED,   /* memory that the device does not have     */
    OMPJIT_CHECK_NULL,       /* at or near a null pointer                */
    OMPJIT_CHECK_FREED,      /* device memory whose mapping or allocation
                                has ended                                */
    OMPJIT_CHECK_UNINITIALIZED, /* device memory that neither a map nor a
                                kernel has written is read, or a variable
                                that the team shares and none of it has
                                written                                  */
    OMPJIT_CHECK_RACE,       /* two threads of a team, at least one of them
                                writing, nothing that orders them        */
    OMPJIT_CHECK_LOST,       /* a warning, when a mapping ends: a kernel has
                                written what is mapped only `to`, and
                                nothing has copied it back               */
    OMPJIT_CHECK_FUNCTION    /* a call through a pointer to a function that
                                the device does not have                 */
} ompjit_check_kind;

/* One access of device code, or call. `file` and `function` are never NULL;
 * `file` is "" and the numbers 0 where the code has no debug information. */
typedef struct ompjit_check_access {
    size_t size;             /* the library's                             */
    const char *file, *function;
    uint32_t line, column;
    uint32_t thread;         /* in the team                               */
    int write;               /* 1: written, 0: read                       */
    uint64_t bytes;
} ompjit_check_access;

struct ompjit_check_report {
    size_t size;             /* the library's                             */
    const char *text;        /* all of it for people, lines without a last
                                newline                                   */
    const char *kernel;      /* the function that the region stands in    */
    ompjit_check_kind kind;
    uint32_t kernel_line;    /* of the region; 0: unknown                 */
    uint32_t team;
    uint32_t unused;         /* 0                                         */
    const ompjit_check_access *access;
    const ompjit_check_access *other; /* RACE: the earlier one; else NULL */
};

/* One stage of the pipeline in a context, all threads together. */
typedef struct ompjit_stage_times {
    uint64_t ns, count;
} ompjit_stage_times;

/* Nanoseconds that each stage took in this context so far, and how often it
 * ran. Launches are counted where the context has `profile` set. */
typedef struct ompjit_times {
    size_t size;             /* OMPJIT_TIMES_INIT                         */
    ompjit_stage_times stage[OMPJIT_STAGE_COUNT];
} ompjit_times;
#define OMPJIT_TIMES_INIT OMPJIT_SIZED(ompjit_times)

ompjit_status ompjit_context_times(ompjit_context *ctx, ompjit_times *times,
                                   ompjit_error *err);

typedef enum ompjit_profile_format {
    OMPJIT_PROFILE_TABLE = 0, /* what there was, how often and how long      */
    OMPJIT_PROFILE_TRACE      /* each time, as JSON for Chrome's tracing page
                                 and Perfetto                                */
} ompjit_profile_format;

/* The profile of a context with `profile`, so far: each stage of its compiles,
 * launch, copy and fill, by the host's clock. A launch ends when it was waited
 * for; a bound launch in a queue is only seen to be put there ("submit"), and a
 * copy in a queue likewise. A launch that a GPU records for a graph is none. A
 * GPU's own times are there too ("kernel", "transfer", and "graph" for each run
 * of what was recorded, by its last kernel's name), in a trace on a track for
 * each queue: this waits for what they are of. A trace has the first million of
 * events. `text` ends in NUL, not counted in *size (which may be NULL); free it
 * with ompjit_bytes_free. UNAVAILABLE where the context is not profiled.
 *
 * In an application that Nsight Systems runs, or that has loaded libnvToolsExt,
 * launches and copies are NVTX ranges too, whatever `profile` says. */
ompjit_status ompjit_context_profile(ompjit_context *ctx,
                                     ompjit_profile_format format, char **text,
                                     size_t *size, ompjit_error *err);

typedef enum ompjit_count_kind {
    OMPJIT_COUNT_LINE = 0,   /* how often device code came to a line, by the
                                option ompjit-coverage (ompjit_opt.h). A line
                                of several blocks has the largest count      */
    OMPJIT_COUNT_PROFILE,    /* a counter of clang's own instrumentation, which
                                IR may have (-fprofile-instrument)           */
    OMPJIT_COUNT_VALUE,      /* a value that came to a place where that
                                instrumentation notes values: the size of a
                                copy, or the function that a pointer leads to.
                                A place keeps the first eight                */
    OMPJIT_COUNT_OTHERS      /* all further values of such a place           */
} ompjit_count_kind;

/* One count. Strings are never NULL, and valid during the call. */
typedef struct ompjit_count {
    size_t size;             /* the library's                               */
    ompjit_count_kind kind;
    uint32_t line;           /* 0: not known                                */
    uint32_t number;         /* of clang's counter or place in its function */
    uint32_t unused;         /* 0                                           */
    uint64_t count;          /* all threads and teams together              */
    const char *function;    /* LINE: for people; others: clang's name      */
    const char *file;        /* "" where it is not known                    */
    uint64_t value;          /* VALUE: the number, or a function's address  */
    const char *target;      /* VALUE: the function's name; "" where it is a
                                number, or no function of the module        */
} ompjit_count;

/* Called for a count. Other than 0 ends the walk. */
typedef int ompjit_count_fn(void *data, const ompjit_count *count);

/* Calls `fn` for each count of the module's code on a device of its context, all
 * launches that have ended together: lines by file, line and function, then
 * clang's counters, then values by function, number and value. There are none
 * where the module was compiled without counters, or has not run on that device.
 * Any thread may call it, while other threads launch. INVALID error, or the
 * copy's. */
ompjit_status ompjit_module_counts(ompjit_module *mod, ompjit_device *dev,
                                   ompjit_count_fn *fn, void *data,
                                   ompjit_error *err);

#ifdef __cplusplus
}
#endif
#endif
