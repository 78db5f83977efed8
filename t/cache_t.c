/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The cache without a compiler: entries damaged in every way, folders that
 * cannot be used, limits, clocks, callbacks, export and import.
 */
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "cache.h"

enum { SIZE = 200 };

/* Calls of realloc until one fails; negative: none does. */
static int until_failure = -1;

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
enum { MEMORY_FAILS = 1 };
void *__libc_realloc(void *old, size_t size);

void *realloc(void *old, size_t size)
{
    bool fails = until_failure >= 0 && until_failure-- == 0;
    return fails ? NULL : __libc_realloc(old, size);
}
#else
enum { MEMORY_FAILS = 0 };
#endif

/* --------------------------------------------------------------- damage */

static void test_round(void)
{
    fresh_folder();
    ompjit_context *ctx = open_context(0), *other = open_context(0);
    ok(access(folder, F_OK), "no folder is made before it is needed");
    ok(!get_entry(ctx, 1, SIZE), "an entry that is not there is a miss");
    ok(access(folder, F_OK), "nor by a miss");
    put_entry(ctx, 1, SIZE);
    ok(get_entry(ctx, 1, SIZE), "what was put is a hit");
    ok(get_entry(other, 1, SIZE), "also in another context");
    ok(stats_of(other).hits_disk == 1 && stats_of(other).bytes_read > SIZE,
       "which got it from disk");
    ok(!get_entry(ctx, 2, SIZE), "another key is a miss");
    struct stat s;
    char path[PATH_MAX];
    path_of(1, path);
    ok(!stat(path, &s) && (s.st_mode & 0777) == 0600, "entries are private");
    ok(!stat(folder, &s) && (s.st_mode & 0777) == 0700, "the folder is");
    ompjit_context_destroy(ctx);
    ompjit_context_destroy(other);
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        printf("# cannot write %s\n", path);
    close(fd);
}

/* Each byte turned, each length cut, and more behind. */
static void test_damage(void)
{
    fresh_folder();
    ompjit_context *ctx = open_context(0);
    char path[PATH_MAX];
    ompjit__buf bytes = {0};
    put_entry(ctx, 1, SIZE);
    path_of(1, path);
    ompjit__read_file(path, &bytes, NULL);
    unsigned hits = 0, replaced = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] ^= 1 << (i % 8);
        write_bytes(path, bytes.data, bytes.size);
        bytes.data[i] ^= 1 << (i % 8);
        hits += get_entry(ctx, 1, SIZE);
    }
    ok(bytes.size > SIZE && !hits, "%zu bytes, one of them spoilt: misses",
       bytes.size);
    for (size_t n = 0; n < bytes.size; n++) {
        write_bytes(path, bytes.data, n);
        hits += get_entry(ctx, 1, SIZE);
    }
    ok(!hits, "cut short at each byte: misses");
    ompjit__buf_add(&bytes, "", 1);
    write_bytes(path, bytes.data, bytes.size);
    ok(!get_entry(ctx, 1, SIZE), "a byte more: a miss");
    ok(stats_of(ctx).rejected >= 2 * (bytes.size - OMPJIT__ENTRY_HEADER) - 2,
       "they are counted as rejected");
    for (int i = 0; i < 3; i++) {
        write_bytes(path, bytes.data, i * 100);
        replaced += use_entry(ctx, 1, SIZE) && get_entry(ctx, 1, SIZE);
    }
    ok(replaced == 3, "a damaged entry is made anew");
    /* A good entry under another's name, as after a rename or a collision. */
    char other[PATH_MAX];
    put_entry(ctx, 2, SIZE);
    path_of(2, other);
    rename(other, path);
    ok(!get_entry(ctx, 1, SIZE), "another key's entry is a miss");
    ompjit__buf_free(&bytes);
    ompjit_context_destroy(ctx);
}

/* A colliding digest: the header says the right one, the text is another's. */
static void test_text(void)
{
    fresh_folder();
    ompjit_context *ctx = open_context(0);
    ompjit__key key, wrong;
    ompjit__buf payload;
    make_key(&key, 1);
    make_key(&wrong, 2);
    memcpy(wrong.digest, key.digest, sizeof key.digest);
    make_payload(&payload, 1, SIZE);
    ompjit__cache_put(ctx->cache, &wrong, &payload);
    ok(count_files("") == 1 && !get_entry(ctx, 1, SIZE),
       "the key's text is compared, not only its digest");
    ompjit__buf_free(&payload);
    ompjit__key_free(&key);
    ompjit__key_free(&wrong);
    ompjit_context_destroy(ctx);
}

