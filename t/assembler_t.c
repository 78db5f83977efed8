/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Assemblers that are missing, too old, or odd; where they are looked for; and
 * the driver as the last resort.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/nvptx/nvptx.h"
#include "passes/gpu/gpu.h"
#include "gpu_ir.h"

struct result {
    ompjit_status status;
    ompjit_error err;
    unsigned left;   /* files in TMPDIR afterwards */
    size_t logged;   /* bytes, of the longest message */
    char ending[64]; /* of it                         */
};

/* In a process of its own, because libraries are looked for once in each. */
struct odd {
    const char *what;
    ompjit_assembler number;
    const char *home;   /* OMPJIT_CUDA_HOME, below the test's folder; in
                           "fake*" there is t/fake_nvjitlink.c         */
    const char *script; /* bin/ptxas there, or NULL for none           */
    const char *arch;
    ompjit_status status;
    const char *words, *more;
};

/* 40 kB */
#define MUCH                                                               \
    "#!/bin/sh\ni=1000\nwhile [ $i -lt 3000 ]; do echo error $i of many; " \
    "i=$((i + 1)); done\nexit 1\n"

static const struct odd odd_rows[] = {
    {"no nvJitLink", OMPJIT_ASSEMBLER_NVJITLINK, "none", NULL, "sm_80",
     OMPJIT_ERR_UNAVAILABLE, "nvJitLink not found:", "none/lib64/libnvJitLink"},
    {"an nvJitLink of CUDA 12.0", OMPJIT_ASSEMBLER_NVJITLINK, "fake", NULL,
     "sm_80", OMPJIT_ERR_ASSEMBLE, "nvJitLink for sm_80:\nwords of nvJitLink",
     "words of nvJitLink"},
    {"that for a later architecture", OMPJIT_ASSEMBLER_NVJITLINK, "fake", NULL,
     "sm_120", OMPJIT_ERR_UNAVAILABLE, "nvJitLink 12.0 is too old for sm_120",
     "needs 12.8"},
    {"any, with that and a ptxas", OMPJIT_ASSEMBLER_AUTO, "fake2",
     "#!/bin/sh\necho words of ptxas\nexit 1\n", "sm_120",
     OMPJIT_ERR_ASSEMBLE, "fake2/bin/ptxas for sm_120:\nwords of ptxas",
     "ptxas"},
    {"no ptxas", OMPJIT_ASSEMBLER_PTXAS, "none", NULL, "sm_80",
     OMPJIT_ERR_UNAVAILABLE, "ptxas not found:",
     "none/bin/ptxas: no such file"},
    {"a ptxas that fails", OMPJIT_ASSEMBLER_PTXAS, "fails",
     "#!/bin/sh\necho words of the assembler >&2\nexit 3\n", "sm_80",
     OMPJIT_ERR_ASSEMBLE, "fails/bin/ptxas for sm_80:",
     "words of the assembler"},
    {"a ptxas that says much", OMPJIT_ASSEMBLER_PTXAS, "much", MUCH, "sm_80",
     OMPJIT_ERR_ASSEMBLE, "much/bin/ptxas for sm_80:\nerror 1000 of many\n",
     "\n... (cut; the context's log has all "},
    {"a ptxas that is killed", OMPJIT_ASSEMBLER_PTXAS, "killed",
     "#!/bin/sh\nkill -KILL $$\n", "sm_80", OMPJIT_ERR_ASSEMBLE,
     "ended by signal 9", "killed/bin/ptxas"},
    {"a ptxas that writes nothing", OMPJIT_ASSEMBLER_PTXAS, "lazy",
     "#!/bin/sh\nexit 0\n", "sm_80", OMPJIT_ERR_ASSEMBLE, "lazy/bin/ptxas",
     "sm_80"},
    {"a ptxas that writes no cubin", OMPJIT_ASSEMBLER_PTXAS, "liar",
     "#!/bin/sh\nwhile [ $1 != -o ]; do shift; done\necho no >$2\n", "sm_80",
     OMPJIT_ERR_ASSEMBLE, "no cubin we can read (3 bytes)", "ELF header"},
    {"a ptxas that is too old", OMPJIT_ASSEMBLER_PTXAS, "old",
     "#!/bin/sh\necho \"Value 'sm_80' is not defined for option "
     "'gpu-name'\"\nexit 1\n",
     "sm_80", OMPJIT_ERR_UNAVAILABLE, "is too old", "not defined for option"},
    {"a ptxas that does not end", OMPJIT_ASSEMBLER_PTXAS, "slow",
     "#!/bin/sh\nexec sleep 1000\n", "sm_80", OMPJIT_ERR_TIMEOUT,
     "did not end within 2500 ms", "slow/bin/ptxas"},
    {"a ptxas that is no program", OMPJIT_ASSEMBLER_PTXAS, "text", "\001\002",
     "sm_80", OMPJIT_ERR_UNAVAILABLE, "cannot run ", "text/bin/ptxas: "},
    {"an assembler with no such number", (ompjit_assembler)9, "none", NULL,
     "sm_80", OMPJIT_ERR_INVALID, "number 9", "assembler"},
};

