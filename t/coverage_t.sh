#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Counts of device code, on the host device and as PTX: lines (ompjit run
# --coverage), and the counters of clang's own instrumentation, with the values
# that it notes.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_OPT
cached
cd "$tmp" || exit 1

cat >c.c <<'END'
#include <stdio.h>
#pragma omp begin declare target
static int f(int i)
{
    if (i % 4 == 0)
        return i * 2;
    if (i < 0)
        return 7;
    return i + 1;
}
#pragma omp end declare target
int main(void)
{
    int a[1000], sum = 0;
    for (int n = 0; n < 2; n++) {
#pragma omp target teams distribute parallel for map(from : a)
        for (int i = 0; i < 1000; i++)
            a[i] = f(i);
    }
#pragma omp target map(tofrom : sum)
    {
        sum = 1;
#pragma omp parallel num_threads(4)
#pragma omp atomic
        sum++;
    }
    printf("%d %d\n", a[10], sum);
    return 0;
}
END

# on DEVICE COMMAND...
on() {
    device=$1; shift
    case $device in
    host) OMPJIT_DEVICE=host "$@" ;;
    *) emulated "$@" ;;
    esac
}
# lines FILE: "LINE:COUNT" of those that have one
lines() { sed -n 's/^ *\([0-9][0-9]*\): *\([0-9]*\):.*/\2:\1/p' "$1"; }
# profiled FILE: the counts of clang's counters of f, by number
profiled() {
    sed -n 's/^ *\([0-9]*\) \([0-9]\) of .*f$/\2:\1/p' "$1" | tr '\n' ' '
}

devices=host
if [ -n "$PTXI" ]; then
    devices="host cuda"
else
    skip "counts of PTX" "no emulated driver"
fi
for device in $devices; do
    for mode in off now; do
        succeeds "lines on $device, specialize $mode" on $device "$ompjit" run \
            -q --specialize $mode --coverage counts.$device c.c
        is "$out" "11 5" "  the program computes the same"
        all=$(lines counts.$device)
        for line in 5:2000 6:500 7:1500 8:0 9:1500 18:2000 22:1 25:4; do
            is "$(printf '%s\n' "$all" | grep "^${line%:*}:")" $line \
                "  line ${line%:*}"
        done
        is "$(grep -c '^ *-: *1[345]:' counts.$device)" 3 \
            "  lines of the host have no count"
    done
    succeeds "  for lcov" on $device "$ompjit" run -q --coverage c.info c.c
    is "$(grep -c '^DA:8,0$' c.info) $(tail -n 1 c.info)" "1 end_of_record" \
        "  is its format"
done
succeeds "without the option" "$ompjit" run -q --device host c.c
is "$(cat "$tmp/stderr")" "" "  nothing is told"
fails_with "/nonexistent/counts" "counts that cannot be written" \
    "$ompjit" run -q --device host --coverage /nonexistent/counts c.c
is "$out" "" "  stop the program before it runs"
fails_with "ompjit-coverage" "clang's own option, with this library's named," \
    "$ompjit" run -q -fprofile-generate c.c
fails_with "no profile is written" "nor a mapping for a profile" \
    "$ompjit" run -q -fcoverage-mapping c.c
for flag in -fprofile-instr-generate -fprofile-instrument=clang; do
    succeeds "clang's counters by $flag" "$ompjit" run -q --device host $flag \
        --coverage counts c.c
    is "$out" "11 5" "  the program computes the same"
    is "$(profiled counts)" "0:2000 1:500 2:0 " "  counts of f"
done

# Two places that note values: a call through a pointer, and a copy whose size
# has more values than a place keeps.
cat >v.c <<'END'
#include <stdio.h>
#include <string.h>
#pragma omp begin declare target
static int twice(int i) { return 2 * i; }
static int next(int i) { return i + 1; }
static int (*table[])(int) = {twice, next};
static int f(int i, char *to, const char *from)
{
    memcpy(to, from, i % 10);
    return table[i % 4 == 0](i);
}
#pragma omp end declare target
int main(void)
{
    int a[1000];
    char to[1000][10], from[10] = "abcdefghi";
#pragma omp target teams distribute parallel for map(from : a, to) \
    map(to : from)
    for (int i = 0; i < 1000; i++)
        a[i] = f(i, to[i], from);
    printf("%d %.3s\n", a[12], to[13]);
    return 0;
}
END
# values FILE: "PLACE:VALUE:COUNT" in its order
values() {
    sed -n 's/^ *\([0-9]*\) \(.*\) at \([0-9]\) of .*/\3:\2:\1/p' "$1"
}

succeeds "values by -fprofile-instr-generate" "$ompjit" run -q --device host \
    -fprofile-instr-generate --coverage counts v.c
is "$(values counts | sed -n 1,2p | tr '\n' ' ')" \
    "0:next:250 0:twice:750 " "  functions"

# clang's instrumentation: lowered, as intrinsics, and atomic and optimized.
gpu="-fopenmp --offload-arch=sm_75 -nogpulib -S -emit-llvm"
device_ir() {
    $CLANG $gpu --offload-device-only -Xclang -fprofile-instrument=clang \
        "$@" c.c 2>"$tmp/stderr"
}
if device_ir -O0 -o lowered.ll && $CLANG $gpu -O1 --offload-host-only c.c \
    -o host.ll 2>"$tmp/stderr"; then
    device_ir -O1 -Xclang -disable-llvm-passes -o intrinsics.ll
    device_ir -O2 -Xclang -fprofile-update=atomic -o atomic.ll
    for device in $devices; do
        for form in lowered intrinsics atomic; do
            succeeds "clang's counters, $form, on $device" on $device \
                "$ompjit" run -q --host-ir host.ll --coverage counts $form.ll
            is "$out" "11 5" "  the program computes the same"
            is "$(profiled counts)" "0:2000 1:500 2:0 " "  counts of f"
        done
    done
    gpu="$gpu -mllvm -enable-value-profiling"
    values_ir() { $CLANG $gpu --offload-device-only "$@" v.c 2>"$tmp/stderr"; }
    $CLANG $gpu -O1 --offload-host-only v.c -o v_host.ll 2>"$tmp/stderr"
    values_ir -O2 -Xclang -fprofile-instrument=llvm -o llvm.ll
    values_ir -O0 -Xclang -fprofile-instrument=clang -o clang.ll
    values_ir -O1 -Xclang -fprofile-instrument=clang \
        -Xclang -disable-llvm-passes -o calls.ll
    for device in $devices; do
        for form in clang calls llvm; do
            succeeds "values that clang notes, $form, on $device" on $device \
                "$ompjit" run -q --host-ir v_host.ll --coverage counts $form.ll
            is "$out" "13 abc" "  the program computes the same"
            is "$(values counts | sed -n 1,2p | tr '\n' ' ')" \
                "0:next:250 0:twice:750 " "  functions"
        done
        # The first eight are any eight.
        is "$(values counts | sed 1,2d | cut -d: -f1,3 | sort | tr '\n' ' ')" \
            "1:100 1:100 1:100 1:100 1:100 1:100 1:100 1:100 1:200 " \
            "  sizes, eight and others"
        is "$(values counts | tail -n 1)" "1:others:200" "  the others are last"
    done
else
    skip "clang's counters" \
        "$CLANG makes no IR for GPUs: $(head -n 1 "$tmp/stderr")"
fi
done_testing
