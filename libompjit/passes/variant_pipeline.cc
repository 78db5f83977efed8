/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's pipeline for a variant that comes from a template and is one function.
 * The template has been through all that makes code simpler; with values folded
 * it needs what follows up constants, and then what makes code larger: half of
 * default<O3>'s time, and code that is as good (bench/special.c). Vectorized
 * loops are not unrolled, since the vectorizer has interleaved them.
 *
 * C++ because the text of a pipeline cannot say that loops are unrolled in full
 * up to the size that O3 takes, nor can LLVM's C API make the metadata of
 * loops.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/OpenMPOpt.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopIdiomRecognize.h>
#include <llvm/Transforms/Scalar/LoopLoadElimination.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "passes/gpu/pointer_cse.h"
#include "passes/gpu/loop_end.h"
#include "passes/gpu/unroll.h"
#include "passes/gpu/pointer_induction.h"

extern "C" LLVMErrorRef ompjit__lean_passes(LLVMModuleRef m,
                                            LLVMTargetMachineRef tm,
                                            bool host);
// passes/passes.h is C.
extern "C" void ompjit__widen_memory_effects(LLVMModuleRef m);
extern "C" void ompjit__forget_stack_accesses(LLVMModuleRef m);

#define COMBINE "instcombine<no-verify-fixpoint>"
#define LATE_CFG                                                               \
    "simplifycfg<forward-switch-cond;switch-range-to-icmp;"                    \
    "switch-to-arithmetic;switch-to-lookup;no-keep-loops;hoist-common-insts;"  \
    "sink-common-insts;speculate-blocks;simplify-cond-branch>"

/* Of constants; then loops that they bound are unrolled, and then again. */
static const char intr_range[] = "nvvm-intr-range";
static const char follow_up[] =
    "early-cse<memssa>,simplifycfg," COMBINE ",constraint-elimination,"
    "correlated-propagation,simplifycfg,reassociate,"
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm,loop-rotate,licm,"
    "simple-loop-unswitch<nontrivial;trivial>),simplifycfg," COMBINE;
static const char after_unrolling[] =
    "sroa,vector-combine,gvn," COMBINE ",adce,dse,loop-mssa(licm),simplifycfg,"
    "drop-unnecessary-assumes,loop(loop-rotate,loop-deletion)";
static const char vectorize[] =
    "inject-tli-mappings,loop-vectorize,drop-unnecessary-assumes,"
    "infer-alignment";
static const char straight_line[] = /* vectorize it */
    LATE_CFG ",slp-vectorizer,vector-combine," COMBINE;
static const char unroll[] =
    "loop-unroll<O3;full-unroll-max=8>,sroa,instsimplify";
static const char after_unroll[] = "loop-mssa(licm),div-rem-pairs,simplifycfg";
static const char after_anchors[] = COMBINE ",adce";
static const char globals[] = "deadargelim,globalopt,globaldce";
/* Of pointers: those only read through are loaded from by way of the read-only
 * cache, if they also stand apart, and before what is stored in between. */
static const char attributes[] = "cgscc(function-attrs)";

namespace {

/* The loop has been vectorized, or is what is left over of one. */
static bool is_vectorized(const llvm::Loop &loop)
{
    return llvm::getBooleanLoopAttribute(&loop, "llvm.loop.isvectorized");
}

/* Has a round take what an earlier one stores from a register. No loop in which
 * rounds depend on one another is vectorized: where all are, there is nothing
 * to look for, and looking is a twelfth of all the passes' time. */
struct ForwardStores : llvm::PassInfoMixin<ForwardStores> {
    static bool may_find(llvm::LoopInfo &loops)
    {
        return llvm::any_of(loops.getLoopsInPreorder(), [](llvm::Loop *loop) {
            return loop->isInnermost() && !is_vectorized(*loop);
        });
    }

    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses)
    {
        return may_find(analyses.getResult<llvm::LoopAnalysis>(f))
                   ? llvm::LoopLoadEliminationPass().run(f, analyses)
                   : llvm::PreservedAnalyses::all();
    }
};

/* Tells the unroller to leave alone what has been vectorized, and what is left
 * over of it, except for loops of so few rounds that they disappear. */
enum { FEW = 8 };
struct KeepVectorized : llvm::PassInfoMixin<KeepVectorized> {
    static bool rounds_are_many(unsigned rounds) /* 0: unknown */
    {
        return !rounds || rounds > FEW;
    }

    static void keep(llvm::Loop &loop)
    {
        ompjit::add_loop_property(
            loop, {llvm::MDString::get(loop.getHeader()->getContext(),
                                       "llvm.loop.unroll.disable")});
    }

    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses)
    {
        auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
        auto &info = analyses.getResult<llvm::LoopAnalysis>(f);
        for (llvm::Loop *loop : info.getLoopsInPreorder())
            if (is_vectorized(*loop) &&
                rounds_are_many(evolution.getSmallConstantTripCount(loop)))
                keep(*loop);
        return llvm::PreservedAnalyses::all();
    }
};

/* Keeps vectors in loops where unrolling has made more of them invariant than
 * there are registers: as operands in memory they cost nothing, and LLVM would
 * load all of them before the loop, and spill them. */
