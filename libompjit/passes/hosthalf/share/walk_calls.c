/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls: of functions of the library and unknown ones, by pointer, of the
 * runtime, and of functions that others call back.
 *
 * ompjit__walk_step_call, at the end, tells them apart. The module's own
 * functions are walked through (walk_functions.c); all others do to memory what
 * host_calls.def says of their names. A function without a row may reach what
 * has escaped (points.c), and no more:
 *
 *   double *x = malloc(...), *y = malloc(...);
 *   keep(y);                                        y escapes
 *   #pragma omp target data map(tofrom: x[:n], y[:n])
 *   {
 *       #pragma omp target
 *       ... x[i] = y[i] = 1;
 *       unknown();                                  may read y: y is copied
 *   }                                               x is shared
 */
#include <string.h>

#include "frontend/describe/describe.h"
#include "passes/hosthalf/points/live.h"
#include "passes/hosthalf/share/walk_state.h"

enum { DEEP = 24 };

const char ompjit__unknown_call[] = "a function is called that is not known";
static const ompjit__call unknown = {OMPJIT__CALL_ANYTHING, true, true};

/* Ends the storage that an argument leads to. Behind that no read can find a
 * STALE value, if the entry is it for certain. Storage that is freed while it
 * is mapped is the allocator's, and other storage may get its addresses: a copy
 * back at the mapping's end would come to that. When the program ends (`ends`),
 * destructors free what is mapped still, which harms nothing as long as no
 * kernel runs any more: so the entry counts as written by the host. */
static void free_storage(ompjit__walk *w, ompjit__state *s, ompjit__access *a,
                         bool ends)
{
    for (unsigned i = 0; i < w->n; i++)
        if (!ompjit__has_storage(w->entries[i].type))
            continue;
        else if (ompjit__walk_is_at(w, &w->entries[i], a))
            s->of[i] = s->of[i] & OMPJIT__LIVE ? s->of[i] : OMPJIT__ENDED;
    for (unsigned i = 0; i < w->n; i++)
        if (!(s->of[i] & OMPJIT__LIVE) ||
            !ompjit__walk_may_be_in(w, &w->entries[i], a))
            continue;
        else if (ends)
            ompjit__walk_become(s, i, OMPJIT__HOST);
        else
            ompjit__walk_spoil(w, i, "it is freed while it is mapped");
}

/* OpenMP's functions know more than what they are given: what is mapped. An
 * example is omp_target_memcpy, which may copy to a device address that the
 * program got from omp_get_mapped_ptr. Inline assembly is taken for one. */
static bool knows_maps(LLVMValueRef call)
{
    static const char *const names[] = {"__tgt_", "__kmpc_", "omp",
                                        "kmp",    "GOMP_",   "acc"};
    const char *name = ompjit__callee_name(call);
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return LLVMIsAInlineAsm(LLVMGetCalledValue(call));
}

/* Is it a parallel region's function, which several threads run? */
static bool is_forked(LLVMValueRef f)
{
    enum { FUNCTION = 2 };
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (ompjit__is_host_call(call) &&
            !strncmp(ompjit__callee_name(call), "__kmpc_fork_", 12) &&
            LLVMGetNumArgOperands(call) > FUNCTION &&
            LLVMGetOperand(call, FUNCTION) == f)
            return true;
    }
    return false;
}

/* May other threads of a team run the region's code at the same time? They see
 * what this one has changed wherever it lets them go on: an unknown function
 * may unlock what they wait for. */
static bool is_in_parallel(const ompjit__walk *w, const ompjit__frame *frame)
{
    for (; frame; frame = frame->caller)
        if (frame->forks || is_forked(frame->f))
            return true;
    return is_forked(w->top);
}

/* Code of which nothing is known reads and writes what has escaped, and nothing
 * else; it returns once, where setjmp is not used. */
