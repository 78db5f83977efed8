/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The first steps of all commands: messages, files, a context by the options, and
 * the module of the file that was named.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "tool/tool.h"
#include "ompjit_debug.h"

void complain(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs("ompjit: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
}

int failed(const ompjit_error *err)
{
    size_t n = strlen(err->text);
    while (n && err->text[n - 1] == '\n')
        n--;
    complain("%.*s", (int)n, err->text);
    return EXIT_FAILED;
}

bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && !strcmp(name + n - m, ending);
}

bool is_ir(const char *path)
{
    return ends_in(path, ".ll") || ends_in(path, ".bc");
}

bool is_cuda(const char *path)
{
    return ends_in(path, ".cu");
}

bool is_fortran(const char *path)
{
    return ompjit__fortran_name(path, NULL) != OMPJIT__FORTRAN_NONE;
}

bool is_output(const char *path)
{
    return ends_in(path, ".ptx") || ends_in(path, ".cubin") ||
           ends_in(path, ".o");
}

/* ----------------------------------------------------------------- files */

static int cannot(const char *verb, const char *path)
{
    complain("cannot %s %s: %s", verb, path, strerror(errno));
    return EXIT_FAILED;
}

static int endless(const char *path, const char *cause)
{
    complain("cannot read %s: %s", path, cause);
    return EXIT_FAILED;
}

/* Reads as much as there is now; 0 at the end, -1 with errno set. Waits for the
 * standard input for ever, and for other pipes and devices so many seconds, as
 * they may have no writer, or one that writes nothing. */
static ssize_t read_some(int fd, char *to, size_t room, unsigned seconds)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    int limit = fd == STDIN_FILENO ? -1 : (int)seconds * 1000;
    ssize_t got;
    do {
        int there = poll(&input, 1, limit);
        if (!there)
            errno = ETIMEDOUT;
        got = there > 0 ? read(fd, to, room) : -1;
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    return got;
}

/* Bytes that may come of it: a file ends. */
static size_t most_of(int fd)
{
    struct stat s;
    return !fstat(fd, &s) && S_ISREG(s.st_mode) ? SIZE_MAX : 1 << 30;
}

/* All that is left, with a NUL behind it; NULL with errno set on failure. */
static char *slurp(int fd, unsigned seconds, size_t *size)
{
    size_t capacity = 1 << 16, n = 0, most = most_of(fd);
    char *data = malloc(capacity);
    ssize_t got = 0;
    while (data && (got = read_some(fd, data + n, capacity - n - 1,
                                    seconds)) > 0) {
        n += (size_t)got;
        if (n + 1 < capacity)
            continue;
        char *more = capacity < most ? realloc(data, capacity * 2) : NULL;
        if (!more) {
            free(data);
            errno = capacity < most ? ENOMEM : EFBIG;
        }
        capacity *= 2;
        data = more;
    }
    if (data && got < 0) {
        int cause = errno;
        free(data);
        errno = cause;
        return NULL;
    }
    if (data)
        data[n] = '\0';
    *size = n;
    return data;
}

int read_input(const char *path, unsigned seconds, char **data, size_t *size)
{
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                               : STDIN_FILENO;
    if (fd < 0)
        return cannot("read", path);
    int status = EXIT_OK;
    *data = slurp(fd, seconds ? seconds : 60, size);
    if (!*data)
        status = errno == ETIMEDOUT ? endless(path, "nothing comes from it")
                 : errno == EFBIG   ? endless(path, "it has more than 1 GiB")
                                    : cannot("read", path);
    if (fd != STDIN_FILENO)
        close(fd);
    return status;
}

/* --------------------------------------------------------------- context */

static void log_message(void *data, const char *message)
{
    (void)data;
    complain("%s", message);
}

/* Without --verbose the log is read for what --explain asks for. */
static void log_copied(void *data, const char *message)
{
    if (strstr(message, " is copied: "))
        log_message(data, message);
}

void session_variables(const struct options *o)
{
    if (!o->quiet && !o->verbose)
        ompjit__variables_misspelled(log_message, NULL);
}

