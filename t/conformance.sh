#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the C tests of OpenMP_VV, a conformance suite that is kept outside of this
# repository, through `ompjit run`: make check-vv VV=path [VV_T=name].
# A test passes when it exits with 0 and does not print "Test failed". The table
# goes to conformance.tsv in the build tree, what failed to conformance.log.
set -u
vv=${1:?usage: conformance.sh FOLDER-OF-OpenMP_VV [NAME]}
name=${2-}
ompjit=${builddir:=.}/ompjit
jobs=${VV_JOBS:-$(nproc)}
limit=${VV_LIMIT:-60}
out=$builddir/conformance
[ -d "$vv/tests" ] || { echo "conformance.sh: $vv has no tests/" >&2; exit 2; }

# One test: its line "VERDICT<tab>test<tab>reason", and what it printed.
run_one() {
    file=$1
    test=${file#"$vv"/tests/}
    version=$(echo "${test%%/*}" | tr -d .)
    log=$out/$(echo "$test" | tr / _)
    timeout -k 5 "$limit" "$ompjit" run --quiet $VV_FLAGS \
        -fopenmp-version="$version" -I"$vv/ompvv" -D_GNU_SOURCE -lm "$file" \
        >"$log" 2>&1 </dev/null
    status=$?
    if [ $status -eq 124 ]; then verdict=FAIL reason="time limit"
    elif [ $status -gt 128 ]; then verdict=FAIL reason="signal $((status - 128))"
    elif [ $status -ne 0 ]; then verdict=FAIL reason="exit $status"
    elif grep -q 'Test failed' "$log"; then verdict=FAIL reason="says it failed"
    else verdict=PASS reason=; fi
    if grep -qE '^ompjit: .*(front end|does not compile)' "$log"; then
        verdict=NOCOMPILE
    fi
    printf '%s\t%s\t%s\n' "$verdict" "$test" "$reason" >"$log.line"
}

if [ "${3-}" = --one ]; then
    run_one "$name"
    exit 0
fi

: "${VV_FLAGS=--device host}"
export VV_FLAGS builddir
rm -rf "$out"
mkdir -p "$out" || exit 1
find "$vv/tests" -name "*$name*.c" | sort >"$out/list"
total=$(wc -l <"$out/list")
xargs -P "$jobs" -I{} sh "$0" "$vv" {} --one <"$out/list" &
runner=$!
while kill -0 $runner 2>/dev/null; do
    [ -t 2 ] && printf '\r%d of %d' \
        "$(find "$out" -name '*.line' | wc -l)" "$total" >&2
    sleep 1
done
[ -t 2 ] && printf '\r' >&2
wait $runner
cat "$out"/*.line >"$builddir/conformance.tsv"
grep -v '^PASS' "$builddir/conformance.tsv" >"$builddir/conformance.log"
for verdict in PASS FAIL NOCOMPILE; do
    printf '%-10s %s\n' $verdict \
        "$(grep -c "^$verdict" "$builddir/conformance.tsv")"
done
printf '%-10s %s\n' total "$total"
