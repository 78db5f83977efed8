/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels whose threads meet, for t/team_loops_t.sh. A name that begins with
 * `loops_` is of one in which all threads come to the same barriers, `fibers_`
 * of one in which that does not show. Each says by main's exit status whether
 * it is right, and its name if not.
 */
#include <omp.h>
#include <stdio.h>

enum { T = 70, TEAMS = 3, N = T * TEAMS };
static int out[N], want[N];

#define TARGET                                                                 \
    _Pragma("omp target teams num_teams(TEAMS) thread_limit(T) map(from: out)")
#define ME omp_get_thread_num()
#define BASE (omp_get_team_num() * T)
#define EXPECT(expression)                                                     \
    for (int team = 0; team < TEAMS; team++)                                   \
        for (int me = 0; me < T; me++)                                         \
            want[team * T + me] = (expression)

/* Barriers in a loop; a scalar, an index and a pointer live across them. */
static void loops_in_loop(void)
{
    TARGET
    {
        int all[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME, mine = me * 3;
            int *at = &all[T - 1 - me];
            for (int round = 0; round < 5; round++) {
                all[me] = mine;
                #pragma omp barrier
                mine += *at + round;
                #pragma omp barrier
            }
            out[BASE + me] = mine;
        }
    }
    int a[T], b[T];
    for (int i = 0; i < T; i++)
        a[i] = i * 3;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < T; i++)
            b[i] = a[i] + a[T - 1 - i] + round;
        for (int i = 0; i < T; i++)
            a[i] = b[i];
    }
    EXPECT(a[me]);
}

/* A barrier in a conditional that all threads take alike. */
static void loops_in_uniform_conditional(int flag)
{
    TARGET
    {
        int all[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME, mine = me;
            all[me] = me;
            if (flag > 1) {
                #pragma omp barrier
                mine += all[(me + 1) % T];
            } else {
                mine = -1;
            }
            out[BASE + me] = mine * 2;
        }
    }
    EXPECT((me + (me + 1) % T) * 2);
}

/* What decides comes out of memory, and one thread has put it there. */
static void loops_until_done(void)
{
    TARGET
    {
        int left, steps;
        #pragma omp parallel num_threads(T)
        {
            int me = ME, mine = 0;
            if (me == 0)
                left = 7 + omp_get_team_num();
            #pragma omp barrier
            while (left > 0) {
                mine += left * me;
                #pragma omp barrier
                if (me == 0)
                    left -= 2;
                #pragma omp barrier
            }
            if (me == 0)
                steps = left;
            #pragma omp barrier
            out[BASE + me] = mine + steps;
        }
    }
    for (int team = 0; team < TEAMS; team++) {
        int left = 7 + team, sum = 0;
        for (; left > 0; left -= 2)
            sum += left;
        for (int me = 0; me < T; me++)
            want[team * T + me] = sum * me + left;
    }
}

/* Each thread's own array, and another thread's pointer to it. */
static void loops_own_arrays(void)
{
    TARGET
    {
        int *of[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME, own[4];
            for (int i = 0; i < 4; i++)
                own[i] = me * 10 + i;
            of[me] = own;
            #pragma omp barrier
            int sum = 0;
            for (int i = 0; i < 4; i++)
                sum += of[(me + 5) % T][i];
            #pragma omp barrier
            own[me % 4] = 0;
            out[BASE + me] = sum * 100 + own[0];
        }
    }
    EXPECT(((me + 5) % T * 40 + 6) * 100 + (me % 4 ? me * 10 : 0));
}

/* Floats, values that are exchanged from round to round, and a way out that
 * only some threads take between two barriers. */