/* The value's place in a list of words that NULL ends; the first stands for
 * an absent option. */
static int choose(const char *option, const char *value,
                  const char *const *words, int *out)
{
    *out = 0;
    if (!value)
        return EXIT_OK;
    for (int i = 1; words[i]; i++)
        if (!strcmp(value, words[i])) {
            *out = i;
            return EXIT_OK;
        }
    const char *like = nearest(value, words + 1);
    complain("%s %s: not known%s%s%s", option, value,
             like ? "; did you mean " : "", like ? like : "", like ? "?" : "");
    return EXIT_USAGE;
}

/* ----------------------------------------------------------------- check */

/* The reports so far. At file scope because a program may leave by exit(), or
 * fail, in any thread. */
static atomic_uint reports;

/* "ompjit: check: " and the text, whose further lines are indented. */
static void show_report(void *data, const ompjit_check_report *report)
{
    (void)data;
    if (report->kind != OMPJIT_CHECK_LOST) /* a warning */
        atomic_fetch_add(&reports, 1);
    fflush(stdout);
    complain("check: %s", report->text);
}

int session_verdict(const struct options *o, int status)
{
    unsigned n = atomic_load(&reports);
    status = outputs_verdict(status);
    if (!o->check)
        return status;
    if (n)
        complain("check: %u error%s", n, n == 1 ? "" : "s");
    else if (!o->quiet)
        complain("check: no errors");
    return n ? EXIT_REPORTED : status;
}

/* --------------------------------------------------------------- session */

int session_geometry(const struct options *o)
{
    const struct {
        const char *name;
        unsigned value;
    } variables[] = {{"OMPJIT_TEAMS", o->teams},
                     {"OMPJIT_THREADS", o->threads}};
    /* Else libomp gives a host `teams` fewer teams than num_teams demands
     * where the machine has fewer cores. */
    setenv("KMP_TEAMS_THREAD_LIMIT", "4096", 0);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", variables[i].value);
        if (variables[i].value && setenv(variables[i].name, text, 1)) {
            complain("out of memory");
            return EXIT_FAILED;
        }
    }
    return EXIT_OK;
}

static uint32_t milliseconds(unsigned seconds)
{
    return seconds > UINT32_MAX / 1000 ? UINT32_MAX : seconds * 1000;
}

/* A target region of the program failed: what the program would compute from
 * here on cannot be trusted. Its threads may hold anything, so no handlers. */
static void end_program(void *data, const ompjit_error *err)
{
    fflush(NULL);
    failed(err);
    _exit(session_verdict(data, EXIT_FAILED));
}

/* A tool that runs where it was built finds the wheels that quickstart fetched
 * beside it. An installed one has no such folder. */
static void use_wheels_beside(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n <= 0)
        return;
    path[n] = '\0';
    strcpy(strrchr(path, '/') + 1, "cuda-wheels");
    if (!access(path, R_OK))
        setenv("OMPJIT_CUDA_WHEELS", path, 0);
}

enum purpose { RUNNING, TUNING, INTERACTIVE };

