# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators and reductions of arrays, as numpy has them; on any device."""
import operator
import unittest

import ompjit
from support import needs_numpy, numpy as np

HOST = ompjit.device().is_host


class Plain(unittest.TestCase):
    def test_operators(self):
        a, b = ompjit.array([1.0, -2, 3]), ompjit.array([2.0, 2, 0.5])
        self.assertEqual((a + 2 * b).tolist(), [5, 2, 4])
        self.assertEqual((1 - a).tolist(), [0, 3, -2])
        self.assertEqual((a > b).tolist(), [False, False, True])
        self.assertTrue((a == a).all())
        a += 1
        a *= b
        self.assertEqual(a.tolist(), [4, -2, 2])
        self.assertEqual(a.sum(), 4)
        for wrong in (lambda: a + "x", lambda: a + [1, 2, 3], lambda: {a: 1}):
            with self.assertRaises(TypeError):
                wrong()
        with self.assertRaises(ompjit.ArgumentError):
            a + ompjit.zeros(4)

    def test_reductions(self):
        dot = ompjit.reduction("x*y", "+")
        x = ompjit.array([1, 2, 3])
        self.assertEqual(dot(x, x), 14)
        self.assertIs(dot, ompjit.reduction("x*y"))
        self.assertEqual(ompjit.reduction("a*x", "max")(2, x), 6)
        self.assertEqual(ompjit.reduction("t[k]")(k=x, t=ompjit.arange(5)), 6)
        self.assertIn("x*y", repr(dot))
        for text, op in (("x", "mean"), ("y = x", "+"), ("x; y = x", "+")):
            with self.assertRaises((ompjit.ArgumentError, ompjit.CompileError)):
                ompjit.reduction(text, op)
        for args, named in (
            ((x,), {}),
            ((x, x), {"axis": 1}),
            ((x, x), {"axis": (0, 0)}),
            ((x, ompjit.zeros(4)), {}),
            ((3, 4), {"axis": 0}),
            ((x, x), {"axis": 0, "out": ompjit.zeros(1)}),
        ):
            with self.assertRaises(ompjit.ArgumentError, msg=(args, named)):
                dot(*args, **named)

    def test_no_elements(self):
        none = ompjit.zeros((0, 3))
        self.assertEqual(none.sum(), 0)
        self.assertEqual(none.prod(), 1)
        self.assertEqual(none.sum(axis=0).tolist(), [0, 0, 0])
        self.assertEqual(none.sum(axis=1).tolist(), [])
        self.assertTrue(none.all())
        with self.assertRaises(ValueError):
            none.min()


