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
/* A linked and optimized module to PTX text; g as for ompjit__emit_assembly. */
ompjit_status ompjit__nvptx_emit(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                 ompjit__generator *g, ompjit__passes passes,
                                 ompjit__buf *ptx, ompjit_error *err);
/* PTX to cubin by the compiler's assembler (nothing else of it is read), and
 * what its kernels use. The driver as assembler gives an image of kind PTX with
 * the text in `bytes`, no `ptx` and no `usage`. UNAVAILABLE where the assembler
 * is not there or too old. `image` is set on success only.
 * backend/nvptx/assemble.c; reading a cubin: backend/nvptx/cubin.c */
ompjit_status ompjit__assemble(ompjit__compiler *compiler, const char *arch,
                               const ompjit__buf *ptx, ompjit__image *image,
                               ompjit_error *err);
/* Loads the assembler in a thread, the first time in a process, while a kernel
 * is compiled. _end waits for that thread: until then no environment variable
 * may change. backend/nvptx/assemble.c */
void ompjit__assembler_begin(ompjit_assembler wanted);
void ompjit__assembler_end(void);
ompjit_status ompjit__cubin_usage(const void *cubin, size_t size,
                                  ompjit__usage **usage, unsigned *n,
                                  ompjit_error *err);

#endif
