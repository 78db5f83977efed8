/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Freed blocks keep their pages for the next mapping of about the same size,
 * which the kernel would otherwise have to zero again, one fault for each. The
 * pool never raises the most memory that the device has used: a block that it
 * cannot serve is allocated after as much was given back. A block that was not
 * asked for while many others were freed is given back too.
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "device/host/blocks.h"

/* Bytes from which a block is pooled, and the age at which it is given back. */
enum { LARGE = 64 << 10, OLD = 256 /* frees */ };

/* The pool has at most an eighth of the machine's memory. */
void ompjit__host_blocks_init(ompjit__host_blocks *b)
{
    enum { PART = 8 }; /* of the machine's memory */
    *b = (ompjit__host_blocks){0};
    ompjit__fork_lock_init(&b->at_fork, &b->lock);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    b->most = pages > 0 && page > 0 ? (size_t)pages / PART * (size_t)page : 0;
}

/* Moves those behind it, which keeps their order by age. */
static void take_out(ompjit__host_blocks *b, unsigned i)
{
    b->pooled -= b->pool[i].size;
    b->n--;
    for (; i < b->n; i++)
        b->pool[i] = b->pool[i + 1];
}

/* To the C library. */
static void give_back(ompjit__host_blocks *b, unsigned i)
{
    void *block = b->pool[i].block;
    take_out(b, i);
    free(block);
}

void ompjit__host_blocks_end(ompjit__host_blocks *b)
{
    while (b->n)
        give_back(b, 0);
    ompjit__fork_lock_end(&b->at_fork);
}

/* Writes to a page for the first time. Returns nanoseconds of CPU time. */
static uint64_t time_first_touch(volatile char *page)
{
    struct timespec t[2];
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[0]);
    *page = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[1]);
    return (uint64_t)(t[1].tv_sec - t[0].tv_sec) * 1000000000u +
           (uint64_t)t[1].tv_nsec - (uint64_t)t[0].tv_nsec;
}

/* Arrays take large pages, where the system gives some to who asks: what goes
 * through several of them in blocks needs more small ones than a processor
 * remembers. In a virtual machine a large page can cost several times as much
 * as the small ones in its place, when the host has to find memory for it. So
 * a large block asks for its parts one after another, and for no more when the
 * first page of a part has been slow. Under the lock. */
static void use_large_pages(ompjit__host_blocks *b, void *p, size_t size)
{
    enum { LARGE_PAGE = 2 << 20, LEAST_PART = 4 * LARGE_PAGE, PARTS = 16 };
    enum { SLOW = 1000000 /* ns */, SLOW_BLOCKS = 2 /* until none asks */ };
    uintptr_t begin = (uintptr_t)p + LARGE_PAGE - 1;
    uintptr_t end = (uintptr_t)p + size;
    begin -= begin % LARGE_PAGE;
    end -= end % LARGE_PAGE;
    size_t part = size / PARTS < LEAST_PART ? LEAST_PART : size / PARTS;
    part -= part % LARGE_PAGE;
    for (; begin < end && b->slow_blocks < SLOW_BLOCKS; begin += part) {
        size_t length = end - begin < part ? end - begin : part;
        madvise((void *)begin, length, MADV_HUGEPAGE);
        if (time_first_touch((char *)begin) > SLOW) {
            madvise((void *)begin, length, MADV_NOHUGEPAGE);
            b->slow_blocks++;
            return;
        }
    }
}

/* The smallest block that fits and wastes little, and of equals the one freed
 * last, whose contents may still be cached. Under the lock. */
static void *from_pool(ompjit__host_blocks *b, size_t align, size_t size)
{
    size_t best = size + size / 8 + LARGE;
    unsigned at = b->n;
    for (unsigned i = 0; i < b->n; i++) {
        const struct ompjit__pooled *p = &b->pool[i];
        if (p->size >= size && p->size <= best &&
            (uintptr_t)p->block % align == 0) {
            best = p->size;
            at = i;
        }
    }
    if (at == b->n)
        return NULL;
    void *block = b->pool[at].block;
    b->live += b->pool[at].size;
    take_out(b, at);
    return block;
}

/* Under the lock. The oldest blocks are given back first; if there is still no
 * memory, the latest ones too. */
static void *allocate(ompjit__host_blocks *b, size_t align, size_t size)
{
    while (b->n && b->live + b->pooled + size > b->peak)
        give_back(b, 0);
    void *p = aligned_alloc(align, size);
    while (!p && b->n) {
        give_back(b, b->n - 1);
        p = aligned_alloc(align, size);
    }
    if (!p)
        return NULL;
    use_large_pages(b, p, size);
    b->live += malloc_usable_size(p);
    return p;
}

/* NULL: no memory. Small blocks are the C library's alone. */
void *ompjit__host_blocks_new(ompjit__host_blocks *b, size_t align, size_t size)
{
    if (size < LARGE)
        return aligned_alloc(align, size);
    pthread_mutex_lock(&b->lock);
    void *p = from_pool(b, align, size);
    if (!p)
        p = allocate(b, align, size);
    if (b->live > b->peak)
        b->peak = b->live;
    pthread_mutex_unlock(&b->lock);
    return p;
}

/* Under the lock: blocks that are too many, too old or too large all together.
 */
static void trim(ompjit__host_blocks *b)
{
    while (b->n && (b->pooled > b->most || b->n == OMPJIT__POOLED_BLOCKS ||
                    b->frees - b->pool[0].freed > OLD))
        give_back(b, 0);
}

/* Accepts NULL. A block larger than the whole pool is not kept. */
void ompjit__host_blocks_free(ompjit__host_blocks *b, void *block)
{
    size_t size = block ? malloc_usable_size(block) : 0;
    if (size < LARGE) {
        free(block);
        return;
    }
    pthread_mutex_lock(&b->lock);
    b->frees++;
    b->live -= size < b->live ? size : b->live;
    if (size > b->most) {
        free(block);
    } else {
        trim(b);
        b->pool[b->n++] =
            (struct ompjit__pooled){block, size, b->frees};
        b->pooled += size;
        trim(b);
    }
    pthread_mutex_unlock(&b->lock);
}
