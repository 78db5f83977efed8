/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_llvm.h with an LLVM that is not the library's: prints what it makes of
 * the whole table, and exits with the number of faults. t/any_llvm_t.sh
 */
#include <llvm-c/Analysis.h>
#include <stdlib.h>

#include "ompjit_llvm.h"

static int faults;
static LLVMContextRef ctx;

static void expect(int is_so, const char *what)
{
    if (!is_so)
        printf("FAULT: %s\n", what);
    faults += !is_so;
}

static void print_module(LLVMModuleRef m)
{
    char *text = LLVMPrintModuleToString(m);
    printf("%s", text);
    LLVMDisposeMessage(text);
}

/* All rows of a release in one module, which verifies and passes the check. */
static void declare_all(unsigned release)
{
    const ompjit_rtl_table *table = ompjit_rtl_table_get();
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("all", ctx);
    ompjit_error err = {OMPJIT_OK, OMPJIT_STAGE_API, ""};
    unsigned n = 0;
    for (unsigned i = 0; i < table->ndeclarations; i++) {
        LLVMValueRef fn = NULL, again = NULL;
        const ompjit_rtl_declaration *row = &table->declarations[i];
        if (row->since > release || row->until < release)
            continue;
        n++;
        expect(!ompjit_rtl_declare(m, i, &fn, &err) && fn, row->name);
        expect(!ompjit_rtl_declare(m, i, &again, &err) && again == fn,
               "the same when it is declared again");
    }
    printf("LLVM %u: %u rows\n", release, n);
    expect(!LLVMVerifyModule(m, LLVMReturnStatusAction, NULL), "verifies");
    expect(!ompjit_rtl_check(m, &err), err.text);
    if (release == table->newest)
        print_module(m);
    LLVMDisposeModule(m);
}

static void structs(void)
{
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("structs", ctx);
    for (int i = 0; i < OMPJIT_RTL_STRUCT_COUNT; i++) {
        LLVMTypeRef type = NULL, again = NULL;
        expect(!ompjit_rtl_type(ctx, (ompjit_rtl_struct)i, &type, NULL) &&
                   !ompjit_rtl_type(ctx, (ompjit_rtl_struct)i, &again, NULL) &&
                   type && type == again, "a struct");
        LLVMAddGlobal(m, type, "one");
    }
    print_module(m);
    LLVMDisposeModule(m);
}

static void refused(void)
{
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("bad.c", ctx);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(ctx);
    LLVMTypeRef wrong = LLVMFunctionType(i32, &i32, 1, 0);
    LLVMValueRef fn = NULL;
    ompjit_error err;
    LLVMAddFunction(m, "__kmpc_barrier", wrong);
    LLVMAddGlobal(m, i32, "omp_get_level");
    expect(ompjit_rtl_declare(m, 0, &fn, &err) == OMPJIT_ERR_ABI && !fn,
           "a name that is taken");
    puts(err.text);
    expect(ompjit_rtl_check(m, &err) == OMPJIT_ERR_ABI, "wrong types");
    puts(err.text);
    LLVMAddFunction(m, "__kmpc_kernel_init", wrong);
    expect(ompjit_rtl_check(m, &err) == OMPJIT_ERR_ABI, "an old compiler");
    puts(err.text);
    LLVMDisposeModule(m);
}

int main(void)
{
    ctx = LLVMContextCreate();
    for (unsigned release = 18; release <= 22; release++)
        declare_all(release);
    structs();
    refused();
    LLVMContextDispose(ctx);
    return faults ? EXIT_FAILURE : EXIT_SUCCESS;
}
