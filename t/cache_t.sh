#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ompjit cache, and the cache under ompjit run.
. "$(dirname "$0")/tap.sh"

unset OMPJIT_CACHE XDG_CACHE_HOME
OMPJIT_CACHE_DIR=$tmp/cache OMPJIT_DEVICE=host
export OMPJIT_CACHE_DIR OMPJIT_DEVICE

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

succeeds "path" "$ompjit" cache path
is "$out" "$tmp/cache" "it is where OMPJIT_CACHE_DIR says"
succeeds "list without a folder" "$ompjit" cache list
is "$out" "" "is empty"
succeeds "run" "$ompjit" run "$tmp/p.c"
is "$out" 45 "the program's output"
succeeds "run again" "$ompjit" run --time "$tmp/p.c"
is "$out" 45 "the same output"
if grep -Eq 'front end|code generation' "$tmp/stderr"; then
    fail "nothing is compiled" "$(cat "$tmp/stderr")"
else pass "nothing is compiled"; fi
succeeds "list" "$ompjit" cache list
like "$out" "source +[0-9]+ .*$tmp/p.c" "it lists the source"
like "$out" 'image +[0-9]+ .*host' "and the image"
key=$(echo "$out" | awk '/image/ { print $1 }')
succeeds "explain" "$ompjit" cache explain "$key"
like "$out" '^(cpuid|midr) ' "it shows the processor"
like "$out" '^llvm 22' "and LLVM's version"
fails_with 'no entry' "explain of no entry" "$ompjit" cache explain ffffffffffff
succeeds "stat" "$ompjit" cache stat
like "$out" 'all +3 entries' "it counts"
succeeds "export" "$ompjit" cache export "$tmp/all"
succeeds "clear" "$ompjit" cache clear
is "$out" "3 entries removed" "it removes"
succeeds "import" "$ompjit" cache import "$tmp/all"
is "$out" "3 entries imported" "it brings them back"
succeeds "run" "$ompjit" run --time "$tmp/p.c"
if grep -q 'front end' "$tmp/stderr"; then fail "from what was imported"
else pass "from what was imported"; fi
file=$(find "$tmp/cache" -type f -size +3k | head -1)
printf X | dd of="$file" bs=1 seek=200 conv=notrunc 2>/dev/null
succeeds "verify" "$ompjit" cache verify
is "$out" "2 entries are good, 1 damaged ones were removed" "it finds damage"
succeeds "prune" "$ompjit" cache prune 1K
is "$out" "2 entries removed" "it prunes to a size"
fails_with 'not a number' "prune to nonsense" "$ompjit" cache prune x1
fails_with 'did you mean list' "a mistyped command" "$ompjit" cache lst
fails_with 'needs KEY' "explain of nothing" "$ompjit" cache explain
fails_with 'one argument too many' "list of something" "$ompjit" cache list x
fails_with 'needs a command' "no command" "$ompjit" cache
fails_with 'cut short|damaged|no export' "import of nonsense" \
    "$ompjit" cache import "$tmp/p.c"
OMPJIT_CACHE=0
export OMPJIT_CACHE
succeeds "OMPJIT_CACHE=0" "$ompjit" run "$tmp/p.c"
is "$(find "$tmp/cache" -type f -size +1k)" "" "stores nothing"
OMPJIT_CACHE=1 OMPJIT_CACHE_DIR=/proc/none/cache
succeeds "a folder that cannot be" "$ompjit" run "$tmp/p.c"
is "$out" 45 "is no error"
OMPJIT_CACHE_SIZE=much
export OMPJIT_CACHE_SIZE
fails_with 'OMPJIT_CACHE_SIZE=much' "a size that is none" \
    "$ompjit" run "$tmp/p.c"
done_testing
