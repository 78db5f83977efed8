/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Signal handlers for kernels' faults, and for launches that are stopped
 * (stop.h). The handler looks at the device thread that its OS thread is (a
 * variable of static TLS) and compares addresses; it then has the thread go on
 * in fault_escape, on its own stack and outside of the handler, from where the
 * kernel ends as any other that traps.
 *
 * A fault of a function that the kernel called is the kernel's, too: the frames
 * of both are abandoned. A lock of such a function stays locked.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/stack.h"
#include "device/engine/fault.h"
#include "device/engine/guard.h"
#include "device/engine/thread.h"

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
                              SIGABRT};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* The earlier handlers; written before a handler of ours is installed. */
static struct sigaction previous[SIGNALS];
static struct {
    pthread_mutex_t lock;
    _Atomic unsigned holds;
    bool installed[SIGNALS];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};
OMPJIT__FORK_TAKES(state.lock)

/* ----------------------------------------- why the C library calls abort */

/* glibc's, for debuggers: what it wrote to stderr before, or NULL. */
struct message {
    unsigned size;
    char text[];
};
static const struct message *const *last_message;
static const struct message *_Atomic told; /* of an abort before this one */

/* NULL: glibc has not said anything, or not since the last abort that was
 * taken. */
static const char *abort_message(void)
{
    const struct message *m = last_message ? *last_message : NULL;
    return m && m != told ? m->text : NULL;
}

/* Was the heap's lock held then? Nobody could allocate any more. */
static bool aborts_in_heap(const char *message)
{
    static const char *const texts[] = {
        "malloc", "corrupted", "break adjusted", "double free or corruption (top",
        "double free or corruption (out", "double free or corruption (!prev",
        "free(): corrupted", "free(): invalid next size (normal",
        "realloc(): invalid old", "realloc(): invalid next",
        "Fatal glibc error: malloc"};
    for (size_t i = 0; message && i < sizeof texts / sizeof *texts; i++)
        if (!strncmp(message, texts[i], strlen(texts[i])))
            return true;
    return false;
}

/* Also notes the message, so that a later abort without one is not taken for
 * it. */
static void describe_abort(char *text, size_t size)
{
    const char *message = abort_message();
    if (message)
        snprintf(text, size, "the C library gave up: %.*s",
                 (int)strcspn(message, "\n"), message);
    else
        snprintf(text, size, "a function that it called has called abort");
    told = last_message ? *last_message : NULL;
}

/* ---------------------------------------------------------------- the heap */

/* The C library's functions that take and give memory, without those of its own
 * that they call with a lock held. */
static struct {
    uintptr_t begin, end;
} heap[4];

/* dlsym and dladdr1 are not for signal handlers, and the second takes 20 us a
 * function: it searches all symbols of the library. */
static void find_heap(void)
{
    static const char *const names[] = {"malloc", "calloc", "realloc", "free"};
    for (size_t i = 0; i < sizeof heap / sizeof *heap; i++) {
        void *address = dlsym(RTLD_DEFAULT, names[i]);
        const ElfW(Sym) *symbol = NULL;
        Dl_info info;
        if (!address ||
            !dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
            !symbol)
            continue;
        heap[i].begin = (uintptr_t)address;
        heap[i].end = heap[i].begin + symbol->st_size;
    }
}

void ompjit__fault_find_heap(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_heap);
}

/* Is the thread in the heap where that may be locked? */
static bool holds_heap(const struct fiber *f, uintptr_t pc)
{
    bool outside = !f || !f->in_heap;
    for (size_t i = 0; !outside && i < sizeof heap / sizeof *heap; i++)
        outside = pc >= heap[i].begin && pc < heap[i].end;
    return !outside;
}

/* ------------------------------------------------------- a kernel's fault */

/* The handler's message to fault_escape. `leaves`: the thread is on its way out
 * of the kernel, and another fault is not the kernel's. */
struct fault {
    int signal, code;
    uintptr_t pc, address;
    bool overflow, leaves;
    enum ompjit__stop stop;
};
static _Thread_local struct fault fault
    __attribute__((tls_model("initial-exec")));

