/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The interface between the host build of the device runtime and the library's
 * host engine (libompjit/device/engine/). The runtime's bitcode calls the
 * functions; the engine defines them as absolute symbols of the JIT.
 *
 * A device thread is a fiber, or the calling OS thread itself where a team has
 * one thread. Fibers of a team may be on several OS threads: what they share
 * needs atomics and these barriers, as on a GPU. A fiber never changes its OS thread, so what
 * ompjit_host_self() returns is constant during one call of a kernel.
 */
#ifndef OMPJIT_HOST_ABI_H
#define OMPJIT_HOST_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OMPJIT_HOST_WARP 32
#define OMPJIT_HOST_MAX_THREADS 1024 /* of a team */

/* tid while code runs that does its work for several threads at a time */
#define OMPJIT_HOST_NO_THREAD UINT32_MAX

typedef struct ompjit_host_thread {
    uint32_t tid;      /* in the team: x + nx * (y + ny * z)              */
    uint32_t ntid;     /* threads in the team                             */
    uint32_t ctaid;    /* the team: x + nx * (y + ny * z)                 */
    uint32_t nctaid;   /* teams in the launch                             */
    uint32_t ntid3[3]; /* the geometry as it was given                    */
    uint32_t nctaid3[3];
    char *shared;      /* the team's static shared memory                 */
    char *dynamic;     /* its dynamic shared memory, 16-byte aligned      */
    uint32_t dynamic_size;
    uint32_t shared_size;
    void *check;      /* the engine's, of a launch that is checked        */
} ompjit_host_thread;

/* The calling device thread. */
ompjit_host_thread *ompjit_host_self(void) __attribute__((const));

/* Waits until `n` threads of the team (0: all) have come to barrier `id`
 * (0 to 15). Threads that have returned from the kernel are not waited for
 * where n is 0. */
void ompjit_host_barrier(uint32_t id, uint32_t n);

/* Waits until all lanes of `mask` in the caller's warp have come here. Lanes
 * that do not exist or have ended are not waited for. Orders memory. */
void ompjit_host_warp_sync(uint32_t mask);

/* Every lane of `mask` gives `value` and gets the value that lane `source`
 * gave; its own where that lane does not exist or is not in `mask`. */
uint64_t ompjit_host_shuffle(uint32_t mask, uint64_t value, uint32_t source);

/* The lanes of the caller's warp that exist and have not ended. */
uint32_t ompjit_host_active_mask(void);

/* Called in every turn of a loop that waits for another thread. */
void ompjit_host_yield(void);

/* Ends the kernel with an error; does not return. */
void ompjit_host_trap(const char *message) __attribute__((noreturn));

/* The same for an assertion. */
void ompjit_host_assert_failed(const char *expression, const char *file,
                               uint32_t line, const char *function)
    __attribute__((noreturn));

/* The holder of a lock: the mark of the launch, in a word's upper bits, and the
 * device thread's number in the lower OMPJIT_HOST_LOCK_THREAD_BITS; not 0. Both
 * and a count of OMPJIT_HOST_LOCK_NEST_BITS fit in 64 bits. */
#define OMPJIT_HOST_LOCK_THREAD_BITS 20
#define OMPJIT_HOST_LOCK_NEST_BITS 20
uint64_t ompjit_host_lock_holder(void) __attribute__((const));

/* Has the launch with that mark failed? Nobody will drop what it holds. */
bool ompjit_host_lock_lost(uint32_t mark);

/* malloc, for kernels under that name: clang keeps variables there that other
 * threads may see, so recursion comes by here, and must not overflow the stack
 * inside of the C library, where nothing could be saved. */
void *ompjit_host_malloc(size_t size);

/* Seconds of the monotonic clock, and its resolution; nanoseconds. */
double ompjit_host_wtime(void);
uint64_t ompjit_host_clock(void);

/* printf of device code: `args` is clang's packed argument buffer (each
 * argument at its natural alignment). Returns what printf returns. */
int32_t ompjit_host_vprintf(const char *format, const void *args);

/* The C library's function of the complex number x + y i and, for cpow, of
 * a + b i. A real result has an imaginary part of 0. */
enum ompjit_complex_function {
#define COMPLEX_TO_COMPLEX(g) OMPJIT_COMPLEX_##g,
#define COMPLEX_TO_REAL(g) OMPJIT_COMPLEX_##g,
#include "libc/complex_math.def"
#undef COMPLEX_TO_COMPLEX
#undef COMPLEX_TO_REAL
    OMPJIT_COMPLEX_cpow
};
double _Complex ompjit_complex(uint32_t function, double x, double y, double a,
                               double b) __attribute__((const));
double _Complex ompjit_complexf(uint32_t function, float x, float y, float a,
                                float b) __attribute__((const));

#endif
