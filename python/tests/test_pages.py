# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of doc/python: their examples run, and they speak of every public
name; on any device."""
import contextlib
import io
import os
import re
import unittest

import ompjit

PAGES = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "doc", "python"
)
HOST = ompjit.device().is_host


def pages():
    found = {}
    for name in sorted(os.listdir(PAGES)):
        if name.endswith(".md"):
            with open(os.path.join(PAGES, name), encoding="utf-8") as file:
                found[name] = file.read()
    return found


class Pages(unittest.TestCase):
    def test_examples(self):
        for name, text in pages().items():
            if not HOST and "run on any device" not in text:
                continue
            blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
            self.assertTrue(blocks, name)
            space = {"__name__": "page"}
            for block in blocks:
                line = text[: text.index(block)].count("\n")
                code = compile("\n" * line + block, name, "exec")
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(code, space)

    def test_every_public_name_has_a_place(self):
        text = "\n".join(pages().values())
        types = {n for n in ompjit.__all__ if isinstance(getattr(ompjit, n), ompjit.DType)}
        for name in set(ompjit.__all__) - types:
            self.assertRegex(text, rf"\b{name}\b")

    def test_every_public_name_has_a_docstring(self):
        for name in ompjit.__all__:
            self.assertTrue(getattr(ompjit, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
