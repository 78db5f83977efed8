/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler wing's side of the door: its table of operations.
 */
#include "backend/backend.h"
#include "backend/cuda/cuda_image.h"
#include "backend/host/orc.h"
#include "door/door.h"
#include "frontend/frontend.h"
#include "libompjit/cache/sources.h"
#include "llvm/guard.h"
#include "ompjit_llvm.h"
#include "passes/hosthalf/hosthalf.h"
#include "table/llvm/table.h"

static void release(ompjit__compiler *compiler)
{
    ompjit__machines_free(compiler->machines);
    compiler->machines = NULL;
}

static ompjit_status rtl_declare(void *module, unsigned index, void **fn,
                                 ompjit_error *err)
{
    LLVMValueRef value;
    ompjit_status status =
        ompjit__rtl_declare(module, index, fn ? &value : NULL, err);
    if (!status)
        *fn = value;
    return status;
}

static ompjit_status rtl_check(void *module, ompjit_error *err)
{
    return ompjit__rtl_check(module, err);
}

static ompjit_status rtl_type(void *context, int which, void **type,
                              ompjit_error *err)
{
    LLVMTypeRef found;
    ompjit_status status = ompjit__rtl_type(
        context, (ompjit_rtl_struct)which, type ? &found : NULL, err);
    if (!status)
        *type = found;
    return status;
}

const ompjit__door ompjit_compiler_door = {
    .sources = OMPJIT__SOURCES,
    .attach = ompjit__guard_attach,
    .release = release,
    .prepare = ompjit__machine_prepare,
    .unit_read = ompjit__unit_read,
    .unit_read_cuda = ompjit__unit_read_cuda,
    .early_read = ompjit__early_read,
    .early_info = ompjit__early_info,
    .early_agrees = ompjit__early_agrees,
    .early_numbers = ompjit__early_numbers,
    .early_free = ompjit__early_free,
    .build = ompjit__build,
    .cuda_check = ompjit__cuda_check,
    .cuda_kernels_of = ompjit__cuda_kernels_of,
    .cuda_header = ompjit__cuda_header,
    .object_line = ompjit__object_line,
    .host_cpu = ompjit__host_cpu,
    .half = ompjit__half_compile,
    .print_ir = ompjit__print_ir,
    .orc_new = ompjit__orc_new,
    .orc_define = ompjit__orc_define,
    .orc_add = ompjit__orc_add,
    .orc_lookup = ompjit__orc_lookup,
    .orc_free = ompjit__orc_free,
    .rtl_declare = rtl_declare,
    .rtl_check = rtl_check,
    .rtl_type = rtl_type,
};
