/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A host half whose object another compiler makes: only its mistakes are
 * corrected (repair.c), from bitcode to bitcode.
 */
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>

#include "llvm/llvm.h"
#include "passes/hosthalf/hosthalf.h"

struct work {
    const ompjit__buf *bc;
    const char *name;
    ompjit__buf *out, messages;
};

static ompjit_status repair(void *arg, ompjit_error *err)
{
    struct work *w = arg;
    LLVMContextRef context = ompjit__llvm_context(&w->messages);
    LLVMModuleRef m;
    ompjit_status status = ompjit__parse_ir(context, w->bc->data, w->bc->size,
                                            w->name, &w->messages, &m, err);
    if (!status) {
        ompjit__host_repair(m);
        LLVMMemoryBufferRef written = LLVMWriteBitcodeToMemoryBuffer(m);
        ompjit__buf_add(w->out, LLVMGetBufferStart(written),
                        LLVMGetBufferSize(written));
        LLVMDisposeMemoryBuffer(written);
        LLVMDisposeModule(m);
    }
    LLVMContextDispose(context);
    return status;
}

ompjit_status ompjit__half_repair(const ompjit__buf *bc, const char *name,
                                  ompjit__buf *out, ompjit_error *err)
{
    struct work w = {.bc = bc, .name = name, .out = out};
    ompjit_status status = ompjit__guard(repair, &w, OMPJIT_STAGE_READ, err);
    ompjit__buf_free(&w.messages);
    return status;
}