static unsigned count_files(const char *folder)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static void write_script(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fputs(text, f);
    fclose(f);
    chmod(path, 0700);
}

/* A toolkit's folder as the row wants it, and the environment to match. */
static void set_up(const struct odd *row, const char *folder)
{
    char home[300], path[400], fake[4096];
    const char *build = getenv("builddir");
    snprintf(home, sizeof home, "%s/%s", folder, row->home);
    mkdir(home, 0700);
    snprintf(path, sizeof path, "%s/bin", home);
    mkdir(path, 0700);
    strcat(path, "/ptxas");
    if (row->script)
        write_script(path, row->script);
    snprintf(path, sizeof path, "%s/lib64", home);
    mkdir(path, 0700);
    strcat(path, "/libnvJitLink.so.12");
    snprintf(fake, sizeof fake, "%s/t/.libs/fake_nvjitlink.so",
             build ? build : ".");
    char *whole = realpath(fake, NULL);
    if (!strncmp(row->home, "fake", 4) && (!whole || symlink(whole, path)))
        printf("# no %s for row '%s'\n", fake, row->what);
    free(whole);
    setenv("OMPJIT_CUDA_HOME", home, 1);
    unsetenv("OMPJIT_CUDA_WHEELS");
    snprintf(path, sizeof path, "%s/tmp", folder);
    mkdir(path, 0700);
    setenv("TMPDIR", path, 1);
}

static void keep_longest(void *data, const char *message)
{
    struct result *r = data;
    size_t n = strlen(message), tail = sizeof r->ending - 1;
    if (n <= r->logged)
        return;
    r->logged = n;
    snprintf(r->ending, sizeof r->ending, "%s",
             message + (n > tail ? n - tail : 0));
}

static void child(const struct odd *row, const char *folder, struct result *r)
{
    ompjit__buf ptx = {0};
    ompjit__compiler ctx = {
        .assembler = row->number, .llvm_limit_ms = 2500, .log = keep_longest,
        .log_data = r};
    ompjit__image image = {0};
    set_up(row, folder);
    ompjit__buf_printf(&ptx, ".version 7.8\n");
    r->status = ompjit__assemble(&ctx, row->arch, &ptx, &image, &r->err);
    r->left = count_files(getenv("TMPDIR"));
    ompjit__image_free(&image);
    ompjit__buf_free(&ptx);
}

