/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A worker's thread for nvJitLink. While LLVM compiles a kernel, it loads the
 * library and assembles a small kernel for nobody, on another processor, so that
 * the library's code and data are in that processor's caches; there it assembles
 * the kernel then, in 6.6 ms and not 7.4. What comes before it is ready, or is large,
 * the caller assembles itself.
 *
 *   worker    begin    LLVM ......    link ----------.       end
 *               \                        \           /
 *   thread       load, rehearse ......    assemble --'
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "backend/nvptx/assemble.h"
#include "base/processors.h"
#include "targets/arch.h"

/* Bytes. LARGE is a text that takes so long that it does not matter who
 * assembles it, or whose functions may recur deeper than STACK allows. */
enum { STACK = 8 << 20, SIGNAL_STACK = 64 << 10, LARGE = 64 << 10 };

/* One piece of work at a time. */
struct job {
    enum { NOTHING, REHEARSAL, LINK } what;
    const ompjit__arch *arch; /* of a REHEARSAL; NULL: load the library only */
    ompjit__assembly *a;      /* of a LINK, as the rest */
    ompjit_error *err;
    ompjit_status status;
};

static struct {
    _Atomic pid_t owner; /* the process whose thread it is; 0: there is none */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    pthread_t thread;
    ompjit__processor_set all; /* that the process may run on */
    struct job job;
    bool wanted;   /* for the build that is under way */
    bool loaded;   /* the library, by a thread        */
    uint64_t last; /* when it had assembled something */
} helper = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .changed = PTHREAD_COND_INITIALIZER};

/* ---------------------------------------------------------------- rehearsal */

/* A loop over two arrays. */
static const char text[] =
    ".version %u.%u\n"
    ".target %s\n"
    ".address_size 64\n"
    ".visible .entry rehearsal(.param .u64 x, .param .u64 y, .param .u32 n)\n"
    ".maxntid 128\n"
    "{\n"
    "    .reg .pred %%p<3>;\n"
    "    .reg .b32 %%r<10>;\n"
    "    .reg .b64 %%rd<8>;\n"
    "    ld.param.u64 %%rd1, [x];\n"
    "    ld.param.u64 %%rd2, [y];\n"
    "    ld.param.u32 %%r1, [n];\n"
    "    cvta.to.global.u64 %%rd3, %%rd1;\n"
    "    cvta.to.global.u64 %%rd4, %%rd2;\n"
    "    mov.u32 %%r2, %%ctaid.x;\n"
    "    mov.u32 %%r3, %%ntid.x;\n"
    "    mov.u32 %%r4, %%tid.x;\n"
    "    mad.lo.s32 %%r5, %%r2, %%r3, %%r4;\n"
    "    setp.ge.u32 %%p1, %%r5, %%r1;\n"
    "    @%%p1 bra $end;\n"
    "    mov.u32 %%r6, %%nctaid.x;\n"
    "    mul.lo.s32 %%r7, %%r6, %%r3;\n"
    "$loop:\n"
    "    mul.wide.u32 %%rd5, %%r5, 4;\n"
    "    add.s64 %%rd6, %%rd3, %%rd5;\n"
    "    add.s64 %%rd7, %%rd4, %%rd5;\n"
    "    ld.global.b32 %%r8, [%%rd6];\n"
    "    ld.global.b32 %%r9, [%%rd7];\n"
    "    fma.rn.f32 %%r9, %%r8, %%r8, %%r9;\n"
    "    st.global.b32 [%%rd7], %%r9;\n"
    "    add.s32 %%r5, %%r5, %%r7;\n"
    "    setp.lt.u32 %%p2, %%r5, %%r1;\n"
    "    @%%p2 bra $loop;\n"
    "$end:\n"
    "    ret;\n"
    "}\n";

static void rehearse(const ompjit__arch *arch)
{
    const unsigned version = ompjit__ptx_version(arch, 0);
    ompjit__buf ptx = {0};
    ompjit__assembly a = {.arch = arch, .ptx = &ptx};
    ompjit__buf_printf(&ptx, text, version / 10, version % 10, arch->name);
    if (!ptx.failed)
        ompjit__nvjitlink_here(&a, NULL);
    ompjit__buf_free(&a.cubin);
    ompjit__buf_free(&a.log);
    ompjit__buf_free(&ptx);
}

