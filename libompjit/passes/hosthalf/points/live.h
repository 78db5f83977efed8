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

/* All functions of the module, declarations too, in the order of their
 * addresses. */
struct ompjit__live {
    struct ompjit__live_function *functions;
    unsigned n;
};

/* Fills `out`. False: no memory, and there is nothing to free. The caller frees
 * out->functions. `whole`: main is the only function called from outside. */
bool ompjit__live_find(LLVMModuleRef m, bool whole, struct ompjit__live *out);

/* Does nothing outside of the module know its name? Such are static functions
 * and variables. A function that is available_externally is one: clang emits it
 * for inlining, and calls from outside go to the library's own. */
bool ompjit__live_is_internal(LLVMValueRef global);
/* Is the function called by its name from outside? `whole`: only main is. */
bool ompjit__live_is_entry(LLVMValueRef f, bool whole);

#endif
