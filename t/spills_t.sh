#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The target regions of examples, benchmarks, programs and data, and of the
# runtime's own tests, become cubins for every architecture (two programs that
# take half a minute for seven, for two), and neither they nor the functions
# that they call spill registers that do not with LLVM 19's device runtime:
# t/data/llvm19.txt has nested regions and tasks, t/data/spills19.txt (`make
# bench-spills`) the runtime's tests for each architecture, except those that
# call what LLVM 19 lacks. Where it has no figure nothing may be spilled.
#
# REGIONS_WITHOUT in the environment is a region of the runtime's tests to leave
# out, such as rt_loops_in_loops, for which ptxas takes half a minute each.
. "${srcdir:-.}/t/tap.sh"
PTXAS=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
[ -x "$PTXAS" ] || skip_all "no ptxas"
archs=$("$ompjit" compile --arch none "$srcdir/examples/dot.c" --emit=ptx \
    -o - 2>&1 | grep -oE 'sm_[0-9]+')
is "$(echo "$archs" | wc -l | tr -d ' ')" 7 "seven architectures"

# The architectures whose code is that of another but for its name.
family() {
    case $1 in
    sm_80 | sm_86 | sm_89) echo sm_75 ;;
    sm_120) echo sm_100 ;;
    *) echo "$1" ;;
    esac
}
leaders=$(for arch in $archs; do family "$arch"; done | sort -u)

# retarget FILE.LEADER.ptx ARCH OUT.ptx: 8.7 is what the newest of them needs.
retarget() {
    leader=${1%.ptx}
    leader=${leader##*.}
    if [ "$2" = sm_120 ]; then version=8.7; else version='&'; fi
    sed "s/^\.target $leader/.target $2/
        /^\.version/s/[0-9.]*\$/$version/" "$1" >"$3"
}

# unnumbered FILE: without the numbers of calls, which each code generator counts
# for itself.
unnumbered() { sed 's|// callseq.*||; s/prototype_[0-9]*/prototype/g' "$1"; }

# differ FILE.ptx: the file, where its leader's text is another.
differ() {
    arch=${1%.ptx}
    arch=${arch##*.}
    retarget "${1%."$arch".ptx}.$(family "$arch").ptx" "$arch" "$tmp/same"
    unnumbered "$tmp/same" >"$tmp/leader"
    unnumbered "$1" | cmp -s - "$tmp/leader" ||
        echo " $(basename "$1")"
}

# assemble FILE.ARCH.ptx: the bytes that its functions spill; text where it fails.
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

# may_spill FILE: the bytes that its regions may spill.
may_spill() {
    case $1 in
    # A function that is called by a pointer saves a register of its caller's:
    # ptxas has it so of LLVM 19's code for these functions too.
    t/programs/indirect.c | t/programs/many_kernels.c | \
        t/programs/uncalled_functions.cpp) echo 4 ;;
    t/programs/virtual_calls.cpp) echo 20 ;;
    # Its ten virtual functions together; two of them look up a virtual base.
    t/programs/host_objects.cpp) echo 168 ;;
    # So does one that calls itself; and one that takes memory from malloc.
    t/programs/stack_locals.c) echo 64 ;;
    t/programs/untied.c) echo 480 ;;
    t/programs/aligned_locals.cpp) echo 76 ;;
    # One kernel that is many tests, with 30 tasks called by pointers; LLVM 19
    # has no detached tasks to compare it with.
    t/programs/detach.c) echo 1100 ;;
    # 141 functions of mathematics, one after another, in a stack frame of
    # 0 bytes.
    t/data/math.c) echo 16 ;;
    *)
        awk -v name="$(basename "$1" .c)" '$1 == name { most = $5 }
            END { print most + 0 }' "$srcdir/t/data/llvm19.txt"
        ;;
    esac
}

# regions FILE ARCH...: compiles its regions for each, into $tmp/regions.
regions() {
    file=$1 flag=-I$srcdir
    [ "$file" != t/programs/num_threads.c ] || flag=-fopenmp-version=60
    shift
    rm -rf "$tmp/regions"
    mkdir "$tmp/regions"
    succeeds "$file for $*" timeout 900 "$builddir/t/regions" \
        "$srcdir/$file" "$flag" "$tmp/regions" "$@"
}