static void unknown_code(ompjit__walk *w, const ompjit__frame *frame,
                         ompjit__state *s, bool knows_maps)
{
    uint32_t watched = ompjit__walk_those(w, s, UINT32_MAX,
                                          OMPJIT__LIVE | OMPJIT__STALE),
             reached = 0;
    ompjit__access a = {.found = true};
    if (!w->points || w->jumps || knows_maps || is_in_parallel(w, frame)) {
        ompjit__walk_spoil_these(w, watched, ompjit__unknown_call);
        return;
    }
    a.targets = ompjit__points_outside(w->points);
    for (unsigned i = 0; i < w->n; i++)
        reached |= (uint32_t)ompjit__walk_may_be_in(w, &w->entries[i], &a) << i;
    ompjit__walk_spoil_these(w, watched & reached, ompjit__unknown_call);
    ompjit__walk_note_store(w, &a);
}

/* The effect of a known function on the storage of one pointer that it is
 * given. Copies (llvm.memcpy) are told apart by operand: 0 is where they write,
 * 1 where they read. Another function that writes may do both by each. */
static void argument(ompjit__walk *w, const ompjit__frame *frame,
                     ompjit__state *s, LLVMValueRef call, unsigned i,
                     ompjit__call_class class)
{
    bool is_copy = LLVMIsAMemIntrinsic(call) != NULL;
    ompjit__access a = ompjit__walk_access(frame, LLVMGetOperand(call, i));
    if (class == OMPJIT__CALL_FREES) {
        free_storage(w, s, &a, frame->ends);
        return;
    }
    if (!(is_copy && !i))
        ompjit__walk_touch(w, s, &a, false);
    if (class >= OMPJIT__CALL_WRITES && !(is_copy && i))
        ompjit__walk_touch(w, s, &a, true);
}

/* Does it print by a format that is not known, or that has %n? Such a function
 * writes where an argument says. */
static bool prints_into_arguments(LLVMValueRef call)
{
    static const char printf_[] = "printf";
    const char *name = ompjit__callee_name(call);
    size_t n = strlen(name), end = sizeof printf_ - 1;
    unsigned format = *name == 'f' || !strncmp(name, "vf", 2) ? 1 : 0;
    return n >= end && !strcmp(name + n - end, printf_) &&
           LLVMGetNumArgOperands(call) > format &&
           !ompjit__format_only_reads(LLVMGetOperand(call, format));
}

static void run_entries(ompjit__walk *w, const ompjit__frame *frame,
                        ompjit__state *s, LLVMValueRef call);

/* A function that is not the module's, or not known. One of which nothing is
 * known may call exit(), too, and be another object's code. Every one may wait
 * for another thread, or be where a signal arrives, so that functions which were
 * given away run there. */
void ompjit__walk_foreign_call(ompjit__walk *w, const ompjit__frame *frame,
                               ompjit__state *s, LLVMValueRef call,
                               ompjit__call known)
{
    if (known.class == OMPJIT__CALL_READS && prints_into_arguments(call))
        known.class = OMPJIT__CALL_WRITES;
    if (known.class == OMPJIT__CALL_ANYTHING) {
        unknown_code(w, frame, s, knows_maps(call));
        run_entries(w, frame, s, call);
        ompjit__walk_end_program(w, frame, s);
    } else if (known.class != OMPJIT__CALL_NOTHING) {
        for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
            if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, i))) ==
                LLVMPointerTypeKind)
                argument(w, frame, s, call, i, known.class);
    }
    if (frame->is_given && !LLVMIsAIntrinsicInst(call))
        ompjit__walk_run_given(w, frame, s, call);
}

/* Calls a function as often as may be with pointers into what the call's
 * arguments lead to, as qsort does. States are merged until another call adds
 * nothing. A function that is the region's own (w->top) cannot be walked from
 * inside: places would mix variables of two calls of it. */
