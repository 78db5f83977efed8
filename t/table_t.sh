#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# `ompjit table` as a program sees it: exit status, streams, JSON that parses,
# and the documentation page.
. "${srcdir:-.}/t/tap.sh"

succeeds "the list" "$ompjit" table
is "$(printf '%s\n' "$out" | wc -l)" 279 "has a line for each row, and a head"
is "$(printf '%s\n' "$out" | awk 'length($0) == 0' | wc -l)" 0 "none is empty"
like "$out" '^ *158  __kmpc_parallel_51 ' "row 158"

succeeds "a row by index" "$ompjit" table 158
like "$out" '^type  *void \(ptr, i32, i32, i32, i32, ptr, ptr, ptr, i64\)$' \
    "its type"
like "$out" '^note .*calls become row 195' "its note"
succeeds "a row by name" "$ompjit" table __kmpc_fork_call
like "$out" '^attributes  *nounwind !callback' "its attributes"

succeeds "a search" "$ompjit" table --grep reduce
is "$(printf '%s\n' "$out" | sed 1d | grep -vc reduce)" 0 "finds nothing else"

fails_with 'no row 278; rows are 0 to 277' "no such index" "$ompjit" table 278
is "$out" "" "nothing on standard output"
fails_with 'there is __kmpc_barrier' "no such name" \
    "$ompjit" table __kmpc_barier
fails_with "no row has 'nothing'" "nothing found" \
    "$ompjit" table --grep nothing
fails_with '^usage: ompjit table' "unknown option" "$ompjit" table --nonsense

succeeds "as Markdown" "$ompjit" table --markdown
is "$out" "$(cat "$srcdir/doc/runtime-table.md")" "is doc/runtime-table.md"

if command -v python3 >/dev/null; then
    "$ompjit" table --json >"$tmp/all.json"
    "$ompjit" table 7 --json >"$tmp/one.json"
    succeeds "as JSON" python3 - "$tmp/all.json" "$tmp/one.json" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))
one = json.load(open(sys.argv[2]))
assert [r["index"] for r in rows] == list(range(278))
assert one == [rows[7]] and one[0]["type"] == "void (ptr, i32, ptr, ...)"
assert rows[158]["successor"] == 195 and rows[0]["successor"] is None
PYTHON
else
    pass "as JSON # SKIP no python3"
fi
done_testing
