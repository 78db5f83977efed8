/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The cache among many: processes and threads on one folder, killed at any
 * moment, forked while they make something. CACHE_ROUNDS sets how often.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "cache.h"

enum { PROCESSES = 8, VARIANTS = 300, THREADS = 8, THREAD_VARIANTS = 400,
       SIZE = 2000 };

/* Seen by all processes. */
struct shared {
    _Atomic unsigned made, wrong, rejected;
};
static struct shared *shared;
static unsigned rounds;

static void wait_for(pid_t child, unsigned *failed)
{
    int status;
    waitpid(child, &status, 0);
    *failed += !WIFEXITED(status) || WEXITSTATUS(status);
}

/* Every variant, each process from another one on. */
static void use_all(unsigned first)
{
    ompjit_context *ctx = open_context(0);
    for (unsigned i = 0; i < VARIANTS; i++) {
        unsigned which = (first + i) % VARIANTS;
        shared->made += use_entry(ctx, which, SIZE);
        shared->wrong += !get_entry(ctx, which, SIZE);
    }
    shared->rejected += stats_of(ctx).rejected;
    ompjit_context_destroy(ctx);
}

/* The folder of round `r`: every tenth is on disk, the others are in memory. ext4
 * does not use a removed file's inode again within a minute, and steps over each
 * of them for every file that is made: a hundred rounds took five times as long
 * there as in new folders. */
static void crowd_folder(unsigned r, const char *on_disk)
{
    fresh_folder();
    if (r % 10 && !access("/dev/shm", W_OK))
        snprintf(folder, sizeof folder, "/dev/shm/ompjit-cache-%d", getpid());
    else
        snprintf(folder, sizeof folder, "%s", on_disk);
}

static void test_crowd(void)
{
    unsigned failed = 0, most = 0, least = UINT_MAX;
    char on_disk[PATH_MAX];
    snprintf(on_disk, sizeof on_disk, "%s", folder);
    for (unsigned r = 0; r < rounds; r++) {
        crowd_folder(r, on_disk);
        shared->made = 0;
        pid_t children[PROCESSES];
        for (unsigned i = 0; i < PROCESSES; i++) {
            children[i] = fork();
            if (!children[i]) {
                use_all(i % 2 ? 0 : i * VARIANTS / PROCESSES);
                _exit(0);
            }
        }
        for (unsigned i = 0; i < PROCESSES; i++)
            wait_for(children[i], &failed);
        most = shared->made > most ? shared->made : most;
        least = shared->made < least ? shared->made : least;
    }
    ok(!failed, "%d processes, %d variants, %u rounds: all end well",
       PROCESSES, VARIANTS, rounds);
    ok(!shared->wrong && !shared->rejected, "nobody saw half an entry");
    ok(least == VARIANTS && most <= VARIANTS + PROCESSES,
       "each was made once: %u to %u times in all", least, most);
    ok(!count_files("tmp-"), "no temporary file is left");
    crowd_folder(0, on_disk);
}

/* A process that dies at any moment: what follows is clean, and soon. */
static void test_kill(void)
{
    unsigned bad = 0, killed = 0, slow = 0, failed = 0;
    fresh_folder();
    shared->rejected = shared->wrong = 0;
    for (unsigned r = 0; r < 2 * rounds; r++) {
        pid_t child = fork();
        if (!child) {
            ompjit_context *ctx = open_context(0);
            for (unsigned i = 0;; i++)
                use_entry(ctx, r * 1000 + i, 50 * SIZE);
        }
        struct timespec t = {.tv_nsec = (long)(rand() % 20000000)};
        nanosleep(&t, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        killed++;
        uint64_t start = ompjit__now();
        pid_t after = fork();
        if (!after) {
            ompjit_context *ctx = open_context(0);
            for (unsigned i = 0; i < 10; i++) {
                use_entry(ctx, r * 1000 + i, 50 * SIZE);
                bad += !get_entry(ctx, r * 1000 + i, 50 * SIZE);
            }
            _exit(bad || stats_of(ctx).rejected);
        }
        wait_for(after, &failed);
        slow += ompjit__now() - start > 10000000000ull;
    }
    ok(killed == 2 * rounds && !failed && !slow,
       "%u processes killed while they wrote: the next run is clean", killed);
    uint64_t good = 0, damaged;
    ompjit_context *ctx = open_context(0);
    ompjit_status status = ompjit_cache_verify(ctx, &good, &damaged, NULL);
    ok(!status && good && !damaged, "%llu entries, all whole",
       (unsigned long long)good);
    ompjit_context_destroy(ctx);
}

/* --------------------------------------------------------------- threads */

static void *thread_run(void *data)
{
    ompjit_context *ctx = data, *own = ctx ? NULL : open_context(0);
    for (unsigned i = 0; i < THREAD_VARIANTS; i++) {
        shared->made += use_entry(ctx ? ctx : own, i, SIZE);
        shared->wrong += !get_entry(ctx ? ctx : own, i, SIZE);
    }
    ompjit_context_destroy(own);
    return NULL;
}

static void test_threads(ompjit_context *ctx, const char *what)
{
    pthread_t threads[THREADS];
    shared->made = shared->wrong = 0;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, thread_run, ctx);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ok(!shared->wrong && shared->made >= THREAD_VARIANTS &&
           shared->made <= THREAD_VARIANTS + THREADS,
       "%d threads, %d variants, %s: made %u times in all", THREADS,
       THREAD_VARIANTS, what, shared->made);
}

