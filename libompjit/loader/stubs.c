/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Blocks of stubs. One mapping has the slots, which are written, and behind them,
 * from a page on, the code, which is not:
 *
 *   slots    the address that each stub jumps to
 *   common   where stubs come to whose function is not there yet
 *   stubs
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/stubs.h"

struct ompjit__stubs {
    ompjit__stubs_find *find;
    void *data;
    unsigned char *memory;
    size_t size, code; /* `code`: where it begins */
};

#if !defined __x86_64__ && !defined __aarch64__
const size_t ompjit__stub_size = 0, ompjit__stub_common_size = 0;

void ompjit__stub_put_common(unsigned char *common, ompjit__stubs *stubs)
{
}

void *ompjit__stub_put(unsigned char *stub, void *const *slot, size_t i,
                       const unsigned char *common, ompjit__stubs *stubs)
{
    return NULL;
}
#endif

static uint64_t nothing(void)
{
    return 0;
}

void *ompjit__stub_nothing(void)
{
    return (void *)nothing;
}

bool ompjit__stubs_supported(void)
{
    return ompjit__stub_size != 0;
}

static _Atomic(void *) *slot_of(const ompjit__stubs *stubs, size_t i)
{
    return (_Atomic(void *) *)(void *)stubs->memory + i;
}

static unsigned char *place_of(const ompjit__stubs *stubs, size_t i)
{
    return stubs->memory + stubs->code + ompjit__stub_common_size +
           i * ompjit__stub_size;
}

/* The code can be executed and is not written from here on. */
static bool write_code(ompjit__stubs *stubs, size_t n)
{
    unsigned char *common = stubs->memory + stubs->code;
    ompjit__stub_put_common(common, stubs);
    for (size_t i = 0; i < n; i++) {
        void *const *slot = (void *const *)(void *)stubs->memory + i;
        atomic_init(slot_of(stubs, i),
                    ompjit__stub_put(place_of(stubs, i), slot, i, common,
                                     stubs));
    }
    size_t size = stubs->size - stubs->code;
    __builtin___clear_cache((char *)common, (char *)common + size);
    return !mprotect(common, size, PROT_READ | PROT_EXEC);
}

ompjit__stubs *ompjit__stubs_new(size_t n, ompjit__stubs_find *find, void *data)
{
    enum { MOST = 16384 }; /* of which each reaches its slot on all CPUs */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ompjit__stubs *stubs = ompjit__stubs_supported() && n <= MOST
                               ? calloc(1, sizeof *stubs)
                               : NULL;
    if (!stubs)
        return NULL;
    stubs->find = find;
    stubs->data = data;
    stubs->code = (n * sizeof(void *) + page - 1) / page * page;
    stubs->size =
        stubs->code + ompjit__stub_common_size + n * ompjit__stub_size;
    stubs->memory = mmap(NULL, stubs->size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stubs->memory == MAP_FAILED) {
        free(stubs);
        return NULL;
    }
    if (!write_code(stubs, n)) {
        ompjit__stubs_free(stubs);
        return NULL;
    }
    return stubs;
}

void ompjit__stubs_free(ompjit__stubs *stubs)
{
    if (stubs)
        munmap(stubs->memory, stubs->size);
    free(stubs);
}

void *ompjit__stub(const ompjit__stubs *stubs, size_t i)
{
    return place_of(stubs, i);
}

void ompjit__stub_set(ompjit__stubs *stubs, size_t i, void *function)
{
    atomic_store_explicit(slot_of(stubs, i), function, memory_order_release);
}

/* The caller knows nothing of this call: errno stays. */
void *ompjit__stub_enter(ompjit__stubs *stubs, size_t i)
{
    int before = errno;
    void *function = stubs->find(stubs->data, i);
    errno = before;
    return function;
}
