/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Signal handlers for kernels' faults. The handler looks at the device thread
 * that its OS thread is (a variable of static TLS) and compares addresses; it
 * then has the thread go on in fault_escape, on its own stack and outside of
 * the handler, from where the kernel ends as any other that traps.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device/fault.h"
#include "device/host_thread.h"

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* What was there before; written before a handler of ours is installed. */
static struct sigaction previous[SIGNALS];
static struct {
    pthread_mutex_t lock;
    _Atomic unsigned holds;
    bool installed[SIGNALS];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ------------------------------------------------------- a kernel's fault */

/* What the handler leaves to fault_escape. */
struct fault {
    int signal, code;
    uintptr_t pc, address;
    bool overflow;
};
static _Thread_local struct fault fault
    __attribute__((tls_model("initial-exec")));

static void describe(char *text, size_t size)
{
    const void *address = (const void *)fault.address;
    enum { NOT_AN_ADDRESS = 128 }; /* SI_KERNEL: the CPU does not say which */
    if (fault.overflow)
        snprintf(text, size, "its stack overflowed");
    else if (fault.signal == SIGFPE)
        snprintf(text, size, fault.code == FPE_INTDIV || fault.code == FPE_INTOVF
                                 ? "an integer division by zero, or with a "
                                   "result that is too large"
                                 : "a floating-point exception");
    else if (fault.signal == SIGILL)
        snprintf(text, size, "an illegal instruction");
    else if (fault.code == NOT_AN_ADDRESS)
        snprintf(text, size, "access to an address that no memory can have");
    else if (fault.signal == SIGBUS)
        snprintf(text, size, "access to memory at %p that is not behind its "
                 "mapping or not aligned", address);
    else if (fault.code == SEGV_ACCERR)
        snprintf(text, size, "access to memory at %p that is protected",
                 address);
    else
        snprintf(text, size, "access to unmapped memory at %p", address);
}

static void fault_escape(void)
{
    ompjit__host_trap trap = {.pc = fault.pc};
    describe(trap.text, sizeof trap.text);
    ompjit__host_trapped(ompjit__host_current, &trap);
}

static bool in_code(const ompjit__host_launch *launch, uintptr_t pc)
{
    return pc >= launch->code_begin && pc < launch->code_end;
}

/* Did the stack end? A fiber's has a guard below it. That of an OS thread ends
 * where a push, or a frame's first touch, is no memory any more. */
static bool overflowed(const struct fiber *f, uintptr_t sp, uintptr_t address)
{
    enum { NEAR = 64 << 10 };
    if (f->member->team->threads > 1)
        return address - (uintptr_t)f->stack.base < OMPJIT__HOST_GUARD;
    return address + NEAR > sp && address < sp + NEAR;
}

/* Takes the signal if the calling thread is in a kernel's code, or in a
 * function without a frame that the kernel called (memcpy). */
static bool take(int number, const siginfo_t *info, void *context)
{
    struct fiber *f = ompjit__host_current;
    ompjit__place at;
    if (!f || info->si_code <= 0) /* not in a kernel; or sent, no fault */
        return false;
    const struct ompjit__host_team *t = f->member->team;
    bool memory = number == SIGSEGV || number == SIGBUS;
    uintptr_t address = memory ? (uintptr_t)info->si_addr : 0;
    ompjit__context_place(context, &at);
    bool overflow = memory && overflowed(f, at.sp, address);
    if (!in_code(t->launch, at.pc)) {
        if (overflow)
            return false;
        at.pc = ompjit__context_caller(context) - 1;
        if (!in_code(t->launch, at.pc))
            return false;
    }
    fault = (struct fault){number, info->si_code, at.pc, address, overflow};
    /* Below what may still be in use; of a stack without room everything below
     * its first frames is the kernel's. */
    enum { RED_ZONE = 256, ROOM = 16 << 10 };
    uintptr_t sp = at.sp - RED_ZONE;
    if (overflow)
        sp = t->threads > 1 ? (uintptr_t)(f->stack.base + f->stack.size)
                            : (uintptr_t)t->base - ROOM;
    ompjit__context_redirect(context, fault_escape, sp);
    return true;
}

/* --------------------------------------------------------------- handlers */

/* What would have happened without us. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    int i = 0;
    while (i < SIGNALS - 1 && signals[i] != number)
        i++;
    const struct sigaction *before = &previous[i];
    bool sent = info->si_code <= 0;
    if (before->sa_flags & SA_SIGINFO) {
        pthread_sigmask(SIG_BLOCK, &before->sa_mask, NULL);
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler == SIG_DFL ||
               (before->sa_handler == SIG_IGN && !sent)) {
        /* The instruction faults again, and then for good. */
        signal(number, SIG_DFL);
        if (sent)
            raise(number);
    } else if (before->sa_handler != SIG_IGN) {
        pthread_sigmask(SIG_BLOCK, &before->sa_mask, NULL);
        before->sa_handler(number);
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (!take(number, info, context))
        pass_on(number, info, context);
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_fault;
}

