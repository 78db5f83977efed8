/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A parameter of the source is one IR argument or several: clang passes small
 * structs in parts, and others by the address of a copy. Unoptimized code stores
 * each part where debug information says that the parameter lives, so both the
 * parameter and the place in it are known for each argument.
 *
 *   define i32 @f(i64 %s.coerce0, double %s.coerce1)
 *     %s = alloca %struct.S
 *     store i64 %s.coerce0, ptr %s
 *     store double %s.coerce1, ptr (%s + 8)
 *       #dbg_declare(ptr %s, !DILocalVariable(name: "s", arg: 1, ...), ...)
 */
#include "frontend/signature/pieces.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugProgramInstruction.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace signature {

/* One register's worth of an IR value. */
struct Leaf {
    enum ompjit__piece_how how;
    uint64_t offset, bytes;
};

/* False: the value, or a part of it, is passed in a way that is not known. */
static bool leaves_of(Type *type, const DataLayout &layout, uint64_t offset,
                      std::vector<Leaf> &out)
{
    uint64_t bits = layout.getTypeSizeInBits(type).getKnownMinValue();
    if (auto *s = dyn_cast<StructType>(type)) {
        const StructLayout *places = layout.getStructLayout(s);
        for (unsigned i = 0; i < s->getNumElements(); i++)
            if (!leaves_of(s->getElementType(i), layout,
                           offset + places->getElementOffset(i), out))
                return false;
        return true;
    }
    if (auto *a = dyn_cast<ArrayType>(type)) {
        uint64_t step = layout.getTypeAllocSize(a->getElementType());
        for (uint64_t i = 0; i < a->getNumElements(); i++)
            if (!leaves_of(a->getElementType(), layout, offset + i * step, out))
                return false;
        return true;
    }
    bool integer = type->isIntegerTy() || type->isPointerTy();
    bool vector = type->isVectorTy() && bits <= 64;
    if (bits > 64 || !(integer || vector || type->isFloatingPointTy()))
        return false;
    out.push_back({integer ? OMPJIT__PIECE_INTEGER : OMPJIT__PIECE_FLOAT,
                   offset, (bits + 7) / 8});
    return true;
}

/* ---------------------------------------------------------------- parameters */

/* Where a parameter of the source lives. */
struct Home {
    unsigned param;   /* from 0 */
    bool by_address;  /* the value is what the address there leads to */
};
using Homes = DenseMap<const Value *, Home>;

static Homes homes_of(Function &f)
{
    Homes homes;
    for (BasicBlock &block : f)
        for (Instruction &i : block)
            for (DbgVariableRecord &r :
                 filterDbgVars(i.getDbgRecordRange())) {
                unsigned arg = r.getVariable()->getArg();
                Value *at = r.isDbgDeclare() ? r.getAddress() : nullptr;
                if (arg && at && !r.getDebugLoc().getInlinedAt())
                    homes[at] = {arg - 1, r.getExpression()->startsWithDeref()};
            }
    return homes;
}

struct Place {
    unsigned param;
    uint64_t offset;
    bool by_address;
};

/* The home that a pointer leads into, also where its variable is copied there.
 */
static bool home_at(const Homes &homes, Value *p, const DataLayout &layout,
                    Place &out)
{
    APInt bytes(64, 0);
    Value *base = p->stripAndAccumulateConstantOffsets(layout, bytes, true);
    uint64_t offset = bytes.getZExtValue();
    auto found = homes.find(base);
    for (User *user : base->users())
        if (auto *copy = dyn_cast<MemCpyInst>(user))
            if (found == homes.end() && copy->getRawSource() == base)
                found = homes.find(copy->getRawDest());
    if (found == homes.end())
        return false;
    out = {found->second.param, offset, found->second.by_address};
    return true;
}

/* The place of an argument's value, by the store of it, which may widen a bool or
 * cut an integer. */
static bool place_of(const Homes &homes, Argument &a, const DataLayout &layout,
                     Place &out)
{
    if (home_at(homes, &a, layout, out)) /* a copy of the caller's */
        return true;
    SmallVector<Value *, 4> values{&a};
    while (!values.empty())
        for (User *user : values.pop_back_val()->users()) {
            if (isa<ZExtInst>(user) || isa<TruncInst>(user))
                values.push_back(user);
            auto *store = dyn_cast<StoreInst>(user);
            if (store && home_at(homes, store->getPointerOperand(), layout, out))
                return true;
        }
    return false;
}

