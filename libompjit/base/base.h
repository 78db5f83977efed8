/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The tools of every room of the library: errors, byte buffers, clocks and
 * libraries loaded at run time. Knows nothing of LLVM or CUDA.
 */
#ifndef OMPJIT_BASE_H
#define OMPJIT_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ompjit.h"

#define OMPJIT__PRINTF(f, a) __attribute__((format(printf, f, a)))
#define OMPJIT__COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---------------------------------------------------------------- errors */

/* Fills *err (may be NULL) and returns `status`, so that the code that decides
 * an error says `return ompjit__fail(err, ...)`. */
ompjit_status ompjit__fail(ompjit_error *err, ompjit_status status,
                           ompjit_stage stage, const char *format, ...)
    OMPJIT__PRINTF(4, 5);
/* The same for memory that has run out; takes none. */
ompjit_status ompjit__no_memory(ompjit_error *err, ompjit_stage stage);

/* ----------------------------------------------------------------- bytes */

/* Growing bytes. Zero-initialised is empty; `data` always ends in a NUL that
 * `size` does not count, once anything was added. When memory runs out `failed`
 * is set and later additions do nothing, so that one check at the end is
 * enough. Not for two threads at once. */
typedef struct ompjit__buf {
    char *data;
    size_t size, capacity;
    bool failed;
} ompjit__buf;

/* `data` may be NULL where size is 0, and must not be the buffer's own. */
void ompjit__buf_add(ompjit__buf *b, const void *data, size_t size);
void ompjit__buf_printf(ompjit__buf *b, const char *format, ...)
    OMPJIT__PRINTF(2, 3);
/* Empties it: it may be filled again. */
void ompjit__buf_free(ompjit__buf *b);

/* malloc'd copies; NULL when memory runs out or the source is NULL. */
char *ompjit__strdup(const char *s);
void *ompjit__memdup(const void *data, size_t size);
char *ompjit__format(const char *format, ...) OMPJIT__PRINTF(1, 2);

/* All faults of one input, which one error reports. Zero-initialised: none. */
typedef struct ompjit__findings {
    ompjit_status status; /* of the first                                   */
    unsigned n, left_out; /* all, and those that an error has no room for   */
    ompjit__buf list;
} ompjit__findings;

/* Adds one, a text without the input's name. */
void ompjit__finding(ompjit__findings *f, ompjit_status status,
                     const char *format, ...) OMPJIT__PRINTF(3, 4);
/* The error that names them all, or OK where there are none; frees the list. */
ompjit_status ompjit__findings_end(ompjit__findings *f, const char *name,
                                   ompjit_stage stage, ompjit_error *err);

/* Appends a whole file, or what comes through a pipe. IO error naming file and
 * cause, also where it has more than 1 GiB, or `most` bytes, and where nothing
 * comes for OMPJIT__INPUT_WAIT seconds. After an error some of it may be there,
 * to be freed by the caller. */
enum { OMPJIT__INPUT_WAIT = 10 };
ompjit_status ompjit__read_file(const char *path, ompjit__buf *out,
                                ompjit_error *err);
ompjit_status ompjit__read_most(const char *path, size_t most, ompjit__buf *out,
                                ompjit_error *err);

/* Tells whether the process may write to the `size` bytes; true where the
 * system does not tell. Takes a microsecond. */
bool ompjit__writable(const void *at, size_t size);

/* A setting for processes that compile: they take memory from the system in few
 * large pieces. Half of the page faults, and a fifth of the time, of a small
 * source in clang; up to a tenth of what follows. glibc 2.35 reads it. */
#define OMPJIT__FEW_FAULTS                                                     \
    "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=16777216"
/* The environment of this process with n more settings, "NAME=VALUE". Those of
 * whose names it has a variable are left out. A copy in one block, to be freed;
 * NULL: no memory. */
char **ompjit__environment_with(const char *const *settings, size_t n);
/* Bytes by an environment variable, "512M": K, M, G or T may follow the number.
 * If it is unset or empty, *bytes stays. INVALID for anything else. */
ompjit_status ompjit__env_bytes(const char *variable, uint64_t *bytes,
                                ompjit_error *err);

