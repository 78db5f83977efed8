#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompjit repl on files, pipes and -e: values, redefinitions, target regions, and
# errors of every kind, with their places and the exit status.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/repl.sh"
repl() { "$ompjit" repl "$@"; }
# prints NAME TEXT WANT [OPTION]...: the inputs of a text, and what they print
prints() {
    name=$1 text=$2 want=$3
    shift 3
    printf '%s\n' "$text" >inputs.c
    succeeds "$name" repl "$@" inputs.c
    is "$out" "$want" "  prints that"
    is "$(cat stderr)" "" "  and no message"
}
# breaks NAME TEXT REGEX [OPTION]...: the last input fails
breaks() {
    name=$1 text=$2 regex=$3
    shift 3
    printf '%s\n' "$text" >inputs.c
    fails_with "$regex" "$name" repl "$@" inputs.c
}

# ------------------------------------------------------------------- values
prints "values are shown, and are _" 'int x = 5;
x
x + 2
_ * 2
double y = 2.5;
y
1e300 * 1e10
"a\tb"
char *text = 0;
text
struct p { int x, y; char *s; } q = {1, 2, "abc"};
q
&q
int m[2][3] = {{1, 2, 3}, {4, 5, 6}};
m
enum e { A, B };
enum e b = B;
b
_Bool yes = 1;
yes
int f(int n) { return n; }
f
int big[100];
big[99] = 7;
(void)0' '(int) 5
(int) 7
(int) 14
(double) 2.5
(double) inf
(char[4]) "a\tb"
(char *) NULL
(struct p) {.x = 1, .y = 2, .s = "abc"}
(struct p *) &q
(int[2][3]) {{1, 2, 3}, {4, 5, 6}}
(enum e) B
(_Bool) true
(int (*)(int)) f'
mkdir -p folder
echo 'static int beside(void) { return 11; }' >folder/beside.h
printf '#include "beside.h"\nbeside()\n' >folder/inputs.c
succeeds "a header beside the user's file is included" repl folder/inputs.c
is "$out" "(int) 11" "  and used"
cp folder/beside.h .
prints "and one in the current folder" '#include "beside.h"
beside()' '(int) 11'
is "$("$ompjit" repl -include stddef.h -include beside.h \
    -e 'size_t n = beside(); n' -e '
#pragma omp target map(n)
n += beside();' -e 'n' 2>&1)" '(size_t) 11
(size_t) 22' "files of -include are there from the first input on"
prints "statements may return, which ends their input" '#include <stdio.h>
if (1) return 0;
for (int i = 0; i < 3; i++) { if (i == 1) return 7; puts("yes"); } puts("no");
return;
3' 'yes
(int) 3'
prints "  in C++, too" '#include <cstdio>
if (1) { puts("yes"); return 0; } puts("no");
auto f = [](int n) { return n + 1; }; int y = f(1);
y' 'yes
(int) 2' --lang c++
breaks "  but not before a declaration" 'int x = 1;
if (x) return 0; int y = 2;' "^inputs.c:2:8: error: .return. ends the input"
breaks "  or a value" 'if (1) return 0; 5' "^inputs.c:1:8: error: .return. ends"
breaks "a function that returns nothing may not return a value" \
    'void f(void) { return 1; }' "^inputs.c:1:16: error: void function 'f'"
breaks "an array that a null pointer leads to" 'int (*p)[4] = 0;
*p' '^inputs.c:2: error: access to unmapped memory'
prints "a name of an inner scope does not outlive it" 'int x = 7;
for (int x = 0; x < 3; x++)
    ;
x
void f(int x);
x
int g(int x) { int y = x; { int x = 2, y = 3; } return x + y; }
g(20)
x' '(int) 7
(int) 7
(int) 40
(int) 7'
prints "initializers that are not constant, and statements" 'int f(int n)
{
    return n + 1;
}
const int k = f(2);
k
#include <stdio.h>
if (k > 2)
    printf("more\n");
else
    printf("less\n");
for (int i = 0; i < 2; i++)
    printf("%d\n", i);
#define TWICE(x) \
    (2 * (x))
TWICE(k)
#if TWICE(k) == 7
int wrong
#endif
/* a comment
   of lines */
k' '(int) 3
more
0
1
(int) 6
(int) 3'

# ------------------------------------------------------------ redefinitions
prints "what is declared once more is new, and callers keep what they had" \
'int f(int n) { return n + 1; }
int g(int n) { return f(n) * 10; }
g(1)
int f(int n) { return n + 2; }
f(1)
g(1)
int x = 1;
double x = 2.5;
x
struct s { int a; };
struct s v = {3};
struct s { double a, b; };
struct s w = {1, 2};
v
w' '(int) 20
(int) 3
(int) 20
(double) 2.5
(struct s) {.a = 3}
(struct s) {.a = 1.0, .b = 2.0}'
prints "a function is defined after its caller" 'int later(int);
int f(void) { return later(1); }
int later(int n) { return n + 41; }
f()' '(int) 42'

prints "local arrays may be larger than the usual stack" 'int f(int n)
{
    volatile char a[24 << 20];
    a[n] = 42;
    return a[n];
}
f(0)' '(int) 42'

# ----------------------------------------------------------- target regions
regions='double a[10];
for (int i = 0; i < 10; i++) a[i] = i;
#pragma omp target teams distribute parallel for map(tofrom: a)
for (int i = 0; i < 10; i++)
  a[i] *= 2;
a[9]
#pragma omp target enter data map(to: a)
#pragma omp target
a[0] = 42;
a[0]
#pragma omp target exit data map(from: a)
a[0]
#pragma omp begin declare target
int on_device(int n) { return n + 3; }
#pragma omp end declare target
int r = 0;
#pragma omp target map(from: r)
r = on_device(4);
r
int sum = 0;
#pragma omp target teams distribute parallel for reduction(+: sum)
for (int i = 0; i < 100; i++) sum += i;
sum
#pragma omp parallel for reduction(+: sum)
for (int i = 0; i < 100; i++) sum += i;
sum'
shown='(double) 18.0
(double) 0.0
(double) 42.0
(int) 7
(int) 4950
(int) 9900'
prints "target regions, with data that stays mapped between inputs" "$regions" \
    "$shown" --device host --host-memory separate
if [ -e "${PTXI:-/nonexistent}" ]; then
    printf '%s\n' "$regions" >inputs.c
    succeeds "the same on a GPU" emulated "$ompjit" repl inputs.c
    is "$out" "$shown" "  prints that"
else
    skip "the same on a GPU" "no PTX interpreter"
fi

