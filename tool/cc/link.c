/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The link: clang calls this in place of its own clang-linker-wrapper, with the
 * linker's whole command line behind --linker-path=. The device code of all
 * objects goes into an object in memory, which is linked in together with
 * register.o, whose constructor hands it to libompjit-omptarget.so. Then this
 * process becomes the linker. Nothing is compiled. Executables also get start.o,
 * with device code or without.
 *
 * Which members of archives a link takes only the linker knows. Where some have
 * device code it is run ahead, for its trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/cc/cc.h"
#include "tool/tool.h"

#define LINKER "--linker-path="
#define LIBRARY "libompjit-omptarget.so"

/* A link: the linker and its words, and where our files are. */
struct link {
    ompjit__args words; /* words.v[0] is the linker */
    char *tools;        /* folder of our objects    */
    char *library;      /* LIBRARY                  */
    bool verbose, relocatable, shared;
};

/* ---------------------------------------------------------------- its words */

static bool begins(const char *word, const char *with)
{
    return !strncmp(word, with, strlen(with));
}

/* clang's words for its own wrapper, which may stand behind the linker's. */
static bool is_wrappers(const char *word)
{
    return begins(word, "--wrapper-") || begins(word, "--compress") ||
           begins(word, "--offload-") || begins(word, "--device-");
}

static const char *const relocatable[] = {"-r", "--relocatable", "-i", "-Ur",
                                          NULL};
static const char *const shared[] = {"-shared", "--shared", "-Bshareable", NULL};

static bool is_any(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words))
        words++;
    return *words != NULL;
}

/* With -v, clang adds --verbose for its wrapper at the very end. */
static int read_words(struct link *l, int argc, char **argv)
{
    ompjit__args all = {0};
    size_t first = 0;
    words_expand(&all, argc - 1, argv + 1);
    for (; first < all.n && !begins(all.v[first], LINKER); first++)
        l->verbose |= !strcmp(all.v[first], "--wrapper-verbose");
    const bool found = first < all.n;
    for (size_t i = first; i < all.n; i++) {
        const char *word = all.v[i];
        bool ours = is_wrappers(word) || (l->verbose && i + 1 == all.n &&
                                          !strcmp(word, "--verbose"));
        l->relocatable |= is_any(word, relocatable);
        l->shared |= is_any(word, shared);
        if (!ours)
            ompjit__args_add(&l->words,
                             i > first ? word : word + strlen(LINKER));
    }
    const bool bad = all.failed || l->words.failed;
    ompjit__args_free(&all);
    if (found && !bad)
        return EXIT_OK;
    complain(bad ? "out of memory"
                 : "clang calls this program, with " LINKER "LINKER");
    return EXIT_FAILED;
}

/* ------------------------------------------------------- the linker's words */

/* The library, malloc'd; NULL after a message. */
static char *find_library(const char *tools)
{
    static const char *const folders[] = {"../.libs", /* of a build tree */
                                          "../" OMPJIT_CONFIG_LIBEXEC_TO_LIB};
    char *found = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !found; i++) {
        char *path = ompjit__format("%s/%s", tools, folders[i]);
        char *folder = path ? realpath(path, NULL) : NULL;
        found = folder ? ompjit__format("%s/" LIBRARY, folder) : NULL;
        if (found && access(found, F_OK)) {
            free(found);
            found = NULL;
        }
        free(folder);
        free(path);
    }
    if (!found)
        complain(LIBRARY " is neither in %s/%s nor in %s/%s", tools,
                 folders[0], tools, folders[1]);
    return found;
}

/* Folders in which programs find their libraries anyway. */
static bool is_standard(const char *folder)
{
    static const char *const below[] = {"/lib", "/lib64", "/usr/lib",
                                        "/usr/lib64"};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        size_t n = strlen(below[i]);
        if (!strncmp(folder, below[i], n) &&
            (!folder[n] || (strstr(folder + n, "-linux-gnu") &&
                            !strchr(folder + n + 1, '/'))))
            return true;
    }
    return false;
}

/* The library, only where something of it is used: a program without device
 * code may ask for devices. */
static void add_library(const struct link *l, ompjit__args *out)
{
    ompjit__args_add(out, "--push-state");
    ompjit__args_add(out, "--as-needed");
    ompjit__args_add(out, l->library);
    ompjit__args_add(out, "--pop-state");
}

/* The library's folder, unless it is one of the system's. */
static void add_run_path(const struct link *l, ompjit__args *out)
{
    const char *wanted = getenv("OMPJIT_CC_RPATH");
    char *folder = ompjit__format("%.*s",
                                  (int)(strrchr(l->library, '/') - l->library),
                                  l->library);
    if (folder && !is_standard(folder) && !(wanted && !strcmp(wanted, "0"))) {
        ompjit__args_add(out, "-rpath");
        ompjit__args_add(out, folder);
    }
    out->failed |= !folder;
    free(folder);
}

/* lld would collect the sections of entries, to which only names refer that it
 * makes itself. */
static void keep_entries(const struct link *l, ompjit__args *out)
{
    char *linker = realpath(l->words.v[0], NULL);
    const char *slash = linker ? strrchr(linker, '/') : NULL;
    if (slash && strstr(slash, "lld")) {
        ompjit__args_add(out, "-z");
        ompjit__args_add(out, "nostart-stop-gc");
    }
    free(linker);
}

