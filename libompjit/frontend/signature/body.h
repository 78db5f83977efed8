/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function's target constructs, in a copy of the function that has no other
 * purpose, and the arrays that they hand to the runtime.
 */
#ifndef OMPJIT_FRONTEND_SIGNATURE_BODY_H
#define OMPJIT_FRONTEND_SIGNATURE_BODY_H

#include <vector>

#include <llvm/IR/Instructions.h>

namespace signature {

/* One entry of a construct's arrays; NULL: not known. */
struct Entry {
    llvm::Value *base = nullptr, *begin = nullptr, *size = nullptr;
    uint64_t type = 0;
    llvm::StringRef name; /* ";x[:n];file;line;column;;" */
};

struct Construct {
    llvm::CallBase *call;
    unsigned line; /* 0: not known */
    std::vector<Entry> entries;
};

class Body
{
  public:
    /* A copy in the same module, into which the functions are inlined that have
     * constructs, too. */
    explicit Body(llvm::Function &f);
    ~Body();
    Body(const Body &) = delete;

    llvm::Function &function() { return *copy; }
    /* Reads the constructs, and then puts into SSA form what no construct
     * changes. */
    std::vector<Construct> constructs();

  private:
    llvm::Function *copy;
};

/* Has the function target constructs, by itself or by those that it calls? */
bool has_constructs(const llvm::Function &f);

} // namespace signature

#endif
