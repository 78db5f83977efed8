#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Short kernels (bench/short): the time of a launch on the host device beside
# LLVM's offloading runtime with its plugin for the host, turn by turn; and on
# the emulated driver the time and the driver's calls for each launch. LLVM's
# plugin for CUDA wants cubins, which the emulated driver does not take.
set -eu
unset OMPJIT_DEVICE OMPJIT_OPT OMPJIT_TEAMS OMPJIT_THREADS
here=$srcdir/bench/short
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
PTXI=${PTXI:-$builddir/ptxi}
llvm=$("$CLANG" --version | sed -n '1s/.*version \([0-9.]*\).*/LLVM \1/p')
lib=$(dirname "$(dirname "$(readlink -f "$CLANG")")")/lib

# A package has the library without its name for linkers.
for file in "$lib"/libomptarget.so*; do
    if [ -e "$file" ]; then ln -sf "$file" "$tmp/libomptarget.so"; fi
done

# us COMMAND...: microseconds a launch; its results are those of $tmp/results
us() {
    OMP_TARGET_OFFLOAD=mandatory timeout 300 "$@" >"$tmp/out"
    read -r time results <"$tmp/out"
    [ -s "$tmp/results" ] || echo "$results" >"$tmp/results"
    [ "$results" = "$(cat "$tmp/results")" ] || {
        echo "$*: $results, not $(cat "$tmp/results")" >&2; exit 1; }
    echo "$time"
}
ours() { us "$builddir/ompjit" run -q --device=host -DROUNDS=400 "$@" -lm; }
emulated() {
    us env LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
        PTXI_LOG="$tmp/ptxi.log" "$builddir/ompjit" run -q --device=cuda "$@"
}
least() { sort -n | head -n 1; }

# calls ROUNDS OPTION...: "LAUNCHES COPIES ALLOCATIONS ALL"
calls() {
    rounds=$1; shift
    rm -f "$tmp/trace"
    PTXI_TRACE="$tmp/trace" emulated -DROUNDS="$rounds" "$@" >/dev/null
    awk '/^cu/ { all++ } /^cuLaunchKernel/ { launches++ } /^cuMemcpy/ { copies++ }
        /^cuMem(Alloc|Free|Create|HostAlloc)/ { allocations++ }
        END { print launches + 0, copies + 0, allocations + 0, all + 0 }' \
        "$tmp/trace"
}
# a_launch OPTION...: copies, allocations and all calls for each of the launches
# of twenty rounds, without those before and behind them
a_launch() {
    { calls 20 "$@"; calls 40 "$@"; } | awk '
        NR == 1 { split($0, before) }
        NR == 2 {
            n = $1 - before[1]
            printf "%6.2f %6.2f %6.2f %6.2f", n / n, ($2 - before[2]) / n,
                ($3 - before[3]) / n, ($4 - before[4]) / n
        }'
}

# row NAME PROGRAM OPTION...
row() {
    name=$1 program=$here/$2; shift 2
    rm -f "$tmp/results"
    peer=
    if "$CLANG" -O3 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -DROUNDS=400 \
        "$@" "$program" -o "$tmp/peer" -L"$tmp" -L"$lib" -lm \
        -Wl,-rpath,"$lib" 2>"$tmp/log"; then peer=$tmp/peer
    fi
    for _ in 1 2 3 4 5 6 7 8 9; do
        ours "$@" "$program" >>"$tmp/ours.$name"
        [ -z "$peer" ] || us "$peer" >>"$tmp/peer.$name"
    done
    mine=$(least <"$tmp/ours.$name") its=-
    [ -z "$peer" ] || its=$(least <"$tmp/peer.$name")
    device="     -" figures="     -      -      -      -"
    if [ -e "$PTXI/libcuda.so.1" ]; then
        device=$(emulated "$@" "$program")
        figures=$(a_launch "$@" "$program")
    fi
    printf '%-22s %8s %9s %6s %10s   %s\n' "$name" "$mine" "$its" \
        "$(awk -v a="$mine" -v b="$its" \
            'BEGIN { if (b + 0) printf "%.3f", a / b; else print "-" }')" \
        "$device" "$figures"
}

echo "Short kernels (commit $(git -C "$srcdir" describe --always --dirty \
    2>/dev/null || echo unknown)) beside $llvm's runtime on the host"
echo "                         host device, us a launch    emulated     calls of its driver for each launch"
echo "program                    ours      LLVM  ratio  driver, us   launch copies allocs    all"
row nn nn.c
row "nn, map(to:)" nn.c '-DMAP=map(to : here, there)'
row gaussian gaussian.c
[ -e "$tmp/peer" ] || {
    echo "LLVM's: $CLANG does not link such programs:"; cat "$tmp/log"; }
echo
echo "us: the fastest round, of 400 in each of nine runs, by its launches."
