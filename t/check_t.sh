#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompjit run --check: each program has one kind of error, on lines that a
# comment marks with what must be reported there (a race: on both of its lines);
# with -DFIXED it has none and must be silent. Then what must never be
# reported, and how the tool ends.
. "$srcdir/t/tap.sh"
exec </dev/null

check() { timeout 120 "$ompjit" run --check "$@" 2>"$tmp/stderr"; }
# What the last check said on stderr, of the program as it is.
again() { check "$tmp/p.c" >"$tmp/stdout"; cat "$tmp/stderr"; }

# "KIND LINE" of each report, "race LINE LINE" with the lower line first.
reports() {
    awk '
        function line(s) { match(s, / at [^ ]*:[0-9]+:[0-9]+/)
            split(substr(s, RSTART, RLENGTH), part, ":")
            return part[2] + 0 }
        /^ompjit: check: race/ { race = 2; next }
        /^ompjit: check: [a-z-]+ (read|write|call) / { print $3, line($0) }
        race { at[race--] = line($0)
            low = at[1] < at[2] ? at[1] : at[2]
            if (!race) print "race", low, at[1] + at[2] - low }
    ' "$tmp/stderr" | sort
}

# "KIND LINE" of each comment //! KIND.
expected() {
    awk '
        { n = split($0, mark, "//! ")
          for (i = 2; i <= n; i++) { sub(/ +$/, "", mark[i])
              if (mark[i] == "race") races = races " " NR
              else print mark[i], NR } }
        END { n = split(races, at, " ")
              if (n) print "race", at[1], at[n] }
    ' "$1" | sort
}

# case_of NAME: the program on standard input has what it marks, and is silent
# when fixed.
case_of() {
    cat >"$tmp/p.c"
    check "$tmp/p.c" >"$tmp/stdout"
    status=$?
    is "$(reports)" "$(expected "$tmp/p.c")" "$1"
    is $status 66 "  status"
    check -DFIXED "$tmp/p.c" >"$tmp/stdout"
    is "$? $(cat "$tmp/stderr")" "0 ompjit: check: no errors" "  when fixed"
}

# silent NAME: nothing is reported of it.
silent() {
    cat >"$tmp/p.c"
    for threads in 8 33 1; do
        check --threads $threads "$tmp/p.c" >"$tmp/stdout"
        is "$? $(cat "$tmp/stderr")" "0 ompjit: check: no errors" \
            "$1, $threads threads"
    done
}

# ---------------------------------------------------------- out of bounds
case_of "an element behind a section" <<'END'
#ifdef FIXED
enum { LAST = 99 };
#else
enum { LAST = 100 };
#endif
int main(void)
{
    int x[101] = {0}, y[101];
#pragma omp target teams distribute parallel for map(to: x[:100]) \
    map(from: y[:100])
    for (int i = 0; i <= LAST; i++)
        y[i] =  //! out-of-bounds
            x[i]; //! out-of-bounds
    return 0;
}
END
like "$(again)" \
    '0 bytes after the end of x\[:100\] \(.*\), 400 bytes at 0x[0-9a-f]+; offset 400' \
    "  says where"
case_of "an element before a section" <<'END'
#ifdef FIXED
enum { FIRST = 10 };
#else
enum { FIRST = 9 };
#endif
int main(void)
{
    double x[40] = {0};
#pragma omp target map(tofrom: x[10:20])
    x[FIRST] += 1; //! out-of-bounds
    return 0;
}
END
like "$(again)" '8 bytes before the start of x\[10:20\]' "  says where"
case_of "a struct that is copied, and an atomic" <<'END'
struct triple { long a, b, c; };
#ifdef FIXED
#define SIZE 2
#else
#define SIZE 1
#endif
int main(void)
{
    struct triple from[2] = {{1, 2, 3}, {4, 5, 6}}, to = {0, 0, 0};
    int count[2] = {0, 0};
#pragma omp target map(to: from[:SIZE]) map(from: to) map(count[:SIZE])
    {
        to = from[1]; //! out-of-bounds
#pragma omp atomic
        count[1] += 1; //! out-of-bounds
    }
    return to.b != (SIZE == 2 ? 5 : 0);
}
END
case_of "a declare target array" <<'END'
#pragma omp declare target
int table[64];
int get(int i)
{
    return table[i]; //! out-of-bounds
}
#pragma omp end declare target
#ifdef FIXED
enum { AT = 63 };
#else
enum { AT = 64 };
#endif
int main(void)
{
    int r;
#pragma omp target map(from: r)
    r = get(AT);
    return r;
}
END
like "$(again)" 'variable table, 256 bytes' "  says which"
case_of "the kernel's own malloc" <<'END'
#include <stdlib.h>
int main(void)
{
    int r = 0;
#pragma omp target map(r)
    {
        int *p = malloc(4 * sizeof *p);
        for (int i = 0; i < 4; i++)
            p[i] = i;
#ifndef FIXED
        p[4] = 1; //! out-of-bounds
#endif
        r = p[3];
        free(p);
#ifndef FIXED
        r = p[2]; //! use-after-free
#endif
    }
    return 0;
}
END

