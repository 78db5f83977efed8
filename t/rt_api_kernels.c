/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Target regions that call the runtime's functions by name and count in out[0]
 * what is wrong: read sequentially, nothing is. See rt_kernels.h.
 */
#include <stdlib.h>

#include "rt_kernels.h"

#ifdef _OPENMP
#include <assert.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#pragma omp begin declare target
typedef struct ident ident;

/* ----------------------------------------------------- what clang has not */

int omp_in_explicit_task(void);
int omp_get_device_from_uid(const char *uid);
const char *omp_get_uid_from_device(int device);
int __kmpc_get_hardware_num_blocks(void);
int __kmpc_get_hardware_num_threads_in_block(void);
signed char __kmpc_is_spmd_exec_mode(void);
short __kmpc_parallel_level(ident *, int);
void __kmpc_push_num_teams(ident *, int, int, int);
void __kmpc_push_proc_bind(ident *, int, int);
void __llvm_profile_register_function(void *);
void __llvm_profile_register_names_function(void *, int64_t);
void __llvm_profile_instrument_memop(int64_t, void *, int);
void ompjit_count_value(uint64_t, uint64_t *);
void ompjit_count_target(uint64_t, uint64_t *, const uint64_t *);
void *__llvm_omp_indirect_call_lookup(void *);
void *__kmpc_target_translate_fptr(void *);
void *__kmpc_alloc(int, size_t, void *);
void *__kmpc_aligned_alloc(int, size_t, size_t, void *);
void *__kmpc_calloc(int, size_t, size_t, void *);
void *__kmpc_realloc(int, void *, size_t, void *, void *);
void __kmpc_free(int, void *, void *);
void *__kmpc_init_allocator(int, void *, int, void *);
void __kmpc_destroy_allocator(int, void *);
void __kmpc_set_default_allocator(int, void *);
void *__kmpc_get_default_allocator(int);
void *__kmpc_alloc_shared(size_t);
void __kmpc_free_shared(void *, size_t);
void *__kmpc_get_dynamic_shared(void);
void *llvm_omp_get_dynamic_shared(void);
void __kmpc_begin_sharing_variables(void ***, size_t);
void __kmpc_end_sharing_variables(void);
void __kmpc_get_shared_variables(void ***);
void __kmpc_get_shared_variables_aggregate(void **);
void __kmpc_serialized_parallel(ident *, int);
void __kmpc_end_serialized_parallel(ident *, int);
int __kmpc_cancel(ident *, int, int);
int __kmpc_cancel_barrier(ident *, int);
int __kmpc_cancellationpoint(ident *, int, int);
void __kmpc_barrier(ident *, int);
void __kmpc_barrier_simple_spmd(ident *, int);
void __kmpc_barrier_simple_generic(ident *, int);
void __kmpc_syncwarp(uint64_t);
uint64_t __kmpc_warp_active_thread_mask(void);
void __kmpc_flush(ident *);
int __kmpc_reduce(ident *, int, int, size_t, void *, void *, void *);
void __kmpc_end_reduce(ident *, int, void *);
int __kmpc_reduce_nowait(ident *, int, int, size_t, void *, void *, void *);
void __kmpc_end_reduce_nowait(ident *, int, void *);
int __kmpc_shuffle_int32(int, short, short);
int64_t __kmpc_shuffle_int64(int64_t, short, short);
int ompx_thread_id(int), ompx_block_id(int), ompx_block_dim(int);
int ompx_grid_dim(int);
void ompx_sync_block(int), ompx_sync_block_acq_rel(void);
void ompx_sync_block_divergent(int);
uint64_t ompx_ballot_sync(uint64_t, int);
int ompx_shfl_down_sync_i(uint64_t, int, unsigned, int);
int64_t ompx_shfl_down_sync_l(uint64_t, int64_t, unsigned, int);
float ompx_shfl_down_sync_f(uint64_t, float, unsigned, int);
double ompx_shfl_down_sync_d(uint64_t, double, unsigned, int);
void __kmpc_parallel_60(ident *, int, int, int, int, void *, void *, void **,
                        int64_t, int);
void __kmpc_parallel_spmd(ident *, int, void *, void **, int64_t);
void __kmpc_kernel_prepare_parallel(void *);
void *__kmpc_omp_task_alloc(ident *, int, int, size_t, size_t, void *);
int __kmpc_omp_task(ident *, int, void *);
void *__kmpc_omp_target_task_alloc(ident *, int, int, size_t, size_t, void *,
                                   int64_t);
int __kmpc_omp_reg_task_with_affinity(ident *, int, void *, int, void *);
void __kmpc_proxy_task_completed_ooo(void *);
void __kmpc_taskloop_5(ident *, int, void *, int, uint64_t *, uint64_t *,
                       int64_t, int, int, uint64_t, int, void *);
