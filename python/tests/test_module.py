# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules: sources of all kinds, code, what kernels tell, pickling."""
import ctypes
import os
import pathlib
import pickle
import shutil
import tempfile
import unittest
import unittest.mock

import ompjit
from support import SAXPY

TWICE = """void twice(int n, int *x) {
#pragma omp target teams distribute parallel for map(x[:n])
for (int i = 0; i < n; i++) x[i] *= 2;
}
"""
CUDA = """OMPJIT_KERNEL(add)(int n, const float *x, float *y) {
    OMPJIT_FOR_ALL(i, n) y[i] += x[i];
}
"""


class Sources(unittest.TestCase):
    def test_text(self):
        module = ompjit.compile(TWICE)
        self.assertEqual(module.kernels["twice"].name, "twice")
        self.assertEqual(module.source, TWICE)
        self.assertIn("snippet", repr(module))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "twice.c")
            path.write_text(TWICE)
            module = ompjit.compile(path)
            self.assertEqual(module.name, str(path))
            bitcode = pathlib.Path(folder, "twice.bc")
            bitcode.write_bytes(module.emit("bc"))
            self.assertEqual(ompjit.compile(bitcode).kernels.at(0).name, "twice")
            both = ompjit.compile([path, pathlib.Path(folder, "more.c")][:1])
            self.assertEqual(len(both.kernels), 1)
            with self.assertRaises(ompjit.FileError):
                ompjit.compile(pathlib.Path(folder, "nothing.c"))
        for name in ("kernel.c", "a folder (2)/kernel.cpp", "/tmp/x.f90"):
            with self.assertRaises(ompjit.ArgumentError) as caught:
                ompjit.compile(name)
            self.assertIn(f"pathlib.Path({name!r})", str(caught.exception))

    def test_ir(self):
        module = ompjit.compile(TWICE)
        for source in (module.ir, module.emit("bc")):
            language = "ir" if isinstance(source, str) else None
            again = ompjit.compile(source, language=language)
            self.assertEqual(again.kernels.at(0).name, "twice")
        self.assertIn("define", module.host_ir)
        self.assertIn("define", module.optimized("host"))
        self.assertIn(".target sm_75", module.ptx("sm_75"))
        self.assertTrue(module.emit("object").startswith(b"\x7fELF"))

    def test_several(self):
        module = ompjit.compile(
            {
                "a.c": "int g(int);\nint f(int x) { return g(x) + 1; }",
                "b.cpp": 'extern "C" int g(int x) { return 2 * x; }',
            }
        )
        f = module.function("f", ctypes.c_int, [ctypes.c_int])
        self.assertEqual(f(4), 9)

    def test_cuda(self):
        k = ompjit.compile(CUDA, language="cuda").kernels["add"]
        x, y = ompjit.ones(5, "f4"), ompjit.zeros(5, "f4")
        k[2, 32](5, x, y)
        self.assertEqual(y.tolist(), [1] * 5)
        self.assertEqual(k.mode, "bare")

    @unittest.skipUnless(shutil.which("flang-22"), "no flang-22")
    def test_fortran(self):
        text = (
            "subroutine twice(n, x) bind(c)\n"
            "  integer, value :: n\n  real :: x(n)\n"
            "  !$omp target teams distribute parallel do map(x)\n"
            "  do i = 1, n\n    x(i) = 2 * x(i)\n  end do\nend\n"
        )
        module = ompjit.compile(text, language="fortran")
        f = module.function("twice", None, [ctypes.c_int, ctypes.c_void_p])
        x = (ctypes.c_float * 3)(1, 2, 3)
        f(3, x)
        self.assertEqual(list(x), [2, 4, 6])

    def test_options(self):
        module = ompjit.compile(
            "int f(void) { return N; }", flags=["-DN=7"], opt_level=0
        )
        self.assertEqual(module.function("f", ctypes.c_int)(), 7)
        module = ompjit.compile(
            "int f(void) { return _OPENMP; }", openmp_version=4.5
        )
        self.assertEqual(module.function("f", ctypes.c_int)(), 201511)

    def test_remarks(self):
        text = (
            "void f(int n, int *x) {\n#pragma omp target map(x[:n])\n{\n"
            "x[0] = 1;\n#pragma omp parallel for\n"
            "for (int i = 1; i < n; i++) x[i] = i;\n}\n}\n"
        )
        for opts in ((), ["openmp-opt-disable-spmdization"]):
            rows = ompjit.compile(text, opts=opts).remarks("sm_90")
            spmd = [r for r in rows if r["id"] == "OMP120"]
            self.assertEqual(len(spmd), 0 if opts else 1, rows)
        with self.assertRaises(ompjit.ArgumentError):
            ompjit.compile(text, opts=["nothing"])

    def test_wrong(self):
        for source, options in (
            (5, {}),
            ([], {}),
            (TWICE, {"language": "pascal"}),
            (TWICE, {"opt_level": 7}),
            (TWICE, {"cuda_compiler": "nvcc"}),
            ("int x;\0", {}),
            (b"no image", {}),
        ):
            with self.assertRaises(ompjit.ArgumentError, msg=(source, options)):
                ompjit.compile(source, **options)
        with self.assertRaises(TypeError):
            ompjit.compile(TWICE, optimize=3)
        for source, options in (
            ("int x = y;", {}),
            ("not ir", {"language": "ir"}),
            (b"BC\xc0\xdeno bitcode", {}),
        ):
            with self.assertRaises(ompjit.CompileError, msg=source):
                ompjit.compile(source, **options)

    def test_errors_have_a_place(self):
        with self.assertRaises(ompjit.CompileError) as caught:
            ompjit.compile("int f(void)\n{\n    return y;\n}", name="f.c")
        error = caught.exception
        self.assertEqual(
            (error.file, error.line, error.column), ("f.c", 3, 12)
        )
        self.assertIn("return y;", error.excerpt)
        self.assertEqual(error.stage, "frontend")

    def test_debug(self):
        with tempfile.TemporaryDirectory() as folder:
            context = ompjit.Context(cache="disk", cache_dir=folder)
            module = ompjit.compile(TWICE, debug=True, context=context)
            with open(module.name, encoding="utf-8") as file:
                self.assertEqual(file.read(), TWICE)
            self.assertTrue(module.name.startswith(os.path.realpath(folder)))


