#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompjit repl --json: requests, answers, output, and interrupts.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/repl.sh"

# A session behind two pipes.
mkfifo requests answers
"$ompjit" repl --json --device host <requests >answers 2>stderr &
exec 5>requests 6<answers
ask() { printf '%s\n' "$1" >&5; }
hear() { IFS= read -r heard <&6 || heard=end; }
# answers NAME REGEX [REQUEST]: its next line
answers() {
    [ $# -lt 3 ] || ask "$3"
    hear
    like "$heard" "$2" "$1"
}

answers "a greeting" '^\{"event":"ready","version":"[0-9.]*","language":"c"\}$'
answers "a value" \
    '^\{"id":1,"status":"ok","number":1,"type":"int","value":"3"\}$' \
    '{"op":"execute","id":1,"code":"int x = 3;\nx"}'
ask '{"id":2,"op":"execute","code":"#include <stdio.h>\nprintf(\"h\u00e9\\n\");"}'
answers "output" '^\{"id":2,"event":"stream","name":"stdout","text":"hé\\n"\}$'
answers "  comes before the answer" '^\{"id":2,"status":"ok","number":2'
ask '{"id":3,"op":"execute","code":"fputs(\"a\\xff\", stderr);"}'
answers "bytes that are no UTF-8" \
    '^\{"id":3,"event":"stream","name":"stderr","text":"a(�|\\ufffd)"\}$'
hear
answers "an error, with its place" \
    '"status":"error".*"severity":"error","file":"In\[4\]","line":1,"column":5,' \
    '{"id":4,"op":"execute","code":"x = y;"}'
answers "an array of arrays has a table" \
    '"table":\{"columns":\["0","1","2"\],"rows":\[\["1","2","3"\],\["4","0","0"\]\],"count":2\}\}$' \
    '{"id":4,"op":"execute","code":"int grid[2][3] = {{1, 2, 3}, {4}};\ngrid"}'
answers "an array of structs, too" \
    '"table":\{"columns":\["s","x"\],"rows":\[\["\\"a\\"","1.5"\]\],"count":1\}\}$' \
    '{"id":4,"op":"execute","code":"struct { char *s; double x; } one[1] = {{\"a\", 1.5}};\none"}'
answers "an array of numbers has none" '"value":"\{1, 2\}"\}$' \
    '{"id":4,"op":"execute","code":"int two[2] = {1, 2};\ntwo"}'
answers "an array that becomes a number, which the same input uses" \
    '"status":"ok".*"type":"int","value":"1"\}$' \
    '{"id":4,"op":"execute","code":"int two = 0;\ntwo++;\ntwo"}'
answers "an error in an input that redefines" \
    '"status":"error".*undeclared identifier .nothing' \
    '{"id":4,"op":"execute","code":"int two[2];\ntwo[0] = nothing;"}'
answers "  leaves the number" '"type":"int","value":"1"\}$' \
    '{"id":4,"op":"execute","code":"two"}'
answers "what takes long is told" \
    '^\{"id":4,"event":"progress","stage":"running","seconds":[0-9.]+\}$' \
    '{"id":4,"op":"execute","code":"#include <unistd.h>\nusleep(1300000);"}'
while ! case $heard in *status*) true ;; *) false ;; esac; do hear; done
answers "an input that is not complete" '^\{"id":5,"status":"incomplete"' \
    '{"id":5,"op":"execute","code":"int f(int n) {"}'
for each in 'int f(int n) {|incomplete' '#pragma omp target|incomplete' \
    'x + 1|complete' 'x)|invalid' '|complete' 'int f(int n) \\\n|incomplete' \
    'if (x)|incomplete' 'struct s { int a;|incomplete'; do
    answers "is it complete: ${each%|*}" "^\{\"id\":6,\"status\":\"${each##*|}\"" \
        "{\"id\":6,\"op\":\"is_complete\",\"code\":\"${each%|*}\"}"
done
answers "what is no JSON" '^\{"status":"error","text":"the request is no JSON' \
    '{"id":7,'
answers "an operation that is none" '^\{"id":8,"status":"error","text":"op is' \
    '{"id":8,"op":"fly"}'
answers "a request without code" '^\{"id":9,"status":"error"' \
    '{"id":9,"op":"execute"}'

# ------------------------------------------------------- completion, inspection
answers "a structure" '"status":"ok"' \
    '{"id":10,"op":"execute","code":"struct pt { int xx, yy; } pq; int number = 4;"}'