/* --------------------------------------------------------------- folders */

/* The context works, and keeps what it makes; nothing is on disk. */
static void works_without_disk(const char *what)
{
    ompjit_context *ctx = open_context(0), *other = open_context(0);
    bool made = use_entry(ctx, 7, SIZE);
    ok(made && get_entry(ctx, 7, SIZE) && stats_of(ctx).hits_memory == 1,
       "%s: kept in memory", what);
    ok(!get_entry(other, 7, SIZE), "%s: not on disk", what);
    ompjit_context_destroy(ctx);
    ompjit_context_destroy(other);
}

static void test_folders(void)
{
    char other[PATH_MAX + 8], path[PATH_MAX], *slash;
    fresh_folder();
    write_bytes(folder, "", 0);
    works_without_disk("a file in the folder's place");
    fresh_folder();
    snprintf(other, sizeof other, "%s.real", folder);
    mkdir(other, 0700);
    ok(!symlink(other, folder), "(a link)");
    works_without_disk("a link in the folder's place");
    remove_tree(other);
    unlink(folder);
    mkdir(folder, 0777);
    chmod(folder, 0777);
    works_without_disk("a folder that others may write");
    fresh_folder();
    ompjit_context *ctx = open_context(0);
    put_entry(ctx, 7, SIZE);
    path_of(7, path);
    snprintf(other, sizeof other, "%s.moved", folder);
    rename(path, other);
    ok(!symlink(other, path) && !get_entry(ctx, 7, SIZE),
       "a link in an entry's place is not followed");
    unlink(path);
    rename(other, path);
    ok(get_entry(ctx, 7, SIZE), "(it was the link)");
    chmod(path, 0666);
    ok(!get_entry(ctx, 7, SIZE), "an entry that others may write is a miss");
    unlink(path);
    mkfifo(path, 0600);
    ok(!get_entry(ctx, 7, SIZE), "a pipe in its place neither");
    unlink(path);
    slash = strrchr(path, '/');
    *slash = 0;
    rmdir(path);
    mkdir(other, 0700);
    ok(!symlink(other, path), "(a link to a folder)");
    works_without_disk("a link in a part's place");
    remove_tree(other);
    ompjit_context_destroy(ctx);
}

/* As on a file system that has no locks. */
static void test_no_locks(void)
{
    char locks[PATH_MAX + 8];
    fresh_folder();
    snprintf(locks, sizeof locks, "%s/locks", folder);
    ok(!mkdir(folder, 0700) && !mkdir(locks, 0700), "(nothing can be locked)");
    ompjit_context *ctx = open_context(0);
    ok(use_entry(ctx, 1, SIZE) && !use_entry(ctx, 1, SIZE) &&
           stats_of(ctx).hits_disk == 1,
       "without locks, entries are made and found");
    ompjit_context_destroy(ctx);
}

/* Root may write anywhere: become somebody else. */
static void test_read_only(void)
{
    fresh_folder();
    pid_t child = fork();
    if (!child) {
        if (!geteuid() && (setgid(65534) || setuid(65534)))
            _exit(2);
        mkdir(folder, 0700);
        ompjit_context *ctx = open_context(0);
        put_entry(ctx, 1, SIZE);
        int bad = !get_entry(ctx, 1, SIZE);
        char path[PATH_MAX];
        path_of(1, path);
        *strrchr(path, '/') = 0;
        bad |= chmod(path, 0500) | chmod(folder, 0500);
        ompjit_context *reader = open_context(0);
        bad |= !get_entry(reader, 1, SIZE) || !use_entry(reader, 2, SIZE) ||
               !get_entry(reader, 2, SIZE) ||
               stats_of(reader).hits_memory != 1;
        bad |= chmod(folder, 0700) | chmod(path, 0700);
        ompjit_context_destroy(ctx);
        ompjit_context_destroy(reader);
        _exit(bad);
    }
    int status;
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && !WEXITSTATUS(status),
       "a read-only folder is read, and what is new kept in memory");
}

