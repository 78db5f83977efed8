/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * copyprivate, errors, profiling, and what the hardware itself says:
 * __kmpc_get_* and ompx_*.
 */
#include "rt.h"

/* ------------------------------------------------------------- hardware */

EXPORT NOINLINE uint32_t __kmpc_get_hardware_thread_id_in_block(void)
{
    return plat_tid();
}
EXPORT NOINLINE uint32_t __kmpc_get_hardware_num_threads_in_block(void)
{
    return plat_ntid();
}
EXPORT NOINLINE uint32_t __kmpc_get_hardware_num_blocks(void)
{
    return plat_teams();
}
EXPORT NOINLINE uint32_t __kmpc_get_warp_size(void)
{
    return PLAT_WARP;
}

/* Only bare kernels have more dimensions than one. */
EXPORT int32_t ompx_thread_id(int32_t dimension)
{
    return (int32_t)plat_thread_id(dimension);
}
EXPORT int32_t ompx_block_dim(int32_t dimension)
{
    return (int32_t)plat_block_dim(dimension);
}
EXPORT int32_t ompx_block_id(int32_t dimension)
{
    return (int32_t)plat_block_id(dimension);
}
EXPORT int32_t ompx_grid_dim(int32_t dimension)
{
    return (int32_t)plat_grid_dim(dimension);
}
EXPORT void ompx_sync_block(int32_t ordering)
{
    plat_barrier();
}
EXPORT void ompx_sync_block_acq_rel(void)
{
    plat_barrier();
}
EXPORT void ompx_sync_block_divergent(int32_t ordering)
{
    plat_barrier_apart();
}
EXPORT uint64_t ompx_ballot_sync(uint64_t mask, int32_t predicate)
{
    return plat_ballot((uint32_t)mask, predicate);
}
EXPORT int32_t ompx_shfl_down_sync_i(uint64_t mask, int32_t value,
                                     uint32_t delta, int32_t width)
{
    return plat_shuffle_down((uint32_t)mask, value, delta, (uint32_t)width);
}
EXPORT float ompx_shfl_down_sync_f(uint64_t mask, float value, uint32_t delta,
                                   int32_t width)
{
    int32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits = plat_shuffle_down((uint32_t)mask, bits, delta, (uint32_t)width);
    __builtin_memcpy(&value, &bits, sizeof bits);
    return value;
}
EXPORT int64_t ompx_shfl_down_sync_l(uint64_t mask, int64_t value,
                                     uint32_t delta, int32_t width)
{
    uint32_t low = (uint32_t)plat_shuffle_down((uint32_t)mask, (int32_t)value,
                                               delta, (uint32_t)width);
    int32_t high = plat_shuffle_down((uint32_t)mask, (int32_t)(value >> 32),
                                     delta, (uint32_t)width);
    return (int64_t)((uint64_t)(uint32_t)high << 32 | low);
}
EXPORT double ompx_shfl_down_sync_d(uint64_t mask, double value, uint32_t delta,
                                    int32_t width)
{
    int64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits = ompx_shfl_down_sync_l(mask, bits, delta, width);
    __builtin_memcpy(&value, &bits, sizeof bits);
    return value;
}

/* ---------------------------------------------------------- copyprivate */

static void **SHARED broadcast;

typedef void (*copy_fn)(void **to, void **from);

#ifdef __NVPTX__
/* The variables are in the local memory of one thread, where the others do not
 * reach them, and clang tells no size. So they travel through a slot each, with
 * a mark behind that the largest must not touch. */
enum { SLOT = 4096 };
static const uint64_t slot_mark = 0x9e3779b97f4a7c15;

static void **slots_fill(size_t n, void **vars, copy_fn copy)
{
    char *memory = malloc(n * (sizeof(void *) + SLOT));
    if (!memory)
        plat_fail("out of device memory for copyprivate");
    void **list = (void **)memory;
    for (size_t i = 0; i < n; i++) {
        list[i] = memory + n * sizeof(void *) + i * SLOT;
        *(uint64_t *)((char *)list[i] + SLOT - sizeof slot_mark) = slot_mark;
    }
    copy(list, vars);
    for (size_t i = 0; i < n; i++)
        if (*(uint64_t *)((char *)list[i] + SLOT - sizeof slot_mark) !=
            slot_mark)
            plat_fail("a copyprivate variable is larger than 4088 bytes");
    return list;
}
static void slots_free(void **list)
{
    free(list);
}
#else
/* A thread's stack is ordinary memory. */
static void **slots_fill(size_t n, void **vars, copy_fn copy)
{
    return vars;
}
static void slots_free(void **list)
{
}
#endif

