/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One GPU reads another's memory, where the two can: copies go straight then,
 * else through the host (CUDA C++ Programming Guide, "Peer-to-Peer Memory
 * Copy"). That is switched on once for each pair, in the primary contexts, and
 * stays: the application may have come to rely on it.
 *
 * Access is one-way: the GPU that reads asks for it. cuCtxEnablePeerAccess
 * works on the current context, hence between enter and leave of that GPU.
 */
#include "device/cuda/cuda.h"

/* Memory of a pool is opened by itself. Peer access to a context does not cover
 * memory of its pools. */
static void open_pool(ompjit__gpu *gpu, ompjit__gpu *other)
{
    const ompjit__cuda_pool_access access = {
        {OMPJIT__CU_MEM_LOCATION_TYPE_DEVICE, gpu->device},
        OMPJIT__CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    cu_pool pool = ompjit__gpu_pool(other);
    if (!pool || !gpu->cu->cuMemPoolSetAccess)
        return;
    cu_result r = gpu->cu->cuMemPoolSetAccess(pool, (void *)&access, 1);
    if (r)
        ompjit__gpu_log(gpu, "cuMemPoolSetAccess", r,
                        "reading another GPU's pool");
}

/* One thread tries for each pair; another that copies meanwhile goes through
 * the host, as cuMemcpyPeerAsync does without access. The 65th GPU and later
 * ones are not tried. */
void ompjit__gpu_open_peer(ompjit__gpu *gpu, ompjit__gpu *other)
{
    const ompjit__cuda *cu = gpu->cu;
    uint64_t bit =
        other->ordinal < 64 ? UINT64_C(1) << other->ordinal : 0;
    int can = 0;
    if (other == gpu || !bit || atomic_fetch_or(&gpu->peers, bit) & bit)
        return;
    const char *function = "cuDeviceCanAccessPeer";
    cu_result r =
        cu->cuDeviceCanAccessPeer(&can, gpu->device, other->device);
    if (!r && !can)
        return;
    if (!r) {
        function = "cuCtxEnablePeerAccess";
        r = cu->cuCtxEnablePeerAccess(other->context, 0);
    }
    if (!r || r == OMPJIT__CUDA_PEER_ACCESS_ALREADY_ENABLED)
        open_pool(gpu, other);
    else
        ompjit__gpu_log(gpu, function, r, "reading another GPU's memory");
}
