#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# No kernel of bench/runtime costs more than with LLVM 19's device runtime: the
# peer's figures are in t/data/llvm19.txt, as `make bench-runtime` wrote them.
# PTX instructions anywhere; the rest where there is the same ptxas.
. "${srcdir:-.}/t/tap.sh"
figures=$srcdir/t/data/llvm19.txt
recorded=$(sed -n '1s/.*ptxas \([^,]*\),.*/\1/p' "$figures")
PTXAS=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
export PTXAS
here=$("$PTXAS" --version 2>/dev/null | sed -n 's/.*\(V[0-9.]*\)$/\1/p')

no_more() { # KERNEL WHAT OURS THEIRS
    if [ "$3" -le "$4" ]; then pass "$1: $2 $3, peer $4"
    else fail "$1: $2" "$3, peer $4"; fi
}

grep -v '^#' "$figures" >"$tmp/figures"
while read -r name registers shared stack spills ptx sass; do
    succeeds "$name compiles" "$ompjit" compile \
        "$srcdir/bench/runtime/$name.c" --arch sm_90 -o "$tmp/$name.ptx"
    count=$(sh "$srcdir/bench/figures.sh" --ptx "$tmp/$name.ptx")
    no_more "$name" PTX "$count" "$ptx"
    [ "$here" = "$recorded" ] || continue
    # shellcheck disable=SC2046 # six numbers
    set -- $(sh "$srcdir/bench/figures.sh" "$tmp/$name.ptx")
    no_more "$name" registers "$1" "$registers"
    no_more "$name" shared "$2" "$shared"
    no_more "$name" stack "$3" "$stack"
    no_more "$name" spills "$4" "$spills"
    no_more "$name" SASS "$6" "$sass"
done <"$tmp/figures"
if [ "$here" != "$recorded" ]; then
    pass "registers, memory and SASS # SKIP they are ptxas $recorded's"
fi
is "$(wc -l <"$tmp/figures" | tr -d " ")" 15 "fifteen kernels"

# A split construct is SPMD; that it once was not left it without workers.
like "$(grep -c '[^a-z]bar\.sync' "$tmp/jacobi.ptx")" '^[1-9]$' \
    "all threads of jacobi's teams come to its parallel region"
is "$(grep -c 'barrier\.sync' "$tmp/jacobi.ptx")" 0 "  and none waits for work"

for threads in 1 64; do
    succeeds "what they compute, $threads threads a team" timeout 300 \
        "$ompjit" run --device=host --threads=$threads -I"$srcdir" \
        "$srcdir/t/runtime_check.c"
    is "$out" right "  is right"
done
# LLVM 22's Attributor takes the fields of such an argument for undefined. The C
# library's functions of complex numbers have them, and are inlined before.
"$LLVM_BINDIR/llvm-dis" "$builddir/runtime-bc/ompjit_rt_nvptx64.bc" \
    -o "$tmp/runtime.ll"
passes_by_value() {
    awk 'NR == FNR { if (/^attributes .* alwaysinline/) inlined[$2] = 1; next }
        /byval/ {
            gone = 0
            for (i = 1; /^define/ && i <= NF; i++) gone = gone || $i in inlined
            if (!gone) print
        }' "$1" "$1"
}
is "$(passes_by_value "$tmp/runtime.ll")" "" \
    "the runtime passes no structure by value to what is not inlined"
# And what a team's variable is loaded from that no plain store has set: atomic
# additions are none to it.
awk '/^@[^ ]* = .*addrspace\(3\)/ { variable[$1] }
    { for (v in variable) if (index($0, v) && match($0, v "[ ,)]") && !/^@/) {
        if (/ load /) loaded[v]
        if (/^ *store /) stored[v]
    } }
    END { for (v in loaded) if (!(v in stored)) print v }' "$tmp/runtime.ll" \
    >"$tmp/never"
is "$(cat "$tmp/never")" "" "the runtime stores all of a team that it loads"
done_testing
