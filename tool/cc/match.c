/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Has the two halves of a source agree before objects are made of them, as
 * the library does for `ompjit run` (frontend/match.c): clang numbers the lambdas
 * in the names of target regions by the order in which each half needs them, and
 * leaves a kernel out whose name the host half's list of regions does not have.
 * The device half is compiled once more then, with all names that there may be,
 * by the command that clang's driver has for it: the driver is this process's
 * parent, and is asked for its commands (-###).
 *
 * A worker does the rest. Most sources need none: their host half has no lambda in
 * a name, their device half refers to no variable that it does not have, no
 * variable that other files cannot see is in both, and no such function has a
 * target region.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "door/door.h"
#include "tool/cc/cc.h"
#include "tool/tool.h"

/* ----------------------------------------------------------- clang's command */

/* The words of the driver, which waits for this process. */
static bool parents_words(ompjit__args *out)
{
    char path[64];
    ompjit__buf text = {0};
    ompjit_error err;
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)getppid());
    bool read = !ompjit__read_file(path, &text, &err);
    for (size_t at = 0; read && at < text.size; at += strlen(text.data + at) + 1)
        ompjit__args_add(out, text.data + at);
    read &= !text.failed && out->n;
    ompjit__buf_free(&text);
    return read;
}

/* The word behind `word`, "" where there is none; NULL: it is not among them. */
static const char *value_of(const ompjit__args *words, const char *word)
{
    for (size_t i = 0; i < words->n; i++)
        if (!strcmp(words->v[i], word))
            return i + 1 < words->n ? words->v[i + 1] : "";
    return NULL;
}

#define HOSTS_FILE "-fopenmp-host-ir-file-path"

/* Is it the command's input, or what the preprocessor has made of it? */
static bool reads(const ompjit__args *command, const char *source)
{
    static const char preprocessed[] = "cpp-output";
    const char *slash = strrchr(source, '/');
    const char *name = value_of(command, "-main-file-name");
    const char *language = value_of(command, "-x");
    return !strcmp(command->v[command->n - 1], source) ||
           (language && strstr(language, preprocessed) && name &&
            !strcmp(name, slash ? slash + 1 : source));
}

/* Does the command make the device half of that source? */
static bool makes_device_half(const ompjit__args *command, const char *source)
{
    return command->n && value_of(command, "-fopenmp-is-target-device") &&
           value_of(command, HOSTS_FILE) && !value_of(command, "-E") &&
           reads(command, source);
}

/* Finds it in the driver's text, one command a line. */
static bool find_command(char *text, const char *source, ompjit__args *out)
{
    bool found = false;
    for (char *line = text, *next; line && *line && !found; line = next) {
        ompjit__args_free(out);
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (!strncmp(line, " \"", 2))
            words_split(out, line);
        found = makes_device_half(out, source);
    }
    return found;
}

/* The command for that source; empty after a message. */
static int ask_driver(struct steps *s, const char *source,
                      ompjit__args *command)
{
    ompjit__args words = {0}, asking = {0};
    ompjit__buf text = {0};
    int status = EXIT_FAILED;
    if (parents_words(&words)) {
        ompjit__args_add(&asking, words.v[0]);
        ompjit__args_add(&asking, "-###");
        for (size_t i = 1; i < words.n; i++)
            ompjit__args_add(&asking, words.v[i]);
        status = steps_run_for_text(s, &asking, &text);
    }
    if (status || !find_command(text.data, source, command)) {
        complain("%s: clang's halves number lambdas differently, and clang does "
                 "not tell how it compiles the device half", source);
        status = EXIT_FAILED;
    }
    ompjit__buf_free(&text);
    ompjit__args_free(&asking);
    ompjit__args_free(&words);
    return status;
}

/* ------------------------------------------------------------------- compile */

/* Runs the command with another host half, and the file `device` as output. */
static int compile(struct steps *s, const ompjit__args *command,
                   const char *host, const char *device)
{
    ompjit__args words = {0};
    for (size_t i = 0; i < command->n; i++) {
        ompjit__args_add(&words, command->v[i]);
        const bool is_output = !strcmp(command->v[i], "-o");
        if (i + 1 < command->n &&
            (is_output || !strcmp(command->v[i], HOSTS_FILE))) {
            ompjit__args_add(&words, is_output ? device : host);
            i++;
        }
    }
    int status = steps_run(s, &words, -1);
    ompjit__args_free(&words);
    return status;
}

