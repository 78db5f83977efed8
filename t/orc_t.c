/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Objects from IR text become code: who wins, who is missing, who is freed.
 */
#include <fcntl.h>
#include <unistd.h>

#include "backend/codegen/emit.h"
#include "backend/host/host.h"
#include "loader/jit.h"
#include "ir_text.h"
#include "tap.h"

static ompjit_error err;

static ompjit_status compile(const char *ir, bool tls, ompjit__buf *object)
{
    struct ir_text t;
    ompjit_status status = ir_text_open(&t, ir, &err);
    if (!status)
        status = ompjit__host_machine(2, tls, &t.tm, &err);
    if (!status)
        status = ompjit__emit_object(t.m, t.tm, NULL, OMPJIT__PASSES_ALL, object,
                                     &err);
    ir_text_close(&t);
    return status;
}

/* A jit with one object of this IR; NULL with err on failure. */
static ompjit__jit *jit_of(const char *ir, bool tls)
{
    ompjit__buf object = {0};
    ompjit__jit *jit = NULL;
    if (!compile(ir, tls, &object) && !ompjit__jit_new("image", &jit, &err) &&
        ompjit__jit_add_object(jit, object.data, object.size, &err)) {
        ompjit__jit_free(jit);
        jit = NULL;
    }
    ompjit__buf_free(&object);
    return jit;
}

static void *address_of(ompjit__jit *jit, const char *name)
{
    void *address = NULL;
    ompjit_status status = ompjit__jit_lookup(jit, name, &address, &err);
    ok(!status, "%s is found", name);
    if (status)
        printf("# %s\n", err.text);
    return address;
}

static int call0(void *f)
{
    return f ? ((int (*)(void))f)() : -1;
}

/* ------------------------------------------------------------ who defines */

static const char calls_getppid[] =
    "declare i32 @getppid()\n"
    "define i32 @f() { %r = call i32 @getppid()\n ret i32 %r }\n";

static int seventeen(void) { return 17; }
static int eighteen(void) { return 18; }

static void *find_getppid(void *data, const char *name)
{
    ++*(int *)data;
    return strcmp(name, "getppid") ? NULL : (void *)eighteen;
}

static void precedence(void)
{
    static const struct {
        const char *name;
        bool define, find;
        int want; /* 0: the process's own */
    } rows[] = {
        {"the process has the last word", false, false, 0},
        {"the owner's search comes before it", false, true, 18},
        {"a definition comes before both", true, true, 17},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__absolute def = {"getppid", (void *)seventeen};
        ompjit__jit *jit = jit_of(calls_getppid, false);
        int asked = 0;
        ok(jit != NULL, "an image");
        if (rows[i].find)
            ompjit__jit_search(jit, find_getppid, &asked);
        if (rows[i].define)
            ok(!ompjit__jit_define(jit, &def, 1, &err), "a definition");
        int want = rows[i].want ? rows[i].want : (int)getppid();
        ok(call0(address_of(jit, "f")) == want, "%s", rows[i].name);
        ok(asked == (rows[i].find && !rows[i].define),
           "the search is asked only where it has to be");
        ompjit__jit_free(jit);
    }
}

/* --------------------------------------------------------------- failures */

static void failures(void)
{
    int keep = dup(2), file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    ok(file >= 0 && dup2(file, 2) == 2, "standard error goes to a file");
    ompjit__jit *jit = jit_of(
        "declare i32 @missing_one()\n@missing_two = external global i32\n"
        "define i32 @g() { ret i32 5 }\n"
        "define i32 @f() { %a = call i32 @missing_one()\n"
        " %b = load i32, ptr @missing_two\n %c = add i32 %a, %b\n"
        " ret i32 %c }\n",
        false);
    for (int again = 0; again < 2; again++) {
        void *address = &address;
        memset(&err, 0, sizeof err);
        ok(ompjit__jit_lookup(jit, "f", &address, &err) == OMPJIT_ERR_LINK,
           "undefined symbols are a link error");
        ok(err.stage == OMPJIT_STAGE_LINK, "of the link stage");
        ok_contains(err.text, "image: undefined symbols: ", "it says so");
        ok_contains(err.text, "missing_one", "the first is named");
        ok_contains(err.text, "missing_two", "the second too");
        ok(address == &address, "nothing is stored");
    }
    void *address;
    ok(ompjit__jit_lookup(jit, "getpid", &address, &err) ==
           OMPJIT_ERR_NOT_FOUND,
       "what only the process has is not in the image");
    ok_string(err.text, "image has no symbol getpid", "and the text says so");
    ok(ompjit__jit_lookup(jit, "missing_one", &address, NULL) ==
           OMPJIT_ERR_NOT_FOUND,
       "nor is what it lacks itself");

    ok(ompjit__jit_add_object(jit, "not an object", 13, &err) ==
           OMPJIT_ERR_LINK,
       "garbage is refused");
    ok_contains(err.text, "image: ", "with a text");
    ompjit__buf twice = {0};
    ok(!compile("define i32 @g() { ret i32 6 }", false, &twice), "an object");
    ok(ompjit__jit_add_object(jit, twice.data, twice.size, &err) ==
           OMPJIT_ERR_LINK,
       "two definitions are refused");
    ok_contains(err.text, "duplicate definition of symbol 'g'", "by name");
    ompjit__buf_free(&twice);

    ompjit__absolute defs[] = {{"x", &jit}, {"g", &jit}};
    ok(ompjit__jit_define(jit, defs, 2, &err) == OMPJIT_ERR_LINK,
       "so is a definition of what an object has");
    ompjit__jit_free(jit);
    ompjit__jit_free(NULL);
    ok(lseek(file, 0, SEEK_END) == 0, "LLVM printed nothing");
    dup2(keep, 2);
    close(keep);
    close(file);
}