# --------------------------------------------------------------- unmapped
case_of "a pointer in a struct, a null pointer" <<'END'
#include <stdlib.h>
struct vector { int n; double *data; };
int main(void)
{
    double r = 0, *none = NULL;
    struct vector v = {4, calloc(4, sizeof(double))};
#ifdef FIXED
#pragma omp target map(to: v, v.data[:4]) map(r)
    r = v.data[3];
    none = v.data;
#pragma omp target map(to: none[:4]) map(r)
#else
#pragma omp target map(to: v) map(r)
    r = v.data[3]; //! unmapped
#pragma omp target map(r)
#endif
    r += none[1]; //! null-pointer
    free(v.data);
    return 0;
}
END
like "$(again)" 'is no device memory: no map covers it' "  says so"
# ---------------------------------------------------------------- calls
case_of "calls through pointers" <<'END'
#include <math.h>
#include <stdlib.h>
typedef int (*function)(int);
struct row { function f, none; double (*root)(double); };
#pragma omp begin declare target indirect
int add(int x) { return x + 1; }
#ifdef FIXED
int twice(int x) { return x * 2; }
#endif
#pragma omp end declare target
#pragma omp begin declare target
#ifndef FIXED
int twice(int x) { return x * 2; }
#endif
static int less(int x) { return x - 1; }
static int (*const own[])(int) = {less, less};
#pragma omp end declare target
int main(void)
{
    function f[2] = {add, twice};
    struct row row = {0};
    int r[4] = {0}, none = 0;
#pragma omp target map(to: f) map(tofrom: r)
    for (int i = 0; i < 2; i++)
        r[i] = f[i](10); //! host-function
#pragma omp target map(to: row) map(tofrom: r, none)
    {
        static double (*const roots[])(double) = {fabs, sqrt};
        double (*root)(double) = roots[r[0] > 5];
        r[2] = own[r[0] > 5](10) + (int)root(49);
#ifdef FIXED
        none = own[r[0] < 5](1);
#else
        none = row.none(1); //! null-pointer
#endif
    }
#ifdef FIXED
    return r[0] != 11 || r[1] != 20 || r[2] != 16 || none;
#else
    exit(r[0] != 11 || r[1] != 0 || r[2] != 16 || none);
#endif
}
END
like "$(again)" "is the host's function twice; .*declare target indirect" \
    "  says which"
# Programs that look the device's functions up themselves, or in its tables.
for name in call_table.c host_objects.cpp; do
    succeeds "$name" "$ompjit" run --check -q "$srcdir/t/programs/$name"
    is "$out" "$(sed -n 's,^// expect: ,,p' "$srcdir/t/programs/$name")" \
        "  is checked without an error"
done
case_of "after exit data" <<'END'
int main(void)
{
    int x[8] = {0}, *device = 0, *host = x, r = 0;
#pragma omp target enter data map(to: x)
#pragma omp target data use_device_addr(x)
    device = x;
#ifndef FIXED
#pragma omp target exit data map(delete: x)
#endif
#pragma omp target is_device_ptr(device) map(r)
    r += device[2]; //! use-after-free
#pragma omp target map(r)
    r += host[3]; //! unmapped
#ifdef FIXED
#pragma omp target exit data map(delete: x)
#endif
    return 0;
}
END
like "$(again)" 'its mapping has ended' "  says so of the device's address"
like "$(cat "$tmp/stderr")" "the host's own x .*; it is no longer mapped" \
    "  and of the host's"