/* ------------------------------------------------------------------ fork */

static _Atomic bool stop;

static void *make_things(void *data)
{
    for (unsigned i = 10000; !stop; i++)
        use_entry(data, i, 10 * SIZE);
    return NULL;
}

/* A child is forked while a thread of its parent is inside of the cache, and
 * goes on with the same context. */
static void test_fork(void)
{
    fresh_folder();
    pthread_t maker;
    unsigned failed = 0, n = 4 * rounds;
    ompjit_context *ctx = open_context(0);
    pthread_create(&maker, NULL, make_things, ctx);
    for (unsigned r = 0; r < n; r++) {
        pid_t child = fork();
        if (!child) {
            alarm(30);
            unsigned bad = !use_entry(ctx, r, SIZE) ||
                           !get_entry(ctx, r, SIZE);
            _exit(bad);
        }
        wait_for(child, &failed);
    }
    stop = true;
    pthread_join(maker, NULL);
    ok(!failed, "%u children, forked while a thread makes entries, make "
                "theirs", n);
    ompjit_context_destroy(ctx);
}

/* The right to make an entry ends with its holder, not with a child's copy of
 * the descriptor, and not with another's descriptor of the same file. */
static void test_right(void)
{
    fresh_folder();
    ompjit_context *ctx = open_context(0);
    ompjit__store *store = ompjit__cache_store(ctx->cache);
    ompjit__key key;
    ompjit__claim first, second;
    make_key(&key, 1);
    ompjit__claim_begin(store, key.digest, 1000, &first);
    ok(first.fd >= 0 && !first.waited, "the first has the right at once");
    ompjit__claim_begin(store, key.digest, 50, &second);
    ok(second.fd < 0 && second.waited, "the second waits, and goes on");
    pid_t child = fork();
    if (!child) {
        pause();
        _exit(0);
    }
    ompjit__claim_end(&first);
    ompjit__claim_begin(store, key.digest, 50, &second);
    ok(second.fd >= 0, "a child that has the descriptor holds nothing");
    ompjit__claim_end(&second);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    child = fork();
    if (!child) {
        ompjit__claim_begin(store, key.digest, 1000, &first);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    ompjit__claim_begin(store, key.digest, 1000, &second);
    ok(second.fd >= 0 && !second.waited, "the right of the dead is free");
    ompjit__claim_end(&second);
    ompjit__key_free(&key);
    ompjit_context_destroy(ctx);
}

/* Another version of the library: another key, and both live side by side. */
static void test_versions(void)
{
    fresh_folder();
    ompjit_context *ctx = open_context(0);
    ompjit__key ours, theirs;
    ompjit__buf payload;
    struct wanted w = {1, SIZE, false};
    make_key(&ours, 1);
    make_key(&theirs, 1);
    char *version = strstr(theirs.text.data, ompjit_version());
    version[0]++;
    ok(ompjit__key_end(&theirs) &&
           memcmp(ours.digest, theirs.digest, sizeof ours.digest),
       "a key tells the library's version");
    make_payload(&payload, 1, SIZE);
    ompjit__cache_put(ctx->cache, &theirs, &payload);
    ok(!ompjit__cache_get(ctx->cache, &ours, take, &w),
       "an entry of another version is none");
    ompjit__cache_put(ctx->cache, &ours, &payload);
    ok(ompjit__cache_get(ctx->cache, &ours, take, &w) &&
           ompjit__cache_get(ctx->cache, &theirs, take, &w),
       "two versions share a folder");
    ompjit__buf_free(&payload);
    ompjit__key_free(&ours);
    ompjit__key_free(&theirs);
    ompjit_context_destroy(ctx);
}

int main(void)
{
    const char *text = getenv("CACHE_ROUNDS");
    rounds = text ? (unsigned)atoi(text) : 5;
    srand((unsigned)time(NULL));
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_right();
    test_versions();
    test_crowd();
    test_kill();
    fresh_folder();
    ompjit_context *ctx = open_context(0);
    test_threads(ctx, "one context");
    ompjit_context_destroy(ctx);
    fresh_folder();
    test_threads(NULL, "a context each");
    test_fork();
    remove_tree(folder);
    return done_testing();
}
