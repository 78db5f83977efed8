/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which barriers of a kernel for the host order nothing and are dropped.
 */
#include "passes/host/host.h"
#include "ir_text.h"
#include "tap.h"

#define BARRIER "  call void @ompjit_host_barrier(i32 0, i32 0)\n"
#define WRAPPER "  call void @wrapper()\n"
/* The first argument, a pointer that was passed by value. */
#define ARGUMENT "  %p = load ptr, ptr %a\n  %x = load ptr, ptr %p\n"

static ompjit_error err;

static const char declarations[] =
    "declare ptr @ompjit_host_self() memory(none) nounwind willreturn\n"
    "declare void @ompjit_host_barrier(i32, i32)\n"
    "declare void @use(ptr)\n"
    "define internal void @wrapper() noinline {\n" BARRIER "  ret void\n}\n";

static const struct row {
    const char *what;
    unsigned left;
    const char *ir;
} rows[] = {
    {"at both ends", 0,
     "define void @k.entry(ptr %a) {\n" ARGUMENT BARRIER
     "  store i32 1, ptr %x\n" BARRIER "  ret void\n}\n"},
    {"at both ends, in a function", 0,
     "define void @k.entry(ptr %a) {\n" ARGUMENT WRAPPER
     "  store i32 1, ptr %x\n" WRAPPER "  ret void\n}\n"},
    {"two behind each other", 0,
     "define void @k.entry(ptr %a) {\n" ARGUMENT BARRIER BARRIER
     "  store i32 1, ptr %x\n  ret void\n}\n"},
    {"behind a read of what may change", 1,
     "define void @k.entry(ptr %a) {\n" ARGUMENT
     "  %v = load i32, ptr %x\n" BARRIER
     "  store i32 %v, ptr %x\n  ret void\n}\n"},
    {"behind a write", 1,
     "define void @k.entry(ptr %a) {\n" ARGUMENT
     "  store i32 1, ptr %x\n" BARRIER
     "  call void @use(ptr %x)\n  ret void\n}\n"},
    {"behind a call", 1,
     "define void @k.entry(ptr %a) {\n" ARGUMENT "  call void @use(ptr %x)\n"
     BARRIER "  store i32 1, ptr %x\n  ret void\n}\n"},
    {"behind the thread's number", 0,
     "define void @k.entry(ptr %a) {\n" ARGUMENT
     "  %s = call ptr @ompjit_host_self()\n  %t = load i32, ptr %s\n"
     BARRIER "  store i32 %t, ptr %x\n  ret void\n}\n"},
    {"before the last read", 1,
     "define void @k.entry(ptr %a) {\n" ARGUMENT "  store i32 1, ptr %x\n"
     BARRIER "  %v = load volatile i32, ptr %x\n  ret void\n}\n"},
    {"of some threads", 1,
     "define void @k.entry(ptr %a) {\n"
     "  call void @ompjit_host_barrier(i32 1, i32 32)\n" ARGUMENT
     "  store i32 1, ptr %x\n  ret void\n}\n"},
    {"in a branch that comes to the end", 0,
     "define void @k.entry(ptr %a) {\n" ARGUMENT
     "  store i32 1, ptr %x\n  %c = icmp eq ptr %x, null\n"
     "  br i1 %c, label %then, label %end\n"
     "then:\n" BARRIER "  br label %end\n"
     "end:\n  ret void\n}\n"},
    {"in a loop", 1,
     "define void @k.entry(ptr %a) {\n" ARGUMENT "  br label %loop\n"
     "loop:\n  store i32 1, ptr %x\n  %c = load i1, ptr %x\n" BARRIER
     "  br i1 %c, label %loop, label %end\n"
     "end:\n  ret void\n}\n"},
    {"of a kernel apart from its entry", 0,
     "define internal void @k(ptr %x) {\n" BARRIER
     "  store i32 1, ptr %x\n" BARRIER "  ret void\n}\n"
     "define void @k.entry(ptr %a) {\n" ARGUMENT
     "  call void @k(ptr %x)\n  ret void\n}\n"},
    {"of a function that is called twice", 2,
     "define internal void @k(ptr %x) {\n" BARRIER
     "  store i32 1, ptr %x\n" BARRIER "  ret void\n}\n"
     "define void @k.entry(ptr %a) {\n" ARGUMENT
     "  call void @k(ptr %x)\n  call void @k(ptr %x)\n  ret void\n}\n"},
    {"of no kernel", 1,
     "define void @f(ptr %a) {\n" BARRIER "  ret void\n}\n"},
};

static void check(const struct row *row)
{
    struct ir_text t;
    char *ir = ompjit__format("%s%s", declarations, row->ir);
    unsigned left = 99;
    if (!ir_text_open(&t, ir, &err)) {
        ompjit__drop_outer_barriers(t.m);
        left = ir_text_count(&t, "call void @ompjit_host_barrier(") +
               ir_text_count(&t, "call void @wrapper(") -
               ir_text_count(&t, "define internal void @wrapper(");
    } else {
        fprintf(stderr, "# %s\n", err.text);
    }
    ir_text_close(&t);
    free(ir);
    ok(left == row->left, "%s: %u left", row->what, left);
}

int main(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        check(&rows[i]);
    return done_testing();
}
