/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Constants that are made of a team-shared variable's address, which becomes
 * an offset into the team's block (backend/host/lower.c).
 */
#include <llvm-c/Analysis.h>

#include "backend/host/host.h"
#include "ir_text.h"
#include "tap.h"

#define FLAT "addrspacecast (ptr addrspace(3) @s to ptr)"
#define NUMBER "ptrtoint (ptr " FLAT " to i64)"

static ompjit_error err;

static const struct row {
    const char *what, *instruction, *store;
} rows[] = {
    {"the address", " = addrspacecast ", "ptr " FLAT},
    {"an element", " = getelementptr i32",
     "ptr getelementptr (i32, ptr " FLAT ", i64 2)"},
    {"a number", " = ptrtoint ", "i64 " NUMBER},
    {"a sum", " = add ", "i64 add (i64 " NUMBER ", i64 9)"},
    {"a difference", " = sub ", "i64 sub (i64 9, i64 " NUMBER ")"},
    {"an exclusive or", " = xor ", "i64 xor (i64 " NUMBER ", i64 21845)"},
    {"a shorter number", " = ptrtoint ", "i32 trunc (i64 " NUMBER " to i32)"},
    {"a struct", " = insertvalue ", "{ i32, ptr } { i32 1, ptr " FLAT " }"},
    {"a vector", " = insertelement ", "<2 x ptr> < ptr " FLAT ", ptr null >"},
};

/* Is the module valid, without the variable, and with the instruction? */
static bool is_lowered(LLVMModuleRef m, const char *instruction)
{
    char *text = NULL;
    bool broken = LLVMVerifyModule(m, LLVMReturnStatusAction, &text);
    if (broken)
        printf("# %s\n", text);
    LLVMDisposeMessage(text);
    text = LLVMPrintModuleToString(m);
    bool found = strstr(text, instruction);
    if (!found)
        printf("# no%sin %s\n", instruction, text);
    LLVMDisposeMessage(text);
    return !broken && found && !LLVMGetNamedGlobal(m, "s");
}

static void check(const struct row *row)
{
    struct ir_text t;
    char *ir = ompjit__format(
        "@s = internal addrspace(3) global [4 x i32] undef\n"
        "define void @f(ptr %%p) {\n  store %s, ptr %%p\n  ret void\n}\n",
        row->store);
    ompjit_status status = ir_text_open(&t, ir, &err);
    if (!status)
        status = ompjit__host_finish(t.m, &err);
    ok(!status && is_lowered(t.m, row->instruction), "%s", row->what);
    if (status)
        printf("# %s\n", err.text);
    ir_text_close(&t);
    free(ir);
}

/* Variables whose bytes do not fit into the number that tells them. */
static void too_large(void)
{
    static const struct {
        const char *first, *second; /* numbers of bytes */
        bool fits;
    } sizes[] = {{"4294967280", "0", true},
                 {"4294967296", "0", false},
                 {"4294967281", "0", false},
                 {"4294967280", "1", false},
                 {"9223372036854775807", "9223372036854775807", false}};
    for (size_t i = 0; i < OMPJIT__COUNT(sizes); i++) {
        struct ir_text t;
        char *ir = ompjit__format(
            "@s = internal addrspace(3) global [%s x i8] undef\n"
            "@u = internal addrspace(3) global [%s x i8] undef\n"
            "define void @f() {\n  ret void\n}\n",
            sizes[i].first, sizes[i].second);
        ompjit_status status = ir_text_open(&t, ir, &err);
        if (!status)
            status = ompjit__host_finish(t.m, &err);
        ok(status == (sizes[i].fits ? OMPJIT_OK : OMPJIT_ERR_COMPILE),
           "%s and %s bytes", sizes[i].first, sizes[i].second);
        if (!sizes[i].fits)
            ok_contains(err.text, "team-shared variable", "  is an error");
        ir_text_close(&t);
        free(ir);
    }
}

int main(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        check(&rows[i]);
    too_large();
    return done_testing();
}
