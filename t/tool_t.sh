#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The ompjit command: command lines, what it passes through, what it writes.
. "${srcdir:-.}/t/tap.sh"
OMPJIT_DEVICE=host
export OMPJIT_DEVICE

# usage REGEX NAME COMMAND...: status 2, nothing on stdout, a message
usage() {
    tap_regex=$1; shift
    status_is 2 "$@"
    like "$(cat "$tmp/stderr")" "^ompjit: .*$tap_regex" "  and says why"
    is "$out" "" "  on stderr only"
}
# program NAME LINES...
program() { tap_file=$tmp/$1; shift; printf '%s\n' "$@" >"$tap_file"; }

program ok.c '#include <stdio.h>' \
    'void scale(long n, float *x) {' \
    '#pragma omp target teams distribute parallel for map(tofrom:x[:n])' \
    'for (long i = 0; i < n; i++) x[i] *= 2; }' \
    'int main(void) { float x[3] = {1, 2, 3}; scale(3, x);' \
    'printf("%g %g %g\n", x[0], x[1], x[2]); return 0; }'

# ------------------------------------------------------------ command lines
status_is 2 "no command" "$ompjit"
like "$(cat "$tmp/stderr")" "^usage: ompjit COMMAND" "  shows what there is"
usage "did you mean inspect" "a mistyped command" "$ompjit" inspet
usage "see ompjit help" "a word like no command" "$ompjit" qqqqqqqq
usage "ompjit run $tmp/ok.c" "a file in place of a command" "$ompjit" "$tmp/ok.c"
usage "did you mean --threads" "a mistyped option" "$ompjit" run --thread 3 x.c
usage "unknown option --emit" "an option of another command" \
    "$ompjit" run --emit ptx x.c
usage "needs a FILE" "no file" "$ompjit" run
usage "--threads needs N" "no value" "$ompjit" run --threads
usage "at least 1" "a number that is none" "$ompjit" run --threads many x.c
usage "at least 1" "zero threads" "$ompjit" run --threads=0 x.c
usage "levels" "a level that is none" "$ompjit" compile -O4 x.c -o x.ptx
usage "needs -o" "compile without output" "$ompjit" compile "$tmp/ok.c"
usage "give --emit" "an ending that says nothing" \
    "$ompjit" compile "$tmp/ok.c" -o "$tmp/x.bin"
usage "did you mean cubin" "a mistyped format" \
    "$ompjit" compile "$tmp/ok.c" --emit=cubim -o "$tmp/x"
usage "did you mean ptxas" "a mistyped assembler" \
    "$ompjit" inspect --assembler=ptxs "$tmp/ok.c"
usage "did you mean source-ir" "a mistyped stage" \
    "$ompjit" run --dump=sourceir "$tmp/ok.c"
usage "needs a file" "a binary dump to the terminal" \
    "$ompjit" run --dump=cubin "$tmp/ok.c"
usage "one argument too many" "two files" "$ompjit" inspect "$tmp/ok.c" b.txt
for made in x.ptx x.cubin x.o; do
    usage "neither source text nor IR" "$made is no input" \
        "$ompjit" inspect --arch=sm_90 "$made"
done
usage "belongs to device IR" "--host-ir with C" \
    "$ompjit" run --host-ir=x.ll "$tmp/ok.c"

for command in run compile inspect devices; do
    succeeds "help $command" "$ompjit" help $command
    like "$out" "^usage: ompjit $command" "  shows its usage"
    help=$out
    succeeds "$command --help" "$ompjit" $command --help
    is "$out" "$help" "  is the same"
    for option in $(printf '%s\n' "$help" | grep -oE '^  (-., )?-[-a-z]+' |
        grep -oE -- '-[-a-z]+$'); do
        grep -qF -- "$(printf %s "$option" | sed 's/-/\\-/g')" \
            "$srcdir/doc/ompjit.1" || fail "ompjit(1) lacks $option"
    done
done
succeeds "help" "$ompjit" help
like "$out" "run .*compile|compile" "  lists commands"
succeeds "version" "$ompjit" version
like "$out" "^ompjit [0-9]+\.[0-9]+\.[0-9]+, LLVM 22" "  names both versions"
succeeds "help table" "$ompjit" help table

