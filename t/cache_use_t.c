/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The cache through the compiler: what is found again, what is not, and that a
 * hit compiles nothing.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "door/door.h"
#include "launch/module.h"
#include "cache.h"
#include "ompjit_debug.h"
#include "ompjit_tune.h"

static const char source[] =
    "#define N 100\n"
    "long sum(long a) {\n"
    "  long s = 0;\n"
    "  #pragma omp target teams distribute parallel for reduction(+:s) "
    "map(tofrom:s)\n"
    "  for (long i = 0; i < N; i++) s += a + i;\n"
    "  return s;\n"
    "}\n";

static char last_log[8192];

static void log_message(void *data, const char *message)
{
    snprintf(last_log, sizeof last_log, "%s", message);
}

static ompjit_context *open_logging(ompjit_cache_mode mode)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    ompjit_error err;
    o.devices = "host";
    o.cache.mode = mode;
    o.cache.dir = folder;
    o.log = log_message;
    *last_log = 0;
    if (ompjit_context_create(&o, &ctx, &err))
        printf("# %s\n", err.text);
    return ctx;
}

/* sum(a) of a source; -1 where something failed. */
static long run(ompjit_context *ctx, const char *text,
                const ompjit_module_options *options, long a)
{
    ompjit_error err;
    ompjit_module *mod;
    void (*f)(void);
    if (ompjit_module_from_c(ctx, text, options, &mod, &err)) {
        printf("# %s\n", err.text);
        return -1;
    }
    long result = -1;
    if (ompjit_module_function(mod, "sum", &f, &err))
        printf("# %s\n", err.text);
    else
        result = ((long (*)(long))f)(a);
    if (ompjit_context_failure(ctx, &err)) {
        printf("# %s\n", err.text);
        result = -1;
    }
    ompjit_module_destroy(mod);
    return result;
}

static long run_fresh(const char *text, const ompjit_module_options *options,
                      ompjit_cache_stats *stats)
{
    ompjit_context *ctx = open_logging(OMPJIT_CACHE_DISK);
    long result = run(ctx, text, options, 1);
    *stats = stats_of(ctx);
    ompjit_context_destroy(ctx);
    return result;
}

static void test_hit(void)
{
    ompjit_times times = OMPJIT_TIMES_INIT;
    fresh_folder();
    ompjit_context *ctx = open_logging(OMPJIT_CACHE_DISK);
    ok(run(ctx, source, NULL, 1) == 5050, "compiled and run");
    ok(stats_of(ctx).stored == 3 && stats_of(ctx).misses == 3,
       "unit, image and host half are stored");
    ompjit_context_destroy(ctx);
    ctx = open_logging(OMPJIT_CACHE_DISK);
    ok(run(ctx, source, NULL, 2) == 5150, "the same in a new context");
    ok(stats_of(ctx).hits_disk == 3 && !stats_of(ctx).misses, "three hits");
    ompjit_context_times(ctx, &times, NULL);
    ok(!times.stage[OMPJIT_STAGE_FRONTEND].count &&
           !times.stage[OMPJIT_STAGE_READ].count &&
           !times.stage[OMPJIT_STAGE_OPTIMIZE].count &&
           !times.stage[OMPJIT_STAGE_CODEGEN].count &&
           times.stage[OMPJIT_STAGE_CACHE].count,
       "no clang, no IR is read, nothing is generated");
    ompjit_context_destroy(ctx);
    ctx = open_logging(OMPJIT_CACHE_OFF);
    ok(run(ctx, source, NULL, 1) == 5050 && !stats_of(ctx).hits_disk &&
           !stats_of(ctx).stored,
       "switched off, it is not asked");
    ompjit_context_destroy(ctx);
}

