#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Host objects for other machines: of every example, for each CPU that there is,
# with the same kernels as this machine's and nothing undefined but the engine.
# .ci/cross-aarch64 runs such code.
. "${srcdir:-.}/t/tap.sh"
: "${LLVM_BINDIR:=/usr/lib/llvm-22/bin}"

# symbols OBJECT nm-OPTION: names, each once
symbols() {
    "$LLVM_BINDIR/llvm-nm" "$2" --format=just-symbols "$1" | sort -u
}
code() { "$LLVM_BINDIR/llvm-objdump" -d --no-show-raw-insn "$1"; }

# object NAME ARCH MACHINE FLAG NEEDS [MAY-NEED]
object() {
    what="$1 for $2, $4"
    succeeds "$what" "$ompjit" compile "$4" --arch "$2" \
        "$srcdir/examples/$1.c" -o "$tmp/$1.o" || return
    like "$("$LLVM_BINDIR/llvm-readelf" -h "$tmp/$1.o")" "Machine: *$3" \
        "  its machine"
    is "$(symbols "$tmp/$1.o" --defined-only | grep '\.entry$')" "$entries" \
        "  its entries"
    is "$(symbols "$tmp/$1.o" --undefined-only |
        grep -Ev "^ompjit_host_${6+|^$6\$}")" "$5" "  needs the engine only"
    is "$(code "$tmp/$1.o" | grep -c '<unknown>')" 0 "  its code"
}

# At -O0 the runtime is not folded, and asks for memory. Some CPUs' code copies a
# struct by a call.
there=$("$ompjit" compile --arch none "$srcdir/examples/dot.c" -o - \
    --emit=obj 2>&1)
like "$there" 'host, x86-64, x86-64-v3, aarch64, neoverse-v2$' "what there is"
tried=0
for arch in x86-64 x86-64-v3 aarch64 neoverse-v2; do
    case $arch in x86*) machine='Advanced Micro Devices X86-64' ;;
    *) machine=AArch64 ;; esac
    if "$ompjit" compile --arch $arch "$srcdir/examples/dot.c" \
        -o "$tmp/probe.o" 2>"$tmp/stderr"; then
        tried=$((tried + 1))
    elif grep -q 'this libompjit has no back end for' "$tmp/stderr"; then
        pass "$arch # SKIP $(cat "$tmp/stderr")"
        continue
    else
        fail "$arch" "$(cat "$tmp/stderr")"
        continue
    fi
    for name in saxpy dot jacobi mandelbrot matmul; do
        "$ompjit" compile "$srcdir/examples/$name.c" -o "$tmp/own.o"
        entries=$(symbols "$tmp/own.o" --defined-only | grep '\.entry$')
        object $name $arch "$machine" -O3 ""
    done
    "$ompjit" compile "$srcdir/examples/dot.c" -o "$tmp/own.o"
    entries=$(symbols "$tmp/own.o" --defined-only | grep '\.entry$')
    object dot $arch "$machine" -O0 "free
malloc" memcpy
    "$ompjit" compile --arch $arch "$srcdir/examples/dot.c" -o "$tmp/$arch.o"
done
like "$tried" '[24]' "this machine's own CPUs are among them"

# What one CPU has and a lesser of its kind has not.
instructions() {
    if [ -e "$tmp/$1.o" ]; then
        is "$(code "$tmp/$1.o" | grep -Eq "$2" && echo there)" "$3" "$1: $4"
    fi
}
instructions x86-64 '[[:space:]]vmul' '' "no AVX"
instructions x86-64-v3 '[[:space:]]v(mul|fmadd)' there "AVX"
instructions aarch64 '[[:space:]]ldadd' '' "no atomic instructions"
instructions neoverse-v2 '[[:space:]]ldadd' there "atomic instructions"

# A sum of products is two instructions where the sum waits less long then, and
# little else is computed (passes/host/late_sums.c).
cat >"$tmp/sums.c" <<'END'
double few(int n, const double *x, const double *y) {
    double s = 0;
    #pragma omp target map(to: x[:n], y[:n]) map(s)
    for (int i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}
END
sed 's/few/many/; s/s += .*/s += (x[i] * 3 - y[i] \/ 2 + x[i] * x[i]) * y[i];/' \
    "$tmp/sums.c" >"$tmp/sums_many.c"
for arch in x86-64-v3 neoverse-v2; do
    [ -e "$tmp/$arch.o" ] || continue
    fused='v?fn?madd|fmla'
    "$ompjit" compile --arch $arch "$tmp/sums.c" -o "$tmp/few.o"
    is "$(code "$tmp/few.o" | grep -Eq "$fused" || echo none)" \
        "$([ $arch = x86-64-v3 ] && echo none)" "$arch: a dot product"
    "$ompjit" compile --arch $arch "$tmp/sums_many.c" -o "$tmp/many.o"
    is "$(code "$tmp/many.o" | grep -Eq "$fused" || echo none)" "" \
        "$arch: a sum of more"
done

fails_with 'no such format for aarch64: .* objects and optimized IR' \
    "no PTX for a CPU" "$ompjit" compile --arch aarch64 --emit=ptx \
    "$srcdir/examples/dot.c" -o "$tmp/x"
succeeds "optimized IR" "$ompjit" compile --arch aarch64 --emit=opt-ll \
    "$srcdir/examples/dot.c" -o "$tmp/dot.ll"
like "$(cat "$tmp/dot.ll")" '^target triple = "aarch64-unknown-linux-gnu"' \
    "  says for whom"
is "$(grep -c 'x86' "$tmp/dot.ll")" 0 "  and nothing of this machine"
done_testing
