/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Scans (`reduction(inscan, ...)`) window by window (runtime-bc/loops/scan.c). clang's
 * code fills a buffer with the elements of all iterations, makes log2(n) passes
 * over it in one thread, and reads it:
 *
 *   A:  static_init(bounds)            H:  scan_bounds(bounds, n, w)
 *       loop: buffer[i] = x                loop: buffer[i - w + 1] = x
 *       barrier
 *   S:  if (master)                    S:  scan_passes(step, n, w)
 *           passes: I
 *       barrier
 *       static_init(bounds)                scan_bounds(bounds, n, w)
 *       loop: x = buffer[i]                loop: x = buffer[i - w + 1]
 *   E:  static_fini                    E:  static_fini
 *                                          scan_carry(buffer, n, w)
 *                                          if (scan_next(&w, n)) goto H
 *
 * On the right is what it becomes. The code of I, which adds up two elements,
 * becomes the function `step`. A schedule cannot be chosen for such a loop, so
 * that each thread may have a block of each window.
 *
 * C++ because LLVM's C API has no extraction of code.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>
#include <llvm/Transforms/Utils/Local.h>

#include "passes/loops/scan_windows.h"

using namespace llvm;

namespace {

/* Operands of __kmpc_for_static_init_*. */
enum { IS_LAST = 3, LOWER, UPPER, STRIDE, INCREMENT };

CallInst *call_of(Instruction &i, StringRef prefix)
{
    auto *call = dyn_cast<CallInst>(&i);
    Function *f = call ? call->getCalledFunction() : nullptr;
    return f && f->getName().starts_with(prefix) ? call : nullptr;
}

/* The first or last call in a range of instructions. */
template <typename Range> CallInst *find_call(Range &&range, StringRef prefix)
{
    for (Instruction &i : range)
        if (CallInst *call = call_of(i, prefix))
            return call;
    return nullptr;
}

/* The buffer of an element. */
Value *base_of(GetElementPtrInst &gep)
{
    Value *base = gep.getPointerOperand();
    while (auto *more = dyn_cast<GetElementPtrInst>(base))
        base = more->getPointerOperand();
    return base;
}

/* One scan: what the picture above has. */
class Scan {
public:
    Scan(CallInst &log, BasicBlock &inner_loop, BasicBlock &behind)
        : f(*log.getFunction()), m(*f.getParent()), log2(log),
          start(*log.getParent()), inner(inner_loop), exit(behind)
    {
    }

    bool find();
    void divide();

private:
    Function &f;
    Module &m;
    CallInst &log2;
    BasicBlock &start, &inner, &exit;
    CallInst *init[2] = {}; /* of the two loops */
    CallInst *fini = nullptr;
    PHINode *element = nullptr; /* of the inner loop */
    Instruction *next = nullptr;
    SetVector<BasicBlock *> body; /* of the inner loop */
    SetVector<Value *> buffers;

