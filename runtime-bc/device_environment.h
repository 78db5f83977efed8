/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * DeviceEnvironmentTy (abi/layouts.md): what a kernel can ask about its device,
 * under the name and layout that LLVM's plugins write to as well.
 */
#ifndef OMPJIT_RT_DEVICE_ENVIRONMENT_H
#define OMPJIT_RT_DEVICE_ENVIRONMENT_H

#include "call_index.h"
#include "plat.h"

#ifdef __NVPTX__
#define DEVICE_CONSTANT __attribute__((address_space(4))) const
#define ENGINE_WEAK WEAK
#else
#define DEVICE_CONSTANT const
#define ENGINE_WEAK
#endif

typedef struct device_environment {
    uint32_t debug_kind;
    uint32_t num_devices;
    uint32_t device_num;
    uint32_t dynamic_shared_size;
    uint64_t clock_frequency;
    const indirect_call *indirect_calls;
    uint64_t num_indirect_calls;
    uint64_t hardware_parallelism;
} device_environment;

extern DEVICE_CONSTANT device_environment __omp_rtl_device_environment ENGINE_WEAK;

#endif