static void loops_exchange(void)
{
    TARGET
    {
        float all[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME;
            float a = (float)me, b = (float)(me + 1);
            for (int i = 0; i < 6; i++) {
                all[me] = a;
                #pragma omp barrier
                float next = b;
                b = a + all[(me + i) % T];
                a = next;
                for (int k = 0; k < 100; k++) {
                    if (k * 7 > me)
                        break;
                    a += 0.5f;
                }
                #pragma omp barrier
            }
            out[BASE + me] = (int)(a + 2 * b);
        }
    }
    float a[T], b[T], all[T];
    for (int i = 0; i < T; i++) {
        a[i] = (float)i;
        b[i] = (float)(i + 1);
    }
    for (int i = 0; i < 6; i++) {
        for (int t = 0; t < T; t++)
            all[t] = a[t];
        for (int t = 0; t < T; t++) {
            float next = b[t];
            b[t] = a[t] + all[(t + i) % T];
            a[t] = next;
            for (int k = 0; k < 100 && k * 7 <= t; k++)
                a[t] += 0.5f;
        }
    }
    EXPECT((int)(a[me] + 2 * b[me]));
}

/* Loops that are shared, single, and the barriers at their ends. */
static void loops_worksharing(void)
{
    TARGET
    {
        int all[T], sum = 0;
        #pragma omp parallel num_threads(T)
        {
            #pragma omp for
            for (int i = 0; i < T; i++)
                all[i] = i * i;
            #pragma omp single
            for (int i = 0; i < T; i++)
                sum += all[i];
            #pragma omp for
            for (int i = 0; i < T; i++)
                all[i] += sum;
            #pragma omp atomic
            sum++;
            #pragma omp barrier
            out[BASE + ME] = all[T - 1 - ME] + sum;
        }
    }
    int sum = 0;
    for (int i = 0; i < T; i++)
        sum += i * i;
    EXPECT((T - 1 - me) * (T - 1 - me) + 2 * sum + T);
}

__attribute__((noinline, const)) static int twice(int n)
{
    return 2 * n;
}

/* A value that only some threads have, and all of them the same. */
static void loops_undefined_in_some(int seven)
{
    TARGET
    {
        int all[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME, some;
            if (me < 3)
                some = twice(seven);
            all[me] = me;
            #pragma omp barrier
            int mine = all[T - 1 - me];
            if (me < 3)
                mine = some - mine * 3;
            out[BASE + me] = mine;
        }
    }
    EXPECT(me < 3 ? 14 - (T - 1 - me) * 3 : T - 1 - me);
}

/* One of two variables that serve one thread after the other. */
static void loops_either_variable(int four)
{
    TARGET
    {
        int all[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME, a[4] = {me, 1, 2, 3}, b[4] = {4, me, 6, 7};
            int *p = me & 1 ? a : b;
            p[me & 3] += 10;
            all[me] = p[four & 3] + p[(four + 1) & 3];
            #pragma omp barrier
            out[BASE + me] = all[T - 1 - me];
        }
    }
    for (int i = 0; i < T; i++) {
        int me = T - 1 - i;
        int first = me & 1 ? me : 4, second = me & 1 ? 1 : me;
        if ((me & 3) < 2)
            *((me & 3) ? &second : &first) += 10;
        for (int team = 0; team < TEAMS; team++)
            want[team * T + i] = first + second;
    }
}

/* Barriers in two loops and a switch; values of many sizes live across; a
 * variable of the loop's body whose address another thread gets. */
