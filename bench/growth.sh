#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make bench-growth: costs at three sizes or more, each beside its peer in one run,
# with the exponent of their growth: 1 is in proportion, 0 flat. Writes a table to
# bench/growth.txt in the build folder. ROUNDS=n (default 3): the least of so many.
set -eu
: "${srcdir:?}" "${builddir:?}" "${CLANG:?}"
rounds=${ROUNDS:-3}
ompjit=$builddir/ompjit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows=$work/rows
OMPJIT_DEVICE=host OMPJIT_CACHE=0
export OMPJIT_DEVICE OMPJIT_CACHE

note() { printf 'bench: %s\n' "$*" >&2; }
make_program() { # WHAT N CALLED
    awk -v what="$1" -v n="$2" -v called="$3" \
        -f "$srcdir/bench/growth/make.awk" >"$work/$1.c"
}
# least COMMAND...: seconds of the fastest of its runs
least() {
    for _ in $(seq "$rounds"); do
        least_start=$(date +%s.%N)
        if "$@" >/dev/null 2>&1; then
            echo "$(date +%s.%N) $least_start"
        else
            echo "1e9 0"
        fi
    done | awk '{ t = $1 - $2 } NR == 1 || t < best { best = t } END { print best }'
}
# field N COMMAND...: the least of a number that it prints
field() {
    field_n=$1; shift
    for _ in $(seq "$rounds"); do "$@" 2>/dev/null | tail -1; done |
        awk -v n="$field_n" 'NR == 1 || $n < best { best = $n } END { print best }'
}
row() { printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$rows"; }
clang_c() { "$CLANG" -O3 -fopenmp -c "$1" -o "$work/peer.o"; }

note "a cold run, against clang: compile, link, run"
clang_run() {
    "$CLANG" -O3 -fopenmp "$1" -o "$work/peer" && "$work/peer"
}
for n in 1 3 9; do
    make_program regions $n $n
    row "cold run, target regions" $n \
        "$(least "$ompjit" run "$work/regions.c")" \
        "$(least clang_run "$work/regions.c")" s
done
note "target regions, against clang -c"
for called in all one; do
    for n in 1 10 50 200; do
        make_program regions $n "$([ $called = all ] && echo $n || echo 1)"
        row "regions, $called called" $n \
            "$(least "$ompjit" run "$work/regions.c")" \
            "$(least clang_c "$work/regions.c")" s
    done
done
note "arrays of a construct, against clang -c"
for n in 10 100 1000; do
    make_program arrays $n 0
    row "arrays of a construct" $n "$(least "$ompjit" run "$work/arrays.c")" \
        "$(least clang_c "$work/arrays.c")" s
done
note "statements and parallel regions of a kernel, as PTX, against clang"
# ptx WHAT N NAME
ptx() {
    make_program $1 $2 0
    row "$3 of a kernel, PTX" $2 \
        "$(least "$ompjit" compile "$work/$1.c" -o "$work/o.ptx")" \
        "$(least "$CLANG" -O3 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda \
            -Xopenmp-target -march=sm_90 --offload-device-only -nogpulib \
            -S -o "$work/peer.s" "$work/$1.c")" s
}
for n in 100 1000 10000; do ptx statements $n statements; done
for n in 100 1000 3000; do ptx accesses $n "statements with loads"; done
for n in 100 1000 3000; do ptx serial $n "sequential statements"; done
for n in 10 30 100; do ptx parallel $n "parallel regions"; done
note "launches"
for n in 10 1000 100000; do
    row "a launch, entries of the table" $n \
        "$(field 1 "$ompjit" run "$srcdir/bench/growth/present.c" $n)" - us
done
for n in 10 1000 100000; do
    row "a launch, any of the entries" $n \
        "$(field 2 "$ompjit" run "$srcdir/bench/growth/present.c" $n)" - us
done
for n in 1 2 4 8; do
    row "a launch, threads" $n \
        "$(field 1 "$ompjit" run "$srcdir/bench/growth/threads.c" $n)" - us
done
# The whole process, with all that is compiled: the peer specializes nothing.
note "specialization of values that come back, against none"
for kernel in stencil polynomial sparse; do
    for n in 10 100 1000; do
        row "auto, whole run, $kernel" $n \
            "$(least "$ompjit" run --specialize auto \
                "$srcdir/bench/special.c" $kernel $n)" \
            "$(least "$ompjit" run --specialize off \
                "$srcdir/bench/special.c" $kernel $n)" s
    done
done
note "copies, against two memcpys"
for n in 10 100 1000; do
    row "separate memory, MB there and back" $n \
        "$(field 1 "$ompjit" run --host-memory=separate \
            "$srcdir/bench/growth/copies.c" $n)" \
        "$(field 2 "$ompjit" run --host-memory=separate \
            "$srcdir/bench/growth/copies.c" $n)" ms
done
note "eleven kernels, against the better of gcc and clang"
# lesser A B: the lesser of two numbers, either of which may be missing
lesser() {
    printf '%s\n' "$@" | awk 'NF && (b == "" || $1 < b) { b = $1 }
        END { print b == "" ? "-" : b }'
}
OMP_NUM_THREADS=1
export OMP_NUM_THREADS
: >"$work/peers"
for cc in gcc "$CLANG"; do
    "$cc" -O3 -march=native -fopenmp "$srcdir/bench/growth/eleven.c" -lm \
        -o "$work/eleven.${cc##*/}" 2>/dev/null &&
        echo "$work/eleven.${cc##*/}" >>"$work/peers"
done
while read -r kernel sizes; do
    for n in $sizes; do
        peers=$(while read -r peer; do
            field 1 "$peer" $kernel $n
        done <"$work/peers")
        row "$kernel, 1 thread" $n \
            "$(field 1 "$ompjit" run -DDEVICE "$srcdir/bench/growth/eleven.c" \
                $kernel $n </dev/null)" "$(lesser $peers)" us
    done
done <<END
saxpy 1000 100000 4000000
dot 1000 100000 4000000
jacobi 32 320 2000
matmul 16 100 400
nbody 32 256 2000
spmv 100 10000 400000
histogram 1000 100000 4000000
mandelbrot 16 64 400
stencil 12 48 160
scan 1000 100000 4000000
branchy 1000 100000 4000000
END
unset OMP_NUM_THREADS
note "loops, against gcc -O3 -march=native -fopenmp"
peer=
if gcc -O3 -march=native -fopenmp "$srcdir/bench/growth/loops.c" \
    -o "$work/loops" 2>/dev/null; then peer=$work/loops; fi
for kernel in scan dot; do
    for threads in 1 "$(nproc)"; do
        for n in 100000 1000000 10000000; do
            OMP_NUM_THREADS=$threads
            export OMP_NUM_THREADS
            row "$kernel, $threads threads" $n \
                "$(field 1 "$ompjit" run -DDEVICE \
                    "$srcdir/bench/growth/loops.c" $kernel $n)" \
                "$([ -z "$peer" ] && echo - || field 1 "$peer" $kernel $n)" ms
        done
    done
done
{
    printf '%s, %s processors, load %s at the end, commit %s\n' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" "$(nproc)" \
        "$(cut -d' ' -f1 /proc/loadavg)" \
        "$(git -C "$srcdir" describe --always --dirty 2>/dev/null || echo unknown)"
    awk -f "$srcdir/bench/growth/report.awk" "$rows"
} >"$builddir/bench/growth.txt"
cat "$builddir/bench/growth.txt"
