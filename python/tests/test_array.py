# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays: making, views, copies, protocols; on any device."""
import array
import copy
import ctypes
import gc
import mmap
import pickle
import unittest
from unittest import mock

import ompjit
from support import SAXPY, needs_numpy, numpy as np

HOST = ompjit.device().is_host


class Copies(unittest.TestCase):
    def test_format(self):
        a = ompjit.full(2, 1.25)
        self.assertEqual(f"{a[0]:.1f} {a[0]} {a}", f"1.2 {a[0]!s} {a!s}")
        with self.assertRaises(TypeError):
            f"{a:.1f}"

    def test_pickle_and_copy(self):
        for kind in ("?", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "c16"):
            for shape in ((), (0,), (3,), (2, 3)):
                a = ompjit.ones(shape, kind)
                for b in (
                    pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy([a])[0]
                ):
                    self.assertEqual((b.shape, b.dtype), (a.shape, a.dtype))
                    self.assertEqual(b.tobytes(), a.tobytes())
                    self.assertNotEqual(b.address, a.address)
        a = ompjit.arange(6).reshape(2, 3).T
        self.assertEqual(pickle.loads(pickle.dumps(a)).tolist(), a.tolist())

    def test_what_is_of_this_process(self):
        device = ompjit.device()
        self.assertEqual(pickle.loads(pickle.dumps(device)), device)
        for made in (ompjit.Queue(), ompjit.Event(), ompjit.context()):
            for f in (pickle.dumps, copy.copy, copy.deepcopy):
                with self.assertRaisesRegex(TypeError, "is of this process"):
                    f(made)


class Making(unittest.TestCase):
    def test_from_lists(self):
        for value, kind, shape in (
            ([1, 2, 3], "int64", (3,)),
            ([[1.5, 2], [3, 4]], "float64", (2, 2)),
            ([True, False], "bool", (2,)),
            ([1, 2j], "complex128", (2,)),
            (5, "int64", ()),
            ([], "float64", (0,)),
            (range(4), "int64", (4,)),
        ):
            with self.subTest(value):
                a = ompjit.array(value)
                self.assertEqual((a.dtype, a.shape), (kind, shape))
                expected = list(value) if isinstance(value, range) else value
                self.assertEqual(a.tolist(), expected)

    def test_every_type(self):
        for kind in (
            "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 "
            "float32 float64 complex64 complex128"
        ).split():
            a = ompjit.array([0, 1, 1], kind)
            self.assertEqual(a.tolist(), [0, 1, 1])
            self.assertEqual(a.nbytes, 3 * a.itemsize)
            self.assertEqual(getattr(ompjit, kind.replace("bool", "bool_")), kind)

    def test_from_buffers(self):
        for value in (
            array.array("d", [1, 2, 3]),
            bytearray(b"\1\2\3"),
            b"\1\2\3",
            memoryview(b"\1\2\3"),
        ):
            self.assertEqual(ompjit.array(value).tolist(), [1, 2, 3])
        with mmap.mmap(-1, 4096) as memory:
            memory[:3] = b"\1\2\3"
            self.assertEqual(ompjit.array(memory)[:3].tolist(), [1, 2, 3])
            gc.collect()

    def test_full(self):
        self.assertEqual(ompjit.zeros(3).tolist(), [0, 0, 0])
        self.assertEqual(ompjit.ones((2, 1), "i2").tolist(), [[1], [1]])
        self.assertEqual(ompjit.full(2, 1.5).dtype, "float64")
        self.assertEqual(ompjit.full(2, 7, "u1").tolist(), [7, 7])
        self.assertEqual(ompjit.full(20000, 3, "i4")[-1].item(), 3)
        a = ompjit.empty((2, 3), "f4", order="F")
        self.assertEqual(a.strides, (4, 8))
        self.assertTrue(a.f_contiguous and not a.c_contiguous)
        self.assertEqual(ompjit.zeros_like(a).shape, (2, 3))
        self.assertEqual(ompjit.empty_like(a, int).dtype, "int64")

    def test_arange(self):
        self.assertEqual(ompjit.arange(4).tolist(), [0, 1, 2, 3])
        self.assertEqual(ompjit.arange(1, 2, 0.25).tolist(), [1, 1.25, 1.5, 1.75])
        self.assertEqual(ompjit.arange(5, 0, -2).tolist(), [5, 3, 1])
        self.assertEqual(ompjit.arange(3, 3).tolist(), [])
        self.assertEqual(ompjit.arange(2, dtype="f4").dtype, "float32")

    def test_wrong(self):
        for make in (
            lambda: ompjit.array([[1], [2, 3]]),
            lambda: ompjit.array(["a"]),
            lambda: ompjit.array([300], "u1"),
            lambda: ompjit.array([1.5], "i4"),
            lambda: ompjit.array([1], "f7"),
            lambda: ompjit.array(object()),
            lambda: ompjit.empty(-1),
            lambda: ompjit.empty((1 << 40, 1 << 40)),
            lambda: ompjit.empty("3"),
            lambda: ompjit.empty(3, order="K"),
            lambda: ompjit.full(3, "x"),
            lambda: ompjit.arange(1, 2, 0),
            lambda: ompjit.zeros(3, object),
        ):
            with self.assertRaises(ompjit.ArgumentError):
                make()
        with self.assertRaises(MemoryError):
            ompjit.empty(1 << 50)


