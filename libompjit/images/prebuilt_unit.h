/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Units of machine code and PTX (core/prebuilt.h).
 */
#ifndef OMPJIT_IMAGES_PREBUILT_UNIT_H
#define OMPJIT_IMAGES_PREBUILT_UNIT_H

#include "core/prebuilt.h"
#include "images/images.h"

/* The names of a program's kernels, which the symbols of host code do not
 * tell. */
typedef struct ompjit__kernel_names {
    const char *const *list;
    unsigned n;
} ompjit__kernel_names;

/* A unit with copies of all cubins, PTX and shared host libraries among the
 * pieces; others are passed over. Its kernels are those of the first piece for
 * a GPU, which describes them; where there is none, those of the names. They
 * are what the code says: parameters have sizes and no types. UNAVAILABLE where
 * no piece is of use; else the errors of ompjit__gpu_code_read. `out` is set on
 * success only. */
ompjit_status ompjit__prebuilt_unit(const ompjit__pieces *pieces,
                                    const ompjit__kernel_names *names,
                                    const char *name, ompjit__unit *out,
                                    ompjit_error *err);

#endif
