# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session of `ompjit repl --json` (doc/repl.md), as a client sees it."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from contextlib import contextmanager

from . import TYPE_CHECKING
from ._errors import ArgumentError
from ._interrupt import is_ours

if TYPE_CHECKING:
    from typing import Any, Callable, Iterator
else:
    from ._typing import Any, Callable, Iterator

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
        self._sending = False  # the stream takes no second writer meanwhile
        self._came = False  # a Ctrl-C did
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
        self._sending = True
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        self._sending = False

    def _on_interrupt(self, number: int, frame: Any) -> None:
        if self._sending:
            self._came = True
            return
        try:
            self.interrupt()
        except OSError:  # it has ended, which the reader finds
            pass

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """In the main thread Ctrl-C interrupts the session's code meanwhile, and
        raises nothing: an answer, or what is made of it, would be lost."""
        if not is_ours():
            yield
            return
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def ask(
        self,
        op: str,
        stream: Stream | None = None,
        progress: Progress | None = None,
        **members: Any,
    ) -> dict[str, Any]:
        """The answer; `stream` gets output (its name, a text) before it, and
        `progress` what takes long (a stage, seconds). Ctrl-C interrupts the
        session's code."""
        with self.interruptible():
            self._id += 1
            self._came = False
            self._send({"op": op, "id": self._id, **members})
            if self._came:
                self.interrupt()
            while True:
                answer = self._read()
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
