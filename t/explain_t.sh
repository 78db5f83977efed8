#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ompjit explain and tune, lists of variants, and every type that a literal can
# have, by the command.
. "${srcdir:-.}/t/tap.sh"
OMPJIT_DEVICE=host
export OMPJIT_DEVICE

# unlike TEXT REGEX NAME
unlike() {
    if printf '%s\n' "$1" | grep -Eq -- "$2"; then fail "$3" "text: $1"
    else pass "$3"; fi
}
program() { tap_file=$tmp/$1; shift; printf '%s\n' "$@" >"$tap_file"; }

program saxpy.c '#include <stdio.h>' \
    'void saxpy(long n, float a, float *x, float *y) {' \
    '#pragma omp target teams distribute parallel for map(to:x[:n]) map(y[:n])' \
    'for (long i = 0; i < n; i++) y[i] += a * x[i]; }' \
    'void other(short s, int *p) {' \
    '#pragma omp target map(from: p[:1])' \
    'p[0] = s; }' \
    'int main(void) { float x[64], y[64]; int p = 0;' \
    'for (int i = 0; i < 64; i++) { x[i] = i; y[i] = 1; }' \
    'for (int i = 0; i < 3; i++) saxpy(64, 2, x, y);' \
    'other(-5, &p);' \
    'printf("%g %g %d\n", y[0], y[63], p); return 3; }'
program none.c 'int main(void) { return 0; }'

# ---------------------------------------------------------------- explain
succeeds "explain a file" "$ompjit" explain --arch host "$tmp/saxpy.c"
like "$out" '^saxpy:3 \(SPMD\)' "its kernels"
like "$out" '^  a +4 bytes +can be folded' "a scalar"
like "$out" '^  y +pointer +copied back' "and why others are not folded"
like "$out" '^  instructions +[1-9]' "instructions"
like "$out" '^  bytes code +[1-9]' "bytes"
unlike "$out" 'specialized' "and nothing to compare with"
succeeds "explain a launch" "$ompjit" explain --arch host "$tmp/saxpy.c" \
    saxpy --set n=64 --set a=2.0 --teams 1 --fold all
like "$out" 'generic specialized' "before and after"
like "$out" '^  instructions +[0-9]+ +[0-9]+ +-' "it has fewer instructions"
unlike "$out" 'other' "only the kernel that is named"
succeeds "all kinds of numbers" "$ompjit" explain --arch host "$tmp/saxpy.c" \
    --set n=-1 --set a=0x40000000 --set s=-32768
fails_with 'does not fit' "a number that is too large" \
    "$ompjit" explain --arch host "$tmp/saxpy.c" --set s=65536
fails_with 'does not fit' "a number that is too small" \
    "$ompjit" explain --arch host "$tmp/saxpy.c" --set s=-32769
fails_with 'not a number' "a word" \
    "$ompjit" explain --arch host "$tmp/saxpy.c" --set n=many
fails_with 'give its bits' "a fraction in two bytes" \
    "$ompjit" explain --arch host "$tmp/saxpy.c" --set s=1.5
fails_with 'is a pointer' "a pointer" \
    "$ompjit" explain --arch host "$tmp/saxpy.c" --set x=-1
fails_with 'no argument has that name' "a name that is none" \
    "$ompjit" explain --arch host "$tmp/saxpy.c" --set q=1
fails_with 'NAME=VALUE' "no value" \
    "$ompjit" explain --arch host "$tmp/saxpy.c" --set n
fails_with 'not one of literals' "what cannot be folded" \
    "$ompjit" explain --arch host "$tmp/saxpy.c" --fold n
fails_with 'needs --threads' "residents alone" \
    "$ompjit" explain "$tmp/saxpy.c" --residents 2
fails_with 'no kernel sax; there are' "a kernel that is none" \
    "$ompjit" explain "$tmp/saxpy.c" sax
fails_with 'one argument too many' "three names" \
    "$ompjit" explain "$tmp/saxpy.c" saxpy other
succeeds "a file without kernels" "$ompjit" explain "$tmp/none.c"
like "$out" 'no target regions' "says so"

# ------------------------------------------------- record, warm, run --explain
OMPJIT_SPECIALIZE=now
export OMPJIT_SPECIALIZE
"$ompjit" run --record "$tmp/list" --explain "$tmp/saxpy.c" \
    >"$tmp/out" 2>"$tmp/err"
is "$?" 3 "run --explain: the program's status"
is "$(cat "$tmp/out")" "1 379 -5" "its output"
like "$(cat "$tmp/err")" 'device 0: specialized, .*a=0x40000000' \
    "and what ran, on stderr"
like "$(cat "$tmp/list")" '^saxpy_l3 threads=1 .*n=0x40 a=0x40000000' \
    "recorded by --record"
like "$(cat "$tmp/list")" '^other_l6 threads=1 teams=1 s=0xfffb' \
    "a short has two bytes"
