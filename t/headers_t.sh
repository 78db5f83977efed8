#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Each public header alone, and every _INIT macro, as C99, C11, C++11 and C++17
# by gcc and by clang, without a warning. Structs that grow have no padding.
. "${srcdir:-.}/t/tap.sh"

include=$srcdir/include
llvm=$("$LLVM_BINDIR/llvm-config" --includedir)
headers=$(cd "$include" && ls ompjit*.h)

# A program that makes one of each struct, and looks at all of its bytes.
cat >"$tmp/all.c" <<'EOF2'
#include <stdio.h>
#include <string.h>
static int bad;
static void look(const char *name, const void *made, size_t size)
{
    const unsigned char *p = (const unsigned char *)made;
    size_t said, left = 0;
    memcpy(&said, p, sizeof said);
    for (size_t i = sizeof said; i < size; i++)
        left += p[i] != 0;
    if (said != size || left)
        printf("%s\n", name), bad++;
}
EOF2
structs=$(cat "$include"/ompjit*.h |
    sed -n 's/^#define \(OMPJIT_[A-Z_]*\)_INIT OMPJIT_SIZED.*/\1/p')
{
    for header in $headers; do echo "#include <$header>"; done
    cat "$tmp/all.c"
    for name in $structs; do
        type=$(echo "$name" | tr '[:upper:]' '[:lower:]')
        echo "static $type global_$type = ${name}_INIT;"
        echo "static void make_$type(void)"
        echo "{ $type made = ${name}_INIT; look(\"$type\", &made, sizeof made);"
        echo "  look(\"$type\", &global_$type, sizeof global_$type); }"
    done
    echo 'int main(void)'
    echo '{'
    for name in $structs; do
        echo "    make_$(echo "$name" | tr '[:upper:]' '[:lower:]')();"
    done
    cat <<'EOF2'
    ompjit_arg a = ompjit_arg_i32("n", 3), b = ompjit_arg_pointer("p", &a);
    bad += a.type != OMPJIT_ARG_I32 || a.value.i32 != 3 || a.flags || a.bytes;
    bad += b.type != OMPJIT_ARG_POINTER || b.value.p != &a || b.contents;
    bad += ompjit_arg_f64(NULL, 0.5).value.f64 != 0.5;
    return bad;
}
EOF2
} >"$tmp/inits.c"
is "$(echo "$structs" | wc -l)" \
    "$(grep -c '^STRUCT' "$srcdir/libompjit/base/structs.def")" \
    "as many structs have an _INIT as base/structs.def has"

# try COMPILER LANGUAGE STANDARD
try() {
    for header in $headers; do
        echo "#include <$header>" >"$tmp/one.c"
        out=$($1 -x "$2" -std="$3" -I"$include" -isystem "$llvm" -Wall -Wextra \
            -pedantic -Wshadow -Wpadded -Werror -fsyntax-only "$tmp/one.c" 2>&1) ||
            echo "$header: $out"
    done
    $1 -x "$2" -std="$3" -I"$include" -isystem "$llvm" -Wall -Wextra -pedantic \
        -Wshadow -Werror -c "$tmp/inits.c" -o "$tmp/inits.o" 2>&1
    [ "$4" ] && $1 "$tmp/inits.o" -o "$tmp/inits" 2>&1 && "$tmp/inits" 2>&1
}

bin=${CLANG%/*}
for compiler in gcc "$CLANG"; do
    case $compiler in gcc) cxx=g++ ;; *) cxx=$bin/clang++ ;; esac
    for std in c99 c11; do
        lacks "$compiler" "C by $compiler" ||
            is "$(try "$compiler" c $std run)" "" "${compiler##*/} -std=$std"
    done
    for std in c++11 c++17; do
        lacks "$cxx" "C++ by $cxx" ||
            is "$(try "$cxx" c++ $std run)" "" "${cxx##*/} -std=$std"
    done
done

# The twenty functions come first, and nothing but what they need before them.
is "$(sed -n '/^\/\* -* the twenty functions \*\/$/,/^\/\* -* options/p' \
    "$include/ompjit.h" | grep -cE '^(ompjit_status|void) ompjit_')" 20 \
    "twenty functions come first"
is "$(sed '/the twenty functions/,$d' "$include/ompjit.h" |
    grep -E '^[a-z].*\(')" "" "and no other before them"
done_testing
