# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import, first call from source, first call from the cache: each in processes
of their own, the least of several; ompjit beside Numba."""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

ROUNDS = int(os.environ.get("ROUNDS", 5))
BYTECODE = tempfile.mkdtemp()
atexit.register(shutil.rmtree, BYTECODE)

IMPORT = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""
OURS = """
import time, array
import ompjit
start = time.perf_counter()
x, y = array.array("d", [1.0] * 1000), array.array("d", [0.0] * 1000)
m = ompjit.compile('''
void axpy(int n, double a, const double *x, double *y) {
    #pragma omp target teams distribute parallel for map(to: x[:n]) map(y[:n])
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}
''')
m.axpy(1000, 2.0, x, y)
print(time.perf_counter() - start)
assert y[999] == 2
"""
EXPRESSION = """
import time, array
import ompjit
start = time.perf_counter()
x, y = array.array("d", [1.0] * 1000), array.array("d", [0.0] * 1000)
ompjit.elementwise("y = a*x + y")(2.0, x, y)
print(time.perf_counter() - start)
"""
NUMBA = """
import time
import numpy, numba
start = time.perf_counter()
@numba.njit(parallel=True, cache=True)
def axpy(a, x, y):
    for i in numba.prange(len(x)):
        y[i] += a * x[i]
x, y = numpy.ones(1000), numpy.zeros(1000)
axpy(2.0, x, y)
print(time.perf_counter() - start)
"""


def run(text, folder, **more):
    path = os.path.join(folder, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    # Packages that are installed have their bytecode.
    environment = {**os.environ, **more, "OMPJIT_CACHE_DIR": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = BYTECODE
    done = subprocess.run(
        [sys.executable, path],
        check=True,
        capture_output=True,
        text=True,
        env={**environment, "NUMBA_CACHE_DIR": os.path.join(folder, "numba")},
    )
    return float(done.stdout) * 1e3


def first(text):
    """From source, and from the cache, each in a new process."""
    cold, warm = [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(run(text, folder))
            warm.append(run(text, folder))
    return min(cold), min(warm)


def main():
    for text in (OURS, EXPRESSION, NUMBA):
        with tempfile.TemporaryDirectory() as folder:
            run(text, folder)  # for the bytecode
    with tempfile.TemporaryDirectory() as folder:
        for module in ("ompjit", "numpy", "numba", "numexpr"):
            times = [
                run(IMPORT.format(module=module), folder)
                for _ in range(ROUNDS)
            ]
            print(f"import {module:24} {min(times):9.1f} ms")
    results = {
        "ompjit, a C function": first(OURS),
        "ompjit, an expression": first(EXPRESSION),
        "Numba, njit(parallel=True)": first(NUMBA),
    }
    peer = results["Numba, njit(parallel=True)"]
    for name, (cold, warm) in results.items():
        print(
            f"first call: {name:28} {cold:8.1f} ms from source "
            f"({cold / peer[0]:.3f} of Numba's), {warm:7.1f} ms from the cache "
            f"({warm / peer[1]:.3f})"
        )


main()