static void loops_nested(int rounds)
{
    TARGET
    {
        double *of[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME;
            _Bool odd = me & 1;
            short small = (short)(me * 3);
            long large = 1l << (me % 40);
            double real = me * 0.5;
            for (int i = 0; i < rounds; i++) {
                double own[2] = {real, me + i};
                of[me] = own;
                #pragma omp barrier
                for (int k = 0; k < 3; k++) {
                    real += of[(me + k) % T][k & 1];
                    #pragma omp barrier
                    if (odd)
                        small = (short)(small + k);
                    switch ((rounds + k) % 3) {
                    case 0: {
                        large += 2;
                        #pragma omp barrier
                        own[0] += 1;
                        break;
                    }
                    case 1: {
                        #pragma omp barrier
                        own[1] += 2;
                        #pragma omp barrier
                        large ^= 5;
                        break;
                    }
                    default:
                        large -= 3;
                    }
                    #pragma omp barrier
                }
            }
            out[BASE + me] = (int)(real + small + large % 1000 + odd);
        }
    }
    double real[T], own[T][2];
    short small[T];
    long large[T];
    for (int t = 0; t < T; t++) {
        real[t] = t * 0.5;
        small[t] = (short)(t * 3);
        large[t] = 1l << (t % 40);
    }
    for (int i = 0; i < rounds; i++) {
        for (int t = 0; t < T; t++) {
            own[t][0] = real[t];
            own[t][1] = t + i;
        }
        for (int k = 0; k < 3; k++) {
            for (int t = 0; t < T; t++)
                real[t] += own[(t + k) % T][k & 1];
            for (int t = 0; t < T; t++) {
                small[t] = (short)(small[t] + (t & 1 ? k : 0));
                int way = (rounds + k) % 3;
                large[t] = way == 0   ? large[t] + 2
                           : way == 1 ? large[t] ^ 5
                                      : large[t] - 3;
                own[t][0] += way == 0;
                own[t][1] += way == 1 ? 2 : 0;
            }
        }
    }
    EXPECT((int)(real[me] + small[me] + large[me] % 1000 + (me & 1)));
}

/* Code that some threads skip, and that all come to another way, too. */
static void loops_skipped_code(int rounds)
{
    TARGET
    {
        int all[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME, mine = 5;
            _Bool has = 1;
            out[BASE + me] = -1;
            for (int i = 0; i < rounds; i++) {
                all[me] = mine;
                #pragma omp barrier
                has = me % 3 == i % 3;
                if (i == 7)
                    break;
                if (has)
                    mine += all[(me + 1) % T];
                #pragma omp barrier
            }
            if (has) {
                for (int i = 0; i < me; i++)
                    if (mine % 1000 < 900)
                        mine += i;
                out[BASE + me] = mine;
            }
        }
    }
    int mine[T], all[T];
    _Bool has[T];
    for (int t = 0; t < T; t++) {
        mine[t] = 5;
        has[t] = 1;
    }
    for (int i = 0; i < rounds && i < 8; i++) {
        for (int t = 0; t < T; t++) {
            all[t] = mine[t];
            has[t] = t % 3 == i % 3;
        }
        for (int t = 0; t < T && i < 7; t++)
            if (has[t])
                mine[t] += all[(t + 1) % T];
    }
    for (int t = 0; t < T; t++)
        for (int i = 0; i < t; i++)
            if (mine[t] % 1000 < 900)
                mine[t] += i;
    EXPECT(has[me] ? mine[me] : -1);
}

__attribute__((noinline)) static int number(int plus)
{
    return omp_get_thread_num() + plus;
}

/* Functions that ask who they are, and an error that no thread makes. */
static void loops_calls(void)
{
    TARGET
    {
        int all[T];
        #pragma omp parallel num_threads(T)
        {
            int me = number(1);
            if (me > T)
                __builtin_trap();
            all[me - 1] = number(2);
            #pragma omp barrier
            if (all[number(0)] < 2)
                __builtin_trap();
            out[BASE + me - 1] =
                all[T - me] + number(0) + omp_get_num_threads();
        }
    }
    EXPECT(T - 1 - me + 2 + me + T);
}

/* A loop whose chunks threads fetch. */
static void loops_dynamic(void)
{
    TARGET
    {
        int all[T];
        #pragma omp parallel num_threads(T)
        {
            #pragma omp for schedule(dynamic, 3)
            for (int i = 0; i < T; i++)
                all[i] = i * 2;
            out[BASE + ME] = all[(ME + 9) % T];
        }
    }
    EXPECT((me + 9) % T * 2);
}

/* Sums of teams whose last warp is not whole: in the same order as with
 * fibers. */
