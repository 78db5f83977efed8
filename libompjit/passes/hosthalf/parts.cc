/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Divides a prepared host half into parts, each of which is compiled when one of
 * its functions is first called (hosthalf/parts.c). A program may have hundreds
 * of target regions and launch a few of them.
 *
 *   main() { first(); }                  core: main
 *   first()  { target region A }         part: first, helper
 *   second() { target region B }         part: second
 *   A(...), B(...)                       two parts: the regions' host versions
 *   helper()                             called by first alone
 *
 * A part begins with
 *
 *   - the host version of a target region, which hardly any program runs;
 *   - a function that launches kernels, if there are more than a few;
 *   - a function that the application may ask for, if the core does not need it;
 *   - a function that several parts call and that is too large to be copied.
 *
 * The core is the rest: all variables, the table, constructors, main and all that
 * they call. Small functions are copied into each part that calls them, so that
 * they are inlined as before. Other parts' functions and the core's variables are
 * external symbols in a part; the linker gives the address of a stub for a
 * function of a part that is not compiled yet.
 *
 * A launch takes a hundred nanoseconds at least, so that the stub's jump does not
 * count. Functions that launch nothing are never taken from main.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "core/host_half.h"
#include "passes/clone.h"
#include "passes/hosthalf/parts.h"

using namespace llvm;

namespace {

constexpr unsigned FEW_LAUNCHERS = 8; /* as of kernels: core/template.h       */
constexpr unsigned SMALL = 150;       /* instructions before LLVM's passes    */
constexpr uint64_t COPIED = 65536;    /* bytes of a constant                  */
constexpr size_t CORE = 0;

using Globals = SetVector<GlobalValue *>;

/* The functions and variables that a constant names. */
void add_globals(Value *v, Globals &out, SmallPtrSetImpl<Value *> &seen)
{
    auto *c = dyn_cast<Constant>(v);
    if (!c || !seen.insert(c).second)
        return;
    if (auto *g = dyn_cast<GlobalValue>(c)) {
        out.insert(g);
        return;
    }
    for (Use &operand : c->operands())
        add_globals(operand, out, seen);
}

/* Those that a function's code or a variable's initializer names. */
Globals globals_of(GlobalValue &g)
{
    Globals out;
    SmallPtrSet<Value *, 32> seen;
    if (auto *user = dyn_cast<User>(&g))
        for (Use &operand : user->operands())
            add_globals(operand, out, seen);
    if (auto *f = dyn_cast<Function>(&g))
        for (Instruction &i : instructions(*f))
            for (Use &operand : i.operands())
                add_globals(operand, out, seen);
    return out;
}

uint64_t size_of(const GlobalVariable &g)
{
    return g.getDataLayout().getTypeAllocSize(g.getValueType());
}

/* A constant that each part may have for itself: nobody can tell one from
 * another, and it is not large. */
bool is_copied(const GlobalVariable &g)
{
    return g.isConstant() && g.hasLocalLinkage() && g.hasInitializer() &&
           g.hasGlobalUnnamedAddr() && !g.isThreadLocal() && !g.hasSection() &&
           size_of(g) <= COPIED;
}

/* Internal variables that are only read become constants, as LLVM's passes would
 * find if they saw the whole program. */
void find_constants(Module &m)
{
    for (GlobalVariable &g : m.globals()) {
        if (g.isConstant() || !g.hasLocalLinkage() || !g.hasInitializer() ||
            g.isThreadLocal() || g.hasSection() || g.use_empty())
            continue;
        if (all_of(g.users(), [](const User *u) {
                auto *load = dyn_cast<LoadInst>(u);
                return load && !load->isVolatile() && !load->isAtomic();
            })) {
            g.setConstant(true);
            g.setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
        }
    }
}

/* Its blocks have addresses: it is there once, in the core. */
bool has_labels(const Function &f)
{
    return any_of(f, [](const BasicBlock &b) { return b.hasAddressTaken(); });
}

/* clang's name of a region's host version. */
bool is_host_version(const Function &f)
{
    return f.getName().starts_with("__omp_offloading_") &&
           f.hasLocalLinkage() && !f.isDeclaration() && !f.hasAddressTaken() &&
           !has_labels(f);
}

} // namespace