static void test_full(void)
{
    fresh_folder();
    struct rlimit old, small = {4096, 4096};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    ompjit_context *ctx = open_context(0);
    put_entry(ctx, 1, 100000);
    setrlimit(RLIMIT_FSIZE, &old);
    ok(get_entry(ctx, 1, 100000) && !count_files(""),
       "a file size limit is no signal, and leaves no file");
    ompjit_context_destroy(ctx);
    mkdir(folder, 0700);
    if (mount("none", folder, "tmpfs", 0, "size=64k,mode=700")) {
        ok(1, "a full disk # SKIP no tmpfs can be mounted: %s",
           strerror(errno));
        return;
    }
    ctx = open_context(0);
    unsigned hits = 0;
    for (unsigned i = 0; i < 20; i++)
        hits += use_entry(ctx, i, 20000) && get_entry(ctx, i, 20000);
    unsigned left = count_files("tmp-");
    ompjit_context *other = open_context(0);
    unsigned on_disk = 0;
    for (unsigned i = 0; i < 20; i++)
        on_disk += get_entry(other, i, 20000);
    ok(hits == 20 && on_disk && on_disk < 20 && !left &&
           stats_of(other).rejected == 0,
       "a full disk: whole entries or none (%u of 20)", on_disk);
    ompjit_context_destroy(ctx);
    ompjit_context_destroy(other);
    umount(folder);
}

/* ---------------------------------------------------------------- limits */

static void age(unsigned i, int64_t seconds)
{
    char path[PATH_MAX];
    struct timespec t[2];
    path_of(i, path);
    clock_gettime(CLOCK_REALTIME, &t[0]);
    t[0].tv_sec -= seconds;
    t[1] = t[0];
    utimensat(AT_FDCWD, path, t, 0);
}

static unsigned present(unsigned i)
{
    char path[PATH_MAX];
    path_of(i, path);
    return !access(path, F_OK);
}

static void test_limit(void)
{
    enum { N = 40, BIG = 4000, DAY = 86400 };
    fresh_folder();
    ompjit_context *ctx = open_context(0);
    for (unsigned i = 0; i < N; i++) {
        put_entry(ctx, i, BIG);
        age(i, (N - i) * DAY);
    }
    ok(get_entry(ctx, 0, BIG), "(the oldest is used)");
    age(1, -400 * DAY); /* the clock was ahead */
    uint64_t removed;
    ok(!ompjit_cache_prune(ctx, N / 2 * (BIG + 300), &removed, NULL) &&
           removed >= N / 2 - 1 && removed < N,
       "pruned to half: %llu removed", (unsigned long long)removed);
    ok(present(0) && present(N - 1), "what was used last stays");
    ok(!present(2) && !present(3), "what was not is gone");
    ok(!present(1), "so is what was used in the future");
    ompjit_context_destroy(ctx);

    fresh_folder();
    ctx = open_context(20 * BIG);
    for (unsigned i = 0; i < 4 * N; i++)
        put_entry(ctx, i, BIG);
    unsigned files = count_files("");
    ok(files <= 22 && files >= 10, "a limit is kept: %u entries of %d bytes",
       files, BIG);
    ok(stats_of(ctx).evicted >= 4 * N - 22, "and evictions are counted");
    put_entry(ctx, 1000, 21 * BIG);
    ok(!present(1000) && count_files("") == files,
       "an entry above the limit evicts nobody");
    ompjit_context_destroy(ctx);
}

static void test_clock(void)
{
    struct stat s;
    char path[PATH_MAX];
    fresh_folder();
    ompjit_context *ctx = open_context(0);
    put_entry(ctx, 1, SIZE);
    path_of(1, path);
    age(1, -100000);
    ok(get_entry(ctx, 1, SIZE) && !stat(path, &s) &&
           s.st_mtime <= time(NULL) + 1,
       "an entry from the future is a hit, and of today afterwards");
    age(1, 4000);
    ok(get_entry(ctx, 1, SIZE) && !stat(path, &s) &&
           s.st_mtime >= time(NULL) - 10,
       "a use renews an old one");
    age(1, INT32_MAX / 2);
    ok(get_entry(ctx, 1, SIZE), "one of long ago is a hit");
    snprintf(strrchr(path, '/'), 16, "/tmp-1-2-3");
    write_bytes(path, "x", 1);
    ompjit_cache_prune(ctx, UINT64_MAX, NULL, NULL);
    ok(!access(path, F_OK), "a file being written stays");
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    utimensat(AT_FDCWD, path, old, 0);
    ompjit_cache_prune(ctx, UINT64_MAX, NULL, NULL);
    ok(access(path, F_OK), "one that a killed process left goes");
    ompjit_context_destroy(ctx);
}

