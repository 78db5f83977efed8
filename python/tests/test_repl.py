# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions of `ompjit repl` from Python, and the Jupyter kernel."""
import os
import signal
import sys
import tempfile
import unittest

TOOL = os.path.join(os.environ.get("builddir", "."), "ompjit")
if os.path.exists(TOOL):
    os.environ["OMPJIT_TOOL"] = os.path.abspath(TOOL)

from ompjit._repl import Session, find_tool
from ompjit._repl_kernel import (
    byte_cursor,
    character_cursor,
    install,
    plain,
    plotted,
    table_html,
)

try:
    import ipykernel
    import jupyter_client
except ImportError:
    jupyter_client = None

try:
    import jupyter_kernel_test
except ImportError:
    jupyter_kernel_test = None

try:
    import nbclient
    import nbformat
except ImportError:
    nbclient = None

NOTEBOOKS = ("first_steps.ipynb", "heat.ipynb")

try:
    find_tool()
    has_tool = True
except ValueError:
    has_tool = False


@unittest.skipUnless(has_tool, "no ompjit tool")
class Sessions(unittest.TestCase):
    def setUp(self):
        self.session = Session("--device", "host")
        self.addCleanup(self.session.close)

    def test_value(self):
        answer = self.session.ask("execute", code="int x = 3;\nx")
        self.assertEqual(answer["status"], "ok")
        self.assertEqual(answer["value"], "3")

    def test_output(self):
        seen = []
        self.session.ask(
            "execute",
            lambda name, text: seen.append((name, text)),
            code='#include <stdio.h>\nputs("hé");',
        )
        self.assertEqual(seen, [("stdout", "hé\n")])

    def test_end(self):
        with self.assertRaises(EOFError):
            self.session.ask(
                "execute", code="#include <signal.h>\nraise(SIGKILL);"
            )


    def test_interrupt_while_output_is_taken(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        answer = self.session.ask(
            "execute",
            lambda name, text: os.kill(os.getpid(), signal.SIGINT),
            code='#include <stdio.h>\nvolatile int n;\nputs("on");\nwhile (1) n++;',
        )
        self.assertEqual(answer["status"], "aborted")
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        answer = self.session.ask("execute", code="1")
        self.assertEqual(answer["value"], "1")


class Cursors(unittest.TestCase):
    def test_bytes_and_characters(self):
        self.assertEqual(byte_cursor("hé + x", 6), 7)
        self.assertEqual(character_cursor("hé + x", 7), 6)


class Texts(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(plain("\x1b[1ma\x1b[0;31m: b\x1b[0m"), "a: b")

    def test_tables(self):
        table = {"columns": ["<x>"], "rows": [["1"]], "count": 500}
        self.assertEqual(
            table_html(table),
            "<table><tr><th></th><th>&lt;x&gt;</th></tr><tr><td>[0]</td>"
            "<td>1</td></tr><tr><td>...</td><td>500 rows</td></tr></table>",
        )

    def test_plots(self):
        self.assertEqual(plotted(":plot x y\n"), "x y")
        for code in (":plot", ":plot x a.svg", ":plots x", "x"):
            self.assertIsNone(plotted(code))


def set_up_path(case):
    """The kernel is known to Jupyter, and finds the package."""
    case.folder = tempfile.TemporaryDirectory()
    install(case.folder.name, False)
    case.before = dict(os.environ)
    os.environ["JUPYTER_PATH"] = os.path.join(case.folder.name, "share", "jupyter")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)


def tear_down_path(case):
    os.environ.clear()
    os.environ.update(case.before)
    case.folder.cleanup()


@unittest.skipUnless(jupyter_client, "no ipykernel")
@unittest.skipUnless(nbclient, "no nbclient")
@unittest.skipUnless(has_tool, "no ompjit tool")
class Notebooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        set_up_path(cls)

    @classmethod
    def tearDownClass(cls):
        tear_down_path(cls)

    def outputs(self, name):
        """Of all cells, after each was executed without an error."""
        folder = os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"
        )
        notebook = nbformat.read(os.path.join(folder, name), as_version=4)
        nbclient.NotebookClient(notebook, timeout=300).execute()
        return [
            output
            for cell in notebook.cells
            if cell.cell_type == "code"
            for output in cell.outputs
        ]

    def test_notebooks(self):
        for name in NOTEBOOKS:
            with self.subTest(name):
                outputs = self.outputs(name)
                kinds = [each.output_type for each in outputs]
                self.assertIn("execute_result", kinds)
                pictures = [
                    each.data["image/svg+xml"]
                    for each in outputs
                    if each.output_type == "display_data"
                ]
                self.assertTrue(pictures)
                self.assertIn("<polyline points", pictures[0])


