/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Occupancy: known cases for every architecture, bad arguments, and, where the
 * CUDA toolkit is, the same numbers as its own cuda_occupancy.h for a sweep of
 * registers, shared memory and threads.
 */
#include <limits.h>

#include "targets/arch.h"
#include "core/core.h"
#include "ompjit_tune.h"
#include "tap.h"

static ompjit_error err;

static ompjit_occupancy of(const char *arch, uint32_t registers,
                           uint32_t shared, uint32_t threads)
{
    ompjit_resources use = {.size = sizeof use,
                            .registers = registers,
                            .shared_static = shared};
    ompjit_occupancy o = OMPJIT_OCCUPANCY_INIT;
    if (ompjit_occupancy_get(arch, &use, threads, 0, &o, &err))
        o.teams = UINT_MAX;
    return o;
}

/* By hand, from the Programming Guide's table. */
static void known(void)
{
    static const struct {
        const char *arch;
        uint32_t registers, shared, threads, teams, limits;
    } rows[] = {
        {"sm_90", 32, 0, 128, 16, OMPJIT_LIMIT_WARPS | OMPJIT_LIMIT_REGISTERS},
        {"sm_90", 16, 0, 32, 32, OMPJIT_LIMIT_TEAMS},
        {"sm_90", 16, 0, 256, 8, OMPJIT_LIMIT_WARPS},
        {"sm_90", 64, 0, 256, 4, OMPJIT_LIMIT_REGISTERS},
        {"sm_90", 255, 0, 128, 2, OMPJIT_LIMIT_REGISTERS},
        {"sm_90", 65, 0, 1024, 0, OMPJIT_LIMIT_REGISTERS},
        {"sm_90", 16, 100 << 10, 128, 2, OMPJIT_LIMIT_SHARED},
        {"sm_90", 16, 227 << 10, 128, 1, OMPJIT_LIMIT_SHARED},
        {"sm_90", 16, (227 << 10) + 1, 128, 0, OMPJIT_LIMIT_SHARED},
        {"sm_75", 32, 0, 1024, 1, OMPJIT_LIMIT_WARPS},
        {"sm_75", 16, 16 << 10, 64, 4, OMPJIT_LIMIT_SHARED},
        {"sm_80", 16, 0, 64, 32, OMPJIT_LIMIT_WARPS | OMPJIT_LIMIT_TEAMS},
        {"sm_86", 16, 0, 32, 16, OMPJIT_LIMIT_TEAMS},
        {"sm_89", 16, 0, 32, 24, OMPJIT_LIMIT_TEAMS},
        {"sm_100", 40, 0, 1024, 1, OMPJIT_LIMIT_REGISTERS},
        {"K40", 36, 233, 128, 12, OMPJIT_LIMIT_REGISTERS},
        {"sm_35", 42, 353, 128, 10, OMPJIT_LIMIT_REGISTERS},
        {"K40-16KB", 16, 1769, 128, 9, OMPJIT_LIMIT_SHARED},
        {"P100", 31, 233, 128, 16, OMPJIT_LIMIT_WARPS | OMPJIT_LIMIT_REGISTERS},
        {"h200", 16, 0, 32, 32, OMPJIT_LIMIT_TEAMS},
        {"sm_120", 40, 0, 1024, 1, OMPJIT_LIMIT_WARPS | OMPJIT_LIMIT_REGISTERS},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit_occupancy o = of(rows[i].arch, rows[i].registers,
                                rows[i].shared, rows[i].threads);
        ok(o.teams == rows[i].teams && o.limits == rows[i].limits &&
               o.warps == o.teams * ((rows[i].threads + 31) / 32),
           "%s, %u registers, %u bytes, %u threads: %u teams, limits %u",
           rows[i].arch, rows[i].registers, rows[i].shared, rows[i].threads,
           o.teams, o.limits);
    }
}

