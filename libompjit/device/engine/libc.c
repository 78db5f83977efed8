/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory and jumps for device code on the host.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/stack.h"
#include "device/engine/fault.h"
#include "device/engine/libc.h"
#include "device/engine/thread.h"

#define current ompjit__host_current

/* The call is the last that its line does. */
#define CALLING_PC ((uintptr_t)__builtin_return_address(0) - 1)

static __attribute__((noreturn)) void fail(uintptr_t pc, const char *text)
{
    ompjit__host_trap trap = {.pc = pc};
    snprintf(trap.text, sizeof trap.text, "%s", text);
    ompjit__host_trapped(current, &trap);
}

/* ---------------------------------------------------------------- memory */

/* A stack that ends inside of the C library would end there with a lock
 * held. */
static void need_stack(uintptr_t pc)
{
    enum { ROOM = 16 << 10 };
    const struct fiber *f = current;
    uintptr_t end = f->carrier ? (uintptr_t)f->carrier->stack.base +
                                     OMPJIT__HOST_GUARD
                               : ompjit__stack_end();
    if ((uintptr_t)__builtin_frame_address(0) - end < ROOM)
        fail(pc, "its stack overflowed");
}

void *ompjit_host_malloc(size_t size)
{
    struct fiber *f = current;
    need_stack(CALLING_PC);
    f->in_heap = true;
    void *p = malloc(size);
    f->in_heap = false;
    return p;
}

void *ompjit_host_calloc(size_t n, size_t size)
{
    struct fiber *f = current;
    need_stack(CALLING_PC);
    f->in_heap = true;
    void *p = calloc(n, size);
    f->in_heap = false;
    return p;
}

/* Faults before the heap is locked where there is nothing at the address. The
 * C library keeps a block's size in front of it. */
__attribute__((no_sanitize_address)) static void touch(const void *p)
{
    (void)*((const volatile size_t *)p - 1);
}

void *ompjit_host_realloc(void *p, size_t size)
{
    struct fiber *f = current;
    need_stack(CALLING_PC);
    if (p)
        touch(p);
    f->in_heap = true;
    void *to = realloc(p, size);
    f->in_heap = false;
    return to;
}

void ompjit_host_free(void *p)
{
    struct fiber *f = current;
    if (!p)
        return;
    need_stack(CALLING_PC);
    touch(p);
    f->in_heap = true;
    free(p);
    f->in_heap = false;
}

/* ----------------------------------------------------------------- leaving */

void ompjit_host_abort(void)
{
    fail(CALLING_PC, "it called abort");
}

void ompjit_host_pthread_exit(void *value)
{
    (void)value;
    fail(CALLING_PC, "it called pthread_exit");
}

static void mark(ompjit__jump *jump)
{
    const struct fiber *f = current;
    const ompjit__host_watch *w = f->member->team->watch;
    jump->thread = f;
    jump->launch = w ? ompjit__serial_of(w) : 0;
    jump->team = f->self.ctaid;
}

/* Called by setjmp, whose first return is this one's. */
int ompjit__jump_mark(ompjit__jump *jump)
{
    mark(jump);
    return 0;
}

/* A longjmp goes up the stack that the setjmp was on, in the same launch, to
 * its caller or further. */
void ompjit_host_longjmp(void *buffer, int value)
{
    const ompjit__jump *jump = buffer;
    ompjit__jump own;
    mark(&own);
    if (jump->thread != own.thread || jump->launch != own.launch ||
        jump->team != own.team ||
        jump->sp < (uintptr_t)__builtin_dwarf_cfa())
        fail(CALLING_PC, "it called longjmp with what no setjmp of this thread "
                         "of this launch has left");
    ompjit__jump_to(jump, value ? value : 1);
}