void ompjit__fault_hold(void)
{
    struct sigaction ours = {.sa_sigaction = on_fault,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&state.lock);
    for (int i = 0; state.holds == 0 && i < SIGNALS; i++) {
        struct sigaction now;
        if (state.installed[i] || sigaction(signals[i], NULL, &now))
            continue; /* somebody's handler may still call ours */
        previous[i] = now;
        state.installed[i] = !sigaction(signals[i], &ours, NULL);
    }
    state.holds++;
    pthread_mutex_unlock(&state.lock);
}

void ompjit__fault_drop(void)
{
    pthread_mutex_lock(&state.lock);
    state.holds--;
    for (int i = 0; state.holds == 0 && i < SIGNALS; i++) {
        struct sigaction now;
        if (state.installed[i] && !sigaction(signals[i], NULL, &now) &&
            is_ours(&now))
            state.installed[i] = sigaction(signals[i], &previous[i], NULL) != 0;
    }
    pthread_mutex_unlock(&state.lock);
}

/* ----------------------------------------------------- stacks for handlers */

enum { STACK = 64 << 10 };
static _Thread_local bool prepared
    __attribute__((tls_model("initial-exec")));
static _Thread_local uintptr_t stack_end;
static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static void free_stack(void *stack)
{
    stack_t now;
    if (!sigaltstack(NULL, &now) && now.ss_sp == stack) {
        now = (stack_t){.ss_flags = SS_DISABLE};
        sigaltstack(&now, NULL);
    }
    munmap(stack, STACK);
}

static void make_key(void)
{
    pthread_key_create(&stack_key, free_stack);
}

/* Of the first thread, whose stack grows as far as its limit lets it, from the
 * page that ends with the program's name; 0: nobody knows. The C library would
 * read /proc/self/maps. */
static uintptr_t first_stack_end(void)
{
    const char *name = (const char *)getauxval(AT_EXECFN);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    if (!name || getrlimit(RLIMIT_STACK, &limit))
        return 0;
    uintptr_t top = ((uintptr_t)name + strlen(name) + page) & -page;
    return limit.rlim_cur < top ? top - (uintptr_t)limit.rlim_cur : 0;
}

static void find_stack_end(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (getpid() == gettid()) {
        stack_end = first_stack_end();
        return;
    }
    if (pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (!pthread_attr_getstack(&attributes, &low, &size))
        stack_end = (uintptr_t)low;
    pthread_attr_destroy(&attributes);
}

uintptr_t ompjit__fault_stack_end(void)
{
    return stack_end;
}

void ompjit__fault_thread(void)
{
    stack_t now;
    if (prepared || !state.holds)
        return;
    prepared = true;
    find_stack_end();
    if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE))
        return;
    pthread_once(&stack_once, make_key);
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return;
    now = (stack_t){.ss_sp = stack, .ss_size = STACK};
    if (sigaltstack(&now, NULL))
        munmap(stack, STACK);
    else
        pthread_setspecific(stack_key, stack);
}