cp "$tmp/list" "$tmp/wrong"
printf 'nobody n=3\n' >>"$tmp/wrong"
OMPJIT_RECORD=$tmp/again "$ompjit" run --warm "$tmp/wrong" "$tmp/saxpy.c" \
    >"$tmp/out" 2>"$tmp/err"
is "$?" 3 "run --warm"
like "$(cat "$tmp/err")" "wrong:$(($(wc -l <"$tmp/list") + 1)): .*nobody" \
    "a wrong line by its number"
is "$(grep -c . "$tmp/err")" 1 "and no other"
is "$(sort "$tmp/again" | uniq -d)" "" "nothing is built twice"
fails_with 'cannot open' "no list" \
    "$ompjit" run --warm "$tmp/missing" "$tmp/saxpy.c"
OMPJIT_EXPLAIN=1 "$ompjit" inspect -q "$tmp/saxpy.c" 2>"$tmp/err" >/dev/null
like "$(cat "$tmp/err")" 'ompjit: saxpy:3' "OMPJIT_EXPLAIN=1: the module's end"

# --------------------------------------------------------------- contents
program conv.c '#include <stdio.h>' \
    'int main(void) { float c[3] = {1, 2, 3}, y = 0;' \
    'for (int k = 0; k < 3; k++) {' \
    'c[1] = k;' \
    '#pragma omp target map(to: c) map(tofrom: y)' \
    'y += c[0] * c[1] + c[2]; }' \
    'printf("%g\n", y); return 0; }'
succeeds "run --contents" "$ompjit" run --contents main:5:c --explain \
    "$tmp/conv.c"
is "$out" 12 "its output"
like "$(cat "$tmp/stderr")" 'contents of c' "a variant for them"
like "$(cat "$tmp/stderr")" 'its contents shall be folded' "and that it was asked"
fails_with 'KERNEL:NAME' "contents of nothing" \
    "$ompjit" run --contents c "$tmp/conv.c"
fails_with 'no parameter is called q' "contents of nobody" \
    "$ompjit" run --contents main:q "$tmp/conv.c"

# ------------------------------------------------------------------- tune
unset OMPJIT_SPECIALIZE
OMPJIT_CACHE=1 OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE OMPJIT_CACHE_DIR
"$ompjit" tune "$tmp/saxpy.c" >"$tmp/out" 2>"$tmp/err"
is "$?" 3 "tune: the program's status"
is "$(cat "$tmp/out")" "1 379 -5" "its output, though kernels ran more often"
like "$(cat "$tmp/err")" '^saxpy:3 +64 ' "a line for a kernel"
like "$(cat "$tmp/err")" '^1 of 2 kernels are not tuned' "and for the rest"
"$ompjit" tune "$tmp/saxpy.c" 2>"$tmp/err" >/dev/null
like "$(cat "$tmp/err")" '^saxpy:3 .* known$' "the next run knows it"
like "$("$ompjit" cache list)" ' tune ' "by the cache"
OMPJIT_CACHE=0

# ---------------------------------------------------- literals of every type
cat >"$tmp/types.c" <<'END'
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
enum color { RED = 3, BLUE = -7 };
enum { N = 20 };
static unsigned long long bits(const void *p, size_t n)
{
    unsigned long long b = 0;
    memcpy(&b, p, n);
    return b;
}
static int test(bool b, char c, signed char sc, unsigned char uc, short s,
                unsigned short us, int i, unsigned u, long l, unsigned long ul,
                long long ll, unsigned long long ull, enum color e, float f,
                double d, _Float16 h, float _Complex z, _BitInt(24) odd)
{
    unsigned long long got[N];
    #pragma omp target map(from: got) firstprivate(z)
    {
        got[0] = b, got[1] = (unsigned char)c, got[2] = (unsigned char)sc;
        got[3] = uc, got[4] = (unsigned short)s, got[5] = us;
        got[6] = (unsigned)i, got[7] = u, got[8] = (unsigned long)l;
        got[9] = ul, got[10] = (unsigned long long)ll, got[11] = ull;
        got[12] = (unsigned)e;
        got[13] = 0, __builtin_memcpy(&got[13], &f, sizeof f);
        __builtin_memcpy(&got[14], &d, sizeof d);
        got[15] = 0, __builtin_memcpy(&got[15], &h, sizeof h);
        __builtin_memcpy(&got[16], &z, sizeof z);
        got[17] = (unsigned long long)(odd & 0xffffff);
    }
    unsigned long long want[N] = {
        b, (unsigned char)c, (unsigned char)sc, uc, (unsigned short)s, us,
        (unsigned)i, u, (unsigned long)l, ul, (unsigned long long)ll, ull,
        (unsigned)e, bits(&f, sizeof f), bits(&d, sizeof d),
        bits(&h, sizeof h), bits(&z, sizeof z),
        (unsigned long long)(odd & 0xffffff)};
    int wrong = 0;
    for (int k = 0; k < 18; k++)
        if (got[k] != want[k])
            wrong++, printf("%d: %llx, not %llx\n", k, got[k], want[k]);
    return wrong;
}
int main(void)
{
    float nan;
    memcpy(&nan, &(unsigned){0x7fa12345}, sizeof nan);
    int wrong = test(1, -1, -128, 255, -32768, 65535, -2147483647 - 1,
                     4294967295u, -9223372036854775807L - 1, ~0ul, -2, ~0ull,
                     BLUE, -0.0f, 1e-310, 2.5, __builtin_complex(1.5f, -2.0f),
                     -5);
    wrong += test(0, 'x', 5, 0, 5, 0, 7, 0, 9, 1, 3, 1, RED, nan,
                  __builtin_inf(), -1, __builtin_complex(0.0f, 3.0f), 70000);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
END
for level in 0 3; do
    for policy in off now; do
        OMPJIT_SPECIALIZE=$policy OMPJIT_RECORD=$tmp/types-$policy \
            "$ompjit" run -O$level "$tmp/types.c" >"$tmp/out" 2>&1
        is "$(cat "$tmp/out")" "0 wrong" "all types on the host, -O$level, $policy"
    done
done
is "$(grep -o ' [a-z]*=0x' "$tmp/types-now" | grep -v 'aligned\|noalias' |
    sort -u | wc -l | tr -d ' ')" 18 "all 18 are folded"
