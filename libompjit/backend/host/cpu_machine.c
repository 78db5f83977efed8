/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Target machines of CPUs: this process's own, and those that host objects are
 * made for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "backend/host/host.h"
#include "llvm/llvm.h"

/* opt_level is 0 to 3 as in -O0 to -O3. PIC, since objects are loaded wherever
 * there is room, and near each other (the small code model). */
static ompjit_status machine_of(const char *triple, const char *cpu,
                                const char *features, unsigned opt_level,
                                bool emulated_tls, LLVMTargetMachineRef *out,
                                ompjit_error *err)
{
    static const LLVMCodeGenOptLevel levels[] = {
        LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
        LLVMCodeGenLevelAggressive};
    char *text = NULL;
    LLVMTargetRef t;
    if (LLVMGetTargetFromTriple(triple, &t, &text)) {
        ompjit_status status = ompjit__fail(
            err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_CODEGEN,
            "this libompjit has no back end for %s: %s", triple, text);
        LLVMDisposeMessage(text);
        return status;
    }
    *out = LLVMCreateTargetMachine(
        t, triple, cpu, features, levels[opt_level > 3 ? 3 : opt_level],
        LLVMRelocPIC, LLVMCodeModelDefault);
    ompjit__host_options(*out, emulated_tls);
    return OMPJIT_OK;
}

/* On AMD's processors gathers are slower than loads one by one, and scatters
 * than stores, which LLVM's costs do not tell: products of 8 by 8 matrices took
 * half as long again for the one, and for the other twice as long. */
static char *tuned(const char *cpu, const char *features)
{
    bool slow = !strncmp(cpu, "znver", 5);
    return ompjit__format("%s%s", features,
                          slow ? ",+prefer-no-gather,+prefer-no-scatter" : "");
}

ompjit_status ompjit__host_machine(unsigned opt_level, bool emulated_tls,
                                   LLVMTargetMachineRef *out,
                                   ompjit_error *err)
{
    ompjit__llvm_init();
    char *triple = LLVMGetDefaultTargetTriple();
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    char *all = tuned(cpu, features);
    ompjit_status status =
        all ? machine_of(triple, cpu, all, opt_level, emulated_tls, out, err)
            : ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN);
    free(all);
    LLVMDisposeMessage(features);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(triple);
    return status;
}

ompjit_status ompjit__object_machine(const ompjit__arch *arch,
                                     unsigned opt_level,
                                     LLVMTargetMachineRef *out,
                                     ompjit_error *err)
{
    if (!*arch->triple)
        return ompjit__host_machine(opt_level, false, out, err);
    ompjit__llvm_init();
    return machine_of(arch->triple, arch->cpu, "", opt_level, false, out, err);
}

void ompjit__host_cpu(char *name, size_t size)
{
    char *cpu = LLVMGetHostCPUName();
    snprintf(name, size, "%s", cpu);
    LLVMDisposeMessage(cpu);
}
