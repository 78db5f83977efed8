/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * `ompjit fc`: flang, for build systems. Without -fopenmp it is flang with the
 * same words. With it, flang's driver is asked for the commands of an ordinary
 * compile (-###), since it has no way to put bitcode into objects, and wants
 * CUDA's programs where it offloads. A source's one command becomes these:
 *
 *   host IR    flang -fc1, without LLVM's passes
 *   repaired   what flang gets wrong there, as `ompjit run` has it
 *   device IR  flang -fc1 for the device's half, as bitcode
 *   packed     into LLVM's container (pack.c)
 *   object     flang -fc1 of the host IR, with the container in a section
 *
 * but a source without directives has no device IR. Where flang refuses a type
 * for a GPU, device IR is made of HLFIR for the host (frontend/flang/hlfir.c).
 * Where it refuses a region's values, both halves are made of repaired HLFIR
 * (frontend/flang/outside_values.c), and where it maps less of an object than a
 * region uses, the host's half (frontend/flang/whole_objects.c).
 *
 * and the linker's is that of `ompjit cc` (link.c). All others run as they
 * are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "door/door.h"
#include "frontend/flang/flang.h"
#include "tool/cc/cc.h"
#include "tool/tool.h"

#define TRIPLE "nvptx64-nvidia-cuda"

/* One call of the command. */
struct fortran {
    struct steps steps;
    const ompjit__flang *flang;
    char *tools; /* folder of the programs that we stand in for */
    ompjit_context *ctx; /* NULL: not needed so far             */
    bool verbose, only_show;
    bool own_version; /* of OpenMP: not the user's, who hears nothing of it */
    bool needs_hlfir;  /* the last run failed so: nothing was shown          */
    bool needs_repair; /* or so                                              */
    bool optionals;    /* the host half has private copies of scalars       */
    unsigned sources; /* so far: their files have numbers */
};

#define OPENMP_VERSION "-fopenmp-version="

static int run(struct fortran *f, const ompjit__args *words)
{
    if (f->verbose && !words->failed)
        words_show(words);
    return f->only_show ? EXIT_OK : steps_run(&f->steps, words, -1);
}

/* As run, `quiet` without flang's warning about a version of OpenMP, which is
 * not the user's, or has been told for the host's half; `silent` without any,
 * unless it fails. Sets f->needs_hlfir and f->needs_repair. */
static int run_and_read(struct fortran *f, const ompjit__args *words,
                        bool quiet, bool silent)
{
    static const char warning[] = "warning: OpenMP support for version ";
    ompjit__buf text = {0};
    if (f->only_show)
        return run(f, words);
    if (f->verbose)
        words_show(words);
    int status = steps_run_for_text(&f->steps, words, &text);
    f->needs_hlfir = status && ompjit__flang_needs_hlfir(&text);
    f->needs_repair = status && ompjit__flang_uses_outside(&text) &&
                      ompjit__executable(f->flang->fir_opt);
    bool shows = !f->needs_hlfir && !f->needs_repair && (status || !silent);
    for (char *line = text.data; line && *line && shows;) {
        size_t n = strcspn(line, "\n");
        n += line[n] != 0;
        if (!quiet || strncmp(line, warning, sizeof warning - 1))
            fwrite(line, 1, n, stderr);
        line += n;
    }
    ompjit__buf_free(&text);
    return status;
}

/* ------------------------------------------------------ a source's command */

/* The files between the steps, malloc'd. */
struct files {
    char *host, *device, *hlfir, *repaired, *packed, *modules;
};

static bool name_files(struct fortran *f, struct files *files)
{
    const char *folder = f->steps.folder;
    unsigned n = f->sources++;
    *files = (struct files){
        ompjit__format("%s/host%u.bc", folder, n),
        ompjit__format("%s/device%u.bc", folder, n),
        ompjit__format("%s/device%u.mlir", folder, n),
        ompjit__format("%s/repaired%u.mlir", folder, n),
        ompjit__format("%s/device%u.out", folder, n),
        ompjit__strdup(folder),
    };
    return files->host && files->device && files->hlfir && files->repaired &&
           files->packed && files->modules;
}

static void free_files(struct files *files)
{
    free(files->host);
    free(files->device);
    free(files->hlfir);
    free(files->repaired);
    free(files->packed);
    free(files->modules);
}

static const char *const actions[] = {"-emit-obj", "-S", "-emit-llvm",
                                      "-emit-llvm-bc", NULL};

static bool is_any(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(word, *words))
            return true;
    return false;
}

