#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The script behind `make check-vv`, on a suite of four tests: what it counts as
# what, that it goes on where it was interrupted, and that it tells of verdicts
# that differ between schedules.
. "$srcdir/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS VV_PAGE VV_RESUME VV_SCHEDULES
tab=$(printf '\t')

suite=$tmp/suite/tests/4.5
mkdir -p "$suite" "$tmp/build" "$tmp/t"
ln -s "$builddir/ompjit" "$tmp/build/ompjit"
region='
#pragma omp target map(tofrom: x)
    x += 0;
    return x;
}'
echo "int main(void) { int x = 0; $region" >"$suite/passes.c"
echo "int main(void) { int x = 3; $region" >"$suite/fails.c"
echo "int main(void) { int x = z; $region" >"$suite/refused.c"
cp "$srcdir/t/conformance.awk" "$tmp/t"
printf 'all\t4.5/fails.c\tIts own.\n' >"$tmp/t/conformance.causes"

# conformance VARIABLE=VALUE...: the script with these; what it says in $out
conformance() {
    out=$(env srcdir="$tmp" builddir="$tmp/build" VV_JOBS=1 "$@" \
        sh "$srcdir/t/conformance.sh" "$tmp/suite" 2>&1)
}
# rows COLUMNS: of the table, without the times
rows() { cut -f "$1" "$tmp/build/conformance.tsv" | tr '\t\n' ' ;'; }

conformance VV_PAGE="$tmp/page.md"
is $? 0 "a failure whose cause is known"
is "$(rows 1,2,3)" "FAIL 4.5/fails.c exit 3;PASS 4.5/passes.c ;\
NOCOMPILE 4.5/refused.c use of undeclared identifier 'z';" "verdicts"
like "$out" '^all C +3 +1 +1 +0 +1$' "the table"
OMPJIT_CACHE=0 "$tmp/build/conformance/ompjit" run -v "$suite/passes.c" \
    >"$tmp/log" 2>&1
is "$(grep -c 'compiler runs in this process' "$tmp/log")" 0 \
    "the copied tool has its worker"
like "$(cat "$tmp/page.md")" '^\| all C \| 3 \| 1 \| 1 \| 0 \| 1 \|$' "the page"
like "$(cat "$tmp/page.md")" '^\| `4.5/fails.c` \| Its own. \|$' "its causes"

cp "$suite/fails.c" "$suite/fails_too.c"
conformance
is $? 1 "a failure of unknown cause"
like "$out" '^no cause known: 4.5/fails_too.c: exit 3$' "  is named"
mv "$suite/fails_too.c" "$tmp"
printf 'all\t4.5/passes.c\tNone.\n' >>"$tmp/t/conformance.causes"
conformance
is $? 1 "a cause without a failure"
like "$out" '^a cause, and no failure: 4.5/passes.c$' "  is named"
sed -i 2d "$tmp/t/conformance.causes"

# Of what was run before, only what has no verdict runs again.
done=$tmp/build/conformance/host/4.5_fails.c.line
sed -i 's/exit 3/remembered/' "$done"
rm "$tmp/build/conformance/host/4.5_passes.c.line"
conformance VV_RESUME=1
is "$(rows 1,3)" "FAIL remembered;PASS ;\
NOCOMPILE use of undeclared identifier 'z';" "an interrupted run goes on"

# The same built ahead of time. What is refused is so once.
if [ -x "$LLVM_BINDIR/clang-linker-wrapper" ]; then
    conformance VV_SCHEDULES='host exec' VV_PAGE="$tmp/page.md"
    is $? 0 "ahead of time"
    is "$(rows 1,2,4)" "FAIL 4.5/fails.c host;PASS 4.5/passes.c host;\
NOCOMPILE 4.5/refused.c host;FAIL 4.5/fails.c exec;PASS 4.5/passes.c exec;" \
        "  verdicts of executables"
    like "$out" '^exec .*other verdicts: none$' "  are those of ompjit run"
    like "$(cat "$tmp/page.md")" '^\| `exec` \| 1 \| 1 \| 0 \| [0-9]+ \| none \|$' \
        "  in the page"
else
    skip "ahead of time" "no clang-linker-wrapper (clang-tools-22)"
fi

if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    conformance VV_DEVICE=ptx VV_SCHEDULES='SLICE=9 SEED=1'
    is $? 0 "two schedules"
    is "$(rows 1,2,4)" "FAIL 4.5/fails.c SLICE=9;PASS 4.5/passes.c SLICE=9;\
NOCOMPILE 4.5/refused.c SLICE=9;FAIL 4.5/fails.c SEED=1;\
PASS 4.5/passes.c SEED=1;" "  of what clang compiles"
    like "$out" '^SEED=1 .*other verdicts: none$' "  whose verdicts are the same"
    echo "#include <stdlib.h>
int main(void) { int x = getenv(\"PTXI_SEED\") != 0; $region" >"$suite/seed.c"
    conformance VV_DEVICE=ptx VV_SCHEDULES='SLICE=9 SEED=1'
    is $? 1 "a verdict that depends on the schedule"
    like "$out" '^SEED=1 .*other verdicts: `4.5/seed.c`: FAIL \(exit 1\)$' \
        "  is named"
    printf 'ptx\t4.5/seed.c\tThe seed.\tchance\n' >>"$tmp/t/conformance.causes"
    conformance VV_DEVICE=ptx VV_SCHEDULES='SLICE=9 SEED=1'
    is $? 0 "but for one that is known to be chance"
    like "$out" '^SEED=1 .*other verdicts: none$' "  is none"
else
    pass "schedules # SKIP no libcuda.so.1 in PTXI"
fi
done_testing
