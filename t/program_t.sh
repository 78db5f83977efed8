#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Whole programs, each about one thing that a program once found wrong. Those
# in t/programs say in their first lines what to run them with and what they
# must print:
#
#   // options: -fopenmp-version=51
#   // expect: 5 6
#   // expect cuda: 5 7
#   // one module: why it is not specialized as PTX, which makes several
#   // needs: libdevice
#
# Each gets the name of its device as an argument.
#
# On the host device with data shared and copied, specialized, with one thread
# a team and many, and as PTX, specialized and in four schedules and three kinds of streams, where PTXI
# names an emulated libcuda.so.1.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
cached

# says PROGRAM WORD: what follows "// WORD: " in it
says() { sed -n "s,^// $2: ,,p" "$1"; }

# prints TEXT NAME COMMAND...: it succeeds, and that is its output
prints() {
    text=$1; shift
    succeeds "$@"
    is "$out" "$text" "  prints what it must"
}

on_host() {
    for memory in shared separate auto; do
        # shellcheck disable=SC2086
        prints "$expect" "$name: host, $memory memory" timeout 120 "$ompjit" \
            run -q --device=host --host-memory=$memory $options "$program" host
    done
    # shellcheck disable=SC2086
    prints "$expect" "$name: specialized" timeout 120 \
        env OMPJIT_SPECIALIZE=now "$ompjit" run -q --device=host $options \
        "$program" host
    # shellcheck disable=SC2086
    prints "$expect" "$name: 4 teams of 40 threads" timeout 120 "$ompjit" \
        run -q --device=host --teams=4 --threads=40 $options "$program" host
}

# Each of four schedules, three kinds of streams, and specialized or not, at least
# once.
as_ptx() {
    specialized=OMPJIT_SPECIALIZE=now
    reason=$(says "$program" "one module")
    if [ -n "$reason" ]; then
        pass "$name: PTX, specialized # SKIP $reason"
        specialized=
    fi
    for schedule in PTXI_SLICE=4 \
        "PTXI_SLICE=100000 PTXI_STREAM=lazy $specialized" \
        "PTXI_SEED=1 PTXI_STREAM=sync" "PTXI_SEED=2 PTXI_STREAM=lazy"; do
        # shellcheck disable=SC2086
        prints "${expect_cuda:-$expect}" "$name: PTX, $schedule" timeout 120 \
            env LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
            PTXI_LOG="$tmp/ptxi.log" $schedule "$ompjit" run -q --device=cuda \
            --teams=4 --threads=32 $options "$program" cuda
    done
}

for program in "$srcdir"/t/programs/*.c "$srcdir"/t/programs/*.cpp; do
    name=${program##*/}
    options=$(says "$program" options)
    expect=$(says "$program" expect)
    expect_cuda=$(says "$program" "expect cuda")
    on_host
    [ -e "${PTXI:-}/libcuda.so.1" ] || continue
    if [ "$(says "$program" needs)" = libdevice ] && ! has_libdevice; then
        skip "$name: PTX" "no libdevice, which is CUDA's"
    else
        as_ptx
    fi
done

# One warp of workers and less than one, whole warps and not, more than the
# kernel allows.
program=$srcdir/t/programs/state_machine.c
for threads in 1 7 64 100 200; do
    [ -e "${PTXI:-}/libcuda.so.1" ] || break
    prints "$(says "$program" expect)" "PTX, $threads threads a team" \
        timeout 120 env LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
        PTXI_LOG="$tmp/ptxi.log" "$ompjit" run -q --device=cuda \
        --threads=$threads "$program"
done

# More teams than an OpenMP region gets.
cat >"$tmp/teams.c" <<'EOF'
#include <omp.h>
#include <stdio.h>
static char came[2500000];
int main(void)
{
    int n = 0, wrong = 0;
#pragma omp target teams distribute parallel for num_teams(3000000) \
    thread_limit(1) map(from: n) map(tofrom: came)
    for (int i = 0; i < 2500000; i++) {
        if (i == 0)
            n = omp_get_num_teams();
        came[i]++;
    }
    for (int i = 0; i < 2500000; i++)
        wrong += came[i] != 1;
    printf("%d teams, %d wrong\n", n, wrong);
}
EOF
prints "2097151 teams, 0 wrong" "host: no more than 2^21 - 1 teams" \
    timeout 120 "$ompjit" run -q --device=host "$tmp/teams.c"
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    prints "2097151 teams, 0 wrong" "PTX: no more than 2^21 - 1" \
        timeout 300 env LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
        PTXI_LOG="$tmp/ptxi.log" "$ompjit" run -q --device=cuda "$tmp/teams.c"
fi

cat >"$tmp/constant.c" <<'EOF'
static const int table[3] = {1, 2, 3};
int main(void)
{
    int sum = 0, i = 1;
#pragma omp target map(tofrom: sum, table)
    sum += table[i];
    return sum;
}
EOF
fails_with '12 bytes at .* mapped `from`, but is read-only' \
    "a constant that is mapped explicitly" \
    timeout 120 "$ompjit" run --device=host --host-memory=separate \
    "$tmp/constant.c"

if [ ! -e "${PTXI:-}/libcuda.so.1" ]; then
    pass "as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi
done_testing
