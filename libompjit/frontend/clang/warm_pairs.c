/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Starting a clang takes longer than compiling a small kernel. So after each
 * compile the next pair with the same command lines is started ahead, by the
 * background thread: two processes take 2 ms to start, for which nobody waits.
 * The pair waits for its source, having read no more than headers that it looks
 * at again then, and ends by itself when this process does: its pipes close.
 * OMPJIT_WARM=0 switches that off.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/background.h"
#include "frontend/clang/front_end.h"

void ompjit__next_free(struct ompjit__next *next)
{
    if (next->key)
        ompjit__command_free(&next->command);
    free(next->key);
    free(next->like);
}

void ompjit__pair_kill(struct ompjit__pair *pair)
{
    ompjit__child_kill(&pair->host);
    ompjit__child_kill(&pair->device);
    free(pair->key);
    pair->key = NULL;
}

void ompjit__pairs_forget_if_forked(ompjit__frontend *f)
{
    if (f->owner == getpid())
        return;
    for (unsigned i = 0; i < OMPJIT__MAX_WARM && f->warm[i].key; i++) {
        ompjit__child_forget(&f->warm[i].host);
        ompjit__child_forget(&f->warm[i].device);
        free(f->warm[i].key);
        f->warm[i].key = NULL;
    }
    for (unsigned i = 0; i < OMPJIT__MAX_LEAVING; i++)
        if (f->leaving[i].pid)
            ompjit__child_forget(&f->leaving[i]);
    f->owner = getpid();
}

/* ---------------------------------------------------- children that leave */

/* Asked each time, as the application may change its environment. */
static bool warm_is_off(void)
{
    const char *warm = getenv("OMPJIT_WARM");
    return warm && !strcmp(warm, "0");
}

/* Two processes that end take a processor for 2 ms, which the build that
 * follows needs. So a child whose work is done stays until frontend_rest
 * dismisses it. A dismissed child is killed, and waited for when somebody comes
 * by, at the latest when the context ends. */
void ompjit__child_leave(ompjit__frontend *f, ompjit__child *child)
{
    if (!child->pid)
        return;
    if (warm_is_off())
        ompjit__child_hang_up(child);
    pthread_mutex_lock(&f->lock);
    unsigned place = 0;
    for (unsigned i = 0; i < OMPJIT__MAX_LEAVING; i++)
        if (!f->leaving[i].pid)
            place = i;
    ompjit__child old = f->leaving[place];
    f->leaving[place] = *child;
    pthread_mutex_unlock(&f->lock);
    if (old.pid)
        ompjit__child_kill(&old);
    *child = (ompjit__child)OMPJIT__NO_CHILD;
}

void ompjit__dismiss(ompjit__frontend *f)
{
    pthread_mutex_lock(&f->lock);
    ompjit__pairs_forget_if_forked(f);
    for (unsigned i = 0; i < OMPJIT__MAX_LEAVING; i++)
        if (f->leaving[i].pid) {
            ompjit__child_hang_up(&f->leaving[i]);
            ompjit__child_wait(&f->leaving[i], 0);
        }
    pthread_mutex_unlock(&f->lock);
}

/* ------------------------------------------------------------ warm pairs */

static void key_add(ompjit__buf *key, const ompjit__args *args)
{
    for (size_t i = 0; i < args->n; i++)
        ompjit__buf_printf(key, "%s\n", args->v[i]);
}

char *ompjit__pair_key(const ompjit__command *command)
{
    ompjit__buf key = {0};
    struct stat here = {0};
    if (stat(".", &here))
        here.st_ino = 0;
    ompjit__buf_printf(&key, "%ju %ju\n", (uintmax_t)here.st_dev,
                       (uintmax_t)here.st_ino);
    key_add(&key, &command->host);
    key_add(&key, &command->device);
    if (!key.failed)
        return key.data;
    ompjit__buf_free(&key);
    return NULL;
}

ompjit_status ompjit__pair_start(const ompjit__command *command,
                                unsigned limit_ms, char **environment,
                                struct ompjit__pair *out, ompjit_error *err)
{
    struct ompjit__pair pair = {NULL, OMPJIT__NO_CHILD, OMPJIT__NO_CHILD};
    ompjit_status status = OMPJIT_OK;
    if (command->host.n)
        status = ompjit__child_start(command->host.v, limit_ms, environment,
                                     command->folder, &pair.host, err);
    if (!status)
        status = ompjit__child_start(command->device.v, limit_ms, environment,
                                     command->folder, &pair.device, err);
    if (status)
        ompjit__pair_kill(&pair);
    else
        *out = pair;
    return status;
}

/* Takes the i-th off the list. Under the lock. */
static struct ompjit__pair take_at(ompjit__frontend *f, unsigned i)
{
    struct ompjit__pair taken = f->warm[i];
    for (; i + 1 < OMPJIT__MAX_WARM; i++)
        f->warm[i] = f->warm[i + 1];
    f->warm[OMPJIT__MAX_WARM - 1] = (struct ompjit__pair){0};
    return taken;
}

