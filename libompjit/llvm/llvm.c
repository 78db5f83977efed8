/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM made fit for a library: initialised once, diagnostics collected rather
 * than printed, fatal errors turned into statuses, IR read from memory.
 */
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "base/alarm.h"
#include "formats/bitcode.h"
#include "base/stack.h"
#include "llvm/guard.h"
#include "llvm/llvm.h"
#include "llvm/no_memory.h"
#include "llvm/options.h"
#include "llvm/start.h"

/* ---------------------------------------------------------- fatal errors */

/* The innermost guard of a thread. */
struct guard {
    struct guard *outer;
    sigjmp_buf leave;
    char *reason;
    bool no_memory, too_late;
    atomic_bool in_llvm; /* may be left at any instruction of LLVM's */
    ompjit__alarm limit;
    const struct order *order;
    ompjit_status status;
};

static _Thread_local struct guard *innermost;

/* LLVM exits when this returns, so it does so only where nobody guards. The
 * handler belongs to our own copy of LLVM: nobody else's errors come here. */
static void fatal(const char *reason)
{
    struct guard *g = innermost;
    if (!g)
        return;
    g->reason = ompjit__strdup(reason);
    siglongjmp(g->leave, 1);
}

void ompjit__guard_leave(void)
{
    struct guard *g = innermost;
    if (!g)
        return;
    g->no_memory = true;
    siglongjmp(g->leave, 1);
}

/* ------------------------------------------------ the process's services */

static const ompjit__services *process; /* NULL: none were offered */

void ompjit__guard_attach(const ompjit__services *services)
{
    process = services;
    services->fault_ask(ompjit__guard_limit);
}

/* ------------------------------------------------------------ time limit */

/* The code of the library that LLVM is in. */
static struct {
    uintptr_t begin, end;
} code;

/* For dl_iterate_phdr: the segment that one of LLVM's functions is in, whether
 * LLVM is linked into this library or is one of its own. */
static int find_code(struct dl_phdr_info *info, size_t size, void *data)
{
    uintptr_t llvm = (uintptr_t)LLVMContextCreate;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || llvm < begin || llvm - begin >= p->p_memsz)
            continue;
        code.begin = begin;
        code.end = begin + p->p_memsz;
        return 1;
    }
    return 0;
}

/* In the signal handler. Outside of LLVM's own instructions, as in malloc, and
 * where the library holds locks of its own, the next signal is waited for. */
bool ompjit__guard_limit(const siginfo_t *info, uintptr_t pc)
{
    struct guard *g = innermost;
    if (!ompjit__alarm_is(info))
        return false;
    if (!g || !atomic_load_explicit(&g->in_llvm, memory_order_relaxed) ||
        pc < code.begin || pc >= code.end)
        return true;
    g->too_late = true;
    siglongjmp(g->leave, 1);
}

void ompjit__in_llvm(bool now)
{
    if (innermost)
        atomic_store_explicit(&innermost->in_llvm, now, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

/* -------------------------------------------------------- initialization */

/* Reading IR with spoilt debug information, LLVM prints; check_debug_info does
 * that work instead. Rows of five and more interleaved values LLVM would load
 * whole and shuffle, which takes half as long again as no vectors at all. */
static const char *const settings[] = {"libompjit",
                                      "-disable-auto-upgrade-debug-info",
                                      "-max-interleave-group-factor=4"};

/* A build takes megabytes and gives them back, an assembler too; with glibc's
 * first thresholds they go to the system each time and cost 1900 page faults in
 * the next build, a fifth of its time. glibc raises its thresholds when a block
 * as large is freed, unless the application has set them. */
static bool keep_heap(void)
{
    enum { BLOCK = 8 << 20 };
    void *volatile block = malloc(BLOCK);
    free(block);
    return block;
}

/* LLVM's start cannot fail, so it needs its memory for certain. */
static atomic_bool started;

static bool can_start(void)
{
    return atomic_load(&started) || keep_heap();
}

static void init(void)
{
    keep_heap();
    dl_iterate_phdr(find_code, NULL);
    ompjit__llvm_construct();
    LLVMInstallFatalErrorHandler(fatal);
    ompjit__handle_no_malloc();
    LLVMParseCommandLineOptions(OMPJIT__COUNT(settings), settings, "");
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
#define CPU(name, llvm, cpu, feature, types)                                   \
    LLVMInitialize##llvm##TargetInfo();                                        \
    LLVMInitialize##llvm##Target();                                            \
    LLVMInitialize##llvm##TargetMC();                                          \
    LLVMInitialize##llvm##AsmPrinter();                                        \
    LLVMInitialize##llvm##AsmParser();
#include "base/cpu.def"
    atomic_store(&started, true);
}

void ompjit__llvm_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init);
}

