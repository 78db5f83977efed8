# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of expressions that C makes: that it makes them, that they do what
Python's do, and that it leaves the others to Python. On the host device."""
import inspect
import threading
import unittest

import ompjit
from ompjit import _native
from support import interrupted, needs_numpy, numpy as np

HOST = ompjit.device().is_host


class Counted:
    """How many of an expression's calls come to Python, while it lasts."""

    def __init__(self, made):
        self.made, self.count = made, 0

    def __enter__(self):
        call = type(self.made)._call

        def counted(*args, **named):
            self.count += 1
            return call(self.made, *args, **named)

        self.made._call = counted
        return self

    def __exit__(self, *error):
        del self.made._call


@unittest.skipUnless(_native.Callable, "C makes no calls in this Python")
@unittest.skipUnless(HOST, "the arrays are the host's")
class Direct(unittest.TestCase):
    def python_calls(self, made, *args, **named):
        """How many of such calls but the first come to Python; the last's
        result."""
        made(*args, **named)
        with Counted(made) as counted:
            made(*args, **named)
            result = made(*args, **named)
        return counted.count, result

    def test_ompjit_arrays(self):
        x, y = ompjit.array([1.0, 2, 3]), ompjit.zeros(3)
        axpy = ompjit.elementwise("y = a*x + y  ")
        self.assertEqual(self.python_calls(axpy, 2.0, x, y), (0, y))
        self.assertEqual(y.tolist(), [6, 12, 18])
        dot = ompjit.reduction("a*b  ")
        self.assertEqual(self.python_calls(dot, x, x), (0, 14.0))
        most = ompjit.reduction("x  ", "max")
        for kind in ("i1", "u8", "f4", "bool"):
            array = ompjit.array([0, 1, 1], kind)
            count, result = self.python_calls(most, array)
            self.assertEqual((count, result), (0, 1), kind)
            self.assertIs(type(result), type(array.tolist()[0]))
        out = ompjit.zeros(3)
        count, result = self.python_calls(ompjit.scan("x  "), x, out=out)
        self.assertEqual((count, result.tolist()), (0, [1, 3, 6]))

    @needs_numpy
    def test_numpy(self):
        x = np.arange(1.0, 5).reshape(2, 2)
        double = ompjit.elementwise("2*x  ")
        count, result = self.python_calls(double, x)
        np.testing.assert_array_equal(result, 2 * x)
        self.assertEqual((count, type(result)), (0, np.ndarray))
        view = np.arange(16.0).reshape(4, 4)[::2, ::-1]
        count, result = self.python_calls(double, view)
        self.assertEqual(count, 0)
        np.testing.assert_array_equal(result, 2 * view)
        mean = ompjit.stencil("v = (u[-1] + c*u[0] + u[1]) / 4  ")
        out = np.zeros(4)
        count, result = self.python_calls(
            mean, out=out, c=2, u=np.array([4.0, 8, 0, 4])
        )
        self.assertEqual((count, result.tolist()), (0, [0, 5, 3, 0]))
        dot = ompjit.reduction("a*b   ")
        count, result = self.python_calls(dot, x.astype("f4"), x)
        self.assertEqual((count, result), (0, 30.0))
        count, result = self.python_calls(ompjit.scan("x   "), x)
        self.assertEqual(result.tolist(), [[1, 3], [3, 7]])
        self.assertEqual(count, 0)

    def test_numbers(self):
        x = ompjit.array([1, 2], "i2")
        add = ompjit.elementwise("x + n  ")
        self.assertEqual(self.python_calls(add, x, 5)[1].tolist(), [6, 7])
        out = ompjit.zeros(2, "i2")
        count, _ = self.python_calls(add, x, 5, out=out)
        self.assertEqual((count, out.tolist()), (0, [6, 7]))
        for wrong in (1 << 63, 1 << 70, -(1 << 63) - 1):
            with self.assertRaisesRegex(ompjit.ArgumentError, "no int16"):
                add(x, wrong, out=out)
        choose = ompjit.elementwise("x * (n ? 1 : 3)   ")
        self.assertEqual(choose(x, True, out=out).tolist(), [1, 2])
        self.assertEqual(choose(x, False, out=out).tolist(), [3, 6])

    def test_what_python_has_to_do(self):
        x, y = ompjit.array([1.0, 2, 3, 4]), ompjit.zeros(4)
        add = ompjit.elementwise("y = x + 1   ")
        add(x, y)
        add(x, y)
        add(x[:-1], x[1:])  # overlaps
        self.assertEqual(x.tolist(), [1, 2, 3, 4])
        add(x[1:], x[:-1])
        self.assertEqual(x.tolist(), [3, 4, 5, 4])
        x.readonly = True
        for wrong in (
            lambda: add(y, x),
            lambda: add(x, y, z=1),
            lambda: add(x, y, y=y),
            lambda: add(x, y, y),
            lambda: add(),
            lambda: add(x, "y"),
        ):
            with self.assertRaises(ompjit.OmpjitError):
                wrong()
        self.assertEqual(y.tolist(), [2, 3, 4, 5])
        with Counted(add) as counted:
            add(x, y)
            with ompjit.device().queue() as queue:
                add(x, y)
            with ompjit.device():
                add(x, y)
        del queue
        self.assertEqual(counted.count, 2)

    def test_another_context(self):
        """The default context's plan is not used in another one."""
        x = memoryview(bytearray(16)).cast("d")
        add = ompjit.elementwise("y = y + 1   ")
        add(x), add(x)
        with ompjit.Context() as context:
            add(x)
            self.assertEqual(len(context._programs), 1)
        add(x)
        self.assertEqual(list(x), [4, 4])

    def test_more_layouts_than_there_is_room_for(self):
        double = ompjit.elementwise("y = 2*x   ")
        for n in range(1, 100):
            x, y = ompjit.ones(n), ompjit.zeros(n)
            double(x, y)
            double(x, y)
            self.assertEqual(y.tolist(), [2] * n)

    def test_threads(self):
        dot = ompjit.reduction("a*b + c   ")
        failed = []

        def work(k):
            x = ompjit.full(k + 1, float(k))
            for i in range(200):
                if dot(x, x, i) != (k + 1) * (k * k + i):
                    failed.append((k, i))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_signature(self):
        add = ompjit.elementwise("y = x + 1   ")
        self.assertIn("out", inspect.signature(add).parameters)

    def test_interrupt(self):
        """Ctrl-C ends the launch."""
        spin = ompjit.elementwise(
            "y = spin(y)",
            "static inline double spin(double y)\n"
            "{\n    for (volatile long i = 0; y >= 1; i = i + 1) ;\n"
            "    return y;\n}\n",
        )
        y = ompjit.ones(1)
        with interrupted(self):  # by Python
            spin(y)
        y.set(0)
        spin(y)
        y.set(1)
        with interrupted(self):
            spin(y)


if __name__ == "__main__":
    unittest.main()