/* Does the command make something of a Fortran source? */
static bool compiles(const ompjit__args *words)
{
    bool acts = false, fortran = false;
    for (size_t i = 2; i < words->n; i++) {
        acts |= is_any(words->v[i], actions);
        fortran |= !strcmp(words->v[i - 1], "-x") &&
                   strcmp(words->v[i], "ir") && strcmp(words->v[i], "assembler");
    }
    return acts && fortran && !strcmp(words->v[1], "-fc1");
}

/* The command with another action, output and input. The last word is the
 * input, behind -x and its language. */
struct change {
    const char *action, *output;
    const char *input; /* NULL: the source                 */
    bool device;
    const char *language; /* of input                      */
    bool hosts_triple;    /* of a device half              */
    bool keeps_loops;     /* no `do concurrent` is changed */
    bool again;           /* the same has been told before */
};

/* Words of a host's half that a device's half has otherwise, with or without a
 * value. */
static const char *const hosts_pairs[] = {"-target-cpu", "-target-feature",
                                          "-tune-cpu", NULL};
static const char *const hosts_words[] = {"-pic-is-pie", NULL};

/* A version of OpenMP is a source's; flang warns of it each time. */
static bool is_left_out(const struct change *c, const char *word)
{
    return (c->device && is_any(word, hosts_words)) ||
           (c->keeps_loops && ompjit__hlfir_turns_loops(word)) ||
           (c->device && !strncmp(word, "-debug-info-kind", 16)) ||
           (c->input && !c->device &&
            !strncmp(word, OPENMP_VERSION, sizeof OPENMP_VERSION - 1));
}

/* Adds the words at v[i], changed; returns the index of the last one of them. */
static size_t add_changed(const struct change *c, char *const *v, size_t i,
                          ompjit__args *out)
{
    const bool has_value = v[i + 1] != NULL;
    if (is_any(v[i], actions) && c->action) {
        ompjit__args_add(out, c->action);
    } else if (!strcmp(v[i], "-o") && has_value && c->output) {
        ompjit__args_add(out, v[i]);
        ompjit__args_add(out, c->output);
        return i + 1;
    } else if (c->device && is_any(v[i], hosts_pairs) && has_value) {
        return i + 1;
    } else if (c->device && !c->hosts_triple && !strcmp(v[i], "-triple") &&
               has_value) {
        ompjit__args_add(out, v[i]);
        ompjit__args_add(out, TRIPLE);
        return i + 1;
    } else if (c->device && !strcmp(v[i], "-module-dir") && has_value) {
        ompjit__args_add(out, "-I"); /* its modules are the host half's */
        ompjit__args_add(out, v[i + 1]);
        return i + 1;
    } else if (!is_left_out(c, v[i])) {
        ompjit__args_add(out, v[i]);
    }
    return i;
}

static void add_list(ompjit__args *out, const char *const *list)
{
    for (; *list; list++)
        ompjit__args_add(out, *list);
}

/* The library's own passes come later, for the device; the host half's when its
 * object is made. */
static const char *const no_passes[] = {"-mllvm", "-opt-bisect-limit=0",
                                        "-mllvm", "-opt-bisect-verbose=0",
                                        NULL};

/* A host half with regions is compiled with these words. */
static const char *const offloads[] = {"--offload-targets=" TRIPLE, NULL};
static const char *const host_words[] = {
    "-mllvm", "-opt-bisect-limit=0", "-mllvm", "-opt-bisect-verbose=0",
    "--offload-targets=" TRIPLE, NULL};

static void add_device(const struct files *files, ompjit__args *out)
{
    const char *const words[] = {
        "-module-dir", files->modules,
        "-fopenmp-is-target-device", "-fopenmp-host-ir-file-path", files->host,
        "-nogpulib", "-debug-info-kind=line-tables-only",
        "-w", NULL}; /* the host's half has all warnings */
    add_list(out, words);
    add_list(out, ompjit__flang_complex);
}

/* Runs one. `more` stands before the input. */
static int run_changed(struct fortran *f, const struct files *files,
                       const ompjit__args *command, const struct change *c,
                       const char *const *more)
{
    ompjit__args words = {0};
    const size_t end = command->n - 3; /* -x LANGUAGE INPUT */
    for (size_t i = 0; i < end; i++)
        i = add_changed(c, command->v, i, &words);
    if (c->device)
        add_device(files, &words);
    add_list(&words, more);
    ompjit__args_add(&words, "-x");
    ompjit__args_add(&words, c->input ? c->language : command->v[end + 1]);
    ompjit__args_add(&words, c->input ? c->input : command->v[end + 2]);
    bool silent = c->device || c->again; /* the host's half has told all */
    bool quiet = silent || c->keeps_loops || f->own_version;
    int status = run_and_read(f, &words, quiet, silent);
    ompjit__args_free(&words);
    return status;
}