case_of "what a map does not copy" <<'END'
#ifdef FIXED
#define HOW tofrom
#else
#define HOW from
#endif
int main(void)
{
    double x[8] = {0}, y[8];
#pragma omp target map(HOW: x) map(from: y)
    {
        x[1] += 1; //! uninitialized
        y[0] = 1;
        y[0] += 1;
    }
    return 0;
}
END

# ------------------------------------------------------------------ races
case_of "a sum without a reduction" <<'END'
int main(void)
{
    int sum = 0;
#ifdef FIXED
#pragma omp target teams distribute parallel for reduction(+: sum)
#else
#pragma omp target teams distribute parallel for map(sum)
#endif
    for (int i = 0; i < 64; i++)
        sum += i; //! race
    return 0;
}
END
like "$(again)" 'race on 4 bytes at offset 0 of sum' "  says of what"
is "$(grep -c 'check: race' "$tmp/stderr")" 1 "  once"
like "$(cat "$tmp/stderr")" 'check: 1 error$' "  and counts it"
case_of "a barrier that lacks, in memory of the main thread" <<'END'
#include <omp.h>
int main(void)
{
    int out[8] = {0};
#pragma omp target map(out)
    {
        int row_of_all[8];
#pragma omp parallel num_threads(8)
        {
            int me = omp_get_thread_num(), n = omp_get_num_threads();
            row_of_all[me] = me; //! race
#ifdef FIXED
#pragma omp barrier
#endif
            out[me] = row_of_all[(me + 1) % n]; //! race
        }
    }
    return 0;
}
END
like "$(again)" 'race on 4 bytes of row_of_all, which the team shares' \
    "  says of what"
case_of "a barrier that lacks, in static team-shared memory" <<'END'
#include <omp.h>
int main(void)
{
    int out[64] = {0};
#pragma omp target teams num_teams(2) thread_limit(32) map(out)
    {
        int row[32];
#pragma omp allocate(row) allocator(omp_pteam_mem_alloc)
#pragma omp parallel
        {
            int me = omp_get_thread_num(), n = omp_get_num_threads();
            row[me] = me; //! race
#ifdef FIXED
#pragma omp barrier
#endif
            if (omp_get_team_num() == 0)
                out[me] = row[n - 1 - me]; //! race
        }
    }
    return 0;
}
END
case_of "an atomic against what is none" <<'END'
int main(void)
{
    int n = 0, seen[64];
#pragma omp target parallel for map(n) map(from: seen)
    for (int i = 0; i < 64; i++) {
#pragma omp atomic
        n += 1; //! race
#ifdef FIXED
#pragma omp atomic read
#endif
        seen[i] = n; //! race
    }
    return 0;
}
END
case_of "an array that one thread reads too early" <<'END'
int main(void)
{
    char text[64] = {0};
    int sum = 0;
#pragma omp target parallel map(text, sum)
    {
#ifdef FIXED
#pragma omp for
#else
#pragma omp for nowait
#endif
        for (int i = 0; i < 64; i++)
            text[i] = (char)i; //! race
#pragma omp master
        for (int i = 0; i < 64; i++)
            sum += text[i]; //! race
    }
    return 0;
}
END

