/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Host halves that clang makes run in this process: bound to their context,
 * constructed and destroyed in order, on libomp's threads. The served
 * functions are the test's own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/served.h"
#include "launch/module.h"
#include "omptarget/offload.h"
#include "tap.h"

static ompjit_error err;
static char dir[] = "/tmp/ompjit-hostjit-XXXXXX";

/* ------------------------------------------------- what other rooms serve */

static struct {
    struct { const void *key; unsigned index; } kernels[16];
    struct {
        void *host;
        uint64_t size;
        uint32_t flags;
        char symbol[64];
    } globals[16];
    unsigned nkernels, nglobals, removed;
    const void *launched;
    ompjit_context *context;
    char order[256];
} seen;

static int target_kernel(ompjit_context *ctx, void *loc, int64_t device,
                         int32_t teams, int32_t threads, void *host, void *args)
{
    seen.context = ctx;
    seen.launched = host;
    return 0;
}

static int num_devices(ompjit_context *ctx)
{
    seen.context = ctx;
    return 7;
}

static double twice(ompjit_context *ctx, double x, size_t n, void *p)
{
    *(size_t *)p = n;
    return 2 * x;
}

static int plain(int a) { return a + 1; }

/* Called by the programs: what happened, in order. */
static void note(const char *what)
{
    strcat(strcat(seen.order, what), " ");
}

static atomic_int lingers;

static void linger(int where)
{
    atomic_store(&lingers, where);
}

/* In place of the library's. */
const ompjit__served_name ompjit__served_names[] = {
    {"__kmpc_init_allocator", NULL, "l:ilip"},
    {"omp_init_allocator", NULL, "l:lip"},
    {"__tgt_target_kernel", OMPJIT__SYMBOL_CONTEXT, "i:pliipp"},
    {"omp_get_num_devices", OMPJIT__SYMBOL_CONTEXT, "i:"},
    {"omp_twice", OMPJIT__SYMBOL_CONTEXT, "d:dsp"},
    {"omp_plain", NULL, "i:i"},
    {"note", NULL, "v:p"},
    {"linger", NULL, "v:i"},
    {"__cxa_thread_atexit", OMPJIT__SYMBOL_LIFE, "i:ppp"},
};
const size_t ompjit__nserved_names = OMPJIT__COUNT(ompjit__served_names);

const ompjit__served ompjit__served_table[] = {
    {"__tgt_target_kernel", (void *)target_kernel, true, "i:pliipp"},
    {"omp_get_num_devices", (void *)num_devices, true, "i:"},
    {"omp_twice", (void *)twice, true, "d:dsp"},
    {"omp_plain", (void *)plain, false, "i:i"},
    {"note", (void *)note, false, "v:p"},
    {"linger", (void *)linger, false, "v:i"},
};
const size_t ompjit__served_count = OMPJIT__COUNT(ompjit__served_table);

ompjit_status ompjit__tgt_add_kernel(ompjit_context *ctx, const void *key,
                                     ompjit_module *mod, unsigned kernel,
                                     ompjit_error *e)
{
    seen.kernels[seen.nkernels].key = key;
    seen.kernels[seen.nkernels++].index = kernel;
    return OMPJIT_OK;
}

ompjit_status ompjit__tgt_add_global(ompjit_context *ctx, void *host,
                                     uint64_t size, uint32_t flags,
                                     ompjit_module *mod, const char *symbol,
                                     ompjit_error *e)
{
    unsigned i = seen.nglobals++;
    seen.globals[i].host = host;
    seen.globals[i].size = size;
    seen.globals[i].flags = flags;
    snprintf(seen.globals[i].symbol, sizeof seen.globals[i].symbol, "%s",
             symbol);
    return OMPJIT_OK;
}

void ompjit__tgt_remove(ompjit_context *ctx, ompjit_module *mod)
{
    seen.removed++;
    strcat(seen.order, "removed ");
}

void ompjit__stage_done(ompjit_context *ctx, ompjit_stage stage, uint64_t start)
{
    ctx->stage_count[stage]++;
}

static void stage_done(void *ctx, ompjit_stage stage, uint64_t start,
                       uint64_t end)
{
    ompjit__stage_done(ctx, stage, start);
}

/* ---------------------------------------------------------------- programs */

struct program {
    ompjit_context ctx;
    ompjit_module mod;
    ompjit__hostjit *jit;
    void *address;
};

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        skip_all("cannot write %s", path);
}

