/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler wing's table of operations.
 */
#include "backend/host/orc.h"
#include "libompjit/cache/sources.h"
#include "llvm/guard.h"
#include "ompjit_llvm.h"
#include "serve/serve.h"
#include "table/llvm/table.h"

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
    .session_new = ompjit__session_new,
    .session_free = ompjit__session_free,
    .serve = ompjit__serve,
    .work = ompjit__work,
    .orc_new = ompjit__orc_new,
    .orc_define = ompjit__orc_define,
    .orc_add = ompjit__orc_add,
    .orc_lookup = ompjit__orc_lookup,
    .orc_free = ompjit__orc_free,
    .rtl_declare = rtl_declare,
    .rtl_check = rtl_check,
    .rtl_type = rtl_type,
};
