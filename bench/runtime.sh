#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make bench-runtime: the kernels of bench/runtime with our device runtime and
# with LLVM 19's, each compiled for sm_90 by its own compiler at -O3, assembled
# by the same ptxas (llvm19.sh). Writes a table and, for the test that holds us
# to it, the peer's figures to bench/ in the build folder. The table has the CPU
# time of each compile from source to PTX, too, of ROUNDS (5) taken in turns.
set -eu
. "${srcdir:?}/bench/llvm19.sh"

peer() { # SOURCE FILE.ptx
    mkdir -p "$work/peer"
    (cd "$work/peer" && rm -f ./* && llvm19 clang -O3 -fopenmp \
        -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_90 \
        --cuda-path="$CUDA_DIR" --libomptarget-nvptx-bc-path="$bitcode" \
        --offload-device-only -save-temps -c "$1" -o object 2>log ||
        { cat log >&2; exit 1; })
    mv "$work"/peer/*-openmp-nvptx64-nvidia-cuda.s "$2"
    add_missing "$2"
}

# compile WHO SOURCE: to PTX, by ours or by the peer's
compile() {
    case $1 in
    ours) OMPJIT_CACHE=0 OMPJIT_COMPILER=inprocess "$builddir/ompjit" compile \
        "$2" --arch sm_90 -o "$work/timed.ptx" ;;
    *) llvm19 clang -O3 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda \
        -Xopenmp-target -march=sm_90 --cuda-path="$CUDA_DIR" \
        --libomptarget-nvptx-bc-path="$bitcode" --offload-device-only \
        -S "$2" -o "$work/timed.ptx" ;;
    esac
}
# Sets `spent` to the CPU time that this shell's children have taken so far, in
# milliseconds.
children() {
    times >"$work/times"
    spent=$(awk 'NR == 2 { gsub(/[ms]/, " ")
        printf "%d", 1000 * (60 * ($1 + $3) + $2 + $4) }' "$work/times")
}
# Sets `mine` and `peers` to the milliseconds of a compile of SOURCE.
compile_both() { # SOURCE
    mine=0 peers=0 round=0
    while [ "$round" -lt "${ROUNDS:-5}" ]; do
        children; before=$spent
        compile ours "$1"
        children; between=$spent
        compile peer "$1"
        children
        mine=$((mine + between - before)) peers=$((peers + spent - between))
        round=$((round + 1))
    done
    mine=$((mine / ${ROUNDS:-5})) peers=$((peers / ${ROUNDS:-5}))
}

figures=$out/llvm19.txt
printf '# LLVM %s, %s, sm_90\n# kernel registers shared stack spills ptx sass\n' \
    "$version" "$assembler" >"$figures"
: >"$out/runtime.rows"
for source in "$srcdir"/bench/runtime/*.c; do
    name=$(basename "$source" .c)
    note "$name"
    peer "$source" "$work/peer.ptx"
    theirs=$(sh "$srcdir/bench/figures.sh" "$work/peer.ptx")
    "$builddir/ompjit" compile "$source" --arch sm_90 -o "$work/ours.ptx"
    ours=$(sh "$srcdir/bench/figures.sh" "$work/ours.ptx")
    "$out/fold" "$source" 1024 128 >"$work/fold.ptx"
    folded=$(sh "$srcdir/bench/figures.sh" "$work/fold.ptx")
    printf '%s %s\n' "$name" "$theirs" >>"$figures"
    compile_both "$source"
    printf '%s %s %s %s %s %s\n' "$name" "$ours" "$theirs" "$folded" \
        "$mine" "$peers" >>"$out/runtime.rows"
done
commit=$(git -C "$srcdir" describe --always --dirty 2>/dev/null || echo unknown)
printf 'Ours (commit %s) and LLVM %s, sm_90, %s\n' "$commit" "$version" \
    "$assembler" >"$out/runtime.txt"
awk -f "$srcdir/bench/runtime.awk" "$out/runtime.rows" >>"$out/runtime.txt"
cat "$out/runtime.txt"
