/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Target regions for the device runtime's tests: see rt_kernels.h. A kernel
 * that looks at thread numbers only counts what is WRONG.
 */
#include "rt_kernels.h"

#ifdef _OPENMP
#include <omp.h>
#define WRONG(condition) ((condition) != 0)
#else
#include "rt_sequential.h"
#define WRONG(condition) ((void)sizeof(condition), 0)
#endif

void rt_saxpy(args *p)
{
#pragma omp target teams distribute parallel for is_device_ptr(p)
    for (int i = 0; i < p->n; i++)
        p->u[i] += 2.5 * p->v[i];
}

void rt_dot(args *p)
{
    double sum = p->sum;
#pragma omp target teams distribute parallel for is_device_ptr(p)              \
    reduction(+ : sum)
    for (int i = 0; i < p->n; i++)
        sum += p->u[i] * p->v[i];
    p->sum = sum;
}

void rt_reduce_many(args *p)
{
#pragma omp target teams is_device_ptr(p)
    {
        double sum = 0, product = 1;
        int low = 1 << 30, bits = 0;
        float high = -1;
        short small = 0;
#pragma omp parallel for reduction(+ : sum, small) reduction(* : product)      \
    reduction(min : low) reduction(| : bits) reduction(max : high)
        for (int i = 0; i < p->n; i++) {
            sum += p->u[i];
            small += (short)p->a[i];
            product *= 1 + p->v[i] / 4096;
            low = p->b[i] < low ? p->b[i] : low;
            bits |= p->a[i];
            high = (float)p->v[i] > high ? (float)p->v[i] : high;
        }
        if (omp_get_team_num() == 0) {
            p->u[N] = sum;
            p->v[N] = product;
            p->out[0] = low;
            p->out[1] = bits;
            p->out[2] = (int64_t)high;
            p->out[3] = small;
        }
    }
}

#pragma omp declare reduction(add : point : omp_out.x += omp_in.x,             \
    omp_out.tag ^= omp_in.tag, omp_out.y[0] += omp_in.y[0],                    \
    omp_out.y[2] = omp_out.y[2] > omp_in.y[2] ? omp_out.y[2] : omp_in.y[2])    \
    initializer(omp_priv = (point){0, 0, {0, 0, -1}})

void rt_reduce_struct(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        point s = {0, 0, {0, 0, -1}};
#pragma omp parallel for reduction(add : s)
        for (int i = 0; i < p->n; i++) {
            s.x += p->v[i];
            s.tag ^= p->a[i] * 77;
            s.y[0] += (short)(p->b[i] % 5);
            s.y[2] = (short)(s.y[2] > i % 321 ? s.y[2] : i % 321);
        }
        p->p = s;
    }
}

void rt_reduce_team(args *p)
{
    double sum = p->sum;
    int isum = p->isum, low = p->imin;
#pragma omp target teams distribute parallel for is_device_ptr(p)              \
    reduction(+ : sum, isum) reduction(min : low)
    for (int i = 0; i < p->n; i++) {
        sum += p->u[i] * p->v[i];
        isum += p->a[i];
        if (p->b[i] < low)
            low = p->b[i];
    }
    p->sum = sum;
    p->isum = isum;
    p->imin = low;
}

/* The teams' main threads alone. */
void rt_reduce_main(args *p)
{
    double sum = p->sum;
    int isum = p->isum;
#pragma omp target teams distribute is_device_ptr(p) reduction(+ : sum, isum)
    for (int i = 0; i < p->n / 10; i++) {
        sum += p->u[i];
        isum += p->a[i];
#pragma omp parallel for
        for (int k = 0; k < 10; k++)
            p->b[i * 10 + k] += k;
    }
    p->sum = sum;
    p->isum = isum;
}

void rt_reduce_spmd(args *p)
{
    double sum = p->sum;
    int isum = p->isum;
#pragma omp target parallel for is_device_ptr(p) reduction(+ : sum, isum)      \
    num_threads(77)
    for (int i = 0; i < p->n; i++) {
        sum += p->u[i];
        isum += p->a[i];
    }
    p->sum = sum;
    p->isum = isum;
}

void rt_generic(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int s = p->a[0], t[3] = {1, 2, 3};
#pragma omp parallel for
        for (int i = 0; i < p->n; i++)
            p->b[i] = p->a[i] + s + t[i % 3];
        for (int i = 0; i < 3; i++)
            t[i] += p->b[i];
        s += p->b[p->n - 1];
#pragma omp parallel for
        for (int i = 0; i < p->n; i++)
            p->a[i] = p->b[p->n - 1 - i] - s + t[2 - i % 3];
        p->out[0] = s + t[1];
    }
}

