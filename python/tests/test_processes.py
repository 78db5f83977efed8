# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions in the processes of others: after a fork, in workers of
multiprocessing and pytest-xdist, in ranks of MPI; columns of pandas."""
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest

import ompjit
from support import numpy as np

WORK = """\
import array, ompjit
twice, total = ompjit.elementwise("y = 2*x"), ompjit.reduction("x")
def work(k):
    x, y = ompjit.full(k + 1, 1.0), ompjit.zeros(k + 1)
    for _ in range(3):
        twice(x, y)
    return total(y) == 2 * (k + 1)
"""
# A first call, and then what the process has: modules that take long to import,
# libomp, and compilers, which are nobody's children but have its environment.
FIRST = """\
import array, collections, sys, ompjit
namedtuple = collections.namedtuple
collections.namedtuple = None  # which compiles a function for each
before = set(sys.modules)
x = array.array("d", [1.0] * 1000)
WORK
assert x[999] == 2
collections.namedtuple = namedtuple
slow = '''contextlib enum functools glob inspect json hashlib re shutil signal
subprocess threading typing weakref ompjit._abi_more'''.split()
print(*sorted(set(sys.modules).difference(before).intersection(slow)))
import glob, os
mark = b"OMPJIT_CACHE_DIR=" + os.environb[b"OMPJIT_CACHE_DIR"] + b"\\0"
for path in glob.glob("/proc/[0-9]*"):
    try:
        if open(path + "/comm").read() != "ompjitc\\n":
            continue
        if mark in open(path + "/environ", "rb").read():
            print("ompjitc")
    except OSError:
        pass
if "libomp.so" in open("/proc/self/maps").read():
    print("libomp")