void *__kmpc_taskred_init(int, int, void *);
void *__kmpc_task_reduction_init(int, int, void *);
void *__kmpc_taskred_modifier_init(ident *, int, int, int, void *);
void *__kmpc_task_reduction_modifier_init(ident *, int, int, int, void *);
void __kmpc_task_reduction_modifier_fini(ident *, int, int);
void *__kmpc_task_reduction_get_th_data(int, void *, void *);
void __kmpc_omp_wait_deps(ident *, int, int, void *, int, void *);
void __kmpc_omp_taskwait_deps_51(ident *, int, int, void *, int, void *, int);
int __llvm_omp_vprintf(const char *, void *, int);
void __kmpc_error(ident *, int, const char *);

/* ------------------------------------------------------------- settings */

static int wrong_places(void)
{
    int ids[2] = {7, 7}, wrong = 0;
    omp_get_place_proc_ids(0, ids);
    omp_get_partition_place_nums(ids);
    wrong += ids[0] != 7 || ids[1] != 7;
    wrong += omp_get_proc_bind() != omp_proc_bind_false;
    wrong += omp_get_num_places() || omp_get_place_num_procs(0);
    wrong += omp_get_place_num() != -1 || omp_get_partition_num_places();
    __kmpc_push_proc_bind(0, 0, 3);
    return wrong + (omp_get_proc_bind() != omp_proc_bind_false);
}

static int wrong_devices(void)
{
    int (*volatile initial)(void) = omp_is_initial_device;
    int wrong = initial(), n = omp_get_num_devices();
    wrong += n < 1 || omp_get_device_num() < 0 || omp_get_device_num() >= n;
    wrong += omp_get_initial_device() != n;
    wrong += omp_get_default_device() != omp_get_device_num();
    omp_set_default_device(5);
    wrong += omp_get_default_device() != omp_get_device_num();
    wrong += omp_get_device_from_uid("a") != -2;
    return wrong + (omp_get_uid_from_device(0) != 0);
}

static int wrong_teams(void)
{
    int wrong = omp_get_max_teams() != 0; /* no bound */
    wrong += omp_get_teams_thread_limit() != omp_get_thread_limit();
    omp_set_num_teams(0);
    omp_set_teams_thread_limit(-1);
    wrong += omp_get_max_teams() != 0;
    omp_set_num_teams(77);
    omp_set_teams_thread_limit(78);
    wrong += omp_get_max_teams() != 77 || omp_get_teams_thread_limit() != 78;
    __kmpc_push_num_teams(0, 0, 3, 4);
    wrong += __kmpc_get_hardware_num_blocks() != omp_get_num_teams();
    return wrong + (omp_get_thread_limit() > omp_get_num_procs());
}

static int wrong_levels(void)
{
    int wrong = 0, active = omp_get_thread_limit() > 1;
    omp_set_nested(1);
    omp_set_dynamic(1);
    wrong += omp_get_nested() || omp_get_dynamic() || omp_get_cancellation();
    wrong += omp_get_supported_active_levels() != 1;
    wrong += omp_get_max_active_levels() != 1;
    omp_set_max_active_levels(9);
    omp_set_max_active_levels(-1);
    wrong += omp_get_max_active_levels() != 1 || omp_get_active_level();
#pragma omp parallel reduction(+ : wrong)
    {
        wrong += omp_get_active_level() != active;
        wrong += __kmpc_parallel_level(0, 0) != 1;
        omp_set_max_active_levels(0);
        wrong += omp_get_max_active_levels() != 0;
#pragma omp parallel reduction(+ : wrong)
        wrong += omp_get_active_level() != active ||
                 __kmpc_parallel_level(0, 0) != 2;
    }
    wrong += omp_get_max_active_levels() != 1;
    omp_set_max_active_levels(0);
#pragma omp parallel reduction(+ : wrong)
    wrong += omp_get_num_threads() != 1 || omp_get_active_level();
    return wrong + (__kmpc_parallel_level(0, 0) != 0);
}

static int twice(int x) { return 2 * x; }

/* The table is empty: a device's own address is what it is. */
static int wrong_lookup(void)
{
    void *f = (void *)twice;
    return __llvm_omp_indirect_call_lookup(f) != f ||
           __kmpc_target_translate_fptr(f) != f;
}

static int wrong_profile(void)
{
    int counters[2] = {5, 6};
    __llvm_profile_register_function(counters);
    __llvm_profile_register_names_function(counters, 8);
    __llvm_profile_instrument_memop(3, counters, 0);
    return counters[0] != 5 || counters[1] != 6;
}

/* A place keeps eight values, each with its count; the others are counted
 * together, and so is the one that no key stands for. */
static int wrong_values(void)
{
    enum { KEPT = 8, VALUES = 10 };
    uint64_t place[2 * KEPT + 1] = {0};
    int wrong = 0;
    for (int n = 0; n < 2; n++)
        for (uint64_t v = 0; v < VALUES; v++)
            ompjit_count_value(10 * v, place);
    ompjit_count_value(UINT64_MAX, place);
    for (uint64_t v = 0; v < KEPT; v++)
        wrong += place[2 * v] != 10 * v + 1 || place[2 * v + 1] != 2;
    return wrong + (place[2 * KEPT] != 2 * (VALUES - KEPT) + 1);
}

