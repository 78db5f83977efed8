/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler wing's table of operations.
 */
#include "backend/host/orc.h"
#include "libompjit/cache/sources.h"
#include "llvm/guard.h"
#include "serve/serve.h"

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
};
