/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory: omp_alloc and its relatives, allocators with traits, and the memory
 * that the whole kernel gets as dynamic shared memory.
 *
 * Memory of access pteam or cgroup comes from a pool in shared memory while
 * that lasts; everything else is device memory, which is what the other
 * predefined allocators' preferences come down to. A block has a header, so
 * that it can be freed without being told its allocator.
 */
#include "rt.h"

/* omp_allocator_handle_t: predefined, or the address of an allocator. */
enum { CGROUP_MEM = 6, PTEAM_MEM = 7, LAST_PREDEFINED = 1023 };

/* omp_alloctrait_key_t, and values of the traits that mean something here */
enum { KEY_ALIGNMENT = 2, KEY_ACCESS, KEY_POOL_SIZE, KEY_FALLBACK, KEY_FB_DATA };
enum { ACCESS_PTEAM = 9, ACCESS_CGROUP = 10 };
enum { FB_DEFAULT = 11, FB_NULL, FB_ABORT, FB_ALLOCATOR };

typedef struct alloctrait {
    int32_t key;
    uint64_t value;
} alloctrait;

typedef struct allocator {
    uint64_t alignment; /* at least of this power of two   */
    uint64_t pool_size; /* bytes in use at most            */
    uint64_t used;      /* of them, atomic                 */
    uint64_t fb_data;
    uint32_t fallback, shared;
} allocator;

typedef struct block {
    void *memory; /* what the header and the block are a part of */
    uint64_t size;
    uint64_t allocator;
    uint64_t whole; /* bytes from `memory`, if it is of the pool */
} block;

static block *block_of(void *p)
{
    return (block *)p - 1;
}

/* ---------------------------------------------------- the pool of a team */

/* Blocks are taken from its end; it is empty again when the last one goes. */
enum { POOL = 2048, POOL_COUNT = 1 << 16 };
static SHARED __attribute__((aligned(16))) unsigned char pool[POOL];
static SHARED uint32_t pool_state; /* bytes in use, and blocks * POOL_COUNT */

EXPORT void ompjit_pool_init(void)
{
    pool_state = 0;
}

static bool is_in_pool(const void *p)
{
    const unsigned char *begin = (const unsigned char *)pool;
    return (const unsigned char *)p >= begin &&
           (const unsigned char *)p < begin + POOL;
}

/* Replaces *seen by `next` if it is still the pool's state. */
INLINE bool pool_change(uint32_t *seen, uint32_t next)
{
    return __scoped_atomic_compare_exchange_n(&pool_state, seen, next, false,
                                              __ATOMIC_ACQ_REL,
                                              __ATOMIC_RELAXED,
                                              __MEMORY_SCOPE_WRKGRP);
}
INLINE uint32_t pool_look(void)
{
    return __scoped_atomic_load_n(&pool_state, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_WRKGRP);
}

static void *pool_take(uint64_t whole)
{
    uint32_t state = pool_look(), top;
    do {
        top = state & (POOL_COUNT - 1);
        if (whole > POOL - top)
            return NULL;
    } while (!pool_change(&state, state + POOL_COUNT + (uint32_t)whole));
    return (unsigned char *)pool + top;
}
static void pool_give(unsigned char *p, uint32_t whole)
{
    uint32_t at = (uint32_t)(p - (unsigned char *)pool);
    uint32_t state = pool_look(), next;
    do {
        next = state - POOL_COUNT;
        if (next < POOL_COUNT)
            next = 0;
        else if ((next & (POOL_COUNT - 1)) == at + whole)
            next -= whole;
    } while (!pool_change(&state, next));
}

/* ------------------------------------------------------------ allocators */

static allocator *custom(uint64_t handle)
{
    return handle > LAST_PREDEFINED ? (allocator *)handle : NULL;
}