/* ------------------------------------------------------------- callbacks */

struct peer { /* an application's own cache: one entry */
    unsigned char key[32];
    ompjit__buf bytes;
    unsigned asked, told;
};

static void peer_get(void *data, const unsigned char key[32],
                     ompjit_cache_give_fn *give, void *to)
{
    struct peer *p = data;
    p->asked++;
    if (p->bytes.size && !memcmp(key, p->key, 32))
        give(to, p->bytes.data, p->bytes.size);
}

static void peer_put(void *data, const unsigned char key[32],
                     const void *bytes, size_t size)
{
    struct peer *p = data;
    p->told++;
    memcpy(p->key, key, 32);
    p->bytes.size = 0;
    ompjit__buf_add(&p->bytes, bytes, size);
}

static ompjit_context *peer_context(struct peer *p)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    o.cache.mode = OMPJIT_CACHE_MEMORY;
    o.cache.get = peer_get;
    o.cache.put = peer_put;
    o.cache.data = p;
    ompjit_context_create(&o, &ctx, NULL);
    return ctx;
}

static void test_callbacks(void)
{
    struct peer p = {.asked = 0};
    ompjit_context *first = peer_context(&p), *second = peer_context(&p);
    ok(use_entry(first, 5, SIZE) && p.asked && p.told == 1,
       "callbacks are asked and told");
    ok(!use_entry(second, 5, SIZE) && stats_of(second).hits_callback == 1,
       "an entry comes from the callback");
    ok(!ompjit_cache_path(second), "memory mode has no folder");
    ompjit_context_destroy(second);
    p.bytes.data[p.bytes.size / 2] ^= 1;
    second = peer_context(&p);
    ok(use_entry(second, 5, SIZE) && stats_of(second).rejected == 1,
       "what a callback gives is checked");
    ompjit_context_destroy(first);
    ompjit_context_destroy(second);
    ompjit__buf_free(&p.bytes);
}

/* ------------------------------------------------------- export, import */

static int count_entry(void *data, const ompjit_cache_entry *entry)
{
    *(uint64_t *)data += entry->size != 0;
    return 0;
}

static void test_bundle(void)
{
    void *bytes, *all;
    size_t size, all_size;
    uint64_t n;
    ompjit_error err;
    fresh_folder();
    ompjit_context *ctx = open_context(0);
    for (unsigned i = 0; i < 5; i++)
        put_entry(ctx, i, SIZE);
    ompjit_context *user = open_context(0);
    get_entry(user, 1, SIZE), get_entry(user, 3, SIZE);
    ok(!ompjit_cache_export(user, 0, &bytes, &size, &err) &&
           !ompjit_cache_export(user, 1, &all, &all_size, &err) &&
           all_size > 2 * size && size > 2 * SIZE,
       "two used entries, and all five, are exported");
    void *none = NULL;
    size_t none_size;
    until_failure = MEMORY_FAILS ? 0 : -1;
    ok(!MEMORY_FAILS ||
           (ompjit_cache_export(user, 0, &none, &none_size, &err) ==
                OMPJIT_ERR_NO_MEMORY && !none),
       "without memory for the list of entries the export is an error");
    ompjit_status st[3];
    until_failure = MEMORY_FAILS ? 0 : -1;
    st[0] = ompjit_cache_export(user, 1, &none, &none_size, &err);
    until_failure = MEMORY_FAILS ? 0 : -1;
    st[1] = ompjit_cache_verify(user, &n, NULL, &err);
    until_failure = MEMORY_FAILS ? 0 : -1;
    st[2] = ompjit_cache_walk(user, "", count_entry, &n, &err);
    until_failure = -1;
    for (int i = 0; i < 3; i++)
        ok(!MEMORY_FAILS || st[i] == OMPJIT_ERR_NO_MEMORY,
           "so is one of all entries, a check, and a walk");
    if (!MEMORY_FAILS)
        ompjit_bytes_free(none);
    ompjit_context_destroy(ctx);
    ompjit_context_destroy(user);
    fresh_folder();
    ctx = open_context(0);
    user = open_context(0);
    ok(!ompjit_cache_import(ctx, bytes, size, &n, &err) && n == 2 &&
           get_entry(user, 1, SIZE) && get_entry(user, 3, SIZE) &&
           !get_entry(user, 2, SIZE),
       "and imported onto another disk");
    struct peer p = {.asked = 0};
    ompjit_context *diskless = peer_context(&p);
    ok(!ompjit_cache_import(diskless, all, all_size, &n, &err) && n == 5 &&
           get_entry(diskless, 4, SIZE) &&
           stats_of(diskless).hits_memory == 1,
       "or into memory");
    unsigned taken = 0;
    for (size_t i = 0; i < size; i += 7) {
        ((char *)bytes)[i] ^= 4;
        taken += !ompjit_cache_import(ctx, bytes, size, NULL, NULL);
        ((char *)bytes)[i] ^= 4;
    }
    for (size_t i = 9; i < size; i += 7)
        taken += !ompjit_cache_import(ctx, bytes, i, NULL, NULL);
    ok(!taken, "damaged and cut exports are refused");
    ok(ompjit_cache_import(ctx, "hello", 5, NULL, &err) ==
           OMPJIT_ERR_INVALID, "so is nonsense");
    ok_contains(err.text, "no export", "with a reason");
    ompjit_bytes_free(bytes);
    ompjit_bytes_free(all);
    ompjit_context_destroy(ctx);
    ompjit_context_destroy(user);
    ompjit_context_destroy(diskless);
    ompjit__buf_free(&p.bytes);
}

