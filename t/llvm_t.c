/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * LLVM as a library: reading text and bitcode, whole, cut and spoilt; passes;
 * collected diagnostics; fatal errors that end a guard and not the process.
 */
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "backend/codegen/emit.h"
#include "backend/nvptx/nvptx.h"
#include "llvm/llvm.h"
#include "llvm/options.h"
#include "tap.h"

static const char good[] =
    "define i32 @f(ptr %p, i32 %n) {\n"
    "entry:\n"
    "  br label %loop\n"
    "loop:\n"
    "  %i = phi i32 [ 0, %entry ], [ %j, %loop ]\n"
    "  %s = phi i32 [ 0, %entry ], [ %t, %loop ]\n"
    "  %q = getelementptr i32, ptr %p, i32 %i\n"
    "  %v = load i32, ptr %q\n"
    "  %t = add i32 %s, %v\n"
    "  %j = add nuw i32 %i, 1\n"
    "  %c = icmp ult i32 %j, %n\n"
    "  br i1 %c, label %loop, label %out\n"
    "out:\n"
    "  ret i32 %t\n"
    "}\n"
    "@g = global [4 x i64] [i64 1, i64 2, i64 3, i64 4]\n";

/* ---------------------------------------------------------------- reading */

static const struct {
    const char *what, *text, *words, *more;
} bad_text[] = {
    {"garbage", "this is no IR", "snippet.ll:1:1: error: ", "top-level"},
    {"a cut function", "define void @f() {\n  ret", "snippet.ll:2:",
     "does not parse as LLVM IR text"},
    {"noise", "this\xe4\x03\xffis", "snippet.ll is neither LLVM bitcode nor IR",
     "its byte 5 is 0x03"},
    {"an undefined value", "define i32 @f() {\n  ret i32 %x\n}\n",
     "snippet.ll:2:11: error: use of undefined value '%x'", "ret i32 %x"},
    {"a typed pointer", "define void @f(i32* %p) {\n  ret void\n}\n",
     "snippet.ll:1:19: typed", "older than 15; the IR of clang 18 to 22"},
    {"a typed pointer after one in a string",
     "; *\n@\"*\" = global i32 0\ndefine void @f(ptr %p) {\n"
     "  %v = load i8*, i8** %p\n  ret void\n}\n",
     "snippet.ll:4:15: typed", "older than 15"},
};

static ompjit_status parse(const void *data, size_t size, ompjit_error *err)
{
    ompjit__buf messages = {0};
    LLVMContextRef context = ompjit__llvm_context(&messages);
    LLVMModuleRef m = NULL;
    ompjit_status status = ompjit__parse_ir(context, data, size, "snippet.ll",
                                            &messages, &m, err);
    if (m)
        LLVMDisposeModule(m);
    LLVMContextDispose(context);
    ompjit__buf_free(&messages);
    return status;
}

static void text(void)
{
    ompjit_error err;
    char *exact = ompjit__memdup(good, sizeof good - 1); /* no NUL after it */
    ok(parse(exact, sizeof good - 1, &err) == OMPJIT_OK, "good text parses");
    free(exact);
    for (size_t i = 0; i < OMPJIT__COUNT(bad_text); i++) {
        const char *what = bad_text[i].what;
        err.text[0] = 0;
        ok(parse(bad_text[i].text, strlen(bad_text[i].text), &err) ==
                   OMPJIT_ERR_IR &&
               err.stage == OMPJIT_STAGE_READ,
           "%s is a read error", what);
        ok_contains(err.text, bad_text[i].words, "%s: where", what);
        ok_contains(err.text, bad_text[i].more, "%s: what", what);
    }
    ok(parse("", 0, &err) == OMPJIT_ERR_IR, "nothing is no IR");
    ok_contains(err.text, "snippet.ll is empty", "and the error says so");
    ok(parse("define i32* @f", 4, NULL) == OMPJIT_ERR_IR, "err may be NULL");
    static const char star[] = "; i8*\n@\"i8*\" = global i32 0 ; i8*\n";
    ok(parse(star, sizeof star - 1, &err) == OMPJIT_OK,
       "a star in a comment or a name is no typed pointer");
}

static LLVMMemoryBufferRef good_bitcode(void)
{
    LLVMContextRef context = ompjit__llvm_context(NULL);
    LLVMModuleRef m = NULL;
    ompjit__parse_ir(context, good, sizeof good - 1, "good", NULL, &m, NULL);
    LLVMMemoryBufferRef bc = LLVMWriteBitcodeToMemoryBuffer(m);
    LLVMDisposeModule(m);
    LLVMContextDispose(context);
    return bc;
}