/* A function of the table is its number there, others are addresses. */
static int wrong_targets(void)
{
    const uint64_t table[] = {500, 600, 0};
    uint64_t place[17] = {0};
    ompjit_count_target(600, place, table);
    ompjit_count_target(700, place, table);
    ompjit_count_target(600, place, table);
    return place[0] != 2 || place[1] != 2 || place[2] != 701 || place[3] != 1;
}

static int settings(args *p)
{
    return wrong_places() + wrong_devices() + wrong_teams() + wrong_levels() +
           wrong_lookup() + wrong_profile() + wrong_values() + wrong_targets() +
           (omp_get_max_task_priority() != 0);
}

/* --------------------------------------------------------------- memory */

static int wrong_block(char *q, int n, int first)
{
    int wrong = !q;
    for (int i = 0; q && i < n; i++)
        wrong += first >= 0 ? q[i] != first : (q[i] = (char)i, 0);
    return wrong;
}

static int wrong_alignment(void)
{
    int wrong = 0;
    for (size_t align = 1; align <= 1024; align *= 4) {
        char *q = omp_aligned_alloc(align, 24, omp_default_mem_alloc);
        char *r = __kmpc_aligned_alloc(0, align, 24, (void *)1);
        char *z = omp_aligned_calloc(align, 3, 8, omp_large_cap_mem_alloc);
        wrong += (uintptr_t)q % align || (uintptr_t)r % align ||
                 (uintptr_t)z % align;
        wrong += wrong_block(q, 24, -1) + wrong_block(r, 24, -1) +
                 wrong_block(z, 24, 0) + (q == r);
        omp_free(z, omp_null_allocator);
        omp_free(r, omp_default_mem_alloc);
        __kmpc_free(0, q, 0);
    }
    return wrong + (omp_aligned_alloc(24, 8, omp_default_mem_alloc) != 0);
}

static int wrong_sizes(void)
{
    int wrong = omp_alloc(0, omp_default_mem_alloc) != 0;
    wrong += omp_calloc((size_t)1 << 40, (size_t)1 << 40,
                        omp_default_mem_alloc) != 0;
    wrong += omp_realloc(0, 0, omp_default_mem_alloc, 0) != 0;
    char *q = __kmpc_calloc(0, 5, 8, 0), *r = omp_calloc(4, 10, 0);
    wrong += wrong_block(q, 40, 0) + wrong_block(r, 40, 0);
    wrong_block(q, 40, -1);
    q = __kmpc_realloc(0, q, 400, 0, 0);
    wrong += q[39] != 39;
    q = omp_realloc(q, 10, omp_high_bw_mem_alloc, omp_default_mem_alloc);
    wrong += q[9] != 9;
    wrong += omp_realloc(q, 0, omp_default_mem_alloc, 0) != 0;
    omp_free(r, 0);
    omp_free(0, 0);
    q = __kmpc_alloc(0, 3, (void *)omp_const_mem_alloc);
    wrong += !q;
    omp_free(q, omp_const_mem_alloc);
    return wrong;
}

