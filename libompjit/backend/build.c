/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Unit to image. pipeline.def is the pipeline; here are its beginning and its
 * end: LLVM's context and target machine, CUDA sources whose PTX NVRTC makes,
 * and the assembler.
 *
 * Nothing outside the image survives, so builds may run on many threads.
 */
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <stdio.h>
#include <string.h>

#include "abi/offload.h"
#include "backend/build.h"
#include "backend/cuda/cuda_image.h"
#include "backend/nvptx/ptx_text.h"
#include "targets/instruction_count.h"
#include "optimizer/remark.h"

/* SIMPLE is a VARIANT too: the walk changes the one to the other. */
static bool is_variant(const struct build *b)
{
    return b->route == OMPJIT__VARIANT || b->route == OMPJIT__SIMPLE;
}

void ompjit__build_done(struct build *b, ompjit_stage stage)
{
    ompjit__report_stage(b->compiler, stage, b->stage_start);
    b->stage_start = ompjit__now();
}

/* A variant is built where others have been (build_scratch.h), a unit in a
 * context of its own, in which the runtime may have been read already. */
static ompjit_status take_context(struct build *b, ompjit_error *err)
{
    ompjit__machine *machine = b->machine;
    ompjit__machine_clear(machine);
    if (is_variant(b) && !machine->stock)
        machine->stock = ompjit__stock_new(
            b->tm, b->host ? LLVMObjectFile : LLVMAssemblyFile);
    if (is_variant(b) && !machine->stock)
        return ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN);
    if (is_variant(b)) {
        b->context = ompjit__stock_context(machine->stock);
    } else if (machine->context) {
        b->context = machine->context;
        b->runtime = machine->runtime;
        b->runtime_plain = machine->runtime_plain;
        machine->context = NULL;
    } else {
        b->context = LLVMContextCreate();
    }
    ompjit__llvm_collect(b->context, &b->messages);
    return OMPJIT_OK;
}

/* The machine and the context, or neither: end() looks at what there is. */
static ompjit_status start(struct build *b, ompjit_error *err)
{
    const ompjit__machine like = {.arch = b->arch,
                                  .ptx = b->spec->ptx,
                                  .opt_level = b->unit->opt_level};
    ompjit_status status =
        ompjit__machine_take(b->compiler, &like, &b->machine, err);
    if (status)
        return status;
    b->tm = b->machine->tm;
    return take_context(b, err);
}

/* A shared context in which a build has failed may hold anything, and is not
 * used again. */
static void leave_stock(struct build *b, bool failed)
{
    ompjit__machine *machine = b->machine;
    if (b->m)
        LLVMDisposeModule(b->m);
    if (failed || ompjit__stock_is_used_up(machine->stock)) {
        ompjit__stock_free(machine->stock);
        machine->stock = NULL;
    }
}

/* A context that is no other build's is freed later, with what is in it. */
static void end(struct build *b, bool failed)
{
    ompjit__machine *machine = b->machine;
    if (!machine)
        return;
    if (b->context)
        LLVMContextSetDiagnosticHandler(b->context, NULL, NULL);
    if (is_variant(b)) {
        leave_stock(b, failed);
    } else {
        machine->old = b->context;
        machine->old_m = b->m;
        machine->old_runtime = b->runtime;
    }
    machine->plain = b->plain;
    ompjit__machine_give(b->compiler, machine);
}

/* A unit or a template: ours, and verified when it was made. */
ompjit_status ompjit__build_parse(struct build *b, const ompjit__buf *bc,
                           LLVMModuleRef *out, ompjit_error *err)
{
    LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRange(
        bc->data, bc->size, b->unit->name, false);
    bool failed = LLVMParseBitcodeInContext2(b->context, memory, out);
    LLVMDisposeMemoryBuffer(memory);
    if (!failed)
        return OMPJIT_OK;
    *out = NULL;
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_READ,
                        "%s: its bitcode does not load: %s", b->unit->name,
                        b->messages.data ? b->messages.data : "");
}

ompjit_status ompjit__build_compile(void *arg, ompjit_error *err)
{
    struct build *b = arg;
    ompjit_status status = start(b, err);
    if (!status)
        status = ompjit__build_walk(b, err);
    end(b, status != OMPJIT_OK);
    return status;
}

