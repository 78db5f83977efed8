#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Profiles of a program with threads and deferred constructs: the table's rows,
# the trace as JSON whose spans are nested in each thread, and NVTX ranges for a
# profiler of our own; on the host device and on ptxi's driver, there in its three
# modes with the device's own times, on tracks of their own. How long these are
# only a GPU says: here they are there, and lie inside of their launches.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_PROFILE NVTX_INJECTION64_PATH
program=$srcdir/t/data/profiled.c

# on DEVICE OPTION...: the program there
on() {
    device=$1; shift
    set -- "$ompjit" run --device="$device" --host-memory=separate "$@" \
        "$program"
    if [ "$device" = cuda ]; then
        set -- env LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver "$@"
    fi
    timeout 120 "$@"
}

# Reads a trace: "OK" and how many events of each category, or what is wrong.
cat >"$tmp/check.pl" <<'EOF2'
use strict; use JSON::PP;
local $/; my $trace = decode_json(<STDIN>);
my (%open, %name, %events, %count, %threads, %track, @kernels, @launches);
for my $e (@{$trace->{traceEvents}}) {
    if ($e->{ph} eq "M") {
        $track{$e->{tid}} = $e->{args}{name} if $e->{name} eq "thread_name";
        next;
    }
    die "no category" unless $e->{cat};
    die "a time before the start" if $e->{ts} < 0;
    if ($e->{ph} eq "X") {
        die "no duration" if $e->{dur} < 0;
        die "on $track{$e->{tid} // 0}"
            if ($e->{cat} =~ /^(kernel|transfer|graph)$/) != exists $track{$e->{tid}};
        push @kernels, [$e->{name}, $e->{ts}, $e->{ts} + $e->{dur}]
            if $e->{cat} eq "kernel";
        push @{$events{$e->{tid}}}, $e;
        $count{$e->{cat}}++;
        $threads{$e->{tid}} = 1 if $e->{cat} eq "launch";
    } elsif ($e->{ph} eq "b") {
        $open{$e->{id}} = $e->{ts};
        $name{$e->{id}} = $e->{name};
        $count{$e->{cat}}++;
        $threads{$e->{tid}} = 1;
    } elsif ($e->{ph} eq "e") {
        my $at = delete $open{$e->{id}};
        die "an end without a beginning" unless defined $at && $at <= $e->{ts};
        push @launches, [$name{$e->{id}}, $at, $e->{ts}];
    } else { die "phase $e->{ph}"; }
}
die "a beginning without an end" if %open;
my $slack = 0.002; # microseconds: times are rounded
for my $list (values %events) {
    my @stack;
    for my $e (sort { $a->{ts} <=> $b->{ts} || $b->{dur} <=> $a->{dur} } @$list) {
        my $end = $e->{ts} + $e->{dur};
        pop @stack while @stack && $stack[-1] <= $e->{ts} + $slack;
        die "$e->{name} ends outside of what it began in"
            if @stack && $end > $stack[-1] + $slack;
        push @stack, $end;
    }
}
# The base was read a little after it came: a device's times are late by that.
for my $k (@kernels) {
    die "kernel $k->[0] outside of its launches" unless grep {
        $_->[0] eq $k->[0] && $_->[1] <= $k->[1] + 1 && $k->[2] <= $_->[2] + 1000
    } @launches;
}
print join(" ", "OK", (map { "$_=$count{$_}" } sort keys %count),
           "threads=" . keys %threads, "tracks=" . keys %track), "\n";
EOF2

for stream in sync async lazy; do
    [ -e "${PTXI:-}/libcuda.so.1" ] || break
    succeeds "$stream streams" env PTXI_STREAM=$stream OMPJIT_PROFILE=1 \
        LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
        PTXI_LOG="$tmp/log.$stream" OMPJIT_DEVICE=cuda \
        "$builddir/examples/saxpy_api" 3000
    like "$(cat "$tmp/stderr")" '^kernel +[1-9][0-9]* .* saxpy$' \
        "  have their kernels timed"
    like "$(cat "$tmp/log.$stream")" '^exit: 0 leaks' "  and nothing is left"
done

