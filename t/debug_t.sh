#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Debuggers and profilers see what was compiled into the process.
. "${srcdir:-.}/t/tap.sh"
OMPJIT_DEVICE=host
export OMPJIT_DEVICE

cat >"$tmp/prog.c" <<'END'
#include <stdio.h>
static void scale(long n, double *x)
{
#pragma omp target teams distribute parallel for map(tofrom: x[:n])
    for (long i = 0; i < n; i++)
        x[i] = x[i] * 2 + 1;
}
static void team(int *x)
{
#pragma omp target map(tofrom: x[:8])
    {
#pragma omp parallel num_threads(8)
        {
            x[0] += x[7];
#pragma omp barrier
            x[1] += 1;
        }
    }
}
int main(void)
{
    double x[1000] = {1};
    int y[8] = {0};
    scale(1000, x);
    team(y);
    printf("%g\n", x[0]);
    return 0;
}
END

# -------------------------------------------------------------------- perf
# mapped FILE COMMAND...: runs it and moves its map to FILE
mapped() {
    tap_map=$1; shift
    out=$(sh -c 'echo $$ >"$1"; shift; exec "$@"' - "$tmp/pid" "$@" 2>"$tmp/stderr")
    read -r pid <"$tmp/pid"
    rm -f "$tap_map"
    [ ! -e "/tmp/perf-$pid.map" ] || mv "/tmp/perf-$pid.map" "$tap_map"
}
mapped "$tmp/map" env OMPJIT_PERF=1 "$ompjit" run "$tmp/prog.c"
is "$out" 3 "a program that perf watches"
map=$(cat "$tmp/map")
like "$map" '^[0-9a-f]+ [0-9a-f]+ __omp_offloading_[^ ]*_scale_l4' "  its kernels"
like "$map" '^[0-9a-f]+ [0-9a-f]+ main$' "  and itself are listed"
is "$(echo "$map" | grep -vcE '^[0-9a-f]+ [1-9a-f][0-9a-f]* [^ ]+$')" 0 \
    "  each line has a place, a size and a name"
mapped "$tmp/none" "$ompjit" run "$tmp/prog.c"
is "$out $(ls "$tmp/none" 2>/dev/null)" "3 " "nothing is listed unasked"
out=$(sh -c 'ln -s "$1" /tmp/perf-$$.map; echo $$ >"$2"; shift 2; exec "$@"' - \
    "$tmp/elsewhere" "$tmp/pid" env OMPJIT_PERF=1 "$ompjit" run "$tmp/prog.c")
read -r pid <"$tmp/pid"
rm -f "/tmp/perf-$pid.map"
is "$out $(ls "$tmp/elsewhere" 2>/dev/null)" "3 " "no link is followed"

# --------------------------------------------------------------------- gdb
# debug COMMANDS TOOL...: what gdb says of it
debug() {
    printf '%s\n' "set breakpoint pending on" "set pagination off" \
        "set confirm off" "set disable-randomization off" \
        "handle SIGSEGV nostop noprint pass" "$1" >"$tmp/gdb"
    shift
    out=$(timeout 120 gdb -nx -batch -x "$tmp/gdb" --args "$@" 2>&1 </dev/null)
}
lacks gdb "gdb" && { done_testing; exit; }
debug "run" /bin/true
case $out in
*"exited normally"*) ;;
*) skip "gdb" "it cannot run programs here"; done_testing; exit ;;
esac
for threads in 1 8; do
    debug "break prog.c:6
run
backtrace 1
delete
continue" "$ompjit" run -g -O1 --threads $threads "$tmp/prog.c"
    like "$out" "Breakpoint 1(\.[0-9]+)?, .*prog\.c:6" "gdb stops in a kernel, $threads threads"
    like "$out" "6	 *x\[i\] = x\[i\] \* 2 \+ 1;" "  shows its line"
    like "$out" "^#0 .*prog\.c:6" "  and where it is"
    like "$out" "exited normally" "  and the program goes on"
done
debug "break prog.c:14
run
backtrace
info symbol \$pc
kill" "$ompjit" run -g "$tmp/prog.c"
like "$out" "^#0 .*prog\.c:14" "gdb stops in a parallel region"
debug "break prog.c:24
run
backtrace
kill" "$ompjit" run -g "$tmp/prog.c"
like "$out" "main .*at .*prog\.c:2[3-8]" "gdb stops in the program itself"
debug "break prog.c:6
run
info breakpoints" "$ompjit" run "$tmp/prog.c"
like "$out" "exited normally" "without -g nothing is told to gdb"
done_testing
