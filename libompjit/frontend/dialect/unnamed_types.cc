// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts structures and unions without a name.
#include <llvm-c/Core.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Module.h>

extern "C" { // frontend/dialect/dialect.h is C
unsigned ompjit__unnamed_types(LLVMModuleRef m);
}

unsigned ompjit__unnamed_types(LLVMModuleRef m)
{
    unsigned n = 0; // those of lambdas are class.anon
    for (const llvm::StructType *type :
         llvm::unwrap(m)->getIdentifiedStructTypes())
        n += type->hasName() &&
             (type->getName().starts_with("struct.anon") ||
              type->getName().starts_with("union.anon"));
    return n;
}