# ---------------------------------------------------------------------- run
succeeds "a program with a target region" "$ompjit" run "$tmp/ok.c"
is "$out" "2 4 6" "  prints its result"
is "$(cat "$tmp/stderr")" "" "  and the tool prints nothing"
succeeds "32 threads" "$ompjit" run --threads=32 --teams 2 "$tmp/ok.c"
is "$out" "2 4 6" "  the same result"
succeeds "separate memory" "$ompjit" run --host-memory=separate "$tmp/ok.c"
is "$out" "2 4 6" "  the same result"
program memory.c '#include <stdio.h>' '#include <omp.h>' 'int main(void) {' \
    'int a = 1, b = 1, c = 1, d = 1;' \
    '#pragma omp target map(to: a) map(tofrom: b)' '{ a = 2; b = 2; }' \
    '#pragma omp target data map(tofrom: c)' '{' \
    '#pragma omp target map(tofrom: c)' 'c = 2;' 'd = c; }' \
    'printf("%d %d %d %d", a, b, c, d); return 0; }'
succeeds "mapped data" "$ompjit" run "$tmp/memory.c"
is "$out" "1 2 2 1" "  is apart from the original, as on a GPU"
succeeds "shared memory" "$ompjit" run --host-memory=shared "$tmp/memory.c"
is "$out" "2 2 2 2" "  is not"
sed '2a\
#pragma omp requires unified_shared_memory' "$tmp/memory.c" >"$tmp/unified.c"
for memory in auto separate; do
    succeeds "a program that requires shared memory, $memory" \
        "$ompjit" run --host-memory=$memory "$tmp/unified.c"
    is "$out" "2 2 2 2" "  has it"
done
program stride.c '#include <stdio.h>' '#include <stdlib.h>' \
    'int main(int c, char **v) { int n = atoi(v[1]), a[100];' \
    'for (int i = 0; i < 100; i++) a[i] = 0;' \
    '#pragma omp target data map(from: a)' '{' \
    '#pragma omp target map(a)' 'for (int i = 0; i < 100; i++) a[i] = 5;' \
    'for (int i = 0; i < 100; i++) a[i] = i;' \
    '#pragma omp target update to(a[1:n:3])' '}' \
    'printf("%d %d %d %d %d %d", a[0], a[1], a[4], a[5], a[7], a[10]); }'
succeeds "an update with a stride and a length that is no constant" \
    "$ompjit" run "$tmp/stride.c" 3
is "$out" "5 1 4 5 7 5" "  copies every third element"
program teams.c '#include <stdio.h>' '#include <omp.h>' 'int main(void) {' \
    'int n = 0; char text[200];' '#pragma omp teams num_teams(37)' \
    'if (omp_get_team_num() == 36) n = omp_get_num_teams();' \
    'printf("%d %d", n, omp_capture_affinity(text, 200, "%n") > 0); }'
succeeds "teams on the host" "$ompjit" run "$tmp/teams.c"
is "$out" "37 1" "  are as many as num_teams says; affinity is libomp's"
program otherwise.c '#include <stdio.h>' '#include <omp.h>' \
    'int main(void) { int host = 7;' \
    '#pragma omp metadirective when(device = {kind(nohost)}: nothing)' \
    '    otherwise(target map(tofrom: host))' \
    'host = omp_is_initial_device();' 'printf("%d", host); }'
sed -i 's/nothing)$/nothing) \\/' "$tmp/otherwise.c"
succeeds "a region that clang leaves out of the device's half" \
    "$ompjit" run -fopenmp-version=52 "$tmp/otherwise.c"
is "$out" "1" "  runs on the host"
for level in 0 1 2 3; do
    succeeds "-O$level" "$ompjit" run -O$level "$tmp/ok.c"
    is "$out" "2 4 6" "  the same result"
done

program args.c '#include <stdio.h>' 'int main(int c, char **v) {' \
    'for (int i = 0; i < c; i++) printf("[%s]", v[i]); return v[c] != 0; }'
succeeds "arguments" "$ompjit" run "$tmp/args.c" a --time "b c" -- ""
is "$out" "[$tmp/args.c][a][--time][b c][--][]" "  come through unchanged"
program cat.c '#include <stdio.h>' \
    'int main(void) { int c; while ((c = getchar()) != EOF) putchar(c); }'
out=$(printf 'one\ntwo' | "$ompjit" run "$tmp/cat.c")
is "$out" "one
two" "standard input comes through"
program status.c '#include <stdio.h>' '#include <stdlib.h>' \
    '#include <signal.h>' 'static void bye(void) { printf("bye"); }' \
    'int main(int c, char **v) { atexit(bye); switch (*v[1]) {' \
    'case 114: return 7; case 101: exit(3); case 97: abort();' \
    'case 107: raise(SIGKILL); case 115: *(volatile int *)0 = 1; }' \
    'return 0; }'