if jupyter_kernel_test and jupyter_client and has_tool:

    class Jupyter(jupyter_kernel_test.KernelTests):
        """Jupyter's own tests of kernels."""

        kernel_name = "ompjit"
        language_name = "c"
        file_extension = ".c"
        code_hello_world = '#include <stdio.h>\nputs("hello, world");'
        code_stderr = '#include <stdio.h>\nfputs("wrong\\n", stderr);'
        code_generate_error = "nothing;"
        completion_samples = [{"text": "size", "matches": {"sizeof"}}]
        complete_code_samples = ["1", "int x = 2;"]
        incomplete_code_samples = ["int f(void) {", "#pragma omp target\n"]
        invalid_code_samples = ["int x = ;"]
        code_execute_result = [{"code": "6 * 7", "result": "(int) 42"}]
        code_inspect_sample = "puts"

        @classmethod
        def setUpClass(cls):
            set_up_path(cls)
            super().setUpClass()

        @classmethod
        def tearDownClass(cls):
            super().tearDownClass()
            tear_down_path(cls)


@unittest.skipUnless(jupyter_client, "no ipykernel")
@unittest.skipUnless(has_tool, "no ompjit tool")
class Kernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        install(cls.folder.name, False)
        specs = jupyter_client.kernelspec.KernelSpecManager()
        specs.kernel_dirs = [
            os.path.join(cls.folder.name, "share", "jupyter", "kernels")
        ]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        cls.manager = jupyter_client.KernelManager(
            kernel_name="ompjit", kernel_spec_manager=specs
        )
        cls.manager.start_kernel(env=environment)
        cls.client = cls.manager.client()
        cls.client.start_channels()
        cls.client.wait_for_ready(timeout=120)

    @classmethod
    def tearDownClass(cls):
        cls.client.stop_channels()
        cls.manager.shutdown_kernel(now=True)
        cls.folder.cleanup()

    def execute(self, code):
        """The reply, and the messages of it."""
        messages = []
        reply = self.client.execute_interactive(
            code, timeout=120, output_hook=messages.append
        )
        return reply["content"], messages

    def test_result_and_output(self):
        code = (
            '#include <stdio.h>\nint x = 3;\nputs("out");\n'
            "#pragma omp target map(x)\nx++;\nx"
        )
        reply, messages = self.execute(code)
        self.assertEqual(reply["status"], "ok")
        kinds = {each["msg_type"]: each["content"] for each in messages}
        self.assertEqual(kinds["stream"]["text"], "out\n")
        self.assertEqual(
            kinds["execute_result"]["data"]["text/plain"], "(int) 4"
        )

    def test_error(self):
        reply, messages = self.execute("nothing;")
        self.assertEqual(reply["status"], "error")
        self.assertIn("undeclared identifier", reply["evalue"])
        self.assertNotIn("\x1b", reply["evalue"])
        self.assertIn("\x1b[", reply["traceback"][0])
        self.assertIn("error", [each["msg_type"] for each in messages])

    def test_plot(self):
        self.execute("double series[3] = {1, 4, 2};")
        reply, messages = self.execute(":plot series")
        self.assertEqual(reply["status"], "ok")
        shown = [
            each["content"]["data"]
            for each in messages
            if each["msg_type"] == "display_data"
        ]
        self.assertIn("<svg", shown[0]["image/svg+xml"])
        self.assertEqual(shown[0]["text/plain"], "a plot of series")
        reply, _ = self.execute(":plot nothing")
        self.assertIn("nothing is no variable", reply["evalue"])

    def test_table(self):
        _, messages = self.execute(
            "struct pair { int a; double b; } pairs[2] = {{1, 2.5}, {3}};\npairs"
        )
        shown = [
            each["content"]["data"]
            for each in messages
            if each["msg_type"] == "execute_result"
        ]
        self.assertEqual(
            shown[0]["text/html"],
            "<table><tr><th></th><th>a</th><th>b</th></tr>"
            "<tr><td>[0]</td><td>1</td><td>2.5</td></tr>"
            "<tr><td>[1]</td><td>3</td><td>0.0</td></tr></table>",
        )

    def test_progress(self):
        _, messages = self.execute("#include <unistd.h>\nusleep(2500000);")
        kinds = [each["msg_type"] for each in messages]
        self.assertIn("display_data", kinds)
        self.assertIn("update_display_data", kinds)
        shown = messages[kinds.index("display_data")]["content"]
        self.assertRegex(shown["data"]["text/plain"], r"^running, \d+ s$")

    def test_completion_and_inspection(self):
        self.execute("int number_of_things = 4;")
        reply = self.client.complete("number_o", reply=True, timeout=120)
        self.assertEqual(reply["content"]["matches"], ["number_of_things"])
        reply = self.client.inspect("number_of_things", 3, reply=True, timeout=120)
        self.assertIn("value: 4", reply["content"]["data"]["text/plain"])
        self.client.is_complete("int f() {")
        reply = self.client.get_shell_msg(timeout=120)
        self.assertEqual(reply["content"]["status"], "incomplete")

    def test_interrupt(self):
        client = self.client
        # Or ipykernel refuses what comes right behind an input that failed.
        client.execute(
            '#include <stdio.h>\nvolatile int n = 0;\nputs("on");\nwhile (1) n++;',
            stop_on_error=False,
        )
        while client.get_iopub_msg(timeout=120)["msg_type"] != "stream":
            pass
        self.manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=120)
        self.assertEqual(reply["content"]["ename"], "aborted")
        reply, _ = self.execute("1")
        self.assertEqual(reply["status"], "ok")


if __name__ == "__main__":
    unittest.main()
