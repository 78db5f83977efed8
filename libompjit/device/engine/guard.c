/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Ends of guarded calls that are no faults (fault.c): one of the function's
 * constructs or callbacks fails, or somebody aborts the call.
 *
 * A call that is aborted may be left at an instruction of its own module only:
 * elsewhere a lock may be held, of the C library's or of ours. The signal that
 * asks comes while a handler of the application's runs, so a timer repeats it
 * until the thread is at such a place. A thread that only sleeps is in the module
 * for moments, between two signals that wake it: so it goes on step by step for a
 * while, where the CPU can do that. A step takes a thousand times as long as the
 * instruction, so the thread runs freely for as long between two such whiles: a
 * library function that takes seconds would take hours.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device/engine/fault.h"
#include "device/engine/fiber.h"
#include "device/engine/guard.h"
#include "device/engine/libomp.h"
#include "device/engine/thread.h"

_Thread_local ompjit__call_guard *ompjit__innermost
    __attribute__((tls_model("initial-exec")));

/* ---------------------------------------------------------------- children */

/* A call belongs to the process that began it: in a child of fork there is none,
 * and one of vfork has its parent's memory. */
static pid_t process;

static void begin_process(void)
{
    process = getpid();
    ompjit__innermost = NULL;
}

__attribute__((constructor)) static void watch_forks(void)
{
    begin_process();
    pthread_atfork(NULL, NULL, begin_process);
}

bool ompjit__call_is_here(void)
{
    return getpid() == process;
}

/* --------------------------------------------------------------- failures */

void ompjit__call_fail(ompjit__call_guard *g, const ompjit_error *err)
{
    if (g->status)
        return;
    g->status = err->status;
    if (g->err)
        *g->err = *err;
}

void ompjit__call_fail_text(ompjit__call_guard *g, ompjit_status status,
                             const char *format, ...)
{
    char text[1024];
    ompjit_error err;
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    ompjit__fail(&err, status, OMPJIT_STAGE_LAUNCH, "%s%s%s",
                 g->name ? g->name : "", g->name ? ": " : "", text);
    ompjit__call_fail(g, &err);
}

/* ---------------------------------------------------------------- leaving */

bool ompjit__call_can_leave(void)
{
    const struct ompjit__libomp *omp = ompjit__libomp_loaded();
    if (ompjit__host_current)
        return false; /* in a kernel */
    return !omp || (!(omp->omp_get_level && omp->omp_get_level()) &&
                    !(omp->omp_in_explicit_task && omp->omp_in_explicit_task()));
}

void ompjit__call_leave(ompjit__call_guard *g)
{
    if (!ompjit__call_over(g) || !ompjit__call_can_leave())
        return;
    ompjit__fiber_clean();
    ompjit__fiber_leave(g->escape);
}

/* --------------------------------------------------------------- aborting */

/* The value of the signals; its address tells them from others. */
static char tick;

/* The thread has gone step by step. That may last a step longer than the guard,
 * and comes back where a handler returns that has interrupted it. */
static _Thread_local bool stepped
    __attribute__((tls_model("initial-exec")));

/* Only system calls, since a signal handler has called. */
static bool start_ticking(ompjit__call_guard *g)
{
    static const struct itimerspec often = {{.tv_nsec = 2000000},
                                            {.tv_nsec = 500000}};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = ompjit__fault_signal()};
    event.sigev_value.sival_ptr = &tick;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    if (!event.sigev_signo ||
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &g->timer))
        return false;
    g->ticks = true;
    return !syscall(SYS_timer_settime, g->timer, 0, &often, NULL);
}

/* A launch of the thread's own is stopped by its watch. */
ompjit_status ompjit__call_abort(void)
{
    ompjit__call_guard *g = ompjit__guarded_call(NULL);
    if (!g)
        return OMPJIT_ERR_NOT_FOUND;
    atomic_store(&g->stop, true);
    bool good = g->ticks || start_ticking(g);
    good = ompjit__stop_own(OMPJIT__STOP_ABORTED) && good;
    return good ? OMPJIT_OK : OMPJIT_ERR_UNAVAILABLE;
}

bool ompjit__call_ticks(const siginfo_t *info)
{
    if (info->si_signo == SIGTRAP && info->si_code == TRAP_TRACE)
        return stepped;
    return info->si_code == SI_TIMER && info->si_value.sival_ptr == &tick;
}

bool ompjit__code_has(const ompjit__module_code *code, uintptr_t pc)
{
    size_t n = atomic_load(&code->n);
    for (size_t i = 0; i < n; i++)
        if (pc >= code->pages[i].begin && pc < code->pages[i].end)
            return true;
    return false;
}

/* A launch that has begun since then is stopped, too. No steps are made while
 * this library works, since that will ask itself. */
bool ompjit__call_leaves_at(uintptr_t pc, bool ticks, bool *step)
{
    enum { STEPS = 3000, RESTS = 10 }; /* some 5 ms each */
    ompjit__call_guard *g = ompjit__guarded_call(NULL);
    *step = false;
    if (!g || !atomic_load(&g->stop))
        return false;
    if (ticks) {
        ompjit__stop_own(OMPJIT__STOP_ABORTED);
        if (g->busy || ompjit__host_current)
            g->steps = g->rests = 0;
        else if (g->rests)
            g->rests--;
        else if (!g->steps)
            g->steps = STEPS;
    } else if (g->steps && !--g->steps) {
        g->rests = RESTS;
    }
    *step = g->steps > 0;
    stepped |= *step;
    return ompjit__code_has(g->code, pc) && ompjit__call_can_leave();
}

void ompjit__call_settle(ompjit__call_guard *g)
{
    if (g->ticks)
        syscall(SYS_timer_delete, g->timer);
    g->ticks = false;
}