/* The host half as the front end asks clang for it. */
static void compile(struct program *p, const char *name, const char *source,
                    const char *flags)
{
    const char *clang = getenv("CLANG");
    char path[256], command[1024];
    memset(p, 0, sizeof *p);
    p->mod.ctx = &p->ctx;
    p->ctx.devices_known = true; /* that there are none */
    p->ctx.compiler.stage_done = stage_done;
    p->ctx.compiler.stage_data = &p->ctx;
    p->mod.unit.name = ompjit__strdup(name);
    p->mod.unit.opt_level = 3;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    write_file(path, source);
    snprintf(command, sizeof command,
             "%s -O2 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda "
             "--offload-host-only -nogpulib -Xclang -disable-llvm-passes "
             "-emit-llvm -c %s %s -o %s.bc",
             clang ? clang : "clang-22", flags, path, path);
    if (system(command))
        skip_all("clang cannot compile %s", name);
    strcat(path, ".bc");
    ok(!ompjit__read_file(path, &p->mod.unit.host_bc, &err), "%s is bitcode",
       name);
}

/* In this process, whose functions for host halves are the test's. */
static ompjit_status link_half(struct program *p, ompjit_error *e)
{
    p->ctx.compiler.in_process = true;
    ompjit__unit_seal(&p->mod.unit);
    return ompjit__hostjit_new(&p->mod, &p->jit, e);
}

static bool start(struct program *p)
{
    memset(&seen, 0, sizeof seen);
    memset(&err, 0, sizeof err);
    bool good = !link_half(p, &err);
    ok(good, "%s links", p->mod.unit.name);
    if (!good)
        printf("# %s\n", err.text);
    return good;
}

static void end(struct program *p)
{
    ompjit__hostjit_free(p->jit);
    for (unsigned i = 0; i < p->mod.unit.nkernels; i++)
        free(p->mod.unit.kernels[i].symbol);
    free(p->mod.unit.kernels);
    free(p->mod.unit.name);
    ompjit__buf_free(&p->mod.unit.host_bc);
}

static void *function(struct program *p, const char *name)
{
    void *f = NULL;
    ok(!ompjit__hostjit_lookup(p->jit, name, &f, &err), "%s has %s",
       p->mod.unit.name, name);
    return f;
}

static int call_int(struct program *p, const char *name, int arg)
{
    int (*f)(int) = (int (*)(int))function(p, name);
    return f ? f(arg) : -1;
}

/* The kernel symbols carry a file number: read out of the bitcode's names. */
static void add_kernel(struct program *p, const char *suffix)
{
    const char *data = p->mod.unit.host_bc.data;
    static const char prefix[] = "__omp_offloading_";
    ompjit__unit *unit = &p->mod.unit;
    for (size_t i = 0; i + 100 < p->mod.unit.host_bc.size; i++) {
        if (memcmp(data + i, prefix, sizeof prefix - 1))
            continue;
        const char *at = strstr(data + i, suffix);
        if (!at || at - (data + i) > 60)
            continue;
        unit->kernels = realloc(unit->kernels,
                                (unit->nkernels + 1) * sizeof *unit->kernels);
        unit->kernels[unit->nkernels++] = (ompjit__kernel_desc){
            .symbol = strndup(data + i, (size_t)(at - (data + i)) +
                                            strlen(suffix))};
        return;
    }
    ok(0, "no kernel %s in the host half", suffix);
}

/* --------------------------------------------------------- served, entries */

static const char served_c[] =
    "#include <stdio.h>\n"
    "extern double omp_twice(double, unsigned long, void *);\n"
    "extern int omp_plain(int);\n"
    "int omp_get_num_devices();\n" /* no prototype */
    "int table[4] = {1, 2, 3, 4};\n"
    "#pragma omp declare target to(table)\n"
    "#pragma omp requires unified_shared_memory\n"
    "void one(int *x) {\n"
    "#pragma omp target map(tofrom: x[0:1])\n"
    " x[0] = 1;\n}\n"
    "void two(int *x) {\n"
    "#pragma omp target map(tofrom: x[0:1])\n"
    " x[0] = table[1];\n}\n"
    "static int hidden(int x) { return x; }\n"
    "int (*volatile pointer)(int) = hidden;\n"
    "int devices(int x) { return omp_get_num_devices() + x; }\n"
    "int doubled(int x) { unsigned long n = 0;\n"
    " return (int)(omp_twice(x, 5, &n) * 10 + n); }\n"
    "int plain(int x) { return omp_plain(x) + pointer(0); }\n"
    "int library(int x) { return fprintf(stderr, \"%s\", \"\") + x; }\n";