if [ -r "${PTXI-}/libcuda.so.1" ]; then
    for policy in off now; do
        OMPJIT_SPECIALIZE=$policy OMPJIT_DEVICE=cuda \
            LD_LIBRARY_PATH=$PTXI:${LD_LIBRARY_PATH-} OMPJIT_ASSEMBLER=driver \
            "$ompjit" run "$tmp/types.c" >"$tmp/out" 2>&1
        is "$(cat "$tmp/out")" "0 wrong" "all types as PTX, $policy"
    done
    OMPJIT_SPECIALIZE=now OMPJIT_DEVICE=cuda OMPJIT_ASSEMBLER=driver \
        LD_LIBRARY_PATH=$PTXI:${LD_LIBRARY_PATH-} \
        "$ompjit" run --contents main:c --explain "$tmp/conv.c" \
        >"$tmp/out" 2>"$tmp/err"
    is "$(cat "$tmp/out")" 12 "contents as PTX"
    like "$(cat "$tmp/err")" 'contents of c' "are folded"
    OMPJIT_CACHE=1 OMPJIT_DEVICE=cuda OMPJIT_ASSEMBLER=driver \
        LD_LIBRARY_PATH=$PTXI:${LD_LIBRARY_PATH-} \
        "$ompjit" tune "$tmp/saxpy.c" >"$tmp/out" 2>"$tmp/err"
    is "$(cat "$tmp/out")" "1 379 -5" "tuned as PTX"
    like "$(cat "$tmp/err")" '^saxpy:3 +64 ' "geometries of threads and teams"
    # Whether a generic kernel has a main thread on a GPU is known when it has
    # been compiled once; where it has none, threads are folded from then on.
    cat >"$tmp/rows.c" <<'END'
#include <stdio.h>
enum { N = 40 };
static int a[N][N], total;
static void add(int n)
{
#pragma omp target teams distribute map(tofrom : a)
    for (int i = 0; i < n; i++) {
        int row = i;
#pragma omp parallel for
        for (int j = 0; j < n; j++)
            a[row][j] += i + j;
    }
}
static void count(int n)
{
#pragma omp target map(tofrom : a, total)
    for (int i = 0; i < n; i++) {
        total += i;
        if (n > N)
            printf("too many\n");
#pragma omp parallel for
        for (int j = 0; j < n; j++)
            a[0][j] += total;
    }
}
int main(void)
{
    long wrong = 0;
    for (int k = 0; k < 4; k++)
        add(N);
    for (int k = 0; k < 4; k++)
        count(1);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            wrong += a[i][j] != 4 * (i + j);
    printf("%ld wrong\n", wrong);
}
END
    succeeds "generic kernels as PTX" emulated OMPJIT_SPECIALIZE=now \
        OMPJIT_THREADS=64 "$ompjit" run --explain "$tmp/rows.c"
    is "$out" "0 wrong" "  are right"
    explained=$(cat "$tmp/stderr")
    is "$(echo "$explained" | sed -n '/^add:/,/^count:/p' |
        grep -c 'specialized, 64 threads, .* teams')" 1 \
        "  threads are folded where no thread is the main one"
    is "$(echo "$explained" | sed -n '/^count:/,$p' | grep -c ' threads')" 0 \
        "  and not where one is"
else
    pass "types as PTX # SKIP no emulated driver in PTXI"
fi
done_testing