struct bytes {
    const void *data;
    size_t size;
};

static ompjit_status parse_bytes(void *arg, ompjit_error *err)
{
    const struct bytes *b = arg;
    return parse(b->data, b->size, err);
}

/* The copy makes every read past the cut one that valgrind sees. */
static bool is_refused(const char *data, size_t size, ompjit_error *err)
{
    struct bytes b = {ompjit__memdup(data, size), size};
    err->text[0] = 0;
    ompjit_status s = ompjit__guard(parse_bytes, &b, OMPJIT_STAGE_READ, err);
    free((void *)b.data);
    return (s == OMPJIT_ERR_IR || s == OMPJIT_ERR_COMPILE) && err->text[0];
}

static void bitcode(void)
{
    ompjit_error err;
    LLVMMemoryBufferRef bc = good_bitcode();
    const char *data = LLVMGetBufferStart(bc);
    size_t size = LLVMGetBufferSize(bc), accepted = 0, cuts = 0;
    ok(parse(data, size, &err) == OMPJIT_OK, "good bitcode parses");

    ompjit__buf wrapped = {0};
    const uint32_t head[] = {0x0B17C0DE, 0, 20, (uint32_t)size, 7};
    ompjit__buf_add(&wrapped, head, sizeof head);
    ompjit__buf_add(&wrapped, data, size);
    ok(parse(wrapped.data, wrapped.size, &err) == OMPJIT_OK,
       "so does wrapped bitcode");
    ok(is_refused(wrapped.data, 24, &err), "a cut wrapper does not");
    ok_contains(err.text, "does not parse as LLVM bitcode",
                "a wrapper is known as bitcode");
    ompjit__buf_free(&wrapped);

    /* Whole tables may be missing from the end without harm (symbol table,
     * string table of an empty module), so only the first nine tenths count. */
    for (size_t cut = 1; cut < size * 9 / 10; cut += cut < 64 ? 1 : 12, cuts++)
        accepted += !is_refused(data, cut, &err);
    ok(accepted == 0, "%zu cuts of bitcode are read errors", cuts);
    ok_contains(err.text, "snippet.ll does not parse as LLVM bitcode",
                "with the name");
    LLVMDisposeMemoryBuffer(bc);
}

/* ----------------------------------------------------------------- passes */

static void passes(void)
{
    ompjit__buf messages = {0};
    LLVMContextRef context = ompjit__llvm_context(&messages);
    LLVMModuleRef m = NULL;
    ompjit_error err;
    ompjit__parse_ir(context, good, sizeof good - 1, "sum", &messages, &m,
                     &err);
    LLVMTargetMachineRef tm;
    LLVMTargetRef target;
    char *triple = LLVMGetDefaultTargetTriple(), *cause;
    ok(!LLVMGetTargetFromTriple(triple, &target, &cause),
       "the native target is there");
    tm = LLVMCreateTargetMachine(target, triple, "", "",
                                 LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                 LLVMCodeModelDefault);
    ok(ompjit__run_passes(m, tm, "default<O3>", OMPJIT_STAGE_OPTIMIZE, &err) ==
           OMPJIT_OK,
       "O3 runs");
    char *ir = LLVMPrintModuleToString(m);
    ok_contains(ir, "vector.body", "the loop vectorizer is on");
    LLVMDisposeMessage(ir);
    ok(ompjit__run_passes(m, tm, "nosuchpass", OMPJIT_STAGE_OPTIMIZE, &err) ==
               OMPJIT_ERR_COMPILE &&
           err.stage == OMPJIT_STAGE_OPTIMIZE,
       "an unknown pass is an error of its stage");
    ok_contains(err.text, "sum: unknown pass name 'nosuchpass'",
                "with LLVM's message");
    ok(ompjit__run_passes(m, tm, "nosuchpass", OMPJIT_STAGE_READ, &err) ==
           OMPJIT_ERR_IR,
       "while reading it is an IR error");
    LLVMDisposeMessage(triple);
    LLVMDisposeTargetMachine(tm);
    LLVMDisposeModule(m);
    LLVMContextDispose(context);
    ompjit__buf_free(&messages);
}

