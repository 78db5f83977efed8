/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The protocol of `ompjit repl --json` (doc/repl.md): requests and answers are
 * lines of JSON. The main thread executes; another one reads requests, so that an
 * interrupt arrives while an input runs. Where the session's output is not a
 * terminal's, a third reads it and sends it on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool/repl/json.h"
#include "tool/repl/repl.h"
#include "tool/repl/scan.h"
#include "tool/repl/session/interrupt.h"
#include "tool/tool.h"

/* A request that waits. */
struct request {
    struct request *next;
    json *body;
    bool stop; /* it was interrupted before it began */
};

struct server {
    struct repl *repl;
    int requests;
    ompjit__buf read;     /* of them, and not a whole line yet */
    int answers;
    pthread_mutex_t lock; /* of the queue */
    pthread_cond_t some;
    struct request *first, **last;
    bool ends;            /* no more requests come */
    bool executes;        /* the request that was taken is to be executed    */
    atomic_bool stop;     /* and it was interrupted                          */
    pthread_mutex_t writing;
    struct stream {
        const char *name;
        int fd;           /* what the session writes comes out here; -1: none */
        char kept[4];     /* the begin of a letter that is not whole yet      */
        size_t nkept;
    } streams[2];
    bool captures;
    int wake[2];          /* a pipe: an input begins, or, where it is closed,
                           * the thread that captures ends                   */
    uint64_t began;       /* the input that is executed; 0: none; under
                           * `capturing`                                     */
    uint64_t told;        /* of it; 0: nothing                               */
    bool quits;           /* a command has said so                         */
    long long id;         /* of the request that is executed; -1: none       */
};

/* ------------------------------------------------------------------- answers */

static void send_line(struct server *s, ompjit__buf *line)
{
    ompjit__buf_add(line, "\n", 1);
    pthread_mutex_lock(&s->writing);
    for (size_t sent = 0; sent < line->size && !line->failed;) {
        ssize_t n = write(s->answers, line->data + sent, line->size - sent);
        if (n < 0 && errno != EINTR)
            break;
        sent += n > 0 ? (size_t)n : 0;
    }
    pthread_mutex_unlock(&s->writing);
    ompjit__buf_free(line);
}

static void begin(struct server *s, ompjit__buf *line)
{
    ompjit__buf_add(line, "{", 1);
    if (s->id >= 0)
        json_add_raw(line, "id", "%lld", s->id);
}

static void end(struct server *s, ompjit__buf *line)
{
    ompjit__buf_add(line, "}", 1);
    send_line(s, line);
}

static void answer_error(struct server *s, const char *text)
{
    ompjit__buf line = {0};
    begin(s, &line);
    json_add_member(&line, "status", "error");
    json_add_member(&line, "text", text);
    end(s, &line);
}

/* ------------------------------------------------------------------- capture */

static void send_output(struct server *s, const struct stream *stream,
                        const char *text, size_t size)
{
    ompjit__buf line = {0};
    begin(s, &line);
    json_add_member(&line, "event", "stream");
    json_add_member(&line, "name", stream->name);
    json_add_comma(&line);
    ompjit__buf_add(&line, "\"text\":", 7);
    json_add_string(&line, text, size);
    end(s, &line);
}

/* Bytes at the end that begin a letter of UTF-8 and do not end it. */
static size_t unfinished(const char *text, size_t size)
{
    for (size_t n = 1; n <= 3 && n <= size; n++) {
        unsigned char c = (unsigned char)text[size - n];
        if (c >= 0xf8)
            return 0;
        if (c >= 0xc0)
            return n < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? n : 0;
        if (c < 0x80)
            break;
    }
    return 0;
}

/* Sends the text that is there, in one piece. */
static void forward(struct server *s, struct stream *stream)
{
    char text[16384];
    memcpy(text, stream->kept, stream->nkept);
    ssize_t n = read(stream->fd, text + stream->nkept,
                     sizeof text - stream->nkept);
    if (n <= 0)
        return;
    size_t size = (size_t)n + stream->nkept;
    stream->nkept = unfinished(text, size);
    memcpy(stream->kept, text + size - stream->nkept, stream->nkept);
    if (size > stream->nkept)
        send_output(s, stream, text, size - stream->nkept);
}

