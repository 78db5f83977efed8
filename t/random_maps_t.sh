#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs that map data (t/random_maps.c) print what separate memories
# of host and device make them print: in copies, in memory that is shared where
# no program can tell, and on a GPU. Programs FIRST to LAST run by
#
#   make check T=random_maps RANDOM_MAPS="FIRST LAST"
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_HOST_MEMORY OMPJIT_TEAMS OMPJIT_THREADS \
    OMPJIT_SPECIALIZE OMPJIT_TUNE OMP_NUM_THREADS
OMP_TARGET_OFFLOAD=mandatory
export OMP_TARGET_OFFLOAD

# prints WAY [NAME=VALUE]... COMMAND...: runs the program by the command.
prints() {
    way=$1
    shift
    env "$@" "$tmp/program.c" >"$tmp/out" 2>"$tmp/stderr" </dev/null
    status=$?
    [ $status = 0 ] && cmp -s "$tmp/out" "$tmp/expected" && return
    failures=$((failures + 1))
    printf '%s: exit status %s\n' "$way" $status |
        cat - "$tmp/stderr" | head -6 | sed 's/^/# /' >&2
    diff "$tmp/expected" "$tmp/out" | head -6 | sed 's/^/# /' >&2
}

# program SEED: on a GPU every third one.
program() {
    "$builddir/t/random_maps" "$1" "$tmp/program.c" "$tmp/expected"
    failures=0
    for memory in separate auto; do
        prints $memory timeout 60 "$ompjit" run -q --device=host \
            --host-memory=$memory
    done
    if [ -n "$gpu" ] && [ $(($1 % 3)) = 0 ]; then
        prints GPU LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
            timeout 60 "$ompjit" run -q --device=cuda
    fi
    is $failures 0 "program $1"
}

gpu=
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    gpu=yes
else
    pass "as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi
# shellcheck disable=SC2086
for seed in $(seq ${RANDOM_MAPS:-1 20}) 112; do program "$seed"; done
done_testing
