#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that were compiled with the headers of other versions (t/headers) run
# on this library, and today's headers keep what those have promised.
. "${srcdir:-.}/t/tap.sh"

if [ -n "${SANITIZER_REPORTS-}" ]; then
    skip_all "programs without sanitizers cannot use a library with them"
fi
export OMPJIT_DEVICE=host OMPJIT_CACHE=memory

# runs NAME FOLDER [FLAG]: t/versions.c with the headers of a folder
runs() {
    succeeds "$1: compiles" cc -std=c11 -Wall -Wextra -Werror ${3-} -I"$2" \
        -I"$srcdir/t" "$srcdir/t/versions.c" -o "$tmp/program" \
        "$builddir/.libs/libompjit.so"
    succeeds "$1: runs" env LD_LIBRARY_PATH="$builddir/.libs" "$tmp/program"
    like "$out" '^1\.\.[0-9]+$' "  to its end"
    is "$(printf '%s\n' "$out" | grep '^not ok')" "" "  and all is well"
}

# changed SCRIPT FROM TO: headers of a folder, changed
changed() {
    mkdir -p "$3"
    for header in "$2"/*; do
        sed -f "$srcdir/t/headers/$1.sed" "$header" >"$3/${header##*/}"
    done
}

for folder in "$srcdir"/t/headers/[0-9]*; do
    version=${folder##*/}
    runs "version $version" "$folder"
    changed older "$folder" "$tmp/older"
    changed newer "$folder" "$tmp/newer"
    runs "smaller than version $version" "$tmp/older"
    runs "larger than version $version" "$tmp/newer" -DFUTURE
    like "$out" 'ompjit_launch: a new field is set' \
        "  and is refused what the library does not know"
done
changed newer "$srcdir/include" "$tmp/next"
runs "larger than today" "$tmp/next" -DFUTURE

# ----------------------------------------------------------------- promises

# all FOLDER: a C file that includes all of its headers but LLVM's
all() {
    for header in "$1"/ompjit*.h; do
        case $header in */ompjit_llvm.h) ;; *) echo "#include \"$header\"" ;; esac
    done
}
# layouts FOLDER: "struct: offset field" of all public structs but for words
# that are not used yet
layouts() {
    all "$1" >"$tmp/layouts.c"
    "$CLANG" -I"$1" -fsyntax-only -Xclang -fdump-record-layouts-complete \
        "$tmp/layouts.c" | awk '
        /Dumping AST/ { getline; name = $NF; next }
        /^ +[0-9]+ \|/ && name ~ /^ompjit_/ {
            if ($NF !~ /^(reserved|unused)(\[.*)?$/) {
                sub(/\(unnamed at [^)]*\)/, "(unnamed)")
                sub(/ompjit_[a-z_]*::/, "")
                print name ": " $0
            }
        }' | LC_ALL=C sort -u
}
# numbers FOLDER: enumerators and macros that are numbers, with their values
numbers() {
    all "$1" >"$tmp/all.c"
    {
        cat "$tmp/all.c"
        echo '#include <stdio.h>'
        echo 'int main(void) {'
        {
            cc -E -P -I"$1" "$tmp/all.c" | tr '\n' ' ' |
                grep -oE 'enum [a-z_]+ *\{[^}]*' | sed 's/^[^{]*{//' |
                tr ',' '\n' | sed 's/=.*//; s/ //g'
            sed -nE 's/^#define (OMPJIT_[A-Z_]+) +[0-9]+$/\1/p' "$1"/ompjit*.h
        } | grep -vE '^$|_COUNT$|_ALL$|VERSION' | LC_ALL=C sort -u |
            sed 's/.*/printf("& %d\\n", (int)&);/'
        echo 'return 0; }'
    } >"$tmp/numbers.c"
    cc -w -I"$1" "$tmp/numbers.c" -o "$tmp/numbers" && "$tmp/numbers"
}
# prototypes FOLDER: one a line
prototypes() {
    all "$1" >"$tmp/prototypes.c"
    cc -E -P -I"$1" "$tmp/prototypes.c" | tr '\n' ' ' | tr ';' '\n' |
        grep -E 'ompjit_[a-z0-9_]+ *\(.*\) *$' | grep -v 'static inline' |
        sed 's/^ *//; s/  */ /g' | LC_ALL=C sort -u
}
# keeps WHAT FOLDER: nothing of it is gone from today's headers
keeps() {
    $1 "$2" >"$tmp/then"
    $1 "$srcdir/include" >"$tmp/now"
    is "$([ -s "$tmp/then" ] && LC_ALL=C comm -23 "$tmp/then" "$tmp/now")" "" \
        "version ${2##*/}: $1 ($(grep -c '' "$tmp/then")) are kept"
}
for folder in "$srcdir"/t/headers/[0-9]*; do
    keeps layouts "$folder"
    keeps numbers "$folder"
    keeps prototypes "$folder"
done
done_testing
