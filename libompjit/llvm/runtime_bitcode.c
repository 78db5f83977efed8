/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device runtime's bitcode, built from runtime-bc/ and embedded by
 * runtime-bc/embed.S.
 */
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>

#include "llvm/runtime_bitcode.h"
#include "base/cpu.h"

#define HIDDEN __attribute__((visibility("hidden")))
extern const char ompjit__cuda_h[] HIDDEN;
#define CPU(name, ...)                                                         \
    extern const char ompjit__rt_##name##_begin[] HIDDEN;                      \
    extern const char ompjit__rt_##name##_end[] HIDDEN;
CPU(nvptx64)
CPU(plain)
#include "base/cpu.def"

static const struct {
    const char *name, *begin, *end;
} runtimes[] = {
#define CPU(name, ...)                                                         \
    {#name, ompjit__rt_##name##_begin, ompjit__rt_##name##_end},
    CPU(nvptx64)
#include "base/cpu.def"
};

const void *ompjit__runtime_bc(const char *triple, size_t *size)
{
    for (size_t i = 0; i < OMPJIT__COUNT(runtimes); i++)
        if (ompjit__cpu_is(triple, runtimes[i].name)) {
            *size = (size_t)(runtimes[i].end - runtimes[i].begin);
            return runtimes[i].begin;
        }
    return NULL;
}

static ompjit_status read(LLVMContextRef context, const void *bc, size_t size,
                          const ompjit__buf *messages, LLVMModuleRef *out,
                          ompjit_error *err)
{
    LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRange(
        bc, size, "device runtime", false);
    if (!LLVMGetBitcodeModuleInContext2(context, memory, out))
        return OMPJIT_OK;
    LLVMDisposeMemoryBuffer(memory);
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_LINK,
                        "the device runtime does not load: %s",
                        messages->data ? messages->data : "");
}

ompjit_status ompjit__runtime_read(LLVMContextRef context, const char *triple,
                                   const ompjit__buf *messages,
                                   LLVMModuleRef *out, ompjit_error *err)
{
    size_t size;
    const void *bc = ompjit__runtime_bc(triple, &size);
    return read(context, bc, size, messages, out, err);
}

ompjit_status ompjit__runtime_read_plain(LLVMContextRef context,
                                         const ompjit__buf *messages,
                                         LLVMModuleRef *out, ompjit_error *err)
{
    size_t size = (size_t)(ompjit__rt_plain_end - ompjit__rt_plain_begin);
    return read(context, ompjit__rt_plain_begin, size, messages, out, err);
}

const char *ompjit__cuda_header(void)
{
    return ompjit__cuda_h;
}
