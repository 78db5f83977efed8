/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * dot_api [N]: a function of a snippet, called as any C function; it maps its
 * own data and reduces over teams and threads.
 */
#include "api.h"

static const char source[] =
    "double dot(long n, const double *x, const double *y)\n"
    "{\n"
    "    double sum = 0;\n"
    "    #pragma omp target teams distribute parallel for \\\n"
    "        reduction(+ : sum) map(to : x[:n], y[:n]) map(tofrom : sum)\n"
    "    for (long i = 0; i < n; i++)\n"
    "        sum += x[i] * y[i];\n"
    "    return sum;\n"
    "}\n";

typedef double dot_function(long n, const double *x, const double *y);

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 1000000), expected = 0;
    double *x = must(malloc(n * sizeof *x)), *y = must(malloc(n * sizeof *y));
    ompjit_context *ctx;
    ompjit_module *mod;
    void (*fn)(void);
    for (long i = 0; i < n; i++) {
        x[i] = i % 91;
        y[i] = i % 7 - 3;
        expected += (i % 91) * (i % 7 - 3);
    }
    try(ompjit_context_create(NULL, &ctx, &err));
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    try(ompjit_module_function(mod, "dot", &fn, &err));
    double sum = ((dot_function *)fn)(n, x, y);
    tell_times(ctx);
    int status = report("dot", sum != expected, &sum, sizeof sum);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    free(x);
    free(y);
    return status;
}
