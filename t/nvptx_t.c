/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * IR to PTX to cubin for every architecture by every assembler; what is read
 * back against what the assemblers say; everything that can be missing.
 */
#include <signal.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/arch.h"
#include "backend/assemble.h"
#include "backend/nvrtc.h"
#include "gpu_ir.h"

static const char *self; /* this program, to be run again */

/* ---------------------------------------------------- the architectures */

static void architectures(void)
{
    static const char *const names[] = {"sm_75", "sm_80", "sm_86",  "sm_89",
                                        "sm_90", "sm_100", "sm_120", "host"};
    ompjit_error err = {0};
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++) {
        const ompjit__arch *row = ompjit__arch_at(i);
        ok_string(row ? row->name : NULL, names[i], "row %zu", i);
        ok(ompjit__arch_check(names[i], NULL) == OMPJIT_OK, "%s is known",
           names[i]);
    }
    ok(!ompjit__arch_at(OMPJIT__COUNT(names)), "there are no more");
    ok(ompjit__arch_check("sm_60", &err) == OMPJIT_ERR_TARGET,
       "sm_60 is unknown");
    ok_contains(err.text, "'sm_60'; there are sm_75, sm_80, sm_86, sm_89, "
                          "sm_90, sm_100, sm_120, host",
                "and the error lists those there are");
    ok(ompjit__arch_check(NULL, &err) == OMPJIT_ERR_TARGET, "none is unknown");
    LLVMTargetMachineRef tm;
    ok(ompjit__nvptx_machine("host", 3, &tm, &err) == OMPJIT_ERR_TARGET,
       "the host has no PTX");
    ok(ompjit__nvptx_machine("sm_9", 3, &tm, &err) == OMPJIT_ERR_TARGET,
       "a prefix is no name");
}

/* -------------------------------------------------------------------- PTX */

