#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The front end in ompjitc: its bitcode and its words are those of clang's, also
# when it has rehearsed.
. "${srcdir:-.}/t/tap.sh"
grep -q '^#define OMPJIT_CONFIG_CC1 1' "$builddir/config.h" ||
    skip_all "clang is no part of ompjitc here"
own=$builddir/ompjitc
resources=$("$CLANG" -print-resource-dir)
triple=$("$CLANG" -print-target-triple)
version=$("$CLANG" -dumpversion)
[ "$version" = "$(sed -n 's/^#define OMPJIT_CONFIG_LLVM "\(.*\)"/\1/p' \
    "$builddir/config.h")" ] || skip_all "clang is $version"

# half NAME COMPILER FILE FLAG...: the host or the device half of FILE; bitcode
# to $tmp/NAME.bc, the exit status and words to $tmp/NAME.txt
half() {
    name=$1 compiler=$2 file=$3; shift 3
    status=0
    "$compiler" -cc1 "$@" -emit-llvm-bc -disable-llvm-passes -disable-O0-optnone \
        -O3 -fopenmp -resource-dir "$resources" -internal-isystem \
        "$resources/include" -internal-externc-isystem \
        "/usr/include/${triple%%-*}-linux-gnu" -internal-externc-isystem \
        /usr/include -fgnuc-version=4.2.1 -dependency-file /dev/fd/2 -MT deps \
        -sys-header-deps -remap-file "named.c;/dev/fd/0" -o "$tmp/$name.bc" \
        named.c <"$file" >"$tmp/$name.said" 2>&1 || status=$?
    # Words in any order: a source that is read ahead is not among its files,
    # whose order is another.
    tr -s '\\\n ' '\n' <"$tmp/$name.said" | grep -avx named.c | LC_ALL=C sort \
        >"$tmp/words"
    echo "status $status" | cat - "$tmp/words" >"$tmp/$name.txt"
}

# same WHAT HALF FILE FLAG...: all three ways agree
same() {
    what=$1 kind=$2; shift 2
    rm -f "$tmp"/theirs.bc "$tmp"/ours.bc "$tmp"/rehearsed.bc
    half theirs "$CLANG" "$@"
    half ours "$own" "$@"
    OMPJIT_CC1_AHEAD=$(cat "$1") half rehearsed "$own" "$@"
    is "$(head -n 1 "$tmp/theirs.txt")" "status $kind" "$what: clang's status"
    for way in ours rehearsed; do
        is "$(cat "$tmp/$way.txt")" "$(cat "$tmp/theirs.txt")" "  $way: its words"
        if [ "$kind" = 0 ]; then
            succeeds "  $way: its bitcode" cmp "$tmp/$way.bc" "$tmp/theirs.bc"
        else
            is "$(ls "$tmp/$way.bc" 2>/dev/null)" "" "  $way: no bitcode"
        fi
    done
}
# read_ahead YES|NO: were the headers of the last text precompiled?
read_ahead() {
    was=YES
    grep -aq 'deps: named.c' "$tmp/rehearsed.said" && was=NO
    is "$was" "$1" "  headers were read ahead: $1"
}
host() { # host WHAT STATUS FILE FLAG...
    what=$1 kind=$2 file=$3; shift 3
    same "$what" "$kind" "$file" -triple "$triple" \
        -fopenmp-targets=nvptx64-nvidia-cuda "$@"
}
device() {
    what=$1 kind=$2 file=$3; shift 3
    same "$what" "$kind" "$file" -triple nvptx64-nvidia-cuda -aux-triple \
        "$triple" -fopenmp-is-target-device -fcuda-is-device \
        -fopenmp-host-ir-file-path "$tmp/host.bc" "$@"
}

# The text: functions of rehearsal's names, headers, a struct, statics, lambdas.
cat >"$tmp/good.c" <<'EOF2'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
typedef struct point { double x, y; } point;
static double sum(int n, const double *x) { return n ? x[0] : 0; }
void run(int n, float a, const float *x, float *y) { y[n] = a * x[0]; }
int main(void)
{
    double s = 0;
    point p[10] = {{1, 2}};
#pragma omp target teams distribute parallel for reduction(+ : s) map(p)
    for (int i = 0; i < 10; i++)
        s += sqrt(p[i].x) + sum(1, &p[i].y);
    printf("%g\n", s);
    return s < 0 ? abs(3) : 0;
}
EOF2
cat >"$tmp/good.cpp" <<'EOF2'
template <class T> struct box { T value; T twice() const { return value * 2; } };
struct base { virtual int f() { return 1; } virtual ~base() {} };
struct derived : base { int f() override { return 2; } };
int use(int n)
{
    derived d;
    box<int> b{n};
    int r = d.f();
    auto add = [&](int x) { return x + b.twice(); };
#pragma omp target map(tofrom : r)
    { r += [=](int y) { return y * b.twice(); }(n); }
    return add(r);
}
EOF2
cat >"$tmp/bad.c" <<'EOF2'
int f(void) { return undeclared + 1; }
int unused(void) { int x; return x; }
#error enough
EOF2
host "a host half" 0 "$tmp/good.c" -x c -debug-info-kind=line-directives-only \
    -dwarf-version=5
