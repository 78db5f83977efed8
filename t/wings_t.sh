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

# Rooms by wing, as their local.am say.
rooms() {
    (cd "$srcdir/libompjit" &&
        find . -name local.am -exec grep -l "^$1_SOURCES" {} + |
        sed 's|^\./||; s|/local.am$||' | LC_ALL=C sort)
}
# includes ROOMS...: "FILE INCLUDED-ROOM" of what stands in these rooms.
includes() {
    for room; do
        find "$srcdir/libompjit/$room" -maxdepth 1 -type f ! -name local.am \
            -exec sed -n "s|^ *# *include \"\(.*\)/[^/]*\"|$room \1|p" {} +
    done | LC_ALL=C sort -u
}
common=$(rooms libompjit_common_la)
runtime=$(rooms libompjit_runtime_la)
compiling=$(rooms libompjit_compiling_la)
is "$(printf '%s\n' $common $runtime $compiling | sort | uniq -d)" "" \
    "each room belongs to one wing, or to both"
# into ROOMS...: those of the lines that name one of these rooms.
into() { awk -v rooms=" $(echo $*) " 'index(rooms, " " $2 " ")'; }
is "$(includes $common | into $runtime $compiling)" "" \
    "rooms of both wings include no other's headers"
is "$(includes $runtime | into $compiling)" "" \
    "rooms of the runtime wing include none of the compiler wing's"
is "$(includes $compiling | into $runtime | grep -v ' door$')" "" \
    "rooms of the compiler wing include the door's alone of the runtime wing's"
# BLAKE3 is C and needs nothing else of LLVM; ompjit_llvm.h has LLVM's types.
is "$(for room in $common $runtime; do
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
done_testing
