/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C++ because LLVM's C API has no calls for the options of host halves that are
 * set here. Thread-local variables of JIT'd code live in libgcc's emulation
 * (__emutls_get_address): the dynamic linker, which gives ordinary ones their
 * place, never hears of that code. Code that cannot be reached without undefined
 * behavior, such as a store to a null pointer, is a trap, which is the call's
 * error; without one the next function's code would run.
 */
#include <llvm-c/TargetMachine.h>
#include <llvm/Target/TargetMachine.h>

extern "C" void ompjit__host_half_options(LLVMTargetMachineRef tm);

void ompjit__host_half_options(LLVMTargetMachineRef tm)
{
    auto &options = reinterpret_cast<llvm::TargetMachine *>(tm)->Options;
    options.EmulatedTLS = true;
    options.TrapUnreachable = true;
    options.NoTrapAfterNoreturn = true;
}
