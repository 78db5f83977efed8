/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds the end of the calling thread's stack.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/stack.h"

/* 0: not looked for, or nobody knows. */
static _Thread_local uintptr_t stack_end
    __attribute__((tls_model("initial-exec")));

/* Is the caller on the process's first stack, as its first thread is, but not
 * where a fork by another thread has made that the child's first? *end: where
 * it ends, 0 where nobody knows. The stack grows as far as its limit lets it,
 * from the page that ends with the program's name; the C library would read
 * /proc/self/maps. */
static bool is_on_first(uintptr_t *end)
{
    const char *name = (const char *)getauxval(AT_EXECFN);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    *end = 0;
    if (getpid() != gettid())
        return false;
    if (!name || getrlimit(RLIMIT_STACK, &limit))
        return true;
    uintptr_t top = ((uintptr_t)name + strlen(name) + page) & -page;
    *end = limit.rlim_cur < top ? top - (uintptr_t)limit.rlim_cur : 0;
    return here >= *end && here < top;
}

uintptr_t ompjit__stack_find(void)
{
    pthread_attr_t attributes;
    uintptr_t end;
    void *low;
    size_t size;
    if (stack_end)
        return stack_end;
    if (is_on_first(&end))
        return stack_end = end;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return 0;
    if (!pthread_attr_getstack(&attributes, &low, &size))
        stack_end = (uintptr_t)low;
    pthread_attr_destroy(&attributes);
    return stack_end;
}

uintptr_t ompjit__stack_end(void)
{
    return stack_end;
}
