#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The programs of "Implementing implicit OpenMP data sharing on GPUs" (LLVM-HPC
# 2017, tables 4 to 7), as kernels that become SPMD and as kernels that are kept
# generic: for each row less team-shared memory than there, no more registers,
# no fewer teams in a multiprocessor than CUDA's rules make of the paper's
# figures, right results in two schedules, and no device memory for up to 32
# references.
# In SPMD mode a program has no more registers and code than in generic mode, and
# executes no more barriers.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_OPT OMPJIT_TEAMS OMPJIT_THREADS
PTXAS=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)

# scalars N GENERIC: N references, one of them to the array `a`
scalars() {
    awk -v n="$1" -v generic="$2" 'BEGIN {
        print "#include <omp.h>\n#include <stdio.h>"
        print "enum { TEAMS = 4, WORKERS = 96, SIZE = TEAMS * WORKERS };"
        print "#pragma omp begin declare target\nint sink;"
        print "__attribute__((noinline)) void opaque(void)"
        print "{ sink++; __asm__ volatile(\"\" ::: \"memory\"); }"
        print "#pragma omp end declare target"
        print "static void increment_array(int *a)\n{"
        for (i = 1; i < n; i++) print "    int c" i " = 0;"
        print "#pragma omp target teams num_teams(TEAMS) " \
            "thread_limit(WORKERS) map(tofrom: a[:SIZE])\n    {"
        for (i = 1; i < n; i++) print "        c" i " += " i ";"
        if (generic) print "        opaque();"
        print "#pragma omp parallel"
        printf "        a[omp_get_team_num() * WORKERS + " \
            "omp_get_thread_num()] += 1"
        for (i = 1; i < n; i++) printf " + c" i
        print ";\n    }\n}"
        print "int main(void)\n{\n    static int a[SIZE];\n    int bad = 0;"
        print "    increment_array(a);"
        print "    for (int i = 0; i < SIZE; i++)"
        print "        bad += a[i] != " 1 + n * (n - 1) / 2 ";"
        print "    printf(\"%d\\n\", bad);\n}"
    }'
}
# arrays N GENERIC: of 96 int each
arrays() {
    awk -v n="$1" -v generic="$2" 'BEGIN {
        print "#include <omp.h>\n#include <stdio.h>"
        print "enum { TEAMS = 4, WORKERS = 96, SIZE = TEAMS * WORKERS };"
        print "#pragma omp begin declare target\nint sink;"
        print "__attribute__((noinline)) void opaque(void)"
        print "{ sink++; __asm__ volatile(\"\" ::: \"memory\"); }"
        print "#pragma omp end declare target"
        print "static void increment_array(int *a)\n{"
        print "#pragma omp target teams num_teams(TEAMS) " \
            "thread_limit(WORKERS) map(tofrom: a[:SIZE])\n    {"
        for (i = 1; i <= n; i++) {
            print "        int d" i "[WORKERS];"
            print "        for (int i = 0; i < WORKERS; i++) d" i "[i] = 10;"
        }
        if (generic) print "        opaque();"
        print "#pragma omp parallel\n        {"
        print "            int me = omp_get_thread_num();"
        printf "            a[omp_get_team_num() * WORKERS + me] += 0"
        for (i = 1; i <= n; i++) printf " + d" i "[me]"
        print ";\n        }\n    }\n}"
        print "int main(void)\n{\n    static int a[SIZE];\n    int bad = 0;"
        print "    increment_array(a);"
        print "    for (int i = 0; i < SIZE; i++)"
        print "        bad += a[i] != " 10 * n ";"
        print "    printf(\"%d\\n\", bad);\n}"
    }'
}

