/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Watches, and the closing and opening of code. Code here that signal handlers
 * reach takes no lock but `closing`, under which all signals are blocked, and
 * calls nothing that is not a system call.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device/engine/fault.h"
#include "device/engine/thread.h"

typedef ompjit__host_watch watch;

_Thread_local watch *ompjit__own_watch
    __attribute__((tls_model("initial-exec")));

static struct {
    watch *_Atomic first; /* all watches; none is ever taken out */
    pthread_once_t once;
    pthread_key_t key;
    bool has_key;
} all = {.once = PTHREAD_ONCE_INIT};

static int thread_number(void)
{
    return (int)syscall(SYS_gettid);
}

/* ---------------------------------------------------------------- watches */

/* For the end of an OS thread: its watch is anybody's then. */
static void free_own(void *w)
{
    ompjit__own_watch = NULL;
    ((watch *)w)->own = false;
    atomic_store(&((watch *)w)->thread, 0);
}

static atomic_flag closing = ATOMIC_FLAG_INIT;

/* A child has one thread, with another number. */
static void after_fork(void)
{
    int mine = thread_number();
    atomic_flag_clear(&closing);
    for (watch *w = atomic_load(&all.first); w; w = w->next) {
        atomic_store(&w->serves, NULL);
        atomic_store(&w->asked, false);
        atomic_store(&w->thread, w == ompjit__own_watch ? mine : 0);
        if (w != ompjit__own_watch && ompjit__serial_of(w) % 2)
            ompjit__serial_advance(w);
    }
}

/* Handlers of fork cannot be removed, so both are made once. */
static void make_key(void)
{
    all.has_key = !pthread_key_create(&all.key, free_own);
    pthread_atfork(NULL, NULL, after_fork);
}

/* One that is nobody's, for the calling thread. */
static watch *take(void)
{
    int mine = thread_number();
    for (watch *w = atomic_load(&all.first); w; w = w->next) {
        int nobody = 0;
        if (atomic_compare_exchange_strong(&w->thread, &nobody, mine)) {
            atomic_store(&w->asked, false);
            return w;
        }
    }
    watch *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    atomic_init(&w->thread, mine);
    w->next = atomic_load(&all.first);
    while (!atomic_compare_exchange_weak(&all.first, &w->next, w))
        continue;
    return w;
}

/* A launch from within a kernel has a watch beside that of its thread, to its
 * end. */
watch *ompjit__watch_new(void)
{
    watch *w = take();
    if (!w || ompjit__own_watch)
        return w;
    pthread_once(&all.once, make_key);
    if (all.has_key && !pthread_setspecific(all.key, w)) {
        w->own = true;
        ompjit__own_watch = w;
    }
    return w;
}

/* `w` NULL: the OS thread takes part in no launch any more. */
void ompjit__watch_serve(watch *w)
{
    watch *own = ompjit__own_watch ? ompjit__own_watch
                 : w               ? ompjit__watch_new()
                                   : NULL;
    if (own)
        atomic_store_explicit(&own->serves, w, memory_order_relaxed);
    if (!w)
        ompjit__stop_left();
}

/* ----------------------------------------------------- closing and opening */

/* In signal handlers, too: with all signals blocked nobody on this thread asks
 * for it again. Few threads do at a time, so it spins. */
static void lock(sigset_t *before)
{
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, before);
    while (atomic_flag_test_and_set_explicit(&closing, memory_order_acquire))
        sched_yield();
}

