/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host engine's inside: teams, the OS threads that run them (members), and
 * device threads (fibers). team.c makes and ends them, sync.c is what
 * they do to each other.
 *
 * A fiber belongs to one member for its whole life. Data that several members
 * touch is atomic or under a lock; everything else is its member's alone.
 *
 * A fiber has a stack from its start to its end only. A stack starts one fiber
 * after the other while each runs to its end without waiting: a call each. When
 * one waits, it keeps the stack, and the next is started on another: a carrier,
 * or at first the OS thread's own stack.
 */
#ifndef OMPJIT_HOST_THREAD_H
#define OMPJIT_HOST_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/engine/fiber.h"
#include "device/engine/team.h"
#include "runtime-bc/host_abi.h"

enum {
    WARP = OMPJIT_HOST_WARP,
    WARPS = OMPJIT__HOST_MAX_THREADS / WARP,
    BARRIERS = 16,
    OMPJIT__HOST_GUARD = 64 << 10, /* bytes at a stack's end that fault */
    LINE = 64 /* bytes of a cache line, so that members do not share one */
};

enum state { RUNNABLE, AT_BARRIER, AT_WARP, ENDED };

struct member;

struct carrier {
    struct carrier *next; /* among those without a fiber */
    struct member *member;
    ompjit__stack stack;
    uint32_t color;       /* where in a page the stack begins */
    void *sp;             /* frames from here on were abandoned */
};

struct fiber {
    ompjit_host_thread self; /* first: device code holds this address */
    struct fiber *next;      /* in the list where it waits or is ready */
    struct member *member;
    struct carrier *carrier; /* NULL: the OS thread's stack */
    void *sp;
    enum state state;
    uint32_t barrier;        /* AT_BARRIER: which */
    uint32_t mask, source;   /* AT_WARP: the lanes, and whose value */
    uint64_t value;          /* given, then received */
    _Atomic bool released;   /* AT_WARP: has received */
    uint32_t lock_number;    /* 0: none; its own among those that take locks */
    volatile bool in_heap;   /* in malloc and the like of the C library */
} __attribute__((aligned(LINE)));

struct list {
    struct fiber *head, *tail;
    uint32_t n;
};

/* One OS thread's part of a team. */
struct member {
    struct ompjit__host_team *team;
    uint32_t first, last; /* its fibers; it has those below last */
    uint32_t unstarted;   /* the first that has not been started */
    uint32_t live;        /* of them, not ended */
    struct list ready;
    struct carrier *idle; /* without a fiber */
    /* Counts of its fibers at a barrier: those that the team counts already, in
     * which of the barrier's phases, and those that came since. A bit of `used`
     * for each barrier that has either. */
    struct list counted[BARRIERS], pending[BARRIERS];
    uint32_t phase[BARRIERS], used;
    struct list at_warp;  /* that share their warp with other members */
    uint32_t seen;        /* of the team's events, when it fell asleep */
    bool asleep;
    void *sp;             /* the OS thread's, while its fibers have ended */
    ompjit__stack stack;  /* the OS thread's */
    void *escape;         /* out of all fibers: ompjit__fiber_leave */
    char *base;           /* a place in the OS thread's stack below it */
    bool escaped;         /* from a carrier's stack */
} __attribute__((aligned(LINE)));

struct barrier {
    /* Phase in the upper half, threads that came in the lower: a phase ends
     * for exactly the threads that were counted in it. */
    _Atomic uint64_t state;
    _Atomic uint32_t expected; /* 0: all that live */
} __attribute__((aligned(LINE)));

struct warp {
    pthread_mutex_t lock;     /* taken where several members share the warp */
    bool shared;
    _Atomic uint32_t exists;  /* lanes that live */
    uint32_t waiting;         /* lanes AT_WARP */
} __attribute__((aligned(LINE)));

struct ompjit__host_team {
    struct ompjit__host_team *next; /* in the pool */
    struct fiber *fibers;
    uint32_t nfibers;  /* allocated */
    struct carrier *carriers; /* that no member has; under lock */
    uint32_t ncarriers;
    struct member *members;
    uint32_t capacity; /* of members */
    uint32_t processors; /* for members to run on */
    char *shared;
    size_t shared_size;
    /* The team that runs: */
    const ompjit__host_launch *launch;
    uint32_t number, threads;
    uint32_t nmembers; /* 0 until the first has joined; under lock */
    _Atomic uint32_t live;
    _Atomic uint32_t used; /* a bit for each barrier that anyone came to */
    struct barrier barriers[BARRIERS];
    struct warp warps[WARPS];
    /* Counts what may let a waiting member go on. */
    _Atomic uint32_t events __attribute__((aligned(LINE)));
    _Atomic uint32_t sleepers;
    _Atomic bool stop; /* trapped or deadlocked: everyone leaves */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint32_t active;   /* members that have not left; under lock */
    bool deadlock, no_memory;
    atomic_flag trapping;
    bool trapped;
    ompjit__host_trap trap;
    ompjit__host_watch *watch; /* of the launch, or NULL */
};

/* The device thread that this OS thread is at the moment; NULL outside of
 * kernels. In static TLS because a signal handler reads it. */
extern _Thread_local struct fiber *ompjit__host_current
    __attribute__((tls_model("initial-exec")));

/* Starts and runs a member's fibers until all have ended or the team stops. */
void ompjit__host_member_run(struct member *m);
/* A stack without a fiber, the team's or a new one; NULL: no memory.
 * team.c */
struct carrier *ompjit__host_carrier_take(struct member *m);
/* Makes f the device thread that it is by its place in the team, before it
 * starts. team.c */
void ompjit__host_fiber_init(struct member *m, struct fiber *f);
/* Ends the team with trap; from a fiber or a team of one. */
void ompjit__host_trapped(struct fiber *f, const ompjit__host_trap *trap)
    __attribute__((noreturn));
/* Wakes every member that waits. */
void ompjit__host_signal(struct ompjit__host_team *t);

static inline void list_add(struct list *l, struct fiber *f)
{
    f->next = NULL;
    if (l->n++)
        l->tail->next = f;
    else
        l->head = f;
    l->tail = f;
}

static inline struct fiber *list_take(struct list *l)
{
    struct fiber *f = l->n ? l->head : NULL;
    if (f) {
        l->head = f->next;
        l->n--;
    }
    return f;
}

static inline void list_move(struct list *to, struct list *from)
{
    if (!from->n)
        return;
    if (to->n)
        to->tail->next = from->head;
    else
        to->head = from->head;
    to->tail = from->tail;
    to->n += from->n;
    from->n = 0;
}

#endif
