# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C in a new process, at fixed times: it ends compiles and what runs on the
host device at once, and the process computes the right results later."""
import gc
import os
import subprocess
import sys
import tempfile
import unittest
from ctypes import CFUNCTYPE, c_int, c_void_p

import ompjit
from ompjit import _lib, _native
from ompjit._lib import library

PACKAGE = os.path.dirname(ompjit.__file__)
HOST = ompjit.device().is_host
TRACES = unittest.skipIf(
    sys.version_info < (3, 10), "tracers cannot raise in calls that C makes"
)

# The signal comes when `delay` has passed. What is interrupted takes several times
# as long, or for ever, and is in no cache: each process has an empty one.
PROGRAM = r'''
import array, os, signal, sys, threading, time, ompjit

signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
delay = float(sys.argv[1])
SAXPY = """
void saxpy(int n, float a, const float *x, float *y) {
    #pragma omp target teams distribute parallel for map(to: x[:n]) map(y[:n])
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}
"""
FOREVER = """
void forever(volatile int *stop) {
    #pragma omp target is_device_ptr(stop)
    while (!*stop) continue;
}
void deferred(volatile int *stop) {
    #pragma omp target nowait map(stop[:1])
    while (!*stop) continue;
    #pragma omp taskwait
}
"""


def steps(x):
    return " ".join(f"{x} = {x} * {k} + sin({x} / ({x} + {k + 1}));"
                    for k in range(2400))


# Where nothing else runs, 0.8 seconds for the front end and as much for a kernel.
SLOW = f"""
#include <math.h>
void f(double *x) {{
    #pragma omp target map(x[:1])
    {{ {steps("x[0]")} }}
}}
void k(double *x) {{
    #pragma omp target is_device_ptr(x)
    {{ {steps("x[0]")} }}
}}
"""


def interrupted(what, work):
    came = []

    def send():
        came.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, send)
    try:
        timer.start()
        work()
    except KeyboardInterrupt:
        took = time.monotonic() - came[0]
        print(f"{what}: {took * 1e3:.0f} ms")
        assert took < 1, what
    else:
        raise AssertionError(f"{what}: not interrupted")
    timer.join()


def saxpy_works():
    m = ompjit.compile(SAXPY)
    x, y = array.array("f", [1, 2, 3]), array.array("f", [1, 1, 1])
    m.saxpy(3, 2, x, y)
    assert list(y) == [3, 5, 7], y
    z = ompjit.ones(3, "f4")
    ompjit.elementwise("y = 2 * x + y")(ompjit.ones(3, "f4"), z)
    assert z.tolist() == [3, 3, 3], z.tolist()


interrupted("a compile", lambda: ompjit.compile(f"{SLOW}// {delay}"))
saxpy_works()
one, d, number = ompjit.compile(SLOW), ompjit.ones(1), array.array("d", [1])
interrupted("a first call", lambda: one.f(number))
interrupted("a first launch", lambda: one.kernels["k"](d))
interrupted("a bind", lambda: one.kernels["k"].bind(d))
interrupted("PTX", lambda: one.emit("ptx", "sm_90"))
expression = ompjit.elementwise(f"y = 0; {steps('y')} y = y + x")
interrupted("an expression", lambda: expression(d, ompjit.ones(1)))
saxpy_works()
m = ompjit.compile(FOREVER)
forever = m.kernels["forever"]
go, stop = ompjit.zeros(1, "i4"), ompjit.ones(1, "i4")
queue = ompjit.Queue()
forever(stop, queue=queue)
# An abort while libomp starts its threads would leave a task that never ends.
m.deferred(array.array("i", [1]))


def launch_and_wait():
    forever(go, queue=queue)
    queue.wait()


def deferred():
    m.deferred(array.array("i", [0]))


def start_and_wait():
    bound.start(queue)
    queue.wait()


interrupted("a queue", launch_and_wait)
interrupted("a deferred region", deferred)
bound = forever.bind(go)
interrupted("a bound launch in a queue", start_and_wait)
interrupted("tuning", lambda: forever.tune(go))
go.set(1)
forever(go, queue=queue)
bound.start(queue)
queue.wait()
saxpy_works()
'''


# Python itself drops what a finalizer raises. raise() comes from C.
IN_A_FINALIZER = """
import signal, time
from ctypes import CDLL, CFUNCTYPE, c_int, c_void_p, cast
from ompjit._handle import Handle

