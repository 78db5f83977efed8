#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The library exports what the headers declare, by the version map, and the
# manual page speaks of all of it.
. "${srcdir:-.}/t/tap.sh"

map=$srcdir/libompjit/libompjit.map
for part in cache debug function graph offload opt rtl tune llvm; do
    echo "#include <ompjit_$part.h>"
done >"$tmp/all.c"
"${CC:-cc}" -E -P -I"$("$LLVM_BINDIR/llvm-config" --includedir)" \
    -I"$srcdir/include" "$tmp/all.c" >"$tmp/all.i"
# without what is inline
awk '/static inline/ { inside = !/}$/; next } inside { inside = !/^}/; next } 1' \
    "$tmp/all.i" | grep -oE '\bompjit_[a-z0-9_]+ *\(' | tr -d ' (' |
    grep -v '_fn$' | LC_ALL=C sort -u >"$tmp/header"
# and those that are, over the application's LLVM
grep -oE '^static inline ompjit_status ompjit_[a-z]+_[a-z]+' \
    "$srcdir/include/ompjit_llvm.h" | sed 's/.* //' >"$tmp/inline"
LC_ALL=C sort -u "$tmp/header" "$tmp/inline" >"$tmp/functions"
grep -oE '^ +[a-z0-9_]+;' "$map" | tr -d ' ;' >"$tmp/map"
grep -oE 'ompjit_[a-z0-9_]+(" \(\)| \(\))' "$srcdir/doc/libompjit.3" |
    tr -d '" ()' | LC_ALL=C sort -u >"$tmp/manual"
nm -D --defined-only "$builddir/.libs/libompjit.so" >"$tmp/nm"
grep -v ' A ' "$tmp/nm" | sed 's/.* //; s/@.*//' | LC_ALL=C sort -u >"$tmp/library"

is "$(wc -l <"$tmp/header" | tr -d ' ')" \
    "$(grep -c '' "$tmp/map")" "the headers have as many functions as the map"
is "$(cat "$tmp/map")" "$(LC_ALL=C sort -u "$tmp/map")" "the map is alphabetical"
is "$(cat "$tmp/map")" "$(cat "$tmp/header")" "map and headers agree"
is "$(cat "$tmp/library")" "$(cat "$tmp/header")" \
    "the library exports the headers' functions and nothing else"
is "$(cat "$tmp/manual")" "$(cat "$tmp/functions")" \
    "libompjit(3) speaks of every function"
is "$(grep -v ' A ' "$tmp/nm" | grep -v '@@LIBOMPJIT_0\.1$')" "" \
    "every symbol has its version"
foreign='LLVM|cuda|z3|icu|xml2|nvrtc|nvJitLink|libomp\.'
if grep -q '^LLVM_LIBS = .*-lLLVM-' "$builddir/Makefile"; then
    foreign=${foreign#LLVM|}
fi
for wing in libompjit libompjit-compiler; do
    is "$(readelf -d "$builddir/.libs/$wing.so" | grep NEEDED |
        grep -E "$foreign")" "" \
        "$wing: neither CUDA nor libomp nor anything of LLVM's is linked"
done

# Those of ompjit_llvm.h are tried in table_llvm_t.c.
is "$(for f in $(cat "$tmp/functions"); do
    grep -q "\b$f[(,]" "$srcdir/t/invalid_t.c" "$srcdir/t/table_llvm_t.c" ||
        echo "$f"
done)" "$(printf 'ompjit_opt_count\nompjit_rtl_count\nompjit_rtl_table_get\nompjit_version')" \
    "every function that takes an argument is tried with NULL"

# 400 constructors of LLVM's would take most of a process's start.
if readelf -SW "$builddir/.libs/libompjit-compiler.so" | grep -q ompjit_llvm_start; then
    bytes=$(readelf -d "$builddir/.libs/libompjit-compiler.so" |
        sed -n 's/.*(INIT_ARRAYSZ) *\([0-9]*\) .*/\1/p')
    is "$((bytes < 256))" 1 "LLVM's constructors do not run at the start"
else
    pass "LLVM's constructors # SKIP this linker cannot make them wait"
fi
done_testing