static void check_served(struct program *p)
{
    int x = 0;
    ok(call_int(p, "devices", 1) == 8, "a served function is called");
    ok(seen.context == &p->ctx, "with the context");
    ok(call_int(p, "doubled", 3) == 65, "doubles, sizes and pointers arrive");
    ok(call_int(p, "plain", 4) == 5, "one without a context is called as is");
    ok(call_int(p, "library", 4) == 4, "stderr is the process's");
    void (*two)(int *) = (void (*)(int *))function(p, "two");
    seen.context = NULL;
    two(&x);
    ok(seen.context == &p->ctx, "a target region launches in the context");
    ok(seen.launched && seen.nkernels == 2, "both regions are registered");
    for (unsigned i = 0; i < seen.nkernels; i++)
        if (seen.kernels[i].key == seen.launched)
            ok(seen.kernels[i].index == 1, "the launch's key is that kernel's");
}

static void check_globals(struct program *p)
{
    bool required = false, table = false;
    for (unsigned i = 0; i < seen.nglobals; i++) {
        int *host = seen.globals[i].host;
        if (seen.globals[i].flags & 0x10)
            required = !host && seen.globals[i].size == 8;
        if (!strcmp(seen.globals[i].symbol, "table"))
            table = host[2] == 3 && seen.globals[i].size == 16;
    }
    ok(required, "requires flags are registered");
    ok(table, "declare-target variables are, with their storage");
}

static void served(void)
{
    struct program p;
    compile(&p, "served.c", served_c, "-Wno-deprecated-non-prototype -std=c11");
    add_kernel(&p, "_one_l9");
    add_kernel(&p, "_two_l13");
    if (start(&p)) {
        check_served(&p);
        check_globals(&p);
        void *f = &f;
        ok(ompjit__hostjit_lookup(p.jit, "three", &f, &err) ==
               OMPJIT_ERR_NOT_FOUND,
           "a function that is not there");
        ok_contains(err.text, "served.c has no function three; it has: one, "
                              "two, devices, doubled, plain, library",
                    "those that are are listed");
        ok(ompjit__hostjit_lookup(p.jit, "getpid", &f, NULL) ==
               OMPJIT_ERR_NOT_FOUND,
           "the process's functions are not the program's");
        ok(p.ctx.stage_count[OMPJIT_STAGE_CODEGEN] == 1, "stages are timed");
    }
    end(&p);
    ok(seen.removed == 1, "entries are removed at the end");
}

/* -------------------------------------------- beginnings and ends in order */

static const char order_cc[] =
    "#include <cstdlib>\n#include <stdexcept>\n#include <vector>\n"
    "#include <thread>\n#include <cmath>\n#include <complex>\n"
    "extern \"C\" void note(const char *);\n"
    "struct S { const char *end; S(const char *a, const char *b) : end(b)"
    " { note(a); } ~S() { note(end); } };\n"
    "S first(\"ctor1\", \"dtor1\"), second(\"ctor2\", \"dtor2\");\n"
    "thread_local S local(\"tls-ctor\", \"tls-dtor\");\n"
    "__attribute__((constructor(200))) static void c200() { note(\"c200\"); }\n"
    "__attribute__((constructor(101))) static void c101() { note(\"c101\"); }\n"
    "__attribute__((destructor(200))) static void d200() { note(\"d200\"); }\n"
    "__attribute__((destructor(101))) static void d101() { note(\"d101\"); }\n"
    "static void bye() { note(\"atexit\"); }\n"
    "extern \"C\" {\n"
    "int throws(int x) { try { if (x) throw std::runtime_error(\"no\");\n"
    " return 0; } catch (std::exception &e) { return e.what()[0]; } }\n"
    "int late(int x) { return std::atexit(bye); }\n"
    "int use_local(int x) { return local.end[0]; }\n"
    "int threads(int x) { std::thread t([] { use_local(0); }); t.join();\n"
    " return x; }\n"
    "int heap(int x) { std::vector<int> v(x, 2); __int128 big = v[0];\n"
    " big = big << 100; big /= x; std::complex<double> c(x, 1); c *= c;\n"
    " return (int)(big >> 98) + (int)std::pow(c.real(), 0.5); }\n}\n";

