/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The assemblers that assemble.c chooses from, and the second run:
 *
 *   choose        nvJitLink, else ptxas, else the driver when it loads
 *   fill          the cubin, its text, and what its kernels use (cubin.c)
 *   make_room     kernels that spill, again with half of the teams
 *                 (spill_retry.c); kept where they spill no more
 */
#ifndef OMPJIT_BACKEND_ASSEMBLE_H
#define OMPJIT_BACKEND_ASSEMBLE_H

#include "targets/arch.h"
#include "core/core.h"

/* One piece of work of an assembler, which fills `cubin` and `log`. The rest is
 * borrowed. */
typedef struct ompjit__assembly {
    ompjit__compiler *compiler; /* its log has what an error cannot; or NULL */
    const ompjit__arch *arch;
    const ompjit__buf *ptx;
    ompjit__buf cubin; /* out; the caller frees, also on failure */
    ompjit__buf log;   /* out, likewise: what was said, verbosely */
} ompjit__assembly;

/* PTX to cubin. ASSEMBLE error with the assembler's log, or UNAVAILABLE
 * where it is not there or too old for the architecture or the PTX. Any thread
 * may call them at any time. */
ompjit_status ompjit__nvjitlink(ompjit__assembly *a, ompjit_error *err);
ompjit_status ompjit__ptxas(ompjit__assembly *a, ompjit_error *err);

/* The two of ompjit__nvjitlink: in the calling thread, nvjitlink.c; and in a
 * worker's thread for it, nvjitlink_thread.c. `there` is false where there is no
 * such thread, or it has something to do, or the text is large. */
ompjit_status ompjit__nvjitlink_here(ompjit__assembly *a, ompjit_error *err);
bool ompjit__nvjitlink_there(ompjit__assembly *a, ompjit_status *status,
                             ompjit_error *err);
/* Loads the library, the first time in a process. Any thread. nvjitlink.c */
void ompjit__nvjitlink_load(void);
/* Has that thread load nvJitLink, and make itself ready for kernels of an
 * architecture where that is not NULL. _end waits until it has nothing to do.
 * For the main thread of a worker. nvjitlink_thread.c */
void ompjit__nvjitlink_begin(const ompjit__arch *arch);
void ompjit__nvjitlink_end(void);

/* The failure of an assembler whose log is filled: decides between the two. */
ompjit_status ompjit__assembly_failed(const ompjit__assembly *a,
                                      const char *assembler,
                                      ompjit_error *err);

/* The kernel of that name, which need not end in a NUL; NULL: there is none.
 * backend/nvptx/assemble.c */
ompjit__usage *ompjit__usage_find(ompjit__usage *usage, unsigned n,
                                  const char *name, size_t length);

/* How many teams of a kernel a multiprocessor must have room for where the
 * assembler need not spill: half of those that now fit, or 0 where nothing is
 * spilled or to be traded. backend/nvptx/spill_retry.c */
uint32_t ompjit__roomier_teams(const char *arch, const ompjit_resources *use);
/* Appends the PTX where each kernel says so that has its number in teams[i], of
 * `n` as in `usage`, and asks for nothing of that kind itself. False: there is
 * none, or no memory. */
bool ompjit__roomier(const char *ptx, ompjit__usage *usage,
                     const uint32_t *teams, unsigned n, ompjit__buf *out);
#endif