# --------------------------------------------------------- no report ever
silent "critical, locks, atomics, flush" <<'END'
#include <omp.h>
int main(void)
{
    int a = 0, b = 0, c = 0, flag = 0, seen = 0;
    omp_lock_t lock;
#pragma omp target parallel map(a, b, c, flag, seen) map(alloc: lock)
    {
#pragma omp master
        omp_init_lock(&lock);
#pragma omp barrier
#pragma omp critical
        a += 1;
        omp_set_lock(&lock);
        b += 1;
        omp_unset_lock(&lock);
        int mine;
#pragma omp atomic capture
        mine = c++;
        if (mine == 0) {
            seen = 7;
#pragma omp flush
#pragma omp atomic write
            flag = 1;
        }
        if (omp_get_thread_num() == 0) {
            int go = 0;
            while (!go) {
#pragma omp atomic read
                go = flag;
            }
#pragma omp flush
            if (seen != 7)
                __builtin_trap();
        }
    }
    return a != b;
}
END
silent "reductions, single, sections, ordered, lastprivate" <<'END'
int main(void)
{
    int sum = 0, max = 0, last = 0, x[64] = {0}, order = 0, one = 0;
    double array[4] = {0};
#pragma omp target teams distribute parallel for map(x) reduction(max: max) \
    reduction(+: sum, array)
    for (int i = 0; i < 64; i++) {
        sum += i;
        max = i > max ? i : max;
        array[i % 4] += 1;
        x[i] = i;
    }
#pragma omp target parallel map(x, last, order, one)
    {
#pragma omp for lastprivate(last)
        for (int i = 0; i < 64; i++)
            last = x[i];
#pragma omp single
        one = last;
#pragma omp for ordered
        for (int i = 0; i < 64; i++)
#pragma omp ordered
            order += x[i];
#pragma omp sections
        {
#pragma omp section
            x[0] = one;
#pragma omp section
            x[1] = one;
        }
        int mine = 0;
#pragma omp single copyprivate(mine)
        mine = order;
#pragma omp critical
        order += mine != 2016;
    }
    return sum != 2016 || max != 63 || last != 63 || order != 2016 ||
           array[3] != 16;
}
END
silent "schedules, tasks, nested regions, private and shared copies" <<'END'
#include <string.h>
struct item { char c; double d; };
#pragma omp declare target
static const int table[4] = {1, 2, 3, 4};
#pragma omp end declare target
int main(void)
{
    struct item x[64];
    int y[64], first[4] = {1, 2, 3, 4}, n = 64;
    memset(x, 0, sizeof x);
#pragma omp target parallel map(x) map(from: y) firstprivate(first, n)
    {
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < n; i++) {
            struct item one = x[i];
            one.d += first[i % 4] + table[i % 4];
            x[i] = one;
        }
#pragma omp for schedule(guided)
        for (int i = 0; i < n; i++)
            y[i] = (int)x[n - 1 - i].d;
#pragma omp single
        for (int i = 0; i < 4; i++)
#pragma omp task firstprivate(i)
            y[i] += 1;
#pragma omp barrier
#pragma omp for collapse(2)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++)
#pragma omp parallel num_threads(2)
                y[i * 8 + j] += 1;
    }
    return y[0] != 8 + 2;
}
END
# clang 22 keeps such a variable in one place for all threads: its error.
silent "a private variable with an allocator" <<'END'
#include <omp.h>
int main(void)
{
    int x = 1, out[64];
#pragma omp target teams distribute parallel for map(from: out) \
    uses_allocators(omp_default_mem_alloc) \
    allocate(omp_default_mem_alloc: x) private(x)
    for (int i = 0; i < 64; i++) {
        x = i;
        out[i] = x;
    }
    return out[63] != 63 || x != 1;
}
END
silent "unified shared memory" <<'END'
#include <stdlib.h>
#pragma omp requires unified_shared_memory
int main(void)
{
    int *p = calloc(16, sizeof *p), sum = 0;
#pragma omp target map(sum)
    for (int i = 0; i < 16; i++)
        sum += ++p[i];
    int wrong = p[3] != 1 || sum != 16;
    free(p);
    return wrong;
}
END

# --------------------------------------------------------------- the tool
cat >"$tmp/exit.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int x[4] = {0};
    printf("before\n");
#pragma omp target map(tofrom: x[:2])
    x[argc] = 5;
    printf("after\n");
    exit(3);
}
END
out=$(check "$tmp/exit.c")
is "$? $out" "3 before
after" "a program without errors keeps its status"
is "$(cat "$tmp/stderr")" "ompjit: check: no errors" "  and is told so"
out=$(check --quiet "$tmp/exit.c")
is "$(cat "$tmp/stderr")" "" "  unless it wants no messages"
out=$(check "$tmp/exit.c" a)
is "$? $out" "66 before
after" "one with errors runs on, and ends with 66"
like "$(cat "$tmp/stderr")" "^ompjit: check: 1 error$" "  and is counted"
out=$(check --quiet "$tmp/exit.c" a)
like "$(cat "$tmp/stderr")" "out-of-bounds write of 4 bytes at .*exit.c:8:" \
    "errors are told to the quiet, too"
cat >"$tmp/trap.c" <<'END'
int main(void)
{
    int x[2] = {0}, i = 2;
#pragma omp target map(x)
    {
        x[i] = 1;
        __builtin_trap();
    }
    return 0;
}
END
check "$tmp/trap.c"
is $? 66 "a kernel that fails after an error"
like "$(cat "$tmp/stderr")" "executed a trap" "  tells both"
like "$(tail -1 "$tmp/stderr")" "check: 1 error$" "  and counts"
fails_with "only kernels on .host. are checked" "no check on a GPU" \
    "$ompjit" run --check --device cuda "$tmp/exit.c"