/* ---------------------------------------------------------------- guards */

/* The order that a guard carries out. */
struct order {
    ompjit_status (*f)(void *arg, ompjit_error *err);
    void *arg;
    unsigned limit_ms; /* 0: any time */
    ompjit_stage stage;
    ompjit_error *err;
    ompjit_status status; /* of one that was done in another thread */
};

static ompjit_status guard(const struct order *o);

/* The thread of guard_apart; `arg` is the order. */
static void *guard_here(void *arg)
{
    struct order *o = arg;
    o->status = guard(o);
    return NULL;
}

/* LLVM is written for a stack of 8 MiB. */
static ompjit_status guard_apart(const struct order *o)
{
    enum { STACK = 8 << 20 };
    struct order apart = *o;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    int cause = pthread_create(&thread, &attributes, guard_here, &apart);
    pthread_attr_destroy(&attributes);
    if (cause)
        return ompjit__fail(o->err, OMPJIT_ERR_NO_MEMORY, o->stage,
                            "this thread's stack is too small for LLVM, and "
                            "another one cannot be had: %s", strerror(cause));
    pthread_join(thread, NULL);
    return apart.status;
}

/* Is little left of this thread's stack? If nobody knows, there is enough. */
static bool is_cramped(void)
{
    enum { ENOUGH = 1 << 20 };
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t end = ompjit__stack_find();
    return end && here > end && here - end < ENOUGH;
}

static atomic_bool was_left;

bool ompjit__guard_was_left(void)
{
    return atomic_load(&was_left);
}

/* The error of a guard that was left. */
static ompjit_status failed(const struct guard *g, const struct order *o)
{
    atomic_store(&was_left, true);
    ompjit__llvm_options_end();
    if (g->no_memory)
        return ompjit__no_memory(o->err, o->stage);
    if (g->too_late)
        return ompjit__fail(o->err, OMPJIT_ERR_TIMEOUT, o->stage,
                            "LLVM did not end within %s",
                            ompjit__limit(o->limit_ms).text);
    return ompjit__fail(o->err, OMPJIT_ERR_COMPILE, o->stage,
                        "LLVM gave up: %s",
                        g->reason ? g->reason : "(out of memory)");
}

/* Without services, as in a worker, there is no limit here: the application
 * kills a worker that takes too long. */
static void begin_limit(struct guard *g, unsigned limit_ms)
{
    if (!limit_ms || !process)
        return;
    process->fault_hold();
    ompjit__alarm_begin(&g->limit, limit_ms, process->fault_signal());
}

static void end_limit(struct guard *g, unsigned limit_ms)
{
    if (!limit_ms || !process)
        return;
    ompjit__alarm_end(&g->limit);
    process->fault_drop();
}

/* The error of a fault, which only guards with services survive. */
static ompjit_status crashed(const struct order *o, const char *cause)
{
    ompjit_status status = o->stage == OMPJIT_STAGE_READ ? OMPJIT_ERR_IR
                                                         : OMPJIT_ERR_COMPILE;
    ompjit__llvm_options_end();
    return ompjit__fail(o->err, status, o->stage,
                        "LLVM fails with this module: %s", cause);
}

/* `arg` is the guard. Leaving it jumps back to here. */
static void run_order(void *arg)
{
    struct guard *g = arg;
    if (!sigsetjmp(g->leave, 0))
        g->status = g->order->f(g->order->arg, g->order->err);
    else
        g->status = failed(g, g->order);
}

/* No destructor of the frames that are left runs. Lost are: LLVM's objects on
 * the heap (pass managers, machine functions, the module, its context) and
 * what f itself allocated. LLVM holds no lock while it calls the handler. Its
 * faults and aborts, which broken IR brings about, end f in the same way. */
static ompjit_status guard(const struct order *o)
{
    struct guard g = {.outer = innermost, .order = o};
    char cause[256];
    if (!g.outer && is_cramped())
        return guard_apart(o);
    if (!can_start())
        return ompjit__no_memory(o->err, o->stage);
    ompjit__llvm_init();
    ompjit__handle_no_new();
    innermost = &g;
    begin_limit(&g, o->limit_ms);
    if (!process)
        run_order(&g);
    else if (!process->fault_guard(run_order, &g, cause, sizeof cause))
        g.status = crashed(o, cause);
    end_limit(&g, o->limit_ms);
    innermost = g.outer;
    free(g.reason);
    return g.status;
}

