# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call of an expression beside the launch of its kernel through the C API, in
a loop of C: what Python adds, by the CPU's time, at several sizes."""
import ctypes
import time

import numpy as np
import ompjit
from ompjit._lib import library
from ompjit._operand import host_address

LOOP = """
typedef int launch(void *, void *, void *, void *, unsigned, void *);
long repeat(long n, unsigned long f, unsigned long kernel, unsigned long device,
            unsigned long options, unsigned long args, unsigned nargs)
{
    for (long i = 0; i < n; i++)
        if (((launch *)f)((void *)kernel, (void *)device, (void *)options,
                          (void *)args, nargs, 0))
            return i;
    return n;
}
"""
repeat = ompjit.compile(LOOP).repeat
axpy = ompjit.elementwise("y = a*x + y")


def c_api(x, y):
    """A function that makes so many launches, as the expression does."""
    axpy(0.5, x, y)
    plan = next(p for k, p in axpy._plans.items() if k[1][1] == x.shape)
    frame = plan._frame()
    values = [0.5, x, y]
    for slot, place, written, name in plan._addresses:
        frame.values[slot].p = host_address(values[place], written, name)
    for number in plan.numbers:
        number.set(frame.values, values[number.place])
    launch = ctypes.cast(library().kernel_launch, ctypes.c_void_p).value
    at = plan.program._kernel.value, plan.device.address
    more = ctypes.addressof(frame.options), ctypes.addressof(frame.array)

    def run(count):
        assert repeat(count, launch, *at, *more, plan.program.count) == count

    run.keep = frame, plan
    return run


def python(x, y):
    def run(count):
        for _ in range(count):
            axpy(0.5, x, y)

    return run


def main():
    for n in (10, 1000, 100_000, 1_000_000):
        x, y = np.ones(n), np.zeros(n)
        runs = {"C": c_api(x, y), "Python": python(x, y)}
        count = max(20, 2_000_000 // n // 10) if n > 10 else 20000
        best = dict.fromkeys(runs, 1e9)
        for _ in range(30):
            for name, run in runs.items():
                start = time.process_time()
                run(count)
                best[name] = min(best[name], time.process_time() - start)
        c, p = (best[name] / count * 1e6 for name in ("C", "Python"))
        print(
            f"elementwise: {n:9} elements {p:9.2f} us, by the C API {c:9.2f} us"
            f"  {p / c:.3f}"
        )


main()
