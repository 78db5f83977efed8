/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which passes of LLVM's code generator run: a pass is left out by its name, and
 * one that LLVM has renamed would come back unnoticed.
 */
#include "backend/codegen/emit.h"
#include "backend/host/host.h"
#include "backend/nvptx/nvptx.h"
#include "ir_text.h"
#include "tap.h"

static ompjit_error err;

static ompjit_status compile(const char *ir, const char *arch,
                             ompjit__passes passes, ompjit__buf *text)
{
    struct ir_text t;
    ompjit_status status = ir_text_open(&t, ir, &err);
    if (!status)
        status = arch ? ompjit__nvptx_machine(arch, 0, 3, &t.tm, &err)
                      : ompjit__host_machine(3, false, &t.tm, &err);
    if (!status)
        status = ompjit__emit_assembly(t.m, t.tm, NULL, passes, text, &err);
    ir_text_close(&t);
    return status;
}

/* Do all passes and the lean ones make the same code? */
static bool same(const char *ir, const char *arch)
{
    ompjit__buf all = {0}, lean = {0};
    bool same = !compile(ir, arch, OMPJIT__PASSES_ALL, &all) &&
                !compile(ir, arch, OMPJIT__PASSES_LEAN, &lean) &&
                !strcmp(all.data, lean.data);
    ompjit__buf_free(&all);
    ompjit__buf_free(&lean);
    return same;
}

/* How many times the code has the words; -1 where there is none. */
static int count(const char *ir, const char *arch, ompjit__passes passes,
                 const char *words)
{
    ompjit__buf text = {0};
    int n = compile(ir, arch, passes, &text) ? -1 : 0;
    for (const char *p = text.data; p && (p = strstr(p, words)); p++)
        n++;
    ompjit__buf_free(&text);
    return n;
}

/* The sum of every 4th or 9th int: strength reduction makes a pointer go by 16 or
 * 36. */
#define SUM(step, by)                                                          \
    "define i32 @f(ptr %p, i64 %n, i64 %m) {\n"                                \
    "entry:\n"                                                                 \
    "  br label %loop\n"                                                       \
    "loop:\n"                                                                  \
    "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"                         \
    "  %s = phi i32 [ 0, %entry ], [ %t, %loop ]\n"                            \
    "  %index = " step "\n"                                                    \
    "  %at = getelementptr i32, ptr %p, i64 %index\n"                          \
    "  %v = load volatile i32, ptr %at\n"                                      \
    "  %t = add i32 %s, %v\n"                                                  \
    "  %next = add i64 %i, " by "\n"                                           \
    "  %end = icmp eq i64 %next, %n\n"                                         \
    "  br i1 %end, label %out, label %loop\n"                                  \
    "out:\n"                                                                   \
    "  ret i32 %t\n"                                                           \
    "}\n"
static const char by_fours[] = SUM("shl i64 %i, 2", "1");
static const char by_nines[] = SUM("mul i64 %i, 9", "1");
static const char by_strides[] = SUM("shl i64 %i, 2", "%m");
static const char quotients[] = SUM("udiv i64 %i, 10", "1");

/* Both ways load what is loaded again behind them. */
static const char loads[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @f(ptr addrspace(1) noalias %p,\n"
    "                          ptr addrspace(1) noalias %q, i1 %c) {\n"
    "  br i1 %c, label %a, label %b\n"
    "a:\n"
    "  %x = load float, ptr addrspace(1) %p\n"
    "  store volatile float %x, ptr addrspace(1) %q\n"
    "  br label %d\n"
    "b:\n"
    "  %y = load float, ptr addrspace(1) %p\n"
    "  %z = fadd float %y, 1.0\n"
    "  store volatile float %z, ptr addrspace(1) %q\n"
    "  br label %d\n"
    "d:\n"
    "  %w = load float, ptr addrspace(1) %p\n"
    "  store volatile float %w, ptr addrspace(1) %q\n"
    "  ret void\n"
    "}\n";

int main(void)
{
#ifdef __x86_64__
    ok(count(by_fours, NULL, OMPJIT__PASSES_ALL, "$16") == 1,
       "all passes: a pointer goes through the array");
    ok(count(by_fours, NULL, OMPJIT__PASSES_LEAN, "$16") == 0,
       "lean: addresses are computed");
    ok(count(by_nines, NULL, OMPJIT__PASSES_LEAN, "$36") == 1,
       "but no products");
#else
    ok(count(by_nines, NULL, OMPJIT__PASSES_LEAN, "f:") > 0 &&
           count(by_fours, NULL, OMPJIT__PASSES_ALL, "f:") > 0,
       "code");
#endif
    ok(count(loads, "sm_80", OMPJIT__PASSES_ALL, "ld.global") == 2,
       "all passes: a value loaded before is used");
    ok(count(loads, "sm_80", OMPJIT__PASSES_LEAN, "ld.global") == 3,
       "lean: it is loaded again");
    ok(!same(by_fours, "sm_80"), "lean: addresses are computed on a GPU");
    ok(same(by_strides, "sm_80") && same(quotients, "sm_80"),
       "but neither of strides that are not constant, nor quotients");
    return done_testing();
}
