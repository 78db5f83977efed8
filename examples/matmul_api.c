/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * matmul_api [N]: the same function from one module for the whole program; the
 * size is compiled in by the preprocessor, through the module's flags.
 */
#include "api.h"

static const char source[] =
    "void matmul(const double *a, const double *b, double *c)\n"
    "{\n"
    "    #pragma omp target teams distribute parallel for collapse(2) \\\n"
    "        map(to : a[:N * N], b[:N * N]) map(from : c[:N * N])\n"
    "    for (long i = 0; i < N; i++)\n"
    "        for (long j = 0; j < N; j++) {\n"
    "            double sum = 0;\n"
    "            for (long k = 0; k < N; k++)\n"
    "                sum += a[i * N + k] * b[k * N + j];\n"
    "            c[i * N + j] = sum;\n"
    "        }\n"
    "}\n";

typedef void matmul_function(const double *a, const double *b, double *c);

static ompjit_module *compile(ompjit_context *ctx, long n)
{
    char define[32];
    const char *flags[] = {define};
    ompjit_module *mod;
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    snprintf(define, sizeof define, "-DN=%ldl", n);
    options.name = "matmul.c";
    options.flags = flags;
    options.nflags = 1;
    try(ompjit_module_from_c(ctx, source, &options, &mod, &err));
    return mod;
}

/* Rows of C that differ from a product with the row sums of B. */
static long wrong_rows(long n, const double *a, const double *b,
                       const double *c)
{
    long wrong = 0;
    double *sums = must(calloc(n, sizeof *sums));
    for (long k = 0; k < n; k++)
        for (long j = 0; j < n; j++)
            sums[k] += b[k * n + j];
    for (long i = 0; i < n; i++) {
        double got = 0, expected = 0;
        for (long k = 0; k < n; k++) {
            got += c[i * n + k];
            expected += a[i * n + k] * sums[k];
        }
        wrong += got != expected;
    }
    free(sums);
    return wrong;
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 256);
    size_t size = n * n * sizeof(double);
    double *a = must(malloc(size)), *b = must(malloc(size));
    double *c = must(malloc(size));
    ompjit_context *ctx;
    void (*fn)(void);
    for (long i = 0; i < n * n; i++) {
        a[i] = i % 13 - 6;
        b[i] = i % 17 - 8;
    }
    try(ompjit_context_create(NULL, &ctx, &err));
    ompjit_module *mod = compile(ctx, n);
    try(ompjit_module_function(mod, "matmul", &fn, &err));
    ((matmul_function *)fn)(a, b, c);
    tell_times(ctx);
    int status = report("matmul", wrong_rows(n, a, b, c), c, size);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    free(a);
    free(b);
    free(c);
    return status;
}