static int pack(struct fortran *f, const struct files *files)
{
    ompjit__args words = {0};
    char *program = ompjit__format("%s/llvm-offload-binary", f->tools);
    char *image = ompjit__format("--image=file=%s,triple=" TRIPLE
                                 ",arch=sm_90,kind=openmp", files->device);
    words.failed = !program || !image;
    ompjit__args_add(&words, program ? program : "");
    ompjit__args_add(&words, "-o");
    ompjit__args_add(&words, files->packed);
    ompjit__args_add(&words, image ? image : "");
    int status = run(f, &words);
    ompjit__args_free(&words);
    free(program);
    free(image);
    return status;
}

/* Has a line that word in front, behind blanks and '#'? */
static bool starts_with(const char *line, const char *word)
{
    return !strncasecmp(line + strspn(line, " \t#"), word, strlen(word));
}

/* Is there a directive, or an included file, which may have one? */
static bool has_directives(char *text)
{
    bool any = false;
    for (char *line = text; line && !any; line = strchr(line, '\n')) {
        line += *line == '\n';
        any = starts_with(line, "include") || starts_with(line, "!$omp") ||
              starts_with(line, "c$omp") || starts_with(line, "*$omp");
    }
    return any;
}

/* *device: may the source have device code? Not if it has no directive, and
 * loops stay the host's. *objects: may its regions use more of an object than
 * flang maps? False, and told: flang would get it wrong. */
static bool look_at_source(const ompjit__args *command, bool *device,
                           bool *objects)
{
    const char *name = command->v[command->n - 1];
    ompjit__args dirs = {0};
    ompjit__buf text = {0};
    ompjit_error err;
    *device = *objects = false;
    ompjit__args_add(&dirs, ".");
    for (size_t i = 2; i + 1 < command->n; i++) {
        *device |= !strcmp(command->v[i], "-fdo-concurrent-to-openmp=device") ||
                   !strcmp(command->v[i], "-include");
        if (!strcmp(command->v[i], "-I"))
            ompjit__args_add(&dirs, command->v[i + 1]);
    }
    ompjit_status st = ompjit__read_file(name, &text, &err);
    ompjit__buf_add(&text, "", 1);
    if (!st && (text.failed || dirs.failed))
        st = ompjit__no_memory(&err, OMPJIT_STAGE_FRONTEND);
    if (!st)
        st = ompjit__fortran_check(text.data, name,
                                   (const char *const *)command->v, command->n,
                                   &dirs, &err);
    if (!st) {
        *objects = ompjit__fortran_look(text.data, &dirs).objects;
        *device |= has_directives(text.data);
    }
    ompjit__buf_free(&text);
    ompjit__args_free(&dirs);
    return !st || !failed(&err);
}

static const char *const with_lines[] = {"-mmlir", "--mlir-print-debuginfo",
                                         NULL};

/* Replaces a file with what `turn` makes of it, unless that is nothing. */
static int rewrite(const char *path,
                   bool (*turn)(ompjit__buf *before, ompjit__buf *after),
                   bool *changed)
{
    ompjit__buf before = {0}, after = {0};
    bool good = true;
    ompjit_error err;
    int status = EXIT_OK;
    if (ompjit__read_file(path, &before, &err))
        status = failed(&err);
    else
        good = turn(&before, &after);
    *changed = !status && good && after.size;
    if (!good || after.failed) {
        complain("flang's HLFIR cannot be read");
        status = EXIT_FAILED;
    } else if (*changed) {
        status = write_output(path, after.data, after.size);
    }
    ompjit__buf_free(&before);
    ompjit__buf_free(&after);
    return status;
}

/* A device half's HLFIR for a GPU. */
static bool turn_device(ompjit__buf *before, ompjit__buf *after)
{
    return ompjit__hlfir_for_gpu(before, after);
}

/* The same, with the change of a host half whose optional scalars have become
 * private copies. */
static bool turn_optionals(ompjit__buf *before, ompjit__buf *after)
{
    ompjit__hlfir_optional_scalars(before);
    return ompjit__hlfir_for_gpu(before, after);
}