static void remove_tree(const char *folder)
{
    pid_t pid = fork();
    if (!pid) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

static void oddities(void)
{
    char folder[] = "/tmp/ompjit-test-XXXXXX";
    struct result *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!ok(mkdtemp(folder) && r != MAP_FAILED, "a folder"))
        return;
    for (size_t i = 0; i < OMPJIT__COUNT(odd_rows); i++) {
        const struct odd *row = &odd_rows[i];
        int how = 0;
        memset(r, 0, sizeof *r);
        pid_t pid = fork();
        if (!pid) {
            child(row, folder, r);
            _exit(0);
        }
        waitpid(pid, &how, 0);
        ok(how == 0 && r->status == row->status, "%s: %s", row->what,
           ompjit_status_name(r->status));
        ok_contains(r->err.text, row->words, "%s: said so", row->what);
        ok_contains(r->err.text, row->more, "%s: and more", row->what);
        ok(!r->left, "%s: no file is left behind", row->what);
        bool cut = strstr(r->err.text, "... (cut;");
        ok(cut ? r->logged > 38000 : !r->logged,
           "%s: the log has what the error has not: %zu bytes", row->what,
           r->logged);
        if (cut)
            ok_contains(r->ending, "error 2999 of many", "to the end");
    }
    munmap(r, sizeof *r);
    remove_tree(folder);
}

/* Without a log the error says how to get one. */
static void no_log(void)
{
    static char words[10000];
    ompjit__compiler ctx = {0};
    ompjit_error err = {0};
    memset(words, 'x', sizeof words - 1);
    ompjit__fail_reported(&ctx, &err, OMPJIT_ERR_ASSEMBLE,
                          OMPJIT_STAGE_ASSEMBLE,
                        "much: %s", words);
    ok(strlen(err.text) == OMPJIT_ERROR_TEXT - 1, "an error is full");
    ok_contains(err.text, "xx\n... (cut; with OMPJIT_LOG=1 stderr gets all "
                "10005 bytes)", "and says how much there is");
}

/* With SIGCHLD ignored the exit status is lost. With a spoilt TMPDIR there is
 * nowhere to write, which matters only where there is no /proc. */
static void surroundings(void)
{
    ompjit__buf ir = gpu_ir(), ptx = {0};
    ompjit__compiler ctx = {.assembler = OMPJIT_ASSEMBLER_PTXAS};
    ompjit__image image = {0};
    ompjit_error err = {0};
    gpu_ptx(ir.data, "sm_80", &ptx, NULL);
    signal(SIGCHLD, SIG_IGN);
    ompjit_status s = ompjit__assemble(&ctx, "sm_80", &ptx, &image, &err);
    if (s == OMPJIT_ERR_UNAVAILABLE) {
        printf("# skipped: no ptxas on this machine\n");
        goto out;
    }
    ok(s == OMPJIT_OK, "ptxas works where SIGCHLD is ignored: %s", err.text);
    ompjit__image_free(&image);
    signal(SIGCHLD, SIG_DFL);
    char *old = getenv("TMPDIR");
    old = old ? strdup(old) : NULL;
    setenv("TMPDIR", "/nonexistent/folder", 1);
    s = ompjit__assemble(&ctx, "sm_80", &ptx, &image, &err);
    if (access("/proc/self/fd", X_OK)) {
        ok(s == OMPJIT_ERR_IO, "no TMPDIR is an error");
        ok_contains(err.text, "/nonexistent/folder/ompjit-", "that names it");
    } else {
        ok(!s, "ptxas leaves no file in TMPDIR: %s", err.text);
        ompjit__image_free(&image);
    }
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
out:
    signal(SIGCHLD, SIG_DFL);
    ompjit__buf_free(&ptx);
    ompjit__buf_free(&ir);
}

/* ------------------------------------------------------------- the driver */

/* Run again by driver() below, with a driver on the loader's path or none:
 * prints "status kind size nusage" and the error. */
static int as_driver(ompjit_assembler number)
{
    ompjit__buf ptx = {0};
    ompjit__compiler ctx = {.assembler = number};
    ompjit__image image = {0};
    ompjit_error err = {0};
    ompjit__buf_printf(&ptx, ".version 7.8\n");
    ompjit__buf_add(&ptx, "", 1);
    int s = ompjit__assemble(&ctx, "sm_80", &ptx, &image, &err);
    printf("%d %d %zu %u %s", s, (int)image.kind, image.bytes.size,
           image.nusage, err.text);
    ompjit__buf_free(&ptx);
    ompjit__image_free(&image);
    return 0;
}