class Views(unittest.TestCase):
    def setUp(self):
        self.a = ompjit.arange(24).reshape(2, 3, 4)

    def test_indices(self):
        a = self.a
        self.assertEqual(a[1, 2, 3].item(), 23)
        self.assertEqual(a[-1, -1].tolist(), [20, 21, 22, 23])
        self.assertEqual(a[:, 1, ::2].tolist(), [[4, 6], [16, 18]])
        self.assertEqual(a[..., 0].tolist(), [[0, 4, 8], [12, 16, 20]])
        self.assertEqual(a[0, ::-1, 1].tolist(), [9, 5, 1])
        self.assertEqual(a[None, 0, 0].shape, (1, 4))
        self.assertEqual(a[0, 0, 5:].tolist(), [])
        self.assertEqual([row[0, 0].item() for row in a], [0, 12])
        self.assertEqual(len(a), 2)

    def test_wrong_indices(self):
        for key in (2, (0, 3), (0, 0, 0, 0), 1.5, "x", [0, 1], True):
            with self.assertRaises(IndexError):
                self.a[key]
        with self.assertRaises(TypeError):
            len(self.a[0, 0, 0])

    def test_a_view_shares_memory(self):
        self.a[0, 1] = 7
        self.a[:, :, 0] = [[1], [2]]
        self.assertEqual(self.a[0].tolist(), [[1, 1, 2, 3], [1, 7, 7, 7], [1, 9, 10, 11]])
        self.assertEqual(self.a[1, 2, 0].item(), 2)

    def test_shapes(self):
        a = self.a
        self.assertEqual(a.T.shape, (4, 3, 2))
        self.assertEqual(a.T[3, 2, 1].item(), 23)
        self.assertEqual(a.transpose(1, 0, 2)[2, 1, 3].item(), 23)
        self.assertEqual(a.reshape(4, -1).shape, (4, 6))
        self.assertEqual(a.T.ravel().tolist()[:3], [0, 12, 4])
        self.assertEqual(a.view("u8").dtype, "uint64")
        for wrong in (
            lambda: a.reshape(5),
            lambda: a.reshape(-1, -1),
            lambda: a.transpose(0, 0, 1),
            lambda: a.view("i4"),
        ):
            with self.assertRaises(ompjit.ArgumentError):
                wrong()

    def test_a_view_keeps_memory(self):
        row = self.a[1, 2]
        del self.a
        gc.collect()
        ompjit.full(24, 0)
        self.assertEqual(row.tolist(), [20, 21, 22, 23])


