# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C functions called by their names, and @ompjit.target; on any device."""
import array
import inspect
import pickle
import unittest

import ompjit
from ompjit._native import Callable

SOURCE = """
#include <stddef.h>
/* void not_this(int x) { } */
struct pair { int a, b; };
static int hidden(int x) { return x; }
void saxpy(int n, float a, const float *x, float *restrict y)
{
    #pragma omp target teams distribute parallel for map(to: x[:n]) map(y[:n])
    for (int i = 0; i < n; i++) { y[i] += a * x[i]; }
}
double kinds(signed char a, unsigned b, long long c, double d, _Bool e, size_t f)
{
    return a + b + c + d + e + f;
}
int nothing(void) { return hidden(7); }
void fill(double x[], int n) { for (int i = 0; i < n; i++) x[i] = i; }
long any(void *p) { return p != NULL; }
int odd(struct pair p) { return p.a; }
float **deep(int n) { return 0; }
void fault(int *x)
{
    #pragma omp target map(x[:1])
    { int *volatile p = 0; x[0] = *p; }
}
"""


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m = ompjit.compile(SOURCE)

    def test_prototypes(self):
        names = "saxpy kinds nothing fill any odd deep fault".split()
        self.assertEqual(self.m.functions, names)
        self.assertIn("const float *x", repr(self.m.saxpy))
        self.assertIn("saxpy", dir(self.m))
        self.assertIs(self.m.saxpy, self.m.saxpy)

    def test_prototypes_show_extents(self):
        m = ompjit.compile(
            "/* void grid(int u[9][9]) */\n"
            "void grid(int n, int m, double u[n][m], // a comment )\n"
            "          float (*const v)[2 * m + 1][3], int w[], int c[3][4]) {}\n"
        )
        shown = "int n, int m, double (*u)[m], float (*v)[2 * m + 1][3], "
        found = m.grid.prototype.replace("*const v", "*v").replace("* const v", "*v")
        self.assertEqual(found, f"void grid({shown}int *w, int (*c)[4])")
        self.assertIn("'double (*)[m]'", str(inspect.signature(m.grid)))

    def test_calls(self):
        m = self.m
        x, y = array.array("f", [1, 2, 3]), array.array("f", [1, 1, 1])
        m.saxpy(3, 2, x, y)
        self.assertEqual(list(y), [3, 5, 7])
        m.saxpy(3, 1.0, y=y, x=memoryview(x).toreadonly())
        self.assertEqual(list(y), [4, 7, 10])
        self.assertEqual(m.kinds(-1, 2, 3, 0.5, True, 5), 10.5)
        self.assertEqual(m.nothing(), 7)
        z = array.array("d", [0] * 3)
        m.fill(z, 3)
        self.assertEqual(list(z), [0, 1, 2])
        self.assertEqual((m.any(None), m.any(z)), (0, 1))

    @unittest.skipIf(Callable is None, "Python makes all calls")
    def test_classes_are_called_by_vector(self):
        vectorcall = 1 << 11
        for name in "Function Kernel Elementwise Reduction Scan Stencil".split():
            cls = getattr(ompjit, name)
            self.assertTrue(cls.__flags__ & vectorcall, name)

            class Own(cls):
                def __call__(self):
                    return 5

            made = Own.__new__(Own)
            self.assertEqual(made(), 5)

    def test_wrong_calls(self):
        m = self.m
        x, y = array.array("f", [1, 2]), array.array("f", [1, 1])
        for args in (
            (2, 2.0, x),
            (2, 2.0, x, y, 1),
            ("2", 2.0, x, y),
            (2.5, 2.0, x, y),
            (1 << 31, 2.0, x, y),
            (2, "2", x, y),
            (2, 2j, x, y),
            (2, 2.0, 3, y),
            (2, 2.0, [1, 2], y),
            (2, 2.0, array.array("d", [1]), y),
            (2, 2.0, memoryview(array.array("f", [1] * 4))[::2], y),
            (2, 2.0, x, memoryview(y).toreadonly()),
            (2, 2.0, x, b"12345678"),
            (2, 2.0, x, "y"),
        ):
            with self.assertRaises(ompjit.ArgumentError, msg=args):
                m.saxpy(*args)
        with self.assertRaises(ompjit.ArgumentError):
            m.saxpy(2, 2.0, x, z=y)
        for a, b in ((128, 1), (1, -1)):
            with self.assertRaises(ompjit.ArgumentError):
                m.kinds(a, b, 1, 1, 1, 1)
        for name in ("not_this", "hidden", "_x"):
            with self.assertRaises(AttributeError):
                getattr(m, name)
        self.assertEqual(list(y), [1, 1])

    @unittest.skipUnless(ompjit.device().is_host, "a GPU is lost after a fault")
    def test_a_failure_is_raised(self):
        with self.assertRaises(ompjit.DeviceError):
            self.m.fault(array.array("i", [0]))

    def test_resources(self):
        """Of kernels, functions and expressions."""
        kernel = self.m.kernels["saxpy"]
        double = ompjit.elementwise("2*x")
        try:
            row = kernel.resources("sm_80")
        except (ompjit.NotAvailable, ompjit.NotFound) as error:
            self.skipTest(str(error))  # the emulated driver has no cubins
        self.assertEqual(self.m.saxpy.resources("sm_80"), [row])
        full = kernel.occupancy("sm_80", 64)
        self.assertEqual(self.m.saxpy.occupancy("sm_80", 64), [full])
        self.assertEqual(self.m.nothing.resources(), [])
        (row,) = double.resources("f8", arch="sm_80")
        self.assertGreater(row["registers"], 0)
        (full,) = double.occupancy("f8", arch="sm_80", threads=64)
        self.assertGreater(full["occupancy"], 0)

    def test_pickled_modules_have_functions(self):
        self.assertEqual(pickle.loads(pickle.dumps(self.m)).nothing(), 7)


