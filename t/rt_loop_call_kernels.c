/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime's loop functions, called as their contracts say, in all types:
 * bounds at the ends of a type, schedules that clang has no spelling for, and
 * the functions that clang 22 does not call by itself. An iteration counts
 * itself in p->a; p->out[1 + k] gets what case k's last iteration is said to
 * be, and p->out[0] counts what is WRONG.
 */
#include "rt_kernels.h"

#ifdef _OPENMP
#include <omp.h>
#define WRONG(condition) ((condition) != 0)
#define PARALLEL 1
#else
#include "rt_sequential.h"
#define WRONG(condition) ((void)sizeof(condition), 0)
#define PARALLEL 0
#endif

#pragma omp declare target

/* The functions that walk one case's loop. Copies of them, each with a copy of
 * the runtime, would take seven times as long to compile. */
#define ALONE __attribute__((noinline))

/* Sums of the ends of a type go around. */
static void add(int64_t *to, int64_t x)
{
    uint64_t *sum = (uint64_t *)to;
#pragma omp atomic
    *sum += (uint64_t)x;
}
static void mark(args *p, int64_t at)
{
#pragma omp atomic
    p->a[at] += 1;
}

int __kmpc_global_thread_num(void *loc);
void __kmpc_for_static_fini(void *loc, int gtid);
void __kmpc_distribute_static_fini(void *loc, int gtid);
void __kmpc_dispatch_deinit(void *loc, int gtid);

/* One case: `from`, `from` + `by`, ... `end`, counted from a[at] on. A huge one
 * only adds up the iterations in out[8 + k]. */
