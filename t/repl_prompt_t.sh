#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompjit repl at a terminal: inputs of several lines, completion, history,
# Ctrl-C, Ctrl-D, and a session that is killed; the beginning also where libedit
# cannot be loaded.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/repl.sh"
HOME=$tmp TERM=xterm NO_COLOR=1 LC_ALL=C.UTF-8
export HOME TERM NO_COLOR LC_ALL
! command -v python3 >/dev/null || python3 -c 'import pty' 2>/dev/null ||
    skip_all "no pseudo-terminals in Python"
command -v python3 >/dev/null || skip_all "no python3"
cat >prompt.py <<'END'
import ctypes, os, pty, re, select, sys, termios, time

LIMIT = 60 # seconds
count, failed = int(sys.argv[2]), 0
alone = len(sys.argv) > 3 # without libedit, and less
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "repl", "--device", "host"])
seen = b""

def until(pattern):
    """What the terminal shows up to the pattern; None: it does not come."""
    global seen
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = re.search(pattern, seen)
        if found:
            text, seen = seen[:found.end()], seen[found.end():]
            return text
        if select.select([fd], [], [], 1)[0]:
            try:
                more = os.read(fd, 65536)
            except OSError:
                more = b""
            if not more:
                return None
            seen += more
    return None

def wait_for_editor():
    """libedit shows its prompt before it takes the terminal's letters."""
    end = time.monotonic() + LIMIT
    while (edits and termios.tcgetattr(fd)[3] & termios.ICANON and
           time.monotonic() < end):
        time.sleep(0.005)

def shows(name, text, pattern, then=rb"ompjit> ", editing=True):
    """The text is typed, and then the terminal shows both."""
    global count, failed
    count += 1
    if text and editing:
        wait_for_editor()
    os.write(fd, text.encode())
    good = until(pattern) is not None and (then is None or
                                           until(then) is not None)
    failed |= not good
    print(("ok" if good else "not ok"), count, "-", name)
    if not good:
        print(text, pattern, seen, file=sys.stderr)
        print("1..%d" % count)
        sys.exit(1)

try:
    ctypes.CDLL("libedit.so.2")
    edits = True
except OSError:
    edits = False
if alone and edits:
    sys.exit("libedit is there")
shows("a greeting", "", rb"C with OpenMP")
shows("an input", "int number = 4;\n", rb"")
shows("a value", "number + 1\n", rb"\(int\) 5")
shows("an input of several lines", "int f(int n) {\n", rb"", rb"\.\.\.> ")
shows("  goes on", "return n * 2;\n", rb"", rb"\.\.\.> ")
shows("  to its end", "}\n", rb"")
shows("  and is there", "f(21)\n", rb"\(int\) 42")
shows("a directive", "#pragma omp target map(number)\n", rb"", rb"\.\.\.> ")
shows("  and its statement", "number++;\n", rb"")
shows("  which is executed", "number\n", rb"\(int\) 5")
shows("an error", "number = nothing;\n", rb"In\[[0-9]+\]:1:10: error")
shows("headers", "#include <stdio.h>\n", rb"")
shows("  more of them", "#include <unistd.h>\n", rb"")
shows("an endless loop", 'volatile int z = 0; puts("go"); while (1) z++;\n',
      rb"go\r\n", None)
shows("  is interrupted", "\x03", rb"interrupted", editing=False)
shows("a line", "abc", rb"abc", None)
shows("  is given up", "\x03", rb"\^C")
for _ in range(99):
    os.write(fd, b"\x03")
    if until(rb"\^C.*\r\n") is None or until(rb"ompjit> ") is None:
        break
shows("  again and again", "\x03", rb"\^C", editing=False)
if edits:
    shows("Tab at a line's begin", "int g(void) {\n", rb"", rb"\.\.\.> ")
    shows("  indents", "\treturn 7; }\n", rb"(\x1b\[13G|    )return 7")
    shows("commands", ":hel\t :lis\t\n", rb":list +list the inputs")
    shows("completion", "numb\t\n", rb"\(int\) 5")
    shows("history", "\x1b[A\n", rb"\(int\) 5")
    shows("  search", "\x12f(2", rb"f\(21\)", None)
    shows("  and its end", "\n", rb"\(int\) 42", editing=False)
    shows("an input of two lines", "int h(void) {\n", rb"", rb"\.\.\.> ")
    shows("  and its second one", "return 11; }\n", rb"")
    shows("  and its value", "h()\n", rb"\(int\) 11")
    shows("  comes back as a whole", "\x1b[A\x1b[A", rb"return 11; }", None)
    shows("  and is executed", "\n", rb"", editing=False)
    shows("a header's name", "#include <stdd\t.h>\n", rb"ef\.h>\r\n")
    shows("  which is included", "sizeof(ptrdiff_t)\n", rb"\) 8")
    shows("letters of UTF-8", '"h\u00e9"\n',
          "(?s)\"h\u00e9\"\r\n.*\"h\u00e9\"".encode())
if not alone:
    shows("a session that is killed",
          "#include <signal.h>\n", rb"")
    shows("  by itself", "raise(SIGKILL);\n", rb":restore executes")
    shows("  is lost", "number\n", rb"undeclared identifier")
    shows("  and restored", ":restore\n", rb"restore\r\n")
    shows("  with its names", "f(3)\n", rb"\(int\) 6")
    shows("an input that takes long in a new session",
          'if (fopen("again", "r")) sleep(600);\n', rb"")
    shows("  one behind it", "int behind = 1;\n", rb"")
    shows("  and the end", 'fclose(fopen("again", "w")); raise(SIGKILL);\n',
          rb":restore executes")
    shows("  are restored", ":restore\n", rb"restore\r\n", None)
    time.sleep(2)
    shows("  until an interrupt", "\x03", rb"interrupted", editing=False)
    shows("  which leaves what is behind it", "behind\n",
          rb"undeclared identifier")
    shows("  and is not the end", 'int more = remove("again");\n', rb"")
    shows("  of it", ":restore\n", rb"restore\r\n")
    shows("  since it goes on", "behind + more + f(3)\n", rb"\(int\) 7")
shows("Ctrl-D", "\x04", rb"", None)
count += 1
status = os.waitpid(pid, 0)[1]
failed |= status != 0
print("ok" if status == 0 else "not ok", count, "- is the end")
if edits:
    count += 1
    with open(os.path.expanduser("~/.ompjit_history")) as file:
        lines = file.read().replace("\\040", " ").split("\n")
    good = any("f(21)" in line for line in lines) and any(
        "int h(void)" in line and "return 11" in line for line in lines)
    failed |= not good
    print("ok" if good else "not ok", count, "- the history is kept")
if edits and not alone:
    with open("count", "w") as file:
        file.write(str(count))
else:
    print("1..%d" % count)
sys.exit(failed)
END
python3 prompt.py "$ompjit" 0 || exit
[ -e count ] || exit 0
mkdir none
echo "no library" >none/libedit.so.2
LD_LIBRARY_PATH=$PWD/none python3 prompt.py "$ompjit" "$(cat count)" alone
