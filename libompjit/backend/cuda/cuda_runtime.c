/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device runtime's functions that PTX from elsewhere calls, as PTX: what
 * NVRTC leaves undefined. Their own names only are kept; what they use is
 * called ompjit_rt.NAME, apart from any name of the program's.
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "backend/codegen/emit.h"
#include "backend/nvptx/nvptx.h"
#include "llvm/llvm.h"
#include "llvm/runtime_bitcode.h"
#include "passes/gpu/gpu.h"
#include "backend/cuda/cuda_image.h"
#include "abi/offload.h"
#include "runtime-bc/assertion.h"

/* One compile of the runtime. `arch` and `names` are borrowed, `ptx` is the
 * caller's; the rest lives as long as make(). */
struct making {
    const char *arch, *names; /* each followed by a line break */
    ompjit__buf *ptx;
    ompjit__buf messages;
    LLVMContextRef context;
    LLVMModuleRef m;
    LLVMTargetMachineRef tm;
};

/* The whole runtime, read at once. ompjit__runtime_read leaves bodies to be
 * read when they are linked, and nothing is linked here. */
static ompjit_status read(struct making *k, ompjit_error *err)
{
    size_t size;
    const void *bc = ompjit__runtime_bc("nvptx64-nvidia-cuda", &size);
    LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRange(
        bc, size, "device runtime", false);
    bool failed = LLVMParseBitcodeInContext2(k->context, memory, &k->m);
    LLVMDisposeMemoryBuffer(memory);
    if (!failed)
        return OMPJIT_OK;
    k->m = NULL;
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_LINK,
                        "the device runtime does not load: %s",
                        k->messages.data ? k->messages.data : "");
}

/* Exports the functions that are asked for and there. */
static void choose(struct making *k, ompjit__buf *passes)
{
    ompjit__buf_printf(passes, "internalize<");
    bool first = true;
    for (const char *p = k->names; *p; p = strchr(p, '\n') + 1) {
        char *name = ompjit__format("%.*s", (int)strcspn(p, "\n"), p);
        LLVMValueRef f = name ? LLVMGetNamedFunction(k->m, name) : NULL;
        passes->failed |= !name;
        if (f && !LLVMIsDeclaration(f)) {
            LLVMSetLinkage(f, LLVMExternalLinkage);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
            ompjit__buf_printf(passes, "%spreserve-gv=%s", first ? "" : ";",
                               name);
            first = false;
        }
        free(name);
    }
    ompjit__buf_printf(passes,
                       "%spreserve-gv=%s;preserve-gv=%s>,globaldce",
                       first ? "" : ";", OMPJIT__DEVICE_ENVIRONMENT,
                       OMPJIT_ASSERTION_AT);
}

/* Does nobody outside of the module need it? */
static bool is_inner(LLVMValueRef v)
{
    return LLVMGetLinkage(v) == LLVMInternalLinkage ||
           LLVMGetLinkage(v) == LLVMPrivateLinkage;
}

/* Two modules' PTX are one text later, in which names are shared. */
static void rename(LLVMValueRef v)
{
    size_t length;
    char *name = ompjit__format("ompjit_rt.%s", LLVMGetValueName2(v, &length));
    if (name)
        LLVMSetValueName2(v, name, strlen(name));
    free(name);
}

/* After all passes, so that nothing is renamed that is not there in the end. */
static void rename_inner(LLVMModuleRef m)
{
    LLVMValueRef v;
    for (v = LLVMGetFirstFunction(m); v; v = LLVMGetNextFunction(v))
        if (is_inner(v))
            rename(v);
    for (v = LLVMGetFirstGlobal(m); v; v = LLVMGetNextGlobal(v))
        if (is_inner(v))
            rename(v);
}

/* The loader fills it: what nobody reads is not to be seen. */
static void drop_unread(LLVMModuleRef m)
{
    static const char *const filled[] = {OMPJIT__DEVICE_ENVIRONMENT,
                                         OMPJIT_ASSERTION_AT};
    for (size_t i = 0; i < OMPJIT__COUNT(filled); i++) {
        LLVMValueRef g = LLVMGetNamedGlobal(m, filled[i]);
        if (g && !LLVMGetFirstUse(g))
            LLVMDeleteGlobal(g);
    }
}

/* By LLVM's own pipeline and not by pipeline.def: these are functions that
 * kernels call, and no kernels. */
static ompjit_status compile(struct making *k, ompjit_error *err)
{
    ompjit__buf passes = {0};
    choose(k, &passes);
    ompjit_status status =
        passes.failed ? ompjit__no_memory(err, OMPJIT_STAGE_LINK)
                      : ompjit__run_passes(k->m, k->tm, passes.data,
                                           OMPJIT_STAGE_LINK, err);
    ompjit__buf_free(&passes);
    if (!status) {
        drop_unread(k->m);
        status = ompjit__link_math(k->m, &k->messages, err);
    }
    if (!status)
        status = ompjit__run_passes(k->m, k->tm, "default<O3>",
                                    OMPJIT_STAGE_OPTIMIZE, err);
    if (status)
        return status;
    rename_inner(k->m);
    return ompjit__nvptx_emit(k->m, k->tm, NULL, OMPJIT__PASSES_ALL, k->ptx,
                              err);
}

/* In a guard: everything of LLVM's is made and freed here. */
static ompjit_status make(void *arg, ompjit_error *err)
{
    struct making *k = arg;
    k->context = ompjit__llvm_context(&k->messages);
    ompjit_status status = ompjit__nvptx_machine(k->arch, 0, 3, &k->tm, err);
    if (!status)
        status = read(k, err);
    if (!status)
        status = compile(k, err);
    if (k->m)
        LLVMDisposeModule(k->m);
    if (k->tm)
        LLVMDisposeTargetMachine(k->tm);
    LLVMContextDispose(k->context);
    return status;
}

ompjit_status ompjit__cuda_runtime(const char *arch, const char *names,
                                   ompjit__buf *ptx, ompjit_error *err)
{
    struct making k = {.arch = arch, .names = names, .ptx = ptx};
    ompjit_status status = ompjit__guard(make, &k, OMPJIT_STAGE_LINK, err);
    ompjit__buf_free(&k.messages);
    return status;
}