#define DEBUG(version, node, rest)                                             \
    "define void @f() !dbg !1 { ret void }\n"                                  \
    "!llvm.module.flags = !{!0}\n"                                             \
    "!llvm.dbg.cu = !{!1}\n"                                                   \
    "!0 = !{i32 2, !\"Debug Info Version\", i32 " version "}\n"                \
    "!1 = " node "\n" rest

static const struct {
    const char *what, *text;
    ompjit_status status;
    const char *words; /* of the warning or the error */
} debug[] = {
    {"spoilt debug info", DEBUG("3", "!{}", ""), OMPJIT_OK,
     "warning: d.ll: debug information of version 3 is dropped: "},
    {"old debug info", DEBUG("2", "!{}", ""), OMPJIT_OK,
     "warning: d.ll: debug information of version 2 is dropped\n"},
    {"a bad module with debug info",
     DEBUG("3", "!{}", "@llvm.used = global i32 1\n"), OMPJIT_ERR_IR,
     "d.ll: invalid linkage for intrinsic global variable"},
};

static void debug_info(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(debug); i++) {
        ompjit__buf messages = {0};
        LLVMContextRef context = ompjit__llvm_context(&messages);
        LLVMModuleRef m = NULL;
        ompjit_error err = {0};
        ompjit_status s = ompjit__parse_ir(context, debug[i].text,
                                           strlen(debug[i].text), "d.ll",
                                           &messages, &m, &err);
        ok(s == debug[i].status, "%s: %s", debug[i].what,
           ompjit_status_name(s));
        ok_contains(s ? err.text : messages.data, debug[i].words, "%s: said",
                    debug[i].what);
        if (m)
            LLVMDisposeModule(m);
        LLVMContextDispose(context);
        ompjit__buf_free(&messages);
    }
}

static void diagnostics(void)
{
    ompjit__buf messages = {0};
    LLVMContextRef context = ompjit__llvm_context(&messages);
    ompjit__buf_printf(&messages, "warning: one\n");
    ok(ompjit__llvm_mark(context) == messages.size, "mark is at the end");
    ok(!ompjit__llvm_errors(context, 0), "a warning is no error");
    size_t mark = messages.size;
    ompjit__buf_printf(&messages, "warning: an error: no\n");
    ok(!ompjit__llvm_errors(context, 0), "words in a message do not count");
    ompjit__buf_printf(&messages, "error: broken\n");
    ok_string(ompjit__llvm_errors(context, mark),
              "warning: an error: no\nerror: broken\n", "an error does");
    ok(!ompjit__llvm_errors(context, messages.size), "but not an older one");
    LLVMContextDispose(context);
    ompjit__buf_free(&messages);
    context = LLVMContextCreate();
    ok(ompjit__llvm_mark(context) == 0 && !ompjit__llvm_errors(context, 0),
       "a context of somebody else's has no messages");
    LLVMContextDispose(context);
}

/* ----------------------------------------------------------------- guards */

