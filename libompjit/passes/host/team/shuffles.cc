// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exchanges of values in a warp become a store to an array, a barrier of the
// team, a load of another thread's element, and a barrier. If not all threads
// of the team come to the barrier, the function needs fibers (cuts.cc).
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "passes/host/team/body.h"

using namespace llvm;
using namespace ompjit_team;

namespace {

// A barrier of all threads, at the builder's place.
void meet(IRBuilder<> &b)
{
    Module &m = *b.GetInsertBlock()->getModule();
    b.CreateCall(m.getOrInsertFunction(barrier_name, b.getVoidTy(),
                                       b.getInt32Ty(), b.getInt32Ty()),
                 {b.getInt32(0), b.getInt32(0)});
}

// A shuffle in 64-bit words, as the engine has them (ompjit_host_shuffle: mask,
// value, lane):
//
//   store i64 %value, %array[%tid]
//   barrier
//   %found = load i64, %array[%source]
//   barrier                             keeps the array until all have read it
class Exchange {
  public:
    explicit Exchange(Body &body)
        : body(body),
          array(body.make_array(Type::getInt64Ty(body.f.getContext())))
    {
        body.common.insert(array);
    }

    void replace(CallInst &call)
    {
        IRBuilder<> b(&call);
        Value *tid = b.CreateLoad(b.getInt32Ty(), body.self);
        Value *source = find_source(b, tid, call.getArgOperand(0),
                                    call.getArgOperand(2));
        b.CreateStore(call.getArgOperand(1), element(b, tid));
        meet(b);
        Value *found = b.CreateLoad(b.getInt64Ty(), element(b, source));
        meet(b);
        call.replaceAllUsesWith(found);
        call.eraseFromParent();
    }

  private:
    // A thread's element of the array.
    Value *element(IRBuilder<> &b, Value *thread)
    {
        return b.CreateInBoundsGEP(b.getInt64Ty(), array,
                                   b.CreateZExt(thread, b.getInt64Ty()));
    }

    // A lane that does not exist or is not in the mask gives the caller its
    // own.
    Value *find_source(IRBuilder<> &b, Value *tid, Value *mask, Value *lane)
    {
        Value *thread = b.CreateOr(b.CreateAnd(tid, b.getInt32(-WARP)), lane);
        Value *bit = b.CreateAnd(lane, b.getInt32(WARP - 1));
        Value *known = b.CreateAnd(
            b.CreateAnd(b.CreateICmpULT(lane, b.getInt32(WARP)),
                        b.CreateICmpULT(thread, body.n)),
            b.CreateTrunc(b.CreateLShr(mask, bit), b.getInt1Ty()));
        return b.CreateSelect(known, thread, tid);
    }

    Body &body;
    AllocaInst *array;
};

} // namespace

void ompjit_team::replace_shuffles(Body &body)
{
    SmallVector<CallInst *, 8> shuffles, meetings;
    for (Instruction &i : instructions(body.f))
        if (is_call_of(i, warp_sync_name))
            meetings.push_back(cast<CallInst>(&i));
        else if (is_call_of(i, shuffle_name))
            shuffles.push_back(cast<CallInst>(&i));
    for (CallInst *call : meetings) {
        IRBuilder<> b(call);
        meet(b);
        call->eraseFromParent();
    }
    if (shuffles.empty())
        return;
    Exchange exchange(body);
    for (CallInst *call : shuffles)
        exchange.replace(*call);
}
