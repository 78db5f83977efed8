/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The table of architectures (arch.def): what images can be made for.
 */
#ifndef OMPJIT_ARCH_H
#define OMPJIT_ARCH_H

#include "base/base.h"

typedef struct ompjit__arch {
    const char *name;    /* "sm_90", "host"                           */
    unsigned cuda;       /* oldest CUDA toolkit, in tenths            */
    unsigned ptx_needs;  /* oldest PTX version, in tenths; 0: no PTX  */
    unsigned ptx_given;  /* the version LLVM writes                   */
    const char *triple;  /* of host objects; "": this machine; NULL: GPU */
    const char *cpu;     /* of host objects, LLVM's name              */
} ompjit__arch;

/* The version of PTX, in tenths, to write for a GPU's architecture where
 * nothing newer than `newest` can be read; 0: anything can. It may be older
 * than the architecture needs: then the driver refuses the PTX. */
unsigned ompjit__ptx_version(const ompjit__arch *arch, unsigned newest);
/* The i-th row; NULL past the last. */
const ompjit__arch *ompjit__arch_at(size_t i);
/* The row of that name, TARGET error that lists all names otherwise. */
ompjit_status ompjit__arch_find(const char *name, const ompjit__arch **out,
                                ompjit_error *err);
/* The newest PTX that CUDA of a release reads, both in tenths; 0: the release
 * is older than all that are known. */
unsigned ompjit__ptx_of_cuda(unsigned cuda);
/* Is there such a GPU architecture, and is this PTX new enough for it? */
bool ompjit__arch_runs(const char *arch, unsigned ptx);
/* Checks an architecture's name, NULL included; TARGET error that lists those
 * there are. */
ompjit_status ompjit__arch_check(const char *arch, ompjit_error *err);

#endif
