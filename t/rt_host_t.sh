#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The host build of the device runtime: the kernels of rt_*kernels.c, retargeted,
# with the engine of rt_host.c. And folded to one thread a team a kernel's loop
# must come out as if there had never been a runtime.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/rt_build.sh"

succeeds "device IR of the kernels" \
    rt_compile_kernels "$tmp/kernels.bc"
rt_retarget "$tmp/kernels.bc" "$tmp/kernels.ll"
rt_names "$tmp/kernels.bc" | tr ',' '\n' | grep . >"$tmp/entries"
{
    sed 's/.*/extern int &();/' "$tmp/entries"
    echo 'const char *const rt_entries[] = {'
    sed 's/.*/"&",/' "$tmp/entries"
    echo '(const char *)0};'
} >"$tmp/entries.c"

# library FOLD: all kernels in $tmp/FOLD.so
library() {
    rt_fold "$1" "$tmp/$1.rt.ll"
    "$LLVM_BINDIR/llvm-link" "$tmp/kernels.ll" "$tmp/$1.rt.ll" \
        -o "$tmp/$1.linked.bc" &&
    "$LLVM_BINDIR/opt" -passes='internalize,default<O2>' -openmp-opt-disable \
        --internalize-public-api-list="$(rt_names "$tmp/kernels.bc")$(
            rt_environments "$tmp/kernels.bc")" \
        "$tmp/$1.linked.bc" -o "$tmp/$1.bc" &&
    "$LLVM_BINDIR/llc" -O1 --relocation-model=pic -filetype=obj \
        "$tmp/$1.bc" -o "$tmp/$1.o" &&
    ${CC:-cc} -w -shared -fPIC "$tmp/$1.o" "$tmp/entries.c" -o "$tmp/$1.so"
}
# run FOLD THREADS
run() {
    if out=$("$builddir/t/rt_run" host "$tmp/$1.so" "fold $1" "$2" 2>&1); then
        pass "fold $1: $(printf '%s\n' "$out" | grep -c '^ok') results"
    else
        fail "fold $1" "$(printf '%s\n' "$out" | grep -A2 -v '^ok')"
    fi
}
succeeds "teams of any size" library 0
run 0 96
succeeds "teams of one thread" library 1
run 1 1

# One kernel, folded, for a machine with vectors.
rt_fold 1 "$tmp/one.ll"
"$LLVM_BINDIR/llvm-as" "$tmp/kernels.ll" -o "$tmp/host.bc"
succeeds "saxpy, folded" rt_link "$tmp/host.bc" rt_saxpy "$tmp/one.ll" \
    'internalize,default<O3>' "$tmp/saxpy.bc"
ir=$("$LLVM_BINDIR/llvm-dis" "$tmp/saxpy.bc" -o -)
is "$(printf '%s\n' "$ir" | grep -c 'addrspace(3)')" 0 \
    "saxpy, folded: no shared memory"
is "$(printf '%s\n' "$ir" | grep ' call ' |
    grep -cv 'ompjit_host_self\|@llvm\.')" 0 "saxpy, folded: no call"
like "$(printf '%s\n' "$ir" | grep -c 'fmul <[0-9]* x double>')" '[1-9]' \
    "saxpy, folded: a vectorized loop"
done_testing
