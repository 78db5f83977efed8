# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mypy --strict finds nothing in the package, and knows its public names."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
USE = """\
import ompjit
a = ompjit.zeros(3)
reveal_type(a)
reveal_type(ompjit.compile("").kernels)
ompjit.nothing
"""


@unittest.skipUnless(importlib.util.find_spec("mypy"), "no mypy")
class Types(unittest.TestCase):
    def test_strict(self):
        with tempfile.TemporaryDirectory() as folder:
            use = os.path.join(folder, "use.py")
            with open(use, "w", encoding="utf-8") as file:
                file.write(USE)
            command = "-m mypy --strict --no-error-summary --cache-dir"
            done = subprocess.run(
                [sys.executable, *command.split(), os.path.join(folder, "cache")]
                + [os.path.join(PYTHON, "ompjit"), use],
                capture_output=True,
                text=True,
                env={**os.environ, "MYPYPATH": PYTHON},
            )
        lines = [line.split(": ", 1)[1] for line in done.stdout.splitlines()]
        self.assertEqual(
            lines,
            [
                'note: Revealed type is "ompjit._array.ndarray"',
                'note: Revealed type is "ompjit._kernel.Kernels"',
                'error: Module has no attribute "nothing"  [attr-defined]',
            ],
            done.stdout + done.stderr,
        )


if __name__ == "__main__":
    unittest.main()