/* A host half's HLFIR as flang reads it. */
static bool turn_host(ompjit__buf *before, ompjit__buf *after)
{
    ompjit__hlfir_whole_objects(before);
    ompjit__hlfir_optional_scalars(before);
    ompjit__hlfir_boxes(before, after);
    return true;
}

/* Nothing, where all of its objects are mapped as its regions use them. */
static bool turn_objects(ompjit__buf *before, ompjit__buf *after)
{
    if (ompjit__hlfir_whole_objects(before))
        ompjit__hlfir_boxes(before, after);
    return true;
}

/* Nothing, where no region has an optional scalar by value. */
static bool turn_scalars(ompjit__buf *before, ompjit__buf *after)
{
    if (ompjit__hlfir_optional_scalars(before))
        ompjit__buf_add(after, before->data, before->size);
    return true;
}

/* A half's IR of the HLFIR in its file. */
static int compile_hlfir(struct fortran *f, const struct files *files,
                         const ompjit__args *command, bool device)
{
    return run_changed(f, files, command,
                       &(struct change){.action = "-emit-llvm-bc",
                                        .output = device ? files->device
                                                         : files->host,
                                        .input = files->hlfir,
                                        .device = device, .language = "mlir"},
                       device ? no_passes : host_words);
}

/* Device IR by way of HLFIR (frontend/flang/hlfir.c). */
static int compile_by_hlfir(struct fortran *f, const struct files *files,
                            const ompjit__args *command)
{
    bool changed;
    int status = run_changed(
        f, files, command,
        &(struct change){.action = "-emit-hlfir", .output = files->hlfir,
                         .device = true, .hosts_triple = true},
        with_lines);
    if (!status)
        status = rewrite(files->hlfir,
                         f->optionals ? turn_optionals : turn_device,
                         &changed);
    return status ? status : compile_hlfir(f, files, command, true);
}

/* The host's IR once more, by way of HLFIR, where a region uses more of an
 * object than flang maps (frontend/flang/whole_objects.c). */
static int map_objects(struct fortran *f, const struct files *files,
                       const ompjit__args *command)
{
    bool changed = false;
    ompjit__args words = {0};
    f->optionals = false;
    add_list(&words, offloads);
    add_list(&words, with_lines);
    ompjit__args_add(&words, "-w");
    int status = words.failed
                     ? EXIT_FAILED
                     : run_changed(f, files, command,
                                   &(struct change){.action = "-emit-hlfir",
                                                    .output = files->hlfir,
                                                    .again = true},
                                   (const char *const *)words.v);
    if (!status)
        status = rewrite(files->hlfir, turn_scalars, &f->optionals);
    if (!status)
        status = rewrite(files->hlfir,
                         f->optionals ? turn_host : turn_objects, &changed);
    if (changed && !status)
        status = compile_hlfir(f, files, command, false);
    ompjit__args_free(&words);
    return status;
}

/* Replaces the HLFIR of flang's failure by what fir-opt makes of the repaired
 * text (frontend/flang/outside_values.c). */
static int repair_hlfir(struct fortran *f, const struct files *files)
{
    ompjit__buf before = {0}, after = {0}, pipeline = {0};
    ompjit__args words = {0};
    ompjit_error err;
    int status = EXIT_FAILED;
    if (ompjit__read_file(files->hlfir, &before, &err))
        status = failed(&err);
    else if (!ompjit__outside_repair(&before, &after, &pipeline) ||
             after.failed)
        complain("a target region uses a value from outside of it that flang "
                 "brings into none");
    else
        status = write_output(files->repaired, after.data, after.size);
    ompjit__outside_passes(f->flang, &pipeline, &words);
    ompjit__args_add(&words, files->repaired);
    ompjit__args_add(&words, "-o");
    ompjit__args_add(&words, files->hlfir);
    if (!status)
        status = run(f, &words);
    ompjit__args_free(&words);
    ompjit__buf_free(&before);
    ompjit__buf_free(&after);
    ompjit__buf_free(&pipeline);
    return status;
}

/* One half's IR by way of the repaired HLFIR. flang has failed so before, and
 * fails again here. */
