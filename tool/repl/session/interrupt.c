/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * SIGINT in the thread that executes inputs aborts a kernel and the session's
 * host code. So does a real-time signal, by which the session asks itself:
 * system() has SIGINT ignored. A compile is ended by a thread of its own, since
 * that may not be done in a signal handler.
 *
 * A parallel region of the host cannot be left. Where the code is in one, and has
 * not come out of it 2 s after an interrupt, the thread gives the session up. So
 * it does after 4 s with what does not end for another reason, as a kernel on a
 * GPU, but not while a command's program runs, which may go on.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ompjit_function.h"
#include "tool/repl/session/interrupt.h"

/* One for the process, as signal handlers are. */
static struct {
    pthread_t main, helper;
    sem_t asked;
    engine *_Atomic e;
    atomic_uint executes; /* counts inputs: when they begin and end          */
    atomic_bool begun, ends;
    int timer;            /* of the limit                                    */
    bool limited;         /* it runs                                         */
    atomic_bool asks;     /* the next signal is the helper's question: is the
                             code in a parallel region?                      */
    atomic_bool parallel; /* it is                                           */
    void (*give_up)(void *data, bool parallel);
    void *data;
    int own;              /* the signal by which the session asks            */
    struct sigaction before, before_own;
} state;

static void on_interrupt(int number, siginfo_t *info, void *unused)
{
    (void)unused;
    int before = errno;
    engine *e = atomic_load(&state.e);
    if (!pthread_equal(pthread_self(), state.main)) {
        pthread_kill(state.main, number);
    } else if (atomic_exchange(&state.asks, false)) {
        atomic_store(&state.parallel, guard_is_parallel());
    } else if (e) {
        if (info->si_code == SI_TIMER)
            atomic_store(&e->over_limit, true);
        atomic_store(&e->interrupted, true);
        ompjit_function_abort();
        for (unsigned i = 0; i < e->ndevices; i++)
            ompjit_device_abort(e->devices[i], NULL);
        front_interrupt(e->front);
        if (atomic_load(&e->group))
            kill(-atomic_load(&e->group), SIGINT);
        sem_post(&state.asked);
    }
    errno = before;
}

/* Until the input is over. The interrupt itself comes before the question, since
 * its signal has been handled. */
static void watch(void)
{
    enum { SLICES = 20, MOST = 40 };
    static const struct timespec slice = {.tv_nsec = 100000000};
    const unsigned input = atomic_load(&state.executes);
    atomic_store(&state.parallel, false);
    for (unsigned i = 0; atomic_load(&state.executes) == input &&
                         !atomic_load(&state.ends); i++) {
        nanosleep(&slice, NULL);
        const engine *e = atomic_load(&state.e);
        const bool command = e && atomic_load(&e->program);
        if (atomic_load(&state.executes) != input)
            return;
        if (atomic_load(&state.parallel) || (i >= MOST && !command))
            state.give_up(state.data, atomic_load(&state.parallel));
        if (i < SLICES)
            continue;
        atomic_store(&state.asks, true);
        pthread_kill(state.main, state.own);
    }
}

static void *help(void *unused)
{
    for (;;) {
        while (sem_wait(&state.asked))
            ;
        engine *e = atomic_load(&state.e);
        if (atomic_load(&state.ends))
            return NULL;
        if (!e || !atomic_load(&e->interrupted))
            continue;
        ompjit_context_cancel(e->ctx, NULL);
        watch();
    }
}

static bool start_helper(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool good = !pthread_create(&state.helper, NULL, help, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

bool interrupt_begin(void (*give_up)(void *data, bool parallel), void *data)
{
    struct sigaction ours = {.sa_sigaction = on_interrupt,
                             .sa_flags = SA_SIGINFO};
    state.main = pthread_self();
    state.own = SIGRTMAX;
    state.give_up = give_up;
    state.data = data;
    atomic_store(&state.e, NULL);
    atomic_store(&state.ends, false);
    if (sem_init(&state.asked, 0, 0) || !start_helper())
        return false;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGINT, &ours, &state.before);
    sigaction(state.own, &ours, &state.before_own);
    atomic_store(&state.begun, true);
    return true;
}

void interrupt_end(void)
{
    atomic_store(&state.begun, false);
    sigaction(SIGINT, &state.before, NULL);
    sigaction(state.own, &state.before_own, NULL);
    atomic_store(&state.ends, true);
    atomic_store(&state.e, NULL);
    sem_post(&state.asked);
    pthread_join(state.helper, NULL);
    sem_destroy(&state.asked);
}

void interrupt_engine(engine *e)
{
    atomic_store(&state.e, e);
    atomic_fetch_add(&state.executes, 1);
}

void interrupt_after(unsigned milliseconds)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = state.own};
    struct itimerspec when = {
        .it_value = {milliseconds / 1000, milliseconds % 1000 * 1000000}};
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    if (!milliseconds || !atomic_load(&state.begun) ||
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &state.timer))
        return;
    state.limited = true;
    syscall(SYS_timer_settime, state.timer, 0, &when, NULL);
}

void interrupt_not_after(void)
{
    if (state.limited)
        syscall(SYS_timer_delete, state.timer);
    state.limited = false;
}

void interrupt_now(void)
{
    pthread_kill(state.main, state.own);
}
