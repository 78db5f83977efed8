/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit doctor: whether the host's entries and the device images of a program
 * belong together, without running it. This file reads the FILEs, tells what is
 * wrong, and sums up.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/cc/cc.h"
#include "tool/doctor/doctor.h"

enum { MESSAGES = 50 };

/* ---------------------------------------------------------------- messages */

bool doctor_tells(const struct doctor *d)
{
    return d->faults < MESSAGES;
}

/* Formatted by vprintf, as complain does with one line. */
static void tell(const char *before, const char *format, va_list ap)
{
    char line[4096];
    vsnprintf(line, sizeof line, format, ap);
    complain("%s%s", before, line);
}

void doctor_fault(struct doctor *d, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (doctor_tells(d))
        tell("", format, ap);
    va_end(ap);
    d->faults++;
}

void doctor_note(struct doctor *d, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (!d->options->quiet)
        tell("note: ", format, ap);
    va_end(ap);
}

char *doctor_text(struct doctor *d, const char *s, size_t n)
{
    char *copy = ompjit__format("%.*s", (int)n, s);
    d->failed |= !copy;
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            *c = '?';
    return copy;
}

void *doctor_grow(struct doctor *d, void *list, size_t *n, size_t size)
{
    char *at;
    memcpy(&at, list, sizeof at); /* a pointer of any type */
    if (!(*n & (*n - 1))) {       /* full: room is a power of two */
        at = realloc(at, (*n ? 2 * *n : 1) * size);
        d->failed |= !at;
        if (!at)
            return NULL;
        memcpy(list, &at, sizeof at);
    }
    return memset(at + (*n)++ * size, 0, size);
}

/* ------------------------------------------------------------------- files */

static bool is_for_cpus(const ompjit__elf_file *f)
{
    return f->head.e_machine == EM_X86_64 || f->head.e_machine == EM_AARCH64;
}

/* A file, or a member of an archive, by its content. An archive's members that
 * are no code are nobody's concern. */
static void read_content(struct doctor *d, const char *name, bool is_member,
                         ompjit__bytes content)
{
    ompjit__elf_file f = {.file = content};
    bool elf = !ompjit__elf_head(&f);
    if (elf && is_for_cpus(&f) && !doctor_is_host_image(content))
        doctor_host(d, name, &f);
    else if (elf || !is_member)
        doctor_image(d, name, false, content);
}

/* EXIT_USAGE after a message: it is no file with something in it. */
static int check_readable(const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *why = fd < 0 || fstat(fd, &s)  ? strerror(errno)
                      : S_ISDIR(s.st_mode)     ? strerror(EISDIR)
                      : !S_ISREG(s.st_mode)    ? "it is no regular file"
                      : !s.st_size             ? "it is empty"
                                               : NULL;
    if (fd >= 0)
        close(fd);
    if (why)
        complain("cannot read %s: %s", path, why);
    return why ? EXIT_USAGE : EXIT_OK;
}

static int read_file(struct doctor *d, struct device_inputs *inputs,
                     const char *path)
{
    size_t first = inputs->n;
    int status = check_readable(path);
    if (status)
        return status;
    inputs->damaged = 0;
    inputs_add(inputs, path);
    if (inputs->damaged)
        doctor_fault(d, "%s: an archive that is damaged or cut at byte %zu: "
                     "build it again", path, inputs->damaged);
    for (size_t i = first; i < inputs->n; i++) {
        struct device_input *in = &inputs->list[i];
        if (in->member) {
            char *name = ompjit__format("%s(%s)", path, in->member);
            free(in->file);
            in->file = name;
        }
        if (in->file)
            read_content(d, in->file, in->member,
                         (ompjit__bytes){in->bytes, in->size});
        d->failed |= !in->file;
    }
    d->failed |= inputs->failed;
    return EXIT_OK;
}

/* ----------------------------------------------------------------- summary */

static void show_entries(const struct doctor *d)
{
    static const char *const roles[ENTRY_ROLES][2] = {
        [ENTRY_KERNEL] = {"kernel", "kernels"},
        [ENTRY_VARIABLE] = {"variable", "variables"},
        [ENTRY_FUNCTION] = {"function", "functions"},
        [ENTRY_REQUIREMENT] = {"requirement", "requirements"},
        [ENTRY_OTHER] = {"of another language", "of other languages"}};
    size_t n[ENTRY_ROLES] = {0};
    for (size_t i = 0; i < d->nentries; i++)
        n[d->entries[i].role]++;
    printf("entries  %zu", d->nentries);
    const char *comma = ": ";
    for (unsigned i = 0; i < ENTRY_ROLES; i++)
        if (n[i]) {
            printf("%s%zu %s", comma, n[i], roles[i][n[i] != 1]);
            comma = ", ";
        }
    putchar('\n');
}

static void show_images(const struct doctor *d)
{
    printf("images   %zu", d->nimages);
    for (size_t i = 0; i < d->nimages; i++) {
        const struct doctor_image *of = &d->images[i];
        size_t same = 0;
        if (!doctor_is_first(d, i))
            continue;
        for (size_t k = i; k < d->nimages; k++)
            same += doctor_is_same_target(&d->images[k], of);
        printf("%s%zu %s%s%s", i ? ", " : ": ", same, doctor_kind(of->kind),
               *of->arch ? " for " : "", of->arch);
    }
    putchar('\n');
}

static void show(const struct doctor *d)
{
    size_t kernels = 0;
    for (size_t i = 0; i < d->nkernels; i++)
        kernels += d->kernels[i].certain &&
                   (!i || strcmp(d->kernels[i - 1].symbol,
                                 d->kernels[i].symbol));
    show_entries(d);
    show_images(d);
    printf("kernels  %zu\n", kernels);
    puts(d->host ? "sound: each entry has its kernel, and each kernel its entry"
                 : "readable");
}

/* ----------------------------------------------------------------- command */

static void free_all(struct doctor *d, struct device_inputs *inputs)
{
    for (size_t i = 0; i < d->nentries; i++) {
        free(d->entries[i].name);
        free(d->entries[i].key);
    }
    for (size_t i = 0; i < d->nimages; i++)
        free(d->images[i].place);
    for (size_t i = 0; i < d->nkernels; i++) {
        free(d->kernels[i].symbol);
        free(d->kernels[i].params);
    }
    for (size_t i = 0; i < inputs->n; i++) {
        free(inputs->list[i].file);
        free(inputs->list[i].member);
    }
    free(d->entries);
    free(d->images);
    free(d->kernels);
    free(inputs->list);
    ompjit_context_destroy(d->ctx);
}

static int verdict(const struct doctor *d)
{
    if (d->failed)
        complain("out of memory");
    if (d->faults > MESSAGES)
        complain("%u more faults are not shown", d->faults - MESSAGES);
    if (d->failed || d->faults)
        return EXIT_FAILED;
    if (!d->options->quiet)
        show(d);
    return EXIT_OK;
}

int tool_doctor(struct options *o)
{
    struct doctor d = {.options = o};
    struct device_inputs inputs = {.all = true};
    int status = read_file(&d, &inputs, o->file);
    for (unsigned i = 0; i < o->sources.n && !status; i++)
        status = read_file(&d, &inputs, o->sources.items[i]);
    if (!status && !d.failed)
        doctor_match(&d);
    if (!status)
        status = verdict(&d);
    free_all(&d, &inputs);
    return status;
}