#define CASE(W, T, S)                                                          \
    typedef struct case_##W {                                                  \
        int k, at, schedule;                                                   \
        T from, end;                                                           \
        S by, chunk;                                                           \
        int huge;                                                              \
    } case_##W;                                                                \
    static uint64_t steps_##W(const case_##W *c, T from, T to)                 \
    {                                                                          \
        uint64_t by = c->by > 0 ? (uint64_t)c->by : -(uint64_t)c->by;          \
        uint64_t way = c->by > 0 ? (uint64_t)to - (uint64_t)from               \
                                 : (uint64_t)from - (uint64_t)to;              \
        return way / by;                                                       \
    }                                                                          \
    static int empty_##W(const case_##W *c, T from, T to)                      \
    {                                                                          \
        return c->by > 0 ? from > to : from < to;                              \
    }                                                                          \
    /* The iterations from `from` to `to`; the numbers of the outer ones. */   \
    static void count_##W(args *p, const case_##W *c, T from, T to)            \
    {                                                                          \
        uint64_t first = steps_##W(c, c->from, from);                          \
        uint64_t n = steps_##W(c, from, to);                                   \
        if (c->huge)                                                           \
            add(&p->out[8 + c->k], (int64_t)(n + 1));                          \
        for (uint64_t i = 0; i <= n && !c->huge; i++)                          \
            mark(p, c->at + (int64_t)(first + i));                             \
    }                                                                          \
    static void last_##W(args *p, const case_##W *c, T to)                     \
    {                                                                          \
        add(&p->out[1 + c->k], (int64_t)steps_##W(c, c->from, to) + 1);        \
    }                                                                          \
    static void sequential_##W(args *p, const case_##W *c)                     \
    {                                                                          \
        if (empty_##W(c, c->from, c->end))                                     \
            return;                                                            \
        count_##W(p, c, c->from, c->end);                                      \
        last_##W(p, c, c->end);                                                \
    }

#if PARALLEL
static int whole(int schedule, int has_chunk)
{
    schedule &= ~(3 << 29);
    return schedule == 34 || schedule == 92 || !has_chunk;
}

/* A thread's chunks of a static loop, as clang goes through them. */
#define STATIC(W, T, S)                                                        \
    void __kmpc_for_static_init_##W(void *loc, int gtid, int schedule,         \
                                    int *last, T *lower, T *upper, S *stride,  \
                                    S by, S chunk);                            \
    void __kmpc_distribute_static_init_##W(                                    \
        void *loc, int gtid, int schedule, int *last, T *lower, T *upper,      \
        S *stride, S by, S chunk);                                             \
    void __kmpc_dist_for_static_init_##W(                                      \
        void *loc, int gtid, int schedule, int *last, T *lower, T *upper,      \
        T *team_upper, S *stride, S by, S chunk);                              \
    void __kmpc_team_static_init_##W(void *loc, int gtid, int *last, T *lower, \
                                     T *upper, S *stride, S by, S chunk);      \
    /* `stride` is 0 where there is but one chunk. */                          \
    static void walk_##W(args *p, const case_##W *c, T lower, T upper, T end,  \
                         S stride, int last)                                   \
    {                                                                          \
        for (;;) {                                                             \
            if (c->by > 0 ? upper > end : upper < end)                         \
                upper = end;                                                   \
            if (empty_##W(c, lower, upper))                                    \
                return;                                                        \
            count_##W(p, c, lower, upper);                                     \
            if (last && steps_##W(c, upper, c->end) == 0)                      \
                last_##W(p, c, upper);                                         \
            if (!stride || __builtin_add_overflow(lower, stride, &lower))      \
                return;                                                        \
            if (__builtin_add_overflow(upper, stride, &upper))                 \
                upper = end;                                                   \
        }                                                                      \
    }                                                                          \
    static void for_##W(args *p, const case_##W *c)                            \
    {                                                                          \
        T lower = c->from, upper = c->end;                                     \
        S stride = 0;                                                          \
        int last = 7, gtid = __kmpc_global_thread_num(0);                      \
        __kmpc_for_static_init_##W(0, gtid, c->schedule, &last, &lower,        \
                                   &upper, &stride, c->by, c->chunk);          \
        walk_##W(p, c, lower, upper, c->end,                                   \
                 whole(c->schedule, c->chunk > 0) ? 0 : stride, last);         \
        __kmpc_for_static_fini(0, gtid);                                       \
    }                                                                          \
    static void distribute_##W(args *p, const case_##W *c)                     \
    {                                                                          \
        T lower = c->from, upper = c->end;                                     \
        S stride = 0;                                                          \
        int last = 7, gtid = __kmpc_global_thread_num(0);                      \
        __kmpc_distribute_static_init_##W(0, gtid, c->schedule, &last, &lower, \
                                          &upper, &stride, c->by, c->chunk);   \
        walk_##W(p, c, lower, upper, c->end,                                   \
                 whole(c->schedule, c->chunk > 0) ? 0 : stride, last);         \
        __kmpc_distribute_static_fini(0, gtid);                                \
    }                                                                          \
    static void team_##W(args *p, const case_##W *c)                           \
    {                                                                          \
        T lower = c->from, upper = c->end;                                     \
        S stride = 0;                                                          \
        int last = 7, gtid = __kmpc_global_thread_num(0);                      \
        __kmpc_team_static_init_##W(0, gtid, &last, &lower, &upper, &stride,   \
                                    c->by, c->chunk);                          \
        walk_##W(p, c, lower, upper, c->end, stride, last);                    \
        __kmpc_distribute_static_fini(0, gtid);                                \
    }                                                                          \
    ALONE static void dist_for_##W(args *p, const case_##W *c)                 \
    {                                                                          \
        T lower = c->from, upper = c->end, team_upper = c->end;                \
        S stride = 0;                                                          \
        int last = 7, gtid = __kmpc_global_thread_num(0);                      \
        __kmpc_dist_for_static_init_##W(0, gtid, c->schedule, &last, &lower,   \
                                        &upper, &team_upper, &stride, c->by,   \
                                        c->chunk);                             \
        walk_##W(p, c, lower, upper, team_upper,                               \
                 whole(c->schedule, c->chunk > 0) ? 0 : stride, last);         \
        __kmpc_for_static_fini(0, gtid);                                       \
    }

/* Is a chunk of n iterations of `all`, from number `first` on, of the wrong
 * size, or another thread's, where the schedule tells both? */