class Copies(unittest.TestCase):
    def test_set(self):
        a = ompjit.zeros((2, 3))
        a.set([[1, 2, 3]])
        self.assertEqual(a.tolist(), [[1, 2, 3]] * 2)
        a.set(ompjit.array([[5], [6]], "i2"))
        self.assertEqual(a.tolist(), [[5] * 3, [6] * 3])
        a.T.set(ompjit.arange(6).reshape(3, 2))
        self.assertEqual(a.tolist(), [[0, 2, 4], [1, 3, 5]])
        for value in ([1, 2], "x", [[[1]], [[1]]], [1j, 2, 3]):
            with self.assertRaises(ompjit.ArgumentError):
                a.set(value)

    def test_overlapping(self):
        a = ompjit.arange(6)
        a[1:] = a[:-1]
        self.assertEqual(a.tolist(), [0, 0, 1, 2, 3, 4])

    def test_types(self):
        a = ompjit.array([0, 1.75, -2])
        self.assertEqual(a.astype("i4").tolist(), [0, 1, -2])
        self.assertEqual(a.astype(bool).tolist(), [False, True, True])
        self.assertIs(a.astype(float, copy=False), a)
        self.assertIsNot(a.astype(float), a)
        self.assertEqual(a.astype("c8").tolist(), [0, 1.75, -2])
        self.assertEqual(a.astype("f2").astype("f8").tolist(), [0, 1.75, -2])

    def test_numbers(self):
        a = ompjit.array([[3]])
        self.assertEqual((int(a), float(a), complex(a)), (3, 3.0, 3 + 0j))
        self.assertEqual([10, 11, 12, 13][a], 13)
        self.assertTrue(a)
        with self.assertRaises(ompjit.ArgumentError):
            float(ompjit.zeros(2))

    def test_display(self):
        a = ompjit.array([1.5, 2])
        self.assertIn("1.5, 2", repr(a))
        self.assertIn("dtype=float64", repr(a))
        self.assertIn("1.5, 2", str(a))

    def test_bytes(self):
        a = ompjit.array([[1, 2], [3, 4]], "u1")
        self.assertEqual(a.T.tobytes(), b"\1\3\2\4")
        self.assertEqual(ompjit.zeros(0).tobytes(), b"")

    @unittest.skipUnless(HOST, "there is one device")
    def test_between_contexts(self):
        other = ompjit.Context("host")
        a = ompjit.arange(3)
        b = a.copy(other.device(0))
        self.assertEqual(b.device, other.device(0))
        self.assertEqual(b.tolist(), [0, 1, 2])
        with self.assertRaises(ompjit.ArgumentError):
            ompjit.elementwise("x + y")(a, b)


@needs_numpy
class Numpy(unittest.TestCase):
    def test_in_and_out(self):
        for order in "CF":
            x = np.asarray(np.arange(6.0).reshape(2, 3), order=order)
            a = ompjit.array(x)
            self.assertEqual(a.c_contiguous, order == "C")
            np.testing.assert_array_equal(a.get(), x)
            np.testing.assert_array_equal(np.asarray(a), x)
            np.testing.assert_array_equal(np.array(a), x)
        strided = np.arange(20)[::3]
        np.testing.assert_array_equal(ompjit.array(strided).get(), strided)
        np.testing.assert_array_equal(ompjit.array(np.array(3.5)).get(), 3.5)

    def test_out(self):
        a = ompjit.arange(3)
        out = np.zeros(3, int)
        self.assertIs(a.get(out), out)
        self.assertEqual(out.tolist(), [0, 1, 2])
        for wrong in (
            np.zeros(3),
            np.zeros(4, int),
            np.zeros((3, 2), int)[:, 0],
            b"123",
            [0, 0, 0],
        ):
            with self.assertRaises(ompjit.ArgumentError):
                a.get(wrong)

    @unittest.skipUnless(HOST, "for arrays in host memory")
    def test_no_copy_on_the_host(self):
        a = ompjit.arange(3)
        x = np.asarray(a)
        x[1] = 9
        self.assertEqual(a.tolist(), [0, 9, 2])
        y = np.arange(3.0)
        b = ompjit.asarray(y)
        b[0] = 5
        self.assertEqual(y[0], 5)
        del y
        gc.collect()
        self.assertEqual(b.tolist(), [5, 1, 2])

    def test_dtypes(self):
        self.assertEqual(ompjit.float32, np.float32)
        self.assertEqual(ompjit.float32, np.dtype("f4"))
        self.assertNotEqual(ompjit.float32, np.float64)
        self.assertEqual(np.dtype(ompjit.int16), np.int16)
        self.assertEqual(np.zeros(2, ompjit.array([1], "u2").dtype).dtype, "u2")
        names = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
        for a in names:
            for b in names:
                self.assertEqual(
                    ompjit.result_type(ompjit.dtype(a), ompjit.dtype(b)),
                    np.result_type(np.dtype(a), np.dtype(b)),
                    (a, b),
                )

    def test_wrong(self):
        for value in (
            np.array(["a"]),
            np.array([object()]),
            np.zeros(2, "i4,f4"),
            np.zeros(2, ">f8"),
            np.zeros(2, "M8[s]"),
            np.zeros(2, np.longdouble),
        ):
            with self.assertRaises(ompjit.ArgumentError, msg=value.dtype):
                ompjit.array(value)


