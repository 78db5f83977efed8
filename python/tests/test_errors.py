# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions: their classes, what they carry, and that they pickle."""
import pickle
import unittest

import ompjit
from ompjit import _abi as abi
from ompjit._errors import from_parts
from ompjit._lib import call, library

CLANG = """\
saxpy.c:3:38: error: use of undeclared identifier 'y'
    3 |   for (int i = 0; i < n; i++) x[i] = y[i];
      |                                      ^
saxpy.c:2:1: note: about this
"""


class Errors(unittest.TestCase):
    def test_each_status_has_a_class_of_its_own_kind(self):
        for name, status in abi.values(abi.ompjit_status).items():
            if name == "ok":
                continue
            with self.subTest(name):
                error = from_parts(status, abi.ompjit_stage.API, "text")
                self.assertIsInstance(error, ompjit.OmpjitError)
                self.assertEqual(
                    (error.status, error.stage, str(error)),
                    (name, "api", "text"),
                )
                if name != "internal":
                    self.assertNotIsInstance(error, ompjit.InternalError)

    def test_running_and_compiling_fail_differently(self):
        stage, status = abi.ompjit_stage, abi.ompjit_status
        for at, of, kind in (
            (stage.LAUNCH, status.TIMEOUT, ompjit.LaunchTimeout),
            (stage.CODEGEN, status.TIMEOUT, ompjit.CompileTimeout),
            (stage.LAUNCH, status.ABORTED, ompjit.Aborted),
            (stage.FRONTEND, status.ABORTED, ompjit.Cancelled),
        ):
            self.assertIs(type(from_parts(of, at, "")), kind)

    def test_python_classes_catch_them(self):
        for kind, python in (
            (ompjit.ArgumentError, ValueError),
            (ompjit.ArgumentError, TypeError),
            (ompjit.RangeError, OverflowError),
            (ompjit.RangeError, ompjit.ArgumentError),
            (ompjit.OutOfMemory, MemoryError),
            (ompjit.NotFound, LookupError),
            (ompjit.LaunchTimeout, TimeoutError),
        ):
            with self.assertRaises(python):
                raise kind("text")

    def test_diagnostics(self):
        error = ompjit.CompileError(CLANG)
        self.assertEqual(
            (error.file, error.line, error.column), ("saxpy.c", 3, 38)
        )
        self.assertTrue(error.excerpt.endswith("^"))
        self.assertEqual(str(error), CLANG)
        note = error.diagnostics[1]
        self.assertEqual((note.severity, note.message), ("note", "about this"))
        self.assertEqual(
            "\n".join(str(one) for one in error.diagnostics), CLANG.rstrip()
        )

    def test_diagnostics_of_others(self):
        for text, place in (
            ('snippet.cu(3): error: identifier "y" is undefined', (3, 0)),
            ("/a b/c.f90:7:12: error: Must be a variable", (7, 12)),
            ("x.c:1: fatal error: no input", (1, 0)),
            ("no place at all", (0, 0)),
            ("", (0, 0)),
        ):
            error = ompjit.CompileError(text)
            self.assertEqual((error.line, error.column), place, text)

    def test_pickle(self):
        for name in ompjit.__all__:
            kind = getattr(ompjit, name)
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                continue
            one = kind("text", status="io", stage="map")
            other = pickle.loads(pickle.dumps(one))
            self.assertIs(type(other), kind)
            self.assertEqual(vars(other), vars(one))
            self.assertEqual(other.args, one.args)

    def test_a_failed_call_raises(self):
        row = abi.ompjit_rtl_row()
        with self.assertRaises(ompjit.NotFound) as caught:
            call("rtl_row_named", b"__kmpc_barier", row)
        self.assertIn("__kmpc_barrier", str(caught.exception))
        call("rtl_row_named", b"__kmpc_barrier", row)
        self.assertEqual(row.name, b"__kmpc_barrier")

    def test_library(self):
        self.assertEqual(library().version().decode(), ompjit.__version__)
        with self.assertRaises(AttributeError):
            library().nothing
        with self.assertRaises(AttributeError):
            ompjit.nothing
        self.assertIn("OmpjitError", dir(ompjit))


if __name__ == "__main__":
    unittest.main()
