/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Is a module's idea of the runtime functions ours? openmp-opt and the linked
 * runtime take a function for what its name says; a wrong type there is silent
 * until the kernel runs, so it is found here.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "ompjit_llvm.h"
#include "table/llvm/llvm.h"
#include "table/llvm/table.h"

/* The findings of one check. */
typedef struct findings {
    unsigned oldest;       /* release that a row must reach                 */
    unsigned wrong;
    unsigned release;      /* the oldest clang a wrong function points to,
                              0: none older than 18                         */
    ompjit__buf list;
} findings;

static LLVMTypeRef type_of(LLVMValueRef value, const char *letters)
{
    LLVMModuleRef m = LLVMGetGlobalParent(value);
    return ompjit__rtl_function_type(LLVMGetModuleContext(m), letters);
}

/* The row that has the value's type, among those of a name that are of
 * release `oldest` or later; -1: none. */
static int row_of(LLVMValueRef value, const char *name, unsigned oldest)
{
    LLVMTypeRef found = LLVMGlobalGetValueType(value);
    for (int i = -1; (i = ompjit__rtl_next(name, i)) >= 0;)
        if (ompjit__rtl_until(i) >= oldest &&
            type_of(value, ompjit__rtl_rows[i].type) == found)
            return i;
    return -1;
}

/* The other type of a name that the value has; NULL: none of those known. */
static const ompjit__rtl_old *old_of(LLVMValueRef value, const char *name)
{
    LLVMTypeRef found = LLVMGlobalGetValueType(value);
    for (size_t i = 0; i < ompjit__rtl_nolds; i++)
        if (!strcmp(ompjit__rtl_olds[i].name, name) &&
            type_of(value, ompjit__rtl_olds[i].type) == found)
            return &ompjit__rtl_olds[i];
    return NULL;
}

static void add_release(findings *f, unsigned release)
{
    ompjit__buf_printf(&f->list, ", as clang %u and before have it", release);
    if (release < OMPJIT__OLDEST_CLANG &&
        (!f->release || release < f->release))
        f->release = release;
}

/* A right type, but of a row that an upgrade should have replaced. */
static void add_older(findings *f, int row)
{
    const char *name = ompjit__rtl_rows[row].name;
    int successor = ompjit__rtl_successor((unsigned)row);
    f->wrong++;
    ompjit__buf_printf(&f->list, "\n  %s (row %d) is of clang %u and before: ",
                       name, row, ompjit__rtl_until((unsigned)row));
    ompjit__rtl_type_text(&f->list, ompjit__rtl_rows[row].type);
    if (successor < 0)
        return;
    ompjit__buf_printf(&f->list, "; LLVM %d has row %d, %s, ",
                       OMPJIT__NEWEST_CLANG, successor,
                       ompjit__rtl_rows[successor].name);
    ompjit__rtl_type_text(&f->list, ompjit__rtl_rows[successor].type);
}

static void add_wrong(findings *f, LLVMValueRef value, int row)
{
    const char *name = ompjit__rtl_rows[row].name;
    const ompjit__rtl_old *old = old_of(value, name);
    f->wrong++;
    ompjit__buf_printf(&f->list, "\n  %s (row %d) is ", name, row);
    ompjit__rtl_type_text(&f->list, ompjit__rtl_rows[row].type);
    ompjit__buf_printf(&f->list, "; the module has ");
    ompjit__rtl_found_text(&f->list, value);
    if (old)
        add_release(f, old->release);
}

static void check_value(findings *f, LLVMValueRef value, int row)
{
    const char *name = ompjit__rtl_rows[row].name;
    if (row_of(value, name, f->oldest) >= 0)
        return;
    const ompjit__rtl_old *old = old_of(value, name);
    if (old && old->release >= f->oldest)
        return;
    int older = row_of(value, name, 0);
    if (older >= 0)
        add_older(f, older);
    else
        add_wrong(f, value, row);
}

/* Functions that only a clang older than 18 calls. */
static void check_removed(findings *f, LLVMModuleRef m)
{
    for (size_t i = 0; i < ompjit__rtl_nolds; i++) {
        const ompjit__rtl_old *old = &ompjit__rtl_olds[i];
        if (!LLVMGetNamedFunction(m, old->name) ||
            ompjit__rtl_next(old->name, -1) >= 0)
            continue;
        f->wrong++;
        ompjit__buf_printf(&f->list, "\n  %s is in no runtime of LLVM %d to %d",
                           old->name, OMPJIT__OLDEST_CLANG,
                           OMPJIT__NEWEST_CLANG);
        add_release(f, old->release);
    }
}

static void collect(findings *f, LLVMModuleRef m)
{
    for (int i = 0; i < OMPJIT_RTL_COUNT; i++) {
        LLVMValueRef value = ompjit__rtl_value(m, ompjit__rtl_rows[i].name);
        if (value && ompjit__rtl_newest(ompjit__rtl_rows[i].name) == i)
            check_value(f, value, i);
    }
    check_removed(f, m);
}

/* Of IR that a clang older than 18 has made, nothing else is worth saying. */
static ompjit_status too_old(const findings *f, LLVMModuleRef m,
                             ompjit_error *err)
{
    size_t n;
    return ompjit__fail(
        err, OMPJIT_ERR_ABI, OMPJIT_STAGE_READ,
        "%s comes from a compiler older than clang %d (clang %u or "
        "before); IR of clang %d to %d is accepted:%s",
        LLVMGetModuleIdentifier(m, &n), OMPJIT__OLDEST_CLANG, f->release,
        OMPJIT__OLDEST_CLANG, OMPJIT__NEWEST_CLANG, f->list.data);
}

static ompjit_status find(LLVMModuleRef m, unsigned oldest,
                          ompjit__findings *out, ompjit_error *err)
{
    findings f = {.oldest = oldest};
    ompjit_status status = OMPJIT_OK;
    collect(&f, m);
    if (f.list.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_READ);
    else if (f.release)
        status = too_old(&f, m, err);
    else if (f.wrong)
        ompjit__finding(out, OMPJIT_ERR_ABI,
                        "%u runtime function%s of the wrong type:%s", f.wrong,
                        f.wrong == 1 ? " is" : "s are", f.list.data);
    ompjit__buf_free(&f.list);
    return status;
}

ompjit_status ompjit__table_find(LLVMModuleRef m, ompjit__findings *out,
                                 ompjit_error *err)
{
    return find(m, OMPJIT__OLDEST_CLANG, out, err);
}

static ompjit_status check(LLVMModuleRef m, unsigned oldest, ompjit_error *err)
{
    ompjit__findings f = {0};
    size_t n;
    ompjit_status status = find(m, oldest, &f, err);
    return status ? status
                  : ompjit__findings_end(&f, LLVMGetModuleIdentifier(m, &n),
                                         OMPJIT_STAGE_READ, err);
}

ompjit_status ompjit__table_check_inner(LLVMModuleRef m, ompjit_error *err)
{
    return check(m, OMPJIT__NEWEST_CLANG, err);
}

ompjit_status ompjit__rtl_check(LLVMModuleRef m, ompjit_error *err)
{
    if (!m)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_rtl_check: no module");
    return check(m, OMPJIT__OLDEST_CLANG, err);
}

int ompjit__table_row(LLVMValueRef fn)
{
    size_t length;
    return row_of(fn, LLVMGetValueName2(fn, &length), 0);
}

int ompjit__table_successor(int row)
{
    return row < 0 ? -1 : ompjit__rtl_successor((unsigned)row);
}
