/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PTX as NVRTC writes it, read and changed as text: which kernels it has, a
 * launch's values written into one, and the device runtime put before it.
 *
 *   ld.param.u32 %r1, [k_param_0];    mov.b32 %r1, 0x2a;
 *   mov.u32 %r2, %ntid.x;             mov.u32 %r2, 256;
 *   .maxntid 256                      .reqntid 256, 1, 1
 *
 * The assembler folds the rest.
 */
#ifndef OMPJIT_BACKEND_PTX_TEXT_H
#define OMPJIT_BACKEND_PTX_TEXT_H

#include "core/core.h"

/* A piece of the text, which it is borrowed from. It does not end in a NUL. */
typedef struct ompjit__span {
    const char *at;
    size_t size;
} ompjit__span;

/* A kernel: ".entry NAME (PARAMS) DIRECTIVES { BODY }". */
typedef struct ompjit__ptx_entry {
    ompjit__span whole;      /* from ".visible" or ".entry" to the brace */
    ompjit__span name, params, directives;
    ompjit__span body;       /* between the braces                       */
} ompjit__ptx_entry;

/* The first kernel at or after `from`; false: there is none. */
bool ompjit__ptx_next(const char *from, ompjit__ptx_entry *out);

/* Describes the kernels and variables of the text as a unit's. The unit is the
 * caller's to free, also on failure. SOURCE error for parameters that no launch
 * can pass, NO_MEMORY. */
ompjit_status ompjit__ptx_describe(const char *ptx, ompjit__unit *unit,
                                   ompjit_error *err);

/* The version of PTX that the text is of, in tenths; 0: it does not say. */
unsigned ompjit__ptx_text_version(const char *ptx);

/* The names of functions that the text calls and does not define, each followed
 * by a line break. */
void ompjit__ptx_externs(const char *ptx, ompjit__buf *names);

/* Appends the text with the spec's values in place: literals where parameters
 * are read, the geometry where it is asked for; without other kernels where the
 * spec names one. Kernels with `openmp` call OMPJIT__CUDA_BEGIN first. */
void ompjit__ptx_specialize(const char *ptx, const ompjit__unit *unit,
                            const ompjit__spec *spec, ompjit__buf *out);

/* Appends the text with another name for one of its functions, where it stands
 * as a whole name. */
void ompjit__ptx_rename(const char *ptx, const char *from, const char *to,
                        ompjit__buf *out);

/* Appends one text of both: `library` stands first, and what it defines
 * `program` no longer declares. IR error where one has no header. */
ompjit_status ompjit__ptx_join(const char *library, const char *program,
                               ompjit__buf *out, ompjit_error *err);
#endif