static void call_back(ompjit__walk *w, const ompjit__frame *frame,
                      ompjit__state *s, LLVMValueRef call,
                      const ompjit__call_back *back)
{
    LLVMValueRef f = LLVMGetOperand(call, back->function);
    ompjit__frame inner = ompjit__walk_frame_in(frame, f, NULL);
    ompjit__state once = *s;
    if (!LLVMIsAFunction(f) || LLVMIsDeclaration(f) || f == w->top ||
        inner.depth > DEEP) {
        ompjit__walk_foreign_call(w, frame, s, call, unknown);
        return;
    }
    for (unsigned i = 0; i < OMPJIT__COUNT(back->argument); i++)
        inner.args[i] = ompjit__walk_widened(
            ompjit__place_of(frame, LLVMGetOperand(call, back->argument[i])));
    while (ompjit__walk_enter_frame(w, &inner, &once) &&
           ompjit__state_merge(s, &once, w->n))
        once = *s;
}

/* Calls a function from outside, once more. True: the state has grown. */
static bool run_from_outside(ompjit__walk *w, const ompjit__frame *frame,
                             ompjit__state *s, LLVMValueRef call,
                             LLVMValueRef f)
{
    ompjit__frame inner = ompjit__walk_frame_in(frame, f, NULL);
    ompjit__state once = *s;
    inner.called_back = true;
    if (f == w->top || inner.depth > DEEP) {
        ompjit__walk_spoil_all(w, ompjit__unknown_call);
        return false;
    }
    w->now = call;
    return ompjit__walk_enter_frame(w, &inner, &once) &&
           ompjit__state_merge(s, &once, w->n);
}

/* Another object's code calls functions of this one by their names, as often as
 * may be and in any order; but main. */
static void run_entries(ompjit__walk *w, const ompjit__frame *frame,
                        ompjit__state *s, LLVMValueRef call)
{
    bool news = w->linked && !frame->called_back;
    while (news) {
        LLVMValueRef f = LLVMGetFirstFunction(LLVMGetGlobalParent(w->top));
        for (news = false; f; f = LLVMGetNextFunction(f))
            if (!LLVMIsDeclaration(f) && ompjit__live_is_entry(f, false) &&
                !ompjit__live_is_entry(f, true))
                news |= run_from_outside(w, frame, s, call, f);
    }
}

/* Functions that functions outside were given are called as often as may be, in
 * any order and by any thread. A thread that waits in one has changed no more
 * than one that returns from it: those that map anything spoil all. */
void ompjit__walk_run_given(ompjit__walk *w, const ompjit__frame *frame,
                            ompjit__state *s, LLVMValueRef call)
{
    bool news = !frame->called_back;
    if (!w->points)
        ompjit__walk_spoil_these(
            w,
            ompjit__walk_those(w, s, UINT32_MAX, OMPJIT__LIVE | OMPJIT__STALE),
            ompjit__unknown_call);
    while (news && w->points) {
        unsigned i = 0;
        news = false;
        for (LLVMValueRef f;
             (f = ompjit__points_next_given(w->points, &i)) != NULL;)
            news |= run_from_outside(w, frame, s, call, f);
    }
}

/* A function that was registered to run at the program's end, with the argument
 * that it was registered with: __cxa_atexit(function, argument, module) has
 * one, which for a destructor is its variable, and atexit(function) none. */
static void run_at_end(ompjit__walk *w, const ompjit__frame *frame,
                       ompjit__state *s, LLVMValueRef call)
{
    enum { ARGUMENT = 1 };
    LLVMValueRef f = LLVMGetOperand(call, 0);
    ompjit__frame inner = ompjit__walk_frame_in(frame, f, NULL);
    if (!LLVMIsAFunction(f)) {
        ompjit__walk_spoil_these(
            w,
            ompjit__walk_those(w, s, UINT32_MAX, OMPJIT__LIVE | OMPJIT__STALE),
            "an unknown function runs at the end");
    } else if (inner.depth > DEEP || f == w->top) {
        ompjit__walk_spoil_all(w, "functions call each other deeply");
    } else if (!LLVMIsDeclaration(f)) {
        inner.ends = true;
        if (LLVMGetNumArgOperands(call) > ARGUMENT &&
            LLVMIsAConstant(LLVMGetOperand(call, ARGUMENT)))
            inner.args[0] =
                ompjit__place_of(frame, LLVMGetOperand(call, ARGUMENT));
        ompjit__walk_enter_frame(w, &inner, s);
    }
}

