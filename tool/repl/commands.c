/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The commands of a session. Those that look inside its kernels save it as a
 * program, and have another process of the tool read that.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/repl/terminal/colour.h"
#include "tool/repl/commands.h"
#include "tool/repl/session/complete.h"
#include "tool/repl/terminal/plot.h"
#include "tool/repl/state.h"
#include "tool/tool.h"

extern char **environ;

/* A command on its way. */
struct call {
    struct repl *r;
    const char *name; /* of the file that it stands in */
    unsigned line;
    char *words;  /* the arguments, without blanks around them */
    struct outcome *out;
};

static void refuse(struct call *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void interrupted(struct call *c)
{
    char *text = ompjit__format("%s:%u: interrupted", c->name, c->line);
    c->out->kind = OUTCOME_ABORTED;
    outcome_tell(c->out, text ? text : "interrupted");
    free(text);
}

/* A command that was interrupted has no other error. */
static void refuse(struct call *c, const char *format, ...)
{
    ompjit_error err;
    va_list ap;
    if (atomic_load(&repl_engine(c->r)->interrupted)) {
        interrupted(c);
        return;
    }
    va_start(ap, format);
    vsnprintf(err.text, sizeof err.text, format, ap);
    va_end(ap);
    char *text = ompjit__format("%s:%u: error: %s", c->name, c->line, err.text);
    c->out->kind = OUTCOME_BAD;
    outcome_tell(c->out, text ? text : "error: out of memory");
    free(text);
}

/* A number from 1 on, 1 where there is none. 0, with a message: it is none. */
static unsigned number_of(struct call *c)
{
    char *end;
    unsigned long n = *c->words ? strtoul(c->words, &end, 10) : 1;
    if (*c->words && (*end || !isdigit((unsigned char)*c->words) || !n ||
                      n > 1 << 30)) {
        refuse(c, "%s: a number from 1 on is possible", c->words);
        return 0;
    }
    return (unsigned)n;
}

/* ------------------------------------------------------------------- other */

/* Waits for the process. False: it has not ended with 0. */
static bool await(struct call *c, pid_t child, const char *what)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return true;
    if (WIFEXITED(status))
        refuse(c, "%s ended with status %d", what, WEXITSTATUS(status));
    else
        refuse(c, "%s was ended by signal %d", what, WTERMSIG(status));
    return false;
}

/* A terminal sends an interrupt to all of its processes. Where it comes as a
 * request, those of the command have a group of their own, which gets it. */
static int spawn(struct call *c, pid_t *child, const char *path, char **argv)
{
    posix_spawnattr_t own;
    const bool remote = repl_is_remote(c->r);
    engine *e = repl_engine(c->r);
    int failed = posix_spawnattr_init(&own);
    if (failed)
        return failed;
    if (remote) {
        posix_spawnattr_setpgroup(&own, 0);
        posix_spawnattr_setflags(&own, POSIX_SPAWN_SETPGROUP);
    }
    failed = posix_spawn(child, path, NULL, &own, argv, environ);
    posix_spawnattr_destroy(&own);
    if (failed || !remote)
        return failed;
    atomic_store(&e->group, *child);
    if (atomic_load(&e->interrupted))
        kill(-*child, SIGINT);
    return 0;
}

static bool run_program(struct call *c, const char *path, char **argv)
{
    pid_t child;
    fflush(NULL);
    int failed = spawn(c, &child, path, argv);
    if (failed) {
        refuse(c, "cannot start %s: %s", path, strerror(failed));
        return false;
    }
    atomic_store(&repl_engine(c->r)->program, true);
    const bool good = await(c, child, argv[1] ? argv[1] : argv[0]);
    atomic_store(&repl_engine(c->r)->program, false);
    atomic_store(&repl_engine(c->r)->group, 0);
    return good;
}

/* ompjit WORD... [KERNEL...] */
static bool run_tool(struct call *c, const struct list *words)
{
    struct list argv = {0};
    char *rest = c->words, *save = NULL;
    bool ran, good = list_add(&argv, "ompjit");
    for (unsigned i = 0; i < words->n; i++)
        good = good && list_add(&argv, words->items[i]);
    for (char *word = strtok_r(rest, " \t\n", &save); word;
         word = strtok_r(NULL, " \t\n", &save))
        good = good && list_add(&argv, word);
    good = good && list_add(&argv, NULL);
    if (!good)
        refuse(c, "out of memory");
    ran = good && run_program(c, "/proc/self/exe", (char **)argv.items);
    free(argv.items);
    return ran;
}

