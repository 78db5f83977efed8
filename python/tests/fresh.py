# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first steps of a new user, on a machine with nothing but Python and the
wheel: a kernel, an array, an error, C's headers, time that it takes."""
import array
import os
import time

start = time.perf_counter()
import ompjit  # noqa: E402

loaded = time.perf_counter() - start
assert not os.path.exists("/usr/include/stdio.h"), "no bare machine"
assert not any(
    os.path.exists(os.path.join(folder, name))
    for folder in os.environ["PATH"].split(":")
    for name in ("cc", "gcc", "clang")
)
SOURCE = """
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void norm(int n, const double *x, double *y) {
    #pragma omp target teams distribute parallel for is_device_ptr(x, y)
    for (int i = 0; i < n; i++) y[i] = sqrt(x[i] * x[i] + exp(0.0));
}
double twice(long n, double *x) {
    #pragma omp target teams distribute parallel for map(x[:n])
    for (long i = 0; i < n; i++) x[i] *= 2;
    return x[0];
}
"""
start = time.perf_counter()
module = ompjit.compile(SOURCE)
kernel = module.kernels["norm"]
x, y = array.array("d", [0.0] * 1000), array.array("d", [0.0] * 1000)
kernel(1000, x, y)
first = time.perf_counter() - start
assert list(y) == [1.0] * 1000
assert module.twice(1000, y) == 2.0 and y[999] == 2.0
try:
    module.twice(1001, y)
except ompjit.ArgumentError as error:
    print(error)
else:
    raise AssertionError("too short an array is taken")
z = ompjit.elementwise("exp(sin(a)) * b + 1")(ompjit.zeros(3), ompjit.ones(3))
assert z.tolist() == [2.0] * 3, z
try:
    ompjit.compile("int f(void) { return y; }")
except ompjit.CompileError as error:
    assert (error.line, error.column) == (1, 22)
    print(error)
print(f"{ompjit.device().name}: import {loaded * 1e3:.1f} ms, first kernel")
print(f"{first * 1e3:.0f} ms, {ompjit.__file__}")
