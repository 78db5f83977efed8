/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Only in the host build: what the lowering calls in place of the NVVM
 * intrinsics of a kernel's own code, ompjit_nvvm_<intrinsic>.
 */
#include "rt.h"

#define QUERY(name, expression)                                                \
    EXPORT uint32_t ompjit_nvvm_##name(void)                                   \
    {                                                                          \
        return expression;                                                     \
    }

QUERY(tid_x, plat_thread_id(0))
QUERY(tid_y, plat_thread_id(1))
QUERY(tid_z, plat_thread_id(2))
QUERY(ntid_x, plat_block_dim(0))
QUERY(ntid_y, plat_block_dim(1))
QUERY(ntid_z, plat_block_dim(2))
QUERY(ctaid_x, plat_block_id(0))
QUERY(ctaid_y, plat_block_id(1))
QUERY(ctaid_z, plat_block_id(2))
QUERY(nctaid_x, plat_grid_dim(0))
QUERY(nctaid_y, plat_grid_dim(1))
QUERY(nctaid_z, plat_grid_dim(2))
QUERY(warpsize, PLAT_WARP)
QUERY(laneid, plat_lane())
QUERY(lanemask_eq, 1u << plat_lane())
QUERY(lanemask_lt, (1u << plat_lane()) - 1)
QUERY(lanemask_le, (2u << plat_lane()) - 1)
QUERY(lanemask_gt, -(2u << plat_lane()))
QUERY(lanemask_ge, -(1u << plat_lane()))
QUERY(activemask, ompjit_host_active_mask())
QUERY(clock, (uint32_t)plat_nanoseconds())

EXPORT uint64_t ompjit_nvvm_clock64(void)
{
    return plat_nanoseconds();
}
EXPORT uint64_t ompjit_nvvm_globaltimer(void)
{
    return plat_nanoseconds();
}

/* ------------------------------------------------- barriers and fences */

EXPORT void ompjit_nvvm_barrier0(void)
{
    plat_barrier();
}
EXPORT void ompjit_nvvm_barrier_sync(uint32_t id)
{
    ompjit_host_barrier(id, 0);
}
EXPORT void ompjit_nvvm_barrier(uint32_t id, uint32_t n)
{
    ompjit_host_barrier(id, n);
}
EXPORT void ompjit_nvvm_bar_warp_sync(uint32_t mask)
{
    ompjit_host_warp_sync(mask);
}
EXPORT void ompjit_nvvm_membar_cta(void)
{
    plat_fence_team();
}
EXPORT void ompjit_nvvm_membar_gl(void)
{
    plat_fence_device();
}
EXPORT void ompjit_nvvm_membar_sys(void)
{
    plat_fence_system();
}
EXPORT void ompjit_nvvm_nanosleep(uint32_t nanoseconds)
{
    ompjit_host_yield();
}
EXPORT void ompjit_nvvm_trap(void)
{
    ompjit_host_trap("the kernel executed a trap");
}
/* Ending one thread of a team in the middle of the kernel is not supported by
 * the engine. */
EXPORT void ompjit_nvvm_exit(void)
{
    ompjit_host_trap("the kernel executed an exit instruction");
}

/* ------------------------------------------ shuffles: PTX ISA, shfl.sync */

/* `c` holds the clamp in its low five bits and, from bit 8, the lane bits that
 * all lanes of a segment have in common. */
INLINE int32_t shuffle(uint32_t mask, int32_t value, int32_t from, bool inside)
{
    uint32_t lane = plat_lane();
    return (int32_t)ompjit_host_shuffle(mask, (uint32_t)value,
                                        inside ? (uint32_t)from : lane);
}
INLINE int32_t segment_last(uint32_t c)
{
    uint32_t segment = c >> 8 & 31;
    return (int32_t)((plat_lane() & segment) | (c & 31 & ~segment));
}
EXPORT int32_t ompjit_nvvm_shfl_sync_idx_i32(uint32_t mask, int32_t value,
                                             uint32_t b, uint32_t c)
{
    uint32_t segment = c >> 8 & 31;
    int32_t from = (int32_t)((plat_lane() & segment) | (b & 31 & ~segment));
    return shuffle(mask, value, from, from <= segment_last(c));
}
EXPORT int32_t ompjit_nvvm_shfl_sync_up_i32(uint32_t mask, int32_t value,
                                            uint32_t b, uint32_t c)
{
    int32_t from = (int32_t)(plat_lane() - (b & 31));
    return shuffle(mask, value, from, from >= segment_last(c));
}
EXPORT int32_t ompjit_nvvm_shfl_sync_down_i32(uint32_t mask, int32_t value,
                                              uint32_t b, uint32_t c)
{
    int32_t from = (int32_t)(plat_lane() + (b & 31));
    return shuffle(mask, value, from, from <= segment_last(c));
}
EXPORT int32_t ompjit_nvvm_shfl_sync_bfly_i32(uint32_t mask, int32_t value,
                                              uint32_t b, uint32_t c)
{
    int32_t from = (int32_t)(plat_lane() ^ (b & 31));
    return shuffle(mask, value, from, from <= segment_last(c));
}

/* ---------------------------------------------------------------- votes */

/* The lanes that exist are read between two shuffles: all lanes of the mask have
 * come to the first one, and none can leave the kernel before the next. */
EXPORT uint32_t plat_ballot(uint32_t mask, bool predicate)
{
    uint32_t set = 0, exist = 1u << plat_lane();
    for (uint32_t lane = 0, last = 31 - (uint32_t)__builtin_clz(mask | 1);
         lane < PLAT_WARP; lane++) {
        if (!(mask >> lane & 1))
            continue;
        if (lane == last)
            exist |= ompjit_host_active_mask();
        if (ompjit_host_shuffle(mask, predicate, lane))
            set |= 1u << lane;
    }
    return set & exist;
}
EXPORT uint32_t ompjit_nvvm_vote_ballot_sync(uint32_t mask, bool predicate)
{
    return plat_ballot(mask, predicate);
}
EXPORT bool ompjit_nvvm_vote_any_sync(uint32_t mask, bool predicate)
{
    return plat_ballot(mask, predicate) != 0;
}
EXPORT bool ompjit_nvvm_vote_all_sync(uint32_t mask, bool predicate)
{
    return plat_ballot(mask, !predicate) == 0;
}

/* CUDA's device-side printf, which clang calls with packed arguments. */
EXPORT int32_t vprintf(const char *format, void *args)
{
    return ompjit_host_vprintf(format, args);
}
