#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompjit repl's commands: inputs taken back and executed again, settings, the
# session as a program, and a look inside its kernels.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY OMPJIT_CACHE \
    OMPJIT_SPECIALIZE OMPJIT_LOG OMPJIT_PROFILE LD_PRELOAD LD_LIBRARY_PATH
OMPJIT_CACHE_DIR=$tmp/cache
OMP_NUM_THREADS=2
export OMPJIT_CACHE_DIR OMP_NUM_THREADS
doc=$(cd "$srcdir" && pwd)/doc/repl.md
cd "$tmp" || exit 1
"$ompjit" repl -e '1' >/dev/null 2>stderr
if grep -q 'needs the clang that is a part of ompjitc' stderr; then
    skip_all "clang is not a part of ompjitc"
fi
# session TEXT: what its inputs print
session() {
    printf '%s\n' "$1" >inputs.c
    "$ompjit" repl --device host inputs.c 2>stderr
}
# refuses NAME TEXT REGEX: the last input fails
refuses() {
    session "$2" >/dev/null
    is $? 1 "$1"
    like "$(cat stderr)" "^inputs.c:[0-9]+: error: $3" "  is told"
}

# ---------------------------------------------------------------------- help
help=$(session ':help')
undocumented=
for each in $(printf '%s\n' "$help" | sed -n 's/^\(:[a-z]*\).*/\1/p'); do
    grep -q "\`$each[] \`]" "$doc" || undocumented="$undocumented $each"
done
is "$undocumented" "" "all commands are documented"
is "$(session ':help :undo' | cut -c1-9)" ":undo [N]" "help for one"
refuses "a command that is none" '1
:fly' ':fly: no such command'

# -------------------------------------------------------------------- inputs
is "$(session 'int x = 1;
int x = 2;
x
:undo 2
:redo
:undo
x
:undo
:undo
:redo
:redo
int x = 9;
x')" "(int) 2
(int) 1
(int) 1
(int) 9" "inputs are taken back and executed again"
refuses "there is nothing to take back" 'int x;
:undo
:undo' 'there is no input to take back'
refuses "more than there is to take back" 'int x;
int y;
:undo 3' 'there are only 2 inputs to take back'
refuses "nothing to execute again" 'int x;
:undo
int y;
:redo' 'nothing was taken back'
refuses "a number that is none" ':undo -1' '-1: a number from 1 on'
is "$(session 'int f(int n) { return n; }
int g;
:list
:source f
:type f(1) + 2.5
:clear
:list')" "[1] int f(int n) { return n; }
[2] int g;
[1] int f(int n) { return n; }
double" "lists, sources, types"
refuses "what was cleared" 'int x;
:clear
:source x' 'no input declares x'
echo 'int loaded = 5;' >other.c
is "$(session ':load other.c
loaded')" "(int) 5" "a file is loaded"
refuses "one with an error" ':load no-such-file.c' 'nothing was loaded'
is "$(session '1
:quit
2')" "(int) 1" "quit is the end"
is "$(session ':shell echo here')" "here" "a shell"
refuses "a shell whose command fails" ':shell exit 3' 'sh ended with|-c ended with status 3'

# ------------------------------------------------------------------ settings
teams='#include <omp.h>
int n;
#pragma omp target teams map(from: n)
if (omp_get_team_num() == 0) n = omp_get_num_teams();
n'
is "$(OMPJIT_TEAMS=2 session "$teams
:teams 3
n
:teams")" "(int) 2
(int) 3
3" "teams are changed, and inputs executed again"
is "$(session 'int x = 4;
:device nonsense
x' | cat)" "" "a device that is none"
like "$(cat stderr)" 'error: :device nonsense: the session goes on as it was' \
    "  is told"
is "$(session ':set REPL_TEST=yes
#include <stdlib.h>
getenv("REPL_TEST")
:shell echo $REPL_TEST')" '(char *) "yes"
yes' "a variable of the environment"
session ':time on
1' >/dev/null
like "$(cat stderr)" '^[0-9.]+ ms$' "the time of an input"

# ------------------------------------------------------------------ programs
program='#include <stdio.h>
int x = 3;
int f(int n) { return n + x; }
int k = f(4), many[2] = {f(1), 2};
const int c = f(k);
k
c + many[0]
_ * 2
double a[8];
#pragma omp target teams distribute parallel for map(tofrom: a)
for (int i = 0; i < 8; i++)
    a[i] = i * k;
#define TWICE(x) (2 * (x))
printf("hello %g %d\n", a[3], TWICE(c));
if (k > 2) {
    printf("more\n");
}'
shown=$(session "$program
:save saved.c")
"$ompjit" run --device host saved.c >ran 2>stderr
is "$(cat ran)" "$shown" "a program has the session's output"
if "${CLANG:-clang-22}" -w -fopenmp saved.c -o saved >log 2>&1; then
    is "$(./saved)" "$shown" "  and by clang's own OpenMP, too"
else
    skip "  and by clang's own OpenMP, too" "no clang with libomp"
fi
refuses "a name that is declared twice" 'int x = 1;
double x = 2;
:save saved.c' 'x is declared more than once'
like "$(session "$program
:ir")" 'define .*__omp_offloading' "kernels as IR"
like "$(session "$program
:ptx")" 'entry .*__omp_offloading' "as PTX"
like "$(session "$program
:resources")" '__omp_offloading|f.*l11|input|main' "resources"
like "$(session "$program
:explain")" 'main|n of|tofrom|a' "explained"
session 'int a[4];
#pragma omp target map(to: a[:2])
a[3] = 1;
:check' >/dev/null
like "$(cat stderr)" 'out-of-bounds write' "and checked"
session "$program
:profile" >/dev/null
like "$(cat stderr)" 'launch|kernel' "and profiled"
like "$(session ':table')" '__kmpc_target_init' "the table"
like "$(session ':cache path')" "$tmp/cache" "the cache"
like "$(session ':devices')" '^host' "devices"
done_testing