/* The place of the pair with this key; -1: none. Under the lock. */
static int warm_at(const ompjit__frontend *f, const char *key)
{
    for (int i = 0; i < OMPJIT__MAX_WARM && f->warm[i].key; i++)
        if (!strcmp(f->warm[i].key, key))
            return i;
    return -1;
}

bool ompjit__warm_take(ompjit__frontend *f, const char *key,
                       struct ompjit__pair *out)
{
    pthread_mutex_lock(&f->lock);
    ompjit__pairs_forget_if_forked(f);
    int i = key ? warm_at(f, key) : -1;
    if (i >= 0)
        *out = take_at(f, (unsigned)i);
    pthread_mutex_unlock(&f->lock);
    return i >= 0;
}

char **ompjit__warm_environment(const char *like)
{
    return warm_is_off() ? NULL : ompjit__child_environment(like);
}

/* A pair works where it was started: the application may have gone elsewhere
 * since the key was made. */
static bool is_where_key_says(const ompjit__command *command, const char *key)
{
    char *now = ompjit__pair_key(command);
    bool same = now && !strcmp(now, key);
    free(now);
    return same;
}

/* Under the lock. Returns a pair for the caller to kill, or one without
 * processes. */
static struct ompjit__pair put(ompjit__frontend *f, struct ompjit__pair next)
{
    struct ompjit__pair old = {0};
    if (f->warm[OMPJIT__MAX_WARM - 1].key)
        old = take_at(f, 0);
    unsigned n = 0;
    while (f->warm[n].key)
        n++;
    f->warm[n] = next;
    return old;
}

void ompjit__warm_up(ompjit__frontend *f, const ompjit__command *command,
                     const char *key, char **environment)
{
    struct ompjit__pair next, old = {0};
    if (!key || !environment)
        return;
    pthread_mutex_lock(&f->lock);
    if (warm_at(f, key) < 0 &&
        !ompjit__pair_start(command, f->limit_ms, environment, &next, NULL)) {
        next.key = is_where_key_says(command, key) ? ompjit__strdup(key) : NULL;
        old = next.key ? put(f, next) : next;
    }
    pthread_mutex_unlock(&f->lock);
    if (old.device.pid)
        ompjit__pair_kill(&old);
}

/* ---------------------------------------------------------- the next pair */

struct ompjit__next ompjit__pending_take(ompjit__frontend *f)
{
    pthread_mutex_lock(&f->lock);
    struct ompjit__next taken = f->pending;
    f->pending = (struct ompjit__next){.key = NULL};
    pthread_mutex_unlock(&f->lock);
    return taken;
}

/* Keeps what a run was made with, which is the frontend's from now on. */
void ompjit__pending_set(ompjit__frontend *f, struct ompjit__next next)
{
    pthread_mutex_lock(&f->lock);
    struct ompjit__next old = f->pending;
    f->pending = next;
    pthread_mutex_unlock(&f->lock);
    ompjit__next_free(&old);
}

/* A job of the background thread: to start the next pair. */
struct ahead {
    ompjit__frontend *f;
    struct ompjit__next next;
    char **environment;
};

static void ahead_drop(void *arg)
{
    struct ahead *a = arg;
    ompjit__next_free(&a->next);
    free(a->environment);
    free(a);
}

static void ahead_run(void *arg)
{
    struct ahead *a = arg;
    ompjit__warm_up(a->f, &a->next.command, a->next.key, a->environment);
    ahead_drop(a);
}

/* Takes `next` over. A process that gets no thread starts the pair itself, and
 * one that exits starts none. */
static void start_ahead(ompjit_context *ctx, ompjit__frontend *f,
                        struct ompjit__next next)
{
    struct ahead *a = malloc(sizeof *a);
    char **environment = ompjit__warm_environment(next.like);
    if (!a || !environment) {
        ompjit__next_free(&next);
        free(environment);
        free(a);
        return;
    }
    *a = (struct ahead){f, next, environment};
    ompjit_status status = ompjit__background_add(
        ctx->background, f, ahead_run, ahead_drop, a, NULL);
    if (status == OMPJIT_ERR_UNAVAILABLE)
        ahead_run(a);
    else if (status)
        ahead_drop(a);
}

/* Called when a build is done: the processors are free, and the children of its
 * compile may end. */
void ompjit__frontend_rest(ompjit_context *ctx)
{
    pthread_mutex_lock(&ctx->lock);
    ompjit__frontend *f = ctx->frontend;
    pthread_mutex_unlock(&ctx->lock);
    if (!f)
        return;
    struct ompjit__next next = ompjit__pending_take(f);
    ompjit__dismiss(f); /* the thread that starts a pair holds the lock */
    if (next.key && next.like)
        start_ahead(ctx, f, next);
    else
        ompjit__next_free(&next);
}
