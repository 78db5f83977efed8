#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every example, plain and through the API, gives the same checksum: compiled by
# clang alone, on the host device with one and with many threads a team, and as
# PTX where PTXI names a folder with an emulated libcuda.so.1.
. "${srcdir:-.}/t/tap.sh"
examples=$srcdir/examples
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY

# same NAME COMMAND...: it succeeds, says ok, and has the checksum in $sum
same() {
    succeeds "$@"
    is "$(printf '%s\n' "$out" | grep checksum)" "$sum" "  the same checksum"
}

# Small enough for an interpreter of PTX.
size_of() {
    case $1 in
    saxpy | dot) echo 3000 ;;
    jacobi) echo 24 3 ;;
    mandelbrot) echo 20 ;;
    matmul) echo 20 ;;
    esac
}

apis_of() {
    echo "${1}_api"
    case $1 in
    jacobi) echo jacobi_graph_api ;;
    matmul) echo matmul_cuda_api ;;
    esac
}

on_host() {
    OMPJIT_DEVICE=host
    export OMPJIT_DEVICE
    same "$1 on the host device" "$ompjit" run "$examples/$1.c" $size
    same "$1 with 64 threads a team" \
        "$ompjit" run --threads=64 "$examples/$1.c" $size
    same "$1 with 5 teams of 33 threads in memory of their own" \
        "$ompjit" run --teams=5 --threads=33 --host-memory=separate \
        "$examples/$1.c" $size
    same "$1 at -O0" "$ompjit" run -O0 "$examples/$1.c" $size
    for api in $(apis_of $1); do
        same "$1 through the API: $api" "$builddir/examples/$api" $size
    done
}

# scheduled MODE SCHEDULE COMMAND...: on the emulated GPU.
scheduled() {
    mode=$1 schedule=$2
    shift 2
    emulated PTXI_STREAM="$mode" "$schedule" PTXI_LOG="$tmp/ptxi.log" \
        OMPJIT_TEAMS=3 OMPJIT_THREADS=64 "$@"
}

# same_and_none_left NAME COMMAND...: and the driver has back what it gave.
same_and_none_left() {
    same "$@"
    is "$(tail -n 1 "$tmp/ptxi.log")" "exit: 0 leaks" "  no leaks"
}

as_ptx() {
    for mode in sync async lazy; do
        for schedule in PTXI_SLICE=4 PTXI_SLICE=100000 PTXI_SEED=1 \
            PTXI_SEED=2; do
            for api in $(apis_of $1); do
                same_and_none_left \
                    "$1 through the API as PTX, $mode, $schedule: $api" \
                    scheduled $mode $schedule "$builddir/examples/$api" $size
            done
            same_and_none_left "$1 as PTX, $mode, $schedule" \
                scheduled $mode $schedule \
                "$ompjit" run --release "$examples/$1.c" $size
        done
    done
}

for name in saxpy dot jacobi mandelbrot matmul; do
    size=$(size_of $name)
    succeeds "$name by clang alone" "$builddir/examples/plain/$name" $size
    like "$out" "^$name: ok" "  finds its result right"
    sum=$(printf '%s\n' "$out" | grep checksum)
    on_host $name
    if [ -e "${PTXI:-}/libcuda.so.1" ]; then as_ptx $name; fi
done
if [ ! -e "${PTXI:-}/libcuda.so.1" ]; then
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi

succeeds "a picture" "$ompjit" run --device=host "$examples/mandelbrot.c" \
    30 "$tmp/picture.pgm"
is "$(head -c 9 "$tmp/picture.pgm")" "P5
30 30" "  is a PGM"
is "$(wc -c <"$tmp/picture.pgm" | tr -d ' ')" 913 "  of 30 by 30 bytes"

# The manual opens with a program: it is this one, and it works.
awk '/^```$/ { on = 0 } on; /^```c$/ { on = 1 }' "$srcdir/README.md" >"$tmp/readme.c"
is "$(cat "$tmp/readme.c")" "$(cat "$examples/readme.c")" \
    "README.md shows examples/readme.c"
like "$(wc -l <"$examples/readme.c")" '^ *(1?[0-9]|20)$' "  at most 20 lines"
succeeds "  runs" env OMPJIT_DEVICE=host "$builddir/examples/readme"
is "$out" "12 24 36" "  and prints what it should"
done_testing