void rt_generic_teams(args *p)
{
#pragma omp target teams distribute is_device_ptr(p)
    for (int row = 0; row < p->n / 20; row++) {
        double sum = 0;
        int base = row * 20;
#pragma omp parallel for reduction(+ : sum)
        for (int j = 0; j < 20; j++)
            sum += p->u[base + j] * (j + 1);
        p->v[base] = sum;
#pragma omp parallel for
        for (int j = 1; j < 20; j++)
            p->v[base + j] = p->v[base] + j;
    }
}

/* More than the runtime keeps in shared memory. */
void rt_many_arguments(args *p)
{
#define EACH(F)                                                                \
    F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13)  \
    F(14) F(15) F(16) F(17) F(18) F(19) F(20) F(21) F(22) F(23) F(24) F(25)    \
    F(26) F(27) F(28) F(29) F(30) F(31) F(32) F(33) F(34) F(35) F(36)
#pragma omp target is_device_ptr(p)
    {
#define DEFINE(k) int x##k = p->a[k];
        EACH(DEFINE)
#pragma omp parallel for
        for (int i = 0; i < p->n; i++) {
            int s = 0;
#define ADD(k) s += x##k * (i + k);
            EACH(ADD)
            p->b[i] = s;
        }
#define STORE(k) p->a[k] = x##k + 1;
        EACH(STORE)
    }
}

void rt_static_chunks(args *p)
{
#pragma omp target teams distribute dist_schedule(static, 13) is_device_ptr(p)
    for (int i = 0; i < p->n; i++)
        p->a[i] += i;
#pragma omp target parallel is_device_ptr(p)
    {
#pragma omp for schedule(static, 7) nowait
        for (int i = 0; i < p->n; i++)
            p->b[i] += i;
#pragma omp for schedule(static) nowait
        for (int i = p->n - 1; i >= 0; i -= 3)
            p->u[i] += i;
#pragma omp for schedule(static, 3)
        for (int i = 0; i < p->n / 10; i++)
            for (int k = 0; k < 10; k++)
                p->v[i * 10 + k] += k;
    }
}

void rt_static_types(args *p)
{
#pragma omp target teams is_device_ptr(p)
    {
#pragma omp distribute parallel for
        for (uint32_t i = 4294967295u - 100; i < 4294967295u; i++)
            p->a[i - (4294967295u - 100)] += 1;
#pragma omp distribute parallel for dist_schedule(static, 9)
        for (int64_t i = 9223372036854775807 - 200; i < 9223372036854775807;
             i += 2)
            p->b[(i - (9223372036854775807 - 200)) / 2] += 2;
#pragma omp distribute parallel for schedule(static, 5)
        for (uint64_t i = 77; i > 7; i -= 7)
            p->u[i] += 3;
#pragma omp distribute parallel for collapse(2)
        for (int i = -10; i < 10; i++)
            for (int k = 0; k < 25; k++)
                p->v[(i + 10) * 25 + k] += i * k;
    }
}

void rt_lastprivates(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int l = -1, m = -1, q = -1, r = -1;
#pragma omp parallel
        {
#pragma omp for lastprivate(l)
            for (int i = 0; i < p->n; i++)
                l = p->a[i];
#pragma omp for lastprivate(m) schedule(static, 3)
            for (int i = 0; i < p->n - 1; i++)
                m = p->a[i];
#pragma omp for lastprivate(q) schedule(dynamic, 4)
            for (int i = 0; i < p->n - 2; i++)
                q = p->a[i];
#pragma omp for lastprivate(r) schedule(guided)
            for (int i = 0; i < p->n - 3; i++)
                r = p->a[i];
        }
        p->out[0] = l;
        p->out[1] = m;
        p->out[2] = q;
        p->out[3] = r;
    }
}

void rt_dynamics(args *p)
{
#pragma omp target parallel is_device_ptr(p)
    {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < p->n; i++)
            p->a[i] += i;
#pragma omp for schedule(dynamic, 7) nowait
        for (int i = 0; i < p->n; i++)
            p->b[i] += 1;
#pragma omp for schedule(guided, 3)
        for (int i = 0; i < p->n; i++)
            p->u[i] += p->b[i];
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 0; i++)
            p->v[i] += 1;
#pragma omp for schedule(auto)
        for (int i = 0; i < p->n; i++)
            p->v[i] += p->u[i];
    }
}