static int compile_repaired(struct fortran *f, const struct files *files,
                            const ompjit__args *command, bool device)
{
    ompjit__args words = {0};
    char *file = ompjit__format(OMPJIT__OUTSIDE_FILE "%s", files->hlfir);
    words.failed = !file;
    if (!device)
        add_list(&words, offloads);
    add_list(&words, ompjit__outside_words);
    ompjit__args_add(&words, "-mmlir");
    ompjit__args_add(&words, file ? file : "");
    run_changed(f, files, command,
                &(struct change){.action = device ? "-emit-hlfir"
                                                  : "-emit-llvm-bc",
                                 .output = files->hlfir, .device = device,
                                 .hosts_triple = device},
                (const char *const *)words.v);
    int status = words.failed ? EXIT_FAILED : repair_hlfir(f, files);
    ompjit__args_free(&words);
    free(file);
    bool changed;
    if (!status)
        status = rewrite(files->hlfir, device ? turn_optionals : turn_host,
                         &changed);
    return status ? status : compile_hlfir(f, files, command, device);
}

/* Refuses a reduce clause that look_at_source cannot see: a macro makes it. */
static int look_at_loops(struct fortran *f, const struct files *files,
                         const ompjit__args *command)
{
    static const char *const quiet[] = {"-w", NULL}; /* warnings come later */
    ompjit__buf hlfir = {0};
    ompjit_error err;
    if (f->only_show ||
        !ompjit__fortran_loops_are_regions((const char *const *)command->v,
                                           command->n))
        return EXIT_OK;
    int status = run_changed(f, files, command,
                             &(struct change){.action = "-emit-hlfir",
                                              .output = files->hlfir,
                                              .keeps_loops = true},
                             quiet);
    ompjit_status st = OMPJIT_OK;
    if (!status)
        st = ompjit__read_file(files->hlfir, &hlfir, &err);
    if (!status && !st && ompjit__hlfir_reduces(&hlfir))
        st = ompjit__fortran_reduce_fail(command->v[command->n - 1], &err);
    ompjit__buf_free(&hlfir);
    return st ? failed(&err) : status;
}

static int compile_device(struct fortran *f, const struct files *files,
                          const ompjit__args *command, bool repairs)
{
    int status = repairs ? compile_repaired(f, files, command, true)
                         : run_changed(f, files, command,
                                       &(struct change){
                                           .action = "-emit-llvm-bc",
                                           .output = files->device,
                                           .device = true},
                                       no_passes);
    if (f->needs_hlfir || (f->optionals && !repairs && !status))
        status = compile_by_hlfir(f, files, command);
    if (!status && !f->only_show)
        status = halves_match(files->host, files->device, false);
    return status ? status : pack(f, files);
}

static int compile_halves(struct fortran *f, const struct files *files,
                          const ompjit__args *command)
{
    bool device, objects;
    if (!look_at_source(command, &device, &objects))
        return EXIT_FAILED;
    char *embed = ompjit__format("-fembed-offload-object=%s", files->packed);
    const char *const object[] = {offloads[0], device ? embed : NULL, NULL};
    int status = embed ? look_at_loops(f, files, command) : EXIT_FAILED;
    if (!status)
        status = run_changed(
            f, files, command,
            &(struct change){.action = "-emit-llvm-bc", .output = files->host},
            host_words);
    bool repairs = f->needs_repair;
    if (repairs)
        status = compile_repaired(f, files, command, false);
    else if (!status && device && objects && !f->only_show)
        status = map_objects(f, files, command);
    if (!status && device)
        status = compile_device(f, files, command, repairs);
    if (!status && !f->only_show)
        status = half_repair(&f->ctx, files->host,
                             device ? files->device : NULL);
    if (!status)
        status = run_changed(f, files, command,
                             &(struct change){.input = files->host,
                                              .language = "ir"},
                             object);
    free(embed);
    return status;
}

static int compile_source(struct fortran *f, const ompjit__args *command)
{
    struct files files;
    int status = EXIT_FAILED;
    if (name_files(f, &files))
        status = compile_halves(f, &files, command);
    else
        complain("out of memory");
    free_files(&files);
    return status;
}

/* -------------------------------------------------------------- the driver */

/* The linker's command goes to the program that adds device code to it. */
static int run_linker(struct fortran *f, const ompjit__args *command)
{
    ompjit__args words = {0};
    char *program = ompjit__format("%s/clang-linker-wrapper", f->tools);
    char *linker = ompjit__format("--linker-path=%s", command->v[0]);
    words.failed = !program || !linker;
    ompjit__args_add(&words, program ? program : "");
    if (f->verbose)
        ompjit__args_add(&words, "--wrapper-verbose");
    ompjit__args_add(&words, linker ? linker : "");
    for (size_t i = 1; i < command->n; i++)
        ompjit__args_add(&words, command->v[i]);
    int status = run(f, &words);
    ompjit__args_free(&words);
    free(program);
    free(linker);
    return status;
}

