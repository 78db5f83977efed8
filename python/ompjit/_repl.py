# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session of `ompjit repl --json` (doc/repl.md), as a client sees it."""
from __future__ import annotations

import json
import os
import shutil
import subprocess

from . import TYPE_CHECKING
from ._errors import ArgumentError

if TYPE_CHECKING:
    from typing import Any, Callable
else:
    from ._typing import Any, Callable

Stream = Callable[[str, str], None]
Progress = Callable[[str, float], None]


def find_tool() -> str:
    """The `ompjit` of $OMPJIT_TOOL, else the one in PATH."""
    named = os.environ.get("OMPJIT_TOOL")
    found = shutil.which(named or "ompjit")
    if not found:
        raise ArgumentError(
            f"{named or 'ompjit'}, the tool whose `repl` executes C, is not found; "
            "OMPJIT_TOOL or PATH can name it"
        )
    return found


class Session:
    """Requests are made one at a time; `interrupt` comes while one is made."""

    def __init__(self, *options: str) -> None:
        self._process = subprocess.Popen(
            [find_tool(), "repl", "--json", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        self._id = 0
        self.greeting = self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise EOFError(f"the session has ended ({self._process.wait()})")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _send(self, request: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def ask(
        self,
        op: str,
        stream: Stream | None = None,
        progress: Progress | None = None,
        **members: Any,
    ) -> dict[str, Any]:
        """The answer; `stream` gets output (its name, a text) before it, and
        `progress` what takes long (a stage, seconds). A KeyboardInterrupt
        meanwhile interrupts the session's code."""
        self._id += 1
        self._send({"op": op, "id": self._id, **members})
        while True:
            try:
                answer = self._read()
            except KeyboardInterrupt:
                self.interrupt()
                continue
            if answer.get("id") != self._id:
                continue
            if "event" not in answer:
                return answer
            if answer["event"] == "progress":
                if progress:
                    progress(answer["stage"], answer["seconds"])
            elif stream:
                stream(answer["name"], answer["text"])

    def interrupt(self) -> None:
        self._send({"op": "interrupt"})

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            try:
                pipe.close()
            except OSError:
                pass
        self._process.wait()
