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
    extern const char ompjit__rt_##name##_end[] HIDDEN;                        \
    extern const char ompjit__rt_plain_##name##_begin[] HIDDEN;                \
    extern const char ompjit__rt_plain_##name##_end[] HIDDEN;
CPU(nvptx64)
#include "base/cpu.def"

struct bitcode {
    const char *begin, *end;
};

static const struct {
    const char *name;
    struct bitcode whole, plain;
} runtimes[] = {
#define CPU(name, ...)                                                         \
    {#name,                                                                    \
     {ompjit__rt_##name##_begin, ompjit__rt_##name##_end},                     \
     {ompjit__rt_plain_##name##_begin, ompjit__rt_plain_##name##_end}},
    CPU(nvptx64)
#include "base/cpu.def"
};

static struct bitcode find(const char *triple, bool plain)
{
    for (size_t i = 0; i < OMPJIT__COUNT(runtimes); i++)
        if (ompjit__cpu_is(triple, runtimes[i].name))
            return plain ? runtimes[i].plain : runtimes[i].whole;
    return (struct bitcode){NULL, NULL};
}

const void *ompjit__runtime_bc(const char *triple, size_t *size)
{
    struct bitcode bc = find(triple, false);
    *size = (size_t)(bc.end - bc.begin);
    return bc.begin;
}

ompjit_status ompjit__runtime_read(LLVMContextRef context, const char *triple,
                                   bool plain, const ompjit__buf *messages,
                                   LLVMModuleRef *out, ompjit_error *err)
{
    struct bitcode bc = find(triple, plain);
    LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRange(
        bc.begin, (size_t)(bc.end - bc.begin), "device runtime", false);
    if (!LLVMGetBitcodeModuleInContext2(context, memory, out))
        return OMPJIT_OK;
    LLVMDisposeMemoryBuffer(memory);
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_LINK,
                        "the device runtime does not load: %s",
                        messages->data ? messages->data : "");
}

const char *ompjit__cuda_header(void)
{
    return ompjit__cuda_h;
}