class Dlpack(unittest.TestCase):
    def test_to_itself(self):
        a = ompjit.arange(6).reshape(2, 3)
        b = ompjit.from_dlpack(a.T)
        self.assertEqual(b.tolist(), a.T.tolist())
        b[0, 0] = 9
        self.assertEqual(a[0, 0].item(), 9)

    def test_capsules(self):
        from ompjit import _dlpack

        before = len(_dlpack._lent)
        a = ompjit.arange(3)
        for options in ({}, {"max_version": (1, 0)}, {"copy": True}):
            capsule = a.__dlpack__(**options)
            self.assertIn("dltensor", repr(capsule))
            self.assertEqual(len(_dlpack._lent), before + 1)
            del capsule
            self.assertEqual(len(_dlpack._lent), before)
        host = a.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
        del host
        with self.assertRaises(BufferError):
            a.__dlpack__(dl_device=(7, 0))

    def test_wrong(self):
        class Strange:
            def __dlpack__(self, **options):
                return self.capsule

            def __dlpack_device__(self):
                return self.device

        strange = Strange()
        strange.capsule, strange.device = 5, (1, 0)
        with self.assertRaises(ompjit.ArgumentError):
            ompjit.from_dlpack(strange)
        strange.device = (10, 0)
        with self.assertRaises(ompjit.ArgumentError):
            ompjit.from_dlpack(strange)
        with self.assertRaises(ompjit.ArgumentError):
            ompjit.from_dlpack([1, 2])
        for strange.device in "x", None, (1,), (1, "a"), ("b", 0):
            for take in ompjit.from_dlpack, ompjit.asarray, ompjit.elementwise("2*x"):
                with self.assertRaisesRegex(
                    ompjit.ArgumentError, "__dlpack_device__ of a Strange tells"
                ):
                    take(strange)
        with self.assertRaisesRegex(ompjit.ArgumentError, "a type is no number"):
            ompjit.asarray(Strange)

    def test_what_other_libraries_refuse(self):
        """As PyTorch's tensors with gradients, and its views that are negated
        when they are read."""
        from ompjit import _dlpack

        a = ompjit.ones(2, "u2")
        tensor, m = Tensor(a), ompjit.compile(SAXPY + MAPPED)

        def refuses(**options):
            raise BufferError("use tensor.detach()")

        def brain(**options):
            capsule = a.__dlpack__(max_version=(1, 0))
            place = _dlpack._pointer(id(capsule), _dlpack._NEW)
            _dlpack._STRUCTS[_dlpack._NEW].from_address(place).tensor.code = 4
            return capsule

        takers = (
            ompjit.from_dlpack,
            ompjit.elementwise("2*x"),
            ompjit.reduction("x"),
            lambda t: m.saxpy(2, 2, t, t),
            lambda t: m.kernels["saxpy"](2, 2, t, t),
        )
        for lend, text in (
            (refuses, r"a Tensor gives no array by DLPack: use tensor.detach\(\)"),
            (brain, "elements of bfloat16 with 16 bits"),
        ):
            tensor.__dlpack__ = lend
            for take in takers:
                with self.assertRaisesRegex(ompjit.ArgumentError, text):
                    take(tensor)
        tensor = Tensor(a)
        tensor.is_neg = lambda: True
        for take in takers:
            with self.assertRaisesRegex(ompjit.ArgumentError, "resolve_neg"):
                take(tensor)

    def test_operators_with_tensors(self):
        a, tensor = ompjit.ones(2), Tensor(ompjit.full(2, 3.0))
        tensor.dtype, tensor.shape = "torch.float64", (2,)
        self.assertEqual((a + tensor).tolist(), [4, 4])
        self.assertEqual((tensor - a).tolist(), [2, 2])
        a *= tensor
        self.assertEqual(a.tolist(), [3, 3])

    def test_tensors(self):
        """What has DLPack alone, as torch's, is taken everywhere."""
        m = ompjit.compile(SAXPY + MAPPED)
        kernel, x, y = m.kernels["saxpy"], ompjit.ones(4, "f4"), ompjit.ones(4, "f4")
        kernel(4, 2, Tensor(x), Tensor(y))
        self.assertEqual(y.tolist(), [3] * 4)
        kernel.bind(4, 2, Tensor(x), Tensor(y))()
        self.assertEqual(y.tolist(), [5] * 4)
        ompjit.elementwise("y = 2*x + y")(Tensor(x), Tensor(y))
        self.assertEqual(y.tolist(), [7] * 4)
        again = AssertionError("the plan was not kept")
        with mock.patch.object(ompjit.Elementwise, "_plan", side_effect=again):
            ompjit.elementwise("y = 2*x + y")(Tensor(x), Tensor(y))
        self.assertEqual(y.tolist(), [9] * 4)
        with self.assertRaisesRegex(ompjit.ArgumentError, "do not fit"):
            ompjit.elementwise("y = 2*x + y")(Tensor(x), Tensor(y[:3]))
        ompjit.elementwise("y = y - x")(x=Tensor(x), y=Tensor(y))
        ompjit.elementwise("y = y - x")(x=Tensor(x), y=Tensor(y))
        if not HOST:
            with self.assertRaisesRegex(ompjit.ArgumentError, "the function maps"):
                m.mapped(4, 2, Tensor(x), Tensor(y))
        m.saxpy(4, 2, Tensor(x), Tensor(y))
        self.assertEqual(y.tolist(), [9] * 4)

    def test_tensors_of_the_host(self):
        m = ompjit.compile(SAXPY + MAPPED)
        with ompjit.Context("host"):
            x, y = ompjit.ones(4, "f4"), ompjit.ones(4, "f4")
            readonly = ompjit.ones(4, "f4")
            readonly.readonly = True
            double, strided = ompjit.ones(4), ompjit.ones(8, "f4")[::2]
        m.mapped(4, 2, Tensor(x), Tensor(y))
        self.assertEqual(y.tolist(), [3] * 4)
        ompjit.elementwise("y = 2*x + y")(Tensor(x), Tensor(y))
        self.assertEqual(y.tolist(), [5] * 4)
        with ompjit.data(to=Tensor(x), tofrom=Tensor(y)):
            m.mapped(4, 2, Tensor(x), Tensor(y))
        self.assertEqual(y.tolist(), [7] * 4)
        for wrong, text in (
            (lambda: m.mapped(5, 2, Tensor(x), Tensor(y)), "needs 5 elements"),
            (lambda: m.mapped(4, 2, Tensor(double), Tensor(y)), "float64"),
            (lambda: m.mapped(4, 2, Tensor(strided), Tensor(y)), "contiguous"),
            (lambda: m.mapped(4, 2, Tensor(x), Tensor(readonly)), "read-only"),
        ):
            with self.assertRaisesRegex(ompjit.ArgumentError, text):
                wrong()

    @needs_numpy
    @unittest.skipUnless(HOST, "numpy's are in host memory")
    def test_numpy(self):
        from ompjit import _dlpack

        before = len(_dlpack._lent)
        a = ompjit.arange(6).reshape(2, 3)
        x = np.from_dlpack(a)
        x[1, 1] = 7
        self.assertEqual(a[1, 1].item(), 7)
        del x
        gc.collect()
        self.assertEqual(len(_dlpack._lent), before)
        y = np.arange(4.0)
        b = ompjit.from_dlpack(y[::2])
        b[1] = 9
        self.assertEqual(y.tolist(), [0, 1, 9, 3])
        y.flags.writeable = False
        b = ompjit.from_dlpack(y)
        self.assertTrue(b.readonly)
        with self.assertRaises(ompjit.ArgumentError):
            b[0] = 1