ompjit_status ompjit__guard(ompjit_status (*f)(void *arg, ompjit_error *err),
                            void *arg, ompjit_stage stage, ompjit_error *err)
{
    return guard(&(struct order){
        .f = f, .arg = arg, .stage = stage, .err = err});
}

ompjit_status ompjit__guard_within(unsigned limit_ms,
                                   ompjit_status (*f)(void *arg,
                                                      ompjit_error *err),
                                   void *arg, ompjit_stage stage,
                                   ompjit_error *err)
{
    return guard(&(struct order){.f = f, .arg = arg, .limit_ms = limit_ms,
                                 .stage = stage, .err = err});
}

/* ----------------------------------------------------------- diagnostics */

static const char *const severities[] = {
    [LLVMDSError] = "error: ",
    [LLVMDSWarning] = "warning: ",
    [LLVMDSNote] = "note: ",
};

/* One message a line (or more, where LLVM's own text has several). */
static void collect(LLVMDiagnosticInfoRef info, void *data)
{
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);
    if (!data || severity == LLVMDSRemark)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    size_t n = strlen(text);
    while (n && text[n - 1] == '\n')
        n--;
    ompjit__buf_printf(data, "%s%.*s\n", severities[severity], (int)n, text);
    LLVMDisposeMessage(text);
}

LLVMContextRef ompjit__llvm_context(ompjit__buf *messages)
{
    ompjit__llvm_init();
    LLVMContextRef context = LLVMContextCreate();
    ompjit__llvm_collect(context, messages);
    return context;
}

void ompjit__llvm_collect(LLVMContextRef context, ompjit__buf *messages)
{
    LLVMContextSetDiagnosticHandler(context, collect, messages);
}

static ompjit__buf *messages_of(LLVMContextRef context)
{
    if (LLVMContextGetDiagnosticHandler(context) != collect)
        return NULL;
    return LLVMContextGetDiagnosticContext(context);
}

size_t ompjit__llvm_mark(LLVMContextRef context)
{
    const ompjit__buf *messages = messages_of(context);
    return messages ? messages->size : 0;
}

const char *ompjit__llvm_errors(LLVMContextRef context, size_t mark)
{
    const ompjit__buf *messages = messages_of(context);
    if (!messages || messages->size <= mark)
        return NULL;
    const char *since = messages->data + mark;
    const char *word = severities[LLVMDSError];
    for (const char *line = since; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, word, strlen(word)))
            return since;
    }
    return NULL;
}

/* ---------------------------------------------------------------- passes */

static ompjit_status pass_failure(LLVMModuleRef m, ompjit_stage stage,
                                  const char *cause, ompjit_error *err)
{
    size_t n;
    const char *name = LLVMGetModuleIdentifier(m, &n);
    ompjit_status status =
        stage == OMPJIT_STAGE_READ ? OMPJIT_ERR_IR : OMPJIT_ERR_COMPILE;
    return ompjit__fail(err, status, stage, "%s: %s", name, cause);
}

ompjit_status ompjit__check_passes(LLVMModuleRef m, LLVMErrorRef failure,
                                   size_t mark, ompjit_stage stage,
                                   ompjit_error *err)
{
    if (failure) {
        char *text = LLVMGetErrorMessage(failure);
        ompjit_status status = pass_failure(m, stage, text, err);
        LLVMDisposeErrorMessage(text);
        return status;
    }
    const char *errors = ompjit__llvm_errors(LLVMGetModuleContext(m), mark);
    return errors ? pass_failure(m, stage, errors, err) : OMPJIT_OK;
}

ompjit_status ompjit__run_passes(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                 const char *passes, ompjit_stage stage,
                                 ompjit_error *err)
{
    size_t mark = ompjit__llvm_mark(LLVMGetModuleContext(m));
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
    LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
    ompjit__in_llvm(true);
    LLVMErrorRef failure = LLVMRunPasses(m, passes, tm, options);
    ompjit__in_llvm(false);
    LLVMDisposePassBuilderOptions(options);
    return ompjit__check_passes(m, failure, mark, stage, err);
}

/* --------------------------------------------------------------- reading */

/* By its first bytes: bitcode itself, or the wrapper that Apple's tools put
 * around it. */
static bool is_bitcode(const void *data, size_t size)
{
    static const unsigned char raw[] = {'B', 'C', 0xC0, 0xDE};
    static const unsigned char wrapper[] = {0xDE, 0xC0, 0x17, 0x0B};
    return size >= 4 && (!memcmp(data, raw, 4) || !memcmp(data, wrapper, 4));
}

/* The first `*` outside strings and comments. In text with opaque pointers
 * there is none; LLVM's parser still takes `i32*` for ptr without a word. */