/* -------------------------------------------------------------- settings */

static const struct {
    const char *name, *value, *error; /* NULL: good */
} settings[] = {
    {"OMPJIT_CACHE", "0", NULL},
    {"OMPJIT_CACHE", "memory", NULL},
    {"OMPJIT_CACHE", "yes", "OMPJIT_CACHE=yes"},
    {"OMPJIT_CACHE_SIZE", "10M", NULL},
    {"OMPJIT_CACHE_SIZE", "1000", NULL},
    {"OMPJIT_CACHE_SIZE", "10X", "OMPJIT_CACHE_SIZE=10X"},
    {"OMPJIT_CACHE_SIZE", "-5", "OMPJIT_CACHE_SIZE=-5"},
    {"OMPJIT_CACHE_SIZE", "0", "OMPJIT_CACHE_SIZE=0"},
    {"OMPJIT_CACHE_SIZE", "99999999999T", "OMPJIT_CACHE_SIZE=999"},
    {"OMPJIT_DEVICE_HEAP", "64M", NULL},
    {"OMPJIT_DEVICE_HEAP", "64 MB", "OMPJIT_DEVICE_HEAP=64 MB"},
    {"OMPJIT_DEVICE_STACK", "4K", NULL},
    {"OMPJIT_DEVICE_STACK", "all", "OMPJIT_DEVICE_STACK=all"},
};

static void check_path(const char *name, const char *value, const char *want)
{
    ompjit_context *ctx;
    setenv("OMPJIT_CACHE", "1", 1);
    unsetenv("OMPJIT_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/h", 1);
    setenv(name, value, 1);
    ompjit_context_create(NULL, &ctx, NULL);
    ok_string(ompjit_cache_path(ctx), want, "%s=%s: %s", name, value,
              want ? want : "none");
    ompjit_context_destroy(ctx);
}

static void test_settings(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(settings); i++) {
        ompjit_error err = {.text = ""};
        ompjit_context *ctx = NULL;
        unsetenv("OMPJIT_CACHE");
        setenv(settings[i].name, settings[i].value, 1);
        ompjit_status status = ompjit_context_create(NULL, &ctx, &err);
        unsetenv(settings[i].name);
        if (settings[i].error)
            ok_contains(err.text, settings[i].error, "%s=%s is refused",
                        settings[i].name, settings[i].value);
        else
            ok(!status, "%s=%s", settings[i].name, settings[i].value);
        ompjit_context_destroy(ctx);
    }
    check_path("OMPJIT_CACHE_DIR", "/x/y", "/x/y");
    check_path("XDG_CACHE_HOME", "/x", "/x/ompjit");
    check_path("XDG_CACHE_HOME", "relative", "/h/.cache/ompjit");
    check_path("HOME", "/home/me", "/home/me/.cache/ompjit");
    check_path("HOME", "", NULL);
    check_path("OMPJIT_CACHE", "0", NULL);
}

int main(void)
{
    test_round();
    test_damage();
    test_text();
    test_folders();
    test_no_locks();
    test_read_only();
    test_full();
    test_limit();
    test_clock();
    test_callbacks();
    test_bundle();
    fresh_folder();
    test_settings();
    return done_testing();
}
