/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Allocators of host code. LLVM 22's omp.h numbers the default memory space
 * 99, libomp up to LLVM 19's numbers it 0, and a memory space, trait or value
 * that libomp does not know aborts the process. Only the making of allocators
 * is affected: the predefined ones have the same numbers in both, and the
 * handles of the others are libomp's own pointers.
 */
#include <stdlib.h>

#include "device/engine/libomp.h"
#include "hosthalf/program_code.h"

/* omp_alloctrait_t of omp.h. clang's host code passes an array of these, so the
 * layout is ABI: a key of 4 bytes, 4 of padding, a value of 8. */
struct trait {
    int32_t key;
    uint64_t value;
};

/* omp_alloctrait_key_t, the omp_atv_ values of a fallback, and memory spaces,
 * as libomp's omp.h numbers them. */
enum {
    KEY_SYNC_HINT = 1,
    KEY_ALIGNMENT,
    KEY_ACCESS,
    KEY_POOL_SIZE,
    KEY_FALLBACK,
    KEY_FB_DATA,
    KEY_PINNED,
    KEY_PARTITION, /* the last one of OpenMP 5.2 */

    FALLBACK_FIRST = 11,
    FALLBACK_LAST = 14,

    SPACE_DEFAULT = 99, /* in LLVM 22's omp.h; 0 to 4 before */
    SPACE_LOW_LAT = 4,
    SPACE_TARGET_FIRST = 100,
    SPACE_TARGET_LAST = 102
};

/* omp_atv_default: the program leaves this trait to the implementation. */
static const uint64_t value_default = (uint64_t)-1;

/* Those of OpenMP 6.0 and values that ask for the default say nothing that
 * libomp has to know. */
static bool matters(const struct trait *trait)
{
    return trait->value != value_default && trait->key >= KEY_SYNC_HINT &&
           trait->key <= KEY_PARTITION;
}

/* False where libomp's check of the value would abort: an alignment has to be a
 * power of two, and a fallback one of the four that there are. */
static bool valid(const struct trait *trait)
{
    uint64_t v = trait->value;
    if (trait->key == KEY_ALIGNMENT)
        return v && !(v & (v - 1));
    if (trait->key == KEY_FALLBACK)
        return v >= FALLBACK_FIRST && v <= FALLBACK_LAST;
    return true;
}

/* False where libomp would abort. `*space` becomes the number that the loaded
 * libomp has for it. A libomp that exports omp_default_mem_space tells the
 * number itself. */
static bool translate_space(const struct ompjit__libomp *omp, uint64_t *space)
{
    uint64_t space_default =
        omp->omp_default_mem_space ? *omp->omp_default_mem_space : 0;
    if (*space == SPACE_DEFAULT || *space == 0)
        *space = space_default;
    return *space == space_default || *space <= SPACE_LOW_LAT ||
           (*space >= SPACE_TARGET_FIRST && *space <= SPACE_TARGET_LAST);
}

/* __kmpc_init_allocator. 0 is omp_null_allocator: the specification's answer
 * to what cannot be had. An allocator of a target memory space is the
 * predefined one, whose number is the space's (omp_alloc_device.c). */
static uint64_t kmpc_init_allocator(int32_t gtid, uint64_t space, int32_t n,
                                    const struct trait *traits)
{
    const struct ompjit__libomp *omp;
    if (n < 0 || ompjit__libomp(&omp, NULL) || !omp->kmpc_init_allocator ||
        !translate_space(omp, &space))
        return 0;
    if (space >= SPACE_TARGET_FIRST && space <= SPACE_TARGET_LAST)
        return space;
    struct trait *kept = calloc((size_t)n + 1, sizeof *kept);
    int32_t nkept = 0;
    bool good = kept != NULL;
    for (int32_t i = 0; good && i < n; i++) {
        if (!matters(&traits[i]))
            continue;
        good = valid(&traits[i]);
        kept[nkept++] = traits[i];
    }
    void *allocator = NULL;
    if (good)
        allocator = omp->kmpc_init_allocator(gtid, space, nkept, kept);
    free(kept);
    return (uintptr_t)allocator;
}

/* The API's form of the same, which has no thread number. libomp numbers the
 * calling thread here, and registers it where it is new. */
static uint64_t omp_init_allocator(uint64_t space, int32_t n,
                                   const struct trait *traits)
{
    const struct ompjit__libomp *omp;
    if (ompjit__libomp(&omp, NULL))
        return 0;
    return kmpc_init_allocator(omp->kmpc_global_thread_num(NULL), space, n,
                               traits);
}

/* Neither takes the context: host allocators are libomp's, which knows no
 * contexts. A signature is as in abi/served.h. */
const ompjit__served ompjit__alloc_table[] = {
    {"__kmpc_init_allocator", (void *)kmpc_init_allocator, false,
     "l:ilip"},
    {"omp_init_allocator", (void *)omp_init_allocator, false, "l:lip"},
};
const size_t ompjit__alloc_count = OMPJIT__COUNT(ompjit__alloc_table);