# takes NAME FORMAT BYTES: inputs of the heap, on average of the last 20 of 24;
# all %d of the format are the input's number, and there are three.
takes() {
    {
        printf '#include <malloc.h>\nsize_t before;\n'
        for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 \
            24; do
            [ $n != 5 ] || echo 'before = mallinfo2().uordblks;'
            printf "$2\n" $n $n $n
        done
        echo "(mallinfo2().uordblks - before) / 20 < $3"
    } >inputs.c
    succeeds "memory of $1" repl --device host inputs.c
    is "$out" "(int) 1" "  is bounded"
}
# 36 KB in 2026 for a variable and a region that writes it, 8 for statements.
takes "target regions" \
    'int s%d = 0;\n#pragma omp target map(tofrom: s%d)\ns%d++;' 45000
takes "statements" '(void)(before + %d * %d - %d);' 12000

# ------------------------------------------- variables of declare target
declared='#pragma omp begin declare target
int a = 5, arr[4] = {1, 2, 3, 4};
static int s = 7;
int f(int n) { return n + a; }
static int g(int n) { return n + s; }
#pragma omp end declare target
int r = 0, q = 0;
#pragma omp target map(from: r, q)
{
    r = f(1);
    q = g(1);
    a = 10;
    s = 20;
    arr[2] = 30;
}
r * 10 + q
a + s
#pragma omp target update from(a, s, arr)
a + s + arr[2]
s = 2;
#pragma omp target update to(s)
#pragma omp begin declare target
double a = 0.5;
#pragma omp end declare target
double d = 0;
#pragma omp target map(from: r, d)
{
    r = f(1);
    d = a + s;
}
r
d
#pragma omp target teams distribute parallel for map(always, from: arr)
for (int i = 0; i < 4; i++)
    arr[i] = i * s;
arr
int late = 3;
static int hidden = 4;
#pragma omp declare target enter(late, hidden)
#pragma omp target map(from: r)
r = late + hidden;
r
int zero;
#pragma omp declare target enter(zero)
#pragma omp target map(from: r)
r = zero + 8;
r
late = 100;
#pragma omp target update to(late)
#pragma omp target map(from: r)
r = late;
r'
shown='(int) 68
(int) 12
(int) 60
(int) 11
(double) 2.5
(int[4]) {0, 2, 4, 6}
(int) 7
(int) 8
(int) 100'
prints "variables of declare target are used by later inputs" "$declared" \
    "$shown" --device host
prints "  in C++, too" "$declared" "$shown" --device host --lang c++
if [ -e "${PTXI:-/nonexistent}" ]; then
    printf '%s\n' "$declared" >inputs.c
    succeeds "  and on a GPU" emulated "$ompjit" repl inputs.c
    is "$out" "$shown" "  prints that"
else
    skip "  and on a GPU" "no PTX interpreter"
