#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The geometry that a launch runs with: under the checker what a plain run has,
# and in execution mode 6, for which flang leaves the loop out that goes from
# chunk to chunk, no iteration is left out whatever the geometry. How many OS
# threads run a launch changes from launch to launch (t/width_t.c) and no result.
# That clauses hold is shown by t/programs/geometry.c.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
unset OMP_NUM_TEAMS OMP_TEAMS_THREAD_LIMIT OMP_TARGET_OFFLOAD

# ------------------------------------------------------------ the checker

cat >"$tmp/race.c" <<'E2'
#include <omp.h>
#include <stdio.h>
int main(void)
{
    int test[256];
    for (int i = 0; i < 256; i++)
        test[i] = i;
#pragma omp target teams num_teams(1) thread_limit(256) map(test)
    {
        int s[256];
#pragma omp parallel THREADS
        {
            int t = omp_get_thread_num();
            s[t] = test[t];
            BARRIER
            test[t] = s[255 - t];
        }
    }
    printf("%d %d\n", test[0], test[255]);
}
E2
barrier='-DBARRIER=_Pragma("omp barrier")'
for threads in "" "num_threads(256)"; do
    run="timeout 100 $ompjit run --device=host -DTHREADS=$threads"
    succeeds "bare parallel $threads" $run "$barrier" "$tmp/race.c"
    is "$out" "255 0" "  has the threads of thread_limit"
    succeeds "  and is checked" $run --check "$barrier" "$tmp/race.c"
    is "$out" "255 0" "  with the same result"
    fails_with "race on 4 bytes of s" "  and without the barrier" \
        $run --check -DBARRIER= "$tmp/race.c"
done

# ------------------------------------------------------- execution mode 6

cat >"$tmp/once.c" <<'E2'
#include <stdio.h>
#pragma omp begin declare target
void __kmpc_distribute_for_static_loop_4u(void *loc,
    void (*f)(unsigned, void *), void *arg, unsigned n, unsigned threads,
    unsigned team_chunk, unsigned thread_chunk, unsigned char once);
static void add(unsigned i, void *a) { ((int *)a)[i]++; }
#pragma omp end declare target
#ifdef __NVPTX__
#define LOOP(a) \
    __kmpc_distribute_for_static_loop_4u(0, add, a, 1000, 0, 0, 0, 1)
#else
#define LOOP(a) add(0, a)
#endif
int main(void)
{
    int a[1000] = {0}, n = 0;
#pragma omp target teams map(a)
#pragma omp parallel
    LOOP(a);
    for (int i = 0; i < 1000; i++)
        n += a[i] == 1;
    printf("%d\n", n);
}
E2
succeeds "a loop that shall have one round compiles" timeout 100 "$ompjit" \
    run --device=host --dump "source-ir:$tmp/once.ll" \
    --dump "host-ir:$tmp/host.ll" "$tmp/once.c"
is "$out" 1000 "  and is run"
sed '/_kernel_environment = /s/{ i8 0, i8 1, i8 2,/{ i8 0, i8 1, i8 6,/' \
    "$tmp/once.ll" >"$tmp/six.ll"
like "$(cat "$tmp/six.ll")" "{ i8 0, i8 1, i8 6," "  in mode 6"
for geometry in "" "--teams=1" "--teams=3 --threads=5" "--teams=40 --threads=32"
do
    succeeds "mode 6 on the host device, ${geometry:-free}" timeout 100 \
        "$ompjit" run --device=host $geometry --host-ir "$tmp/host.ll" \
        "$tmp/six.ll"
    is "$out" 1000 "  all iterations"
    [ -e "${PTXI:-}/libcuda.so.1" ] || continue
    succeeds "  as PTX" emulated timeout 100 "$ompjit" run $geometry \
        --host-ir "$tmp/host.ll" "$tmp/six.ll"
    is "$out" 1000 "  all iterations"
done

# -------------------------------------------- the OS threads of a launch

# Sums of floats depend on how many teams there are, and a team may wait for
# one behind it.
cat >"$tmp/same.c" <<'E2'
#include <omp.h>
#include <stdio.h>
#include <string.h>
static float x[20000];
int main(void)
{
    int wrong = 0, turn = 0;
    for (int i = 0; i < 20000; i++)
        x[i] = 1.0f / (float)(i + 1);
    for (int n = 10; n <= 20000; n *= 44) {
        float first = 0;
        for (int k = 0; k < 400; k++) {
            float sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) \
    map(to : x)
            for (int i = 0; i < n; i++)
                sum += x[i];
            if (!k)
                first = sum;
            wrong += memcmp(&sum, &first, sizeof sum) != 0;
        }
    }
    for (int k = 0; k < 200; k++) {
#pragma omp target teams num_teams(2) map(turn)
        {
            if (omp_get_team_num() == 1) {
                #pragma omp atomic
                turn++;
            } else {
                for (int seen = 0; seen <= k;) {
                    #pragma omp atomic read
                    seen = turn;
                }
            }
        }
    }
    printf("%d %d\n", wrong, turn);
}
E2
succeeds "small loops, many times" env OMP_NUM_THREADS=2 timeout 100 "$ompjit" \
    run --device=host "$tmp/same.c"