/* ------------------------------------------------------------------- thread */

static void carry_out(struct job *job)
{
    if (job->what == LINK)
        job->status = ompjit__nvjitlink_here(job->a, job->err);
    else if (job->arch)
        rehearse(job->arch);
    else
        ompjit__nvjitlink_load();
}

/* Whoever gives it work has it begin on another processor; from there it may go
 * anywhere. */
static void *live(void *unused)
{
    static char stack[SIGNAL_STACK];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL); /* handlers of faults run there */
    pthread_mutex_lock(&helper.lock);
    for (;;) {
        while (!helper.job.what)
            pthread_cond_wait(&helper.changed, &helper.lock);
        struct job job = helper.job;
        sched_setaffinity(0, sizeof helper.all, helper.all.part);
        pthread_mutex_unlock(&helper.lock);
        carry_out(&job);
        pthread_mutex_lock(&helper.lock);
        helper.job.status = job.status;
        helper.job.what = NOTHING;
        helper.loaded = true;
        helper.last = ompjit__now();
        pthread_cond_broadcast(&helper.changed);
    }
    return unused;
}

/* The caller holds the lock. False: there is no thread. */
static bool start(const ompjit__processor_set *others)
{
    pthread_attr_t attr;
    if (helper.owner)
        return !pthread_setaffinity_np(helper.thread, sizeof *others,
                                       others->part);
    if (pthread_attr_init(&attr))
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_attr_setaffinity_np(&attr, sizeof *others, others->part);
    if (!pthread_create(&helper.thread, &attr, live, NULL))
        helper.owner = getpid();
    pthread_attr_destroy(&attr);
    return helper.owner;
}

/* Gives the idle thread work, on another processor. The caller holds the lock.
 * False: there is no other processor, or no thread. */
static bool give(struct job job)
{
    ompjit__processor_set all = {0}, others;
    if (!ompjit__other_processors(&all, &others) || !start(&others))
        return false;
    helper.all = all;
    helper.job = job;
    pthread_cond_broadcast(&helper.changed);
    return true;
}

/* --------------------------------------------------------------------- room */

/* A copy of the process (serve/ahead.c) has the helper's state and no thread. It
 * is made when the thread has nothing to do. */
static void forget_if_forked(void)
{
    if (!helper.owner || helper.owner == getpid())
        return;
    pthread_cond_init(&helper.changed, NULL);
    helper.owner = 0;
}

/* Has nothing been assembled for a while, so that other work had the caches? */
static bool is_cold(void)
{
    enum { MS = 20 };
    return ompjit__now() - helper.last > OMPJIT__MS(MS);
}

void ompjit__nvjitlink_begin(const ompjit__arch *arch)
{
    pthread_mutex_lock(&helper.lock);
    forget_if_forked();
    helper.wanted = arch;
    if (!helper.job.what && (arch ? is_cold() : !helper.loaded))
        give((struct job){.what = REHEARSAL, .arch = arch});
    pthread_mutex_unlock(&helper.lock);
}

bool ompjit__nvjitlink_there(ompjit__assembly *a, ompjit_status *status,
                             ompjit_error *err)
{
    if (!helper.owner)
        return false;
    pthread_mutex_lock(&helper.lock);
    bool taken = helper.owner == getpid() && helper.wanted &&
                 !helper.job.what && a->ptx->size < LARGE &&
                 give((struct job){.what = LINK, .a = a, .err = err});
    while (taken && helper.job.what)
        pthread_cond_wait(&helper.changed, &helper.lock);
    if (taken)
        *status = helper.job.status;
    pthread_mutex_unlock(&helper.lock);
    return taken;
}

void ompjit__nvjitlink_end(void)
{
    pthread_mutex_lock(&helper.lock);
    forget_if_forked();
    while (helper.owner && helper.job.what)
        pthread_cond_wait(&helper.changed, &helper.lock);
    pthread_mutex_unlock(&helper.lock);
}