static void run_again(const char *self, const char *environment,
                      const char *number, char *out, size_t size)
{
    char *command = ompjit__format("OMPJIT_CUDA_HOME=/nonexistent "
                                   "OMPJIT_CUDA_WHEELS= %s '%s' %s 2>&1",
                                   environment, self, number);
    FILE *f = popen(command, "r");
    out[f ? fread(out, 1, size - 1, f) : 0] = 0;
    if (f)
        pclose(f);
    free(command);
}

/* For the loader any library of the right name is a driver. */
static void driver(const char *self)
{
    char folder[] = "/tmp/ompjit-test-XXXXXX", out[6000], want[64];
    if (!ok(mkdtemp(folder) != NULL, "a folder"))
        return;
    char *link = ompjit__format("%s/libcuda.so.1", folder);
    char *path = ompjit__format("LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH", folder);
    FILE *f = fopen(link, "w"); /* no library, whatever the machine has */
    if (f)
        fclose(f);
    run_again(self, path, "3", out, sizeof out);
    if (!strncmp(out, "0 ", 2))
        printf("# skipped: this machine has a driver: it cannot be missing\n");
    else {
        snprintf(want, sizeof want, "%d 0 0 0 ", OMPJIT_ERR_UNAVAILABLE);
        ok(!strncmp(out, want, strlen(want)), "no driver");
        ok_contains(out, "the CUDA driver not found:", "said so");
        ok_contains(out, "libcuda.so.1", "and what was tried");
        run_again(self, path, "0", out, sizeof out);
        ok(!strncmp(out, want, strlen(want)), "no assembler at all");
        ok_contains(out, "no assembler makes a cubin for sm_80:\n"
                         "nvJitLink not found:", "names the first");
        ok_contains(out, "\nptxas not found:", "and the second");
        ok_contains(out, "\nthe CUDA driver not found:", "and the third");
    }
    unlink(link);
    const char *libm = "/lib/x86_64-linux-gnu/libm.so.6";
    if (access(libm, R_OK))
        libm = "/lib/aarch64-linux-gnu/libm.so.6";
    if (symlink(libm, link) || access(link, R_OK)) {
        printf("# skipped: no library to take for a driver\n");
    } else {
        for (int number = 0; number <= 3; number += 3) {
            run_again(self, path, number ? "3" : "0", out, sizeof out);
            snprintf(want, sizeof want, "0 %d 13 0 ", OMPJIT__IMAGE_PTX);
            ok_string(out, want, "the driver gets the PTX, assembler %d",
                      number);
        }
    }
    remove_tree(folder);
    free(link);
    free(path);
}

static void wheels(void)
{
    char folder[] = "/tmp/ompjit-test-XXXXXX", path[600];
    static const char *const steps[] = {"/nvidia", "/cu13", "/nvvm",
                                        "/libdevice"};
    if (!ok(mkdtemp(folder) != NULL, "a folder"))
        return;
    setenv("OMPJIT_CUDA_HOME", "/nonexistent", 1);
    unsetenv("OMPJIT_CUDA_WHEELS");
    ok(!ompjit__libdevice_path(), "OMPJIT_CUDA_HOME and no other");
    snprintf(path, sizeof path, "%s", folder);
    for (size_t i = 0; i < OMPJIT__COUNT(steps); i++)
        mkdir(strcat(path, steps[i]), 0700);
    FILE *f = fopen(strcat(path, "/libdevice.10.bc"), "w");
    if (f)
        fclose(f);
    char *list = ompjit__format("/nonexistent::%s", folder);
    setenv("OMPJIT_CUDA_WHEELS", list, 1);
    char *found = ompjit__libdevice_path();
    ok_string(found, path, "a folder of wheels is looked into");
    free(found);
    free(list);
    unsetenv("OMPJIT_CUDA_HOME");
    unsetenv("OMPJIT_CUDA_WHEELS");
    remove_tree(folder);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return as_driver((ompjit_assembler)atoi(argv[1]));
    oddities(); /* before a library is loaded here */
    driver(argv[0]);
    surroundings();
    no_log();
    wheels();
    return done_testing();
}