/* ---------------------------------------------------------------- programs */

static bool is_cxx(const struct call *c)
{
    return !strcmp(repl_language(c->r), "c++");
}

/* False, with a message. */
static bool write_text(struct call *c, const char *path, const char *text,
                       size_t size)
{
    FILE *file = fopen(path, "w");
    bool good = file && fwrite(text, 1, size, file) == size;
    if (file)
        good = !fclose(file) && good;
    if (!good)
        refuse(c, "cannot write %s: %s", path, strerror(errno));
    return good;
}

/* A comment with the command that compiles the program elsewhere. */
static void add_head(const struct call *c, ompjit__buf *program)
{
    struct list options = {0};
    repl_add_options(c->r, &options);
    ompjit__buf_printf(program, "/* A session of ompjit repl: clang -fopenmp");
    for (unsigned i = 0; i < options.n; i++)
        if (!strstr(options.items[i], "*/"))
            ompjit__buf_printf(program, " %s", options.items[i]);
    ompjit__buf_printf(program, " */\n");
    free(options.items);
}

/* Writes the session as a program. False, with a message. */
static bool write_program(struct call *c, const char *path)
{
    ompjit__buf text = {0};
    add_head(c, &text);
    save_program(repl_engine(c->r), is_cxx(c), &text);
    bool good = write_text(c, path, text.data, text.size);
    ompjit__buf_free(&text);
    return good;
}

/* A new folder; "" with a message: none. */
static void make_folder(struct call *c, char *folder, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, size, "%s/ompjit-repl-XXXXXX",
             tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(folder))
        return;
    refuse(c, "cannot make %s: %s", folder, strerror(errno));
    *folder = '\0';
}

static void show_file(struct call *c, const char *path)
{
    char chunk[4096];
    size_t n;
    FILE *file = fopen(path, "r");
    if (!file) {
        refuse(c, "cannot read %s: %s", path, strerror(errno));
        return;
    }
    while ((n = fread(chunk, 1, sizeof chunk, file)))
        fwrite(chunk, 1, n, stdout);
    fclose(file);
}

/* The words of ompjit COMMAND [OPTION] [-o MADE] SOURCE. */
static bool list_words(struct call *c, struct list *words,
                       const char *command, const char *option,
                       const char *made, const char *source)
{
    return list_add(words, command) && list_add(words, "-w") &&
           repl_add_options(c->r, words) &&
           (strcmp(command, "run") || repl_add_run_options(c->r, words)) &&
           (!option || list_add(words, option)) &&
           (!made || (list_add(words, "-o") && list_add(words, made))) &&
           list_add(words, source);
}

/* ompjit COMMAND [OPTION] FILE, with the session as FILE; `output`: it writes
 * that file, which is shown. */
static void run_on_session(struct call *c, const char *command,
                           const char *option, const char *output)
{
    char folder[4096] = "", source[4200], made[4200];
    struct list words = {0};
    make_folder(c, folder, sizeof folder);
    if (!*folder)
        return;
    snprintf(source, sizeof source, "%s/session.%s", folder,
             is_cxx(c) ? "cc" : "c");
    snprintf(made, sizeof made, "%s/%s", folder, output ? output : "");
    if (!list_words(c, &words, command, option, output ? made : NULL, source))
        refuse(c, "out of memory");
    else if (write_program(c, source) && run_tool(c, &words) && output)
        show_file(c, made);
    free(words.items);
    unlink(source);
    if (output)
        unlink(made);
    rmdir(folder);
}

static void command_ir(struct call *c)
{
    run_on_session(c, "compile", NULL, "session.ll");
}

static void command_ptx(struct call *c)
{
    run_on_session(c, "compile", NULL, "session.ptx");
}

static void command_sass(struct call *c)
{
    run_on_session(c, "inspect", "--sass", NULL);
}

static void command_resources(struct call *c)
{
    run_on_session(c, "inspect", NULL, NULL);
}

static void command_occupancy(struct call *c)
{
    run_on_session(c, "occupancy", NULL, NULL);
}

static void command_explain(struct call *c)
{
    run_on_session(c, "explain", NULL, NULL);
}

static void command_check(struct call *c)
{
    run_on_session(c, "run", "--check", NULL);
}

static void command_profile(struct call *c)
{
    run_on_session(c, "run", "--profile=-", NULL);
}