static void loops_reduction(void)
{
    TARGET
    {
        float all[T], sum = 0;
        #pragma omp parallel num_threads(T) reduction(+ : sum)
        {
            all[ME] = 1.0f / (float)(ME + 1);
            #pragma omp barrier
            sum += all[T - 1 - ME];
        }
        #pragma omp parallel num_threads(T)
        out[BASE + ME] = (int)(sum * 1e6f);
    }
    float sums[3][32] = {{0}}, sum = 0;
    for (int i = 0; i < T; i++)
        sums[i / 32][i % 32] = 1.0f / (float)(T - i);
    for (int warp = 0; warp < 3; warp++)
        for (int n = warp < 2 ? 32 : T % 32; n > 1; n = (n + 1) / 2) {
            for (int lane = 0; lane < n / 2; lane++)
                sums[warp][lane] += sums[warp][lane + n / 2];
            sums[warp][n / 2] = sums[warp][n - 1];
        }
    sum = sums[0][0] + sums[1][0] + sums[2][0];
    EXPECT((int)(sum * 1e6f) + 0 * me);
}

/* More for each thread than a stack has room for. */
static void fibers_large_own(void)
{
    TARGET
    {
        int *of[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME, own[200];
            for (int i = 0; i < 200; i++)
                own[i] = me + i;
            of[me] = own;
            #pragma omp barrier
            int sum = 0;
            for (int i = 0; i < 200; i++)
                sum += of[(me + 1) % T][i];
            #pragma omp barrier
            out[BASE + me] = sum;
        }
    }
    EXPECT((me + 1) % T * 200 + 19900);
}

/* Which threads come to the barrier does not show: all do. */
static void fibers_divergent(void)
{
    TARGET
    {
        int all[T];
        #pragma omp parallel num_threads(T)
        {
            int me = ME, mine;
            all[me] = me;
            if (me % 2) {
                #pragma omp barrier
                mine = all[(me + 1) % T];
            } else {
                #pragma omp barrier
                mine = -all[(me + 1) % T];
            }
            out[BASE + me] = mine;
        }
    }
    EXPECT((me % 2 ? 1 : -1) * ((me + 1) % T));
}

/* Threads wait for their turn in a critical section. */
static void fibers_critical(void)
{
    TARGET
    {
        int sum = 0;
        #pragma omp parallel num_threads(T)
        {
            #pragma omp critical
            sum += ME;
            #pragma omp barrier
            out[BASE + ME] = sum;
        }
    }
    EXPECT(T * (T - 1) / 2);
}

/* One thread waits until another has stored. */
static void fibers_waiting(void)
{
    TARGET
    {
        int flag = 0;
        #pragma omp parallel num_threads(T)
        {
            int seen = 0;
            if (ME == T - 1) {
                #pragma omp atomic write
                flag = 5;
            }
            while (!seen) {
                #pragma omp atomic read
                seen = flag;
            }
            #pragma omp barrier
            out[BASE + ME] = seen;
        }
    }
    EXPECT(5);
}

static int wrong(const char *name)
{
    int bad = 0;
    for (int i = 0; i < N; i++)
        bad |= out[i] != want[i];
    if (bad)
        printf("%s is wrong\n", name);
    return bad;
}

#define RUN(name, ...) (name(__VA_ARGS__), wrong(#name))

int main(int argc, char **argv)
{
    int bad = 0;
    for (int i = 0; i < 2; i++) {
        bad |= RUN(loops_in_loop);
        bad |= RUN(loops_in_uniform_conditional, argc + 1);
        bad |= RUN(loops_until_done);
        bad |= RUN(loops_own_arrays);
        bad |= RUN(loops_exchange);
        bad |= RUN(loops_worksharing);
        bad |= RUN(loops_undefined_in_some, argc + 6);
        bad |= RUN(loops_either_variable, argc + 3);
        bad |= RUN(loops_nested, argc + 3);
        bad |= RUN(loops_skipped_code, argc - 1);
        bad |= RUN(loops_skipped_code, argc + 3);
        bad |= RUN(loops_skipped_code, argc + 30);
        bad |= RUN(loops_calls);
        bad |= RUN(loops_dynamic);
        bad |= RUN(loops_reduction);
        bad |= RUN(fibers_large_own);
        bad |= RUN(fibers_divergent);
        bad |= RUN(fibers_critical);
        bad |= RUN(fibers_waiting);
    }
    return bad;
}