/* The device half once more, with that host half. */
static int compile_with(struct steps *s, const char *source,
                        const ompjit__buf *host, const char *device)
{
    ompjit__args command = {0};
    char file[64];
    int status = ask_driver(s, source, &command);
    int fd = status ? -1 : memory_file(host);
    if (!status && fd < 0) {
        complain("no file in memory for the list of target regions");
        status = EXIT_FAILED;
    }
    snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
    if (!status)
        status = compile(s, &command, file, device);
    if (fd >= 0)
        close(fd);
    ompjit__args_free(&command);
    return status;
}

static int compile_again(const char *source, const ompjit__buf *host,
                         const char *device)
{
    struct steps s;
    int status = steps_begin(&s);
    return status ? status
                  : steps_end(&s, compile_with(&s, source, host, device));
}

/* --------------------------------------------------------------------- match */

/* A source's halves in their files. */
struct pair {
    ompjit_context *ctx; /* NULL: no worker was needed so far */
    const char *host_file, *device_file;
    ompjit__halves halves;
};

static int read_pair(struct pair *p)
{
    ompjit_error err;
    ompjit__buf_free(&p->halves.host);
    ompjit__buf_free(&p->halves.device);
    if (ompjit__read_file(p->host_file, &p->halves.host, &err) ||
        ompjit__read_file(p->device_file, &p->halves.device, &err))
        return failed(&err);
    return EXIT_OK;
}

/* Has the half a lambda's number in a name, "$_0"? */
static bool numbers_lambdas(const ompjit__buf *bitcode)
{
    const char *end = bitcode->data + bitcode->size, *at = bitcode->data;
    while (at && (at = memmem(at, (size_t)(end - at), "$_", 2))) {
        at += 2;
        if (at < end && isdigit((unsigned char)*at))
            return true;
    }
    return false;
}

static int ask_worker(struct pair *p, ompjit__matched *out)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_error err;
    ompjit_status st = OMPJIT_OK;
    o.devices = "host";
    if (!p->ctx)
        st = ompjit_context_create(&o, &p->ctx, &err);
    if (!st)
        st = ompjit__door_halves_match(&p->ctx->compiler, &p->halves, out, &err);
    return st ? failed(&err) : EXIT_OK;
}

static void matched_free(ompjit__matched *m)
{
    ompjit__buf_free(&m->host);
    ompjit__buf_free(&m->device);
    ompjit__buf_free(&m->source);
    *m = (ompjit__matched){0};
}

/* The second answer is never to compile again. */
static int match(struct pair *p)
{
    ompjit__matched m = {0};
    int status = ask_worker(p, &m);
    if (!status && m.how == OMPJIT__MATCH_AGAIN) {
        ompjit__buf_add(&m.source, "", 1);
        status = m.source.failed ? EXIT_FAILED
                                 : compile_again(m.source.data, &m.host,
                                                 p->device_file);
        matched_free(&m);
        p->halves.numbered = true;
        if (!status)
            status = read_pair(p);
        if (!status)
            status = ask_worker(p, &m);
    }
    if (!status && m.how == OMPJIT__MATCH_CHANGED) {
        status = write_output(p->host_file, m.host.data, m.host.size);
        if (!status)
            status = write_output(p->device_file, m.device.data, m.device.size);
    }
    matched_free(&m);
    return status;
}

int halves_match(const char *host, const char *device, bool may_differ)
{
    struct pair p = {.host_file = host, .device_file = device,
                     .halves = {.name = host, .may_differ = may_differ}};
    int status = read_pair(&p);
    if (!status && (numbers_lambdas(&p.halves.host) ||
                    bitcode_lacks_variable(&p.halves.device) ||
                    bitcode_share_unseen(&p.halves.host, &p.halves.device) ||
                    bitcode_has_own_region(&p.halves.host, &p.halves.device)))
        status = match(&p);
    ompjit__buf_free(&p.halves.host);
    ompjit__buf_free(&p.halves.device);
    ompjit_context_destroy(p.ctx);
    return status;
}