"""
FUNCTION = """\
m = ompjit.compile('''
void twice(int n, double *x) {
    #pragma omp target teams distribute parallel for map(x[:n])
    for (int i = 0; i < n; i++) x[i] *= 2;
}
''')
m.twice(1000, x)
"""
EXPRESSION = 'ompjit.elementwise("x = 2 * x")(x)'
# Open MPI refuses root, and more ranks than cores.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def has(name):
    return importlib.util.find_spec(name) is not None


# Without the GIL another thread may hold the lock of one of Python's own
# dictionaries while a process is forked: the child waits for it for ever.
with_gil = unittest.skipUnless(
    getattr(sys, "_is_gil_enabled", lambda: True)(), "forks need the GIL"
)


class Processes(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name

    def run_python(self, text, *command, **environment):
        """The output of a program in a file of its own."""
        path = os.path.join(self.folder, "test_program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(
            [*command, path],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # Python 3.12 and later warn of each fork of a process with threads.
            env={
                "PYTHONWARNINGS": "ignore::DeprecationWarning",
                **os.environ,
                **environment,
            },
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_first_call_from_the_cache(self):
        """It imports no more than it needs, and starts no compiler. A construct
        asks libomp for the default device."""
        cache = os.path.join(self.folder, "cache")
        for work, expected in (FUNCTION, ["libomp"]), (EXPRESSION, []):
            text = FIRST.replace("WORK", work)
            for _ in range(2):
                out = self.run_python(
                    text, sys.executable, "-S", OMPJIT_CACHE_DIR=cache
                )
            self.assertEqual(out.split(), expected, work)

    def test_workers(self):
        text = WORK + (
            "import multiprocessing\n"
            "if __name__ == '__main__':\n"
            "    assert work(3)\n"
            "    for kind in ('fork', 'forkserver', 'spawn'):\n"
            "        with multiprocessing.get_context(kind).Pool(2) as pool:\n"
            "            print(kind, pool.map(work, range(4)))\n"
        )
        out = self.run_python(text, sys.executable)
        self.assertEqual(out.count("[True, True, True, True]"), 3, out)

    def test_pickled_expressions(self):
        """In this process it is the same object; in others it works."""
        add = ompjit.elementwise("f(x) + 1", "static double f(double x) { return x; }")
        made = [
            add,
            ompjit.reduction("2*x", "max"),
            ompjit.scan("x", "*"),
            ompjit.stencil("v = u[0] + u[1]", boundary="wrap"),
        ]
        data = pickle.dumps(made)
        for one, again in zip(made, pickle.loads(data)):
            self.assertIs(one, again)
        with open(os.path.join(self.folder, "data"), "wb") as file:
            file.write(data)
        text = (
            "import multiprocessing, ompjit, pickle\n"
            "def work(one):\n"
            "    return str(one(ompjit.array([3.0, 2])))\n"
            "if __name__ == '__main__':\n"
            "    made = pickle.load(open('data', 'rb'))\n"
            "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
            "        found = pool.map(work, made)\n"
            "    assert found == list(map(work, made)), found\n"
            "    print(found[1])\n"
        )
        self.assertEqual(self.run_python(text, sys.executable), "6.0\n")

    def test_fork(self):
        """A child goes on with the parent's kernels, large arrays, too."""
        total = ompjit.reduction("x")
        small, large = ompjit.ones(4), ompjit.ones(200000)
        if not small.device.is_host:
            self.skipTest("CUDA does not work after a fork")
        self.assertEqual((total(small), total(large)), (4, 200000))
        child = os.fork()
        if not child:
            try:
                good = total(small) == 4 and total(large) == 200000
                os._exit(0 if good and total(large * 2) == 400000 else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    @with_gil
    def test_fork_while_others_compile(self):
        """The child of any moment compiles, and so do the parent's threads."""
        if not ompjit.device().is_host:
            self.skipTest("CUDA does not work after a fork")
        text = (
            "import array, os, signal, threading, time, ompjit\n"
            "def compute(n):\n"
            "    m = ompjit.compile(f'int f(int *x) {{\\n'\n"
            "        '#pragma omp target map(x[:1])\\n'\n"
            "        f'x[0] += {n}; return x[0]; }}')\n"
            "    return m.f(array.array('i', [0])) == n\n"
            "def work(n):\n"
            "    while not done and compute(n): n += 2\n"
            "done = []\n"
            "threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2)]\n"
            "for one in threads: one.start()\n"
            "time.sleep(0.2)\n"
            "states = []\n"
            "for k in range(40):\n"
            "    child = os.fork()\n"
            "    if not child:\n"
            "        signal.alarm(20)\n"
            "        os._exit(not compute(-k))\n"
            "    states.append(os.waitpid(child, 0)[1])\n"
            "    if states[-1]: break\n"
            "done.append(1)\n"
            "for one in threads: one.join()\n"
            "print(set(states))\n"
        )
        self.assertEqual(self.run_python(text, sys.executable), "{0}\n")

    def test_subinterpreters(self):
        inside = (
            "import array, ompjit\n"
            "x = array.array('d', [1.0] * 1000)\n" + FUNCTION + EXPRESSION
            + "\nm = ompjit.compile('int f(int n, int d) { return n / d; }')\n"
            "for _ in range(3): m.f(4, 2)\n"
            "try: m.f(1, 0)\n"
            "except ompjit.OmpjitError: print('failed')\n"
        )
        program = inside + (
            "try: import _interpreters as more\n"
            "except ImportError: import _xxsubinterpreters as more\n"
            "for _ in range(2):\n"
            "    one = more.create()\n"
            "    try: bad = more.run_string(one, INSIDE)\n"
            "    except more.RunFailedError as error: bad = error\n"
            "    if 'does not support loading' in str(bad): print('ctypes')\n"
            "    else: assert bad is None, bad\n"
            "    more.destroy(one)\n"
        )
        # Once more in the main interpreter, when the others are gone.
        program = program.replace("INSIDE", repr(inside)) + inside
        out = self.run_python(program, sys.executable).split()
        if "ctypes" in out:
            self.skipTest("ctypes is for one interpreter")
        self.assertEqual(out, ["failed"] * 4)

    @with_gil
    def test_fork_while_others_start_libomp(self):
        text = (
            "import os, signal, threading\n"
            "import array, ompjit\n"
            "x = array.array('d', [1.0] * 1000)\n"
            + FUNCTION.replace("m.twice(1000, x)\n", "")
            + "threads = [threading.Thread(target=m.twice, args=(1000, x[:]))\n"
            "           for _ in range(3)]\n"
            "for one in threads: one.start()\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    signal.alarm(20)\n"
            "    m.twice(1000, x)\n"
            "    os._exit(x[999] != 2)\n"
            "assert os.waitpid(child, 0)[1] == 0\n"
            "for one in threads: one.join()\n"
        )
        for _ in range(12):
            self.run_python(text, sys.executable)

    @with_gil
    def test_fork_while_others_map(self):
        """The child of any moment maps arrays of its own."""
        if not ompjit.device().is_host:
            self.skipTest("CUDA does not work after a fork")
        text = (
            "import array, os, signal, threading, ompjit\n"
            "m = ompjit.compile('void twice(int n, float *x) {\\n'\n"
            "    '#pragma omp target map(x[:n])\\n'\n"
            "    'for (int i = 0; i < n; i++) x[i] *= 2; }')\n"
            "def compute():\n"
            "    x = array.array('f', [1.0] * 50000)\n"
            "    m.twice(50000, x)\n"
            "    return x[49999] == 2\n"
            "def work():\n"
            "    while not done and compute(): pass\n"
            "done = []\n"
            "threads = [threading.Thread(target=work) for _ in range(2)]\n"
            "for one in threads: one.start()\n"
            "states = []\n"
            "for _ in range(40):\n"
            "    child = os.fork()\n"
            "    if not child:\n"
            "        signal.alarm(20)\n"
            "        os._exit(not compute())\n"
            "    states.append(os.waitpid(child, 0)[1])\n"
            "    if states[-1]: break\n"
            "done.append(1)\n"
            "for one in threads: one.join()\n"
            "print(set(states))\n"
        )
        self.assertEqual(self.run_python(text, sys.executable), "{0}\n")

    def test_fork_while_another_is_in_a_region(self):
        """What only that thread has mapped is not present in the child, which
        has no such thread."""
        if not ompjit.device().is_host:
            self.skipTest("CUDA does not work after a fork")
        text = (
            "import array, os, signal, threading, time, ompjit\n"
            "m = ompjit.compile('void wait(int *x, volatile int *go) {\\n'\n"
            "    '#pragma omp target map(x[:10]) is_device_ptr(go)\\n'\n"
            "    '{ *go = 1; while (*go != 2) ; x[0]++; } }\\n'\n"
            "    'void add(int n, int *x) {\\n'\n"
            "    '#pragma omp target map(x[:n])\\nx[0] += 10; }')\n"
            "x, go = array.array('i', [1] * 1000), ompjit.zeros(1, 'i4')\n"
            "thread = threading.Thread(target=m.wait, args=(x, go))\n"
            "thread.start()\n"
            "while go[0] != 1: time.sleep(0.01)\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    signal.alarm(20)\n"
            "    m.add(1000, x)\n"
            "    os._exit(x[0] != 11)\n"
            "state = os.waitpid(child, 0)[1]\n"
            "go[0] = 2\n"
            "thread.join()\n"
            "print(state, x[0])\n"
        )
        self.assertEqual(self.run_python(text, sys.executable), "0 2\n")

    @unittest.skipUnless(has("xdist"), "no pytest-xdist")
    def test_xdist(self):
        text = WORK + (
            "import pytest\n"
            "@pytest.mark.parametrize('k', range(8))\n"
            "def test_work(k):\n    assert work(k)\n"
        )
        command = "-m pytest -q -p no:cacheprovider -n 2".split()
        out = self.run_python(text, sys.executable, *command)
        self.assertIn("8 passed", out)

    @unittest.skipUnless(has("mpi4py"), "no mpi4py")
    def test_mpi(self):
        folder = os.path.dirname(sys.executable)
        start = shutil.which("mpiexec", path=folder) or shutil.which("mpiexec")
        if start is None:
            self.skipTest("no mpiexec")
        text = WORK + (
            "from mpi4py import MPI\n"
            "rank = MPI.COMM_WORLD.Get_rank()\n"
            "sums = MPI.COMM_WORLD.allreduce(work(rank) + rank)\n"
            "if rank == 0: print('sums', sums)\n"
        )
        out = self.run_python(
            text, start, "-n", "2", sys.executable, **OPEN_MPI
        )
        self.assertIn("sums 3", out)

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_columns_of_pandas(self):
        import pandas

        frame = pandas.DataFrame({"x": [1.0, 2, 3], "k": [1, 2, 3]})
        got = ompjit.elementwise("x * k")(frame["x"], frame["k"])
        self.assertEqual(np.asarray(got).tolist(), [1, 4, 9])
        self.assertEqual(ompjit.reduction("x")(frame["k"]), 6)
        self.assertEqual(ompjit.array(frame).shape, (3, 2))
        with self.assertRaisesRegex(ompjit.ArgumentError, "cannot be written to"):
            ompjit.elementwise("x = 2*x")(frame["x"])
        with self.assertRaises(ompjit.ArgumentError):
            ompjit.array(pandas.Series(["a", "b"]))
        # A copy would keep what a function writes.
        m = ompjit.compile("void f(double *x) { x[0] = 1; }")
        with self.assertRaisesRegex(ompjit.ArgumentError, r"numpy\.asarray\(\)"):
            m.f(frame["x"])


if __name__ == "__main__":
    unittest.main()
