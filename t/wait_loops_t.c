/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which loops give way to other threads, since they wait for one.
 */
#include "passes/host/host.h"
#include "ir_text.h"
#include "tap.h"

#define LOOP(body, condition)                                                  \
    "define void @f(ptr %p, ptr %q) {\n  %v = alloca i32\n  br label %loop\n" \
    "loop:\n  %i = phi i32 [ 0, %0 ], [ %n, %loop ]\n"                         \
    "  %n = add i32 %i, 1\n" body "  br i1 " condition                         \
    ", label %loop, label %end\nend:\n  ret void\n}\n"
#define READ "  %x = load atomic i32, ptr %p acquire, align 4\n"
#define UPDATE "  %x = atomicrmw add ptr %p, i32 %i monotonic\n"
#define AGAIN "  %c = icmp eq i32 %x, 0\n"
#define COUNTED "  %c = icmp slt i32 %n, 9\n"

static ompjit_error err;

static const char declarations[] =
    "define internal i32 @look(ptr %p) {\n" READ "  ret i32 %x\n}\n"
    "define internal void @add(ptr %p) {\n"
    "  %x = atomicrmw add ptr %p, i32 1 monotonic\n  ret void\n}\n";

static const struct row {
    const char *what;
    unsigned yields;
    const char *ir;
} rows[] = {
    {"until a flag is set", 1, LOOP(READ AGAIN, "%c")},
    {"until a volatile flag is set", 1,
     LOOP("  %x = load volatile i32, ptr %p\n" AGAIN, "%c")},
    {"until a flag is set, nine times at most", 1,
     LOOP(READ AGAIN "  %d = icmp slt i32 %n, 9\n  %e = and i1 %c, %d\n",
          "%e")},
    {"until a function finds a flag set", 1,
     LOOP("  %x = call i32 @look(ptr %p)\n" AGAIN, "%c")},
    {"until a lock is free", 1,
     LOOP("  %o = cmpxchg ptr %p, i32 0, i32 1 acquire monotonic\n"
          "  %c = extractvalue { i32, i1 } %o, 1\n",
          "%c")},
    {"by a variable on the stack", 1,
     LOOP(READ "  store i32 %x, ptr %v\n  %y = load i32, ptr %v\n"
               "  %c = icmp eq i32 %y, 0\n",
          "%c")},
    {"until a volatile variable on the stack is 0", 0,
     LOOP("  %x = load volatile i32, ptr %v\n" AGAIN, "%c")},
    {"until one that others know is 0", 1,
     LOOP("  store ptr %v, ptr %q\n  %x = load volatile i32, ptr %v\n" AGAIN,
          "%c")},
    {"that updates a sum", 0, LOOP(UPDATE COUNTED, "%c")},
    {"that updates a sum in a function", 0,
     LOOP("  call void @add(ptr %p)\n" COUNTED, "%c")},
    {"that reads for a sum", 0,
     LOOP(READ "  %y = atomicrmw add ptr %q, i32 %x monotonic\n" COUNTED,
          "%c")},
    {"that keeps on the stack what it reads", 0,
     LOOP(READ "  store i32 %x, ptr %v\n" COUNTED, "%c")},
    {"that stores to another place each time", 0,
     LOOP(READ "  %a = getelementptr i32, ptr %q, i32 %i\n"
               "  store i32 %x, ptr %a\n" AGAIN,
          "%c")},
    {"until a flag is set, with a count of its rounds", 1,
     LOOP(READ "  store i32 %n, ptr %q\n" AGAIN, "%c")},
    {"that stores a number which it draws", 0,
     LOOP(UPDATE "  store i32 %x, ptr %q\n" AGAIN, "%c")},
};

static unsigned yields(const char *ir)
{
    struct ir_text t;
    unsigned n = 99;
    if (!ir_text_open(&t, ir, &err)) {
        ompjit__yield_in_wait_loops(t.m);
        n = ir_text_count(&t, "call void @ompjit_host_wait(");
    } else {
        fprintf(stderr, "# %s\n", err.text);
    }
    ir_text_close(&t);
    return n;
}

int main(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        char *ir = ompjit__format("%s%s", declarations, rows[i].ir);
        unsigned n = yields(ir);
        free(ir);
        ok(n == rows[i].yields, "a loop %s: %u", rows[i].what, n);
    }
    return done_testing();
}
