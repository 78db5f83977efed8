/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Guarded calls: of a program's function by ompjit_function_call, which returns
 * what goes wrong in it; through a pointer of ompjit_module_function, which keeps
 * it for the context; and of constructors and destructors (ompjit__fault_guard).
 * A guard lies on the stack of the thread that calls, and knows how to go on
 * there, when the frames below are abandoned.
 */
#ifndef OMPJIT_HOST_GUARD_H
#define OMPJIT_HOST_GUARD_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ompjit.h"

/* The pages of a module's code, as far as they are known; more may come. */
typedef struct ompjit__module_code {
    _Atomic size_t n;
    struct ompjit__code_pages {
        uintptr_t begin, end;
    } *pages;
} ompjit__module_code;

typedef struct ompjit__call_guard {
    struct ompjit__call_guard *outer; /* of the same thread; NULL: none            */
    void *escape;       /* for ompjit__fiber_leave                            */
    uintptr_t base;     /* a place in the stack below that of `escape`        */
    bool takes_faults;  /* false: they are the process's                      */

    /* For a function's call alone. */
    ompjit_context *ctx;/* NULL: another guard                                */
    bool by_pointer;    /* it ends by faults alone: exceptions pass on, and
                           constructs that fail are the context's             */
    const char *name;   /* of the function; NULL: errors do not say it        */
    const ompjit__module_code *code; /* its module's                          */
    struct ompjit__begun *begun; /* omptarget/begun.c                         */
    ompjit_error *err;  /* the caller's; may be NULL                          */
    ompjit_status status; /* of the first failure in it, which is in *err     */
    _Atomic bool stop;  /* ompjit_function_abort has asked                    */
    bool ticks;         /* the timer of `stop` runs ...                       */
    int timer;          /* ... and is this one                                */
    bool busy;          /* the library works in it, and may hold locks        */
    uint32_t steps;     /* that the thread still goes one by one ...          */
    uint32_t rests;     /* ... and signals that it then does not              */
    uintptr_t pc;       /* the module's instruction at which it has ended; 0:
                           not known                                          */
} ompjit__call_guard;

/* The innermost one of the calling thread; NULL: none. In static TLS, for signal
 * handlers. */
extern _Thread_local ompjit__call_guard *ompjit__innermost
    __attribute__((tls_model("initial-exec")));

static inline void ompjit__call_guard_enter(ompjit__call_guard *g)
{
    g->outer = ompjit__innermost;
    g->base = (uintptr_t)__builtin_frame_address(0);
    ompjit__innermost = g;
}

/* Those below it on the stack are gone. */
static inline void ompjit__call_guard_exit(const ompjit__call_guard *g)
{
    ompjit__innermost = g->outer;
}

/* The innermost guard where that is a function's call in this context, NULL:
 * any; else NULL. */
static inline ompjit__call_guard *ompjit__any_call(const ompjit_context *ctx)
{
    ompjit__call_guard *g = ompjit__innermost;
    return g && g->ctx && (!ctx || g->ctx == ctx) ? g : NULL;
}

/* The same of a call that has an error to return: those through pointers that it
 * makes are passed over. */
static inline ompjit__call_guard *ompjit__guarded_call(const ompjit_context *ctx)
{
    ompjit__call_guard *g = ompjit__innermost;
    while (g && g->by_pointer)
        g = g->outer;
    return g && g->ctx && (!ctx || g->ctx == ctx) ? g : NULL;
}

/* The call that the thread's data regions belong to, which are undone where it
 * is left; NULL: none. */
static inline ompjit__call_guard *ompjit__mapping_call(void)
{
    ompjit__call_guard *g = ompjit__guarded_call(NULL);
    return g ? g : ompjit__any_call(NULL);
}

/* False: the process is a child of vfork, whose calls are its parent's. In a child
 * of fork there are none. guard.c */
bool ompjit__call_is_here(void);

/* Is it over, by a failure, or because it is to stop? Its target regions then do
 * nothing. */
static inline bool ompjit__call_over(const ompjit__call_guard *g)
{
    return g->status || atomic_load_explicit(&g->stop, memory_order_relaxed);
}

/* The first failure in the call, which becomes its own. guard.c */
void ompjit__call_fail(ompjit__call_guard *g, const ompjit_error *err);
/* The same with a text of its own, behind the function's name. */
void ompjit__call_fail_text(ompjit__call_guard *g, ompjit_status status,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* May its frames be abandoned? Not within a parallel region or a task, which
 * libomp would miss. In signal handlers, too. */
bool ompjit__call_can_leave(void);
/* Ends the call here and now, where it is over and may be left. Not while
 * anything is locked or allocated that somebody has to free. */
void ompjit__call_leave(ompjit__call_guard *g);

/* In a signal handler: asks the calling thread's innermost call to end. The
 * thread then gets a signal again and again, until it is at an instruction of
 * the function's module. NOT_FOUND, UNAVAILABLE. */
ompjit_status ompjit__call_abort(void);
/* In the handler of faults: is it that signal, or the next step? */
bool ompjit__call_ticks(const siginfo_t *info);
/* And does the thread leave, now that it is at `pc`? If not, *step says whether
 * it goes one instruction further, and asks again. */
bool ompjit__call_leaves_at(uintptr_t pc, bool ticks, bool *step);
/* Is the instruction one of this code? In signal handlers, too. */
bool ompjit__code_has(const ompjit__module_code *code, uintptr_t pc);
/* After a call that was asked to end: no more signals. */
void ompjit__call_settle(ompjit__call_guard *g);

#endif