fi
prints "and again where inputs are taken back" '#pragma omp begin declare target
static int a = 5;
#pragma omp end declare target
int r = 0;
#pragma omp target
a++;
#pragma omp target
a++;
:undo
#pragma omp target map(from: r)
r = a;
r' '(int) 6' --device host
# lacks_function NAME COMMAND...: a region that cannot be built for a function that
# is not there keeps no other from running, and is built when the function is
# there, which uses a variable that the region does not.
lacks_function() {
    name=$1
    shift
    cat >requests <<'END'
{"op":"execute","code":"#pragma omp begin declare target\nint data[4] = {1, 2, 3, 4};\nint later(int);\n#pragma omp end declare target"}
{"op":"execute","code":"int run(void) { int s = 0;\n#pragma omp target map(tofrom: s)\nfor (int i = 0; i < 4; i++) s += later(data[i]);\nreturn s; }\nrun()"}
{"op":"execute","code":"int run(void) { int s = 0;\n#pragma omp target map(tofrom: s)\nfor (int i = 0; i < 4; i++) s += later(data[i]);\nreturn s; }"}
{"op":"execute","code":"run()"}
{"op":"execute","code":"int other = 0;\n#pragma omp target map(other)\nother = data[1];\nother"}
{"op":"execute","code":"int plain(void) { int s = 0;\n#pragma omp target map(tofrom: s)\nfor (int i = 0; i < 4; i++) s += later(i);\nreturn s; }"}
{"op":"execute","code":"plain()"}
{"op":"execute","code":"int later(int x) { return data[x % 4] * 10; } later()"}
{"op":"execute","code":"int later(int x) { return data[x % 4] * 10; }"}
{"op":"execute","code":"run() * 1000 + plain()"}
{"op":"execute","code":"data[0] = 5;\n#pragma omp target update to(data)\nrun() * 1000 + plain()"}
END
    "$@" <requests >shown
    is "$(sed -n 's/.*"status":"\([^"]*\)".*/\1/p' shown | paste -sd' ' -)" \
        "ok error ok error ok ok error error ok ok ok" "$name"
    is "$(sed -n 's/.*"value":"\([^"]*\)".*/\1/p' shown | paste -sd' ' -)" \
        "2 100100 140140" "  and its value"
}
lacks_function "a region that lacks a function" "$ompjit" repl --json \
    --device host --host-memory separate
# Device code is made again when a later input defines what it lacks.
lacking='int set(int *x);
int g(void)
{
    int x = 1;
#pragma omp target map(tofrom: x)
    set(&x);
    return x;
}
#pragma omp begin declare target
int q = 5;
int more(int n);
#pragma omp end declare target
int set(int *x) { return *x = more(q); }
int more(int n) { return n + 1; }
q = 7;
#pragma omp target update to(q)
g()'
prints "a target region calls functions that later inputs define" "$lacking" \
    '(int) 8' --device host --host-memory separate
prints "  in C++, too" 'namespace n { struct s { int a; int f(int n); }; }
int g(void)
{
    int x = 1;
    n::s s{4};
#pragma omp target map(tofrom: x) map(to: s)
    x = s.f(x);
    return x;
}
int n::s::f(int n) { return 2 * n + a; }
g()' '(int) 6' --device host --lang c++
if [ -e "${PTXI:-/nonexistent}" ]; then
    printf '%s\n' "$lacking" >inputs.c
    succeeds "  and on a GPU" emulated "$ompjit" repl inputs.c
    is "$out" "(int) 8" "  prints that"
else
    skip "  and on a GPU" "no PTX interpreter"
fi
prints "kernels find functions of the C++ library" '#include <iostream>
#pragma omp target
std::cout << "yes" << std::endl;' 'yes' --device host --lang c++ -w
breaks "a variable that no device has" 'int plain;
#pragma omp begin declare target
int f(void) { return plain; }
#pragma omp end declare target
int r;
#pragma omp target map(from: r)
r = f();' '^inputs.c:6: error: .*undefined symbols: plain$' --device host

breaks "an undefined variable" 'extern int plain;
plain' '^inputs.c:2: error: .*undefined symbols: plain$'
like "$(cat stderr)" '^Define them in an input, .*\(-l\)' \
    "  and where it can come from"

# clang notes what devices cannot do, and tells it when a function is used on
# one, inputs later.
wide='double f(double x) { __float128 y = x; return (double)(y * y); }
f(2)
int n = 0;
#pragma omp target map(n)
n++;
double g(double x) { return f(x); }'
breaks "what a device cannot do is an error of the input that uses it there" \
    "$wide
double r;
#pragma omp target map(from: r)
r = g(2);" '^inputs.c:1:[0-9]+: error: .*__float128.* support' --device host
is "$out" "(double) 4.0" "  and not of one on the host"
prints "  nor of one that uses another function" "$wide
double f(double x) { return x * x * x; }
double r;
#pragma omp target map(from: r)
r = f(2);
r + n" '(double) 4.0
(double) 9.0' --device host

printf '#define ON_DEVICE _Pragma("omp target map(tofrom: r)")\n' >device.h
prints "a region without the word target knows all inputs before" \
    '#include "device.h"
typedef int number;
number r = 4;
static inline number twice(number n) { return 2 * n; }
number unused(__float128 x) { return x; }
ON_DEVICE r = twice(r);
r' '(number) 8' --device host

# ------------------------------------------------------------------- errors
breaks "an error of the compiler" 'int x = 1;

x +
  missing;' '^inputs.c:4:3: error: use of undeclared identifier'
breaks "one behind a value" '1
int f( { }' "^inputs.c:2:"
is "$out" "(int) 1" "  which was shown"
breaks "a text that ends too early" 'int f(void) {' '^inputs.c:[12]:[0-9]*: error: expected'
breaks "null pointers" 'int *p = 0;
void g(int *q)
{
    *q = 1;
}
g(p);' '^inputs.c:6: error: access to unmapped memory at .*\(inputs.c:4\)'
breaks "  in a statement" 'int *p = 0;

*p = 1;' '^inputs.c:3: error: access to unmapped memory at [^ ]*$'
breaks "abort" '#include <stdlib.h>
abort();' '^inputs.c:2: error: it called abort$'
breaks "exit" '#include <stdlib.h>
void g(void) { exit(3); }
g();' '^inputs.c:3: error: it called exit\(3\)'
breaks "assert" '#include <assert.h>
assert(1 == 2);' '^inputs.c:2: error: .*1 == 2'
breaks "division by zero" 'volatile int zero;
int n = 5;
n / zero' '^inputs.c:3: error: '
breaks "a stack overflow" 'int g(int n)
{
    volatile int a[100];
    a[n % 100] = n;
    return g(n + 1) + a[n % 100];
}
g(1)' '^inputs.c:7: error: its stack overflowed'
breaks "a function that is not defined" 'void nothing(void);
nothing();' '^inputs.c:2: error: nothing is declared, but not defined'
breaks "a fault in a target region" 'int *p = 0;
#pragma omp target is_device_ptr(p)
{
  *p = 1;
}' '^inputs.c:2: error: .*unmapped memory.*\(inputs.c:4\)' --device host
prints "objects of C++ are shown by what their classes offer" '
#include <array>
#include <complex>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>
std::vector<int> v{1, 2, 3};
v
_.size()
std::string s = "a\tb";
s
std::vector<std::vector<std::string>> all{{"a", "b"}, {}};
all
std::vector<double> x(1000, 0.5);
x.back() = 7;
x
std::vector<bool> bits{true, false};
bits
std::map<std::string, int> m{{"two", 2}, {"one", 1}};
m
std::array<float, 2> a{1, 2};
a
std::list<int> l(300, 4);
l
std::unique_ptr<int> owner(new int(42));
owner
std::shared_ptr<std::string> none;
none
std::optional<int> maybe;
maybe
maybe = 3;
maybe
std::tuple<int, const char *, double> t(1, "two", 3);
t
std::variant<int, std::string> either("text");
either
std::complex<double> z(1, 2);
z
struct person { std::string name; int age; std::vector<int> marks; };
std::vector<person> people{{"Ann", 30, {1, 2}}};
people
class base { int n = 1; public: double d = 2; virtual ~base() {} };
class derived : public base { std::string s = "d"; int &r; public: derived(int &r) : r(r) {} };
derived d(v[0]);
((int)sizeof d)
struct printed { int n; };
std::ostream &operator<<(std::ostream &to, const printed &p) { return to << "no. " << p.n; }
printed p{5};
p
namespace { struct hidden { std::string s; }; }
hidden h{"h"};
h
std::string texts[2] = {"p", "q"};
texts
struct range { int n; const int *begin() const { return &n; } const int *end() const { return &n + 1; } };
range r{9};
r
struct plain { int x; double y; };
std::vector<plain>(2)
auto f = [](int n) { return n + 1; };
f(1)' '(std::vector<int>) {1, 2, 3}
(size_t) 3
(std::string) "a\tb"
(std::vector<std::vector<std::string>>) {{"a", "b"}, {}}
(std::vector<double>) 
[  0]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
[  8]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
[ 16]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
[ 24]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
[ 32]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
[ 40]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
[ 48]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
[ 56]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
[ 64]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
[ 72]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  0.5
      ...
[992]  0.5  0.5  0.5  0.5  0.5  0.5  0.5  7.0
(std::vector<bool>) {true, false}
(std::map<std::string, int>) {{"one", 1}, {"two", 2}}
(std::array<float, 2>) {1.0, 2.0}
(std::list<int>) 
[  0]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[ 16]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[ 32]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[ 48]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[ 64]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[ 80]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[ 96]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[112]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[128]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[144]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[160]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
[176]  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4
...
(std::unique_ptr<int>) &42
(std::shared_ptr<std::string>) NULL
(std::optional<int>) nullopt
(std::optional<int>) 3
(std::tuple<int, const char *, double>) {1, "two", 3.0}
(std::variant<int, std::string>) "text"
(std::complex<double>) (1,2)
(std::vector<person>) {{.name = "Ann", .age = 30, .marks = {1, 2}}}
(int) 64
(printed) no. 5
(hidden) {.s = "h"}
(std::string[2]) {"p", "q"}
(range) {9}
(std::vector<plain>) {{.x = 0, .y = 0.0}, {.x = 0, .y = 0.0}}
(int) 2' --device host --lang c++
prints "  of C++11, without any header" 'class base { int n = 1; public: int m = 2; };
class derived : base { int &r; public: derived(int &r) : r(r) {} int k = 3; };
int n;
derived(n)
auto f = [](int n) { return n + 1; };
f
struct noted { int n; int next() { return n + 1; } };
noted{4}' '(derived) {{.n = 1, .m = 2}, .r = &n, .k = 3}
((lambda at inputs.c:5:10)) {}
(noted) {.n = 4}' --device host --lang c++ -std=c++11
# grown INPUT: the pages that 40 of them make the session larger by
grown() {
    cat >inputs.cc <<'END'
#include <stdio.h>
#include <string>
#include <vector>
std::vector<std::string> v{"a", "b"};
long pages() { long all, n = 0; FILE *f = fopen("/proc/self/statm", "r");
    if (f) { if (fscanf(f, "%ld %ld", &all, &n) != 2) n = 0; fclose(f); }
    return n; }
END
    for n in 1 2 3 4 5 6; do echo "$1"; done >>inputs.cc
    echo 'long before = pages();' >>inputs.cc
    for n in 1 2 3 4 5 6 7 8; do
        printf '%s\n' "$1" "$1" "$1" "$1" "$1"
    done >>inputs.cc
    printf '%s\n' 'printf("%ld\n", pages() - before);' >>inputs.cc
    repl --device host --lang c++ inputs.cc | tail -1
}
statement=$(grown '(void)v.size();')
is "$((statement < 40 * 3))" 1 "a statement takes less than three pages" ||
    echo "# $statement pages"
object=$(grown v) number=$(grown 'v.size()')
is "$((object < 40 && number < 40))" 1 \
    "a number, or an object that is shown again, takes less than a page" ||
    echo "# $object pages, $number"
breaks "an exception while an object is shown" '#include <iostream>
struct bad { int n; };
std::ostream &operator<<(std::ostream &o, const bad &b) { throw b.n; }

bad{1}
printf("after\n");' '^inputs.c:5: error: it threw int$' --device host --lang c++
breaks "a fault while an object is shown" '#include <iostream>
struct bad { int *n; };
std::ostream &operator<<(std::ostream &o, const bad &b) {
    return o << *b.n; }
bad{}' '^inputs.c:5: error: .*unmapped memory.*[(]inputs.c:4[)]' --device host \
    --lang c++
"$ompjit" repl --device host --lang c++ >shown 2>stderr --json <<'END'
{"op":"execute","code":"#include <iostream>\nint n = 4;"}
{"op":"execute","code":"struct bad { int n; };"}
{"op":"execute","code":"std::ostream &operator<<(std::ostream &o, const bad &b) { throw b.n; }"}
{"op":"execute","code":"n"}
{"op":"execute","code":"n++; bad{1}"}
{"op":"execute","code":"_ + n"}
{"op":"execute","code":":undo 2"}
{"op":"execute","code":"n"}
END
is "$(sed -n 's/.*"value":"\([^"]*\)".*/\1/p' shown | paste -sd' ' -)" "4 9 4" \
    "  whose input is no part of the session"
like "$(cat shown)" '"status":"error","number":5,"text":"In.5.:1: error: it th' \
    "  and has failed"
breaks "a command without its colon" 'int help = 1;
help
quit()' '^note: :help lists the commands, and :quit leaves$'
succeeds "  which is a function" repl -e '#include <stdlib.h>' -e 'exit'
like "$(cat stderr)" '^note: :help lists the commands, and :quit leaves$' \
    "  is shown, and told"
breaks "OpenMP's functions without their header" 'omp_get_num_devices()' \
    '^note: include the header <omp.h>$'
breaks "an option of another language" '1' \
    "does not take the session's options: error: invalid argument '-std=c\+\+20'" \
    -std=c++20
breaks "a fault while a value is shown" 'int (*far)[9] = (void *)64;
*far' '^inputs.c:2: error: .*unmapped memory' --device host
breaks "an exception" 'throw 1;' '^inputs.c:1: error: it threw int' --lang c++
breaks "an endless loop with a limit" 'int x;
for (volatile int i = 0; ; i++);' \
    '^inputs.c:2: error: it ran longer than 1 s \(--run-limit\)' --run-limit 1
breaks "  of programs, while which SIGINT is ignored" '#include <stdlib.h>
for (;;) system(":");' \
    '^inputs.c:2: error: it ran longer than 1 s \(--run-limit\)' --run-limit 1
prints "children end as they do elsewhere" '#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int status;
{ if (!fork()) _exit(3); wait(&status); } WEXITSTATUS(status)
{ if (!vfork()) _exit(4); wait(&status); } WEXITSTATUS(status)
{ if (!fork()) exit(5); wait(&status); } WEXITSTATUS(status)
{ if (!fork()) *(volatile int *)0 = 1; wait(&status); } WTERMSIG(status)' \
    '(int) 3
(int) 4
(int) 5
(int) 11'
breaks "  in a parallel region" 'int x;
#pragma omp parallel
for (volatile int i = 0; ; i++);' \
    'a parallel region of the host does not end' --run-limit 1
printf 'int x = "\377\376";\n\001\n\n@@@\nx' >bytes.c
fails_with 'bytes.c:' "bytes that are no UTF-8" repl bytes.c

# ------------------------------------------------------------- optimization
# A constant that goes by a variable is one for the optimizer alone.
printf '#include <stdio.h>\n%s\n' \
    '#define KNOWN ({ int x = 3; __builtin_constant_p(x); })' >known.h
prints "statements that run once are not optimized" '#include "known.h"
KNOWN
{ int once = KNOWN; printf("%d\n", once); }' '(int) 0
0'
prints "but some loops and functions are" '#include "known.h"
int n = 1;
for (int i = 0; i < 1000000; i++) n = KNOWN;
n
for (int i = 0; i < n; i++) { int a[n]; a[0] = KNOWN; printf("%d\n", a[0]); }
static int g(void) { return n == 0 ? g() : KNOWN; } g()
{ asm volatile(""); printf("%d\n", KNOWN); }' '(int) 1
1
(int) 1
1'
# f is KNOWN behind some of its rounds, and adds these up.
prints "a loop that runs for long goes on in optimized code" '#include "known.h"
int n = 1000000, all = 0;
for (int i = 0; i < n; i++) all += KNOWN;
n / 2 < all && all < n ? 1 : 0
{ int k = 0, i = 0; again: k += KNOWN; if (++i < n) goto again; printf("%d\n", n / 2 < k && k < n); }
static int inner(int n) { int k = 0; for (int i = 0; i < 9; i++) for (int j = 0; j < n; j++) k += KNOWN; return k; } inner(n) < 9 * n ? 1 : 0
inner(1) + inner(1000)
int team(int n) { int k = 0;
#pragma omp parallel for reduction(+: k) num_threads(2)
for (int i = 0; i < n; i++) k += KNOWN;
return k; } team(n) > n / 2
team(n) == n
#pragma omp parallel num_threads(1)
while (n-- > 0) all = KNOWN;
all' '(int) 1
1
(int) 1
(int) 9009
(int) 1
(int) 1
(int) 1'
prints "  with all of its state" 'int run(int m) {
    static int calls;
    double a[64], s = 0;
    struct { int at; long n; } p = {0};
    calls++;
    for (int i = 0; i < 64; i++) a[i] = i;
    for (int k = 0; k < m; k++) {
        int i = 0;
        while (i < 64) {
            s += a[i] * (k & 1 ? 1 : -1);
            p.at = i++;
            if (i == 63 && k % 7 == 0) break;
            p.n += p.at > 60 ? 1 : 0;
        }
    }
    return calls + (int)s + p.at + (int)(p.n % 1000);
}
run(3)
run(100001)
int *kept; int leaves(int m) { int n = 0; kept = &n; for (int i = 0; i < m; i++) { *kept += 1; n += 1; } return n; } leaves(1000000)
struct pair { double x, y; long n; };
struct pair sum(int n) { struct pair p = {0}; for (int i = 0; i < n; i++) { p.x += i; p.y += 2.0 * i; p.n++; } return p; }
sum(300000)
long digits(long n) { long k = 0; do { switch (k % 3) { case 0: k += 1; break; case 1: k += 2; default: k += 3; } } while (k < n); return k; } digits(1000000)
int sums(int n) { int c = 0, d = 0;
#pragma omp parallel num_threads(2)
{
#pragma omp for schedule(dynamic, 1000) reduction(+: c)
for (int i = 0; i < n; i++) c += i & 1;
#pragma omp for
for (int i = 0; i < n; i++) {
#pragma omp critical
d++;
}
}
return c + d; } sums(300000)
sums(300000)' "$(printf '%s\n' '(int) -1882' '(int) -1520' '(int) 2000000' \
    '(struct pair) {.x = 44999850000.0, .y = 89999700000.0, .n = 300000}' \
    '(long) 1000002' '(int) 450000' '(int) 450000')"
is "$("$ompjit" repl -O0 inputs.c 2>&1)" "$out" "  as unoptimized code has it"
printf '%s\n' 'struct S { ~S() { ended++; } static inline int ended; };' \
    'int f(int n) { S s; int k = 0; for (int i = 0; i < n; i++) { S t; if (i == 999999) throw i; k += i & 1; } return k; }' \
    'int caught = 0; try { f(1000001); } catch (int i) { caught = i; }' 'caught' \
    'S::ended' 'f(999999)' 'S::ended' >inputs.cc
succeeds "  and destructors and exceptions of C++" repl inputs.cc
is "$out" "(int) 999999
(int) 1000001
(int) 499999
(int) 2000001" "  which run once each"
breaks "  and a fault there has its line" 'long far = -(1L << 40); int get(volatile int *p, int n) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += p[i < 900000 ? 0 : far];
    return s;
}
int n = 7;
get(&n, 1000000)' '^inputs.c:8: error: access to unmapped memory.* \(inputs.c:4\)$'
prints "a lock is one for all inputs" 'int n = 0;
void add(int k) {
#pragma omp critical
for (int i = 0; i < k; i++) n++;
}
#pragma omp parallel num_threads(2)
for (int i = 0; i < 1000; i++) {
#pragma omp critical
n++;
add(10);
}
n' '(int) 22000'
prints "brief code is not before it has run" '#include "known.h"
for (int i = 0; i < 10; i += 3) printf("%d", KNOWN);
int f(void) { return KNOWN; }
f()
f()
int g(void) { return KNOWN; } g()
int h(void) { return 10 * g() + KNOWN; } h()
f() + g() + h()
int loop(int more) { int n = 0; for (int i = 0; i < more; i++) n = KNOWN; return n; } loop(9)
loop(9)
#pragma omp parallel num_threads(1)
printf("%d\n", KNOWN);' '0000(int) 0
(int) 1
(int) 0
(int) 10
(int) 13
(int) 0
(int) 1
0'
prints "  and has one of each variable, and one address" 'int n = 1; int next(void) { return n++; } next()
next()
int count(void) { static int n; return ++n; } count()
count()
static int again(void) { static int n; return n += 10; } again()
again()
again()
n
int one(void) { return 1; } int (*first)(void) = one; first == one
first == one
int two(void) { return 2; }
int (*second)(void) = two;
two()
two()
second == two' '(int) 1
(int) 2
(int) 1
(int) 2
(int) 10
(int) 20
(int) 30
(int) 3
(int) 1
(int) 1
(int) 2
(int) 2
(int) 1'
breaks "  and a fault in optimized code has its line" 'int get(int *p) {
    return *p;
}
int n = 7;
get(&n)
get(&n)
get(0)' '^inputs.c:7: error: access to unmapped memory.* \(inputs.c:2\)$'
printf '%s\n' '#include "known.h"' 'auto f = [] { return KNOWN; };' \
    'int n = 2, sum = 0;' 'for (int i = 0; i < 9000000; i++) sum = f();' 'sum' \
    '{ auto once = [] { return KNOWN; }; printf("%d\n", once()); }' \
    >inputs.cc
succeeds "the same of C++" repl inputs.cc
is "$out" "(int) 1
0" "  for functions that are called in a loop, or once"

# -------------------------------------------------------------------- memory
# grows NAME MOST TEXT: 300 inputs, in which N is a number, take that many KB of
# the session's own memory each.
grows() {
    {
        echo '#include <stdio.h>
#include <string.h>
int sink, at; char line[200];
long kb(void) {
    long all = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (fgets(line, sizeof line, f))
        sscanf(line, "Private_Dirty: %ld", &all);
    fclose(f);
    return all;
}'
        i=0
        while [ $i -lt 320 ]; do
            [ $i -ne 20 ] || echo 'long before = kb();'
            printf '%s\n' "$3" | sed "s/@/$i/g"
            i=$((i + 1))
        done
        echo "(kb() - before) / 300 <= $2 ? 0 : (kb() - before) / 300"
    } >inputs.c
    succeeds "300 inputs of $1" repl --device host inputs.c
    is "$(printf "%s" "$out" | tail -n 1)" "(long) 0" "  take $2 KB each at most"
}
if grep -q '^Private_Dirty:' /proc/self/smaps_rollup 2>/dev/null; then
    grows statements 3 'sink += @; printf("%d\n", sink + @);'
    grows values 4 'sink + @'
    grows structs 4 '(struct { int a; double b[2]; }){@, {1, sink}}'
    grows 'parallel regions' 4 '#pragma omp parallel for reduction(+: sink)
for (int i = 0; i < @; i++) sink += i;'
    grows 'target regions' 8 '#pragma omp target map(tofrom: sink)
sink += @;'
    grows functions 24 'int f@(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; } sink = f@(9);'
else
    skip "memory" "the system does not say how much memory a process has"
fi
"$ompjit" repl --json --device host --lang c++ >shown <<'END'
{"op":"execute","code":"#include <stdio.h>\n#include <string.h>\nchar line[500]; int compilers() { int n = 0; FILE *f = fopen(\"/proc/self/maps\", \"r\"); while (fgets(line, sizeof line, f)) n += strstr(line, \"ompjit-compiler\") ? 1 : 0; fclose(f); return n; }"}
{"op":"execute","code":"extern int gone; namespace n { extern double lost[3]; }"}
{"op":"execute","code":"gone + n::lost[0]"}
{"op":"execute","code":"compilers()"}
END
like "$(cat shown)" '"In.3.:1: error: In.3.: undefined symbols: gone, n::lost\\nDef' \
    "undefined variables are told"
like "$(cat shown)" '"value":"0"' "  and LLVM is not loaded for that"
prints "constants of a statement stay where an address of one may" \
    '#include <stdio.h>
char *text, **all = &text; char *strchr(const char *, int);
void keep(char *p) { text = p; }
text = "one";
text
keep("two");
text
text = strchr("_three", 116);
text
for (int i = 0; i < 3; i++) *all = "four";
puts("five"); puts(text);
{ static int n = 3; int *p = &n; *p += 1; printf("%d\n", *p); }
{ char local[] = "six"; puts(local); }' '(char *) "one"
(char *) "two"
(char *) "three"
five
four
4
six'

# ---------------------------------------------------------------- processors
prints "libomp's threads do not spin between inputs" \
    '#include <time.h>
#include <unistd.h>
int threads = 0;
#pragma omp parallel num_threads(2) reduction(+: threads)
threads++;
threads
long then = clock();
usleep(300000);
clock() - then < CLOCKS_PER_SEC / 100' '(int) 2
(int) 1'

# -------------------------------------------------------------- -e and pipes
succeeds "-e, several times" repl -e 'int y = 3;' -e 'y'
is "$out" "(int) 3" "  prints the value"
fails_with '^-e:1:4: error' "-e with an error" repl -e 'int y = 3;' -e 'y +' -e '1'
is "$out" "" "  is the end"
printf '#include <stdio.h>\nint n = 0;\nscanf("%%d", &n);\n17\nn\n' >piped
succeeds "a pipe" sh -c "'$ompjit' repl <piped"
is "$out" "(int) 17" "  whose next line an input can read"
fails_with '^stdin:2:1: error' "an error in a pipe" sh -c \
    "printf '1\nno\n2\n' | '$ompjit' repl"
is "$out" "(int) 1" "  is the end"
fails_with 'no-such-file' "a file that is not there" repl no-such-file.c
status_is 2 "a language that is none" "$ompjit" repl --lang pascal -e 1

# children PID: their processes
children() { cat "/proc/$1/task/$1/children"; }
# has_standby PID: one of a session's processes has begun one for the next input
has_standby() {
    for front in $(children "$1"); do
        [ -z "$(children "$front")" ] || return 0
    done
    return 1
}
mkfifo typed
"$ompjit" repl <typed >typed.out 2>&1 &
session=$!
exec 9>typed
printf 'int x = 5;\n' >&9
tries=100
until has_standby $session || [ $tries = 0 ]; do
    sleep 0.1
    tries=$((tries - 1))
done
is "$((tries > 0))" 1 "a process waits for the next input"
sleep 0.1
printf 'x\n#define i 7\n' >&9
sleep 0.3
printf 'x + i\n' >&9
exec 9>&-
wait $session
is "$(cat typed.out)" "(int) 5
(int) 12" "  which has the session's state, and may fail"

# ---------------------------------------------------------------------- C++
printf '%s\n' '#include <vector>' 'std::vector<int> v{1, 2, 3};' 'v.size()' \
    'template <typename T> T twice(T x) { return x + x; }' 'twice(2.5)' \
    'struct s { int n; int get() const { return n; } } o{7};' 'o.get()' \
    'auto f = [](int n) { return n * 3; };' 'f(5)' \
    'int sum = 0;' '#pragma omp target parallel for reduction(+: sum)' \
    'for (int i = 0; i < 10; i++) sum += twice(i);' 'sum' >inputs.cc
succeeds "C++" repl --device host inputs.cc
is "$out" "(size_t) 3
(double) 5.0
(int) 7
(int) 15
(int) 90" "  prints that"
printf '%s\n' '#include <vector>' 'const std::vector<int> v(2, 5);' 'v[0]' \
    'struct S { int *p; S() : p(new int(4)) {} ~S() { *p = 0; } };' \
    'static const S s; const int n = 3;' '*s.p * n' '*s.p' 'v.size()' >inputs.cc
succeeds "objects that are const" repl inputs.cc
is "$out" "(int) 5
(int) 12
(int) 4
(size_t) 2" "  are made once, and their types are not named after members"
printf '%s\n' 'template <typename T> T later(T x);' \
    'int f() { return later(3); }' \
    'template <typename T> struct box { T f(); };' 'box<int> b;' \
    'int g() { return b.f(); }' \
    'template <typename T> T later(T x) { return x * 2; }' 'f()' 'later(5)' \
    'template <typename T> T box<T>::f() { return 42; }' 'g()' 'b.f()' \
    >inputs.cc
succeeds "templates are defined behind their use" repl inputs.cc
is "$out" "(int) 6
(int) 10
(int) 42
(int) 42" "  prints that"
printf '%s\n' 'template <typename T> T inc(T x) { static int n; return x + ++n; }' \
    'inc(1)' 'inc(1)' \
    'template <typename T> struct c { static int n; };' \
    'template <typename T> int c<T>::n = 7;' \
    'int up() { return ++c<int>::n; }' 'up()' 'c<int>::n' \
    'inline int q = 5;' 'int uq() { return ++q; }' 'uq()' 'q' \
    'int made = 0; struct noisy { int v; noisy() : v(++made) {} };' \
    'template <typename T> struct h { static noisy one; };' \
    'template <typename T> noisy h<T>::one;' \
    'int first() { return h<int>::one.v; }' 'first()' 'h<int>::one.v' 'made' \
    >inputs.cc
succeeds "what each file defines, a session has once" repl inputs.cc
is "$out" "(int) 2
(int) 3
(int) 8
(int) 8
(int) 6
(int) 6
(int) 1
(int) 1
(int) 1" "  prints that"
printf '%s\n' '#pragma omp begin declare target' \
    'template <typename T> struct d { static T n; };' \
    'template <typename T> T d<T>::n = 7;' \
    '#pragma omp end declare target' \
    'inline int next() { static int k = 100; return ++k; }' \
    'template <typename T> T up() { static T k = T(5); return ++k; }' \
    'int r[3];' 'void both();' >inputs.cc
for i in 1 2 3; do
    printf '%s\n' '#pragma omp target map(tofrom: r)' \
        '{ r[0] = next(); r[1] = up<int>(); r[2] = ++d<int>::n; }' 'r'
done >>inputs.cc
printf '%s\n' 'next()' 'd<int>::n' '#pragma omp target update from(d<int>::n)' \
    'd<int>::n' >>inputs.cc
succeeds "static variables on a device" repl --device host inputs.cc
is "$out" "(int[3]) {101, 6, 8}
(int[3]) {102, 7, 9}
(int[3]) {103, 8, 10}
(int) 101
(int) 7
(int) 10" "  are one object for all inputs"
printf '%s\n' '#include <chrono>
#include <compare>
#include <map>
#include <memory>
#include <queue>
#include <stack>
#include <string>
#include <valarray>
#include <vector>
std::queue<int> q;
q.push(1);
q.push(2);' q 'std::stack<int>({3, 4})' 'std::priority_queue<int>()' \
    'std::valarray<double>{1, 2}' 'std::weak_ptr<int>()' \
    'auto p = std::make_shared<int>(3); std::weak_ptr<int> w = p;' w p \
    'std::chrono::milliseconds(15)' '1 <=> 2' \
    'std::vector<int> v{1}; auto at = v.begin();' v.begin '_ == at' \
    'std::map<int, int> m;' 'm.begin()' 'std::make_unique<int>(5)' |
    sed 's/^v.begin$/v.begin()/' >inputs.cc
succeeds "adapters, iterators, times, orderings" repl --device host \
    -std=c++20 inputs.cc
is "$(printf '%s' "$out" | sed 's/0x[0-9a-f]*/ADDRESS/')" \
    "(std::queue<int>) {1, 2}
(std::stack<int>) {3, 4}
(std::priority_queue<int>) {}
(std::valarray<double>) {1.0, 2.0}
(std::weak_ptr<int>) expired
(std::weak_ptr<int>) &3
(std::shared_ptr<int>) &3
(std::chrono::milliseconds) 15ms
(std::strong_ordering) less
(std::vector<int>::iterator) ADDRESS
(bool) true
(std::map<int, int>::iterator) end
(std::unique_ptr<int>) &5" "  are shown by what they have"
cat >inputs.cc <<'END'
#include <any>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
std::wstring(L"wide é \"x\"")
L"wide"
const char16_t *both = u"é\U0001F600\n";
both
std::u16string(u"é\U0001F600")
std::u32string(U"x")
std::u8string(u8"é")
L'x'
u'é'
char16_t(0xd800)
const wchar_t *none = nullptr;
none
struct S { char32_t letter; wchar_t name[8]; } s{U'é', L"abc"};
s
std::map<int, double> m{{1, 2.5}, {3, 4.5}};
m.begin()
m.find(3)
m.find(4)
m.rbegin()
std::map<int, int> empty;
empty.end()
empty.rbegin()
std::set<std::string> words{"a", "b"};
words.find("b")
std::unordered_map<std::string, int> counts{{"a", 1}};
counts.find("a")
counts.find("b")
std::vector<int> v{1, 2, 3};
v.rbegin()
std::list<int> l{1};
l.begin()
std::deque<int>{1}.begin()
double twice(double x) { return 2 * x; }
std::function<double(double)>(twice)
std::function<int(int)>([](int n) { return n; })
std::function<int(int)>(std::negate<int>())
std::function<void()>()
std::any(5)
std::any(std::string("text"))
std::any(std::hash<int>())
std::any()
v | std::views::filter([](int n) { return n > 1; })
v | std::views::transform([](int n) { return n * 2; }) | std::views::take(2)
std::filesystem::path("/usr") / "lib"
END
succeeds "wide letters, iterators, functions, views" repl -w --device host \
    -std=c++20 inputs.cc
is "$(printf '%s' "$out" | sed 's/.*_view<.*) {/(VIEW) {/; s/0x[0-9a-f]*/ADDRESS/')" \
    '(std::wstring) "wide é \"x\""
(const wchar_t[5]) "wide"
(const char16_t *) "é😀\n"
(std::u16string) "é😀"
(std::u32string) "x"
(std::u8string) "é"
(wchar_t) '"'x'
(char16_t) 'é'
(char16_t) 55296
(const wchar_t *) NULL
(struct S) {.letter = 'é', .name = \"abc\"}"'
(std::map<int, double>::iterator) &{1, 2.5}
(std::map<int, double>::iterator) &{3, 4.5}
(std::map<int, double>::iterator) end
(std::map<int, double>::reverse_iterator) before end
(std::map<int, int>::iterator) end
(std::map<int, int>::reverse_iterator) before end
(std::set<std::string>::iterator) &"b"
(std::unordered_map<std::string, int>::iterator) &{"a", 1}
(std::unordered_map<std::string, int>::iterator) end
(std::vector<int>::reverse_iterator) before ADDRESS
(std::list<int>::iterator) ADDRESS
(std::deque<int>::iterator) ADDRESS
(std::function<double (double)>) twice
(std::function<int (int)>) <lambda>
(std::function<int (int)>) <std::negate<int>>
(std::function<void ()>) empty
(std::any) 5
(std::any) "text"
(std::any) <std::hash<int>>
(std::any) empty
(VIEW) {2, 3}
(VIEW) {2, 4}
(std::filesystem::path) "/usr/lib"' "  are shown by what they have"
prints "pointers show names as they were declared" \
    'namespace n { int v = 1; int g(int x) { return x; } }
int f(int), f(double);
int f(int) { return 1; }
&n::v
n::g
int (*p)(int) = f;
p
struct node { int n; node *next; } last{1, nullptr}, first{2, &last};
first.next
#include <string>
std::string("a") + "b"' '(int *) &n::v
(int (*)(int)) n::g
(int (*)(int)) f
(node *) &last
(std::string) "ab"' --lang c++
for capture in '&' 'k'; do
    breaks "a lambda that captures variables of the session" "int k = 5;
auto f = [$capture] { return k; };" '^inputs.c:2:' --lang c++
    like "$(cat stderr)" 'note: a lambda uses variables of the session without' \
        "  is told that it need not"
done
breaks "a module that is not there" 'import std;' \
    "^inputs.c:1:8: fatal error: module 'std' not found" --lang c++ -std=c++20
printf '{"op":"is_complete","id":1,"code":"import std;"}\n' >requests
succeeds "  is no beginning of an input" repl --json --lang c++ -std=c++20 <requests
like "$out" '"status":"invalid"' "  but wrong"
prints "static variables" 'static int n = 4;
++n
n++;
int next(void) { return ++n; }
next()
n
static int a[2];
a[1] = 3;
a' '(int) 5
(int) 7
(int) 7
(int[2]) {0, 3}'
prints "  in C++" 'static int n = 4;
++n
auto up = [count = 5]() mutable { return ++count; };
up()
up()
namespace { int hidden = 1; }
++hidden
hidden' '(int) 5
(int) 6
(int) 7
(int) 2
(int) 2' --lang c++
prints "  whose initializers run once" '#include <cstdio>
int k = 5;
auto l = [k = ++k] { return k; };
l() + l()
l()
k
struct S { int n; S(int n) : n(n) { printf("made %d\n", n); } \
~S() { printf("gone %d\n", n); } };
static S one(1);
one.n += 6;
one.n
namespace { S two(k); }
two.n' '(int) 12
(int) 6
(int) 6
made 1
(int) 7
made 6
(int) 6
gone 6
gone 7' --lang c++
printf '%s\n' 'int all = 1;' 'static int own = 2;' 'static const int N = 3;' \
    'int add(int n) { return all += n; }' \
    'static int next(void) { static int n; return own + ++n; }' >defines.h
for language in c c++; do
    prints "what an included file defines is there in $language" \
        '#include "defines.h"
add(own)
own = 5;
next() + next()
next()
int use(void) { return all + own + N; }
use()' '(int) 3
(int) 13
(int) 8
(int) 11' --lang $language
done
prints "what is redefined has its own static variables" \
    'inline int next() { static int n = 10; return ++n; }
next()
inline double next() { static double n = 0.5; return ++n; }
next()
template <typename T> T up(T n) { static T sum = 100; return sum += n; }
up(1)
template <typename T> T up(T n) { static T sum = 500; return sum += n; }
up(1)
template <typename T> T kept = T(3);
kept<int>
template <typename T> T kept = T(8);
kept<int>
template <typename T> struct box { static T n; };
template <typename T> T box<T>::n = 4;
box<int>::n
template <typename T> struct box { static T n; };
template <typename T> T box<T>::n = 6;
box<int>::n
struct S { int *p; S(int n) : p(new int(n)) {} };
const S s(1);
*s.p
const S s(2);
*s.p' '(int) 11
(double) 1.5
(int) 101
(int) 501
(int) 3
(int) 8
(int) 4
(int) 6
(int) 1
(int) 2' --lang c++

# ------------------------------------------------------------- thread-local
prints "thread-local variables" '_Thread_local int x = 3;
x++;
int f(void) { return ++x; }
f()
static _Thread_local int s = 1;
s++;
s
int sum = 0;
#pragma omp parallel num_threads(3) reduction(+: sum)
{ s++; sum += s + x; }
sum
_Thread_local int a[3] = {1, 2, 3};
a[1] = 9;
a
extern _Thread_local int late;
int g(void) { return late; }
_Thread_local int late = 5;
g()
int n(void) { static _Thread_local int n; return ++n; }
n()
n()
_Thread_local double x = 2.5;
x
f()
:undo 3
x
&x == &x' '(int) 5
(int) 2
(int) 18
(int[3]) {1, 9, 3}
(int) 5
(int) 1
(int) 2
(double) 2.5
(int) 6
(int) 5
(int) 1'
prints "threadprivate variables" 'int x = 2;
#pragma omp threadprivate(x)
static int y = 4;
#pragma omp threadprivate(y)
int sum = 0;
#pragma omp parallel num_threads(3)
{ x += 10; y++; }
#pragma omp parallel num_threads(3) reduction(+: sum)
sum += x + y;
sum
x = 7;
#pragma omp parallel num_threads(3) copyin(x) reduction(+: sum)
sum += x;
sum
int twice(void) { return 2 * x; }
twice()' '(int) 51
(int) 72
(int) 14'
breaks "  are that before they are used" 'int x = 2;
x
#pragma omp threadprivate(x)' '^inputs.c:3:27: error: .*must precede all'
breaks "a thread-local variable that is not there" \
    'extern _Thread_local int gone;
gone' '^inputs.c:2: error: .*undefined symbols: gone$'
prints "thread-local objects" '#include <cstdio>
#include <string>
#include <thread>
#include <vector>
struct S { int n; S(int n) : n(n) { printf("made %d\n", n); } \
~S() { printf("gone %d\n", n); } };
thread_local S a(1);
a.n += 4;
std::thread([] { a.n++; }).join();
a.n
thread_local S b(10), c(a.n);
c.n
static thread_local S d(20);
d.n += 3;
d.n
inline thread_local S e(30);
e.n = 33;
e.n
template <typename T> struct H { static thread_local S of; };
template <typename T> thread_local S H<T>::of(40);
H<int>::of.n++;
H<int>::of.n
thread_local std::vector<std::string> words{"x", "y"};
words.push_back("z");
words
std::thread([] { printf("%zu\n", words.size()); }).join();
extern thread_local S late;
int use() { return late.n; }
thread_local S late(50);
use()
int old() { return a.n; }
thread_local S a(60);
old() + a.n' 'made 1
made 1
gone 2
(int) 5
made 10
made 5
(int) 5
made 20
(int) 23
made 30
(int) 33
made 40
(int) 41
(std::vector<std::string>) {"x", "y", "z"}
2
made 50
(int) 50
made 60
(int) 65' --lang c++
prints "std::call_once, std::async, errno" '#include <cerrno>
#include <future>
#include <mutex>
std::once_flag flag;
int n = 0;
std::call_once(flag, [] { n++; });
std::call_once(flag, [] { n++; });
n
thread_local int own = 1;
std::async(std::launch::async, [] { errno = 5; return ++own; }).get()
own
std::promise<int> p;
std::thread t([] { p.set_value(own * 10); });
p.get_future().get()
t.join();
errno == 5' '(int) 1
(int) 2
(int) 1
(int) 10
(bool) false' --lang c++
done_testing