static void unlock(const sigset_t *before)
{
    atomic_flag_clear_explicit(&closing, memory_order_release);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Pages of the image's code; kernels of other images go on. */
static bool protect(const ompjit__host_code *code, int how)
{
    return !mprotect((void *)code->begin, code->end - code->begin, how);
}

/* From here on every instruction of the image faults. Several launches may
 * close the same code; it is open again when all have ended. */
static void close_code(watch *w)
{
    ompjit__host_code *code = w->launch->code;
    sigset_t before;
    if (!code || !code->begin || !ompjit__fault_signal())
        return;
    lock(&before);
    if (!w->closed && (code->closers || protect(code, PROT_READ))) {
        code->closings += !code->closers;
        w->closed = true;
        code->closers++;
    }
    unlock(&before);
}

/* When the launch has ended: nobody of it is in the code. */
static void open_code(watch *w)
{
    ompjit__host_code *code = w->launch->code;
    sigset_t before;
    lock(&before);
    if (w->closed && code->closers == 1)
        protect(code, PROT_READ | PROT_EXEC);
    code->closers -= w->closed;
    w->closed = false;
    unlock(&before);
}

/* For the end of a launch. The OS thread's own watch is kept for its next. */
void ompjit__watch_clear(watch *w)
{
    ompjit__stop_left(); /* a launch may end by itself after all */
    if (w->closed)
        open_code(w);
    if (!w->own)
        atomic_store(&w->thread, 0);
}

/* ----------------------------------------------------------------- asking */

/* The value of the signal that asks; its address tells it from others. */
static char request;

/* A thread that has ended meanwhile is asked in vain. */
static void ask(watch *w, int number)
{
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    int thread = atomic_load(&w->thread);
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = &request;
    if (!thread)
        return;
    atomic_store(&w->asked, true);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, number, &info))
        atomic_store(&w->asked, false);
}

/* Has a thread been asked that has not had its signal yet? */
static bool any_asked(void)
{
    for (watch *w = atomic_load(&all.first); w; w = w->next)
        if (atomic_load(&w->asked) && atomic_load(&w->thread))
            return true;
    return false;
}

/* Before handlers go: a signal that comes later would end the process. It waits
 * about half a second at most. */
void ompjit__stop_settle(void)
{
    enum { NAPS = 10000 };
    static const struct timespec nap = {.tv_nsec = 50000};
    for (int i = 0; i < NAPS && any_asked(); i++)
        nanosleep(&nap, NULL);
}

/* The first to stop the launch says why. */
static bool mark(watch *w, uint64_t serial, enum ompjit__stop why)
{
    uint64_t now = atomic_load(&w->stop);
    do {
        if (now / OMPJIT__STOPS >= serial)
            return false;
    } while (!atomic_compare_exchange_weak(&w->stop, &now,
                                           serial * OMPJIT__STOPS + why));
    return true;
}

/* When the code is closed: the OS threads that take part leave the system calls
 * in which the kernel has them wait. */
static void interrupt_helpers(const watch *w)
{
    int number = ompjit__fault_signal();
    for (watch *x = atomic_load(&all.first); x && number; x = x->next)
        if (atomic_load(&x->serves) == w)
            ask(x, number);
}

/* True also where the launch has ended, or is to stop already. False: no
 * handler is installed. */
bool ompjit__stop_one(watch *w, uint64_t serial, enum ompjit__stop why)
{
    int number = ompjit__fault_signal();
    if (!number || atomic_load(&w->serial) != serial || !mark(w, serial, why))
        return number != 0;
    ask(w, number);
    return true;
}

/* `kernel` NULL: all of the device's. */
bool ompjit__stop_all(const void *device, const void *kernel,
                      enum ompjit__stop why)
{
    for (watch *w = atomic_load(&all.first); w; w = w->next) {
        uint64_t serial = atomic_load(&w->serial);
        bool meant = atomic_load(&w->device) == device &&
                     (!kernel || atomic_load(&w->kernel) == kernel);
        if (serial % 2 && meant && atomic_load(&w->serial) == serial &&
            !ompjit__stop_one(w, serial, why))
            return false;
    }
    return ompjit__fault_signal() != 0;
}

bool ompjit__stop_own(enum ompjit__stop why)
{
    int mine = thread_number();
    for (watch *w = atomic_load(&all.first); w; w = w->next) {
        uint64_t serial = atomic_load(&w->serial);
        if (atomic_load(&w->thread) == mine && serial % 2 &&
            !ompjit__stop_one(w, serial, why))
            return false;
    }
    return ompjit__fault_signal() != 0;
}