EXPORT uint64_t omp_init_allocator(uint64_t memspace, int32_t n,
                                   const alloctrait *traits)
{
    allocator *a = malloc(sizeof *a);
    if (!a)
        return 0;
    *a = (allocator){.alignment = 1, .pool_size = ~0ull,
                     .fallback = FB_DEFAULT};
    for (int32_t i = 0; i < n; i++) {
        uint64_t value = traits[i].value;
        switch (traits[i].key) {
        case KEY_ALIGNMENT: a->alignment = value; break;
        case KEY_POOL_SIZE: a->pool_size = value; break;
        case KEY_FB_DATA: a->fb_data = value; break;
        case KEY_FALLBACK: a->fallback = (uint32_t)value; break;
        case KEY_ACCESS:
            a->shared = value == ACCESS_PTEAM || value == ACCESS_CGROUP;
            break;
        }
    }
    return (uint64_t)a;
}
EXPORT void omp_destroy_allocator(uint64_t handle)
{
    free(custom(handle));
}

INLINE bool take_share(allocator *a, uint64_t size)
{
    if (a->pool_size == ~0ull)
        return true;
    uint64_t before = __scoped_atomic_fetch_add(
        &a->used, size, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    if (before + size <= a->pool_size)
        return true;
    __scoped_atomic_fetch_sub(&a->used, size, __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_DEVICE);
    return false;
}
INLINE void give_share(allocator *a, uint64_t size)
{
    if (a->pool_size != ~0ull)
        __scoped_atomic_fetch_sub(&a->used, size, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_DEVICE);
}

/* ---------------------------------------------------------------- blocks */

/* `align` is a power of two. NULL where the memory is not there. */
static void *block_new(uint64_t align, uint64_t size, uint64_t handle,
                       bool shared)
{
    enum { UNIT = 16, HUGE = 1 << 30 };
    uint64_t whole;
    if (align < UNIT)
        align = UNIT;
    if (align > HUGE ||
        __builtin_add_overflow(size, sizeof(block) + align - 1, &whole))
        return NULL;
    whole = (whole + UNIT - 1) & ~(uint64_t)(UNIT - 1);
    char *memory = shared ? pool_take(whole) : malloc(whole);
    if (!memory)
        return NULL;
    uintptr_t at = (uintptr_t)memory + sizeof(block) + align - 1;
    block *b = (block *)(at & ~(align - 1)) - 1;
    b->memory = memory;
    b->size = size;
    b->allocator = handle;
    b->whole = whole;
    return b + 1;
}

static NOINLINE void *plain_block(uint64_t align, uint64_t size)
{
    return block_new(align, size, ALLOCATOR_DEFAULT, false);
}

static void *shared_block(uint64_t align, uint64_t size, uint64_t handle)
{
    void *p = block_new(align, size, handle, true);
    return p ? p : plain_block(align, size);
}

static NOINLINE void *custom_block(uint64_t align, uint64_t size,
                                   uint64_t handle)
{
    enum { MAX_FALLBACKS = 8 };
    for (int i = 0; i < MAX_FALLBACKS; i++) {
        allocator *a = custom(handle);
        if (!a)
            return handle == PTEAM_MEM || handle == CGROUP_MEM
                       ? shared_block(align, size, handle)
                       : plain_block(align, size);
        uint64_t most = align > a->alignment ? align : a->alignment;
        void *p = NULL;
        if (take_share(a, size)) {
            p = block_new(most, size, handle, a->shared);
            if (p)
                return p;
            give_share(a, size);
        }
        if (a->fallback == FB_ABORT)
            plat_fail("an allocator with the trait abort_fb has no memory");
        if (a->fallback == FB_NULL)
            return NULL;
        handle = a->fallback == FB_ALLOCATOR ? a->fb_data : ALLOCATOR_DEFAULT;
    }
    return NULL;
}

/* The function that every allocation comes to. 0 is the null allocator. */
INLINE void *allocate(uint64_t align, uint64_t size, uint64_t handle)
{
    if (!size || align & (align - 1))
        return NULL;
    if (!handle)
        handle = omp_get_default_allocator();
    if (handle < CGROUP_MEM)
        return plain_block(align, size);
    return custom_block(align, size, handle);
}
INLINE void *allocate_zero(uint64_t align, uint64_t n, uint64_t size,
                           uint64_t handle)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    void *p = allocate(align, bytes, handle);
    if (p)
        __builtin_memset(p, 0, bytes);
    return p;
}

