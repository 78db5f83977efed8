/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory that the threads of a team see: the arguments of a generic kernel's
 * parallel regions, and the variables that clang "globalizes" because another
 * thread may get their address.
 */
#include "alignment.h"
#include "rt.h"

/* ----------------------------------------------------------------- memory */

enum { UNIT = OMPJIT__CLANGS_ALIGN };

/* As far as accesses on this device need it. */
INLINE uint32_t alignment_of(uint64_t size)
{
    return ompjit__alignment_of(size, PLAT_ALIGN);
}

/* Takes memory from the heap, whose blocks are aligned to a UNIT. In front of
 * memory that starts later than its block is the block's address. NULL: there is
 * none. */
INLINE void *heap_take(uint64_t size)
{
    uint32_t align = alignment_of(size);
    if (align == UNIT)
        return malloc(size ? size : 1);
    char *block = malloc(size + align);
    if (!block)
        return NULL;
    char *p = block + (align - ((uintptr_t)block & (align - 1)));
    ((void **)p)[-1] = block;
    return p;
}

INLINE void heap_give(void *p, uint64_t size)
{
    free(alignment_of(size) == UNIT ? p : ((void **)p)[-1]);
}

/* ---------------------------------------------- arguments for the workers */

static void *SHARED argument_space[SHARED_ARGUMENTS];
static void **SHARED arguments;

/* Device memory for longer lists, kept from region to region until the kernel
 * ends. Its first word is how many there is room for. */
static void **SHARED long_list;

static NOINLINE void **take_long_list(size_t n)
{
    void **list = long_list;
    if (!list || (size_t)list[0] < n) {
        free(list);
        list = malloc((n + 1) * sizeof *list);
        if (!list)
            plat_fail("out of device memory for a parallel region's "
                      "arguments");
        list[0] = (void *)n;
        long_list = list;
    }
    return list + 1;
}

void ompjit_arguments_deinit(void)
{
    if (long_list)
        free(long_list);
}

/* Called by the main thread only. */
EXPORT void __kmpc_begin_sharing_variables(void ***args, size_t n)
{
    arguments = n <= SHARED_ARGUMENTS ? (void **)argument_space
                                      : take_long_list(n);
    *args = arguments;
}
EXPORT void __kmpc_end_sharing_variables(void)
{
}
EXPORT void __kmpc_get_shared_variables(void ***args)
{
    *args = arguments;
}
EXPORT void __kmpc_get_shared_variables_aggregate(void **args)
{
    *args = arguments[0];
}

/* ---------------------------------------------------- globalized variables */

/* A generic kernel's main thread has the arena for itself. In an SPMD kernel
 * it is cut into equal parts, as each thread has its own variables. A part's
 * first byte says how much of it is in use and by how many variables. A
 * region's workers, and whatever does not fit, get device memory. */
enum { ARENA = 2304, MAX_COUNT = 15 };
static SHARED __attribute__((aligned(PLAT_ALIGN))) unsigned char arena[ARENA];
static SHARED uint32_t main_top, main_count;

EXPORT void ompjit_share_init(bool spmd)
{
    if (spmd) {
        arena[plat_tid()] = 0;
    } else {
        long_list = NULL;
        main_top = 0;
        main_count = 0;
    }
}

INLINE uint32_t round_up(uint64_t size)
{
    return (uint32_t)((size + UNIT - 1) & ~(uint64_t)(UNIT - 1));
}

static void *part_alloc(uint32_t size)
{
    uint32_t n = plat_ntid(), base = round_up(n);
    uint32_t part = (ARENA - base) / n & ~(UNIT - 1u);
    uint32_t used = arena[plat_tid()] >> 4, count = arena[plat_tid()] & 15;
    uint32_t at = base + part * plat_tid() + used * UNIT;
    if (used + size / UNIT > MAX_COUNT || used * UNIT + size > part ||
        count == MAX_COUNT || at % alignment_of(size))
        return NULL;
    used += size / UNIT;
    arena[plat_tid()] = (unsigned char)(used << 4 | (count + 1));
    return (unsigned char *)arena + at;
}
/* All of the part is free again when its last variable goes. */
static void part_free(void)
{
    uint32_t count = (arena[plat_tid()] & 15) - 1;
    arena[plat_tid()] =
        (unsigned char)(count ? (arena[plat_tid()] & 0xf0) | count : 0);
}

