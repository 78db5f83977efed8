/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The last steps of the pipeline: a finished module is checked, and becomes the
 * file of the format that is asked for.
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <string.h>

#include "backend/build.h"
#include "backend/nvptx/nvptx.h"
#include "targets/instruction_count.h"

/* The unit was valid. Invalid IR here is a pass's mistake, not the program's,
 * and would crash the code generator. */
ompjit_status ompjit__build_verify(struct build *b, ompjit_error *err)
{
    char *text = NULL;
    ompjit_status status = OMPJIT_OK;
    if (LLVMVerifyModule(b->m, LLVMReturnStatusAction, &text))
        status = ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_CODEGEN,
                              "%s: IR broken by lowering: %s", b->unit->name,
                              text);
    LLVMDisposeMessage(text);
    return status;
}

/* A function of the OpenMP runtime that is left undefined is one that device
 * code does not have. On a GPU one of flang's runtime library is, too. */
static bool is_foreign(const struct build *b, LLVMValueRef f)
{
    static const char *const prefixes[] = {"omp_", "ompx_", "__kmpc_", "kmp_",
                                           "__tgt_", "llvm_omp_"};
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f))
        return false;
    for (size_t i = 0; i < OMPJIT__COUNT(prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return !b->host && !strncmp(name, "_Fortran", strlen("_Fortran"));
}

/* The place in the source that flang hands to most functions of its library: a
 * file's name and a line, side by side. Adds " (FILE:LINE)". */
static void add_place(ompjit__buf *names, LLVMValueRef call)
{
    enum { LINE_BITS = 32 };
    for (unsigned n = LLVMGetNumArgOperands(call), i = n; i-- > 1;) {
        LLVMValueRef line = LLVMGetOperand(call, i);
        LLVMValueRef file = LLVMGetOperand(call, i - 1);
        LLVMValueRef text = LLVMIsAGlobalVariable(file)
                                ? LLVMGetInitializer(file)
                                : NULL;
        size_t size;
        if (!LLVMIsAConstantInt(line) || !text || !LLVMIsConstantString(text) ||
            LLVMGetIntTypeWidth(LLVMTypeOf(line)) != LINE_BITS)
            continue;
        ompjit__buf_printf(names, " (%s:%llu)", LLVMGetAsString(text, &size),
                           LLVMConstIntGetZExtValue(line));
        return;
    }
}

/* All of them in one error: libomp would answer such calls on the host device,
 * and nobody on a GPU. Other undefined names are left to whoever loads the
 * image: the C library's on the host. */
ompjit_status ompjit__build_check_undefined(struct build *b, ompjit_error *err)
{
    ompjit__buf names = {0};
    ompjit_status status = OMPJIT_OK;
    for (LLVMValueRef f = LLVMGetFirstFunction(b->m); f;
         f = LLVMGetNextFunction(f)) {
        size_t n;
        if (!is_foreign(b, f))
            continue;
        ompjit__buf_printf(&names, "%s%s", names.size ? ", " : "",
                           LLVMGetValueName2(f, &n));
        LLVMValueRef user = LLVMGetUser(LLVMGetFirstUse(f));
        if (LLVMIsACallInst(user) && LLVMGetCalledValue(user) == f)
            add_place(&names, user);
    }
    if (names.size)
        status = ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                              "%s: device code calls %s, which only host code "
                              "can", b->unit->name, names.data);
    ompjit__buf_free(&names);
    return status;
}

/* LLVM knows which code needs a newer PTX than the architecture does. */
static ompjit_status emit_ptx(struct build *b, ompjit__generator *generator,
                              ompjit_error *err)
{
    ompjit_error why;
    unsigned newest = b->spec->ptx;
    ompjit_status status = ompjit__nvptx_emit(b->m, b->tm, generator, b->passes,
                                              &b->image->bytes, &why);
    if (status && newest && newest < b->arch->ptx_given)
        return ompjit__fail(err, status, why.stage,
                            "%s; the driver reads PTX up to %u.%u", why.text,
                            newest / 10, newest % 10);
    if (status && err)
        *err = why;
    return status;
}

/* Variants have the code generator of their stock, which is set up once, and all
 * others one of their own; NULL: it is not there yet. */
static ompjit__generator *take_generator(struct build *b)
{
    ompjit__machine *machine = b->machine;
    if (b->route == OMPJIT__VARIANT || b->route == OMPJIT__SIMPLE)
        return ompjit__stock_generator(machine->stock);
    machine->old_generator = machine->generator;
    machine->generator = NULL;
    return machine->old_generator;
}

ompjit_status ompjit__build_generate(struct build *b, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    if (b->format == OMPJIT_FORMAT_OPT_LL) {
        char *text = LLVMPrintModuleToString(b->m);
        ompjit__buf_add(&b->image->bytes, text, strlen(text));
        LLVMDisposeMessage(text);
    } else if (b->format == OMPJIT__FORMAT_ASSEMBLY) {
        LLVMSetTargetMachineAsmVerbosity(b->tm, true); /* tells of spills */
        status = ompjit__emit_assembly(b->m, b->tm, NULL, b->passes,
                                       &b->image->bytes, err);
    } else if (b->host) {
        b->image->kind = OMPJIT__IMAGE_OBJECT;
        status = ompjit__emit_object(b->m, b->tm, take_generator(b), b->passes,
                                     &b->image->bytes, err);
    } else {
        b->image->kind = OMPJIT__IMAGE_PTX;
        status = emit_ptx(b, take_generator(b), err);
    }
    if (!status && b->image->bytes.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN);
    return status;
}

/* Nothing to do for other formats. The image keeps the PTX beside its cubin. */
ompjit_status ompjit__build_assemble(struct build *b, ompjit_error *err)
{
    if (b->format != OMPJIT_FORMAT_CUBIN)
        return OMPJIT_OK;
    ompjit__buf ptx = b->image->bytes;
    b->image->bytes = (ompjit__buf){0};
    ompjit_status status =
        ompjit__assemble(b->compiler, b->arch->name, &ptx, b->image, err);
    ompjit__buf_free(&ptx);
    ompjit__build_done(b, OMPJIT_STAGE_ASSEMBLE);
    return status;
}
