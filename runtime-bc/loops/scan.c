/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Scans (`reduction(inscan, ...)`), window by window. A window's elements lie in
 * the scan's buffer behind the last element of the window before, number 0. The
 * loops of clang's around this are the pipeline's (libompjit/passes/loops/scan.c):
 *
 *   for each window
 *       each thread fills its elements, a block of the window
 *       ompjit_scan_passes: each thread adds up its block; one thread adds the
 *           blocks' ends up; each thread adds the end before its block to the rest
 *       each thread reads its elements
 *       ompjit_scan_carry: the last element becomes number 0
 *
 * `step` sets an element to what its operator makes of it and of one before it.
 * The work is in proportion to the iterations, not to their logarithm as clang's
 * is, all threads take part, and the buffer stays in a cache.
 */
#include "rt.h"

/* Elements of a window for each thread. On the host those of a thread that is
 * alone stay in the first cache, and others wait for each other rarely. */
#ifdef __NVPTX__
enum { SHARE_ALONE = 1024, SHARE = 16, IS_CPU = 0 };
#else
enum { SHARE_ALONE = 2160, SHARE = 16200, IS_CPU = 1 };
#endif

typedef void scan_step(void *data, uint64_t to, uint64_t from);

/* By what all threads of the team have, so that it is the same before the region
 * and in it. */
INLINE uint64_t window(uint64_t n)
{
    uint32_t threads = plat_ntid();
    uint64_t w = threads == 1 ? SHARE_ALONE : (uint64_t)threads * SHARE;
    return n < w ? n : w;
}

EXPORT uint64_t ompjit_scan_window(uint64_t n)
{
    return window(n);
}

/* Where a window's iterations end, of n, and where a thread's block of it begins. */
INLINE uint64_t window_end(uint64_t n, uint64_t begin)
{
    uint64_t w = window(n);
    return n - begin < w ? n : begin + w;
}
INLINE uint64_t block(uint64_t begin, uint64_t end, uint32_t threads,
                      uint32_t thread)
{
    return begin + (end - begin) * thread / threads;
}

INLINE uint32_t thread_of(uint32_t threads)
{
    return threads == 1 ? 0 : plat_tid();
}

/* The caller's block as a loop of clang's: bounds that are behind the loop where it
 * has none, a stride that leads there, and whether it has the last iteration. */
INLINE bool bounds(uint64_t n, uint64_t begin, uint64_t *lower, uint64_t *upper,
                   uint64_t *stride)
{
    uint32_t threads = threads_here(), thread = thread_of(threads);
    uint64_t last = window_end(n, begin);
    uint64_t first = block(begin, last, threads, thread);
    uint64_t end = block(begin, last, threads, thread + 1);
    bool empty = first == end;
    *lower = empty ? n : first;
    *upper = empty ? n - 1 : end - 1;
    *stride = empty ? 1 : n - first;
    return !empty && end == n;
}

EXPORT void ompjit_scan_bounds_4(int32_t *is_last, int32_t *lower,
                                 int32_t *upper, int32_t *stride, uint64_t n,
                                 uint64_t begin)
{
    uint64_t l, u, s;
    *is_last = bounds(n, begin, &l, &u, &s);
    *lower = (int32_t)l;
    *upper = (int32_t)u;
    *stride = (int32_t)s;
}

EXPORT void ompjit_scan_bounds_8(int32_t *is_last, int64_t *lower,
                                 int64_t *upper, int64_t *stride, uint64_t n,
                                 uint64_t begin)
{
    uint64_t l, u, s;
    *is_last = bounds(n, begin, &l, &u, &s);
    *lower = (int64_t)l;
    *upper = (int64_t)u;
    *stride = (int64_t)s;
}

/* ------------------------------------------------------- one thread's part
 * Elements [first, end), of which the first one is complete or is to stay as it
 * is: sums of a block alone begin there. */

INLINE void chain(scan_step *step, void *data, uint64_t first, uint64_t end)
{
    for (uint64_t i = first + 1; i < end; i++)
        step(data, i, i - 1);
}

/* The same for operators whose result is late, as of floating point: each sum of a
 * chain waits for the one before. A piece is four chains at a time, of which the
 * others then take what is before them: twice the work takes half of the time. Their
 * length is a constant, so that LLVM can tell them apart, and no part of a page, so
 * that the processor can. */
enum { CHAINS = 4, LENGTH = 270 };