static bool is_flangs(const ompjit__args *command)
{
    return command->n > 1 && (!strcmp(command->v[1], "-fc1") ||
                              !strncmp(command->v[1], "-cc1", 4));
}

static int run_command(struct fortran *f, const ompjit__args *command)
{
    if (compiles(command))
        return compile_source(f, command);
    return is_flangs(command) ? run(f, command) : run_linker(f, command);
}

/* Runs the commands of the driver's text, one a line that begins with a blank
 * and a quotation mark; shows what it says besides, which are warnings, and its
 * version with -v. */
static int run_commands(struct fortran *f, char *text)
{
    int status = EXIT_OK;
    for (char *line = text, *next; *line && !status; line = next) {
        next = strchr(line, '\n');
        next = next ? next : line + strlen(line);
        if (*next)
            *next++ = 0;
        ompjit__args command = {0};
        if (!strncmp(line, " \"", 2))
            words_split(&command, line);
        else if (f->verbose || strstr(line, "warning:"))
            fprintf(stderr, "%s\n", line);
        if (command.failed)
            status = EXIT_FAILED;
        else if (command.n)
            status = run_command(f, &command);
        ompjit__args_free(&command);
    }
    return status;
}

/* Shows the driver's messages about words that it does not take. */
static void show_messages(const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (memmem(text, n, "error:", 6) || memmem(text, n, "warning:", 8))
            fprintf(stderr, "%.*s\n", (int)n, text);
        text += n + (text[n] != 0);
    }
}

/* Asks the driver for its commands, which come by standard error. */
static int ask_driver(struct fortran *f, const ompjit__args *words,
                      ompjit__buf *text)
{
    int status = steps_run_for_text(&f->steps, words, text);
    if (status && text->data && !text->failed)
        show_messages(text->data);
    return status;
}

static void driver_words(struct fortran *f, const struct request *r,
                         ompjit__args *out)
{
    ompjit__args_add(out, f->flang->path);
    ompjit__args_add(out, "-###");
    f->own_version = r->sources;
    for (size_t i = 0; i < r->words.n; i++)
        f->own_version &= !!strncmp(r->words.v[i], OPENMP_VERSION, sizeof OPENMP_VERSION - 1);
    if (f->own_version)
        ompjit__args_add(out, OPENMP_VERSION "52");
    if (!r->openmp)
        ompjit__args_add(out, "-fopenmp");
    request_add_words(r, out);
    if (r->sources) {
        ompjit__args_add(out, "-I"); /* omp_lib.h */
        ompjit__args_add(out, f->flang->include_dir);
    }
}

static int run_offloading(struct fortran *f, const struct request *r)
{
    ompjit__args words = {0};
    ompjit__buf text = {0};
    driver_words(f, r, &words);
    f->verbose = r->verbose;
    for (size_t i = 0; i < r->words.n; i++)
        f->only_show |= !strcmp(r->words.v[i], "-###");
    int status = steps_begin(&f->steps);
    if (!status) {
        status = ask_driver(f, &words, &text);
        if (!status)
            status = run_commands(f, text.data);
        status = steps_end(&f->steps, status);
    }
    ompjit__buf_free(&text);
    ompjit__args_free(&words);
    return status;
}

/* flang itself, with the user's words. */
static int become_flang(const struct fortran *f, int argc, char **argv)
{
    ompjit__args words = {0};
    ompjit__args_add(&words, f->flang->path);
    for (int i = 0; i < argc; i++)
        ompjit__args_add(&words, argv[i]);
    int status = words_exec(&words);
    ompjit__args_free(&words);
    return status;
}

int tool_fc(int argc, char **argv)
{
    struct request r = {.fortran = true};
    struct fortran f = {0};
    ompjit__flang flang;
    ompjit_error err;
    int status;
    if (ompjit__flang_find(&flang, &err))
        return failed(&err);
    f.flang = &flang;
    request_read(&r, argc - 1, argv + 1);
    if (!request_links_device_code(&r) && (!r.openmp || r.host_only))
        status = become_flang(&f, argc - 1, argv + 1);
    else if ((f.tools = tools_folder()))
        status = run_offloading(&f, &r);
    else
        status = EXIT_FAILED;
    ompjit_context_destroy(f.ctx);
    free(f.tools);
    ompjit__args_free(&r.words);
    ompjit__flang_free(&flang);
    return status;
}
