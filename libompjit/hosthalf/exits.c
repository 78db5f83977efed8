/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of the C library that end the process or the thread, for host
 * halves: in a function that ompjit_function_call has called they end that call,
 * as its error. Elsewhere, as under `ompjit run` and in a process that the
 * function has forked, they are what they always are.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/engine/guard.h"
#include "hosthalf/program_code.h"

/* Where the function is called that has this. */
#define CALL() ((uintptr_t)__builtin_return_address(0) - 1)

/* The call to leave; NULL: the thread is in none, or in libomp's hands. */
static ompjit__call_guard *call_to_leave(void)
{
    ompjit__call_guard *g = ompjit__guarded_call(NULL);
    return g && ompjit__call_is_here() && ompjit__call_can_leave() ? g : NULL;
}

/* Returns where there is none. */
static void leave(const char *what, uintptr_t pc)
{
    ompjit__call_guard *g = call_to_leave();
    if (!g)
        return;
    g->pc = pc;
    ompjit__call_fail_text(g, OMPJIT_ERR_DEVICE, "it called %s", what);
    ompjit__call_leave(g);
}

static void leave_with(const char *name, int status, uintptr_t pc)
{
    char what[64];
    snprintf(what, sizeof what, "%s(%d)", name, status);
    leave(what, pc);
}

static void program_exit(int status)
{
    leave_with("exit", status, CALL());
    exit(status);
}

static void program_exit_now(int status)
{
    leave_with("_exit", status, CALL());
    _exit(status);
}

static void program_quick_exit(int status)
{
    leave_with("quick_exit", status, CALL());
    quick_exit(status);
}

static void program_abort(void)
{
    leave("abort", CALL());
    abort();
}

static void program_pthread_exit(void *value)
{
    leave("pthread_exit", CALL());
    pthread_exit(value);
}

extern void __assert_fail(const char *text, const char *file, unsigned line,
                          const char *function) __attribute__((noreturn));

static void program_assert_fail(const char *text, const char *file,
                                unsigned line, const char *function)
{
    ompjit__call_guard *g = call_to_leave();
    if (g) {
        ompjit__call_fail_text(g, OMPJIT_ERR_DEVICE,
                                "assertion `%s' failed (%s:%u)", text, file,
                                line);
        ompjit__call_leave(g);
    }
    __assert_fail(text, file, line, function);
}

void *ompjit__exit_address(const char *name)
{
    static const struct {
        const char *name;
        void *address;
    } rows[] = {
        {"exit", (void *)program_exit},
        {"_exit", (void *)program_exit_now},
        {"_Exit", (void *)program_exit_now},
        {"quick_exit", (void *)program_quick_exit},
        {"abort", (void *)program_abort},
        {"pthread_exit", (void *)program_pthread_exit},
        {"__assert_fail", (void *)program_assert_fail},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        if (!strcmp(rows[i].name, name))
            return rows[i].address;
    return NULL;
}