static int misplaced(int schedule, int64_t given, uint64_t first, uint64_t n,
                     uint64_t all)
{
    uint64_t chunk = given > 0 ? (uint64_t)given : 1;
    int last = first + n == all;
    schedule &= ~(3 << 29);
    if (schedule > 160)
        schedule -= 128;
    if (schedule > 64)
        schedule -= 32;
    if (schedule == 33 && given < 1)
        schedule = 34;
    uint64_t threads = (uint64_t)omp_get_num_threads();
    uint64_t me = (uint64_t)omp_get_thread_num();
    uint64_t half = all / (2 * threads);
    if (threads == 1)
        return 0;
    switch (schedule) {
    case 33:
        return n > chunk || (!last && n != chunk) ||
               first / chunk % threads != me;
    case 34:
    case 40:
    case 41:
        return n != all / threads + (me < all % threads);
    case 35:
        return n > chunk || (!last && n != chunk);
    case 36:
    case 46:
        return !last && (n < chunk || n > half + chunk);
    case 39:
        return first == 0 && n != (half ? half : 1);
    }
    return 0;
}

#define DISPATCH(W, T, S)                                                      \
    void __kmpc_dispatch_init_##W(void *loc, int gtid, int schedule, T lower,  \
                                  T upper, S by, S chunk);                     \
    void __kmpc_dist_dispatch_init_##W(void *loc, int gtid, int schedule,      \
                                       int *last, T lower, T upper, S by,      \
                                       S chunk);                               \
    int __kmpc_dispatch_next_##W(void *loc, int gtid, int *last, T *lower,     \
                                 T *upper, S *by);                             \
    void __kmpc_dispatch_fini_##W(void *loc, int gtid);                        \
    static void fetch_##W(args *p, const case_##W *c, int gtid, int check)     \
    {                                                                          \
        T lower = 0, upper = 0;                                                \
        S by = 0;                                                              \
        int last = 7, wrong = 0, ordered = c->schedule / 32 % 2 == 0;          \
        while (__kmpc_dispatch_next_##W(0, gtid, &last, &lower, &upper, &by)) {\
            uint64_t n = steps_##W(c, lower, upper) + 1;                       \
            wrong += WRONG(by != c->by || empty_##W(c, lower, upper));         \
            wrong += check &&                                                  \
                     WRONG(misplaced(c->schedule, c->chunk,                    \
                                     steps_##W(c, c->from, lower), n,          \
                                     steps_##W(c, c->from, c->end) + 1));      \
            count_##W(p, c, lower, upper);                                     \
            if (last)                                                          \
                last_##W(p, c, upper);                                         \
            for (uint64_t i = 0; ordered && i < n; i++)                        \
                __kmpc_dispatch_fini_##W(0, gtid);                             \
        }                                                                      \
        __kmpc_dispatch_deinit(0, gtid);                                       \
        add(&p->out[0], wrong);                                                \
    }                                                                          \
    ALONE static void dispatch_##W(args *p, const case_##W *c)                 \
    {                                                                          \
        int gtid = __kmpc_global_thread_num(0);                                \
        __kmpc_dispatch_init_##W(0, gtid, c->schedule, c->from, c->end, c->by, \
                                 c->chunk);                                    \
        fetch_##W(p, c, gtid, 1);                                              \
    }                                                                          \
    ALONE static void dist_dispatch_##W(args *p, const case_##W *c)            \
    {                                                                          \
        int gtid = __kmpc_global_thread_num(0), last = 7;                      \
        __kmpc_dist_dispatch_init_##W(0, gtid, c->schedule, &last, c->from,    \
                                      c->end, c->by, c->chunk);                \
        add(&p->out[0], last != 0 && last != 1);                               \
        fetch_##W(p, c, gtid, 0);                                              \
    }

/* Loops whose body the runtime calls. */
typedef struct called {
    args *p;
    int64_t at, team_chunk, chunk;
} called;
static int64_t teammate(const called *c, int64_t i)
{
    if (c->team_chunk)
        i %= c->team_chunk;
    return c->chunk ? i / c->chunk % omp_get_num_threads() : 0;
}

#define CALLBACK(W, T)                                                         \
    typedef void (*body_fn_##W)(T i, void *arg);                               \
    void __kmpc_for_static_loop_##W(void *loc, body_fn_##W body, void *arg,    \
                                    T n, T threads, T chunk,                   \
                                    unsigned char once);                       \
    void __kmpc_distribute_static_loop_##W(void *loc, body_fn_##W body,        \
                                           void *arg, T n, T chunk,            \
                                           unsigned char once);                \
    void __kmpc_distribute_for_static_loop_##W(                                \
        void *loc, body_fn_##W body, void *arg, T n, T threads, T team_chunk,  \
        T chunk, unsigned char once);                                          \
    static void body_##W(T i, void *arg)                                       \
    {                                                                          \
        called *c = arg;                                                       \
        mark(c->p, c->at + (int64_t)i);                                        \
        if (WRONG(c->chunk && teammate(c, (int64_t)i) != omp_get_thread_num()))\
            add(&c->p->out[0], 1);                                             \
    }                                                                          \
    static void call_##W(args *p, int at, T n, T huge)                         \
    {                                                                          \
        T t = (T)omp_get_num_threads();                                        \
        called c = {p, at, 0, 1}, c3 = {p, at, 0, 3}, all = {p, at, 0, 0};     \
        __kmpc_for_static_loop_##W(0, body_##W, &c, n, t, 0, 0);               \
        __kmpc_for_static_loop_##W(0, body_##W, &c3, n, t, 3, 0);              \
        __kmpc_for_static_loop_##W(0, body_##W, &all, n, t, huge, 0);          \
        __kmpc_for_static_loop_##W(0, body_##W, &c, 0, t, 1, 0);               \
        for (T i = 0; i < n; i += t, c.at += t)                                \
            __kmpc_for_static_loop_##W(0, body_##W, &c, n - i < t ? n - i : t, \
                                       t, 0, 1);                               \
    }                                                                          \
    static void call_distribute_##W(args *p, int at, T n, T huge)              \
    {                                                                          \
        called c = {p, at, 0, 0};                                              \
        T t = (T)omp_get_num_teams();                                          \
        __kmpc_distribute_static_loop_##W(0, body_##W, &c, n, 0, 0);           \
        __kmpc_distribute_static_loop_##W(0, body_##W, &c, n, 7, 0);           \
        __kmpc_distribute_static_loop_##W(0, body_##W, &c, n, huge, 0);        \
        __kmpc_distribute_static_loop_##W(0, body_##W, &c, 0, 1, 0);           \
        for (T i = 0; i < n; i += t, c.at += t)                                \
            __kmpc_distribute_static_loop_##W(0, body_##W, &c,                 \
                                              n - i < t ? n - i : t, 1, 1);    \
    }                                                                          \
    static void call_both_##W(args *p, int at, T n, T huge)                    \
    {                                                                          \
        T t = (T)omp_get_num_threads(), all = t * (T)omp_get_num_teams();      \
        called c = {p, at, 0, 0}, c1 = {p, at, (int64_t)t, 1},                 \
               c2 = {p, at, 10, 2};                                            \
        __kmpc_distribute_for_static_loop_##W(0, body_##W, &c1, n, t, 0, 0, 0);\
        __kmpc_distribute_for_static_loop_##W(0, body_##W, &c2, n, t, 10, 2,   \
                                              0);                              \
        __kmpc_distribute_for_static_loop_##W(0, body_##W, &c, n, t, huge, 3,  \
                                              0);                              \
        for (T i = 0; i < n; i += all, c1.at += all)                           \
            __kmpc_distribute_for_static_loop_##W(                             \
                0, body_##W, &c1, n - i < all ? n - i : all, t, 0, 0, 1);      \
    }

