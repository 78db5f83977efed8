# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Queues, events and graphs; on any device."""
import array
import gc
import unittest

import ompjit
from ompjit import _queue
from support import SAXPY, Module

HOST = ompjit.device().is_host


class Queues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Module(SAXPY).kernels["saxpy"]

    def setUp(self):
        self.x = ompjit.array([1, 2, 3], "f4")
        self.y = ompjit.zeros(3, "f4")

    def test_launches(self):
        queue = ompjit.Queue()
        self.kernel(3, 2, self.x, self.y, queue=queue)
        self.kernel(3, 1, self.x, self.y, queue=queue)
        queue.wait()
        self.assertEqual(self.y.tolist(), [3, 6, 9])
        self.assertIn("Queue", repr(queue))

    def test_with(self):
        with ompjit.Queue() as queue:
            self.assertIs(_queue.current_queue(), queue)
            self.kernel(3, 2, self.x, self.y)
        self.assertIsNone(_queue.current_queue())
        self.assertEqual(self.y.tolist(), [2, 4, 6])
        with self.assertRaises(ZeroDivisionError):
            with ompjit.Queue():
                1 // 0
        self.assertIsNone(_queue.current_queue())

    def test_elementwise(self):
        with ompjit.Queue():
            ompjit.elementwise("y = a*x + y")(2, self.x, self.y)
            z = ompjit.elementwise("x + y")(self.x, self.y)
        self.assertEqual(z.tolist(), [3, 6, 9])

    def test_what_is_used_lives(self):
        queue = ompjit.Queue()
        self.kernel(3, 2, ompjit.ones(3, "f4"), self.y, queue=queue)
        gc.collect()
        ompjit.zeros(3, "f4")
        queue.wait()
        self.assertEqual(self.y.tolist(), [2, 2, 2])
        self.assertEqual(queue._keep, [])

    def test_copies(self):
        queue = ompjit.Queue()
        source, out = array.array("f", [4, 5, 6]), array.array("f", [0] * 3)
        queue.upload(self.x, source)
        queue.copy(self.y, self.x)
        queue.download(out, self.y)
        queue.wait()
        self.assertEqual(list(out), [4, 5, 6])
        for wrong in (
            lambda: queue.upload(self.x, array.array("f", [1])),
            lambda: queue.upload(self.x, array.array("d", [1, 2, 3])),
            lambda: queue.upload(source, self.x),
            lambda: queue.upload(self.x[::2], array.array("f", [1, 2])),
            lambda: queue.download(b"1234" * 3, self.x),
            lambda: queue.download("x", self.x),
            lambda: queue.copy(self.x, ompjit.zeros(3)),
        ):
            with self.assertRaises(ompjit.ArgumentError):
                wrong()

    def test_updates_need_a_mapping(self):
        queue = ompjit.Queue()
        with self.assertRaises(ompjit.MappingError):
            queue.update_to(array.array("f", [1]))
        with self.assertRaises(ompjit.ArgumentError):
            queue.update_from("x")

    def test_order(self):
        one, two = ompjit.Queue(), ompjit.Queue()
        self.kernel(3, 2, self.x, self.y, queue=one)
        two.after(one)
        self.kernel(3, 1, self.y, self.x, queue=two)
        event = two.record()
        one.after(event)
        event.wait()
        self.assertTrue(event.done)
        self.assertEqual(self.x.tolist(), [3, 6, 9])

    def test_events(self):
        queue = ompjit.Queue()
        event = ompjit.Event()
        with self.assertRaises(ompjit.ArgumentError):
            event.wait()
        event.record(queue)
        later = queue.record()
        later.synchronize()
        self.assertGreaterEqual(later.elapsed(event), 0)
        with ompjit.timed(queue) as t:
            self.kernel(3, 2, self.x, self.y, queue=queue)
        self.assertGreaterEqual(t.seconds, 0)

    def test_native(self):
        queue, event = ompjit.Queue(), ompjit.Event()
        if HOST:
            self.assertIsNone(queue.stream)
            self.assertIsNone(event.native)
            with self.assertRaises(ompjit.NotAvailable):
                ompjit.Queue.adopt(1)
            with self.assertRaises(ompjit.NotAvailable):
                ompjit.Event.adopt(1)
            return
        other = ompjit.Queue.adopt(queue)
        self.assertEqual(other.stream, queue.stream)
        self.assertEqual(queue.__cuda_stream__(), (0, queue.stream))
        self.kernel(3, 2, self.x, self.y, queue=other)
        event.record(other)
        ompjit.Event.adopt(event.native).wait()
        self.assertEqual(self.y.tolist(), [2, 4, 6])

    def test_graphs(self):
        queue = ompjit.Queue()
        out = array.array("f", [0] * 3)
        with queue.capture() as graph:
            self.kernel(3, 2, ompjit.ones(3, "f4"), self.y)
            ompjit.elementwise("y = 2*y")(self.y)
            queue.download(out, self.y)
        gc.collect()
        self.assertEqual(self.y.tolist(), [0, 0, 0])
        graph()
        graph.run()
        self.assertEqual(list(out), [12, 12, 12])
        graph.run(queue)
        queue.wait()
        self.assertEqual(self.y.tolist(), [28, 28, 28])

    def test_wrong_graphs(self):
        queue = ompjit.Queue()
        graph = ompjit.Graph(queue)
        with self.assertRaises(ompjit.ArgumentError):
            graph.run()
        with self.assertRaises(ZeroDivisionError):
            with graph:
                1 // 0
        with graph:
            self.kernel(3, 2, self.x, self.y)
        with self.assertRaises(ompjit.ArgumentError):
            with graph:
                pass
        graph()
        self.assertEqual(self.y.tolist(), [2, 4, 6])


if __name__ == "__main__":
    unittest.main()
