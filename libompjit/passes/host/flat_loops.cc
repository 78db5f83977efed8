// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the device what an iteration of a kernel costs at most, where that can be
// seen: its loops stand in no other loop and call nothing. The object has a symbol
// KERNEL.instructions.N for each, with the instructions of its largest loop. Before
// anything is measured, the device knows by them which launches are too small for
// several OS threads.
//
// Requires host IR that nothing changes any more but the code generator.
#include <llvm-c/Core.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "abi/host_layout.h"

using namespace llvm;

// passes/host/host.h is C.
extern "C" void ompjit__tell_instructions(LLVMModuleRef m);

namespace {

constexpr unsigned UNKNOWN = ~0u;
constexpr unsigned DEEP = 3; // calls behind an entry

bool is_call(const Instruction &i)
{
    return isa<CallBase>(i) && !isa<IntrinsicInst>(i);
}

unsigned size_of(const Loop &loop)
{
    unsigned n = 0;
    for (const BasicBlock *block : loop.blocks())
        for (const Instruction &i : *block) {
            if (is_call(i))
                return UNKNOWN;
            n++;
        }
    return loop.isInnermost() ? n : UNKNOWN;
}

// It is that of the function and of all that it calls.
unsigned largest_loop(Function &f, unsigned depth)
{
    if (f.isDeclaration())
        return 0; // the engine's, which is called once
    if (!depth)
        return UNKNOWN;
    DominatorTree tree(f);
    LoopInfo loops(tree);
    unsigned most = 0;
    for (const Loop *loop : loops)
        most = std::max(most, size_of(*loop));
    for (BasicBlock &block : f)
        for (Instruction &i : block) {
            auto *call = dyn_cast<CallBase>(&i);
            if (!is_call(i))
                continue;
            Function *callee = call->getCalledFunction();
            most = std::max(most, callee ? largest_loop(*callee, depth - 1)
                                         : UNKNOWN);
        }
    return most;
}

} // namespace

void ompjit__tell_instructions(LLVMModuleRef ref)
{
    Module &m = *unwrap(ref);
    Type *byte = Type::getInt8Ty(m.getContext());
    SmallVector<std::string, 4> names;
    for (Function &f : m) {
        StringRef kernel = f.getName();
        if (f.isDeclaration() || !kernel.consume_back(OMPJIT__ENTRY_SUFFIX))
            continue;
        unsigned n = largest_loop(f, DEEP);
        if (n && n != UNKNOWN)
            names.push_back((kernel + ".instructions." + Twine(n)).str());
    }
    for (const std::string &name : names)
        new GlobalVariable(m, byte, true, GlobalValue::ExternalLinkage,
                           ConstantInt::get(byte, 1), name);
}
