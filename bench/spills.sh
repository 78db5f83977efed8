#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make bench-spills: what the regions of the runtime's tests spill with LLVM
# 19's compiler and device runtime (llvm19.sh), each alone, on sm_90: bytes of
# spill stores, for t/spills_t.sh, in bench/spills19.txt in the build folder. A
# region that calls what LLVM 19 has not has the first such function's name
# instead.
set -eu
. "${srcdir:?}/bench/llvm19.sh"

# `omp scope` is newer than clang 19 is able to compile.
device_code() { # SOURCE
    sed 's/^#pragma omp scope.*//' "$1" >"$work/source.c"
    llvm19 clang -O3 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda \
        -Xopenmp-target -march=sm_90 --cuda-path="$CUDA_DIR" -nogpulib \
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

region() { # KERNEL
    llvm19 opt -passes=internalize,globaldce \
        --internalize-public-api-list="$1,${1}_kernel_environment" \
        "$work/all.bc" -o "$work/one.bc"
    llvm19 llvm-dis "$work/one.bc" -o - | strip_annotations >"$work/one.ll"
    llvm19 clang -cc1 -triple nvptx64-nvidia-cuda -target-cpu sm_90 \
        -target-feature +ptx85 -O3 -mlink-builtin-bitcode "$bitcode" -S \
        -x ir "$work/one.ll" -o "$work/one.ptx"
    add_missing "$work/one.ptx"
    "$PTXAS" -v -arch=sm_90 -o "$work/cubin" "$work/one.ptx" 2>&1 |
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

figures=$out/spills19.txt
printf '# LLVM %s, %s, sm_90\n# function with regions, bytes of spill stores\n' "$version" \
    "$assembler" >"$figures"
for source in "$srcdir"/t/rt_*kernels.c; do
    note "$(basename "$source")"
    device_code "$source"
    for kernel in $(llvm19 llvm-nm --defined-only "$work/all.bc" |
            awk '$3 ~ /^__omp_offloading_.*_l[0-9]+$/ { print $3 }'); do
        name=${kernel#__omp_offloading_*_*_}
        printf '%s %s\n' "${name%_l*}" "$(region "$kernel")"
    done >"$work/rows"
    # Of a function with several regions the sum.
    awk '{ if (!($1 in of)) name[++n] = $1
           of[$1] = $2 ~ /^[0-9]/ ? of[$1] + $2 : $2 }
         END { for (i = 1; i <= n; i++) print name[i], of[name[i]] }' \
        "$work/rows" >>"$figures"
done
cat "$figures"
