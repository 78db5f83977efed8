/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Facts about a kernel's pointers that LLVM is not told where they need not
 * hold: kernels that find pointers in memory (passes/pointer_escape.c), and
 * kernels that wait for what others store (passes/alias_scopes.cc).
 */
#include "passes/passes.h"
#include "ir_text.h"
#include "tap.h"

static ompjit_error err;

/* The body of a kernel that has the pointers %a and %b and the number %n. */
static const struct row {
    const char *what, *body;
    bool follows, acquires;
} rows[] = {
    {"numbers", "  %x = load i64, ptr %a\n  store i64 %x, ptr %b\n", false,
     false},
    {"a pointer from memory",
     "  %p = load ptr, ptr %a\n  store i32 1, ptr %p\n", true, false},
    {"a pointer that it has kept itself",
     "  store ptr %a, ptr %l\n  %p = load ptr, ptr %l\n"
     "  store i32 1, ptr %p\n",
     false, false},
    {"a pointer that is copied as a number",
     "  %x = load i64, ptr %a\n"
     "  %s = getelementptr i64, ptr %l, i64 %n\n"
     "  store i64 %x, ptr %s\n  %p = load ptr, ptr %l\n"
     "  store i32 1, ptr %p\n",
     true, false},
    {"a pointer that is copied as one of two numbers",
     "  %x = load i64, ptr %a\n  %y = load i64, ptr %b\n"
     "  %c = icmp eq i64 %n, 0\n  %z = select i1 %c, i64 %x, i64 %y\n"
     "  store i64 %z, ptr %l\n",
     true, false},
    {"pointers that are copied as a vector of numbers",
     "  %x = load <2 x i64>, ptr %a\n  store <2 x i64> %x, ptr %l\n", true,
     false},
    {"a number that is computed",
     "  %x = load i64, ptr %a\n  %y = mul i64 %x, %n\n"
     "  store i64 %y, ptr %l\n",
     false, false},
    {"shorter numbers", "  %x = load i32, ptr %a\n  store i32 %x, ptr %l\n",
     false, false},
    {"an acquiring load",
     "  %x = load atomic i32, ptr %a acquire, align 4\n", false, true},
    {"a relaxed load",
     "  %x = load atomic i32, ptr %a monotonic, align 4\n", false, false},
    {"a fence", "  fence acquire\n", false, true},
    {"a lock", "  call void @omp_set_lock(ptr %a)\n", false, true},
    {"a fence of the GPU's", "  call void @llvm.nvvm.membar.gl()\n", false,
     true},
    {"assembly", "  call void asm sideeffect \"\", \"~{memory}\"()\n", false,
     true},
    {"assembly without memory",
     "  %x = call i64 asm \"mov $0, 1;\", \"=r\"() memory(none)\n", false,
     false},
    {"an atomic of the library's",
     "  call void @__atomic_load(i64 16, ptr %a, ptr %l, i32 5)\n", false,
     true},
    {"another function", "  call void @work(ptr %l)\n", false, false},
};

static const char declarations[] =
    "declare void @omp_set_lock(ptr)\n"
    "declare void @llvm.nvvm.membar.gl()\n"
    "declare void @__atomic_load(i64, ptr, ptr, i32)\n"
    "declare void @work(ptr)\n";

static void check(const struct row *row)
{
    static char symbol[] = "kernel";
    const ompjit__kernel_desc kernel = {.symbol = symbol};
    struct ir_text t;
    char *ir = ompjit__format(
        "%sdefine void @kernel(ptr %%a, ptr %%b, i64 %%n) {\n"
        "  %%l = alloca [4 x i64]\n%s  ret void\n}\n",
        declarations, row->body);
    if (!ok(!ir_text_open(&t, ir, &err), "%s", row->what)) {
        printf("# %s\n", err.text);
    } else {
        LLVMValueRef f = LLVMGetNamedFunction(t.m, symbol);
        ok(ompjit__follows_pointers(t.m, &kernel) == row->follows,
           "  %s pointers in memory", row->follows ? "finds" : "finds no");
        ompjit__note_acquires(f);
        ok(ompjit__acquires(f) == row->acquires, "  %s",
           row->acquires ? "acquires" : "does not acquire");
    }
    ir_text_close(&t);
    free(ir);
}

int main(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        check(&rows[i]);
    return done_testing();
}
