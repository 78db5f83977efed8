# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package's files: all are distributed, and importing it loads nothing."""
import os
import re
import subprocess
import sys
import unittest

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def files():
    found = []
    for folder, folders, names in os.walk(PYTHON):
        folders[:] = [
            name
            for name in folders
            if name not in ("__pycache__", "build", "dist")
            and not name.endswith(".egg-info")
            and not name.startswith(".")
        ]
        found += [os.path.join(folder, name) for name in names]
    return sorted("python/" + os.path.relpath(path, PYTHON) for path in found)


class Files(unittest.TestCase):
    def test_all_are_distributed(self):
        path = os.path.join(PYTHON, "local.am")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        listed = re.findall(r"\bpython/[\w./-]+", text.split("EXTRA_DIST", 1)[1])
        self.assertEqual(listed, sorted(listed))
        self.assertEqual(
            [name for name in files() if name != "python/local.am"], listed
        )

    def test_all_have_a_licence_line_and_a_purpose(self):
        for name in files():
            if not name.endswith(".py"):
                continue
            with open(os.path.join(PYTHON, "..", name), encoding="utf-8") as file:
                first, second = file.readline(), file.readline()
            self.assertIn("SPDX-License-Identifier", first, name)
            self.assertRegex(second, '^"""', name)

    def test_importing_loads_nothing(self):
        program = "import sys, ompjit; print(*sys.modules)"
        done = subprocess.run(
            [sys.executable, "-S", "-c", program],
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = done.stdout.split()
        self.assertIn("ompjit", loaded)
        for name in ("ctypes", "numpy", "subprocess", "threading"):
            self.assertNotIn(name, loaded)


if __name__ == "__main__":
    unittest.main()
