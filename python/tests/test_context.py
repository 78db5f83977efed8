# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts: options, the current one, callbacks, cache, profile, lifetimes."""
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from ctypes import CFUNCTYPE, byref, c_void_p

import ompjit
from ompjit import _lib
from ompjit._callback import guarded
from ompjit._handle import Handle, ending
from ompjit._lib import call, library

SOURCE = b"""
void twice(int n, int *x) {
    #pragma omp target teams distribute parallel for map(x[:n])
    for (int i = 0; i < n; i++) x[i] *= 2;
}
"""


def compiled(context, source=SOURCE):
    """A module of the source, by the C API."""
    made = Handle(ending(library().module_destroy), context._handle)
    call("module_from_c", context.address, source, None, made.place)
    return made


PTXI = os.environ.get("PTXI", "")
EMULATED = os.path.exists(os.path.join(PTXI, "libcuda.so.1"))


class Contexts(unittest.TestCase):
    @unittest.skipUnless(EMULATED, "no emulated GPU (PTXI)")
    def test_gpus_are_looked_for_when_they_are_needed(self):
        """The dynamic linker tells what it looks for: CUDA's driver neither at
        import nor for compiles and host functions."""
        program = (
            "import sys, ompjit\n"
            "m = ompjit.compile('int f(int a) { return a + 1; }')\n"
            "assert m.f(1) == 2\n"
            "print('devices', file=sys.stderr, flush=True)\n"
            "ompjit.context().devices\n"
        )
        environment = {k: v for k, v in os.environ.items() if k != "OMPJIT_DEVICE"}
        done = subprocess.run(
            [sys.executable, "-c", program],
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, "LD_DEBUG": "libs", "LD_LIBRARY_PATH": PTXI},
        )
        before, after = done.stderr.split("devices\n", 1)
        self.assertEqual(done.returncode, 0, after)
        self.assertNotIn("libcuda", before)
        self.assertIn("libcuda", after)

    def test_the_default_one_is_made_once(self):
        self.assertIs(ompjit.context(), ompjit.context())
        found = []
        other = threading.Thread(target=lambda: found.append(ompjit.context()))
        other.start()
        other.join()
        self.assertIs(found[0], ompjit.context())

    def test_with_makes_one_current(self):
        default = ompjit.context()
        with ompjit.Context("host") as one, ompjit.Context("host") as two:
            self.assertIs(ompjit.context(), two)
            with one:
                self.assertIs(ompjit.context(), one)
            self.assertIs(ompjit.context(), two)
        self.assertIs(ompjit.context(), default)

    def test_configure(self):
        program = (
            "import ompjit\n"
            "made = ompjit.configure(devices='host', check=True)\n"
            "assert ompjit.context() is made, made\n"
            "assert made.options['check'] is True, made.options\n"
            "try: ompjit.configure(check=True)\n"
            "except ompjit.ArgumentError as e: assert 'already' in str(e)\n"
            "else: raise SystemExit('no error')\n"
            "try: ompjit.Context(checks=1)\n"
            "except TypeError as e: assert 'checks' in str(e), e\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_wrong_options(self):
        for options, word in (
            ({"specialize": "never"}, "'off'"),
            ({"cache": "ram"}, "'memory'"),
            ({"time_limit": -1}, "above 0"),
            ({"compiler": "gcc"}, "'worker'"),
            ({"devices": "tpu"}, "tpu"),
            ({"device_heap": -1}, "from 0 to 2**64 - 1"),
            ({"max_variants": 1 << 32}, "from 0 to 2**32 - 1"),
        ):
            with self.assertRaises(ompjit.OmpjitError) as caught:
                ompjit.Context(**options).devices
            self.assertIn(word, str(caught.exception))
        with self.assertRaises(TypeError):
            ompjit.Context(device_heap="much")

    def test_devices(self):
        with ompjit.Context("host") as context:
            (only,) = context.devices
            self.assertEqual(only, ompjit.device())
            self.assertEqual(only, ompjit.devices()[0])
            self.assertEqual((only.kind, only.number), ("host", 0))
            self.assertTrue(only.is_host)
            self.assertEqual(only.driver_version, 0)
            for name in (
                "name",
                "arch",
                "memory",
                "multiprocessors",
                "max_threads",
                "max_shared",
                "warp_size",
            ):
                self.assertTrue(getattr(only, name), name)
            self.assertIn(only.name, repr(only))
            with self.assertRaises(ompjit.NotFound):
                ompjit.device(1)
            with self.assertRaises(ompjit.NotFound):
                ompjit.device(-1)

    def test_current_device_brings_its_context(self):
        other = ompjit.Context("host")
        with other.device(0) as device:
            self.assertIs(ompjit.context(), other)
            self.assertEqual(ompjit.device(), device)
        self.assertIsNot(ompjit.context(), other)
        self.assertNotEqual(ompjit.device(), device)

    def test_memory(self):
        device = ompjit.device()
        with self.assertRaises(MemoryError):
            device.alloc(1 << 60)
        device.alloc(0)
        memory = device.alloc(100)
        self.assertEqual(memory.size, 100)
        self.assertTrue(memory.address)


class Callbacks(unittest.TestCase):
    def test_log(self):
        lines = []
        context = ompjit.Context("host", log=lines.append, cache=False)
        compiled(context)
        self.assertTrue(all(isinstance(line, str) for line in lines))
        self.assertTrue(lines)

    def test_an_exception_is_raised_by_the_call(self):
        def fail(message):
            raise ZeroDivisionError(message)

        context = ompjit.Context("host", log=fail, cache=False)
        with self.assertRaises(ZeroDivisionError):
            compiled(context)

    def test_one_outside_of_a_call_is_unraisable(self):
        seen = []
        before, sys.unraisablehook = sys.unraisablehook, seen.append
        try:
            guarded("ompjit_log_fn", lambda data, text: 1 // 0)(None, b"")
        finally:
            sys.unraisablehook = before
        self.assertEqual(seen[0].exc_type, ZeroDivisionError)
        self.assertIsNone(_lib._local.raised)

    def test_reports(self):
        source = (
            b"void f(int *x) {\n"
            b"#pragma omp target map(x[:4])\n"
            b"    x[4] = 1;\n}\n"
        )
        reports = []
        context = ompjit.Context(check=True, on_report=reports.append)
        module = compiled(context, source)
        function = c_void_p()
        call("module_function", module.address, b"f", byref(function))
        from ctypes import CFUNCTYPE, c_int

        CFUNCTYPE(None, c_void_p)(function.value)((c_int * 8)())
        (report,) = reports
        self.assertEqual(
            (report.kind, report.kernel, report.line, report.other),
            ("bounds", "f", 2, None),
        )
        self.assertEqual((report.access.line, report.access.write), (3, True))
        self.assertIn("out-of-bounds write", report.text)


class Caches(unittest.TestCase):
    def test_entries_go_in_and_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cache")
            one = ompjit.Context("host", cache="disk", cache_dir=path)
            compiled(one)
            self.assertEqual(one.cache.path, path)
            entries = one.cache.entries()
            self.assertEqual({e.kind for e in entries}, {"source"})
            self.assertEqual(len(entries[0].key), 64)
            self.assertIn("\n", entries[0].text)
            self.assertEqual(one.cache.entries(entries[0].key), entries[:1])
            self.assertEqual(one.cache.stats()["stored"], 1)
            self.assertEqual(one.cache.verify(), (1, 0))
            exported = one.cache.export()

            two = ompjit.Context("host", cache="memory")
            self.assertIsNone(two.cache.path)
            self.assertEqual(two.cache.take(exported), 1)
            compiled(two)
            self.assertEqual(two.cache.stats()["hits_memory"], 1)
            with self.assertRaises(ompjit.ArgumentError):
                two.cache.take(exported[:-1])
            with self.assertRaises(ompjit.NotAvailable):
                two.cache.entries()
            self.assertEqual(one.cache.clear(), 1)
            self.assertEqual(one.cache.entries(), [])

    def test_off(self):
        context = ompjit.Context("host", cache=False)
        compiled(context)
        self.assertEqual(context.cache.stats()["misses"], 0)


class Profiles(unittest.TestCase):
    def test_rows(self):
        context = ompjit.Context("host", profile=True, cache=False)
        compiled(context)
        profile = context.profile
        self.assertIn("front end", profile.text)
        (row,) = [r for r in profile.table() if r["name"] == "front end"]
        self.assertEqual((row["category"], row["count"]), ("compile", 1))
        self.assertGreater(row["seconds"], 0)
        self.assertEqual(row["seconds"], row["max"])
        self.assertIn("<td", profile._repr_html_())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            profile.save(path)
            with open(path, encoding="utf-8") as file:
                json.load(file)
        if importlib.util.find_spec("pandas"):
            frame = profile.frame()
            self.assertEqual(len(frame), len(profile.table()))
            self.assertIn("front end", list(frame["name"]))
        times = {row["stage"]: row for row in context.times()}
        self.assertEqual(times["frontend"]["count"], 1)

    def test_none(self):
        with self.assertRaises(ompjit.NotAvailable):
            ompjit.Context("host").profile.text


class Progress(unittest.TestCase):
    def test_steps(self):
        context = ompjit.Context("host", cache=False)
        steps, told = [], threading.Event()

        def tell(step):
            steps.append(step)
            if step.done["frontend"]:
                told.set()

        with ompjit.progress(tell, after=0, every=0.01, context=context):
            compiled(context)
            self.assertTrue(told.wait(60))
        self.assertIn("1 sources read", str(steps[-1]))
        self.assertEqual(steps, sorted(steps, key=lambda s: s.seconds))

    def test_exceptions(self):
        told = threading.Event()

        def fail(step):
            told.set()
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            with ompjit.progress(fail, after=0):
                self.assertTrue(told.wait(60))
        with self.assertRaises(KeyError):
            with ompjit.progress(fail, after=0):
                raise KeyError

    def test_on_standard_error(self):
        program = (
            "import ompjit, sys, threading\n"
            "seen = threading.Event()\n"
            "class Out:\n"
            "    text = ''\n"
            "    def write(self, text): self.text += text; seen.set()\n"
            "    def flush(self): pass\n"
            "sys.stderr = Out()\n"
            "with ompjit.progress(after=0): seen.wait(60)\n"
            "text = sys.stderr.text\n"
            "assert text.startswith('\\rompjit: compiling, '), text\n"
            "assert text.endswith(' \\r'), text\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)


class Lifetimes(unittest.TestCase):
    def test_a_parent_is_destroyed_after_its_children(self):
        order = []
        end = CFUNCTYPE(None, c_void_p)(order.append)
        parent = Handle(end, place=c_void_p(1))
        child = Handle(end, parent, place=c_void_p(2))
        grandchild = Handle(end, child, place=c_void_p(3))
        del parent, child
        self.assertEqual(order, [])
        del grandchild
        self.assertEqual(order, [3, 2, 1])

    def test_finalizers_of_a_cycle(self):
        """A finalizer finds the object there, or is told that it is closed."""
        found = []

        class Node:
            def __del__(self):
                try:
                    found.append(self.context.devices[0].name)
                except ompjit.ArgumentError as error:
                    found.append(str(error))

        for _ in range(10):
            first, second = Node(), Node()
            first.context = ompjit.Context("host")
            second.context, second.others = first.context, [first, second]
            first.others = second.others
            del first, second
        gc.collect()
        self.assertEqual(len(found), 20)
        self.assertLessEqual(
            set(found), {ompjit.device().name, "the object is closed"}
        )

    def test_a_module_keeps_its_context(self):
        context = ompjit.Context("host")
        module = compiled(context)
        del context
        gc.collect()
        count = library().module_kernel_count(module.address)
        self.assertEqual(count, 1)
        del module

    def test_cycles(self):
        for _ in range(20):
            context = ompjit.Context("host")
            memory = context.device(0).alloc(10)

            class Node:
                pass

            node = Node()
            node.all = [node, context, memory]
            del context, memory, node
        gc.collect()

    def test_the_end_of_the_interpreter(self):
        """A module's names are gone before its last objects: then, too, these
        are finalized without a word."""
        program = (
            "import ompjit\n"
            "from ompjit import _handle\n"
            "x = ompjit.zeros(3)\n"
            "for name in list(vars(_handle)): setattr(_handle, name, None)\n"
            "del x\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_objects_end_with_the_interpreter(self):
        """Also those that a script's own names and functions refer to."""
        program = (
            "from ctypes import *\n"
            "from ompjit._handle import Handle\n"
            "put = CFUNCTYPE(c_int, c_void_p)(cast(CDLL(None).puts, c_void_p).value)\n"
            "text = create_string_buffer(b'ended')\n"
            "def function(): pass\n"
            "function.itself = function\n"
            "function.one = Handle(put, place=cast(text, c_void_p))\n"
            "other = Handle(put, place=cast(text, c_void_p))\n"
        )
        out = subprocess.check_output([sys.executable, "-c", program], text=True)
        self.assertEqual(out, "ended\n" * 2)

    def test_many_threads(self):
        def work():
            for _ in range(20):
                with ompjit.Context("host") as context:
                    context.device(0).alloc(10)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    unittest.main()