/* ompjit COMMAND */
static void run_alone(struct call *c, const char *command)
{
    const struct list words = {&command, 1};
    run_tool(c, &words);
}

static void command_devices(struct call *c)
{
    run_alone(c, "devices");
}

static void command_table(struct call *c)
{
    run_alone(c, "table");
}

static void command_cache(struct call *c)
{
    run_alone(c, "cache");
}

static void command_shell(struct call *c)
{
    char *argv[] = {"sh", "-c", c->words, NULL};
    run_program(c, "/bin/sh", argv);
}

static void command_save(struct call *c)
{
    if (!*c->words)
        refuse(c, ":save needs a file");
    else
        write_program(c, c->words);
}

/* ------------------------------------------------------------------- plots */

/* NULL with a message: the variable is no array of numbers. */
static double *array_of(struct call *c, const char *name, size_t *n)
{
    ompjit_error err;
    double *numbers = engine_numbers(repl_engine(c->r), name, n, &err);
    if (!numbers)
        refuse(c, "%s", err.text);
    return numbers;
}

static bool is_picture(const char *word)
{
    return ends_in(word, ".svg") || ends_in(word, ".png");
}

static void draw(struct call *c, const struct plot *p, const char *file)
{
    ompjit__buf out = {0};
    bool some = !file                   ? plot_braille(p, &out)
                : ends_in(file, ".png") ? plot_png(p, &out)
                                        : plot_svg(p, &out);
    if (!some)
        refuse(c, "there is no finite number to draw");
    else if (file)
        write_text(c, file, out.data, out.size);
    else
        fwrite(out.data, 1, out.size, stdout);
    ompjit__buf_free(&out);
}

static void command_plot(struct call *c)
{
    const char *words[3] = {NULL}, *file = NULL;
    double *arrays[2] = {NULL};
    size_t sizes[2] = {0};
    unsigned n = 0;
    char *save = NULL;
    for (char *word = strtok_r(c->words, " \t\n", &save); word && n < 3;
         word = strtok_r(NULL, " \t\n", &save))
        words[n++] = word;
    if (n && is_picture(words[n - 1]))
        file = words[--n];
    if (n != 1 && n != 2) {
        refuse(c, ":plot needs one or two arrays");
        return;
    }
    for (unsigned i = 0; i < n && c->out->kind == OUTCOME_GOOD; i++)
        arrays[i] = array_of(c, words[i], &sizes[i]);
    if (n == 2 && c->out->kind == OUTCOME_GOOD && sizes[0] != sizes[1])
        refuse(c, "%s has %zu elements, and %s has %zu", words[0], sizes[0],
               words[1], sizes[1]);
    struct plot p = {n == 2 ? arrays[0] : NULL, arrays[n - 1], sizes[0]};
    if (c->out->kind == OUTCOME_GOOD)
        draw(c, &p, file);
    free(arrays[0]);
    free(arrays[1]);
}

/* ------------------------------------------------------------------ inputs */

static void show_input(const struct call *c, const struct input *in)
{
    struct colour state = {0};
    ompjit__buf code = {0};
    size_t n = in->size;
    while (n && isspace((unsigned char)in->text[n - 1]))
        n--;
    if (repl_colours(c->r, STDOUT_FILENO))
        colour_code(&state, in->text, n, &code);
    else
        ompjit__buf_add(&code, in->text, n);
    printf("[%u] %.*s\n", in->number, (int)code.size, code.data);
    ompjit__buf_free(&code);
}

static void command_list(struct call *c)
{
    const engine *e = repl_engine(c->r);
    for (size_t i = 0; i < e->nunits; i++)
        show_input(c, &e->units[i]->in);
}

static void command_source(struct call *c)
{
    const struct input *in = engine_source(repl_engine(c->r), c->words);
    if (in)
        show_input(c, in);
    else
        refuse(c, "no input declares %s", *c->words ? c->words : "nothing");
}

static void command_type(struct call *c)
{
    char *type = engine_type(repl_engine(c->r), c->words, strlen(c->words),
                             c->out);
    if (type)
        printf("%s\n", type);
    else
        c->out->kind = OUTCOME_BAD;
    free(type);
}

static void command_undo(struct call *c)
{
    ompjit_error err;
    unsigned n = number_of(c);
    size_t there = repl_engine(c->r)->nunits;
    if (there && n > there) {
        refuse(c, "there are only %zu inputs to take back", there);
        return;
    }
    if (n && repl_undo(c->r, n, &err))
        refuse(c, "%s", err.text);
}

