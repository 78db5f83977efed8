#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The functions of LLVM and clang that most compiles use stand next to each
# other in the compiler wing and in ompjitc (libompjit/llvm/order.c).
. "${srcdir:-.}/t/tap.sh"
order=$builddir/libompjit/llvm/order
if ! [ -e "$builddir/libompjit/llvm/order.ld" ]; then
    skip_all "the linker is not GNU's, or LLVM is shared"
fi

# ------------------------------------------------------------------- the tool
printf '%s\n' wanted.part _Zwanted static_one 'with$sign' gone wanted.part |
    "$order" >"$tmp/list"
is "$? $(grep -c '^[0-9a-f]\{8\}$' "$tmp/list")" "0 5" "a list, each name once"
is "$(sort -c "$tmp/list" 2>&1)" "" "  sorted"
cat >"$tmp/symbols" <<'END'

libx.a[one.o]:
_Zwanted W 0 20
other T 0 20
wanted.part T 10 20
static_one t 20 20
with$sign T 30 20
gone U 0 0

libx.a[two.o]:
_Zwanted W 0 20
END
"$order" "$tmp/list" "$tmp/script" <"$tmp/symbols"
is "$? $(grep -o '\*(.*' "$tmp/script" | tr '\n' ' ')" \
    "0 *(.text._Zwanted) *(.text.wanted.part) *(.text.static_one) " \
    "a script has the functions that are in the libraries, once"
fails_with 'none: No such file' "a list that is not there" \
    "$order" "$tmp/none" "$tmp/script" </dev/null
echo nonsense >"$tmp/bad"
fails_with 'bad: not a list of hashes' "a file that is no list" \
    "$order" "$tmp/bad" "$tmp/script" </dev/null
fails_with 'nowhere/script: No such file' "a script that cannot be written" \
    "$order" "$tmp/list" "$tmp/nowhere/script" </dev/null
fails_with 'usage' "a list without a script" "$order" "$tmp/list" </dev/null

# ------------------------------------------------------ what make did with it
# Three quarters, since versions of LLVM differ a little.
found() {
    listed=$(wc -l <"$srcdir/libompjit/llvm/$1.txt")
    ordered=$(grep -c '\*(' "$builddir/libompjit/llvm/$1.ld")
    [ $((ordered * 4)) -ge $((listed * 3)) ] || echo "$ordered of $listed"
}
# ordered FILE: so many bytes of it are ordered
ordered() {
    size=$(readelf -SW "$builddir/$1" |
        sed -n 's/.* \.text\.order *PROGBITS *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\).*/0x\1/p')
    [ $((${size:-0})) -ge 4000000 ] || echo "$size"
}
is "$(found order)" "" "the compiler wing's functions are known"
is "$(ordered .libs/libompjit-compiler.so)" "" "  and ordered"
if [ "$(wc -l <"$builddir/libompjit/llvm/order_program.ld")" -gt 0 ] &&
    grep -q '^STATIC_CLANG_TRUE = *$' "$builddir/Makefile"; then
    is "$(found order_program)" "" "ompjitc's functions are known"
    is "$(ordered ompjitc)" "" "  and ordered"
else
    skip "ompjitc" "clang is no part of it"
fi
done_testing
