#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The specialized kernels of bench/nvcc have at most 1.1 times the registers,
# and 1.1 times the instructions in their inner loop, that nvcc has for the same
# in CUDA: its figures are in t/data/nvcc13.txt, as `make bench-nvcc` wrote
# them.
. "${srcdir:-.}/t/tap.sh"
figures=$srcdir/t/data/nvcc13.txt
recorded=$(sed -n '1s/.*ptxas \([^,]*\),.*/\1/p' "$figures")
PTXAS=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
export PTXAS
here=$("$PTXAS" --version 2>/dev/null | sed -n 's/.*\(V[0-9.]*\)$/\1/p')
[ "$here" = "$recorded" ] || skip_all "the figures are ptxas $recorded's"

# no_more NAME WHAT OURS THEIRS: at most 1.1 times; products of integers.
no_more() {
    if [ $((10 * $3)) -le $((11 * $4)) ]; then pass "$1: $2"
    else fail "$1: $2" "$3 to $4"; fi
}

# Of code, the words of an instruction in a line.
loop() { # OPERATION CODE
    printf '%s\n' "$2" | awk -v op="$1" -f "$srcdir/bench/loop.awk"
}
store='00007986 0 0 0'
back='00f40947 fffffffc 0 0' # to the instruction three before
ahead='00000947 0 0 0'
exit='0000794d 0 0 0'
is "$(loop 186 "$store
$store
$store
$back
$exit")" "3 2" "a loop is found, and its operations"
is "$(loop 186 "$store
$ahead
$store
$exit
00007918 0 0 0")" "4 2" "without one it is all that counts"

grep -v '^#' "$srcdir/bench/nvcc/cases" >"$tmp/cases"
while read -r name source teams threads op _ _ constants; do
    # shellcheck disable=SC2086 # one argument each
    succeeds "$name compiles" "$builddir/bench/fold" \
        "$srcdir/bench/nvcc/$source.c" "$teams" "$threads" $constants
    printf '%s\n' "$out" >"$tmp/$name.ptx"
    # shellcheck disable=SC2046 # nine figures
    set -- $(sh "$srcdir/bench/figures.sh" --loop "$op" "$tmp/$name.ptx") \
        $(grep "^$name " "$figures")
    is $# 9 "$name has its figures"
    no_more "$name" "$1 registers, nvcc $6" "$1" "$6"
    is "$2" 0 "$name spills nothing"
    no_more "$name" "$3 instructions for $4, nvcc $8 for $9" \
        $(($3 * $9)) $(($8 * $4))
done <"$tmp/cases"
is "$(grep -c 'bar[.]sync' "$tmp/saxpy_loop.ptx")" 0 "no barriers at the ends"
like "$(grep -c 'bar[.]sync' "$tmp/dot.ptx")" '[1-9]' "but those of a reduction"
done_testing
