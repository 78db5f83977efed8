/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The metadata of a host half that clang reads for its device half: functions
 * and lines of target regions, and variables.
 */
#include <stdlib.h>

#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>

#include "frontend/dialect/dialect.h"

/* A module of its own with that list alone, which is smaller by far than the
 * host half, and which clang takes for a host half all the same: it reads the
 * named metadata and looks at nothing else. */
void ompjit__offload_info(LLVMModuleRef host, ompjit__buf *out)
{
    static const char name[] = "omp_offload.info";
    unsigned n = LLVMGetNamedMetadataNumOperands(host, name);
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext(
        "host half", LLVMGetModuleContext(host));
    LLVMValueRef *rows = calloc(n + 1, sizeof *rows);
    out->failed |= !rows;
    LLVMSetTarget(m, LLVMGetTarget(host));
    LLVMSetDataLayout(m, LLVMGetDataLayoutStr(host));
    if (rows && n)
        LLVMGetNamedMetadataOperands(host, name, rows);
    for (unsigned i = 0; rows && i < n; i++)
        LLVMAddNamedMetadataOperand(m, name, rows[i]);
    LLVMMemoryBufferRef memory = LLVMWriteBitcodeToMemoryBuffer(m);
    ompjit__buf_add(out, LLVMGetBufferStart(memory),
                    LLVMGetBufferSize(memory));
    LLVMDisposeMemoryBuffer(memory);
    LLVMDisposeModule(m);
    free(rows);
}
