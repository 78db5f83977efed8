/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which variables of the runtime's heap the host device puts on the stack, and
 * which must stay: those that outlive their function or of which two live at
 * once, and those that a stack has no room for.
 */
#include "passes/host/host.h"
#include "ir_text.h"
#include "tap.h"

static ompjit_error err;

static const char declarations[] =
    "declare noalias ptr @__kmpc_alloc_shared(i64)\n"
    "declare void @__kmpc_free_shared(ptr, i64)\n"
    "declare void @use(ptr)\n"
    "declare i1 @ask()\n";

static const struct row {
    const char *what;
    unsigned on_stack, on_heap;
    const char *ir;
} rows[] = {
    {"one that is freed", 1, 0,
     "define void @f() {\n"
     "  %p = call align 32 ptr @__kmpc_alloc_shared(i64 40)\n"
     "  tail call void @use(ptr %p)\n"
     "  call void @__kmpc_free_shared(ptr %p, i64 40)\n"
     "  ret void\n}\n"},
    {"one that is freed on both ways", 1, 0,
     "define void @f() {\n"
     "  %p = call ptr @__kmpc_alloc_shared(i64 64)\n"
     "  %c = call i1 @ask()\n"
     "  br i1 %c, label %a, label %b\n"
     "a:\n  call void @__kmpc_free_shared(ptr %p, i64 64)\n  ret void\n"
     "b:\n  call void @__kmpc_free_shared(ptr %p, i64 64)\n"
     "  ret void\n}\n"},
    {"one that is freed on one way", 0, 1,
     "define void @f() {\n"
     "  %p = call ptr @__kmpc_alloc_shared(i64 64)\n"
     "  %c = call i1 @ask()\n"
     "  br i1 %c, label %a, label %b\n"
     "a:\n  call void @__kmpc_free_shared(ptr %p, i64 64)\n  ret void\n"
     "b:\n  ret void\n}\n"},
    {"one that the kernel ends with", 1, 0,
     "define void @f() {\n"
     "  %p = call ptr @__kmpc_alloc_shared(i64 64)\n"
     "  %c = call i1 @ask()\n"
     "  br i1 %c, label %a, label %b\n"
     "a:\n  call void @__kmpc_free_shared(ptr %p, i64 64)\n  ret void\n"
     "b:\n  unreachable\n}\n"},
    {"one that is returned", 0, 1,
     "define ptr @f() {\n"
     "  %p = call ptr @__kmpc_alloc_shared(i64 64)\n"
     "  ret ptr %p\n}\n"},
    {"one of each round of a loop", 1, 0,
     "define void @f() {\n  br label %a\n"
     "a:\n  %p = call ptr @__kmpc_alloc_shared(i64 64)\n"
     "  call void @use(ptr %p)\n"
     "  call void @__kmpc_free_shared(ptr %p, i64 64)\n"
     "  %c = call i1 @ask()\n"
     "  br i1 %c, label %a, label %b\n"
     "b:\n  ret void\n}\n"},
    {"one that lives into the next round", 0, 1,
     "define void @f() {\n  br label %a\n"
     "a:\n  %p = call ptr @__kmpc_alloc_shared(i64 64)\n"
     "  %c = call i1 @ask()\n"
     "  br i1 %c, label %a, label %b\n"
     "b:\n  call void @__kmpc_free_shared(ptr %p, i64 64)\n"
     "  ret void\n}\n"},
    {"one that is freed behind a phi", 0, 2,
     "define void @f() {\n"
     "  %p = call ptr @__kmpc_alloc_shared(i64 64)\n"
     "  %q = call ptr @__kmpc_alloc_shared(i64 64)\n"
     "  %c = call i1 @ask()\n"
     "  %r = select i1 %c, ptr %p, ptr %q\n"
     "  call void @__kmpc_free_shared(ptr %r, i64 64)\n"
     "  ret void\n}\n"},
    {"one of any size", 0, 1,
     "define void @f(i64 %n) {\n"
     "  %p = call ptr @__kmpc_alloc_shared(i64 %n)\n"
     "  call void @__kmpc_free_shared(ptr %p, i64 %n)\n"
     "  ret void\n}\n"},
    {"two, for which there is not room", 1, 1,
     "define void @f() {\n"
     "  %p = call ptr @__kmpc_alloc_shared(i64 40000)\n"
     "  %q = call ptr @__kmpc_alloc_shared(i64 40000)\n"
     "  call void @__kmpc_free_shared(ptr %q, i64 40000)\n"
     "  call void @__kmpc_free_shared(ptr %p, i64 40000)\n"
     "  ret void\n}\n"},
    {"one of a function that ends as another", 0, 1,
     "define void @g(ptr %p) {\n  ret void\n}\n"
     "define void @f(ptr %a) {\n"
     "  %p = call ptr @__kmpc_alloc_shared(i64 64)\n"
     "  call void @__kmpc_free_shared(ptr %p, i64 64)\n"
     "  musttail call void @g(ptr %a)\n"
     "  ret void\n}\n"},
};

static unsigned count(const char *text, const char *words)
{
    unsigned n = 0;
    for (; (text = strstr(text, words)); text += strlen(words))
        n++;
    return n;
}

/* The module as the pass leaves it; malloc'd. */
static char *change(const char *functions)
{
    struct ir_text t;
    char *ir = ompjit__format("%s%s", declarations, functions), *text = NULL;
    if (!ir_text_open(&t, ir, &err)) {
        ompjit__heap_to_stack(t.m);
        char *whole = LLVMPrintModuleToString(t.m);
        text = ompjit__strdup(whole);
        LLVMDisposeMessage(whole);
    }
    ir_text_close(&t);
    free(ir);
    return text;
}

static void check(const struct row *row)
{
    char *text = change(row->ir);
    ok(text && count(text, "= alloca ") == row->on_stack &&
           count(text, "ptr @__kmpc_alloc_shared(") ==
               row->on_heap + 1, /* its declaration */
       "%s", row->what);
    if (text && row->on_stack + row->on_heap == 1)
        ok(count(text, "void @__kmpc_free_shared(ptr %") ==
               (row->on_heap ? count(row->ir, "__kmpc_free_shared") : 0),
           "  and is freed where it stays");
    free(text);
}

/* The attributes that the pass must set and remove. */
static void check_promises(void)
{
    char *text = change(rows[0].ir);
    ok_contains(text, "alloca [40 x i8], align 32", "alignment is kept");
    ok_contains(text, "call void @llvm.lifetime.start.p0(ptr %p)",
                "its life begins where it was allocated");
    ok(text && !strstr(text, "tail call"), "no call forgets the stack");
    free(text);
    text = change(rows[1].ir);
    ok_contains(text, "alloca [64 x i8], align 64",
                "else it is what the size allows");
    free(text);
}

int main(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        check(&rows[i]);
    check_promises();
    return done_testing();
}