struct ompjit__parts {
    Module &m;
    bool whole;
    std::vector<Function *> begins{nullptr}; /* of each part but the core   */
    std::vector<Globals> takes{Globals()};   /* what is cloned into each    */
    DenseMap<const GlobalValue *, Globals> names; /* what each names        */
    DenseSet<const Function *> copied;
    DenseMap<const Function *, size_t> part; /* of those in one part alone  */

    ompjit__parts(Module &module, bool is_whole) : m(module), whole(is_whole) {}

    const Globals &named_by(GlobalValue &g)
    {
        auto found = names.find(&g);
        if (found == names.end())
            found = names.try_emplace(&g, globals_of(g)).first;
        return found->second;
    }

    bool divide();
    void find_copied(const SetVector<Function *> &starts);
    SetVector<Function *> launchers();
    void take_core(const SetVector<Function *> &starts, bool with_entries);
    bool take_from(size_t start, SetVector<Function *> &starts,
                   DenseMap<const Function *, size_t> &rest, Globals &out);
    void take_rest(SetVector<Function *> starts);
    void promote();
};

namespace {

/* Does it have things that a linker would put together with others, or resolve
 * when the program starts; or debug information, which describes the whole? */
bool is_unusual(const Module &m)
{
    return !m.getModuleInlineAsm().empty() || !m.ifuncs().empty() ||
           m.getNamedMetadata("llvm.dbg.cu");
}

/* May the application ask for it by its name? As rewrite.c lists them. */
bool is_entry(const Function &f)
{
    return !f.isDeclaration() &&
           (f.hasExternalLinkage() || f.hasWeakAnyLinkage() ||
            f.hasWeakODRLinkage());
}

bool calls(const Function &f, const SmallPtrSetImpl<Function *> &callees)
{
    for (const Instruction &i : instructions(f))
        if (auto *call = dyn_cast<CallBase>(&i))
            if (callees.contains(call->getCalledFunction()))
                return true;
    return false;
}

/* The function itself, or, of one that is handed to the OpenMP runtime (a task, a
 * parallel region), those that hand it over. */
void add_launcher(Function *f, SetVector<Function *> &out,
                  SmallPtrSetImpl<Function *> &seen)
{
    if (!seen.insert(f).second)
        return;
    if (!f->hasLocalLinkage() || !f->hasAddressTaken()) {
        out.insert(f);
        return;
    }
    for (User *u : f->users())
        if (auto *i = dyn_cast<Instruction>(u))
            add_launcher(i->getFunction(), out, seen);
}

} // namespace

/* Functions that launch kernels. Served functions are called by thunks, which
 * rewrite.c makes. */
SetVector<Function *> ompjit__parts::launchers()
{
    SetVector<Function *> out;
    SmallPtrSet<Function *, 8> thunks;
    SmallPtrSet<Function *, 32> seen;
    for (Function &f : m)
        if (f.isDeclaration() && f.getName().starts_with("__tgt_target_kernel"))
            for (User *u : f.users())
                if (auto *call = dyn_cast<CallBase>(u))
                    thunks.insert(call->getFunction());
    for (Function &f : m)
        if (!f.isDeclaration() && !thunks.contains(&f) && calls(f, thunks))
            add_launcher(&f, out, seen);
    out.remove_if([](const Function *f) {
        return f->getName() == "main" || has_labels(*f);
    });
    return out;
}

/* A function whose address is not taken may be copied: nobody can tell copies
 * from each other. */
void ompjit__parts::find_copied(const SetVector<Function *> &starts)
{
    for (Function &f : m)
        if (!f.isDeclaration() && !f.hasAddressTaken() && !f.isInterposable() &&
            !starts.contains(&f) && !has_labels(f) &&
            (f.hasAvailableExternallyLinkage() ||
             f.getInstructionCount() <= SMALL))
            copied.insert(&f);
}

/* The core is all that the table, variables, aliases and main name, and what that
 * names, up to where other parts begin. */