/* Functions that run at the program's end: destructors of variables, and what
 * the program gave to atexit. All that are registered anywhere in the module
 * run, twice over, since their order is not known: what one of them writes the
 * next one may read. The result is dropped, for nothing follows. */
void ompjit__walk_end_program(ompjit__walk *w, const ompjit__frame *frame,
                              const ompjit__state *at_end)
{
    static const char *const names[] = {"__cxa_atexit", "atexit"};
    enum { ROUNDS = 2 };
    ompjit__state last = *at_end, *s = &last;
    LLVMModuleRef m = LLVMGetGlobalParent(frame->f);
    for (int k = 0; k < 2 * ROUNDS && !frame->ends; k++) {
        LLVMValueRef registers = LLVMGetNamedFunction(m, names[k % 2]);
        LLVMUseRef u = registers ? LLVMGetFirstUse(registers) : NULL;
        for (; u; u = LLVMGetNextUse(u)) {
            ompjit__state one = *s;
            if (ompjit__is_host_call(LLVMGetUser(u)))
                run_at_end(w, frame, &one, LLVMGetUser(u));
            else
                ompjit__walk_spoil_these(
                    w,
                    ompjit__walk_those(w, s, UINT32_MAX,
                                       OMPJIT__LIVE | OMPJIT__STALE),
                    "an unknown function runs at the end");
            ompjit__state_merge(s, &one, w->n);
        }
    }
}

void ompjit__walk_handlers_of_others(ompjit__walk *w,
                                     const ompjit__frame *frame,
                                     ompjit__state *s, LLVMValueRef at)
{
    unknown_code(w, frame, s, false);
    run_entries(w, frame, s, at);
}

/* A function that is not the module's. Where others than main are called from
 * outside, the handlers that exit() runs are others' as well. */
void ompjit__walk_call_of_library(ompjit__walk *w, const ompjit__frame *frame,
                                  ompjit__state *s, LLVMValueRef call)
{
    const char *name = ompjit__callee_name(call);
    const ompjit__call_back *back = ompjit__call_back_of(name);
    if (!strcmp(name, "exit")) {
        ompjit__walk_end_program(w, frame, s);
        if (!w->whole)
            ompjit__walk_handlers_of_others(w, frame, s, call);
    }
    ompjit__walk_foreign_call(w, frame, s, call, ompjit__call_of(name));
    if (back)
        call_back(w, frame, s, call, back);
}

/* One function of those that an indirect call may reach. False: it does not
 * return, or has other parameters, so that the call cannot mean it. One that
 * calls back, as qsort, counts as unknown, since the operands for that
 * (host_calls.def) are read only where it is called by its name. */
static bool one_of_several(ompjit__walk *w, const ompjit__frame *frame,
                           ompjit__state *s, LLVMValueRef call, LLVMValueRef f)
{
    size_t n;
    if (!ompjit__may_call(call, f))
        return false;
    if (!LLVMIsDeclaration(f))
        return ompjit__walk_enter_function(w, frame, s, call, f, 0, 0);
    const char *name = LLVMGetValueName2(f, &n);
    ompjit__walk_foreign_call(
        w, frame, s, call,
        ompjit__call_back_of(name) ? unknown : ompjit__call_of(name));
    return true;
}

/* An indirect call: each function that it may reach begins in the same state,
 * and the states behind them are merged. points.c says which they are. */
static bool call_by_pointer(ompjit__walk *w, const ompjit__frame *frame,
                            ompjit__state *s, LLVMValueRef call)
{
    ompjit__callees callees;
    ompjit__state out = {0};
    bool returns = false;
    if (!w->points || !ompjit__points_callees(
                          w->points, LLVMGetCalledValue(call), &callees)) {
        ompjit__walk_spoil_these(
            w,
            ompjit__walk_those(w, s, UINT32_MAX, OMPJIT__LIVE | OMPJIT__STALE),
            ompjit__unknown_call);
        return true;
    }
    for (unsigned i = 0; i < callees.n; i++) {
        ompjit__state one = *s;
        if (one_of_several(w, frame, &one, call, callees.function[i])) {
            ompjit__state_merge(&out, &one, w->n);
            returns = true;
        }
    }
    if (callees.library) {
        ompjit__walk_foreign_call(w, frame, s, call, unknown);
        ompjit__state_merge(&out, s, w->n);
        returns = true;
    }
    *s = out;
    return returns;
}