/* After a failure in one thread of a launch that runs on several. */
void ompjit__stop_others(watch *w)
{
    if (!w || !w->launch->shared ||
        !mark(w, atomic_load(&w->serial), OMPJIT__STOP_FAILED))
        return;
    close_code(w);
    interrupt_helpers(w);
}

/* ------------------------------------------------------ in signal handlers */

/* A thread that was about to wait in a system call when the signal came waits
 * after it. So it gets the signal again and again until it is out. */
static _Thread_local struct {
    int timer;
    bool runs;
} nudge __attribute__((tls_model("initial-exec")));

/* Only system calls, as in all that handlers call. */
static void start_nudging(void)
{
    const struct itimerspec often = {{.tv_nsec = 5000000},
                                     {.tv_nsec = 5000000}};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = ompjit__fault_signal()};
    event.sigev_value.sival_ptr = &request;
    event._sigev_un._tid = thread_number();
    if (nudge.runs || !event.sigev_signo ||
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &nudge.timer))
        return;
    nudge.runs = true;
    syscall(SYS_timer_settime, nudge.timer, 0, &often, NULL);
}

void ompjit__stop_left(void)
{
    if (nudge.runs)
        syscall(SYS_timer_delete, nudge.timer);
    nudge.runs = false;
}

/* True: it was the signal that asks. A thread may have several watches, of
 * launches within each other. */
bool ompjit__stop_taken(const siginfo_t *info)
{
    bool asked = info->si_code == SI_QUEUE && info->si_pid == getpid();
    if ((!asked && info->si_code != SI_TIMER) ||
        info->si_value.sival_ptr != &request)
        return false;
    int mine = thread_number();
    for (watch *w = atomic_load(&all.first); w; w = w->next) {
        if (atomic_load(&w->thread) != mine)
            continue;
        atomic_store(&w->asked, false);
        if (ompjit__stopped(w) && !w->closed) {
            close_code(w);
            interrupt_helpers(w);
        }
    }
    const struct fiber *f = ompjit__host_current;
    if (f && ompjit__stopped(f->member->team->watch))
        start_nudging();
    return true;
}

/* Is a launch from whose kernel this one was made to stop? It keeps the code
 * closed until this one has ended. */
static bool outer_stops(const watch *inner)
{
    int mine = thread_number();
    for (watch *w = atomic_load(&all.first); w; w = w->next)
        if (w != inner && atomic_load(&w->thread) == mine && ompjit__stopped(w))
            return true;
    return false;
}

/* Is the fault one of closed code? LEAVE: the launch is to stop. AGAIN: the
 * code has been opened since. */
/* Goes on where the code was closed and is open again: once for each closing,
 * since an instruction may write to where itself is. */
static enum ompjit__closed go_on(const ompjit__host_code *code)
{
    static _Thread_local struct {
        const ompjit__host_code *code;
        uint32_t closings;
    } last __attribute__((tls_model("initial-exec")));
    uint32_t closings = atomic_load(&code->closings);
    if (!closings || (last.code == code && last.closings == closings))
        return OMPJIT__CLOSED_NOT;
    last.code = code;
    last.closings = closings;
    return OMPJIT__CLOSED_AGAIN;
}

enum ompjit__closed ompjit__closed_at(watch *w, uintptr_t pc,
                                      uintptr_t address)
{
    enum { LONGEST_INSTRUCTION = 16 };
    static const struct timespec nap = {.tv_nsec = 50000};
    const ompjit__host_code *code = w ? w->launch->code : NULL;
    if (!code || pc < code->begin || pc >= code->end || address < pc ||
        address - pc >= LONGEST_INSTRUCTION)
        return OMPJIT__CLOSED_NOT;
    while (!ompjit__stopped(w)) {
        if (!atomic_load(&code->closers))
            return go_on(code);
        if (outer_stops(w))
            mark(w, atomic_load(&w->serial), OMPJIT__STOP_ABORTED);
        else
            nanosleep(&nap, NULL);
    }
    return OMPJIT__CLOSED_LEAVE;
}
