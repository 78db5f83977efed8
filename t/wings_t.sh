#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The two wings: what each is linked with, which rooms each includes, and a
# process that takes its code from the cache maps the runtime wing alone.
. "$(dirname "$0")/tap.sh"

lib=$builddir/.libs/libompjit.so
compiler=$builddir/.libs/libompjit-compiler.so
is "$(nm -D --undefined-only "$lib" | grep -E 'LLVM|clang|_ZN|__cxa_(throw|begin)')" \
    "" "the runtime wing needs nothing of LLVM or of C++"
is "$(readelf -d "$lib" | grep NEEDED | grep -E 'stdc|c\+\+')" "" \
    "and is not linked with a C++ runtime"
if cp "$lib" "$tmp/lib.so" && strip "$tmp/lib.so" 2>/dev/null; then
    is "$(($(wc -c <"$tmp/lib.so") <= 3000000))" 1 "stripped it has 3 MB at most"
else
    pass "its size # SKIP no strip"
fi
is "$(nm -D --defined-only "$compiler" | grep -v ' A ' | sed 's/.* //; s/@.*//')" \
    ompjit_compiler_door "the compiler wing exports its table alone"

# Rooms by wing: libompjit/ROOMS, and their local.am.
rooms() { awk -v wing="$1" '$1 == wing { print $2 }' "$srcdir/libompjit/ROOMS"; }
# built LIBRARY: the rooms whose files are built into it
built() {
    (cd "$srcdir/libompjit" &&
        find . -name local.am -exec grep -l "^$1_SOURCES" {} + |
        sed 's|^\./||; s|/local.am$||' | LC_ALL=C sort)
}
sorted() { rooms "$1" | LC_ALL=C sort; }
is "$(built libompjit_common_la)" "$(sorted both)" "rooms of both wings"
is "$(built libompjit_runtime_la)" "$(sorted runtime)" \
    "rooms of the runtime wing"
is "$(built '\(libompjit_compiling_la\|ompjitc\)')" "$(sorted compiler)" \
    "rooms of the compiler wing"

# "FILE HEADER" for each header of a room that a file of another room includes.
(cd "$srcdir/libompjit" && find . -name '*.[ch]' -o -name '*.cc' -o \
    -name '*.def' | sed 's|^\./||' | LC_ALL=C sort | while read -r file; do
    sed -n "s|^ *# *include \"\([a-z/]*/[a-z0-9_.]*\)\".*|$file \1|p" "$file"
done) >"$tmp/includes"
# upward: those that are higher in ROOMS, or of the other wing
is "$(awk 'function room(path) { sub("/[^/]*$", "", path); return path }
    NR == FNR && /^[a-z]/ { wing[$2] = $1; at[$2] = ++n; next }
    NR == FNR { next }
    !(room($2) in at) || room($1) == room($2) { next }
    $2 == "door/door.h" { next }
    wing[room($2)] != "both" && wing[room($1)] != wing[room($2)] { print; next }
    at[room($2)] >= at[room($1)]' \
    "$srcdir/libompjit/ROOMS" "$tmp/includes")" "" "no room includes upward"
# "May include:" in a room's README names each room that its files include, or
# the folder above; the two highest rooms may include all that is below.
awk '{ sub("/[^/]*$", "", $1); sub("/[^/]*$", "", $2) } $1 != $2' \
    "$tmp/includes" | LC_ALL=C sort -u | while read -r room other; do
    case $other in
    base | libompjit/* | runtime-bc) continue ;;
    esac
    list=$(sed -n '/^May include:/,/^$/p' "$srcdir/libompjit/$room/README.md")
    case $list in
    *"every room of"* | *"the whole compiler wing"*) continue ;;
    esac
    named=$other
    until [ "$named" = "${named%/*}" ] || echo "$list" | grep -q "\`$named\`"; do
        named=${named%/*}
    done
    echo "$list" | grep -q "\`$named\`" || echo "$room $other"
done >"$tmp/unlisted"
is "$(cat "$tmp/unlisted")" "" "READMEs name the rooms that each includes"
# Objects that have a source: those of files that were renamed stay in a build.
(cd "$builddir" && find libompjit -path '*/.libs/*_la-*.o' | while read -r o; do
    name=${o##*_la-}
    source=$srcdir/${o%%/.libs/*}/${name%.o}
    if [ -e "$source.c" ] || [ -e "$source.cc" ]; then
        echo "$o"
    fi
done | xargs nm -A) >"$tmp/symbols" 2>/dev/null
awk -f "$srcdir/t/calls.awk" "$srcdir/libompjit/ROOMS" "$tmp/symbols" \
    >"$tmp/calls"
is "$(grep '^upward' "$tmp/calls")" "" "no room calls upward"
like "$(cat "$tmp/calls")" '^cycle ([1-9]|10) ' \
    "files that call each other are ten at most, and of one room"
is "$(grep '^circle.* mapping/' "$tmp/calls")" "" \
    "files of mapping/ do not call each other in a circle"
is "$(grep -rlE 'OMPJIT_DEVICE_(HOST|CUDA)' "$srcdir/libompjit" |
    sed 's|.*/libompjit/||; \|^device/[a-z]*/|d')" "" \
    "nobody asks for the kind of a device"