static const char *typed_pointer(const char *text, size_t size)
{
    bool quoted = false, comment = false;
    for (const char *p = text, *end = text + size; p < end; p++) {
        if (comment)
            comment = *p != '\n';
        else if (*p == '"')
            quoted = !quoted;
        else if (*p == ';' && !quoted)
            comment = true;
        else if (*p == '*' && !quoted)
            return p;
    }
    return NULL;
}

static ompjit_status too_old(const char *name, const char *text,
                             const char *at, ompjit_error *err)
{
    unsigned line = 1, column = 1;
    for (; text < at; text++, column++) {
        if (*text == '\n') {
            line++;
            column = 0;
        }
    }
    return ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                        "%s:%u:%u: typed pointer: this IR is from an LLVM "
                        "older than 15; the IR of clang 18 to 22 is accepted",
                        name, line, column);
}

/* The place of the first byte that no text has; `size` if there is none. */
static size_t control_byte(const unsigned char *data, size_t size)
{
    size_t i = 0;
    while (i < size && (data[i] >= ' ' || (data[i] >= '\t' && data[i] <= '\r')))
        i++;
    return i;
}

static ompjit_status unreadable(const char *name, const void *data, size_t size,
                                const char *diagnosis, ompjit_error *err)
{
    size_t n = strlen(diagnosis);
    while (n && diagnosis[n - 1] == '\n')
        n--;
    bool bitcode = is_bitcode(data, size);
    size_t odd = bitcode ? size : control_byte(data, size);
    if (odd < size)
        return ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                            "%s is neither LLVM bitcode nor IR text: its byte "
                            "%zu is 0x%02x",
                            name, odd, ((const unsigned char *)data)[odd]);
    const char *what = bitcode ? "bitcode" : "IR text";
    if (ompjit__bitcode_check(data, size) == OMPJIT__BITCODE_CUT)
        what = "bitcode: it is truncated";
    return ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                        "%s does not parse as LLVM %s:\n%.*s", name, what,
                        (int)n, diagnosis);
}

/* The complaint of LLVM's verifier, malloc'd by LLVM; NULL where it is content.
 * */
static char *complaint(LLVMModuleRef m)
{
    char *text = NULL;
    if (LLVMVerifyModule(m, LLVMReturnStatusAction, &text))
        return text;
    LLVMDisposeMessage(text);
    return NULL;
}

/* Debug information that is spoilt or of another version is dropped with a
 * warning: it must not keep anybody from running a kernel. Whatever else is
 * wrong with a module that has any is an error. */
static ompjit_status check_debug_info(LLVMModuleRef m, const char *name,
                                      ompjit__buf *messages, ompjit_error *err)
{
    unsigned version = LLVMGetModuleDebugMetadataVersion(m);
    bool current = version == LLVMDebugMetadataVersion();
    char *cause = current ? complaint(m) : NULL;
    if (current && !cause)
        return OMPJIT_OK;
    if (LLVMStripModuleDebugInfo(m) && messages)
        ompjit__buf_printf(messages,
                           "warning: %s: debug information of version %u is "
                           "dropped%s%s\n",
                           name, version, cause ? ": " : "",
                           cause ? cause : "");
    LLVMDisposeMessage(cause);
    cause = current ? complaint(m) : NULL;
    if (!cause)
        return OMPJIT_OK;
    ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ, "%s: %s", name, cause);
    LLVMDisposeMessage(cause);
    return OMPJIT_ERR_IR;
}

ompjit_status ompjit__parse_ir(LLVMContextRef context, const void *data,
                               size_t size, const char *name,
                               ompjit__buf *messages, LLVMModuleRef *out,
                               ompjit_error *err)
{
    if (!size)
        return ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                            "%s is empty: neither LLVM IR nor bitcode", name);
    bool bitcode = is_bitcode(data, size);
    size_t mark = messages ? messages->size : 0;
    LLVMMemoryBufferRef memory =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(data, size, name);
    LLVMModuleRef m = NULL;
    char *diagnosis = NULL;
    bool failed = LLVMParseIRInContext2(context, memory, &m, &diagnosis);
    LLVMDisposeMemoryBuffer(memory);
    if (failed) {
        ompjit_status status = unreadable(name, data, size, diagnosis, err);
        LLVMDisposeMessage(diagnosis);
        return status;
    }
    const char *errors = ompjit__llvm_errors(context, mark);
    const char *star = bitcode ? NULL : typed_pointer(data, size);
    ompjit_status status =
        errors ? ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ, "%s: %s",
                              name, errors)
        : star ? too_old(name, data, star, err)
               : check_debug_info(m, name, messages, err);
    if (status)
        LLVMDisposeModule(m);
    else
        *out = m;
    return status;
}
