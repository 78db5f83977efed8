#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Remarks on device code, by the command: each of openmp-opt's that can come of
# device code, each advice followed, as clang takes it, and the files for
# viewers.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_OPT
cd "$tmp" || exit 1

# program NAME: the text on standard input, in a file of that name
program() { cat >"$tmp/$1"; }
# remarks PROGRAM [OPTION]...: "ID LINE VARIABLE: WHAT | WHY | ADVICE" each
remarks() {
    file=$1; shift
    "$ompjit" compile -q --arch sm_90 --emit ptx -o /dev/null --remarks=r.json \
        "$@" "$file" || return
    sed -n 's/^ {"id": "\([^"]*\)".*"variable": "\([^"]*\)", "file": "[^"]*", "line": \([0-9]*\),.*"what": "\(.*\)", "why": "\(.*\)", "advice": "\(.*\)"}.*/\1 \3 \2: \4 | \5 | \6/p' r.json
}
# says NAME REGEX; says_not: a line of $all
says() { like "$all" "$2" "$1"; }
says_not() {
    if printf '%s\n' "$all" | grep -Eq -- "$2"; then fail "$1" "text: $all"
    else pass "$1"; fi
}
mode() { "$ompjit" inspect -q --arch sm_90 "$@" | sed -n 's/^  mode *//p'; }

# -------------------------------------------------- SPMD mode, and why not
program opaque.c <<'END'
#pragma omp begin declare target
#ifdef ADVICE
#pragma omp begin assumes ext_spmd_amenable
#endif
extern int sink;
int sink;
__attribute__((noinline)) void opaque(void) { __asm__ volatile("" ::: "memory"); }
#ifdef ADVICE
#pragma omp end assumes
#endif
#pragma omp end declare target
void f(int n, int *x)
{
#pragma omp target teams num_teams(2) map(x[:n])
    {
        int shared = n;
        opaque();
#pragma omp parallel num_threads(4)
        shared++;
        x[0] = shared;
    }
}
END
all=$(remarks opaque.c)
says "a kernel that stays generic: why, and where" \
    '^OMPJIT112 7 : The kernel stays generic \| inline assembly may have effects'
says "  and what to do" 'assumes ext_spmd_amenable'
says_not "  and it is not called SPMD" OMP120
is "$(mode opaque.c)" generic "  it is generic"
is "$(mode -DADVICE opaque.c)" "SPMD, generic in the source" \
    "  with the advice taken it is SPMD"
all=$(remarks opaque.c -DADVICE)
says "  which a remark says" '^OMP120 1[34] : Transformed generic-mode kernel'
named=--opt=ompjit-spmd-amenable
is "$(mode $named=none $named=opaque opaque.c)" "SPMD, generic in the source" \
    "  with the option of this library, too"
all=$(remarks opaque.c $named=none $named=opaque)
says "  which a remark says" '^OMPJIT116 0 : All threads .* names it'
says "  and that there is no other" \
    '^OMPJIT117 0 : .* has no effect \| device code has no function none \|'
says_not "  and nothing is missed" OMPJIT112
is "$(mode opaque.c)" generic "  the cache keeps them apart"

program pointer.cpp <<'END'
#pragma omp begin declare target
typedef void function();
function *volatile chosen;
#ifdef ADVICE
[[omp::assume("ompx_spmd_amenable")]]
#endif
__attribute__((noinline)) void call() { chosen(); }
#pragma omp end declare target
void f(int *x)
{
#pragma omp target teams num_teams(2) map(x[:4])
    {
        call();
#pragma omp parallel num_threads(4)
        x[0]++;
    }
}
END
all=$(remarks pointer.cpp)
says "a call by an address" 'OMPJIT112 7 .*by its address may start parallel'
is "$(mode -DADVICE pointer.cpp)" "SPMD, generic in the source" \
    "  C++'s attribute is taken"
for name in call _Z4callv 'call()'; do
    is "$(mode "$named=$name" pointer.cpp)" "SPMD, generic in the source" \
        "  and the option $name"
done

program region.c <<'END'
#pragma omp begin declare target
int *volatile sum;
__attribute__((noinline)) void region(void)
{
    __asm__ volatile("" ::: "memory");
#pragma omp parallel num_threads(4)
#pragma omp atomic
    (*sum)++;
}
#pragma omp end declare target
void f(int *x)
{
#pragma omp target map(x[:1])
    {
        sum = x;
        region();
    }
}
END
all=$(remarks region.c $named=region)
says "a function with a parallel region does not become one for all threads" \
    '^OMPJIT117 0 : .* no effect \| the function starts parallel regions'