# completes TEXT BEGIN NAMES, with commas between
completes() {
    ask "{\"id\":11,\"op\":\"complete\",\"code\":\"$1\"}"
    hear
    names=$(printf '%s\n' "$heard" | sed 's/"name":/\n&/g' |
        sed -n 's/^"name":"\([^"]*\)".*/\1/p' | paste -sd, -)
    is "$names" "$3" "completion of $1"
    like "$heard" "\"begin\":$2," "  replaces that"
}
completes 'numb' 0 number
completes '1 + pq.' 7 xx,yy
completes '#pragma omp targ' 12 target
completes '#pragma omp target dat' 19 data
completes '#pragma omp target m' 19 map
completes '#pragma omp parallel for sched' 25 schedule
completes '#pragma omp target \\\n map(to: numb' 30 number
completes '#pragma o' 8 omp
completes '#pragma omp wor' 12 ''
completes '#pragma omp declar' 12 declare
completes '#pragma omp parallel for schedule(dy' 34 dynamic
completes '#pragma omp target map(alw' 23 always
completes '#pragma omp target map(from: fro' 29 ''
completes '#pragma omp parallel default(sh' 29 shared
completes 'nothing_like_it' 0 ''
completes 'whil' 0 while
completes 'int f(void) {\n    swi' 18 switch
answers "names of the session come first" '"matches":\[\{"name":"number"' \
    '{"id":11,"op":"complete","code":"int one = n"}'
completes ':und' 1 undo
completes ':help :und' 7 undo
completes ':lang ' 6 c,c++
completes ':device ' 8 host,cuda
completes ':source num' 8 number
completes ':type pq.x' 9 xx
completes ':undo ' 6 ''
mkdir -p some/folder
touch some/file.c some/.hidden
completes ':load so' 6 some/
completes ':save some/' 6 some/file.c,some/folder/
completes ':load some/.h' 6 some/.hidden
answers "a variable that is an array" '"status":"ok"' \
    '{"id":10,"op":"execute","code":"double array[4]; int arrange(void);"}'
completes ':plot arra' 6 array
completes ':plot array some/fi' 12 some/file.c
answers "a variable is inspected" \
    'number: int\\ndeclared at In\[[0-9]*\]:1\\nsize: 4 bytes\\nvalue: 4\\n' \
    '{"id":12,"op":"inspect","code":"1 + number","cursor":6}'
answers "an expression of the compiler's" 'printf: int \(\*\)\(const char \*' \
    '{"id":12,"op":"inspect","code":"printf"}'
answers "nothing" '"found":false' '{"id":12,"op":"inspect","code":"nothing"}'
answers "the history" \
    '"inputs":\[\{"number":[0-9]+,"code":"double array.4.; int arrange.*"\}\]' \
    '{"id":12,"op":"history","n":1}'

# ---------------------------------------------------------------- interrupts
# interrupted NAME CODE: an endless loop, which has said that it has begun
interrupted() {
    ask "{\"id\":10,\"op\":\"execute\",\"code\":\"$2\"}"
    answers "$1" '"event":"stream","name":"stdout","text":"on'
    ask '{"op":"interrupt"}'
    answers "  is interrupted" '^\{"id":10,"status":"aborted"'
    answers "  and the session goes on" '"type":"int","value":"3"' \
        '{"id":11,"op":"execute","code":"x"}'
}
interrupted "an endless loop" 'volatile int n = 0;\nputs(\"on\");\nwhile (1) n++;'
interrupted "one in a target region" \
    'volatile int m = 0;\nputs(\"on\");\n#pragma omp target map(m)\nwhile (1) m++;'
interrupted "a parallel region" '#include <omp.h>\nputs(\"on\");\n'\
'#pragma omp parallel\nfor (double t = omp_get_wtime(); omp_get_wtime() < t + 0.2;)\n;'

ask '{"id":10,"op":"execute","code":":shell echo on; sleep 600; echo off"}'
answers "a command's program" '"event":"stream","name":"stdout","text":"on'
sleep 0.3 # by then the shell has most likely begun its second program
ask '{"op":"interrupt"}'
answers "  is interrupted" \
    '^\{"id":10,"status":"aborted","number":[0-9]+,"text":"In\[[0-9]+\]:1: interr'
answers "  and the session goes on" '"type":"int","value":"3"' \
    '{"id":11,"op":"execute","code":"x"}'

answers "an input that takes long from now on" '"status":"ok"' \
    '{"id":10,"op":"execute","code":"#include <stdlib.h>\n#include <unistd.h>\nif (getenv(\"SLOW\")) sleep(600);\nsetenv(\"SLOW\", \"1\", 1);"}'
answers "an input to take back" '"status":"ok"' \
    '{"id":10,"op":"execute","code":"int y = 4;"}'