void ompjit__parts::take_core(const SetVector<Function *> &starts,
                              bool with_entries)
{
    Globals &todo = takes[CORE];
    for (GlobalVariable &g : m.globals())
        if (g.hasInitializer() && !is_copied(g))
            todo.insert(&g);
    for (GlobalAlias &a : m.aliases())
        todo.insert(&a);
    for (Function &f : m)
        if (f.getName() == "main" || has_labels(f) ||
            (with_entries && is_entry(f)))
            todo.insert(&f);
    for (size_t i = 0; i < todo.size(); i++) {
        auto *f = dyn_cast<Function>(todo[i]);
        if (f && (f->isDeclaration() || starts.contains(f)))
            continue;
        if (f && (!copied.contains(f) || is_entry(*f)))
            part[f] = CORE;
        for (GlobalValue *g : named_by(*todo[i]))
            todo.insert(g);
    }
}

/* Collects in `out` what part `start` + 1 consists of. A function that belongs to
 * another part as well becomes a start: then the result is true, and all are to
 * be collected again. */
bool ompjit__parts::take_from(size_t start, SetVector<Function *> &starts,
                              DenseMap<const Function *, size_t> &rest,
                              Globals &out)
{
    bool more = false;
    out.insert(starts[start]);
    rest[starts[start]] = start + 1;
    for (size_t i = 0; i < out.size(); i++) {
        for (GlobalValue *g : named_by(*out[i])) {
            auto *f = dyn_cast<Function>(g);
            auto *v = dyn_cast<GlobalVariable>(g);
            if (v && is_copied(*v))
                out.insert(v);
            if (!f || f->isDeclaration())
                continue;
            if (copied.contains(f)) {
                out.insert(f);
            } else if (!part.contains(f) && !starts.contains(f)) {
                auto known = rest.try_emplace(f, start + 1).first;
                if (known->second == start + 1)
                    out.insert(f);
                else
                    more |= starts.insert(f);
            }
        }
    }
    return more;
}

/* The functions that the core does not have belong to the part that alone leads
 * to them. Those to which several lead begin parts of their own. Which these are
 * is known after a few rounds. */
void ompjit__parts::take_rest(SetVector<Function *> starts)
{
    for (bool more = true; more;) {
        DenseMap<const Function *, size_t> rest;
        takes.resize(1);
        more = false;
        for (size_t k = 0; k < starts.size(); k++) {
            takes.emplace_back();
            more |= take_from(k, starts, rest, takes.back());
        }
        if (more)
            continue;
        part.insert(rest.begin(), rest.end());
        begins.insert(begins.end(), starts.begin(), starts.end());
    }
}

namespace {

/* Visible to the linker, under a name. Only the linker sees such names: they are
 * not among those that the application may ask for. */
void make_external(GlobalValue &g)
{
    if (g.isDeclaration() || g.hasAvailableExternallyLinkage())
        return;
    if (g.hasLocalLinkage() || g.isDiscardableIfUnused()) {
        if (!g.hasName())
            g.setName("ompjit.part");
        g.setLinkage(GlobalValue::ExternalLinkage);
    }
    g.setVisibility(GlobalValue::DefaultVisibility);
    g.setDSOLocal(true);
}

} // namespace

/* A function that one part names and another one has becomes external. */
void ompjit__parts::promote()
{
    for (size_t k = CORE + 1; k < takes.size(); k++) {
        make_external(*begins[k]);
        for (GlobalValue *taken : takes[k])
            for (GlobalValue *g : named_by(*taken)) {
                auto *f = dyn_cast<Function>(g);
                auto *v = dyn_cast<GlobalVariable>(g);
                if (f ? !copied.contains(f) && part.lookup(f) != k
                      : !v || !is_copied(*v))
                    make_external(*g);
            }
    }
}

/* False: one part would be all. */
bool ompjit__parts::divide()
{
    if (is_unusual(m))
        return false;
    find_constants(m);
    SetVector<Function *> starts, launching = launchers();
    bool many = launching.size() > FEW_LAUNCHERS;
    for (Function &f : m)
        if (is_host_version(f))
            starts.insert(&f);
    if (many)
        starts.insert(launching.begin(), launching.end());
    find_copied(starts);
    take_core(starts, !whole && !many);
    for (Function &f : m)
        if (is_entry(f) && !part.contains(&f))
            starts.insert(&f);
    take_rest(starts);
    promote();
    return begins.size() > 1;
}

/* ---------------------------------------------------------------- extract */

namespace {

/* Takes the functions of a part, and copies. */
class Taker final : public ompjit::Cloner {
public:
    Taker(const ompjit__parts &parts, size_t number, Module &target)
        : Cloner(target), p(parts), which(number)
    {
    }

