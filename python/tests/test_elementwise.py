# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions on elements: the C that they take, types, shapes, memory; on any
device."""
import array
import itertools
import re
import unittest

import ompjit
from ompjit._parse import parse, tokens_of
from support import needs_numpy, numpy as np

HOST = ompjit.device().is_host


def run(text, *args, **named):
    return ompjit.elementwise(text)(*args, **named)


class Text(unittest.TestCase):
    def test_names(self):
        for text, inputs, outputs in (
            ("y = a*x + y", "a x y", "y"),
            ("a + b", "a b", "result"),
            ("z = x; w = z + y", "x y", "z w"),
            ("y += x", "x y", "y"),
            ("float t = x*x; y = t", "x", "y"),
            ("auto t = x, u = t*t; y = u", "x", "y"),
            ("if (x > 0) y = 1; else y = -1", "x", "y"),
            ("y = t[k]", "t k", "y"),
            ("y = 0; for (int k = 0; k < n; k++) y += x*k", "n x", "y"),
            ("y = x + i", "x", "y"),
            ("y = sqrt(x) + M_PI", "x", "y"),
            ("x++", "x", "x"),
            ("/* c */ y = x // d", "x", "y"),
        ):
            f = ompjit.elementwise(text)
            with self.subTest(text):
                self.assertEqual(f.inputs, tuple(inputs.split()))
                self.assertEqual(f.outputs, tuple(outputs.split()))
                self.assertIn(text, repr(f))

    def test_the_same_text_is_the_same_object(self):
        self.assertIs(ompjit.elementwise("x"), ompjit.elementwise("x"))

    def test_what_is_wrong_is_shown(self):
        x = ompjit.ones(2)
        for text, column, message in (
            ("y = a *", 8, "expected an expression"),
            ("y = 3 @ x", 7, "'@' is no C"),
            ("y = foo(x)", 5, "no function 'foo'"),
            ("y = sqrt(x, x)", 5, "takes 1 argument"),
            ("y = x = 1", 7, "one assignment"),
            ("3 = x", 3, "only a variable"),
            ("y = (x", 7, "expected ')'"),
            ("y = x)", 6, "expected ';'"),
            ("if x y = 1", 4, "expected '('"),
            ("y = ~x", 5, "no integer"),
            ("y = np.sin(x)", 7, "functions stand alone: sin(x)"),
            ("x > 0 and x < 1", 7, "C has && for 'and'"),
            ("y = not x", 9, "C has ! for 'not'"),
            ("y = x if x > 0 else 0", 7, "C has `condition ? a : b`"),
            ("y = x & 1", 7, "no integers"),
            ("y = x ? 1", 10, "expected ':'"),
            ("float = 3; y = x", 7, "expected a name"),
            ("auto t; y = x", 6, "needs a value"),
            ("y = 1.0l * x", 5, "long double"),
            ("y = 99999999999999999999999 + x", 5, "too large"),
            ("{ y = x", 8, "expected '}'"),
            ("y = x[1, 2]; z = x2", 5, "one index"),
            ("for (;;) y[0] = x; ++3", 20, "only a variable"),
        ):
            with self.subTest(text):
                with self.assertRaises(ompjit.CompileError) as caught:
                    f = ompjit.elementwise(text)
                    arrays = {n: x for n in f.inputs if n not in "a"}
                    f(**arrays)
                error = caught.exception
                self.assertEqual(error.line, 1)
                self.assertEqual(error.column, column, str(error))
                self.assertIn(message, str(error))
                self.assertIn("^", error.excerpt)
        with self.assertRaises(ompjit.CompileError) as caught:
            parse("y = x;\nz = (")
        self.assertEqual(caught.exception.line, 2)
        for nothing in ("", " ", "/* x */"):
            with self.assertRaises(ompjit.CompileError):
                ompjit.elementwise(nothing)
        with self.assertRaises(ompjit.ArgumentError):
            ompjit.elementwise(3)

    def test_depth(self):
        x = ompjit.ones(2)
        for text in ("(" * 3000 + "x" + ")" * 3000, "+".join(["x"] * 3000)):
            with self.assertRaisesRegex(ompjit.CompileError, "too deeply"):
                run(text, x)
        self.assertEqual(run("+".join(["x"] * 200), x).tolist(), [200, 200])

    def test_statements(self):
        x = ompjit.array([0.0, 1, 2, 3])
        texts, results = [], []
        for text, expected in (
            ("y = x*2; y = y + 1", [1, 3, 5, 7]),
            ("if (x < 2) y = 1; else y = x", [1, 1, 2, 3]),
            ("if (x > 2) y = 5", [0, 0, 0, 5]),
            ("y = 0; for (int k = 0; k < 3; k++) y += x", [0, 3, 6, 9]),
            ("y = x; while (y < 3) y = y + 2", [4, 3, 4, 3]),
            ("y = 0; for (int k = 0;; k++) { if (k > x) break; y += 1; }", [1, 2, 3, 4]),
            ("y = 0; for (int k = 0; k < 4; ++k) { if (k == x) continue; y++; }", [3, 3, 3, 3]),
            ("int t = x; long u = t * 2, v = 1; y = u + v", [1, 3, 5, 7]),
            ("y = x > 1 && x < 3 || !(x != 0)", [1, 0, 1, 0]),
            ("y = -x + +x - (x - 1)", [1, 0, -1, -2]),
            ("y = (int)(x / 2)", [0, 0, 1, 1]),
            ("y = float32(x) * 0.5f", [0, 0.5, 1, 1.5]),
            ("y = 2 ** x", [1, 2, 4, 8]),
            ("y = -x ** 2", [0, -1, -4, -9]),
            ("y = x ** 0.5 ** 0", [0, 1, 2, 3]),
            ("y = x*0 + i % 3 + 0x10 + 010", [24, 25, 26, 24]),
            ("y = x; y *= 2; y -= 1; y /= 2; y += 0.5", [0, 1, 2, 3]),
            ("y = where(x > 1, x, -1)", [-1, -1, 2, 3]),
            ("y = 1 ? x : 2", [0, 1, 2, 3]),
            ("y = x*0 + true + False", [1, 1, 1, 1]),
            ("unsigned char t = 300 + x; y = t", [44, 45, 46, 47]),
        ):
            k = len(texts)
            texts.append("{ %s; }" % re.sub(r"\by\b", f"y{k}", text))
            results.append(expected)
        # One kernel for all of them.
        arrays = ompjit.elementwise(" ".join(texts))(x=x)
        for text, array, expected in zip(texts, arrays, results):
            with self.subTest(text):
                for got, want in zip(array.tolist(), expected):
                    self.assertAlmostEqual(got, want, 12)

    def test_elements(self):
        t = ompjit.array([10, 20, 30, 40])
        k = ompjit.array([3, 0, 1])
        self.assertEqual(run("y = t[k]", t, k).tolist(), [40, 10, 20])
        self.assertEqual(run("y = t[i + 1] - t[i]", y=ompjit.zeros(3), t=t).tolist(), [10] * 3)
        out = ompjit.zeros(4, "i8")
        run("y[k] = v", k=k, v=ompjit.array([1, 2, 3]), y=out)
        self.assertEqual(out.tolist(), [2, 3, 0, 1])
        with self.assertRaises(ompjit.ArgumentError):
            run("y = t[k] + t", t, k)
        with self.assertRaises(ompjit.ArgumentError):
            run("y[0] = x[0]", t, t)

    def test_preamble(self):
        f = ompjit.elementwise(
            "y = twice(x) + one()",
            "static inline float twice(float x) { return 2 * x; }\n"
            "static int one(void) { return 1; }\n",
        )
        self.assertEqual(f(ompjit.array([1, 2], "f4")).tolist(), [3, 5])
        bad = ompjit.elementwise("f(x)", "static float f(float x) { return y; }")
        with self.assertRaises(ompjit.CompileError) as caught:
            bad(ompjit.ones(2))
        self.assertIn("undeclared identifier 'y'", str(caught.exception))

    def test_preamble_is_c_of_any_kind(self):
        f = ompjit.elementwise(
            "f(x)",
            "#define K 3\nstruct s { int a; };\n"
            "static double f(double x)\n{\n    return K * x;\n}\n",
        )
        self.assertEqual(f(ompjit.ones(2)).tolist(), [3, 3])


class Calls(unittest.TestCase):
    def test_arguments(self):
        f = ompjit.elementwise("z = a*x + y")
        x, y = ompjit.ones(3), ompjit.zeros(3)
        z = f(2, x, y=y)
        self.assertEqual(z.tolist(), [2, 2, 2])
        self.assertIs(f(3, x, y, out=z), z)
        self.assertIs(f(3, x, y, z), z)
        self.assertIs(f(a=3, x=x, y=y, z=z), z)
        self.assertEqual(z.tolist(), [3, 3, 3])
        g = ompjit.elementwise("s = x + y; d = x - y")
        s, d = g(x, y)
        self.assertEqual((s.tolist(), d.tolist()), ([1] * 3, [1] * 3))
        self.assertIs(g(x, y, out=(z, d))[0], z)
        for args, named in (
            ((2, x), {}),
            ((2, x, y, z, z), {}),
            ((2, x, y), {"q": 1}),
            ((2, x, y), {"a": 1}),
            ((2, x, y), {"out": (z, z)}),
            ((2, x, y), {"out": ompjit.zeros(4)}),
            ((2, x, y), {"out": ompjit.zeros(1)}),
            ((2, x, y), {"out": 3}),
            ((2, 1, 1), {}),
            ((2, x, "y"), {}),
            ((2, x, None), {}),
            ((2, x, ompjit.zeros(4)), {}),
            ((2, x, ["a"]), {}),
            ((2, x, y), {"dtype": "nothing"}),
        ):
            with self.assertRaises(ompjit.ArgumentError, msg=(args, named)):
                f(*args, **named)

    def test_in_place(self):
        y = ompjit.ones(3)
        self.assertIs(run("y = 2*y", y), y)
        self.assertEqual(y.tolist(), [2, 2, 2])
        with self.assertRaises(ompjit.ArgumentError):
            run("y = y + 1", 3)
        with self.assertRaises(ompjit.ArgumentError):
            run("y = y + x", ompjit.ones((2, 1)), ompjit.ones((2, 3)))

    def test_host_arrays_without_numpy(self):
        x, y = array.array("d", [1, 2]), array.array("d", [0, 0])
        run("y = 2*x", x, out=y)
        self.assertEqual(list(y), [2, 4])
        with self.assertRaises(ompjit.ArgumentError):
            run("y = 2*x", x, out=b"\0" * 16)
        self.assertEqual(list(run("x + y", [1, 2], (3, 4))), [4, 6])

    def test_no_elements(self):
        self.assertEqual(run("2*x", ompjit.zeros((0, 3))).shape, (0, 3))
        self.assertEqual(run("y = x", 1, ompjit.zeros(0)).tolist(), [])

    def test_numbers(self):
        x = ompjit.array([1], "u1")
        self.assertEqual(run("x + a", 255, x).tolist(), [0])
        for value in (1 << 63, -(1 << 63) - 1):
            with self.assertRaises(ompjit.ArgumentError):
                run("x + a", value, x)
        f4 = ompjit.array([1], "f4")
        for value, kind in (
            (2, "float32"),
            (2.0, "float32"),
            (True, "float32"),
            (2j, "complex64"),
        ):
            self.assertEqual(run("x * a", f4, value).dtype, kind)
        self.assertEqual(run("x * 2.0", x).dtype, "float64")
        self.assertEqual(run("x * 2.0f", x).dtype, "float32")
        self.assertEqual(run("x * 2.f16", x).dtype, "float16")
        self.assertEqual(run("x * 2", x).dtype, "uint8")
        self.assertEqual(run("x / 0.1", f4).dtype, "float32")

    def test_tokens(self):
        for text, words in (
            ("1.e+5fL .5+5", "1.e+5fL .5 + 5"),
            ("0x1fUL 0xg 1e 1e+2", "0x1fUL 0 xg 1 e 1e+2"),
            ("a<<=b**-c--", "a <<= b ** - c --"),
            ("a/*b*/c/d//e\n_f1/*", "a c / d _f1 / *"),
        ):
            found = [word for _, word, _ in tokens_of(text)]
            self.assertEqual(found, [*words.split(), ""], text)
        with self.assertRaisesRegex(ompjit.CompileError, "'\\$' is no C"):
            tokens_of("a + $")

    def test_compile(self):
        f = ompjit.elementwise("y = a*x + y - 12345")
        x = ompjit.ones(3, "f4")
        f.compile(float, "f4", "f4")
        programs = len(ompjit.context()._programs)
        f(2.0, x, x.copy())
        self.assertEqual(len(ompjit.context()._programs), programs)
        with self.assertRaises(ompjit.ArgumentError):
            f.compile("f4")

    def test_overlapping_memory(self):
        a = ompjit.arange(6)
        run("y = x", a[:-1], out=a[1:])
        self.assertEqual(a.tolist(), [0, 0, 1, 2, 3, 4])
        run("y = x + y", a[::-1], a)
        self.assertEqual(a.tolist(), [4, 3, 3, 3, 3, 4])
        b = ompjit.arange(4)
        run("y = x[3 - i]", x=b, out=b)
        self.assertEqual(b.tolist(), [3, 2, 1, 0])
        run("y = x + x", b, out=b)
        self.assertEqual(b.tolist(), [6, 4, 2, 0])
        with self.assertRaises(ompjit.ArgumentError):
            run("s = x; d = x", 1, out=(b[1:], b[:-1]))

    def test_many_plans(self):
        f = ompjit.elementwise("x + 1")
        for n in range(300):
            self.assertEqual(f(ompjit.zeros(n)).shape, (n,))
        self.assertLessEqual(len(f._plans), 256)


TYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()


@needs_numpy
class AsNumpy(unittest.TestCase):
    def check(self, got, want, **tolerance):
        got = np.asarray(got)
        self.assertEqual(got.shape, want.shape)
        np.testing.assert_allclose(got, want, **(tolerance or {"rtol": 1e-6}))

    def test_types_of_results(self):
        """One text for all, so that types are told and little is compiled."""
        f = ompjit.elementwise("a * b")
        for a, b in itertools.product(TYPES, TYPES):
            if (a, b) == ("?", "?"):
                continue  # C's int
            kinds = ompjit.dtype(a), ompjit.dtype(b)
            got = f._body((*kinds, None)).outputs["result"]
            self.assertEqual(got, np.result_type(a, b), (a, b))

    def test_mixed_types(self):
        for a, b in (
            ("i4", "f4"),
            ("i8", "u8"),
            ("u1", "i1"),
            ("f2", "f4"),
            ("c8", "f8"),
            ("i2", "f2"),
            ("u4", "i4"),
            ("f2", "f2"),
            ("c16", "i8"),
            ("?", "f4"),
        ):
            x, y = np.array([3, 1, 2], a), np.array([2, 3, 1], b)
            for text, op in (
                ("a * b", np.multiply),
                ("a - b", None if "?" in a + b else np.subtract),
                ("a == b", np.equal),
            ):
                if op:
                    want = op(x, y)
                    got = run(text, x, y)
                    self.assertEqual(got.dtype, want.dtype, (a, b, text))
                    self.check(got, want)

    def test_shapes(self):
        x = np.arange(24.0).reshape(2, 3, 4)
        cases = [
            (x, x),
            (x, x[0]),
            (x, x[0, 0]),
            (x, x[:, :1, :]),
            (x[:, :, :1], x[:1]),
            (x.T, x.T),
            (x.T, np.arange(2.0)),
            (x[:, ::2, 1:], x[:, ::2, 1:]),
            (x[..., ::-1], x),
            (x[::-1, ::-1], 2.0),
            (x[0, 0, 0], x),
            (np.asfortranarray(x), np.asfortranarray(x)),
            (np.asfortranarray(x), x),
            (np.broadcast_to(x[0], (2, 3, 4)), x),
            (x.transpose(1, 0, 2), x.transpose(1, 0, 2)[:, :, :1]),
            (np.array(2.0), np.array([3.0])),
        ]
        for a, b in cases:
            self.check(run("a + 2*b", a, b), a + 2 * b)
            if isinstance(b, np.ndarray):
                da, db = ompjit.array(a), ompjit.array(b)
                self.check(run("a + 2*b", da, db), a + 2 * b)
        self.check(run("a + i", x[:, ::2].T), x[:, ::2].T + np.arange(16).reshape(4, 2, 2))

    def test_into_strided_memory(self):
        x = np.zeros((4, 6))
        run("y = 10*r + c", r=np.arange(4.0)[:, None], c=np.arange(3.0), out=x[:, ::2])
        self.assertEqual(x[2].tolist(), [20, 0, 21, 0, 22, 0])
        packed = np.zeros(3, np.dtype([("a", "u1"), ("b", "f8")]))
        if HOST:  # a GPU works on a copy that goes back
            with self.assertRaises(ompjit.ArgumentError):
                run("y = y + 1", packed["b"])
        packed["b"] = [1, 2, 3]
        self.check(run("y + 1", packed["b"]), packed["b"] + 1)

    @unittest.skipUnless(HOST, "lines of the cache are the CPU's")
    def test_any_place_in_a_line(self):
        axpy = ompjit.elementwise("y = a*x + y")
        total = ompjit.reduction("a*b")
        mean = ompjit.stencil("v = (u[-1] + u[1]) / 2")
        for kind, size in itertools.product(("f4", "f8", "c16"), (130, 9000)):
            base = np.arange(size + 40).astype(kind)
            for at, to in ((0, 0), (1, 0), (0, 3), (5, 2), (7, 31), (15, 16)):
                x = base[at : at + size]
                y = np.zeros(size + 40, kind)
                axpy(2, x, y[to : to + size])
                with self.subTest(kind=kind, size=size, at=at, to=to):
                    np.testing.assert_array_equal(y[to : to + size], 2 * x)
                    self.assertFalse(y[:to].any() or y[to + size :].any())
                    if kind == "c16":
                        continue
                    np.testing.assert_allclose(
                        total(x, y[to : to + size]), (2 * x.astype("f8") * x).sum()
                    )
                    out = mean(x, out=y[to : to + size])
                    np.testing.assert_array_equal(out[1:-1], x[1:-1])

    @unittest.skipUnless(HOST, "lines of the cache are the CPU's")
    def test_sums_do_not_depend_on_places(self):
        total = ompjit.reduction("a*b")
        for size in (100, 1000, 9000, 100_000):
            values = np.random.default_rng(1).random(size)
            sums = set()
            for at in range(8):
                x, y = np.empty(size + 8), np.empty(size + 8)
                x[at : at + size] = values
                y[3 * at % 8 :][:size] = values[::-1]
                sums.add(float(total(x[at : at + size], y[3 * at % 8 :][:size])))
            self.assertEqual(len(sums), 1, size)

    @unittest.skipUnless(HOST, "lines of the cache are the CPU's")
    def test_stores_are_within_lines(self):
        x = ompjit.ones(1000)
        for f, args in (
            (ompjit.elementwise("y = 3*x + y"), (x, x)),
            (ompjit.stencil("y = 3*x[0] + x[1]"), (x, x)),
        ):
            (kernel,) = f.kernels(*args[: len(f.inputs)])
            self.assertTrue("ptrtoint" in kernel.ir, f.text)

    def test_large(self):
        n = 300_000 if HOST else 3000
        x = np.arange(n, dtype="f4")
        self.check(run("2*x + 1", x), 2 * x + 1)
        y = np.arange(2 * n, dtype="f8").reshape(2, n)
        self.check(run("x + y", x[::2], y[:, ::2]), x[::2] + y[:, ::2])

    def test_functions(self):
        one = (
            "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin "
            "arccos arctan sinh cosh tanh arcsinh arctanh floor ceil trunc "
            "fabs rint abs sign square isnan isinf isfinite real imag conj"
        ).split()
        two = "arctan2 hypot fmod fmin fmax copysign power minimum maximum".split()
        if not HOST:  # libdevice may be missing
            one, two = ["sqrt", "fabs", "abs", "sign"], ["minimum", "maximum"]
        x = np.linspace(0.1, 0.9, 5)
        y = x[::-1].copy()
        text = [f"{name}_ = {name}(x)" for name in one]
        text += [f"{name}_ = {name}(x, y)" for name in two]
        f = ompjit.elementwise("; ".join(text))
        for kind in ("f8", "f4", "f2"):
            u, v = x.astype(kind), y.astype(kind)
            rtol = {"f8": 1e-12, "f4": 1e-5, "f2": 5e-3}[kind]
            for name, got in zip(one + two, f(u, v)):
                args = (u,) if name in one else (u, v)
                want = getattr(np, name)(*args)
                self.assertEqual(got.dtype, want.dtype, (name, kind))
                self.check(got, want, rtol=rtol, atol=rtol)
        v = np.array([3, -2, 0], "i4")
        for name in "abs sign square".split():
            want = getattr(np, name)(v)
            got = run(f"{name}(x)", v)
            self.assertEqual(got.dtype, want.dtype)
            self.check(got, want)
        self.check(run("clip(x, -1, 1)", v), np.clip(v, -1, 1))
        nan = np.array([1, np.nan, 2.0])
        np.testing.assert_array_equal(run("min(x, y)", nan, nan[::-1].copy()), np.minimum(nan, nan[::-1]))
        np.testing.assert_array_equal(run("isnan(x)", nan), np.isnan(nan))

    @unittest.skipUnless(HOST, "complex functions of the C library")
    def test_complex(self):
        z = np.array([1 + 2j, -3j, 0.5])
        for kind in ("c16", "c8"):
            v = z.astype(kind)
            for name in "sqrt exp sin cos tanh conj real imag angle abs".split():
                want = getattr(np, name)(v)
                got = run(f"{name}(z)", v)
                self.assertEqual(got.dtype, want.dtype, (name, kind))
                self.check(got, want, rtol=1e-5, atol=1e-6)
            want = v * v / (1 + v) - 2j
            self.check(run("z*z / (1 + z) - b", v, 2j), want, rtol=1e-6)
            self.check(run("z * I", v), v * 1j)
            self.check(run("z * 2.5j + 1i", v), v * 2.5j + 1j)
        self.check(run("z ** 2", z), z**2)
        k = np.arange(4.0)
        self.check(run("exp(-1j*k*t)", k, 0.5), np.exp(-1j * k * 0.5))
        self.check(run("z == conj(z)", z), z == z.conj())
        for wrong in ("z * 1fj", "z > 1", "floor(z)", "min(z, z)", "z % 2", "(float)z"):
            with self.assertRaises(ompjit.CompileError, msg=wrong):
                run(wrong, z)
        with self.assertRaises(ompjit.CompileError):
            run("y = z", z, out=np.zeros(3))

    def test_results_are_of_the_arguments_kind(self):
        x = np.ones(3)
        self.assertIsInstance(run("2*x", x), np.ndarray)
        self.assertIsInstance(run("x*y", x, ompjit.ones(3)), ompjit.ndarray)
        y = np.zeros(3)
        self.assertIs(run("y = 2*x", x, out=y), y)
        self.assertEqual(y.tolist(), [2, 2, 2])
        self.assertIs(run("y = 2*y", y), y)
        self.assertEqual(y.tolist(), [4, 4, 4])
        y.flags.writeable = False
        with self.assertRaises(ompjit.ArgumentError):
            run("y = 2*y", y)
        with self.assertRaises(ompjit.ArgumentError):
            run("z = 2*y", y, out=y)
        self.assertEqual(run("2*y", y).tolist(), [8, 8, 8])
        fortran = run("x", np.ones((2, 3), order="F"))
        self.assertEqual(fortran.flags.f_contiguous, HOST)

    def test_numpy_numbers(self):
        x = np.ones(3, "f4")
        self.assertEqual(run("x * a", x, np.float64(2)).dtype, "f8")
        self.assertEqual(run("x * a", x, np.float32(2)).dtype, "f4")
        self.assertEqual(run("x * a", x, np.int64(2)).dtype, "f8")
        self.assertEqual(run("x * a", x, np.complex64(2j)).tolist(), [2j] * 3)
        self.assertEqual(run("x * a", x, np.float16(0.5)).tolist(), [0.5] * 3)
        self.assertEqual(run("x * a", x, np.bool_(True)).dtype, "f4")


if __name__ == "__main__":
    unittest.main()
