/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's code generator without passes that gain nothing here, set up once for
 * many modules. C++ because LLVM's C API has all of them or none, and sets them
 * up for each.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm-c/Core.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Target/TargetMachine.h>

#include "llvm/cut_block.h"
#include "passes/loops/strength_reduction.h"
extern "C" {
#include "backend/codegen/emit.h"
}

/* Has any function of the module a loop that strength reduction is for
 * (passes/loops/strength_reduction.cc)? */
static bool is_reducible(llvm::Module &m, llvm::Triple::ArchType arch)
{
    for (llvm::Function &f : m) {
        if (f.isDeclaration())
            continue;
        llvm::DominatorTree tree(f);
        llvm::LoopInfo loops(tree);
        if (ompjit::is_reducible(f, loops, arch))
            return true;
    }
    return false;
}

/* A GPU's printer does not forget a shared variable of one function, and would
 * look for it in the next module. */
static bool is_remembered(const llvm::GlobalVariable &v)
{
    enum { SHARED = 3 };
    return v.getAddressSpace() == SHARED && v.hasLocalLinkage();
}

/* A block of thousands of instructions. */
static bool is_long(const llvm::BasicBlock &b)
{
    constexpr size_t LONG = 2000;
    return b.size() > LONG;
}

/* Labels that stand for nothing, every few hundred instructions: the scheduler does
 * not look beyond a label. Its time grows with the square of what it looks at. */
static void divide(llvm::BasicBlock &block)
{
    constexpr unsigned PIECE = 400;
    llvm::LLVMContext &context = block.getContext();
    llvm::Value *note = llvm::MetadataAsValue::get(
        context,
        llvm::MDNode::get(context, llvm::MDString::get(context, "piece")));
    unsigned n = 0;
    for (llvm::Instruction &i : llvm::make_early_inc_range(block))
        if (++n % PIECE == 0 && !llvm::isa<llvm::PHINode>(i) &&
            !i.isTerminator() && !i.isEHPad()) {
            llvm::IRBuilder<> builder(&i);
            builder.CreateIntrinsic(llvm::Intrinsic::codeview_annotation, {},
                                    {note});
        }
}

/* Instructions are put into order before the choice of registers, and once more
 * behind it for most processors, which takes time with the square of a block's
 * accesses to memory, and gains little for a block of thousands: it is divided, and
 * the function is tuned for no processor in particular, for which the second time
 * is left out. */
static void tune_long_functions(llvm::Module &m)
{
    for (llvm::Function &f : m) {
        if (!llvm::any_of(f, is_long))
            continue;
        f.addFnAttr("tune-cpu", "generic");
        for (llvm::BasicBlock &b : f)
            if (is_long(b))
                divide(b);
    }
}

/* Instructions of a block that passes for a GPU take too long for. */
constexpr unsigned TOO_LONG = 1000;

static bool has_long_blocks(const llvm::Module &m)
{
    return llvm::any_of(m, [](const llvm::Function &f) {
        return llvm::any_of(f, [](const llvm::BasicBlock &b) {
            return b.size() > TOO_LONG;
        });
    });
}

namespace {

/* Cuts long blocks for the vectorizer of a GPU's loads and stores, which compares
 * each address with up to 64 others of its block: what is to be one access stands
 * close together. Preparation for code joins them again. */
struct CutBlocks : llvm::FunctionPass {
    static inline char ID = 0;
    CutBlocks() : FunctionPass(ID)
    {
    }

    bool runOnFunction(llvm::Function &f) override
    {
        constexpr unsigned PIECE = 128;
        bool any = false;
        for (llvm::BasicBlock &b : llvm::make_early_inc_range(f))
            any |= ompjit::cut_block(b, PIECE, TOO_LONG, "ompjit.piece");
        return any;
    }
};

/* The passes, and what they write. */
struct Passes : llvm::legacy::PassManagerBase {
    llvm::legacy::PassManager all;
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out;
    llvm::Triple::ArchType arch;
    ompjit__passes wanted;
    bool reducible; /* loops of the modules that they are for are */
    bool long_blocks; /* a GPU's modules have them */

    Passes(const llvm::TargetMachine &tm, ompjit__passes passes,
           bool with_loops, bool with_long_blocks)
        : out(bytes), arch(tm.getTargetTriple().getArch()), wanted(passes),
          reducible(with_loops), long_blocks(with_long_blocks)
    {
    }