    void use_stub();

private:
    const ompjit__parts &p;
    size_t which;

    bool is_own(const Function &f) const;
    bool has(const Function &f) const override;
    bool has(const GlobalVariable &g) const override;
    bool has(const GlobalAlias &) const override { return which == CORE; }
    GlobalValue::LinkageTypes linkage_of(const Function &f) const override;
    GlobalValue::LinkageTypes
    linkage_of(const GlobalVariable &g) const override;
};

bool Taker::is_own(const Function &f) const
{
    auto found = p.part.find(&f);
    return found != p.part.end() && found->second == which;
}

bool Taker::has(const Function &f) const
{
    return p.copied.contains(&f) || is_own(f);
}

/* All variables are in the core, but for those that nobody can tell apart. What a
 * constant of another part holds may still be folded. */
bool Taker::has(const GlobalVariable &g) const
{
    constexpr uint64_t FOLDED = 4096;
    return which == CORE || is_copied(g) ||
           (g.isConstant() && !g.isInterposable() && !g.isThreadLocal() &&
            size_of(g) <= FOLDED);
}

/* In the core a function keeps its linkage; elsewhere only the one by which the
 * part is called is seen from outside. */
GlobalValue::LinkageTypes Taker::linkage_of(const Function &f) const
{
    if (f.hasAvailableExternallyLinkage() || (which == CORE && is_own(f)))
        return f.getLinkage();
    return which != CORE && p.begins[which] == &f
               ? GlobalValue::ExternalLinkage
               : GlobalValue::InternalLinkage;
}

GlobalValue::LinkageTypes Taker::linkage_of(const GlobalVariable &g) const
{
    return which == CORE || is_copied(g)
               ? g.getLinkage()
               : GlobalValue::AvailableExternallyLinkage;
}

/* As a value, the address of the function by which a part is called is that of its
 * stub, in the part as everywhere else. */
void Taker::use_stub()
{
    Function *f = p.begins[which];
    if (!f || !f->hasAddressTaken())
        return;
    Function *stub = Function::Create(
        f->getFunctionType(), GlobalValue::ExternalLinkage,
        Twine(OMPJIT__STUB_OF) + f->getName(), to);
    take(*f)->replaceUsesWithIf(stub, [](const Use &use) {
        auto *call = dyn_cast<CallBase>(use.getUser());
        return !call || !call->isCallee(&use);
    });
}

} // namespace

LLVMModuleRef ompjit__parts_take(const ompjit__parts *parts, size_t i)
{
    std::unique_ptr<Module> to = ompjit::Cloner::empty_like(parts->m);
    Taker taker(*parts, i, *to);
    if (i == CORE)
        for (GlobalValue *g : parts->takes[CORE])
            taker.take(*g);
    else
        taker.take(*parts->begins[i]);
    taker.finish();
    taker.use_stub();
    return wrap(to.release());
}

/* -------------------------------------------------------------- interface */

ompjit__parts *ompjit__parts_new(LLVMModuleRef m, bool whole)
{
    auto parts = std::make_unique<ompjit__parts>(*unwrap(m), whole);
    return parts->divide() ? parts.release() : nullptr;
}

void ompjit__parts_free(ompjit__parts *parts)
{
    delete parts;
}

size_t ompjit__parts_count(const ompjit__parts *parts)
{
    return parts->begins.size();
}

const char *ompjit__parts_name(const ompjit__parts *parts, size_t i)
{
    return parts->begins[i]->getName().data();
}

/* Intrinsics are the code generator's. */
void ompjit__parts_wants(const ompjit__parts *parts,
                         void (*tell)(void *data, const char *name),
                         void *data)
{
    DenseSet<const GlobalValue *> told;
    for (size_t k = CORE + 1; k < parts->takes.size(); k++)
        for (GlobalValue *taken : parts->takes[k]) {
            auto named = parts->names.find(taken);
            if (named == parts->names.end())
                continue;
            for (GlobalValue *g : named->second)
                if (g->isDeclaration() && !g->hasExternalWeakLinkage() &&
                    !g->getName().starts_with("llvm.") &&
                    told.insert(g).second)
                    tell(data, g->getName().data());
        }
}