/* Is operand 1 the region's device? Launches, data regions and updates have
 * their device number there. Constants of LLVM are one value each, so they can
 * be compared by address. -1 is the default device. */
static bool same_device(const ompjit__walk *w, LLVMValueRef call)
{
    return LLVMGetNumArgOperands(call) > OMPJIT__MAP_ARG_DEVICE_NUMBER &&
           LLVMGetOperand(call, OMPJIT__MAP_ARG_DEVICE_NUMBER) == w->device;
}

/* A parallel region: __kmpc_fork_call(location, n, function, n arguments...)
 * calls the function in each thread with two pointers to the thread's numbers
 * in front of the arguments. Threads that run a function one after the other do
 * as all do at once, where they do not race: the state behind one is a state
 * before the next, for ROUNDS threads. */
static bool fork(ompjit__walk *w, const ompjit__frame *frame, ompjit__state *s,
                 LLVMValueRef call)
{
    enum { FUNCTION = 2, ROUNDS = 4 };
    LLVMValueRef f = LLVMGetOperand(call, FUNCTION);
    ompjit__frame threads = *frame;
    ompjit__state in = *s;
    bool returns = true;
    threads.forks = true;
    if (!LLVMIsAFunction(f) || LLVMIsDeclaration(f)) {
        ompjit__walk_call_of_library(w, frame, s, call);
        return true;
    }
    for (int i = 0; i < ROUNDS && returns; i++) {
        *s = in;
        returns = ompjit__walk_enter_function(w, &threads, s, call, f,
                                              FUNCTION + 1, FUNCTION);
        ompjit__state_merge(&in, s, w->n);
    }
    return returns;
}

/* A task that launches a kernel, now or later: `target ... nowait`, for which
 * clang makes a task by __kmpc_omp_target_task_alloc. Its function is walked
 * through as if it ran here, and from now on the host must not write what is
 * mapped (PENDING):
 *
 *   #pragma omp target nowait
 *   y = x[0];
 *   x[0] = 2;             in shared storage the kernel may see this
 *   #pragma omp taskwait
 *
 * A task of another kind, such as a deferred `target update`, is unknown. */
static void defer(ompjit__walk *w, const ompjit__frame *frame, ompjit__state *s,
                  LLVMValueRef call)
{
    enum { TASK = 2, ENTRY = 5 };
    LLVMValueRef task = LLVMGetOperand(call, TASK);
    LLVMValueRef f =
        ompjit__is_host_call(task) &&
                ompjit__is_call_of(task, "__kmpc_omp_target_task_alloc")
            ? LLVMGetOperand(task, ENTRY)
            : NULL;
    if (!f || !LLVMIsAFunction(f) || LLVMIsDeclaration(f) || frame->forks) {
        ompjit__walk_foreign_call(w, frame, s, call, unknown);
        return;
    }
    ompjit__walk_enter_function(w, frame, s, call, f, 1, 0);
    for (unsigned i = 0; i < w->n; i++)
        if (s->of[i] & OMPJIT__LIVE)
            s->of[i] |= OMPJIT__PENDING;
}

/* All tasks of this one are done, which is the program's own. In a parallel
 * region each thread waits for its own ones only, so that others may run. */
static void wait_for_tasks(ompjit__walk *w, const ompjit__frame *frame,
                           ompjit__state *s, LLVMValueRef call)
{
    ompjit__walk_call_of_library(w, frame, s, call);
    for (unsigned i = 0; i < w->n && !frame->forks; i++)
        s->of[i] &= (unsigned char)~OMPJIT__PENDING;
}

