/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The pool of the host device's freed blocks: what it keeps, what it serves,
 * and that it never raises the most memory that is in use.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/host/blocks.h"
#include "tap.h"

enum { ALIGN = 512, MB = 1 << 20 };

static size_t held(const ompjit__host_blocks *b)
{
    return b->live + b->pooled;
}

static void serves(void)
{
    ompjit__host_blocks b;
    ompjit__host_blocks_init(&b);
    char *p = ompjit__host_blocks_new(&b, ALIGN, 4 * MB);
    memset(p, 7, 4 * MB);
    ompjit__host_blocks_free(&b, p);
    ok(b.n == 1 && !b.live && b.pooled >= 4 * MB, "a freed block is kept");
    char *q = ompjit__host_blocks_new(&b, ALIGN, 4 * MB - 100 * ALIGN);
    ok(q == p && q[MB] == 7, "and serves a mapping that is a little smaller");
    char *r = ompjit__host_blocks_new(&b, ALIGN, 4 * MB);
    ok(r != q && b.live >= 7 * MB, "one block has one user");
    ompjit__host_blocks_free(&b, q);
    ompjit__host_blocks_free(&b, r);
    ok(ompjit__host_blocks_new(&b, ALIGN, 4 * MB) == r,
       "of equal blocks the one freed last is taken");
    ompjit__host_blocks_free(&b, r);
    char *s = ompjit__host_blocks_new(&b, ALIGN, MB);
    ok(s != p && s != r && (uintptr_t)s % ALIGN == 0,
       "a much larger block is not wasted");
    ompjit__host_blocks_free(&b, s);
    char *small = ompjit__host_blocks_new(&b, 128, 1024);
    unsigned n = b.n;
    ompjit__host_blocks_free(&b, small);
    ompjit__host_blocks_free(&b, NULL);
    ok(b.n == n, "small blocks are malloc's business");
    ompjit__host_blocks_end(&b);
}

static void is_bounded(void)
{
    ompjit__host_blocks b;
    ompjit__host_blocks_init(&b);
    ok(b.most, "the pool is bounded by the machine's memory");
    size_t most = 0;
    for (size_t size = MB; size <= 16 * MB; size += MB) {
        void *p = ompjit__host_blocks_new(&b, ALIGN, size);
        most = most > b.live ? most : b.live;
        if (held(&b) > most)
            break;
        ompjit__host_blocks_free(&b, p);
    }
    ok(held(&b) == most, "ever larger blocks: never more than the largest");
    void *keep = ompjit__host_blocks_new(&b, ALIGN, 16 * MB);
    ompjit__host_blocks_free(&b, keep);
    for (unsigned i = 0; i < 300; i++)
        ompjit__host_blocks_free(&b, ompjit__host_blocks_new(&b, ALIGN, MB));
    ok(b.pooled < 2 * MB, "a block that nobody asks for is given back");
    b.most = 3 * MB;
    void *p[8];
    for (int i = 0; i < 8; i++)
        p[i] = ompjit__host_blocks_new(&b, ALIGN, MB);
    for (int i = 0; i < 8; i++)
        ompjit__host_blocks_free(&b, p[i]);
    ok(b.pooled <= b.most && b.n == 2, "the bound is kept");
    ompjit__host_blocks_free(&b, ompjit__host_blocks_new(&b, ALIGN, 8 * MB));
    ok(b.n == 2, "a block above the bound is not kept");
    ompjit__host_blocks_end(&b);
    ok(!b.n && !b.pooled, "nothing is left at the end");
}

static size_t resident(char *p, size_t size)
{
    static unsigned char pages[512 * MB / 4096];
    size_t n = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    p += -(uintptr_t)p % page;
    if (mincore(p, size - page, pages))
        return size;
    for (size_t i = 0; i < size / page - 1; i++)
        n += pages[i] & 1;
    return n * page;
}

static void stays_empty(void)
{
    ompjit__host_blocks b;
    ompjit__host_blocks_init(&b);
    char *p = ompjit__host_blocks_new(&b, ALIGN, 512 * MB);
    size_t n = resident(p, 512 * MB);
    ok(n <= 64 * MB, "of a block that nobody has used %zu MB are there",
       n / MB);
    ompjit__host_blocks_free(&b, p);
    b.slow_blocks = 2;
    p = ompjit__host_blocks_new(&b, ALIGN, 256 * MB);
    n = resident(p, 256 * MB);
    ok(n <= MB, "none asks for large pages where they are slow: %zu MB",
       n / MB);
    ompjit__host_blocks_free(&b, p);
    ompjit__host_blocks_end(&b);
}

int main(void)
{
    stays_empty();
    serves();
    is_bounded();
    return done_testing();
}