void rt_dynamic_types(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int s = 1;
#pragma omp parallel for schedule(dynamic, 3)
        for (uint32_t i = 4294967295u - 50; i < 4294967295u; i++)
            p->a[i - (4294967295u - 50)] += s;
#pragma omp parallel for schedule(guided)
        for (int64_t i = -9223372036854775807; i < -9223372036854775807 + 99;
             i += 3)
            p->b[(i + 9223372036854775807) / 3] += s;
#pragma omp parallel for schedule(dynamic)
        for (uint64_t i = 18446744073709551615u; i > 18446744073709551615u - 60;
             i -= 5)
            p->u[(18446744073709551615u - i) / 5] += s;
        s = 2;
    }
}

void rt_runtime_schedules(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int s = 0;
        for (int kind = 0; kind < 5; kind++) {
            static const int kinds[] = {1, 1, 2, 3, 4}, sizes[] = {0, 3, 2, 0, 0};
            omp_set_schedule((omp_sched_t)kinds[kind], sizes[kind]);
            omp_sched_t k;
            int c;
            omp_get_schedule(&k, &c);
            p->out[kind] = (int)k * 10 + c;
#pragma omp parallel
            {
#pragma omp for schedule(runtime) nowait
                for (int i = 0; i < p->n; i++)
                    p->a[i] += kind + s;
#pragma omp for schedule(runtime)
                for (int i = 0; i < p->n; i++)
                    p->b[i] += p->n - i;
            }
            s++;
        }
    }
}

void rt_ordereds(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int at = 0;
#pragma omp parallel for ordered schedule(dynamic)
        for (int i = 0; i < p->n; i++) {
#pragma omp ordered
            p->a[at++] = i * 3;
        }
#pragma omp parallel for ordered
        for (int i = 0; i < p->n; i++) {
#pragma omp ordered
            p->b[--at] = i;
        }
        p->out[0] = at;
    }
}

void rt_criticals(args *p)
{
#pragma omp target teams distribute parallel for is_device_ptr(p)
    for (int i = 0; i < 60; i++) {
#pragma omp critical
        {
            int k = p->isum;
            p->isum = k + i;
        }
#pragma omp critical(other)
        p->out[1] += p->a[i];
#pragma omp atomic
        p->out[2] += i;
    }
}

void rt_locks(args *p)
{
    omp_lock_t *lock = (omp_lock_t *)&p->lock;
    omp_nest_lock_t *nest = (omp_nest_lock_t *)&p->nest;
#pragma omp target parallel for is_device_ptr(p, lock, nest)
    for (int i = 0; i < 40; i++) {
        omp_set_lock(lock);
        p->isum += i;
        omp_unset_lock(lock);
        while (!omp_test_lock(lock))
            ;
        p->out[0] += p->a[i];
        omp_unset_lock(lock);
        omp_set_nest_lock(nest);
        p->out[1] += 1 + WRONG(omp_test_nest_lock(nest) != 2);
        omp_set_nest_lock(nest);
        omp_unset_nest_lock(nest);
        omp_unset_nest_lock(nest);
        p->out[2] += i;
        omp_unset_nest_lock(nest);
    }
}

void rt_singles(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int wrong = 0, runs = 0, masked = 0;
#pragma omp parallel
        {
            int v;
            double d[3];
#pragma omp single copyprivate(v, d)
            {
                runs++;
                v = p->a[3];
                d[2] = p->u[4];
            }
            if (v != p->a[3] || d[2] != p->u[4]) {
#pragma omp atomic
                wrong++;
            }
#pragma omp single
            runs += v;
#pragma omp master
            masked += 1;
#pragma omp masked filter(omp_get_num_threads() - 1)
            p->out[4] = WRONG(omp_get_thread_num() != omp_get_num_threads() - 1);
        }
        p->out[0] = wrong;
        p->out[1] = runs;
        p->out[2] = masked;
    }
}