static void arguments(void)
{
    ompjit_resources use = OMPJIT_RESOURCES_INIT;
    ompjit_occupancy o = OMPJIT_OCCUPANCY_INIT;
    ompjit_arch_info info = OMPJIT_ARCH_INFO_INIT;
    for (size_t i = 0; ompjit__arch_at(i); i++)
        ok(ompjit__arch_at(i)->triple ||
               (!ompjit_arch_info_get(ompjit__arch_at(i)->name, &info, &err) &&
                info.warps && info.shared > info.team_shared - 1),
           "%s is in the table", ompjit__arch_at(i)->name);
    ok(ompjit_arch_info_get("host", &info, &err) == OMPJIT_ERR_TARGET,
       "the host has no multiprocessors");
    ok_contains(err.text, "host is no GPU", "it is said");
    ok(ompjit_occupancy_get("sm_9", &use, 32, 0, &o, &err) ==
           OMPJIT_ERR_TARGET,
       "no such architecture");
    ok_contains(err.text, "there are sm_75", "those there are are listed");
    ok(ompjit_occupancy_get("sm_90", &use, 0, 0, &o, &err) ==
               OMPJIT_ERR_GEOMETRY &&
           ompjit_occupancy_get("sm_90", &use, 1025, 0, &o, &err) ==
               OMPJIT_ERR_GEOMETRY,
       "no threads, too many");
    ok(ompjit_occupancy_get("sm_90", NULL, 32, 0, &o, &err) ==
               OMPJIT_ERR_INVALID &&
           ompjit_occupancy_get("sm_90", &use, 32, 0, NULL, &err) ==
               OMPJIT_ERR_INVALID &&
           ompjit_arch_info_get("sm_90", NULL, &err) == OMPJIT_ERR_INVALID,
       "NULL");
    o.size = 3;
    ok(ompjit_occupancy_get("sm_90", &use, 32, 0, &o, &err) ==
           OMPJIT_ERR_INVALID,
       "a wrong size");
    ok_contains(err.text, "size is 3", "it is said");
}

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>

static void set_properties(const char *arch, cudaOccDeviceProp *p)
{
    ompjit_arch_info info = OMPJIT_ARCH_INFO_INIT;
    int number = atoi(arch + strlen("sm_"));
    ompjit_arch_info_get(arch, &info, &err);
    *p = (cudaOccDeviceProp){
        .computeMajor = number / 10,
        .computeMinor = number % 10,
        .maxThreadsPerBlock = 1024,
        .maxThreadsPerMultiprocessor = (int)info.threads,
        .regsPerBlock = 65536,
        .regsPerMultiprocessor = (int)info.registers,
        .warpSize = 32,
        .sharedMemPerBlock = 48 << 10,
        .sharedMemPerMultiprocessor = info.shared,
        .numSms = 1,
        .sharedMemPerBlockOptin = info.team_shared,
        .reservedSharedMemPerBlock = info.team_reserved};
}

/* How many of the sweep differ. */
static int differences(const char *arch, int *compared)
{
    cudaOccDeviceProp p;
    cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_NONE,
                                .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
    int wrong = 0;
    set_properties(arch, &p);
    for (int registers = 0; registers < 256; registers += 3)
        for (int shared = 0; shared <= 230 << 10; shared += 3000)
            for (int threads = 1; threads <= 1024; threads += 31) {
                cudaOccFuncAttributes a = {
                    .maxThreadsPerBlock = 1024,
                    .numRegs = registers,
                    .sharedSizeBytes = 0,
                    .partitionedGCConfig = PARTITIONED_GC_OFF,
                    .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                    .maxDynamicSharedSizeBytes = (size_t)shared};
                cudaOccResult r;
                if (cudaOccMaxActiveBlocksPerMultiprocessor(
                        &r, &p, &a, &state, threads, (size_t)shared))
                    continue;
                ++*compared;
                wrong += of(arch, (uint32_t)registers, (uint32_t)shared,
                            (uint32_t)threads).teams !=
                         (uint32_t)r.activeBlocksPerMultiprocessor;
            }
    return wrong;
}

static void as_cuda(void)
{
    for (size_t i = 0; ompjit__arch_at(i); i++) {
        const char *arch = ompjit__arch_at(i)->name;
        int compared = 0;
        if (ompjit__arch_at(i)->triple)
            continue;
        int wrong = differences(arch, &compared);
        ok(!wrong && compared > 10000,
           "%s: %d cases as CUDA has them, %d not", arch, compared, wrong);
    }
}
#else
static void as_cuda(void)
{
    ok(1, "as CUDA has it # SKIP no cuda_occupancy.h");
}
#endif

int main(void)
{
    known();
    arguments();
    as_cuda();
    return done_testing();
}
