/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Errors, buffers and libraries loaded at run time.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/stack.h"
#include "tap.h"

struct maths {
    double (*sine)(double);
    void (*none)(void);
};

static void errors(void)
{
    static char big[OMPJIT_ERROR_TEXT * 2];
    ompjit_error err;
    memset(big, 'x', sizeof big - 1);
    ok(ompjit__fail(&err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ, "%s", big) ==
           OMPJIT_ERR_IR,
       "fail returns its status");
    ok(strlen(err.text) == OMPJIT_ERROR_TEXT - 1, "a long text is cut");
    ok_contains(err.text + OMPJIT_ERROR_TEXT - 8, "xxxx...", "and says so");
    ok(ompjit__fail(NULL, OMPJIT_ERR_IR, OMPJIT_STAGE_READ, "x") ==
           OMPJIT_ERR_IR,
       "no error object is fine");
    for (int s = 0; s > -21; s--)
        ok(strcmp(ompjit_status_name((ompjit_status)s), "unknown status"),
           "status %d has a name: %s", s, ompjit_status_name((ompjit_status)s));
    ok_string(ompjit_status_name((ompjit_status)-21), "unknown status",
              "there are no more");
    for (int s = 0; s < OMPJIT_STAGE_COUNT; s++)
        ok(ompjit_stage_name((ompjit_stage)s) != NULL, "stage %d has a name: %s",
           s, ompjit_stage_name((ompjit_stage)s));
}

static void buffers(void)
{
    ompjit__buf b = {0};
    for (int i = 0; i < 1000; i++)
        ompjit__buf_printf(&b, "%d,", i);
    ok(b.size == 3890 && strlen(b.data) == 3890, "printf appends");
    ompjit__buf_add(&b, "a\0b", 3);
    ok(b.size == 3893 && b.data[3893] == 0, "bytes may be NUL");
    ompjit__buf_add(&b, "x", SIZE_MAX - 100);
    ok(b.failed && b.size == 3893, "too much fails and changes nothing");
    ompjit__buf_free(&b);
    ok(!b.data && !b.failed, "a freed buffer is empty");
}

static void libraries(void)
{
    static const ompjit__symbol symbols[] = {
        {"sin", offsetof(struct maths, sine), true},
        {"no_such_function", offsetof(struct maths, none), false},
    };
    const char *paths[] = {"/nonexistent/libm.so", "libm.so.6", NULL};
    struct maths maths = {0};
    ompjit_error err;
    ok(ompjit__load_library("libm", paths, symbols, 2, &maths, &err) == 0,
       "the second path loads");
    ok(maths.sine && maths.sine(0) == 0, "a symbol works");
    ok(!maths.none, "an optional symbol may be missing");
    static const ompjit__symbol needed[] = {
        {"no_such_function", offsetof(struct maths, none), true},
    };
    ok(ompjit__load_library("libm", paths, needed, 1, &maths, &err) ==
           OMPJIT_ERR_UNAVAILABLE,
       "a required symbol may not");
    ok_contains(err.text, "no symbol no_such_function", "the symbol is named");
    ok_contains(err.text, "/nonexistent/libm.so", "and the path that failed");
}

/* ompjit__library_missing agrees with dlopen, and gives no answer where
 * LD_LIBRARY_PATH names folders. */
static void missing_libraries(void)
{
    static const char *const names[] = {"libc.so.6", "libz.so.1", "libm.so.6",
                                        "libnowhere.so.9"};
    unsetenv("LD_LIBRARY_PATH");
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++) {
        void *handle = dlopen(names[i], RTLD_LAZY);
        ok(ompjit__library_missing(names[i]) == !handle, "%s is %s", names[i],
           handle ? "there" : "missing");
        if (handle)
            dlclose(handle);
    }
    setenv("LD_LIBRARY_PATH", "/nonexistent", 1);
    ok(!ompjit__library_missing("libnowhere.so.9"),
       "with LD_LIBRARY_PATH nobody knows");
    unsetenv("LD_LIBRARY_PATH");
    const char *path = ompjit__library_here("libc.so");
    ok(path && strstr(path, "/libc.so.6"), "the C library is in the process");
    ok(!ompjit__library_here("libnowhere"), "another is not");
}