/* Data is read under the lock of the main thread's look at it: if nothing is
 * there, all has been sent. */
static pthread_mutex_t capturing = PTHREAD_MUTEX_INITIALIZER;

/* An input that takes long: the client is told now and then. The time to wait
 * for the next look, in ms; -1: any. */
static int tell_progress(struct server *s)
{
    enum { FIRST_MS = 1000, EACH_MS = 250 };
    const uint64_t now = ompjit__now();
    int next = -1;
    pthread_mutex_lock(&capturing);
    if (s->began) {
        next = EACH_MS;
        if (now - s->began >= OMPJIT__MS(FIRST_MS) &&
            now - s->told >= OMPJIT__MS(EACH_MS)) {
            const engine *e = repl_engine(s->repl);
            ompjit__buf line = {0};
            begin(s, &line);
            json_add_member(&line, "event", "progress");
            json_add_member(&line, "stage",
                            atomic_load(&e->runs) ? "running" : "compiling");
            json_add_raw(&line, "seconds", "%.1f",
                         (double)(now - s->began) / 1e9);
            end(s, &line);
            s->told = now;
        }
    }
    pthread_mutex_unlock(&capturing);
    return next;
}

/* 0: the input is over. */
static void set_began(struct server *s, uint64_t began)
{
    pthread_mutex_lock(&capturing);
    s->began = began;
    s->told = 0;
    pthread_mutex_unlock(&capturing);
    while (began && s->captures && write(s->wake[1], "", 1) < 0 &&
           errno == EINTR)
        ;
}

static void *capture(void *arg)
{
    struct server *s = arg;
    char woken;
    for (;;) {
        struct pollfd fds[3] = {{s->streams[0].fd, POLLIN, 0},
                                {s->streams[1].fd, POLLIN, 0},
                                {s->wake[0], POLLIN, 0}};
        const int wait = tell_progress(s);
        if (poll(fds, 3, wait) < 0) {
            if (errno == EINTR)
                continue;
            return NULL;
        }
        for (int i = 0; i < 2; i++)
            if (fds[i].revents) {
                pthread_mutex_lock(&capturing);
                forward(s, &s->streams[i]);
                pthread_mutex_unlock(&capturing);
            }
        if (fds[2].revents && read(s->wake[0], &woken, 1) <= 0)
            return NULL;
    }
}

static void flush_kept(struct server *s, struct stream *stream)
{
    if (stream->nkept)
        send_output(s, stream, stream->kept, stream->nkept);
    stream->nkept = 0;
}

/* All that the session has written goes out before its result. */
static void drain(struct server *s)
{
    fflush(NULL);
    for (int i = 0; s->captures && i < 2;) {
        int left = 0;
        pthread_mutex_lock(&capturing);
        ioctl(s->streams[i].fd, FIONREAD, &left);
        if (left)
            forward(s, &s->streams[i]);
        else
            flush_kept(s, &s->streams[i++]);
        pthread_mutex_unlock(&capturing);
    }
}

/* Puts pipes in the place of standard output and error. */
static bool begin_capture(struct server *s)
{
    static const char *const names[] = {"stdout", "stderr"};
    if (pipe2(s->wake, O_CLOEXEC))
        return false;
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC))
            return false;
        dup2(ends[1], STDOUT_FILENO + i);
        close(ends[1]);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        s->streams[i] = (struct stream){.name = names[i], .fd = ends[0]};
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    s->captures = true;
    return true;
}

/* ------------------------------------------------------------------ requests */

static void put(struct server *s, json *body)
{
    struct request *r = calloc(1, sizeof *r);
    if (!r) {
        json_free(body);
        return;
    }
    r->body = body;
    pthread_mutex_lock(&s->lock);
    *s->last = r;
    s->last = &r->next;
    pthread_cond_signal(&s->some);
    pthread_mutex_unlock(&s->lock);
}

static bool is_execute(const json *body)
{
    return !strcmp(json_text(body, "op", ""), "execute");
}

