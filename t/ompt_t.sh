#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tools that watch by OMPT see target constructs: programs of ompjit cc, under
# ompjit exec and under ompjit run, with a tool that OMP_TOOL_LIBRARIES names or
# that is linked in, on the host device and as PTX. t/ompt/tool.c writes a line
# for each event.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_SPECIALIZE OMP_TOOL \
    OMP_TOOL_LIBRARIES OLD_KIND
OMPJIT_HOST_MEMORY=separate OMP_TARGET_OFFLOAD=mandatory
export OMPJIT_HOST_MEMORY OMP_TARGET_OFFLOAD
from=$srcdir/t/ompt
echo '#include <omp-tools.h>' >"$tmp/header.c"
"$CLANG" -fsyntax-only "$tmp/header.c" 2>/dev/null ||
    skip_all "no omp-tools.h, which is part of libomp-22-dev"
succeeds "a tool" "$CLANG" -shared -fPIC -Wno-unused-parameter "$from/tool.c" \
    -o "$tmp/tool.so"
succeeds "a program" "$builddir/ompjit-cc" -fopenmp -O1 "$from/program.c" \
    -o "$tmp/program"
tool=$tmp/tool.so
on_host() { env OMP_TOOL_LIBRARIES="$tool" OMPJIT_DEVICE=host "$@"; }

# The numbers that the tool has given, and loads, which may come at any time.
plain() { printf '%s\n' "$out" | sed '/^load 0$/d; s/, [0-9]* in [0-9]*$//
    s/, a task, data [0-9]*$//; s/, a task of its own, data [0-9]*$//
    s/^target 9 /target 1 /'; }
twice() { for twice_end in begin end; do echo "${1% % *} $twice_end ${1#* % }"; done; }
events() { # DEVICE
    echo "device 0 $1 begin"
    echo "target 2 begin 0"
    twice "alloc % 1 0 400"; twice "alloc % 1 0 200"; twice "to % 1 0 400"
    echo "target 2 end 0"
    echo "target 1 begin 0"; twice "submit % 2"; echo "target 1 end 0"
    echo "target 4 begin 0"; twice "from % 0 1 200"; echo "target 4 end 0"
    echo "target 1 begin 0"
    twice "alloc % 1 0 4"; twice "to % 1 0 4"; twice "submit % 1"
    twice "from % 0 1 4"; twice "delete % 0 1 4"
    echo "target 1 end 0"
    echo "target 3 begin 0"
    twice "from % 0 1 200"; twice "delete % 0 1 400"; twice "delete % 0 1 200"
    echo "target 3 end 0"
    twice "alloc % 1 0 64"; twice "to % 1 0 64"; twice "delete % 0 1 0"
    echo "sum 1225"
    echo "device 0 end"
    echo "tool end"
}

succeeds "the program, with the tool" on_host "$tmp/program"
is "$(plain)" "$(events host)" "  every event, in order, from the program's code"
like "$out" "^load 0$" "  and the load of an image"
like "$out" "^alloc begin 1 0 400, 102 in 101$" "  with the tool's own data"
succeeds "the older callbacks" on_host OLD_KIND=1 "$tmp/program"
is "$(printf '%s\n' "$out" | sed '/^load 0$/d; s/^old target 9 /old target 1 /')" \
    "$(events host | grep -v ' begin [0-9]* [01] [0-9]*$\|submit end' |
    sed -E 's/^(alloc|to|from|delete) end/old \1/; s/^submit begin/old submit/
        s/^target/old target/')" "  once for each operation"
succeeds "under ompjit exec" on_host "$ompjit" exec "$tmp/program"
is "$(plain)" "$(events host)" "  the same"
succeeds "under ompjit run" on_host "$ompjit" run -q "$from/program.c"
is "$(plain)" "$(events host)" "  the same"
succeeds "without a tool" env OMPJIT_DEVICE=host "$tmp/program"
is "$out" "sum 1225" "  nothing is told"
succeeds "OMP_TOOL=disabled" on_host OMP_TOOL=disabled "$tmp/program"
is "$out" "sum 1225" "  nothing is told"
succeeds "where the original is shared" on_host OMPJIT_HOST_MEMORY=shared \
    "$tmp/program"
is "$(plain | grep -c '^to begin')" 1 "  there are no copies but the routine's"
is "$(plain | grep -c '^target 1 begin')" 2 "  and all constructs"
succeeds "a program with a tool of its own" "$builddir/ompjit-cc" -fopenmp -O1 \
    -Wno-unused-parameter "$from/program.c" "$from/tool.c" -o "$tmp/own"
succeeds "  runs" env OMPJIT_DEVICE=host "$tmp/own"
is "$(plain)" "$(events host)" "  the same"
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    succeeds "as PTX" emulated OMP_TOOL_LIBRARIES="$tool" "$tmp/program"
    is "$(plain)" "$(events cuda)" "  the same"
else
    skip "as PTX" "PTXI names no emulated libcuda.so.1"
fi

# Traces: the same events, in buffers of the tool's.
succeeds "a tool that traces" "$CLANG" -shared -fPIC -Wno-unused-parameter \
    "$from/tracer.c" -o "$tmp/tracer.so"
records() {
    events "$1" | sed -nE 's/^target 9 /target 1 /
        s/^(alloc|to|from|delete) end/\1/p; s/^submit end/submit/p; /^target/p'
}
traced() { # DEVICE COMMAND...
    traced_device=$1; shift
    succeeds "$@"
    is "$(printf '%s\n' "$out" | sed -E 's/^ outside,//; s/^target 9 /target 1 /' |
        grep -E '^(target|alloc|to|from|delete|submit) ')" \
        "$(records "$traced_device")" "  every record, in order"
    like "$out" '^0 1 1 5 0$' "  what cannot be traced is said"
    like "$out" '^started 1 0$' "  a trace starts once"
}
tracing() { env OMP_TOOL_LIBRARIES="$tmp/tracer.so" OMPJIT_DEVICE=host "$@"; }
traced host "a trace" tracing "$tmp/program"
like "$out" '^stopped 1 1 0, 1 buffers$' "  is one buffer"
traced host "of small buffers" tracing BUFFER=250 "$tmp/program"
like "$out" '^stopped 1 1 0, 1[0-9] buffers$' "  is many"
traced host "of a program under ompjit run" tracing "$ompjit" run -q \
    "$from/program.c"
