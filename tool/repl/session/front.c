/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The conversation with both processes of the front end (core/repl.h). The
 * device half's reads an input while the host half's does, and makes its code
 * when the host half's is there:
 *
 *   INPUT --> host half ---> AGAIN: both once more, with what it asks for
 *        \                   BAD, UNDONE: the device half is told to give up
 *         \                  GOOD: its bitcode, where it has target regions
 *          `> device half <---'
 *
 * An input whose text has no word `target` goes to the device half when it is
 * needed there: with the next one that has, when its own host half turns out to
 * have target regions, or when nobody waits for anything (front_rest). What it
 * cannot read of such inputs (a type that devices lack) is not for devices; it is
 * told when a target region fails for it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hold.h"
#include "frontend/clang/front_end.h"
#include "tool/repl/session/front.h"

enum { HOST, DEVICE, HALVES };
static const char *const names[] = {"host", "device"};

struct half {
    ompjit__child child;
    ompjit__args args;
    uint32_t serial;       /* of the last request                           */
    atomic_int worker;     /* the process that works on it; 0: none         */
    ompjit__buf out;       /* bytes that have come: pieces                  */
    ompjit__buf reply;     /* the parts of the reply                        */
    ompjit__buf words;     /* what came through its standard error          */
    ompjit__buf unfit;     /* what it could not read of the session         */
    ompjit__buf send;      /* bytes to be sent                              */
    size_t sent;
    bool done;             /* the reply is whole                            */
    bool lost;             /* there will be none                            */
    bool gone;             /* the process of the session has ended          */
    unsigned status;       /* wait's, where it is lost                      */
};

struct front {
    ompjit_context *ctx;
    struct half halves[HALVES];
    unsigned limit_ms;
    bool lacking;     /* front_set_lacking */
    bool asks_device; /* the device half has the input that was tried last */
    ompjit__buf later; /* requests for the device half; empty: none        */
    unsigned nlater;
    unsigned cancels; /* of the context, when the request began */
    atomic_bool interrupted;
};

/* --------------------------------------------------------------- processes */

static ompjit_status start_half(struct half *h, ompjit_error *err)
{
    enum { FOR_EVER = 86400000 }; /* of CPU time: a session is long */
    ompjit_status status =
        ompjit__child_start(h->args.v, FOR_EVER, NULL, NULL, &h->child, err);
    if (status)
        return status;
    close(h->child.host_ir);
    h->child.host_ir = -1;
    return OMPJIT_OK;
}

static void end_half(struct half *h)
{
    ompjit__child_kill(&h->child);
    ompjit__buf_free(&h->out);
    ompjit__buf_free(&h->reply);
    ompjit__buf_free(&h->words);
    ompjit__buf_free(&h->unfit);
    ompjit__buf_free(&h->send);
    atomic_store(&h->worker, 0);
    h->sent = 0;
    h->gone = false;
}

static ompjit_status start(front *f, ompjit_error *err)
{
    for (int i = 0; i < HALVES; i++) {
        ompjit_status status = start_half(&f->halves[i], err);
        if (status)
            return status;
    }
    return OMPJIT_OK;
}

/* The command of a compile, read by ompjitc -repl. */
static void take_args(struct half *h, ompjit__args *args)
{
    char *mode = ompjit__strdup("-repl");
    args->failed |= !mode;
    if (mode) {
        free(args->v[1]);
        args->v[1] = mode;
    }
    h->args = *args;
    *args = (ompjit__args){0};
}

static ompjit_status make_commands(front *f,
                                   const ompjit_module_options *options,
                                   ompjit_error *err)
{
    ompjit__frontend *frontend;
    ompjit__command command;
    ompjit_status status = ompjit__frontend_of(f->ctx, &frontend, err);
    if (status)
        return status;
    if (!frontend->clang.own)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_FRONTEND,
                            "ompjit repl needs the clang that is a part of "
                            "ompjitc, and here clang is %s",
                            frontend->clang.path);
    f->limit_ms = frontend->limit_ms;
    status = ompjit__command_make(&frontend->clang, options, &command, err);
    if (status)
        return status;
    take_args(&f->halves[HOST], &command.host);
    take_args(&f->halves[DEVICE], &command.device);
    ompjit__command_free(&command);
    return f->halves[HOST].args.failed || f->halves[DEVICE].args.failed
               ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
               : OMPJIT_OK;
}

ompjit_status front_new(ompjit_context *ctx,
                        const ompjit_module_options *options, front **out,
                        ompjit_error *err)
{
    front *f = calloc(1, sizeof *f);
    if (!f)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    f->ctx = ctx;
    for (int i = 0; i < HALVES; i++)
        f->halves[i].child = (ompjit__child)OMPJIT__NO_CHILD;
    ompjit_status status = make_commands(f, options, err);
    if (!status)
        status = start(f, err);
    if (status)
        front_free(f);
    else
        *out = f;
    return status;
}

void front_free(front *f)
{
    if (!f)
        return;
    for (int i = 0; i < HALVES; i++) {
        end_half(&f->halves[i]);
        ompjit__args_free(&f->halves[i].args);
    }
    ompjit__buf_free(&f->later);
    free(f);
}

/* --------------------------------------------------------------- requests */

static void add_request(ompjit__buf *to, enum ompjit__repl_request kind,
                        uint32_t serial, const ompjit__buf *bytes)
{
    const ompjit__repl_head head = {kind, (uint32_t)bytes->size, serial, 0};
    ompjit__buf_add(to, &head, sizeof head);
    ompjit__buf_add(to, bytes->data, bytes->size);
}

static void ask(struct half *h, enum ompjit__repl_request kind,
                const ompjit__buf *bytes)
{
    add_request(&h->send, kind,
                kind == OMPJIT__REPL_INPUT ? ++h->serial : h->serial, bytes);
}

static void begin(struct half *h)
{
    ompjit__buf_free(&h->reply);
    h->done = h->lost = false;
    atomic_store(&h->worker, 0);
}

static void pack_input(const struct input *in, enum ompjit__repl_mode mode,
                       bool colours, ompjit__buf *out)
{
    ompjit__pack_number(out, in->number);
    ompjit__pack_number(out, in->line);
    ompjit__pack_number(out, mode);
    ompjit__pack_number(out, colours);
    ompjit__pack_string(out, in->name);
    ompjit__pack_bytes(out, in->text, in->size);
    ompjit__pack_number(out, in->nblanks);
    for (size_t i = 0; i < in->nblanks; i++) {
        ompjit__pack_number(out, in->blanks[i].begin);
        ompjit__pack_number(out, in->blanks[i].end);
    }
    ompjit__pack_number(out, in->nhidden);
    for (size_t i = 0; i < in->nhidden; i++) {
        ompjit__pack_number(out, in->hidden[i].input);
        ompjit__pack_number(out, in->hidden[i].offset);
        ompjit__pack_string(out, in->hidden[i].name);
    }
}

/* ---------------------------------------------------------------- transfers */

static void push(struct half *h)
{
    while (h->sent < h->send.size) {
        ssize_t n = write(h->child.source, h->send.data + h->sent,
                          h->send.size - h->sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) {
            h->lost = h->gone = true;
            break;
        }
        h->sent += (size_t)n;
    }
    ompjit__buf_free(&h->send);
    h->sent = 0;
}

/* Reads the bytes that are there now. False: the other end is closed. */
static bool pull(int fd, ompjit__buf *into)
{
    char chunk[16384];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n > 0)
            ompjit__buf_add(into, chunk, (size_t)n);
        else if (n == 0)
            return false;
        else if (errno == EAGAIN)
            return true;
        else if (errno != EINTR)
            return false;
    }
}

static void take_piece(struct half *h, const ompjit__repl_piece *piece,
                       const char *bytes)
{
    if (piece->kind == OMPJIT__REPL_UNFIT)
        ompjit__buf_add(&h->unfit, bytes, piece->size);
    if (piece->serial != h->serial)
        return; /* of a request that was given up */
    switch (piece->kind) {
    case OMPJIT__REPL_BEGUN:
        atomic_store(&h->worker, (int)piece->process);
        break;
    case OMPJIT__REPL_UNFIT:
        break;
    case OMPJIT__REPL_PART:
    case OMPJIT__REPL_REPLY:
        ompjit__buf_add(&h->reply, bytes, piece->size);
        h->done = piece->kind == OMPJIT__REPL_REPLY;
        break;
    default:
        h->lost = !h->done;
        h->status = piece->size;
    }
    if (h->done || h->lost)
        atomic_store(&h->worker, 0);
}

static void take_pieces(struct half *h)
{
    size_t at = 0;
    while (h->out.size - at >= sizeof(ompjit__repl_piece)) {
        ompjit__repl_piece piece;
        memcpy(&piece, h->out.data + at, sizeof piece);
        size_t bytes = piece.kind == OMPJIT__REPL_LOST ? 0 : piece.size;
        if (h->out.size - at < sizeof piece + bytes)
            break;
        take_piece(h, &piece, h->out.data + at + sizeof piece);
        at += sizeof piece + bytes;
    }
    if (at)
        memmove(h->out.data, h->out.data + at, h->out.size - at);
    h->out.size -= at;
}

static void serve(struct half *h, const struct pollfd *fds)
{
    if (fds[0].revents)
        push(h);
    if (fds[1].revents && !pull(h->child.out, &h->out)) {
        h->lost = !h->done;
        h->gone = true;
    }
    if (fds[1].revents)
        take_pieces(h);
    if (fds[2].revents && !pull(h->child.diag, &h->words)) {
        close(h->child.diag);
        h->child.diag = -1;
    }
}

/* ------------------------------------------------------------------ waiting */

static void kill_worker(struct half *h)
{
    int worker = atomic_exchange(&h->worker, 0);
    if (worker > 0)
        kill(worker, SIGKILL);
}

static bool is_over(const struct half *h)
{
    return h->done || h->lost;
}

static ompjit_status too_late(front *f, ompjit_error *err)
{
    for (int i = 0; i < HALVES; i++)
        kill_worker(&f->halves[i]);
    return ompjit__fail(err, OMPJIT_ERR_TIMEOUT, OMPJIT_STAGE_FRONTEND,
                        "clang did not end within %s and was killed",
                        ompjit__limit(f->limit_ms).text);
}

static ompjit_status stopped(front *f, ompjit_error *err)
{
    for (int i = 0; i < HALVES; i++)
        kill_worker(&f->halves[i]);
    return ompjit__fail(err, OMPJIT_ERR_ABORTED, OMPJIT_STAGE_FRONTEND,
                        "the compile was interrupted");
}

/* Until the half's reply is there. Both halves are served meanwhile. */
static ompjit_status wait_for(front *f, struct half *wanted, ompjit_error *err)
{
    enum { EACH = 3, SLICE = 50 };
    uint64_t deadline = ompjit__now() + OMPJIT__MS(f->limit_ms);
    while (!is_over(wanted)) {
        struct pollfd fds[HALVES * EACH];
        if (atomic_load(&f->interrupted) ||
            f->cancels != atomic_load(&f->ctx->compiler.cancels))
            return stopped(f, err);
        if (ompjit__now() >= deadline)
            return too_late(f, err);
        for (int i = 0; i < HALVES; i++) {
            const struct half *h = &f->halves[i];
            struct pollfd *fd = &fds[i * EACH];
            fd[0] = (struct pollfd){
                .fd = h->send.size && !h->lost ? h->child.source : -1,
                .events = POLLOUT};
            fd[1] = (struct pollfd){.fd = h->gone ? -1 : h->child.out,
                                    .events = POLLIN};
            fd[2] = (struct pollfd){.fd = h->child.diag, .events = POLLIN};
        }
        int n = poll(fds, HALVES * EACH, SLICE);
        for (int i = 0; i < HALVES && n > 0; i++)
            serve(&f->halves[i], &fds[i * EACH]);
    }
    return OMPJIT_OK;
}

/* ------------------------------------------------------------------ replies */

static ompjit_status crashed(const struct half *h, const char *which,
                             ompjit_error *err)
{
    enum { TAIL = 1000 };
    unsigned signal = h->status & 127;
    size_t skip = h->words.size > TAIL ? h->words.size - TAIL : 0;
    if (!h->status && h->words.size)
        return ompjit__fail(err, OMPJIT_ERR_COMPILE, OMPJIT_STAGE_FRONTEND,
                            "clang does not take the session's options: %.*s",
                            (int)strcspn(h->words.data, "\n"), h->words.data);
    return ompjit__fail(
        err, OMPJIT_ERR_COMPILE, OMPJIT_STAGE_FRONTEND,
        "clang crashed on the %s half of the input (%s %u)%s%s", which,
        signal ? "signal" : "exit code", signal ? signal : h->status >> 8,
        h->words.size ? "; it said:\n" : "",
        h->words.size ? h->words.data + skip : "");
}

/* The reply of a half that is over. */
static ompjit_status check(const struct half *h, ompjit_error *err)
{
    if (h->lost)
        return crashed(h, names[h->args.n && strstr(h->args.v[3], "nvptx")],
                       err);
    return h->reply.failed ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                           : OMPJIT_OK;
}

static ompjit_status unreadable(ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_FRONTEND,
                        "the front end's answer cannot be read");
}

void front_set_lacking(front *f, bool lacking)
{
    f->lacking = lacking;
}

void front_add_lacking(ompjit__buf *list, unsigned number,
                       const ompjit__buf *lacks, const ompjit__buf *host)
{
    ompjit__pack_number(list, number);
    ompjit__pack_bytes(list, lacks->data, lacks->size);
    ompjit__pack_bytes(list, host ? host->data : NULL, host ? host->size : 0);
}

static void ask_half(struct half *h, const struct input *in,
                     enum ompjit__repl_mode mode, bool colours)
{
    ompjit__buf bytes = {0};
    pack_input(in, mode, colours, &bytes);
    begin(h);
    ask(h, OMPJIT__REPL_INPUT, &bytes);
    ompjit__buf_free(&bytes);
}

/* The device half gets what has waited for it. */
static void send_later(front *f)
{
    struct half *device = &f->halves[DEVICE];
    ompjit__buf_add(&device->send, f->later.data, f->later.size);
    device->send.failed |= f->later.failed;
    ompjit__buf_free(&f->later);
    f->nlater = 0;
}

static void ask_device(front *f, const struct input *in, bool colours)
{
    send_later(f);
    ask_half(&f->halves[DEVICE], in, OMPJIT__REPL_CODE, colours);
    f->asks_device = true;
}

/* Text that is only looked at goes to the host half alone. */
static void ask_halves(front *f, const struct input *in,
                       enum ompjit__repl_mode mode, bool colours)
{
    ask_half(&f->halves[HOST], in, mode, colours);
    f->asks_device = false;
    if (mode == OMPJIT__REPL_CODE && (f->lacking || strstr(in->text, "target")))
        ask_device(f, in, colours);
}

/* The device half's process waits for word of the host half, or has ended. */
static void tell_device(front *f, enum ompjit__repl_request kind)
{
    const ompjit__buf nothing = {0};
    ask(&f->halves[DEVICE], kind, &nothing);
    push(&f->halves[DEVICE]);
}

static ompjit_status try_host(front *f, struct input *in,
                              enum ompjit__repl_mode mode, bool colours,
                              struct answer *out, ompjit_error *err)
{
    enum { TRIES = 16 };
    struct half *host = &f->halves[HOST];
    for (int i = 0;; i++) {
        ask_halves(f, in, mode, colours);
        ompjit_status status = wait_for(f, host, err);
        if (!status)
            status = check(host, err);
        if (!status && !answer_read(out, &host->reply, in))
            status = unreadable(err);
        if (f->asks_device && (status || out->verdict != OMPJIT__REPL_GOOD))
            tell_device(f, OMPJIT__REPL_DROP);
        if (status || out->verdict != OMPJIT__REPL_AGAIN || i == TRIES)
            return status;
        answer_free(out);
    }
}

static ompjit_status try_device(front *f, const struct input *in, bool colours,
                                struct answer *out, ompjit_error *err)
{
    struct half *device = &f->halves[DEVICE];
    if (!out->entries && !f->lacking) {
        if (f->asks_device)
            tell_device(f, OMPJIT__REPL_HOST);
        return OMPJIT_OK;
    }
    if (!f->asks_device)
        ask_device(f, in, colours);
    if (out->entries)
        ask(device, OMPJIT__REPL_HOST, &out->host);
    else
        tell_device(f, OMPJIT__REPL_AGAIN_ONLY);
    ompjit_status status = wait_for(f, device, err);
    if (!status)
        status = check(device, err);
    if (!status && !answer_add_device(out, &device->reply))
        status = unreadable(err);
    return status;
}

ompjit_status front_try(front *f, struct input *in,
                        enum ompjit__repl_mode mode, bool colours,
                        struct answer *out, ompjit_error *err)
{
    ompjit__held held;
    atomic_store(&f->interrupted, false);
    f->cancels = atomic_load(&f->ctx->compiler.cancels);
    ompjit__hold(&held, SIGPIPE);
    ompjit_status status = try_host(f, in, mode, colours, out, err);
    if (!status && out->verdict == OMPJIT__REPL_GOOD &&
        mode == OMPJIT__REPL_CODE) {
        status = try_device(f, in, colours, out, err);
        if (status)
            answer_free(out);
    }
    ompjit__release(&held);
    return status;
}

static void push_both(front *f)
{
    ompjit__held held;
    ompjit__hold(&held, SIGPIPE);
    for (int i = 0; i < HALVES; i++)
        push(&f->halves[i]);
    ompjit__release(&held);
}

/* The device half reads it later. Memory is not for any number of inputs. */
static void read_later(front *f, const struct input *in,
                       const ompjit__buf *lacking)
{
    enum { MOST = 64 };
    const uint32_t of_none = UINT32_MAX;
    ompjit__buf bytes = {0};
    pack_input(in, OMPJIT__REPL_CODE, false, &bytes);
    ompjit__buf_add(&bytes, lacking->data, lacking->size);
    add_request(&f->later, OMPJIT__REPL_REPLAY, of_none, &bytes);
    ompjit__buf_free(&bytes);
    if (++f->nlater >= MOST)
        send_later(f);
}

void front_keep(front *f, const struct input *in, const ompjit__buf *lacking)
{
    const ompjit__buf nothing = {0};
    ask(&f->halves[HOST], OMPJIT__REPL_KEEP, &nothing);
    if (f->asks_device)
        ask(&f->halves[DEVICE], OMPJIT__REPL_KEEP, lacking);
    else
        read_later(f, in, lacking);
    push_both(f);
}

void front_rest(front *f)
{
    send_later(f);
    push_both(f);
}

/* Without an answer: what has been good once is so again. */
ompjit_status front_restart(front *f, ompjit_error *err)
{
    for (int i = 0; i < HALVES; i++)
        end_half(&f->halves[i]);
    ompjit__buf_free(&f->later);
    f->nlater = 0;
    return start(f, err);
}

void front_replay(front *f, const struct input *in,
                  const ompjit__buf *lacking)
{
    ompjit__buf bytes = {0};
    pack_input(in, OMPJIT__REPL_CODE, false, &bytes);
    ask(&f->halves[HOST], OMPJIT__REPL_REPLAY, &bytes);
    ompjit__buf_free(&bytes);
    read_later(f, in, lacking);
    push_both(f);
}

const char *front_unfit(const front *f)
{
    const ompjit__buf *unfit = &f->halves[DEVICE].unfit;
    return unfit->size ? unfit->data : NULL;
}

bool front_is_gone(const front *f)
{
    return f->halves[HOST].gone || f->halves[DEVICE].gone;
}

void front_interrupt(front *f)
{
    atomic_store(&f->interrupted, true);
}
