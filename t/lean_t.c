/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The passes after a specialization make a GPU's loops end by their next
 * counter, but not where that could overflow.
 */
#include "backend/nvptx/nvptx.h"
#include "backend/variant_pipeline.h"
#include "ir_text.h"
#include "tap.h"

static ompjit_error err;

/* do p[i] = i; while (i `goes_on` last, after which i += step); `head` computes
 * %start from %a, and goes to %before or %out. */
static const char loop[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @f(ptr %%p, i32 %%a) {\n"
    "%s"
    "before:\n"
    "  br label %%round\n"
    "round:\n"
    "  %%i = phi i32 [ %%start, %%before ], [ %%next, %%round ]\n"
    "  %%at = getelementptr i32, ptr %%p, i32 %%i\n"
    "  store volatile i32 %%i, ptr %%at\n"
    "  %%next = add %s i32 %%i, %d\n"
    "  %%test = icmp %s i32 %%i, %d\n"
    "  br i1 %%test, label %%round, label %%out, !llvm.loop !0\n"
    "out:\n"
    "  ret void\n"
    "}\n"
    "!0 = distinct !{!0, !1}\n"
    "!1 = !{!\"llvm.loop.unroll.disable\"}\n";

static const char anywhere[] = "  %start = add i32 %a, 0\n"
                               "  br label %before\n";
static const char small[] = "  %byte = and i32 %a, 255\n"
                            "  %start = sub i32 %byte, 128\n"
                            "  br label %before\n";
static const char byte[] = "  %start = and i32 %a, 255\n"
                           "  br label %before\n";
static const char tested[] = "  %start = add i32 %a, 0\n"
                             "  %any = icmp slt i32 %start, 700\n"
                             "  br i1 %any, label %before, label %out\n";
static const char tested_late[] =
    "  %start = add i32 %a, 0\n"
    "  %any = icmp slt i32 %start, 2147483500\n"
    "  br i1 %any, label %before, label %out\n";

/* `ahead`: the test as it is then, after "icmp "; NULL: it stays. */
static const struct row {
    const char *what, *head, *flag;
    int step;
    const char *goes_on;
    int last;
    const char *ahead;
} rows[] = {
    {"a small start", small, "nsw", 256, "slt", 500, "slt i32 %next, 756"},
    {"without the promise", small, "", 256, "slt", 500, "slt i32 %next, 756"},
    {"unsigned", byte, "nuw", 256, "ult", 500, "ult i32 %next, 756"},
    {"unsigned, past what is signed", byte, "nuw", 256, "ult", 2147483500,
     "ult i32 %next, -2147483540"},
    {"a start that was tested", tested, "nsw", 256, "slt", 500,
     "slt i32 %next, 756"},
    {"any start", anywhere, "nsw", 256, "slt", 500, NULL},
    {"any start, unsigned", anywhere, "nuw", 256, "ult", 500, NULL},
    {"tested against too much", tested_late, "nsw", 256, "slt", 500, NULL},
    {"an end that overflows", small, "nsw", 256, "slt", 2147483500, NULL},
    {"the last round's sum overflows", small, "nsw", 256, "slt", 2147483300,
     NULL},
    {"just not", small, "nsw", 256, "slt", 2147483135,
     "slt i32 %next, 2147483391"},
    {"downwards", small, "nsw", -4, "sgt", -500, "sgt i32 %next, -504"},
    {"downwards, any start", anywhere, "nsw", -4, "sgt", -500, NULL},
    {"the other way", small, "", 4, "sgt", 20, NULL},
};

/* The IR that the loop becomes; malloc'd. */
static char *lean(const char *ir)
{
    struct ir_text t;
    char *text = NULL;
    if (!ir_text_open(&t, ir, &err) &&
        !ompjit__nvptx_machine("sm_90", 0, 3, &t.tm, &err) &&
        !ompjit__run_variant_passes(t.m, t.tm, false, &err)) {
        char *whole = LLVMPrintModuleToString(t.m);
        text = ompjit__strdup(whole);
        LLVMDisposeMessage(whole);
    }
    ir_text_close(&t);
    return text;
}

static void check(const struct row *row)
{
    char *ir = ompjit__format(loop, row->head, row->flag, row->step,
                              row->goes_on, row->last);
    char *text = lean(ir), was[64];
    snprintf(was, sizeof was, " i32 %%i, %d", row->last);
    ok(text && strstr(text, row->ahead ? row->ahead : was), "%s: %s",
       row->what, row->ahead ? "ends by the next" : "stays");
    if (text && !strstr(text, row->ahead ? row->ahead : was))
        printf("# %s\n", text);
    free(text);
    free(ir);
}

/* The sum of the last round is compared too, and promises only what holds. */
static void promises(void)
{
    static const struct {
        const char *head, *flag, *goes_on;
        int step, last;
        const char *sum, *end;
    } cases[] = {
        {anywhere, "nsw", "ne", 1, INT32_MAX, "%next = add i32 %i, 1",
         "i32 %next, -2147483648"},
        {byte, "nuw nsw", "ult", 256, 2147483500, "%next = add nuw i32 %i, 256",
         "i32 %next, -2147483540"},
        {small, "nsw", "slt", 256, 500, "%next = add nsw i32 %i, 256",
         "i32 %next, 756"},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(cases); i++) {
        char *ir = ompjit__format(loop, cases[i].head, cases[i].flag,
                                  cases[i].step, cases[i].goes_on,
                                  cases[i].last);
        char *text = lean(ir);
        ok_contains(text, cases[i].sum, "%s: what the sum promises",
                    cases[i].goes_on);
        ok_contains(text, cases[i].end, "ends by the next");
        free(text);
        free(ir);
    }
}

int main(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        check(&rows[i]);
    promises();
    return done_testing();
}
