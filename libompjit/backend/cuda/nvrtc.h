/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA C++ to PTX by NVIDIA's NVRTC.
 */
#ifndef OMPJIT_BACKEND_NVRTC_H
#define OMPJIT_BACKEND_NVRTC_H

#include "core/core.h"

/* Compiles `source` for sm_NN; `name` is the file's in diagnostics. The options
 * are NVRTC's, without the architecture. Appends text to `ptx`. SOURCE error
 * with what NVRTC wrote (all of it in compiler's log, which may be NULL, where
 * it is long), UNAVAILABLE where there is no NVRTC or none new enough for the
 * architecture. Any thread may call it. */
ompjit_status ompjit__nvrtc_compile(ompjit__compiler *compiler,
                                    const char *source,
                                    const char *name, const char *arch,
                                    const char *const *options, unsigned n,
                                    ompjit__buf *ptx, ompjit_error *err);
/* The version, in tenths (13.0 is 130). UNAVAILABLE where there is none. */
ompjit_status ompjit__nvrtc_version(unsigned *version, ompjit_error *err);
#endif