class Functions(unittest.TestCase):
    def test_a_failure_is_raised(self):
        text = (
            "void f(int *x) {\n#pragma omp target map(x[:1])\n"
            "{ int *volatile p = 0; x[0] = *p; }\n}\n"
        )
        f = ompjit.compile(text).function("f", None, [ctypes.c_void_p])
        with self.assertRaises(ompjit.DeviceError):
            f((ctypes.c_int * 1)())

    def test_none(self):
        with self.assertRaises(ompjit.NotFound):
            ompjit.compile(TWICE).function("thrice")


class Pickling(unittest.TestCase):
    def test_modules(self):
        module = ompjit.compile(TWICE, name="twice.c", flags=["-DX=1"])
        again = pickle.loads(pickle.dumps(module))
        self.assertEqual(again.name, "twice.c")
        self.assertEqual(again._how, module._how)
        f = again.function("twice", None, [ctypes.c_int, ctypes.c_void_p])
        x = (ctypes.c_int * 2)(1, 2)
        f(2, x)
        self.assertEqual(list(x), [2, 4])


class Sight(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = ompjit.compile(SAXPY)
        cls.kernel = cls.module.kernels["saxpy"]
        cls.args = 100, 2, ompjit.ones(100, "f4"), ompjit.zeros(100, "f4")

    def test_ahead_of_time(self):
        module = ompjit.compile(SAXPY + "/* another */")
        k = module.kernels["saxpy"]
        self.assertFalse(k.is_compiled(*self.args))
        k.prepare(*self.args)
        k(*self.args)
        self.assertTrue(k.is_compiled(*self.args))
        self.assertFalse(k.is_compiled(*self.args, specialize="now"))
        self.assertGreater(module.variants()["builds"], 0)
        k.cancel()

    def test_what_was_done(self):
        k = self.kernel
        k(*self.args, specialize="now", teams=1)
        self.assertIn("saxpy", k.explain())
        (row,) = [v for v in k.variants() if not v["generic"]]
        self.assertEqual(row["teams"], 1)
        self.assertIn("literals", row["params"][0]["facts"])
        self.assertEqual(k.last_launch()["teams"], 1)
        self.assertEqual(k.parameters()[0]["foldable"], "foldable")
        self.assertIn("<pre>", k._repr_html_())

    def test_forms(self):
        """Kernels, functions and expressions tell their code."""
        twice = ompjit.compile(TWICE).twice
        expression = ompjit.elementwise("y = a*x + y")
        (kernel,) = expression.kernels(float, "f4", "f4")
        for one in (self.kernel, twice, kernel):
            self.assertIn("define", one.ir)
            self.assertIn(".target sm_75", one.ptx("sm_75"))
            self.assertTrue(one.explain())
        self.assertEqual([k.line for k in twice.kernels], [2])
        self.assertEqual([p.name for p in kernel.params][-1:], ["p_y"])

    def test_expressions_ahead_of_time(self):
        for make in (
            lambda c: ompjit.elementwise(f"y = {c}*x"),
            lambda c: ompjit.reduction(f"{c}*x"),
            lambda c: ompjit.scan(f"{c}*x"),
            lambda c: ompjit.stencil(f"y = {c}*x[1]"),
        ):
            expression = make(1234.5)
            self.assertFalse(expression.is_compiled("f8"), expression)
            expression.compile("f8")
            self.assertTrue(expression.is_compiled("f8"), expression)
            self.assertFalse(expression.is_compiled("f4"), expression)
            self.assertTrue(expression.kernels("f8"), expression)

    def test_sass(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "nvdisasm")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho .headerflags\n")
            os.chmod(path, 0o755)
            with unittest.mock.patch.dict(os.environ, PATH=folder):
                try:
                    text = self.module.sass("sm_90")
                except ompjit.NotAvailable as error:
                    self.skipTest(f"no assembler: {error}")
        self.assertEqual(text, ".headerflags\n")

    def test_code(self):
        code = self.kernel.code("host", n=100)
        self.assertGreater(code["instructions"], 0)
        with self.assertRaises(ompjit.ArgumentError):
            self.kernel.code("sm_1")

    def test_tuning(self):
        k = self.kernel
        before = self.args[3].tolist()
        found = k.tune(
            *self.args, tripcount=100, tries=[(1, 1)], repeats=1, saved=[self.args[3]]
        )
        self.assertEqual(found["tried"], 2)
        self.assertEqual(self.args[3].tolist(), before)
        self.assertEqual(k.tuned(100)["teams"], found["teams"])
        with self.assertRaises(ompjit.NotFound):
            k.tuned(1 << 40)

    def test_record_and_warm(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "list")
            with ompjit.Context("host", record=path):
                x, y = ompjit.ones(9, "f4"), ompjit.zeros(9, "f4")
                k = ompjit.compile(SAXPY).kernels["saxpy"]
                k(9, 2, x, y, specialize="now")
            with open(path, "a", encoding="utf-8") as file:
                file.write("nothing n=1\n")
            with ompjit.Context("host"):
                requested, wrong = ompjit.compile(SAXPY).warm(path)
            self.assertGreater(requested, 0)
            self.assertEqual(len(wrong), 1)
        with self.assertRaises(ompjit.FileError):
            ompjit.compile(SAXPY).warm("/nothing")


if __name__ == "__main__":
    unittest.main()
