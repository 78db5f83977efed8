/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A timer whose signal the calling thread gets.
 */
#include <unistd.h>

#include "base/alarm.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Its address tells a limit's signals from others. */
static char mark;

void ompjit__alarm_begin(ompjit__alarm *limit, unsigned ms, int signal)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = signal,
                             .sigev_value.sival_ptr = &mark};
    const struct itimerspec when = {.it_value.tv_sec = ms / 1000,
                                    .it_value.tv_nsec = ms % 1000 * 1000000,
                                    .it_interval.tv_nsec = 1000000};
    sigset_t set;
    event.sigev_notify_thread_id = gettid();
    limit->armed =
        signal && !timer_create(CLOCK_MONOTONIC, &event, &limit->timer);
    if (!limit->armed)
        return;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_UNBLOCK, &set, &limit->before);
    timer_settime(limit->timer, 0, &when, NULL);
}

/* The signal is not blocked: what is pending comes before this returns. */
void ompjit__alarm_end(ompjit__alarm *limit)
{
    if (!limit->armed)
        return;
    timer_delete(limit->timer);
    pthread_sigmask(SIG_SETMASK, &limit->before, NULL);
}

bool ompjit__alarm_is(const siginfo_t *info)
{
    return info->si_code == SI_TIMER && info->si_value.sival_ptr == &mark;
}