static void *main_alloc(uint32_t size)
{
    uint32_t align = alignment_of(size);
    uint32_t top = (main_top + align - 1) & ~(align - 1);
    if (top > ARENA || size > ARENA - top)
        return NULL;
    main_top = top + size;
    main_count++;
    return (unsigned char *)arena + top;
}
/* In the reverse order of allocation space is free at once. */
static void main_free(unsigned char *p, uint32_t size)
{
    uint32_t at = (uint32_t)(p - (unsigned char *)arena);
    if (--main_count == 0)
        main_top = 0;
    else if (at + size == main_top)
        main_top = at;
}

/* A variable in device memory: where there is no room elsewhere, and where the
 * pipeline calls it in place of __kmpc_alloc_shared
 * (libompjit/passes/sharing/shared_budget.c). */
EXPORT void *ompjit_alloc_global(size_t size)
{
    void *p = heap_take(size);
    if (!p)
        plat_fail("out of device memory for a shared variable");
    return p;
}

EXPORT void ompjit_free_global(void *p, size_t size)
{
    heap_give(p, size);
}

EXPORT NOINLINE void *__kmpc_alloc_shared(size_t size)
{
    void *p = NULL;
    uint32_t rounded = round_up(size ? size : 1);
    if (size <= ARENA) {
        if (is_spmd())
            p = part_alloc(rounded);
        else if (plat_tid() == main_tid())
            p = main_alloc(rounded);
    }
    return p ? p : ompjit_alloc_global(size);
}

/* The variables of functions that may call themselves
 * (libompjit/passes/sharing/recursive_locals.cc). */
EXPORT NOINLINE void *ompjit_alloc_recursive(size_t size)
{
    return __kmpc_alloc_shared(size);
}

EXPORT NOINLINE void __kmpc_free_shared(void *p, size_t size)
{
    unsigned char *begin = (unsigned char *)arena;
    if ((unsigned char *)p < begin || (unsigned char *)p >= begin + ARENA)
        ompjit_free_global(p, size);
    else if (is_spmd())
        part_free();
    else
        main_free(p, round_up(size ? size : 1));
}

/* One variable for all threads of the team, which in an SPMD kernel are all
 * here: the pipeline calls these where clang would have each thread have its
 * own copy (libompjit/passes/sharing/lastprivate.c). */
static void *SHARED of_team;

EXPORT NOINLINE void *ompjit_alloc_of_team(size_t size)
{
    if (plat_tid() == 0 && !(of_team = heap_take(size)))
        plat_fail("out of device memory for a variable of a team");
    plat_barrier();
    void *p = of_team;
    plat_barrier(); /* the next one is stored only then */
    return p;
}

EXPORT NOINLINE void ompjit_free_of_team(void *p, size_t size)
{
    plat_barrier();
    if (plat_tid() == 0)
        heap_give(p, size);
}

/* Likewise one for all threads of the region that the caller is in, for the
 * buffer of a scan (libompjit/passes/loops/scan.c). A thread that is alone has its
 * own.
 */
EXPORT NOINLINE void *ompjit_alloc_of_region(size_t size)
{
    void *p;
    if (threads_here() == 1) {
        if (!(p = heap_take(size)))
            plat_fail("out of device memory for the buffer of a scan");
        return p;
    }
    if (plat_tid() == 0 && !(of_team = heap_take(size)))
        plat_fail("out of device memory for the buffer of a scan");
    barrier_here();
    p = of_team;
    barrier_here();
    return p;
}

EXPORT NOINLINE void ompjit_free_of_region(void *p, size_t size)
{
    bool alone = threads_here() == 1;
    if (!alone)
        barrier_here();
    if (alone || plat_tid() == 0)
        heap_give(p, size);
}

/* One of the region's threads makes a scan's passes; all wait for it. */
EXPORT NOINLINE bool ompjit_scan_begin(void)
{
    return threads_here() == 1 || plat_tid() == 0;
}

EXPORT NOINLINE void ompjit_scan_end(void)
{
    if (threads_here() != 1)
        barrier_here();
}
