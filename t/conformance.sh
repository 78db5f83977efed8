#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the C and C++ tests of OpenMP_VV, a conformance suite that is kept
# outside of this repository, through `ompjit run`, each with the OpenMP version
# of its folder and the environment that the suite's own makefile gives it:
#
#   make check-vv VV=path [VV_T=word] [VV_DEVICE=host|ptx] [VV_PAGE=file.md]
#
# A test passes when it exits with 0 and does not print "Test failed". The table
# goes to conformance.tsv in the build tree, each test's output to conformance/;
# VV_PAGE also writes the page. conformance.causes says why a test cannot pass;
# the exit status is 1 where one fails that is not listed there, or one passes
# that is. VV_DEVICE=ptx runs what has target regions as PTX under the emulated
# driver in the folder PTXI, with PTXI_SLICE and PTXI_SEED as they are.
set -u
vv=${1:?usage: conformance.sh FOLDER-OF-OpenMP_VV [WORD]}
word=${2-}
: "${srcdir:=.}" "${builddir:=.}" "${VV_DEVICE:=host}"
out=$builddir/conformance
[ -d "$vv/tests" ] || { echo "conformance.sh: $vv has no tests/" >&2; exit 2; }

# What the suite's makefile sets: test_omp_num_teams_env_2 wants OMP_NUM_TEAMS=2.
environment() {
    case $1 in
    *_THREADS_RESERVE*)
        echo "OMP_THREAD_LIMIT=16"
        echo "OMP_THREADS_RESERVE=structured(5),free_agent(2)" ;;
    test_*_env_*)
        echo "$1" | sed 's/^test_\(.*\)_env_.*/\1/' | tr a-z A-Z | tr '\n' =
        echo "$1" | sed 's/.*_env_\([^.]*\)\..*/\1/' ;;
    esac
}

# Why clang made nothing of it.
refusal() {
    sed -n 's/.*: \(fatal \)\{0,1\}error: //p' "$1" | head -1 |
        sed 's/ \[-W.*//'
    grep -m1 -oE 'clang (crashed|did not end)[^;]*' "$1" |
        sed "s,$vv/tests/,,g"
}

# One test: its line "VERDICT<tab>test<tab>reason", and what it printed.
run_one() {
    file=$1
    test=${file#"$vv"/tests/}
    version=$(echo "${test%%/*}" | tr -d .)
    log=$out/$(echo "$test" | tr / _)
    sources=
    case $test in
    *static_lib.c) sources=--source=$vv/ompvv/libompvv.c ;;
    esac
    eval "set -- $(environment "${test##*/}" | sed "s/.*/'&'/" | tr '\n' ' ')"
    # shellcheck disable=SC2086 # VV_FLAGS are words, sources one or none
    env "$@" timeout -k 5 "$VV_LIMIT" "$out/ompjit" run --quiet $VV_FLAGS \
        --time-limit=30 -fopenmp-version="$version" -I"$vv/ompvv" \
        -D_GNU_SOURCE -lm $sources "$file" >"$log" 2>&1 </dev/null
    status=$?
    reason=
    if grep -qE '^ompjit: .*(error:|clang (crashed|did not end))' \
        "$log"; then verdict=NOCOMPILE reason=$(refusal "$log" | head -1)
    elif [ $status -eq 124 ]; then verdict=FAIL reason="time limit"
    elif grep -q 'Test skipped' "$log"; then verdict=SKIP
    elif [ $status -gt 128 ]; then
        verdict=FAIL reason="exit $status, signal $((status - 128))?"
    elif [ $status -ne 0 ]; then verdict=FAIL reason="exit $status"
    elif grep -q 'Test failed' "$log"; then verdict=FAIL reason="says so"
    else verdict=PASS; fi
    printf '%s\t%s\t%s\n' "$verdict" "$test" "$reason" >"$log.line"
}

if [ "${3-}" = --one ]; then
    run_one "$word"
    exit 0
fi

case $VV_DEVICE in
host) device=--device=host ;;
ptx)
    [ -e "${PTXI:-}/libcuda.so.1" ] ||
        { echo "conformance.sh: PTXI has no libcuda.so.1" >&2; exit 2; }
    device="--device=cuda --teams=4 --threads=32"
    LD_LIBRARY_PATH=$PTXI OMPJIT_ASSEMBLER=driver
    export LD_LIBRARY_PATH OMPJIT_ASSEMBLER ;;
*) echo "conformance.sh: VV_DEVICE=$VV_DEVICE: not host or ptx" >&2; exit 2 ;;
esac
: "${VV_FLAGS=$device}" "${VV_LIMIT:=120}"
# The suite takes several threads for granted: one test waits for the third.
[ "$(nproc)" -ge 4 ] || : "${OMP_NUM_THREADS:=4}"
[ -z "${OMP_NUM_THREADS-}" ] || export OMP_NUM_THREADS
export VV_FLAGS VV_LIMIT srcdir builddir

rm -rf "$out"
mkdir -p "$out" && cp "$builddir/ompjit" "$out/ompjit" || exit 2
find "$vv/tests" \( -name "*$word*.c" -o -name "*$word*.cpp" \) | sort |
    if [ "$VV_DEVICE" = ptx ]; then
        xargs grep -lE 'pragma omp .*target|_Pragma.*target|OMPVV_TEST_(AND|OFF)'
    else cat; fi >"$out/list"
total=$(wc -l <"$out/list")
[ "$total" -gt 0 ] || { echo "conformance.sh: no test *$word*" >&2; exit 2; }

# On a terminal a bar, else a line for every 50 tests.
progress() {
    done=$(find "$out" -name '*.line' | wc -l)
    if [ -t 2 ]; then
        bar=$(printf '%*s' $((done * 40 / total)) '' | tr ' ' '#')
        printf '\r[%-40s] %d of %d' "$bar" "$done" "$total" >&2
    elif [ $((done / 50)) -gt "${told:-0}" ]; then
        told=$((done / 50))
        echo "conformance.sh: $done of $total" >&2
    fi
}
xargs -P "${VV_JOBS:-$(nproc)}" -I{} sh "$0" "$vv" {} --one <"$out/list" &
runner=$!
while kill -0 $runner 2>/dev/null; do
    progress
    sleep 1
done
wait $runner
progress
[ -t 2 ] && echo >&2

table=$builddir/conformance.tsv
cat "$out"/*.line >"$table"
suite=$(git -C "$vv" rev-parse --short HEAD 2>/dev/null)
report() {
    awk -f "$srcdir/t/conformance.awk" -v page="$1" -v device="$VV_DEVICE" \
        -v suite="${suite:-unknown}" -v whole="${word:-yes}" \
        "$srcdir/t/conformance.causes" "$table"
}
[ -z "${VV_PAGE-}" ] || report 1 >"$VV_PAGE"
report 0
