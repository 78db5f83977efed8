#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs whose threads communicate (t/random_threads.c) agree with
# their serial models, however they are specialized, optimized, scheduled and
# checked. Programs FIRST to LAST run in all ways by
#
#   make check T=random_threads RANDOM_THREADS="FIRST LAST"
#
# Otherwise 50 programs run, each in a few ways.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_HOST_MEMORY OMPJIT_TEAMS OMPJIT_THREADS \
    OMPJIT_SPECIALIZE OMPJIT_TUNE OMP_NUM_THREADS
OMP_TARGET_OFFLOAD=mandatory
export OMP_TARGET_OFFLOAD

# Each line: host or cuda, what the environment has, options. A number of
# threads for libomp makes teams run on one OS thread or on several.
ways='host OMPJIT_SPECIALIZE=off -O3
host OMPJIT_SPECIALIZE=now -O3 --host-memory=shared
cuda OMPJIT_SPECIALIZE=now,PTXI_SLICE=4,PTXI_SEED=2 -O3
host OMPJIT_SPECIALIZE=now,OMP_NUM_THREADS=1 -O2 --host-memory=separate
cuda OMPJIT_SPECIALIZE=off,PTXI_SLICE=100000 -O2
host OMPJIT_SPECIALIZE=auto -O1
cuda OMPJIT_SPECIALIZE=auto,PTXI_SEED=7,PTXI_STREAM=lazy -O1
host OMPJIT_SPECIALIZE=now -O0
cuda OMPJIT_SPECIALIZE=now,PTXI_SLICE=100000 -O3
host OMPJIT_SPECIALIZE=off,OMP_NUM_THREADS=1 -O1 --host-memory=shared
cuda OMPJIT_SPECIALIZE=now,PTXI_SLICE=1 -O0
host OMPJIT_SPECIALIZE=auto -O3 --check
host OMPJIT_SPECIALIZE=now,OMPJIT_TUNE=1 -O2
cuda OMPJIT_SPECIALIZE=off,PTXI_SEED=3 -O3
host OMPJIT_SPECIALIZE=off,OMP_NUM_THREADS=5 -O3 --host-memory=auto'
nways=$(printf '%s\n' "$ways" | wc -l)

# agrees SEED WAY: a failure names both.
agrees() {
    echo "$2" >"$tmp/way"
    read -r device environment options <"$tmp/way"
    environment=$(echo "$environment" | tr , ' ')
    [ "$device" = host ] || environment="$environment LD_LIBRARY_PATH=$PTXI \
        OMPJIT_ASSEMBLER=driver"
    # shellcheck disable=SC2086
    out=$(env $environment timeout 60 "$ompjit" run -q --device=$device \
        $options "$tmp/program.c" 2>"$tmp/stderr" </dev/null)
    status=$?
    if [ "$out,$status" != agrees,0 ]; then
        failures=$((failures + 1))
        printf 'program %s, %s: exit status %s\n%s\n' "$1" "$2" $status \
            "$out" | cat - "$tmp/stderr" | head -6 | sed 's/^/# /' >&2
    fi
}

# program SEED STEP: in every STEPth way.
program() {
    "$builddir/t/random_threads" "$1" >"$tmp/program.c"
    failures=0
    i=$(($1 % $2))
    while [ "$i" -lt "$nways" ]; do
        agrees "$1" "$(printf '%s\n' "$ways" | sed -n "$((i + 1))p")"
        i=$((i + $2))
    done
    is $failures 0 "program $1"
}

if [ ! -e "${PTXI:-}/libcuda.so.1" ]; then
    ways=$(printf '%s\n' "$ways" | grep ^host)
    nways=$(printf '%s\n' "$ways" | wc -l)
    pass "as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi
if [ -n "${RANDOM_THREADS-}" ]; then
    for seed in $(seq $RANDOM_THREADS); do program "$seed" 1; done
else
    for seed in $(seq 1 50); do program "$seed" 7; done
fi
done_testing
