/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C++ because LLVM's C API has no call for the one option that is set here.
 * Thread-local variables of JIT'd code live in libgcc's emulation
 * (__emutls_get_address): the dynamic linker, which gives ordinary ones their
 * place, never hears of that code.
 */
#include <llvm-c/TargetMachine.h>
#include <llvm/Target/TargetMachine.h>

extern "C" void ompjit__emulate_tls(LLVMTargetMachineRef tm);

void ompjit__emulate_tls(LLVMTargetMachineRef tm)
{
    reinterpret_cast<llvm::TargetMachine *>(tm)->Options.EmulatedTLS = true;
}
