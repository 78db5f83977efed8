#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Ctrl-C at random moments of ompjit repl at a terminal: while it compiles, runs
# host code, a target region, a kernel as PTX, a command, and while a line is
# typed. Each time the session lives on with its state, or, where a kernel on a GPU
# runs, is restored.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/repl.sh"
HOME=$tmp TERM=xterm NO_COLOR=1 LC_ALL=C.UTF-8
export HOME TERM NO_COLOR LC_ALL
command -v python3 >/dev/null || skip_all "no python3"
python3 -c "import sys; sys.path.insert(0, '$srcdir/t')
sys.dont_write_bytecode = True
import terminal; sys.exit(not terminal.has_libedit())" 2>stderr ||
    skip_all "no libedit, or no pseudo-terminals in Python"
cat >interrupts.py <<'END2'
import random, re, sys, termios, time

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import terminal

argv, rounds, seed = sys.argv[4:], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
t = terminal.Terminal(argv)
PROMPT = r"(ompjit|   \.\.\.)> $"
UNSHOWN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


def fail(what):
    print("%s (seed %d); the terminal shows:" % (what, seed))
    print("\n".join(t.screen.text()[-30:]))
    sys.exit(1)


def at_prompt():
    """Is a line edited, and a prompt the last that was written?"""
    edits = not termios.tcgetattr(t.fd)[3] & termios.ICANON
    return edits and re.search(PROMPT, UNSHOWN.sub("", t.seen)[-80:])


def wait_for_prompt(what):
    end = time.monotonic() + terminal.LIMIT
    while not at_prompt():
        if time.monotonic() > end:
            fail(what + ": no prompt")
        t.read(0.01)


def enter(line, what="an input"):
    """The line is executed."""
    wait_for_prompt(what)
    t.seen = ""
    t.type(line + "\n")
    if t.until(re.escape(line.split()[-1]) + r"\r\n") is None:
        fail(what + ": no echo of " + line)


def restore(what):
    """A kernel on a GPU ends with the session."""
    if ":restore executes" in t.seen:
        enter(":restore", what)


def value(expression, what):
    enter(expression, what)
    wait_for_prompt(what)
    found = re.search(r"\(int\) (-?\d+)", t.seen)
    if not found:
        fail(what + ": no value of " + expression)
    return int(found[1])


SETUP = [
    "#include <omp.h>",
    "int number = 4;",
    "double series[8] = {1, 5, 2};",
    "int twice(int n) { return 2 * n; }",
    "#define R8(x) x x x x x x x x",
]
REGION = "#pragma omp target map(number)"
KINDS = {
    "a compile": [
        "double heavy(double x) { R8(R8(R8(R8(x = x * x + 1;)))) return x; } "
        "heavy(1)"
    ],
    "a host loop": ["for (volatile long i = 0; ; i++);"],
    "a short input": ["int unused = number + 1;"],
    "a target region": [REGION, "while (number) { volatile int v = 0; v++; }"],
    "a parallel region": [
        "#pragma omp parallel",
        "for (double t = omp_get_wtime(); omp_get_wtime() < t + 0.1;);",
    ],
    "a profile": [":profile"],
    "a check": [":check"],
    "a plot": [":plot series"],
    "a setting": [":teams 2"],
    "a shell": [":shell sleep 1"],
}
TYPED = {
    "a line": "number + nu",
    "completion": "omp_get\t",
    "history": "\x1b[A\x1b[A",
    "a search": "\x12num",
}
for line in SETUP:
    enter(line)
expected = 4
for n in range(rounds):
    kind = chance.choice(sorted(KINDS) + sorted(TYPED))
    what = "%d: %s" % (n + 1, kind)
    if kind in KINDS:
        for line in KINDS[kind]:
            enter(line, what)
        time.sleep(chance.choice([0.002, 0.05, 0.2, 0.6]) * chance.random())
        if chance.random() < 0.1:
            t.type("\x03")
    else:
        wait_for_prompt(what)
        t.type(TYPED[kind])
        time.sleep(0.05 * chance.random())
    t.seen = ""
    t.type("\x03")
    # A prompt before this one's may have been shown: the one to wait for is
    # behind ^C.
    end = time.monotonic() + terminal.LIMIT
    while not re.search(r"\^C(.|\n)*ompjit> $", UNSHOWN.sub("", t.seen)):
        if time.monotonic() > end:
            fail(what + ": no prompt behind Ctrl-C")
        t.read(0.01)
    restore(what)
    got = value("number * 10 + twice(3) + (int)series[2]", what)
    if got != expected * 10 + 8:
        fail("%s: the state is %d" % (what, got))
    enter("number++;", what)
    expected += 1
wait_for_prompt("the end")
t.type("\x04")
if t.end() != 0:
    fail("the end has a status")
END2
succeeds "Ctrl-C at 60 moments leaves the session's state" \
    python3 interrupts.py "$srcdir/t" 60 17 "$ompjit" repl --device host
is "$out" "" "  with no message"
if [ -e "${PTXI:-/nonexistent}" ]; then
    succeeds "the same on a GPU" emulated python3 interrupts.py "$srcdir/t" \
        25 23 "$ompjit" repl
    is "$out" "" "  with no message"
else
    skip "the same on a GPU" "no PTX interpreter"
fi
done_testing
