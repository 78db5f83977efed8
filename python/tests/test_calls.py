# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of modules called from Python: arguments, results, what is refused
before anything runs, what fails while it runs, callbacks, Ctrl-C, fork."""
import array
import ctypes
import inspect
import multiprocessing
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import ompjit
import ompjit._lib
from support import needs_numpy, numpy

SOURCE = r"""
#include <complex.h>
#include <stdbool.h>
#include <stdlib.h>
typedef struct { int a; double b; } pair;
enum sign { MINUS = -1, PLUS = 1 };
void saxpy(long n, float a, const float *x, float *y) {
    #pragma omp target teams distribute parallel for map(to: x[:n]) map(y[:n])
    for (long i = 0; i < n; i++) y[i] += a * x[i];
}
void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 2; }
int add(signed char a, unsigned short b) { return a + b; }
unsigned long big(unsigned long n) { return n; }
bool negate(bool b) { return !b; }
float half(float f) { return f / 2; }
enum sign sign_of(int i) { return i < 0 ? MINUS : PLUS; }
double complex turn(double complex z) { return z * I; }
float complex turnf(float complex z) { return z * I; }
pair swap(pair p) { pair q = {(int)p.b, p.a}; return q; }
double total(const pair *p, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += p[i].a + p[i].b;
    return s;
}
long length(const char *s) { long n = 0; while (s[n]) n++; return n; }
void *same(void *p) { return p; }
double sum(double (*f)(int, double), int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += f(i, 0.5);
    return s;
}
int dereference(volatile int *p) { return *p; }
void leave(int status) { exit(status); }
void region(int n) {
    #pragma omp target
    if (n == 3) __builtin_trap();
}
void spin(volatile int *go) { while (*go) continue; }
void spin_on_device(volatile int *go) {
    #pragma omp target map(go[:1])
    while (*go) continue;
}
"""


def setUpModule():
    global m
    # A shell starts what is in the background with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    m = ompjit.compile(SOURCE)


def floats(*values):
    return array.array("f", values)


class Calls(unittest.TestCase):
    def test_arrays(self):
        x, y = floats(1, 2, 3), floats(10, 20, 30)
        self.assertIsNone(m.saxpy(3, 2.0, x, y))
        self.assertEqual(list(y), [12, 24, 36])
        m.saxpy(2, y=y, x=x, a=1)
        self.assertEqual(list(y), [13, 26, 36])

    def test_numbers(self):
        self.assertEqual(m.add(-128, 65535), 65407)
        self.assertEqual(m.big(2**64 - 1), 2**64 - 1)
        self.assertIs(m.negate(False), True)
        self.assertIs(m.negate(1), False)
        self.assertEqual(m.half(3), 1.5)
        self.assertEqual(m.sign_of(-3), -1)
        self.assertEqual(m.turn(1 + 2j), -2 + 1j)
        self.assertEqual(m.turnf(3), 3j)

    def test_structs(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_double)]

        found = Pair.from_buffer_copy(m.swap(Pair(3, 4.5)))
        self.assertEqual((found.a, found.b), (4, 3.0))
        self.assertEqual(m.total((Pair * 2)(Pair(1, 2), Pair(3, 4)), 2), 10)

    def test_pointers(self):
        self.assertEqual(m.length("four"), 4)
        self.assertEqual(m.length(b"abc\0"), 3)
        self.assertIsNone(m.same(None))
        self.assertEqual(m.same(ctypes.c_void_p(4096)), 4096)
        x = ctypes.c_int(7)
        self.assertEqual(m.dereference(x), 7)
        self.assertEqual(m.dereference(ctypes.pointer(x)), 7)

    def test_what_it_tells(self):
        f = m.saxpy
        self.assertIs(f, m.saxpy)
        self.assertIs(f, m["saxpy"])
        self.assertEqual(list(inspect.signature(f).parameters), list("naxy"))
        self.assertIn("void saxpy(long n, float a, const float *x", f.__doc__)
        self.assertIn("x: mapped to: x[:n]", f.__doc__)
        self.assertIn("snippet.c, line 7", f.__doc__)
        self.assertIn("saxpy", repr(f))
        self.assertIn("saxpy", dir(m))
        with self.assertRaisesRegex(AttributeError, "no function nothing"):
            m.nothing

    def test_pickle(self):
        text = pickle.dumps(m.half)
        f = pickle.loads(text)
        self.assertEqual(f(5), 2.5)
        self.assertIs(pickle.loads(text).module, f.module)

    def test_a_function_keeps_its_module(self):
        f = ompjit.compile("int f(void) { return 5; }").f
        self.assertEqual(f(), 5)

    @needs_numpy
    def test_numpy(self):
        x = numpy.arange(4, dtype="f4")
        y = numpy.ones(4, "f4")
        m.saxpy(numpy.int64(4), numpy.float32(2), x, y)
        self.assertEqual(y.tolist(), [1, 3, 5, 7])
        self.assertEqual(m.add(numpy.int8(1), numpy.uint8(2)), 3)

    @unittest.skipUnless(shutil.which("flang-22"), "no flang 22")
    def test_fortran(self):
        module = ompjit.compile(
            "subroutine scale(n, a, x)\n"
            "  integer, intent(in) :: n\n"
            "  real(8), intent(in) :: a\n"
            "  real(8), intent(inout) :: x(n)\n"
            "  integer :: i\n"
            "  !$omp target teams distribute parallel do map(tofrom: x)\n"
            "  do i = 1, n\n"
            "    x(i) = a * x(i)\n"
            "  end do\n"
            "end subroutine\n",
            language="fortran",
        )
        x = array.array("d", [1, 2, 3])
        for _ in range(2):
            module.scale(3, 2.0, x)
        self.assertEqual(list(x), [4, 8, 12])
        with self.assertRaisesRegex(ompjit.ArgumentError, "float32"):
            module.scale(1, 2.0, floats(1))
        with self.assertRaisesRegex(ompjit.ArgumentError, "is a float"):
            module.scale(1, 2.0, 3.0)
        self.assertIn("subroutine scale(integer n", module.scale.__doc__)

    def test_cxx(self):
        module = ompjit.compile(
            "#include <stdexcept>\n"
            "namespace ns { int f(int i) { if (i < 0) "
            'throw std::range_error("negative"); return i; } }\n',
            language="c++",
        )
        self.assertEqual(module["ns::f"](3), 3)
        with self.assertRaisesRegex(
            ompjit.DeviceError, "std::range_error: negative"
        ):
            module["ns::f"](-3)


class Native(unittest.TestCase):
    """Calls that C makes, as all are but the first of a function."""

    def setUp(self):
        m.add(0, 0), m.half(0), m.negate(True), m.big(0), m.same(None)
        m.saxpy(0, 0, None, None)

    def test_it_is_there(self):
        from ompjit import _native

        self.assertIsNotNone(_native.Callable)
        self.assertTrue(m.add._bound.ready)

    def test_numbers(self):
        class Index:
            def __index__(self):
                return 5

        self.assertEqual(m.add(-128, 65535), 65407)
        self.assertEqual(m.add(True, Index()), 6)
        self.assertEqual(m.big(2**64 - 1), 2**64 - 1)
        self.assertEqual(m.half(3), 1.5)
        self.assertEqual(m.half(float("inf")), float("inf"))
        self.assertIs(m.negate(False), True)
        self.assertIsNone(m.same(None))

    def test_references(self):
        x, y = floats(1, 2, 3), floats(1, 1, 1)
        number = 12345678901234567
        before = [sys.getrefcount(o) for o in (x, y, number, None)]
        for _ in range(1000):
            m.saxpy(3, 1, x, y)
            m.big(number)
            with self.assertRaises(ompjit.ArgumentError):
                m.saxpy(4, 1, x, y)
        after = [sys.getrefcount(o) for o in (x, y, number, None)]
        for a, b in zip(before, after):
            self.assertLess(abs(a - b), 20)
        x.append(4)  # no buffer is held

    def test_arrays_of_the_package(self):
        with ompjit.Context("host") as context:
            x, y = ompjit.ones(3, "f4"), ompjit.zeros(3, "f4")
            double, gaps = ompjit.ones(3), ompjit.ones(6, "f4")[::2]
            deep = ompjit.ones((1, 1, 1, 1, 3), "f4")
            empty, readonly = ompjit.ones(0, "f4"), ompjit.ones(3, "f4")
        readonly.readonly = True
        m.saxpy(3, 1, x, y), m.same(y)
        refused = AssertionError("Python makes the call")
        with mock.patch.object(ompjit.Function, "_call", side_effect=refused):
            m.saxpy(3, 2, readonly, y)
            self.assertEqual(y.tolist(), [3, 3, 3])
            self.assertEqual(m.same(y), y.address)
            m.saxpy(0, 1, empty, empty)
        m.saxpy(3, 1, deep, y)
        self.assertEqual(y.tolist(), [4, 4, 4])
        for args, words in (
            ((4, 1, x, y), "needs 4 elements"),
            ((3, 1, double, y), "float64"),
            ((3, 1, gaps, y), "contiguous"),
            ((3, 1, x, readonly), "read-only"),
        ):
            with self.assertRaisesRegex(ompjit.ArgumentError, words):
                m.saxpy(*args)
        del context

    def test_callbacks_within_calls(self):
        self.assertEqual(m.sum(lambda i, d: m.half(i) + m.add(1, 1), 3), 7.5)


class Refused(unittest.TestCase):
    def wrong(self, words, function, *args, **named):
        with self.assertRaisesRegex(ompjit.ArgumentError, words):
            function(*args, **named)

    def test_numbers(self):
        self.wrong("-129, which no signed char can be", m.add, -129, 0)
        self.wrong("0 to 65535", m.add, 0, 65536)
        self.wrong("it is an integer", m.add, 1.5, 0)
        self.wrong("it is an integer", m.add, float("nan"), 0)
        self.wrong("it is an integer", m.add, "1", 0)
        self.wrong("it is an integer", m.add, None, 0)
        self.wrong("no unsigned long can be", m.big, -1)
        self.wrong("no unsigned long can be", m.big, 2**64)
        self.wrong("True or False", m.negate, 2)
        self.wrong("too large", m.half, 1e300)
        self.wrong("too large", m.half, 10**400)
        self.wrong("it is a number", m.half, "1.5")
        self.wrong("it is a number", m.turn, "i")

    def test_numbers_of_arguments(self):
        self.wrong("y is missing: void saxpy", m.saxpy, 1, 2, None)
        self.wrong("5 arguments; it takes 4", m.saxpy, 1, 2, 3, 4, 5)
        self.wrong("z is no parameter", m.saxpy, 1, 2, None, None, z=1)
        self.wrong("a is given twice", m.saxpy, 1, 2, None, None, a=1)

    def test_arrays(self):
        x = floats(1, 2)
        self.wrong("x: the map of x.:n., line 8 needs 3 elements, but the "
                   "argument has 2", m.saxpy, 3, 1, x, floats(1, 2, 3))
        self.wrong("has -1 elements", m.saxpy, -1, 1, x, x)
        self.wrong("elements, but the argument has", m.saxpy, 2**62, 1, x, x)
        self.wrong("has 0", m.saxpy, 2, 1, None, x)
        self.wrong("elements of float64", m.saxpy, 2, 1,
                   array.array("d", [1, 2]), x)
        self.wrong("elements of int32", m.saxpy, 2, 1,
                   array.array("i", [1, 2]), x)
        self.wrong("not contiguous", m.saxpy, 1, 1,
                   memoryview(floats(1, 2, 3))[::2], x)
        readonly = memoryview(bytes(floats(1, 2))).cast("f")
        self.wrong("y is read-only", m.saxpy, 2, 1, x, readonly)
        m.saxpy(2, 0, readonly, x)
        self.wrong("an address is passed as", m.saxpy, 2, 1, 4096, x)
        self.wrong("is a list", m.saxpy, 2, 1, [1.0, 2.0], x)
        self.wrong("is a object", m.saxpy, 2, 1, object(), x)
        self.wrong("x is read-only", m.scale, 0,
                   memoryview(bytes(8)).cast("d"))
        self.wrong("16 bytes", m.swap, b"short")
        self.wrong("is a int; it is a function", m.sum, 7, 1)

    def test_a_thousand_and_memory(self):
        x, y = floats(1, 2), floats(1, 2)
        bad = [
            (2, 1, x, array.array("d", [1])), (3, 1, x, y), (-7, 1, x, y),
            (2**70, 1, x, y), (2, "1", x, y), (2, 1, 5, y), (2, 1, x[:1], y),
            (2, 1, x, memoryview(bytes(y)).cast("f")), (2, 1, x), (),
        ]

        def rounds(count):
            for _ in range(count):
                for args in bad:
                    with self.assertRaises(ompjit.ArgumentError):
                        m.saxpy(*args)

        rounds(50)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rounds(100)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(after - before, 2000)
        self.assertEqual(list(y), [1, 2])


class Failures(unittest.TestCase):
    def test_faults(self):
        with self.assertRaisesRegex(
            ompjit.DeviceError, "dereference: access to unmapped memory"
        ):
            m.dereference(None)
        with self.assertRaisesRegex(ompjit.DeviceError, r"exit\(3\)"):
            m.leave(3)
        with self.assertRaisesRegex(ompjit.DeviceError, "region"):
            m.region(3)
        m.region(2)

    def test_callbacks(self):
        self.assertEqual(m.sum(lambda i, d: i + d, 4), 8)

        def fails(i, d):
            seen.append(i)
            raise KeyError(i)

        seen = []
        with self.assertRaisesRegex(KeyError, "0"):
            m.sum(fails, 5)
        self.assertEqual(seen, [0])
        with self.assertRaisesRegex(ompjit.ArgumentError, "is a str"):
            m.sum(lambda i, d: "x", 5)
        self.assertEqual(m.sum(lambda i, d: m.half(i), 4), 3)

    def test_threads(self):
        failed = []

        def work(number):
            try:
                for i in range(50):
                    if m.half(number) != number / 2:
                        failed.append(number)
                    try:
                        m.dereference(None)
                        failed.append("no fault")
                    except ompjit.DeviceError:
                        pass
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def interrupt(self, function):
        go = array.array("i", [1])
        function(array.array("i", [0]))  # compiled before
        done = threading.Event()

        def again():
            while not done.wait(0.02):
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=again)
        with self.assertRaises(KeyboardInterrupt):
            try:
                thread.start()
                function(go)
            finally:
                while not done.is_set():
                    try:
                        done.set()
                        thread.join()
                    except KeyboardInterrupt:
                        pass
        self.assertEqual(m.half(3), 1.5)

    def test_interrupt_host_code(self):
        self.interrupt(m.spin)

    def test_interrupt_a_kernel(self):
        self.interrupt(m.spin_on_device)

    def test_without_the_native_library(self):
        """Python alone does the same."""
        program = (
            "import array, ompjit\n"
            "from ompjit import _native\n"
            "assert _native.Callable is None\n"
            "m = ompjit.compile('int add(int a, const int *b) "
            "{ return a + *b; }')\n"
            "for _ in range(2): assert m.add(1, array.array('i', [2])) == 3\n"
            "m = ompjit.compile('void f(int *x) {\\n#pragma omp target "
            "is_device_ptr(x)\\nx[0] += 1; }')\n"
            "x, k = ompjit.zeros(1, 'i4'), m.kernels['f']\n"
            "k(x), k(x), k.bind(x)()\n"
            "assert x.tolist() == [3]\n"
        )
        path = ompjit._lib.library().path
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(path, os.path.join(folder, "libompjit.so.0"))
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "OMPJIT_LIBRARY": folder},
                check=True,
            )

    def test_processes(self):
        for kind in ("fork", "forkserver", "spawn"):
            with multiprocessing.get_context(kind).Pool(1) as pool:
                self.assertEqual(pool.map(m.half, [3, 5]), [1.5, 2.5], kind)

    def test_fork(self):
        x, y = floats(1, 2), floats(1, 2)
        m.saxpy(2, 1, x, y)
        child = os.fork()
        if not child:
            try:
                m.saxpy(2, 1, x, y)
                os._exit(0 if list(y) == [3, 6] else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(list(y), [2, 4])


if __name__ == "__main__":
    unittest.main()