/* Does the format exist for the target? */
static ompjit_status check_format(const struct build *b, ompjit_error *err)
{
    bool fits = b->format == OMPJIT_FORMAT_OPT_LL ||
                (b->host ? b->format == OMPJIT_FORMAT_OBJECT ||
                               b->format == OMPJIT__FORMAT_ASSEMBLY
                         : b->format == OMPJIT_FORMAT_PTX ||
                               b->format == OMPJIT_FORMAT_CUBIN);
    if (fits)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "no such format for %s: %s", b->arch->name,
                        b->host ? "the host takes objects and optimized IR"
                                : "a GPU takes PTX, cubins and optimized IR");
}

/* NVRTC writes the PTX of its own release, of which an older driver knows
 * nothing. Assemblers, which come with NVRTC, read it. */
static ompjit_status check_driver(const struct build *b, ompjit_error *err)
{
    unsigned newest = b->spec->ptx;
    unsigned is = b->image->kind == OMPJIT__IMAGE_PTX
                      ? ompjit__ptx_text_version(b->image->bytes.data)
                      : 0;
    if (!newest || is <= newest)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_ASSEMBLE,
                        "%s: the driver is too old for this NVRTC: it reads "
                        "PTX up to %u.%u, not %u.%u", b->unit->name,
                        newest / 10, newest % 10, is / 10, is % 10);
}

/* A CUDA source for a GPU: NVRTC's PTX takes the place of the whole pipeline up
 * to the assembler, which is run here. False: clang's IR is to be used, as any
 * IR is. */
static bool from_cuda(struct build *b, ompjit_status *status,
                      ompjit_error *err)
{
    ompjit_error why;
    const ompjit__unit *unit = b->unit;
    bool ir = unit->device_bc.size != 0;
    if (b->host || b->format == OMPJIT_FORMAT_OPT_LL ||
        !ompjit__cuda_by_nvrtc(unit)) {
        *status = ir ? OMPJIT_OK : ompjit__cuda_no_ir(unit->cuda, err);
        return !ir;
    }
    b->image->kind = OMPJIT__IMAGE_PTX;
    *status = ompjit__cuda_ptx(b->compiler, unit, b->arch->name, b->spec,
                               &b->image->bytes, &why);
    b->image->environment =
        !*status && strstr(b->image->bytes.data, OMPJIT__DEVICE_ENVIRONMENT);
    b->stage_start = ompjit__now();
    if (!*status && (*status = ompjit__build_assemble(b, err)))
        return true;
    if (!*status)
        *status = check_driver(b, &why);
    if (*status && ir && unit->cuda->compiler == OMPJIT_CUDA_COMPILER_AUTO) {
        ompjit__buf_free(&b->image->bytes);
        b->image->environment = false;
        ompjit__report(b->compiler, "%s for %s by clang: %s", unit->name,
                    b->arch->name, why.text);
        return false;
    }
    if (*status && err)
        *err = why;
    return true;
}

/* LLVM's part is guarded and limited in time; the assembler has limits of its
 * own, and runs outside. */
static ompjit_status make_image(struct build *b, ompjit_error *err)
{
    ompjit_status status;
    if (b->unit->cuda && from_cuda(b, &status, err))
        return status;
    status = ompjit__guard_within(b->compiler->llvm_limit_ms,
                                  ompjit__build_compile, b,
                                  OMPJIT_STAGE_CODEGEN, err);
    return status ? status : ompjit__build_assemble(b, err);
}

ompjit_status ompjit__build(ompjit__compiler *compiler,
                            const ompjit__unit *unit,
                            const char *arch, ompjit_format format,
                            const ompjit__spec *spec, ompjit__image *out,
                            ompjit_error *err)
{
    ompjit__image image = {0};
    struct build b = {.compiler = compiler,
                      .unit = unit,
                      .format = format,
                      .spec = spec,
                      .image = &image,
                      .stage_start = ompjit__now()};
    ompjit_status status = ompjit__arch_find(arch, &b.arch, err);
    if (status)
        return status;
    b.host = b.arch->triple != NULL;
    b.route = spec->kernel && unit->templates && unit->opt_level
                  ? OMPJIT__VARIANT
                  : OMPJIT__UNIT;
    status = check_format(&b, err);
    if (status)
        return status;
    snprintf(image.arch, sizeof image.arch, "%s", arch);
    status = make_image(&b, err);
    image.lines = !unit->own_lines;
    if (!status && !ompjit__remarks_unite(&image.remarks))
        status = ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE);
    ompjit__buf_free(&b.messages);
    if (status)
        ompjit__image_free(&image);
    else
        *out = image;
    return status;
}
