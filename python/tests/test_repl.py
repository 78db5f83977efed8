# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions of `ompjit repl` from Python, and the Jupyter kernel."""
import os
import sys
import tempfile
import unittest

TOOL = os.path.join(os.environ.get("builddir", "."), "ompjit")
if os.path.exists(TOOL):
    os.environ["OMPJIT_TOOL"] = os.path.abspath(TOOL)

from ompjit._repl import Session, find_tool
from ompjit._repl_kernel import byte_cursor, character_cursor, install

try:
    import ipykernel
    import jupyter_client
except ImportError:
    jupyter_client = None

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


class Cursors(unittest.TestCase):
    def test_bytes_and_characters(self):
        self.assertEqual(byte_cursor("hé + x", 6), 7)
        self.assertEqual(character_cursor("hé + x", 7), 6)


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
        self.assertIn("error", [each["msg_type"] for each in messages])

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
        client.execute(
            '#include <stdio.h>\nvolatile int n = 0;\nputs("on");\nwhile (1) n++;'
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