/* Each of these must be another entry. */
static void test_keys(void)
{
    static const char *const define[] = {"-DM=1"};
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    o.flags = define;
    o.nflags = 1;
    run_fresh(source, &o, &stats);
    ok(stats.misses == 1 && stats.hits_disk == 2,
       "another flag, the same IR: only the front end runs");
    o = (ompjit_module_options)OMPJIT_MODULE_OPTIONS_INIT;
    o.opt_level = OMPJIT_O1;
    run_fresh(source, &o, &stats);
    ok(stats.misses == 3, "another level of optimization is another image");
    run_fresh("long sum(long a) { return 1; }\n", NULL, &stats);
    ok(stats.misses && stats.rejected == 0, "another source is");
    ompjit_context *ctx = open_logging(OMPJIT_CACHE_DISK);
    ok(run(ctx, "long sum(long a) { int x; return __TIME__[0] > 0; }\n", NULL,
           1) == 1, "(a source that tells the time)");
    ompjit_times times = OMPJIT_TIMES_INIT;
    run(ctx, "long sum(long a) { int x; return __TIME__[0] > 0; }\n", NULL, 1);
    ompjit_context_times(ctx, &times, NULL);
    ok(times.stage[OMPJIT_STAGE_FRONTEND].count == 2,
       "one that tells the time is compiled each time");
    ompjit_context_destroy(ctx);
}

static void test_warnings(void)
{
    static const char *const wall[] = {"-Wall"};
    static const char text[] = "long sum(long a) { int unused; return a; }\n";
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    char first[sizeof last_log];
    o.flags = wall;
    o.nflags = 1;
    run_fresh(text, &o, &stats);
    strcpy(first, last_log);
    ok_contains(first, "unused variable", "clang warns");
    run_fresh(text, &o, &stats);
    ok(stats.hits_disk == 2 && !stats.misses, "(a hit)");
    ok_string(last_log, first, "and warns again from the cache");
    ok_contains(last_log, "snippet.c:1:24", "with line and column");
    ok(!strstr(last_log, "ompjit-deps"), "and nothing else");
}

/* --------------------------------------------------------------- headers */

static void write_text(const char *path, const char *text)
{
    static long writes;
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    /* As a header that was there before: the clock of files is coarse. */
    struct timespec t[2] = {{.tv_sec = time(NULL) - 100 + writes++}};
    t[1] = t[0];
    utimensat(AT_FDCWD, path, t, 0);
}

static void test_headers(void)
{
    static const char text[] = "#include \"n.h\"\n"
                               "long sum(long a) { return N; }\n";
    char dir[PATH_MAX + 8], header[PATH_MAX + 16], name[PATH_MAX + 16];
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    snprintf(dir, sizeof dir, "%s.src", folder);
    snprintf(header, sizeof header, "%s/n.h", dir);
    snprintf(name, sizeof name, "%s/p.c", dir);
    mkdir(dir, 0700);
    o.name = name;
    write_text(header, "#define N 11\n");
    ok(run_fresh(text, &o, &stats) == 11, "with a header");
    ok(run_fresh(text, &o, &stats) == 11 && stats.hits_disk == 2 &&
           !stats.misses, "it is the same: a hit");
    utimensat(AT_FDCWD, header, NULL, 0);
    ok(run_fresh(text, &o, &stats) == 11 && !stats.misses,
       "touched, its text decides: a hit");
    write_text(header, "#define N 12\n");
    ok(run_fresh(text, &o, &stats) == 12 && stats.rejected,
       "changed at the same length: compiled anew");
    ok(run_fresh(text, &o, &stats) == 12 && !stats.misses,
       "and the entry is replaced");
    unlink(header);
    ok(run_fresh(text, &o, &stats) == -1, "gone: clang's error");
    write_text(header, "#define N (__TIME__[0] > 0)\n");
    run_fresh(text, &o, &stats);
    run_fresh(text, &o, &stats);
    ok(stats.misses, "a header that tells the time is not remembered");
    remove_tree(dir);
}

/* "x.h" in quotes is looked for where the process is. */
static void test_folder(void)
{
    static const char text[] = "#include \"n.h\"\n"
                               "long sum(long a) { return N; }\n";
    char here[PATH_MAX], dir[2][PATH_MAX + 8];
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    if (!getcwd(here, sizeof here))
        return;
    long got[2] = {0};
    for (int i = 0; i < 2; i++) {
        char header[PATH_MAX + 32];
        snprintf(dir[i], sizeof dir[i], "%s.%d", folder, i);
        snprintf(header, sizeof header, "%.4000s/n.h", dir[i]);
        mkdir(dir[i], 0700);
        write_text(header, i ? "#define N 21\n" : "#define N 20\n");
        if (!chdir(dir[i]))
            got[i] = run_fresh(text, NULL, &stats);
    }
    ok(got[0] == 20 && got[1] == 21, "each folder's own header");
    static const char plain[] = "#include <stddef.h>\n"
                                "long sum(long a) { return 3; }\n";
    long first = run_fresh(plain, NULL, &stats);
    ok(!chdir(dir[0]) && first == 3 && run_fresh(plain, NULL, &stats) == 3 &&
           !stats.misses,
       "without one, the folder does not count");
    if (chdir(here))
        printf("# cannot return to %s\n", here);
    remove_tree(dir[0]);
    remove_tree(dir[1]);
}

