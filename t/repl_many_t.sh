#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# 300 inputs of one session, half of them broken. After each its state is that of
# a program which a compiler has made of the good ones up to there.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/repl.sh"

# Writes requests to requests.json and the program to program.c: for input N
# request 2 N executes it, and 2 N + 1 asks for the state. kinds.txt has a line
# for each: good or bad, and its text.
cat >inputs.awk <<'END'
function random(n) {
    seed = (seed * 75 + 74) % 65537
    return seed % n
}
function json(text) {
    gsub(/\\/, "&&", text)
    gsub(/"/, "\\\\&", text)
    gsub(/\n/, "\\n", text)
    return text
}
function request(id, code) {
    printf "{\"op\":\"execute\",\"id\":%d,\"code\":\"%s\"}\n", id, code \
        >"requests.json"
}
function send(kind, code) {
    request(2 * ++count, code)
    request(2 * count + 1, "state()")
    printf "%s %s\n", kind, code >"kinds.txt"
}
function good(declaration, statement) {
    send("good", json(declaration statement))
    file = file declaration "\n"
    body = body statement "\nputs(state());\n"
}
function bad(code) {
    send("bad", code)
    body = body "puts(state());\n"
}
function fine() {
    kind = random(9)
    k = random(8)
    n = 1 + random(50)
    if (kind == 0)
        good("", "a = a * 3 % 1009 + " n ";")
    else if (kind == 1)
        good("", "for (int i = 0; i < 8; i++) v[i] += (int)(b % (i + " n "));")
    else if (kind == 2)
        good("long f" count "(long x) { return x * " n " + v[" k "]; }",
             "\nb = f" count "(a) % 10007;")
    else if (kind == 3)
        good("int w" count " = " n ";", "\nw" count " += v[" k "]; a += w" \
             count ";")
    else if (kind == 4)
        good("#define M" count "(x) ((x) + " n ")", "\nd = M" count "(d) / 2;")
    else if (kind == 5)
        good("struct s" count " { int x; double y; };",
             "\n{ struct s" count " one = {" n ", d}; p.x = one.x; " \
             "p.y += one.y; }")
    else if (kind == 6)
        good("", "#pragma omp target teams distribute parallel for " \
             "map(tofrom: v) firstprivate(a)\n" \
             "for (int i = 0; i < 8; i++)\n    v[i] += (int)(a % " n ") + i;")
    else if (kind == 7)
        good("", "#pragma omp parallel for reduction(+: b)\n" \
             "for (int i = 0; i < " n "; i++)\n    b += i * v[i % 8] % 17;")
    else
        good("", "if (a > b) {\n    p.x++;\n} else {\n    p.y -= 0.5;\n}")
}
function broken() {
    kind = turn++ % 24
    n = random(1000)
    if (kind == 0) bad("a = ;")
    else if (kind == 1) bad("a = p;")
    else if (kind == 2) bad("nobody_" n " + 1")
    else if (kind == 3) bad("*(volatile int *)" n " = 1;")
    else if (kind == 4) bad("abort();")
    else if (kind == 5) bad("exit(" n % 100 ");")
    else if (kind == 6)
        bad("int deep(int n) { volatile char c[4096]; c[0] = n; " \
            "return deep(n + 1) + c[0]; }\\ndeep(0)")
    else if (kind == 7)
        bad("for (volatile int k = 0;; k++)\\n    if (!k) kill(getpid(), " \
            "SIGINT);")
    else if (kind == 8)
        bad("volatile int zero_" n " = 0; a = " n " / zero_" n ";")
    else if (kind == 9)
        bad("for (int i = 0; i < 20000; i++) puts(\\\"many lines\\\");\\n" \
            "abort();")
    else if (kind == 10) bad("a = \377\376 + 1;")
    else if (kind == 11) bad("a\\u0001 = \\u0007 1;")
    else if (kind == 12) bad("int a b c;")
    else if (kind == 13) bad("never_defined(" n ");")
    else if (kind == 14) bad("#include <no_such_file_" n ".h>")
    else if (kind == 15) bad("#error stop")
    else if (kind == 16) bad("#pragma omp target map(nothing)\\na = 1;")
    else if (kind == 17) bad("}")
    else if (kind == 18) bad("struct s *q" n " = 0; q" n "->x = 1;")
    else if (kind == 19) bad("long a = " n "; nobody;")
    else if (kind == 20) bad("#pragma omp nonsense\\na = 1;")
    else if (kind == 21) bad("long state(int x) { return y; }")
    else if (kind == 22) bad(":nosuchcommand " n)
    else bad("assert(a == -" n ");")
}
BEGIN {
    seed = 17
    file = "#include <assert.h>\n#include <signal.h>\n#include <stdio.h>\n" \
           "#include <stdlib.h>\n#include <unistd.h>\n" \
           "long a = 1, b = 2;\ndouble d = 0.5;\nint v[8];\n" \
           "struct { int x; double y; } p;\nint never_defined(int);\n" \
           "const char *state(void)\n{\n    static char text[400];\n" \
           "    int n = snprintf(text, sizeof text, \"%ld %ld %.17g %d " \
           "%.17g\", a, b, d, p.x, p.y);\n" \
           "    for (int i = 0; i < 8; i++)\n" \
           "        n += snprintf(text + n, sizeof text - n, \" %d\", v[i]);\n" \
           "    return text;\n}\n"
    request(0, json(file))
    for (pair = 0; pair < 150; pair++) {
        fine()
        broken()
    }
    print file "int main(void)\n{\n" body "return 0;\n}" >"program.c"
}
END
LC_ALL=C awk -f inputs.awk
if ! "${CC:-cc}" -w program.c -o program 2>log; then
    skip_all "no C compiler: $(head -1 log)"
fi
./program >want
is "$(wc -l <want)" 300 "a program has the states of 300 inputs"
"$ompjit" repl --json --device host <requests.json >answers.json 2>stderr
is "$? $(cat stderr)" "0 " "one process answers all"
# The answers to odd numbers have the states.
sed -n 's/^{"id":[0-9]*[13579],.*"value":"\\"\([^"]*\)\\"".*/\1/p' answers.json \
    >got
diff want got >difference
is "$(head -5 difference)" "" "each state is the program's"
# status ID: the input's status
sed -n 's/^{"id":\([0-9]*[02468]\),.*"status":"\([a-z]*\)".*/\1 \2/p' \
    answers.json | sed 1d | sed 's/^[0-9]* //' >statuses
paste -d' ' statuses kinds.txt | awk '{
    good = $1 == "ok"
    if (good != ($2 == "good"))
        print
}' >wrong
is "$(head -5 wrong)" "" "all good inputs are executed, and no bad one"
like "$(grep -c aborted statuses)" '^[1-9]' "  endless loops are interrupted"
done_testing
