# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notebooks: magics, and how errors and tables are displayed. With IPython
where that is, else with a shell of the test's own."""
import array
import unittest

import ompjit

try:
    from IPython.core.interactiveshell import InteractiveShell
except ImportError:
    InteractiveShell = None

CELL = """\
void twice(int n, int *x) {
    #pragma omp target teams distribute parallel for map(x[:n])
    for (int i = 0; i < n; i++) x[i] *= N;
}
"""


class Shell:
    """What the extension needs of a shell."""

    def __init__(self):
        self.user_ns, self.magics = {}, {}

    def register_magic_function(self, function, kind, name):
        self.magics[name] = function

    def set_custom_exc(self, kinds, handler):
        self.handler = kinds, handler


class Magics(unittest.TestCase):
    def setUp(self):
        self.shell = Shell()
        ompjit.load_ipython_extension(self.shell)
        self.magic = self.shell.magics["ompjit"]

    def test_a_cell(self):
        self.magic("mod -DN=2 -O 2", CELL)
        x = array.array("i", [1, 2])
        self.shell.user_ns["twice"](2, x)
        self.assertEqual(list(x), [2, 4])
        self.assertEqual(len(self.shell.user_ns["mod"].kernels), 1)

    def test_wrong_cells(self):
        for line in ("a b", "-l pascal", "3"):
            with self.assertRaises(ompjit.ArgumentError):
                self.magic(line, CELL)
        with self.assertRaises(ompjit.CompileError) as caught:
            self.magic("", CELL)
        html = ompjit._jupyter.error_html(caught.exception)
        self.assertIn("undeclared identifier &#x27;N&#x27;", html)
        self.assertEqual(self.shell.handler[0], (ompjit.CompileError,))
        ompjit.unload_ipython_extension(self.shell)
        self.assertEqual(self.shell.handler[0], ())

    def test_lines(self):
        for line in ("", "devices", "cache", "times"):
            shown = self.magic(line)
            self.assertIn("<table>", shown._repr_html_())
            self.assertTrue(repr(shown))
        with ompjit.Context(profile=True):
            self.assertIn("<", self.magic("profile")._repr_html_())
        with self.assertRaises(ompjit.ArgumentError):
            self.magic("nothing")

    @unittest.skipUnless(InteractiveShell, "no IPython")
    def test_ipython(self):
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "ompjit")
        shell.run_cell_magic("ompjit", "-DN=3", CELL)
        x = array.array("i", [1, 2])
        shell.user_ns["twice"](2, x)
        self.assertEqual(list(x), [3, 6])
        result = shell.run_cell("%%ompjit\nint f(void) { return y; }")
        self.assertIsInstance(result.error_in_exec, ompjit.CompileError)
        shell.run_line_magic("unload_ext", "ompjit")


if __name__ == "__main__":
    unittest.main()