/* So is <n.h> by a folder that a flag names relatively: here only the second
 * process's folder has one, and the first finds the other header. */
static void test_relative_flags(void)
{
    static const char text[] = "#include <n.h>\n"
                               "long sum(long a) { return N; }\n";
    char here[PATH_MAX], dir[2][PATH_MAX + 8], common[PATH_MAX + 16];
    char header[PATH_MAX + 32];
    const char *flags[] = {"-isystemown", "-isystem", common};
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    o.flags = flags;
    o.nflags = OMPJIT__COUNT(flags);
    if (!getcwd(here, sizeof here))
        return;
    long got[2] = {0};
    snprintf(common, sizeof common, "%s.common", folder);
    mkdir(common, 0700);
    snprintf(header, sizeof header, "%.4000s/n.h", common);
    write_text(header, "#define N 30\n");
    for (int i = 0; i < 2; i++) {
        snprintf(dir[i], sizeof dir[i], "%s.%d", folder, i);
        mkdir(dir[i], 0700);
        snprintf(header, sizeof header, "%.4000s/own", dir[i]);
        mkdir(header, 0700);
        snprintf(header, sizeof header, "%.4000s/own/n.h", dir[i]);
        if (i)
            write_text(header, "#define N 31\n");
        if (!chdir(dir[i]))
            got[i] = run_fresh(text, &o, &stats);
    }
    ok(got[0] == 30 && got[1] == 31,
       "a flag's relative folder is another in each folder: %ld, %ld", got[0],
       got[1]);
    if (chdir(here))
        printf("# cannot return to %s\n", here);
    remove_tree(common);
    remove_tree(dir[0]);
    remove_tree(dir[1]);
}

/* ---------------------------------------------------------------- damage */

static int spoil(const char *path, const struct stat *s, int type,
                 struct FTW *at)
{
    if (type != FTW_F || s->st_size < 1000)
        return 0;
    int fd = open(path, O_RDWR);
    char byte;
    if (pread(fd, &byte, 1, s->st_size / 2) == 1) {
        byte ^= 16;
        if (pwrite(fd, &byte, 1, s->st_size / 2) != 1)
            printf("# cannot spoil %s\n", path);
    }
    close(fd);
    return 0;
}

static void test_damage(void)
{
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    fresh_folder();
    run_fresh(source, NULL, &stats);
    nftw(folder, spoil, 16, FTW_PHYS);
    ok(run_fresh(source, NULL, &stats) == 5050 && stats.rejected == 3 &&
           stats.stored == 3,
       "spoilt entries are compiled anew");
    ok(run_fresh(source, NULL, &stats) == 5050 && stats.hits_disk == 3,
       "and replaced");
}

/* ------------------------------------------------------ IR, specialization */

static void test_ir(void)
{
    void *ir;
    size_t size;
    ompjit_module *mod;
    ompjit_error err;
    fresh_folder();
    ompjit_context *ctx = open_logging(OMPJIT_CACHE_DISK);
    if (ompjit_module_from_c(ctx, source, NULL, &mod, &err))
        printf("# %s\n", err.text);
    ompjit_module_emit(mod, OMPJIT_FORMAT_BC, NULL, &ir, &size, &err);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    for (int i = 0; i < 2; i++) {
        ompjit_device *dev;
        ompjit_kernel *kernel;
        int64_t s = 0;
        ctx = open_logging(OMPJIT_CACHE_DISK);
        ompjit_launch launch = OMPJIT_LAUNCH_INIT;
        launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
        ompjit_arg args[] = {
            {.type = OMPJIT_ARG_I64, .value.i64 = 3},
            {.type = OMPJIT_ARG_POINTER, .value.p = &s},
        };
        bool good =
            !ompjit_module_from_ir(ctx, ir, size, NULL, 0, NULL, &mod, &err) &&
            !ompjit_module_kernel(mod, "sum", &kernel, &err) &&
            !ompjit_context_device(ctx, 0, &dev, &err);
        ompjit_param_info first = OMPJIT_PARAM_INFO_INIT;
        good = good && !ompjit_kernel_param(kernel, 0, &first, &err);
        if (good && first.is_pointer) {
            ompjit_arg swap = args[0];
            args[0] = args[1];
            args[1] = swap;
        }
        good = good && !ompjit_kernel_launch(kernel, dev, &launch, args, 2,
                                             &err);
        ok(good && s == 5250, "IR, specialized: %s", i ? "again" : "first");
        if (!good)
            printf("# %s\n", err.text);
        args[first.is_pointer].value.i64 = 4;
        s = 0;
        if (!i)
            ok(!ompjit_kernel_launch(kernel, dev, &launch, args, 2, &err) &&
                   s == 5350, "another value is another image");
        else
            ok(stats_of(ctx).hits_disk == 2 && !stats_of(ctx).misses,
               "both are hits");
        ompjit_module_destroy(mod);
        ompjit_context_destroy(ctx);
    }
    ompjit_bytes_free(ir);
}

