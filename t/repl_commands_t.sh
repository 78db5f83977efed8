#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompjit repl's commands: inputs taken back and executed again, settings, the
# session as a program, and a look inside its kernels.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/repl.sh"
doc=$srcdir/doc/repl.md
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
is "$(session '#include <stdio.h>
int n = 1;
printf("once\n");
n = n + 1
n = 50;
n++;
:undo 2
:undo
n
:undo
:redo 1
n')" "once
(int) 2
(int) 1
(int) 1
(int) 1" "values are those of the inputs that remain, without their output"
is "$(session 'int n = 4;
:undo
:redo
:undo
:redo
:list')" "[3] int n = 4;" "any number of times"
printf '#!/bin/sh\nsed s/55/66/ "$1" >edited && cat edited >"$1"\n' >editor
chmod +x editor
is "$(VISUAL=./editor session 'int k = 55;
int other;
:edit k
k')" "(int) 66" "an input is edited"
refuses "the edit of what is none" ':edit nothing' 'no input declares nothing'
is "$(session 'int x = 2;
:lang
:lang c++
:lang
auto twice = [](auto n) { return 2 * n; };
twice(x)
:lang c++')" "c
c++
(int) 4" "the language is changed, and inputs are executed again"
refuses "a language that the inputs are not in" 'int class = 1;
:lang c++' ':lang c[+][+]: the session goes on as it was'
refuses "a language that is none" ':lang rust' ':lang rust: c and c'
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

# -------------------------------------------------------------------- colours
esc=$(printf '\033')
"$ompjit" repl --device host --color=always -e 'double d = -2.5; // half' -e d \
    -e ':list' -e 'int x = y;' >stdout 2>stderr
like "$(cat stdout)" "^$esc\[2m\(double\)$esc\[0m $esc\[33m-2.5$esc\[0m\$" \
    "--color=always: a value has colours"
like "$(cat stdout)" "^\[1\] $esc\[36mdouble$esc\[0m d = .*90m// half" "  and code"
like "$(cat stderr)" "^$esc\[1m-e:1:9: .*31merror: " "  and an error"
is "$(sed "s/$esc\[[0-9;]*m//g" stderr)" \
    "$("$ompjit" repl -e 'int x = y;' 2>&1)" "  which has the same text"
is "$("$ompjit" repl --device host --color=always -e '*(volatile int *)0 = 1;' \
    2>&1 | sed -n "/$esc\[1;31merror: /s/.*/red/p")" red \
    "  and an error of what runs"
is "$("$ompjit" repl -e 'int x = y;' 2>&1 | grep -c "$esc")" 0 \
    "no colours without a terminal"
fails_with "^ompjit: --color red: auto, always and never" "a colour that is none" \
    "$ompjit" repl --color red -e 1

# --------------------------------------------------------------------- plots
points='double x[3] = {0, 1, 2}, one[1] = {7};
float y[3] = {0, 5, 10};
long same[4] = {3, 3, 3, 3};
struct { int i; } other;'
plotted=$(session "$points
:plot y")
is "$(printf '%s\n' "$plotted" | wc -l)" 13 "a plot has 12 lines and an axis"
like "$(printf '%s\n' "$plotted" | sed -n 1p)" '^10 [|].*⠊$' \
    "  the highest is on top"
like "$(printf '%s\n' "$plotted" | sed -n 12p)" '^ 0 [|]⣀' \
    "  the lowest below"
like "$(session "$points
:plot same")" '^3 [|]' "equal values are drawn"
session "$points
:plot y line.svg
:plot x y dots.svg" >/dev/null
like "$(cat line.svg)" \
    '<polyline points="40.00,320.00 320.00,180.00 600.00,40.00"/>' \
    "a line as SVG"
is "$(grep -c '<circle' dots.svg)" 3 "points as SVG"
session "$points
:plot y line.png
:plot x y dots.png" >/dev/null
# pixels.py FILE X Y...: their colours, after a check of the whole file
cat >pixels.py <<'END'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, chunks = 8, {}
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at : at + 8])
    body = data[at + 8 : at + 8 + size]
    crc = struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0]
    assert crc == zlib.crc32(kind + body), kind
    chunks[kind] = body
    at += 12 + size
