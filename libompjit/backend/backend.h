/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR to image.
 */
#ifndef OMPJIT_BACKEND_H
#define OMPJIT_BACKEND_H

#include <llvm-c/Error.h>
#include <llvm-c/Orc.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Types.h>

#include "core/arch.h"
#include "backend/emit.h"
#include "backend/build_scratch.h"
#include "backend/variant_pipeline.h"
#include "core/core.h"
#include "llvm/llvm.h"

/* ------------------------------------------ NVPTX (backend/nvptx/nvptx.c) */

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
ompjit_status ompjit__cubin_usage(const void *cubin, size_t size,
                                  ompjit__usage **usage, unsigned *n,
                                  ompjit_error *err);
/* Before the runtime is linked: what the driver's vprintf prints unlike C, and
 * calls that ask for the number of characters, become calls of the runtime's.
 * passes/gpu/printf.c */
void ompjit__prepare_printf(LLVMModuleRef m);
/* Before the runtime is linked: LLVM's intrinsics of two results become calls
 * of the runtime's functions. passes/gpu/math.c */
void ompjit__prepare_math(LLVMModuleRef m);
/* Before the runtime is linked: conversions of 128-bit integers to and from
 * floating numbers become calls of the runtime's functions.
 * passes/gpu/wide.c */
void ompjit__prepare_wide(LLVMModuleRef m);
/* Math functions that PTX lacks, by libdevice: names of the C library and
 * LLVM's intrinsics become __nv_* calls, and libdevice is linked where any is
 * used. LINK error that names them where there is no libdevice.
 * passes/gpu/math.c */
ompjit_status ompjit__link_math(LLVMModuleRef m, ompjit__buf *messages,
                                ompjit_error *err);
/* libdevice's bitcode where a CUDA toolkit or its wheel is found, else NULL.
 * malloc'd path. */
char *ompjit__libdevice_path(void);

/* -------------------------------------------- host (backend/host/lower.c) */

/* Appends " (FILE:LINE)" of the code at `offset` in the section of `symbol`;
 * nothing where the object has no line table. backend/host/line_tables.cc */
void ompjit__object_line(const void *object, size_t size, const char *symbol,
                         uint64_t offset, ompjit__buf *text);
/* The CPU that code is generated for, as LLVM calls it ("znver3"). */
void ompjit__host_cpu(char *name, size_t size);
/* Debug information becomes what line tables need.
 * backend/host/line_tables.cc */
void ompjit__line_tables(LLVMModuleRef m);
/* The call of a kernel in its entry has the kernel's line; nothing happens
 * where the kernel has no debug information. backend/host/line_tables.cc */
void ompjit__entry_lines(LLVMValueRef kernel, LLVMValueRef entry,
                         LLVMValueRef call);
/* GPU-form IR to host IR: triple, data layout, conventions, intrinsics. Before
 * the runtime is linked. */
ompjit_status ompjit__host_retarget(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                    bool chunk_is_default, ompjit_error *err);
/* After optimization: team-shared variables become offsets into the team's
 * block, whose size the constant OMPJIT__SHARED_SIZE_SYMBOL (uint32_t) tells.
 * Retargeting adds for each kernel the entry
 *     void <symbol>.entry(void **args)
 * with args[i] pointing at the value of the kernel's ABI parameter i. */
ompjit_status ompjit__host_finish(LLVMModuleRef m, ompjit_error *err);

/* ---------------------------- host objects (loader/jit.c; see also jit.h) */

/* The machine of this process's CPU; PIC, small code model. */
ompjit_status ompjit__host_machine(unsigned opt_level, bool emulated_tls,
                                   LLVMTargetMachineRef *out,
                                   ompjit_error *err);
/* The machine of an architecture that host objects are made for. UNAVAILABLE
 * where this build has no back end for it. */
ompjit_status ompjit__object_machine(const ompjit__arch *arch,
                                     unsigned opt_level,
                                     LLVMTargetMachineRef *out,
                                     ompjit_error *err);
/* Thread-local variables by __emutls_get_address. emutls.cc */
void ompjit__emulate_tls(LLVMTargetMachineRef tm);
/* Module to object bytes, or to assembly text, by a code generator for such
 * files; NULL: by one for it alone. backend/emit.c */
ompjit_status ompjit__emit_object(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                  ompjit__generator *g, ompjit__passes passes,
                                  ompjit__buf *object, ompjit_error *err);
ompjit_status ompjit__emit_assembly(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                    ompjit__generator *g,
                                    ompjit__passes passes, ompjit__buf *text,
                                    ompjit_error *err);
/* -------------------------------- a context's target machines (machine.c) */

typedef struct ompjit__machine {
    struct ompjit__machine *next; /* among those that nobody uses */
    const ompjit__arch *arch;
    unsigned ptx, opt_level;
    LLVMTargetMachineRef tm;
    LLVMContextRef context; /* NULL, or one for the next build, ... */
    LLVMModuleRef runtime;  /* ... in which the runtime has been read */
    bool plain; /* the last build needed the plain runtime only       */
    ompjit__stock *stock;   /* NULL, or for variants: build_scratch.h */
} ompjit__machine;

/* One with the arch, ptx and opt_level of `like`, the caller's until it gives
 * it back. One that an error of LLVM's has interrupted is not given back. */
ompjit_status ompjit__machine_take(ompjit__compiler *compiler,
                                   const ompjit__machine *like,
                                   ompjit__machine **out, ompjit_error *err);
void ompjit__machine_give(ompjit__compiler *compiler, ompjit__machine *m);
/* Reads the runtime for the next build by the machine that was given back last,
 * if that needed it.
 * It takes a millisecond, which is for free while another process works. */
void ompjit__machine_prepare(ompjit__compiler *compiler);
void ompjit__machines_free(ompjit__machine *first);

/* -------------------------------- the embedded runtime (runtime_bitcode.c) */

/* The device runtime's bitcode for a triple that there is a machine for. */
const void *ompjit__runtime_bc(const char *triple, size_t *size);
/* The runtime as a module whose function bodies are read when they are linked.
 * `messages` are the context's. */
ompjit_status ompjit__runtime_read(LLVMContextRef context, const char *triple,
                                   const ompjit__buf *messages,
                                   LLVMModuleRef *out, ompjit_error *err);
/* The GPU's, for modules that are plain (ompjit__is_plain). */
ompjit_status ompjit__runtime_read_plain(LLVMContextRef context,
                                         const ompjit__buf *messages,
                                         LLVMModuleRef *out, ompjit_error *err);
/* runtime-bc/cuda.h, which clang reads before a CUDA source. */
const char *ompjit__cuda_header(void);

/* ------------------------------------------------------ stages (build.c) */

/* Unit to image: specialize, link, optimize, generate, assemble.
 * `arch`: "sm_NN" or "host"; `format`: CUBIN or PTX for the first, OBJECT for
 * the second, OPT_LL for both (then the text is in image->bytes); see also
 * core/instruction_count.h.
 * backend/build.c */
ompjit_status ompjit__build(ompjit__compiler *compiler,
                            const ompjit__unit *unit,
                            const char *arch, ompjit_format format,
                            const ompjit__spec *spec, ompjit__image *out,
                            ompjit_error *err);

#endif