is "$(awk '/^typedef struct ompjit__device_ops/ { on = 1 }
    on && /\(\*[a-z_]*\)\(/ { n++ } /^}/ { on = 0 } END { print n <= 20 }' \
    "$srcdir/libompjit/device/device.h")" 1 "a device has 20 operations at most"
# BLAKE3 is C and needs nothing else of LLVM.
is "$(for room in $(rooms both) $(rooms runtime); do
    grep -lE '^#include <(llvm|clang)' "$srcdir/libompjit/$room"/*.[ch]
done | sed 's|.*/libompjit/||')" base/digest.c "no LLVM outside its wing"

cat >"$tmp/p.c" <<'END'
#include <stdio.h>
int main(void) {
    int s = 0;
    #pragma omp target map(tofrom: s)
    for (int i = 0; i < 10; i++) s += i;
    printf("%d\n", s);
    return 0;
}
END
unset OMPJIT_CACHE
OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE_DIR
succeeds "first run" "$ompjit" run --device host "$tmp/p.c"
succeeds "from the cache" env LD_DEBUG=files "$ompjit" run --device host \
    "$tmp/p.c"
if ! grep -q 'file=' "$tmp/stderr"; then
    pass "no compiler is mapped # SKIP no LD_DEBUG"
elif grep -E 'file=.*(ompjit-compiler|LLVM|stdc\+\+)' "$tmp/stderr"; then
    fail "no compiler is mapped"
else
    pass "no compiler is mapped"
fi

# The compiler is found beside the tool itself, by whichever name it is called.
mkdir "$tmp/links"
ln -s "$builddir/ompjit" "$tmp/links/ompjit"
OMPJIT_CACHE=0 succeeds "by a link" "$tmp/links/ompjit" run "$tmp/p.c"
here=$(pwd)
cd "$builddir" || exit 1
PATH=$builddir:$PATH OMPJIT_CACHE=0 succeeds "by the search path" ompjit run \
    "$tmp/p.c"
cd "$here" || exit 1

# A library without its compiler.
mkdir "$tmp/alone"
cp "$builddir/ompjit" "$tmp/alone/ompjit"
if [ -e "$builddir/libompjit-compiler.so.0" ] ||
    ldconfig -p 2>/dev/null | grep -q libompjit-compiler; then
    pass "a missing compiler is named # SKIP one is installed"
else
    OMPJIT_CACHE=0 fails_with 'libompjit-compiler.so.0, cannot be loaded' \
        "a missing compiler is named" "$tmp/alone/ompjit" run "$tmp/p.c"
fi

# With its compiler and without a worker.
cp "$builddir/ompjit" "$tmp/links/alone"
mv "$tmp/links/alone" "$tmp/alone/ompjit"
ln -s "$(readlink -f "$compiler")" "$tmp/alone/libompjit-compiler.so.0"
if [ -e "$("$ompjit" --version >/dev/null && sed -n \
    's/^ompjitexecdir = //p' "$builddir/Makefile")/ompjitc" ]; then
    pass "a missing worker is told # SKIP one is installed"
else
    OMPJIT_CACHE=0 succeeds "without ompjitc" "$tmp/alone/ompjit" run -v \
        "$tmp/p.c"
    grep -v 'clang is .*/bin/clang' "$tmp/stderr" >"$tmp/own"
    is "$(diff "$tmp/own" "$tmp/stderr" | wc -l)" 2 "clang is the system's"
    like "$(cat "$tmp/stderr")" \
        'compiler runs in this process: .*ompjitc does not start: No such file' \
        "the log says that the compiler runs in this process"
fi
done_testing
