/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's pipeline for a variant that comes from a template and is one function.
 * All of default<O3> has run on it once but for what makes code larger; with
 * values folded it needs that part, and of the rest what follows up constants:
 * half of the whole pipeline's time, and code that is as good (bench/special.c).
 * Left out is also the unrolling of vectorized loops, which the vectorizer has
 * interleaved already.
 *
 * Requires a template's module after folding. Others take default<On>.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "backend/backend.h"
#include "ir/ir.h"

#define COMBINE "instcombine<no-verify-fixpoint>"
#define LATE_CFG                                                               \
    "simplifycfg<forward-switch-cond;switch-range-to-icmp;"                    \
    "switch-to-arithmetic;switch-to-lookup;no-keep-loops;hoist-common-insts;"  \
    "sink-common-insts;speculate-blocks;simplify-cond-branch>"

/* Constants are followed up; loops that they bound are unrolled in full. */
#define FOLLOW_UP                                                              \
    "early-cse<memssa>,simplifycfg," COMBINE ",constraint-elimination,"        \
    "correlated-propagation,simplifycfg,"                                      \
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm,loop-rotate,"           \
    "simple-loop-unswitch<nontrivial;trivial>),simplifycfg,"                   \
    "loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),"                 \
    "sroa,gvn," COMBINE ",adce,dse,drop-unnecessary-assumes,"                  \
    "loop(loop-rotate,loop-deletion)"
#define VECTORIZE                                                              \
    "inject-tli-mappings,loop-vectorize,drop-unnecessary-assumes,"             \
    "infer-alignment,loop-load-elim," LATE_CFG ",slp-vectorizer,"              \
    "vector-combine," COMBINE
#define UNROLL                                                                 \
    "loop-unroll<O3;full-unroll-max=8>,sroa,instsimplify,loop-mssa(licm),"     \
    "div-rem-pairs,simplifycfg"
#define GLOBALS "deadargelim,globalopt,globaldce"

bool ompjit__is_lean(LLVMModuleRef m, bool host)
{
    unsigned defined = 0, kernel_and_entry = host ? 2 : 1;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        defined += !LLVMIsDeclaration(f);
    return defined <= kernel_and_entry;
}

ompjit_status ompjit__optimize_lean(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                    bool host, ompjit_error *err)
{
    if (!host)
        return ompjit__run_passes(
            m, tm,
            "function<eager-inv>(nvvm-intr-range," FOLLOW_UP "),openmp-opt,"
            "function<eager-inv>(" LATE_CFG ",slp-vectorizer,vector-combine,"
            COMBINE "," UNROLL ")," GLOBALS,
            OMPJIT_STAGE_OPTIMIZE, err);
    ompjit_status status = ompjit__run_passes(
        m, tm, "function<eager-inv>(" FOLLOW_UP "," VECTORIZE ")",
        OMPJIT_STAGE_OPTIMIZE, err);
    if (status)
        return status;
    ompjit__keep_vectorized(m);
    return ompjit__run_passes(m, tm,
                              "function<eager-inv>(" UNROLL ")," GLOBALS,
                              OMPJIT_STAGE_OPTIMIZE, err);
}