/* An interrupt is for the input that is executed, or else for the first one that
 * waits. */
static void interrupt(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    struct request *r = s->first;
    while (r && !is_execute(r->body))
        r = r->next;
    if (s->executes) {
        atomic_store(&s->stop, true);
        interrupt_now();
    } else if (r) {
        r->stop = true;
    }
    pthread_mutex_unlock(&s->lock);
}

/* Waits for a request for a moment, or for any time. False: there is none. */
static bool wait_for_request(struct server *s, bool moment)
{
    enum { MOMENT_NS = 20000000 };
    struct timespec until;
    int late = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MOMENT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&s->lock);
    while (!s->first && !s->ends && !late)
        late = moment ? pthread_cond_timedwait(&s->some, &s->lock, &until)
                      : pthread_cond_wait(&s->some, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return !late;
}

/* NULL: there are no more. */
static json *take(struct server *s)
{
    json *body = NULL;
    if (!wait_for_request(s, true)) {
        engine_rest(repl_engine(s->repl));
        wait_for_request(s, false);
    }
    pthread_mutex_lock(&s->lock);
    struct request *r = s->first;
    if (r) {
        s->first = r->next;
        if (!s->first)
            s->last = &s->first;
        body = r->body;
        s->executes = is_execute(body);
        atomic_store(&s->stop, r->stop);
    }
    pthread_mutex_unlock(&s->lock);
    free(r);
    return body;
}

static void refuse(struct server *s, size_t wrong)
{
    ompjit__buf line = {0};
    ompjit__buf_printf(&line, "{\"status\":\"error\",\"text\":\"the request is "
                              "no JSON, from byte %zu on\"}", wrong);
    send_line(s, &line);
}

static void take_request(struct server *s, const char *line, size_t size)
{
    size_t wrong;
    json *body = json_read(line, size, &wrong);
    if (!body) {
        if (size)
            refuse(s, wrong);
    } else if (!strcmp(json_text(body, "op", ""), "interrupt")) {
        interrupt(s);
        json_free(body);
    } else {
        put(s, body);
    }
}

/* No stream of the C library's: the session may flush all of them, and would wait
 * for the one that is read. */