/* An intrinsic of the CPU, which NVPTX cannot select. */
static const char unselectable[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "declare i64 @llvm.readcyclecounter()\n"
    "declare void @llvm.x86.sse2.mfence()\n"
    "define void @f() {\n"
    "  call void @llvm.x86.sse2.mfence()\n"
    "  ret void\n"
    "}\n";

/* LLVM's objects are lost with each fatal error, which is documented. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define EXPECT_LOSS(on) ((on) ? __lsan_disable() : __lsan_enable())
#else
#define EXPECT_LOSS(on) ((void)(on))
#endif

static ompjit_status select_it(void *arg, ompjit_error *err)
{
    LLVMContextRef context = ompjit__llvm_context(NULL);
    LLVMModuleRef m = NULL;
    LLVMTargetMachineRef tm;
    ompjit__buf ptx = {0};
    ompjit_status s = ompjit__parse_ir(context, arg, strlen(arg), "f", NULL,
                                       &m, err);
    if (!s)
        s = ompjit__nvptx_machine("sm_80", 0, 3, &tm, err);
    return s ? s : ompjit__nvptx_emit(m, tm, NULL, OMPJIT__PASSES_ALL, &ptx, err);
}

static ompjit_status nested(void *arg, ompjit_error *err)
{
    ompjit_status s =
        ompjit__guard(select_it, arg, OMPJIT_STAGE_CODEGEN, err);
    return s == OMPJIT_ERR_COMPILE
               ? ompjit__guard(select_it, arg, OMPJIT_STAGE_LINK, err)
               : OMPJIT_ERR_INTERNAL;
}

static ompjit_status plain(void *arg, ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API, "%s",
                        (const char *)arg);
}

/* The first guard is over when the fatal error comes. */
static ompjit_status one_after_another(void *arg, ompjit_error *err)
{
    ompjit__guard(plain, (void *)"words", OMPJIT_STAGE_LOAD, err);
    return select_it(arg, err);
}

static void *in_thread(void *arg)
{
    EXPECT_LOSS(true);
    for (int i = 0; i < 8; i++) {
        ompjit_error err = {0};
        ompjit_status s = ompjit__guard(select_it, (void *)unselectable,
                                        OMPJIT_STAGE_CODEGEN, &err);
        *(int *)arg += s == OMPJIT_ERR_COMPILE &&
                       strstr(err.text, "Cannot select") != NULL;
    }
    EXPECT_LOSS(false);
    return NULL;
}

static void guards(void)
{
    EXPECT_LOSS(true);
    ompjit_error err = {0};
    void *ir = (void *)unselectable;
    ok(ompjit__guard(plain, (void *)"words", OMPJIT_STAGE_LINK, &err) ==
           OMPJIT_ERR_NOT_FOUND,
       "a guard passes a status on");
    ok_string(err.text, "words", "and leaves its text alone");
    ok(ompjit__guard(select_it, ir, OMPJIT_STAGE_CODEGEN, &err) ==
               OMPJIT_ERR_COMPILE &&
           err.stage == OMPJIT_STAGE_CODEGEN,
       "a fatal error of the back end is a status");
    ok_contains(err.text, "LLVM gave up: Cannot select", "with LLVM's text");
    ok(ompjit__guard(nested, ir, OMPJIT_STAGE_LOAD, &err) ==
               OMPJIT_ERR_COMPILE &&
           err.stage == OMPJIT_STAGE_LINK,
       "guards nest, and the innermost catches");
    ok(ompjit__guard(one_after_another, ir, OMPJIT_STAGE_CODEGEN, &err) ==
               OMPJIT_ERR_COMPILE &&
           err.stage == OMPJIT_STAGE_CODEGEN,
       "a guard that is over catches no more");
    ok(ompjit__guard(select_it, ir, OMPJIT_STAGE_LINK, NULL) ==
           OMPJIT_ERR_COMPILE,
       "no error object is fine");
    pthread_t threads[4];
    int caught[4] = {0}, all = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, in_thread, &caught[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        all += caught[i];
    }
    EXPECT_LOSS(false);
    ok(all == 32, "threads are caught each for itself: %d of 32", all);
    ok(parse(good, sizeof good - 1, &err) == OMPJIT_OK, "LLVM lives on");
}

/* ---------------------------------------------------------------- options */

enum { PATIENCE_MS = 1000 };

struct runner {
    ompjit__opts opts;
    atomic_bool began;
};

static void *run_openmp_opt(void *data)
{
    struct runner *r = data;
    ompjit__llvm_options_begin(&r->opts);
    atomic_store(&r->began, true);
    ompjit__llvm_options_end();
    return NULL;
}

/* Does another thread's run of openmp-opt begin while this thread's lasts? */
static bool runs_beside(const char *mine, const char *others)
{
    ompjit__opts opts = {0};
    struct runner other = {0};
    pthread_t thread;
    ompjit__opt_set(&opts, mine, NULL);
    ompjit__opt_set(&other.opts, others, NULL);
    ompjit__llvm_options_begin(&opts);
    pthread_create(&thread, NULL, run_openmp_opt, &other);
    for (int ms = 0; ms < PATIENCE_MS && !atomic_load(&other.began); ms++)
        usleep(1000);
    bool together = atomic_load(&other.began);
    ompjit__llvm_options_end();
    pthread_join(thread, NULL);
    ok(atomic_load(&other.began), "%s beside %s: it runs then", others, mine);
    return together;
}

static void options(void)
{
    const char *plain = "ompjit-share-limit=64", *llvm = "openmp-opt-disable";
    ok(runs_beside("ompjit-coverage", plain),
       "options of this library hold up nobody");
    ok(!runs_beside(plain, llvm), "an option of LLVM's waits for others");
    ok(!runs_beside(llvm, plain), "and others for it");
}

int main(void)
{
    text();
    bitcode();
    passes();
    debug_info();
    diagnostics();
    guards();
    options();
    return done_testing();
}
