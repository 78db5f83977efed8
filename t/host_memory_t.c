/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory that host and device share: llvm_omp_target_alloc_host and _shared, in
 * kernels at the host's address, mapped, and left over.
 */
#include "cuda_work.h"
#include "device/cuda/driver.h"
#include "ptxi.h"

static const char source[] =
    "#include <omp.h>\n"
    "void *llvm_omp_target_alloc_host(unsigned long, int);\n"
    "void *llvm_omp_target_alloc_shared(unsigned long, int);\n"
    "void llvm_omp_target_free_host(void *, int);\n"
    "void llvm_omp_target_free_shared(void *, int);\n"
    "enum { N = 50000 };\n"
    "static int right(const int *p, int add) {\n"
    "  int i = 0; while (i < N && p[i] == i + add) i++; return i == N; }\n"
    "static int use(int *p) {\n"
    "  if (!p) return 0;\n"
    "  for (int i = 0; i < N; i++) p[i] = i;\n"
    "#pragma omp target teams distribute parallel for is_device_ptr(p)\n"
    "  for (int i = 0; i < N; i++) p[i] += 1;\n"
    "  if (!right(p, 1)) return 0;\n"
    "#pragma omp target teams distribute parallel for map(tofrom: p[:N])\n"
    "  for (int i = 0; i < N; i++) p[i] += 1;\n"
    "  return right(p, 2); }\n"
    "int host(void) {\n"
    "  int *p = llvm_omp_target_alloc_host(N * sizeof *p, 0), good = use(p);\n"
    "  llvm_omp_target_free_host(p, 0); return good; }\n"
    "int shared(void) {\n"
    "  int *p = llvm_omp_target_alloc_shared(N * sizeof *p, 0), good = use(p);\n"
    "  llvm_omp_target_free_shared(p, 0); return good; }\n"
    "int initial(void) { int d = omp_get_initial_device();\n"
    "  int *p = llvm_omp_target_alloc_host(N * sizeof *p, d), good = 0;\n"
    "  if (p) p[N - 1] = good = 1;\n"
    "  llvm_omp_target_free_host(p, d); return good; }\n"
    "int left(void) { return llvm_omp_target_alloc_host(100, 0) &&\n"
    "  llvm_omp_target_alloc_shared(100, 0); }\n"
    "int nothing(void) { return !llvm_omp_target_alloc_host(0, 0) &&\n"
    "  !llvm_omp_target_alloc_host(10, 77); }\n"
    "int wrong(void) { static int x; llvm_omp_target_free_host(&x, 0);\n"
    "  llvm_omp_target_free_shared(&x, 0); llvm_omp_target_free_host(0, 0);\n"
    "  return 1; }\n";

static unsigned complaints;

static void count(void *data, const char *line)
{
    complaints += strstr(line, "not the address of") ||
                  strstr(line, "was not allocated there");
}

static int call(ompjit_module *mod, const char *name)
{
    return ((int (*)(void))program_function(mod, name))();
}

static void uses(void)
{
    static const char *const names[] = {"host", "shared", "initial", "nothing",
                                        "left"};
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    ompjit_error err = {0};
    options.devices = test_device();
    options.log = count;
    if (!strcmp(options.devices, "cuda") && emulated())
        options.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    if (!ok(!ompjit_context_create(&options, &ctx, &err) &&
                !ompjit_module_from_c(ctx, source, NULL, &mod, &err),
            "a program: %s", err.text))
        return;
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++)
        ok(call(mod, names[i]), "%s", names[i]);
    ok(call(mod, "wrong") && complaints == 2,
       "what is no such memory is not freed, which is said");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* The driver has no more: said, and the next one works. */
static void fails(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    ompjit_device *dev = NULL;
    ompjit_error err = {0};
    options.devices = "cuda";
    if (!ok(!ompjit_context_create(&options, &ctx, &err) &&
                !ompjit_context_device(ctx, 0, &dev, &err) &&
                !ompjit__device_ready(dev, &err),
            "a device: %s", err.text))
        return;
    for (int managed = 0; managed < 2; managed++) {
        void *p = NULL;
        ptxi_driver_fail(managed ? "cuMemAllocManaged:1:2"
                                 : "cuMemAllocHost_v2:1:2");
        ok(dev->ops->host_memory->alloc(dev, 64, managed, &p, &err) ==
                   OMPJIT_ERR_NO_MEMORY &&
               !p,
           "no memory: %s", err.text);
        ok(!dev->ops->host_memory->alloc(dev, 64, managed, &p, &err) && p, "then some");
        ptxi_driver_fail(managed ? "cuMemFree_v2:1:1" : "cuMemFreeHost:1:1");
        ok(dev->ops->host_memory->free(dev, p, managed, &err) && err.text[0],
           "not freed: %s", err.text);
        ok(!dev->ops->host_memory->free(dev, p, managed, &err), "then freed");
        ok(dev->ops->host_memory->free(dev, p, managed, &err) == OMPJIT_ERR_INVALID,
           "not twice: %s", err.text);
        ok(!dev->ops->host_memory->alloc(dev, 64, managed, &p, &err), "one is left");
    }
    ptxi_driver_fail("cuMemFree_v2:1:1,cuMemFreeHost:1:1");
    ompjit_context_destroy(ctx);
}

static const struct scenario scenarios[] = {
    {"sync", uses, {"PTXI_STREAM=sync", "OMPJIT_THREADS=64"}, CLEAN,
     ANY_DEVICE},
    {"async", uses, {"PTXI_STREAM=async", "OMPJIT_THREADS=64"}, CLEAN,
     EMULATED},
    {"lazy", uses, {"PTXI_STREAM=lazy", "OMPJIT_THREADS=64"}, CLEAN, EMULATED},
    {"fails", fails, {NULL}, CLEAN, EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
