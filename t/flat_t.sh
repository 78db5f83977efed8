#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Kernels whose regions are flat have no thread's state in their code, plain ones
# nothing of the runtime at all, and whatever only looks so computes what it
# should: on the host device, as PTX and specialized.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
program=$srcdir/t/programs/flat.c

right() {
    succeeds "$@"
    is "$out" right "  is right"
}

# Variables of the runtime in the optimized code of a case, in a line.
state() {
    "$ompjit" compile --arch sm_90 "-DCASE=$1" "$program" --emit opt-ll -o - |
        grep -o '^@\(ompjit_[a-z]*\|arena\) ' | sort | tr -d '@\n'
}

for n in 0 1 2 3 4 5 6; do
    case=-DCASE=$n
    right "case $n on the host device" timeout 300 "$ompjit" run \
        --device=host --threads=32 "$case" "$program"
    if [ -e "${PTXI:-}/libcuda.so.1" ]; then
        right "  as PTX" emulated OMPJIT_THREADS=64 timeout 400 "$ompjit" run \
            "$case" "$program"
        right "  as PTX, specialized" emulated OMPJIT_SPECIALIZE=now \
            timeout 400 "$ompjit" run "$case" "$program"
    else
        pass "as PTX # SKIP PTXI names no emulated libcuda.so.1"
    fi
    case $n in
    0) is "$(state $n)" "" "  nothing of the runtime is left" ;;
    1 | 6) is "$(state $n | grep -c ompjit_states)" 0 \
        "  threads have no states" ;;
    *) like "$(state $n)" ompjit_states "  threads have states" ;;
    esac
done

# The plain runtimes have the functions that they are made for, and take nothing
# from elsewhere but printing, the engine and what the pipeline defines.
nm() { "$LLVM_BINDIR/llvm-nm" "$@" "$bitcode"; }
for bitcode in "$builddir"/runtime-bc/ompjit_rt_plain_*.bc; do
    cpu=${bitcode##*plain_} cpu=${cpu%.bc}
    case $cpu in
    nvptx64) rows='PLAIN\(\)' others="ompjit_invoke vprintf" ;;
    *) rows='PLAIN\(_HOST\)*' others="ompjit_host_barrier ompjit_host_self"
        others="$others ompjit_host_shuffle ompjit_host_trap"
        others="$others ompjit_host_warp_sync ompjit_invoke" ;;
    esac
    sed -n "s/^$rows(\(.*\))\$/\2/p" "$srcdir/libompjit/passes/execution/plain.def" |
        sort >"$tmp/listed"
    nm --defined-only | awk '{ print $3 }' | grep -E '^(__kmpc|omp)_' |
        sort >"$tmp/defined"
    is "$(diff "$tmp/listed" "$tmp/defined")" "" \
        "the plain runtime for $cpu has its functions"
    is "$(nm --undefined-only | awk '{ print $2 }' | paste -s -d ' ' -)" \
        "$others" "  and needs no others"
done
done_testing
