/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Host memory `auto`: programs that could tell the application's storage from a
 * copy get a copy, the others none. Each row is a function, which gives the same
 * in `separate` memory.
 */
#include "device/device.h"
#include "core.h"
#include "tap.h"

enum { FILLED = 16 << 10 }; /* doubles: what is counted is larger */

static const char before[] =
    "#include <stdlib.h>\n"
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "#include <omp.h>\n"
    "enum { N = 16 << 10 };\n"
    "typedef struct { int n; double *x, *y; } pair;\n"
    "typedef struct { double *p; double rest[N]; } holder;\n"
    "static double *fill(double v) {\n"
    "  double *p = malloc(N * sizeof *p);\n"
    "  for (int i = 0; i < N; i++) p[i] = v + i;\n"
    "  return p; }\n"
    "static double fixed[N], other[N];\n";

#define TDPF "\n#pragma omp target teams distribute parallel for "
#define OMP(text) "\n#pragma omp " text "\n"
#define FOR "for (int i = 0; i < N; i++) "

static const struct {
    const char *name;
    int copies; /* large blocks of the device's own memory */
    const char *body;
} rows[] = {
    /* constructs with a kernel */
    {"tofrom", 0, TDPF "map(tofrom: a[:N]) map(from: b[:N])\n" FOR
     "{ a[i]++; b[i] = 2; } return a[5] + b[5];"},
    {"to_read", 0, TDPF "map(to: a[:N]) map(tofrom: b[:N])\n" FOR
     "b[i] += a[i]; return b[5];"},
    {"to_written", 1, TDPF "map(to: a[:N]) map(tofrom: b[:N])\n" FOR
     "b[i] += a[i]++; return a[5];"},
    {"scratch", 1, TDPF "map(alloc: a[:N]) map(tofrom: b[:N])\n" FOR
     "{ a[i] = b[i]; b[i] = a[i] * 2; } return a[5] + b[5];"},
    {"to_as_section", 1, "c = a + 5;"
     TDPF "map(to: a[:N])\n" FOR "if (!i) c[0] = a[1]; return a[5];"},
    {"members_to_read", 0, "pair s = {N, a, b};"
     TDPF "map(to: s.x[:N]) map(from: c[:N])\n" FOR
     "c[i] = s.x[i]; return s.x == a ? c[5] : 0;"},
    {"members_written", 1, "pair s = {N, a, b};"
     TDPF "map(to: s.x[:N]) map(tofrom: s.y[:N])\n" FOR
     "s.y[i] = s.x[i]++; return a[5] * b[5];"},
    {"members_tofrom", 0, "pair s = {N, a, b};"
     TDPF "map(tofrom: s.x[:N], s.y[:N])\n" FOR
     "s.y[i] = s.x[i]++; return s.y == b ? a[5] * b[5] : 0;"},
    {"holds_pointer", 1, "holder *h = malloc(sizeof *h); h->p = a;"
     OMP("target map(to: h[:1], h->p[:N]) map(from: b[:N])")
     "b[5] = h->p[5]; return h->p == a ? b[5] : 0;"},
    {"variables", 0, "fixed[5] = 3;" TDPF "map(to: fixed) map(from: other)\n"
     FOR "other[i] = fixed[i]; return other[5];"},
    {"is_in_region", 2, OMP("target data map(to: a[:N]) map(alloc: b[:N])") "{"
     "a[5] = 1;" TDPF "map(from: b[:N])\n" FOR "b[i] = a[i]; b[5] = 9;"
     OMP("target update from(b[:N])") "} return b[5];"},
};

static ompjit_error err;
static unsigned large;
static const ompjit__device_ops *original;

static ompjit_status count_alloc(ompjit_device *dev, size_t size, void **ptr,
                                 ompjit_error *e)
{
    large += size >= FILLED * sizeof(double);
    return original->alloc(dev, size, ptr, e);
}

static ompjit_module *compile(ompjit_host_memory memory, const char *source,
                              ompjit_context **ctx)
{
    static ompjit__device_ops counting;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_module_options how = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod = NULL;
    options.devices = "host";
    options.host_memory = memory;
    if (ompjit_context_create(&options, ctx, &err) ||
        ompjit_module_from_c(*ctx, source, &how, &mod, &err) ||
        ompjit__devices(*ctx, &err)) {
        printf("# %s\n", err.text);
        return NULL;
    }
    ompjit_device *dev = (*ctx)->devices[0];
    original = dev->ops;
    counting = *original;
    counting.alloc = count_alloc;
    dev->ops = &counting;
    return mod;
}

static char *source(void)
{
    ompjit__buf text = {0};
    ompjit__buf_printf(&text, "%s", before);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        ompjit__buf_printf(
            &text,
            "double f_%s(void) {\n"
            "double *a = fill(1), *b = fill(100), *c = fill(1000);\n"
            "%s\n}\n",
            rows[i].name, rows[i].body);
    return text.data;
}

static double call(ompjit_module *mod, const char *name)
{
    char symbol[64];
    void (*f)(void) = NULL;
    snprintf(symbol, sizeof symbol, "f_%s", name);
    if (ompjit_module_function(mod, symbol, &f, &err)) {
        printf("# %s\n", err.text);
        return -1;
    }
    large = 0;
    return ((double (*)(void))f)();
}

int main(void)
{
    static const ompjit_host_memory memory[] = {OMPJIT_HOST_MEMORY_SEPARATE,
                                                OMPJIT_HOST_MEMORY_AUTO};
    double result[2][OMPJIT__COUNT(rows)];
    char *text = source();
    for (int k = 0; k < 2; k++) {
        ompjit_context *ctx;
        ompjit_module *mod = compile(memory[k], text, &ctx);
        if (!ok(mod != NULL, "the rows compile"))
            break;
        for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
            result[k][i] = call(mod, rows[i].name);
            if (k && (!ok(result[1][i] == result[0][i],
                          "%s: the same as in separate memory", rows[i].name)))
                printf("# %g, not %g\n", result[1][i], result[0][i]);
            if (k && !ok(large == (unsigned)rows[i].copies, "  with %d copies",
                         rows[i].copies))
                printf("# %u\n", large);
        }
        ompjit_module_destroy(mod);
        ompjit_context_destroy(ctx);
    }
    free(text);
    return done_testing();
}