static int open_context(const struct options *o, const char *devices,
                        enum purpose purpose, ompjit_context **ctx)
{
    static const char *const assemblers[] = {"", "nvjitlink", "ptxas",
                                             "driver", NULL};
    static const char *const memories[] = {"", "shared", "separate",
                                           "auto", NULL};
    static const char *const modes[] = {"", "now", "auto", "off", NULL};
    int assembler, memory, mode;
    int status = choose("--assembler", o->assembler, assemblers, &assembler);
    if (!status)
        status = choose("--host-memory", o->host_memory, memories, &memory);
    if (!status)
        status = choose("--specialize", o->specialize, modes, &mode);
    if (status)
        return status;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_error err;
    options.devices = devices;
    options.compiler.clang = o->clang;
    options.compiler.time_limit_ms = milliseconds(o->time_limit);
    options.time_limit_ms = milliseconds(o->run_limit);
    options.compiler.assembler = (ompjit_assembler)assembler;
    options.host_memory = (ompjit_host_memory)memory;
    options.specialize.mode = (ompjit_specialize)mode;
    options.on_failure = purpose == INTERACTIVE ? NULL : end_program;
    options.on_failure_data = (void *)o;
    options.debug.check = o->check;
    options.debug.on_report = show_report;
    options.debug.profile = o->time || o->profile;
    options.specialize.record = o->record;
    options.specialize.tune = purpose == TUNING;
    if (o->no_cache)
        options.cache.mode = OMPJIT_CACHE_OFF;
    options.debug.explain = o->explain;
    if (o->verbose)
        options.log = log_message;
    else if (o->explain)
        options.log = log_copied;
    use_wheels_beside();
    setenv("OMPJIT_WARM", "0", 0); /* one compile: no next one to prepare */
    setenv("OMPJIT_HOST_MEMORY", "auto", 0); /* what a GPU would compute */
    if (ompjit_context_create(&options, ctx, &err))
        return failed(&err);
    return EXIT_OK;
}

int session_open(const struct options *o, const char *devices,
                 ompjit_context **ctx)
{
    return open_context(o, devices, RUNNING, ctx);
}

int session_open_tuning(const struct options *o, ompjit_context **ctx)
{
    return open_context(o, o->device, TUNING, ctx);
}

int session_open_interactive(const struct options *o, ompjit_context **ctx)
{
    return open_context(o, o->device, INTERACTIVE, ctx);
}

int session_device(const struct options *o, ompjit_context *ctx)
{
    const char *offload = getenv("OMP_TARGET_OFFLOAD");
    unsigned count;
    ompjit_error err;
    if (!ompjit_context_device_count(ctx, &count, &err))
        return EXIT_OK;
    if (err.status == OMPJIT_ERR_INVALID) {
        failed(&err);
        return EXIT_USAGE;
    }
    return offload && !strcasecmp(offload, "disabled") ? EXIT_OK
                                                       : failed(&err);
}

/* ---------------------------------------------------------------- module */

/* A line that includes the file, by its full name: the text stands nowhere. */
static bool include(FILE *out, const char *path)
{
    char *full = realpath(path, NULL);
    if (full)
        fprintf(out, "#include \"%s\"\n", full);
    free(full);
    return full != NULL;
}

/* A text that includes every file of a CUDA program: they are compiled as one
 * translation unit. */
static int unity(const struct options *o, char **text, size_t *size)
{
    const char *missing = NULL;
    FILE *out = open_memstream(text, size);
    if (!out)
        return cannot("join", o->file);
    if (!include(out, o->file))
        missing = o->file;
    for (unsigned i = 0; i < o->sources.n && !missing; i++)
        if (!include(out, o->sources.items[i]))
            missing = o->sources.items[i];
    int status = missing ? cannot("read", missing) : EXIT_OK;
    return fclose(out) ? cannot("join", o->file) : status;
}

/* A source's text. */
static int read_text(const struct options *o, const char *path, char **text)
{
    size_t size;
    int status = read_input(path, o->time_limit, text, &size);
    if (status || strlen(*text) == size)
        return status;
    complain("%s: has NUL bytes; is it source text?", path);
    return EXIT_FAILED;
}

static int module_from_ir(const struct options *o, ompjit_context *ctx,
                          const ompjit_module_options *options,
                          ompjit_module **mod)
{
    char *device = NULL, *host = NULL;
    size_t device_size = 0, host_size = 0;
    ompjit_error err;
    int status = read_input(o->file, o->time_limit, &device, &device_size);
    if (!status && o->host_ir)
        status = read_input(o->host_ir, o->time_limit, &host, &host_size);
    if (!status && ompjit_module_from_ir(ctx, device, device_size, host,
                                         host_size, options, mod, &err))
        status = failed(&err);
    free(device);
    free(host);
    return status;
}

