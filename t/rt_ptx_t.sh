#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The NVPTX build of the device runtime: the kernels of rt_*kernels.c, as the
# front end left them and optimized, under the PTX interpreter, with several
# orders of the warps. PTXI is the folder with libptxi.so. That ptxas takes them
# is spills_t's to show.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/rt_build.sh"
: "${PTXI:=$builddir/ptxi}"
export PTXI_MAXINSTR=2000000000
[ -e "$PTXI/libptxi.so" ] || skip_all "no PTX interpreter in $PTXI"

succeeds "device IR of the kernels" \
    rt_compile_kernels "$tmp/kernels.bc"
kernels=$(sed -n 's/^ *K(\([a-z_]*\),.*/\1/p' "$srcdir/t/rt_kernels.h")

# compile LABEL PASSES
compile() {
    mkdir -p "$tmp/$1"
    for k in $kernels; do
        rt_link "$tmp/kernels.bc" "rt_$k" "$RT_OBJECTS/ompjit_rt_nvptx64.bc" \
            "$2" "$tmp/$k.bc" && rt_ptx "$tmp/$k.bc" "$tmp/$1/$k.ptx" ||
            return 1
    done
}
# run LABEL VARIABLE=VALUE...
run() {
    label=$1; shift
    if out=$(env "$@" "$builddir/t/rt_run" ptx "$PTXI/libptxi.so" \
        "$tmp/$label" "$label" 2>&1); then
        pass "$label, $*: $(printf '%s\n' "$out" | grep -c '^ok') results"
    else
        fail "$label, $*" "$(printf '%s\n' "$out" | grep -A2 -v '^ok')"
    fi
}

succeeds "PTX without optimization" compile plain internalize
succeeds "PTX, optimized" compile optimized 'internalize,default<O3>'
# Unoptimized code takes three times as long, and nobody runs it. Four more
# schedules are gpu_rows_t's.
run plain PTXI_SEED=1
run optimized PTXI_SLICE=1
run optimized PTXI_SEED=3

# What the optimized kernels do not need is not in them.
like "$(grep -c '\.shared\|call' "$tmp/optimized/saxpy.ptx")" '^0$' \
    "saxpy has no shared memory and no call"
like "$(grep -c 'bar.sync\|barrier.sync' "$tmp/optimized/saxpy.ptx")" '^[12]$' \
    "saxpy has no barrier but those of its parallel region"
done_testing