status_is 7 "the status of return" "$ompjit" run "$tmp/status.c" r
is "$out" "bye" "  after the program's exit handlers"
status_is 3 "the status of exit" "$ompjit" run --time "$tmp/status.c" e
is "$out" "bye" "  after the program's exit handlers"
like "$(cat "$tmp/stderr")" "^ompjit: front end" "  and --time shows the stages"
status_is 134 "abort" "$ompjit" run "$tmp/status.c" a
status_is 137 "kill" "$ompjit" run "$tmp/status.c" k
status_is 139 "a segmentation fault" "$ompjit" run "$tmp/status.c" s

# What is held of devices goes behind the last that may use them, if main returns.
program late.cpp '#include <cstdio>' '#include <cstdlib>' \
    'static int region(int x) {' '#pragma omp target map(tofrom : x)' 'x++;' \
    'return x; }' 'struct late { ~late() { printf(" %d", region(2)); } } it;' \
    'static void bye() { printf(" %d", region(1)); }' \
    'int main(int c, char **) { atexit(bye); printf("%d", region(0));' \
    'if (c > 1) exit(3); return 4; }'
for option in --release --check "--check --release" "--release --time"; do
    # shellcheck disable=SC2086 # one argument each
    status_is 4 "regions in handlers and destructors, $option" \
        "$ompjit" run $option "$tmp/late.cpp"
    is "$out" "1 2 3" "  run"
done
status_is 3 "  and of a program that leaves by exit" \
    "$ompjit" run --release "$tmp/late.cpp" x
is "$out" "1 2 3" "  run"
for way in "" x; do
    # shellcheck disable=SC2086 # or none
    OMPJIT_PROFILE=1 "$ompjit" run --release "$tmp/late.cpp" $way \
        >"$tmp/stdout" 2>"$tmp/stderr" || :
    is "$(grep -c '  *times  *ms ' "$tmp/stderr")" 1 "  one profile${way:+, by exit}"
done

program absent.c '#include <stdio.h>' 'int main(void) { int x = 0;' \
    'puts("before");' '#pragma omp target map(present, tofrom : x)' 'x = 1;' \
    'puts("after"); return 0; }'
status_is 1 "a target region that fails" \
    "$ompjit" run --host-memory=separate "$tmp/absent.c"
is "$out" "before" "  ends the program"
like "$(cat "$tmp/stderr")" "^ompjit: .*present" "  and says why"

program nomain.c 'int f(void) { return 1; }'
fails_with "^ompjit: .*main" "a program without main" \
    "$ompjit" run "$tmp/nomain.c"
program broken.c 'int main(void) {' '    return x;' '}'
fails_with "broken.c:2:12: error: .*x" "a program that does not compile" \
    "$ompjit" run "$tmp/broken.c"
like "$(head -1 "$tmp/stderr")" "^ompjit: " "  with the tool's prefix"
fails_with "cannot read .*nowhere.c" "a file that is not there" \
    "$ompjit" run "$tmp/nowhere.c"
fails_with "clang" "a clang that is not there" \
    "$ompjit" run --clang=/nonexistent/clang "$tmp/ok.c"

mkdir "$tmp/inc"
printf '#define ANSWER 42\n' >"$tmp/inc/answer.h"
program flags.c '#include <stdio.h>' '#ifdef GONE' '#error gone' '#endif' \
    'int main(void) { printf("%d %ld %d", ANSWER, __STDC_VERSION__, N); }'
succeeds "-I -D -U -include -std=" "$ompjit" run -I "$tmp/inc" -DGONE -UGONE \
    -include answer.h -std=c11 -D N=5 "$tmp/flags.c"
is "$out" "42 201112 5" "  reach clang"
for g in -g -gline-tables-only; do
    succeeds "$g" "$ompjit" compile $g "$tmp/ok.c" -o "$tmp/lines.ptx"
    like "$(cat "$tmp/lines.ptx")" "^	.loc	[0-9]+ 4 " "  PTX with lines"
    succeeds "run $g" "$ompjit" run $g "$tmp/ok.c"
    is "$out" "2 4 6" "  is the same program"
