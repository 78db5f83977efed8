#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The target regions of examples, benchmarks and programs become cubins for every
# architecture, and neither they nor the functions that they call spill registers
# that do not with LLVM 19's device runtime (t/data/llvm19.txt: nested regions
# and tasks). Nor do, for sm_90, the regions of the runtime's own tests
# (t/data/spills19.txt, from `make bench-spills`), except where LLVM 19 lacks what
# they call.
. "${srcdir:-.}/t/tap.sh"
PTXAS=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
[ -x "$PTXAS" ] || skip_all "no ptxas"
archs=$("$ompjit" compile --arch none "$srcdir/examples/dot.c" --emit=ptx \
    -o - 2>&1 | grep -oE 'sm_[0-9]+')
is "$(echo "$archs" | wc -l | tr -d ' ')" 7 "seven architectures"

# assemble FILE.ptx: the bytes that its functions spill; text where it fails.
assemble() {
    arch=${1%.ptx}
    "$PTXAS" -v -arch="${arch##*.}" -o "$tmp/cubin" "$1" 2>&1 |
        awk '/bytes spill stores/ {
                 for (i = 2; i <= NF; i++)
                     if ($i == "spill" && $(i + 1) ~ /^stores/) n += $(i - 2)
                 found = 1
             }
             /^ptxas (fatal|.*error)/ { bad = $0 }
             END { print bad ? bad : found ? n + 0 : "no figures" }'
}

# kernels FILE ARCH...
kernels() {
    file=$1
    most=$(awk -v name="$(basename "$file" .c)" '$1 == name { print $5 }' \
        "$srcdir/t/data/llvm19.txt")
    # A function that is called by a pointer saves a register of its caller's.
    [ "$file" != t/programs/indirect.c ] || most=4
    shift
    rm -rf "$tmp/regions"
    mkdir "$tmp/regions"
    succeeds "$file for $*" timeout 900 "$builddir/t/regions" \
        "$srcdir/$file" "-I$srcdir" "$tmp/regions" "$@"
    found=0 spilled=
    for ptx in "$tmp"/regions/*.ptx; do
        bytes=$(assemble "$ptx")
        found=$((found + 1))
        [ "$bytes" -le "${most:-0}" ] 2>"$tmp/stderr" ||
            spilled="$spilled $(basename "$ptx"): $bytes"
    done
    is "$((found >= $#)) $((found % $#))" "1 0" "  each region for each"
    is "$spilled" "" "  assembled, no spills but the peer's"
}

# What the peer says of a region: yes, it spills; no; or the function it lacks.
peer() {
    awk -v name="$1" '$1 == name { said = $2 }
        END { print said == "" ? "unknown" : said == "0" ? "no" : \
                    said ~ /^[0-9]+$/ ? "yes" : "lacks " said }' \
        "$srcdir/t/data/spills19.txt"
}

# runtime_kernels FILE
runtime_kernels() {
    rm -rf "$tmp/regions"
    mkdir "$tmp/regions"
    succeeds "${1##*/}" timeout 900 "$builddir/t/regions" "$1" "-I$srcdir/t" \
        "$tmp/regions" sm_90
    unknown='' spilled=''
    for ptx in "$tmp"/regions/*.ptx; do
        name=$(basename "$ptx")
        name=${name%_l*}
        bytes=$(assemble "$ptx")
        case $(peer "$name") in
        unknown) unknown="$unknown $name";;
        no) [ "$bytes" = 0 ] || spilled="$spilled $name: $bytes";;
        *) [ "$bytes" -ge 0 ] 2>"$tmp/stderr" ||
            spilled="$spilled $name: $bytes";;
        esac
    done
    is "$unknown" "" "  each region has the peer's figure"
    is "$spilled" "" "  assembled, spills only where the peer's does"
}

# What a kernel says that needs more registers than it may have.
cat >"$tmp/regions.sm_90.ptx" <<'PTX'
.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
.maxnreg 16
{
.reg .b64 %a, %r<40>;
ld.param.u64 %a, [p];
PTX
awk 'BEGIN {
    for (i = 0; i < 40; i++) print "ld.volatile.u64 %r" i ", [%a+" 8 * i "];"
    for (i = 39; i >= 0; i--) print "st.volatile.u64 [%a+" 8 * i "], %r" i ";"
    print "ret;\n}"
}' >>"$tmp/regions.sm_90.ptx"
like "$(assemble "$tmp/regions.sm_90.ptx")" '^[1-9][0-9]*$' "a spill is seen"

for file in examples/saxpy.c examples/dot.c examples/jacobi.c \
    examples/mandelbrot.c examples/matmul.c t/programs/strides.c \
    t/programs/indirect.c t/programs/thread_limit.c; do
    # shellcheck disable=SC2086 # one argument each
    kernels $file $archs
done
for file in "$srcdir"/bench/runtime/*.c "$srcdir"/bench/nvcc/*.c; do
    # shellcheck disable=SC2086
    kernels "${file#"$srcdir/"}" $archs
done
REGIONS_WITHOUT=rt_loops_in_loops # one that takes minutes to compile
export REGIONS_WITHOUT
for file in "$srcdir"/t/rt_*kernels.c; do
    runtime_kernels "$file"
done
done_testing