/* The thread's last fault, in words. Outside of the handler: snprintf may be
 * used. */
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
        snprintf(text, size, "an illegal instruction, or what only undefined "
                 "behavior reaches");
    else if (fault.signal == SIGTRAP)
        snprintf(text, size, "a breakpoint");
    else if (fault.signal == SIGABRT)
        describe_abort(text, size);
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

/* The reason for which a launch was stopped. */
static void describe_stop(const ompjit__host_launch *launch, char *text,
                          size_t size)
{
    if (fault.stop == OMPJIT__STOP_TIMEOUT)
        snprintf(text, size, "it ran for more than %u ms", launch->limit_ms);
    else
        snprintf(text, size, fault.stop == OMPJIT__STOP_ABORTED
                                 ? "the launch was aborted"
                                 : "another thread of the launch has failed");
}

/* The handler has the thread go on here, on the stack of the kernel. It does
 * not return. */
static void fault_escape(void)
{
    struct fiber *f = ompjit__host_current;
    ompjit__host_trap trap = {.pc = fault.pc, .stop = fault.stop};
    ompjit__fiber_clean();
    if (fault.stop)
        describe_stop(f->member->team->launch, trap.text, sizeof trap.text);
    else
        describe(trap.text, sizeof trap.text);
    ompjit__host_trapped(f, &trap);
}

void ompjit__fault_left(void)
{
    fault.leaves = false;
    ompjit__stop_left();
}

/* ------------------------------------------------------------------ guards */

/* libgcc's _URC_FATAL_PHASE1_ERROR while it looks for who catches; when a
 * thread is cancelled it unwinds what there is, _URC_CONTINUE_UNWIND. */
int ompjit__fiber_personality(int version, int actions, uint64_t origin,
                              void *exception, void *context)
{
    enum { SEARCHES = 1, NOBODY = 3, CONTINUE = 8 };
    return actions & SEARCHES ? NOBODY : CONTINUE;
}

/* The same for a guarded call. */
static void guard_escape(void)
{
    ompjit__fiber_clean();
    ompjit__fiber_leave(ompjit__innermost->escape);
}

bool ompjit__fault_cause(char *text, size_t size)
{
    bool left = fault.leaves && fault.signal;
    ompjit__stack_left();
    if (left)
        describe(text, size);
    fault.leaves = false;
    return left;
}

/* The argument of a guarded function. */
struct guarded {
    void (*f)(void *arg);
    void *arg;
};

static void guarded(void **arg)
{
    const struct guarded *g = (const struct guarded *)(void *)arg;
    g->f(g->arg);
}

bool ompjit__fault_guard(void (*f)(void *arg), void *arg, char *text,
                         size_t size)
{
    ompjit__call_guard g = {.takes_faults = true};
    struct guarded call = {f, arg};
    ompjit__fault_hold();
    ompjit__fault_thread();
    ompjit__call_guard_enter(&g);
    bool well =
        !ompjit__fiber_call(guarded, (void **)(void *)&call, &g.escape);
    ompjit__call_guard_exit(&g);
    ompjit__fault_drop();
    if (!well)
        ompjit__fault_cause(text, size);
    return well;
}

/* ----------------------------------------------------------------- kernels */

/* The code of a kernel's image, or of a guarded call's module. */
struct own_code {
    const ompjit__host_code *kernel;
    const ompjit__module_code *module;
};

static bool in_code(const struct own_code *own, uintptr_t pc)
{
    const ompjit__host_code *code = own->kernel;
    return (code && pc >= code->begin && pc < code->end) ||
           (own->module && ompjit__code_has(own->module, pc));
}

/* The range in which frames may be. The OS thread's stack ends where that can
 * be known, and is not as large as that elsewhere. */
struct bounds {
    uintptr_t low, high;
};

/* The stack of the calling OS thread, below `high`. */
static struct bounds bounds_below(uintptr_t high)
{
    enum { MOST = 1 << 30 };
    uintptr_t low = ompjit__stack_end();
    return (struct bounds){low ? low : high > MOST ? high - MOST : 0, high};
}

/* The stack of the device thread: its carrier's, or that of its OS thread. */
static struct bounds bounds_of(const struct fiber *f)
{
    if (!f->carrier)
        return bounds_below((uintptr_t)f->member->base);
    uintptr_t base = (uintptr_t)f->carrier->stack.base;
    return (struct bounds){base + OMPJIT__HOST_GUARD,
                           base + f->carrier->stack.size};
}