class Tensor:
    """An array of another library that is known by DLPack alone."""

    def __init__(self, a):
        self.__dlpack__, self.__dlpack_device__ = a.__dlpack__, a.__dlpack_device__


MAPPED = """
void mapped(long n, float a, const float *x, float *y) {
    #pragma omp target map(to: x[:n]) map(y[:n])
    for (long i = 0; i < n; i++) y[i] += a * x[i];
}
"""


class _Table(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


@unittest.skipUnless(
    hasattr(ompjit.ndarray, "__dlpack_c_exchange_api__"), "no native library"
)
class Exchange(unittest.TestCase):
    """The C exchange API, called as another extension would."""

    def setUp(self):
        capsule = ompjit.ndarray.__dlpack_c_exchange_api__
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.argtypes = ctypes.py_object, ctypes.c_char_p
        get.restype = ctypes.c_void_p
        address = get(capsule, b"dlpack_exchange_api")
        self.table = _Table.from_address(address)
        self.pointer = ctypes.c_void_p()

    def call(self, name, *kinds):
        kind = ctypes.PYFUNCTYPE(ctypes.c_int, *kinds)
        return kind(getattr(self.table, name))

    def test_the_table(self):
        self.assertEqual((self.table.major, self.table.minor), (1, 3))
        self.assertIs(
            ompjit.zeros(1).__dlpack_c_exchange_api__,
            ompjit.ndarray.__dlpack_c_exchange_api__,
        )
        stream = self.call(
            "stream", ctypes.c_int, ctypes.c_int32, ctypes.c_void_p
        )
        self.pointer.value = 5
        self.assertEqual(stream(1, 0, ctypes.addressof(self.pointer)), 0)
        self.assertIsNone(self.pointer.value)

    def test_there_and_back(self):
        from ompjit import _dlpack

        a = ompjit.arange(6).reshape(2, 3)
        before = len(_dlpack._lent)
        lend = self.call("from_object", ctypes.py_object, ctypes.c_void_p)
        self.assertEqual(lend(a, ctypes.addressof(self.pointer)), 0)
        self.assertEqual(len(_dlpack._lent), before + 1)
        take = self.call("to_object", ctypes.c_void_p, ctypes.c_void_p)
        made = ctypes.c_void_p()
        self.assertEqual(take(self.pointer, ctypes.addressof(made)), 0)
        b = ctypes.cast(made, ctypes.py_object).value
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(b))
        b[1, 1] = 9
        self.assertEqual(a.tolist(), [[0, 1, 2], [3, 9, 5]])
        del b
        gc.collect()
        self.assertEqual(len(_dlpack._lent), before)

    def test_borrowing(self):
        from ompjit._dlpack import _Tensor

        borrow = self.call("borrow", ctypes.py_object, ctypes.c_void_p)
        a = ompjit.arange(6).reshape(2, 3).T
        t = _Tensor()
        self.assertEqual(ctypes.sizeof(t), 48)
        self.assertEqual(borrow(a, ctypes.addressof(t)), 0)
        self.assertEqual((t.data, t.ndim, t.bits), (a.address, 2, 64))
        self.assertEqual((t.shape[:2], t.strides[:2]), ([3, 2], [1, 3]))

    def test_allocating(self):
        from ompjit import _dlpack

        failures = []
        fail = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p
        )(lambda data, kind, text: failures.append(kind))
        allocate = ctypes.CFUNCTYPE(
            ctypes.c_int, *[ctypes.c_void_p] * 3, type(fail)
        )(self.table.allocate)
        like = ompjit.zeros((2, 2), "f4")
        t = _dlpack._Tensor.from_address(_dlpack._borrow(like))
        out = ctypes.addressof(self.pointer)
        self.assertEqual(allocate(ctypes.addressof(t), out, None, fail), 0)
        made = _dlpack._of_address(self.pointer.value)
        self.assertEqual((made.shape, made.dtype), ((2, 2), "float32"))
        t.code = 99
        self.assertEqual(allocate(ctypes.addressof(t), out, None, fail), -1)
        self.assertEqual(failures, [b"MemoryError"])


class Cuda(unittest.TestCase):
    @unittest.skipIf(HOST, "no GPU")
    def test_interface(self):
        a = ompjit.arange(4)
        interface = a.__cuda_array_interface__
        self.assertEqual(interface["data"], (a.address, False))
        self.assertEqual((interface["version"], interface["shape"]), (3, (4,)))

        class Other:
            __cuda_array_interface__ = {**interface, "stream": 1}

        b = ompjit.asarray(Other())
        self.assertEqual(b.address, a.address)
        self.assertEqual(a.__dlpack_device__(), (2, 0))

    @unittest.skipUnless(HOST, "a GPU")
    def test_none_on_the_host(self):
        a = ompjit.arange(4)
        self.assertFalse(hasattr(a, "__cuda_array_interface__"))
        self.assertEqual(a.__array_interface__["data"], (a.address, False))

        class Other:
            __cuda_array_interface__ = {
                "shape": (1,),
                "typestr": "<f4",
                "data": (0, False),
                "version": 3,
            }

        with self.assertRaises(ompjit.ArgumentError):
            ompjit.asarray(Other())


if __name__ == "__main__":
    unittest.main()