static void order(void)
{
    struct program p;
    compile(&p, "order.cc", order_cc, "");
    if (start(&p)) {
        ok_string(seen.order, "c101 c200 ctor1 ctor2 ",
                  "constructors run by priority, then in order");
        ok(call_int(&p, "throws", 1) == 'n', "exceptions are caught");
        ok(call_int(&p, "heap", 4) == 5, "the C++ library is there");
        *seen.order = 0;
        ok(call_int(&p, "threads", 1) == 1, "a thread");
        ok_string(seen.order, "tls-ctor tls-dtor ",
                  "thread-local objects live as long as their thread");
        ok(call_int(&p, "use_local", 1) == 't', "this thread has its own");
        ok(call_int(&p, "late", 1) == 0, "atexit works");
        *seen.order = 0;
    }
    end(&p);
    ok_string(seen.order, "atexit dtor2 dtor1 d200 d101 removed ",
              "the end is the beginning reversed; entries stay until then");
    /* This thread's `local` is now gone; exit() must not miss it. */
}

static void *leave(void *p)
{
    call_int(p, "use_local", 1);
    return NULL;
}

/* Another thread is in the destructor of its object when the half is freed. */
static void farewell(void)
{
    struct program p;
    pthread_t thread;
    compile(&p, "farewell.cc",
            "extern \"C\" void linger(int); extern \"C\" int usleep(unsigned);\n"
            "struct S { int n = 5; ~S() {\n"
            " linger(1); usleep(200 * 1000); linger(2); } };\n"
            "thread_local S local;\n"
            "extern \"C\" int use_local(int x) { return local.n + x; }\n",
            "");
    if (start(&p) && !pthread_create(&thread, NULL, leave, &p)) {
        while (atomic_load(&lingers) != 1)
            sched_yield();
        ompjit__hostjit_free(p.jit);
        p.jit = NULL;
        ok(atomic_load(&lingers) == 2, "the code stays as long as it runs");
        pthread_join(thread, NULL);
    }
    end(&p);
}

/* exit() without hostjit_free, as programs end that the tool runs. */
static void at_exit(void)
{
    struct program p;
    int ends[2];
    char got[512] = "";
    compile(&p, "exit.cc",
            "extern \"C\" int puts(const char *);\n"
            "struct S { ~S() { puts(\"global\"); } } s;\n"
            "struct T { int i; T() : i(1) {} ~T() { puts(\"local\"); } };\n"
            "thread_local T t;\n"
            "int main() { return t.i; }\n",
            "");
    fflush(stdout);
    pid_t pid = pipe(ends) ? -1 : fork();
    if (!pid) {
        dup2(ends[1], 1);
        void *f = NULL;
        if (link_half(&p, &err) ||
            ompjit__hostjit_lookup(p.jit, "main", &f, &err))
            _exit(9);
        exit(((int (*)(void))f)());
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t k; (k = read(ends[0], got + n, sizeof got - 1 - n)) > 0;)
        n += (size_t)k;
    int status = -1;
    waitpid(pid, &status, 0);
    close(ends[0]);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a program exits");
    ok_string(got, "local\nglobal\n", "its destructors run then");
    end(&p);
}

/* ------------------------------------------------------------------ OpenMP */

static const char openmp_c[] =
    "#include <omp.h>\n#include <stdint.h>\n"
    "static int mine = 5;\n"
    "#pragma omp threadprivate(mine)\n"
    "int sum(int n) { long s = 0;\n"
    "#pragma omp parallel for reduction(+: s) num_threads(4)\n"
    " for (int i = 0; i < n; i++) s += i;\n return (int)s; }\n"
    "int team(int n) { int t = 0;\n"
    "#pragma omp parallel num_threads(n)\n"
    " {\n  mine += omp_get_thread_num();\n"
    "#pragma omp critical\n"
    "  t += mine;\n }\n return t; }\n"
    "int allocators(int n) {\n"
    " omp_alloctrait_t t[] = {{omp_atk_alignment, 256},\n"
    "  {omp_atk_sync_hint, omp_atv_default}, {omp_atk_part_size, 1}};\n"
    " omp_allocator_handle_t a =\n"
    "  omp_init_allocator(omp_default_mem_space, 3, t);\n"
    " char *p = omp_alloc(n, a);\n"
    " int good = a && p && (uintptr_t)p % 256 == 0;\n"
    " p[n - 1] = 1;\n omp_free(p, a);\n omp_destroy_allocator(a);\n"
    " omp_alloctrait_t bad[] = {{omp_atk_alignment, 3}};\n"
    " good += !omp_init_allocator(omp_default_mem_space, 1, bad);\n"
    " good += !omp_init_allocator((omp_memspace_handle_t)55, 0, bad);\n"
    " p = omp_alloc(n, omp_default_mem_alloc);\n good += p != 0;\n"
    " omp_free(p, omp_null_allocator);\n return good; }\n"
    "int uses(int n) { omp_alloctrait_t t[] = {{omp_atk_alignment, 64}};\n"
    " omp_allocator_handle_t a =\n"
    "  omp_init_allocator(omp_low_lat_mem_space, 1, t);\n int r = 0;\n"
    "#pragma omp parallel num_threads(2) private(r) allocate(a: r)\n"
    " r = n;\n omp_destroy_allocator(a);\n return n; }\n";

