# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stencils; on any device."""
import unittest

import ompjit
from support import needs_numpy, numpy as np

HOST = ompjit.device().is_host
FIVE = "v = u[0,0] + a*(u[-1,0] + u[1,0] + u[0,-1] + u[0,1] - 4*u[0,0])"


class Stencils(unittest.TestCase):
    def test_one_dimension(self):
        u = ompjit.array([1.0, 2, 4, 8])
        for boundary, expected in (
            ("keep", [0, 5, 10, 0]),
            ("nearest", [3, 5, 10, 12]),
            ("wrap", [10, 5, 10, 5]),
            (0, [2, 5, 10, 4]),
            (1.5, [3.5, 5, 10, 5.5]),
        ):
            f = ompjit.stencil("v = u[-1] + u[1]", boundary)
            self.assertEqual(f(u).tolist(), expected, boundary)
        out = ompjit.full(4, 7.0)
        f = ompjit.stencil("v = u[-1] + u[1]")
        self.assertIs(f(u, out=out), out)
        self.assertEqual(out.tolist(), [7, 5, 10, 7])
        f(u, out=u)
        self.assertEqual(u.tolist(), [1, 5, 10, 8])
        self.assertEqual(f(ompjit.zeros(1)).tolist(), [0])
        self.assertEqual(f(ompjit.zeros(0)).tolist(), [])

    def test_numbers_beside_the_array(self):
        low, high = -(1 << 63), (1 << 64) - 1
        for kind, numbers in (
            ("f8", (1e300, 0.1, float("inf"), -float("inf"), float("nan"))),
            ("f2", (1.5, float("-inf"))),
            ("c8", (1 - 2j, 3)),
            ("i1", (-128, 2.0)),
            ("i8", (low, -low - 1, (1 << 53) + 1)),
            ("u8", (high,)),
        ):
            u = ompjit.ones(2, kind)
            for boundary in numbers:
                f = ompjit.stencil("v = u[-1]", boundary)
                self.assertEqual(str(f(u).tolist()[0]), str(ompjit.full(1, boundary, kind).tolist()[0]))
        for kind, boundary in (
            ("i1", 128), ("u1", -1), ("i4", 1.5), ("i4", float("nan")),
            ("f8", 1j), ("i8", 1 << 63),
        ):
            f = ompjit.stencil("v = u[-1]", boundary)
            with self.assertRaises(ompjit.RangeError):
                f(ompjit.ones(2, kind))
        for boundary in (None, True, [1], b"keep"):
            with self.assertRaises(ompjit.ArgumentError):
                ompjit.stencil("v = u[-1]", boundary)

    @needs_numpy
    def test_numbers_of_numpy_beside_the_array(self):
        f = ompjit.stencil("v = u[-1]", np.float32(0.5))
        self.assertEqual(f(ompjit.ones(2)).tolist(), [0.5, 1])

    def test_neighbours_in_declarations(self):
        life = ompjit.stencil(
            "int n = g[-1] + g[1]; auto k = n * (n - g[2]); o = n + k + g[0]", "wrap"
        )
        g = ompjit.array([1, 0, 1, 1, 0, 0, 1], "i4")
        v = g.tolist()
        at = lambda i: v[i % len(v)]
        expected = []
        for i in range(len(v)):
            n = at(i - 1) + at(i + 1)
            expected.append(n + n * (n - at(i + 2)) + at(i))
        self.assertEqual(life(g).tolist(), expected)

    def test_wrong(self):
        for text, boundary in (
            ("v = u", "keep"),
            ("v = u[0] + u[0,0]", "keep"),
            ("v = u[i]", "keep"),
            ("v[0] = u[0]", "keep"),
            ("v = u[0]", "mirror"),
            ("v = u[0]", True),
        ):
            with self.assertRaises((ompjit.ArgumentError, ompjit.CompileError)):
                ompjit.stencil(text, boundary)
        f = ompjit.stencil("v = u[0] + w")
        u = ompjit.zeros(3)
        for args in ((u,), (u, ompjit.zeros(4)), (3, u), (u.reshape(1, 3), 1)):
            with self.assertRaises(ompjit.ArgumentError):
                f(*args)

    @needs_numpy
    def test_two_dimensions(self):
        u = np.arange(35.0).reshape(5, 7) ** 2
        want = {}
        for boundary, mode in (("nearest", "edge"), ("wrap", "wrap"), (3, None)):
            options = {"mode": mode} if mode else {"constant_values": 3}
            p = np.pad(u, 1, **options)
            near = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
            want[boundary] = u + 0.1 * (near - 4 * u)
        inner = np.zeros_like(u)
        inner[1:-1, 1:-1] = want[3][1:-1, 1:-1]
        want["keep"] = inner
        for boundary, expected in want.items():
            f = ompjit.stencil(FIVE, boundary)
            self.assertEqual(f.inputs, ("u", "a"))
            np.testing.assert_allclose(f(u, 0.1), expected)
            np.testing.assert_allclose(
                np.asarray(f(ompjit.array(u).T, 0.1)).T, expected
            )
            strided = np.repeat(u, 2, axis=1)[:, ::2]
            np.testing.assert_allclose(f(strided, 0.1), expected)
        self.assertEqual(ompjit.stencil(FIVE)(u.astype("f4"), 0.1).dtype, "f4")

    @needs_numpy
    def test_more(self):
        n = 10_000 if HOST else 500
        u = np.arange(float(n))
        w = np.ones(n)
        f = ompjit.stencil("v = w*(u[3] - u[-2]); k = v > 4 ? i : 0", "wrap")
        v, k = f(u=u, w=w)
        want = np.roll(u, -3) - np.roll(u, 2)
        np.testing.assert_array_equal(v, want)
        np.testing.assert_array_equal(k, np.where(want > 4, np.arange(n), 0))
        cube = np.arange(60.0).reshape(3, 4, 5)
        f = ompjit.stencil("v = u[1,0,0] + u[0,-1,2]", "nearest")
        p = np.pad(cube, 2, mode="edge")
        want = p[3:6, 2:6, 2:7] + p[2:5, 1:5, 4:9]
        np.testing.assert_array_equal(f(cube), want)


if __name__ == "__main__":
    unittest.main()
