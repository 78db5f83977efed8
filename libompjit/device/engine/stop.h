/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How a launch on the host device is stopped while it runs: because a thread of
 * it has failed, because somebody aborts it, or because its time is over.
 *
 * A kernel that computes asks nobody whether it may go on. To stop it, its code
 * is closed: made not executable. Each of its OS threads faults at the next
 * instruction of the kernel, or when a function of the C library returns to the
 * kernel, and the fault handler (fault.c) has it leave. No lock of the library
 * that such a function holds is lost. When the last thread has left, the
 * launching thread opens the code; other launches that came upon the closed
 * code have waited for that in the fault handler.
 *
 * An OS thread that launches has a watch, in which others find its launch and
 * ask it to stop. They ask by a signal, as only the launching thread knows that
 * its launch has not ended meanwhile.
 */
#ifndef OMPJIT_HOST_STOP_H
#define OMPJIT_HOST_STOP_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Why a launch stops. */
enum ompjit__stop {
    OMPJIT__STOP_NOT,
    OMPJIT__STOP_FAILED,  /* a thread of it has trapped */
    OMPJIT__STOP_ABORTED,
    OMPJIT__STOP_TIMEOUT,
    OMPJIT__STOPS
};

/* The code of one image, in whole pages; begin is 0 where nobody knows it. */
typedef struct ompjit__host_code {
    uintptr_t begin, end;
    _Atomic uint32_t closers;  /* launches that keep it closed */
    _Atomic uint32_t closings; /* times that it has been closed */
} ompjit__host_code;

struct ompjit__host_launch;

typedef struct ompjit__host_watch {
    struct ompjit__host_watch *next; /* of all that there are; for ever */
    _Atomic int thread;              /* the OS thread's number; 0: nobody's */
    bool own;                        /* own_watch of that thread */
    bool closed;                     /* the launch keeps its code closed */
    /* Written by the OS thread alone: odd while it has a launch, and one more
     * whenever that changes; what others know the launch by, and the launch,
     * which only its own OS threads may look at. */
    _Atomic uint64_t serial;
    const void *_Atomic device, *_Atomic kernel;
    struct ompjit__host_launch *launch;
    /* Written by whoever stops it: the serial * OMPJIT__STOPS + enum
     * ompjit__stop. */
    _Atomic uint64_t stop;
    /* The serial and the mark of the launch's locks, as lock.c has it. */
    _Atomic uint64_t lock_mark;
    /* A signal that asks the OS thread is on its way to it. */
    _Atomic bool asked;
    /* The launch in which this OS thread takes part. */
    struct ompjit__host_watch *_Atomic serves;
} ompjit__host_watch;

/* The calling OS thread's; NULL before its first launch. In static TLS, for
 * signal handlers. */
extern _Thread_local ompjit__host_watch *ompjit__own_watch
    __attribute__((tls_model("initial-exec")));

/* A watch for a launch when own_watch has none free; NULL: out of memory. */
ompjit__host_watch *ompjit__watch_new(void);
/* After a launch that was to be stopped, or had no own watch: opens its
 * code. */
void ompjit__watch_clear(ompjit__host_watch *w);

static inline uint64_t ompjit__serial_of(const ompjit__host_watch *w)
{
    return atomic_load_explicit(&w->serial, memory_order_relaxed);
}

static inline void ompjit__serial_advance(ompjit__host_watch *w)
{
    atomic_store_explicit(&w->serial, ompjit__serial_of(w) + 1,
                          memory_order_release);
}

/* Why the launch that w has now has to stop; w NULL: nobody watches it. */
static inline enum ompjit__stop ompjit__stopped(const ompjit__host_watch *w)
{
    if (!w)
        return OMPJIT__STOP_NOT;
    uint64_t stop = atomic_load_explicit(&w->stop, memory_order_relaxed);
    return stop / OMPJIT__STOPS == ompjit__serial_of(w)
               ? (enum ompjit__stop)(stop % OMPJIT__STOPS)
               : OMPJIT__STOP_NOT;
}

/* `device` and `kernel` are compared with what an abort names. NULL: out of
 * memory. */
static inline ompjit__host_watch *
ompjit__watch_begin(const void *device, const void *kernel,
                    struct ompjit__host_launch *launch)
{
    ompjit__host_watch *w = ompjit__own_watch;
    if (!w || ompjit__serial_of(w) % 2)
        w = ompjit__watch_new();
    if (!w)
        return NULL;
    atomic_store_explicit(&w->device, device, memory_order_relaxed);
    atomic_store_explicit(&w->kernel, kernel, memory_order_relaxed);
    w->launch = launch;
    ompjit__serial_advance(w);
    return w;
}

/* When all OS threads have left it. A signal that comes after the first step
 * finds no launch. */
static inline void ompjit__watch_end(ompjit__host_watch *w)
{
    bool stopped = ompjit__stopped(w);
    ompjit__serial_advance(w);
    atomic_signal_fence(memory_order_seq_cst);
    if (stopped || w->closed || !w->own)
        ompjit__watch_clear(w);
}

/* The calling OS thread takes part in that launch, NULL: in none. Makes it a
 * watch of its own where it has none. */
void ompjit__watch_serve(ompjit__host_watch *w);

/* From a device thread that has failed: the other OS threads of the launch
 * leave, too. */
void ompjit__stop_others(ompjit__host_watch *w);

/* Stops what runs for the device, of that kernel or (NULL) of any. False: the
 * process's signal handlers are not the library's. In signal handlers, too. */
bool ompjit__stop_all(const void *device, const void *kernel,
                      enum ompjit__stop why);
/* Stops the launches of the calling thread. False: as above. In signal handlers,
 * too. */
bool ompjit__stop_own(enum ompjit__stop why);
/* Stops launch `serial` if it still runs. */
bool ompjit__stop_one(ompjit__host_watch *w, uint64_t serial,
                      enum ompjit__stop why);

/* In a signal handler: is that signal one of ours, which asks the calling
 * thread to stop? Does so. */
bool ompjit__stop_taken(const siginfo_t *info);
/* When the thread is out of a kernel that it had to leave: it gets no further
 * signals. */
void ompjit__stop_left(void);
/* Waits, for half a second at most, until no signal is on its way to a thread:
 * the process's own handlers would not know it. */
void ompjit__stop_settle(void);
/* In the handler of SIGSEGV: what becomes of an access to `address` by the
 * instruction at `pc`, in the launch that w watches. */
enum ompjit__closed {
    OMPJIT__CLOSED_NOT,   /* it is another fault    */
    OMPJIT__CLOSED_LEAVE, /* the launch is to stop  */
    OMPJIT__CLOSED_AGAIN  /* it was closed for others, and is open */
};
enum ompjit__closed ompjit__closed_at(ompjit__host_watch *w, uintptr_t pc,
                                      uintptr_t address);

#endif
