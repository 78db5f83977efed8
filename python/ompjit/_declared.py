# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Extents of parameters as the source declares them: the compiler's debug
information has none that are no constants, and a prototype shows `(*u)[]`."""
from __future__ import annotations

import re

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def _blank(found: re.Match[str]) -> str:
    """As many lines."""
    return " " + "\n" * found[0].count("\n")


def _parameters(source: str, line: int, name: str) -> str:
    """What is between the parentheses of the function that begins at a line."""
    text = "\n".join(_COMMENT.sub(_blank, source).split("\n")[max(line - 1, 0):])
    found = re.search(rf"\b{re.escape(name)}\s*\(", text)
    if found is None:
        return ""
    depth = 1
    for at in range(found.end(), len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[found.end() : at]
    return ""


def with_extents(
    prototype: str, source: str, line: int, name: str, params: list[str]
) -> str:
    """A prototype whose empty brackets are filled, as far as the source says
    of which lengths rows are."""
    declared = _parameters(source, line, name.split("<")[0].split("::")[-1])
    for param in filter(None, params):
        shown = re.search(
            rf"(\(\*[\w ]*\b{param}\))((?:\[\d*\])+)", prototype
        )
        said = re.search(rf"\b{param}\s*(\)?)\s*((?:\[[^\[\]]*\]\s*)+)", declared)
        if shown is None or said is None or "[]" not in shown[2]:
            continue
        lengths = re.findall(r"\[([^\[\]]*)\]", said[2])
        if not said[1]:
            del lengths[0]  # of the array that is passed as a pointer
        if len(lengths) == shown[2].count("["):
            rows = "".join(f"[{' '.join(n.split())}]" for n in lengths)
            prototype = (
                prototype[: shown.start()] + shown[1] + rows
                + prototype[shown.end() :]
            )
    return prototype