/* Did the stack end? A carrier's has a guard below it. That of an OS thread
 * ends where a push, or a frame's first touch, is no memory any more. */
static bool overflowed(const struct fiber *f, uintptr_t sp, uintptr_t address)
{
    enum { NEAR = 64 << 10 };
    if (f && f->carrier)
        return address - (uintptr_t)f->carrier->stack.base <
               OMPJIT__HOST_GUARD;
    return address + NEAR > sp && address < sp + NEAR;
}

/* The call of the function that faults, 0 where it is not found: that of a
 * function without a frame (memcpy) is known, else it is the first address on the
 * stack that is one of that code. */
static uintptr_t calling_pc(const struct own_code *own, const void *context,
                            uintptr_t sp, uintptr_t high)
{
    enum { FAR = 64 << 10 };
    uintptr_t pc = ompjit__context_caller(context) - 1;
    if (in_code(own, pc))
        return pc;
    uintptr_t end = high - sp > FAR ? sp + FAR : high;
    for (uintptr_t at = (sp + 7) & ~(uintptr_t)7; at + 8 <= end; at += 8) {
        pc = *(const uintptr_t *)at - 1;
        if (in_code(own, pc))
            return pc;
    }
    return 0;
}

/* Has the thread go on in `escape`: below what may still be in use, and where
 * the stack pointer is not good for that, ROOM below the frames to come back
 * to. */
static void redirect(void *context, void (*escape)(void), uintptr_t sp,
                     struct bounds stack)
{
    enum { RED_ZONE = 256, ROOM = 16 << 10 };
    bool good = sp > stack.low && sp <= stack.high && !fault.overflow;
    fault.leaves = true;
    ompjit__context_redirect(context, escape,
                             good ? sp - RED_ZONE : stack.high - ROOM);
}

/* A fault of what the calling thread executes? No signal that was sent is one,
 * but by abort, and nothing on a signal stack, where only handlers run. With
 * the lock of the heap held the process could not go on. */
static bool is_fault(int number, const siginfo_t *info, const void *context)
{
    if (fault.leaves || ompjit__context_on_signal_stack(context))
        return false;
    if (number == SIGABRT)
        return info->si_code == SI_TKILL && info->si_pid == getpid() &&
               !aborts_in_heap(abort_message());
    return info->si_code > 0;
}

/* The kernel's place, and why it stops where it does not fault. False: it was
 * neither, and goes on. */
static bool place_fault(const struct fiber *f, const void *context,
                        const ompjit__place *at)
{
    const struct ompjit__host_team *t = f->member->team;
    struct bounds stack = bounds_of(f);
    struct own_code own = {.kernel = t->launch->code};
    enum ompjit__closed closed =
        fault.signal == SIGSEGV && fault.code == SEGV_ACCERR
            ? ompjit__closed_at(t->watch, at->pc, fault.address)
            : OMPJIT__CLOSED_NOT;
    if (closed == OMPJIT__CLOSED_AGAIN)
        return false;
    if (closed == OMPJIT__CLOSED_LEAVE)
        fault.stop = ompjit__stopped(t->watch);
    if (!in_code(&own, at->pc))
        fault.pc = at->sp > stack.low && at->sp < stack.high
                       ? calling_pc(&own, context, at->sp, stack.high)
                       : 0;
    return true;
}

/* The place of a guarded call: in the module, or where that has called the
 * function that faults. */
static void place_guard(ompjit__call_guard *g, const void *context,
                        const ompjit__place *at)
{
    struct bounds stack = bounds_below(g->base);
    struct own_code own = {.module = g->code};
    bool sound = at->sp > stack.low && at->sp < stack.high;
    if (!g->code)
        return;
    if (in_code(&own, at->pc))
        g->pc = at->pc;
    else
        g->pc = sound ? calling_pc(&own, context, at->sp, stack.high) : 0;
}

/* Does the thread's innermost guard end with its faults? Not while the library
 * works for it, in the middle of libomp's work, or in a child's process. */