/* After `single`: what the thread with `did_it` has in its variables, all get
 * in theirs. */
EXPORT void __kmpc_copyprivate(ident *loc, int32_t gtid, size_t size,
                               void **vars, copy_fn copy, int32_t did_it)
{
    uint32_t context = context_of(gtid);
    if (!context_is_many(context))
        return;
    if (did_it)
        broadcast = slots_fill(size / sizeof(void *), vars, copy);
    bool cancelled = context_barrier(context);
    if (!did_it && !cancelled)
        copy(vars, broadcast);
    context_barrier(context);
    if (did_it)
        slots_free(broadcast);
}

/* ------------------------------------------------------ errors and output */

EXPORT int32_t __llvm_omp_vprintf(const char *format, void *args, uint32_t size)
{
    return plat_vprintf(format, args);
}

/* The `error` directive: severity 1 warns, 2 ends the kernel. */
EXPORT void __kmpc_error(ident *loc, int32_t severity, const char *message)
{
    enum { FATAL = 2 };
    struct {
        const char *kind, *text;
    } args = {severity == FATAL ? "error" : "warning",
              message ? message : "error directive encountered"};
    plat_vprintf("ompjit: %s: %s\n", &args);
    if (severity == FATAL)
        plat_fail("the error directive ended the kernel");
}

#ifdef __NVPTX__
__attribute__((address_space(4))) const assertion_address
    ompjit_assertion_at WEAK = 0;

/* The driver's function, which NVRTC has assertions call, with a place. */
EXPORT void ompjit_assertfail(const char *expression, const char *file,
                              uint32_t line, const char *function,
                              uint64_t size)
{
    plat_assert_failed(expression, file, line, function);
}
#endif

EXPORT void __assert_fail(const char *expression, const char *file,
                          uint32_t line, const char *function)
{
    plat_assert_failed(expression, file, line, function);
}

/* --------------------------------------------------------------- profiling */

/* clang's instrumentation counts in variables, which passes/counters.c makes
 * atomic and the host reads by their place (api/counts.c). So nothing has to be
 * registered here, as in LLVM's runtime. That pass also replaces the calls that
 * note values, by those of the functions below; one whose record it does not
 * know notes nothing. */
EXPORT void __llvm_profile_register_function(void *data)
{
}
EXPORT void __llvm_profile_register_names_function(void *names, int64_t size)
{
}
EXPORT void __llvm_profile_instrument_memop(int64_t value, void *data,
                                            int32_t index)
{
}

enum { VALUES_KEPT = 8 }; /* OMPJIT__VALUES_KEPT */

static void count_one(uint64_t *counter)
{
    __scoped_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_DEVICE);
}

/* Whether the slot is the key's: it becomes so where it is nobody's. */
static bool takes(uint64_t *slot, uint64_t key)
{
    uint64_t its = __scoped_atomic_load_n(slot, __ATOMIC_RELAXED,
                                          __MEMORY_SCOPE_DEVICE);
    return its == key ||
           (!its && (__scoped_atomic_compare_exchange_n(
                         slot, &its, key, false, __ATOMIC_RELAXED,
                         __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) ||
                     its == key));
}

/* Counts a value at a place: the first VALUES_KEPT different ones by
 * themselves, all others together. A key is a value plus 1; that of the last
 * value would be 0, an empty slot. */
EXPORT void ompjit_count_value(uint64_t value, uint64_t *place)
{
    uint64_t key = value + 1;
    for (int i = 0; key && i < VALUES_KEPT; i++)
        if (takes(&place[2 * i], key)) {
            count_one(&place[2 * i + 1]);
            return;
        }
    count_one(&place[2 * VALUES_KEPT]);
}

/* Counts a function by its number in the image's table, which ends with 0; one
 * that is not there by its address. */
EXPORT void ompjit_count_target(uint64_t address, uint64_t *place,
                                const uint64_t *table)
{
    uint64_t value = 0;
    while (table[value] && table[value] != address)
        value++;
    ompjit_count_value(table[value] ? value : address, place);
}