/* An object of ours, by its name in the folder of register.o. */
static void add_own(const struct link *l, const char *name, ompjit__args *out)
{
    char *path = ompjit__format("%s/%s", l->tools, name);
    out->failed |= !path;
    ompjit__args_add(out, path ? path : "");
    free(path);
}

/* The object of the image, which the linker finds by its descriptor. */
static int add_image(const struct link *l, const ompjit__buf *image,
                     ompjit__args *out)
{
    ompjit__buf object = {0};
    char file[64];
    pack_object(&object, image);
    int fd = object.failed ? -1 : memory_file(&object);
    ompjit__buf_free(&object);
    if (fd < 0) {
        complain("no file in memory for the device code: %s", strerror(errno));
        return EXIT_FAILED;
    }
    snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
    add_own(l, "register.o", out);
    ompjit__args_add(out, file);
    keep_entries(l, out);
    return EXIT_OK;
}

/* Is it libomp, by -l or as a file? */
static bool is_libomp(const char *word)
{
    static const char file[] = "libomp.so";
    const char *slash = strrchr(word, '/');
    return !strcmp(word, "-lomp") ||
           !strncmp(slash ? slash + 1 : word, file, sizeof file - 1);
}

/* The linker's words, with the device code in front, so that the C library's
 * static part comes behind it, and our library where clang wants its own. It
 * also stands before libomp: of functions that both have ours are right, since
 * libomp knows no devices, and an older one aborts where omp.h of clang 22
 * numbers memory spaces. */
static int make_words(const struct link *l, const ompjit__buf *image,
                      ompjit__args *out)
{
    bool placed = l->relocatable, before_libomp = placed;
    int status = EXIT_OK;
    ompjit__args_add(out, l->words.v[0]);
    if (!l->relocatable && !l->shared)
        add_own(l, "start.o", out);
    if (image->size)
        status = add_image(l, image, out);
    for (size_t i = 1; i < l->words.n; i++) {
        const char *word = l->words.v[i];
        if (!before_libomp && is_libomp(word)) {
            add_library(l, out);
            before_libomp = true;
        }
        if (strcmp(word, "-lomptarget")) {
            ompjit__args_add(out, word);
        } else if (!placed) {
            add_library(l, out);
            placed = true;
        }
    }
    if (!placed)
        add_library(l, out);
    if (!l->relocatable)
        add_run_path(l, out);
    return status;
}

/* ------------------------------------------------------------------- trace */

/* The linker with its words, whose output goes nowhere. */
static void become_tracer(const struct link *l, int to)
{
    static const char *const more[] = {"-t", "-t", "-o", "/dev/null"};
    const ompjit__buf no_image = {0};
    ompjit__args words = {0};
    int nowhere = open("/dev/null", O_WRONLY);
    make_words(l, &no_image, &words);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        ompjit__args_add(&words, more[i]);
    if (nowhere >= 0 && dup2(to, STDOUT_FILENO) >= 0 &&
        dup2(nowhere, STDERR_FILENO) >= 0)
        words_exec(&words);
    _exit(127);
}

static void read_all(int from, ompjit__buf *out)
{
    char part[16384];
    ssize_t n;
    while ((n = read(from, part, sizeof part)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            ompjit__buf_add(out, part, (size_t)n);
}

/* Whether the linker could do its work, and what it has traced. */
static bool trace(const struct link *l, ompjit__buf *out)
{
    int ends[2], status = -1;
    if (pipe2(ends, O_CLOEXEC))
        return false;
    pid_t pid = fork();
    if (!pid)
        become_tracer(l, ends[1]);
    close(ends[1]);
    if (pid > 0) {
        read_all(ends[0], out);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    return pid > 0 && !status && !out->failed && out->data;
}

/* A link that fails here fails again, and then says why. Where it is the trace
 * that the linker does not know, all members count. */
static void mark_members(const struct link *l, struct device_inputs *inputs)
{
    ompjit__buf text = {0};
    inputs_mark(inputs, trace(l, &text) ? text.data : NULL);
    ompjit__buf_free(&text);
}

/* ---------------------------------------------------------------- the link */

static int become_linker(const struct link *l, const ompjit__buf *image)
{
    ompjit__args words = {0};
    int status = make_words(l, image, &words);
    if (!status && l->verbose && !words.failed)
        words_show(&words);
    if (!status)
        status = words_exec(&words);
    ompjit__args_free(&words);
    return status;
}

/* An object that is made of objects has their sections. */
static int link_with_device(struct link *l)
{
    struct device_inputs inputs = {0};
    ompjit__buf image = {0};
    int status = EXIT_OK;
    if (!l->relocatable) {
        inputs_find(&inputs, &l->words);
        if (inputs.any_member)
            mark_members(l, &inputs);
        status = inputs_image(&inputs, &image);
    }
    if (!status)
        status = become_linker(l, &image);
    ompjit__buf_free(&image);
    return status;
}

int tool_link(int argc, char **argv)
{
    struct link l = {0};
    int status = read_words(&l, argc, argv);
    if (!status && !(l.tools = tools_folder()))
        status = EXIT_FAILED;
    if (!status && !(l.library = find_library(l.tools)))
        status = EXIT_FAILED;
    if (!status)
        status = link_with_device(&l);
    ompjit__args_free(&l.words);
    free(l.tools);
    free(l.library);
    return status;
}