INLINE void piece(scan_step *step, void *data, uint64_t first)
{
    for (uint64_t i = first + 1; i < first + LENGTH; i++) {
        step(data, i, i - 1);
        step(data, i + LENGTH, i + LENGTH - 1);
        step(data, i + 2 * LENGTH, i + 2 * LENGTH - 1);
        step(data, i + 3 * LENGTH, i + 3 * LENGTH - 1);
    }
    for (uint32_t k = 1; k < CHAINS; k++) {
        uint64_t begin = first + k * LENGTH;
        for (uint64_t i = begin; i < begin + LENGTH; i++)
            step(data, i, begin - 1);
    }
}

/* The first element of a piece takes all before it, and hands it on. */
INLINE void pieces(scan_step *step, void *data, uint64_t first, uint64_t end)
{
    uint64_t i = first;
    for (; end - i >= CHAINS * LENGTH; i += CHAINS * LENGTH) {
        if (i != first)
            step(data, i, i - 1);
        piece(step, data, i);
    }
    chain(step, data, i == first ? i : i - 1, end);
}

/* --------------------------------------------------------------- together */

/* The last element of a thread's block or, if it has none, of those before it; 0:
 * there is none. */
INLINE uint64_t last_of(uint64_t m, uint32_t threads, uint32_t thread)
{
    return block(1, m + 1, threads, thread + 1) - 1;
}

/* Adds the end of a block, if that has elements, and those before it have some
 * behind `begin`. */
INLINE void add_end(scan_step *step, void *data, uint64_t to, uint64_t from,
                    uint64_t begin)
{
    if (from > begin && to != from)
        step(data, to, from);
}

/* The ends of blocks become those of all before them: threads of a part add up the
 * part's, one thread the ends of parts, and each that of the part before. */
INLINE void add_ends(scan_step *step, void *data, uint64_t m, uint32_t threads,
                     uint32_t thread)
{
    enum { PART = 32 };
    uint32_t begin = thread & ~(PART - 1u);
    uint32_t end = begin + PART < threads ? begin + PART : threads;
    uint64_t before = begin ? last_of(m, threads, begin - 1) : 0;
    if (thread == begin)
        for (uint32_t k = begin + 1; k < end; k++)
            add_end(step, data, last_of(m, threads, k),
                    last_of(m, threads, k - 1), before);
    if (threads <= PART)
        return;
    barrier_here();
    if (thread == 0)
        for (uint32_t k = PART; k < threads; k += PART) {
            uint32_t next = k + PART < threads ? k + PART : threads;
            add_end(step, data, last_of(m, threads, next - 1),
                    last_of(m, threads, k - 1), 0);
        }
    barrier_here();
    uint64_t own = last_of(m, threads, thread);
    if (begin && own != last_of(m, threads, thread - 1) &&
        own != last_of(m, threads, end - 1))
        add_end(step, data, own, before, 0);
}

/* `late`: the operator is one of floating point. */
EXPORT ALWAYS_INLINE void ompjit_scan_passes(scan_step *step, void *data,
                                             uint64_t n, uint64_t begin,
                                             bool late)
{
    uint32_t threads = threads_here(), thread = thread_of(threads);
    uint64_t m = window_end(n, begin) - begin;
    uint64_t first = block(1, m + 1, threads, thread);
    uint64_t end = block(1, m + 1, threads, thread + 1);
    if (first == 1 && first < end && begin > 0)
        step(data, 1, 0);
    if (IS_CPU && late)
        pieces(step, data, first, end);
    else
        chain(step, data, first, end);
    if (threads == 1)
        return;
    barrier_here();
    add_ends(step, data, m, threads, thread);
    barrier_here();
    if (first > 1)
        for (uint64_t i = first; i + 1 < end; i++)
            step(data, i, first - 1);
}

/* `size`: of an element. Every thread has elements in a window that is not the last,
 * so that only this one reads number 0. */
EXPORT void ompjit_scan_carry(void *buffer, uint64_t size, uint64_t n,
                              uint64_t begin)
{
    uint64_t end = window_end(n, begin);
    if (end < n && thread_of(threads_here()) == 0)
        __builtin_memcpy(buffer, (char *)buffer + (end - begin) * size, size);
}

/* Goes on to the next window. False: there is none, and the next scan begins at
 * 0. */
EXPORT bool ompjit_scan_next(uint64_t *begin, uint64_t n)
{
    uint64_t next = window_end(n, *begin);
    bool more = next < n;
    *begin = more ? next : 0;
    if (more && threads_here() != 1)
        barrier_here();
    return more;
}
