#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make bench-nvcc: the kernels of bench/nvcc from OpenMP, by us, and from CUDA,
# by nvcc, for sm_90, assembled by the same ptxas: registers, and instructions
# of the inner loop for an element. Both know the launch's geometry and its
# scalar arguments, then neither does. Writes a table and, for the test that
# holds us to it, nvcc's figures to bench/ in the build folder.
set -eu
: "${srcdir:?}" "${builddir:?}" "${CUDA_DIR:?}"
: "${NVCC:=$CUDA_DIR/bin/nvcc}"
: "${PTXAS:=$CUDA_DIR/bin/ptxas}"
export PTXAS
out=$builddir/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

note() { printf 'bench: %s\n' "$*" >&2; }

. "$srcdir/bench/nvcc_known.sh"
figures() { # OPERATION FILE.ptx
    sh "$srcdir/bench/figures.sh" --loop "$@"
}
peer() { # SOURCE OPERATION
    "$NVCC" -arch=sm_90 -I"$work" -ptx "$srcdir/bench/nvcc/$1.cu" \
        -o "$work/peer.ptx"
    figures "$2" "$work/peer.ptx"
}

if [ ! -x "$NVCC" ] || [ ! -x "$PTXAS" ]; then
    note "comparison with nvcc left out: no $NVCC and ptxas beside it"
    exit 0
fi
version=$("$NVCC" --version | sed -n 's/.*, \(V[0-9.]*\)$/\1/p')
assembler=$("$PTXAS" --version | sed -n 's/.*\(V[0-9.]*\)$/ptxas \1/p')
results=$out/nvcc13.txt
printf '# nvcc %s, %s, sm_90\n# name registers spills instructions elements\n' \
    "$version" "$assembler" >"$results"
: >"$out/nvcc.rows"
grep -v '^#' "$srcdir/bench/nvcc/cases" |
    while read -r name source teams threads op each form constants; do
        note "$name"
        source_file=$srcdir/bench/nvcc/$source.c
        # shellcheck disable=SC2086 # one argument each
        write_known "$form" "$teams" "$threads" $constants >"$work/known.h"
        # shellcheck disable=SC2086
        "$out/fold" "$source_file" "$teams" "$threads" $constants \
            >"$work/known.ptx"
        ours=$(figures "$op" "$work/known.ptx")
        theirs=$(peer "$source" "$op")
        write_known stride gridDim.x blockDim.x >"$work/known.h"
        "$builddir/ompjit" compile "$source_file" --arch sm_90 \
            -o "$work/generic.ptx"
        generic=$(figures "$op" "$work/generic.ptx")
        printf '%s %s\n' "$name" "$theirs" >>"$results"
        printf '%s %s %s %s %s %s\n' "$name" "$each" "$ours" "$theirs" \
            "$generic" "$(peer "$source" "$op")" >>"$out/nvcc.rows"
    done
commit=$(git -C "$srcdir" describe --always --dirty 2>/dev/null || echo unknown)
printf 'Ours (commit %s) and nvcc %s, sm_90, %s\n' "$commit" "$version" \
    "$assembler" >"$out/nvcc.txt"
awk -f "$srcdir/bench/nvcc.awk" "$out/nvcc.rows" >>"$out/nvcc.txt"
cat "$out/nvcc.txt"