says "  and the kernel stays generic" '^OMPJIT112 5 '

program setting.c <<'END'
#include <omp.h>
void f(int *x)
{
#pragma omp target map(x[:4])
    {
        omp_set_num_threads(4);
#pragma omp parallel
        x[omp_get_thread_num() % 4] = 1;
    }
}
END
all=$(remarks setting.c)
says "a function of the runtime" \
    'OMPJIT112 6 .*omp_set_num_threads of the runtime is for one thread'

all=$(remarks setting.c --opt=openmp-opt-disable-spmdization)
says_not "what was switched off is not explained" OMPJIT112

# ------------------------------------------------------------ state machines
program machine.c <<'END'
#pragma omp begin declare target
void (*volatile chosen)(void);
#ifdef ADVICE
#pragma omp begin assumes no_parallelism
#endif
__attribute__((noinline)) void unknown(void) { chosen(); }
#ifdef ADVICE
#pragma omp end assumes
#endif
#pragma omp end declare target
void f(int *x)
{
#pragma omp target map(x[:4])
    {
        int a[4];
        unknown();
#pragma omp parallel num_threads(4)
        a[0] = 1;
        x[0] = a[0];
    }
}
void none(int *x)
{
#pragma omp target map(x[:4])
    {
        __asm__ volatile("" ::: "memory");
        x[0] = 1;
    }
}
END
all=$(remarks machine.c)
says "a state machine for unknown regions" \
    '^OMP132 1[0-3] .*\| some parallel regions are not known'
says "  because of a call" '^OMP133 6 .*by its address.* may start'
says "no state machine" '^OMP130 2[1-4] .*\| the kernel has no parallel region'
all=$(remarks machine.c -DADVICE)
says "with the advice taken: all regions are known" \
    '^OMP131 1[0-3] .*\| all parallel regions are known'
says_not "  and no call is unknown" 'OMP13[23]'

# ----------------------------------------------------------------- variables
program shared.c <<'END'
#pragma omp begin declare target
int *volatile kept;
__attribute__((noinline)) void keep(int *p) { kept = p; }
static int local(int i)
{
    int escapes = i;
    keep(&escapes);
    return escapes;
}
#pragma omp end declare target
void f(int n, int *x)
{
#pragma omp target teams num_teams(2) map(x[:n])
    {
        int team[8], own = n;
        for (int i = 0; i < 8; i++)
            team[i] = own + i;
#pragma omp parallel num_threads(8)
        x[0] += team[n % 8];
    }
#pragma omp target teams distribute parallel for map(x[:n])
    for (int i = 0; i < n; i++)
        x[i] = local(i);
}
END
all=$(remarks shared.c)
says "a variable in team-shared memory" \
    '^OMP111 15 team: Replaced .* with 32 bytes of shared memory'
says "one whose address is kept" '^OMP112 6 escapes: .*\| other threads may'
says "  and by what" '^OMP113 7 escapes: .* captured in call \| the address of escapes'
is "$(mode shared.c | sed -n 1p)" "SPMD, generic in the source" \
    "  this is no reason for a kernel whose main thread does not call it"
all=$(remarks shared.c --opt=openmp-opt-shared-limit=8)
says "no place in shared memory" \
    '^OMPJIT111 15 team: The kernel stays generic \| a variable .* no place'

# ------------------------------------------- each decision, from IR of clang's
program guards.c <<'END'
#include <omp.h>
void f(int n, int *x, int *y)
{
#pragma omp target map(x[:n], y[:n])
    {
        x[0] = 1;
        y[0] = omp_get_num_threads();
#pragma omp parallel num_threads(4)
        x[omp_get_thread_num()]++;
#ifdef APART
        y[1] = x[2];
#endif
#pragma omp parallel num_threads(4)
        x[omp_get_thread_num()]++;
    }
}
END
omp_h=$(dirname "$(find "$(dirname "$(dirname "$(readlink -f "$CLANG")")")/lib" \
    -name omp.h | head -n 1)")
