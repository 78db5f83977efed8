#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the C, C++ and Fortran tests of OpenMP_VV, a conformance suite that is
# kept outside of this repository, through `ompjit run`, each with the OpenMP version
# of its folder and the environment that the suite's own makefile gives it:
#
#   make check-vv VV=path [VV_T=word] [VV_DEVICE=host|ptx] [VV_PAGE=file.md]
#                 [VV_SCHEDULES="SLICE=4 SEED=1"] [VV_RESUME=1]
#
# A test passes when it exits with 0 and does not print "Test failed". The table
# goes to conformance.tsv in the build tree, each test's output to conformance/;
# VV_PAGE also writes the page. conformance.causes says why a test cannot pass;
# the exit status is 1 where one fails that is not listed there, or one passes
# that is.
#
# VV_SCHEDULES="host exec" also builds each test ahead of time and runs it as
# `ompjit exec`: C and C++ by clang 22's own driver, which embeds bitcode
# (-fopenmp-target-jit), Fortran by `ompjit fc`, as flang's driver embeds none.
#
# VV_DEVICE=ptx runs what has target regions as PTX under the emulated driver in
# the folder PTXI, in each of VV_SCHEDULES (PTXI_SLICE and PTXI_SEED; four of
# them unless it says otherwise), of which the first is the page's. A verdict
# that differs between two schedules makes the exit status 1, too. VV_RESUME=1
# goes on where a run was interrupted, with the tool that it began with.
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

# built FILE VERSION SOURCE: the executable $log.built/program, linked with
# LLVM's own libomptarget where there is one
built() {
    mkdir -p "$log.built"
    embed="--offload-arch=sm_90 -fopenmp-target-jit -nogpulib -L$out/lib"
    case $1 in
    *.F90) compiler="$out/ompjit fc" embed="-J$log.built" ;;
    *.cpp) compiler=${CLANG:-clang-22} embed="--driver-mode=g++ $embed" ;;
    *) compiler=${CLANG:-clang-22} ;;
    esac
    # shellcheck disable=SC2086 # a command, options, one source or none
    timeout -k 5 "$VV_LIMIT" $compiler $embed -O2 -fopenmp \
        -fopenmp-version="$2" -I"$vv/ompvv" -D_GNU_SOURCE $3 "$1" \
        -o "$log.built/program" -lm
}

# Why the compiler made nothing of it: by a place in the source, or, of flang,
# by what it says of the IR that it has made.
refused='^(ompjit: )?(.*:[0-9]+:[0-9]+: |fatal )?error: '
refused="$refused|(clang|flang) (crashed|did not end)"
refusal() {
    sed -nE 's/^(ompjit: )?(.*: )?(fatal )?error: //p' "$1" | head -1 |
        sed 's/ \[-W.*//; s/^loc([^)]*): //'
    grep -m1 -oE '(clang|flang) (crashed|did not end)[^;]*' "$1" |
        sed "s,$vv/tests/,,g"
}

# Of what `times` printed: seconds of processor time of the shell's children.
seconds() {
    awk -F'[ms ]+' 'NR == 2 { printf "%.1f\n", ($1 + $3) * 60 + $2 + $4 }' "$1"
}

