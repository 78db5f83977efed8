/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A host half whose object another compiler makes, from bitcode to bitcode: its
 * mistakes are corrected (repair.c), and data regions are marked that no program
 * can tell from a copy, whatever it is linked with (separate.c, share/).
 */
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>

#include "frontend/frontend.h"
#include "llvm/llvm.h"
#include "passes/hosthalf/hosthalf.h"
#include "passes/hosthalf/share/share.h"

struct work {
    ompjit__compiler *compiler;
    const ompjit__halves *in;
    const ompjit__unit *unit; /* NULL: nothing is shared */
    ompjit__buf *out, messages;
};

/* Sharing comes first, as in compile.c. */
static ompjit_status repair(void *arg, ompjit_error *err)
{
    struct work *w = arg;
    const ompjit__halves *in = w->in;
    LLVMContextRef context = ompjit__llvm_context(&w->messages);
    LLVMModuleRef m;
    ompjit_status status = ompjit__parse_ir(context, in->host.data,
                                            in->host.size, in->name,
                                            &w->messages, &m, err);
    if (!status) {
        if (w->unit && !ompjit__separate_may_replace(m))
            ompjit__host_share(w->compiler, m, w->unit,
                               OMPJIT__CALLERS_OBJECTS);
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

/* Describes the device half's kernels. False: it is none, or damaged, which is
 * told where it is compiled. */
static bool describe(const ompjit__halves *in, ompjit__unit *unit)
{
    static const ompjit__buf none;
    ompjit_error err;
    ompjit__early *early =
        in->device.size ? ompjit__early_read(&none, in->name, 0) : NULL;
    bool read = early && !ompjit__unit_read(&in->device, &none, in->name, 0, 0,
                                            early, unit, &err);
    if (read)
        ompjit__separate_kernels(ompjit__early_device(early), unit);
    ompjit__early_free(early);
    return read;
}

ompjit_status ompjit__half_repair(ompjit__compiler *compiler,
                                  const ompjit__halves *in, ompjit__buf *out,
                                  ompjit_error *err)
{
    ompjit__unit unit = {0};
    bool described = describe(in, &unit);
    struct work w = {.compiler = compiler, .in = in, .out = out,
                     .unit = described ? &unit : NULL};
    ompjit_status status = ompjit__guard(repair, &w, OMPJIT_STAGE_READ, err);
    ompjit__buf_free(&w.messages);
    ompjit__unit_free(&unit);
    return status;
}
