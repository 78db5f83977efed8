/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's pipeline for a variant that comes from a template and is one function:
 * the table below, in execution order. The template has been through all passes
 * that make code simpler. With values folded the code needs the passes that
 * propagate constants, and then those that make code larger: half of
 * default<O3>'s time, and code that is as good (bench/special.c). Vectorized
 * loops are not unrolled, since the vectorizer has interleaved them.
 *
 * C++ because the text of a pipeline cannot say that loops are unrolled in full
 * up to the size that O3 takes.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopIdiomRecognize.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>

#include "passes/gpu/loop_passes.h"
#include "passes/host/loop_passes.h"

extern "C" {
#include "backend/variant_pipeline.h"
#include "llvm/llvm.h"
}

#define COMBINE "instcombine<no-verify-fixpoint>"
#define LATE_CFG                                                               \
    "simplifycfg<forward-switch-cond;switch-range-to-icmp;"                    \
    "switch-to-arithmetic;switch-to-lookup;no-keep-loops;hoist-common-insts;"  \
    "sink-common-insts;speculate-blocks;simplify-cond-branch>"

namespace {

/* The pass managers that a walk of the table fills: functions' passes are
 * collected until a pass of the module comes. */
struct Managers {
    llvm::PassBuilder &builder;
    llvm::ModulePassManager all;
    llvm::FunctionPassManager functions;

    explicit Managers(llvm::PassBuilder &b) : builder(b) {}

    void end_functions()
    {
        all.addPass(llvm::createModuleToFunctionPassAdaptor(
            std::move(functions), true));
        functions = llvm::FunctionPassManager();
    }
};

enum Device { BOTH, HOST, GPU };
enum Scope { FUNCTION, MODULE };

struct Row {
    Device device;
    Scope scope;
    const char *text;         /* of passes that LLVM's parser knows, ... */
    void (*add)(Managers &m); /* ... or what adds a pass                 */
};

template <typename Pass> void on_function(Managers &m)
{
    m.functions.addPass(Pass());
}

template <typename Pass> void on_module(Managers &m)
{
    m.all.addPass(Pass());
}

void full_unroll(Managers &m)
{
    llvm::LoopPassManager loops;
    loops.addPass(llvm::LoopIdiomRecognizePass());
    loops.addPass(llvm::IndVarSimplifyPass());
    loops.addPass(llvm::LoopDeletionPass());
    loops.addPass(llvm::LoopFullUnrollPass(3));
    m.functions.addPass(
        llvm::createFunctionToLoopPassAdaptor(std::move(loops)));
}

const Row pipeline[] = {
    /* Values were folded: propagate constants. */
    {GPU, FUNCTION, "nvvm-intr-range", nullptr},
    {BOTH, FUNCTION,
     "early-cse<memssa>,simplifycfg," COMBINE ",constraint-elimination,"
     "correlated-propagation,simplifycfg,reassociate,"
     "loop-mssa(loop-instsimplify,loop-simplifycfg,licm,loop-rotate,licm,"
     "simple-loop-unswitch<nontrivial;trivial>),simplifycfg," COMBINE,
     nullptr},

    /* Loops with constant bounds are unrolled: propagate constants again. */
    {BOTH, FUNCTION, nullptr, full_unroll},
    {BOTH, FUNCTION,
     "sroa,vector-combine,gvn," COMBINE ",adce,dse,loop-mssa(licm),"
     "simplifycfg,drop-unnecessary-assumes,loop(loop-rotate,loop-deletion)",
     nullptr},

    /* Vectorize loops, then straight-line code. */
    {HOST, FUNCTION,
     "inject-tli-mappings,loop-vectorize,drop-unnecessary-assumes,"
     "infer-alignment",
     nullptr},
    {HOST, FUNCTION, nullptr, on_function<ompjit::StoreForwarding>},
    {GPU, MODULE, nullptr, on_module<ompjit::GpuOuterBarriers>},
    {BOTH, FUNCTION, LATE_CFG ",slp-vectorizer,vector-combine," COMBINE,
     nullptr},

    /* Unroll loops. */
    {HOST, FUNCTION, nullptr, on_function<ompjit::KeepVectorLoops>},
    {GPU, FUNCTION, nullptr, on_function<ompjit::GpuUnroll>},
    {BOTH, FUNCTION, "loop-unroll<O3;full-unroll-max=8>,sroa,instsimplify",
     nullptr},
    {GPU, FUNCTION, nullptr, on_function<ompjit::GpuEndUnrolling>},
    {HOST, FUNCTION, nullptr, on_function<ompjit::KeepVectorOperands>},
    {BOTH, FUNCTION, "loop-mssa(licm),div-rem-pairs,simplifycfg", nullptr},

    /* The form of addresses and loops that the assembler handles best. */
    {GPU, FUNCTION, nullptr, on_function<ompjit::PointerCse>},
    {GPU, FUNCTION, "loop-simplify", nullptr},
    {GPU, FUNCTION, nullptr, on_function<ompjit::PointerInduction>},
    {GPU, FUNCTION, COMBINE ",adce", nullptr},
    {GPU, FUNCTION, nullptr, on_function<ompjit::LoopEnd>},

    {BOTH, MODULE, "deadargelim,globalopt,globaldce", nullptr},
    /* Attributes of pointers: what is only read through, and stands apart, is
     * loaded by way of the read-only cache, and before stores in between. */
    {GPU, MODULE, "cgscc(function-attrs)", nullptr},
};

llvm::Error add(Managers &m, const Row &row)
{
    if (row.scope == MODULE)
        m.end_functions();
    if (row.add)
        row.add(m);
    else if (row.scope == MODULE)
        return m.builder.parsePassPipeline(m.all, row.text);
    else
        return m.builder.parsePassPipeline(m.functions, row.text);
    return llvm::Error::success();
}

} // namespace

static LLVMErrorRef run(LLVMModuleRef m, LLVMTargetMachineRef tm, bool host)
{
    llvm::PassBuilder builder(reinterpret_cast<llvm::TargetMachine *>(tm));
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    Managers managers(builder);
    for (const Row &row : pipeline)
        if (row.device == BOTH || (row.device == HOST) == host)
            if (llvm::Error failure = add(managers, row))
                return llvm::wrap(std::move(failure));
    managers.all.run(*llvm::unwrap(m), modules);
    return nullptr;
}

ompjit_status ompjit__run_variant_passes(LLVMModuleRef m,
                                         LLVMTargetMachineRef tm, bool host,
                                         ompjit_error *err)
{
    size_t mark = ompjit__llvm_mark(LLVMGetModuleContext(m));
    ompjit__in_llvm(true);
    LLVMErrorRef failure = run(m, tm, host);
    ompjit__in_llvm(false);
    return ompjit__check_passes(m, failure, mark, OMPJIT_STAGE_OPTIMIZE, err);
}