void rt_nested(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
        for (int i = 0; i < 40; i++) {
            int me = omp_get_thread_num(), here = i, sum = 0;
            wrong += WRONG(omp_get_level() != 1);
#pragma omp parallel for reduction(+ : sum)
            for (int k = 0; k < 10; k++) {
                wrong += WRONG(omp_get_level() != 2 || omp_get_thread_num() != 0);
                wrong += WRONG(omp_get_num_threads() != 1);
                wrong += WRONG(omp_get_ancestor_thread_num(1) != me);
                wrong += WRONG(omp_get_ancestor_thread_num(3) != -1);
                wrong += WRONG(omp_get_team_size(2) != 1);
#pragma omp parallel for schedule(dynamic)
                for (int m = 0; m < 3; m++)
#pragma omp parallel for schedule(dynamic, 2)
                    for (int q = 0; q < 3; q++)
                        sum += q * m + here + WRONG(omp_get_level() != 4);
            }
            wrong += WRONG(omp_get_level() != 1 || omp_get_thread_num() != me);
            p->a[i] = sum;
        }
        p->out[0] = wrong;
    }
}

/* Each number of threads is given exactly where the block has them. */
void rt_num_threads(args *p)
{
#pragma omp target thread_limit(128) is_device_ptr(p)
    {
        int wrong = 0;
        for (int t = 1; t <= 128; t += t < 8 ? 1 : 13) {
            int seen = 0, inside = 0, given = 1, sum = 0;
#pragma omp parallel num_threads(t) reduction(+ : sum)
            {
#pragma omp atomic
                seen++;
                sum += 1;
#pragma omp barrier
#pragma omp master
                given = omp_get_num_threads();
#pragma omp for schedule(dynamic)
                for (int i = 0; i < 50; i++) {
#pragma omp atomic
                    inside++;
                }
                if (WRONG(seen != omp_get_num_threads())) {
#pragma omp atomic
                    wrong++;
                }
            }
            wrong += WRONG(given != (t < omp_get_thread_limit()
                                         ? t : omp_get_thread_limit()));
            wrong += WRONG(seen != given || inside != 50 || sum != given);
        }
        p->out[0] = wrong;
    }
}

void rt_if_clause(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int wrong = 0, runs = 0;
        for (int k = 0; k < 3; k++) {
#pragma omp parallel if (k > p->n)
            {
                runs++;
                wrong += WRONG(omp_get_num_threads() != 1 || omp_in_parallel());
                wrong += WRONG(omp_get_level() != 1 || omp_get_thread_num() != 0);
#pragma omp for schedule(dynamic)
                for (int i = 0; i < p->n; i++)
                    p->a[i] += i;
#pragma omp barrier
            }
        }
        p->out[0] = wrong;
        p->out[1] = runs;
    }
}

#pragma omp declare target
/* One that goes is seen to, however slowly it ticks. */
static inline int clock_stands(void)
{
    double start = omp_get_wtime();
    for (int i = 0; i < 1000000; i++)
        if (omp_get_wtime() > start)
            return 0;
    return 1;
}
#pragma omp end declare target

void rt_icvs(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int wrong = 0;
        wrong += WRONG(omp_get_level() || omp_in_parallel() || omp_get_thread_num());
        wrong += WRONG(omp_get_num_threads() != 1 || omp_get_dynamic());
        wrong += WRONG(omp_get_max_threads() != omp_get_thread_limit());
        wrong += WRONG(omp_get_num_procs() < 1 || omp_get_team_num() != 0);
        omp_set_num_threads(1);
        wrong += WRONG(omp_get_max_threads() != 1);
#pragma omp parallel reduction(+ : wrong)
        wrong += WRONG(omp_get_num_threads() != 1);
        omp_set_num_threads(1000000);
#pragma omp parallel reduction(+ : wrong)
        {
            wrong += WRONG(omp_get_max_threads() != 1000000);
            omp_set_num_threads(3 + omp_get_thread_num());
            wrong += WRONG(omp_get_max_threads() != 3 + omp_get_thread_num());
#pragma omp barrier
            wrong += WRONG(omp_get_max_threads() != 3 + omp_get_thread_num());
#pragma omp parallel
            {
                omp_set_num_threads(2);
                wrong += WRONG(omp_get_max_threads() != 2);
            }
            wrong += WRONG(omp_get_max_threads() != 3 + omp_get_thread_num());
        }
        wrong += WRONG(omp_get_max_threads() != 1000000);
#pragma omp parallel reduction(+ : wrong)
        wrong += WRONG(omp_get_max_threads() != 1000000);
        wrong += WRONG(clock_stands() || !(omp_get_wtick() > 0));
        p->out[0] = wrong;
    }
}

