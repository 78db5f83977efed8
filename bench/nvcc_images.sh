#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# nvcc_images.sh FOLDER: the kernels of bench/nvcc as nvcc compiles them with a
# case's geometry and constants, for bench/nvcc.c: cubins for sm_90, PTX for
# other GPUs, and in FOLDER/small PTX of the small cases. Without nvcc there is
# nothing in it.
set -eu
: "${srcdir:?}"
: "${NVCC:=${CUDA_DIR:-/nonexistent}/bin/nvcc}"
. "$srcdir/bench/nvcc_known.sh"
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$folder"
mkdir -p "$folder/small"

image() { # SOURCE OUTPUT OPTION...
    image_source=$srcdir/bench/nvcc/$1.cu image_output=$2
    shift 2
    "$NVCC" -O3 -I"$work" "$@" "$image_source" -o "$image_output"
}
# cases FILE FUNCTION: with $name and $source, and known.h written.
cases() {
    grep -v '^#' "$srcdir/bench/nvcc/$1" |
        while read -r name source teams threads _ _ form constants; do
            # shellcheck disable=SC2086 # one argument each
            write_known "$form" "$teams" "$threads" $constants >"$work/known.h"
            "$2"
        done
}
whole() {
    image "$source" "$folder/$name.sm_90.cubin" -arch=sm_90 -cubin
    image "$source" "$folder/$name.ptx" -arch=compute_75 -ptx
}
small() { image "$source" "$folder/small/$name.ptx" -arch=compute_75 -ptx; }

if [ -x "$NVCC" ]; then
    cases cases whole
    cases small small
    "$NVCC" --version | sed -n 's/.*, V\([0-9.]*\)$/\1/p' >"$folder/version"
fi
touch "$folder/done"
