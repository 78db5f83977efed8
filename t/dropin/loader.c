/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * loader HOW N LIBRARY...: uses libraries of library.c.
 *
 *   twice    loads all, and calls them in turn
 *   again    loads, calls and closes one after the other, N times; the memory
 *            of the process must not grow for ever
 *   threads  as `again`, while 4 threads call the first (they have begun then:
 *            a driver may need the dynamic linker in a thread's first call)
 *   fork     in a child, and then in the parent, neither of which has before
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int function(int);
static int n;
static char **paths; /* paths[i] is of FACTOR i + 2 */
static unsigned count;

static void *open_library(unsigned i)
{
    void *library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return library;
}

static int call(void *library, const char *name, int x)
{
    function *f;
    void *address = dlsym(library, name);
    memcpy(&f, &address, sizeof f);
    return f(x);
}

static int wrong(void *library, unsigned i)
{
    int factor = (int)i + 2, bad = 0;
    bad += call(library, "at_load", 0) != 2 * factor;
    bad += call(library, "result", 5) != 6 * factor;
    call(library, "set_offset", 1);
    bad += call(library, "result", 5) != 5 * factor + 1;
    call(library, "set_offset", factor);
    return bad;
}

static int twice(void)
{
    void *libraries[8];
    int bad = 0;
    for (unsigned i = 0; i < count; i++)
        libraries[i] = open_library(i);
    for (unsigned i = 0; i < 2 * count; i++)
        bad += wrong(libraries[i % count], i % count);
    return bad;
}

static long resident(void)
{
    long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &size, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE) >> 10;
}

/* From the `first` on. */
static int again(unsigned first)
{
    int bad = 0;
    long before = 0;
    for (int i = 0; i < n; i++) {
        unsigned which = first + (unsigned)i % (count - first);
        void *library = open_library(which);
        bad += wrong(library, which);
        dlclose(library);
        if (i == n / 2)
            before = resident();
    }
    long more = resident() - before;
    if (more > 1024)
        printf("%ld KiB more, ", more);
    return bad;
}

static atomic_int done, wrongs, begun;

static void *use_first(void *library)
{
    wrongs += call(library, "result", 5) != 12;
    begun++;
    while (!done)
        wrongs += call(library, "result", 5) != 12;
    return NULL;
}

static int with_threads(void)
{
    pthread_t threads[4];
    void *library = open_library(0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, use_first, library);
    while (begun < 4)
        sched_yield();
    int bad = again(1);
    done = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return bad + wrongs;
}

static int in_child(void)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid)
        exit(twice());
    return (waitpid(pid, &status, 0) != pid || status) + twice();
}

int main(int argc, char **argv)
{
    int bad;
    if (argc < 4)
        return 2;
    n = atoi(argv[2]);
    paths = argv + 3;
    count = (unsigned)argc - 3;
    switch (*argv[1]) {
    case 'a': bad = again(0); break;
    case 'f': bad = in_child(); break;
    case 't': bad = strcmp(argv[1], "threads") ? twice() : with_threads(); break;
    default: return 2;
    }
    printf("%d wrong\n", bad);
    return bad != 0;
}
