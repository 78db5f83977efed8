#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Kernels that spill for more teams on a multiprocessor are assembled again with
# room, by ptxas under a script that says what they spill; spills_t.sh has it of
# real ones.
. "${srcdir:-.}/t/tap.sh"
PTXAS=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
[ -x "$PTXAS" ] || skip_all "no ptxas"

# figures: "KERNEL BYTES BYTES-WITH-ROOM" a line; a letter makes ptxas fail.
mkdir -p "$tmp/cuda/bin"
cat >"$tmp/cuda/bin/ptxas" <<EOF
#!/bin/sh
echo run >>'$tmp/runs'
'$PTXAS' "\$@" >/dev/null || exit
awk '
    FNR == NR { tight[\$1] = \$2; roomy[\$1] = \$3; next }
    match(\$0, /\\.entry [a-z]+/) {
        name = substr(\$0, RSTART + 7, RLENGTH - 7)
        bytes = tight[name]
    }
    /^\\.minnctapersm/ { bytes = roomy[name] }
    /^{/ {
        if (bytes ~ /[a-z]/) exit 1
        print "ptxas info    : Function properties for " name
        print "    8 bytes stack frame, " bytes + 0 " bytes spill stores, " \\
            bytes + 0 " bytes spill loads"
    }' '$tmp/figures' "\$4"
EOF
chmod +x "$tmp/cuda/bin/ptxas"
export OMPJIT_CUDA_HOME="$tmp/cuda"

# kernel NAME DIRECTIVES
kernel() { printf '.visible .entry %s(.param .u64 p)\n%s\n{\nret;\n}\n' "$@"; }
{
    printf '.version 7.8\n.target sm_80\n.address_size 64\n'
    kernel one '.maxntid 160'
    kernel two '.maxntid 128, 2'
    kernel unbound ''
    kernel asked '.maxntid 128
.minnctapersm 3'
    kernel few '.maxntid 128
.maxnreg 32'
    kernel large '.maxntid 1024'
} >"$tmp/kernels.ptx"

# room WHAT FIGURES RUNS KERNELS: which of them have been given room.
room() {
    printf '%b' "$2" >"$tmp/figures"
    : >"$tmp/runs"
    succeeds "$1" "$builddir/t/assembled" "$tmp/kernels.ptx" sm_80
    is "$(grep -c run "$tmp/runs")" "$3" "  assembled as often"
    printf '%s\n' "$out" >"$tmp/given.ptx"
    is "$(awk '/\.entry/ { sub(/\(.*/, "", $3); name = $3 }
               /^\.minnctapersm/ && name != "asked" { print name, $2 }' \
        "$tmp/given.ptx" | paste -sd, -)" "$4" "  room for: ${4:-none}"
    is "$(grep -v '^\.minnctapersm [^3]' "$tmp/given.ptx")" \
        "$(cat "$tmp/kernels.ptx")" "  and nothing else is changed"
}

room "no spills" 'three 0 9\n' 1 ''
room "spills, and room helps" 'one 16 0\n' 2 'one 6'
room "two that it helps" 'one 16 0\ntwo 4 0\n' 2 'one 6,two 4'
room "spills all the same" 'one 16 16\n' 2 ''
room "less, but some" 'one 16 4\n' 2 ''
room "one of two is helped" 'one 16 8\ntwo 92 0\n' 3 'two 4'
room "the assembler fails then" 'one 16 x\n' 2 ''
room "kernels that ask themselves, or have no bound" \
    'unbound 4 0\nasked 4 0\nfew 4 0\n' 1 ''
room "teams of which two fit" 'large 4 0\n' 2 'large 1'
done_testing
