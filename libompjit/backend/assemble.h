/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The assemblers that assemble.c chooses from.
 */
#ifndef OMPJIT_BACKEND_ASSEMBLE_H
#define OMPJIT_BACKEND_ASSEMBLE_H

#include "backend/arch.h"
#include "core.h"

typedef struct ompjit__assembly {
    const ompjit__arch *arch;
    const ompjit__buf *ptx;
    ompjit__buf cubin; /* out; the caller frees, also on failure */
    ompjit__buf log;   /* out, likewise: what was said, verbosely */
} ompjit__assembly;

/* PTX to cubin. ASSEMBLE error with the assembler's whole log, or UNAVAILABLE
 * where it is not there or too old for the architecture or the PTX. Any thread
 * may call them at any time. */
ompjit_status ompjit__nvjitlink(ompjit__assembly *a, ompjit_error *err);
ompjit_status ompjit__ptxas(ompjit__assembly *a, ompjit_error *err);

/* The failure of an assembler whose log is filled: decides between the two. */
ompjit_status ompjit__assembly_failed(const ompjit__assembly *a,
                                      const char *assembler,
                                      ompjit_error *err);
#endif
