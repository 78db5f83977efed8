#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs about variables that a target region's main thread shares with
# its parallel regions (t/random_sharing.c) agree with their serial forms, on the
# host device, checked there, and as PTX in four schedules, one of them of kernels
# that are kept generic, as clang's IR and with plain allocas, as other front ends
# leave such variables. Programs FIRST to LAST, of one target region and of
# three, by
#
#   make check T=random_sharing RANDOM_SHARING="FIRST LAST"
#
# Otherwise a few, among them those that once found something.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_OPT OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_SPECIALIZE

# agrees NAME COMMAND... PROGRAM
agrees() {
    name=$1; shift
    out=$(timeout 120 env OMP_TARGET_OFFLOAD=mandatory "$@" 2>&1)
    [ "$out" = "0 wrong" ] || wrong="$wrong; $name: $out"
}

# program SEED REGIONS
program() {
    wrong=
    "$builddir/t/random_sharing" "$1" "$2" >"$tmp/p.c"
    "$ompjit" compile -q -fwrapv "$tmp/p.c" -o "$tmp/p.ll" &&
        "$ompjit" compile -q -fwrapv "$tmp/p.c" --emit host-ll \
            -o "$tmp/host.ll" || wrong="; clang's IR"
    sed 's/call align 16 ptr @__kmpc_alloc_shared(i64 \([0-9]*\))/alloca [\1 x i8], align 8/
        /call void @__kmpc_free_shared/d' "$tmp/p.ll" >"$tmp/plain.ll"
    agrees host "$ompjit" run -q -fwrapv --device=host "$tmp/p.c"
    agrees "plain, host" "$ompjit" run -q --device=host \
        --host-ir "$tmp/host.ll" "$tmp/plain.ll"
    if [ -e "${PTXI:-}/libcuda.so.1" ]; then
        for schedule in PTXI_SLICE=100000 "PTXI_SLICE=4 PTXI_SEED=$1" \
            "PTXI_SLICE=1 PTXI_SEED=9" \
            "PTXI_SLICE=32 OMPJIT_OPT=openmp-opt-disable-spmdization"; do
            # shellcheck disable=SC2086
            agrees "PTX, $schedule" $schedule LD_LIBRARY_PATH="$PTXI" \
                OMPJIT_ASSEMBLER=driver PTXI_LOG="$tmp/ptxi.log" \
                "$ompjit" run -q -fwrapv --device=cuda "$tmp/p.c"
            # shellcheck disable=SC2086
            agrees "plain, PTX, $schedule" $schedule LD_LIBRARY_PATH="$PTXI" \
                OMPJIT_ASSEMBLER=driver PTXI_LOG="$tmp/ptxi.log" \
                "$ompjit" run -q --device=cuda --host-ir "$tmp/host.ll" \
                "$tmp/plain.ll"
        done
    fi
    agrees check "$ompjit" run -q -fwrapv --device=host --check "$tmp/p.c"
    agrees "plain, check" "$ompjit" run -q --device=host --check \
        --host-ir "$tmp/host.ll" "$tmp/plain.ll"
    is "$wrong" "" "program $1, regions: $2"
}

if [ -n "${RANDOM_SHARING:-}" ]; then
    i=${RANDOM_SHARING% *}
    while [ "$i" -le "${RANDOM_SHARING#* }" ]; do
        program "$i" 1
        program "$i" 3
        i=$((i + 1))
    done
else
    for i in 1 2 4 19 23; do program $i 1; done
    program 5 3
fi
[ -e "${PTXI:-}/libcuda.so.1" ] || skip "as PTX" "PTXI names no libcuda.so.1"
done_testing
