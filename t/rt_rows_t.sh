#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Every row that the runtime table places on the device is defined by all
# builds of the runtime, and called by a kernel of rt_*kernels.c, which check
# what it does. So is what the runtime defines of the C library. The lists are
# the table's and the runtime's own; a row without a test fails here.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/rt_build.sh"

# device_rows: stdin is `ompjit table`.
device_rows() {
    awk 'NR > 1 && $3 ~ /^device/ {print $2}' | sort -u
}
# defined RUNTIME
defined() {
    "$LLVM_BINDIR/llvm-nm" --defined-only "$1" | awk '{print $3}' | sort -u
}
# called IR.bc: the functions that it calls by name, or whose address it takes.
called() {
    "$LLVM_BINDIR/llvm-dis" "$1" -o - | grep -v '^declare\|^define' |
        grep -o '@[A-Za-z_][A-Za-z_0-9]*' | tr -d @ | sort -u
}
# lacks LIST: what is in $tmp/LIST and not in $tmp/OTHER
lacks() { comm -23 "$tmp/$1" "$tmp/$2" | tr '\n' ' '; }

"$ompjit" table | device_rows >"$tmp/rows"
like "$(wc -l <"$tmp/rows")" '^ *[12][0-9][0-9]$' "rows of the device"
builds="nvptx64 x86_64 aarch64"
for build in $builds; do
    defined "$RT_OBJECTS/ompjit_rt_$build.bc" >"$tmp/$build"
    is "$(lacks rows "$build")" "" "each is defined by the $build runtime"
done

# Some calls only the optimizer makes, when it has given a kernel a state
# machine of its own.
succeeds "device IR of the kernels" rt_compile_kernels "$tmp/kernels.bc"
succeeds "a kernel with its own state machine" rt_link "$tmp/kernels.bc" \
    rt_state_machine "$RT_OBJECTS/ompjit_rt_nvptx64.bc" \
    'internalize,openmp-opt' "$tmp/machine.bc"
"$LLVM_BINDIR/llvm-dis" "$tmp/machine.bc" -o "$tmp/machine.ll"
like "$(sed -n '/^define.*_rt_state_machine_l/,/^}/p' "$tmp/machine.ll")" \
    'worker_state_machine' "  has it"
sed -n '/^define.*_rt_state_machine_l/,/^}/p' "$tmp/machine.ll" >"$tmp/kernel.ll"
{
    called "$tmp/kernels.bc"
    grep -o '@__kmpc[a-z_0-9]*' "$tmp/kernel.ll" | tr -d @
} | sort -u >"$tmp/called"
is "$(lacks rows called)" "" "each is called by a kernel"

# What is no row: the C library's functions and complex numbers.
sed -n 's/^EXPORT [^(]*[ *]\([a-z_0-9]*\)(.*/\1/p' \
    "$srcdir/runtime-bc/libc/libc.c" | sort -u >"$tmp/libc"
printf '__%s\n' divdc3 divsc3 muldc3 mulsc3 | sort >"$tmp/complex"
like "$(wc -l <"$tmp/libc")" '[1-9]' "functions of libc.c"
is "$(lacks libc nvptx64)" "" "are defined"
for build in $builds; do
    is "$(lacks complex "$build")" "" "complex numbers, $build"
done
is "$(lacks libc called)$(lacks complex called)" "" "are called by a kernel"

# The test itself: a row that is nowhere is named.
{
    "$ompjit" table
    echo "9999  __kmpc_added_today  device  void ()"
} | device_rows >"$tmp/more"
for list in $builds called; do
    is "$(lacks more "$list")" "__kmpc_added_today " \
        "a new row is missed in $list"
done

# The sizes that the documentation gives, measured again.
version=$("$LLVM_BINDIR/llc" --version | sed -n 's/.*LLVM version //p')
case $version in
22.*)
    sh "$srcdir/runtime-bc/size.sh" "$RT_OBJECTS/ompjit_rt_nvptx64.bc" \
        >"$tmp/size.def"
    is "$(diff "$srcdir/libompjit/table/size.def" "$tmp/size.def")" "" \
        "the sizes are right (else: make update-sizes)"
    ;;
*) pass "sizes # SKIP they are LLVM 22's, this is $version" ;;
esac
done_testing