@needs_numpy
class AsNumpy(unittest.TestCase):
    def same(self, got, want, **tolerance):
        if isinstance(got, ompjit.ndarray):
            self.assertEqual(got.dtype, want.dtype)
            self.assertEqual(got.shape, want.shape)
        np.testing.assert_allclose(
            np.asarray(got), want, **(tolerance or {"rtol": 1e-6})
        )

    def test_operators(self):
        names = "add sub mul truediv floordiv mod lt le eq ne gt ge".split()
        for kinds in (("f8", "f8"), ("i8", "i8")):
            x = np.array([7, 100, 3, 5], kinds[0])
            y = np.array([2, 3, 5, 4], kinds[1])
            x, y = np.concatenate([x, -x]), np.concatenate([y, y])
            a, b = ompjit.array(x), ompjit.array(y)
            for name in names[:7] if HOST else names[3:5]:
                f = getattr(operator, name)
                with self.subTest(name=name, kinds=kinds):
                    self.same(f(a, b), f(x, y))
                    if name == "truediv":
                        self.same(f(a, 3), f(x, 3))
                        self.same(f(3, b), f(3, y))
        i = np.array([6, 3], "i4")
        a = ompjit.array(i)
        for name in "and_ or_ xor lshift rshift".split():
            f = getattr(operator, name)
            self.same(f(a, 2), f(i, 2))
        for name in "neg pos invert abs".split():
            f = getattr(operator, name)
            self.same(f(a), f(i))
        self.same(a // ompjit.array([0, -1], "i4"), np.array([0, -3], "i4"))
        t = np.array([True, False])
        a = ompjit.array(t)
        for name in "add mul and_ or_ xor".split():
            f = getattr(operator, name)
            self.same(f(a, ~a), f(t, ~t))
        for wrong in (lambda: a - a, lambda: -a):
            with self.assertRaises(ompjit.ArgumentError):
                wrong()
        x = np.array([4.0, 2.0])
        self.same(ompjit.array(x) ** 2, x**2)
        self.same(ompjit.array(x) ** 3.0, x**3)

    def test_in_place(self):
        i = ompjit.array([4, 6], "i4")
        i = i // 2
        self.assertEqual(i.tolist(), [2, 3])
        i += 1
        for wrong in (
            lambda: i.__itruediv__(2),
            lambda: i.__iadd__(1.5),
            lambda: i.__iadd__(ompjit.ones(2)),
        ):
            with self.assertRaises(ompjit.ArgumentError):
                wrong()
        f = ompjit.array([1, 2], "f4")
        f += ompjit.ones(2)
        f /= 2
        self.assertEqual((f.dtype, f.tolist()), ("float32", [1, 1.5]))

    def test_with_numpy(self):
        x = np.array([1.0, 4.0])
        a = ompjit.array(x)
        for got in (x + a, a + x, np.add(x, a), np.float64(1) + a):
            self.assertIsInstance(got, ompjit.ndarray)
        self.assertIsInstance(np.sqrt(a), ompjit.ndarray)
        self.assertEqual(np.sqrt(a).tolist(), [1, 2])
        self.assertEqual(np.sum(a), 5)
        self.assertIs(np.add(a, 1, out=a), a)
        self.assertEqual(a.tolist(), [2, 5])
        with self.assertRaises(TypeError):
            np.add.reduce(a)

    def test_reductions(self):
        x = (np.arange(60) % 7 - 3.0).reshape(3, 4, 5)
        for kind in ("f4", "i4") if HOST else ("f8",):
            v = x.astype(kind)
            a = ompjit.array(v)
            for axis in (None, 0, 1, 2, -1, (0, 2), (0, 1, 2)):
                with self.subTest(kind=kind, axis=axis):
                    self.same(a.sum(axis=axis), v.sum(axis=axis))
                    self.same(a.max(axis=axis), v.max(axis=axis))
                    self.same(a.mean(axis), v.mean(axis), rtol=1e-5, atol=1e-7)
                    self.same(
                        a.sum(axis, keepdims=True), v.sum(axis, keepdims=True)
                    ) if axis is not None else None
        a = ompjit.array(x)
        for view in (lambda v: v.T, lambda v: v[:, ::2], lambda v: v[::-1, 1:]):
            for axis in (None, 0, 1):
                self.same(view(a).sum(axis=axis), view(x).sum(axis=axis))
        self.same(a.std(), x.std())
        # numpy's functions call the methods, with options of their own.
        for name in ("mean", "std", "var", "sum"):
            function = getattr(np, name)
            self.same(function(a), function(x))
            self.same(function(a, axis=0), function(x, axis=0))
            self.same(
                function(a, axis=1, keepdims=True, dtype="f4"),
                function(x, axis=1, keepdims=True, dtype="f4"),
                rtol=1e-6,
            )
        with self.assertRaisesRegex(ompjit.ArgumentError, "takes no out"):
            np.mean(a, axis=0, out=ompjit.zeros(x.shape[1]))
        self.same(a.var(axis=1, ddof=1), x.var(axis=1, ddof=1))
        self.same((a > 2).any(axis=0), (x > 2).any(axis=0))
        self.same(a.astype("i2").prod(axis=2), x.astype("i2").prod(axis=2))
        out = ompjit.zeros((4, 5))
        self.assertIs(a.sum(axis=0, out=out), out)
        self.same(out, x.sum(axis=0))
        self.same(a.clip(-1, 1), x.clip(-1, 1))

    def test_types_and_extremes(self):
        for kind in "? u1 i8 f2".split() if HOST else ["i4"]:
            x = np.array([1, 0, 1, 1], kind)
            a = ompjit.array(x)
            for name in ("sum", "max", "min", "prod"):
                want = getattr(x, name)()
                got = getattr(a, name)()
                self.assertEqual(got, want, (kind, name))
            self.assertEqual(a.sum(axis=0).dtype, x.sum(axis=0).dtype)
        nan = ompjit.array([1, float("nan"), 3])
        self.assertNotEqual(nan.max(), nan.max())
        self.assertEqual(ompjit.array([-5, -7], "i1").max(), -5)
        self.assertEqual(ompjit.reduction("x", "&")(ompjit.array([7, 3])), 3)
        z = ompjit.array([1 + 2j, 3])
        self.assertEqual(z.sum(), 4 + 2j)
        self.assertEqual((z.real.tolist(), z.conj().tolist()), ([1, 3], [1 - 2j, 3]))
        with self.assertRaises(ompjit.ArgumentError):
            z.max()

    @unittest.skipUnless(HOST, "large")
    def test_precision(self):
        x = np.full(1 << 20, 0.1, "f4")
        self.assertAlmostEqual(ompjit.array(x).sum(), float(x[0]) * (1 << 20), 0)
        n = np.ones(100_000)
        self.assertEqual(ompjit.reduction("x")(n), 100_000)
        m = np.ones((3, 70_000), "i1")
        self.assertEqual(ompjit.reduction("x")(m, axis=1).tolist(), [70_000] * 3)


if __name__ == "__main__":
    unittest.main()