read_ahead YES
mv "$tmp/theirs.bc" "$tmp/host.bc"
device "its device half" 0 "$tmp/good.c" -x c
read_ahead YES
host "C++" 0 "$tmp/good.cpp" -x c++ -std=c++17 -fcxx-exceptions -fexceptions
mv "$tmp/theirs.bc" "$tmp/host.bc"
device "its device half" 0 "$tmp/good.cpp" -x c++ -std=c++17
host "macros" 0 "$tmp/good.c" -x c -D n=m -D a=b -U __linux__
sed '1i\/* A comment\n * of lines. */\n// and one more\n#define _GNU_SOURCE 1' \
    "$tmp/good.c" >"$tmp/commented.c"
host "comments and macros before headers" 0 "$tmp/commented.c" -x c
read_ahead YES
mkdir "$tmp/include"
cat >"$tmp/include/odd.h" <<'EOF2'
#warning odd
#pragma omp begin declare target
static int odd(int x) { return x | 1; }
#pragma omp end declare target
enum { LINE = __LINE__, COUNT = __COUNTER__ };
static const char *const file = __FILE__, *const date = __DATE__;
EOF2
touch -d '1 hour ago' "$tmp/include/odd.h"
sed '1i#include <odd.h>' "$tmp/good.c" >"$tmp/odd.c"
host "a header with a warning" 0 "$tmp/odd.c" -x c -I "$tmp/include"
read_ahead NO
sed -i '/warning/d; s/, \*const date = __DATE__//' "$tmp/include/odd.h"
touch -d '1 hour ago' "$tmp/include/odd.h"
host "a header with declare target" 0 "$tmp/odd.c" -x c -I "$tmp/include"
read_ahead YES
mv "$tmp/theirs.bc" "$tmp/host.bc"
device "its device half" 0 "$tmp/odd.c" -x c -I "$tmp/include"
host "errors" 1 "$tmp/bad.c" -x c -Wall
host "warnings as errors" 1 "$tmp/bad.c" -x c -Werror -Weverything
host "a flag that clang does not know" 1 "$tmp/good.c" -x c -no-such-flag
device "a host half that is missing" 70 "$tmp/good.c" -x c \
    -fopenmp-host-ir-file-path "$tmp/none.bc"

# A device half reads the headers while its host half is still being compiled: it
# opens one that is a pipe before the host half has come through another pipe.
device_of() { # NAME HOST-HALF
    half "$1" "$own" "$tmp/piped.c" -x c -I "$tmp/include" \
        -triple nvptx64-nvidia-cuda -aux-triple "$triple" \
        -fopenmp-is-target-device -fcuda-is-device \
        -fopenmp-host-ir-file-path "$2"
}
sed '1i#include <piped.h>' "$tmp/good.c" >"$tmp/piped.c"
echo 'enum { PIPED };' >"$tmp/include/piped.h"
half host "$own" "$tmp/piped.c" -x c -I "$tmp/include" -triple "$triple" \
    -fopenmp-targets=nvptx64-nvidia-cuda
device_of device "$tmp/host.bc"
rm "$tmp/include/piped.h"
mkfifo "$tmp/include/piped.h" "$tmp/host"
device_of late "$tmp/host" &
succeeds "headers are read before the host half is there" timeout 60 \
    sh -c "echo 'enum { PIPED };' >'$tmp/include/piped.h'"
timeout 60 sh -c "cat '$tmp/host.bc' >'$tmp/host'"
wait $!
succeeds "  the same bitcode" cmp "$tmp/late.bc" "$tmp/device.bc"
rm "$tmp/include/piped.h"

# changes AGE: a front end that has read a header of that age ahead gets another
# one of the same size.
changes() {
    echo 'enum { VALUE = 111 };' >"$tmp/include/value.h"
    [ -z "$1" ] || touch -d "$1" "$tmp/include/value.h"
    printf '#include <value.h>\nint value(void) { return VALUE; }\n' \
        >"$tmp/value.c"
    rm -f "$tmp/pipe" "$tmp/late.bc"
    mkfifo "$tmp/pipe"
    OMPJIT_CC1_AHEAD=$(cat "$tmp/value.c") "$own" -cc1 -triple "$triple" -x c \
        -O1 -emit-llvm-bc -I "$tmp/include" -resource-dir "$resources" \
        -remap-file "named.c;/dev/fd/0" -o "$tmp/late.bc" named.c <"$tmp/pipe" &
    exec 9>"$tmp/pipe"
    sleep 2
    echo 'enum { VALUE = 222 };' >"$tmp/include/value.h"
    [ -z "$1" ] && touch -d "$2" "$tmp/include/value.h"
    cat "$tmp/value.c" >&9
    exec 9>&-
    wait $!
    "$LLVM_BINDIR/llvm-dis" -o - "$tmp/late.bc" >"$tmp/late.ll"
    like "$(cat "$tmp/late.ll")" 'ret i32 222' \
        "a header of ${1:-now} that has changed is read again"
}
changes '1 hour ago'
now=$(date '+%F %T')
changes '' "$now"
done_testing
