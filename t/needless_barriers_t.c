/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which barriers of an SPMD kernel for a GPU order nothing and are dropped.
 */
#include "passes/gpu/gpu.h"
#include "ir_text.h"
#include "tap.h"

#define SHARED "ptr addrspace(3) "
#define BARRIER "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
/* Thread 0 alone executes `code`; `n` tells guards apart. */
#define GUARD_IF(n, number, code)                                       \
    "  %m" n " = icmp eq i32 %t, " number "\n  br i1 %m" n ", label %g" n \
    ", label %e" n "\ng" n ":\n" code "  br label %e" n "\ne" n ":\n"
#define GUARD(n, code) GUARD_IF(n, "0", code)
#define SET(variable) "  store i32 1, " SHARED variable "\n"
#define GET(n, variable) "  %" n " = load i32, " SHARED variable "\n"

static ompjit_error err;

static const char declarations[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "@x = internal addrspace(3) global i32 poison\n"
    "@y = internal addrspace(3) global i32 poison\n"
    "@known = internal addrspace(3) global i32 poison\n"
    "@list = internal addrspace(3) global ptr poison\n"
    "@got = internal addrspace(3) global ptr poison\n"
    "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n"
    "declare void @llvm.nvvm.barrier.cta.sync.all(i32)\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "declare void @foreign()\n"
    "declare void @llvm.trap()\n"
    "define internal ptr @ompjit_alloc_recursive() {\n"
    "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %m = icmp eq i32 %t, 0\n" BARRIER
    "  br i1 %m, label %guarded, label %shared\nguarded:\n"
    "  store ptr null, " SHARED "@got\n  br label %shared\nshared:\n"
    BARRIER "  %p = load ptr, " SHARED "@got\n" BARRIER
    "  ret ptr %p\n}\n"
    "define void @own() {\n  store i32 1, " SHARED "@x\n  ret void\n}\n"
    "define void @publish() {\n"
    "  store ptr addrspacecast (" SHARED "@known to ptr), " SHARED "@list\n"
    "  ret void\n}\n"
    "define ptx_kernel void @k(ptr %a, ptr %b) {\n"
    "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %l = load ptr, " SHARED "@list\n";

/* The kernel's code behind that. */
static const struct row {
    const char *what;
    unsigned left;
    const char *ir;
} rows[] = {
    {"between what thread 0 does", 1,
     GUARD("1", SET("@x")) BARRIER GUARD("2", SET("@y"))
         BARRIER GET("v", "@y")},
    {"between what thread 0 does and what thread 1 does", 2,
     GUARD("1", SET("@x")) BARRIER GUARD_IF("2", "1", SET("@x"))
         BARRIER GET("v", "@x")},
    {"between a read and thread 0's store to another variable", 1,
     GET("u", "@x") BARRIER GUARD("1", SET("@y")) BARRIER GET("v", "@y")},
    {"between a read and thread 0's store to the variable", 2,
     GET("u", "@x") BARRIER GUARD("1", SET("@x")) BARRIER GET("v", "@x")},
    {"before a guard that alone uses what is read", 1,
     GET("u", "@x") BARRIER GUARD("1", "  store i32 %u, " SHARED "@x\n")
         BARRIER GET("v", "@x")},
    {"before one, while another thread stores what is read", 2,
     GET("u", "@x") BARRIER GUARD("1", "  store i32 %u, " SHARED "@y\n")
         GUARD_IF("2", "1", SET("@x")) BARRIER GET("v", "@x")},
    {"between two reads of a variable", 0,
     GET("u", "@x") BARRIER GET("v", "@x")},
    {"between a read by a pointer and a store to what it may point to", 2,
     "  %u = load i32, ptr %l\n" BARRIER GUARD("1", SET("@known"))
         BARRIER GET("v", "@known")},
    {"between a read by a pointer and a store to what it cannot point to", 1,
     "  %u = load i32, ptr %l\n" BARRIER GUARD("1", SET("@x"))
         BARRIER GET("v", "@x")},
    {"between the application's memory and team-shared memory", 1,
     "  store i32 1, ptr %a\n" BARRIER GUARD("1", SET("@known"))
         BARRIER GET("v", "@known")},
    {"between two parameters", 1,
     "  store i32 1, ptr %a\n" BARRIER "  %v = load i32, ptr %b\n"},
    {"before the next round of a loop", 1,
     "  br label %loop\nloop:\n" GUARD("1", SET("@x")) BARRIER GET("v", "@x")
     "  %c = icmp eq i32 %v, 0\n  br i1 %c, label %loop, label %end\nend:\n"},
    {"before and behind a guard in a loop", 2,
     "  br label %loop\nloop:\n" BARRIER GUARD("1", SET("@x"))
         BARRIER GET("v", "@x")
     "  %c = icmp eq i32 %v, 0\n  br i1 %c, label %loop, label %end\nend:\n"},
    {"before an atomic operation", 1,
     "  store i32 1, ptr %a\n" BARRIER
     "  %u = atomicrmw add ptr addrspace(3) @y, i32 1 monotonic\n"},
    {"before a volatile store of thread 0", 1,
     "  store i32 1, ptr %a\n" BARRIER
     GUARD("1", "  store volatile i32 1, " SHARED "@y\n")},
    {"before a call of a function of the module", 1,
     GET("u", "@x") BARRIER GUARD("1", "  call void @own()\n")},
    {"before a call of another module's function", 0,
     GET("u", "@x") BARRIER GUARD("1", "  call void @foreign()\n")},
    {"before a call of another module's, which has the address", 1,
     GET("u", "@known") BARRIER GUARD("1", "  call void @foreign()\n")},
    {"before a thread's own variable", 0,
     "  %o = alloca i32\n" SET("@x") BARRIER "  store i32 1, ptr %o\n"},
    {"between a store and a failure of thread 0", 1,
     SET("@x") BARRIER
     GUARD("1", "  call void @llvm.trap()\n" SET("@y")) BARRIER
         GET("v", "@y")},
    {"before a call of another module's, which has only been compared", 0,
     "  %s = icmp eq ptr %l, addrspacecast (" SHARED "@y to ptr)\n"
     GET("u", "@y") BARRIER GUARD("1", "  call void @foreign()\n")},
    {"of the runtime's allocation", 1,
     SET("@x") "  %p = call ptr @ompjit_alloc_recursive()\n"},
    {"in a kernel whose threads meet at different barriers", 1,
     BARRIER "  call void @llvm.nvvm.barrier.cta.sync.all(i32 1)\n"},
};

static unsigned barriers(const char *ir)
{
    struct ir_text t;
    unsigned n = 99;
    if (!ir_text_open(&t, ir, &err)) {
        ompjit__drop_needless_barriers(t.m);
        n = ir_text_count(&t, "call void @llvm.nvvm.barrier.cta.sync.aligned");
    } else {
        fprintf(stderr, "# %s\n", err.text);
    }
    ir_text_close(&t);
    return n;
}

int main(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        char *ir = ompjit__format("%s%s  ret void\n}\n", declarations,
                                  rows[i].ir);
        unsigned n = barriers(ir);
        free(ir);
        ok(n == rows[i].left, "barriers %s: %u are left", rows[i].what, n);
    }
    return done_testing();
}
