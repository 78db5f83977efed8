/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The session at a terminal. This process has the prompt; another one executes,
 * and is asked as by any client of `--json` (serve.c), but writes to the terminal
 * itself. So whatever ends the session leaves the prompt, and :restore executes
 * its inputs in a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/repl/terminal/colour.h"
#include "tool/repl/terminal/edit.h"
#include "tool/repl/json.h"
#include "tool/repl/repl.h"
#include "tool/tool.h"

struct prompt {
    int (*session)(struct options *o, int in, int out);
    struct options *o;
    pid_t child;
    FILE *requests, *answers;
    json *inputs;        /* an answer: the session's, of one that goes on */
    json *lost;          /* the same of one that has ended, without those
                            that were executed again                     */
    bool colours;
    ompjit__buf text;    /* lines that are not a whole input yet          */
    bool interrupted;    /* while the session was asked                   */
    bool aborted;        /* the last input was                            */
    unsigned replaced;   /* sessions                                      */
    edit *e;
};

/* ------------------------------------------------------------------ signals */

static void on_interrupt(int number)
{
    (void)number;
}

/* SIGINT is blocked but where this waits for the terminal (terminal/edit.c) or the
 * session, so that none is missed. */
static void block_interrupts(int how)
{
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(how, &interrupt, NULL);
}

static void take_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    block_interrupts(SIG_BLOCK);
    sigaction(SIGINT, &action, NULL);
}

/* ----------------------------------------------------------------- session */

/* In the child it does not return. False: no process. */
static bool start(struct prompt *p)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC))
        return false;
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]);
        close(to[1]);
        return false;
    }
    fflush(NULL);
    p->child = fork();
    if (!p->child) {
        signal(SIGINT, SIG_IGN); /* until the session takes it */
        block_interrupts(SIG_UNBLOCK);
        setlocale(LC_CTYPE, "C"); /* of a program that sets none */
        close(to[1]);
        close(from[0]);
        exit(p->session(p->o, to[0], from[1]));
    }
    close(to[0]);
    close(from[1]);
    p->requests = fdopen(to[1], "w");
    p->answers = fdopen(from[0], "r");
    return p->child > 0 && p->requests && p->answers;
}

static void stop(struct prompt *p)
{
    if (p->requests)
        fclose(p->requests);
    if (p->answers)
        fclose(p->answers);
    p->requests = p->answers = NULL;
}

/* The terminal interrupts the session, too, which may not have begun to execute
 * the input then: this request is for the input wherever it is. */
static void wait_for_answer(struct prompt *p)
{
    struct pollfd answer = {.fd = fileno(p->answers), .events = POLLIN};
    sigset_t open;
    sigprocmask(SIG_SETMASK, NULL, &open);
    sigdelset(&open, SIGINT);
    while (ppoll(&answer, 1, NULL, &open) < 0 && errno == EINTR) {
        p->interrupted = true;
        fputs("{\"op\":\"interrupt\"}\n", p->requests);
        fflush(p->requests);
    }
}

/* The next line; NULL: the session has ended. */
static json *hear(struct prompt *p)
{
    char *line = NULL;
    size_t room = 0, wrong;
    wait_for_answer(p);
    ssize_t n = getline(&line, &room, p->answers);
    json *answer = n > 0 ? json_read(line, (size_t)n, &wrong) : NULL;
    free(line);
    return answer;
}

static json *ask(struct prompt *p, const char *op, const char *code, size_t size)
{
    ompjit__buf line = {0};
    ompjit__buf_add(&line, "{", 1);
    json_add_member(&line, "op", op);
    json_add_raw(&line, "id", "1");
    json_add_comma(&line);
    ompjit__buf_add(&line, "\"code\":", 7);
    json_add_string(&line, code, size);
    ompjit__buf_add(&line, "}\n", 2);
    fwrite(line.data, 1, line.size, p->requests);
    fflush(p->requests);
    ompjit__buf_free(&line);
    return hear(p);
}

/* ------------------------------------------------------------------- inputs */

static void remember(struct prompt *p)
{
    json_free(p->inputs);
    p->inputs = ask(p, "history", "", 0);
}

