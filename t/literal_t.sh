#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Scalars of target constructs that travel as values: clang's implicit ones,
# packed into a word of the argument arrays and unpacked by the kernel, and
# those with an explicit map(to:), which cost no driver call unless somebody
# could tell a value from storage, or the device has not had the value yet.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_HOST_MEMORY OMPJIT_SPECIALIZE OMPJIT_TEAMS \
    OMPJIT_THREADS
program=$srcdir/t/data/literal.c
right='5 0 999 0 0 23'

# ------------------------------------------------------------------ both sides
cat >"$tmp/sides.c" <<'END'
void f(int n, float a, double *x)
{
#pragma omp target map(tofrom: x[:4])
    x[n] = a;
}
END
host=$("$ompjit" compile "$tmp/sides.c" --emit host-ll -o -)
like "$host" '@.offload_sizes = .*i64 32, .*i64 4, i64 4\]' "sizes of the source"
like "$host" '@.offload_maptypes = .*\[i64 35, .*i64 800, i64 800\]' \
    "  implicit scalars have the map type 0x320, storage has not"
like "$host" '%a.casted = alloca i64' "  they are packed into words"
like "$("$ompjit" compile "$tmp/sides.c" -o "$tmp/sides.ll" &&
    cat "$tmp/sides.ll")" 'ptx_kernel void @.*\(ptr .*, ptr .*%x, i64 .*%n, i64 .*%a\)' \
    "  and words are the kernel's parameters"
cat >"$tmp/long.c" <<'END'
void f(long double a, double *x)
{
#pragma omp target map(tofrom: x[:4]) MAP
    x[0] = VALUE;
}
END
host=$("$ompjit" compile '-DMAP=map(to: a)' -DVALUE=1 "$tmp/long.c" \
    --emit host-ll -o -)
like "$host" '@.offload_sizes = .*, i64 16\]' "a long double: 16 bytes"
like "$host" '@.offload_maptypes = .*, i64 1\]' "  of storage"
fails_with "'a' requires 128 bit size 'long double' type support" \
    "  which no GPU computes with" "$ompjit" compile -DMAP= '-DVALUE=(double)a' \
    "$tmp/long.c" -o "$tmp/long.ptx"

# --------------------------------------------------------------------- results
for memory in separate shared auto; do
    succeeds "host, $memory memory" "$ompjit" run -q --device=host \
        --host-memory=$memory "$program"
    [ $memory = shared ] || is "$out" "$right" "  results"
done
if [ ! -e "${PTXI:-}/libcuda.so.1" ]; then
    skip "as PTX" "PTXI names no libcuda.so.1"
    done_testing
    exit
fi
for how in off now; do
    succeeds "PTX, specialize=$how" emulated OMPJIT_SPECIALIZE=$how \
        PTXI_LOG="$tmp/ptxi.log" timeout 120 "$ompjit" run -q "$program"
    is "$out" "$right" "  results"
done
succeeds "a driver that does all work late" emulated PTXI_STREAM=lazy \
    PTXI_LOG="$tmp/ptxi.log" timeout 120 "$ompjit" run -q "$program"
is "$out" "$right" "  results"

# ---------------------------------------------------------------- driver calls
calls() { grep -cE "^($1)" "$tmp/trace"; }
# costs NAME COPIES ALLOCATIONS OPTION...: of the 20 launches, with one
# allocation for x. What is mapped in earnest is one block and one copy; b is
# known then.
costs() {
    what=$1 copies=$2 allocations=$3; shift 3
    rm -f "$tmp/trace"
    succeeds "$what" emulated PTXI_TRACE="$tmp/trace" \
        PTXI_LOG="$tmp/ptxi.log" "$ompjit" run -q -DCASE "$@" "$program"
    is "$out" 0 "  results"
    is "$(calls cuLaunchKernel) $(calls cuMemcpyHtoD) $(calls cuMemAllocFromPool)" \
        "20 $copies $allocations" "  launches, copies, allocations"
}
# How often the driver is asked whether an event has come depends on the time
# that work takes; each question makes a context current, and another behind it.
lasting() {
    grep -vE '^(cuEventQuery|cuCtx(Push|Pop)Current)' "$tmp/trace" |
        grep -cE '^cu[A-Z]'
}
costs "implicit scalars" 0 1 -DMAP=
before=$(lasting)
# The two copies are those of the values' first launch.
costs "map(to:)" 2 1
is "$(($(lasting) <= before + 10))" 1 \
    "  hardly more calls than without the clause"
costs "small integers" 2 1 -DTYPE=char
costs "one that changes" 21 1 '-DCHANGE=a=k%100'
costs "two that alternate" 3 1 '-DCHANGE=a=k%2+1'
costs "tofrom: comes back" 20 21 '-DMAP=map(tofrom: a, b)'
costs "always: is copied" 21 21 '-DMAP=map(to: b) map(always, to: a)'
costs "written by the kernel" 21 21 '-DWRITE=if (i==99) a=3'
costs "larger than a word" 20 21 '-DTYPE=struct { long u, v; }'
costs "long double" 20 21 '-DTYPE=long double' -DVALUE=

# Without memory for values they are mapped.
succeeds "a driver without memory for values" emulated \
    PTXI_FAIL=cuMemAlloc_v2:1+:2 PTXI_LOG="$tmp/ptxi.log" "$ompjit" run -q \
    -DCASE "$program"
is "$out" 0 "  results"
done_testing
