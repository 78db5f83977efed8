/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * SIGINT in the thread that executes inputs aborts a kernel and the session's
 * host code. A compile is ended by a thread of its own, since that may not be
 * done in a signal handler.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

#include "ompjit_function.h"
#include "tool/repl/interrupt.h"

/* One for the process, as signal handlers are. */
static struct {
    pthread_t main, helper;
    sem_t asked;
    engine *_Atomic e;
    atomic_bool ends;
    struct sigaction before;
} state;

static void on_interrupt(int number)
{
    int before = errno;
    engine *e = atomic_load(&state.e);
    if (!pthread_equal(pthread_self(), state.main)) {
        pthread_kill(state.main, number);
    } else if (e) {
        atomic_store(&e->interrupted, true);
        ompjit_function_abort();
        for (unsigned i = 0; i < e->ndevices; i++)
            ompjit_device_abort(e->devices[i], NULL);
        front_interrupt(e->front);
        sem_post(&state.asked);
    }
    errno = before;
}

static void *help(void *unused)
{
    for (;;) {
        while (sem_wait(&state.asked))
            ;
        engine *e = atomic_load(&state.e);
        if (atomic_load(&state.ends))
            return NULL;
        if (e && atomic_load(&e->interrupted))
            ompjit_context_cancel(e->ctx, NULL);
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

bool interrupt_begin(void)
{
    struct sigaction ours = {.sa_handler = on_interrupt};
    state.main = pthread_self();
    atomic_store(&state.e, NULL);
    atomic_store(&state.ends, false);
    if (sem_init(&state.asked, 0, 0) || !start_helper())
        return false;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGINT, &ours, &state.before);
    return true;
}

void interrupt_end(void)
{
    sigaction(SIGINT, &state.before, NULL);
    atomic_store(&state.ends, true);
    atomic_store(&state.e, NULL);
    sem_post(&state.asked);
    pthread_join(state.helper, NULL);
    sem_destroy(&state.asked);
}

void interrupt_engine(engine *e)
{
    atomic_store(&state.e, e);
}

void interrupt_now(void)
{
    pthread_kill(state.main, SIGINT);
}
