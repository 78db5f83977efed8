/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A linked and optimized module to PTX text by LLVM's NVPTX back end, with line
 * information where the module has debug information.
 */
#include <stdio.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "backend/codegen/emit.h"
#include "backend/nvptx/nvptx.h"
#include "targets/arch.h"
#include "llvm/llvm.h"

#define TRIPLE "nvptx64-nvidia-cuda"

/* opt_level is 0 to 3 as in -O0 to -O3. */
static LLVMCodeGenOptLevel level(unsigned opt_level)
{
    static const LLVMCodeGenOptLevel levels[] = {
        LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
        LLVMCodeGenLevelAggressive};
    return levels[opt_level < 3 ? opt_level : 3];
}

ompjit_status ompjit__nvptx_machine(const char *arch, unsigned ptx,
                                    unsigned opt_level,
                                    LLVMTargetMachineRef *out,
                                    ompjit_error *err)
{
    char feature[16];
    const ompjit__arch *row;
    ompjit_status status = ompjit__arch_find(arch, &row, err);
    if (status)
        return status;
    if (!row->ptx_given)
        return ompjit__fail(err, OMPJIT_ERR_TARGET, OMPJIT_STAGE_CODEGEN,
                            "architecture '%s' has no PTX", arch);
    unsigned version = ompjit__ptx_version(row, ptx);
    if (version < row->ptx_needs)
        return ompjit__fail(err, OMPJIT_ERR_TARGET, OMPJIT_STAGE_CODEGEN,
                            "%s needs PTX %u.%u, and the driver reads no newer "
                            "than %u.%u",
                            arch, row->ptx_needs / 10, row->ptx_needs % 10,
                            ptx / 10, ptx % 10);
    snprintf(feature, sizeof feature, "+ptx%u", version);
    ompjit__llvm_init();
    LLVMTargetRef target;
    char *cause = NULL;
    if (LLVMGetTargetFromTriple(TRIPLE, &target, &cause)) {
        status = ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_CODEGEN,
                              "no target " TRIPLE ": %s", cause);
        LLVMDisposeMessage(cause);
        return status;
    }
    *out = LLVMCreateTargetMachine(target, TRIPLE, row->name, feature,
                                   level(opt_level), LLVMRelocDefault,
                                   LLVMCodeModelDefault);
    return OMPJIT_OK;
}

/* For more debug information than lines, LLVM writes ".target sm_NN, debug",
 * which has every assembler leave all optimization out: kernels of twice the
 * size and more. Lines reach the cubin without the word. */
static void add_optimizable(ompjit__buf *ptx, const char *text, size_t size)
{
    static const char word[] = ", debug";
    const char *target = strstr(text, "\n.target ");
    const char *end = target ? strchr(target + 1, '\n') : NULL;
    const char *at = target ? strstr(target, word) : NULL;
    size_t head = end && at && at < end ? (size_t)(at - text) : size;
    ompjit__buf_add(ptx, text, head);
    if (head < size)
        ompjit__buf_add(ptx, at + sizeof word - 1,
                        size - head - (sizeof word - 1));
}

ompjit_status ompjit__nvptx_emit(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                 ompjit__generator *g, ompjit__passes passes,
                                 ompjit__buf *ptx, ompjit_error *err)
{
    ompjit__buf text = {0};
    ompjit_status status = ompjit__emit_assembly(m, tm, g, passes, &text, err);
    if (!status)
        add_optimizable(ptx, text.data, text.size);
    ompjit__buf_free(&text);
    return !status && ptx->failed
               ? ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN)
               : status;
}
