# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cost of a call on little data: in turns, the least of many."""
import ctypes
import time

import numba
import numexpr
import numpy as np
import ompjit

N = 10
x, y = np.ones(N), np.zeros(N)
dx, dy = ompjit.array(x), ompjit.array(y)
axpy = ompjit.elementwise("y = a*x + y")
module = ompjit.compile("""
void axpy(int n, double a, const double *x, double *y) {
    #pragma omp target teams distribute parallel for is_device_ptr(x, y)
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}
void mapped(int n, double a, const double *x, double *y) {
    #pragma omp target teams distribute parallel for map(to: x[:n]) map(y[:n])
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}
""")
kernel = module.kernels["axpy"]
one = kernel[1]
bound = kernel.bind(N, 2.0, dx, dy, teams=1)
raw = module.function(
    "mapped", None, [ctypes.c_int, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
)
at_x, at_y = x.ctypes.data, y.ctypes.data


@numba.njit
def serial(a, x, y):
    for i in range(len(x)):
        y[i] += a * x[i]


@numba.njit(parallel=True)
def parallel(a, x, y):
    for i in numba.prange(len(x)):
        y[i] += a * x[i]


NAMES = {"x": x, "y": y}
CALLS = {
    "Numba, njit": lambda: serial(2.0, x, y),
    "Numba, njit(parallel=True)": lambda: parallel(2.0, x, y),
    "numexpr, evaluate": lambda: numexpr.evaluate("2.0*x + y", NAMES, out=y),
    "numexpr, re_evaluate": lambda: numexpr.re_evaluate(),
    "numpy, y += 2*x": lambda: np.add(y, np.multiply(2.0, x), out=y),
    "ompjit, a bound launch": bound,
    "ompjit, a launch": lambda: kernel(N, 2.0, dx, dy, teams=1),
    "ompjit, a launch, kernel[1]": lambda: one(N, 2.0, dx, dy),
    "ompjit, a function, numpy": lambda: module.mapped(N, 2.0, x, y),
    "ompjit, a function, addresses": lambda: raw(N, 2.0, at_x, at_y),
    "ompjit, elementwise, numpy": lambda: axpy(2.0, x, y),
    "ompjit, elementwise, ompjit": lambda: axpy(2.0, dx, dy),
}


def main():
    best = dict.fromkeys(CALLS, 1e9)
    for call in CALLS.values():
        call()
    for _ in range(15):
        for name, call in CALLS.items():
            start = time.perf_counter()
            for _ in range(1000):
                call()
            best[name] = min(best[name], time.perf_counter() - start)
    for name, seconds in best.items():
        print(f"call: {name:32} {seconds * 1e3:8.2f} us")


main()
