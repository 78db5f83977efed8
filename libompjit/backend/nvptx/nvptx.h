/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Modules to PTX, PTX to cubins.
 */
#ifndef OMPJIT_NVPTX_H
#define OMPJIT_NVPTX_H

#include <llvm-c/TargetMachine.h>

#include "backend/codegen/emit.h"
#include "core/core.h"

/* The target machine for sm_NN and a version of PTX that is no newer than `ptx`
 * (0: any can be read); the caller disposes. TARGET error where the
 * architecture needs a newer one. */
ompjit_status ompjit__nvptx_machine(const char *arch, unsigned ptx,
                                    unsigned opt_level,
                                    LLVMTargetMachineRef *out,
                                    ompjit_error *err);
/* A linked and optimized module to PTX text, appended; g as for
 * ompjit__emit_assembly. COMPILE error with LLVM's text, NO_MEMORY. */
ompjit_status ompjit__nvptx_emit(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                 ompjit__generator *g, ompjit__passes passes,
                                 ompjit__buf *ptx, ompjit_error *err);
/* The way of a kernel's PTX:
 *
 *   nvJitLink, ptxas    cubin, usage and the PTX, where one of them is there
 *   the driver          the PTX alone: it is compiled when it is loaded
 *
 * PTX to cubin by the compiler's assembler (nothing else of it is read), and
 * what its kernels use. The driver as assembler gives an image of kind PTX with
 * the text in `bytes`, no `ptx` and no `usage`. UNAVAILABLE where the assembler
 * is not there or too old. `image` is set on success only.
 * backend/nvptx/assemble.c; reading a cubin: backend/nvptx/cubin.c */
ompjit_status ompjit__assemble(ompjit__compiler *compiler, const char *arch,
                               const ompjit__buf *ptx, ompjit__image *image,
                               ompjit_error *err);
/* Makes the assembler ready in a thread while a kernel is compiled: loads it,
 * the first time in a process, and (`rehearse`) assembles something for nobody.
 * _end waits for that: until then no environment variable may change, and the
 * process may not fork. backend/nvptx/assemble.c */
void ompjit__assembler_begin(ompjit_assembler wanted, const char *arch,
                             bool rehearse);
void ompjit__assembler_end(void);
/* The resources of all kernels in a cubin: *n of them, malloc'd, each with a
 * symbol of its own to be freed. Any bytes may be given. ASSEMBLE error for
 * what is no cubin that we can read; NO_MEMORY. cubin.c */
ompjit_status ompjit__cubin_usage(const void *cubin, size_t size,
                                  ompjit__usage **usage, unsigned *n,
                                  ompjit_error *err);

#endif
