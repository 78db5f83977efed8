/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C++ exceptions that leave a function which ompjit_function_call has called:
 * the unwinder finds a handler in the call (registers_<CPU>.c has the code that
 * it leads to), and runs the destructors on its way there. Those that leave a
 * function called through a pointer pass on to its caller. This library is C:
 * the functions of the unwinder and of the C++ runtime are those of the process,
 * which has both where something was thrown.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "device/engine/fault.h"
#include "device/engine/guard.h"
#include "function/function.h"

/* --------------------------------------------------------------- unwinding */

/* Functions of the library that unwinds. */
static struct {
    pthread_once_t once;
    void (*set_register)(void *context, int index, uintptr_t value);
    void (*set_pc)(void *context, uintptr_t value);
    uintptr_t (*get_cfa)(void *context);
} unwinder = {.once = PTHREAD_ONCE_INIT};

/* Stores the symbol's address, or NULL, to the pointer to a function at
 * `function`. */
static void find(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);
    memcpy(function, &address, sizeof address);
}

/* libgcc_s may be there as the dependency of something that was opened with
 * RTLD_LOCAL; RTLD_DEFAULT does not find it then. The handle is never closed,
 * since the pointers stay in use. */
static void find_unwinder(void)
{
    void *handle = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        handle = RTLD_DEFAULT;
    find(handle, "_Unwind_SetGR", &unwinder.set_register);
    find(handle, "_Unwind_SetIP", &unwinder.set_pc);
    find(handle, "_Unwind_GetCFA", &unwinder.get_cfa);
}

/* The guard of the frame of ompjit__registers_call that the unwinder is at: its
 * way out lies in that frame. NULL: none. */
static const ompjit__call_guard *guard_at(void *context)
{
    uintptr_t end = unwinder.get_cfa ? unwinder.get_cfa(context) : 0;
    const ompjit__call_guard *g = ompjit__innermost;
    while (g && end && !(end - (uintptr_t)g->escape <= OMPJIT__FRAME))
        g = g->outer;
    return g;
}

/* Takes whatever is thrown, but for a call through a pointer, which it leaves. A
 * thread that is cancelled, or exits, goes on to its end, and is in no call any
 * more. */
int ompjit__call_personality(int version, int actions, uint64_t origin,
                             void *exception, void *context)
{
    /* _Unwind_Action and _Unwind_Reason_Code of the Itanium C++ ABI, as far as
     * they are used here. */
    enum { SEARCHES = 1, HANDLES = 4, FORCED = 8 };
    enum { FATAL = 3, FOUND = 6, INSTALL = 7, CONTINUE = 8 };
    pthread_once(&unwinder.once, find_unwinder);
    const ompjit__call_guard *g = guard_at(context);
    if (actions & FORCED || (g && g->by_pointer)) {
        if (g && !(actions & SEARCHES))
            ompjit__call_guard_exit(g);
        return CONTINUE;
    }
    if (!unwinder.set_register || !unwinder.set_pc)
        return actions & SEARCHES ? FATAL : CONTINUE;
    if (actions & SEARCHES)
        return FOUND;
    if (!(actions & HANDLES))
        return CONTINUE;
    unwinder.set_register(context, __builtin_eh_return_data_regno(0),
                          (uintptr_t)exception);
    unwinder.set_pc(context, (uintptr_t)ompjit__registers_caught);
    return INSTALL;
}

/* -------------------------------------------------------------------- text */

/* The Itanium C++ ABI, 2.2: the header that the unwinder knows is the last of an
 * exception's, and the object follows it. */
struct unwind_header {
    uint64_t class; /* "GNUCC++" of libstdc++, and 1 where the object is
                       elsewhere, as of one that is thrown again */
    void *cleanup;
    uint64_t private[2];
};
enum { HEADER = 32 };
#define GNU_CXX UINT64_C(0x474e5543432b2b) /* of `class` without the last byte */

/* std::type_info */
struct type_info {
    bool (*const *functions)(const struct type_info *catches,
                             const struct type_info *thrown, void **object,
                             unsigned outer);
    const char *name;
};
enum { DO_CATCH = 4, WHAT = 2 }; /* places in the tables of functions */

/* Functions of the C++ runtime, and type_info of std::exception. */
struct runtime {
    void *(*begin_catch)(void *exception);
    void (*end_catch)(void);
    const struct type_info *(*current_type)(void);
    const struct type_info *std_exception;
};

/* False: something is missing there; *out may then be filled in part. */
static bool find_in(void *handle, struct runtime *out)
{
    find(handle, "__cxa_begin_catch", &out->begin_catch);
    find(handle, "__cxa_end_catch", &out->end_catch);
    find(handle, "__cxa_current_exception_type", &out->current_type);
    find(handle, "_ZTISt9exception", &out->std_exception);
    return out->begin_catch && out->end_catch && out->current_type &&
           out->std_exception;
}

/* Looked for where the module's own names are (hosthalf/program_code.c). */
static bool find_runtime(struct runtime *out)
{
    if (find_in(RTLD_DEFAULT, out))
        return true;
    void *handle = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    bool found = handle && find_in(handle, out);
    if (handle)
        dlclose(handle);
    return found;
}

/* The question to the thrown object's own functions. */
struct asked {
    const struct runtime *runtime;
    const struct type_info *type;
    void *object;
    char what[384];
};

/* In a guard, since these functions are the program's. a->what stays empty
 * unless the object is a std::exception or of a class derived from it. */
static void ask(void *arg)
{
    struct asked *a = arg;
    const struct type_info *catches = a->runtime->std_exception;
    void *object = a->object;
    if (!catches->functions[DO_CATCH](catches, a->type, &object, 1))
        return;
    const char *(*const *functions)(void *) =
        *(const char *(*const **)(void *))object;
    const char *text = functions[WHAT](object);
    if (text)
        snprintf(a->what, sizeof a->what, ": %s", text);
}

/* "std::runtime_error" of "St13runtime_error"; malloc'd. */
static char *type_name(const char *name)
{
    static const char prefix[] = "typeinfo for ";
    char *mangled = ompjit__format("_ZTI%s", *name == '*' ? name + 1 : name);
    char *text = mangled ? ompjit__demangle(mangled) : NULL;
    char *out = text && !strncmp(text, prefix, sizeof prefix - 1)
                    ? ompjit__strdup(text + sizeof prefix - 1)
                    : ompjit__strdup(name);
    free(mangled);
    free(text);
    return out;
}

/* Catches the exception and so destroys its object. Exceptions of another
 * runtime than libstdc++ are left alone, and have no name here. Of one that was
 * thrown again by std::rethrow_exception the object is elsewhere: its text is
 * the type. */
void ompjit__exception_text(void *exception, char *text, size_t size)
{
    const struct unwind_header *header = exception;
    struct runtime runtime;
    char cause[256];
    snprintf(text, size, "it threw an exception");
    if (header->class >> 8 != GNU_CXX || !find_runtime(&runtime))
        return;
    runtime.begin_catch(exception);
    struct asked a = {.runtime = &runtime,
                      .type = runtime.current_type(),
                      .object = (char *)exception + HEADER};
    if (a.type && !(header->class & 0xff))
        ompjit__fault_guard(ask, &a, cause, sizeof cause);
    char *name = a.type ? type_name(a.type->name) : NULL;
    if (name)
        snprintf(text, size, "it threw %s%s", name, a.what);
    free(name);
    runtime.end_catch();
}