/* A library that goes by a name of its own in a file of another. */
static void renamed_library(void)
{
    char folder[] = "/tmp/ompjit-test-XXXXXX";
    const char *build = getenv("builddir");
    if (!ok(mkdtemp(folder) != NULL, "a folder"))
        return;
    char *file = ompjit__format("%s/other.so", folder);
    char *copy = ompjit__format("cp '%s/t/.libs/fake_nvtx.so' '%s'",
                                build ? build : ".", file);
    ok(!system(copy), "a copy of a library");
    ok(!ompjit__library_here("fake_nvtx.so"), "is not in the process");
    void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    const char *path = ompjit__library_here("fake_nvtx.so");
    ok(handle && path, "is, by its own name");
    ok_string(path ? path : "", file, "and where it is");
    if (handle)
        dlclose(handle);
    unlink(file);
    rmdir(folder);
    free(copy);
    free(file);
}

static void sizes(void)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* ~0: an error */
    } rows[] = {
        {NULL, 7},        {"", 7},           {"0", 0},
        {"64", 64},       {"3K", 3 << 10},   {"64M", 64 << 20},
        {"2G", 2ull << 30}, {"1T", 1ull << 40},
        {"16777215T", 0xffffffull << 40},
        {"64m", ~0ull},   {"64MB", ~0ull},   {"64 M", ~0ull},
        {"M", ~0ull},     {"-5", ~0ull},     {" 5", ~0ull},
        {"0x10", ~0ull},  {"1e6", ~0ull},    {"16777216T", ~0ull},
        {"99999999999999999999", ~0ull},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit_error err = {0};
        uint64_t bytes = 7;
        const char *text = rows[i].text ? rows[i].text : "(unset)";
        bool bad = rows[i].bytes == ~0ull;
        if (rows[i].text)
            setenv("OMPJIT_T_SIZE", rows[i].text, 1);
        ompjit_status s = ompjit__env_bytes("OMPJIT_T_SIZE", &bytes, &err);
        ok(s == (bad ? OMPJIT_ERR_INVALID : OMPJIT_OK) &&
               bytes == (bad ? 7 : rows[i].bytes), "`%s'", text);
        if (bad) {
            ok_contains(err.text, text, "the error quotes it");
            ok_contains(err.text, "OMPJIT_T_SIZE=", "and names the variable");
        }
    }
}

/* ----------------------------------------------------------------- stacks */

enum { SMALL = 256 << 10 };

/* Is the end that was found within `most` bytes of this frame? */
static bool is_near(size_t most)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t end = ompjit__stack_find();
    return end < here && here - end <= most && ompjit__stack_end() == end;
}

static void *in_small_thread(void *fork_first)
{
    static bool good;
    int status = -1;
    pid_t child = fork_first ? fork() : -1;
    good = child <= 0 && is_near(SMALL);
    if (!child)
        _exit(!good);
    if (child > 0)
        good = waitpid(child, &status, 0) == child && !status;
    return good ? &good : NULL;
}

static bool in_thread(bool fork_first)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *good = NULL;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALL);
    if (!pthread_create(&thread, &attributes, in_small_thread,
                        fork_first ? "" : NULL))
        pthread_join(thread, &good);
    pthread_attr_destroy(&attributes);
    return good;
}

static void stacks(void)
{
    fflush(stdout);
    ok(is_near((size_t)1 << 40), "the end of the first thread's stack");
    ok(in_thread(false), "of another's");
    ok(in_thread(true), "of a child's that another thread has forked");
}

int main(void)
{
    stacks();
    sizes();
    errors();
    buffers();
    libraries();
    missing_libraries();
    renamed_library();
    return done_testing();
}