static void openmp(void)
{
    struct program p;
    compile(&p, "openmp.c", openmp_c, "");
    if (start(&p)) {
        ok(call_int(&p, "sum", 1000) == 499500, "a parallel loop");
        ok(call_int(&p, "team", 3) == 3 * 5 + 3, "threadprivate variables");
        ok(call_int(&p, "team", 3) == 3 * 5 + 6, "keep their values");
        ok(call_int(&p, "allocators", 1000) == 4,
           "omp.h's memory spaces are libomp's");
        ok(call_int(&p, "uses", 4) == 4, "allocate clauses");
    }
    end(&p);
}

static void no_libomp(void)
{
    struct program p;
    compile(&p, "openmp.c", openmp_c, "");
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        setenv("OMPJIT_LIBOMP", "/nonexistent/libomp.so", 1);
        bool good = link_half(&p, &err) ==
                        OMPJIT_ERR_LINK &&
                    strstr(err.text, "openmp.c: undefined symbols: ") &&
                    strstr(err.text, "__kmpc_fork_call") &&
                    strstr(err.text, "libomp cannot be loaded:\n") &&
                    strstr(err.text, "/nonexistent/libomp.so");
        if (!good)
            fprintf(stderr, "# %s\n", err.text);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && !WEXITSTATUS(status),
       "without libomp the error says why");
    end(&p);
}

/* ---------------------------------------------------------------- failures */

static void failures(void)
{
    static const struct {
        const char *ir;
        ompjit_status status;
        const char *words;
    } rows[] = {
        {"declare i32 @nowhere()\ndefine i32 @f() {\n"
         " %r = call i32 @nowhere()\n ret i32 %r }\n",
         OMPJIT_ERR_LINK, "t.ll: undefined symbols: nowhere"},
        {"declare i32 @omp_plain(i64)\ndefine i32 @f() {\n"
         " %r = call i32 @omp_plain(i64 1)\n ret i32 %r }\n",
         OMPJIT_ERR_ABI,
         "declares omp_plain as `i32 (i64)`, but it is `i32 (i32)`"},
        {"@k = weak constant i8 0\n"
         "@n = internal constant [4 x i8] c\"kkk\\00\"\n"
         "@.omp_offloading.entry.kkk = weak constant "
         "{ ptr, ptr, i64, i32, i32 } { ptr @k, ptr @n, "
         "i64 0, i32 0, i32 0 }, section \"omp_offloading_entries\"\n",
         OMPJIT_ERR_IR,
         "the host half has target region kkk, the device half has no such"},
        {"@.offloading.entry.e = constant { ptr } { ptr null }, section "
         "\"omp_offloading_entries\"\n",
         OMPJIT_ERR_IR, "unknown layout of offload entry .offloading.entry.e"},
        {"target triple = \"sparc-unknown-linux\"\n", OMPJIT_ERR_IR,
         "is for sparc-unknown-linux"},
        {"define i32 @f( {", OMPJIT_ERR_IR, "t.ll"},
        {"", OMPJIT_ERR_NOT_FOUND, "t.ll has no host half"},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        struct program p = {.mod.ctx = &p.ctx, .ctx.devices_known = true};
        p.mod.unit.name = ompjit__strdup("t.ll");
        ompjit__buf_add(&p.mod.unit.host_bc, rows[i].ir, strlen(rows[i].ir));
        memset(&seen, 0, sizeof seen);
        ok(link_half(&p, &err) == rows[i].status,
           "%s", ompjit_status_name(rows[i].status));
        ok_contains(err.text, rows[i].words, "its text");
        ok(link_half(&p, NULL) == rows[i].status,
           "the same without an error object");
        end(&p);
    }
    ompjit__hostjit_free(NULL);
}

/* flang divides the size of a section by that of its elements, exactly, which
 * it need not be. */