/* __kmpc_reduce(..., n, bytes, list, function, lock): the function adds a
 * thread's variables up, and gets two lists of pointers to them. */
static void reduce(ompjit__walk *w, const ompjit__frame *frame,
                   ompjit__state *s, LLVMValueRef call)
{
    enum { LIST = 4, FUNCTION };
    LLVMValueRef f = LLVMGetOperand(call, FUNCTION);
    if (LLVMIsAFunction(f) && !LLVMIsDeclaration(f))
        ompjit__walk_enter_function(w, frame, s, call, f, LIST, 0);
    else
        ompjit__walk_call_of_library(w, frame, s, call);
}

/* A call __tgt_...: the constructs of OpenMP themselves. One in a function that
 * may run at any time (called_back), or one for another device, would need an
 * order of events that the walk does not keep. A region that begins again
 * before its end counts its storage twice. Other names, such as
 * __tgt_target_data_update_nowait_mapper, are unknown functions of OpenMP. */
static void call_of_runtime(ompjit__walk *w, const ompjit__frame *frame,
                            ompjit__state *s, LLVMValueRef call,
                            const char *name)
{
    if (frame->called_back)
        ompjit__walk_spoil_these(
            w,
            ompjit__walk_those(w, s, UINT32_MAX, OMPJIT__LIVE | OMPJIT__STALE),
            ompjit__unknown_call);
    else if (!same_device(w, call))
        ompjit__walk_spoil_all(w, "another device, or an unknown one");
    else if (!strcmp(name, "__tgt_target_kernel"))
        ompjit__walk_launch(w, frame, s, call);
    else if (!strcmp(name, "__tgt_target_data_update_mapper"))
        ompjit__walk_updates(w, frame, s, call);
    else if (call == w->begin && w->structured &&
             ompjit__walk_those(w, s, UINT32_MAX, OMPJIT__LIVE))
        ompjit__walk_spoil_all(w, "it begins again before its end");
    else if (!strcmp(name, ompjit__begins_data) ||
             !strcmp(name, ompjit__ends_data))
        ompjit__walk_other_region(w, frame, s, call,
                                  !strcmp(name, ompjit__ends_data));
    else
        ompjit__walk_call_of_library(w, frame, s, call);
}

/* Each call is noted before anything else: its result, where it returns one,
 * stands for another value each time (alias.c). The region's own end is seen in
 * the outermost function only; elsewhere it is the end of another round of the
 * region. */
bool ompjit__walk_step_call(ompjit__walk *w, const ompjit__frame *frame,
                            ompjit__state *s, LLVMValueRef call)
{
    LLVMValueRef f = ompjit__callee(call);
    const char *name = ompjit__callee_name(call);
    ompjit__walk_note_call(w, call);
    if (!LLVMIsAFunction(f) && !LLVMIsAInlineAsm(f))
        return call_by_pointer(w, frame, s, call);
    if (w->structured && !frame->caller && !strcmp(name, ompjit__ends_data) &&
        ompjit__map_partner(call, ompjit__begins_data) == w->begin)
        return ompjit__walk_end_region(w, s);
    if (!strncmp(name, "__tgt_", 6))
        call_of_runtime(w, frame, s, call, name);
    else if (!strcmp(name, "__kmpc_fork_call"))
        return fork(w, frame, s, call);
    else if (!strcmp(name, "__kmpc_omp_task") ||
             !strcmp(name, "__kmpc_omp_task_with_deps"))
        defer(w, frame, s, call);
    else if (!strcmp(name, "__kmpc_omp_taskwait"))
        wait_for_tasks(w, frame, s, call);
    else if (!strncmp(name, "__kmpc_reduce", 13))
        reduce(w, frame, s, call);
    else if (LLVMIsAFunction(f) && !LLVMIsDeclaration(f))
        return ompjit__walk_enter_function(w, frame, s, call, f, 0, 0);
    else
        ompjit__walk_call_of_library(w, frame, s, call);
    return true;
}