# spills FILE ARCH...: the regions that $tmp/regions has for each.
spills() {
    most=$(may_spill "$1")
    shift
    found=0 spilled=''
    for ptx in "$tmp"/regions/*.ptx; do
        bytes=$(assemble "$ptx")
        found=$((found + 1))
        [ "$bytes" -le "$most" ] 2>"$tmp/stderr" || bytes=$(settled "$ptx")
        [ "$bytes" -le "$most" ] 2>"$tmp/stderr" ||
            spilled="$spilled $(basename "$ptx"): $bytes"
    done
    is "$((found >= $#)) $((found % $#))" "1 0" "  each region for each"
    is "$spilled" "" "  assembled, no spills but the peer's"
}

# kernels FILE ARCH...
kernels() {
    regions "$@"
    others=''
    for ptx in "$tmp"/regions/*.ptx; do others=$others$(differ "$ptx"); done
    is "$others" "" "  families of architectures have one text"
    spills "$@"
}

# leading FILE: for all architectures. The others of a family get its first
# one's text, as kernels() and followers() show of some.
leading() {
    # shellcheck disable=SC2086 # one argument each
    regions "$1" $leaders
    for arch in $archs; do
        leader=$(family "$arch")
        [ "$leader" != "$arch" ] || continue
        for ptx in "$tmp"/regions/*."$leader".ptx; do
            retarget "$ptx" "$arch" "${ptx%."$leader".ptx}.$arch.ptx"
        done
    done
    # shellcheck disable=SC2086
    spills "$1" $archs
}

# peer NAME ARCH: what the peer says of a region: yes, it spills; no; or the
# function it lacks.
peer() {
    awk -v name="$1" -v arch="$2" '
        $1 == "#" { for (i = 2; i <= NF; i++) if ($i == arch) at = i - first
                    else if ($i !~ /^sm_/) first = i - 1 }
        $1 == name { said = $2 ~ /^[0-9]/ ? $at : $2 }
        END { print said == "" ? "unknown" : said == "0" ? "no" : \
                    said ~ /^[0-9]+$/ ? "yes" : "lacks " said }' \
        "$srcdir/t/data/spills19.txt"
}

# settled FILE.ARCH.ptx: what its functions spill where ptxas would spill for more
# teams on a multiprocessor, and the library has it make room.
settled() {
    arch=${1%.ptx}
    arch=${arch##*.}
    "$builddir/t/assembled" "$1" "$arch" >"$tmp/settled.$arch.ptx" &&
        assemble "$tmp/settled.$arch.ptx"
}

# one_region FILE.LEADER.ptx: adds to $unknown and $spilled.
one_region() {
    name=$(basename "$1")
    leader=${name%.ptx}
    leader=${leader##*.}
    name=${name%_l*}
    for arch in $archs; do
        [ "$(family "$arch")" = "$leader" ] || continue
        retarget "$1" "$arch" "$tmp/region.$arch.ptx"
        bytes=$(assemble "$tmp/region.$arch.ptx")
        assembled=$((assembled + 1))
        case $(peer "$name" "$arch") in
        unknown) unknown="$unknown $name" ;;
        no)
            [ "$bytes" = 0 ] || bytes=$(settled "$tmp/region.$arch.ptx")
            [ "$bytes" = 0 ] || spilled="$spilled $name, $arch: $bytes"
            ;;
        *) [ "$bytes" -ge 0 ] 2>"$tmp/stderr" ||
            spilled="$spilled $name, $arch: $bytes" ;;
        esac
    done
}

# runtime_kernels FILE
runtime_kernels() {
    rm -rf "$tmp/regions"
    mkdir "$tmp/regions"
    # shellcheck disable=SC2086 # one argument each
    succeeds "${1##*/}" timeout 900 "$builddir/t/regions" "$1" "-I$srcdir/t" \
        "$tmp/regions" $leaders
    unknown='' spilled='' assembled=0
    for ptx in "$tmp"/regions/*.ptx; do
        one_region "$ptx"
    done
    is "$unknown" "" "  each region has the peer's figure"
    is "$spilled" "" "  assembled, spills only where the peer's does"
    like "$assembled" '^[1-9]' "  $assembled cubins"
    is $((assembled % 7)) 0 "  of seven architectures each"
    followers "$1"
}

# followers FILE: a few of its small regions also for the architectures that are
# not their family's first: one_region takes for granted that these have its
# text.
followers() {
    names=$(cd "$tmp/regions" && wc -c ./*.sm_90.ptx | sort -n |
        awk '$1 < 30000 && NR % 2 && NR < 8 { print $2 }' |
        sed 's|^./||; s|_l[0-9]*[.]sm_90[.]ptx$||' | tr '\n' ' ')
    others='' compared=0
    for arch in $archs; do
        [ "$(family "$arch")" != "$arch" ] || continue
        REGIONS_ONLY=" $names" "$builddir/t/regions" "$1" "-I$srcdir/t" \
            "$tmp/regions" "$arch" 2>"$tmp/stderr" || others="$others no $arch"
        for ptx in "$tmp"/regions/*."$arch".ptx; do
            others=$others$(differ "$ptx")
            compared=$((compared + 1))
        done
    done
    is "$others" "" "  families have one text of ${names% }"
    like "$compared" '^[1-9][0-9]*$' "  in $compared texts"
}

is "$(peer rt_stack sm_80), $(peer rt_stack sm_86)" "yes, no" \
    "the peer's column is the architecture's"
is "$(peer rt_complexes sm_120), $(peer rt_nowhere sm_75)" \
    "lacks __divdc3, unknown" "  or what it lacks"

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
    examples/mandelbrot.c examples/matmul.c; do
    # shellcheck disable=SC2086 # one argument each
    kernels $file $archs
done
for file in "$srcdir"/t/programs/*.c* "$srcdir"/t/data/*.c; do
    file=${file#"$srcdir/"}
    # shellcheck disable=SC2086 # one argument each
    case $file in
    t/data/host_only.c) ;; # calls what only host code can, which is told
    t/programs/detach.c | t/data/math.c) kernels "$file" sm_75 sm_90 ;;
    t/programs/l*) kernels "$file" $archs ;;
    *) leading "$file" ;;
    esac
done
for file in "$srcdir"/bench/runtime/*.c "$srcdir"/bench/nvcc/*.c; do
    leading "${file#"$srcdir/"}"
done
for file in "$srcdir"/t/rt_*kernels.c; do
    runtime_kernels "$file"
done
done_testing