done
succeeds "inspect -g" "$ompjit" inspect -g --assembler=driver "$tmp/ok.c"
succeeds "no -g" "$ompjit" compile "$tmp/ok.c" -o "$tmp/lines.ptx"
is "$(grep -c "	.loc	" "$tmp/lines.ptx")" 0 "  PTX without lines"
program warns.c '#warning unwanted' 'int main(void) { return 0; }'
succeeds "a warning" "$ompjit" run -v "$tmp/warns.c"
like "$(cat "$tmp/stderr")" "unwanted" "  is told"
succeeds "-w" "$ompjit" run -v -w "$tmp/warns.c"
is "$(grep -c unwanted "$tmp/stderr")" 0 "  tells no warnings, as clang's"
usage "unknown option -g3" "-g3" "$ompjit" run -g3 "$tmp/ok.c"
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    for options in 2: 3:-g; do # to the driver: 2 for its messages, 1 for lines
        succeeds "as PTX ${options#*:}" emulated PTXI_TRACE="$tmp/trace" \
            "$ompjit" run ${options#*:} "$tmp/ok.c"
        like "$(cat "$tmp/trace")" \
            "^cuModuleLoadDataEx.* numOptions=${options%%:*}," \
            "  with ${options%%:*} options for its compiler"
        rm -f "$tmp/trace"
    done
else
    pass "as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi
printf '#include "inc/answer.h"\nint main(void) { return ANSWER; }\n' \
    >"$tmp/beside.c"
status_is 42 "a header beside the source, from elsewhere" \
    "$ompjit" run "$tmp/beside.c"
program one.c 'int two(void);' 'int main(void) { return two(); }'
program two.c 'int two(void) { return 22; }'
status_is 22 "two source files" "$ompjit" run --source="$tmp/two.c" "$tmp/one.c"
program plus.cpp '#include <vector>' '#include <cstdio>' \
    'int main() { std::vector<int> v(4, 2); int s = 0; for (int i : v) s += i;' \
    'std::printf("%d", s); }'
succeeds "C++" "$ompjit" run "$tmp/plus.cpp"
is "$out" "8" "  runs with its library"
program once.cpp '#include <cstdio>' '#include <future>' '#include <mutex>' \
    'thread_local int own = 1;' 'int main() { std::once_flag flag; int n = 0;' \
    'for (int i = 0; i < 3; i++) std::call_once(flag, [&] { n++; });' \
    'auto later = std::async(std::launch::async, [] { return ++own; });' \
    'own = 5; std::promise<int> p; std::thread t([&] { p.set_value(own); });' \
    'int made = p.get_future().get(); t.join();' \
    'std::printf("%d %d %d %d", n, later.get(), made, own); }'
succeeds "std::call_once, std::async" "$ompjit" run "$tmp/once.cpp"
is "$out" "1 2 1 5" "  use thread-local variables of the library"

program lib.c 'int nine(void) { return 9; }' '_Thread_local int eight = 8;' \
    '_Thread_local char others[5000];' 'int *of_eight(void) { return &eight; }'
"${CC:-cc}" -shared -fPIC -o "$tmp/inc/libnine.so" "$tmp/lib.c"
program nine.c 'int nine(void);' 'int main(void) { return nine(); }'
status_is 9 "-l and -L" "$ompjit" run -L "$tmp/inc" -lnine -lm "$tmp/nine.c"
program eight.c 'extern _Thread_local int eight;' 'int *of_eight(void);' \
    'int main(void) { int n = 0;' \
    '_Pragma("omp parallel num_threads(3) reduction(+: n)")' \
    'n += ++*of_eight() == 9 && eight == 9 && &eight == of_eight();' \
    'return n; }'
status_is 3 "a thread-local variable of a shared library" \
    "$ompjit" run -L "$tmp/inc" -lnine "$tmp/eight.c"
fails_with "undefined symbols: (eight, of_eight|of_eight, eight)$" "  without it" \
    "$ompjit" run "$tmp/eight.c"
fails_with "lnine.*no shared library" "-l without -L" \
    "$ompjit" run -lnine "$tmp/nine.c"
fails_with "undefined symbols: nine$" "an undefined function" \
    "$ompjit" run "$tmp/nine.c"
like "$(cat "$tmp/stderr")" 'from_sources.*-l.*-rdynamic.*name="x.cpp"' \
    "  and where it can come from"
program ten.cpp 'namespace n { int ten(int, const char *); }' \
    'int main() { return n::ten(3, ""); }'
fails_with "undefined symbols: n::ten\\(int, char const\\*\\)" \
    "an undefined function of C++" "$ompjit" run "$tmp/ten.cpp"

program outside.c 'static int seen = 3;' 'int look(void) { return seen; }' \
    'int main(void) { int r; seen = 4;' \
    '#pragma omp target map(from: r)' 'r = look();' 'return r; }'
fails_with "host kernels: undefined symbols: seen$" \
    "a variable that device code has not" "$ompjit" run --device=host \
    "$tmp/outside.c"
like "$(cat "$tmp/stderr")" 'has to be declare target' "  and what it needs"

# ------------------------------------------------------------------ compile
for ending in ll bc ptx o; do
    succeeds "compile to .$ending" \
        "$ompjit" compile "$tmp/ok.c" -o "$tmp/ok.$ending"
done
like "$(cat "$tmp/ok.ll")" '^target triple = "nvptx64' ".ll is device IR"
is "$(head -c 2 "$tmp/ok.bc")" "BC" ".bc is bitcode"
like "$(cat "$tmp/ok.ptx")" "^\.target sm_90" ".ptx is for sm_90"
is "$(od -An -c -N4 "$tmp/ok.o" | tr -d ' ')" '177ELF' ".o is ELF"
succeeds "another architecture" \
    "$ompjit" compile --arch=sm_75 "$tmp/ok.c" --emit=ptx -o -
like "$out" "^\.target sm_75" "  on standard output"
fails_with "sm_19" "an architecture that is none" \
    "$ompjit" compile --arch=sm_19 "$tmp/ok.c" -o "$tmp/no.ptx"
is "$(ls "$tmp/no.ptx" 2>/dev/null)" "" "  leaves no file"
fails_with "cannot write" "a folder that is not there" \
    "$ompjit" compile "$tmp/ok.c" -o "$tmp/no/where.ptx"
for format in opt-ll host-ll; do
    succeeds "--emit=$format" \
        "$ompjit" compile "$tmp/ok.c" --emit=$format -o "$tmp/x"
    like "$(cat "$tmp/x")" '^target triple' "  is IR"
done
succeeds "IR in, PTX out" "$ompjit" compile "$tmp/ok.ll" -o "$tmp/ll.ptx"
succeeds "bitcode in, PTX out" "$ompjit" compile "$tmp/ok.bc" -o "$tmp/bc.ptx"
like "$(cat "$tmp/ll.ptx" "$tmp/bc.ptx")" "\.entry .*scale" "  with the kernel"
succeeds "C from standard input" \
    sh -c "'$ompjit' compile - --emit=ll -o - <'$tmp/ok.c'"
like "$out" "scale" "  has the kernel"
if "$ompjit" compile "$tmp/ok.c" -o "$tmp/ok.cubin" 2>"$tmp/stderr"; then
    is "$(od -An -c -N4 "$tmp/ok.cubin" | tr -d ' ')" '177ELF' ".cubin is ELF"
else
    like "$(cat "$tmp/stderr")" "nvJitLink" "no assembler, and it says so"
fi

# ---------------------------------------------------------------- bad input
# refused REGEX NAME COMMAND...: as fails_with, with status 1 and the tool's
# prefix, nothing on stdout, no file
refused() {
    tap_regex=$1; shift
    rm -f "$tmp/bad.out"
    status_is 1 "$@"
    like "$(head -1 "$tmp/stderr")" "^ompjit: " "  with the tool's prefix"
    like "$(cat "$tmp/stderr")" "$tap_regex" "  and the cause"
    is "$out$(ls "$tmp/bad.out" 2>/dev/null)" "" "  and nothing else"
}
sed 's/^define/defin/' "$tmp/ok.ll" >"$tmp/parse.ll"
refused 'parse.ll.*does not parse' "IR that does not parse" \
    "$ompjit" compile "$tmp/parse.ll" --emit=ptx -o "$tmp/bad.out"
head -c 1500 "$tmp/ok.bc" >"$tmp/cut.bc"
refused 'cut.bc.*truncated' "truncated bitcode" \
    "$ompjit" compile "$tmp/cut.bc" --emit=ptx -o "$tmp/bad.out"
{ printf 'BC\300\336'; cat "$tmp/ok.c"; } >"$tmp/garbage.bc"
refused 'garbage.bc.*bitcode' "garbage in bitcode" \
    "$ompjit" compile "$tmp/garbage.bc" --emit=ptx -o "$tmp/bad.out"
sed 's/"kernel"//' "$tmp/ok.ll" >"$tmp/kernel.ll"
refused 'lacks the function attribute "kernel"' 'a kernel without "kernel"' \
    "$ompjit" compile "$tmp/kernel.ll" --emit=ptx -o "$tmp/bad.out"
sed 's/clang version [0-9.]*/clang version 14.0.6/' "$tmp/ok.ll" >"$tmp/14.ll"
refused 'clang version 14.0.6' "IR of a compiler that is too old" \
    "$ompjit" compile "$tmp/14.ll" --emit=ptx -o "$tmp/bad.out"
{ cat "$tmp/ok.ll"; echo 'declare void @__kmpc_barrier(ptr)'; } >"$tmp/abi.ll"
refused '__kmpc_barrier.*void .ptr, i32.' "a runtime function's wrong type" \
    "$ompjit" compile "$tmp/abi.ll" --emit=ptx -o "$tmp/bad.out"
refused 'nvJitLink not found' "no nvJitLink" \
    env OMPJIT_CUDA_HOME=/nonexistent OMPJIT_CUDA_WHEELS= "$ompjit" compile \
    --assembler=nvjitlink "$tmp/ok.c" --emit=cubin -o "$tmp/bad.out"
program noop.c 'int main(void) { int x = 0;' '#pragma omp target map(x)' \
    'x = 1;' 'return x - 1; }'
refused 'CUDA' "no GPU" env CUDA_VISIBLE_DEVICES= \
    "$ompjit" run --device=cuda "$tmp/noop.c"
refused '5000 threads' "more threads than the device's" \
    "$ompjit" run --threads=5000 "$tmp/ok.c"

# ------------------------------------------------------------------ inspect
succeeds "inspect" "$ompjit" inspect "$tmp/ok.c"
like "$out" "^scale:3" "  names function and line"
like "$out" "mode +SPMD" "  the mode"
like "$out" "parameters +(n 8 bytes, x pointer|x pointer, n 8 bytes)" \
    "  the parameters"
like "$out" "on sm_90 +([0-9]+ registers|not known)" "  what it uses"
program modes.c '#include <omp.h>' '#include <stdio.h>' 'void f(int *test) {' \
    '#pragma omp target teams num_teams(1) thread_limit(256) map(test[:256])' \
    '{ int s[256];' '#pragma omp parallel num_threads(256)' \
    '{ int t = omp_get_thread_num(); s[t] = test[t];' '#pragma omp barrier' \
    'test[t] = s[255 - t]; } } }' \
    'void sum(int n, int *x) {' '#pragma omp target map(x[:n])' \
    'for (int i = 1; i < n; i++) { printf("%d", i);' '#pragma omp parallel' \
    'x[omp_get_thread_num()] += x[i]; } }'
succeeds "inspect a generic kernel" "$ompjit" inspect -q "$tmp/modes.c"
like "$(echo "$out" | sed -n '/^f:/,/^  mode/p')" "mode +SPMD, generic in the source" \
    "  that becomes SPMD: the mode in the end"
if echo "$out" | grep -q occupancy; then
    like "$(echo "$out" | sed -n '/^f:/,/occup/p')" "teams of 256 threads" \
        "  occupancy without a warp for the main thread"
    like "$(echo "$out" | sed -n '/^sum:/,/occup/p')" "teams of 160 threads" \
        "  and with it for one that stays generic"
fi
like "$(echo "$out" | sed -n '/^sum:/,/^  mode/p')" "mode +generic$" \
    "  that stays so"
succeeds "explain it" "$ompjit" explain -q "$tmp/modes.c"
like "$out" '^f:4 \(SPMD, generic in the source\)' "  the same mode"
like "$out" '^sum:[0-9]+ \(generic\)' "  and the other's"
program names.cpp 'namespace ns { template <class T, int N> void axpy(T *x) {' \
    '#pragma omp target map(x[:N])' 'x[0] = N; } }' \
    'void f(int *p) { ns::axpy<int, 3>(p); }' \
    'void f(float *p) { ns::axpy<float, 5>(p); }' \
    'void g(int *p) {' '#pragma omp target map(p[:1])' 'p[0] = 1; }' \
    'void g(float *p) {' '#pragma omp target map(p[:1])' 'p[0] = 1; }' \
    'void h(float *p) {' '#pragma omp target map(p[:1])' 'p[0] = 1; }'
succeeds "inspect C++" "$ompjit" inspect -q "$tmp/names.cpp"
for name in 'ns::axpy<int, 3>\(int\*\):2' 'ns::axpy<float, 5>\(float\*\):2' \
    'g\(int\*\):7' 'g\(float\*\):10' h:13; do
    like "$out" "^$name$" "  names an instance or overload"
done
for name in 'ns::axpy<int, 3>' 'ns::axpy<int, 3>:2' 'ns::axpy<int, 3>(int*)'; do
    succeeds "explain $name" "$ompjit" explain --arch host "$tmp/names.cpp" "$name"
    like "$out" '^ns::axpy<int, 3>\(int\*\):2' "  finds it"
done
fails_with 'more than one kernel axpy; .*axpy<int, 3>' "explain axpy" \
    "$ompjit" explain --arch host "$tmp/names.cpp" axpy
succeeds "inspect IR" "$ompjit" inspect --quiet "$tmp/ok.ll"
like "$out" "^scale" "  names the kernel"
succeeds "no kernels" "$ompjit" inspect "$tmp/nomain.c"
like "$out" "no target regions" "  says so"

# ------------------------------------------------------------ dump, devices
succeeds "--dump" "$ompjit" run --dump=source-ir --dump=ptx:"$tmp/d.ptx" \
    --arch=sm_80 --dump=opt --dump=host-ir "$tmp/ok.c"
is "$out" "2 4 6" "  keeps standard output clean"
like "$(cat "$tmp/stderr")" "^ompjit: --- source-ir" "  writes to stderr"
like "$(cat "$tmp/d.ptx")" "^\.target sm_80" "  and to files"
succeeds "devices" "$ompjit" devices
like "$out" "^host .*cores" "  lists the host"
like "$out" "^cuda" "  and speaks of GPUs"
succeeds "devices --device=host" "$ompjit" devices --device=host
fails_with "^ompjit: " "a device that is none" "$ompjit" devices --device=abacus
# A GPU that is asked for and is not there.
printf 'int main(void) {\n#pragma omp target\n {}\n return 0; }\n' >"$tmp/gpu.c"
fails_with 'cuda' "run --device cuda without a GPU is an error" \
    env LD_LIBRARY_PATH=/nonexistent "$ompjit" run --device cuda "$tmp/gpu.c"
program before.c '#include <stdio.h>' 'int main(void) { puts("main ran");' \
    '#pragma omp target' '{}' 'return 0; }'
for device in nonsense host:9 cuda:x; do
    usage "devices .$device.: not " "run --device $device is an error before main" \
        "$ompjit" run --device $device "$tmp/before.c"
    usage "devices .$device.: not " "  as OMPJIT_DEVICE" \
        env OMPJIT_DEVICE=$device "$ompjit" run "$tmp/before.c"
done
usage "devices .nonsense.: not " "tune --device nonsense" \
    "$ompjit" tune --device nonsense "$tmp/before.c"
usage "devices .nonsense.: not " "inspect --device nonsense" \
    "$ompjit" inspect --arch sm_90 --device nonsense "$tmp/before.c"
for device in cuda cuda:99; do
    refused 'cuda|CUDA' "run --device $device without it is one, too" \
        env LD_LIBRARY_PATH=/nonexistent "$ompjit" run --device $device \
        "$tmp/before.c"
done
succeeds "offloading that is disabled needs no device" \
    env LD_LIBRARY_PATH=/nonexistent OMP_TARGET_OFFLOAD=disabled \
    "$ompjit" run --device cuda "$tmp/before.c"
is "$out" "main ran" "  and the program runs"

# ------------------------------------------------------------- lost outputs
# lost NAME COMMAND...: status 2 and a message where standard output is full
lost() {
    tap_name=$1; shift
    status_is 2 "$tap_name, and standard output is full" \
        sh -c '"$@" >/dev/full' - "$@"
    like "$(cat "$tmp/stderr")" \
        '^ompjit: cannot write standard output: No space' "  and says so"
}
mkdir "$tmp/cache"
for words in table "table --json" "table __kmpc_barrier" "table --help" \
    "cache path" "cache stat" "cache verify" devices help "help run" \
    "run --help" version "inspect $tmp/ok.c" "explain $tmp/ok.c" \
    "compile $tmp/ok.c --emit=ll -o -"; do
    # shellcheck disable=SC2086 # one argument each
    lost "$words" env OMPJIT_CACHE_DIR="$tmp/cache" "$ompjit" $words
done
OMPJIT_CACHE= OMPJIT_CACHE_DIR=$tmp/cache "$ompjit" run "$tmp/ok.c" \
    >"$tmp/stdout"
for words in list "export -"; do
    # shellcheck disable=SC2086 # one argument each
    lost "cache $words" env OMPJIT_CACHE_DIR="$tmp/cache" "$ompjit" cache $words
done
for option in --profile=- --explain --time --dump=source-ir; do
    status_is 2 "run $option, and standard error is full" \
        sh -c '"$@" 2>/dev/full' - "$ompjit" run "$option" "$tmp/ok.c"
done
for option in --profile --record; do
    usage "cannot write /nonexistent/x: No such" "run $option of no folder" \
        "$ompjit" run "$option" /nonexistent/x "$tmp/before.c"
    usage "cannot write /dev/full: No space" "run $option of a full disk" \
        "$ompjit" run "$option" /dev/full "$tmp/before.c"
done
usage "cannot write /nonexistent/x: No such" "OMPJIT_RECORD of no folder" \
    env OMPJIT_RECORD=/nonexistent/x "$ompjit" run "$tmp/before.c"
usage "cannot write /dev/full: No space" "compile to a full disk" \
    "$ompjit" compile "$tmp/ok.c" --emit=ll -o /dev/full
usage "cannot write /dev/full: No space" "--dump to a full disk" \
    "$ompjit" inspect --dump=source-ir:/dev/full "$tmp/ok.c"
status_is 0 "what a program prints is its own" \
    sh -c '"$@" >/dev/full 2>&1' - "$ompjit" run "$tmp/ok.c"

# ---------------------------------------------------- misspelled variables
for row in OMPJIT_DEVCE:DEVICE OMPJIT_SPEC:SPECIALIZE OMPJIT_CACHEDIR:CACHE_DIR \
    OMPJT_LOG:LOG ompjit_tune:TUNE; do
    for command in "run --device host" "cache path" "run -v"; do
        file=$tmp/args.c; [ "$command" != "cache path" ] || file=
        # shellcheck disable=SC2086 # one argument each
        env "${row%:*}=host" "$ompjit" $command $file >"$tmp/stdout" 2>"$tmp/stderr"
        is "$(grep -c "^ompjit: .* ${row%:*} .*did you mean OMPJIT_${row#*:}?" \
            "$tmp/stderr")" 1 "$command names ${row%:*} once"
    done
done
succeeds "names of the tool's, and of others" env OMPJIT_LOG=0 OMPJIT_ROOT=/ \
    OMPJIT_TEST_NEEDS=1 OMPI_COMM=1 OMP_DYNAMIC=1 OMPJIT_DEVICE=host \
    "$ompjit" run "$tmp/ok.c"
is "$(cat "$tmp/stderr")" "" "  are no mistakes"
succeeds "--quiet" env OMPJIT_DEVCE=host "$ompjit" run -q "$tmp/ok.c"
is "$(cat "$tmp/stderr")" "" "  says nothing of them"
is "$(cd "$srcdir" && grep -rhoE '"OMPJIT_[A-Z_]+"' libompjit tool --include='*.c' \
    --include='*.cc' | tr -d '"' | grep -vE '^OMPJIT_$|_VERSION|_CONFIG' | sort -u)" \
    "$(sed -n 's/^VARIABLE(\(.*\))$/OMPJIT_\1/p' \
        "$srcdir/libompjit/base/variables.def" | sort -u)" "all variables are known"
for variable in $(sed -n 's/^VARIABLE(\(.*\))$/OMPJIT_\1/p' \
    "$srcdir/libompjit/base/variables.def"); do
    grep -q "$variable" "$srcdir/doc/ompjit.1" || fail "ompjit(1) lacks $variable"
done

# Errors of mappings name what the program names, without -g.
cat >"$tmp/part.c" <<'EOF'
int main(void) {
    int a[10] = {0};
#pragma omp target enter data map(to: a[2:4])
#ifdef UPDATE
#pragma omp target update to(present: a[0:10])
#else
#pragma omp target map(tofrom: a[0:10])
    a[0] = 1;
#endif
    return a[0];
}
EOF
fails_with 'cannot map a\[0:10\] \(.*part\.c:2\), 40 bytes at .* only a part of it is on device 0, by the mapping of a\[2:4\] \(.*part\.c:2\), 16 bytes' \
    "a map error names the variables" "$ompjit" run --device=host \
    --host-memory=separate "$tmp/part.c"
fails_with 'cannot update a\[0:10\] \(.*part\.c:2\), 40 bytes' \
    "and, where all has to be present, an update's" "$ompjit" run \
    --device=host --host-memory=separate -DUPDATE "$tmp/part.c"
done_testing
