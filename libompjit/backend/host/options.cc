/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C++ because LLVM's C API has no calls for the options of code for the host
 * that are set here. Code that cannot be reached without undefined behavior,
 * such as a store to a null pointer, is a trap, which is the kernel's or the
 * call's error; without one the next function's code would run, or data.
 * Thread-local variables of host halves live in libgcc's emulation
 * (__emutls_get_address): the dynamic linker, which gives ordinary ones their
 * place, never hears of that code.
 */
#include <llvm-c/TargetMachine.h>
#include <llvm/Target/TargetMachine.h>

extern "C" void ompjit__host_options(LLVMTargetMachineRef tm,
                                     bool emulated_tls);

void ompjit__host_options(LLVMTargetMachineRef tm, bool emulated_tls)
{
    auto &options = reinterpret_cast<llvm::TargetMachine *>(tm)->Options;
    options.TrapUnreachable = true;
    options.NoTrapAfterNoreturn = true;
    options.EmulatedTLS = emulated_tls;
}