static void show(const struct prompt *p, const json *answer)
{
    const char *type = json_text(answer, "type", NULL);
    const char *value = json_text(answer, "value", "");
    const char *text = json_text(answer, "text", NULL);
    if (type)
        colour_value(stdout, p->colours, type, value);
    fflush(stdout);
    if (text)
        colour_messages(stderr, p->colours, text);
}

/* The list of an answer; NULL: it has none. */
static json *inputs_of(json *answer)
{
    return (json *)json_member(answer, "inputs");
}

/* The session's inputs, and behind them those that it has not executed again. */
static void lose_inputs(struct prompt *p)
{
    json *before = p->lost, *rest = inputs_of(before);
    json *list = inputs_of(p->inputs);
    if (!list) {
        json_free(p->inputs);
        p->inputs = NULL;
        return;
    }
    json **end = &list->first;
    while (*end)
        end = &(*end)->next;
    if (rest) {
        *end = rest->first;
        rest->first = NULL;
    }
    json_free(before);
    p->lost = p->inputs;
    p->inputs = NULL;
}

/* EXIT_OK: there is a new session. */
static int replace(struct prompt *p)
{
    int status = 0;
    while (waitpid(p->child, &status, 0) < 0 && errno == EINTR)
        ;
    stop(p);
    if (WIFSIGNALED(status))
        complain("the session was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        complain("the session has ended with status %d", WEXITSTATUS(status));
    lose_inputs(p);
    p->replaced++;
    if (!start(p))
        return EXIT_FAILED;
    json *ready = hear(p);
    if (!ready)
        return EXIT_FAILED;
    json_free(ready);
    complain("a new one has begun; :restore executes its inputs again");
    return EXIT_OK;
}

/* False: the prompt ends. */
static bool execute(struct prompt *p, const char *code, size_t size)
{
    json *answer = ask(p, "execute", code, size);
    if (!answer)
        return !replace(p);
    bool quits = json_true(answer, "quit");
    p->aborted = !strcmp(json_text(answer, "status", ""), "aborted");
    show(p, answer);
    json_free(answer);
    if (!quits)
        remember(p);
    return !quits;
}

static void drop_first(json *list)
{
    json *first = list->first;
    list->first = first->next;
    first->next = NULL;
    json_free(first);
}

static void tell_remaining(const json *list)
{
    unsigned n = 0;
    for (const json *each = list->first; each; each = each->next)
        n++;
    complain("%u input%s of the lost session remain%s; :restore goes on", n,
             n == 1 ? "" : "s", n == 1 ? "s" : "");
}

/* Inputs of the session that was lost. An interrupt leaves those that have not
 * been executed, and so does the end of this session, too. */
static bool restore(struct prompt *p)
{
    const unsigned replaced = p->replaced;
    json *list = inputs_of(p->lost);
    bool goes_on = true;
    while (list && list->first && goes_on && !p->interrupted) {
        const json *code = json_member(list->first, "code");
        p->aborted = false;
        goes_on = !code || execute(p, code->text, code->size);
        if (p->replaced != replaced)
            return goes_on;
        if (!p->aborted)
            drop_first(list);
    }
    if (list && list->first && goes_on) {
        tell_remaining(list);
        return true;
    }
    json_free(p->lost);
    p->lost = NULL;
    return goes_on;
}

/* The input joins the history as one entry, also where the user gives it up. */
static void drop_text(struct prompt *p)
{
    if (p->text.data)
        edit_remember(p->e, p->text.data, p->text.size);
    ompjit__buf_free(&p->text);
}

/* The lines so far, where they are a whole input. */
static bool take_text(struct prompt *p)
{
    json *answer = ask(p, "is_complete", p->text.data, p->text.size);
    const bool open =
        answer && !strcmp(json_text(answer, "status", ""), "incomplete");
    json_free(answer);
    if (p->interrupted) {
        drop_text(p);
        fputs("\n", stdout);
        return true;
    }
    if (open)
        return true;
    bool goes_on = p->lost && !strcmp(p->text.data, ":restore\n")
                       ? restore(p)
                       : execute(p, p->text.data, p->text.size);
    drop_text(p);
    return goes_on;
}

/* An empty line ends an input that is not complete. */
static bool take_line(struct prompt *p, const char *line)
{
    const bool empty = strspn(line, " \t") == strlen(line);
    if (empty && !p->text.size)
        return true;
    ompjit__buf_add(&p->text, line, strlen(line));
    ompjit__buf_add(&p->text, "\n", 1);
    p->interrupted = false;
    bool goes_on = true;
    if (empty) {
        goes_on = execute(p, p->text.data, p->text.size);
        drop_text(p);
    } else {
        goes_on = take_text(p);
    }
    return goes_on;
}

/* ------------------------------------------------------------- completion */

/* edit_complete */
static void complete(void *data, const char *line, size_t size,
                     struct edit_names *out)
{
    struct prompt *p = data;
    ompjit__buf text = {0};
    ompjit__buf_add(&text, p->text.data, p->text.size);
    ompjit__buf_add(&text, line, size);
    p->interrupted = false;
    json *answer = ask(p, "complete", text.data ? text.data : "", text.size);
    if (p->interrupted)
        raise(SIGINT); /* which is blocked: the line is given up next */
    const json *list = json_member(answer, "matches");
    size_t n = 0;
    for (const json *each = list ? list->first : NULL; each; each = each->next)
        n++;
    double begin = json_number(answer, "begin", 0) - (double)p->text.size;
    out->names = begin >= 0 ? calloc(n + 1, sizeof *out->names) : NULL;
    out->begin = (size_t)(begin >= 0 ? begin : 0);
    for (const json *each = list ? list->first : NULL; each && out->names;
         each = each->next) {
        const char *name = json_text(each, "name", "");
        if (out->n && !strcmp(out->names[out->n - 1], name))
            continue;
        out->names[out->n] = ompjit__strdup(name);
        out->n += out->names[out->n] != NULL;
    }
    json_free(answer);
    ompjit__buf_free(&text);
}

/* edit_paint: a line in the state that those before it leave. */
static void paint(void *data, const char *line, size_t size, ompjit__buf *out)
{
    const struct prompt *p = data;
    struct colour state = {0};
    ompjit__buf before = {0};
    colour_code(&state, p->text.data, p->text.size, &before);
    colour_code(&state, line, size, out);
    ompjit__buf_free(&before);
}

/* ------------------------------------------------------------------- prompt */

static void run(struct prompt *p)
{
    bool goes_on = true;
    while (goes_on) {
        char *line;
        enum edit_end how =
            edit_line(p->e, p->text.size ? "   ...> " : "ompjit> ", &line);
        if (how == EDIT_INTERRUPTED) {
            drop_text(p);
            fputs("^C\n", stdout);
            continue;
        }
        if (how == EDIT_EOF) {
            fputs("\n", stdout);
            break;
        }
        goes_on = take_line(p, line);
        free(line);
    }
}

static char *history_file(void)
{
    const char *home = getenv("HOME");
    return home && *home ? ompjit__format("%s/.ompjit_history", home) : NULL;
}

int prompt(struct options *o, int (*session)(struct options *, int, int))
{
    struct prompt p = {.session = session, .o = o};
    int status = EXIT_FAILED;
    p.colours = colour_wanted(o, STDOUT_FILENO);
    take_interrupts();
    signal(SIGPIPE, SIG_IGN);
    json *ready = start(&p) ? hear(&p) : NULL;
    if (ready) {
        char *file = history_file();
        printf("ompjit %s, %s with OpenMP; :help lists commands\n",
               json_text(ready, "version", ""),
               strcmp(json_text(ready, "language", ""), "c") ? "C++" : "C");
        p.e = edit_new(file, complete, p.colours ? paint : NULL, &p);
        if (p.e)
            run(&p);
        edit_free(p.e);
        free(file);
        status = EXIT_OK;
    }
    stop(&p);
    int ended = 0;
    while (p.child > 0 && waitpid(p.child, &ended, 0) < 0 && errno == EINTR)
        ;
    if (!ready && WIFEXITED(ended))
        status = WEXITSTATUS(ended);
    json_free(ready);
    json_free(p.inputs);
    json_free(p.lost);
    ompjit__buf_free(&p.text);
    return status;
}