# figures FILE [OPTION]: "REGISTERS SHARED CODE" on sm_75, memory in bytes
figures() {
    "$ompjit" inspect --arch sm_75 ${2:+"$2"} "$1" | sed -n '
        s/^  on sm_75 *//
        s/^\([0-9]*\) registers, \([0-9]*\) bytes shared/\1 \2/
        s/,.* \([0-9]*\) bytes code.*/ \1/p'
}
# teams GPU REGISTERS SHARED: of 128 threads, as cuda_occupancy.h has it; a K40
# with 16 KB
teams() {
    awk -v gpu="$1" -v registers="$2" -v shared="$3" '
        function up(n, unit) { return int((n + unit - 1) / unit) * unit }
        function least(a, b) { return a < b ? a : b }
        BEGIN {
            parts = gpu == "P100" ? 2 : 4
            by = int(int(65536 / parts / up(registers * 32, 256)) * parts / 4)
            by = least(by, 16) # 64 warps
            if (shared) by = least(by, int((gpu == "P100" ? 65536 : 16384) / \
                up(shared, 256)))
            print by
        }'
}
# no_fewer GPU: teams of `registers` and `shared`, than of the row's figures
no_fewer() {
    here=$(teams "$1" "$registers" "$shared")
    there=$(teams "$1" "$3" "$2")
    is "$((here >= there))" 1 "  $here teams on a $1, there $there"
}

# row KIND N SHARED REGISTERS [GENERIC]: the paper's figures are exceeded by none
row() {
    name="$1 $2${5:+, generic}"
    "$1" "$2" "${5-}" >"$tmp/p.c"
    if [ -e "${PTXI:-}/libcuda.so.1" ]; then
        for schedule in PTXI_SLICE=4 PTXI_SLICE=100000; do
            succeeds "$name, $schedule" emulated $schedule \
                PTXI_LOG="$tmp/ptxi.log" timeout 120 "$ompjit" run -q "$tmp/p.c"
            is "$out" 0 "  no wrong results"
        done
    fi
    [ -x "$PTXAS" ] || { skip "$name: figures" "no ptxas"; return; }
    read -r registers shared code <<END
$(figures "$tmp/p.c")
END
    is "$((shared < $3))" 1 "$name: $shared bytes shared, there $3"
    is "$((registers <= $4))" 1 "  $registers registers, there $4"
    no_fewer K40 "$3" "$4"
    no_fewer P100 "$3" "$4"
    # A kernel here has one serial part. The workers' loop of a generic kernel
    # has barriers, which shows that those in loops are seen.
    barriers=$("$ompjit" compile "$tmp/p.c" --emit=ptx -o - |
        awk -f "$srcdir/t/barriers.awk")
    if [ -n "${5-}" ]; then
        like "$barriers" ' [1-9][0-9]* [1-9][0-9]*$' "  barriers in a loop"
    else
        like "$barriers" ' [0-2] 0$' "  executes 2 barriers at most"
        read -r its _ its_code <<END
$(figures "$tmp/p.c" --opt=openmp-opt-disable-spmdization)
END
        is "$((registers <= its && code <= its_code))" 1 \
            "  $registers registers, $code bytes; generic $its, $its_code"
    fi
    [ "$2" -gt 32 ] || is "$("$ompjit" compile "$tmp/p.c" --emit=ptx \
        -o - | grep -c 'call.*malloc')" 0 "  no device memory"
}

# barriers FILE [OPTION]: "BARRIERS IN-LOOPS"
barriers() {
    "$ompjit" compile ${2:+"$2"} "$1" --emit=ptx -o - |
        awk -f "$srcdir/t/barriers.awk" | sed 's/^[^ ]* //'
}
guards=$srcdir/t/data/guards.c
like "$(barriers "$guards")" '^[0-4] 0$' \
    "three serial parts, two regions: 4 barriers at most"
like "$(barriers "$guards" --opt=openmp-opt-disable-barrier-elimination)" \
    '^1[0-9] 0$' "  and more where none may be dropped"
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    for schedule in PTXI_SLICE=4 PTXI_SLICE=100000 "PTXI_SLICE=1 PTXI_SEED=3" \
        "PTXI_SLICE=100000 PTXI_SEED=7"; do
        # shellcheck disable=SC2086 # two variables
        succeeds "  $schedule" emulated $schedule PTXI_LOG="$tmp/ptxi.log" \
            timeout 120 "$ompjit" run -q "$guards"
        is "$out" 0 "  right results"
    done
fi

