# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a profile of t/data/profiled.c has, for t/profile_t.sh and, on a GPU,
# t/gpu/profile.sh: the table's rows, the trace as JSON whose spans are nested in
# each thread, and NVTX ranges for a profiler of our own. A kernel's times, by
# the GPU's clock, lie inside of its launch's. $program is that file. Source it
# after t/tap.sh.
unset OMPJIT_DEVICE OMPJIT_PROFILE NVTX_INJECTION64_PATH

# on DEVICE OPTION...: the program there; the driver is PTXI's, or with
# OMPJIT_TEST_GPU in the environment this machine's.
on() {
    device=$1; shift
    set -- "$ompjit" run --device="$device" --host-memory=separate "$@" \
        "$program"
    if [ "$device" = cuda ] && [ -z "${OMPJIT_TEST_GPU-}" ]; then
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

# profiled DEVICE
profiled() {
    device=$1
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
        # On a busy machine the base may be read late: twice more then.
        for _ in 1 2; do
            case $said in *'outside of its launches'*) ;; *) break ;; esac
            on $device --profile="$tmp/trace.json" >"$tmp/again" 2>&1
            said=$(perl "$tmp/check.pl" <"$tmp/trace.json" 2>&1)
        done
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

    OMPJIT_PROFILE=1
    export OMPJIT_PROFILE
    succeeds "$device: OMPJIT_PROFILE=1" on $device
    like "$(cat "$tmp/stderr")" '^(launch|queued) +12 .* add$' \
        "  is a table on stderr"
    OMPJIT_PROFILE=$tmp/$device.json
    succeeds "$device: OMPJIT_PROFILE=FILE" on $device
    unset OMPJIT_PROFILE
    is "$(cat "$tmp/stderr")" "" "  says nothing"
    like "$(head -c 100 "$tmp/$device.json")" '^\{"displayTimeUnit"' \
        "  and is a trace"
    if [ "$device" = cuda ]; then
        like "$(cat "$tmp/$device.json")" '"cat": "kernel"' "  of the GPU"
    fi

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
}