static void isolation(void)
{
    ompjit__jit *a = jit_of("@mine = global i32 1\n"
                            "define i32 @f() { %v = load i32, ptr @mine\n"
                            " ret i32 %v }\n",
                            false);
    ompjit__jit *b = jit_of("@mine = global i32 2\n"
                            "define i32 @f() { %v = load i32, ptr @mine\n"
                            " ret i32 %v }\n",
                            false);
    ompjit__jit *c = jit_of("@mine = external global i32\n"
                            "define i32 @f() { %v = load i32, ptr @mine\n"
                            " ret i32 %v }\n",
                            false);
    ok(call0(address_of(a, "f")) == 1, "an image sees its own symbols");
    ok(call0(address_of(b, "f")) == 2, "also where another has the same");
    void *address;
    ok(ompjit__jit_lookup(c, "f", &address, &err) == OMPJIT_ERR_LINK,
       "and nobody else's");
    ompjit__jit_free(a);
    ok(call0(address_of(b, "f")) == 2, "freeing one leaves the others");
    ompjit__jit_free(b);
    ompjit__jit_free(c);
}

/* ----------------------------------------------------------------- memory */

static long resident_kb(void)
{
    long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &total, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int cycle(const ompjit__buf *object)
{
    ompjit__jit *jit;
    void *f = NULL;
    if (ompjit__jit_new("cycle", &jit, NULL))
        return -1;
    if (!ompjit__jit_add_object(jit, object->data, object->size, NULL))
        ompjit__jit_lookup(jit, "f", &f, NULL);
    int result = call0(f);
    ompjit__jit_free(jit);
    return result;
}

static void memory(void)
{
    enum { CYCLES = 1000 };
    ompjit__buf object = {0};
    int right = 0;
    ok(!compile("@big = internal global [65536 x i32] zeroinitializer\n"
                "define i32 @f() {\n"
                " %p = getelementptr i32, ptr @big, i64 65535\n"
                " %a = load i32, ptr %p\n %b = add i32 %a, 9\n"
                " store i32 %b, ptr %p\n ret i32 %b }\n",
                false, &object),
       "an object with 256 KiB of data");
    for (int i = 0; i < 50; i++)
        cycle(&object);
    long before = resident_kb();
    uint64_t start = ompjit__now();
    for (int i = 0; i < CYCLES; i++)
        right += cycle(&object) == 9;
    uint64_t spent = ompjit__now() - start;
    long grown = resident_kb() - before;
    printf("# %.0f us a cycle, %ld KiB of growth\n",
           (double)spent / 1e3 / CYCLES, grown);
    ok(right == CYCLES, "%d images come and go", CYCLES);
    tap_ok_growth(grown, 1024);
    ompjit__buf_free(&object);
}

static void *many(void *object)
{
    intptr_t right = 0;
    for (int i = 0; i < 50; i++)
        right += cycle(object) == 3;
    return (void *)right;
}

/* ---------------------------------------------------------------- threads */

static const char counts[] =
    "@n = thread_local global i32 40\n"
    "@z = internal thread_local global i32 0\n"
    "declare ptr @llvm.threadlocal.address.p0(ptr)\n"
    "define i32 @next() {\n"
    " %p = call ptr @llvm.threadlocal.address.p0(ptr @n)\n"
    " %q = call ptr @llvm.threadlocal.address.p0(ptr @z)\n"
    " %a = load i32, ptr %p\n %b = add i32 %a, 1\n store i32 %b, ptr %p\n"
    " store i32 %b, ptr %q\n"
    " %c = load i32, ptr %q\n ret i32 %c }\n";

static void *next_in_thread(void *f)
{
    call0(f);
    return (void *)(intptr_t)call0(f);
}

extern void *__emutls_get_address(void *);

static void threads(void)
{
    ompjit__absolute def = {"__emutls_get_address",
                            (void *)__emutls_get_address};
    ompjit__jit *jit = jit_of(counts, true);
    ok(jit && !ompjit__jit_define(jit, &def, 1, &err), "emulated TLS");
    void *next = address_of(jit, "next"), *result;
    pthread_t t;
    ok(call0(next) == 41, "a thread-local variable starts at its value");
    ok(!pthread_create(&t, NULL, next_in_thread, next), "a thread");
    pthread_join(t, &result);
    ok((intptr_t)result == 42, "another thread has its own");
    ok(call0(next) == 42, "the first one's is as it was");
    ompjit__jit_free(jit);

    ompjit__buf object = {0};
    pthread_t ts[4];
    intptr_t right = 0;
    ok(!compile("define i32 @f() { ret i32 3 }", false, &object), "an object");
    for (int i = 0; i < 4; i++)
        pthread_create(&ts[i], NULL, many, &object);
    for (int i = 0; i < 4; i++) {
        pthread_join(ts[i], &result);
        right += (intptr_t)result;
    }
    ok(right == 200, "threads make images at the same time");
    ompjit__buf_free(&object);
}

static void machine(void)
{
    LLVMTargetMachineRef tm;
    ok(!ompjit__host_machine(9, false, &tm, &err), "a level too high is 3");
    char *cpu = LLVMGetTargetMachineCPU(tm), *host = LLVMGetHostCPUName();
    char *features = LLVMGetTargetMachineFeatureString(tm);
    ok_string(cpu, host, "the machine is this CPU");
    ok(*features == '+' || *features == '-', "with its features");
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(host);
    LLVMDisposeMessage(features);
    LLVMDisposeTargetMachine(tm);
}

int main(void)
{
    machine();
    precedence();
    failures();
    isolation();
    memory();
    threads();
    return done_testing();
}
