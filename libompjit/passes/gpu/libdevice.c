/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * NVIDIA's library of mathematical functions as bitcode (libdevice.10.bc),
 * where a CUDA toolkit brings it: targets/cuda_files.def has the places.
 */
#include <unistd.h>

#include "passes/gpu/gpu.h"
#include "targets/cuda_files.h"

char *ompjit__libdevice_path(void)
{
    return ompjit__cuda_find(OMPJIT__CUDA_LIBDEVICE, R_OK);
}
