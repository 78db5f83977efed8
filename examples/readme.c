#include <stdio.h>
#include <ompjit.h>

static const char source[] =
    "void saxpy(long n, float a, const float *x, float *y) {\n"
    "  #pragma omp target teams distribute parallel for map(to:x[:n]) map(y[:n])\n"
    "  for (long i = 0; i < n; i++) y[i] += a * x[i];\n"
    "}\n";

int main(void) {
    float x[3] = {1, 2, 3}, y[3] = {10, 20, 30};
    ompjit_context *ctx; ompjit_module *mod; ompjit_error err; void (*saxpy)(void);
    if (ompjit_context_create(NULL, &ctx, &err) ||
        ompjit_module_from_c(ctx, source, NULL, &mod, &err) ||
        ompjit_module_function(mod, "saxpy", &saxpy, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    ((void (*)(long, float, const float *, float *))saxpy)(3, 2, x, y);
    printf("%g %g %g\n", y[0], y[1], y[2]);
    ompjit_module_destroy(mod), ompjit_context_destroy(ctx);
}