# One test: its line, and what it printed.
run_one() {
    file=$1
    test=${file#"$vv"/tests/}
    version=$(echo "${test%%/*}" | tr -d .)
    log=$out/$VV_SCHEDULE/$(echo "$test" | tr / _)
    [ ! -s "$log.line" ] || return 0 # VV_RESUME
    source=
    case $test in
    *static_lib.c) source=$vv/ompvv/libompvv.c ;;
    esac
    eval "set -- $(environment "${test##*/}" | sed "s/.*/'&'/" | tr '\n' ' ')"
    no_program=
    # shellcheck disable=SC2086 # VV_FLAGS are words
    case $VV_SCHEDULE in
    exec)
        built "$file" "$version" "$source" >"$log" 2>&1 </dev/null ||
            no_program=yes
        [ -n "$no_program" ] ||
            env "$@" timeout -k 5 "$VV_LIMIT" "$out/ompjit" exec --quiet \
                $VV_FLAGS "$log.built/program" >"$log" 2>&1 </dev/null
        status=$?
        rm -rf "$log.built" ;;
    *)
        env "$@" timeout -k 5 "$VV_LIMIT" "$out/ompjit" run --quiet $VV_FLAGS \
            --time-limit=30 -fopenmp-version="$version" -I"$vv/ompvv" \
            -D_GNU_SOURCE -lm ${source:+"--source=$source"} "$file" \
            >"$log" 2>&1 </dev/null
        status=$? ;;
    esac
    times >"$log.times"
    reason=
    if [ -n "$no_program" ]; then
        verdict=NOCOMPILE reason=$(refusal "$log" | head -1)
        [ -n "$reason" ] || verdict=FAIL reason="no executable"
    elif [ $status -ne 0 ] && grep -q '^ompjit: ' "$log" &&
        grep -qE "$refused" "$log"; then verdict=NOCOMPILE reason=$(refusal "$log" | head -1)
    elif [ $status -eq 124 ]; then verdict=FAIL reason="time limit"
    elif grep -q 'Test skipped' "$log"; then verdict=SKIP
    elif [ $status -gt 128 ]; then
        verdict=FAIL reason="exit $status, signal $((status - 128))?"
    elif [ $status -ne 0 ]; then verdict=FAIL reason="exit $status"
    elif grep -q 'Test failed' "$log"; then verdict=FAIL reason="says so"
    else verdict=PASS; fi
    printf '%s\t%s\t%s\t%s\t%s\n' "$verdict" "$test" "$reason" "$VV_SCHEDULE" \
        "$(seconds "$log.times")" >"$log.line.new" && mv "$log.line.new" "$log.line"
}

if [ "${3-}" = --one ]; then
    run_one "$word"
    exit 0
fi

unset PTXI_SLICE PTXI_SEED
case $VV_DEVICE in
host)
    device=--device=host
    : "${VV_SCHEDULES:=host}" ;;
ptx)
    [ -e "${PTXI:-}/libcuda.so.1" ] ||
        { echo "conformance.sh: PTXI has no libcuda.so.1" >&2; exit 2; }
    device="--device=cuda --teams=4 --threads=32"
    : "${VV_SCHEDULES:=SLICE=100000 SLICE=4 SEED=1 SEED=2}" "${VV_LIMIT:=900}"
    LD_LIBRARY_PATH=$PTXI OMPJIT_ASSEMBLER=driver
    export LD_LIBRARY_PATH OMPJIT_ASSEMBLER ;;
*) echo "conformance.sh: VV_DEVICE=$VV_DEVICE: not host or ptx" >&2; exit 2 ;;
esac
: "${VV_FLAGS=$device}" "${VV_LIMIT:=120}"
# The suite takes several threads for granted: one test waits for the third.
[ "$(nproc)" -ge 4 ] || : "${OMP_NUM_THREADS:=4}"
[ -z "${OMP_NUM_THREADS-}" ] || export OMP_NUM_THREADS
export VV_FLAGS VV_LIMIT srcdir builddir

# Copies from the tool's folder $1 what `ompjit exec` and `ompjit fc` need; and
# into lib the library that executables of clang's are linked with.
copy_dropin() {
    mkdir -p "$out/.libs" "$out/lib" &&
        cp -P "$1"/.libs/libompjit.so* "$1"/.libs/libompjit-omptarget.so* \
            "$out/.libs" && cp -RP "$1/.libs/omptarget" "$out/.libs" &&
        cp -RP "$1/clang-tools" "$out" ||
        return
    theirs=$(dirname "$(readlink -f "$(command -v "${CLANG:-clang-22}")")")
    theirs=$(find "$theirs/../lib/" -maxdepth 1 -name 'libomptarget.so*' |
        sort | head -n 1)
    ln -s "${theirs:-$out/.libs/omptarget/libomptarget.so}" \
        "$out/lib/libomptarget.so"
}

