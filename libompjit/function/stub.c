/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stubs: C functions whose code knows nothing but its slot, which says where to
 * go. Each stub is in a page of code that is written once, and its slot in the
 * page behind, so that no page is ever written and executed at the same time.
 * Pages are kept for the process's life; free stubs are used again.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fork.h"
#include "function/registers.h"

/* The process's free stubs. They are of no context, since a callback may
 * outlive all contexts. */
static struct {
    pthread_mutex_t lock;
    ompjit__call_stub *free;
} stubs = {.lock = PTHREAD_MUTEX_INITIALIZER};
OMPJIT__FORK_TAKES(stubs.lock)

/* Under the lock. The first half of the pages is code, the second has as many
 * slots: both are of 16 bytes. */
static bool add_stubs(void)
{
    _Static_assert(sizeof(ompjit__slot) == OMPJIT__STUB, "half and half");
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = page / OMPJIT__STUB;
    ompjit__call_stub *list = calloc(n, sizeof *list);
    unsigned char *pages =
        list ? mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
             : MAP_FAILED;
    if (pages == MAP_FAILED) {
        free(list);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        list[i].code = pages + i * OMPJIT__STUB;
        list[i].slot = (ompjit__slot *)(void *)(pages + page) + i;
        ompjit__stub_write(list[i].code, list[i].slot);
    }
    if (mprotect(pages, page, PROT_READ | PROT_EXEC)) {
        munmap(pages, 2 * page);
        free(list);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        list[i].next = stubs.free;
        stubs.free = &list[i];
    }
    return true;
}

/* NULL: no memory for more pages. */
ompjit__call_stub *ompjit__call_stub_take(void)
{
    pthread_mutex_lock(&stubs.lock);
    if (!stubs.free)
        add_stubs();
    ompjit__call_stub *stub = stubs.free;
    if (stub)
        stubs.free = stub->next;
    pthread_mutex_unlock(&stubs.lock);
    return stub;
}

/* Takes back a stub. Its code stays as it is, since it only knows the slot's
 * address. */
void ompjit__call_stub_give(ompjit__call_stub *stub)
{
    pthread_mutex_lock(&stubs.lock);
    stub->next = stubs.free;
    stubs.free = stub;
    pthread_mutex_unlock(&stubs.lock);
}
