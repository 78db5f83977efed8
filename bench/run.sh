#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make bench: each of ours beside its peer in one run, turn by turn, because a
# machine's speed is another an hour later. Writes a table and JSON to
# bench/ in the build folder. ROUNDS=n (default 5) rounds. PROTEUS=prefix is an
# installation of Proteus to compare with, PROTEUS_LLVM_CONFIG the llvm-config of
# the LLVM that it was built with (default: llvm-config).
set -eu
: "${srcdir:?}" "${builddir:?}" "${CLANG:?}"
rounds=${ROUNDS:-5}
out=$builddir/bench
ompjit=$builddir/ompjit
samples=$out/samples.tsv
OMPJIT_DEVICE=host OMPJIT_CACHE=0
export OMPJIT_DEVICE OMPJIT_CACHE
: >"$samples"

note() { printf 'bench: %s\n' "$*" >&2; }
# add GROUP NAME SIDE VALUE UNIT
add() { printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$samples"; }
milliseconds() { awk "BEGIN { print $1 * 1000 }"; }

native() { # native OUTPUT SOURCE FLAG...
    native_out=$1; shift
    "$CLANG" -O3 -march=native -fopenmp -o "$native_out" "$@" \
        -L"$(dirname "$LIBOMP")" -Wl,-rpath,"$(dirname "$LIBOMP")"
}

throughput() {
    note "throughput of the host device against clang -O3 -march=native"
    native "$out/kernels" "$srcdir/bench/kernels.c"
    for _ in $(seq "$rounds"); do
        for kernel in saxpy dot jacobi matmul sum generic; do
            ours=$("$ompjit" run "$srcdir/bench/kernels.c" $kernel 10)
            theirs=$("$out/kernels" $kernel 10)
            add "host throughput" $kernel ours "$(milliseconds "$ours")" ms
            add "host throughput" $kernel clang "$(milliseconds "$theirs")" ms
        done
    done
}

barriers() {
    note "barriers of 128 threads"
    native "$out/barrier" "$srcdir/bench/barrier.c"
    for _ in $(seq "$rounds"); do
        ours=$(OMPJIT_THREADS=128 "$ompjit" run "$srcdir/bench/barrier.c" \
            target 2000)
        theirs=$("$out/barrier" libomp 200)
        add "barrier of 128 threads" "a round" ours \
            "$(awk "BEGIN { print $ours * 1e6 }")" us
        add "barrier of 128 threads" "a round" libomp \
            "$(awk "BEGIN { print $theirs * 1e6 }")" us
    done
}

# The best of so many runs in a process; specialized is compiled before them.
# One thread on both sides: how many libomp gives a league is its own affair. A
# run takes half a millisecond: a few of them lie in one slice of the scheduler.
special_repeats=100
special() { # special POLICY KERNEL
    OMP_NUM_THREADS=1 OMPJIT_SPECIALIZE=$1 "$ompjit" run \
        "$srcdir/bench/special.c" "$2" $special_repeats
}

specialization() {
    note "specialized kernels against generic ones, and against C with constants"
    native "$out/special" "$srcdir/bench/special.c" -DBY_HAND -lm
    for _ in $(seq "$rounds"); do
        for kernel in stencil products4 products8 products32 polynomial push \
            sparse; do
            ours=$(special now $kernel)
            generic=$(special off $kernel)
            hand=$(OMP_NUM_THREADS=1 "$out/special" $kernel $special_repeats)
            group="specialized, against generic"
            add "$group" $kernel ours "$(milliseconds "$ours")" ms
            add "$group" $kernel generic "$(milliseconds "$generic")" ms
            group="specialized, against by hand"
            add "$group" $kernel ours "$(milliseconds "$ours")" ms
            add "$group" $kernel "by hand" "$(milliseconds "$hand")" ms
        done
    done
}

variants() {
    note "new specializations"
    "$out/variants" $((rounds * 4)) >>"$samples" || note "  left out"
}

find_nvrtc() {
    for file in "${CUDA_DIR:-/nonexistent}"/lib64/libnvrtc.so.1[0-9] \
        "$builddir"/cuda-wheels/nvidia/*/lib/libnvrtc.so.1[0-9]; do
        if [ -e "$file" ]; then echo "$file"; return; fi
    done
}

cubins() {
    note "source to cubin"
    nvrtc=$(find_nvrtc)
    [ -n "$nvrtc" ] || note "  no NVRTC here: ours alone"
    # shellcheck disable=SC2086 # absent or one word
    "$out/cubin" $((rounds * 3)) $nvrtc >>"$samples" ||
        note "  left out: no cubin can be made here"
}

launches() {
    note "launches on the host device"
    peer=no
    if "$CLANG" -O3 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu \
        -Wl,-rpath,"$(dirname "$LIBOMP")" \
        -o "$out/empty" "$srcdir/bench/empty.c" 2>"$out/empty.log" &&
        "$out/empty" 10 >/dev/null 2>&1; then
        peer=yes
    else
        note "  LLVM's host plugin is not here (it takes liboffload-22-dev," \
            "clang-tools-22 and lld-22): ours alone"
    fi
    for _ in $(seq "$rounds"); do
        "$out/dispatch" 100 >>"$samples"
        "$out/launch" 20000 >>"$samples" || note "  launch failed"
        [ $peer = yes ] || continue
        "$out/empty" 20000 | while read -r what seconds; do
            case $what in
            region) name="empty target region" ;;
            loop) name="loop of 4 iterations" ;;
            esac
            add "launch on the host" "$name" libomptarget \
                "$(awk "BEGIN { print $seconds * 1e6 }")" us
        done
    done
}

registered() {
    note "entries of registered libraries"
    for _ in $(seq "$rounds"); do
        "$out/entries" >>"$samples" || note "  failed"
    done
}

# sizes BODY REST: loops of all sizes, turn by turn in one process. The peer is
# the better of one thread and all; then clang's program, behind ours.
sizes() {
    sizes_group="loops, without a pause"
    [ "$2" = 0 ] || sizes_group="loops, after $2 ms of rest"
    "$ompjit" run -O3 "$srcdir/bench/sizes.c" "$1" "$2" >"$out/sizes.ours"
    "$out/sizes" "$1" "$2" >"$out/sizes.clang"
    awk -v OFS='\t' -v group="$sizes_group" -v body="$1" '
        { name = body ", " $1 " iterations"; best = $3 < $4 ? $3 : $4
          print group, name, "ours", $2, "us"
          print group, name, "better of 1 and all", best, "us" }
        ' "$out/sizes.ours" >>"$samples"
    paste -d' ' "$out/sizes.ours" "$out/sizes.clang" |
        awk -v OFS='\t' -v group="$sizes_group" -v body="$1" '
        { name = body ", " $1 " iterations"
          print group ", clang", name, "ours", $2, "us"
          print group ", clang", name, "clang", $6, "us" }' >>"$samples"
}

loop_sizes() {
    note "loops of 10 to 10 million iterations"
    native "$out/sizes" "$srcdir/bench/sizes.c" -DNATIVE
    for _ in $(seq "$rounds"); do
        for rest in 0 300; do
            sizes cheap $rest
            sizes dear $rest
        done
    done
}

# Teams of several threads: on the host device loops over thread numbers, also of
# `reduce`, `tiles` and `histogram`, whose threads meet at barriers.
by_number() {
    note "work by thread number, in teams of 256 threads"
    native "$out/threads" "$srcdir/bench/threads.c"
    for _ in $(seq "$rounds"); do
        for kernel in map stride rows bodies reduce tiles histogram; do
            ours=$("$ompjit" run "$srcdir/bench/threads.c" $kernel 10 2>&-)
            theirs=$("$out/threads" $kernel 10 2>&-)
            add "work by thread number" $kernel ours "$(milliseconds "$ours")" ms
            add "work by thread number" $kernel clang \
                "$(milliseconds "$theirs")" ms
        done
    done
}

# start NAME SIDE COMMAND...
start() {
    start_name=$1 start_side=$2; shift 2
    add "process start" "$start_name" "$start_side" \
        "$("$out/spawn" "$@" 2>&1 >/dev/null)" ms
}

starts() {
    note "process start"
    printf 'int main(void) { return 0; }\n' >"$out/nothing.c"
    "$CLANG" -o "$out/nothing" "$out/nothing.c"
    cp "$out/nothing" "$out/empty_program"
    for _ in $(seq $((rounds * 4))); do
        start "ompjit version" ours "$ompjit" version
        start "ompjit version" "/bin/true" /bin/true
        start "linked to the library" ours "$out/calls"
        start "linked to the library" "empty program" "$out/empty_program"
        start "ompjit run nothing.c" ours "$ompjit" run "$out/nothing.c"
        start "ompjit run nothing.c" "clang and run" sh -c \
            "'$CLANG' -fopenmp -O3 -o '$out/nothing' '$out/nothing.c' \
            -L$(dirname "$LIBOMP") && '$out/nothing'"
    done
}

prompt() {
    note "inputs of ompjit repl against clang-repl"
    N=$((rounds * 4)) MANY=0 SAMPLES=$samples sh "$srcdir/bench/repl.sh" \
        "$ompjit" || note "  left out: clang is not a part of ompjitc"
}

# A new process and code that another has compiled: the first run fills the
# cache.
cache() {
    note "first calls in a new process"
    OMPJIT_CACHE=1 OMPJIT_CACHE_DIR=$out/cache
    export OMPJIT_CACHE OMPJIT_CACHE_DIR
    rm -rf "$out/cache"
    "$out/calls" 100 >/dev/null || { note "  left out"; return; }
    for _ in $(seq $((rounds * 2))); do
        "$out/calls" 100 >>"$samples"
        OMPJIT_CACHE=0 "$out/calls" 5 "no cache" >>"$samples"
    done
    rm -rf "$out/cache"
    OMPJIT_CACHE=0
}

build_proteus() {
    prefix=$PROTEUS config=${PROTEUS_LLVM_CONFIG:-llvm-config}
    lib=$prefix/lib64
    [ -d "$lib" ] || lib=$prefix/lib
    # shellcheck disable=SC2046 # a list of options
    "$("$config" --bindir)/clang++" -std=c++17 -O3 -I"$prefix/include" \
        -fpass-plugin="$lib/libProteusPass.so" -o "$out/proteus" \
        "$srcdir/bench/proteus.cpp" -L"$lib" -Wl,-rpath,"$lib" -lproteus \
        $("$config" --ldflags --libs) -lclang-cpp -rdynamic
}

# as NAME NEW: of the samples on stdin those of that name, beside Proteus's.
as() {
    awk -F'\t' -v OFS='\t' -v name="$1" -v new="$2" '$2 == name &&
        $3 == "ours" { print "against Proteus", new, $3, $4, $5 }' >>"$samples"
}

# It says more than the samples.
run_proteus() {
    # shellcheck disable=SC2086 # two words
    "$out/proteus" $1 >"$out/proteus.rows" 2>"$out/proteus.log" ||
        note "  proteus $1 failed, see $out/proteus.log"
    grep '^against' "$out/proteus.rows" >>"$samples" || :
}

# Whatever it does, the rest goes on.
proteus() {
    if [ -z "${PROTEUS:-}" ]; then
        note "Proteus: left out, since PROTEUS=prefix names no installation"
        return
    fi
    note "against Proteus in $PROTEUS"
    build_proteus 2>"$out/proteus.log" || {
        note "  does not build, see $out/proteus.log: left out"; return; }
    PROTEUS_CACHE_DIR=$out/proteus.cache OMPJIT_CACHE_DIR=$out/cache
    export PROTEUS_CACHE_DIR OMPJIT_CACHE_DIR
    rm -rf "$out/proteus.cache" "$out/cache"
    OMPJIT_CACHE=1 "$out/calls" 100 >/dev/null
    "$out/proteus" calls 100 >/dev/null 2>&1 || :
    for _ in $(seq "$rounds"); do
        "$out/dispatch" 50 >"$out/dispatch.rows"
        as "prepared, small kernel" "prepared call, beyond a call" \
            <"$out/dispatch.rows"
        as "handle, small kernel" "cached call, beyond a call" \
            <"$out/dispatch.rows"
        "$out/variants" 4 | as host "new specialization, CPU"
        OMPJIT_CACHE=1 "$out/calls" 100 >"$out/calls.rows"
        as "first call, CPU" "first call from disk, CPU" <"$out/calls.rows"
        as "further variant, CPU" "further one from disk, CPU" \
            <"$out/calls.rows"
        for what in "dispatch 50" "calls 100"; do
            run_proteus "$what"
        done
        PROTEUS_USE_STORED_CACHE=0 run_proteus "variants 4"
    done
    rm -rf "$out/proteus.cache" "$out/cache" "$out"/*.rows
}

# Other work on the machine spoils figures, and ratios less: it is told.
load=$(cut -d' ' -f1 /proc/loadavg)
throughput
barriers
specialization
variants
cubins
launches
registered
loop_sizes
by_number
starts
prompt
cache
proteus
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
machine="$machine, $(nproc) processors, load $load at the start"
commit=$(git -C "$srcdir" describe --always --dirty 2>/dev/null || echo unknown)
printf '%s, commit %s\n' "$machine" "$commit" >"$out/table.txt"
awk -v json="$out/results.json" -v machine="$machine" -v commit="$commit" -v date="$(date -u +%Y-%m-%d)" \
    -f "$srcdir/bench/report.awk" "$samples" >>"$out/table.txt"
cat "$out/table.txt"
note "also in $out/results.json"
