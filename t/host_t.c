/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The host engine: teams of fibers on one OS thread and on several, barriers,
 * warps, traps and deadlocks; and the lowering of team-shared variables.
 * Kernels are C functions here.
 */
#include <llvm-c/Core.h>
#include <llvm-c/Analysis.h>

#include "backend/host/host.h"
#include "llvm/llvm.h"
#include "abi/host_layout.h"
#include "device/engine/team.h"
#include "runtime-bc/host_abi.h"
#include "tap.h"

static ompjit__host_pool *pool;

/* The OS threads that run a team, what libomp's are in the library. */
static uint32_t members = 1;

struct part {
    ompjit__host_team *team;
    uint32_t member;
};

static void *join_team(void *arg)
{
    struct part *part = arg;
    ompjit__host_team_join(part->team, part->member, members);
    return NULL;
}

static ompjit_status run_shared(const ompjit__host_launch *launch,
                                uint32_t number, ompjit_error *err)
{
    ompjit__host_team *team;
    pthread_t threads[16];
    struct part parts[16];
    ompjit_status status =
        ompjit__host_team_begin(pool, launch, number, members, &team, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < members; i++) {
        parts[i] = (struct part){team, i};
        if (i)
            pthread_create(&threads[i], NULL, join_team, &parts[i]);
    }
    join_team(&parts[0]);
    for (uint32_t i = 1; i < members; i++)
        pthread_join(threads[i], NULL);
    return ompjit__host_team_end(pool, team, err);
}

static ompjit_status run(void (*kernel)(void **), void **args, uint32_t teams,
                         uint32_t threads, uint32_t shared, uint32_t dynamic,
                         ompjit_error *err)
{
    if (!pool)
        pool = ompjit__host_pool_new();
    ompjit__geometry g = {.teams = {teams, 1, 1},
                          .threads = {threads, 1, 1},
                          .dynamic_shared = dynamic};
    ompjit__host_launch launch = {.name = "k",
                                  .entry = kernel,
                                  .args = args,
                                  .geometry = &g,
                                  .shared_size = shared};
    ompjit_status status = OMPJIT_OK;
    if (members == 1 || threads == 1)
        return ompjit__host_run_teams(pool, &launch, 0, teams, err);
    for (uint32_t team = 0; !status && team < teams; team++)
        status = run_shared(&launch, team, err);
    return status;
}

/* Every thread writes its slot, and after a barrier reads its neighbour's. */
static void neighbours(void **args)
{
    ompjit_host_thread *self = ompjit_host_self();
    int *slots = (int *)(void *)self->shared, *wrong = args[0];
    for (int round = 0; round < 50; round++) {
        slots[self->tid] = round * 1000 + (int)self->tid;
        ompjit_host_barrier(0, 0);
        uint32_t next = (self->tid + 1) % self->ntid;
        if (slots[next] != round * 1000 + (int)next)
            __atomic_fetch_add(wrong, 1, __ATOMIC_RELAXED);
        ompjit_host_barrier(1, self->ntid);
    }
}

/* Sum over the warp by shuffles, as a GPU does it. */
static void warp_sum(void **args)
{
    ompjit_host_thread *self = ompjit_host_self();
    uint32_t lane = self->tid % 32, mask = ompjit_host_active_mask();
    uint64_t sum = self->tid;
    for (uint32_t step = 16; step; step /= 2)
        sum += ompjit_host_shuffle(mask, sum, lane + step) *
               (lane + step < 32);
    if (lane == 0)
        ((uint64_t *)args[0])[self->tid / 32] = sum;
}

/* Odd threads leave at once; the rest still pass barriers for all. */
static void leavers(void **args)
{
    if (ompjit_host_self()->tid % 2)
        return;
    ompjit_host_barrier(0, 0);
    ompjit_host_barrier(0, 0);
    __atomic_fetch_add((int *)args[0], 1, __ATOMIC_RELAXED);
}

/* Thread 0 waits for what the last thread sets. */
static void spinners(void **args)
{
    ompjit_host_thread *self = ompjit_host_self();
    int *flag = args[0];
    if (self->tid == self->ntid - 1)
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        ompjit_host_yield();
}

static void half_at_barrier(void **args)
{
    if (ompjit_host_self()->tid % 2)
        ompjit_host_barrier(3, 64);
    else
        ompjit_host_barrier(2, 64);
}

/* Barriers of 32 threads each that do not wait for the other 32. */
static void halves(void **args)
{
    ompjit_host_thread *self = ompjit_host_self();
    uint32_t half = self->tid / 32 % 2;
    for (int round = 0; round < 30; round++) {
        __atomic_fetch_add(&((int *)args[0])[half], 1, __ATOMIC_RELAXED);
        ompjit_host_barrier(4 + half, 32);
        if (__atomic_load_n(&((int *)args[0])[half], __ATOMIC_RELAXED) <
            (round + 1) * 32)
            __atomic_fetch_add((int *)args[1], 1, __ATOMIC_RELAXED);
    }
}

