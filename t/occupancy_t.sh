#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ompjit occupancy: products, tables, the plot, and what is refused.
. "${srcdir:-.}/t/tap.sh"
program=$srcdir/examples/saxpy.c
"$ompjit" compile -q "$program" -o "$tmp/a.cubin" 2>/dev/null &&
    "$ompjit" inspect "$program" | grep -q ' registers,' ||
    skip_all "no assembler for cubins"

succeeds "a kernel on the default GPU" "$ompjit" occupancy "$program"
like "$out" '^saxpy on H100 \(sm_90\), [0-9]+ threads a team$' "its name"
like "$out" '^  [0-9]+ registers, [0-9]+ bytes shared memory$' "what it uses"
like "$out" '^  [0-9]+ teams, [0-9]+ of 64 warps .*; limited by [a-z]' \
    "how many teams, and why"
like "$out" '^  if it had other registers a thread:$' "a table of registers"
like "$out" '^    128  *[0-9]+ +[0-9]+ +[0-9]+%$' "  with rows"
succeeds "an old product" "$ompjit" occupancy --device k40 --threads 128 \
    "$program" saxpy
like "$out" 'on k40 \(sm_35\), 128 threads' "  by any case of letters"
like "$out" 'registers \(estimated: those of sm_75\)' "  is marked as estimated"
for gpu in K40 P100 V100 T4 A100 H100 H200 B200 RTX4090 sm_60; do
    "$ompjit" occupancy --device $gpu "$program" saxpy >"$tmp/out" 2>&1 ||
        fail "$gpu" "$(cat "$tmp/out")"
done
succeeds "a plot" "$ompjit" occupancy --svg "$tmp/p.svg" "$program" saxpy
like "$(cat "$tmp/p.svg")" '<polyline fill=' "  has lines"
is "$(grep -c '<circle' "$tmp/p.svg")" 3 "  and says where the kernel is"
if command -v python3 >/dev/null; then
    succeeds "  it is XML" python3 -c "import sys, xml.dom.minidom as x
x.parse(sys.argv[1])" "$tmp/p.svg"
else
    skip "  it is XML" "no python3"
fi
fails_with 'C64: not known; there are K40 .* B200' "no such product" \
    "$ompjit" occupancy --device C64 "$program"
fails_with 'no kernel|not' "no such kernel" "$ompjit" occupancy "$program" none
done_testing
