// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omp_alloc from LLVM's allocators of target memory, and from others.
// expect: 42 0 7 7 3 5 1 host
#include <omp.h>
#include <stdio.h>

int main(void)
{
    enum { N = 64 };
    omp_allocator_handle_t device = llvm_omp_target_device_mem_alloc;
    omp_allocator_handle_t made =
        omp_init_allocator(llvm_omp_target_device_mem_space, 0, 0);
    int *p = omp_alloc(N * sizeof *p, device), s[5] = {0}, aligned;
    int *q = omp_calloc(N, sizeof *q, made);
    int *host = omp_alloc(sizeof *host, llvm_omp_target_host_mem_alloc);
    int *shared = omp_alloc(sizeof *shared, llvm_omp_target_shared_mem_alloc);
    char *wide = omp_aligned_alloc(64, 256, device);
    aligned = wide && (size_t)wide % 64 == 0;
    int both = host && shared; /* is there memory that both can use? */
    if (both) {
        *host = 2;
        *shared = 4;
    }
#pragma omp target map(from: s) is_device_ptr(p, q)
    {
        p[0] = 42;
        s[0] = p[0];
        s[1] = q[N - 1];
        p[N - 1] = 7;
    }
    p = omp_realloc(p, 2 * N * sizeof *p, device, device);
#pragma omp target map(tofrom: s) is_device_ptr(p, host, shared)
    {
        s[2] = p[N - 1];
        if (both) {
            ++*host;
            ++*shared;
        }
    }
    int *back = omp_realloc(p, N * sizeof *p, omp_default_mem_alloc, device);
    printf("%d %d %d %d %d %d %d ", s[0], s[1], s[2], back[N - 1],
           both ? *host : 3, both ? *shared : 5, aligned);
    omp_free(q, omp_null_allocator);
    omp_free(host, llvm_omp_target_host_mem_alloc);
    omp_free(shared, omp_null_allocator);
    omp_free(wide, device);
    omp_free(back, omp_default_mem_alloc);
    char *ordinary = omp_alloc(8, omp_default_mem_alloc);
    snprintf(ordinary, 8, "host");
    printf("%s\n", ordinary);
    omp_free(ordinary, omp_default_mem_alloc);
    omp_destroy_allocator(made);
}
