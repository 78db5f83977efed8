#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Inputs that never end, or never begin, are errors: sources, IR, exported
# caches, lists of variants, and what clang writes.
. "${srcdir:-.}/t/tap.sh"

cat >"$tmp/one.c" <<'END'
int main(void) {
  int x = 0;
#pragma omp target map(tofrom: x)
  x++;
  return x != 1;
}
END
mkfifo "$tmp/never.c" "$tmp/never.ll" "$tmp/list"

# Not longer than a minute, which none of these takes.
bounded() { timeout 60 "$ompjit" "$@"; }

fails_with 'cannot read /dev/zero: it has more than 1 GiB' "an endless source" \
    bounded compile --emit=ll -o /dev/null /dev/zero
fails_with 'cannot read -: it has more than 1 GiB' "an endless standard input" \
    sh -c 'timeout 60 "$0" compile --emit=ll -o /dev/null - </dev/zero' "$ompjit"
fails_with 'cannot read /dev/zero: it has more than 1 GiB' \
    "an endless export of a cache" bounded cache import /dev/zero
for ending in c ll; do
    fails_with 'never.* nothing comes from it' "a FIFO that nobody writes: .$ending" \
        bounded compile --time-limit=1 --emit=ll -o /dev/null "$tmp/never.$ending"
done
fails_with 'cannot read .*: Is a directory' "a folder" \
    bounded compile --emit=ll -o /dev/null "$tmp"
cat "$tmp/one.c" >"$tmp/never.c" &
succeeds "a FIFO that is written" bounded compile --emit=ll -o /dev/null \
    "$tmp/never.c"
succeeds "a pipe" sh -c 'cat "$1" | "$0" compile --emit=ll -o /dev/null -' \
    "$ompjit" "$tmp/one.c"

# A list that cannot be read does not keep the program from running.
OMPJIT_LOG=1 timeout 60 "$ompjit" run --device=host --warm=/dev/zero \
    "$tmp/one.c" 2>"$tmp/stderr"
like "$(cat "$tmp/stderr")" '/dev/zero has more than 64 MiB' "an endless list"
OMPJIT_LOG=1 timeout 60 "$ompjit" run --device=host --warm="$tmp/list" \
    "$tmp/one.c" 2>"$tmp/stderr"
like "$(cat "$tmp/stderr")" 'list: nothing came for 10 seconds' \
    "a list that never comes"

cat >"$tmp/clang" <<END
#!/bin/sh
case \$* in
*--version* | *-print-*) exec ${CLANG:-clang-22} "\$@" ;;
*) exec yes "an error that is followed by another" ;;
esac
END
chmod +x "$tmp/clang"
fails_with 'wrote more than 256 MiB and was killed' "a clang that writes on" \
    bounded compile --clang="$tmp/clang" --emit=ll -o /dev/null "$tmp/one.c"
done_testing