signal.signal(signal.SIGINT, signal.default_int_handler)
send = CFUNCTYPE(c_int, c_int)(cast(CDLL(None)["raise"], c_void_p).value)
handle = Handle(send, place=c_int(signal.SIGINT))
try:
    del handle
    time.sleep(20)
except KeyboardInterrupt:
    print("interrupted")
"""

VOID = CFUNCTYPE(None, c_void_p)
ENDS = {
    "context_create": ("context_destroy", VOID),
    "queue_create": ("queue_destroy", VOID),
    "event_create": ("event_destroy", VOID),
    "device_alloc": ("device_free", CFUNCTYPE(c_int, *[c_void_p] * 3)),
}


def objects():
    """Objects in objects, which end in an order of their own."""
    context = ompjit.Context("host")
    memory = context.device(0).alloc(10)
    queue = context.device(0).queue()
    event = ompjit.Event(queue.device)
    del context, queue
    del event, memory


class Finalizer(unittest.TestCase):
    def test_it_loses_nothing(self):
        out = subprocess.run(
            [sys.executable, "-c", IN_A_FINALIZER],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(out.stdout, "interrupted\n", out.stderr)
        self.assertEqual(out.stderr, "")

    def count(self, make, end, kind):
        """Counts the objects that there are by a function of the library."""
        maker, ender = getattr(library(), make), getattr(library(), end)

        def made(*args):
            status = maker(*args)
            self.there[make] += not status
            return status

        def ended(*args):
            address = args[-2] if len(args) > 1 else args[0]
            self.there[make] -= bool(address)
            return ender(*args)

        self.there[make] = 0
        for name, mine, own in ((make, made, maker), (end, kind(ended), ender)):
            setattr(library(), name, mine)
            self.addCleanup(setattr, library(), name, own)

    def interrupted_at(self, step, work=objects):
        """Ctrl-C at that instruction of the package; False: there are less."""
        left = step

        def trace(frame, event, arg):
            nonlocal left
            if not frame.f_code.co_filename.startswith(PACKAGE):
                return None
            frame.f_trace_opcodes = True
            left -= 1
            if not left:
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            work()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        return left <= 0

    @TRACES
    def test_every_instruction_of_with(self):
        """Wherever Ctrl-C comes, nothing stays current, and C makes calls."""
        queue = ompjit.Context("host").device(0).queue()
        names = "context", "device", "queue"

        def current():
            found = [vars(sys.modules[f"ompjit._{n}"])["_current"].get() for n in names]
            return [*found, _lib._inside.value]

        def body():
            with queue.device.context, queue.device:
                with queue:
                    self.assertIs(current()[2], queue)
                    self.assertEqual(current()[3], 3)

        unraisable = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = unraisable.append
        body()
        before, step = current(), 1
        while self.interrupted_at(step, body):
            self.assertEqual(current(), before, step)
            step += 1
        self.assertEqual(current(), before)
        self.assertGreater(step, 200)
        self.assertEqual(unraisable, [])

    @TRACES
    def test_every_instruction(self):
        """Wherever Ctrl-C comes, all objects end."""
        objects()
        before, self.there = sys.unraisablehook, {}
        self.addCleanup(setattr, sys, "unraisablehook", before)
        unraisable = []
        sys.unraisablehook = unraisable.append
        for make, (end, kind) in ENDS.items():
            self.count(make, end, kind)
        step = 1
        while self.interrupted_at(step):
            gc.collect(0)
            self.assertFalse(any(self.there.values()), (step, self.there))
            step += 1
        self.assertGreater(step, 1000)
        self.assertEqual(unraisable, [])


@unittest.skipUnless(HOST, "launches on a GPU are not ended")
@unittest.skipUnless(_native.Callable, "C makes no calls in this Python")
class Interrupt(unittest.TestCase):
    def check(self, delay):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, str(delay)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, "OMPJIT_CACHE_DIR": folder},
                timeout=120,
            )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_at_once(self):
        self.check(0.001)

    def test_soon(self):
        self.check(0.02)

    def test_later(self):
        self.check(0.15)


if __name__ == "__main__":
    unittest.main()
