#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Loops of default schedules and what is handed to regions by value: that they
# compute what they did, on the host device, as PTX and specialized; and that
# the GPU's code has the form that passes/loops/schedule.c, passes/sharing/pass_by_value.c and
# backend/variant_pipeline.cc promise.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
program=$srcdir/t/programs/strides.c

right() {
    succeeds "$@"
    is "$out" right "  is right"
}

right "on the host device" timeout 300 "$ompjit" run --device=host "$program"
right "  with 64 threads" timeout 300 "$ompjit" run --device=host \
    --threads=64 "$program"
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    right "as PTX" emulated PTXI_SLICE=100000 timeout 400 "$ompjit" run \
        "$program"
    right "as PTX, specialized" emulated PTXI_SEED=1 OMPJIT_SPECIALIZE=now \
        timeout 400 "$ompjit" run "$program"
else
    pass "as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi

# fold NAME TEAMS [NAME=VALUE]...: PTX of a kernel of bench/nvcc in $ptx
fold() {
    kernel=$1 teams=$2
    shift 2
    succeeds "$kernel for $teams teams, $*" "$builddir/bench/fold" \
        "$srcdir/bench/nvcc/$kernel.c" "$teams" 128 "$@"
    ptx=$out
}
# has COUNT-REGEX REGEX WHAT: how many lines match
has() { like "$(printf '%s\n' "$ptx" | grep -cE "$2")" "^($1)$" "  $3"; }

fold saxpy 32768 n=4194304 a=2.0
has 0 'bra|bar\.sync|\.shared' "a thread for each element: no branch"
has 1 'ld\.global\.nc' "what is only read comes by the read-only cache"
fold saxpy 1024 n=4194304 a=2.0
has '4|5|8' 'st\.global' "by strides: several elements a round"
has 0 'bar\.sync' "  no barrier"
fold jacobi 4094 n=4096
has 0 'bar\.sync|\.shared' "no thread tells the others its row"
# One pointer to what is read, one to what is written, and the counter.
rounds=$(printf '%s\n' "$ptx" | awk '
    /^\$L__BB.*:/ { label = substr($1, 1, length($1) - 1); block = "" }
    { block = block $0 "\n" }
    /bra/ && label != "" && index($0, label ";") { printf "%s", block }')
is "$(printf '%s\n' "$rounds" | grep -c 'add\.s64')" 2 \
    "  neighbours are at constant distances"
succeeds "generic jacobi" "$ompjit" compile --arch sm_90 \
    "$srcdir/bench/nvcc/jacobi.c" -o "$tmp/jacobi.ptx"
ptx=$(cat "$tmp/jacobi.ptx")
has 0 '\.shared' "  nor where the geometry is not known"
succeeds "generic saxpy" "$ompjit" compile --arch sm_90 \
    "$srcdir/bench/nvcc/saxpy.c" -o "$tmp/saxpy.ptx"
ptx=$(cat "$tmp/saxpy.ptx")
has 1 'st\.global' "  by strides of any length"
has 0 'setp.*64|cvt\.[su]64' "  one counter of 32 bits"
has 0 'bar\.sync' "  no barrier where it begins and ends"
done_testing