/* A lock, taken by each thread in turn, and a barrier after. */
static void lockers(void **args)
{
    int *lock = args[0], *plain = args[1];
    for (int i = 0; i < 20; i++) {
        while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
            ompjit_host_yield();
        ++*plain;
        __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    }
    ompjit_host_barrier(0, 0);
}

/* The last thread traps while others spin, wait and compute. */
static void trap_among_spinners(void **args)
{
    ompjit_host_thread *self = ompjit_host_self();
    if (self->tid == self->ntid - 1)
        ompjit_host_trap("stop all");
    if (self->tid % 2)
        ompjit_host_barrier(0, 0);
    while (!__atomic_load_n((int *)args[0], __ATOMIC_RELAXED))
        ompjit_host_yield();
}

/* One lane never comes to the shuffle. */
static void lane_missing(void **args)
{
    if (ompjit_host_self()->tid == 3)
        ompjit_host_barrier(1, 0);
    ompjit_host_warp_sync(0xf);
}

static void trapping(void **args)
{
    ompjit_host_thread *self = ompjit_host_self();
    ompjit_host_barrier(0, 0);
    if (self->ctaid == 2 && self->tid == self->ntid - 1)
        ompjit_host_trap("the message");
    ompjit_host_barrier(0, 0);
    __atomic_fetch_add((int *)args[0], 1, __ATOMIC_RELAXED);
}

static void count_teams(void **args)
{
    ompjit_host_thread *self = ompjit_host_self();
    if (self->tid == 0)
        ((uint32_t *)args[0])[self->ctaid] += self->nctaid;
    if (self->tid == 0)
        self->dynamic[self->dynamic_size - 1] = 1;
    if ((uintptr_t)self->dynamic % 16)
        __atomic_fetch_add((uint32_t *)args[0], 1000, __ATOMIC_RELAXED);
}

static void teams(void)
{
    ompjit_error err;
    static const uint32_t sizes[] = {1, 2, 31, 32, 33, 100, 1024};
    for (size_t i = 0; i < OMPJIT__COUNT(sizes); i++) {
        uint32_t n = sizes[i];
        int wrong = 0, left = 0, flag = 0;
        uint64_t sums[32] = {0};
        void *a[] = {&wrong}, *b[] = {sums}, *c[] = {&left}, *d[] = {&flag};
        ok(run(neighbours, a, 3, n, n * 4, 0, &err) == 0 && wrong == 0,
           "%u threads on %u meet at barriers", n, members);
        ok(run(warp_sum, b, 1, n, 0, 0, &err) == 0, "%u threads shuffle", n);
        uint64_t want = 0, got = 0;
        for (uint32_t t = 0; t < n; t++)
            want += t;
        for (uint32_t w = 0; w < 32; w++)
            got += sums[w];
        if (n % 32 == 0)
            ok(got == want, "their sum is %llu", (unsigned long long)want);
        ok(run(leavers, c, 1, n, 0, 0, &err) == 0 && left == (int)(n + 1) / 2,
           "%u threads: those that left are not waited for", n);
        ok(run(spinners, d, 1, n, 0, 0, &err) == 0,
           "%u threads: a spinning thread lets others run", n);
    }
    uint32_t counts[300] = {0};
    void *e[] = {counts};
    ok(run(count_teams, e, 300, 4, 7, 100, &err) == 0 && counts[0] == 300 &&
           counts[299] == 300,
       "every team ran once, with aligned dynamic memory");
    int come[2] = {0}, wrong = 0, lock = 0, plain = 0;
    void *f[] = {come, &wrong}, *g[] = {&lock, &plain};
    ok(run(halves, f, 1, 64, 0, 0, &err) == 0 && !wrong && come[0] == 960 &&
           come[1] == 960,
       "barriers of some threads");
    ok(run(lockers, g, 1, 40, 0, 0, &err) == 0 && plain == 800,
       "a lock keeps 40 threads apart: %d", plain);
}

