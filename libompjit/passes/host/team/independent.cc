// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the device of kernels whose threads never wait for each other, ask for
// each other, or are told from each other by the engine: their teams need no
// fibers. The object has a symbol KERNEL.independent for each.
//
// Threads that run one after another give the same result as fibers that take
// turns if none of them waits for a later one. A thread waits in the engine's
// functions only: barriers, shuffles, locks, and ompjit_host_wait, which
// wait_loops.cc has put into every loop that waits by memory.
//
// Requires host IR that nothing changes any more but the code generator, and
// wait_loops.cc before it.
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include "abi/host_layout.h"
#include "passes/host/team/form.h"

using namespace llvm;

// passes/host/team/team.h is C.
extern "C" void ompjit__tell_independent(LLVMModuleRef m);

namespace {

constexpr StringLiteral engine_prefix = "ompjit_host_";

// The engine's functions that concern a thread alone, and those of the C
// library that leave no function.
bool is_harmless(StringRef name)
{
    if (!name.starts_with(engine_prefix))
        return !name.contains("jmp");
    return StringSwitch<bool>(name)
        .Cases({"ompjit_host_self", "ompjit_host_trap", "ompjit_host_wtime"},
               true)
        .Cases({"ompjit_host_clock", "ompjit_host_vprintf",
                "ompjit_host_assert_failed"},
               true)
        .Default(false);
}

// Is all that the module declares harmless? Then any function of it is that a
// pointer may call.
bool is_independent(const Module &m)
{
    return all_of(m, [](const Function &f) {
        return !f.isDeclaration() || f.use_empty() ||
               is_harmless(f.getName());
    });
}

// The functions that a kernel reaches.
class Kernel {
  public:
    explicit Kernel(bool all) : all(all) {}

    // `all`: whatever a pointer may call is independent.
    bool is_independent(const Function &f)
    {
        if (f.isDeclaration())
            return is_harmless(f.getName());
        if (!seen.insert(&f).second)
            return true;
        return all_of(instructions(f), [&](const Instruction &i) {
            const auto *call = dyn_cast<CallBase>(&i);
            if (!call || call->isInlineAsm())
                return true;
            const Function *callee = call->getCalledFunction();
            return callee ? is_independent(*callee) : all;
        });
    }

  private:
    SmallPtrSet<const Function *, 16> seen;
    bool all;
};

} // namespace

// A pointer that is called may lead to any function: then the answer is no.
bool ompjit_team::needs_no_fibers(const Function &f)
{
    return Kernel(false).is_independent(f);
}

void ompjit__tell_independent(LLVMModuleRef ref)
{
    Module &m = *unwrap(ref);
    const bool all = is_independent(m);
    Type *byte = Type::getInt8Ty(m.getContext());
    SmallVector<std::string, 4> names;
    for (const Function &f : m) {
        StringRef kernel = f.getName();
        if (!f.isDeclaration() && kernel.consume_back(OMPJIT__ENTRY_SUFFIX) &&
            Kernel(all).is_independent(f))
            names.push_back((kernel + ".independent").str());
    }
    for (const std::string &name : names)
        new GlobalVariable(m, byte, true, GlobalValue::ExternalLinkage,
                           ConstantInt::get(byte, 1), name);
}
