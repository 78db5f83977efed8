# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs test_*.py beside this file, each in a process of its own, as TAP.

    run.py [WORD...]    only the files whose names contain one of the words
    run.py --one FILE   one file, in this process, lines without numbers

Files that say "on any device" in their first lines are run once more on an
emulated GPU, where PTXI names the folder of its libcuda.so.1.
"""
import glob
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Result(unittest.TestResult):
    """Prints a line of TAP for each test; what failed goes to stderr."""

    def __init__(self):
        super().__init__()
        self.bad = False

    def say(self, state, test, note=""):
        name = test.id()
        where = " (GPU)" if "OMPJIT_DEVICE" in os.environ else ""
        print(f"{state} - {name}{where}{note}", flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.bad = False

    def tell(self, test, error):
        self.bad = True
        text = self._exc_info_to_string(error, test)
        print(f"{test.id()}\n{text}", file=sys.stderr, flush=True)

    def addError(self, test, err):
        self.tell(test, err)
        self.say("not ok", test)

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            if not self.bad:  # addSuccess is not called then
                self.say("not ok", test)
            self.tell(subtest, err)

    def addSuccess(self, test):
        self.say("ok", test)

    def addSkip(self, test, reason):
        self.say("ok", test, f" # SKIP {reason}")


def run_one(path):
    sys.path.insert(0, HERE)
    name = os.path.splitext(os.path.basename(path))[0]
    tests = unittest.defaultTestLoader.loadTestsFromName(name)
    tests.run(Result())


def any_device(path):
    with open(path, encoding="utf-8") as file:
        return "on any device" in " ".join(file.read(600).split())


def emulated():
    return {
        **os.environ,
        "LD_LIBRARY_PATH": os.environ["PTXI"],
        "OMPJIT_DEVICE": "cuda",
        "OMPJIT_ASSEMBLER": "driver",
        "OMP_TARGET_OFFLOAD": "mandatory",
    }


def main(words):
    files = sorted(glob.glob(os.path.join(HERE, "test_*.py")))
    if words:
        files = [f for f in files if any(w in os.path.basename(f) for w in words)]
    runs = [(path, None) for path in files]
    if os.path.exists(os.path.join(os.environ.get("PTXI", ""), "libcuda.so.1")):
        runs += [(path, emulated()) for path in files if any_device(path)]
    count = failed = 0
    for path, environment in runs:
        command = [sys.executable, os.path.abspath(__file__), "--one", path]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, env=environment
        )
        lines = done.stdout.splitlines()
        if done.returncode:
            name = os.path.basename(path)
            lines.append(f"not ok - {name}: exit status {done.returncode}")
        for line in lines:
            state = re.match(r"(not ok|ok) - (.*)", line)
            if not state:
                print(f"# {line}")
                continue
            count += 1
            failed += state[1] != "ok"
            print(f"{state[1]} {count} - {state[2]}")
        sys.stdout.flush()
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        run_one(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))
