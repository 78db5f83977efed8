/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A kernel's template is made once for all GPUs, and once for each where the
 * architecture decides what is simplified; each GPU's code is what it is when
 * the kernel is compiled for that GPU alone.
 */
#include "axpy_sum.h"
#include "direct.h"
#include "tap.h"

static const char source[] =
    AXPY_AND_SUM
    "#pragma omp declare target\n"
    "unsigned reflect(const char *) __asm__(\"__nvvm_reflect\");\n"
    "#pragma omp end declare target\n"
    "void ask(int *p) {\n"
    "#pragma omp target map(from: p[:1])\n"
    "  p[0] = reflect(\"__CUDA_ARCH\");\n"
    "}\n"
    "void ask_otherwise(int *p) {\n"
    "#pragma omp target map(from: p[:1])\n"
    "  p[0] = reflect(\"__CUDA_FTZ\");\n"
    "}\n"
    "void brief(int n, __bf16 *x) {\n"
    "#pragma omp target teams distribute parallel for map(x[:n])\n"
    "  for (int i = 0; i < n; i++) x[i] = (__bf16)((float)x[i] + 1);\n"
    "}\n"
    "typedef float pair __attribute__((vector_size(8)));\n"
    "void pairs(int n, pair *x) {\n"
    "#pragma omp target teams distribute parallel for map(x[:n])\n"
    "  for (int i = 0; i < n; i++) x[i] *= x[i];\n"
    "}\n";

static ompjit_error err;

static ompjit_context *open_context(ompjit_module **mod)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    options.devices = "host";
    if (ompjit_context_create(&options, &ctx, &err) ||
        direct_module(ctx, source, mod, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return ctx;
}

static const ompjit__kernel_desc *kernel(const ompjit_module *mod,
                                         const char *name)
{
    for (unsigned i = 0; i < mod->unit.nkernels; i++)
        if (!strcmp(mod->unit.kernels[i].name, name))
            return &mod->unit.kernels[i];
    printf("Bail out! no kernel of %s\n", name);
    exit(1);
}

static void build(ompjit_context *ctx, const ompjit_module *mod,
                  const char *name, const char *arch, ompjit__buf *out)
{
    ompjit__spec spec = {.kernel = kernel(mod, name)->symbol};
    ompjit__image image = {0};
    if (ompjit__build(&ctx->compiler, &mod->unit, arch, OMPJIT_FORMAT_PTX,
                      &spec, &image, &err))
        printf("# %s for %s: %s\n", name, arch, err.text);
    ompjit__buf_add(out, image.bytes.data, image.bytes.size);
    ompjit__buf_add(out, "", 1);
    ompjit__image_free(&image);
}

static ompjit_status make_nothing(void *arg, ompjit__template *t,
                                  ompjit_error *e)
{
    (void)t;
    *(bool *)arg = false;
    return ompjit__fail(e, OMPJIT_ERR_INVALID, OMPJIT_STAGE_LINK, "no template");
}

/* Would a build for the architecture begin with a template that is there? */
static bool has_template(const ompjit_module *mod, const char *name,
                         const char *arch, unsigned ptx)
{
    const ompjit__template *t;
    bool found = true;
    ompjit__template key = {.kernel = (char *)kernel(mod, name)->symbol,
                            .arch = (char *)arch,
                            .ptx = ptx};
    ompjit__template_get(mod->unit.templates, &key, make_nothing, &found, &t,
                         &err);
    return found;
}

/* `text`: of a second GPU's code, where the first one's has `other`. */
static void try(const char *name, bool shared, const char *other,
                const char *text)
{
    ompjit_module *mod, *alone;
    ompjit_context *ctx = open_context(&mod), *own = open_context(&alone);
    ompjit__buf first = {0}, second = {0}, same = {0};
    build(ctx, mod, name, "sm_75", &first);
    ok(has_template(mod, name, "sm_100", 86) == shared,
       "%s: sm_75's template is %ssm_100's", name, shared ? "" : "not ");
    ok(!has_template(mod, name, "x86-64", 0), "  nor is it a CPU's");
    build(ctx, mod, name, "sm_100", &second);
    build(own, alone, name, "sm_100", &same);
    ok(strlen(second.data) && !strcmp(second.data, same.data),
       "  sm_100's code is what it is alone");
    ok_contains(first.data, other, "  sm_75's");
    ok_contains(second.data, text, "  sm_100's");
    ompjit__buf_free(&first);
    ompjit__buf_free(&second);
    ompjit__buf_free(&same);
    ompjit_module_destroy(mod);
    ompjit_module_destroy(alone);
    direct_end(ctx);
    direct_end(own);
}

int main(void)
{
    try("axpy", true, ".target sm_75", ".target sm_100");
    try("sum", true, ".target sm_75", ".target sm_100");
    try("ask", false, ", 750;", ", 1000;");
    try("ask_otherwise", true, ".target sm_75", ".target sm_100");
    try("brief", false, ".target sm_75", ".bf16");
    try("pairs", false, "mul.rn.f32", ".f32x2");
    return done_testing();
}