#define WIDTH(W, T, S)                                                         \
    CASE(W, T, S) STATIC(W, T, S) DISPATCH(W, T, S) CALLBACK(W, T)
#else
#define CALLBACK_SEQUENTIAL(W, T)                                              \
    static void call_##W(args *p, int at, T n, T huge)                         \
    {                                                                          \
        for (T i = 0; i < 4 * n; i++)                                          \
            mark(p, at + (int64_t)(i % n));                                    \
    }
#define WIDTH(W, T, S) CASE(W, T, S) CALLBACK_SEQUENTIAL(W, T)
#define SAME(W)                                                                \
    static void (*const for_##W)(args *, const case_##W *) = sequential_##W;   \
    static void (*const distribute_##W)(args *, const case_##W *) =            \
        sequential_##W;                                                        \
    static void (*const team_##W)(args *, const case_##W *) = sequential_##W;  \
    static void (*const dist_for_##W)(args *, const case_##W *) =              \
        sequential_##W;                                                        \
    static void (*const dispatch_##W)(args *, const case_##W *) =              \
        sequential_##W;                                                        \
    static void (*const dist_dispatch_##W)(args *, const case_##W *) =         \
        sequential_##W;                                                        \
    static void (*const call_distribute_##W)(args *, int, T_##W, T_##W) =      \
        call_##W;                                                              \
    static void (*const call_both_##W)(args *, int, T_##W, T_##W) = call_##W;
#endif

typedef int32_t T_4;
typedef uint32_t T_4u;
typedef int64_t T_8;
typedef uint64_t T_8u;
WIDTH(4, int32_t, int32_t)
WIDTH(4u, uint32_t, int32_t)
WIDTH(8, int64_t, int64_t)
WIDTH(8u, uint64_t, int64_t)
#if !PARALLEL
SAME(4) SAME(4u) SAME(8) SAME(8u)
#endif

/* Cases for any of the loops that take `k, at, schedule, from, end, by, chunk,
 * huge`: LOW and HIGH are the type's ends, BIG a chunk of which a loop of half
 * the type has two, FEW one of which all threads have some. */
#define TO(W, F, ...) F##_##W(p, &(case_##W){__VA_ARGS__})
#define STATIC_CASES(W, F, NONE, CHUNKED, LOW, HIGH, BIG, FEW)                 \
    TO(W, F, 0, 0, NONE, HIGH - 20, HIGH, 1, 1, 0);                            \
    TO(W, F, 0, 21, NONE | 1 << 30, LOW + 40, LOW, -4, 0, 0);                  \
    TO(W, F, 1, 40, CHUNKED, HIGH - 99, HIGH, 3, 4, 0);                        \
    TO(W, F, 2, 80, CHUNKED | 1 << 29, LOW + 20, LOW, -1, 3, 0);               \
    TO(W, F, 3, 105, CHUNKED, 5, 44, 1, 0, 0);                                 \
    TO(W, F, 4, 150, NONE, 7, 6, 1, 1, 0);                                     \
    TO(W, F, 4, 150, CHUNKED, 6, 7, -1, 1, 0);                                 \
    TO(W, F, 5, 150, CHUNKED, 3, 3, 1000, FEW, 0);                             \
    TO(W, F, 6, 0, NONE, LOW, HIGH - 1, 1, FEW, 1);                            \
    TO(W, F, 6, 0, CHUNKED, LOW, HIGH - 1, 1, FEW, 1);                         \
    TO(W, F, 6, 0, CHUNKED, 0, BIG - 2 + BIG, 1, BIG, 1);
#define LIMITS_4 INT32_MIN, INT32_MAX, (1 << 30), (1 << 22)
#define LIMITS_4u 0, UINT32_MAX, (1 << 30), (1 << 22)
#define LIMITS_8 INT64_MIN, INT64_MAX, (1LL << 62), (1LL << 55)
#define LIMITS_8u 0, UINT64_MAX, (1LL << 62), (1LL << 55)
#define WIDTHS_4(CASES, ...) CASES(4, __VA_ARGS__) CASES(4u, __VA_ARGS__)
#define WIDTHS_8(CASES, ...) CASES(8, __VA_ARGS__) CASES(8u, __VA_ARGS__)
#define ALL_WIDTHS(...) WIDTHS_4(__VA_ARGS__) WIDTHS_8(__VA_ARGS__)
#define EXPAND(M, ...) M(__VA_ARGS__)
#define STATIC_WIDTH(W, F, NONE, CHUNKED)                                      \
    EXPAND(STATIC_CASES, W, F, NONE, CHUNKED, LIMITS_##W)

static void for_cases(args *p)
{
    ALL_WIDTHS(STATIC_WIDTH, for, 34, 33)
    TO(4, for, 0, 200, 45, 5, 44, 1, 4, 0);
    TO(4u, for, 0, 240, 45, 5, 44, 1, 4, 0);
    TO(8, for, 0, 280, 45, 44, 5, -1, 8, 0);
    TO(8u, for, 0, 320, 45, 5, 44, 1, 8, 0);
    TO(4u, for, 6, 0, 45, 0, UINT32_MAX - 1, 1, 1 << 30, 1);
}

/* Schedules of fetched loops: all there are, some with clang's modifiers, then
 * those of ordered loops and those that kmp.h calls "nomerge". */
#define SCHEDULES(S)                                                           \
    S(33, 5) S(33, 0) S(34, 0) S(35 | 1 << 30, 3) S(35, 0) S(36, 2)            \
    S(36 | 1 << 29, 0) S(37, 3) S(38, 1) S(39, 1) S(39, 5) S(40, 1) S(41, 1)   \
    S(42, 2) S(43, 2) S(44, 2) S(45, 4) S(46, 4) S(47, 4) S(65, 2) S(66, 0)    \
    S(67, 2) S(68, 1) S(69, 0) S(70, 1) S(71, 3) S(161, 3) S(163, 3) S(193, 2)

/* Each schedule near one of the type's ends, and some over all of it. */
#define FETCH_CASES(W, F, LOW, HIGH, BIG, FEW)                                 \
    for (int i = 0; i < (int)(sizeof list / sizeof *list); i += 2) {           \
        if (i / 2 % 2)                                                         \
            TO(W, F, 0, 0, list[i], HIGH - 33 * 3, HIGH, 3, list[i + 1], 0);   \
        else                                                                   \
            TO(W, F, 1, 40, list[i], LOW + 70, LOW, -2, list[i + 1], 0);       \
    }                                                                          \
    TO(W, F, 2, 80, 35, 1, 0, 1, 1, 0);                                        \
    TO(W, F, 2, 80, 33, 0, 1, -1, 1, 0);                                       \
    TO(W, F, 2, 80, 36, 5, 5, 99, FEW, 0);                                     \
    TO(W, F, 3, 0, 35, 0, BIG - 2 + BIG, 1, BIG, 1);
#define FETCH_HUGE(W, F, LOW, HIGH, BIG, FEW)                                  \
    TO(W, F, 3, 0, 33, LOW, HIGH - 1, 1, FEW * 8, 1);                          \
    TO(W, F, 3, 0, 34, LOW, HIGH - 1, 1, 0, 1);                                \
    TO(W, F, 4, 0, 35, LOW, HIGH - 1, 1, FEW * 8, 1);                          \
    TO(W, F, 4, 0, 36, LOW, HIGH - 1, 1, FEW * 8, 1);                          \
    TO(W, F, 5, 0, 39, LOW, HIGH - 1, 1, FEW, 1);
#define FETCH_WIDTH(W, F, M) EXPAND(M, W, F, LIMITS_##W)

static void dispatch_cases(args *p)
{
#define BOTH(schedule, chunk) schedule, chunk,
    static const int list[] = {SCHEDULES(BOTH)};
    ALL_WIDTHS(FETCH_WIDTH, dispatch, FETCH_CASES)
    ALL_WIDTHS(FETCH_WIDTH, dispatch, FETCH_HUGE)
}
static void dist_dispatch_cases(args *p, int longs)
{
    static const int list[] = {34, 0, 35, 3, 36, 2};
    if (longs) {
        WIDTHS_8(FETCH_WIDTH, dist_dispatch, FETCH_CASES)
    } else {
        WIDTHS_4(FETCH_WIDTH, dist_dispatch, FETCH_CASES)
    }
}

static void callback_cases(args *p)
{
    call_4(p, 0, 61, 1 << 30);
    call_4u(p, 100, 61, 1u << 31);
    call_8(p, 200, 61, 1LL << 62);
    call_8u(p, 300, 61, 1ULL << 63);
}

/* The first chunks of a loop with more of them than are counted: as many
 * iterations for each, and none twice. */
static void uncounted(args *p)
{
#if PARALLEL
    int64_t lower = 0, upper = -1, by = 0;
    int last = 0, gtid = __kmpc_global_thread_num(0);
    __kmpc_dispatch_init_8(0, gtid, 35, 0, 1LL << 40, 1, 1);
    if (!__kmpc_dispatch_next_8(0, gtid, &last, &lower, &upper, &by))
        add(&p->out[0], 1);
    int64_t n = upper - lower + 1;
    add(&p->out[0], omp_get_num_threads() > 1 &&
                        (lower % n || lower / n >= omp_get_num_threads()));
    mark(p, 200 + (omp_get_num_threads() > 1 ? lower / n : 0));
    __kmpc_dispatch_deinit(0, gtid);
#pragma omp barrier
#pragma omp for
    for (int i = 1; i < omp_get_num_threads(); i++)
        p->a[200 + i] -= 1;
#else
    p->a[200] += 1;
#endif
}

#pragma omp end declare target

void rt_for_calls(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        for_cases(p);
#pragma omp parallel
        for_cases(p);
#pragma omp parallel num_threads(5)
#pragma omp master
#pragma omp parallel
        for_cases(p);
    }
}

void rt_distribute_calls(args *p)
{
#pragma omp target teams is_device_ptr(p)
    {
        ALL_WIDTHS(STATIC_WIDTH, distribute, 92, 91)
        ALL_WIDTHS(STATIC_WIDTH, team, 92, 91)
    }
}

/* `distribute` and `for` at once. */
void rt_dist_for_calls(args *p)
{
#pragma omp target teams is_device_ptr(p)
#pragma omp parallel num_threads(40)
    {
        WIDTHS_4(STATIC_WIDTH, dist_for, 34, 33)
    }
#pragma omp target teams is_device_ptr(p)
#pragma omp parallel num_threads(40)
    {
        WIDTHS_8(STATIC_WIDTH, dist_for, 34, 33)
    }
}

void rt_dispatch_calls(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        dispatch_cases(p);
#pragma omp parallel
        dispatch_cases(p);
#pragma omp parallel num_threads(5)
#pragma omp master
#pragma omp parallel
        dispatch_cases(p);
#pragma omp parallel
        uncounted(p);
    }
}

void rt_dist_dispatch_calls(args *p)
{
#pragma omp target teams is_device_ptr(p)
#pragma omp parallel num_threads(40)
    dist_dispatch_cases(p, 0);
#pragma omp target teams is_device_ptr(p)
#pragma omp parallel num_threads(40)
    dist_dispatch_cases(p, 1);
}

void rt_callback_calls(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        callback_cases(p);
#pragma omp parallel
        callback_cases(p);
#pragma omp parallel num_threads(3)
        callback_cases(p);
    }
}

void rt_distribute_callback_calls(args *p)
{
#pragma omp target teams is_device_ptr(p)
    {
        call_distribute_4(p, 0, 61, 1 << 30);
        call_distribute_4u(p, 100, 61, 1u << 31);
        call_distribute_8(p, 200, 61, 1LL << 62);
        call_distribute_8u(p, 300, 61, 1ULL << 63);
    }
}

void rt_both_callback_calls(args *p)
{
#pragma omp target teams is_device_ptr(p)
#pragma omp parallel
    {
        call_both_4(p, 0, 61, 1 << 30);
        call_both_4u(p, 100, 61, 1u << 31);
        call_both_8(p, 200, 61, 1LL << 62);
        call_both_8u(p, 300, 61, 1ULL << 63);
    }
}
