/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory that runs out in LLVM. If LLVM asks malloc, it then calls a handler of
 * its own, which leaves the guard that the thread is in (llvm.c). If it asks
 * operator new, nothing in LLVM catches the exception, so the process has a
 * handler for that which leaves the guard, too, unless the application has one.
 * Outside of guards the exception is thrown.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm/Support/ErrorHandling.h>
#include <new>

extern "C" {
#include "llvm/no_memory.h"
}

/* Without a handler operator new throws. The next guard brings it back. */
static void on_new()
{
    ompjit__guard_leave();
    std::set_new_handler(nullptr);
}

static void on_malloc(void *, const char *, bool)
{
    ompjit__guard_leave();
}

void ompjit__handle_no_malloc(void)
{
    llvm::install_bad_alloc_error_handler(on_malloc, nullptr);
}

void ompjit__handle_no_new(void)
{
    if (!std::get_new_handler())
        std::set_new_handler(on_new);
}

/* The library may be unloaded before the process ends. */
__attribute__((destructor)) static void stop_watching()
{
    if (std::get_new_handler() == on_new)
        std::set_new_handler(nullptr);
}
