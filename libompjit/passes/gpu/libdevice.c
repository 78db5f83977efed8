/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * NVIDIA's library of mathematical functions as bitcode, where a CUDA toolkit
 * brings it.
 */
#include <unistd.h>

#include "passes/gpu/gpu.h"
#include "core/cuda_files.h"

char *ompjit__libdevice_path(void)
{
    return ompjit__cuda_find(OMPJIT__CUDA_LIBDEVICE, R_OK);
}
