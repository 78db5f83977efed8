/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A unit's CUDA source, and what NVRTC makes of it:
 *
 *   source --NVRTC--> PTX, once for each architecture        nvrtc.c
 *     -> linked with the runtime's functions that it calls   cuda_runtime.c
 *     -> a launch's values written in                        ptx_text.c
 *     -> assembled as any PTX                                assemble.c
 */
#ifndef OMPJIT_BACKEND_CUDA_IMAGE_H
#define OMPJIT_BACKEND_CUDA_IMAGE_H

#include "core/core.h"

typedef struct ompjit__cuda {
    char *source, *name;
    char **options; /* NVRTC's */
    unsigned noptions;
    ompjit_cuda_compiler compiler;
    char *why;      /* what clang said where there is no IR */
    pthread_mutex_t lock;
    struct ompjit__cuda_made *made; /* PTX by architecture, under lock */
} ompjit__cuda;

/* `options` has a name. Takes of its flags what NVRTC knows. */
ompjit_status ompjit__cuda_new(const char *source,
                               const ompjit_module_options *options,
                               ompjit__cuda **out, ompjit_error *err);
void ompjit__cuda_free(ompjit__cuda *cuda); /* accepts NULL */

/* Whether NVRTC takes the source: SOURCE error with its log, UNAVAILABLE where
 * there is no NVRTC. */
ompjit_status ompjit__cuda_check(ompjit_context *ctx, ompjit__cuda *cuda,
                                 ompjit_error *err);
/* Likewise; makes a unit without IR, whose kernels are those of the PTX.
 * `clang` is why there is no IR. */
ompjit_status ompjit__cuda_kernels_of(ompjit_context *ctx, ompjit__cuda *cuda,
                                      const char *clang, ompjit__unit *out,
                                      ompjit_error *err);
/* The error of whoever needs the IR of a unit that has none. */
ompjit_status ompjit__cuda_no_ir(const ompjit__cuda *cuda, ompjit_error *err);

/* Whether NVRTC compiles the unit for a GPU, where it is there. */
bool ompjit__cuda_by_nvrtc(const ompjit__unit *unit);
/* The unit as PTX for `arch`, with the spec's values in it. Any thread. */
ompjit_status ompjit__cuda_ptx(ompjit_context *ctx, const ompjit__unit *unit,
                               const char *arch, const ompjit__spec *spec,
                               ompjit__buf *ptx, ompjit_error *err);

/* The device runtime's functions of those names (each followed by a line
 * break; others are left out) as PTX. cuda_runtime.c */
ompjit_status ompjit__cuda_runtime(const char *arch, const char *names,
                                   ompjit__buf *ptx, ompjit_error *err);
#endif
