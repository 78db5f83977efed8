// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inside of CUDA's libdevice on a CPU. clang on a machine with CUDA inlines
// libdevice's functions into device code; they consist of NVVM intrinsics and a
// dozen texts of PTX. Here those become LLVM's intrinsics and integers of any
// width. Approximations of the machine's become exact results, which the
// functions take as well; other roundings than to the nearest, which they rely
// on, are functions of the host runtime (runtime-bc/libc/libdevice.c).
//
// Requires IR in a GPU's form. What it does not know stays for the retargeting
// to refuse.
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

using namespace llvm;

// passes/host/host.h is C.
extern "C" void ompjit__lower_libdevice(LLVMModuleRef m);

namespace {

/* llvm.nvvm.OP.MODE...TYPE, of which the name says what it computes. */
struct Name {
    StringRef op, mode, type;
    explicit Name(StringRef all)
    {
        SmallVector<StringRef, 6> words;
        all.split(words, '.');
        op = words[0];
        for (StringRef word : ArrayRef(words).drop_front())
            if (is_contained({"rn", "rz", "rm", "rp", "approx"}, word))
                mode = word;
            else if (word != "ftz")
                type = word;
    }
    bool is_nearest() const
    {
        return mode.empty() || mode == "rn" || mode == "approx";
    }
};

/* ----------------------------------------------------------- arithmetic */

Value *inverse(IRBuilder<> &b, Value *x)
{
    return b.CreateFDiv(ConstantFP::get(x->getType(), 1), x);
}

Value *root(IRBuilder<> &b, Value *x)
{
    return b.CreateUnaryIntrinsic(Intrinsic::sqrt, x);
}

Value *saturate(IRBuilder<> &b, Value *x)
{
    Value *zero = ConstantFP::get(x->getType(), 0);
    Value *one = ConstantFP::get(x->getType(), 1);
    return b.CreateMinNum(b.CreateMaxNum(x, zero), one);
}

Intrinsic::ID function(StringRef op)
{
    return StringSwitch<Intrinsic::ID>(op)
        .Case("ceil", Intrinsic::ceil)
        .Case("cos", Intrinsic::cos)
        .Case("ex2", Intrinsic::exp2)
        .Case("fabs", Intrinsic::fabs)
        .Case("floor", Intrinsic::floor)
        .Case("lg2", Intrinsic::log2)
        .Case("round", Intrinsic::rint) // cvt.rni
        .Case("sin", Intrinsic::sin)
        .Case("sqrt", Intrinsic::sqrt)
        .Case("trunc", Intrinsic::trunc)
        .Default(Intrinsic::not_intrinsic);
}

Value *compute(IRBuilder<> &b, StringRef op, ArrayRef<Value *> a)
{
    if (Intrinsic::ID id = function(op))
        return b.CreateUnaryIntrinsic(id, a[0]);
    if (op == "rcp")
        return inverse(b, a[0]);
    if (op == "rsqrt")
        return inverse(b, root(b, a[0]));
    if (op == "saturate")
        return saturate(b, a[0]);
    if (op == "fma")
        return b.CreateIntrinsic(Intrinsic::fma, a[0]->getType(), a);
    if (op == "fmin")
        return b.CreateMinNum(a[0], a[1]);
    if (op == "fmax")
        return b.CreateMaxNum(a[0], a[1]);
    if (op == "add")
        return b.CreateFAdd(a[0], a[1]);
    if (op == "mul")
        return b.CreateFMul(a[0], a[1]);
    if (op == "div")
        return b.CreateFDiv(a[0], a[1]);
    return nullptr;
}

/* One that rounds in another direction. */
Value *directed(IRBuilder<> &b, const Name &name, CallInst *call)
{
    if (!is_contained({"fma.rz.f", "fma.rm.f", "add.rz.f", "add.rz.d",
                       "mul.rz.f"},
                      (name.op + "." + name.mode + "." + name.type).str()))
        return nullptr;
    std::string to = ("ompjit_nvvm_" + name.op + "_" + name.mode + "_" +
                      name.type).str();
    SmallVector<Value *, 3> args(call->args());
    FunctionCallee f = call->getModule()->getOrInsertFunction(
        to, call->getFunctionType());
    cast<Function>(f.getCallee())->setDoesNotAccessMemory();
    return b.CreateCall(f, args);
}

/* --------------------------------------------------------- parts, widths */

Value *part(IRBuilder<> &b, Value *x, bool high)
{
    Value *bits = b.CreateBitCast(x, b.getInt64Ty());
    return b.CreateTrunc(high ? b.CreateLShr(bits, 32) : bits,
                         b.getInt32Ty());
}

/* high << width(low) | low, of twice the width */
Value *join(IRBuilder<> &b, Value *low, Value *high)
{
    unsigned width = low->getType()->getIntegerBitWidth();
    Type *wide = b.getIntNTy(2 * width);
    return b.CreateOr(b.CreateZExt(low, wide),
                      b.CreateShl(b.CreateZExt(high, wide), width));
}

Value *high_product(IRBuilder<> &b, Value *x, Value *y, bool is_signed)
{
    unsigned width = x->getType()->getIntegerBitWidth();
    Type *wide = b.getIntNTy(2 * width);
    auto widen = [&](Value *v) { return b.CreateIntCast(v, wide, is_signed); };
    Value *product = b.CreateMul(widen(x), widen(y));
    return b.CreateTrunc(b.CreateLShr(product, width), x->getType());
}

/* Numbers that are too large become the largest, as PTX has it. */
Value *to_integer(IRBuilder<> &b, const Name &name, Value *x, Type *type)
{
    Intrinsic::ID round = StringSwitch<Intrinsic::ID>(name.mode)
                              .Case("rz", Intrinsic::trunc)
                              .Case("rm", Intrinsic::floor)
                              .Case("rp", Intrinsic::ceil)
                              .Default(Intrinsic::rint);
    Intrinsic::ID convert = name.op.contains("2u") ? Intrinsic::fptoui_sat
                                                   : Intrinsic::fptosi_sat;
    return b.CreateIntrinsic(convert, {type, x->getType()},
                             {b.CreateUnaryIntrinsic(round, x)});
}

Value *convert(IRBuilder<> &b, const Name &name, CallInst *call)
{
    Value *x = call->getArgOperand(0);
    Type *to = call->getType(), *from = x->getType();
    if (name.op == "lohi" && call->arg_size() == 2)
        return b.CreateBitCast(join(b, x, call->getArgOperand(1)), to);
    if (name.op == "d2i" && (name.type == "lo" || name.type == "hi"))
        return part(b, x, name.type == "hi");
    if (name.op == "mulhi")
        return high_product(b, x, call->getArgOperand(1),
                            !name.type.starts_with("u"));
    if (!name.op.contains('2') || name.op == "ex2" || name.op == "lg2")
        return nullptr;
    if (from->isFloatingPointTy() && to->isIntegerTy() &&
        to->getIntegerBitWidth() >= 32)
        return to_integer(b, name, x, to);
    if (!name.is_nearest())
        return nullptr;
    if (from->isIntegerTy() && to->isFloatingPointTy())
        return name.op.starts_with("u") ? b.CreateUIToFP(x, to)
                                        : b.CreateSIToFP(x, to);
    return from->isDoubleTy() && to->isFloatTy() ? b.CreateFPTrunc(x, to)
                                                 : nullptr;
}

Value *lower_intrinsic(IRBuilder<> &b, CallInst *call)
{
    StringRef all = call->getCalledFunction()->getName();
    if (!all.consume_front("llvm.nvvm.") || !call->arg_size())
        return nullptr;
    Name name(all);
    if (Value *v = convert(b, name, call))
        return v;
    if (!call->getType()->isFloatingPointTy())
        return nullptr;
    SmallVector<Value *, 3> args(call->args());
    return name.is_nearest() ? compute(b, name.op, args)
                             : directed(b, name, call);
}

/* ------------------------------------------------------------- PTX texts */

/* A pair of the low and the high half of `wide`. */
Value *halves(IRBuilder<> &b, Value *wide, CallInst *call)
{
    unsigned width = wide->getType()->getIntegerBitWidth() / 2;
    Type *half = b.getIntNTy(width);
    Value *pair = PoisonValue::get(call->getType());
    pair = b.CreateInsertValue(pair, b.CreateTrunc(wide, half), 0);
    return b.CreateInsertValue(
        pair, b.CreateTrunc(b.CreateLShr(wide, width), half), 1);
}

/* a * b + c, of twice the width; c NULL: 0 */
Value *product(IRBuilder<> &b, CallInst *call, bool adds)
{
    Value *x = call->getArgOperand(0);
    Type *wide = b.getIntNTy(2 * x->getType()->getIntegerBitWidth());
    auto arg = [&](unsigned i) {
        return b.CreateZExt(call->getArgOperand(i), wide);
    };
    Value *v = b.CreateMul(arg(0), arg(1));
    return halves(b, adds ? b.CreateAdd(v, arg(2)) : v, call);
}

Value *sum(IRBuilder<> &b, CallInst *call, bool subtracts)
{
    Value *x = join(b, call->getArgOperand(0), call->getArgOperand(1));
    Value *y = join(b, call->getArgOperand(2), call->getArgOperand(3));
    return halves(b, subtracts ? b.CreateSub(x, y) : b.CreateAdd(x, y), call);
}

/* By the first instruction, and for several by what only that text has. */
Value *lower_text(IRBuilder<> &b, CallInst *call)
{
    StringRef text = cast<InlineAsm>(call->getCalledOperand())->getAsmString();
    SmallVector<Value *, 4> a(call->args());
    const bool pair = call->getType()->isStructTy();
    if (text.starts_with("rcp.approx") && a.size() == 1)
        return inverse(b, a[0]);
    if (text.starts_with("rsqrt.approx") && a.size() == 1)
        return inverse(b, root(b, a[0]));
    if (text.starts_with("sub.rn") && a.size() == 2)
        return b.CreateFSub(a[0], a[1]);
    if (text.starts_with("bfind.shiftamt.u32") && a.size() == 1)
        return b.CreateBinaryIntrinsic(Intrinsic::ctlz, a[0], b.getFalse());
    if (text.contains("setp.equ.f64") && text.contains("selp.f64") &&
        a.size() == 4)
        return b.CreateSelect(b.CreateFCmpUEQ(a[0], a[1]), a[2], a[3]);
    if (pair && text.contains("mad.lo.cc.u32") && a.size() == 3)
        return product(b, call, true);
    if (pair && text.contains("mul.lo.u32") && a.size() == 2)
        return product(b, call, false);
    if (pair && text.contains("sub.cc.u32") && a.size() == 4)
        return sum(b, call, true);
    if (pair && text.contains("add.cc.u32") && a.size() == 4)
        return sum(b, call, false);
    return nullptr;
}

Value *lower(CallInst *call)
{
    IRBuilder<> b(call);
    if (call->isInlineAsm())
        return lower_text(b, call);
    Function *f = call->getCalledFunction();
    return f && f->isIntrinsic() ? lower_intrinsic(b, call) : nullptr;
}

} // namespace

void ompjit__lower_libdevice(LLVMModuleRef module)
{
    Module &m = *unwrap(module);
    for (Function &f : m)
        for (Instruction &i : make_early_inc_range(instructions(f)))
            if (auto *call = dyn_cast<CallInst>(&i))
                if (Value *v = lower(call)) {
                    call->replaceAllUsesWith(v);
                    call->eraseFromParent();
                }
    for (Function &f : make_early_inc_range(m))
        if (f.isIntrinsic() && f.use_empty())
            f.eraseFromParent();
}