static void command_redo(struct call *c)
{
    for (unsigned n = number_of(c); n && c->out->kind == OUTCOME_GOOD; n--)
        if (!repl_redo(c->r, c->out)) {
            refuse(c, "nothing was taken back");
            return;
        }
}

/* The input as its user's editor leaves it is the next one. */
static void command_edit(struct call *c)
{
    const engine *e = repl_engine(c->r);
    const struct input *in = e->nunits ? &e->units[e->nunits - 1]->in : NULL;
    char folder[4096] = "", path[4200], *text = NULL;
    const char *editor = getenv("VISUAL");
    size_t size;
    if (*c->words && !(in = engine_source(e, c->words))) {
        refuse(c, "no input declares %s", c->words);
        return;
    }
    if (!editor || !*editor)
        editor = getenv("EDITOR");
    if (!editor || !*editor)
        editor = "vi";
    make_folder(c, folder, sizeof folder);
    if (!*folder)
        return;
    snprintf(path, sizeof path, "%s/input.%s", folder,
             is_cxx(c) ? "cc" : "c");
    char *argv[] = {"sh", "-c", "exec $0 \"$1\"", (char *)editor, path, NULL};
    if (write_text(c, path, in ? in->text : "", in ? in->size : 0) &&
        run_program(c, "/bin/sh", argv) && !read_input(path, 0, &text, &size))
        repl_execute(c->r, c->name, c->line, text, size, c->out);
    free(text);
    unlink(path);
    rmdir(folder);
}

static void command_clear(struct call *c)
{
    if (repl_reopen(c->r, false))
        refuse(c, "the session could not begin anew");
}

static void command_restore(struct call *c)
{
    if (repl_reopen(c->r, true))
        refuse(c, "not all inputs could be executed again");
}

static void command_load(struct call *c)
{
    char *text;
    size_t size;
    if (!*c->words) {
        refuse(c, ":load needs a file");
    } else if (read_input(c->words, 0, &text, &size)) {
        refuse(c, "nothing was loaded");
    } else {
        if (batch_text(c->r, c->words, text, size))
            refuse(c, "%s: not all inputs were executed", c->words);
        free(text);
    }
}

/* ---------------------------------------------------------------- settings */

/* A session whose settings change begins anew with them. One that cannot goes on
 * with those that it had. */
static void reopen_with(struct call *c, const char *what, char *before,
                        char **setting)
{
    *setting = ompjit__strdup(c->words);
    if (!*setting || repl_reopen(c->r, true)) {
        refuse(c, "%s %s: the session goes on as it was", what, c->words);
        free(*setting);
        *setting = before;
        return;
    }
    free(before);
}

static void change(struct call *c, const char *what, char **setting)
{
    if (!*c->words)
        printf("%s\n", *setting ? *setting : "default");
    else
        reopen_with(c, what, *setting, setting);
}

static void command_lang(struct call *c)
{
    if (!*c->words)
        printf("%s\n", repl_language(c->r));
    else if (strcmp(c->words, "c") && strcmp(c->words, "c++"))
        refuse(c, ":lang %s: c and c++ are possible", c->words);
    else if (repl_set_language(c->r, c->words))
        refuse(c, ":lang %s: the session goes on as it was", c->words);
}

static void command_device(struct call *c)
{
    change(c, ":device", &repl_settings(c->r)->device);
}

static void command_specialize(struct call *c)
{
    change(c, ":specialize", &repl_settings(c->r)->specialize);
}

static void command_teams(struct call *c)
{
    if (number_of(c))
        change(c, ":teams", &repl_settings(c->r)->teams);
}

static void command_threads(struct call *c)
{
    if (number_of(c))
        change(c, ":threads", &repl_settings(c->r)->threads);
}

static void command_set(struct call *c)
{
    char *equals = strchr(c->words, '=');
    if (!equals || equals == c->words) {
        refuse(c, ":set needs NAME=VALUE");
        return;
    }
    *equals = '\0';
    setenv(c->words, equals + 1, 1);
}

static void command_time(struct call *c)
{
    struct settings *s = repl_settings(c->r);
    if (strcmp(c->words, "on") && strcmp(c->words, "off") && *c->words)
        refuse(c, ":time %s: on and off are possible", c->words);
    else
        s->times = *c->words ? !strcmp(c->words, "on") : !s->times;
}

