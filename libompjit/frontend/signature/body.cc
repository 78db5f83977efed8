/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * clang's unoptimized code keeps every variable in memory, and tells the runtime
 * the address of each pointer that it attaches and of each scalar that is mapped
 * to the device. As neither changes the variable, these addresses are taken out
 * of the copy's arrays: then the variables can be SSA values.
 */
#include "frontend/signature/body.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "abi/offload.h"

using namespace llvm;

namespace signature {

/* -------------------------------------------------------------- constructs */

/* Operands of the runtime's functions: those that take arrays, and that which
 * takes a block with them (abi/offload.h). */
enum { BLOCK = 5 };
static const struct Call {
    const char *name;
    int count, bases, begins, sizes, types, names, mappers; /* -1: a block */
} calls[] = {
    /* name                             n  base begin size type name mapper */
    {"__tgt_target_kernel",            -1, -1,  -1,   -1,  -1,  -1,  -1},
    {"__tgt_target_data_begin_mapper",  2,  3,   4,    5,   6,   7,   8},
    {"__tgt_target_data_end_mapper",    2,  3,   4,    5,   6,   7,   8},
    {"__tgt_target_data_update_mapper", 2,  3,   4,    5,   6,   7,   8},
};

static const Call *call_of(const CallBase *call)
{
    const Function *f = call->getCalledFunction();
    for (const Call &row : calls)
        if (f && f->getName() == row.name &&
            call->arg_size() > unsigned(row.count < 0 ? BLOCK : row.mappers))
            return &row;
    return nullptr;
}

static bool has_constructs(const Function &f,
                           SmallPtrSetImpl<const Function *> &seen)
{
    if (f.isDeclaration() || !seen.insert(&f).second)
        return false;
    for (const BasicBlock &block : f)
        for (const Instruction &i : block)
            if (auto *call = dyn_cast<CallBase>(&i)) {
                const Function *callee = call->getCalledFunction();
                if (call_of(call) || (callee && has_constructs(*callee, seen)))
                    return true;
            }
    return false;
}

bool has_constructs(const Function &f)
{
    SmallPtrSet<const Function *, 16> seen;
    return has_constructs(f, seen);
}

/* ----------------------------------------------------------------- the copy */

/* Calls of functions that have constructs; the region's version for the host
 * has none. */
static std::vector<CallBase *> calls_to_inline(Function &f)
{
    std::vector<CallBase *> found;
    for (BasicBlock &block : f)
        for (Instruction &i : block)
            if (auto *call = dyn_cast<CallBase>(&i)) {
                Function *callee = call->getCalledFunction();
                if (callee && !callee->isDeclaration() && callee != &f &&
                    !callee->isInterposable() && has_constructs(*callee))
                    found.push_back(call);
            }
    return found;
}

/* The rounds and the size bound what recursion and deep calls add. */
static void inline_calls(Function &f)
{
    enum { ROUNDS = 4, LARGEST = 20000 };
    for (int round = 0; round < ROUNDS; round++)
        for (CallBase *call : calls_to_inline(f)) {
            InlineFunctionInfo info;
            if (f.getInstructionCount() < LARGEST)
                (void)InlineFunction(*call, info);
        }
}

Body::Body(Function &f)
{
    ValueToValueMapTy map;
    copy = CloneFunction(&f, map);
    copy->setLinkage(GlobalValue::InternalLinkage);
    copy->setComdat(nullptr);
    inline_calls(*copy);
}

Body::~Body()
{
    copy->eraseFromParent();
}

/* ------------------------------------------------------------------ arrays */

/* The local variable of which a pointer is the given place; NULL: none. */
static AllocaInst *variable_at(Value *p, uint64_t *offset)
{
    const DataLayout &layout =
        cast<Instruction>(p)->getModule()->getDataLayout();
    APInt bytes(64, 0);
    Value *base = p->stripAndAccumulateConstantOffsets(layout, bytes, true);
    *offset = bytes.getZExtValue();
    return dyn_cast<AllocaInst>(base);
}

/* The variable that starts where the pointer points; nullptr: none. */
static AllocaInst *variable_of(Value *p)
{
    uint64_t offset;
    auto *variable =
        p && isa<Instruction>(p) ? variable_at(p, &offset) : nullptr;
    return variable && !offset ? variable : nullptr;
}

/* The one store to a place of a variable; NULL: none, or several. */
static StoreInst *store_at(AllocaInst *variable, uint64_t offset)
{
    StoreInst *found = nullptr;
    SmallVector<Value *, 16> places{variable};
    while (!places.empty())
        for (User *user : places.pop_back_val()->users()) {
            uint64_t at;
            if (isa<GetElementPtrInst>(user)) {
                places.push_back(user);
                continue;
            }
            auto *store = dyn_cast<StoreInst>(user);
            if (!store || !isa<Instruction>(store->getPointerOperand()) ||
                variable_at(store->getPointerOperand(), &at) != variable ||
                at != offset)
                continue;
            if (found)
                return nullptr;
            found = store;
        }
    return found;
}

static Value *stored_at(AllocaInst *variable, uint64_t offset)
{
    StoreInst *store = variable ? store_at(variable, offset) : nullptr;
    return store ? store->getValueOperand() : nullptr;
}

/* The constant that p points to, or that the local array there begins as. */
static Constant *constant_at(Value *p)
{
    if (AllocaInst *variable = variable_of(p)) {
        p = nullptr;
        for (User *user : variable->users())
            if (auto *copy = dyn_cast<MemCpyInst>(user))
                if (copy->getRawDest() == variable)
                    p = copy->getRawSource();
    }
    auto *global = dyn_cast_or_null<GlobalVariable>(p);
    return global && global->isConstant() && global->hasInitializer()
               ? global->getInitializer()
               : nullptr;
}

static Constant *element(Constant *array, unsigned i)
{
    return array ? array->getAggregateElement(i) : nullptr;
}

static StringRef text_of(Constant *name)
{
    auto *global = dyn_cast_or_null<GlobalVariable>(name);
    auto *data = global && global->hasInitializer()
                     ? dyn_cast<ConstantDataArray>(global->getInitializer())
                     : nullptr;
    return data && data->isCString() ? data->getAsCString() : StringRef();
}

/* By the ident_t that the runtime gets first, of clang's
 * ";file;function;line;column;;". */
static unsigned line_of(const CallBase *call)
{
    enum { TEXT = 4, LINE = 3 };
    auto *ident = dyn_cast<GlobalVariable>(call->getArgOperand(0));
    if (!ident || !ident->hasInitializer())
        return 0;
    SmallVector<StringRef, 8> parts;
    unsigned line = 0;
    text_of(element(ident->getInitializer(), TEXT)).split(parts, ';');
    if (parts.size() <= LINE || parts[LINE].getAsInteger(10, line))
        return 0;
    return line;
}

/* The arrays that a construct hands over. */
struct Arrays {
    Value *count, *bases, *begins, *sizes, *types, *names, *mappers;
};

static Arrays arrays_of(CallBase *call, const Call &row)
{
    if (row.count >= 0) {
        auto at = [&](int i) { return call->getArgOperand((unsigned)i); };
        return {at(row.count), at(row.bases), at(row.begins), at(row.sizes),
                at(row.types), at(row.names), at(row.mappers)};
    }
    AllocaInst *block = variable_of(call->getArgOperand(BLOCK));
    auto at = [&](uint64_t offset) { return stored_at(block, offset); };
    return {at(4), at(8), at(16), at(24), at(32), at(40), at(48)};
}

/* An entry with a mapper may map anything: its section is not known. */
static Entry entry_of(const Arrays &arrays, unsigned i)
{
    enum { POINTER = 8 };
    Entry entry;
    if (auto *type = dyn_cast_or_null<ConstantInt>(
            element(constant_at(arrays.types), i)))
        entry.type = type->getZExtValue();
    entry.base = stored_at(variable_of(arrays.bases), i * POINTER);
    entry.begin = stored_at(variable_of(arrays.begins), i * POINTER);
    entry.size = stored_at(variable_of(arrays.sizes), i * POINTER);
    if (!entry.size)
        entry.size = element(constant_at(arrays.sizes), i);
    if (auto *mapper = stored_at(variable_of(arrays.mappers), i * POINTER))
        if (!isa<ConstantPointerNull>(mapper))
            entry.begin = entry.size = nullptr;
    entry.name = text_of(element(constant_at(arrays.names), i));
    return entry;
}

/* Entries whose variable keeps its value lose the address of it. */
static void forget_address(const Arrays &arrays, unsigned i, uint64_t type)
{
    enum { POINTER = 8 };
    if (!(type & OMPJIT__MAP_ATTACH) && type & OMPJIT__MAP_FROM)
        return;
    for (Value *array : {arrays.bases, arrays.begins}) {
        AllocaInst *variable = variable_of(array);
        StoreInst *store = variable ? store_at(variable, i * POINTER) : nullptr;
        if (store && isa<AllocaInst>(store->getValueOperand()))
            store->setOperand(0, Constant::getNullValue(
                                     store->getValueOperand()->getType()));
    }
}

/* Variables that are only loaded and stored become SSA values. */
static void promote(Function &f)
{
    DominatorTree tree(f);
    std::vector<AllocaInst *> variables;
    for (BasicBlock &block : f)
        for (Instruction &i : block)
            if (auto *variable = dyn_cast<AllocaInst>(&i))
                if (isAllocaPromotable(variable))
                    variables.push_back(variable);
    PromoteMemToReg(variables, tree);
}

/* The arrays' variables are not promoted, since their addresses are handed
 * over: entries are read when all else is in SSA form. */
std::vector<Construct> Body::constructs()
{
    enum { MOST = 1024 };
    std::vector<Construct> found;
    std::vector<std::pair<CallBase *, Arrays>> all;
    for (BasicBlock &block : *copy)
        for (Instruction &i : block)
            if (auto *call = dyn_cast<CallBase>(&i))
                if (const Call *row = call_of(call))
                    all.push_back({call, arrays_of(call, *row)});
    auto count = [](const Arrays &arrays) {
        auto *n = dyn_cast_or_null<ConstantInt>(arrays.count);
        return n && n->getZExtValue() <= MOST ? (unsigned)n->getZExtValue() : 0;
    };
    for (auto &[call, arrays] : all)
        for (unsigned i = 0; i < count(arrays); i++)
            forget_address(arrays, i, entry_of(arrays, i).type);
    promote(*copy);
    for (auto &[call, arrays] : all) {
        Construct construct{call, line_of(call), {}};
        for (unsigned i = 0; i < count(arrays); i++)
            construct.entries.push_back(entry_of(arrays, i));
        found.push_back(std::move(construct));
    }
    return found;
}

} // namespace signature