devices=host
if [ -e "${PTXI:-}/libcuda.so.1" ]; then devices="host cuda"; fi
for device in $devices; do
    succeeds "$device: a table" on $device --profile=-
    is "$out" 4800 "  of a program that is right"
    table=$(cat "$tmp/stderr")
    like "$table" '^what +times +ms +mean us' "  has a head"
    like "$table" '^compile +[1-9][0-9]* .* code generation$' "  compiles"
    like "$table" '^(launch|queued) +4 .* twice$' "  four launches of one kernel"
    like "$table" '^(launch|queued) +12 .* add$' "  twelve of the other"
    like "$table" '^copy .* to the device, +[0-9.]+ GB/s$' "  copies there"
    like "$table" '^copy .* from the device, +[0-9.]+ GB/s$' "  and back"
    if [ "$device" = cuda ]; then
        like "$table" '^kernel +4 .* twice$' "  the GPU's own times of kernels"
        like "$table" '^kernel +12 .* add$' "  of both"
        like "$table" '^transfer .* to the device, +[0-9.]+ GB/s$' \
            "  and of copies there"
        like "$table" '^transfer .* from the device, +[0-9.]+ GB/s$' \
            "  and back"
    fi

    succeeds "$device: a trace" on $device --profile="$tmp/trace.json"
    is "$out" 4800 "  of a program that is right"
    if perl -MJSON::PP -e 1 2>/dev/null; then
        said=$(perl "$tmp/check.pl" <"$tmp/trace.json" 2>&1)
        like "$said" '^OK ' "  is JSON with nested spans: $said"
        like "$said" '(launch|queued)=16' "  with each launch"
        like "$said" 'copy=[1-9]' "  copies"
        like "$said" 'compile=[1-9]' "  compiles"
        like "$said" 'threads=([4-9]|[1-9][0-9])' "  of several threads"
        if [ "$device" = cuda ]; then
            like "$said" 'kernel=16' "  each kernel inside of its launch"
            like "$said" 'transfer=[1-9]' "  transfers"
            like "$said" 'tracks=[1-9]' "  on tracks of the GPU's queues"
        fi
    else
        pass "  nesting # SKIP no JSON::PP for perl"
    fi
    succeeds "$device: OMPJIT_PROFILE=1" env OMPJIT_PROFILE=1 "$ompjit" run \
        --device=host "$program"
    like "$(cat "$tmp/stderr")" '^launch .* add$' "  is a table on stderr"
    succeeds "$device: OMPJIT_PROFILE=FILE" env OMPJIT_PROFILE="$tmp/f.json" \
        "$ompjit" run --device=host "$program"
    is "$(cat "$tmp/stderr")" "" "  says nothing"
    like "$(head -c 100 "$tmp/f.json")" '^\{"displayTimeUnit"' "  and is a trace"

    NVTX_INJECTION64_PATH=$builddir/t/.libs/fake_nvtx.so \
        FAKE_NVTX_LOG=$tmp/nvtx
    export NVTX_INJECTION64_PATH FAKE_NVTX_LOG
    succeeds "$device: with a profiler that listens" on $device
    is "$out" 4800 "  the program is right"
    is "$(grep -c '^push .* add$' "$tmp/nvtx")" 12 "  each launch is a range"
    is "$(grep -c '^push .* twice$' "$tmp/nvtx")" 4 "  of its kernel"
    is "$(grep -c '^push' "$tmp/nvtx")" "$(grep -c '^pop' "$tmp/nvtx")" \
        "  that ends"
    like "$(cat "$tmp/nvtx")" '^push [0-9]+ to the device$' "  copies, too"
    is "$(grep -c '^pop -' "$tmp/nvtx")" 0 "  none ends twice"
    NVTX_INJECTION64_PATH=$tmp/none
    succeeds "$device: with one that is not there" on $device
    unset NVTX_INJECTION64_PATH
    succeeds "$device: with nobody" on $device
    is "$(cat "$tmp/stderr")" "" "  nothing is said"
done
# Copies from one GPU to another and fills are copies like others.
if [ "$devices" != host ]; then
    cat >"$tmp/peers.c" <<'EOF'
