#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The programs of t/programs (program_t.sh has their first lines), built ahead of
# time by clang with optimization and linked with libompjit-omptarget, on the host
# device in separate and in auto memory and as PTX. One that says
#
#   // not ahead of time: REASON
#
# is right only if this library sees what clang makes before it optimizes.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/dropin/built.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY OMPJIT_CACHE
OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE_DIR
! lacks objcopy "programs built ahead of time" || { done_testing; exit; }

says() { sed -n "s,^// $2: ,,p" "$1"; }
# options PROGRAM: those that clang takes
options() {
    for word in $(says "$1" options); do
        case $word in --* | -O?) ;; *) echo "$word" ;; esac
    done
}
# prints TEXT NAME COMMAND...
prints() {
    text=$1; shift
    succeeds "$@"
    is "$out" "$text" "  prints what it must"
}

for program in "$srcdir"/t/programs/*.c "$srcdir"/t/programs/*.cpp; do
    name=${program##*/}
    reason=$(says "$program" "not ahead of time")
    if [ -n "$reason" ]; then
        skip "$name" "$reason"
        continue
    fi
    threads=$(says "$program" options | sed -n 's/.*--threads=\([0-9]*\).*/\1/p')
    expect=$(says "$program" expect)
    expect_cuda=$(says "$program" "expect cuda")
    # shellcheck disable=SC2046 # several words
    succeeds "$name" built program $(options "$program") -- "$program"
    for memory in separate auto; do
        prints "$expect" "$name: host, $memory memory" timeout 120 env \
            OMPJIT_DEVICE=host OMPJIT_HOST_MEMORY=$memory \
            ${threads:+OMPJIT_THREADS=$threads} "$tmp/program" host
    done
    [ -e "${PTXI:-}/libcuda.so.1" ] || continue
    prints "${expect_cuda:-$expect}" "$name: PTX" timeout 120 env \
        LD_LIBRARY_PATH="$PTXI" OMPJIT_DEVICE=cuda OMPJIT_ASSEMBLER=driver \
        OMPJIT_TEAMS=4 OMPJIT_THREADS="${threads:-32}" "$tmp/program" cuda
done

# Without optimization, where clang asks that functions stay as they are.
succeeds "-O0" built program -O0 -- "$srcdir/t/programs/generic_region.c"
prints "$(says "$srcdir/t/programs/generic_region.c" expect)" "  runs" \
    env OMPJIT_DEVICE=host "$tmp/program" host
done_testing
