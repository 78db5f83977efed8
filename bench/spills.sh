#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make bench-spills: what the regions of the runtime's tests spill with LLVM
# 19's compiler and device runtime (llvm19.sh), each alone, for each
# architecture of arch.def: bytes of spill stores, for t/spills_t.sh, in
# bench/spills19.txt in the build folder. What is newer than LLVM 19 gets the
# PTX of sm_90, as its driver would give it. A region that calls what LLVM 19
# has not counts for nothing; where a function has no other, the first such
# function's name stands instead.
set -eu
. "${srcdir:?}/bench/llvm19.sh"

archs=$(sed -n 's/^ARCH("\([a-z0-9_]*\)".*/\1/p' \
    "$srcdir/libompjit/targets/arch.def")

# `omp scope` is newer than clang 19 is able to compile.
device_code() { # SOURCE ARCH
    sed 's/^#pragma omp scope.*//' "$1" >"$work/source.c"
    llvm19 clang -O3 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda \
        -Xopenmp-target -march="$2" --cuda-path="$CUDA_DIR" -nogpulib \
        --offload-device-only -Xclang -disable-llvm-passes -emit-llvm \
        -I"$srcdir/t" -c "$work/source.c" -o "$work/all.bc" 2>"$work/log" ||
        { cat "$work/log" >&2; exit 1; }
}

# Annotations of functions that are gone crash LLVM 19's openmp-opt.
strip_annotations() {
    awk '/^![0-9]+ = (distinct )?!\{null,/ { dead[$1] = 1 }
         { line[NR] = $0 }
         END {
             for (i = 1; i <= NR; i++) {
                 if (line[i] ~ /^!nvvm.annotations = /) {
                     n = split(line[i], item, /[{}, ]+/)
                     list = ""
                     for (k = 4; k <= n; k++)
                         if (item[k] ~ /^!/ && !(item[k] in dead))
                             list = list (list == "" ? "" : ", ") item[k]
                     line[i] = "!nvvm.annotations = !{" list "}"
                 }
                 print line[i]
             }
         }'
}

region() { # KERNEL ARCH
    llvm19 opt -passes=internalize,globaldce \
        --internalize-public-api-list="$1,${1}_kernel_environment" \
        "$work/all.bc" -o "$work/one.bc"
    llvm19 llvm-dis "$work/one.bc" -o - | strip_annotations >"$work/one.ll"
    llvm19 clang -cc1 -triple nvptx64-nvidia-cuda -target-cpu "$2" \
        -target-feature +ptx85 -O3 -mlink-builtin-bitcode "$bitcode" -S \
        -x ir "$work/one.ll" -o "$work/one.ptx"
    add_missing "$work/one.ptx" "$2"
}

assemble() { # ARCH
    "$PTXAS" -v -arch="$1" -o "$work/cubin" "$work/one.ptx" 2>&1 |
        awk '/bytes spill stores/ {
                 for (i = 2; i <= NF; i++)
                     if ($i == "spill" && $(i + 1) ~ /^stores/) n += $(i - 2)
             }
             /^ptxas fatal/ && !lacks {
                 lacks = $0
                 gsub(/.* \047|\047.*/, "", lacks)
             }
             END { print lacks ? lacks : n + 0 }'
}

# The architectures that the runtime's bitcode for this one is taken for.
served() { # ARCH
    echo "$1"
    [ "$1" != sm_90 ] || for arch in $archs; do
        [ -e "$LLVM19/lib/libomptarget-nvptx-$arch.bc" ] || echo "$arch"
    done
}

# Lines of function, architecture and figure; of a function with several regions
# one each.
regions() { # ARCH
    bitcode=$LLVM19/lib/libomptarget-nvptx-$1.bc
    rm -f "$work/has"
    for source in "$srcdir"/t/rt_*kernels.c; do
        note "$1, $(basename "$source")"
        device_code "$source" "$1"
        for kernel in $(llvm19 llvm-nm --defined-only "$work/all.bc" |
                awk '$3 ~ /^__omp_offloading_.*_l[0-9]+$/ { print $3 }'); do
            name=${kernel#__omp_offloading_*_*_}
            region "$kernel" "$1"
            for target in $(served "$1"); do
                echo "${name%_l*} $target $(assemble "$target")"
            done
        done
    done
}

figures=$out/spills19.txt
for arch in $archs; do
    bitcode=$LLVM19/lib/libomptarget-nvptx-$arch.bc
    if [ -e "$bitcode" ]; then regions "$arch"; fi
done >"$work/rows"
{
    printf '# LLVM %s, %s\n' "$version" "$assembler"
    # shellcheck disable=SC2086 # one argument each
    echo '# function with regions, bytes of spill stores:' $archs
    awk -v archs="$archs" '
        { if (!($1 in seen)) name[++n] = $1
          seen[$1] = 1
          if ($3 ~ /^[0-9]/) { sum[$1, $2] += $3; figures[$1] = 1 }
          else lacks[$1] = $3 }
        END {
            columns = split(archs, arch, /[ \n]+/)
            for (i = 1; i <= n; i++) {
                row = name[i]
                for (a = 1; a <= columns && name[i] in figures; a++)
                    row = row " " sum[name[i], arch[a]]
                print name[i] in figures ? row : row " " lacks[name[i]]
            }
        }' "$work/rows"
} >"$figures"
cat "$figures"