# A variable that the runtime allocates: in generic mode a team meets when its
# region begins and ends, and at its end.
cat >"$tmp/large.c" <<'END'
#include <omp.h>
#include <stdio.h>
enum { SIZE = 20000 };
int main(void)
{
    static int a[256];
    int bad = 0;
#pragma omp target teams num_teams(2) thread_limit(64) map(tofrom : a)
    {
        int d[SIZE];
        for (int i = 0; i < SIZE; i++)
            d[i] = i;
#pragma omp parallel num_threads(64)
        {
            int t = omp_get_thread_num();
            a[omp_get_team_num() * 64 + t] = d[t * 7 % SIZE];
        }
    }
    for (int i = 0; i < 128; i++)
        bad += a[i] != i % 64 * 7;
    printf("%d\n", bad);
}
END
like "$(barriers "$tmp/large.c")" '^[0-3] 0$' \
    "80,000 bytes: no more barriers than in generic mode"
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    for schedule in PTXI_SLICE=4 PTXI_SLICE=100000 "PTXI_SLICE=1 PTXI_SEED=3"; do
        # shellcheck disable=SC2086 # two variables
        succeeds "  $schedule" emulated $schedule PTXI_LOG="$tmp/ptxi.log" \
            timeout 120 "$ompjit" run -q "$tmp/large.c"
        is "$out" 0 "  right results"
    done
fi

# rounds NAME BARRIERS: standard input, a loop of serial code and a parallel region, has
# BARRIERS in its loop, and the same results as on the host and in generic mode.
rounds() {
    {
        cat <<'END'
#include <omp.h>
#include <stdio.h>
int main(void)
{
    static int a[128], b[64];
    int r = 0, sum = 0;
#pragma omp target teams num_teams(2) thread_limit(64) map(tofrom : a, b, r)
    {
END
        cat
        cat <<'END'
    }
    for (int i = 0; i < 128; i++)
        sum = sum * 31 + a[i] + b[i % 64];
    printf("%d %d\n", sum, r);
}
END
    } >"$tmp/rounds.c"
    is "$(barriers "$tmp/rounds.c" | sed 's/.* //')" "$2" \
        "$1: $2 barriers a round"
    right=$("$ompjit" run -q --device=host "$tmp/rounds.c")
    [ -e "${PTXI:-}/libcuda.so.1" ] || return 0
    for schedule in PTXI_SLICE=4 PTXI_SLICE=100000 "PTXI_SLICE=1 PTXI_SEED=3" \
        "PTXI_SLICE=4 OMPJIT_OPT=openmp-opt-disable-spmdization"; do
        # shellcheck disable=SC2086 # two variables
        succeeds "  $schedule" emulated $schedule PTXI_LOG="$tmp/ptxi.log" \
            timeout 120 "$ompjit" run -q "$tmp/rounds.c"
        is "$out" "$right" "  right results"
    done
}
rounds "a barrier for the first round alone" 2 <<'END'
        int t[8] = {0};
        int s = 0, at = omp_get_team_num() * 64;
        for (int k = 0; k < 50; k++) {
            t[k % 8] = s + k;
#pragma omp parallel num_threads(64)
            a[at + omp_get_thread_num()] += t[k % 8];
            s += a[at + 3];
        }
END
rounds "serial code that reads what it writes" 2 <<'END'
        if (omp_get_team_num() == 0)
            for (int k = 0; k < 50; k++) {
                b[k] = b[k * 7 % 64] + k;
#pragma omp parallel num_threads(64)
                a[omp_get_thread_num()] += b[k];
                r += a[k];
            }
END

row scalars 1 233 31
row scalars 2 241 31
row scalars 4 257 31
row scalars 8 289 31
row scalars 16 353 40
row scalars 32 481 71
row scalars 64 737 135
row arrays 1 617 30
row arrays 2 1001 30
row arrays 3 1385 30
row arrays 4 1769 30
row scalars 1 233 31 generic
row scalars 2 241 31 generic
row scalars 4 257 31 generic
row scalars 8 289 31 generic
row scalars 16 353 40 generic
row scalars 32 481 71 generic
row scalars 64 737 135 generic
row arrays 1 617 30 generic
row arrays 2 1001 30 generic
row arrays 3 1385 30 generic
row arrays 4 1769 30 generic
done_testing
