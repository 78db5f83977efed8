/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Parameters have the source's types, and the source's order can be had; an
 * argument of another class is an error.
 */
#include "program.h"

static const char source[] =
    "float global; struct pair { float a, b; };\n"
    "void all(int n, float w, double a, char c, _Bool flag, short s,\n"
    "         unsigned u, float _Complex z, struct pair p, long l, float *x) {\n"
    "  double local = n;\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
    "  for (int i = 0; i < n; i++)\n"
    "    x[i] += l + u + s + flag + c + a * w + p.a + __real__ z + local +\n"
    "            global;\n"
    "}\n"
    "void inner(int n, float *x, double w) {\n"
    "  { float n = w; long w = 4;\n"
    "#pragma omp target map(tofrom: x[:1]) firstprivate(n, w)\n"
    "    { n++; w++; x[0] = n * w; }\n"
    "  }\n"
    "}\n"
    "void later(float w, int n, float *x) {\n"
    "#pragma omp target map(tofrom: x[:1]) nowait\n"
    "  x[0] = w + n;\n"
    "#pragma omp taskwait\n"
    "}\n";

enum { POINTER = 'p', FLOAT = 'f', INTEGER = 'i' };
enum { ANY_ORDER = 99 };

/* order: 99 where device IR does not tell; `later` never tells. */
static const struct {
    const char *kernel, *name;
    unsigned size, order;
    char type;
} wanted[] = {
    {"all", "n", 4, 0, INTEGER},       {"all", "w", 4, 1, FLOAT},
    {"all", "a", 8, 2, FLOAT},         {"all", "c", 1, 3, INTEGER},
    {"all", "flag", 1, 4, INTEGER},    {"all", "s", 2, 5, INTEGER},
    {"all", "u", 4, 6, INTEGER},       {"all", "z", 8, 7, INTEGER},
    {"all", "p", 8, 8, POINTER},       {"all", "l", 8, 9, INTEGER},
    {"all", "x", 8, 10, POINTER},      {"all", "local", 8, 11, FLOAT},
    {"all", "global", 4, 12, FLOAT},   {"inner", "x", 8, 0, POINTER},
    {"inner", "n", 4, 1, FLOAT},       {"inner", "w", 8, 2, INTEGER},
    {"later", "w", 4, ANY_ORDER, FLOAT}, {"later", "n", 4, ANY_ORDER, INTEGER},
};

static void types(const char *of, bool ordered)
{
    for (size_t i = 0; i < OMPJIT__COUNT(wanted); i++) {
        ompjit_kernel *k = kernel(wanted[i].kernel);
        ompjit_param_info p = OMPJIT_PARAM_INFO_INIT;
        bool known = !ompjit_kernel_param(k, param(k, wanted[i].name), &p, &err);
        char type = p.is_pointer ? POINTER : p.is_float ? FLOAT : INTEGER;
        ok(known && type == wanted[i].type && p.bytes == wanted[i].size,
           "%s: %s of %s: '%c' of %u bytes", of, wanted[i].name,
           wanted[i].kernel, type, p.bytes);
        if (ordered && wanted[i].order != ANY_ORDER)
            ok(p.source_order == wanted[i].order, "  declared as number %u",
               p.source_order);
    }
}

/* ---------------------------------------------------------------- classes */

static ompjit_status launch(ompjit_arg_type n, ompjit_arg_type w)
{
    static float x[4];
    ompjit_arg args[] = {
        {.name = "n", .type = n},
        {.name = "w", .type = w},
        {.name = "x", .type = OMPJIT_ARG_POINTER, .value.p = x}};
    return ompjit_kernel_launch(kernel("later"), dev, NULL, args, 3, &err);
}

static void classes(void)
{
    ok(!launch(OMPJIT_ARG_I32, OMPJIT_ARG_F32), "arguments of the right class");
    ok(launch(OMPJIT_ARG_I32, OMPJIT_ARG_I32) == OMPJIT_ERR_ARGUMENT,
       "an integer for a float");
    ok_contains(err.text, "w is a 4-byte float, got i32 (4 bytes)", "names it");
    ok_contains(err.text, "4-byte integer n", "and lists what there is");
    ok(launch(OMPJIT_ARG_F32, OMPJIT_ARG_F32) == OMPJIT_ERR_ARGUMENT,
       "a float for an integer");
    ok_contains(err.text, "n is a 4-byte integer, got f32", "names it");
    ok(launch(OMPJIT_ARG_I32, OMPJIT_ARG_F64) == OMPJIT_ERR_ARGUMENT,
       "a float of another size");
    ok(launch(OMPJIT_ARG_I32, OMPJIT_ARG_POINTER) == OMPJIT_ERR_ARGUMENT,
       "a pointer for a float");
}

/* ------------------------------------------------------------- device IR */

static void device_ir(void)
{
    void *ir = NULL;
    size_t size;
    ompjit_module *whole = mod;
    must(ompjit_module_emit(whole, OMPJIT_FORMAT_LL, NULL, &ir, &size, &err));
    must(ompjit_module_from_ir(ctx, ir, size, NULL, 0, NULL, &mod, &err));
    ompjit_param_info p = OMPJIT_PARAM_INFO_INIT;
    ompjit_kernel *k = kernel("all");
    ok(!ompjit_kernel_param(k, param(k, "w"), &p, &err) && p.is_float &&
           p.bytes == 4,
       "device IR alone: a float");
    ok(!ompjit_kernel_param(k, param(k, "n"), &p, &err) && !p.is_float &&
           p.bytes == 4,
       "an integer");
    ok(!ompjit_kernel_param(k, 3, &p, &err) && p.source_order == 3,
       "the kernel's order");
    ompjit_bytes_free(ir);
    ompjit_module_destroy(mod);
    mod = whole;
}

int main(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    open_program(&options, source);
    types("as compiled", true);
    classes();
    device_ir();
    close_module();
    return done_testing();
}
