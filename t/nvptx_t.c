/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * IR to PTX to cubin for every architecture by every assembler, and what is
 * read back against what the assemblers say.
 */
#include "passes/gpu/gpu.h"
#include "targets/arch.h"
#include "backend/nvptx/assemble.h"
#include "backend/cuda/nvrtc.h"
#include "gpu_ir.h"
#include "ompjit_tune.h"

/* ---------------------------------------------------- the architectures */

static void architectures(void)
{
    static const char *const names[] = {"sm_75", "sm_80", "sm_86",  "sm_89",
                                        "sm_90", "sm_100", "sm_120", "host",
                                        "x86-64", "x86-64-v3", "aarch64",
                                        "neoverse-v2"};
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
                          "sm_90, sm_100, sm_120, host, x86-64"
                ", x86-64-v3, aarch64, neoverse-v2",
                "and the error lists those there are");
    ok(ompjit__arch_check(NULL, &err) == OMPJIT_ERR_TARGET, "none is unknown");
    LLVMTargetMachineRef tm;
    ok(ompjit__nvptx_machine("host", 0, 3, &tm, &err) == OMPJIT_ERR_TARGET,
       "the host has no PTX");
    ok(ompjit__nvptx_machine("sm_9", 0, 3, &tm, &err) == OMPJIT_ERR_TARGET,
       "a prefix is no name");
}

/* -------------------------------------------------------------------- PTX */

#define WITH_DEBUG(kind)                                                       \
    "target triple = \"nvptx64-nvidia-cuda\"\n"                                \
    "define ptx_kernel void @k(ptr %p, i32 %n) !dbg !3 {\n"                    \
    "  %q = getelementptr i32, ptr %p, i32 %n, !dbg !6\n"                      \
    "  %v = load i32, ptr %q, !dbg !6\n"                                       \
    "  %w = mul i32 %v, %n, !dbg !6\n"                                         \
    "  store i32 %w, ptr %p, !dbg !6\n"                                        \
    "  ret void, !dbg !6\n"                                                    \
    "}\n"                                                                      \
    "!llvm.dbg.cu = !{!0}\n"                                                   \
    "!llvm.module.flags = !{!2}\n"                                             \
    "!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, "           \
    "emissionKind: " kind ")\n" DEBUG_REST
#define DEBUG_REST                                                             \
    "!1 = !DIFile(filename: \"saxpy.c\", directory: \"/src\")\n"               \
    "!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n"                          \
    "!3 = distinct !DISubprogram(name: \"k\", file: !1, line: 41, type: !4, "  \
    "unit: !0, spFlags: DISPFlagDefinition)\n"                                 \
    "!4 = !DISubroutineType(types: !5)\n"                                      \
    "!5 = !{}\n"                                                               \
    "!6 = !DILocation(line: 42, column: 7, scope: !3)\n"

/* Line information: clang's default, and what other IR may have. */
static const char *const with_debug[] = {
    WITH_DEBUG("DebugDirectivesOnly"),
    WITH_DEBUG("LineTablesOnly"),
    WITH_DEBUG("FullDebug"),
};

