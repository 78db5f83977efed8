#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Whole programs that look at mapped data while a kernel's is newer, in ways
# that the program's own code does not show: `auto` memory copies that data. A
# program in t/sharing says in its first lines what it must print, and what it
# prints in shared memory, as a proof that it can tell:
#
#   // expect: 0 1
#   // in shared memory: 1 1
#
# They may name options of clang's (`options: -std=c++20`). Those without a second
# line cannot tell. Nothing of theirs is copied, or as many
# entries as they say:
#
#   // copied: 1
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
export OMPJIT_EXPLAIN=1 OMPJIT_CACHE=0

says() { sed -n "s,^// $2: ,,p" "$1"; }

# prints MEMORY TEXT
prints() {
    # shellcheck disable=SC2086
    succeeds "$name: $1 memory" timeout 120 "$ompjit" run -v --device=host \
        --host-memory="$1" $(says "$program" options) "$program"
    is "$out" "$2" "  prints what it must"
}

for program in "$srcdir"/t/sharing/*.c "$srcdir"/t/sharing/*.cpp; do
    name=${program##*/}
    expect=$(says "$program" expect)
    shared=$(says "$program" "in shared memory")
    prints separate "$expect"
    copied=$(says "$program" copied)
    [ -n "$copied" ] || prints shared "${shared:-$expect}"
    prints auto "$expect"
    [ -n "$shared" ] || is "$(grep -c "is copied" "$tmp/stderr")" \
        "${copied:-0}" "  as many entries are copied as must be"
done

unset OMPJIT_EXPLAIN OMPJIT_CACHE
program=$srcdir/t/sharing/deferred_write.c
for again in first second; do
    succeeds "--explain, the $again time" "$ompjit" run --device=host \
        --explain "$program"
    like "$(cat "$tmp/stderr")" \
        '^ompjit: entry 1 of the 4 that main maps is copied: the host writes' \
        "  says what is copied, and why"
done
done_testing
