/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A unit's CUDA source, and what NVRTC makes of it:
 *
 *   source --NVRTC--> PTX, once for each architecture        nvrtc.c
 *     -> linked with the runtime's functions that it calls   cuda_runtime.c
 *     -> a launch's values written in                        ptx_text.c
 *     -> assembled as any PTX                                assemble.c
 *
 * NVRTC's PTX is kept with the source, by architecture, for all variants. A
 * launch's values are written into a copy of the text: no compiler runs again,
 * and the assembler folds them.
 */
#ifndef OMPJIT_BACKEND_CUDA_IMAGE_H
#define OMPJIT_BACKEND_CUDA_IMAGE_H

#include "core/cuda_source.h"

/* Tells whether NVRTC takes the source: SOURCE error with its log, UNAVAILABLE
 * where there is no NVRTC. The PTX stays with the source for later builds. */
ompjit_status ompjit__cuda_check(ompjit__compiler *compiler, ompjit__cuda *cuda,
                                 ompjit_error *err);
/* Likewise; makes a unit without IR, whose kernels are those of the PTX.
 * `clang` is why there is no IR, and is copied. The unit is the caller's, and
 * does not have the source. */
ompjit_status ompjit__cuda_kernels_of(ompjit__compiler *compiler,
                                      ompjit__cuda *cuda,
                                      const char *clang, ompjit__unit *out,
                                      ompjit_error *err);
/* The unit as PTX for `arch`, with the spec's values in it, appended. The unit
 * has a CUDA source. Any thread. */
ompjit_status ompjit__cuda_ptx(ompjit__compiler *compiler,
                               const ompjit__unit *unit,
                               const char *arch, const ompjit__spec *spec,
                               ompjit__buf *ptx, ompjit_error *err);

/* The device runtime's functions of those names (each followed by a line
 * break; others are left out) as PTX, appended. cuda_runtime.c */
ompjit_status ompjit__cuda_runtime(const char *arch, const char *names,
                                   ompjit__buf *ptx, ompjit_error *err);
#endif