traced host "of a tool that names no device" tracing NO_DEVICE=1 "$tmp/program"
traced host "of a tool that calls the trace when it is asked" \
    tracing BUSY=1 BUFFER=250 timeout 60 "$tmp/program"
succeeds "buffers that are too small" tracing BUFFER=100 "$tmp/program"
is "$(printf '%s\n' "$out" | grep -cE '^ ?(outside,)?(target|to|submit) ')" 0 \
    "  have no records"
succeeds "kernels alone" tracing ONLY=35 "$tmp/program"
is "$(printf '%s\n' "$out" | grep -E '^ ?(outside,)?(target|to|submit) ')" \
    "submit 2
submit 1" "  have records"
sed 's/^#pragma omp target update/    rest(1);\n&/
    s/^#pragma omp taskwait/&\n    rest(0);/
    s/^int main/void rest(int begin);\n&/' "$from/program.c" >"$tmp/rest.c"
succeeds "a program with a trace that rests" "$builddir/ompjit-cc" -fopenmp -O1 \
    -Wno-unused-parameter "$tmp/rest.c" "$from/tracer.c" -o "$tmp/rest"
succeeds "  runs" env OMPJIT_DEVICE=host "$tmp/rest"
is "$(printf '%s\n' "$out" | grep -E '^target ')" "target 2 begin 0
target 2 end 0
target 1 begin 0
target 1 end 0
target 3 begin 0
target 3 end 0" "  has no records meanwhile"
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    traced cuda "a trace of PTX" emulated OMP_TOOL_LIBRARIES="$tmp/tracer.so" \
        "$tmp/program"
else
    skip "a trace of PTX" "PTXI names no emulated libcuda.so.1"
fi
done_testing
