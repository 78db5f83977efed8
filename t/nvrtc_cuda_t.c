/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA C++ as PTX on ptxi's emulated CUDA driver: what NVRTC makes, linked with
 * the device runtime, and what clang makes.
 */
#include "backend/cuda/nvrtc.h"
#include "nvrtc_work.h"
#include "ptxi.h"

static void by_nvrtc(void)
{
    struct work w = {.how = "NVRTC"};
    unsigned version;
    if (ompjit__nvrtc_version(&version, &err))
        ok(gpus() > 0, "CUDA sources # SKIP %.*s",
           (int)strcspn(err.text, ":\n"), err.text);
    else
        all_policies(&w, "cuda", OMPJIT_CUDA_COMPILER_NVRTC);
}

static void by_clang(void)
{
    struct work w = {.how = "clang"};
    all_policies(&w, test_device(), OMPJIT_CUDA_COMPILER_CLANG);
}

/* The driver is older than NVRTC, whose PTX it refuses: clang compiles. */
static void old_driver(void)
{
    struct work w = {.how = "an old driver"};
    unsigned version;
    all_policies(&w, "cuda", OMPJIT_CUDA_COMPILER_AUTO);
    if (ompjit__nvrtc_version(&version, &err)) {
        printf("# skipped: %s\n", err.text);
        return;
    }
    if (!open_work(&w, "cuda", OMPJIT_CUDA_COMPILER_NVRTC))
        return;
    ompjit_kernel *kernel;
    float x[1] = {1}, y[1] = {1};
    ompjit_arg args[] = {
        I32(1), {.type = OMPJIT_ARG_F32, .value.f32 = 2}, P, P};
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    l.teams = l.threads = 1;
    ok(!ompjit_module_kernel(w.mod, "vadd", &kernel, &err) &&
           run_on(&w, kernel, &l, args, 4,
                  (struct buffer[]){BUF(x), BUF(y)}) == OMPJIT_ERR_UNAVAILABLE,
       "NVRTC alone is an error");
    ok_contains(err.text, "the driver is too old for this NVRTC: it reads PTX "
                "up to ", "which says why");
    close_work(&w);
}

/* No NVRTC in the one toolkit that there is. */
static void without_nvrtc(void)
{
    struct work w = {.how = "without NVRTC"};
    all_policies(&w, "cuda", OMPJIT_CUDA_COMPILER_AUTO);
}

#define DRIVER_ONLY "OMPJIT_ASSEMBLER=driver"
static const struct scenario scenarios[] = {
    {"nvrtc", by_nvrtc, {DRIVER_ONLY}, CLEAN, ANY_GPU},
    {"nvrtc-seed", by_nvrtc, {DRIVER_ONLY, "PTXI_SEED=3"}, CLEAN, EMULATED},
    {"clang", by_clang, {DRIVER_ONLY}, CLEAN, ANY_DEVICE},
    {"11.2", old_driver, {DRIVER_ONLY, "PTXI_DRIVER_VERSION=11020"}, CLEAN,
     EMULATED},
    {"11.5", old_driver, {DRIVER_ONLY, "PTXI_DRIVER_VERSION=11050"}, CLEAN,
     EMULATED},
    {"12.0", old_driver, {DRIVER_ONLY, "PTXI_DRIVER_VERSION=12000"}, CLEAN,
     EMULATED},
    {"none", without_nvrtc, {DRIVER_ONLY, "OMPJIT_CUDA_HOME=/nonexistent"},
     CLEAN, EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