#include <omp.h>
#include <stdio.h>
int main(void)
{
    int sum = 0, got[1000], host = omp_get_initial_device();
    void *a = omp_target_alloc(sizeof got, 0);
    void *b = omp_target_alloc(sizeof got, 1);
    omp_target_memset(a, 1, sizeof got, 0);
    omp_target_memcpy(b, a, sizeof got, 0, 0, 1, 0);
    omp_target_memcpy(got, b, sizeof got, 0, 0, host, 1);
    for (int i = 0; i < 1000; i++)
        sum += got[i] == 0x01010101;
    omp_target_free(a, 0);
    omp_target_free(b, 1);
    printf("%d\n", sum);
}
EOF
    profiled=$program
    program=$tmp/peers.c
    PTXI_DEVICES=2
    export PTXI_DEVICES
    succeeds "two GPUs: a table" on cuda --profile=-
    is "$out" 1000 "  of a program that is right"
    table=$(cat "$tmp/stderr")
    for kind in copy transfer; do
        like "$table" "^$kind +1 .* fill, +[0-9.]+ GB/s\$" \
            "  $kind: a fill"
        like "$table" "^$kind +1 .* from another device, +[0-9.]+ GB/s\$" \
            "  $kind: from one to the other"
    done
    succeeds "two GPUs: a trace" on cuda --profile="$tmp/trace.json"
    if perl -MJSON::PP -e 1 2>/dev/null; then
        said=$(perl "$tmp/check.pl" <"$tmp/trace.json" 2>&1)
        like "$said" '^OK .*copy=3 .*transfer=3 .*tracks=2' \
            "  each is there, on tracks of the GPUs: $said"
    fi
    NVTX_INJECTION64_PATH=$builddir/t/.libs/fake_nvtx.so \
        FAKE_NVTX_LOG=$tmp/nvtx
    export NVTX_INJECTION64_PATH FAKE_NVTX_LOG
    succeeds "two GPUs: with a profiler that listens" on cuda
    is "$(sed -n 's/^push 0 //p' "$tmp/nvtx" | grep -v '^from the device')" \
        "fill
from another device" "  each is a range"
    unset NVTX_INJECTION64_PATH PTXI_DEVICES
    program=$profiled
fi

if [ "$devices" = host ]; then
    pass "on a GPU # SKIP PTXI names no emulated libcuda.so.1"
fi

# Contexts that are destroyed tell it themselves.
succeeds "OMPJIT_PROFILE=1 of an application" env OMPJIT_DEVICE=host \
    OMPJIT_PROFILE=1 "$builddir/examples/saxpy_api" 3000
like "$(cat "$tmp/stderr")" '^(launch|queued) .* saxpy$' "  is told in the end"
fails_with 'cannot write /nonexistent/x' "a file that cannot be written" \
    sh -c 'OMPJIT_LOG=1 OMPJIT_DEVICE=host OMPJIT_PROFILE=/nonexistent/x \
        "$1" 3000 && exit 1' sh "$builddir/examples/saxpy_api"

# --sass needs CUDA's tools: one of our own shows what it is asked.
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "disassembled $1, $(head -c 4 "$2" | tail -c 3)"\n' \
    >"$tmp/bin/nvdisasm"
chmod +x "$tmp/bin/nvdisasm"
if "$ompjit" compile "$srcdir/examples/saxpy.c" -o "$tmp/x.cubin" 2>/dev/null
then
    succeeds "inspect --sass" env PATH="$tmp/bin:$PATH" "$ompjit" inspect \
        --sass "$srcdir/examples/saxpy.c"
    like "$out" '^disassembled -c, ELF$' "  shows the disassembly of a cubin"
    like "$out" 'occupancy   [0-9]+ teams of 128 threads .*limited by' \
        "  and the occupancy"
    printf '#!/bin/sh\nexit 3\n' >"$tmp/bin/nvdisasm"
    fails_with 'ended with status 3' "  a disassembler that fails" \
        env PATH="$tmp/bin:$PATH" "$ompjit" inspect --sass \
        "$srcdir/examples/saxpy.c"
    if ! command -v nvdisasm >/dev/null && ! command -v cuobjdump >/dev/null
    then
        fails_with 'needs nvdisasm or cuobjdump' "  none" "$ompjit" inspect \
            --sass "$srcdir/examples/saxpy.c"
    fi
    succeeds "inspect --threads" "$ompjit" inspect --threads=64 --arch=sm_80 \
        "$srcdir/examples/saxpy.c"
    like "$out" 'occupancy   32 teams of 64 threads .*, 64 of 64 warps \(100%\)' \
        "  is for so many"
else
    pass "inspect --sass # SKIP no assembler here makes cubins"
fi

if [ "$devices" != host ]; then
    succeeds "devices -v" env LD_LIBRARY_PATH="$PTXI" "$ompjit" devices -v
    like "$out" 'runs 2048 threads in 64 warps and 32 teams' \
        "  what a multiprocessor runs"
    like "$out" '65536 registers, 233472 bytes of shared memory' "  and has"
    succeeds "inspect --device" env LD_LIBRARY_PATH="$PTXI" PTXI_CC=8.6 \
        "$ompjit" inspect --quiet --device=cuda "$srcdir/examples/saxpy.c"
    like "$out" 'on sm_86 ' "  is for that device"
fi
done_testing
