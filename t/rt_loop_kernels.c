/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops as clang compiles them: ordered regions, doacross dependences, every
 * schedule in every type, and loops inside of loops.
 */
#include "rt_kernels.h"

#ifdef _OPENMP
#include <omp.h>
#define WRONG(condition) ((condition) != 0)
#else
#include "rt_sequential.h"
#define WRONG(condition) ((void)sizeof(condition), 0)
#endif

#define TEXT(...) #__VA_ARGS__
#define OMP(...) _Pragma(TEXT(omp __VA_ARGS__))

/* Ordered regions come in the order of the iterations; some have none. */
#define ORDERED(type, from, to, by, ...)                                       \
    OMP(for ordered schedule(__VA_ARGS__))                                     \
    for (type i = from; i < to; i += by) {                                     \
        int n = (int)((i - from) / by);                                        \
        p->b[n] += n;                                                          \
        if (n % 3 != 1) {                                                      \
            OMP(ordered)                                                       \
            {                                                                  \
                p->a[at] = (int)(p->a[at - 1] * 3u + (unsigned)n);             \
                at++;                                                          \
            }                                                                  \
        }                                                                      \
        p->u[n] += p->b[n];                                                    \
    }

void rt_ordered_schedules(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int at = 1;
        omp_set_schedule((omp_sched_t)2, 3);
#pragma omp parallel num_threads(5)
        {
            ORDERED(int, -5, 20, 1, static)
            ORDERED(unsigned, 4294967200u, 4294967280u, 3, static, 2)
            ORDERED(long, 100, 300, 7, dynamic)
            ORDERED(unsigned long, 18446744073709551000ul,
                    18446744073709551111ul, 4, dynamic, 3)
            ORDERED(int, 0, 30, 1, guided)
            ORDERED(int, 0, 30, 1, guided, 2)
            ORDERED(int, 0, 30, 1, auto)
            ORDERED(int, 0, 30, 1, runtime)
            ORDERED(int, 0, 0, 1, static)
        }
        p->out[0] = at;
    }
}

/* The threads that run the iterations of an ordered loop. */
void rt_ordered_places(args *p)
{
#pragma omp target parallel is_device_ptr(p)
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads(), wrong = 0;
#pragma omp for ordered(1) schedule(static, 2)
        for (int i = 0; i < 60; i++)
            wrong += WRONG(i / 2 % n != me);
#pragma omp for ordered schedule(static, 2)
        for (int i = 0; i < 60; i++) {
            wrong += WRONG(i / 2 % n != me);
#pragma omp ordered
            p->isum = (int)(p->isum * 5u + (unsigned)i);
        }
#pragma omp for collapse(2) ordered schedule(dynamic)
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 7; k++)
#pragma omp ordered
                p->imin = (int)(p->imin * 3u + (unsigned)(i * k));
        if (wrong) {
#pragma omp atomic
            p->out[0] += wrong;
        }
    }
}