static const char needs_73[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @k(ptr %p, i32 %n) {\n"
    "  %a = alloca i8, i32 %n\n"
    "  store volatile ptr %a, ptr %p\n"
    "  ret void\n"
    "}\n";

/* For a driver that reads PTX up to `newest`; 0: for any. */
static ompjit_status ptx_up_to(unsigned newest, const char *ir,
                               const char *arch, ompjit__buf *ptx,
                               ompjit_error *err)
{
    struct ir_text t;
    ompjit_status s = ir_text_open(&t, ir, err);
    if (!s)
        s = ompjit__nvptx_machine(arch, newest, 3, &t.tm, err);
    if (!s)
        s = ompjit__nvptx_emit(t.m, t.tm, NULL, OMPJIT__PASSES_ALL, ptx, err);
    ir_text_close(&t);
    return s;
}

/* The version that stands in the text is the newest that the driver reads,
 * unless that is more than we give, or less than is needed. */
static void versions(void)
{
    static const struct {
        unsigned cuda, ptx;
        const char *arch, *text; /* NULL: an error */
    } rows[] = {
        {0, 0, "sm_75", ".version 7.8\n"},
        {110, 70, "sm_75", ".version 7.0\n"},
        {110, 70, "sm_80", ".version 7.0\n"},
        {110, 70, "sm_86", NULL},
        {112, 72, "sm_86", ".version 7.2\n"},
        {112, 72, "sm_90", NULL},
        {115, 75, "sm_75", ".version 7.5\n"},
        {118, 78, "sm_90", ".version 7.8\n"},
        {120, 80, "sm_90", ".version 7.8\n"},
        {126, 85, "sm_100", NULL},
        {127, 86, "sm_100", ".version 8.6\n"},
        {128, 87, "sm_120", ".version 8.7\n"},
        {139, 91, "sm_120", ".version 8.7\n"},
    };
    ompjit__buf ir = gpu_ir();
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__buf ptx = {0};
        ompjit_error err = {0};
        unsigned newest = ompjit__ptx_of_cuda(rows[i].cuda);
        ok(newest == rows[i].ptx, "CUDA of %u reads PTX of %u", rows[i].cuda,
           rows[i].ptx);
        ompjit_status s = ptx_up_to(newest, ir.data, rows[i].arch, &ptx, &err);
        ok(s == (rows[i].text ? OMPJIT_OK : OMPJIT_ERR_TARGET), "%s: %s",
           rows[i].arch, err.text);
        if (rows[i].text)
            ok_contains(ptx.data, rows[i].text, "the version");
        else
            ok_contains(err.text, ", and the driver reads no newer than",
                        "the error");
        ompjit__buf_free(&ptx);
    }
    ompjit__buf ptx = {0};
    ompjit_error err = {0};
    ok(ptx_up_to(72, needs_73, "sm_75", &ptx, &err) == OMPJIT_ERR_COMPILE,
       "stack memory of variable size for CUDA 11.2");
    ok_contains(err.text, "PTX ISA version 7.3", "says what it needs");
    ok(!ptx_up_to(73, needs_73, "sm_75", &ptx, &err),
       "for 11.3 it is possible");
    ompjit__buf_free(&ptx);
    ompjit__buf_free(&ir);
}

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
    for (size_t i = 0; i < OMPJIT__COUNT(with_debug); i++) {
        ompjit__buf_free(&ptx);
        ok(gpu_ptx(with_debug[i], "sm_80", &ptx, &err) == OMPJIT_OK,
           "debug info of kind %zu", i);
        ok_contains(ptx.data, ".loc\t1 42 7", "lines are kept");
        ok_contains(ptx.data, "saxpy.c", "with the file");
        ok_contains(ptx.data, "\n.target sm_80\n", "and optimization allowed");
        ok(strlen(ptx.data) == ptx.size && ptx.data[ptx.size - 1] == '\n',
           "the text is whole");
    }
    size_t before = ptx.size;
    ok(gpu_ptx(other_asm, "sm_80", &ptx, &err) == OMPJIT_ERR_COMPILE &&
           err.stage == OMPJIT_STAGE_CODEGEN,
       "assembly of another target is an error");
    ok_contains(err.text, "test.ll: no code: error: couldn't allocate output "
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

/* The resources of one kernel by the assembler's own words. */
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
    ompjit__compiler ctx = {.assembler = assemblers[which].number};
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
    ompjit__compiler ctx = {.assembler = assemblers[which].number};
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

/* The cubin has lines, and the same code as with lines alone. */
static void lines_in_cubin(size_t which, size_t kind)
{
    ompjit__compiler ctx = {.assembler = assemblers[which].number};
    uint32_t code[2] = {0};
    bool lines = false;
    for (int i = 0; i < 2; i++) {
        ompjit__buf ptx = {0};
        ompjit__image image = {0};
        gpu_ptx(with_debug[i ? kind : 0], "sm_90", &ptx, NULL);
        ompjit__assemble(&ctx, "sm_90", &ptx, &image, NULL);
        if (image.nusage == 1)
            code[i] = image.usage->res.code;
        lines = memmem(image.bytes.data, image.bytes.size, "saxpy.c", 7) &&
                memmem(image.bytes.data, image.bytes.size, ".debug_line", 11);
        ompjit__image_free(&image);
        ompjit__buf_free(&ptx);
    }
    ok(lines, "%s: lines reach the cubin", assemblers[which].name);
    ok(code[0] && code[0] == code[1], "%s: and %u bytes of code",
       assemblers[which].name, code[1]);
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

    for (size_t i = 0; i < OMPJIT__COUNT(with_debug); i++)
        lines_in_cubin(which, i);
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
        ompjit__compiler ctx = {.assembler = number};
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
        ompjit__compiler ctx = {
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
    ompjit__buf ptx = {0};
    ompjit_error err = {0};
    ok(ompjit__nvrtc_compile(NULL, source, "k.cu", "host", NULL, 0, &ptx,
                             &err) == OMPJIT_ERR_TARGET,
       "NVRTC does not compile for the host");
    ompjit_status s = ompjit__nvrtc_compile(NULL, source, "k.cu", "sm_90",
                                            options, 2, &ptx, &err);
    if (s == OMPJIT_ERR_UNAVAILABLE) {
        ok_contains(err.text, "NVRTC not found:", "no NVRTC, and said so");
        printf("# skipped: no NVRTC on this machine\n");
        return;
    }
    ok(!s && strlen(ptx.data) == ptx.size, "NVRTC makes PTX: %s", err.text);
    ok_contains(ptx.data, ".visible .entry k(", "with its kernel");
    ok_contains(ptx.data, ".target sm_90", "for its architecture");
    ompjit__buf_free(&ptx);
    ok(ompjit__nvrtc_compile(NULL, source, "k.cu", "sm_90", NULL, 0, &ptx, &err) ==
           OMPJIT_ERR_SOURCE && !ptx.size,
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

int main(void)
{
    architectures();
    ptx_text();
    versions();
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
        at_once();
    }
    nvrtc();
    libdevice();
    return done_testing();
}