is "$out" "0 200" "  same sums, and teams that wait go on"

# ------------------------------- threads that never wait for each other

# Barriers at a kernel's ends are dropped, unless a thread has read before the
# first one what another writes behind it.
cat >"$tmp/ends.c" <<'E2'
#include <omp.h>
#include <stdio.h>
static int a[4096], v[1] = {200};
int main(void)
{
    int wrong = 0;
#ifdef FREE
#pragma omp target teams num_teams(16) thread_limit(256) map(a)
#pragma omp parallel
    for (int i = omp_get_team_num() * omp_get_num_threads() +
                 omp_get_thread_num();
         i < 4096; i += omp_get_num_teams() * omp_get_num_threads())
        a[i] = omp_get_thread_num() == i % 256 ? 7 : 1;
#else
#pragma omp target teams num_teams(1) thread_limit(256) map(a, v)
#pragma omp parallel num_threads(v[0])
    {
        int me = omp_get_thread_num();
        for (int i = me; i < 4096; i += 200)
            a[i] = 7;
        v[0] = 1;
    }
#endif
    for (int i = 0; i < 4096; i++)
        wrong += a[i] != 7;
    printf("%d\n", wrong);
}
E2
barriers() { grep -c "call.* @ompjit_host_barrier" "$tmp/opt.ll"; }
for specialize in off now; do
    for form in -DFREE -DREADS; do
        succeeds "threads by number, $form, specialize $specialize" \
            timeout 100 env OMPJIT_SPECIALIZE=$specialize "$ompjit" run \
            --device=host $form --dump "opt:$tmp/opt.ll" "$tmp/ends.c"
        is "$out" 0 "  each element by its thread"
        if [ $form = -DFREE ]; then
            is "$(barriers)" 0 "  without a barrier"
        else
            like "n=$(barriers)" "n=[1-9]" "  and a barrier after the read"
        fi
    done
done

# ------------------------------------------- settings by device, and none

cat >"$tmp/teams.c" <<'E2'
#include <omp.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    int teams = 0;
    int device = argc > 1 ? omp_invalid_device : omp_get_default_device();
#pragma omp target teams device(device) map(teams)
    if (!omp_get_team_num())
        teams = omp_get_num_teams();
    printf("%d\n", teams);
}
E2
# teams_are N SETTING...
teams_are() {
    n=$1
    shift
    succeeds "$*" timeout 100 env "$@" "$ompjit" run --device=host "$tmp/teams.c"
    is "$out" "$n" "  $n teams"
}
teams_are 3 OMP_NUM_TEAMS=3
teams_are 4 OMP_NUM_TEAMS=3 OMP_NUM_TEAMS_ALL=4
teams_are 5 OMP_NUM_TEAMS_ALL=4 OMP_NUM_TEAMS_DEV=5
teams_are 6 OMP_NUM_TEAMS_DEV=5 OMP_NUM_TEAMS_DEV_0=6 OMP_NUM_TEAMS_DEV_1=7
teams_are 8 OMP_NUM_TEAMS_DEV_0=6 OMPJIT_TEAMS=8
fails_with 'teams.c:8: in main: the device is omp_invalid_device' \
    "omp_invalid_device" timeout 100 "$ompjit" run --device=host \
    "$tmp/teams.c" invalid
succeeds "  where nothing is offloaded" env OMP_TARGET_OFFLOAD=disabled \
    timeout 100 "$ompjit" run "$tmp/teams.c" invalid

cat >"$tmp/atomic.c" <<'E2'
struct three {
    char of[20];
};
static _Atomic struct three shared;
int main(void)
{
    struct three from = {"ab"}, to;
    shared = from;
    to = shared;
    return to.of[1] != 'b';
}
E2
fails_with 'libatomic has __atomic_ functions: -latomic' \
    "functions of libatomic" timeout 100 "$ompjit" run "$tmp/atomic.c"
succeeds "  which is a library like others" \
    timeout 100 "$ompjit" run -latomic "$tmp/atomic.c"
done_testing