static void test_gpu(void)
{
    ompjit_resources res[2] = {OMPJIT_RESOURCES_INIT, OMPJIT_RESOURCES_INIT};
    ompjit_kernel *kernel;
    ompjit_module *mod;
    ompjit_error err;
    size_t size[2];
    void *bytes[2] = {NULL, NULL};
    ompjit_status status = OMPJIT_OK;
    for (int i = 0; i < 2; i++) {
        ompjit_context *ctx = open_logging(OMPJIT_CACHE_DISK);
        if (ompjit_module_from_c(ctx, source, NULL, &mod, &err) ||
            ompjit_module_kernel(mod, "sum", &kernel, &err)) {
            printf("# %s\n", err.text);
            continue;
        }
        ok(!ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, "sm_90", &bytes[i],
                               &size[i], &err), "PTX, %d", i);
        status = ompjit_kernel_resources(kernel, "sm_90", &res[i], &err);
        if (i)
            ok(!stats_of(ctx).misses || status == OMPJIT_ERR_UNAVAILABLE,
               "PTX and cubin are found again");
        ompjit_module_destroy(mod);
        ompjit_context_destroy(ctx);
    }
    ok(size[0] == size[1] && !memcmp(bytes[0], bytes[1], size[0]),
       "the same PTX");
    if (status == OMPJIT_ERR_UNAVAILABLE)
        ok(1, "resources # SKIP no assembler here");
    else
        ok(!status && res[0].registers && !memcmp(&res[0], &res[1],
                                                  sizeof res[0]),
           "and the same resources");
    ompjit_bytes_free(bytes[0]);
    ompjit_bytes_free(bytes[1]);
}

/* For a driver that reads no newer PTX than the one that is given as 7.8. */
static void test_ptx_version(void)
{
    static const struct {
        unsigned newest;
        const char *text;
        bool miss;
    } rows[] = {
        {0, ".version 7.8\n", true},  {72, ".version 7.2\n", true},
        {90, ".version 7.8\n", false}, {72, ".version 7.2\n", false},
    };
    ompjit_module *mod;
    ompjit_error err = {0};
    fresh_folder();
    ompjit_context *ctx = open_logging(OMPJIT_CACHE_DISK);
    ok(!ompjit_module_from_c(ctx, source, NULL, &mod, &err), "a module");
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__spec spec = {.ptx = rows[i].newest};
        ompjit__image image = {0};
        uint64_t misses = stats_of(ctx).misses;
        ok(!ompjit__build_cached(ctx, &mod->unit, "sm_75", OMPJIT_FORMAT_PTX,
                                 &spec, &image, &err) &&
               strstr(image.bytes.data, rows[i].text),
           "PTX for drivers up to %u %s", rows[i].newest, err.text);
        ok((stats_of(ctx).misses > misses) == rows[i].miss, "%s",
           rows[i].miss ? "is made" : "is found");
        ompjit__image_free(&image);
    }
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* ----------------------------------------------------------- many, export */