width, height, bits, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
assert (bits, colours, list(chunks)[-1]) == (2, 3, b"IEND")
rows = zlib.decompress(chunks[b"IDAT"])
assert len(rows) == height * (1 + width // 4)
seen = []
for x, y in zip(*[iter(map(int, sys.argv[2:]))] * 2):
    pixel = rows[y * (1 + width // 4) + 1 + x // 4] >> 6 - 2 * (x % 4) & 3
    seen.append(chunks[b"PLTE"][3 * pixel : 3 * pixel + 3].hex())
print(width, height, *seen)
END
if ! lacks python3 "PNG"; then
    is "$(python3 pixels.py line.png 320 180 180 250 300 320 20 20)" \
        "640 360 1f77b4 1f77b4 808080 ffffff" "a line as PNG, with an axis"
    is "$(python3 pixels.py dots.png 320 180 180 250)" \
        "640 360 1f77b4 ffffff" "points as PNG"
    is "$(python3 pixels.py line.png 51 31 53 31)" "640 360 000000 ffffff" \
        "  with numbers"
fi
objects='#include <list>
#include <map>
#include <vector>
std::vector<double> x{0, 1, 2};
std::list<float> y{0, 5, 10};
std::map<int, int> pairs{{1, 2}};'
printf '%s\n' "$objects" ':plot y list.svg' ':plot x y both.svg' \
    ':plot pairs' >objects.cc
fails_with '^objects.cc:9: error: pairs is no variable that is an array of num' \
    "pairs are no numbers" \
    "$ompjit" repl --device host --lang c++ objects.cc
is "$(cat list.svg both.svg)" "$(cat line.svg dots.svg)" \
    "objects of C++ are drawn as arrays with the same elements"
refuses "arrays of two sizes" "$points
:plot x one" 'x has 3 elements, and one has 1'
refuses "no array" "$points
:plot other" 'other is no variable that is an array of numbers'
refuses "nothing to draw" 'double none[2] = {0.0 / 0, 1 / 0.0};
:plot none' 'there is no finite number'

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
is "$(OMPJIT_THREADS=2 session '#include <omp.h>
int n;
#pragma omp target parallel map(from: n)
if (!omp_get_thread_num()) n = omp_get_num_threads();
n
:threads 3
n
:threads
:specialize off
n
:specialize')" "(int) 2
(int) 3
3
(int) 3
off" "so are threads and specialization"
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
clang=${CLANG:-clang-22}
# saves NAME FILE LANGUAGE: a session in a file, as a program, prints the same
saves() {
    saved=saved.${2##*.}
    { cat "$2"; echo ":save $saved"; } >session.in
    shown=$("$ompjit" repl --device host --lang "$3" session.in 2>stderr)
    is "$? $(cat stderr)" "0 " "$1: is saved"
    "$ompjit" run -w --device host "$saved" >ran 2>stderr
    is "$(cat ran)" "$shown" "  and has the session's output as a program"
    if "$clang" -w -fopenmp -x "$3" "$saved" -o saved -lm -lstdc++ >log 2>&1
    then
        is "$(./saved)" "$shown" "  and by clang's own OpenMP, too"
        return
    fi
    sed 's/^/# /' log
    echo 'int main(void) { return 0; }' >empty.c
    if "$clang" -fopenmp empty.c -o empty 2>/dev/null; then
        is compiled no "  and by clang's own OpenMP, too"
    else
        skip "  and by clang's own OpenMP, too" "no clang with libomp"
    fi
}
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
printf '%s\n' "$program" >plain.c
saves "declarations, statements, a target region" plain.c c
cat >values.c <<'END'
double a[100];
for (int i = 0; i < 100; i++)
    a[i] = i * i / 7.0;
a
2.5
1.0f / 3
'x'
"a\tb"
struct p { int x, y; char *s; float f[2]; } q = {1, 2, "abc", {1, 2.5}};
q
&q
enum e { A, B } en = B;
en
1 == 1
(char *)0
_Complex double z = 1 + 2.0i;
z
int m[2][3] = {{1, 2, 3}, {4, 5, 6}};
m
struct { int low : 3; unsigned high : 5; } bits = {-2, 9};
bits
int main(void) { return 7; }
main()
END
saves "values of every kind" values.c c
cat >names.c <<'END'
int x = 3;
int f(int n) { return n + x; }
f
f(1)
double x = 1.25;
double g(void) { return x * f(2); }
g()
x
struct p { int x; } q = {4};
struct p { double d; } r = {2};
r
q.x + r.d
int f(int n) { return n * 100; }
f(2) + g()
f
double a[4] = {1, 2, 3, 4};
#pragma omp target teams distribute parallel for map(tofrom: a)
for (int i = 0; i < 4; i++)
    a[i] *= x;
a
"x is 'x' and f"
END
saves "names that are declared once more" names.c c
cat >cxx.cc <<'END'
#include <string>
#include <vector>
int x = 3;
int f(int n) { return n + x; }
x = 10;
int k = f(1);
k
std::vector<double> v = {1, 2.5};
v.push_back(4);
v.size()
std::string s = "abc";
(s + "d")[3]
_ == 'd'
struct P { double x, y; P operator+(P o) const { return {x + o.x, y + o.y}; } };
P p{1, 2};
p + P{1, 1}
double x = 2.5;
x * k
double a[64];
#pragma omp target teams distribute parallel for map(tofrom: a)
for (int i = 0; i < 64; i++)
    a[i] = i * x;
a
template <typename T> T twice(T t) { return t + t; }
twice(4.5)
auto l = [](int n) { return n * 2; };
l(4)
END
saves "a session of C++" cxx.cc c++
cat >objects.cc <<'END'
#include <string>
#include <vector>
#include <map>
std::vector<int> v{1, 2, 3};
v
std::string s = "abc";
s + "d"
_.size()
std::vector<std::vector<std::string>> all{{"a", "b"}, {}};
all
struct person { std::string name; int age; std::vector<int> marks; };
std::vector<person> people{{"Ann", 30, {1, 2}}};
people
people[0]
person both[2] = {{"x", 1, {}}, {"y", 2, {}}};
both
#include <tuple>
#include <iostream>
#include <optional>
#include <memory>
std::tuple<int, const char *, double> t(1, "two", 3);
t
v
struct printed { int n; };
std::ostream &operator<<(std::ostream &to, const printed &p) { return to << "no. " << p.n; }
printed{5}
std::map<std::string, int> m{{"two", 2}, {"one", 1}};
m
std::optional<person> maybe;
maybe
maybe = people[0];
maybe
class base { int n = 1; public: double d = 2; virtual ~base() {} };
class derived : public base { std::string s = "d"; };
derived d;
d
std::unique_ptr<int> owner(new int(42));
owner
struct plain { int x; double y; };
std::vector<plain>(2)
std::vector<double> x(1000, 0.5);
x
namespace ns { struct q { std::string s; }; }
ns::q w{"w"};
w
namespace { struct hidden { std::string s; }; }
hidden h{"h"};
h
auto f = [](int n) { return n + 1; };
f
std::vector<int (*)(int)> fs(1);
fs
enum class colour { red, green };
std::vector<colour> cs{colour::green};
cs
person p{"P", 2, {3}};
v.push_back(4)
struct twice { std::string s; } early{"e"};
early
END
saves "objects of C++" objects.cc c++
like "$(session "$program
:ir")" 'define .*__omp_offloading' "kernels as IR"
like "$(session "$program
:ptx")" 'entry .*__omp_offloading' "as PTX"
# Commands compile kernels with the options of the session, which is OpenMP 5.2
# where no option says another.
cat >options.in <<'END'
int v;
#pragma omp declare target enter(v)
double a[N];
#pragma omp target map(tofrom: a)
a[0] = N + v;
:ptx
:save options.c
END
shown=$("$ompjit" repl --device host -DN=7 options.in 2>stderr)
is "$? $(cat stderr)" "0 " "options of a session"
like "$shown" 'entry .*__omp_offloading' "  are those of its commands"
is "$(head -n 1 options.c)" "/* A session of ompjit repl: clang -fopenmp \
-fopenmp-version=52 -DN=7 */" "  and stand in the program"
"$ompjit" repl --device host -DN=7 -fopenmp-version=51 options.in >out 2>stderr
is $? 1 "OpenMP 5.1 by an option"
like "$(cat stderr)" "unexpected 'enter' clause, use 'to'" \
    "  is another language"
resources=$(session "$program
:resources")
like "$resources" '^  parameters +a pointer, k 4 bytes' "resources"
like "$(session "$program
:explain")" '^  a +pointer +copied back: the kernel may change it' "explained"
if printf '%s\n' "$resources" | grep -q ' registers,'; then
    like "$(session "$program
:occupancy")" '^ +[0-9]+ registers, [0-9]+ bytes shared memory$' "occupancy"
    sass=$(session "$program
:sass")
    if grep -q "needs CUDA's nvdisasm" stderr; then
        skip "SASS" "no nvdisasm"
    else
        like "$sass" '\.text\.__omp_offloading' "SASS"
    fi
else
    skip "occupancy" "no assembler for cubins"
    skip "SASS" "no assembler for cubins"
fi
session 'int a[4];
#pragma omp target map(to: a[:2])
a[3] = 1;
:check' >/dev/null
like "$(cat stderr)" 'out-of-bounds write' "and checked"
session "$program
:profile" >/dev/null
like "$(cat stderr)" '(^|.*)launch +1 .* main' "and profiled"
is "$(OMPJIT_TEAMS=2 OMPJIT_DEVICE=none session "$teams
:teams 3
:profile")" "(int) 2
(int) 3" "  with the session's device and teams"
like "$(session ':table')" '__kmpc_target_init' "the table"
like "$(session ':cache path')" "$tmp/cache" "the cache"
like "$(session ':devices')" '^host' "devices"
done_testing
