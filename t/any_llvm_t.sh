#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that are linked with libompjit and an LLVM of their own: with each
# that is here, ompjit_llvm.h declares the whole table, makes the structs and
# checks a module, all as with LLVM 22.
. "${srcdir:-.}/t/tap.sh"

if [ -n "${SANITIZER_REPORTS-}" ]; then
    skip_all "programs without sanitizers cannot use a library with them"
fi

# alike: what newer LLVMs write otherwise, as older ones do
alike() {
    sed -E "s/captures\(none\)/nocapture/g
        s/(nocapture) (writeonly|allocptr)/\2 \1/g
        /^; ModuleID/d; /^source_filename/d"
}
# with_llvm CONFIG: runs the program with the LLVM that it configures
with_llvm() {
    version=$("$1" --version)
    flags=$("$1" --ldflags --libs --link-shared 2>/dev/null) || {
        skip "LLVM $version" "it has no shared library"
        return
    }
    for compiler in cc c++; do
        case $compiler in cc) language=c ;; *) language=c++ ;; esac
        succeeds "LLVM $version: $compiler compiles" $compiler \
            -x $language -Wall -Wextra -pedantic -Werror \
            -I"$srcdir/include" -isystem "$("$1" --includedir)" \
            "$srcdir/t/any_llvm.c" -o "$tmp/$compiler" -x none \
            "$builddir/.libs/libompjit.so" $flags
    done
    is "$(readelf -d "$tmp/cc" | grep -c 'NEEDED.*libLLVM')" 1 \
        "  links it, and libompjit"
    for program in cc c++; do
        succeeds "  and runs" env \
            LD_LIBRARY_PATH="$builddir/.libs:$("$1" --libdir)" "$tmp/$program"
        printf '%s\n' "$out" | alike >"$tmp/now"
        [ -e "$tmp/first" ] || cp "$tmp/now" "$tmp/first"
        is "$(diff "$tmp/first" "$tmp/now")" "" "  as with LLVM 22"
    done
}

with_llvm "$LLVM_BINDIR/llvm-config"
[ ! -e "$tmp/first" ] ||
    like "$(cat "$tmp/first")" '^LLVM 22: 2[0-9][0-9] rows$' "all rows"
found=
for number in 15 16 17 18 19 20 21; do
    config=llvm-config-$number
    command -v "$config" >/dev/null 2>&1 || continue
    # without its headers it is no LLVM to program with
    [ -e "$("$config" --includedir)/llvm-c/Core.h" ] || continue
    found=1
    with_llvm "$config"
done
[ "$found" ] || skip "an older LLVM" "no llvm-config-NN from 15 to 21"
done_testing
