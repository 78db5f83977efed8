# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the messages of clang, flang and NVRTC."""
from __future__ import annotations

import re

from . import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from ._typing import NamedTuple

_HEAD = re.compile(
    r"^(?P<file>[^\s:(][^:(\n]*)"
    r"(?::(?P<line>\d+)(?::(?P<column>\d+))?:|\((?P<other>\d+)\):)"
    r"\s*(?P<severity>(?:fatal |catastrophic )?error|warning|note|portability)"
    r"(?: #[\w-]+)?:\s*(?P<message>.*)$"
)


class Diagnostic(NamedTuple):
    """One message of a compiler."""

    file: str
    line: int
    column: int  # 0: not told
    severity: str  # "error", "warning", "note"
    message: str
    excerpt: str  # lines of the source, with the caret; "": none

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        if self.column:
            place += f":{self.column}"
        text = f"{place}: {self.severity}: {self.message}"
        return f"{text}\n{self.excerpt}" if self.excerpt else text


def parse(text: str) -> list[Diagnostic]:
    """The diagnostics in a compiler's output, in its order."""
    found: list[Diagnostic] = []
    excerpt: list[str] = []

    def finish() -> None:
        if found and excerpt:
            found[-1] = found[-1]._replace(excerpt="\n".join(excerpt).rstrip())
        excerpt.clear()

    for line in text.splitlines():
        head = _HEAD.match(line)
        if not head:
            excerpt.append(line)
            continue
        finish()
        found.append(
            Diagnostic(
                head["file"],
                int(head["line"] or head["other"]),
                int(head["column"] or 0),
                head["severity"],
                head["message"],
                "",
            )
        )
    finish()
    return found