static void command_quit(struct call *c)
{
    c->out->quits = true;
}

/* -------------------------------------------------------------------- table */

static void command_help(struct call *c);

enum completion_of {
    NOTHING,
    COMMANDS,
    NAMES,
    VARIABLES,
    EXPRESSION,
    FILES,
    CHOICES
};

static const struct command {
    const char *name, *arguments, *summary;
    void (*function)(struct call *c);
    enum completion_of completion;
} commands[] = {
#define COMMAND(name, arguments, completion, summary)                          \
    {#name, arguments, summary, command_##name, completion},
#include "tool/repl/commands.def"
};

static const struct command *find_command(const char *name, size_t size)
{
    for (size_t i = 0; i < OMPJIT__COUNT(commands); i++)
        if (strlen(commands[i].name) == size &&
            !memcmp(commands[i].name, name, size))
            return &commands[i];
    return NULL;
}

static void command_help(struct call *c)
{
    const char *name = c->words + (*c->words == ':');
    const struct command *one = find_command(name, strlen(name));
    if (*name && !one)
        refuse(c, ":%s: no such command; :help lists them", name);
    for (size_t i = 0; i < OMPJIT__COUNT(commands); i++) {
        const struct command *each = &commands[i];
        char usage[64];
        snprintf(usage, sizeof usage, ":%s %s", each->name, each->arguments);
        if (*name ? each == one : true)
            printf("%-28s %s\n", usage, each->summary);
    }
}

bool command_is(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size && isspace((unsigned char)text[i]))
        i++;
    return i + 1 < size && text[i] == ':' &&
           isalpha((unsigned char)text[i + 1]);
}

void command_execute(struct repl *r, const char *file, unsigned line,
                     const char *text, size_t size, struct outcome *out)
{
    *out = (struct outcome){.kind = OUTCOME_GOOD};
    char *copy = strndup(text, size), *name = copy;
    struct call c = {.r = r, .name = file, .line = line, .out = out};
    if (!copy)
        return;
    while (isspace((unsigned char)*name))
        name++;
    name++;
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
    c.words = name + n;
    while (isspace((unsigned char)*c.words))
        c.words++;
    for (size_t end = strlen(c.words);
         end && isspace((unsigned char)c.words[end - 1]); end--)
        c.words[end - 1] = '\0';
    const struct command *command = find_command(name, n);
    if (command)
        command->function(&c);
    else
        refuse(&c, ":%.*s: no such command; :help lists them", (int)n, name);
    free(copy);
}

/* ---------------------------------------------------------------- completion */

static void complete_commands(const char *text, size_t size,
                              struct answer *out)
{
    for (size_t i = 0; i < OMPJIT__COUNT(commands); i++)
        complete_add(out, text, size, commands[i].name, commands[i].summary);
}

/* The word that an argument ends with, by what the command takes. */
static void complete_argument(struct repl *r, const struct command *command,
                              const char *word, size_t size,
                              struct answer *out)
{
    switch (command->completion) {
    case COMMANDS:
        complete_commands(word, size, out);
        break;
    case NAMES:
        engine_names(repl_engine(r), word, size, false, out);
        break;
    case VARIABLES:
        engine_names(repl_engine(r), word, size, true, out);
        if (!out->ncompletions)
            complete_files(out, word, size);
        break;
    case FILES:
        complete_files(out, word, size);
        break;
    case CHOICES:
        complete_choices(out, word, size, command->arguments);
        break;
    case NOTHING:
    case EXPRESSION:
        break;
    }
}

void command_complete(struct repl *r, const char *text, size_t size,
                      struct words *out)
{
    const size_t name = strspn(text, " \t\n") + 1;
    size_t behind = name;
    while (behind < size && !isspace((unsigned char)text[behind]))
        behind++;
    *out = (struct words){.begin = size};
    while (out->begin > name &&
           !isspace((unsigned char)text[out->begin - 1]))
        out->begin--;
    if (behind == size) {
        complete_commands(text + name, size - name, &out->answer);
        return;
    }
    const struct command *command = find_command(text + name, behind - name);
    if (!command)
        return;
    if (command->completion == EXPRESSION) {
        repl_complete(r, text + behind, size - behind, out);
        out->begin += behind;
        return;
    }
    if (command->completion == COMMANDS && out->begin < size &&
        text[out->begin] == ':')
        out->begin++;
    complete_argument(r, command, text + out->begin, size - out->begin,
                      &out->answer);
}