static void *read_requests(void *arg)
{
    struct server *s = arg;
    char chunk[4096];
    ssize_t n;
    while ((n = read(s->requests, chunk, sizeof chunk)) > 0 ||
           (n < 0 && errno == EINTR)) {
        char *end;
        ompjit__buf_add(&s->read, chunk, n > 0 ? (size_t)n : 0);
        while (s->read.size &&
               (end = memchr(s->read.data, '\n', s->read.size))) {
            size_t size = (size_t)(end - s->read.data);
            take_request(s, s->read.data, size);
            s->read.size -= size + 1;
            memmove(s->read.data, end + 1, s->read.size);
        }
    }
    pthread_mutex_lock(&s->lock);
    s->ends = true;
    pthread_cond_signal(&s->some);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---------------------------------------------------------------- operations */

static void add_messages(const struct outcome *out, ompjit__buf *line)
{
    static const char *const severities[] = {"note", "remark", "warning",
                                             "error"};
    if (!out->nmessages)
        return;
    json_add_raw(line, "messages", "[");
    for (size_t i = 0; i < out->nmessages; i++) {
        const struct message *m = &out->messages[i];
        json_add_comma(line);
        ompjit__buf_add(line, "{", 1);
        json_add_member(line, "severity", severities[m->severity]);
        json_add_member(line, "file", m->file);
        json_add_raw(line, "line", "%u", m->line);
        json_add_raw(line, "column", "%u", m->column);
        json_add_member(line, "text", m->text);
        ompjit__buf_add(line, "}", 1);
    }
    ompjit__buf_add(line, "]", 1);
}

static void execute(struct server *s, const json *body)
{
    static const char *const statuses[] = {"ok", "incomplete", "error",
                                           "aborted"};
    const json *code = json_member(body, "code");
    struct outcome out;
    ompjit__buf line = {0};
    if (!code || code->kind != JSON_STRING) {
        answer_error(s, "execute needs code, a string");
        return;
    }
    unsigned number = repl_next(s->repl);
    char *name = ompjit__format("In[%u]", number);
    engine_forget_interrupt(repl_engine(s->repl));
    interrupt_engine(repl_engine(s->repl));
    if (atomic_load(&s->stop))
        atomic_store(&repl_engine(s->repl)->interrupted, true);
    set_began(s, ompjit__now());
    repl_execute(s->repl, json_text(body, "name", name ? name : "input"), 1,
                 code->text, code->size, &out);
    interrupt_engine(NULL);
    set_began(s, 0);
    pthread_mutex_lock(&s->lock);
    s->executes = false;
    pthread_mutex_unlock(&s->lock);
    drain(s);
    begin(s, &line);
    json_add_member(&line, "status", statuses[out.kind]);
    json_add_raw(&line, "number", "%u", number);
    json_add_member(&line, "type", out.type);
    json_add_member(&line, "value", out.value);
    if (out.rows)
        json_add_raw(&line, "table", "%s", out.rows);
    json_add_member(&line, "text", out.text);
    add_messages(&out, &line);
    if (out.quits)
        json_add_raw(&line, "quit", "true");
    s->quits = out.quits;
    end(s, &line);
    outcome_free(&out);
    free(name);
}

static void is_complete(struct server *s, const json *body)
{
    const char *code = json_text(body, "code", "");
    enum completeness how = repl_completeness(s->repl, code, strlen(code));
    static const char *const names[] = {"complete", "incomplete", "invalid"};
    ompjit__buf line = {0};
    begin(s, &line);
    json_add_member(&line, "status", names[how]);
    if (how == INCOMPLETE)
        json_add_member(&line, "indent", "    ");
    end(s, &line);
}

/* The text up to a request's cursor, in bytes. */
static size_t cursor_of(const json *body, const json *code)
{
    double at = json_number(body, "cursor", (double)code->size);
    return at >= 0 && at <= (double)code->size ? (size_t)at : code->size;
}

static void complete(struct server *s, const json *body)
{
    const json *code = json_member(body, "code");
    struct words words;
    ompjit__buf line = {0};
    if (!code || code->kind != JSON_STRING) {
        answer_error(s, "complete needs code, a string");
        return;
    }
    size_t cursor = cursor_of(body, code);
    repl_complete(s->repl, code->text, cursor, &words);
    begin(s, &line);
    json_add_member(&line, "status", "ok");
    json_add_raw(&line, "begin", "%zu", words.begin);
    json_add_raw(&line, "end", "%zu", cursor);
    json_add_raw(&line, "matches", "[");
    for (size_t i = 0; i < words.answer.ncompletions; i++) {
        json_add_comma(&line);
        ompjit__buf_add(&line, "{", 1);
        json_add_member(&line, "name", words.answer.completions[i].name);
        json_add_member(&line, "detail", words.answer.completions[i].detail);
        ompjit__buf_add(&line, "}", 1);
    }
    ompjit__buf_add(&line, "]", 1);
    end(s, &line);
    answer_free(&words.answer);
}

static void inspect(struct server *s, const json *body)
{
    const json *code = json_member(body, "code");
    ompjit__buf line = {0};
    if (!code || code->kind != JSON_STRING) {
        answer_error(s, "inspect needs code, a string");
        return;
    }
    char *text = repl_inspect(s->repl, code->text, code->size,
                              cursor_of(body, code));
    begin(s, &line);
    json_add_member(&line, "status", "ok");
    json_add_raw(&line, "found", text ? "true" : "false");
    json_add_member(&line, "text", text);
    end(s, &line);
    free(text);
}

static void history(struct server *s, const json *body)
{
    const engine *e = repl_engine(s->repl);
    double n = json_number(body, "n", (double)e->nunits);
    size_t last = n >= 0 && n < (double)e->nunits ? (size_t)n : e->nunits;
    ompjit__buf line = {0};
    begin(s, &line);
    json_add_member(&line, "status", "ok");
    json_add_raw(&line, "inputs", "[");
    for (size_t i = e->nunits - last; i < e->nunits; i++) {
        const struct input *in = &e->units[i]->in;
        json_add_comma(&line);
        ompjit__buf_add(&line, "{", 1);
        json_add_raw(&line, "number", "%u", in->number);
        json_add_comma(&line);
        ompjit__buf_add(&line, "\"code\":", 7);
        json_add_string(&line, in->text, in->size);
        ompjit__buf_add(&line, "}", 1);
    }
    ompjit__buf_add(&line, "]", 1);
    end(s, &line);
}

static const struct operation {
    const char *name;
    void (*function)(struct server *s, const json *body);
} operations[] = {
    {"execute", execute},
    {"is_complete", is_complete},
    {"complete", complete},
    {"inspect", inspect},
    {"history", history},
};

/* False: the session ends. */
static bool serve_one(struct server *s, const json *body)
{
    const char *op = json_text(body, "op", "");
    s->id = (long long)json_number(body, "id", -1);
    if (!strcmp(op, "shutdown"))
        return false;
    size_t i = 0;
    while (i < sizeof operations / sizeof *operations &&
           strcmp(operations[i].name, op))
        i++;
    if (i < sizeof operations / sizeof *operations)
        operations[i].function(s, body);
    else
        answer_error(s, "op is none of execute, is_complete, complete, "
                        "inspect, history, interrupt, shutdown");
    s->id = -1;
    return !s->quits;
}

/* -------------------------------------------------------------------- server */

static void greet(struct server *s)
{
    ompjit__buf line = {0};
    begin(s, &line);
    json_add_member(&line, "event", "ready");
    json_add_member(&line, "version", ompjit_version());
    json_add_member(&line, "language", repl_language(s->repl));
    end(s, &line);
}

static void serve(struct server *s)
{
    json *body;
    bool more = true;
    greet(s);
    while (more && (body = take(s))) {
        more = serve_one(s, body);
        json_free(body);
    }
}

/* interrupt_begin. A prompt tells more, and begins a new session. */
static void give_up(void *data, bool parallel)
{
    enum { INTERRUPTED = 130 };
    const char *text =
        parallel ? "interrupted in a parallel region of the host, which cannot "
                   "be left: the session ends\n"
                 : "interrupted, but it does not end, as a kernel on a GPU: the "
                   "session ends\n";
    struct server *s = data;
    if (s->captures) {
        ompjit__buf line = {0};
        begin(s, &line);
        json_add_member(&line, "status", "aborted");
        json_add_member(&line, "text", text);
        end(s, &line);
    } else {
        fputs(text, stderr);
    }
    _exit(INTERRUPTED);
}

/* The descriptors of the protocol above those that the session has. */
static bool open_channels(struct server *s, int in, int out)
{
    s->requests = fcntl(in, F_DUPFD_CLOEXEC, 3);
    s->answers = fcntl(out, F_DUPFD_CLOEXEC, 3);
    if (s->requests < 0 || s->answers < 0)
        return false;
    if (in == STDIN_FILENO) {
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        close(nothing);
        return begin_capture(s);
    }
    close(in);
    close(out);
    return true;
}

int serve_json(struct repl *r, int in, int out)
{
    struct server s = {.repl = r, .id = -1,
                       .streams = {{.fd = -1}, {.fd = -1}}};
    pthread_t reader, capturer;
    s.last = &s.first;
    pthread_mutex_init(&s.lock, NULL);
    pthread_mutex_init(&s.writing, NULL);
    pthread_cond_init(&s.some, NULL);
    if (!open_channels(&s, in, out) || !interrupt_begin(give_up, &s) ||
        pthread_create(&reader, NULL, read_requests, &s) ||
        (s.captures && pthread_create(&capturer, NULL, capture, &s))) {
        complain("cannot begin to serve: %s", strerror(errno));
        return EXIT_FAILED;
    }
    serve(&s);
    drain(&s);
    interrupt_end();
    if (s.captures) {
        close(s.wake[1]);
        pthread_join(capturer, NULL);
    }
    pthread_cancel(reader);
    pthread_join(reader, NULL);
    ompjit__buf_free(&s.read);
    return EXIT_OK;
}
