/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A module to an object file or to assembly text.
 */
#include <llvm-c/Core.h>

#include "backend/codegen/emit.h"
#include "llvm/llvm.h"

static ompjit_status failure(LLVMModuleRef m, const char *cause,
                             ompjit_error *err)
{
    size_t n;
    return ompjit__fail(err, OMPJIT_ERR_COMPILE, OMPJIT_STAGE_CODEGEN,
                        "%s: no code: %s", LLVMGetModuleIdentifier(m, &n),
                        cause);
}

/* The generator's callback: `to` is the buffer. */
static void take(void *to, const char *bytes, size_t size)
{
    ompjit__buf_add(to, bytes, size);
}

/* LLVM may report an error, as of an instruction that it cannot select, and go
 * on: the messages since `mark` tell. */
static ompjit_status run(ompjit__generator *g, LLVMModuleRef m,
                         ompjit__passes passes, ompjit__buf *out,
                         ompjit_error *err)
{
    LLVMContextRef context = LLVMGetModuleContext(m);
    size_t mark = ompjit__llvm_mark(context);
    ompjit__in_llvm(true);
    bool done = ompjit__generator_run(g, m, passes, take, out);
    ompjit__in_llvm(false);
    if (!done)
        return failure(m, "its target has no such files", err);
    const char *errors = ompjit__llvm_errors(context, mark);
    if (errors)
        return failure(m, errors, err);
    return out->failed ? ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN)
                       : OMPJIT_OK;
}

static ompjit_status emit(LLVMModuleRef m, LLVMTargetMachineRef tm,
                          ompjit__generator *g, LLVMCodeGenFileType type,
                          ompjit__passes passes, ompjit__buf *out,
                          ompjit_error *err)
{
    ompjit__generator *own = g ? NULL : ompjit__generator_new(tm, type);
    ompjit_status status = run(g ? g : own, m, passes, out, err);
    ompjit__generator_free(own);
    return status;
}

ompjit_status ompjit__emit_object(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                  ompjit__generator *g, ompjit__passes passes,
                                  ompjit__buf *object, ompjit_error *err)
{
    return emit(m, tm, g, LLVMObjectFile, passes, object, err);
}

ompjit_status ompjit__emit_assembly(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                    ompjit__generator *g,
                                    ompjit__passes passes, ompjit__buf *text,
                                    ompjit_error *err)
{
    return emit(m, tm, g, LLVMAssemblyFile, passes, text, err);
}
