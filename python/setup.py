# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes which library the package was installed for: the one that
OMPJIT_LIBRARY names, else that of the checkout's build folder."""
import os

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "libompjit.so.0"


def library():
    given = os.environ.get("OMPJIT_LIBRARY")
    built = os.path.join(os.path.dirname(HERE), "build", ".libs", NAME)
    for path in (given, given and os.path.join(given, NAME), built):
        if path and os.path.isfile(path):
            return os.path.abspath(path)
    return None


class Build(build_py):
    """Adds ompjit/_built.py."""

    def run(self):
        super().run()
        path = library()
        if path and not self.editable_mode:
            target = os.path.join(self.build_lib, "ompjit", "_built.py")
            with open(target, "w", encoding="utf-8") as file:
                file.write(f'"""Made by setup.py."""\nLIBRARY = {path!r}\n')


setup(cmdclass={"build_py": Build})