    Value *count() const;
    bool find_loops();
    bool find_body();
    bool inputs_are_there() const;
    Function *take_step(Value *&data);
    void drop_master();
    void drop_lifetimes();
    void shift(Value *buffer, Value *window);
    CallInst *call(IRBuilder<> &b, StringRef name, Type *result,
                   ArrayRef<Value *> arguments);
};

/* The number of iterations, an i64; NULL: it is something else. */
Value *Scan::count() const
{
    Value *v = log2.getArgOperand(0);
    Type *i64 = Type::getInt64Ty(m.getContext());
    if (auto *constant = dyn_cast<ConstantFP>(v)) {
        double n = constant->getValueAPF().convertToDouble();
        return n >= 0 && n < 9e15
                   ? ConstantInt::get(i64, static_cast<uint64_t>(n))
                   : nullptr;
    }
    auto *convert = dyn_cast<UIToFPInst>(v);
    return convert && convert->getOperand(0)->getType() == i64
               ? convert->getOperand(0)
               : nullptr;
}

/* clang writes blocks in their order: the one loop is the last before the passes,
 * the other the first behind them. */
bool Scan::find_loops()
{
    static constexpr StringRef name = "__kmpc_for_static_init_";
    bool behind = false, before = true;
    for (BasicBlock &block : f) {
        before &= &block != &start;
        behind |= &block == &exit;
        for (Instruction &i : block) {
            CallInst *found = call_of(i, name);
            if (found && before)
                init[0] = found;
            else if (found && behind && !init[1])
                init[1] = found;
            if (behind && init[1] && !fini)
                fini = call_of(i, "__kmpc_for_static_fini");
        }
    }
    if (!init[0] || !fini || init[0]->getParent() == &start ||
        init[0]->getCalledFunction() != init[1]->getCalledFunction())
        return false;
    for (CallInst *loop : init)
        for (unsigned k = IS_LAST; k <= INCREMENT; k++) {
            Value *v = loop->getArgOperand(k);
            auto *one = dyn_cast<ConstantInt>(v);
            if (k == INCREMENT ? !one || !one->isOne() : !isa<AllocaInst>(v))
                return false;
        }
    auto *leave = dyn_cast<BranchInst>(fini->getParent()->getTerminator());
    return leave && leave->isUnconditional();
}

/* The blocks of the inner loop, its counter, and the buffers of its elements. */
bool Scan::find_body()
{
    element = dyn_cast<PHINode>(&inner.front());
    if (!element || element->getNumIncomingValues() != 2 ||
        isa<PHINode>(element->getNextNode()))
        return false;
    for (BasicBlock *from : element->blocks()) {
        Value *v = element->getIncomingValueForBlock(from);
        auto *down = dyn_cast<BinaryOperator>(v);
        if (down && down->getOpcode() == Instruction::Sub &&
            down->getOperand(0) == element && down->getParent() == from)
            next = down;
    }
    if (!next)
        return false;
    body.insert(next->getParent());
    for (size_t i = 0; i < body.size(); i++)
        if (body[i] != &inner)
            for (BasicBlock *from : predecessors(body[i]))
                body.insert(from);
    for (Instruction &i : inner)
        if (auto *gep = dyn_cast<GetElementPtrInst>(&i))
            buffers.insert(base_of(*gep));
    return body.contains(&inner) && !buffers.empty();
}

/* Is all that the inner loop's code uses there before the passes? */
bool Scan::inputs_are_there() const
{
    DominatorTree tree(f);
    auto *n = dyn_cast_or_null<Instruction>(count());
    if (!count() || (n && !tree.dominates(n, init[0])))
        return false;
    for (BasicBlock *block : body)
        for (Instruction &i : *block)
            for (Value *operand : i.operands()) {
                auto *from = dyn_cast<Instruction>(operand);
                if (!from || body.contains(from->getParent()) ||
                    tree.dominates(from, start.getTerminator()))
                    continue;
                if (from->getParent() == &start || !isa<PHINode>(from) ||
                    !(isa<BinaryOperator>(i) || isa<ICmpInst>(i)))
                    return false; /* the distance alone is the outer loop's */
            }
    for (BasicBlock *block : body)
        for (Instruction &i : *block)
            if (&i != next && i.getOpcode() != Instruction::ICmp)
                for (User *u : i.users())
                    if (!body.contains(cast<Instruction>(u)->getParent()))
                        return false;
    return true;
}

bool Scan::find()
{
    return find_loops() && find_body() && inputs_are_there();
}

/* -------------------------------------------------------------------- step */

/* Is the operator one of floating point, and no call, so that a few of them can be
 * on their way at the same time? */
bool is_late(const Function &f)
{
    bool found = false;
    for (const Instruction &i : instructions(f)) {
        auto *intrinsic = dyn_cast<IntrinsicInst>(&i);
        if (isa<CallBase>(i) && !(intrinsic && !intrinsic->mayWriteToMemory()))
            return false;
        found |= i.getType()->isFloatingPointTy() && !isa<LoadInst>(i);
    }
    return found;
}

/*   void step(ptr data, i64 to, i64 from) { body(*data..., to, from); }
 *
 * The code of the inner loop becomes a function, and leaves its loop, which is
 * nowhere run any more. `data` becomes what it needs beside the two numbers. */
Function *Scan::take_step(Value *&data)
{
    Value *distance = nullptr; /* from the other element */
    BasicBlock *entry = SplitBlock(&inner, element->getNextNode());
    SetVector<BasicBlock *> blocks; /* where they are entered comes first */
    blocks.insert(entry);
    for (BasicBlock *block : body)
        if (block != &inner)
            blocks.insert(block);
    BasicBlock *last = next->getParent();
    blocks.remove(SplitBlock(last, next));
    for (BasicBlock *block : blocks)
        for (Instruction &i : make_early_inc_range(*block)) {
            auto *sub = dyn_cast<BinaryOperator>(&i);
            if (!sub || sub->getOpcode() != Instruction::Sub ||
                sub->getOperand(0) != element ||
                isa<Constant>(sub->getOperand(1)))
                continue;
            if (distance)
                sub->replaceAllUsesWith(distance);
            else
                distance = sub;
            sub->moveBefore(inner.getTerminator()->getIterator());
        }
    CodeExtractorAnalysisCache cache(f);
    CodeExtractor extractor(blocks.getArrayRef());
    Function *code = extractor.extractCodeRegion(cache);
    auto *use = cast<CallInst>(code->user_back());
    Type *pointer = PointerType::get(m.getContext(), 0);
    Type *i64 = Type::getInt64Ty(m.getContext());
    SmallVector<Type *, 8> types;
    SmallVector<Value *, 8> values;
    for (Value *v : use->args())
        if (v != element && v != distance) {
            values.push_back(v);
            types.push_back(v->getType());
        }
    auto *type = StructType::get(m.getContext(), types);
    data = new AllocaInst(type, 0, "scan", f.getEntryBlock().begin());
    Function *step = Function::Create(
        FunctionType::get(Type::getVoidTy(m.getContext()),
                          {pointer, i64, i64}, false),
        GlobalValue::InternalLinkage, "ompjit.scan.step", m);
    IRBuilder<> b(start.getTerminator());
    IRBuilder<> in(BasicBlock::Create(m.getContext(), "", step));
    SmallVector<Value *, 8> arguments;
    unsigned k = 0;
    for (Value *v : use->args()) {
        if (v == element) {
            arguments.push_back(step->getArg(1));
        } else if (v == distance) {
            arguments.push_back(step->getArg(2));
        } else {
            b.CreateStore(v, b.CreateStructGEP(type, data, k));
            arguments.push_back(in.CreateLoad(
                types[k], in.CreateStructGEP(type, step->getArg(0), k)));
            k++;
        }
    }
    in.CreateCall(code, arguments);
    in.CreateRetVoid();
    for (Function *made : {code, step}) {
        made->setLinkage(GlobalValue::InternalLinkage);
        made->addFnAttr(Attribute::AlwaysInline);
        made->removeFnAttr(Attribute::NoInline);
        made->addFnAttr(Attribute::NoUnwind);
    }
    return step;
}

/* ------------------------------------------------------------------ loops */

/* All threads come to the passes, which wait where they have to: clang's test for
 * the master, and its barriers, go. */
void Scan::drop_master()
{
    BasicBlock *before = start.getSinglePredecessor();
    auto *test =
        before ? dyn_cast<BranchInst>(before->getTerminator()) : nullptr;
    CallInst *master =
        test && test->isConditional() ? find_call(*before, "__kmpc_master")
                                      : nullptr;
    BasicBlock *first = master ? before : &start;
    if (CallInst *barrier = find_call(reverse(*first), "__kmpc_barrier"))
        barrier->eraseFromParent();
    if (!master)
        return;
    BasicBlock *other = test->getSuccessor(test->getSuccessor(0) == &start);
    Value *condition = test->getCondition();
    BranchInst::Create(&start, test->getIterator());
    test->eraseFromParent();
    RecursivelyDeleteTriviallyDeadInstructions(condition);
    if (master->use_empty())
        master->eraseFromParent();
    if (CallInst *end = find_call(exit, "__kmpc_end_master"))
        end->eraseFromParent();
    if (CallInst *barrier = find_call(*other, "__kmpc_barrier"))
        barrier->eraseFromParent();
}

/* Variables of the loops live through all windows. */
void Scan::drop_lifetimes()
{
    for (Instruction &i : make_early_inc_range(instructions(f)))
        if (i.isLifetimeStartOrEnd())
            i.eraseFromParent();
}

CallInst *Scan::call(IRBuilder<> &b, StringRef name, Type *result,
                     ArrayRef<Value *> arguments)
{
    SmallVector<Type *, 8> types;
    for (Value *v : arguments)
        types.push_back(v->getType());
    FunctionCallee callee = m.getOrInsertFunction(
        name, FunctionType::get(result, types, false));
    CallInst *made = b.CreateCall(callee, arguments);
    made->setDebugLoc(log2.getDebugLoc());
    return made;
}

/* buffer[i] to buffer[i - w + 1], in the loops: not where the last element is taken
 * behind them. */
void Scan::shift(Value *buffer, Value *window)
{
    bool in_loops = true;
    SmallPtrSet<BasicBlock *, 32> loops;
    for (BasicBlock &block : f) {
        if (in_loops)
            loops.insert(&block);
        in_loops &= &block != fini->getParent();
    }
    for (User *u : buffer->users()) {
        auto *gep = dyn_cast<GetElementPtrInst>(u);
        if (!gep || !loops.contains(gep->getParent()) ||
            gep->getPointerOperand() != buffer)
            continue;
        IRBuilder<> b(gep);
        Use &index = *(gep->idx_end() - 1);
        Value *i = b.CreateZExt(index.get(), b.getInt64Ty());
        Value *w = b.CreateLoad(b.getInt64Ty(), window);
        index.set(b.CreateAdd(b.CreateSub(i, w), b.getInt64(1)));
    }
}

void Scan::divide()
{
    Value *n = count(), *data;
    bool wide = init[0]->getCalledFunction()->getName().contains("_8");
    DenseMap<Value *, Type *> types;
    for (Instruction &i : inner)
        if (auto *gep = dyn_cast<GetElementPtrInst>(&i))
            types[base_of(*gep)] = gep->getResultElementType();
    drop_lifetimes();
    Function *step = take_step(data);
    drop_master();

    BasicBlock &top = f.getEntryBlock();
    IRBuilder<> b(&top, top.begin());
    Value *window = b.CreateAlloca(b.getInt64Ty(), nullptr, "window");
    b.CreateStore(b.getInt64(0), window);
    b.SetInsertPoint(start.getTerminator());
    Function *code = cast<CallInst>(step->front().getTerminator()->getPrevNode())
                         ->getCalledFunction();
    call(b, "ompjit_scan_passes", b.getVoidTy(),
         {step, data, n, b.CreateLoad(b.getInt64Ty(), window),
          b.getInt1(is_late(*code))});
    b.CreateBr(&exit);
    start.getTerminator()->eraseFromParent();

    b.SetInsertPoint(init[0]);
    b.CreateStore(b.getInt64(0), window);
    BasicBlock *head = SplitBlock(init[0]->getParent(), init[0]);
    for (CallInst *loop : init) {
        b.SetInsertPoint(loop);
        call(b, wide ? "ompjit_scan_bounds_8" : "ompjit_scan_bounds_4",
             b.getVoidTy(),
             {loop->getArgOperand(IS_LAST), loop->getArgOperand(LOWER),
              loop->getArgOperand(UPPER), loop->getArgOperand(STRIDE), n,
              b.CreateLoad(b.getInt64Ty(), window)});
        loop->eraseFromParent();
    }
    for (Value *buffer : buffers)
        shift(buffer, window);

    auto *leave = cast<BranchInst>(fini->getParent()->getTerminator());
    b.SetInsertPoint(leave);
    for (Value *buffer : buffers)
        call(b, "ompjit_scan_carry", b.getVoidTy(),
             {buffer,
              b.getInt64(m.getDataLayout().getTypeAllocSize(types[buffer])), n,
              b.CreateLoad(b.getInt64Ty(), window)});
    Value *more = call(b, "ompjit_scan_next", b.getInt1Ty(), {window, n});
    b.CreateCondBr(more, head, leave->getSuccessor(0));
    leave->eraseFromParent();
    removeUnreachableBlocks(f);
}

} // namespace

bool ompjit__scan_has_windows(LLVMValueRef log2, LLVMBasicBlockRef inner,
                              LLVMBasicBlockRef exit)
{
    return Scan(*unwrap<CallInst>(log2), *unwrap(inner), *unwrap(exit)).find();
}

void ompjit__scan_by_windows(LLVMValueRef log2, LLVMBasicBlockRef inner,
                             LLVMBasicBlockRef exit)
{
    Scan scan(*unwrap<CallInst>(log2), *unwrap(inner), *unwrap(exit));
    if (scan.find())
        scan.divide();
}
