/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA C++ as PTX on ptxi's emulated CUDA driver: what NVRTC makes, linked with
 * the device runtime, and what clang makes.
 */
#include "backend/nvrtc.h"
#include "nvrtc_work.h"
#include "ptxi.h"

static void by_nvrtc(void)
{
    struct work w = {.how = "NVRTC"};
    unsigned version;
    if (ompjit__nvrtc_version(&version, &err))
        ok(true, "CUDA sources # SKIP %.*s", (int)strcspn(err.text, ":\n"),
           err.text);
    else
        all_policies(&w, "cuda", OMPJIT_CUDA_COMPILER_NVRTC);
}

static void by_clang(void)
{
    struct work w = {.how = "clang"};
    all_policies(&w, test_device(), OMPJIT_CUDA_COMPILER_CLANG);
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
    {"none", without_nvrtc, {DRIVER_ONLY, "OMPJIT_CUDA_HOME=/nonexistent"},
     CLEAN, EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