fails_with "memory of their own" "no check of shared memory" \
    "$ompjit" run --check --host-memory shared "$tmp/exit.c"
succeeds "IR of a program" "$ompjit" compile --emit ll -o "$tmp/p.ll" \
    "$tmp/exit.c"
succeeds "  and its host half" "$ompjit" compile --emit host-ll \
    -o "$tmp/host.ll" "$tmp/exit.c"
"$LLVM_BINDIR/opt" -S --strip-debug "$tmp/p.ll" -o "$tmp/bare.ll"
check --host-ir "$tmp/host.ll" "$tmp/bare.ll" a >"$tmp/stdout"
is $? 66 "IR without debug information"
like "$(cat "$tmp/stderr")" \
    "write of 4 bytes .*in function .*main.*, which has no line numbers" \
    "  is reported by function"
case_of "a variable of the team that nobody has written" <<'END'
#include <omp.h>
#include <stdio.h>
int main(void)
{
    int out = 0;
#pragma omp target teams num_teams(1) thread_limit(4) map(out)
    {
        int s[64];
#ifdef FIXED
        s[63] = 0;
#endif
#pragma omp parallel
        {
            s[omp_get_thread_num()] = 1;
#pragma omp barrier
            if (omp_get_thread_num() == 0)
                out = s[63]; //! uninitialized
        }
    }
    return printf("%d\n", out) < 0;
}
END

# ----------------------------------------------------------------- lost
cat >"$tmp/lost.c" <<'END'
#ifndef KIND
#define KIND to
#endif
int main(void)
{
    int x[4] = {0};
#pragma omp target data map(KIND: x)
    {
#pragma omp target map(to: x)
        for (int i = 0; i < 4; i++)
            x[i] = i + 1;
#ifdef UPDATE
#pragma omp target update from(x[:2])
#endif
    }
    return 0;
}
END
check "$tmp/lost.c"
is $? 0 "a write to what is mapped only to"
like "$(cat "$tmp/stderr")" "^ompjit: check: warning: lost write of 4 bytes .*at .*lost.c:11:" \
    "  is a warning"
like "$(cat "$tmp/stderr")" "offset 0 of x.* is mapped only .to." "  that says why"
like "$(tail -1 "$tmp/stderr")" "^ompjit: check: no errors$" "  and no error"
for flag in -DKIND=tofrom -DKIND=from -DKIND=alloc -DUPDATE; do
    check $flag "$tmp/lost.c"
    is "$? $(cat "$tmp/stderr")" "0 ompjit: check: no errors" "  none with $flag"
done

# ---------------------------------------------------------------- places
printf '\n\n\n\n  p[i] = 1;\n' >"$tmp/body.h"
cat >"$tmp/included.c" <<'END'
int main(void)
{
    int *p = (int *)400;
#pragma omp target is_device_ptr(p)
    for (int i = 0; i < 4; i++) {
#include "body.h"
    }
}
END
check "$tmp/included.c"
is $? 66 "an error in an included file"
like "$(cat "$tmp/stderr")" "write of 4 bytes through p at [^ ]*/body.h:5:8" \
    "  has that file's name"
fails_with "access to unmapped memory at 0x190 \(body.h:5\)" \
    "  and a fault there" "$ompjit" run "$tmp/included.c"

# As it runs without the option: 256 threads, and their race.
case_of "threads by a thread_limit" <<'END'
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
#pragma omp parallel
        {
            int t = omp_get_thread_num();
            s[t] = test[t];       //! race
#ifdef FIXED
#pragma omp barrier
#endif
            test[t] = s[255 - t]; //! race
        }
    }
    return printf("%d %d\n", test[0], test[255]) < 0;
}
END
is "$(cat "$tmp/stdout")" "255 0" "  the result, too"

for program in num_threads detach state_machine lastprivate; do
    cp "$srcdir/t/programs/$program.c" "$tmp/p.c"
    check -fopenmp-version=60 "$tmp/p.c" host >"$tmp/stdout"
    is "$? $(cat "$tmp/stderr")" "0 ompjit: check: no errors" \
        "t/programs/$program.c has no error"
done
done_testing
