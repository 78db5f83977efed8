#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make bench-runtime: the kernels of bench/runtime with our device runtime and
# with LLVM 19's, each compiled for sm_90 by its own compiler at -O3, assembled
# by the same ptxas. LLVM19 names the peer's installation (what Debian's
# clang-19, llvm-19 and libomp-19-dev put into /usr/lib/llvm-19). Writes a table
# and, for the test that holds us to it, the peer's figures to bench/ in the
# build folder.
set -eu
: "${srcdir:?}" "${builddir:?}" "${CUDA_DIR:?}"
: "${LLVM19:=/usr/lib/llvm-19}"
: "${PTXAS:=$CUDA_DIR/bin/ptxas}"
export PTXAS
bitcode=$LLVM19/lib/libomptarget-nvptx-sm_90.bc
out=$builddir/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

note() { printf 'bench: %s\n' "$*" >&2; }
llvm19() { # TOOL ARGUMENT...
    llvm19_tool=$LLVM19/bin/$1; shift
    LD_LIBRARY_PATH="$LLVM19/lib:$LLVM19/../x86_64-linux-gnu" \
        "$llvm19_tool" "$@"
}

# Functions that clang 19's passes call after what it did not use of the
# runtime has been dropped; from the static library a linker adds them.
add_missing() { # FILE.ptx
    missing=$(sed -n '/^\.extern \.func/{s/.*) *//
        s/^\.extern \.func *//;s/[ (].*//;p}' "$1" |
        grep -vE '^(malloc|free|vprintf|__assertfail)$' | sort -u)
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2046 # one argument each
    llvm19 llvm-extract -recursive "$bitcode" -o "$work/missing.bc" \
        $(echo "$missing" | sed 's/^/-func=/')
    llvm19 opt '-passes=default<O3>' "$work/missing.bc" -o "$work/missing.opt"
    llvm19 llc -O3 -mcpu=sm_90 -mattr=+ptx85 "$work/missing.opt" \
        -o "$work/missing.ptx"
    for symbol in $missing; do
        sed -i "/^\.extern \.func.*\b$symbol\b/s/^\.extern/.visible/" "$1"
    done
    grep -vE '^\.(version|target|address_size)' "$work/missing.ptx" >>"$1"
}

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

if [ ! -e "$bitcode" ] || [ ! -x "$LLVM19/bin/clang" ]; then
    note "LLVM 19's device runtime left out: no $bitcode and clang beside it" \
        "(Debian: libomp-19-dev, clang-19, llvm-19; LLVM19=folder)"
    exit 0
fi
if [ ! -x "$PTXAS" ]; then
    note "LLVM 19's device runtime left out: no ptxas at $PTXAS"
    exit 0
fi
version=$(llvm19 clang --version | sed -n '1s/.*version \([^ ]*\).*/\1/p')
assembler=$("$PTXAS" --version | sed -n 's/.*\(V[0-9.]*\)$/ptxas \1/p')
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
    printf '%s %s %s %s\n' "$name" "$ours" "$theirs" "$folded" \
        >>"$out/runtime.rows"
done
commit=$(git -C "$srcdir" describe --always --dirty 2>/dev/null || echo unknown)
printf 'Ours (commit %s) and LLVM %s, sm_90, %s\n' "$commit" "$version" \
    "$assembler" >"$out/runtime.txt"
awk -f "$srcdir/bench/runtime.awk" "$out/runtime.rows" >>"$out/runtime.txt"
cat "$out/runtime.txt"