struct KeepOperands : llvm::PassInfoMixin<KeepOperands> {
    static bool are_many(llvm::Loop &loop, llvm::ScalarEvolution &evolution,
                         llvm::TargetTransformInfo &target)
    {
        unsigned n = 0;
        for (llvm::BasicBlock *block : loop.blocks())
            for (llvm::Instruction &i : *block) {
                auto *load = llvm::dyn_cast<llvm::LoadInst>(&i);
                if (!load || !load->getType()->isVectorTy() ||
                    !evolution.isLoopInvariant(
                        evolution.getSCEV(load->getPointerOperand()), &loop))
                    continue;
                unsigned kind =
                    target.getRegisterClassForType(true, load->getType());
                if (++n > target.getNumberOfRegisters(kind))
                    return true;
            }
        return false;
    }

    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses)
    {
        auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
        auto &target = analyses.getResult<llvm::TargetIRAnalysis>(f);
        auto &info = analyses.getResult<llvm::LoopAnalysis>(f);
        for (llvm::Loop *loop : info.getLoopsInPreorder())
            if (are_many(*loop, evolution, target))
                ompjit::add_loop_property(
                    *loop, {llvm::MDString::get(f.getContext(),
                                                "llvm.licm.disable")});
        return llvm::PreservedAnalyses::all();
    }
};

/* A barrier before all that a kernel does with memory, or behind it, orders
 * nothing. What openmp-opt knows of others, and of the runtime, takes it long
 * to find out: it is asked where there is any. */
struct DropBarriers : llvm::PassInfoMixin<DropBarriers> {
    static bool is_barrier(const llvm::Function &f)
    {
        return f.getIntrinsicID() ==
               llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all;
    }

    static bool is_barrier(const llvm::Instruction &i)
    {
        const auto *call = llvm::dyn_cast<llvm::CallInst>(&i);
        return call && call->getCalledFunction() &&
               is_barrier(*call->getCalledFunction());
    }

    template <typename Range> static void drop(Range instructions)
    {
        for (llvm::Instruction &i :
             llvm::make_early_inc_range(instructions)) {
            if (is_barrier(i))
                i.eraseFromParent();
            else if (i.mayReadOrWriteMemory())
                return;
        }
    }

    /* The block that all threads leave the kernel by, if there is one. */
    static llvm::BasicBlock *find_end(llvm::Function &kernel)
    {
        llvm::BasicBlock *end = nullptr;
        for (llvm::BasicBlock &block : kernel) {
            if (!llvm::isa<llvm::ReturnInst>(block.getTerminator()))
                continue;
            if (end)
                return nullptr;
            end = &block;
        }
        return end;
    }

    static void drop_at_ends(llvm::Function &kernel)
    {
        llvm::BasicBlock &begin = kernel.front();
        drop(llvm::make_range(begin.begin(), begin.end()));
        if (llvm::BasicBlock *end = find_end(kernel))
            drop(llvm::reverse(*end));
    }

    static bool is_of_interest(const llvm::Function &f)
    {
        return f.isDeclaration() && !f.use_empty() &&
               (!f.isIntrinsic() || is_barrier(f));
    }

    llvm::PreservedAnalyses run(llvm::Module &m,
                                llvm::ModuleAnalysisManager &analyses)
    {
        for (llvm::Function &f : m)
            if (f.getCallingConv() == llvm::CallingConv::PTX_Kernel &&
                !f.isDeclaration())
                drop_at_ends(f);
        if (llvm::any_of(m, is_of_interest)) {
            ompjit__widen_memory_effects(llvm::wrap(&m));
            llvm::OpenMPOptPass().run(m, analyses);
            ompjit__forget_stack_accesses(llvm::wrap(&m));
        }
        return llvm::PreservedAnalyses::none();
    }
};

/* A pass manager for functions, filled by texts until one does not parse. */
struct Pipeline {
    llvm::PassBuilder &builder;
    llvm::ModulePassManager all;
    llvm::FunctionPassManager functions;
    llvm::Error failure = llvm::Error::success();

    explicit Pipeline(llvm::PassBuilder &b) : builder(b) {}

    void add(const char *text)
    {
        if (!failure)
            failure = builder.parsePassPipeline(functions, text);
    }

    void unroll_in_full()
    {
        llvm::LoopPassManager loops;
        loops.addPass(llvm::LoopIdiomRecognizePass());
        loops.addPass(llvm::IndVarSimplifyPass());
        loops.addPass(llvm::LoopDeletionPass());
        loops.addPass(llvm::LoopFullUnrollPass(3));
        functions.addPass(
            llvm::createFunctionToLoopPassAdaptor(std::move(loops)));
    }

    void end_functions()
    {
        all.addPass(llvm::createModuleToFunctionPassAdaptor(
            std::move(functions), true));
        functions = llvm::FunctionPassManager();
    }

    void on_module(const char *text)
    {
        end_functions();
        if (!failure)
            failure = builder.parsePassPipeline(all, text);
    }
};

} // namespace

static void fill(Pipeline &p, bool host)
{
    if (!host)
        p.add(intr_range);
    p.add(follow_up);
    p.unroll_in_full();
    p.add(after_unrolling);
    if (host) {
        p.add(vectorize);
        p.functions.addPass(ForwardStores());
    } else {
        p.end_functions();
        p.all.addPass(DropBarriers());
    }
    p.add(straight_line);
    if (host)
        p.functions.addPass(KeepVectorized());
    else
        p.functions.addPass(ompjit::UnrollForGpu());
    p.add(unroll);
    if (host)
        p.functions.addPass(KeepOperands());
    p.add(after_unroll);
    if (!host) {
        p.functions.addPass(ompjit::AnchorPointers());
        p.add("loop-simplify");
        p.functions.addPass(ompjit::WalkPointers());
        p.add(after_anchors);
        p.functions.addPass(ompjit::CountAhead());
    }
    p.on_module(globals);
    if (!host)
        p.on_module(attributes);
}

LLVMErrorRef ompjit__lean_passes(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                 bool host)
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
    Pipeline pipeline(builder);
    fill(pipeline, host);
    if (pipeline.failure)
        return llvm::wrap(std::move(pipeline.failure));
    pipeline.all.run(*llvm::unwrap(m), modules);
    return nullptr;
}
