# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explicit launches: arguments, geometry, bound launches; on any device."""
import array
import contextlib
import gc
import inspect
import pickle
import threading
import unittest
from unittest import mock

import ompjit
from ompjit import _native
from ompjit._kernel import Configured
from support import SAXPY, Module, interrupted, needs_numpy, numpy as np

HOST = ompjit.device().is_host

SEVERAL = """
void both(int n, double *x) {
    #pragma omp target is_device_ptr(x)
    for (int i = 0; i < n; i++) x[i] += 1;
    #pragma omp target is_device_ptr(x)
    for (int i = 0; i < n; i++) x[i] *= 2;
}
void where(int *x) {
    #pragma omp target teams num_teams(3) is_device_ptr(x)
    x[0] = 5;
}
void kinds(signed char a, unsigned short b, long c, double d, _Bool e,
           double *x) {
    #pragma omp target is_device_ptr(x)
    { x[0] = a; x[1] = b; x[2] = c; x[3] = d; x[4] = e; }
}
void forever(volatile int *x) {
    #pragma omp target is_device_ptr(x)
    while (!x[0]) ;
}
"""


class Kernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = Module(SEVERAL)

    def test_names(self):
        kernels = self.module.kernels
        self.assertEqual(len(kernels), 5)
        symbols = list(kernels)
        self.assertEqual(kernels[symbols[0]].line, 3)
        self.assertEqual(kernels["both:5"].line, 5)
        self.assertEqual(kernels.at(2).name, "where")
        self.assertIn("where", kernels)
        self.assertNotIn("nothing", kernels)
        with self.assertRaises(KeyError) as caught:
            kernels["nothing"]
        self.assertIsInstance(caught.exception, ompjit.NotFound)
        self.assertIn("kinds", str(caught.exception))
        with self.assertRaises(ompjit.NotFound) as caught:
            kernels["both"]
        self.assertIn("more than one", str(caught.exception))
        with self.assertRaises(ompjit.NotFound):
            kernels.at(5)
        self.assertIn("where", repr(kernels))

    def test_signature_and_pickle(self):
        module = ompjit.compile(SEVERAL)
        for k in map(module.kernels.at, range(5)):
            shown = inspect.signature(k).parameters
            self.assertEqual(
                list(shown)[: len(k.params)], [p.name for p in k.params]
            )
            self.assertIn("teams", shown)
            again = pickle.loads(pickle.dumps(k))
            self.assertEqual((again.symbol, again.line), (k.symbol, k.line))

    def test_a_geometry_is_kept(self):
        k = ompjit.compile(SEVERAL).kernels["where"][3]
        x = ompjit.zeros(1, "i4")
        for _ in range(3):
            k(x)
            self.assertEqual(k.kernel.last_launch()["teams"], 3)
        self.assertEqual(bool(k._form), _native.Callable is not None)
        self.assertEqual(x.item(), 5)
        for args in ((), (1.5,), (x, x)):
            with self.assertRaises(ompjit.ArgumentError):
                k(*args)
        again = pickle.loads(pickle.dumps(k))
        self.assertEqual((again.teams, again.threads), (3, None))

    def test_parameters(self):
        k = self.module.kernels["kinds"]
        self.assertEqual([p.name for p in k.params], list("abcdex"))
        self.assertEqual([p.bytes for p in k.params], [1, 2, 8, 8, 1, 8])
        self.assertEqual(
            [p.is_pointer for p in k.params], [False] * 5 + [True]
        )
        self.assertTrue(k.params[3].is_float)
        self.assertIn("d: f64", repr(k))
        self.assertEqual((k.name, k.mode in ("generic", "generic_spmd")), ("kinds", True))
        self.assertIn("kinds", k.symbol)

    def test_values(self):
        k = self.module.kernels["kinds"]
        x = ompjit.zeros(5)
        k(-3, 65535, -(1 << 40), 0.5, True, x)
        self.assertEqual(x.tolist(), [-3, 65535, -(1 << 40), 0.5, 1])
        k(a=1, b=2.0, c=3, d=4, e=False, x=x)
        self.assertEqual(x.tolist(), [1, 2, 3, 4, 0])
        k(1, 2, d=4, e=0, c=5, x=x)
        self.assertEqual(x.tolist(), [1, 2, 5, 4, 0])

    def test_wrong_arguments(self):
        k = self.module.kernels["kinds"]
        x = ompjit.zeros(5)
        good = [1, 2, 3, 4.0, 1, x]
        for place, value in (
            (0, 256),
            (0, -129),
            (1, 1 << 16),
            (2, 1 << 64),
            (0, 1.5),
            (0, "1"),
            (0, None),
            (3, "x"),
            (3, 1j),
            (3, 1 << 2000),
            (3, x),
            (5, "x"),
            (5, 1.0),
            (5, True),
            (5, -1),
            (5, object()),
            (5, [1, 2]),
            (5, b"12345678"),
        ):
            args = list(good)
            args[place] = value
            with self.assertRaises(ompjit.ArgumentError, msg=(place, value)):
                k(*args)
        for args, named in (
            (good[:-1], {}),
            (good + [1], {}),
            (good, {"x": x}),
            (good[:-1], {"y": x}),
        ):
            with self.assertRaises(ompjit.ArgumentError):
                k(*args, **named)
        self.assertEqual(x.tolist(), [0] * 5)

    def test_wrong_options(self):
        k = self.module.kernels["where"]
        x = ompjit.zeros(1, "i4")
        for options in (
            {"teams": -1},
            {"teams": (1, 2, 3, 4)},
            {"threads": "many"},
            {"specialize": "never"},
            {"fold": "nothing"},
            {"time_limit": 0},
            {"time_limit": "x"},
            {"time_limit": 1e30},
            {"tripcount": -1},
            {"tripcount": 1 << 64},
            {"dynamic_shared": 1 << 32},
            {"dynamic_shared": "x"},
            {"resident_teams": -1},
            {"threads": (1, 1 << 32)},
        ):
            with self.assertRaises(ompjit.ArgumentError, msg=options):
                k(x, **options)
            with self.assertRaises(ompjit.ArgumentError, msg=options):
                k.bind(x, **options)
        with self.assertRaises(ompjit.OmpjitError):
            k(x, threads=1 << 20)
        with self.assertRaises(ompjit.OmpjitError):
            k(x, teams=(2, 2))
        for teams in (1 << 31, (1 << 32) - 1):
            k(x, teams=teams, time_limit=60)  # an OpenMP region has 2097151

    def test_geometry(self):
        module = Module(
            "#include <omp.h>\nvoid geometry(int *x) {\n"
            "#pragma omp target teams is_device_ptr(x)\n"
            "#pragma omp parallel\n"
            "{ x[0] = omp_get_num_teams(); x[1] = omp_get_num_threads(); }\n}"
        )
        kernels = module.kernels
        k = kernels["geometry"]
        x = ompjit.zeros(2, "i4")
        k(x, teams=3, threads=32)
        self.assertEqual(x.tolist(), [3, 32])
        k[2, 64](x)
        self.assertEqual(x.tolist(), [2, 64])
        k[4](x, threads=32)
        self.assertEqual(x.tolist(), [4, 32])
        k[5, 32].bind(x)()
        self.assertEqual(x.tolist(), [5, 32])
        if not _native.Callable:
            return
        with self.no_calls_of_python():
            k(x, teams=6, threads=64)
            self.assertEqual(x.tolist(), [6, 64])
            k(x, threads=32, teams=7)
            self.assertEqual(x.tolist(), [7, 32])
            k[4](x, threads=64)
            self.assertEqual(x.tolist(), [4, 64])
            k[2, 64](x)
            self.assertEqual(x.tolist(), [2, 64])
            kernels["geometry"](x, teams=1, threads=32)
            self.assertEqual(x.tolist(), [1, 32])
        for wrong in (-1, 1 << 32, 1 << 70, "1", 1.5):
            with self.assertRaises(ompjit.ArgumentError):
                k(x, teams=wrong)
        k(x, teams=None, threads=32, tripcount=5)
        for geometry in [(n, 32) for n in range(1, 101)]:
            k[geometry](x)
        k[[2], [32]](x)

    @unittest.skipUnless(HOST, "launches on a GPU are not limited")
    def test_time_limit(self):
        x = ompjit.zeros(1, "i4")
        with self.assertRaises(ompjit.LaunchTimeout):
            self.module.kernels["forever"](x, time_limit=0.05)

    @unittest.skipUnless(HOST, "launches on a GPU are not aborted")
    def test_abort(self):
        x = ompjit.zeros(1, "i4")
        device = ompjit.device()
        stop = threading.Event()

        def abort():
            while not stop.is_set():
                device.abort()
                stop.wait(0.01)

        thread = threading.Thread(target=abort)
        thread.start()
        try:
            with self.assertRaises(ompjit.Aborted):
                self.module.kernels["forever"](x)
        finally:
            stop.set()
            thread.join()

    @unittest.skipUnless(HOST, "launches on a GPU are not aborted")
    @unittest.skipUnless(_native.Callable, "C makes no calls in this Python")
    def test_interrupt(self):
        """Ctrl-C ends the first launch, the next ones, and bound ones."""
        forever = self.module.kernels["forever"]
        x = ompjit.zeros(1, "i4")
        with interrupted(self):
            forever(x, threads=1)
        x.set(1)
        forever(x)
        x.set(0)
        with interrupted(self), self.no_calls_of_python():
            forever(x)
        bound = forever.bind(x)
        with interrupted(self):
            bound()
        x.set(1)
        bound()

    def no_calls_of_python(self):
        refused = AssertionError("Python makes the call")
        both = contextlib.ExitStack()
        for cls in (ompjit.Kernel, Configured):
            both.enter_context(
                mock.patch.object(cls, "_call", side_effect=refused)
            )
        return both

    @unittest.skipUnless(_native.Callable, "C makes no calls in this Python")
    def test_calls_by_c(self):
        """The first call is Python's; the next ones are what it would do."""
        k = self.module.kernels["kinds"]
        x = ompjit.zeros(5)
        fortran = ompjit.zeros((1, 5), order="F")
        k(0, 0, 0, 0.0, False, x)
        with self.no_calls_of_python():
            k(-128, 65535, -(1 << 63), 1, True, x)
            self.assertEqual(x.tolist(), [-128, 65535, -(2.0**63), 1, 1])
            k(255, -1, 2, 0.5, 0, fortran)
            self.assertEqual(fortran.tolist(), [[-1, 65535, 2, 0.5, 0]])
            if HOST:
                y = array.array("d", [1] * 5)
                k(1, 2, 3, 4.0, True, y)
                self.assertEqual(list(y), [1, 2, 3, 4, 1])
        gaps, constant = ompjit.zeros(10)[::2], ompjit.zeros(5)
        constant.readonly = True
        for wrong in (gaps, constant, memoryview(b"12345678"), [1.0]):
            with self.assertRaises(ompjit.ArgumentError):
                k(1, 2, 3, 4.0, True, wrong)
        for wrong in (-129, 256, 1 << 64):
            with self.assertRaises(ompjit.ArgumentError):
                k(wrong, 2, 3, 4.0, True, x)
        k(1.0, 2, 3, 4.0, True, x.address)
        with ompjit.device().queue(), self.assertRaises(AssertionError):
            with self.no_calls_of_python():
                k(1, 2, 3, 4.0, True, x)

    @unittest.skipUnless(HOST, "a GPU is lost after a fault")
    def test_fault(self):
        with self.assertRaises(ompjit.DeviceError) as caught:
            self.module.kernels["kinds"](1, 1, 1, 1, 1, None)
        self.assertIn("kinds", str(caught.exception))

    def test_lifetimes(self):
        k = Module(SAXPY).kernels["saxpy"]
        gc.collect()
        x, y = ompjit.ones(3, "f4"), ompjit.zeros(3, "f4")
        k(3, 2, x, y)
        self.assertEqual(y.tolist(), [2, 2, 2])


class HostMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Module(SAXPY).kernels["saxpy"]

    @unittest.skipUnless(HOST, "for arrays in host memory")
    def test_as_device_memory(self):
        x, y = array.array("f", [1, 2]), array.array("f", [1, 1])
        self.kernel(2, 3, x, y)
        self.assertEqual(list(y), [4, 7])

    @unittest.skipIf(HOST, "for GPUs")
    def test_is_refused_by_a_gpu(self):
        x, y = array.array("f", [1, 2]), ompjit.zeros(2, "f4")
        with self.assertRaises(ompjit.ArgumentError) as caught:
            self.kernel(2, 3, x, y)
        self.assertIn("x is in host memory", str(caught.exception))

    @needs_numpy
    @unittest.skipUnless(HOST, "for arrays in host memory")
    def test_numpy(self):
        x, y = np.arange(3, dtype="f4"), np.zeros(3, "f4")
        self.kernel(3, np.float32(2), x, y)
        self.assertEqual(y.tolist(), [0, 2, 4])
        self.kernel(np.int64(3), 2, x, y)
        self.assertEqual(y.tolist(), [0, 4, 8])
        y.flags.writeable = False
        with self.assertRaises(ompjit.ArgumentError):
            self.kernel(3, 2, x, y)


class Bound(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Module(SAXPY).kernels["saxpy"]

    def setUp(self):
        self.x = ompjit.array([1, 2, 3], "f4")
        self.y = ompjit.zeros(3, "f4")

    def test_run(self):
        bound = self.kernel.bind(3, 2, self.x, self.y)
        bound()
        bound.run()
        self.assertEqual(self.y.tolist(), [4, 8, 12])
        self.assertIn("saxpy", repr(bound))

    def test_set(self):
        bound = self.kernel.bind(3, 2, self.x, self.y, specialize="off")
        z = ompjit.ones(3, "f4")
        bound.set(a=1, x=z)
        del z
        gc.collect()
        bound()
        self.assertEqual(self.y.tolist(), [1, 1, 1])
        for wrong in ({"b": 1}, {"a": "x"}, {"n": 1 << 40}, {"x": 1.5}):
            with self.assertRaises(ompjit.ArgumentError):
                bound.set(**wrong)
        bound()
        self.assertEqual(self.y.tolist(), [2, 2, 2])

    def test_what_is_folded_stays(self):
        bound = self.kernel.bind(3, 2, self.x, self.y, specialize="now")
        with self.assertRaises(ompjit.ArgumentError):
            bound.set(a=3)

    def test_arrays_apart(self):
        bound = self.kernel.bind(
            3, 2, self.x, self.y, noalias=True, specialize="now"
        )
        bound()
        self.kernel(3, 2, self.x, self.y, noalias=True, specialize="now")
        self.assertEqual(self.y.tolist(), [4, 8, 12])
        facts = [
            fact
            for row in self.kernel.variants()
            for p in row["params"].values()
            for fact in p["facts"]
        ]
        self.assertIn("noalias", facts)

    def test_what_it_uses_lives(self):
        bound = self.kernel.bind(3, 2, ompjit.ones(3, "f4"), self.y)
        gc.collect()
        ompjit.zeros(3, "f4")
        bound()
        self.assertEqual(self.y.tolist(), [2, 2, 2])

    def test_threads(self):
        n = 100
        x = ompjit.ones(n, "f4")
        ys = [ompjit.zeros(n, "f4") for _ in range(4)]

        def work(y):
            bound = self.kernel.bind(n, 1, x, y)
            for _ in range(5):
                bound()

        threads = [threading.Thread(target=work, args=(y,)) for y in ys]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for y in ys:
            self.assertEqual(set(y.tolist()), {5})


if __name__ == "__main__":
    unittest.main()
