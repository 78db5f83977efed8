/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The ompjit command: what its files share. The tool is a user of ompjit.h; of
 * the library's internals it uses the table of runtime functions (table.c), the
 * search for CUDA's programs and the whole names of kernels (inspect.c), the
 * names of variables (session.c), the folder that it is in (exec.c), and what
 * cc.h and doctor.h name.
 */
#ifndef OMPJIT_TOOL_H
#define OMPJIT_TOOL_H

#include <stdbool.h>

#include "ompjit.h"
#include "ompjit_tune.h"

/* Exit statuses beside the program's own. */
enum {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_UNWRITTEN = 2, /* an output could not be written */
    EXIT_REPORTED = 66
};

/* Commands, as bits: an option belongs to several. */
enum {
    RUN = 1,
    COMPILE = 2,
    INSPECT = 4,
    DEVICES = 8,
    CACHE = 16,
    EXPLAIN = 32,
    TUNE = 64,
    EXEC = 128,
    DOCTOR = 256,
    OCCUPANCY = 512,
    REPL = 1024,
    /* take a program */
    SOURCES = RUN | COMPILE | INSPECT | EXPLAIN | TUNE | OCCUPANCY,
};

struct list {
    const char **items;
    unsigned n;
};

enum { SHARE_TEXT = 40 }; /* "ompjit-share-limit=BYTES" */

/* A command line's options. Zero: the default. Strings are argv's. */
struct options {
    const char *file;       /* the first argument that is not an option     */
    char **args;            /* run, tune, exec, cache: what follows it, ends
                               in NULL                                      */
    const char *kernel;     /* explain, occupancy: the second one; or NULL  */
    const char *device, *arch, *host_memory, *host_ir, *assembler, *clang,
        *cuda_compiler, *specialize;
    const char *output, *emit, *fold, *record, *warm, *profile, *coverage,
        *remarks, *svg, *lang, *color;
    unsigned teams, threads, residents, time_limit, run_limit, openmp_version;
    unsigned opt_level;     /* as ompjit_module_options has it              */
    struct list sources, libraries, library_dirs, dumps, settings, contents,
        opts;
    struct list flags;      /* for clang                                    */
    char share[SHARE_TEXT]; /* the element of opts that --share makes       */
    struct list code;       /* repl: inputs before those of the file        */
    bool json, check, release, sass, time, quiet, verbose, no_cache, explain, help;
};

/* ------------------------------------------------------ options.c, help.c */

/* Reads argv[0..argc) for one command. EXIT_OK or, after a message, another
 * status. Free the lists with options_free in any case. */
int options_read(struct options *o, unsigned command, int argc, char **argv);
void options_free(struct options *o);
/* The options of a command, on standard output. */
void options_help(unsigned command);
/* Appends; false when memory runs out. */
bool list_add(struct list *list, const char *item);

/* The i-th of `names` that is most like `word`, if it is like it at all; else
 * NULL. NULL ends the names. */
const char *nearest(const char *word, const char *const *names);

/* -------------------------------------------------------------- session.c */

/* "ompjit: MESSAGE" on stderr. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
/* The library's error, and EXIT_FAILED. */
int failed(const ompjit_error *err);

/* Names variables of the environment that are misspelled; the log of --verbose
 * has them, too. */
void session_variables(const struct options *o);
/* Defaults of launches, by the variables that every program of the library
 * obeys, and as many host teams as a program asks libomp for. */
int session_geometry(const struct options *o);
/* A context by the options; devices NULL: the default. */
int session_open(const struct options *o, const char *devices,
                 ompjit_context **ctx);
/* The same for `ompjit tune`. */
int session_open_tuning(const struct options *o, ompjit_context **ctx);
/* And for `ompjit repl`, which no failure of its code ends. */
int session_open_interactive(const struct options *o, ompjit_context **ctx);
/* run --check: the status to end with where the program's own would be
 * `status`, after the count of what was reported. */
