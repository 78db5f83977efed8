/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions of a host half that can be called at all, for points.c.
 */
#ifndef OMPJIT_PASSES_HOSTHALF_LIVE_H
#define OMPJIT_PASSES_HOSTHALF_LIVE_H

#include <stdbool.h>

#include <llvm-c/Core.h>

struct ompjit__live_function {
    LLVMValueRef f;
    bool is_live; /* it may be called                */
    bool is_read; /* functions that it names are live */
};

/* All functions of the module, by address. */
struct ompjit__live {
    struct ompjit__live_function *functions;
    unsigned n;
};

/* False: no memory. The caller frees the functions. */
bool ompjit__live_find(LLVMModuleRef m, bool whole, struct ompjit__live *out);

/* Nothing outside of the module knows its name. Functions of a header that the
 * library has, too, are called here only. */
bool ompjit__live_is_internal(LLVMValueRef global);
/* Is the function called by its name from outside? `whole`: only main is. */
bool ompjit__live_is_entry(LLVMValueRef f, bool whole);

#endif
