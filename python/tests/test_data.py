# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explicit maps of host arrays; on any device."""
import array
import ctypes
import unittest

import ompjit
from support import SAXPY, Module

SEPARATE = ompjit.Context(host_memory="separate")


class Data(unittest.TestCase):
    def setUp(self):
        self.context = SEPARATE
        self.device = SEPARATE.device(0)
        self.kernel = Module(SAXPY, SEPARATE).kernels["saxpy"]
        self.x = array.array("f", [1, 2, 3])
        self.y = array.array("f", [0, 0, 0])

    def test_kernels_take_mapped_arrays(self):
        x, y = self.x, self.y
        with self.device, ompjit.data(to=x, tofrom=[y]) as region:
            self.kernel(3, 2, x, y)
            self.assertEqual(list(y), [0, 0, 0])
            region.update_from(y)
            self.assertEqual(list(y), [2, 4, 6])
            x[0] = 10
            region.update_to(x)
            self.kernel(3, 1, x, y)
        self.assertEqual(list(y), [12, 6, 9])

    def test_directions(self):
        x, y = self.x, self.y
        with self.device:
            region = ompjit.data(alloc=x, from_=y).enter()
            region.update_to(x, y)
            self.kernel(3, 1, x, y)
            x[0] = 7
            region.exit()
        self.assertEqual(list(x), [7, 2, 3])
        self.assertEqual(list(y), [1, 2, 3])

    def test_functions_find_it_present(self):
        module = ompjit.compile(
            "void add(int n, float *y) {\n"
            "#pragma omp target map(present, tofrom: y[:n])\n"
            "for (int i = 0; i < n; i++) y[i] += 1;\n}\n",
            context=SEPARATE,
        )
        add = module.function("add", None, [ctypes.c_int, ctypes.c_void_p])
        y = self.y
        place = y.buffer_info()[0]
        with self.device, ompjit.data(tofrom=y):
            add(3, place)
            self.assertEqual(list(y), [0, 0, 0])
        self.assertEqual(list(y), [1, 1, 1])
        with self.assertRaises(ompjit.MappingError):
            add(3, place)

    def test_queues_update(self):
        x = self.x
        with self.device, ompjit.data(to=x):
            queue = ompjit.Queue()
            x[0] = 5
            queue.update_from(x)
            queue.wait()
        self.assertEqual(x[0], 1)

    def test_wrong(self):
        x = self.x
        for make in (
            lambda: ompjit.data(to="x"),
            lambda: ompjit.data(to=memoryview(x)[::2]),
            lambda: ompjit.data(tofrom=b"1234"),
            lambda: ompjit.data(to=x).exit(),
        ):
            with self.assertRaises(ompjit.ArgumentError):
                make()
        ompjit.data(to=b"1234")
        with ompjit.data():
            pass


if __name__ == "__main__":
    unittest.main()
