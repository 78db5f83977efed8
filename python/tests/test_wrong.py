# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A thousand wrong calls, of random arguments: each returns or raises an
ordinary exception, the interpreter lives, and memory does not grow."""
import array
import ctypes
import random
import resource
import unittest

import ompjit
from support import SAXPY, numpy

FLOATS = array.array("f", [1] * 16)
INTERFACE = {
    "shape": (4,),
    "typestr": "<f4",
    "data": (FLOATS.buffer_info()[0], False),
    "version": 3,
}
# Wrong entries of an interface; None: a right one.
WRONG_INTERFACES = [
    {"shape": (-1,)},
    {"shape": (2**62,)},
    {"shape": (2**62, 8)},
    {"shape": (4.5,)},
    {"shape": "x"},
    {"shape": None},
    {"typestr": None},
    {"typestr": "|O8"},
    {"typestr": ">f4"},
    {"data": None},
    {"data": (0, False)},
    {"data": ("x", False)},
    {"data": (-5, True)},
    {"data": (2**80, True)},
    {"data": (4096,)},
    {"strides": (2**63,)},
    {"strides": (4, 4)},
    {"strides": 7},
]


class Interface:
    def __init__(self, changes, name="__array_interface__"):
        setattr(self, name, {**INTERFACE, **changes})


class Raises:
    """Every conversion raises."""

    def __index__(self):
        raise ZeroDivisionError

    __float__ = __len__ = __bool__ = __index__


class Large:
    def __index__(self):
        return 2**200


def released():
    view = memoryview(bytearray(16))
    view.release()
    return view


def foreign_arrays():
    if numpy is None:
        return []
    readonly = numpy.ones(4, "f4")
    readonly.flags.writeable = False
    return [
        readonly,
        *(numpy.ones(4, kind) for kind in ("f4", "f8", ">f4", "f2", "c8", "g", "O")),
        numpy.array(["a", "bc"]),
        numpy.zeros(4, "M8[s]"),
        numpy.zeros(4, [("a", "i4"), ("b", "f8")]),
        numpy.zeros((0, 3)),
        numpy.ones(8, "f4")[::2],
        numpy.ones(8, "f4")[::-1],
        numpy.broadcast_to(numpy.float32(1), (2**40, 2**20)),
        numpy.ones(17, "u1")[1:].view("f4"),
        numpy.float64("nan"),
        numpy.int64(5),
    ]


def values():
    floats, strided = FLOATS[:4], memoryview(FLOATS)[::2]
    return [
        *(None, True, 0, 1, -1, 3, 2**31, 2**63, -(2**63), 2**64, 2**200),
        *(0.5, float("nan"), float("inf"), 1e300, 1j, complex("nan+infj")),
        *("", "x", "f4", "a" * 10000, "\0", "\ud800", b"", b"abc", bytearray(9)),
        *((), (1,), (-1,), (2**62, 2**62), [], [[1], [2, 3]], [1.0, "x"], {}),
        *(object(), int, print, lambda *a: 1 / 0, Raises(), Large(), ..., slice(0, 0, 0)),
        *(floats, array.array("d", [1]), array.array("f"), strided, strided[::-1]),
        *(memoryview(floats).toreadonly(), released()),
        *(ctypes.c_int(3), ctypes.c_void_p(), (ctypes.c_float * 4)()),
        *(ctypes.create_string_buffer(8), (ctypes.c_void_p * 2)()),
        *(ompjit.ones(4, "f4"), ompjit.ones((2, 2)), ompjit.ones(8, "f4")[::-2]),
        *(ompjit.zeros(0), ompjit.zeros(()), ompjit.zeros(4, "c16")),
        *(ompjit.float32, ompjit.device(), ompjit.context(), ompjit.Queue()),
        *(Interface(changes) for changes in WRONG_INTERFACES),
        Interface({}, "__cuda_array_interface__"),
        *foreign_arrays(),
    ]


def targets():
    m = ompjit.compile(
        SAXPY
        + """
        void mapped(long n, float a, const float *x, float *y) {
            #pragma omp target map(to: x[:n]) map(y[:n])
            for (long i = 0; i < n; i++) y[i] += a * x[i];
        }
        unsigned char narrow(unsigned char a, double b, _Bool c) { return a; }
        double call(double (*f)(int), const char *s) { return f ? f(1) : 0; }
        """
    )
    kernel, a = m.kernels["saxpy"], ompjit.ones((2, 4), "f4")
    empty = ompjit.zeros(0, "f4")
    bound = kernel.bind(0, 1, empty, empty)
    queue = ompjit.Queue()
    return [
        *(m.mapped, m.mapped, m.mapped, m.narrow, m.call, m.__getitem__),
        *(m.function, m.emit, m.kernels.__getitem__, m.kernels.at),
        lambda a, x, y: kernel(0, a, x, y),
        lambda g: kernel[g](0, 1, empty, empty),
        lambda teams, threads: kernel(0, 1, empty, empty, teams=teams, threads=threads),
        *(kernel.code, kernel.occupancy, kernel.tuned, kernel.fold_contents),
        *(lambda a: bound.set(a=a), lambda x: bound.set(x=x)),
        *(ompjit.array, ompjit.asarray, ompjit.zeros, ompjit.full),
        *(ompjit.dtype, ompjit.result_type, ompjit.from_dlpack, ompjit.empty_like),
        *(a.__getitem__, a.__setitem__, a.reshape, a.astype, a.set, a.fill, a.get),
        *(a.transpose, lambda x: a + x, lambda x: x @ a, lambda axis: a.sum(axis)),
        *(ompjit.device, lambda n: ompjit.device().alloc(n), ompjit.timed),
        *(queue.upload, queue.download, queue.copy, queue.after, queue.update_to),
        *(ompjit.Context, ompjit.target, ompjit.context().cache.take),
        *(ompjit.elementwise("y = a*x + y"), ompjit.reduction("a*b")),
        *(ompjit.scan(), ompjit.stencil("v = u[-1] + a*u[0]")),
        lambda text: ompjit.elementwise(text)(1.0),
    ]


ORDINARY = (
    *(ompjit.OmpjitError, TypeError, ValueError, LookupError, AttributeError),
    *(ArithmeticError, MemoryError, BufferError, ctypes.ArgumentError),
)


class Wrong(unittest.TestCase):
    def test_a_thousand_calls(self):
        chosen = random.Random(16)
        pool, functions = values(), targets()
        raised = 0

        def calls(count):
            nonlocal raised
            for _ in range(count):
                function = chosen.choice(functions)
                try:
                    function(*chosen.choices(pool, k=chosen.randint(1, 4)))
                except ORDINARY:
                    raised += 1

        calls(500)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        calls(1000)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertGreater(raised, 1000)
        self.assertLess(after - before, 20000)  # KiB; kernels are compiled, too
        self.assertEqual(list(FLOATS[4:]), [1] * 12)

    def test_memory_is_flat(self):
        """Wrong calls of each kind, again and again."""
        m = ompjit.compile(
            SAXPY + "void f(long n, float *x) {\n"
            "#pragma omp target map(x[:n])\nx[0] = n;\n}\n"
        )
        x, device = ompjit.ones(4, "f4"), ompjit.device()
        readonly = ompjit.ones(4, "f4")
        readonly.readonly = True
        kernel, axpy = m.kernels["saxpy"], ompjit.elementwise("y = a*x + y")
        bound, queue = kernel.bind(4, 1, x, x), ompjit.Queue()
        wrong = (
            lambda: m.saxpy(4, 1, "x", FLOATS),
            lambda: m.f(2**40, FLOATS),
            lambda: m.saxpy(1, 1, memoryview(FLOATS)[::2], FLOATS),
            lambda: m.nothing,
            lambda: kernel(4, 1, x[::2], x),
            lambda: kernel(4, 1, x, readonly),
            lambda: kernel(4, 1, x, x, teams="many"),
            lambda: kernel(1, 2, 3),
            lambda: bound.set(a="x"),
            lambda: axpy(1.0, x, readonly),
            lambda: axpy(1.0, x, ompjit.ones(3)),
            lambda: axpy(1.0, x, queue=device),
            lambda: axpy("a", x, x),
            lambda: ompjit.reduction("a")(x, axis=7),
            lambda: ompjit.scan()(x, out=readonly),
            lambda: ompjit.stencil("v = u[-1]")(x[0]),
            lambda: ompjit.elementwise("y = )"),
            lambda: ompjit.zeros((2**40, 2**40)),
            lambda: ompjit.zeros(3, "no type"),
            lambda: ompjit.array([1, "x"]),
            lambda: x.reshape(3),
            lambda: x[9],
            lambda: queue.upload(x, 5),
            lambda: device.alloc(-1),
            lambda: ompjit.from_dlpack(5),
        )

        def calls(count):
            for function in wrong:
                for _ in range(count):
                    with self.assertRaises(
                        (ompjit.OmpjitError, AttributeError, IndexError)
                    ):
                        function()

        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * resource.getpagesize()

        calls(100)
        before = resident()
        calls(1000)
        self.assertLess(resident() - before, 1 << 20)

    def test_exceptions_are_of_the_hierarchy(self):
        """Arguments of wrong types; Python's own are of calls with wrong
        numbers of arguments, of operators, and of callbacks."""
        x = ompjit.ones((2, 3))
        kernel = ompjit.compile(SAXPY).kernels["saxpy"]
        empty = ompjit.zeros(0, "f4")
        for function in (
            *(x.reshape, x.transpose, ompjit.target, ompjit.empty_like),
            *(ompjit.context().cache.take, ompjit.compile(SAXPY).emit),
            *(ompjit.dtype, ompjit.elementwise, ompjit.reduction, ompjit.scan),
            *(ompjit.stencil, ompjit.device().alloc, ompjit.zeros),
            lambda a: ompjit.zeros(1, a),
            lambda a: ompjit.zeros(1, "f4", a),
            lambda a: ompjit.asarray(1, None, a),
            lambda a: ompjit.reduction("a")(x, axis=a),
            lambda a: ompjit.scan()(x, axis=a),
            lambda a: ompjit.stencil("v = u[-1]", a)(x[0]),
            lambda a: kernel(0, 1, empty, empty, teams=a),
            lambda a: ompjit.compile(SAXPY)[a],
        ):
            for wrong in (object(), 1.5j, {"a": []}, Interface({}), released()):
                with self.assertRaises(ompjit.OmpjitError):
                    function(wrong)
        dot = ompjit.reduction("a*b")
        with self.assertRaisesRegex(ompjit.ArgumentError, "takes a, b"):
            dot(x, x, x)

    def test_interfaces(self):
        one = ompjit.asarray(Interface({}))
        self.assertEqual((one.shape, one.dtype), ((4,), "float32"))
        for changes in WRONG_INTERFACES:
            with self.subTest(changes):
                with self.assertRaises(ompjit.ArgumentError):
                    ompjit.asarray(Interface(changes))

    def test_arrays_of_ctypes(self):
        for kind, shape in (((ctypes.c_float * 3), (3,)), ((ctypes.c_int * 2) * 3, (3, 2))):
            self.assertEqual(ompjit.asarray(kind()).shape, shape)
        twice = ompjit.elementwise("2*x")
        one = (ctypes.c_float * 3)(1, 2, 3)
        for _ in range(3):  # C makes the later calls
            self.assertEqual(twice(one).tolist(), [2, 4, 6])
        table = ((ctypes.c_int * 2) * 3)((1, 2), (3, 4), (5, 6))
        for _ in range(3):
            self.assertEqual(twice(table).tolist(), [[2, 4], [6, 8], [10, 12]])

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_masks_are_not_lost(self):
        """Neither by Python's calls nor by C's, which a plain array begins."""
        plain = numpy.ones(4, "f4")
        masked = numpy.ma.masked_array(plain, [1, 0, 0, 1])
        m, out = ompjit.compile(SAXPY), ompjit.zeros(4, "f4")
        kernel, axpy = m.kernels["saxpy"], ompjit.elementwise("y = a*x + y")
        total = ompjit.reduction("x")
        calls = [
            *(lambda x: m.saxpy(4, 1, x, plain), lambda x: axpy(1.0, x, plain)),
            *(lambda x: axpy(1.0, plain, x), total, ompjit.array, ompjit.scan()),
            lambda x: ompjit.Queue().upload(out, x),
        ]
        if ompjit.device().is_host:
            calls.append(lambda x: kernel(4, 1, x, out))
        for call in calls:
            for _ in range(3):
                call(plain)
            before = plain.tolist()
            with self.assertRaisesRegex(ompjit.ArgumentError, r"mask.*\.filled\("):
                call(masked)
            self.assertEqual(plain.tolist(), before)
            call(masked.filled(0))

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_types_without_elements_say_what_helps(self):
        m, total = ompjit.compile(SAXPY), ompjit.reduction("x")
        for kind, text in (
            (">f4", r"astype\('=f4'\)"),
            ("M8[s]", r"dates: \.view\('int64'\)"),
            ("O", r"astype\(float\)"),
            ("g", "long double"),
            ("U3", "text"),
            ([("a", "f4")], "records"),
        ):
            x = numpy.zeros(4, kind)
            with self.assertRaisesRegex(ompjit.ArgumentError, "^saxpy: x: .*" + text):
                m.saxpy(4, 1, x, FLOATS)
            with self.assertRaisesRegex(ompjit.ArgumentError, "^x: .*" + text):
                total(x)

    def test_objects_of_other_classes(self):
        """The address of a device is no queue's."""
        queue, device, a = ompjit.Queue(), ompjit.device(), ompjit.ones(3, "f4")
        kernel = ompjit.compile(SAXPY).kernels["saxpy"]
        args = 3, 1, a, a
        twice = ompjit.elementwise("2*x")
        for function in (
            lambda: kernel(*args, queue=device),
            lambda: kernel(*args, device=queue),
            lambda: kernel.bind(*args, device=kernel),
            lambda: kernel.bind(*args).start(device),
            lambda: kernel.tune(*args, tripcount=3, device=queue),
            lambda: kernel.is_compiled(*args, device=queue),
            lambda: kernel.last_launch(queue),
            lambda: queue.after(device),
            lambda: queue.upload(device, a),
            lambda: queue.copy(queue, a),
            lambda: ompjit.Event().record(device),
            lambda: ompjit.Event().elapsed(queue),
            lambda: ompjit.Event(queue),
            lambda: ompjit.Queue(kernel),
            lambda: ompjit.timed(device),
            lambda: ompjit.zeros(3, device=queue),
            lambda: ompjit.array([1], device=queue),
            lambda: ompjit.compile(SAXPY, context=device),
            lambda: ompjit.compile(SAXPY).warm("/dev/null", device=queue),
            lambda: ompjit.data(to=b"12", device=queue),
            lambda: twice(a, queue=device),
            lambda: twice(1.0, device=queue),
            lambda: ompjit.reduction("a")(a, device=queue),
            lambda: a.get(FLOATS[:3], queue=device),
            lambda: a.copy(queue),
            lambda: ompjit.device("0"),
        ):
            with self.assertRaises(ompjit.ArgumentError):
                function()

    def test_kernels_have_no_elements(self):
        kernel = ompjit.compile(SAXPY).kernels["saxpy"]
        with self.assertRaises(TypeError):
            iter(kernel)
        with self.assertRaises(TypeError):
            iter(ompjit.compile(SAXPY))


if __name__ == "__main__":
    unittest.main()