static void failures(void)
{
    ompjit_error err;
    int done = 0;
    void *args[] = {&done};
    ok(run(half_at_barrier, args, 1, 64, 0, 0, &err) == OMPJIT_ERR_DEVICE,
       "two halves at two barriers: an error, not a hang");
    ok_contains(err.text, "kernel k, team 0: deadlock, 0 of 64", "it says so");
    ok_contains(err.text, "barrier 2: thread 0, 2, 4", "who waits where");
    ok_contains(err.text, "barrier 3: thread 1, 3", "and there");
    ok(run(trapping, args, 4, 8, 0, 0, &err) == OMPJIT_ERR_DEVICE,
       "a trap among fibers");
    ok_string(err.text, "kernel k, team 2, thread 7: the message",
              "names team and thread");
    done = 0;
    ok(run(trapping, args, 4, 1, 0, 0, &err) == OMPJIT_ERR_DEVICE,
       "a trap in a team of one");
    ok_string(err.text, "kernel k, team 2, thread 0: the message", "likewise");
    ok(done == 2, "the teams before it ran, those behind did not");
    done = 0;
    ok(run(leavers, args, 1, 64, 0, 0, &err) == 0 && done == 32,
       "the engine works on after a failure");
    done = 0;
    ok(run(trap_among_spinners, args, 1, 9, 0, 0, &err) == OMPJIT_ERR_DEVICE,
       "a trap ends threads that spin and wait");
    ok_string(err.text, "kernel k, team 0, thread 8: stop all", "and is told");
    ok(run(lane_missing, args, 1, 4, 0, 0, &err) == OMPJIT_ERR_DEVICE,
       "a lane that is not at the warp's operation");
    ok_contains(err.text, "waiting at barrier 1: thread 3; waiting for their "
                "warp: thread 0, 1, 2", "who waits for what");
}

/* Two shared variables, one reached through a constant expression and phis. */
static const char shared_ir[] =
    "@a = internal addrspace(3) global [4 x i32] undef, align 4\n"
    "@b = internal addrspace(3) global i64 undef, align 8\n"
    "@dyn = external addrspace(3) global [0 x i8], align 16\n"
    "define i32 @f(i1 %c, i32 %i) {\n"
    "  br i1 %c, label %x, label %y\n"
    "x:\n  br label %z\n"
    "y:\n  br label %z\n"
    "z:\n"
    "  %p = phi ptr [ addrspacecast (ptr addrspace(3) getelementptr inbounds "
    "([4 x i32], ptr addrspace(3) @a, i32 0, i32 2) to ptr), %x ], "
    "[ addrspacecast (ptr addrspace(3) @b to ptr), %y ]\n"
    "  %v = load i32, ptr %p\n"
    "  %w = load i32, ptr addrspace(3) @dyn\n"
    "  %s = add i32 %v, %w\n"
    "  ret i32 %s\n}\n";

static void lowering(void)
{
    ompjit_error err = {0};
    ompjit__buf messages = {0};
    LLVMContextRef context = ompjit__llvm_context(&messages);
    LLVMTargetMachineRef tm;
    LLVMModuleRef m;
    ok(!ompjit__host_machine(2, false, &tm, &err) &&
           !ompjit__parse_ir(context, shared_ir, strlen(shared_ir), "t",
                             &messages, &m, &err),
       "the module parses %s", err.text);
    ok(!ompjit__host_retarget(m, tm, true, &err), "retargeted");
    ok(!ompjit__host_finish(m, &err), "shared variables lowered");
    char *text = NULL;
    ok(!LLVMVerifyModule(m, LLVMReturnStatusAction, &text), "valid: %s",
       text ? text : "");
    LLVMDisposeMessage(text);
    ok(!LLVMGetNamedGlobal(m, "a") && !LLVMGetNamedGlobal(m, "b") &&
           !LLVMGetNamedGlobal(m, "dyn"),
       "no shared variable is left");
    ok(LLVMGetStringAttributeAtIndex(LLVMGetNamedFunction(m, "f"),
                                     LLVMAttributeFunctionIndex, "probe-stack",
                                     11),
       "large frames are touched page by page");
    LLVMValueRef size = LLVMGetNamedGlobal(m, OMPJIT__SHARED_SIZE_SYMBOL);
    ok(size && LLVMConstIntGetZExtValue(LLVMGetInitializer(size)) == 32,
       "a team needs 16 + 8 bytes, rounded to 32");
    LLVMDisposeModule(m);

    static const char bad[] = "declare i32 @llvm.nvvm.read.ptx.sreg.smid()\n"
                              "define i32 @f() {\n %a = call i32 "
                              "@llvm.nvvm.read.ptx.sreg.smid()\n ret i32 %a\n}";
    ok(!ompjit__parse_ir(context, bad, strlen(bad), "t", &messages, &m, &err),
       "an intrinsic that the host lacks parses");
    ok(ompjit__host_retarget(m, tm, true, &err) == OMPJIT_ERR_COMPILE,
       "but is refused");
    ok_contains(err.text, "llvm.nvvm.read.ptx.sreg.smid", "by name");
    LLVMDisposeModule(m);
    LLVMDisposeTargetMachine(tm);
    LLVMContextDispose(context);
    ompjit__buf_free(&messages);
}

int main(void)
{
    static const uint32_t numbers[] = {1, 2, 3, 16};
    for (size_t i = 0; i < OMPJIT__COUNT(numbers); i++) {
        members = numbers[i];
        teams();
        failures();
    }
    ompjit__host_pool_free(pool);
    lowering();
    return done_testing();
}
