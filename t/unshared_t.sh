#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What specialized kernels believe of pointers that share storage with nothing
# else: right where another way leads there, and believed in spite of variables.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_HOST_MEMORY OMPJIT_TEAMS OMPJIT_THREADS
program=$srcdir/t/data/unshared.c

# right NAME COMMAND...
right() {
    what=$1; shift
    succeeds "$what" timeout 120 "$@" --explain "$program"
    is "$out" "2 3 4 1000 1 5" "  all pointers lead where they lead"
}
believed() {
    explained=$(cat "$tmp/stderr")
    like "$(echo "$explained" | sed -n '/^add:/,/all values/p')" \
        'unshared y x' "  arguments are not the variables"
    is "$(echo "$explained" | sed -n '/^own:/,/all values/p' |
        grep -c unshared)" 0 "  but one that is"
}

for specialize in off now; do
    export OMPJIT_SPECIALIZE=$specialize
    for memory in shared separate auto; do
        for threads in 1 40; do
            right "$specialize: host, $memory memory, $threads threads" \
                "$ompjit" run --device=host --host-memory=$memory \
                --threads=$threads
            case $specialize-$memory in
            now-separate | now-auto) believed ;;
            esac
        done
    done
    if [ -e "${PTXI:-}/libcuda.so.1" ]; then
        right "$specialize: PTX" env LD_LIBRARY_PATH="$PTXI" \
            OMPJIT_ASSEMBLER=driver "$ompjit" run --device=cuda
        if [ $specialize = now ]; then believed; fi
    else
        pass "$specialize: PTX # SKIP PTXI names no emulated libcuda.so.1"
    fi
done
done_testing
