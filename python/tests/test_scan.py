# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans; on any device."""
import itertools
import unittest

import ompjit
from support import needs_numpy, numpy as np

HOST = ompjit.device().is_host


class Scans(unittest.TestCase):
    def test_small(self):
        x = ompjit.array([3, 1, 2])
        sums = ompjit.scan()
        self.assertEqual(sums(x).tolist(), [3, 4, 6])
        self.assertEqual(sums(x, exclusive=True).tolist(), [0, 3, 4])
        self.assertEqual(ompjit.scan("a*x", "max")(2, x).tolist(), [6, 6, 6])
        out = ompjit.zeros(3, int)
        self.assertIs(sums(x, out=out), out)
        self.assertEqual(sums(ompjit.zeros(0)).tolist(), [])
        self.assertIn("scan", repr(sums))
        for wrong in (
            lambda: sums(3),
            lambda: sums(x, axis=1),
            lambda: sums(x, out=ompjit.zeros(3)),
            lambda: ompjit.scan("x", "-"),
        ):
            with self.assertRaises(ompjit.ArgumentError):
                wrong()

    def test_every_operator_and_length(self):
        """Elements in vectors, and those that are left."""
        steps = {
            "+": lambda a, b: a + b,
            "*": lambda a, b: a * b,
            "&": lambda a, b: a & b,
            "|": lambda a, b: a | b,
            "^": lambda a, b: a ^ b,
            "min": min,
            "max": max,
        }
        first = {"*": 1, "&": -1}
        for op, step in steps.items():
            kinds = ("f4", "f8", "i2", "i8") if op in "+*" else ("i2", "i8")
            for kind in kinds:
                for n in (1, 3, 4, 5, 11):
                    values = [(7 * i) % 5 + 1 for i in range(n)]
                    x = ompjit.array(values, kind)
                    want = list(itertools.accumulate(values, step))
                    scan = ompjit.scan("x", op)
                    self.assertEqual(scan(x).tolist(), want, (op, kind, n))
                    got = scan(x, exclusive=True).tolist()[1:]
                    self.assertEqual(got, want[:-1], (op, kind, n))
                    if op in "+*&|^":
                        got = scan(x, exclusive=True).tolist()[0]
                        self.assertEqual(got, first.get(op, 0), (op, kind))

    @needs_numpy
    def test_as_numpy(self):
        x = (np.arange(24) % 5 - 1.0).reshape(2, 3, 4)
        for axis in (0, 1, 2, -1):
            got = ompjit.scan()(x, axis=axis)
            np.testing.assert_array_equal(got, np.cumsum(x, axis=axis))
            view = x[:, ::2].T
            got = ompjit.scan()(view, axis=axis)
            np.testing.assert_array_equal(got, np.cumsum(view, axis=axis))
        got = ompjit.scan("x", "*")(x[0, 0].astype("i2"))
        want = np.cumprod(x[0, 0].astype("i2"))
        np.testing.assert_array_equal(got, want)
        self.assertEqual(got.dtype, want.dtype)

    @needs_numpy
    def test_blocks(self):
        n = 100_003 if HOST else 17_001
        x = np.arange(n) % 7
        got = ompjit.scan()(x)
        np.testing.assert_array_equal(got, np.cumsum(x))
        got = ompjit.scan()(x, exclusive=True)
        np.testing.assert_array_equal(got, np.cumsum(x) - x)


class Overlap(unittest.TestCase):
    """An output that shares memory with an argument in other places."""

    def test_scan(self):
        for n in (8, 40000):
            x = ompjit.arange(n, dtype="f8")
            ompjit.scan()(x[:-1], out=x[1:])
            self.assertEqual(x[-1].item(), (n - 1) * (n - 2) / 2)
            self.assertEqual(x[:4].tolist(), [0, 0, 1, 3])
            y = ompjit.ones(n)
            ompjit.scan()(y, out=y)
            self.assertEqual(y[-1].item(), n)
            ompjit.scan()(y[::-1], out=y)
            self.assertEqual(y[:3].tolist(), [n, 2 * n - 1, 3 * n - 3])

    def test_reduction(self):
        x = ompjit.ones((4, 1000))
        ompjit.reduction("a*b")(x, x[0], axis=0, out=x[0])
        self.assertEqual(x[0].tolist(), [4] * 1000)


if __name__ == "__main__":
    unittest.main()