static ompjit__piece piece(unsigned param, unsigned group, const Leaf &leaf)
{
    ompjit__piece p = {};
    p.param = param;
    p.offset = (uint32_t)leaf.offset;
    p.bytes = (uint32_t)leaf.bytes;
    p.group = (uint16_t)group;
    p.how = (uint8_t)leaf.how;
    return p;
}

static std::string number_of(unsigned param)
{
    return "parameter " + std::to_string(param + 1);
}

/* The pieces of one IR argument. */
static void add_argument(Argument &a, const Place &place, uint64_t size,
                         const DataLayout &layout, Passing &out)
{
    std::vector<Leaf> leaves;
    unsigned group = a.getArgNo();
    out.param_of[group] = place.param;
    if (a.hasByValAttr()) {
        Leaf whole = {OMPJIT__PIECE_STACK, 0,
                      layout.getTypeAllocSize(a.getParamByValType())};
        ompjit__piece p = piece(place.param, group, whole);
        p.align = (uint32_t)a.getParamAlign().valueOrOne().value();
        out.params.push_back(p);
    } else if (a.getType()->isX86_FP80Ty()) {
        ompjit__piece p =
            piece(place.param, group, {OMPJIT__PIECE_STACK, 0, 16});
        p.align = 16;
        out.params.push_back(p);
    } else if (place.by_address && a.getType()->isPointerTy()) {
        out.params.push_back(
            piece(place.param, group, {OMPJIT__PIECE_ADDRESS, 0, size}));
    } else if (leaves_of(a.getType(), layout, place.offset, leaves)) {
        if (leaves.size() == 1 && !place.offset)
            out.whole[group] = (unsigned)out.params.size();
        for (Leaf &leaf : leaves) {
            if (size && leaf.offset + leaf.bytes > size)
                leaf.bytes = leaf.offset < size ? size - leaf.offset : 0;
            ompjit__piece p = piece(place.param, group, leaf);
            p.extend = a.hasSExtAttr() ? OMPJIT__EXTEND_SIGN
                                       : OMPJIT__EXTEND_ZERO;
            out.params.push_back(p);
        }
    } else if (out.refused.empty()) {
        out.refused = number_of(place.param) +
                      " is passed in registers that a call cannot fill";
    }
}

/* A place for the result is no parameter. */
static void add_arguments(Function &f, bool named,
                          const std::vector<uint64_t> &sizes, Passing &out)
{
    const DataLayout &layout = f.getParent()->getDataLayout();
    Homes homes = named ? homes_of(f) : Homes();
    std::vector<bool> seen(sizes.size());
    unsigned next = 0;
    for (Argument &a : f.args()) {
        Place place = {next, 0, false};
        if (a.hasStructRetAttr()) {
            out.params.push_back(
                piece(0, a.getArgNo(), {OMPJIT__PIECE_PLACE, 0, 8}));
            continue;
        }
        next++;
        if (named && (!place_of(homes, a, layout, place) ||
                      place.param >= sizes.size())) {
            out.refused = "its code does not tell which parameter " +
                          a.getName().str() + " is";
            return;
        }
        if (place.param < seen.size())
            seen[place.param] = true;
        add_argument(a, place,
                     place.param < sizes.size() ? sizes[place.param] : 0,
                     layout, out);
    }
    for (size_t i = 0; i < seen.size(); i++)
        if (!seen[i] && sizes[i] && out.refused.empty())
            out.refused = "its code does not tell how " +
                          number_of((unsigned)i) + " is passed";
}

/* -------------------------------------------------------------------- result */

static void add_result(Function &f, Passing &out)
{
    const DataLayout &layout = f.getParent()->getDataLayout();
    std::vector<Leaf> leaves;
    Type *type = f.getReturnType();
    if (type->isVoidTy())
        return;
    if (type->isX86_FP80Ty())
        leaves.push_back({OMPJIT__PIECE_X87, 0, 16});
    else if (!leaves_of(type, layout, 0, leaves)) {
        out.refused = "its result comes in registers that a call cannot read";
        return;
    }
    for (const Leaf &leaf : leaves)
        out.result.push_back(piece(0, 0, leaf));
}

Passing find_passing(Function &f, bool named,
                     const std::vector<uint64_t> &sizes)
{
    Passing out;
    add_arguments(f, named, sizes, out);
    add_result(f, out);
    if (f.isVarArg() && out.refused.empty() && f.arg_size())
        out.refused = "it takes any number of arguments";
    return out;
}

} // namespace signature