int session_verdict(const struct options *o, int status);
/* Whether the device is there that was named, before a program starts. */
int session_device(const struct options *o, ompjit_context *ctx);
/* The module of o->file and its further sources. */
int session_module(const struct options *o, ompjit_context *ctx,
                   ompjit_module **mod);
/* All of a file, or of standard input for "-"; NUL-terminated. A
 * pipe or a device may bring 1 GiB at most, and is given up where nothing comes
 * for so many seconds (0: 60). */
int read_input(const char *path, unsigned seconds, char **data, size_t *size);
/* Whether the name ends so. */
bool ends_in(const char *name, const char *ending);
/* Whether the name is that of a CUDA source, of IR (.ll, .bc), or of another
 * file that compilers make: PTX, a cubin or an object. */
bool is_cuda(const char *path);
bool is_ir(const char *path);
bool is_output(const char *path);
/* The same of a Fortran source. */
bool is_fortran(const char *path);

/* --------------------------------------------------------------- output.c */

/* Bytes to a file, or to standard output for "-". EXIT_OK or, after a message,
 * EXIT_UNWRITTEN. */
int write_output(const char *path, const void *data, size_t size);
int write_stderr(const void *data, size_t size);
/* Whether the file will be writable; it is made where it is not there. */
int output_possible(const char *path);
/* Notes where standard error did not take what was written since clearerr. */
void stderr_check(void);
/* EXIT_UNWRITTEN where something could not be written, else `status`. */
int outputs_verdict(int status);
/* The status to end with, after what was printed so far has arrived. */
int outputs_finish(int status);

/* --------------------------------------------------------- dump.c, times.c */

/* Checks the stages' names of --dump before anything is compiled. */
int dumps_check(const struct options *o);
/* Writes what --dump asks for; `arch` where --arch says nothing. */
int dumps_write(const struct options *o, ompjit_module *mod, const char *arch);
/* Has the modes of generic kernels settled, which code for a GPU may change:
 * ompjit_kernel_info_get and ompjit_kernel_explain tell the last one then. */
void modes_settle(ompjit_module *mod, const char *arch);
/* remarks.c: prints what the optimizer did to a kernel, by its symbol, or (NULL)
 * to functions that no kernel has for itself; writes the file of --remarks. */
int remarks_show(ompjit_module *mod, const char *arch, const char *kernel);
int remarks_write(const struct options *o, ompjit_module *mod,
                  const char *arch);
/* The table of --time, on stderr. */
void times_print(ompjit_context *ctx);
/* Writes the profile that --profile asks for. */
void profile_write(const struct options *o, ompjit_context *ctx);
/* coverage.c: writes the counts that --coverage asks for. */
void coverage_write(const struct options *o, ompjit_context *ctx,
                    ompjit_module *mod);

/* ---------------------------------------------------------------- run.c */

/* Runs the program of `mod` with o->args, and `leave` when it leaves by whatever
 * way; does not return where it began. The module stays. */
int program_run(const struct options *o, ompjit_context *ctx,
                ompjit_module *mod, void (*leave)(ompjit_context *ctx,
                                                  ompjit_module *mod));

/* -------------------------------------------------------------- kernel.c */

/* Launches a kernel of the module on the context's first device, as the words
 * say (NULL ends them), and prints its buffers. */
int kernel_run(ompjit_context *ctx, ompjit_module *mod, char **words);

/* ----------------------------------------------------------- libraries.c */

/* Loads the libraries of -l. */
int libraries_load(const struct options *o);

/* -------------------------------------------------------------- commands */

int tool_run(struct options *o);
int tool_compile(struct options *o);
int tool_inspect(struct options *o);
int tool_devices(struct options *o);
int tool_explain(struct options *o);
int tool_occupancy(struct options *o);
int tool_tune(struct options *o);
int tool_exec(struct options *o);
int tool_doctor(struct options *o);
int tool_repl(struct options *o);
int tool_cache(struct options *o);

#endif