void rt_tasks(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int done = 0;
#pragma omp parallel
        {
            int mine = omp_get_thread_num(), sum = 0;
#pragma omp task firstprivate(mine) shared(sum)
            {
                int deeper = mine + 1;
#pragma omp task shared(sum) firstprivate(deeper)
                sum += deeper;
#pragma omp taskwait
                sum += mine;
            }
#pragma omp taskwait
#pragma omp task if (sum < 0) shared(sum)
            sum++;
            if (sum != 2 * mine + 2) {
#pragma omp atomic
                done += 1000;
            }
#pragma omp single
#pragma omp taskgroup
            for (int i = 0; i < p->n; i++) {
#pragma omp task depend(inout : p->a[0]) firstprivate(i)
                p->a[i] += i;
            }
#pragma omp master
            done++;
        }
        p->out[0] = done;
    }
}

void rt_taskloops(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int last = 0, sum = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskloop grainsize(3) lastprivate(last)
            for (int i = 0; i < p->n; i++) {
                p->a[i] *= 2;
                last = i;
            }
#pragma omp taskloop num_tasks(4) shared(sum) nogroup
            for (int i = 0; i < p->n; i++)
                sum += p->a[i];
#pragma omp taskloop
            for (int i = 5; i < 5; i++)
                sum = -1;
        }
        p->out[0] = last;
        p->out[1] = sum;
    }
}

#pragma omp declare target
__attribute__((noinline)) static void orphan(args *p, int *count)
{
#pragma omp for
    for (int i = 0; i < p->n; i++)
        p->a[i] += 1;
#pragma omp for schedule(dynamic)
    for (int i = 0; i < p->n; i++)
        p->b[i] += p->a[i];
#pragma omp single
    ++*count;
#pragma omp barrier
    int sum = 0, *q = &sum;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        *q += 0, sum += i;
#pragma omp master
    *count += sum;
#pragma omp barrier
}
#pragma omp end declare target

/* The same function in and outside of a region. */
void rt_orphaned(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int count = 0;
        orphan(p, &count);
#pragma omp parallel
        orphan(p, &count);
#pragma omp parallel num_threads(3)
        orphan(p, &count);
        p->out[0] = count;
    }
}

void rt_sections(args *p)
{
#pragma omp target is_device_ptr(p)
    {
        int x = 0, y = 0, z = 0;
#pragma omp parallel
        {
#pragma omp sections lastprivate(z)
            {
#pragma omp section
                x += 1;
#pragma omp section
                y += 2;
#pragma omp section
                z = 3;
            }
        }
        p->out[0] = x * 100 + y * 10 + z;
    }
}

/* Born in SPMD mode, with all that can be in a region. */
void rt_spmd_parallel(args *p)
{
#pragma omp target parallel is_device_ptr(p)
    {
        double sum = 0;
        int me = omp_get_thread_num();
#pragma omp for schedule(static, 2)
        for (int i = 0; i < p->n; i++)
            p->u[i] += 1;
#pragma omp single
        p->out[0]++;
#pragma omp parallel
        if (WRONG(omp_get_thread_num() || omp_get_ancestor_thread_num(1) != me))
            sum = 1;
#pragma omp critical
        p->sum += sum;
        if (WRONG(me >= omp_get_num_threads())) {
#pragma omp atomic
            p->out[1]++;
        }
    }
#pragma omp target parallel num_threads(50) is_device_ptr(p)
    {
#pragma omp for
        for (int i = 0; i < p->n; i++)
            p->v[i] += p->u[p->n - 1 - i];
#pragma omp for schedule(guided)
        for (int i = 0; i < p->n; i++)
            p->b[i] += p->a[i];
    }
}

void rt_alloc(args *p)
{
#pragma omp target teams distribute parallel for is_device_ptr(p)
    for (int i = 0; i < 64; i++) {
        int *q = omp_alloc(40, omp_default_mem_alloc);
        for (int k = 0; k < 10; k++)
            q[k] = i * k;
        p->a[i] = q[7] + q[2];
        omp_free(q, omp_default_mem_alloc);
    }
}

void rt_grid(args *p)
{
#pragma omp target teams is_device_ptr(p)
    {
#pragma omp parallel
        {
            int wrong = WRONG(omp_get_team_num() >= omp_get_num_teams());
            wrong += WRONG(omp_get_thread_num() >= omp_get_num_threads());
            wrong += WRONG(omp_is_initial_device() && omp_get_num_teams() > 1);
            wrong += WRONG(omp_get_team_size(1) != omp_get_num_threads());
            wrong += WRONG(omp_get_ancestor_thread_num(1) != omp_get_thread_num());
            wrong += WRONG(omp_get_ancestor_thread_num(0) != 0);
            if (wrong) {
#pragma omp atomic
                p->out[0] += wrong;
            }
        }
    }
}
