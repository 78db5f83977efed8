/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions that the option ompjit-spmd-amenable names get the assumption
 * that openmp-opt reads, besides those that they have. Where there is no memory
 * for it, that is an error.
 */
#include <stdlib.h>

#include "ir_text.h"
#include "passes/execution/execution.h"
#include "tap.h"

/* The texts of the function below have this length. LLVM allocates nothing of
 * their size for itself. */
enum { LONG = 3500 };

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
enum { MEMORY_FAILS = 1 };
void *__libc_malloc(size_t size);
static bool fails; /* the next allocation of a long text */

void *malloc(size_t size)
{
    if (fails && size > LONG && size < LONG + 100) {
        fails = false;
        return NULL;
    }
    return __libc_malloc(size);
}
#else
enum { MEMORY_FAILS = 0 };
static bool fails;
#endif

static char longest[LONG + 1];

/* A function and its assumptions. */
static char *ir(const char *name, const char *assumptions)
{
    return ompjit__format("define void @%s() #0 {\n  ret void\n}\n"
                          "attributes #0 = { \"llvm.assume\"=\"%s\" }\n",
                          name, assumptions);
}

static ompjit__buf remarks;
static ompjit_error err;

/* The pass, where the option names f. *has becomes whether the function has the
 * assumptions. */
static ompjit_status run(char *text, bool without_memory,
                         const char *assumptions, bool *has)
{
    static char names[] = "f\n";
    ompjit__opts opts = {.functions = names};
    struct ir_text t;
    ompjit_status status = ir_text_open(&t, text, &err);
    fails = without_memory;
    if (!status)
        status = ompjit__spmd_functions(t.m, &opts, false, &remarks, &err);
    fails = false;
    *has = ir_text_count(&t, assumptions);
    ir_text_close(&t);
    free(text);
    return status;
}

int main(void)
{
    bool has;
    ompjit_status status = run(ir("f", "omp_no_openmp"), false,
                               "\"omp_no_openmp,ompx_spmd_amenable\"", &has);
    ok(!status && has && remarks.size, "an assumption besides another");
    memset(longest, 'x', LONG);
    if (MEMORY_FAILS) {
        status = run(ir("f", longest), true, "amenable", &has);
        ok(status == OMPJIT_ERR_NO_MEMORY && !has,
           "no memory for the assumptions: %s", err.text);
        status = run(ir(longest, ""), true, "amenable", &has);
        ok(status == OMPJIT_ERR_NO_MEMORY && !has,
           "no memory for a function's name: %s", err.text);
    }
    ompjit__buf_free(&remarks);
    return done_testing();
}