static void test_export(void)
{
    void *bytes;
    size_t size;
    ompjit_error err;
    ompjit_times times = OMPJIT_TIMES_INIT;
    fresh_folder();
    ompjit_context *ctx = open_logging(OMPJIT_CACHE_MEMORY);
    run(ctx, source, NULL, 1);
    ok(access(folder, F_OK) && !ompjit_cache_export(ctx, 0, &bytes, &size,
                                                    &err),
       "one rank compiles, without a disk, and exports");
    ompjit_context_destroy(ctx);
    ctx = open_logging(OMPJIT_CACHE_MEMORY);
    ok(!ompjit_cache_import(ctx, bytes, size, NULL, &err) &&
           run(ctx, source, NULL, 1) == 5050 &&
           stats_of(ctx).hits_memory == 3,
       "another imports, and runs");
    ompjit_context_times(ctx, &times, NULL);
    ok(!times.stage[OMPJIT_STAGE_FRONTEND].count &&
           !times.stage[OMPJIT_STAGE_CODEGEN].count, "and compiles nothing");
    ompjit_bytes_free(bytes);
    ompjit_context_destroy(ctx);
}

/* A source of its own for each number. */
static void variant(unsigned i, char out[512])
{
    snprintf(out, 512, "#define EXTRA %u\n%s", i, source);
}

enum { PROCESSES = 6, VARIANTS = 3 };

static void compile_all(unsigned first)
{
    unsigned bad = 0;
    ompjit_context *ctx = open_logging(OMPJIT_CACHE_DISK);
    for (unsigned i = 0; i < VARIANTS; i++) {
        char text[512];
        variant((first + i) % VARIANTS, text);
        bad += run(ctx, text, NULL, 1) != 5050;
    }
    _exit(bad != 0);
}

static void test_processes(void)
{
    int status;
    unsigned failed = 0;
    fresh_folder();
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++)
        if (!(children[i] = fork()))
            compile_all(i);
    for (unsigned i = 0; i < PROCESSES; i++) {
        waitpid(children[i], &status, 0);
        failed += !WIFEXITED(status) || WEXITSTATUS(status);
    }
    ok(!failed, "%d processes compile the same %d programs", PROCESSES,
       VARIANTS);
    ok(count_files("") == VARIANTS + 2,
       "each made once: units apart, image and host half shared");
    for (unsigned i = 0; i < 6; i++) {
        pid_t child = fork();
        if (!child) {
            fresh_folder();
            compile_all(i);
        }
        struct timespec t = {.tv_nsec = 30000000 * (long)(i + 1)};
        nanosleep(&t, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        if (!(child = fork()))
            compile_all(i);
        waitpid(child, &status, 0);
        failed += !WIFEXITED(status) || WEXITSTATUS(status);
    }
    ok(!failed, "killed while compiling: the next run is right");
}

static _Atomic bool stop;

static void *keep_compiling(void *data)
{
    ompjit_context *ctx = open_logging(OMPJIT_CACHE_DISK);
    for (unsigned i = 100; !stop; i++) {
        char text[512];
        variant(i, text);
        run(ctx, text, NULL, 1);
    }
    ompjit_context_destroy(ctx);
    return NULL;
}

/* OpenMP's threads do not survive a fork, so the child only compiles. */
static void test_fork(void)
{
    pthread_t thread;
    int status;
    unsigned failed = 0;
    if (!may_fork()) {
        ok(1, "forks # SKIP ThreadSanitizer's own locks");
        return;
    }
    pthread_create(&thread, NULL, keep_compiling, NULL);
    for (unsigned i = 0; i < 5; i++) {
        struct timespec t = {.tv_nsec = 20000000};
        nanosleep(&t, NULL);
        pid_t child = fork();
        if (!child) {
            char text[512];
            ompjit_error err;
            ompjit_module *mod;
            void *object;
            size_t size;
            alarm(60);
            variant(i, text);
            ompjit_context *ctx = open_logging(OMPJIT_CACHE_DISK);
            _exit(ompjit_module_from_c(ctx, text, NULL, &mod, &err) ||
                  ompjit_module_emit(mod, OMPJIT_FORMAT_OBJECT, "host",
                                     &object, &size, &err));
        }
        waitpid(child, &status, 0);
        failed += !WIFEXITED(status) || WEXITSTATUS(status);
    }
    stop = true;
    pthread_join(thread, NULL);
    ok(!failed, "children forked while their parent compiles compile too");
}

int main(void)
{
    setenv("OMPJIT_WARM", "0", 1);
    fresh_folder();
    test_hit();
    test_keys();
    test_warnings();
    test_headers();
    test_folder();
    test_relative_flags();
    test_damage();
    test_ir();
    test_gpu();
    test_ptx_version();
    test_export();
    test_processes();
    test_fork();
    remove_tree(folder);
    return done_testing();
}
