/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR to image. A build has a machine, a context and a route:
 *
 *   UNIT      all kernels of a unit, or one where there are no templates
 *   TEMPLATE  one kernel with nothing folded, which variants begin with
 *   VARIANT   a copy of a template, with a launch's values folded
 */
#ifndef OMPJIT_BACKEND_H
#define OMPJIT_BACKEND_H

#include <llvm-c/Error.h>
#include <llvm-c/Orc.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Types.h>

#include "targets/arch.h"
#include "backend/codegen/emit.h"
#include "backend/build_scratch.h"
#include "backend/variant_pipeline.h"
#include "core/core.h"
#include "llvm/llvm.h"

/* -------------------------------- a context's target machines (machine.c) */

/* A target machine and the state that builds by it share. It belongs to the
 * build that has taken it, and else to the compiler's list. */
typedef struct ompjit__machine {
    struct ompjit__machine *next; /* among those that nobody uses */
    const ompjit__arch *arch;
    unsigned ptx;        /* the newest version that may be written, in tenths;
                            0: any */
    unsigned opt_level;  /* 0 to 3 */
    bool emulated_tls;   /* of host halves, in whose place no build is */
    LLVMTargetMachineRef tm;
    LLVMContextRef context; /* NULL, or one for the next build, ... */
    LLVMModuleRef runtime;  /* ... in which the runtime has been read */
    bool runtime_plain;     /* it is the plain one                  */
    bool plain; /* the last build needed the plain runtime only       */
    ompjit__generator *generator; /* NULL, or for the next build that is no
                                     variant's, its passes set up     */
    LLVMContextRef old;      /* the last build's, or NULL; ...          */
    LLVMModuleRef old_m, old_runtime; /* ... its modules, ...           */
    ompjit__generator *old_generator; /* ... and generator, or NULL     */
    ompjit__stock *stock;   /* NULL, or for variants: build_scratch.h */
} ompjit__machine;

/* One with the arch, ptx, opt_level and emulated_tls of `like`, the caller's
 * until it gives it back. One that an error of LLVM's has interrupted is not
 * given back. Any thread. TARGET or UNAVAILABLE error where there is no such
 * machine. */
ompjit_status ompjit__machine_take(ompjit__compiler *compiler,
                                   const ompjit__machine *like,
                                   ompjit__machine **out, ompjit_error *err);
void ompjit__machine_give(ompjit__compiler *compiler, ompjit__machine *m);
/* Frees what the last build by the machine has left: a caller need not wait for
 * that, and the next build or a rest does it. */
void ompjit__machine_clear(ompjit__machine *m);
/* Clears the machine that was given back last, and makes ready for the next build
 * by it: the code generator, and the runtime, as much of it as the last build
 * needed. It takes up to two milliseconds, which are for free while another
 * process works. A failure is left to the build to meet again. */
void ompjit__machine_prepare(ompjit__compiler *compiler);
/* Has a machine for the host ready likewise, and the processor's features known,
 * for the builds of processes that are copies of this one: it keeps what they
 * begin with. */
void ompjit__machine_prepare_host(ompjit__compiler *compiler,
                                  unsigned opt_level);
/* Frees a whole list; no build may run. */
void ompjit__machines_free(ompjit__machine *first);

/* ------------------------------------------------------ stages (build.c) */

/* Unit to image: specialize, link, optimize, generate, assemble.
 * `arch`: "sm_NN" or "host"; `format`: CUBIN or PTX for the first, OBJECT for
 * the second, OPT_LL for both (then the text is in image->bytes); see also
 * targets/instruction_count.h. `out` is set on success only; the caller frees it.
 * Any thread, several at a time; the unit and the spec must not change
 * meanwhile. backend/build.c */
ompjit_status ompjit__build(ompjit__compiler *compiler,
                            const ompjit__unit *unit,
                            const char *arch, ompjit_format format,
                            const ompjit__spec *spec, ompjit__image *out,
                            ompjit_error *err);

struct ompjit__early; /* frontend/frontend.h */
/* The unit has been read with `early` just now, which it holds for builds of its
 * kernels one by one. It has templates. kernel_source.c */
void ompjit__kernel_source_keep(const ompjit__unit *unit,
                                struct ompjit__early *early);

#endif
