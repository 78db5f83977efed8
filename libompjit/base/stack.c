/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds the end of the calling thread's stack.
 */
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/stack.h"

/* 0: not looked for, or nobody knows. */
static _Thread_local uintptr_t stack_end
    __attribute__((tls_model("initial-exec")));

/* The end of the first thread's stack, which grows as far as its limit lets it,
 * from the page that ends with the program's name; 0: not known. The C library
 * would read /proc/self/maps. */
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

uintptr_t ompjit__stack_find(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (stack_end)
        return stack_end;
    if (getpid() == gettid())
        return stack_end = first_stack_end();
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