static bool guard_takes(const ompjit__call_guard *g)
{
    return g && g->takes_faults && !g->busy && ompjit__call_is_here() &&
           (!g->ctx || ompjit__call_can_leave());
}

/* Takes a fault of a kernel, or of a call that is guarded. */
static bool take(int number, const siginfo_t *info, void *context)
{
    const struct fiber *f = ompjit__host_current;
    ompjit__call_guard *guard = ompjit__innermost;
    ompjit__place at;
    if (!is_fault(number, info, context) || (!f && !guard_takes(guard)))
        return false;
    bool memory = number == SIGSEGV || number == SIGBUS;
    uintptr_t address = memory ? (uintptr_t)info->si_addr : 0;
    ompjit__context_place(context, &at);
    if (number != SIGABRT && holds_heap(f, at.pc))
        return false;
    fault = (struct fault){number, info->si_code, at.pc, address, false, false,
                           OMPJIT__STOP_NOT};
    if (f && !place_fault(f, context, &at))
        return true;
    fault.overflow = memory && !fault.stop && overflowed(f, at.sp, address);
    if (!f)
        place_guard(guard, context, &at);
    redirect(context, f ? fault_escape : guard_escape, at.sp,
             f ? bounds_of(f) : bounds_below(guard->base));
    return true;
}

/* Takes a signal by which a call that was aborted is to be left; the next one
 * comes soon. */
static bool take_tick(const siginfo_t *info, void *context)
{
    ompjit__place at;
    bool step, ticks = info->si_code == SI_TIMER;
    if (!ompjit__call_ticks(info))
        return false;
    ompjit__context_place(context, &at);
    if (fault.leaves || ompjit__context_on_signal_stack(context))
        return true;
    bool leaves = ompjit__call_leaves_at(at.pc, ticks, &step);
    ompjit__context_step(context, step && !leaves);
    if (!leaves)
        return true;
    fault = (struct fault){.stop = OMPJIT__STOP_ABORTED};
    ompjit__innermost->pc = at.pc;
    redirect(context, guard_escape, at.sp,
             bounds_below(ompjit__innermost->base));
    return true;
}

/* --------------------------------------------------------------- handlers */

/* Does as the process would have done without us. */
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

/* The compiler's guards, where it is loaded. */
static bool (*_Atomic ask)(const siginfo_t *info, uintptr_t pc);

void ompjit__fault_ask(bool (*taken)(const siginfo_t *info, uintptr_t pc))
{
    atomic_store(&ask, taken);
}

/* The order matters: a signal that asks a thread to stop may be of the same
 * number as a fault. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    int before = errno;
    ompjit__place at;
    ompjit__context_place(context, &at);
    bool (*taken)(const siginfo_t *, uintptr_t) = atomic_load(&ask);
    if (!(taken && taken(info, at.pc)) && !ompjit__stop_taken(info) &&
        !take_tick(info, context) && !take(number, info, context))
        pass_on(number, info, context);
    errno = before;
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_fault;
}

int ompjit__fault_signal(void)
{
    int found = 0;
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        bool ours = !sigaction(signals[i], NULL, &now) && is_ours(&now);
        if (!ours && signals[i] == SIGSEGV)
            return 0;
        found = ours ? signals[i] : found;
    }
    return found;
}

/* Handlers of somebody who has been there before us are kept in `previous`. */
void ompjit__fault_hold(void)
{
    struct sigaction ours = {.sa_sigaction = on_fault,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&state.lock);
    if (!last_message)
        last_message = dlsym(RTLD_DEFAULT, "__abort_msg");
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

/* The last drop waits for signals that are on their way. */
void ompjit__fault_drop(void)
{
    pthread_mutex_lock(&state.lock);
    if (state.holds == 1)
        ompjit__stop_settle();
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
static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

/* For the end of a thread. A stack that the application has put in place of
 * ours stays. */
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

/* A fault while its signal is blocked would end the process. */
static void unblock(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Where there is no memory the thread has no signal stack: an overflow of its
 * own ends the process then. */
void ompjit__fault_thread(void)
{
    stack_t now;
    if (prepared || !state.holds)
        return;
    prepared = true;
    unblock();
    ompjit__stack_find();
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
