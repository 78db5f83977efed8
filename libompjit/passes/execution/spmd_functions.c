/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The option ompjit-spmd-amenable names functions that all threads of a team
 * may run in place of one. They get the assumption that openmp-opt reads, which
 * a source gives by `#pragma omp begin assumes ext_spmd_amenable`.
 *
 * openmp-opt asks no further about a function with that assumption, and takes
 * it for one without parallel regions. Those that have some are left as they
 * are: in a kernel that stays generic, workers would not know the regions.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/describe/reach.h"
#include "llvm/remarks.h"
#include "passes/execution/execution.h"

static const char kind[] = "llvm.assume";
static const char amenable[] = "ompx_spmd_amenable";

/* False: out of memory. */
static bool assume(LLVMValueRef f)
{
    unsigned n = 0;
    LLVMAttributeRef before = LLVMGetStringAttributeAtIndex(
        f, LLVMAttributeFunctionIndex, kind, sizeof kind - 1);
    const char *given = before ? LLVMGetStringAttributeValue(before, &n) : "";
    char *both = ompjit__format("%.*s%s%s", (int)n, given, n ? "," : "",
                                amenable);
    if (!both)
        return false;
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(
            LLVMGetModuleContext(LLVMGetGlobalParent(f)), kind,
            sizeof kind - 1, both, (unsigned)strlen(both)));
    free(both);
    return true;
}

static bool starts_region(const char *name)
{
    return !strcmp(name, "__kmpc_parallel_60");
}

static bool is_text(const char *text, const char *name, size_t length)
{
    return text && strlen(text) == length && !memcmp(text, name, length);
}

/* Is the text the function's symbol, its name in remarks, or its full C++ name
 * with parameters? *good becomes false where memory runs out. */
static bool is_named(LLVMValueRef f, const char *name, size_t length,
                     bool *good)
{
    size_t n;
    unsigned line;
    const char *symbol = LLVMGetValueName2(f, &n);
    if (is_text(symbol, name, length))
        return true;
    char *brief = ompjit__kernel_name(symbol, &line);
    char *full = ompjit__kernel_signature(symbol);
    bool same = is_text(brief, name, length) || is_text(full, name, length);
    *good &= brief && full;
    free(brief);
    free(full);
    return same;
}

/* False: out of memory. */
static bool treat(LLVMValueRef f, ompjit__buf *remarks)
{
    ompjit__reached reached = ompjit__named_by(f);
    bool has_regions = ompjit__reaches(&reached, starts_region);
    bool good = !reached.failed;
    free(reached.functions);
    if (!has_regions)
        good &= assume(f);
    ompjit__remark_at(
        remarks, f,
        &(ompjit__remark){
            .id = has_regions ? OMPJIT__REMARK_OMPJIT117
                              : OMPJIT__REMARK_OMPJIT116,
            .what = has_regions
                        ? "The option ompjit-spmd-amenable has no effect"
                        : "All threads of a team may run the function in "
                          "place of one",
            .why = has_regions ? "the function starts parallel regions"
                               : NULL});
    return good;
}

static void tell_missing(const char *name, size_t length, ompjit__buf *remarks)
{
    char *subject = ompjit__format("%.*s", (int)length, name);
    ompjit__remark_add(
        remarks, &(ompjit__remark){
                     .id = OMPJIT__REMARK_OMPJIT117,
                     .subject = subject,
                     .what = "The option ompjit-spmd-amenable has no effect"});
    remarks->failed |= !subject;
    free(subject);
}

ompjit_status ompjit__spmd_functions(LLVMModuleRef m, const ompjit__opts *opts,
                                     bool whole, ompjit__buf *remarks,
                                     ompjit_error *err)
{
    bool good = true;
    size_t length;
    for (const char *name = opts->functions; *name; name += length + 1) {
        bool found = false;
        length = strcspn(name, "\n");
        LLVMValueRef f = LLVMGetFirstFunction(m);
        for (; f; f = LLVMGetNextFunction(f))
            if (is_named(f, name, length, &good)) {
                good &= treat(f, remarks);
                found = true;
            }
        if (!found && whole)
            tell_missing(name, length, remarks);
    }
    return good && !remarks->failed
               ? OMPJIT_OK
               : ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE);
}
