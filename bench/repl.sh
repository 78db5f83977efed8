#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Times of inputs of ompjit repl, beside clang-repl 22, in turns: medians of
# N inputs of each kind, in milliseconds; then MANY inputs, of which the first
# and the last hundred are compared, and the session's memory. clang-repl does
# not optimize by default, ompjit repl does; OPTION=-O0: it does not.
#
#   bench/repl.sh [OMPJIT [CLANG-REPL]]       N=30 MANY=1000 OPTION=-O3
set -eu
exec python3 -u - "${1:-build/ompjit}" "${2:-clang-repl-22}" <<'END'
import json, os, shutil, statistics, subprocess, sys, time

TOOL, OTHER = sys.argv[1:3]
N, MANY = int(os.environ.get("N", 30)), int(os.environ.get("MANY", 1000))
REGION = "for (int i = 0; i < 100; i++) s += i;"
KINDS = {
    "host": 'printf("%d\\n", {n} + 1); fflush(0);',
    "OpenMP function": "int f{n}() {{ int s = 0; "
    '_Pragma("omp parallel for reduction(+: s)") ' + REGION + " return s; }} "
    'printf("%d\\n", f{n}()); fflush(0);',
    "target region": "int g{n}() {{ int s = 0; _Pragma(\"omp target teams "
    'distribute parallel for reduction(+: s) map(tofrom: s)") ' + REGION +
    ' return s + {n}; }} printf("%d\\n", g{n}()); fflush(0);',
}


class Ompjit:
    def __init__(self):
        self.process = subprocess.Popen(
            [TOOL, "repl", "--json", "--lang", "c++", "--device", "host",
             os.environ.get("OPTION", "-O3")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def execute(self, code):
        self.process.stdin.write(
            json.dumps({"op": "execute", "id": 1, "code": code}) + "\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if "status" in answer:
                assert answer["status"] == "ok", answer
                return

    def memory(self):
        """Of the session and its processes, in MB."""
        pids = [str(self.process.pid)]
        for pid in pids:
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                pids += file.read().split()
        kilobytes = 0
        for pid in pids:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                for line in file:
                    if line.startswith("Pss:"):
                        kilobytes += int(line.split()[1])
        return kilobytes / 1024


class ClangRepl:
    """An input has run when it has printed its line."""

    def __init__(self):
        self.process = subprocess.Popen(
            [OTHER, "--Xcc=-fopenmp"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for library in ("libomp.so", "libomp.so.5"):
            self.process.stdin.write(f"%lib {library}\n")

    def execute(self, code):
        self.process.stdin.write(code + "\n")
        self.process.stdin.flush()
        if "fflush(0)" in code:
            assert self.process.stdout.readline(), "clang-repl has ended"


def begin(session):
    session.execute('extern "C" int printf(const char *, ...);')
    session.execute('extern "C" int fflush(void *);')
    return session


def took(session, code):
    start = time.perf_counter()
    session.execute(code)
    return (time.perf_counter() - start) * 1000


def main():
    ours = begin(Ompjit())
    theirs = begin(ClangRepl()) if shutil.which(OTHER) else None
    for kind, code in KINDS.items():
        times = {"ompjit": [], "clang-repl": []}
        for n in range(N + 1):
            times["ompjit"].append(took(ours, code.format(n=n)))
            if theirs and kind != "target region":
                times["clang-repl"].append(took(theirs, code.format(n=n)))
        for name, list in times.items():
            if list:
                print(f"{kind:16} {name:11} median "
                      f"{statistics.median(list[1:]):6.1f} ms, "
                      f"first {list[0]:6.1f}")
    for name, kind in (("host", "host"), ("target region", "target region")):
        session = begin(Ompjit())
        code, list = KINDS[kind], []
        for n in range(MANY):
            list.append(took(session, code.format(n=n)))
            if n in (99, MANY - 1):
                print(f"{name:16} input {n + 1}: median of 100 "
                      f"{statistics.median(list[-100:]):6.1f} ms, "
                      f"memory {session.memory():6.0f} MB")


main()
END