static int wrong_traits(void)
{
    omp_alloctrait_t small[] = {{omp_atk_alignment, 256},
                                {omp_atk_pool_size, 100},
                                {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t a =
        omp_init_allocator(omp_default_mem_space, 3, small);
    char *q = omp_alloc(60, a), *r = omp_alloc(41, a), *s = omp_alloc(40, a);
    int wrong = !q || r || !s || (uintptr_t)q % 256 || (uintptr_t)s % 256;
    omp_free(q, a);
    r = omp_alloc(60, a);
    wrong += !r;
    omp_free(r, a);
    omp_free(s, a);
    omp_alloctrait_t next[] = {{omp_atk_pool_size, 8},
                               {omp_atk_fallback, omp_atv_allocator_fb},
                               {omp_atk_fb_data, (omp_uintptr_t)a}};
    void *b = __kmpc_init_allocator(0, 0, 3, next);
    q = __kmpc_alloc(0, 9, b);
    r = __kmpc_alloc(0, 1000, b);
    wrong += !q || (uintptr_t)q % 256 || r;
    omp_free(q, 0);
    __kmpc_destroy_allocator(0, b);
    small[2].value = omp_atv_default_mem_fb;
    omp_allocator_handle_t c =
        omp_init_allocator(omp_low_lat_mem_space, 3, small);
    q = omp_alloc(1000, c);
    wrong += wrong_block(q, 1000, -1);
    omp_free(q, c);
    omp_destroy_allocator(c);
    omp_destroy_allocator(a);
    omp_destroy_allocator(omp_null_allocator);
    return wrong;
}

static int wrong_default(void)
{
    int wrong = omp_get_default_allocator() != omp_default_mem_alloc;
    omp_alloctrait_t traits[] = {{omp_atk_alignment, 512}};
    omp_allocator_handle_t a =
        omp_init_allocator(omp_default_mem_space, 1, traits);
    omp_set_default_allocator(a);
    omp_set_default_allocator(omp_null_allocator);
    void *q = omp_alloc(8, omp_null_allocator);
    wrong += omp_get_default_allocator() != a || (uintptr_t)q % 512;
    omp_free(q, omp_null_allocator);
#pragma omp parallel reduction(+ : wrong)
    {
        wrong += __kmpc_get_default_allocator(0) != (void *)a;
        __kmpc_set_default_allocator(0, (void *)omp_const_mem_alloc);
        wrong += omp_get_default_allocator() != omp_const_mem_alloc;
    }
    wrong += omp_get_default_allocator() != a;
    omp_set_default_allocator(omp_default_mem_alloc);
    omp_destroy_allocator(a);
    return wrong;
}

static int memory(args *p)
{
    return wrong_alignment() + wrong_sizes() + wrong_traits() + wrong_default();
}

/* Team-shared memory for as long as there is some, then device memory; all of
 * it back at the end. */
static int pools(args *p)
{
    int wrong = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel reduction(+ : wrong)
        {
            int me = omp_get_thread_num();
            char *q = omp_alloc(48, omp_pteam_mem_alloc);
            char *r = omp_alloc(24, omp_cgroup_mem_alloc);
            for (int i = 0; i < 48; i++)
                q[i] = (char)(me + i);
            for (int i = 0; i < 24; i++)
                r[i] = (char)(me ^ i);
#pragma omp barrier
            for (int i = 0; i < 48; i++)
                wrong += q[i] != (char)(me + i);
            for (int i = 0; i < 24; i++)
                wrong += r[i] != (char)(me ^ i);
            omp_free(me % 2 ? r : q, omp_null_allocator);
            omp_free(me % 2 ? q : r, omp_null_allocator);
        }
    }
    char *x = omp_alloc(1000, omp_pteam_mem_alloc);
    char *y = omp_alloc(900, omp_pteam_mem_alloc);
    char *z = omp_alloc(900, omp_pteam_mem_alloc);
    wrong += y - x < 1000 || y - x > 1200;
    wrong += z - x >= 0 && z - x < 2048 - 900; /* behind the pool: not in it */
    omp_free(y, omp_pteam_mem_alloc);
    char *again = omp_alloc(800, omp_pteam_mem_alloc);
    wrong += again != y;
    omp_free(z, omp_pteam_mem_alloc);
    omp_free(again, omp_pteam_mem_alloc);
    omp_free(x, omp_pteam_mem_alloc);
    return wrong;
}

/* Deeper than the shared arena; freed in reverse and not. */
static int wrong_stack(int seed)
{
    enum { DEPTH = 12 };
    char *q[DEPTH];
    int wrong = 0;
    for (int i = 0; i < DEPTH; i++) {
        size_t n = (size_t)(i * 61 % 7) * 100 + 1;
        q[i] = __kmpc_alloc_shared(n);
        wrong += (uintptr_t)q[i] % 16 != 0;
        for (size_t k = 0; k < n; k++)
            q[i][k] = (char)(i + seed);
    }
    for (int i = 0; i < DEPTH; i++) {
        int at = seed % 2 ? i : DEPTH - 1 - i;
        size_t n = (size_t)(at * 61 % 7) * 100 + 1;
        for (size_t k = 0; k < n; k++)
            wrong += q[at][k] != (char)(at + seed);
        __kmpc_free_shared(q[at], n);
    }
    return wrong;
}

/* Two halves of the arena and a bit do not fit, and space is used again: where
 * the main thread has the arena, which LLVM may have changed. */
static int wrong_arena(void)
{
    volatile size_t n = 1200;
    volatile uintptr_t first = (uintptr_t)__kmpc_alloc_shared(n);
    volatile uintptr_t second = (uintptr_t)__kmpc_alloc_shared(n);
    int wrong = second - first < 2304;
    __kmpc_free_shared((void *)second, n);
    __kmpc_free_shared((void *)first, n);
    n = 48; /* aligned to 16, as the first one was */
    second = (uintptr_t)__kmpc_alloc_shared(n);
    wrong += second != first;
    __kmpc_free_shared((void *)second, n);
    return __kmpc_is_spmd_exec_mode() ? 0 : wrong;
}

static int stack(args *p)
{
    int wrong = wrong_arena() + wrong_stack(0) + wrong_stack(1) +
                wrong_stack(2);
#pragma omp parallel num_threads(5) reduction(+ : wrong)
    wrong += wrong_stack(omp_get_thread_num());
    return wrong;
}

/* ------------------------------------------------------- synchronization */

typedef void (*wait_fn)(int i);
static void wait_spmd(int i) { __kmpc_barrier_simple_spmd(0, 0); }
static void wait_generic(int i) { __kmpc_barrier_simple_generic(0, 0); }
static void wait_plain(int i) { __kmpc_barrier(0, i); }
static void wait_cancel(int i) { (void)__kmpc_cancel_barrier(0, i); }
static void wait_block(int i) { ompx_sync_block(i); }
static void wait_acq_rel(int i) { ompx_sync_block_acq_rel(); }
static void wait_divergent(int i) { ompx_sync_block_divergent(i); }

/* Each thread sees what its neighbour stored before the barrier. */
static int wrong_barrier(args *p, wait_fn wait, int round)
{
    int me = omp_get_thread_num(), n = omp_get_num_threads();
    p->b[me] = round * 1000 + me;
    wait(0);
    int seen = p->b[(me + 1) % n];
    wait(0);
    return seen != round * 1000 + (me + 1) % n;
}

static int wrong_barriers(args *p)
{
    return wrong_barrier(p, wait_spmd, 1) + wrong_barrier(p, wait_generic, 2) +
           wrong_barrier(p, wait_plain, 3) + wrong_barrier(p, wait_cancel, 4) +
           wrong_barrier(p, wait_block, 5) + wrong_barrier(p, wait_acq_rel, 6) +
           wrong_barrier(p, wait_divergent, 7);
}

static int wrong_cancels(void)
{
    int wrong = __kmpc_cancel_barrier(0, 0);
    for (int kind = 1; kind <= 4; kind++)
        wrong += __kmpc_cancel(0, 0, kind) + __kmpc_cancellationpoint(0, 0, kind);
    return wrong;
}

/* A region of the caller alone, one level further in. The number is no
 * context: the runtime alone does not know that there are such regions. */
static int wrong_serialized(void)
{
    int level = omp_get_level(), n = omp_get_num_threads();
    __kmpc_end_serialized_parallel(0, 0); /* of none */
    __kmpc_serialized_parallel(0, 0);
    int wrong = omp_get_level() != level + 1;
    wrong += omp_get_num_threads() != 1 || omp_get_thread_num();
    __kmpc_end_serialized_parallel(0, 0);
    return wrong + (omp_get_level() != level) + (omp_get_num_threads() != n);
}

/* Lanes of the caller's warp that there are. */
static unsigned lanes(void)
{
    int first = omp_get_thread_num() & ~31;
    int n = omp_get_num_threads() - first;
    return n >= 32 ? ~0u : (1u << n) - 1;
}

/* Reads the value of lane + delta, in segments of `width` lanes; a lane that
 * does not exist gives nothing to compare. */
static int wrong_down(unsigned mask, int me, int delta, int width)
{
    int lane = me & 31, inside = lane % width + delta < width;
    int from = inside ? me + delta : me;
    int i = ompx_shfl_down_sync_i(mask, me * 5, delta, width);
    int64_t l = ompx_shfl_down_sync_l(mask, me * 5000000007, delta, width);
    float f = ompx_shfl_down_sync_f(mask, (float)me / 4, delta, width);
    double d = ompx_shfl_down_sync_d(mask, me / 3.0, delta, width);
    if (inside && !(mask >> (lane + delta) & 1))
        return 0;
    return (i != from * 5) + (l != from * 5000000007) +
           (f != (float)from / 4) + (d != from / 3.0);
}

static int wrong_warp(args *p)
{
    int me = omp_get_thread_num(), lane = me & 31;
    unsigned mask = lanes();
    int last = me - lane + 31 - __builtin_clz(mask);
    int wrong = ompx_ballot_sync(mask, lane % 3 == 1) != (mask & 0x92492492u);
    wrong += wrong_down(mask, me, 2, 32) + wrong_down(mask, me, 1, 4);
    uint64_t with = __kmpc_warp_active_thread_mask();
    wrong += !(with >> lane & 1) || (with & ~(uint64_t)mask);
    p->a[me] = me + 3;
    __kmpc_syncwarp(mask);
    return wrong + (p->a[last] != last + 3);
}

/* For whole warps: the mask is not a parameter. */
static int wrong_shuffles(void)
{
    int me = omp_get_thread_num(), n = omp_get_num_threads();
    if (n % 32)
        return 0;
    int up = (me & 31) < 28 ? me + 4 : me;
    return (__kmpc_shuffle_int32(me * 3, 4, 32) != up * 3) +
           (__kmpc_shuffle_int64(me * 30000000007, 4, 32) != up * 30000000007);
}

static int wrong_geometry(void)
{
    int wrong = ompx_thread_id(0) != omp_get_thread_num();
    wrong += ompx_thread_id(1) || ompx_thread_id(2);
    wrong += ompx_block_dim(0) != __kmpc_get_hardware_num_threads_in_block();
    wrong += ompx_block_dim(1) != 1 || ompx_block_dim(2) != 1;
    wrong += ompx_block_id(0) != omp_get_team_num() || ompx_block_id(1);
    wrong += ompx_grid_dim(0) != omp_get_num_teams() || ompx_grid_dim(2) != 1;
    return wrong + (__kmpc_is_spmd_exec_mode() != 1);
}

/* Every thread adds under the reduction's lock. */
static int wrong_reduce(args *p, int me, int n)
{
    int one = 1, wrong;
    if (me == 0)
        p->isum = 0;
    __kmpc_barrier(0, 0);
    wrong = __kmpc_reduce(0, 0, 1, sizeof one, &one, 0, &p->lock) != 1;
    p->isum += one;
    __kmpc_end_reduce(0, 0, &p->lock);
    wrong += p->isum != n;
    __kmpc_barrier(0, 0);
    wrong += __kmpc_reduce_nowait(0, 0, 1, sizeof one, &one, 0, &p->lock) != 1;
    p->isum += one;
    __kmpc_flush(0);
    __kmpc_end_reduce_nowait(0, 0, &p->lock);
    __kmpc_barrier(0, 0);
    return wrong + (p->isum != 2 * n);
}

static int together(args *p)
{
    int me = omp_get_thread_num(), n = omp_get_num_threads();
    int a = p->a[me], b = p->b[me];
    int wrong = wrong_barriers(p) + wrong_cancels() + wrong_warp(p) +
                wrong_serialized() +
                wrong_shuffles() + wrong_geometry() + wrong_reduce(p, me, n);
    __kmpc_barrier(0, 0);
    p->a[me] = a;
    p->b[me] = b;
    p->isum = 3;
    return wrong;
}

struct locks {
    omp_lock_t lock, hinted;
    omp_nest_lock_t nest, nest_hinted;
};

static int wrong_locks(args *p)
{
    /* Not on the stack: passes/gpu/local_atomics.cc. */
    struct locks *l = malloc(sizeof *l);
    omp_init_lock(&l->lock);
    omp_init_lock_with_hint(&l->hinted, omp_sync_hint_contended);
    omp_init_nest_lock(&l->nest);
    omp_init_nest_lock_with_hint(&l->nest_hinted, omp_sync_hint_none);
    int wrong = !omp_test_lock(&l->lock) || omp_test_lock(&l->lock);
    wrong += !omp_test_lock(&l->hinted);
    wrong += omp_test_nest_lock(&l->nest) != 1;
    wrong += omp_test_nest_lock(&l->nest) != 2;
    wrong += omp_test_nest_lock(&l->nest_hinted) != 1;
    omp_unset_lock(&l->lock);
    omp_unset_nest_lock(&l->nest);
    wrong += omp_test_nest_lock(&l->nest) != 2;
    omp_set_lock(&l->lock);
    wrong += omp_test_lock(&l->lock);
    omp_init_lock(&l->lock);
    wrong += !omp_test_lock(&l->lock);
    omp_destroy_lock(&l->lock);
    omp_destroy_nest_lock(&l->nest);
    free(l);
    int count = 0;
#pragma omp parallel
#pragma omp critical(hinted) hint(omp_sync_hint_contended)
    count++;
#pragma omp parallel num_threads(1)
    wrong += omp_get_num_threads() != 1;
    int all = 1;
#pragma omp parallel
#pragma omp masked
    all = omp_get_num_threads();
    return wrong + (count != all);
}

/* ------------------------------------------------------------- the kernel */

static void add_one(int *gtid, int *zero, int *count)
{
#pragma omp atomic
    *count += omp_get_level();
}

/* In the main thread of a generic kernel, and inside of regions. */
static int wrong_regions(args *p)
{
    int count = 0, level = omp_get_level() + 1;
    void *list[] = {&count};
    __kmpc_parallel_spmd(0, 0, (void *)add_one, list, 1);
    int wrong = count != level || omp_get_level() != level - 1;
    __kmpc_parallel_60(0, 0, 1, 1, 0, (void *)add_one, 0, list, 1, 1);
    return wrong + (count != 2 * level);
}

static void worker_body(short level, int gtid)
{
    void **shared, *first;
    __kmpc_get_shared_variables(&shared);
    __kmpc_get_shared_variables_aggregate(&first);
    int *count = shared[1], wrong = first != shared[0];
    if (omp_get_level() != 1)
        wrong = 1000;
#pragma omp atomic
    *count += 1 + wrong;
}

/* The main thread hands out work in the way of clang 12. */
static int prepared_region(args *p)
{
    void *volatile unknown = malloc(8); /* keeps the state machine */
    int wrong = !unknown;
    free(unknown);
    for (int round = 0; round < 3; round++) {
        void **shared;
        p->isum = 0;
        __kmpc_begin_sharing_variables(&shared, 2);
        shared[0] = p;
        shared[1] = &p->isum;
        __kmpc_kernel_prepare_parallel((void *)worker_body);
        __kmpc_barrier_simple_generic(0, 0);
        __kmpc_barrier_simple_generic(0, 0);
        __kmpc_end_sharing_variables();
        wrong += omp_get_level() != 0;
        wrong += p->isum != omp_get_thread_limit();
    }
    p->isum = 3;
    return wrong;
}

/* Dynamic shared memory has one name and three. */
static int wrong_dynamic(void)
{
    void *q = llvm_omp_get_dynamic_shared();
    return q != __kmpc_get_dynamic_shared() ||
           q != llvm_omp_target_dynamic_shared_alloc();
}

/* ---------------------------------------------------------------- tasks */

typedef struct own_task {
    void *shareds;
    int (*routine)(int, struct own_task *);
    int part;
    void *data[2];
    int64_t lower, upper;
} own_task;

static int add_range(int gtid, own_task *t)
{
    int *sum = *(int **)t->shareds;
    for (int64_t i = t->lower; i <= t->upper; i++)
        *sum += (int)i;
    return 0;
}

static own_task *new_task(int *sum, int target)
{
    own_task *t =
        target ? __kmpc_omp_target_task_alloc(0, 0, 1, sizeof *t, sizeof sum,
                                              (void *)add_range, -1)
               : __kmpc_omp_task_alloc(0, 0, 1, sizeof *t, sizeof sum,
                                       (void *)add_range);
    *(int **)t->shareds = sum;
    t->lower = 1;
    t->upper = 4;
    return t;
}

static int wrong_own_tasks(void)
{
    int sum = 0, wrong = 0;
    own_task *t = new_task(&sum, 0);
    wrong += __kmpc_omp_reg_task_with_affinity(0, 0, t, 0, 0);
    wrong += __kmpc_omp_task(0, 0, t) || sum != 10;
    wrong += __kmpc_omp_task(0, 0, new_task(&sum, 1)) || sum != 20;
    t = new_task(&sum, 0);
    __kmpc_taskloop_5(0, 0, t, 1, (uint64_t *)&t->lower, (uint64_t *)&t->upper,
                      1, 0, 1, 2, 1, 0);
    __kmpc_proxy_task_completed_ooo(0);
    __kmpc_omp_wait_deps(0, 0, 0, 0, 0, 0);
    __kmpc_omp_taskwait_deps_51(0, 0, 0, 0, 0, 0, 0);
    return wrong + (sum != 30);
}

static int wrong_task_reductions(void)
{
    int x = 3, wrong = 0;
    void *group = __kmpc_taskred_init(0, 1, &x);
    wrong += __kmpc_task_reduction_get_th_data(0, group, &x) != &x;
    group = __kmpc_task_reduction_init(0, 1, &x);
    wrong += __kmpc_task_reduction_get_th_data(0, group, &x) != &x;
    group = __kmpc_taskred_modifier_init(0, 0, 0, 1, &x);
    wrong += __kmpc_task_reduction_get_th_data(0, group, &x) != &x;
    __kmpc_task_reduction_modifier_fini(0, 0, 0);
    group = __kmpc_task_reduction_modifier_init(0, 0, 1, 1, &x);
    wrong += __kmpc_task_reduction_get_th_data(0, group, &x) != &x;
    return wrong + (x != 3);
}

static int wrong_task_kinds(void)
{
    int wrong = omp_in_explicit_task() || omp_in_final();
#pragma omp task shared(wrong)
    {
        wrong += !omp_in_explicit_task() || omp_in_final();
#pragma omp task final(wrong >= 0) shared(wrong)
        {
            wrong += !omp_in_explicit_task() || !omp_in_final();
#pragma omp task shared(wrong)
            wrong += !omp_in_final();
#pragma omp parallel num_threads(1)
            wrong += omp_in_final() || omp_in_explicit_task();
            wrong += !omp_in_final();
        }
        wrong += omp_in_final();
    }
#pragma omp task if (wrong < 0) shared(wrong)
    wrong += !omp_in_explicit_task();
    return wrong + (omp_in_explicit_task() || omp_in_final());
}

/* A task's settings are its own. */
static int wrong_task_settings(void)
{
    int wrong = 0, chunk = 0, before = omp_get_max_threads();
    omp_sched_t kind = omp_sched_static;
    omp_set_num_threads(7);
    omp_set_schedule(omp_sched_dynamic, 3);
#pragma omp task shared(wrong)
    {
        wrong += omp_get_max_threads() != 7;
        omp_set_num_threads(5);
        omp_set_schedule(omp_sched_guided, 4);
        wrong += omp_get_max_threads() != 5;
    }
    omp_get_schedule(&kind, &chunk);
    wrong += omp_get_max_threads() != 7 || kind != omp_sched_dynamic ||
             chunk != 3;
    omp_set_num_threads(before);
    omp_set_schedule(omp_sched_static, 0);
    return wrong;
}

static int task_calls(args *p)
{
    int wrong = wrong_own_tasks() + wrong_task_reductions() +
                wrong_task_kinds() + wrong_task_settings();
#pragma omp parallel reduction(+ : wrong)
    wrong += wrong_own_tasks() + wrong_task_kinds() + wrong_task_settings();
    return wrong;
}

/* --------------------------------------------------- the C library, output */

static int wrong_copies(void)
{
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    void *(*volatile move)(void *, const void *, size_t) = memmove;
    void *(*volatile set)(void *, int, size_t) = memset;
    int (*volatile compare)(const void *, const void *, size_t) = memcmp;
    int (*volatile differ)(const void *, const void *, size_t) = bcmp;
    char a[16], b[16];
    int wrong = set(a, 3, 16) != a || copy(b, a, 16) != b;
    wrong += compare(a, b, 16) || differ(a, b, 16);
    for (int i = 0; i < 16; i++)
        a[i] = (char)i;
    move(a + 2, a, 10);
    wrong += a[2] != 0 || a[11] != 9 || a[12] != 12;
    move(a + 1, a + 2, 10);
    wrong += a[1] != 0 || a[10] != 9 || a[11] != 9;
    b[5] = -1;
    wrong += compare(b, a, 0) || compare(b + 5, a, 1) <= 0 ||
             compare(a, b + 5, 1) >= 0 || !differ(a, b, 16);
    return wrong;
}

static int wrong_strings(void)
{
    size_t (*volatile length)(const char *) = strlen;
    int (*volatile compare)(const char *, const char *) = strcmp;
    void *(*volatile zeroed)(size_t, size_t) = calloc;
    int wrong = length("") != 0 || length("abc") != 3;
    wrong += compare("abc", "abc") || compare("abc", "abd") >= 0 ||
             compare("b", "abd") <= 0 || compare("ab", "abd") >= 0;
    int *q = zeroed(5, sizeof *q);
    wrong += !q || q[0] || q[4] || zeroed(~(size_t)0, 16);
    free(q);
    return wrong;
}

/* The output must not look like a result. */
static int output(args *p)
{
    int (*volatile print)(const char *, ...) = printf;
    struct {
        int i;
        double d;
    } packed = {41, 0.5};
    assert(p->n == N);
    __llvm_omp_vprintf("# packed %d %g\n", &packed, sizeof packed);
    __kmpc_error(0, 1, "only a warning");
    return wrong_copies() + wrong_strings() +
           (printf("# printed %d %s\n", p->n, "words") < 0) +
           (print("# called %d %g\n", p->n, 2.5) < 0);
}
#pragma omp end declare target
#endif

/* Generic kernels whose main thread checks, and kernels in SPMD mode where each
 * thread does. */
#ifdef _OPENMP
#define WRONG(call) (call)
#else
#define WRONG(call) 0
#endif

#define MAIN_CHECKS(name, call)                                                \
    void rt_##name(args *p)                                                    \
    {                                                                          \
        _Pragma("omp target is_device_ptr(p)")                                 \
        {                                                                      \
            p->out[0] = WRONG(call);                                           \
        }                                                                      \
    }

MAIN_CHECKS(settings, settings(p))
MAIN_CHECKS(memory, memory(p))
MAIN_CHECKS(pools, pools(p))
MAIN_CHECKS(stack, stack(p))
MAIN_CHECKS(more_locks, wrong_locks(p))
MAIN_CHECKS(prepared, wrong_regions(p) + prepared_region(p))
MAIN_CHECKS(task_calls, task_calls(p))
MAIN_CHECKS(output, output(p))

void rt_together(args *p)
{
#pragma omp target parallel is_device_ptr(p)
    {
        int wrong = WRONG(together(p) + wrong_dynamic() + wrong_regions(p));
#pragma omp atomic
        p->out[0] += wrong;
    }
}

void rt_spmd_stack(args *p)
{
#pragma omp target parallel is_device_ptr(p)
    {
        int wrong = WRONG(wrong_stack(omp_get_thread_num()));
#pragma omp atomic
        p->out[0] += wrong;
    }
}

/* LLVM cannot make this SPMD: the main thread allocates between regions. */
void rt_state_machine(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int *q = malloc(N * sizeof *q);
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            q[i] = p->a[i] * 2;
        int s = q[7];
        free(q);
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            p->b[i] += s;
        p->out[0] = s;
    }
}