/* How many letters to insert, remove or replace make one name of the other;
 * longer names are cut. */
enum { OMPJIT__DISTANCE_MOST = 63 };
unsigned ompjit__distance(const char *a, const char *b);

/* A sentence for each environment variable that seems to be a misspelled one of
 * the library's (variables.def). */
typedef void ompjit__misspelled_fn(void *data, const char *text);
void ompjit__variables_misspelled(ompjit__misspelled_fn *tell, void *data);

/* The form of a Fortran source, by its name's ending (.f90, .F), and whether it
 * is preprocessed, where `preprocessed` is not NULL. fortran_name.c */
enum ompjit__fortran {
    OMPJIT__FORTRAN_NONE, /* it is no Fortran */
    OMPJIT__FORTRAN_FREE,
    OMPJIT__FORTRAN_FIXED
};
enum ompjit__fortran ompjit__fortran_name(const char *name,
                                          bool *preprocessed);

/* ---------------------------------------------------------------- clocks */

/* Nanoseconds of the monotonic clock. */
uint64_t ompjit__now(void);
/* Nanoseconds of a time limit. */
#define OMPJIT__MS(ms) ((ms) * UINT64_C(1000000))
/* A time limit as messages have it: "1 second", "60 seconds", "250 ms". */
typedef struct ompjit__limit_text {
    char text[24];
} ompjit__limit_text;
ompjit__limit_text ompjit__limit(unsigned ms);

/* ------------------------------------------- libraries loaded at run time */

/* One symbol of a library: where its address goes, as an offset into the
 * caller's struct of function pointers. */
typedef struct ompjit__symbol {
    const char *name;
    size_t offset;
    bool required;
} ompjit__symbol;

/* dlopens the first of `paths` (NULL-terminated) that loads and has every
 * required symbol, and fills `table`, whose other pointers are NULL where the
 * symbol is missing. `what` names it in messages. UNAVAILABLE with all causes
 * if none does; then the table has whatever the last one had. The handle is
 * kept for the life of the process. Any thread, but one at a time for a table.
 */
ompjit_status ompjit__load_library(const char *what, const char *const *paths,
                                   const ompjit__symbol *symbols, size_t n,
                                   void *table, ompjit_error *err);
/* The path of a library that is in the process already, by the beginning of its
 * file's or its own name; NULL: none. dlopen would look for it everywhere
 * first: a hundred system calls. Valid as long as the library is loaded. */
const char *ompjit__library_here(const char *name);
/* True where dlopen would not find a library, unless by a path that is written
 * in a binary. It takes a dozen system calls, not a hundred. */
bool ompjit__library_missing(const char *name);
/* Processors that the calling thread may run on (its affinity mask), 1 where
 * the system does not tell. processors.c */
uint32_t ompjit__processors(void);
/* This processor and its features, a line each; the same text always, never
 * freed. Keys of the cache have it. cpu_identity.c */
const ompjit__buf *ompjit__cpu_identity(void);
/* Its vendor by OpenMP's number, 0 where that is not known. cpu_identity.c */
int ompjit__cpu_vendor(void);
#if defined(__x86_64__)
/* Bytes of the widest vector registers that processor and system have: 16, 32 or
 * 64. cpu_identity.c */
unsigned ompjit__cpu_vectors(void);
#endif

/* Code that was compiled here knows a thread-local variable by this and its name
 * (hosthalf/thread_local.c). */
#define OMPJIT__THREAD_LOCAL "__emutls_v."

/* A symbol as its source has it, malloc'd: a mangled name of C++, or a variable
 * behind OMPJIT__THREAD_LOCAL. NULL where it is neither, or the process has no
 * C++ runtime and finds no libstdc++. demangle.c */
char *ompjit__demangle(const char *name);

/* "saxpy" and 3 of __omp_offloading_fe00_a7200e_saxpy_l3; other names are
 * themselves or what C++ made them of, line 0. malloc'd. base/kernel_name.c */
char *ompjit__kernel_name(const char *symbol, unsigned *line);
/* The same with scopes, template arguments and parameters of C++:
 * "ns::axpy<float>(float*, int)". Both are NULL when memory runs out. */
char *ompjit__kernel_signature(const char *symbol);

#endif