static void inexact_mapper(void)
{
    static const char ir[] =
        "define void @__tgt_push_mapper_component(ptr %a) { ret void }\n"
        "define i32 @count(i32 %size) {\n"
        " call void @__tgt_push_mapper_component(ptr null)\n"
        " %n = udiv exact i32 %size, 24\n ret i32 %n }\n";
    struct program p = {.mod.ctx = &p.ctx, .ctx.devices_known = true};
    p.mod.unit.name = ompjit__strdup("mapper.ll");
    p.mod.unit.opt_level = 3;
    ompjit__buf_add(&p.mod.unit.host_bc, ir, sizeof ir - 1);
    if (start(&p)) {
        int (*count)(int) = (int (*)(int))function(&p, "count");
        ok(count && count(100) == 4, "a mapper's division with a rest");
    }
    end(&p);
}

/* The 32-byte entries of clang 18 and 19. */
static void old_entries(void)
{
    static const char ir[] =
        "@v = global [3 x i32] zeroinitializer\n"
        "@n = internal constant [2 x i8] c\"v\\00\"\n"
        "@.omp_offloading.entry.v = weak constant "
        "{ ptr, ptr, i64, i32, i32 } { ptr @v, "
        "ptr @n, i64 12, i32 1, i32 0 }, section "
        "\"omp_offloading_entries\"\n";
    struct program p = {.mod.ctx = &p.ctx, .ctx.devices_known = true};
    p.mod.unit.name = ompjit__strdup("old.ll");
    ompjit__buf_add(&p.mod.unit.host_bc, ir, sizeof ir - 1);
    if (start(&p)) {
        ok(seen.nglobals == 1 && seen.globals[0].size == 12 &&
               seen.globals[0].flags == 1,
           "an entry of the old layout");
        ok_string(seen.globals[0].symbol, "v", "its name");
    }
    end(&p);
}

/* A weak reference to what is nowhere is a null pointer. */
static void weak_references(void)
{
    static const char ir[] =
        "declare extern_weak i32 @nowhere()\n"
        "define i32 @f(i32 %x) {\n"
        " %c = icmp eq ptr @nowhere, null\n"
        " %r = zext i1 %c to i32\n ret i32 %r }\n";
    struct program p = {.mod.ctx = &p.ctx, .ctx.devices_known = true};
    p.mod.unit.name = ompjit__strdup("weak.ll");
    ompjit__buf_add(&p.mod.unit.host_bc, ir, sizeof ir - 1);
    if (start(&p))
        ok(call_int(&p, "f", 0) == 1, "a weak reference is null");
    end(&p);
}

/* Code that expects everything within 2 GiB, which libc is not. */
static void position_dependent(void)
{
    struct program p;
    compile(&p, "fixed.c",
            "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
            "int compare(const void *a, const void *b) { return 0; }\n"
            "int (*volatile f)(const char *) = puts;\n"
            "int fixed(int x) { f = puts; pid_t (*g)(void) = getpid;\n"
            " return fprintf(stdout, \"%s\", \"\") + (g() == getpid()) + x; }"
            "\n",
            "-fno-pic -fno-pie");
    if (start(&p))
        ok(call_int(&p, "fixed", 4) == 5, "far functions and variables");
    end(&p);
}

/* ------------------------------------------------------------------ memory */

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

static void memory(void)
{
    struct program p;
    long before = 0;
    uint64_t begin = 0;
    compile(&p, "again.cc", order_cc, "");
    memset(&seen, 0, sizeof seen);
    enum { WARM = 5, CYCLES = 10 };
    bool good = true;
    for (int i = 0; i < WARM + CYCLES; i++) {
        if (i == WARM) {
            before = resident_kb();
            begin = ompjit__now();
        }
        *seen.order = 0;
        good &= !link_half(&p, &err);
        ompjit__hostjit_free(p.jit);
        p.jit = NULL;
    }
    long grown = resident_kb() - before;
    printf("# %.1f ms a program, %ld KiB of growth\n",
           (double)(ompjit__now() - begin) / 1e6 / CYCLES, grown);
    ok(good, "a program comes and goes");
    tap_ok_growth(grown, 2048);
    end(&p);
}

int main(void)
{
    if (!mkdtemp(dir))
        skip_all("no folder in /tmp");
    served();
    order();
    farewell();
    at_exit();
    no_libomp();
    openmp();
    failures();
    inexact_mapper();
    old_entries();
    weak_references();
    position_dependent();
    memory();
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ok(!system(command), "tidied");
    return done_testing();
}
