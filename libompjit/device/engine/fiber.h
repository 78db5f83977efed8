/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stacks that one OS thread runs in turn. A switch saves the callee-saved
 * registers and exchanges stack pointers; no system call. fiber_<CPU>.c does
 * it, of which all are compiled and one is not empty.
 */
#ifndef OMPJIT_FIBER_H
#define OMPJIT_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Saves the caller's registers on its stack, stores the stack pointer to
 * *save, and continues where `to` was saved. */
void ompjit__fiber_switch(void **save, void *to);

/* A stack pointer that, switched to, calls f(arg) on the stack of `size` bytes
 * at `stack`. f must not return. */
void *ompjit__fiber_prepare(void *stack, size_t size, void (*f)(void *),
                            void *arg);

/* f(arg) on this stack, with the way back in *save while it runs: 0 when it has
 * returned. leave, from inside of f, ends it there and then: call returns 1. As
 * setjmp and longjmp, but for what they do besides. A C++ exception of f does
 * not get out of it: personality, which the unwinder asks, says that nobody
 * catches it, and std::terminate is called. */
int ompjit__fiber_call(void (*f)(void **), void **arg, void **save);
void ompjit__fiber_leave(void *save) __attribute__((noreturn));
int ompjit__fiber_personality(int version, int actions, uint64_t origin,
                              void *exception, void *context)
    __attribute__((visibility("hidden")));

/* A jmp_buf's content, by the functions that stand for setjmp; it is larger:
 * where to go on, and, by ompjit__jump_mark (libc.c), for whom. */
typedef struct ompjit__jump {
    uintptr_t sp, pc;
    uint64_t registers[20];
    const void *thread;
    uint64_t launch;
    uint32_t team;
} ompjit__jump;

int ompjit__jump_mark(ompjit__jump *jump)
    __attribute__((visibility("hidden")));
void ompjit__jump_to(const ompjit__jump *jump, int value)
    __attribute__((noreturn));

/* In a loop that waits for another processor. */
void ompjit__fiber_relax(void);

/* After a function was left in its middle: puts right what the ABI says of the
 * processor's state between functions. */
void ompjit__fiber_clean(void);

/* A signal handler's `context` (ucontext_t): where the thread was and its
 * stack pointer; the address that a function without a frame would return to,
 * which reads the stack on some machines. */
typedef struct ompjit__place {
    uintptr_t pc, sp;
} ompjit__place;

void ompjit__context_place(const void *context, ompjit__place *out);
uintptr_t ompjit__context_caller(const void *context);
/* Did the signal come while the thread was on its alternate signal stack? */
bool ompjit__context_on_signal_stack(const void *context);
/* The thread goes on with f(), which must not return, on the stack below
 * `sp`. */
void ompjit__context_redirect(void *context, void (*f)(void), uintptr_t sp);

/* The thread gets SIGTRAP at its next instruction, and so on, or no more. No more
 * where the CPU has no such thing for programs, or the instruction is a system
 * call that blocks signals or starts a thread or a process: that would inherit
 * the steps and die of them. */
void ompjit__context_step(void *context, bool on);

/* Sanitizers have to be told of stacks; else all this does nothing.
 *
 * current: what is known of the one that runs. leaving: before a switch to
 * another; `last` if the one that runs is done. entered: first thing after,
 * with what leaving gave when this stack was left, NULL on a new one; `from`,
 * if not NULL, learns the stack that was left to come here. reset: before
 * prepare. close: before it is freed. left: the frames below the caller's were
 * abandoned. */
typedef struct ompjit__stack {
    char *base;
    size_t size;
    void *tsan;
} ompjit__stack;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OMPJIT__ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define OMPJIT__TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define OMPJIT__ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define OMPJIT__TSAN 1
#endif

#ifdef OMPJIT__ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef OMPJIT__TSAN
#include <sanitizer/tsan_interface.h>
#endif

static inline void ompjit__stack_current(ompjit__stack *stack)
{
#ifdef OMPJIT__TSAN
    stack->tsan = __tsan_get_current_fiber();
#endif
}

static inline void *ompjit__fiber_leaving(const ompjit__stack *to, bool last)
{
    void *fake = NULL;
#ifdef OMPJIT__ASAN
    __sanitizer_start_switch_fiber(last ? NULL : &fake, to->base, to->size);
#endif
#ifdef OMPJIT__TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    return fake;
}

static inline void ompjit__fiber_entered(void *fake, ompjit__stack *from)
{
#ifdef OMPJIT__ASAN
    const void *base;
    size_t size;
    __sanitizer_finish_switch_fiber(fake, &base, &size);
    if (from) {
        from->base = (char *)base;
        from->size = size;
    }
#endif
}

/* The next mapping there does not have the marks of old frames. */
static inline void ompjit__stack_close(ompjit__stack *stack)
{
#ifdef OMPJIT__ASAN
    if (stack->base)
        ASAN_UNPOISON_MEMORY_REGION(stack->base, stack->size);
#endif
#ifdef OMPJIT__TSAN
    if (stack->tsan)
        __tsan_destroy_fiber(stack->tsan);
#endif
}

static inline void ompjit__stack_left(void)
{
#ifdef OMPJIT__ASAN
    enum { DEEPEST = 256 << 10 };
    ASAN_UNPOISON_MEMORY_REGION(
        (char *)__builtin_frame_address(0) - DEEPEST, DEEPEST);
#endif
}

/* Frames that were abandoned may lie anywhere in it. */
static inline void ompjit__stack_reset(ompjit__stack *stack)
{
    ompjit__stack_close(stack);
#ifdef OMPJIT__TSAN
    stack->tsan = __tsan_create_fiber(0);
#endif
}

#endif