for command in undo restore 'teams 2'; do
    ask "{\"id\":10,\"op\":\"execute\",\"code\":\":$command\"}"
    sleep 1
    ask '{"op":"interrupt"}'
    heard=
    while ! case $heard in *status*) true ;; *) false ;; esac; do hear; done
    like "$heard" \
        '^\{"id":10,"status":"aborted".*"text":"In\[[0-9]+\]:1: interrupted' \
        ":$command is interrupted"
    answers "  and the session goes on as it was" '"type":"int","value":"7"' \
        '{"id":11,"op":"execute","code":"x + y"}'
done

answers "a fault" '"status":"error".*"text":"In\[[0-9]*\]:1: error: access to' \
    '{"id":12,"op":"execute","code":"*(volatile int *)0 = 1;"}'
answers "  and the session goes on" '"type":"int","value":"3"' \
    '{"id":13,"op":"execute","code":"x"}'
ask '{"op":"shutdown"}'
hear
is "$heard" "end" "shutdown is the end"
wait $!
is $? 0 "  with status 0"
exec 5>&- 6<&-

# A parallel region that does not end.
"$ompjit" repl --json --device host <requests >answers &
exec 5>requests 6<answers
hear
answers "an endless parallel region" '"event":"progress","stage":"running"' \
    '{"op":"execute","id":1,"code":"#pragma omp parallel\nfor (volatile int i = 0; ; i++);"}'
ask '{"op":"interrupt"}'
while ! case $heard in *status*) true ;; *) false ;; esac; do hear; done
like "$heard" '"id":1,"status":"aborted","text":"interrupted in a para' \
    "  is interrupted"
wait $!
is $? 130 "  which ends the session"
exec 5>&- 6<&-

# Objects of C++.
cat >objects.json <<'END'
{"op":"execute","code":"#include <map>\n#include <string>\n#include <vector>"}
{"op":"execute","code":"struct pt { int x; std::string s; };\nstd::vector<pt> p{{1, \"a\"}, {2, \"b\"}};\np"}
{"op":"execute","code":"std::vector<std::vector<float>> v{{1, 2}, {3}};\nv"}
{"op":"execute","code":"std::map<int, char> m;\nfor (int i = 0; i < 101; i++)\n    m[i] = 'm';\nm"}
{"op":"execute","code":"pt array[1] = {p[1]};\narray"}
{"op":"execute","code":"std::vector<int> numbers{1, 2, 3};\nnumbers"}
{"op":"inspect","code":"p"}
END
"$ompjit" repl --json --lang c++ --device host <objects.json 2>stderr |
    grep -v '"event"' >shown
table() { sed -n "$1s/.*\"table\"://p" shown | cut -c-"$2"; }
is "$(table 2 99)" '{"columns":["x","s"],"rows":[["1","\"a\""],["2","\"b\""]],"count":2}}' \
    "a vector of structures has a table"
is "$(table 3 99)" '{"columns":["0","1"],"rows":[["1.0","2.0"],["3.0"]],"count":2}}' \
    "a vector of vectors, with rows of their lengths"
is "$(table 4 47)" "{\"columns\":[\"first\",\"second\"],\"rows\":[[\"0\",\"'m'" \
    "a map, too"
like "$(table 4 9999)" "\[\"99\",\"'m'\"\]\],\"count\":101\}\}\$" "  of 100 rows"
is "$(table 5 99)" '{"columns":["x","s"],"rows":[["2","\"b\""]],"count":1}}' \
    "an array of objects"
is "$(table 6 99)" "" "a vector of numbers has none"
like "$(sed -n 7p shown)" 'value: \{\{.x = 1, .s = \\"a\\"\}, \{.x = 2, .s' \
    "an object is inspected"

# Device code lacks a function; inputs that fail define none, and the front end
# reads the inputs once more.
cat >lacking.json <<'END'
{"op":"execute","code":"int set(int *x);"}
{"op":"execute","code":"int g(void) { int x = 1;\n#pragma omp target map(x)\nset(&x);\nreturn x; }"}
{"op":"execute","code":"g()"}
{"op":"execute","code":"int set(int *x) { return *x = 3; }\n*(volatile int *)0 = 1;"}
{"op":"execute","code":"int (*p)[4] = (void *)8;\n*p"}
{"op":"execute","code":"int set(int *x) { return *x = 30; }\ng()"}
END
"$ompjit" repl --json --device host <lacking.json >shown
is "$(sed -n 's/.*"status":"\([a-z]*\)".*/\1/p' shown | tr '\n' ' ')" \
    "ok ok error error error ok " "an input that fails gives no function to a region"
like "$(tail -n 1 shown)" \
    '"value":"30"' "  and a later one does"
done_testing