void rt_task_clauses(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int s = 0, bits = 0, done = 0;
#pragma omp parallel
        {
#pragma omp single
            {
#pragma omp taskgroup task_reduction(+ : s)
                {
                    for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : s) affinity(p->a[0])
                        s += i;
                    }
#pragma omp taskloop in_reduction(+ : s)
                    for (int i = 0; i < 10; i++)
                        s += 2;
                }
#pragma omp task depend(out : p->a[1])
                p->a[1] = 5;
#pragma omp taskwait depend(in : p->a[1])
#pragma omp taskyield
                done += p->a[1];
#ifdef _OPENMP
                omp_event_handle_t event;
#pragma omp task detach(event) shared(done)
                omp_fulfill_event(event);
#pragma omp taskwait
#endif
            }
#pragma omp for reduction(task, + : s)
            for (int i = 0; i < 20; i++) {
#pragma omp task in_reduction(+ : s)
                s += i;
            }
#pragma omp scope reduction(| : bits)
            bits |= 6;
#pragma omp flush
        }
        p->out[0] = s;
        p->out[1] = bits;
        p->out[2] = done;
    }
}

/* Numbers that come out exactly. */
void rt_complexes(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        double _Complex z, w;
        float _Complex x, y;
        double inf = 1e300 * p->v[1] * 1e300;
        __real__ z = p->n, __imag__ z = p->a[3];
        __real__ w = 3, __imag__ w = -4;
        w = z * w / w * w;
        __real__ x = p->a[5], __imag__ x = 2;
        __real__ y = 0.5f, __imag__ y = (float)p->a[4];
        y = x * y / y;
        p->u[0] = __real__ w, p->u[1] = __imag__ w;
        p->u[2] = __real__ y, p->u[3] = __imag__ y;
        __real__ z = inf, __imag__ z = inf;
        w = z * w;
        p->out[0] = (__real__ w > 1e308) * 8 + (__real__ w < -1e308) * 4 +
                    (__imag__ w > 1e308) * 2 + (__imag__ w < -1e308);
        w = (double)p->n / z;
        p->out[1] = __real__ w == 0 && __imag__ w == 0;
        __real__ z = 0, __imag__ z = 0;
        x = (float _Complex)((double)p->n / z);
        p->out[2] = __real__ x > 1e38f;
        __real__ z = 1e-300, __imag__ z = 1e-300;
        w = 1e-300 / z;
        p->u[4] = __real__ w, p->u[5] = __imag__ w;
    }
}
