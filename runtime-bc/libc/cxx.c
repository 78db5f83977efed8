/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C++'s operators new and delete for device memory, under their mangled names,
 * what a call of a pure virtual function comes to, and destructors, which are
 * never run. There are no exceptions: new without nothrow ends the kernel where
 * there is no memory.
 */
#include "rt.h"

static NOINLINE void *no_memory(void)
{
    plat_fail("operator new: out of device memory");
    return NULL;
}

EXPORT void *_Znwm(size_t size)
{
    void *p = malloc(size ? size : 1);
    return p ? p : no_memory();
}
EXPORT void *_Znam(size_t size)
{
    return _Znwm(size);
}
EXPORT void *_ZnwmRKSt9nothrow_t(size_t size, const void *nothrow)
{
    return malloc(size ? size : 1);
}
EXPORT void *_ZnamRKSt9nothrow_t(size_t size, const void *nothrow)
{
    return malloc(size ? size : 1);
}

EXPORT void _ZdlPv(void *p)
{
    free(p);
}
EXPORT void _ZdaPv(void *p)
{
    free(p);
}
EXPORT void _ZdlPvm(void *p, size_t size)
{
    free(p);
}
EXPORT void _ZdaPvm(void *p, size_t size)
{
    free(p);
}

/* ---------------------------------------- aligned by more than malloc does */

void *omp_aligned_alloc(uint64_t align, uint64_t size, uint64_t handle);
void omp_free(void *p, uint64_t handle);

EXPORT void *_ZnwmSt11align_val_t(size_t size, size_t align)
{
    void *p = omp_aligned_alloc(align, size ? size : 1, ALLOCATOR_DEFAULT);
    return p ? p : no_memory();
}
EXPORT void *_ZnamSt11align_val_t(size_t size, size_t align)
{
    return _ZnwmSt11align_val_t(size, align);
}
EXPORT void _ZdlPvSt11align_val_t(void *p, size_t align)
{
    omp_free(p, ALLOCATOR_DEFAULT);
}
EXPORT void _ZdaPvSt11align_val_t(void *p, size_t align)
{
    omp_free(p, ALLOCATOR_DEFAULT);
}
EXPORT void _ZdlPvmSt11align_val_t(void *p, size_t size, size_t align)
{
    omp_free(p, ALLOCATOR_DEFAULT);
}
EXPORT void _ZdaPvmSt11align_val_t(void *p, size_t size, size_t align)
{
    omp_free(p, ALLOCATOR_DEFAULT);
}

EXPORT void __cxa_pure_virtual(void)
{
    plat_fail("a pure virtual function is called");
}

void *__dso_handle WEAK;

EXPORT int __cxa_atexit(void (*f)(void *), void *object, void *dso)
{
    return 0;
}
