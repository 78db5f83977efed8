#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Options of the optimizer: each is known to LLVM, and with any of them a
# program computes the same on the host device and as PTX; they come by command,
# context and environment, change the code, and are part of the cache's key.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_OPT
cached
program=$srcdir/t/opt/program.c
expect=$(sed -n 's,^// expect: ,,p' "$program")

# prints NAME COMMAND...
prints() {
    succeeds "$@"
    is "$out" "$expect" "  the same results"
}

# NAME VALUES...: values that are not the default
options() {
    cat <<'END'
openmp-opt-disable 1
openmp-opt-enable-merging 1
openmp-opt-disable-internalization 1
openmp-deduce-icv-values 1
openmp-print-icv-values 1
openmp-print-gpu-kernels 1
openmp-hide-memory-transfer-latency 1
openmp-opt-disable-deglobalization 1
openmp-opt-disable-spmdization 1
openmp-opt-disable-folding 1
openmp-opt-disable-state-machine-rewrite 1
openmp-opt-disable-barrier-elimination 1
openmp-opt-print-module-after 1
openmp-opt-print-module-before 1
openmp-opt-inline-device 1
openmp-opt-verbose-remarks 1
openmp-opt-max-iterations 0 1 3
openmp-opt-shared-limit 0 64
ompjit-share-limit 0 64
ompjit-spmd-amenable nothing
ompjit-coverage 1
END
}
options | while read -r name values; do
    for value in $values; do echo "$name=$value"; done
done >"$tmp/each"

is "$("$ompjit" help opt | sed -n 's,^  \([a-z-]*\)=.*,\1,p' |
    LC_ALL=C sort)" "$(options | sed 's/ .*//' | LC_ALL=C sort)" \
    "help lists them"
# On the host device openmp-opt works at the host half alone.
all=$(tr '\n' ',' <"$tmp/each")
for some in $all openmp-opt-enable-merging openmp-hide-memory-transfer-latency \
    openmp-deduce-icv-values; do
    prints "host: $some" timeout 120 env OMPJIT_OPT="$some" "$ompjit" run -q \
        --device=host "$program"
done
for one in $(cat "$tmp/each"); do
    if [ -e "${PTXI:-}/libcuda.so.1" ]; then
        prints "$one: PTX" emulated PTXI_SLICE=100000 \
            PTXI_LOG="$tmp/ptxi.log" timeout 120 "$ompjit" run -q \
            --opt="$one" "$program"
    fi
done
[ -e "${PTXI:-}/libcuda.so.1" ] || skip "as PTX" "PTXI names no libcuda.so.1"

# Several at once, by all ways in.
prints "two options" "$ompjit" run -q --device=host \
    --opt openmp-opt-disable-spmdization --opt=openmp-opt-shared-limit=0 \
    "$program"

# mode [OPTION]...: of the first kernel for sm_90
mode() { "$ompjit" inspect --arch sm_90 "$@" "$program" 2>&1 |
    sed -n 's/^  mode *//p' | sed -n 1p; }
is "$(mode)" "SPMD, generic in the source" "without options: SPMD"
is "$(mode --opt=openmp-opt-disable-spmdization)" generic "by the command"
is "$(mode --opt=openmp-opt-disable-spmdization=true)" generic "a word"
is "$(OMPJIT_OPT=openmp-opt-disable-spmdization mode)" generic \
    "by the environment"
is "$(OMPJIT_OPT=openmp-opt-disable-spmdization,openmp-opt-disable-folding \
    mode --opt=openmp-opt-disable-spmdization=0)" \
    "SPMD, generic in the source" "the command's come later"
is "$(mode)" "SPMD, generic in the source" "the cache keeps them apart"
is "$(mode --opt=openmp-opt-disable)" generic "no openmp-opt at all"

list='openmp-opt-disable, openmp-opt-enable-merging, .*openmp-opt-shared-limit'
fails_with "no option openmp-opt-spmd; it has $list" "an unknown name" \
    "$ompjit" compile --opt=openmp-opt-spmd=1 -o "$tmp/a.ptx" "$program"
fails_with "OMPJIT_OPT: .*no option x; it has $list" "in the environment" \
    env OMPJIT_OPT=x "$ompjit" compile -o "$tmp/a.ptx" "$program"
fails_with 'disable is 0 or 1, not 2' "a wrong value" \
    "$ompjit" explain --opt=openmp-opt-disable=2 "$program"
fails_with 'is a number from 0 to 4294967295, not 4294967296' \
    "a number that is too large" "$ompjit" inspect \
    --opt=openmp-opt-shared-limit=4294967296 "$program"
fails_with 'is a number from 0 to 4294967295, not \(nothing\)' "no number" \
    "$ompjit" inspect --opt=openmp-opt-shared-limit "$program"

for one in ompjit-spmd-amenable ompjit-spmd-amenable=; do
    fails_with 'amenable is the name of a function, not \(nothing\)' "$one" \
        "$ompjit" inspect --opt=$one "$program"
done

"$ompjit" compile -v --no-cache --opt=openmp-opt-print-module-before \
    -o "$tmp/a.ptx" "$program" 2>"$tmp/log"
like "$(cat "$tmp/log")" 'before openmp-opt:$' "the log has the IR before"
like "$(cat "$tmp/log")" '^define .*ptx_kernel' "  with kernels"
like "$(cat "$tmp/log")" 'call .*@__kmpc_parallel_60' "  as openmp-opt sees it"
done_testing
