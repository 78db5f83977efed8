/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Our declarations of the CUDA driver API against CUDA's own headers: each
 * number, code, prototype, release and symbol name.
 */
#include "tap.h"

#if __has_include(<cuda.h>) && __has_include(<cudaTypedefs.h>)
#include <cuda.h>
#include <cudaTypedefs.h>

#include "device/cuda/driver.h"

/* CUDA's name of the symbol, after its own macros. */
#define SYMBOL(name) SYMBOL_(name)
#define SYMBOL_(name) #name

/* PFN_<name>_v<release> exists only for releases that brought a new form. */
#define CU_FUNCTION(name, suffix, version, required, args) \
    typedef cu_result (*ours_##name)args;
#include "device/cuda/driver.def"

/* The header's form is newer, does the same, and older drivers lack it. */
static int is_older(const char *name)
{
    return !strcmp(name, "cuEventElapsedTime");
}

int main(void)
{
#define CU_FUNCTION(name, suffix, version, required, args)                 \
    ok(__builtin_types_compatible_p(ours_##name, PFN_##name##_v##version), \
       "prototype of %s as of %d", #name, version);                        \
    if (!is_older(#name))                                                  \
        ok_string(#name suffix, SYMBOL(name), "symbol of %s", #name);
#define CU_CODE(name, value, status, effect) \
    ok(CUDA_ERROR_##name == value, "CUDA_ERROR_%s is %d", #name, value);
#define CU_NUMBER(name, value) \
    ok(CU_##name == value, "CU_%s is %d", #name, value);
#include "device/cuda/driver.def"
    ok(sizeof(CUdeviceptr) == sizeof(cu_pointer), "size of CUdeviceptr");
    ok(sizeof(CUdevice) == sizeof(cu_device), "size of CUdevice");
    ok(sizeof(CUresult) == sizeof(cu_result), "size of CUresult");
    ok(sizeof(CUmemPoolProps) == sizeof(ompjit__cuda_pool_properties) &&
           offsetof(CUmemPoolProps, location) ==
               offsetof(ompjit__cuda_pool_properties, location) &&
           offsetof(CUmemPoolProps, maxSize) ==
               offsetof(ompjit__cuda_pool_properties, max_size),
       "layout of CUmemPoolProps");
    ok(sizeof(CUmemAccessDesc) == sizeof(ompjit__cuda_pool_access) &&
           offsetof(CUmemAccessDesc, location.id) ==
               offsetof(ompjit__cuda_pool_access, location.id) &&
           offsetof(CUmemAccessDesc, flags) ==
               offsetof(ompjit__cuda_pool_access, flags),
       "layout of CUmemAccessDesc");
    return done_testing();
}
#else
int main(void)
{
    skip_all("no cuda.h to compare with");
}
#endif
