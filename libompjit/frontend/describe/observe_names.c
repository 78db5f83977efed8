/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The class of a call: what observe.def says of the runtime function that it
 * names.
 */
#include <string.h>

#include "core/core.h"
#include "frontend/describe/observe.h"

struct row {
    const char *pattern;
    size_t size; /* of the pattern */
    enum ompjit__call kind;
};

/* Is the name, of `size` bytes, the pattern, or does it begin with the part before
 * a final *? Most names have another length. */
static bool fits(const char *name, size_t size, const struct row *row)
{
    size_t n = row->size - 1;
    return row->pattern[n] == '*' ? !strncmp(name, row->pattern, n)
                                  : size == row->size &&
                                        !memcmp(name, row->pattern, size);
}

bool ompjit__begins_with_any(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (!strncmp(name, *prefixes, strlen(*prefixes)))
            return true;
    return false;
}

/* The first row that fits decides, so that __kmpc_dispatch_next_ can stand
 * before __kmpc_dispatch_*. */
static enum ompjit__call class_of(const char *name)
{
    static const char *const runtime[] = {"omp_",    "ompx_",       "__kmpc_",
                                          "kmp_",    "__tgt_",      "llvm_omp_",
                                          "ompjit_", "__llvm_omp_", NULL};
    static const struct row rows[] = {
#define OBSERVE(pattern, kind)                                                 \
    {pattern, sizeof pattern - 1, OMPJIT__CALL_##kind},
#include "frontend/describe/observe.def"
    };
    size_t size = strlen(name);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        if (fits(name, size, &rows[i]))
            return rows[i].kind;
    return ompjit__begins_with_any(name, runtime) ? OMPJIT__CALL_OBSERVES
                                                  : OMPJIT__CALL_FOREIGN;
}

bool ompjit__is_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

/* A definition by one of the runtime's names is the program's own function, and
 * is looked into as any other. */
enum ompjit__call ompjit__call_kind(LLVMValueRef v)
{
    size_t n;
    LLVMValueRef f = ompjit__is_call(v) ? LLVMGetCalledValue(v) : NULL;
    return f && LLVMIsAFunction(f) && LLVMIsDeclaration(f)
               ? class_of(LLVMGetValueName2(f, &n))
               : OMPJIT__CALL_FOREIGN;
}
