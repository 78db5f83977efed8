# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of Python's that meet elements, by numpy's rules; on any device."""
import datetime
import itertools
import unittest

import ompjit
from support import needs_numpy, numpy as np

RANGES = {
    kind: (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if kind[0] == "i"
    else (0, (1 << bits) - 1)
    for kind, bits in [(k + str(n // 8), n) for k in "iu" for n in (8, 16, 32, 64)]
}
COMPARISONS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def run(text, *args, **named):
    return ompjit.elementwise(text)(*args, **named)


class Ranges(unittest.TestCase):
    def refused(self, text, *args, **named):
        with self.subTest(text):
            with self.assertRaises(ompjit.RangeError) as caught:
                run(text, *args, **named)
            return str(caught.exception)

    def test_arguments(self):
        for kind, (low, high) in RANGES.items():
            x = ompjit.zeros(2, kind)
            for value in (low, high):
                self.assertEqual(run("x + n", x, value).tolist(), [value] * 2)
            for value in (low - 1, high + 1):
                for text in ("x + n", "n * x", "max(n, x)", "x > 0 ? n : x", "x | n"):
                    self.refused(text, x=x, n=value)
                self.refused("x = n", x=x, n=value)
                self.refused("x[i] = y + n", x=x, n=value, y=0 * x)
            self.assertEqual(x.tolist(), [0, 0])

    def test_calls_by_c_look_at_them(self):
        x = ompjit.zeros(2, "u1")
        for _ in range(3):
            self.assertEqual(run("x + v", x, 255).tolist(), [255, 255])
            for value in (256, -1, 1 << 64):
                self.assertIn("no uint8", self.refused("x + v", x, value))
        self.refused("x + y + v", x, ompjit.zeros(2, "i1"), -32769)
        self.assertEqual(run("x + v - (y + v)", x=x, y=ompjit.zeros(2, "i1"), v=127).tolist(), [0, 0])
        for _ in range(3):
            self.refused("x + v - (y + v)", x=x, y=ompjit.zeros(2, "i1"), v=128)
            self.refused("x + v - (y + v)", x=x, y=ompjit.zeros(2, "i1"), v=-1)

    def test_constants(self):
        x = ompjit.zeros(2, "i1")
        self.assertEqual(run("x + (100 + 27)", x).tolist(), [127, 127])
        text = self.refused("x + (100 + 28)", x)
        self.assertIn("expression:1:3: error: 128 is no int8 (-128 to 127)", text)
        self.refused("x = 128", x=x)
        self.refused("clip(x, 0, 300)", x)
        wide = ompjit.zeros(1, "i8")
        self.assertEqual(run("x + 2000000000 * 2", wide).tolist(), [4000000000])
        self.assertEqual(run("(long)x + 300", x).tolist(), [300, 300])
        self.refused("x + 9223372036854775807 * 2", wide)
        single = run("x + 9223372036854775808", ompjit.zeros(1, "f4"))
        self.assertEqual((single.dtype, single.tolist()), (ompjit.float32, [2.0**63]))

    def test_what_is_calculated_from_them(self):
        x = ompjit.zeros(2, "i1")
        for _ in range(2):
            self.assertEqual(run("x + 2 * n", x=x, n=63).tolist(), [126, 126])
            text = self.refused("x + 2 * n", x=x, n=64)
            self.assertEqual(text, "(2 * n) is 128, which is no int8 (-128 to 127)")
            self.refused("x + -n / 2", x=x, n=258)
            self.refused("x + (x > 0 ? 1 : ~n)", x=x, n=128)
            self.refused("x + n % 200", x=x, n=199)
            self.refused("x + (n << 2)", x=x, n=32)

    def test_other_expressions(self):
        x = ompjit.ones(4, "u1")
        for make in (ompjit.reduction, ompjit.scan):
            f = make("x + n")
            for _ in range(2):
                f(x, 254)
                with self.assertRaises(ompjit.RangeError):
                    f(x, 255 + 1)
        f = ompjit.stencil("v = u[-1] + u[1] + n")
        for _ in range(2):
            f(x, 253)
            with self.assertRaises(ompjit.RangeError):
                f(x, -1)
        for wrong in (
            lambda: x + 256,
            lambda: x // -1,
            lambda: x.fill(256),
            lambda: x[::2].fill(-1),
            lambda: x.__iadd__(256),
            lambda: ompjit.full(2, 256, "u1"),
            lambda: ompjit.array([256], "u1"),
        ):
            with self.assertRaises(ompjit.RangeError):
                wrong()

    def test_integers_beyond_int64(self):
        big = 1 << 63
        self.assertEqual(run("x + n", ompjit.zeros(1, "u8"), big).tolist(), [big])
        for kind in ("f4", "f8", "c8"):
            x = ompjit.zeros(1, kind)
            for value in (big, -(1 << 100)):
                found = run("x + n", x, value)
                self.assertEqual((found.dtype, found.tolist()), (x.dtype, [float(value)]))
            self.refused("x + n", x, 1 << 2000)
        for kind in ("i1", "i8", "?"):
            self.refused("x + n", ompjit.zeros(1, kind), big)
        self.refused("x + n", ompjit.zeros(1, "u8"), 2 * big)

    def test_comparisons_are_of_values(self):
        for kind, (low, high) in RANGES.items():
            values = sorted({low, 0, 1, high})
            x = ompjit.array(values, kind)
            for operator, compare in COMPARISONS.items():
                for n in (-1, 0, 1, 300, -(1 << 63), (1 << 63) - 1):
                    expected = [compare(v, n) for v in values]
                    with self.subTest(kind, operator=operator, n=n):
                        found = run(f"x {operator} n", x, n)
                        self.assertEqual(found.tolist(), expected)
                expected = [compare(-1, v) for v in values]
                found = run(f"-1 {operator} x", x)
                self.assertEqual(found.tolist(), expected)

    @needs_numpy
    def test_comparisons_of_signed_and_unsigned(self):
        for a, b in itertools.product(("i1", "i4", "i8"), ("u1", "u4", "u8")):
            x = np.array([*RANGES[a], 0, 1], a)
            y = np.array([*RANGES[b], 1, 5], b)
            for operator in ("<", ">=", "=="):
                for left, right in ((x, y), (y, x)):
                    found = run(f"a {operator} b", a=left, b=right)
                    expected = COMPARISONS[operator](left, right)
                    self.assertEqual(found.tolist(), expected.tolist())


class Others(unittest.TestCase):
    def test_outputs(self):
        x = ompjit.ones(2)
        for out, text in (
            ([0.0, 0.0], "out is a list, which cannot be written to"),
            ((0.0, 0.0), "makes 1"),
            (3.0, "out is 3.0, and no array"),
            (ompjit.ones(3), "do not fit together"),
            (ompjit.ones(1), "out is of shape"),
        ):
            with self.assertRaisesRegex(ompjit.ArgumentError, text):
                run("x * 2", x, out=out)
        f = ompjit.elementwise("s = x; d = x")
        for _ in range(2):
            y = ompjit.ones(2)
            with self.assertRaisesRegex(ompjit.ArgumentError, "share memory"):
                f(x, out=(y, y))

    @needs_numpy
    def test_dates_are_no_bytes(self):
        for value in (np.datetime64("2020-01-01"), np.timedelta64(1, "s")):
            for make in (ompjit.array, lambda v: run("x * 2", v)):
                with self.assertRaisesRegex(ompjit.ArgumentError, "view"):
                    make(value)
        with self.assertRaises(ompjit.ArgumentError):
            ompjit.array(datetime.date(2020, 1, 1))

    def test_types_of_other_packages(self):
        class Kind:  # as numpy's dtype of ml_dtypes.bfloat16
            str, isbuiltin = "<V2", 2

        class Brain:
            dtype = Kind()
            __array_interface__ = {
                "typestr": "<V2", "shape": (1,), "data": (16, False), "version": 3,
            }

        with self.assertRaisesRegex(ompjit.ArgumentError, "astype.'float32'"):
            run("x * 2", Brain())

    @needs_numpy
    @unittest.skipUnless(ompjit.device().is_host, "numpy's arrays are the host's")
    def test_no_memory(self):
        x = np.lib.stride_tricks.as_strided(np.ones(1), (1 << 40, 1 << 18), (0, 0))
        with self.assertRaises(ompjit.OutOfMemory):
            run("x + 1", x)


if __name__ == "__main__":
    unittest.main()