# ir FILE [-D...]: the remarks on the device IR that $clang makes of it, with
# the options in $opts. Nothing is optimized, and lines are known.
ir() {
    file=$1 all=; shift
    "$clang" -fopenmp --offload-arch=sm_90 -nogpulib -O1 -Xclang \
        -disable-llvm-passes -gline-tables-only -idirafter "$omp_h" "$@" \
        --offload-device-only -emit-llvm -c "$file" -o r.bc || return
    # shellcheck disable=SC2086 # several words, or none
    all=$(remarks r.bc $opts)
}
verbose=--opt=openmp-opt-verbose-remarks
merging=--opt=openmp-opt-enable-merging
for clang in "$CLANG" clang-19; do
    case $clang in clang-19) lacks clang-19 "IR of clang 19" && continue; esac
    version=$("$clang" --version | sed -n '1s/.*version \([0-9]*\).*/clang \1/p')
    opts=
    ir opaque.c -DADVICE
    says "$version: SPMD mode" '^OMP120 .*\| all sequential code is guarded'
    ir opaque.c
    says "  and not" '^OMPJIT112 7 : The kernel stays generic'
    says_not "  which is all" OMP120
    ir machine.c -DADVICE
    says "  a state machine of known regions" '^OMP131 1[0-3] '
    ir machine.c
    says "  and one with a fallback" '^OMP132 1[0-3] '
    ir shared.c
    says "  heap to shared" '^OMP111 15 .* with 32 bytes of shared memory'
    opts=--opt=openmp-opt-shared-limit=8
    ir shared.c
    says_not "  and not" '^OMP111 15 '
    says "  because it has no place, so the kernel stays generic" \
        '^OMPJIT111 15 : The kernel stays generic \| a variable .* no place'
    opts="$verbose $merging"
    ir guards.c
    says "  guards become one" '^OMPJIT103 .* 3 pieces .* guarded as 1 '
    says "  calls are folded" '^OMP180 .*__kmpc_is_spmd_exec_mode with 1'
    says_not "  regions of device code are not merged" OMP150
    opts="$verbose --opt=openmp-opt-disable-folding"
    ir guards.c -DAPART
    says "  guards with a region between stay two" \
        '^OMPJIT103 .* 4 pieces .* guarded as 2 '
    says_not "  nothing is folded" OMP180
done

# ------------------------------------------------------------ host halves
# clang gives the host half alone the calls that openmp-opt merges.
program halves.c <<'END'
int sink;
void f(int *x)
{
#pragma omp target map(x[:1])
    x[0]++;
}
void two(int *x)
{
#pragma omp parallel
    x[0] = 1;
#ifdef APART
    if (x[0])
        sink = x[1];
#endif
#pragma omp parallel
    x[1] = 2;
}
END
# half [-D...]: the remarks on the host half that $clang makes of halves.c
half() {
    "$clang" -fopenmp --offload-arch=sm_90 -nogpulib -O1 -Xclang \
        -disable-llvm-passes -gline-tables-only "$@" --offload-device-only \
        -emit-llvm -c halves.c -o device.bc &&
        "$clang" -fopenmp --offload-arch=sm_90 -nogpulib -O1 -Xclang \
            -disable-llvm-passes -gline-tables-only "$@" --offload-host-only \
            -emit-llvm -c halves.c -o host.bc || return
    # shellcheck disable=SC2086 # one word, or none
    all=$(remarks device.bc --host-ir host.bc $opts --arch host --emit obj)
}
for clang in "$CLANG" clang-19; do
    case $clang in clang-19) lacks clang-19 "halves of clang 19" && continue; esac
    version=$("$clang" --version | sed -n '1s/.*version \([0-9]*\).*/clang \1/p')
    opts=$merging
    half
    says "$version: parallel regions of the host are merged" \
        '^OMP150 9 : Parallel region merged with parallel region at .*:15:'
    half -DAPART
    says_not "  and not those with a decision between" OMP150
    opts=
    half
    says_not "  nor without the option" OMP150
done
"$ompjit" compile -q --arch host --emit obj -o /dev/null --remarks=r.json \
    $merging halves.c
like "$(cat r.json)" '"what": "Parallel region merged with parallel region",' \
    "  from source, where lines are not known"

