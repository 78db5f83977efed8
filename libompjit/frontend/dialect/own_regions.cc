// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target regions of functions that only their file can see. A region's name says
// its file, function and line, __omp_offloading_DEVICE_FILE_FUNCTION_lLINE, which
// is the same in every source that includes the file: a `static` function of a
// header, whose macros may differ, or a template for a lambda that each source has
// under one name. Each source has a function of its own there, and clang one
// kernel for all of them. Such regions get a FILE of their own here.
#include <llvm-c/Core.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MD5.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "frontend/dialect/own_names.h"

extern "C" { // frontend/dialect/dialect.h and describe.h are C
bool ompjit__is_kernel(LLVMValueRef f);
bool ompjit__own_regions(LLVMModuleRef device, LLVMModuleRef host);
}

std::string ompjit__own_digest(llvm::Module &host)
{
    llvm::MD5 hash;
    llvm::MD5::MD5Result result;
    hash.update(host.getSourceFileName());
    hash.update(llvm::getUniqueModuleId(&host));
    hash.final(result);
    return result.digest().str().str();
}

namespace {

// The parts of a region's name.
struct Name {
    llvm::StringRef device, file, function;
    llvm::StringRef line; // "_l12", or "_l12_1" for a second one there
};

const char region[] = "__omp_offloading_";

bool is_hex(llvm::StringRef text)
{
    return !text.empty() && llvm::all_of(text, llvm::isHexDigit);
}

bool split(llvm::StringRef text, Name &name)
{
    if (!text.consume_front(region))
        return false;
    std::tie(name.device, text) = text.split('_');
    std::tie(name.file, text) = text.split('_');
    const size_t at = text.rfind("_l");
    name.function = text.take_front(at);
    name.line = text.drop_front(name.function.size());
    return is_hex(name.device) && is_hex(name.file) && !name.line.empty();
}

// The name in this file alone.
std::string own_name(const Name &name, llvm::StringRef digest)
{
    llvm::MD5 hash;
    llvm::MD5::MD5Result result;
    hash.update(name.file);
    hash.update(digest);
    hash.final(result);
    return (region + name.device + "_" + llvm::utohexstr(result.low(), true) +
            "_" + name.function + name.line)
        .str();
}

void rename(llvm::Module &m, const llvm::Twine &from, const llvm::Twine &to)
{
    if (llvm::GlobalValue *v = m.getNamedValue(from.str()))
        v->setName(to);
}

// A kernel and the variables that are found by its name.
void rename_kernel(llvm::Module &device, const std::string &from,
                   const std::string &to)
{
    for (const char *suffix : {"", "_kernel_environment", "_dynamic_environment",
                               "_exec_mode"})
        rename(device, from + suffix, to + suffix);
}

// Puts another text in the place of the entry's name, which is a variable of the
// entry alone.
void rename_in_entry(llvm::GlobalVariable &entry, const std::string &from,
                     const std::string &to)
{
    for (const llvm::Use &field : entry.getInitializer()->operands()) {
        auto *old = llvm::dyn_cast<llvm::GlobalVariable>(field.get());
        auto *text = old && old->hasInitializer()
                         ? llvm::dyn_cast<llvm::ConstantDataArray>(
                               old->getInitializer())
                         : nullptr;
        if (!text || !text->isCString() || text->getAsCString() != from)
            continue;
        llvm::Constant *name =
            llvm::ConstantDataArray::getString(old->getContext(), to);
        auto *now = new llvm::GlobalVariable(
            *old->getParent(), name->getType(), true, old->getLinkage(), name);
        now->copyAttributesFrom(old);
        now->takeName(old);
        old->replaceAllUsesWith(now);
        old->eraseFromParent();
        return;
    }
}

// A region's id, entry and function.
void rename_region(llvm::Module &host, const std::string &from,
                   const std::string &to)
{
    for (const char *prefix : {".offloading.entry.", ".omp_offloading.entry."})
        if (auto *entry = host.getGlobalVariable(prefix + from, true)) {
            if (entry->hasInitializer())
                rename_in_entry(*entry, from, to);
            entry->setName(prefix + to);
        }
    rename(host, "." + from + ".region_id", "." + to + ".region_id");
    rename(host, from, to);
}

} // namespace

// True: both halves have changed.
bool ompjit__own_regions(LLVMModuleRef device_ref, LLVMModuleRef host_ref)
{
    llvm::Module &device = *llvm::unwrap(device_ref);
    llvm::Module &host = *llvm::unwrap(host_ref);
    std::string digest;
    for (llvm::Function &f : device) {
        Name name;
        if (!split(f.getName(), name) ||
            !ompjit__is_kernel(llvm::wrap(&f)))
            continue;
        const llvm::Function *in = host.getFunction(name.function);
        if (!in || !in->hasLocalLinkage())
            continue;
        if (digest.empty())
            digest = ompjit__own_digest(host);
        const std::string from = f.getName().str();
        const std::string to = own_name(name, digest);
        rename_region(host, from, to);
        rename_kernel(device, from, to);
    }
    return !digest.empty();
}
