/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_opt.h - the optimizer of OpenMP device code: its options, and remarks
 * on what it did. The conventions of ompjit.h hold.
 */
#ifndef OMPJIT_OPT_H
#define OMPJIT_OPT_H

#include "ompjit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- options */

/* One option that `opts` of ompjit_module_options and of
 * ompjit_context_options can set. Strings are never freed. */
typedef struct ompjit_opt_info {
    size_t size;             /* OMPJIT_OPT_INFO_INIT                       */
    const char *name;        /* "openmp-opt-disable-spmdization"           */
    const char *help;        /* what it does, in one line                  */
    uint32_t most;           /* its values are 0 to this; 1: it is a switch;
                                0: it takes the name of a function, and may be
                                given several times                        */
    uint32_t ordinary;       /* the default                                */
} ompjit_opt_info;
#define OMPJIT_OPT_INFO_INIT OMPJIT_SIZED(ompjit_opt_info)

unsigned ompjit_opt_count(void);
/* The i-th option; NOT_FOUND where i is not below ompjit_opt_count(). */
ompjit_status ompjit_opt_at(unsigned i, ompjit_opt_info *info,
                            ompjit_error *err);

/* ---------------------------------------------------------------- remarks */

/* As LLVM divides them. */
typedef enum ompjit_remark_kind {
    OMPJIT_REMARK_PASSED = 0, /* something was done                        */
    OMPJIT_REMARK_MISSED,     /* something could not be done               */
    OMPJIT_REMARK_ANALYSIS    /* something was found, as a reason for others */
} ompjit_remark_kind;

/* One thing that the optimizer did to OpenMP code, or left. Strings are never
 * NULL, "" where there is nothing to say, and valid during the call. */
typedef struct ompjit_remark {
    size_t size;             /* the library's                              */
    ompjit_remark_kind kind;
    uint32_t line, column;   /* 0: not known                               */
    uint32_t unused;         /* 0                                          */
    const char *id;          /* "OMP120": openmp-opt's, as LLVM's documents
                                explain it; "OMPJIT100": this library's     */
    const char *pass;        /* "openmp-opt", "ompjit"                     */
    const char *kernel;      /* symbol of the kernel; "": of several, or of
                                a function that several may call           */
    const char *function;    /* where it is, for people                    */
    const char *symbol;      /* the same in the code                       */
    const char *variable;    /* that it is about                           */
    const char *file;
    const char *what;        /* was done, or was not                       */
    const char *why;
    const char *advice;      /* what can be done about it                  */
} ompjit_remark;

/* Called for a remark. Other than 0 ends the walk. */
typedef int ompjit_remark_fn(void *data, const ompjit_remark *remark);

/* Calls `fn` for each remark of the module's generic code for `arch` ("sm_90"),
 * in the order of the passes; for "host" then for each of openmp-opt's on its
 * host half. Compiles the code unless the cache has it, and the host half each
 * time; needs no device. */
ompjit_status ompjit_module_remarks(ompjit_module *mod, const char *arch,
                                    ompjit_remark_fn *fn, void *data,
                                    ompjit_error *err);

typedef enum ompjit_remark_format {
    OMPJIT_REMARKS_YAML = 0, /* as clang's -fsave-optimization-record, for
                                opt-viewer and llvm-remarkutil             */
    OMPJIT_REMARKS_JSON      /* an array of objects, keys as the fields    */
} ompjit_remark_format;

/* The same as text, which ends in NUL, not counted in *size (or NULL). Free with
 * ompjit_bytes_free. */
ompjit_status ompjit_module_remarks_text(ompjit_module *mod, const char *arch,
                                         ompjit_remark_format format,
                                         char **text, size_t *size,
                                         ompjit_error *err);

#ifdef __cplusplus
}
#endif
#endif