# ---------------------------------------------- where shared variables are
cat >model.c <<'END'
#include <omp.h>
#include <stdio.h>
#define N 64
int main(void)
{
    int out[N], wrong = 0;
#pragma omp target teams num_teams(1) thread_limit(N) map(from: out)
    {
        int small[4], large[500], scale = omp_get_num_teams() + 1;
        for (int i = 0; i < 500; i++)
            large[i] = i + scale;
        for (int i = 0; i < 4; i++)
            small[i] = i * scale;
#pragma omp parallel num_threads(N)
        {
            int t = omp_get_thread_num();
            out[t] = small[t % 4] + large[7 * t] * scale;
        }
    }
    for (int t = 0; t < N; t++)
        wrong += out[t] != t % 4 * 2 + (7 * t + 2) * 2;
    printf("%d wrong\n", wrong);
}
END
# places SHARE: the variables in team-shared memory, and behind a slash those
# in device memory. The scalar is each thread's own in all models.
places() {
    all=$(remarks model.c --share="$1")
    says "--share=$1: a scalar by value" '^OMPJIT102 9 scale: '
    for id in OMP111 OMPJIT115; do
        printf '%s\n' "$all" | sed -n "s/^$id [0-9]* \([a-z]*\): .*/\1/p" |
            LC_ALL=C sort | paste -s -d ' ' -
    done >places
    out=$(paste -s -d / places)
}
places auto
is "$out" "large small/" "  all in team-shared memory"
places 64
is "$out" "small/large" "  the smallest in team-shared memory"
says "  and why" '^OMPJIT115 9 large: 2000 bytes .* more than 64 bytes .* \|'
places global
is "$out" "/large small" "  none in team-shared memory"
for bytes in x 5000000000 -1; do
    fails_with "not auto, global or a number" "--share=$bytes" \
        "$ompjit" inspect --share=$bytes model.c
done
for share in auto global 64; do
    succeeds "--share=$share: host" "$ompjit" run -q --device=host \
        --share=$share model.c
    is "$out" "0 wrong" "  right"
    "$ompjit" compile -q --share=$share model.c -o $share.ptx
    if [ -z "$PTXI" ]; then
        skip "--share=$share: PTX" "no emulated driver"
        continue
    fi
    succeeds "--share=$share: PTX" env LD_LIBRARY_PATH="$PTXI" \
        OMPJIT_ASSEMBLER=driver PTXI_LOG="$tmp/ptxi.log" "$ompjit" run -q \
        --device=cuda --share=$share model.c
    is "$out" "0 wrong" "  right"
done
is "$(grep -c 'call.*malloc' auto.ptx)" 0 "auto: nothing is allocated"
like "$(grep -c 'call' global.ptx)" '[1-9]' "global: something is"

# --------------------------------------------------------- the other options
all=$(remarks shared.c --opt=openmp-opt-max-iterations=1)
says "an analysis that does not end" \
    '^OMPJIT110 .*taken back \| its analysis did not end.*\| set the option'
all=$(remarks shared.c --opt=openmp-print-gpu-kernels)
says "kernels" '^OpenMPGPU 1[23] .*OpenMP GPU kernel'

# --------------------------------------------------------------------- files
succeeds "YAML" "$ompjit" inspect --remarks=r.yaml shared.c
if [ -x "$LLVM_BINDIR/llvm-remarkutil" ]; then
    out=$("$LLVM_BINDIR/llvm-remarkutil" count --parser=yaml \
        --count-by=remark-name --group-by=function r.yaml 2>&1)
    like "$out" '__omp_offloading_.*,[1-9]' "  LLVM's own tool reads it"
else
    skip "  LLVM's own tool" "no llvm-remarkutil"
fi
like "$(cat r.yaml)" "^DebugLoc: *\{ File: '?shared.c'?, Line: 15, Column: 13 \}" \
    "  with places"
succeeds "JSON" "$ompjit" explain --remarks=r.json shared.c
if command -v python3 >/dev/null; then
    is "$(python3 -c 'import json; print(sorted({type(x["line"]).__name__
        for x in json.load(open("r.json"))}))')" "['int']" "  it is JSON"
else
    skip "  it is JSON" "no python3"
fi
is "$("$ompjit" inspect --no-cache --remarks=- shared.c | grep -c '^--- !')" \
    "$("$ompjit" inspect --remarks=- shared.c | grep -c '^--- !')" \
    "the cache keeps them"
is "$("$ompjit" inspect --remarks=- --arch host shared.c | grep -c '^--- !')" 0 \
    "the host device has none"
like "$("$ompjit" inspect shared.c)" \
    'OMP111 shared.c:15:13: team: Replaced' "inspect shows them"
like "$("$ompjit" explain shared.c)" '^      because the main thread alone' \
    "explain, too"
fails_with 'cannot write /nonexistent/r' "a file that cannot be" \
    "$ompjit" compile -o a.ptx --remarks=/nonexistent/r shared.c
done_testing