/* Each iteration of these would be wrong before those that it waits for. */
void rt_doacross_chain(args *p)
{
#pragma omp target parallel is_device_ptr(p)
    {
#pragma omp for ordered(1)
        for (int i = 1; i < 90; i++) {
#pragma omp ordered depend(sink : i - 1)
            p->a[i] += p->a[i - 1] * 3 % 1001;
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(1) schedule(static, 3) nowait
        for (unsigned i = 4294967200u; i < 4294967280u; i += 2) {
            unsigned k = (i - 4294967200u) / 2;
#pragma omp ordered depend(sink : i - 4) depend(sink : i - 2)
            p->b[k + 2] += (p->b[k] ^ p->b[k + 1]) % 77;
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(1) schedule(dynamic, 2)
        for (long i = 80; i > 0; i--) {
#pragma omp ordered depend(sink : i + 1)
            p->u[i] += p->u[i + 1] / 2;
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(1) schedule(guided)
        for (unsigned long i = 10; i < 80; i++) {
#pragma omp ordered depend(sink : i - 3)
            p->v[i] += p->v[i - 3] / 4;
#pragma omp ordered depend(source)
        }
    }
}

/* A nest, with dependences that leave it on all sides. */
void rt_doacross_nest(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int rows = 9, columns = 11;
#pragma omp parallel for ordered(2)
        for (int i = 0; i < rows; i++)
            for (int k = 0; k < columns; k++) {
                int at = (i + 1) * 20 + k + 1;
#pragma omp ordered depend(sink : i, k - 1) depend(sink : i - 1, k + 1)        \
    depend(sink : i - 1, k)
                p->a[at] += p->a[at - 1] * 3 + p->a[at - 19] + p->a[at - 20];
                p->a[at] %= 9973;
#pragma omp ordered depend(source)
            }
#pragma omp parallel for ordered(3) schedule(dynamic) num_threads(7)
        for (int i = 0; i < 4; i++)
            for (int k = 5; k > 0; k -= 2)
                for (int m = 0; m < 5; m++) {
                    int at = i * 15 + k / 2 * 5 + m + 100;
#pragma omp ordered depend(sink : i - 1, k, m) depend(sink : i, k + 2, m - 1)
                    p->b[at] += i ? p->b[at - 15] % 101 : k;
                    p->b[at] += k < 5 && m ? p->b[at + 4] % 103 : m;
#pragma omp ordered depend(source)
                }
    }
}

#pragma omp declare target
typedef struct dimension {
    int64_t lower, upper, step;
} dimension;
#ifdef _OPENMP
int __kmpc_global_thread_num(void *loc);
void __kmpc_doacross_init(void *loc, int gtid, int n, const dimension *d);
void __kmpc_doacross_wait(void *loc, int gtid, const int64_t *at);
void __kmpc_doacross_post(void *loc, int gtid, const int64_t *at);
void __kmpc_doacross_fini(void *loc, int gtid);
#else
#define __kmpc_global_thread_num(loc) 0
#define __kmpc_doacross_init(loc, gtid, n, d) ((void)(gtid), (void)(d))
#define __kmpc_doacross_wait(loc, gtid, at) (void)(at)
#define __kmpc_doacross_post(loc, gtid, at) (void)(at)
#define __kmpc_doacross_fini(loc, gtid)
#endif

/* With bounds as the contract has them, `upper` being the last iteration, and
 * what waits for an iteration outside of them not waiting. */
static void doacross_calls(args *p)
{
    const dimension d[] = {{2, 16, 2}, {9, -3, -3}};
    int gtid = __kmpc_global_thread_num(0);
    __kmpc_doacross_init(0, gtid, 2, d);
#pragma omp for schedule(static, 1)
    for (int i = 2; i <= 16; i += 2)
        for (int k = 9; k >= -3; k -= 3) {
            const int64_t here[] = {i, k}, left[] = {i, k + 3},
                          above[] = {i - 2, k}, corner[] = {i - 2, -3},
                          outside[] = {i - 2, k - 15}, behind[] = {i + 20, k};
            int at = i / 2 * 5 + (9 - k) / 3;
            __kmpc_doacross_wait(0, gtid, left);
            __kmpc_doacross_wait(0, gtid, above);
            __kmpc_doacross_wait(0, gtid, corner);
            __kmpc_doacross_wait(0, gtid, outside);
            __kmpc_doacross_wait(0, gtid, behind);
            p->a[at] += (p->a[i / 2 * 5 - 1] + p->a[at - 5] * 7) % 1009;
            __kmpc_doacross_post(0, gtid, here);
        }
    __kmpc_doacross_fini(0, gtid);
}
#pragma omp end declare target

void rt_doacross_calls(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        doacross_calls(p);
#pragma omp parallel
        doacross_calls(p);
#pragma omp parallel num_threads(5)
#pragma omp master
#pragma omp parallel
        doacross_calls(p);
    }
}

/* Each team has its own. */
void rt_doacross_teams(args *p)
{
#pragma omp target teams distribute is_device_ptr(p)
    for (int team = 0; team < 5; team++) {
#pragma omp parallel for ordered(1)
        for (int i = 1; i < 30; i++) {
#pragma omp ordered depend(sink : i - 1)
            p->a[team * 40 + i] += p->a[team * 40 + i - 1] % 55;
#pragma omp ordered depend(source)
        }
        int turn = 0;
#pragma omp parallel for ordered
        for (int i = 0; i < 30; i++) {
#pragma omp ordered
            p->b[team * 40 + turn++] += i;
        }
    }
}

/* Loops of single threads inside a team's loop of each kind, which goes on
 * undisturbed. Six copies of inner(), or one region of the six loops, would take
 * several times as long to compile. */
#pragma omp declare target
__attribute__((noinline)) static int inner(int n)
{
    int sum = 0, at = 0, row[12] = {1};
#pragma omp parallel for schedule(dynamic, 2) reduction(+ : sum)
    for (int i = 0; i < n; i++) {
#pragma omp parallel for schedule(guided) ordered
        for (int k = 0; k < 3; k++) {
#pragma omp ordered
            sum += i * k + at++;
        }
    }
#pragma omp parallel for ordered(1)
    for (int i = 1; i < 12; i++) {
#pragma omp ordered depend(sink : i - 1)
        row[i] = row[i - 1] * 2 + n;
#pragma omp ordered depend(source)
    }
#pragma omp parallel
    {
#pragma omp for schedule(static, 3)
        for (int i = 0; i < n; i++)
            sum += i;
#pragma omp for schedule(static)
        for (long i = n; i > 0; i--)
            sum += (int)i * 2;
    }
    return sum + row[11];
}
#pragma omp end declare target

#define OUTER(type, from, to, ...)                                             \
    OMP(for schedule(__VA_ARGS__))                                             \
    for (type i = from; i < to; i++)                                           \
        p->a[i - from] += inner((int)(i - from) % 7);
void rt_loops_in_loops(args *p)
{
#pragma omp target is_device_ptr(p)
    {
#pragma omp parallel
        {
            OUTER(int, 0, 20, static)
            OUTER(unsigned, 5, 25, dynamic)
        }
    }
#pragma omp target is_device_ptr(p)
    {
        omp_set_schedule((omp_sched_t)1, 4);
#pragma omp parallel
        {
            OUTER(long, -3, 17, guided)
            OUTER(unsigned long, 9, 29, runtime)
        }
    }
#pragma omp target is_device_ptr(p)
    {
#pragma omp parallel
        {
#pragma omp for ordered(1) schedule(dynamic)
            for (int i = 1; i < 15; i++) {
#pragma omp ordered depend(sink : i - 1)
                p->b[i] += inner(i % 4) + p->b[i - 1] % 7;
#pragma omp ordered depend(source)
            }
#pragma omp for ordered schedule(static, 1)
            for (int i = 1; i < 15; i++) {
                int t = inner(i % 3);
#pragma omp ordered
                p->b[0] = p->b[0] % 99 * 7 + t;
            }
        }
    }
}

/* distribute with each schedule of the threads, in each type. */
#define TEAMS(type, from, to, by, array, ...)                                  \
    OMP(distribute parallel for __VA_ARGS__)                                   \
    for (type i = from; i < to; i += by)                                       \
        p->array[(i - from) / by] += (int)(i % 100);
void rt_distributed(args *p)
{
#pragma omp target teams is_device_ptr(p)
    {
        TEAMS(int, -30, 200, 3, a, schedule(dynamic, 2))
        TEAMS(unsigned, 4294967000u, 4294967290u, 5, b, schedule(guided))
        TEAMS(long, 9223372036854775600, 9223372036854775800, 2, a,
              schedule(runtime))
        TEAMS(unsigned long, 18446744073709551000ul, 18446744073709551600ul, 9,
              b, schedule(nonmonotonic : dynamic))
        TEAMS(int, 0, 90, 1, a, dist_schedule(static, 8) schedule(static, 3))
        TEAMS(long, 5, 95, 1, b, dist_schedule(static) schedule(static))
        TEAMS(unsigned, 5, 95, 1, a, simd schedule(simd : static, 4))
        TEAMS(unsigned long, 5, 95, 1, b,
              simd dist_schedule(static, 4) schedule(auto))
        TEAMS(int, 5, 5, 1, a, schedule(dynamic))
    }
}