EXPORT void omp_free(void *p, uint64_t handle)
{
    if (!p)
        return;
    block *b = block_of(p);
    allocator *a = custom(b->allocator);
    if (a)
        give_share(a, b->size);
    if (is_in_pool(b->memory))
        pool_give(b->memory, (uint32_t)b->whole);
    else
        free(b->memory);
}

/* The null allocator stands for the one that the block is of. */
EXPORT void *omp_realloc(void *p, uint64_t size, uint64_t handle,
                         uint64_t free_handle)
{
    if (!p)
        return allocate(1, size, handle);
    const block *b = block_of(p);
    void *to = size ? allocate(1, size, handle ? handle : b->allocator) : NULL;
    if (to)
        __builtin_memcpy(to, p, size < b->size ? size : b->size);
    if (to || !size)
        omp_free(p, free_handle);
    return to;
}
EXPORT void *omp_alloc(uint64_t size, uint64_t handle)
{
    return allocate(1, size, handle);
}
EXPORT void *omp_aligned_alloc(uint64_t align, uint64_t size, uint64_t handle)
{
    return allocate(align, size, handle);
}
EXPORT void *omp_calloc(uint64_t n, uint64_t size, uint64_t handle)
{
    return allocate_zero(1, n, size, handle);
}
EXPORT void *omp_aligned_calloc(uint64_t align, uint64_t n, uint64_t size,
                                uint64_t handle)
{
    return allocate_zero(align, n, size, handle);
}

/* --------------------------------------------- the same for clang's calls */

EXPORT void *__kmpc_alloc(int32_t gtid, uint64_t size, void *handle)
{
    return allocate(1, size, (uint64_t)handle);
}
EXPORT void *__kmpc_aligned_alloc(int32_t gtid, uint64_t align, uint64_t size,
                                  void *handle)
{
    return allocate(align, size, (uint64_t)handle);
}
EXPORT void *__kmpc_calloc(int32_t gtid, uint64_t n, uint64_t size,
                           void *handle)
{
    return allocate_zero(1, n, size, (uint64_t)handle);
}
EXPORT void *__kmpc_realloc(int32_t gtid, void *p, uint64_t size, void *handle,
                            void *free_handle)
{
    return omp_realloc(p, size, (uint64_t)handle, (uint64_t)free_handle);
}
EXPORT void __kmpc_free(int32_t gtid, void *p, void *handle)
{
    omp_free(p, (uint64_t)handle);
}
EXPORT void *__kmpc_init_allocator(int32_t gtid, void *memspace, int32_t n,
                                   const alloctrait *traits)
{
    return (void *)omp_init_allocator((uint64_t)memspace, n, traits);
}
EXPORT void __kmpc_destroy_allocator(int32_t gtid, void *handle)
{
    omp_destroy_allocator((uint64_t)handle);
}
EXPORT void __kmpc_set_default_allocator(int32_t gtid, void *handle)
{
    omp_set_default_allocator((uint64_t)handle);
}
EXPORT void *__kmpc_get_default_allocator(int32_t gtid)
{
    return (void *)omp_get_default_allocator();
}

/* -------------------------------------------------- dynamic shared memory */

EXPORT void *__kmpc_get_dynamic_shared(void)
{
    return plat_dynamic_shared();
}
EXPORT void *llvm_omp_target_dynamic_shared_alloc(void)
{
    return plat_dynamic_shared();
}
EXPORT void *llvm_omp_get_dynamic_shared(void)
{
    return plat_dynamic_shared();
}
