/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One build of an image or a template, on its way through the pipeline
 * (pipeline.def), and the steps of the pipeline that are more than a call of a
 * pass.
 */
#ifndef OMPJIT_BACKEND_BUILD_H
#define OMPJIT_BACKEND_BUILD_H

#include "backend/backend.h"
#include "frontend/describe/reach.h"

/* The way of a build through the pipeline: the column `routes` of
 * pipeline.def. */
enum ompjit__route {
    OMPJIT__UNIT = 1,     /* an image of the unit's IR, all kernels or one   */
    OMPJIT__TEMPLATE = 2, /* the same without values; ends before CODEGEN    */
    OMPJIT__VARIANT = 4,  /* an image of one kernel, from its template       */
    OMPJIT__SIMPLE = 8    /* a VARIANT, once it is seen to be one function   */
};

/* One build, from ompjit__build to the image. One thread works at it. */
struct build {
    ompjit__compiler *compiler;
    const ompjit__unit *unit;
    const ompjit__arch *arch;
    ompjit_format format;     /* of the image; no matter for a TEMPLATE */
    const ompjit__spec *spec; /* of a TEMPLATE: with nothing folded     */
    bool host;                /* the target is a CPU                    */
    enum ompjit__route route;
    ompjit__passes passes; /* LEAN: the template was nothing but its kernel */
    bool spmd; /* all kernels are; known once the runtime is linked */
    bool breaks; /* openmp-opt has made invalid IR of the module: none runs */
    bool plain; /* they are, and the runtime is the plain one */
    bool flat;  /* threads have no states: ompjit__is_flat */
    /* the unit's code, of its own */
    bool asks_for_tasks, has_events, has_untied, has_serialized, cancels;
    bool openmp; /* the module is marked as OpenMP device code */
    bool any_gpu; /* simplified as for any GPU; of a TEMPLATE */
    bool teams;  /* it has forms of kernels for whole teams */
    bool numbered; /* something can be simplified behind LLVM's pipeline */
    ompjit__image *image;  /* filled step by step; the caller's         */
    ompjit__buf messages;  /* diagnostics of the context                */
    LLVMContextRef context; /* its own, or (VARIANT) the stock's        */
    LLVMModuleRef m;       /* NULL before the first pass                */
    LLVMModuleRef runtime; /* read before the build began; NULL: not */
    bool runtime_plain;    /* it is the plain one */
    ompjit__machine *machine;
    LLVMTargetMachineRef tm; /* its own */
    uint64_t stage_start; /* of the stage whose time is being taken */
};

/* Adds the time since the last stage ended to this one. */
void ompjit__build_done(struct build *b, ompjit_stage stage);
/* The context and the machine, the pipeline, and their end: f of a guard; `arg`
 * is the build. build.c */
ompjit_status ompjit__build_compile(void *arg, ompjit_error *err);
/* Bitcode of a unit or a template into the build's context. build.c */
ompjit_status ompjit__build_parse(struct build *b, const ompjit__buf *bc,
                                  LLVMModuleRef *out, ompjit_error *err);
/* Runs the passes of pipeline.def for the build's route. pipeline.c */
ompjit_status ompjit__build_walk(struct build *b, ompjit_error *err);

/* The steps of pipeline.def that are functions of this room. They work at b->m;
 * what is wrong is the build's error.
 *
 * kernel_source.c: reads the unit; of a template's no more than the kernel. */
ompjit_status ompjit__build_read(struct build *b, ompjit_error *err);

/* template_build.c: begins a variant with a copy of its kernel's template,
 * which the first build that asks makes while others wait for it; writes a
 * template's bitcode into the image. */
ompjit_status ompjit__build_from_template(struct build *b, ompjit_error *err);
ompjit_status ompjit__build_write(struct build *b, ompjit_error *err);

/* link_runtime.c: decides between the whole and the plain runtime by what the
 * unit calls, links it, and adds the forms of kernels for whole teams. */
void ompjit__build_choose_runtime(struct build *b);
ompjit_status ompjit__build_link(struct build *b, ompjit_error *err);
void ompjit__build_add_team_forms(struct build *b);

/* kernel_facts.c: keeps a host kernel's parameters, and says of them what the
 * spec knows. */
void ompjit__build_keep_apart(struct build *b);
void ompjit__build_annotate(struct build *b);

/* optimize.c. Passes are text as LLVM's `opt -passes=` takes it. */
#define OMPJIT__CLEAN "function(sroa,early-cse,simplifycfg)"
ompjit_status ompjit__build_passes(struct build *b, const char *passes,
                                   ompjit_error *err);
/* Does the code read the device environment? Then whoever loads the image has
 * to fill it. */
void ompjit__build_find_environment(struct build *b);
/* Is nothing left in a template's module but its kernel and, on the host, the
 * entry; in two forms perhaps? */
bool ompjit__build_is_simple(const struct build *b);
ompjit_status ompjit__build_variant_passes(struct build *b, ompjit_error *err);
/* Leaves external what the host reaches by name, so that LLVM may change and
 * remove the rest. */
ompjit_status ompjit__build_internalize(struct build *b, ompjit_error *err);
/* The functions that only openmp-opt may add calls of can be removed now. */
void ompjit__build_drop_added(LLVMModuleRef m);
/* `simplify`: the part of LLVM's pipeline before loops are vectorized and
 * unrolled, for code that is not finished. */
ompjit_status ompjit__build_llvm_pipeline(struct build *b, bool simplify,
                                          ompjit_error *err);
ompjit_status ompjit__build_inline_runtime(struct build *b, ompjit_error *err);
ompjit_status ompjit__build_drop_barriers(struct build *b, ompjit_error *err);
void ompjit__build_drop_needless_barriers(struct build *b);
ompjit_status ompjit__build_settle_modes(struct build *b, ompjit_error *err);

/* openmp_opt.c: one run of openmp-opt, with the passes that it needs before and
 * behind; and one in which kernels become SPMD, which is taken back where what
 * comes of it is not right. */
ompjit_status ompjit__build_openmp_opt(struct build *b, ompjit_error *err);
ompjit_status ompjit__build_openmp_opt_generic(struct build *b,
                                               ompjit_error *err);

/* guards.c: code of SPMD kernels that thread 0 alone runs. Is it the block that
 * it does? The kernel and the functions that it calls outside of parallel
 * regions; those that generic kernels and parallel regions reach; and of the
 * first ones one with such code that is among the others, NULL: none. */
bool ompjit__is_guarded(LLVMBasicBlockRef block);
ompjit__reached ompjit__sequential_part(LLVMValueRef kernel);
ompjit__reached ompjit__not_for_guards(struct build *b);
LLVMValueRef ompjit__misplaced_guards(LLVMValueRef kernel,
                                      const ompjit__reached *others,
                                      bool *failed);

/* generate.c: the module is valid, calls nothing that only a host has, becomes
 * a file of the format, and that, where it is PTX and a cubin is asked for,
 * one. */
ompjit_status ompjit__build_verify(struct build *b, ompjit_error *err);
ompjit_status ompjit__build_check_undefined(struct build *b,
                                            ompjit_error *err);
ompjit_status ompjit__build_generate(struct build *b, ompjit_error *err);
ompjit_status ompjit__build_assemble(struct build *b, ompjit_error *err);

#endif
