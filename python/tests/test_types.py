# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mypy --strict finds nothing in the package, and knows its public names; so does
typing, from which the package imports nothing."""
import importlib.util
import inspect
import os
import pickle
import subprocess
import sys
import tempfile
import typing
import unittest

import ompjit
from ompjit import _typing

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


def callables():
    """The public functions and classes, and the functions of the classes."""
    for name in ompjit.__all__:
        found = getattr(ompjit, name)
        if callable(found):
            yield name, found
        for base in getattr(found, "__mro__", ()):
            if base.__module__.startswith("ompjit"):
                for key, member in vars(base).items():
                    member = getattr(member, "__func__", member)
                    member = getattr(member, "fget", member)
                    if inspect.isfunction(member):
                        yield f"{name}.{key}", member


@unittest.skipIf(sys.version_info < (3, 10), "annotations have |")
class Hints(unittest.TestCase):
    def test_are_found(self):
        found = [(name, typing.get_type_hints(f)) for name, f in callables()]
        self.assertGreater(len(found), 500)
        for name, hints in found:
            for hint in hints.values():
                self.assertNotIn("__import__", repr(hint), name)

    def test_are_right(self):
        hints = typing.get_type_hints(ompjit.compile)
        self.assertIs(hints["return"], ompjit.Module)
        self.assertIn(bytes, typing.get_args(hints["source"]))
        hints = typing.get_type_hints(ompjit.Kernel.launch)
        self.assertEqual(hints["device"], typing.Optional[ompjit.Device])
        self.assertIs(hints["args"], typing.Any)
        hints = typing.get_type_hints(ompjit.Report)
        self.assertEqual(hints["other"], typing.Optional[ompjit.Access])


class Tuples(unittest.TestCase):
    """The package's NamedTuple is as typing's."""

    NAMES = ("file", "line", "column", "severity", "message", "excerpt")
    VALUES = ("f.c", 1, 2, "error", "no", "x")

    def test_is_a_tuple(self):
        one = ompjit.Diagnostic(*self.VALUES)
        self.assertEqual(one, self.VALUES)
        self.assertEqual(one._fields, self.NAMES)
        self.assertEqual([getattr(one, n) for n in self.NAMES], [*self.VALUES])
        self.assertEqual(one, ompjit.Diagnostic(**one._asdict()))
        self.assertEqual(one, ompjit.Diagnostic._make(list(one)))
        self.assertEqual(one, pickle.loads(pickle.dumps(one)))
        self.assertEqual(one._replace(line=7), ("f.c", 7, *self.VALUES[2:]))
        self.assertIn("line=1, column=2", repr(one))
        with self.assertRaises(AttributeError):
            one.line = 2

    def test_defaults(self):
        class Point(_typing.NamedTuple):
            x: int
            y: int = 2

        self.assertEqual([Point(1), Point(1, 3)], [(1, 2), (1, 3)])
        self.assertEqual([Point(x=1), Point(1, y=4)], [(1, 2), (1, 4)])
        with self.assertRaisesRegex(TypeError, "takes x, y"):
            Point()

    def test_wrong_fields(self):
        wrong = [
            (self.VALUES[:5], {}),
            ((*self.VALUES, 1), {}),
            (self.VALUES, {"line": 1}),
            (self.VALUES[:5], {"text": ""}),
        ]
        for args, named in wrong:
            with self.assertRaisesRegex(TypeError, "takes file, line"):
                ompjit.Diagnostic(*args, **named)


if __name__ == "__main__":
    unittest.main()