@ompjit.target
def scale(n: int, a: "float", x: "double[:]"):
    """
    #pragma omp target teams distribute parallel for map(x[:n])
    for (long i = 0; i < n; i++) x[i] *= a;
    """


@ompjit.target(preamble="#define TWO 2\n", flags=["-DTHREE=3"])
def six(k: ompjit.int32, x: "const float32[:]") -> float:
    """return TWO * THREE * k + x[0];"""


class Targets(unittest.TestCase):
    def test_calls(self):
        x = array.array("d", [1, 2])
        scale(2, 3, x)
        self.assertEqual(list(x), [3, 6])
        self.assertEqual(scale.__name__, "scale")
        self.assertIn("long n, float a, double *x", scale.source)
        self.assertEqual(six(2, array.array("f", [0.5])), 12.5)
        self.assertIn("six", repr(six))
        self.assertEqual(len(scale.module.kernels), 1)
        scale.compile()

    def test_pickled(self):
        """By source and options, functions within functions, too."""
        with ompjit.Context("host") as context:

            @ompjit.target(flags=["-DTHREE=3"], context=context)
            def three(x: int) -> int:
                """return THREE * x;"""

        for function in (three, pickle.loads(pickle.dumps(three))):
            again = pickle.loads(pickle.dumps(function))
            self.assertEqual(again(2), 6)
            self.assertEqual(again.source, three.source)
            self.assertEqual(again.__doc__, three.__doc__)

    def test_wrong(self):
        def no_text(x: int):
            pass

        def no_type(x):
            """return;"""

        def odd_type(x: list):
            """return;"""

        for function in (no_text, no_type, odd_type):
            with self.assertRaises(ompjit.ArgumentError):
                ompjit.target(function)

        @ompjit.target
        def wrong(x: int):
            """return y;"""

        with self.assertRaises(ompjit.CompileError) as caught:
            wrong(1)
        self.assertIn("undeclared identifier 'y'", str(caught.exception))

    def test_later_annotations(self):
        space = {"ompjit": ompjit}
        text = (
            "from __future__ import annotations\n"
            "@ompjit.target\n"
            "def f(a: float, b: 'float') -> int:\n"
            "    'return sizeof a + sizeof b;'\n"
        )
        exec(text, space)
        self.assertEqual(space["f"](1, 2), 12)


if __name__ == "__main__":
    unittest.main()