if [ -z "${VV_RESUME-}" ] || [ ! -x "$out/ompjit" ]; then
    rm -rf "$out"
    tool=$(readlink -f "$builddir/ompjit")
    mkdir -p "$out" && cp "$tool" "$out/ompjit" &&
        cp "$(dirname "$tool")/ompjitc" "$out" &&
        cp "$(dirname "$tool")/.libs/libompjit-compiler.so.0" "$out" || exit 2
    case " $VV_SCHEDULES " in
    *' exec '*) copy_dropin "$(dirname "$tool")" || exit 2 ;;
    esac
fi
command -v flang-22 >/dev/null ||
    echo "conformance.sh: no flang-22, so no Fortran" >&2
find "$vv/tests" -name "*$word*" \( -name '*.c' -o -name '*.cpp' \
    -o -name '*.F90' \) | sort |
    if command -v flang-22 >/dev/null; then cat; else grep -v '[.]F90$'; fi |
    if [ "$VV_DEVICE" = ptx ]; then
        xargs grep -liE \
            '(pragma|!\$) *omp .*target|_Pragma.*target|OMPVV_TEST_(AND|OFF)'
    else cat; fi >"$out/list"
[ -s "$out/list" ] || { echo "conformance.sh: no test *$word*" >&2; exit 2; }

# On a terminal a bar, else a line for every 50 tests.
progress() {
    done=$(find "$out/$VV_SCHEDULE" -maxdepth 1 -name '*.line' | wc -l)
    if [ -t 2 ]; then
        bar=$(printf '%*s' $((done * 40 / total)) '' | tr ' ' '#')
        printf '\r%s [%-40s] %d of %d' "$VV_SCHEDULE" "$bar" "$done" "$total" >&2
    elif [ $((done / 50)) -gt "$told" ]; then
        told=$((done / 50))
        echo "conformance.sh: $VV_SCHEDULE: $done of $total" >&2
    fi
}

# run_all LIST: under the schedule that is set.
run_all() {
    mkdir -p "$out/$VV_SCHEDULE"
    total=$(wc -l <"$1")
    told=0
    xargs -P "${VV_JOBS:-$(nproc)}" -I{} sh "$0" "$vv" {} --one <"$1" &
    runner=$!
    while kill -0 $runner 2>/dev/null; do
        progress
        sleep 1
    done
    wait $runner
    progress
    [ ! -t 2 ] || echo >&2
}

table=$builddir/conformance.tsv
: >"$table"
list=$out/list
for VV_SCHEDULE in $VV_SCHEDULES; do
    export VV_SCHEDULE
    # shellcheck disable=SC2163 # a variable and its value
    case $VV_DEVICE in
    ptx) (export "PTXI_$VV_SCHEDULE" && run_all "$list") ;;
    *) run_all "$list" ;;
    esac
    cat "$out/$VV_SCHEDULE"/*.line >>"$table"
    # What a compiler refuses it refuses again.
    if [ "$list" = "$out/list" ]; then
        list=$out/compiled
        awk -F'\t' -v vv="$vv" '$1 != "NOCOMPILE" { print vv "/tests/" $2 }' \
            "$table" >"$list"
    fi
done

suite=$(git -C "$vv" rev-parse --short HEAD 2>/dev/null)
report() {
    awk -f "$srcdir/t/conformance.awk" -v page="$1" -v device="$VV_DEVICE" \
        -v suite="${suite:-unknown}" -v whole="${word:-yes}" \
        "$srcdir/t/conformance.causes" "$table"
}
[ -z "${VV_PAGE-}" ] || report 1 >"$VV_PAGE"
report 0