static int module_from_text(const struct options *o, ompjit_context *ctx,
                            const ompjit_module_options *options,
                            ompjit_module **mod)
{
    char *source = NULL;
    size_t size;
    ompjit_error err;
    ompjit_status (*make)(ompjit_context *, const char *,
                          const ompjit_module_options *, ompjit_module **,
                          ompjit_error *) =
        is_cuda(o->file)      ? ompjit_module_from_cuda
        : is_fortran(o->file) ? ompjit_module_from_fortran
                              : ompjit_module_from_c;
    int status = o->sources.n ? unity(o, &source, &size)
                              : read_text(o, o->file, &source);
    if (!status && make(ctx, source, options, mod, &err))
        status = failed(&err);
    free(source);
    return status;
}

/* A program of several sources, which are compiled one by one. */
static int module_from_sources(const struct options *o, ompjit_context *ctx,
                               ompjit_module_options *options,
                               ompjit_module **mod)
{
    unsigned n = o->sources.n + 1;
    char **texts = calloc(n, sizeof *texts);
    const char **names = calloc(n, sizeof *names);
    ompjit_error err;
    int status = texts && names ? EXIT_OK : cannot("read", o->file);
    for (unsigned i = 0; i < n && !status; i++) {
        names[i] = i ? o->sources.items[i - 1] : o->file;
        status = read_text(o, names[i], &texts[i]);
    }
    if (!status && ompjit_module_from_sources(ctx, (const char *const *)texts,
                                              names, n, options, mod, &err))
        status = failed(&err);
    for (unsigned i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
    free(names);
    return status;
}

/* The name in diagnostics; its ending chooses the language. */
static const char *source_name(const struct options *o)
{
    if (o->sources.n && is_cuda(o->file))
        return "sources.cu";
    return strcmp(o->file, "-") ? o->file : "stdin.c";
}

/* `path` is a further source: it is linked with o->file, or, for CUDA, included
 * in the same text. */
static int check_further(const struct options *o, const char *path)
{
    if (is_ir(path) || is_output(path)) {
        complain("%s: %s cannot be linked with sources; give the source that "
                 "it was made from", path, is_ir(path) ? "IR" : "this file");
        return EXIT_USAGE;
    }
    if (!is_cuda(path) || is_cuda(o->file))
        return EXIT_OK;
    complain("%s: CUDA source cannot be linked with %s; compile it by itself",
             path, o->file);
    return EXIT_USAGE;
}

static int check_sources(const struct options *o)
{
    int status = EXIT_OK;
    if (is_output(o->file)) {
        complain("%s: neither source text nor IR (.ll, .bc); kernels cannot be "
                 "made from it", o->file);
        return EXIT_USAGE;
    }
    if (is_ir(o->file) && o->sources.n) {
        complain("%s: IR has no further sources, such as %s; --host-ir names "
                 "its host half", o->file, o->sources.items[0]);
        return EXIT_USAGE;
    }
    if (!is_ir(o->file) && o->host_ir) {
        complain("--host-ir belongs to device IR (.ll, .bc), not to %s",
                 o->file);
        return EXIT_USAGE;
    }
    for (unsigned i = 0; i < o->sources.n && !status; i++)
        status = check_further(o, o->sources.items[i]);
    return status;
}

int session_module(const struct options *o, ompjit_context *ctx,
                   ompjit_module **mod)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    options.name = source_name(o);
    options.flags = o->flags.items;
    options.nflags = o->flags.n;
    options.openmp_version = o->openmp_version;
    options.opt_level = (ompjit_opt_level)o->opt_level;
    options.opts = o->opts.items;
    options.nopts = o->opts.n;
    static const char *const compilers[] = {"", "nvrtc", "clang", NULL};
    int compiler, status = check_sources(o);
    if (!status)
        status = choose("--cuda-compiler", o->cuda_compiler, compilers,
                        &compiler);
    if (status)
        return status;
    options.cuda_compiler = (ompjit_cuda_compiler)compiler;
    if (is_ir(o->file))
        return module_from_ir(o, ctx, &options, mod);
    return o->sources.n && !is_cuda(o->file)
               ? module_from_sources(o, ctx, &options, mod)
               : module_from_text(o, ctx, &options, mod);
}