static const char with_lines[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @k(ptr %p) !dbg !3 {\n"
    "  store i32 1, ptr %p, !dbg !6\n"
    "  ret void, !dbg !6\n"
    "}\n"
    "!llvm.dbg.cu = !{!0}\n"
    "!llvm.module.flags = !{!2}\n"
    "!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, "
    "emissionKind: LineTablesOnly)\n"
    "!1 = !DIFile(filename: \"saxpy.c\", directory: \"/src\")\n"
    "!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
    "!3 = distinct !DISubprogram(name: \"k\", file: !1, line: 41, type: !4, "
    "unit: !0, spFlags: DISPFlagDefinition)\n"
    "!4 = !DISubroutineType(types: !5)\n"
    "!5 = !{}\n"
    "!6 = !DILocation(line: 42, column: 7, scope: !3)\n";

static const char other_asm[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @k() {\n"
    "  %a = call float asm \"sqrtss $0\", \"=x\"()\n"
    "  ret void\n"
    "}\n";

static void ptx_text(void)
{
    ompjit__buf ir = gpu_ir();
    ompjit_error err = {0};
    const ompjit__arch *row;
    for (size_t i = 0; (row = ompjit__arch_at(i)) && row->ptx_given; i++) {
        ompjit__buf ptx = {0};
        char version[32], target[32];
        snprintf(version, sizeof version, ".version %u.%u\n",
                 row->ptx_given / 10, row->ptx_given % 10);
        snprintf(target, sizeof target, ".target %s\n", row->name);
        ok(gpu_ptx(ir.data, row->name, &ptx, &err) == OMPJIT_OK,
           "PTX for %s: %s", row->name, err.text);
        ok_contains(ptx.data, version, "%s: the version given", row->name);
        ok_contains(ptx.data, target, "%s: the target", row->name);
        ok_contains(ptx.data, ".entry spills(", "%s: a kernel", row->name);
        ok(!strstr(ptx.data, ".loc\t"), "%s: no lines without debug info",
           row->name);
        ompjit__buf_free(&ptx);
    }
    ompjit__buf ptx = {0};
    ok(gpu_ptx(with_lines, "sm_80", &ptx, &err) == OMPJIT_OK, "debug info");
    ok_contains(ptx.data, ".loc\t1 42 7", "lines are kept");
    ok_contains(ptx.data, "saxpy.c", "with the file");
    size_t before = ptx.size;
    ok(gpu_ptx(other_asm, "sm_80", &ptx, &err) == OMPJIT_ERR_COMPILE &&
           err.stage == OMPJIT_STAGE_CODEGEN,
       "assembly of another target is an error");
    ok_contains(err.text, "test.ll: no PTX: error: couldn't allocate output "
                          "register for constraint 'x'",
                "with LLVM's message");
    ok(ptx.size == before, "and nothing is added to the buffer");
    ompjit__buf_free(&ptx);
    ompjit__buf_free(&ir);
}

/* -------------------------------------- what is read against what is said */

/* The number before `words` in the n bytes after `from`; 0 if not there. */
static unsigned number_before(const char *from, size_t n, const char *words)
{
    const char *at = strstr(from, words);
    if (!at || at >= from + n)
        return 0;
    while (at > from && at[-1] == ' ')
        at--;
    while (at > from && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return (unsigned)strtoul(at, NULL, 10);
}

/* What the assembler's own words on one kernel come to. */
static ompjit_resources said(const char *log, const char *kernel)
{
    ompjit_resources r = {0};
    char words[64];
    snprintf(words, sizeof words, "Compiling entry function '%s'", kernel);
    const char *from = strstr(log, words);
    const char *used = from ? strstr(from, "Used ") : NULL;
    if (!used)
        return r;
    size_t n = (size_t)(used - from) + strcspn(used, "\n");
    r.registers = (unsigned)strtoul(used + 5, NULL, 10);
    r.shared_static = number_before(from, n, " bytes smem");
    r.constant = number_before(from, n, " bytes cmem[0]");
    r.spill_stores = number_before(from, n, " bytes spill stores");
    r.spill_loads = number_before(from, n, " bytes spill loads");
    r.local = number_before(from, n, " bytes cumulative stack size");
    unsigned frame = number_before(from, n, " bytes stack frame");
    r.local = frame > r.local ? frame : r.local;
    return r;
}

static const struct {
    const char *name;
    ompjit_status (*run)(ompjit__assembly *a, ompjit_error *err);
    ompjit_assembler number;
} assemblers[] = {
    {"nvJitLink", ompjit__nvjitlink, OMPJIT_ASSEMBLER_NVJITLINK},
    {"ptxas", ompjit__ptxas, OMPJIT_ASSEMBLER_PTXAS},
};

static const struct {
    const char *kernel;
    unsigned shared, least_local, threads;
    bool spills;
} kernels[] = {
    {"plain", 0, 0, 0, false},
    {"shared", 400, 0, 0, false},
    {"stack", 0, 256, 128, false},
    {"calls", 0, 32 + 128, 0, false},
    {"spills", 0, 1, 32, true},
};

static const ompjit_resources *find(const ompjit__image *image,
                                    const char *kernel)
{
    for (unsigned i = 0; i < image->nusage; i++)
        if (!strcmp(image->usage[i].symbol, kernel))
            return &image->usage[i].res;
    return NULL;
}

/* `calls` is left out of the comparison of stacks with nvJitLink, which says
 * the frame alone: it prints before its linker adds the callees'. */
static void compare(const char *what, const ompjit__image *image,
                    const char *log, bool whole_stack)
{
    ok(image->nusage == OMPJIT__COUNT(kernels), "%s: %u kernels", what,
       image->nusage);
    for (size_t i = 0; i < OMPJIT__COUNT(kernels); i++) {
        const char *name = kernels[i].kernel;
        const ompjit_resources *r = find(image, name);
        if (!ok(r != NULL, "%s: %s is there", what, name))
            continue;
        ompjit_resources w = said(log, name);
        ok(w.registers && r->registers == w.registers,
           "%s: %s: %u registers", what, name, r->registers);
        ok(r->shared_static == w.shared_static &&
               r->shared_static == kernels[i].shared,
           "%s: %s: %u bytes shared", what, name, r->shared_static);
        ok(r->local >= kernels[i].least_local &&
               (r->local == w.local ||
                (!whole_stack && !strcmp(name, "calls"))),
           "%s: %s: %u bytes of stack", what, name, r->local);
        ok(r->spill_stores == w.spill_stores &&
               r->spill_loads == w.spill_loads &&
               !r->spill_stores == !kernels[i].spills,
           "%s: %s: %u and %u bytes spilled", what, name, r->spill_stores,
           r->spill_loads);
        ok(r->constant && (!w.constant || r->constant == w.constant),
           "%s: %s: %u bytes constant", what, name, r->constant);
        ok(r->max_threads == kernels[i].threads && r->code,
           "%s: %s: %u threads at most, %u bytes code", what, name,
           r->max_threads, r->code);
    }
}

/* Assembles twice: by itself for its log, and as the library does. */
static void check_one(size_t which, const char *arch, const ompjit__buf *ptx)
{
    const ompjit__arch *row;
    ompjit__arch_find(arch, &row, NULL);
    ompjit__assembly a = {.arch = row, .ptx = ptx};
    ompjit__image image = {0};
    ompjit_error err = {0};
    struct ompjit_context ctx = {.assembler = assemblers[which].number};
    char what[64];
    snprintf(what, sizeof what, "%s, %s", assemblers[which].name, arch);
    ok(assemblers[which].run(&a, &err) == OMPJIT_OK, "%s: runs: %s", what,
       err.text);
    ok(ompjit__assemble(&ctx, arch, ptx, &image, &err) == OMPJIT_OK,
       "%s: assembles", what);
    ok(image.kind == OMPJIT__IMAGE_CUBIN && !strcmp(image.arch, arch) &&
           image.ptx.size == ptx->size,
       "%s: a cubin with its PTX", what);
    compare(what, &image, a.log.data ? a.log.data : "",
            assemblers[which].number == OMPJIT_ASSEMBLER_PTXAS);
    ompjit__image_free(&image);
    ompjit__buf_free(&a.cubin);
    ompjit__buf_free(&a.log);
}

static bool is_there(size_t which)
{
    ompjit__buf ptx = {0}, ir = gpu_ir();
    struct ompjit_context ctx = {.assembler = assemblers[which].number};
    ompjit__image image = {0};
    ompjit_error err;
    gpu_ptx(ir.data, "sm_80", &ptx, NULL);
    ompjit_status s = ompjit__assemble(&ctx, "sm_80", &ptx, &image, &err);
    if (s == OMPJIT_ERR_UNAVAILABLE)
        printf("# skipped: no CUDA toolkit on this machine: %.*s\n",
               (int)strcspn(err.text, "\n"), err.text);
    ompjit__image_free(&image);
    ompjit__buf_free(&ptx);
    ompjit__buf_free(&ir);
    return s != OMPJIT_ERR_UNAVAILABLE;
}

static void cubins(size_t which)
{
    ompjit__buf ir = gpu_ir();
    const ompjit__arch *row;
    for (size_t i = 0; (row = ompjit__arch_at(i)) && row->ptx_given; i++) {
        ompjit__buf ptx = {0};
        gpu_ptx(ir.data, row->name, &ptx, NULL);
        check_one(which, row->name, &ptx);
        ompjit__buf_free(&ptx);
    }
    ompjit__buf_free(&ir);

    ompjit__buf ptx = {0};
    struct ompjit_context ctx = {.assembler = assemblers[which].number};
    ompjit__image image = {0};
    gpu_ptx(with_lines, "sm_90", &ptx, NULL);
    ok(ompjit__assemble(&ctx, "sm_90", &ptx, &image, NULL) == OMPJIT_OK &&
           memmem(image.bytes.data, image.bytes.size, "saxpy.c", 7),
       "%s: lines reach the cubin", assemblers[which].name);
    ompjit__image_free(&image);
    ompjit__buf_free(&ptx);
}

/* ---------------------------------------------------------------- bad PTX */

static const struct {
    const char *what, *arch, *ptx;
    ompjit_status status;
    const char *words;
} bad_ptx[] = {
    {"an unknown instruction", "sm_80",
     ".version 7.8\n.target sm_80\n.address_size 64\n"
     ".visible .entry k() {\n\tfrobnicate;\n\tret;\n}\n",
     OMPJIT_ERR_ASSEMBLE, "line 5; "},
    {"an undefined function", "sm_80",
     ".version 7.8\n.target sm_80\n.address_size 64\n"
     ".extern .func nowhere;\n"
     ".visible .entry k() {\n\tcall nowhere;\n\tret;\n}\n",
     OMPJIT_ERR_ASSEMBLE, "nowhere"},
    {"PTX for a later architecture", "sm_80",
     ".version 7.8\n.target sm_90\n.address_size 64\n",
     OMPJIT_ERR_ASSEMBLE, "SM version specified by .target is higher"},
    {"PTX of a later version", "sm_80",
     ".version 19.8\n.target sm_80\n.address_size 64\n",
     OMPJIT_ERR_UNAVAILABLE, "Unsupported .version 19.8"},
    {"no PTX", "sm_80", ".version 7.8\n.target sm_80\nHello\n",
     OMPJIT_ERR_ASSEMBLE, "line 3; "},
    {"nothing", "sm_80", "", OMPJIT_ERR_ASSEMBLE, "the PTX for sm_80 is empty"},
    {"the host", "host", ".version 7.8\n", OMPJIT_ERR_TARGET, "'host'"},
    {"an unknown architecture", "sm_61", ".version 7.8\n", OMPJIT_ERR_TARGET,
     "there are sm_75"},
};

static void refused(ompjit_assembler number, const char *by)
{
    for (size_t i = 0; i < OMPJIT__COUNT(bad_ptx); i++) {
        ompjit__buf ptx = {0};
        ompjit__buf_printf(&ptx, "%s", bad_ptx[i].ptx);
        struct ompjit_context ctx = {.assembler = number};
        ompjit__image image = {.kind = OMPJIT__IMAGE_OBJECT};
        ompjit_error err = {0};
        ompjit_status s =
            ompjit__assemble(&ctx, bad_ptx[i].arch, &ptx, &image, &err);
        ok(s == bad_ptx[i].status, "%s: %s: %s", by, bad_ptx[i].what,
           ompjit_status_name(s));
        ok_contains(err.text, bad_ptx[i].words, "%s: %s: the log", by,
                    bad_ptx[i].what);
        ok(image.kind == OMPJIT__IMAGE_OBJECT && !image.bytes.data,
           "%s: %s: no image", by, bad_ptx[i].what);
        ompjit__buf_free(&ptx);
    }
}

/* ------------------------------------------- what is not there, or is odd */

struct result {
    ompjit_status status;
    ompjit_error err;
    unsigned left; /* files in TMPDIR afterwards */
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
     OMPJIT_ERR_UNAVAILABLE, "ptxas not found:", "none/bin/ptxas: no such file"},
    {"a ptxas that fails", OMPJIT_ASSEMBLER_PTXAS, "fails",
     "#!/bin/sh\necho words of the assembler >&2\nexit 3\n", "sm_80",
     OMPJIT_ERR_ASSEMBLE, "fails/bin/ptxas for sm_80:",
     "words of the assembler"},
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

static void child(const struct odd *row, const char *folder, struct result *r)
{
    ompjit__buf ptx = {0};
    struct ompjit_context ctx = {.assembler = row->number};
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
    }
    munmap(r, sizeof *r);
    remove_tree(folder);
}

/* With SIGCHLD ignored the exit status is lost; with a spoilt TMPDIR there is
 * nowhere to write. */
static void surroundings(void)
{
    ompjit__buf ir = gpu_ir(), ptx = {0};
    struct ompjit_context ctx = {.assembler = OMPJIT_ASSEMBLER_PTXAS};
    ompjit__image image = {0};
    ompjit_error err = {0};
    gpu_ptx(ir.data, "sm_80", &ptx, NULL);
    signal(SIGCHLD, SIG_IGN);
    ok(ompjit__assemble(&ctx, "sm_80", &ptx, &image, &err) == OMPJIT_OK,
       "ptxas works where SIGCHLD is ignored: %s", err.text);
    ompjit__image_free(&image);
    signal(SIGCHLD, SIG_DFL);
    char *old = getenv("TMPDIR");
    old = old ? strdup(old) : NULL;
    setenv("TMPDIR", "/nonexistent/folder", 1);
    ok(ompjit__assemble(&ctx, "sm_80", &ptx, &image, &err) == OMPJIT_ERR_IO,
       "no TMPDIR is an error");
    ok_contains(err.text, "/nonexistent/folder/ompjit-", "that names it");
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
    ompjit__buf_free(&ptx);
    ompjit__buf_free(&ir);
}

/* ------------------------------------------------------------- the driver */

/* Run again by driver() below, with a driver on the loader's path or none:
 * prints "status kind size nusage" and the error. */
static int as_driver(ompjit_assembler number)
{
    ompjit__buf ptx = {0};
    struct ompjit_context ctx = {.assembler = number};
    ompjit__image image = {0};
    ompjit_error err = {0};
    ompjit__buf_printf(&ptx, ".version 7.8\n");
    ompjit__buf_add(&ptx, "", 1);
    int s = ompjit__assemble(&ctx, "sm_80", &ptx, &image, &err);
    printf("%d %d %zu %u %s", s, (int)image.kind, image.bytes.size,
           image.nusage, err.text);
    return 0;
}

static void run_again(const char *environment, const char *number, char *out,
                      size_t size)
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
static void driver(void)
{
    char folder[] = "/tmp/ompjit-test-XXXXXX", out[6000], want[64];
    if (!ok(mkdtemp(folder) != NULL, "a folder"))
        return;
    char *link = ompjit__format("%s/libcuda.so.1", folder);
    char *path = ompjit__format("LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH", folder);
    FILE *f = fopen(link, "w"); /* no library, whatever the machine has */
    if (f)
        fclose(f);
    run_again(path, "3", out, sizeof out);
    if (!strncmp(out, "0 ", 2))
        printf("# skipped: this machine has a driver, so it cannot be missing\n");
    else {
        snprintf(want, sizeof want, "%d 0 0 0 ", OMPJIT_ERR_UNAVAILABLE);
        ok(!strncmp(out, want, strlen(want)), "no driver");
        ok_contains(out, "the CUDA driver not found:", "said so");
        ok_contains(out, "libcuda.so.1", "and what was tried");
        run_again(path, "0", out, sizeof out);
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
            run_again(path, number ? "3" : "0", out, sizeof out);
            snprintf(want, sizeof want, "0 %d 13 0 ", OMPJIT__IMAGE_PTX);
            ok_string(out, want, "the driver gets the PTX, assembler %d",
                      number);
        }
    }
    remove_tree(folder);
    free(link);
    free(path);
}

/* --------------------------------------------------------------- at once */

struct job {
    int number;
    unsigned registers[16]; /* of spills and calls, by architecture */
    unsigned failures;
};

static void *assemble_all(void *arg)
{
    struct job *job = arg;
    ompjit__buf ir = gpu_ir();
    const ompjit__arch *row;
    for (size_t i = 0; (row = ompjit__arch_at(i)) && row->ptx_given; i++) {
        ompjit__buf ptx = {0};
        ompjit__image image = {0};
        struct ompjit_context ctx = {
            .assembler = assemblers[job->number % 2].number};
        ompjit_error err = {0};
        job->failures +=
            gpu_ptx(ir.data, row->name, &ptx, &err) != OMPJIT_OK ||
            ompjit__assemble(&ctx, row->name, &ptx, &image, &err) != OMPJIT_OK;
        const ompjit_resources *r = find(&image, "calls");
        job->registers[i] = r ? r->registers : 0;
        r = find(&image, "spills");
        job->registers[i] += r ? 1000 * r->registers : 0;
        ompjit__image_free(&image);
        ompjit__buf_free(&ptx);
    }
    ompjit__buf_free(&ir);
    return NULL;
}

static void at_once(void)
{
    enum { N = 8 };
    struct job jobs[N] = {0}, alone[2] = {{.number = 0}, {.number = 1}};
    pthread_t threads[N];
    for (int i = 0; i < N; i++) {
        jobs[i].number = i;
        pthread_create(&threads[i], NULL, assemble_all, &jobs[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
        assemble_all(&alone[i]);
    for (int i = 0; i < N; i++)
        ok(!jobs[i].failures && jobs[i].registers[0] &&
               !memcmp(jobs[i].registers, alone[i % 2].registers,
                       sizeof jobs[i].registers),
           "thread %d of %d at once: the same as alone (%s)", i, N,
           assemblers[i % 2].name);
}

/* ------------------------------------------------- the rest of a toolkit */

static void nvrtc(void)
{
    static const char source[] =
        "extern \"C\" __global__ void k(float *p) { p[threadIdx.x] *= F; }\n";
    static const char *const options[] = {"-DF=2.0f", "--std=c++17"};
    ompjit__buf cubin = {0};
    ompjit_error err = {0};
    ok(ompjit__nvrtc_compile(source, "k.cu", "host", NULL, 0, &cubin, &err) ==
           OMPJIT_ERR_TARGET,
       "NVRTC does not compile for the host");
    ompjit_status s = ompjit__nvrtc_compile(source, "k.cu", "sm_90", options, 2,
                                            &cubin, &err);
    if (s == OMPJIT_ERR_UNAVAILABLE) {
        ok_contains(err.text, "NVRTC not found:", "no NVRTC, and said so");
        printf("# skipped: no NVRTC on this machine\n");
        return;
    }
    ompjit__usage *usage = NULL;
    unsigned n = 0;
    ok(!s && !ompjit__cubin_usage(cubin.data, cubin.size, &usage, &n, &err) &&
           n == 1 && usage->res.registers,
       "NVRTC makes a cubin: %s", err.text);
    ok_string(n ? usage->symbol : "", "k", "with its kernel");
    ompjit__image image = {.bytes = cubin, .usage = usage, .nusage = n};
    ompjit__image_free(&image);
    cubin = (ompjit__buf){0};
    ok(ompjit__nvrtc_compile(source, "k.cu", "sm_90", NULL, 0, &cubin, &err) ==
           OMPJIT_ERR_SOURCE && !cubin.size,
       "an undefined name is an error");
    ok_contains(err.text, "k.cu(1): error: identifier \"F\" is undefined",
                "with NVRTC's log");
}

static void libdevice(void)
{
    char *path = ompjit__libdevice_path();
    ompjit__buf bc = {0};
    if (!path) {
        printf("# skipped: no CUDA toolkit on this machine, no libdevice\n");
        return;
    }
    ok(!ompjit__read_file(path, &bc, NULL) && bc.size > 4 &&
           !memcmp(bc.data, "BC\xC0\xDE", 4),
       "%s is bitcode", path);
    ompjit__buf_free(&bc);
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
    self = argv[0];
    oddities(); /* before a library is loaded here */
    driver();
    architectures();
    ptx_text();
    bool all = true;
    for (size_t i = 0; i < OMPJIT__COUNT(assemblers); i++) {
        bool there = is_there(i);
        all &= there;
        if (there) {
            cubins(i);
            refused(assemblers[i].number, assemblers[i].name);
        }
    }
    if (all) {
        refused(OMPJIT_ASSEMBLER_AUTO, "auto");
        surroundings();
        at_once();
    }
    nvrtc();
    libdevice();
    wheels();
    return done_testing();
}
