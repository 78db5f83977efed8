#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs of several sources, t/sources: each is compiled by itself, and both
# halves are linked as objects are.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY OMPJIT_CACHE
from=$srcdir/t/sources
OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE_DIR

all="$from/main.c $from/other.c $from/third.cpp $from/fourth.cpp"
expect="third
fourth
right
1028 1
602 9009
6 8
0 5
20061"

# prints WHAT OPTION...
prints() {
    prints_what=$1; shift
    # shellcheck disable=SC2086 # several words
    succeeds "$prints_what" timeout 120 "$ompjit" run --host-memory=separate \
        "$@" $all -- 0
    is "$out" "$expect" "  prints what it must"
}

prints "four sources" --device=host
prints "from the cache" --device=host
prints "without optimization" -O0 --device=host
prints "in automatic memory" --device=host --host-memory=auto
prints "under --check" --device=host --check
OMPJIT_SPECIALIZE=now prints "specialized" --device=host
OMPJIT_COMPILER=inprocess prints "compiled in this process" --device=host \
    --no-cache
if [ -n "$PTXI" ]; then
    for specialize in off now; do
        LD_LIBRARY_PATH=$PTXI OMPJIT_SPECIALIZE=$specialize \
            prints "as PTX, specialize $specialize" --device=cuda
    done
else
    pass "as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi

# Functions that only their file sees have regions of its own, whatever their
# names are.
main_sources=$all main_expect=$expect
all="$from/own_main.cpp $from/own_other.cpp $from/own_c.c"
expect="2 30 400
55045 35450"
prints "regions of one name" --device=host
prints "  not from the cache" --device=host --no-cache
if [ -n "$PTXI" ]; then
    LD_LIBRARY_PATH=$PTXI prints "  as PTX" --device=cuda
else
    pass "  as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi
all=$main_sources expect=$main_expect

# shellcheck disable=SC2086
status_is 7 "arguments behind --" "$ompjit" run -q --device=host $all -- 7
succeeds "inspect" "$ompjit" inspect -q "$from/main.c" "$from/other.c" \
    "$from/third.cpp"
like "$out" '^main:' "  has the kernels of one source"
like "$out" '^other:' "  and of another"

# A change of one source compiles that one. --time counts the compiles. What was
# compiled of a header that is as young as the compile is not remembered: -p.
for part in main other third fourth; do
    cp -p "$from/$part".c* "$tmp"
done
cp -p "$from"/*.h "$tmp"
compiles() {
    "$ompjit" run --device=host --time "$@" -- 0 2>&1 >/dev/null |
        sed -n 's/^ompjit: front end *\([0-9]*\) .*/\1/p'
}
copied=$(echo "$all" | sed "s,$from,$tmp,g")
# shellcheck disable=SC2086
first=$(compiles $copied)
# shellcheck disable=SC2086
second=$(compiles $copied)
echo '/* changed */' >>"$tmp/other.c"
# shellcheck disable=SC2086
third=$(compiles $copied)
is "$first, ${second:-0}, $third" "4, 0, 1" \
    "a source that has not changed is not compiled again"

# The same of 100 sources, all of whose functions one region calls.
mkdir "$tmp/hundred"
numbers=$(seq 1 99)
for i in $numbers; do
    echo "#pragma omp declare target
int f$i(int x) { return x + 1; }
#pragma omp end declare target" >"$tmp/hundred/f$i.c"
done
{
    for i in $numbers; do
        printf 'int f%s(int);\n#pragma omp declare target to(f%s)\n' "$i" "$i"
    done
    echo 'int main(void) { int x = 0;'
    echo '#pragma omp target map(tofrom: x)'
    echo "{ $(printf 'x = f%s(x); ' $numbers)}"
    echo 'return x; }'
} >"$tmp/hundred/main.c"
status_is 99 "100 sources" "$ompjit" run --device=host "$tmp"/hundred/*.c --
sed -i 's/+ 1/+ 2/' "$tmp/hundred/f50.c"
is "$(compiles "$tmp"/hundred/*.c)" 1 "  one of which is changed: one compile"
status_is 100 "  with the change" "$ompjit" run --device=host \
    "$tmp"/hundred/*.c --

source() { # FILE LINE...
    source_file=$tmp/$1; shift
    printf '%s\n' "$@" >"$source_file"
}
source one.c 'int f(void) { return 1; }' 'int v = 1;' \
    'int main(void) { return f(); }'
source two.c 'int f(void) { return 2; }' 'int v;'
fails_with 'f is defined in .*one.c and in .*two.c' "what is defined twice" \
    "$ompjit" run "$tmp/one.c" "$tmp/two.c" --
like "$(cat "$tmp/stderr")" 'v is defined in .*one.c and in .*two.c' \
    "  is all told"
source three.c '#pragma omp declare target' 'int g(void);' \
    '#pragma omp end declare target' 'int main(void) { int r;' \
    '#pragma omp target map(from: r)' 'r = g();' 'return r; }'
source four.c '#pragma omp declare target' 'int h(void) { return 4; }' \
    '#pragma omp end declare target'
fails_with 'undefined symbols: g' "what is defined nowhere" "$ompjit" run \
    --device=host "$tmp/three.c" "$tmp/four.c" --
source five.c 'int f(void) { return 5 }'
fails_with 'five.c:1:23: error: ' "a source that does not compile" \
    "$ompjit" run "$tmp/two.c" "$tmp/five.c" --
fails_with 'both named' "a source that is there twice" \
    "$ompjit" run "$tmp/one.c" "$tmp/one.c" --
fails_with 'cannot read .*none.c' "a source that is not there" \
    "$ompjit" run "$tmp/one.c" "$tmp/none.c" --

# Files that are no C or C++ cannot be linked with them. No file is opened.
refused() { # REGEX NAME COMMAND...
    refused_regex=$1; shift
    status_is 2 "$@"
    like "$(cat "$tmp/stderr")" "$refused_regex" "  and why"
}
for made in k.ll k.bc k.o k.ptx k.cubin; do
    refused "^ompjit: $made: .* cannot be linked with sources; give" \
        "$made as a further source" "$ompjit" run "$tmp/one.c" "$made" --
    refused "^ompjit: $made: .* cannot be linked" "  by --source" \
        "$ompjit" inspect --source="$made" "$tmp/one.c"
done
refused '^ompjit: k.cu: CUDA source cannot be linked with .*one.c' \
    "CUDA as a further source" "$ompjit" run "$tmp/one.c" k.cu --
refused '^ompjit: k.cu: CUDA source cannot be linked' "  of inspect" \
    "$ompjit" inspect "$tmp/one.c" "$tmp/two.c" k.cu
refused '^ompjit: k.o: this file cannot be linked' "an object with CUDA" \
    "$ompjit" inspect k.cu k.o
refused '^ompjit: k.ll: IR has no further sources, such as .*one.c' \
    "IR with a further source" "$ompjit" run k.ll "$tmp/one.c" --

# Other words are the program's, and so is their --.
source words.c '#include <stdio.h>' \
    'int main(int argc, char **argv) { puts(*argv); return argc; }'
status_is 3 "a -- behind other words" "$ompjit" run "$tmp/words.c" x --
status_is 2 "a source's name that no -- follows" "$ompjit" run "$tmp/words.c" \
    "$tmp/two.c"
status_is 2 "arguments behind the -- of one source" "$ompjit" run \
    "$tmp/words.c" -- x
is "$out" "$tmp/words.c" "  and its name"
done_testing
