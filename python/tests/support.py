# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What several tests use."""
import contextlib
import os
import signal
import threading
import time
import unittest

import ompjit
from ompjit._handle import Handle, Owned, ending
from ompjit._lib import call, library

try:
    import numpy
except ImportError:
    numpy = None

needs_numpy = unittest.skipUnless(numpy, "no numpy")


class Module(Owned):
    """A module of C source, by the C API alone."""

    def __init__(self, source, context=None):
        self.context = context or ompjit.context()
        self._handle = Handle(
            ending(library().module_destroy), self.context._handle
        )
        call(
            "module_from_c",
            self.context.address,
            source.encode(),
            None,
            self._handle.place,
        )

    @property
    def kernels(self):
        return ompjit.Kernels(self)


SAXPY = """
void saxpy(int n, float a, const float *x, float *y) {
    #pragma omp target teams distribute parallel for is_device_ptr(x, y)
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}
"""


@contextlib.contextmanager
def interrupted(test):
    """Ctrl-C while the block runs, in which it must raise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    time.sleep(0.11)  # the native library looks at the handler ten times a second
    try:
        timer.start()
        with test.assertRaises(KeyboardInterrupt):
            yield
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
