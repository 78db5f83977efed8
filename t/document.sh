#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Types the C and C++ sources of a chapter of OpenMP's examples document, which is
# kept outside of this repository, into `ompjit repl`, as they stand:
#
#   make check-document DOCUMENT=path [CHAPTER=devices]
#
# The exit status is 1 where one of `refused` is taken, or another is refused.
set -u
document=${1:?usage: document.sh FOLDER-OF-OpenMP-Examples [CHAPTER]}
chapter=${2:-devices}
sources=$document/$chapter/sources
[ -d "$sources" ] || { echo "document.sh: no folder $sources" >&2; exit 2; }
# clang 22 has no array shaping there, no clauses reverse_offload and local; and
# declare_target.6 is an example of an error.
refused=" array_shaping.1.c declare_target.6.c target_reverse_offload.7.c teams.7.c "

messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
count=0 taken=0 wrong=0
for source in "$sources"/*.c "$sources"/*.cpp; do
    name=${source##*/}
    count=$((count + 1))
    status=0
    timeout 60 "$builddir/ompjit" repl --device host "$source" </dev/null \
        >/dev/null 2>"$messages" || status=$?
    [ $status != 0 ] || taken=$((taken + 1))
    case $status,$refused in
    0,*" $name "*)
        wrong=$((wrong + 1))
        echo "$name: taken, and expected to be refused"
        ;;
    0,* | 1,*" $name "*) ;;
    *)
        wrong=$((wrong + 1))
        echo "$name: status $status"
        grep -m 1 error "$messages"
        ;;
    esac
done
echo "$chapter: $taken of $count sources are taken; $wrong are a surprise"
[ $wrong = 0 ]
