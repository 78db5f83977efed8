#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Times of inputs of ompjit repl, beside clang-repl 22, in turns: medians of
# N inputs of each kind, in milliseconds, without the cache; then MANY mixed
# inputs of one session, of which the first and the last hundred are compared,
# and the session's memory. clang-repl does not optimize by default, clang-repl
# -O3 does. ompjit repl optimizes a function when its loops have run for a
# millisecond, or when it is used again (OPTION=-O0: never). `make bench`
# has the samples appended to SAMPLES, in its form.
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
    "any rounds": "int h{n}(int m) {{ int s = 0; "
    '_Pragma("omp parallel for reduction(+: s)") ' +
    REGION.replace("100", "m") + " return s; }} "
    'printf("%d\\n", h{n}(100)); fflush(0);',
    "target region": "int g{n}() {{ int s = 0; _Pragma(\"omp target teams "
    'distribute parallel for reduction(+: s) map(tofrom: s)") ' + REGION +
    ' return s + {n}; }} printf("%d\\n", g{n}()); fflush(0);',
}
# A long session repeats these ten inputs.
MIX = ["host"] * 7 + ["OpenMP function"] * 2 + ["target region"]
os.environ["OMPJIT_CACHE"] = "0"
# ompjit repl does so, and the threads of others would take its processors.
os.environ["KMP_BLOCKTIME"] = "1"


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
        """Of the session and its processes, in MB. The compiler's worker is
        not among its children."""
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

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [OTHER, "--Xcc=-fopenmp", *options], stdin=subprocess.PIPE,
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


def sessions():
    all = {"ompjit": begin(Ompjit())}
    if shutil.which(OTHER):
        all["clang-repl"] = begin(ClangRepl())
        all["clang-repl -O3"] = begin(ClangRepl("--Xcc=-O3"))
    return all


def tell(kind, times):
    ours = statistics.median(times["ompjit"][1:])
    for name, list in times.items():
        median = statistics.median(list[1:])
        ratio = "" if name == "ompjit" else f", ours {ours / median:.2f} of it"
        print(f"{kind:16} {name:14} median {median:6.1f} ms, "
              f"first {list[0]:6.1f}{ratio}")


def add_samples(kind, times):
    """A row has one peer."""
    with open(os.environ["SAMPLES"], "a") as file:
        for peer in [name for name in times if name != "ompjit"] or [""]:
            row = f"{kind}, {peer}" if peer else kind
            for side, list in (("ours", times["ompjit"]),
                               ("peer", times.get(peer, []))):
                for each in list[1:]:
                    print("inputs at the prompt", row, side, each, "ms",
                          sep="\t", file=file)


def compare():
    all = sessions()
    for kind, code in KINDS.items():
        times = {}
        for n in range(N + 1):
            for name, session in all.items():
                if name == "ompjit" or kind != "target region":
                    times.setdefault(name, []).append(
                        took(session, code.format(n=n)))
        if "SAMPLES" in os.environ:
            add_samples(kind, times)
        else:
            tell(kind, times)


def last(times, kind, since):
    return f"{kind} {statistics.median(times[kind][since.get(kind, 0):]):.1f}"


def long_session():
    session, times = begin(Ompjit()), {kind: [] for kind in dict.fromkeys(MIX)}
    since = {}
    for n in range(MANY):
        if n == MANY - 100:
            since = {kind: len(list) for kind, list in times.items()}
        kind = MIX[n % len(MIX)]
        times[kind].append(took(session, KINDS[kind].format(n=n)))
        if n in (99, MANY - 1):
            print(f"inputs {n - 98} to {n + 1}, medians in ms:",
                  ", ".join(last(times, kind, since) for kind in times),
                  f"memory {session.memory():.0f} MB")


compare()
if MANY >= 100:
    long_session()
END