    /* Passes that have nothing to do in a kernel: where variables are, which
     * debuggers ask for, who do not see this code; garbage collection,
     * Objective-C, and instrumentation that has no option here. With them go
     * analyses that nobody else needs there. */
    static bool is_idle(llvm::StringRef name)
    {
        static const char *const idle[] = {
            "Live DEBUG_VALUE analysis", "Remove Redundant DEBUG_VALUE analysis",
            "Lower Garbage Collection Instructions", "Shadow Stack GC Lowering",
            "Analyze Machine Code For Garbage Collection",
            "Fixup Statepoint Caller Saved", "ObjC ARC contraction",
            "Safe Stack instrumentation pass", "Insert fentry calls",
            "Insert XRay ops", "Machine Sanitizer Binary Metadata",
            "Stack Frame Layout Analysis"};
        return llvm::is_contained(idle, name);
    }

    /* Strength reduction, where it finds little; on a GPU, whose addresses have
     * been anchored (pointer_cse.cc), a second look for common parts of them. */
    bool is_slow(llvm::StringRef name) const
    {
        if (name == "Canonicalize Freeze Instructions in Loops")
            return true;
        switch (arch) {
        case llvm::Triple::x86_64:
            return name == "Loop Strength Reduction" && !reducible;
        case llvm::Triple::nvptx64:
            return name == "Nary reassociation" ||
                   name == "Global Value Numbering" ||
                   (name == "Loop Strength Reduction" && !reducible);
        default:
            return false;
        }
    }

    /* Its time grows with the square of the addresses that it sees. */
    bool is_too_slow(llvm::StringRef name) const
    {
        return long_blocks && name == "Straight line strength reduction";
    }

    void add(llvm::Pass *pass) override
    {
        llvm::StringRef name = pass->getPassName();
        if (is_idle(name) || is_too_slow(name) ||
            (wanted == OMPJIT__PASSES_LEAN && is_slow(name)))
            delete pass;
        else {
            if (long_blocks && name == "GPU Load and Store Vectorizer")
                all.add(new CutBlocks);
            all.add(pass);
        }
    }
};

} // namespace

/* Set up when they are first needed. */
struct ompjit__generator {
    llvm::TargetMachine &tm;
    llvm::CodeGenFileType type;
    std::unique_ptr<Passes> all, lean, lean_for_loops;

    std::unique_ptr<Passes> &find(ompjit__passes wanted, bool reducible)
    {
        if (wanted == OMPJIT__PASSES_ALL)
            return all;
        return reducible ? lean_for_loops : lean;
    }

    /* NULL: the machine has no such files. */
    std::unique_ptr<Passes> make(ompjit__passes wanted, bool reducible,
                                 bool long_blocks)
    {
        auto passes =
            std::make_unique<Passes>(tm, wanted, reducible, long_blocks);
        if (tm.addPassesToEmitFile(*passes, passes->out, nullptr, type))
            passes.reset();
        return passes;
    }

    Passes *set_up(ompjit__passes wanted, bool reducible)
    {
        std::unique_ptr<Passes> &passes = find(wanted, reducible);
        if (!passes)
            passes = make(wanted, reducible, false);
        return passes.get();
    }
};

ompjit__generator *ompjit__generator_new(LLVMTargetMachineRef tm,
                                         LLVMCodeGenFileType type)
{
    return new ompjit__generator{*reinterpret_cast<llvm::TargetMachine *>(tm),
                                 type == LLVMAssemblyFile
                                     ? llvm::CodeGenFileType::AssemblyFile
                                     : llvm::CodeGenFileType::ObjectFile,
                                 {}, {}, {}};
}

void ompjit__generator_free(ompjit__generator *g)
{
    delete g;
}

void ompjit__generator_prepare(ompjit__generator *g)
{
    g->set_up(OMPJIT__PASSES_ALL, false);
}

void ompjit__learn_features(LLVMTargetMachineRef tm, LLVMValueRef function)
{
    reinterpret_cast<llvm::TargetMachine *>(tm)->getSubtargetImpl(
        *llvm::unwrap<llvm::Function>(function));
}

bool ompjit__generator_run(ompjit__generator *g, LLVMModuleRef ref,
                           ompjit__passes wanted,
                           void (*take)(void *to, const char *bytes,
                                        size_t size),
                           void *to)
{
    llvm::Module &m = *llvm::unwrap(ref);
    bool reducible = wanted == OMPJIT__PASSES_LEAN &&
                     is_reducible(m, g->tm.getTargetTriple().getArch());
    bool gpu = g->tm.getTargetTriple().getArch() == llvm::Triple::nvptx64;
    std::unique_ptr<Passes> once;
    if (!gpu)
        tune_long_functions(m);
    else if (has_long_blocks(m))
        once = g->make(wanted, reducible, true);
    Passes *passes = once ? once.get() : g->set_up(wanted, reducible);
    if (!passes)
        return false;
    bool is_last = gpu && llvm::any_of(m.globals(), is_remembered);
    m.setDataLayout(g->tm.createDataLayout());
    passes->all.run(m);
    take(to, passes->bytes.data(), passes->bytes.size());
    passes->bytes.clear();
    if (is_last && !once)
        g->find(wanted, reducible).reset();
    return true;
}
