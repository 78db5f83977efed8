# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Progress of long compiles: a thread that tells, while a block runs, what the
compiler has done so far."""
from __future__ import annotations

import sys
import threading
from time import monotonic

from . import TYPE_CHECKING
from ._context import Context, context as current_context
from ._errors import expect

if TYPE_CHECKING:
    from typing import Any, Callable, NamedTuple
else:
    from ._typing import Any, Callable, NamedTuple

# Stages that a reader knows, and how they are told.
_TOLD = {
    "frontend": "sources read",
    "optimize": "kernels optimized",
    "codegen": "generated",
    "assemble": "assembled",
}


class Step(NamedTuple):
    """How far compiling is."""

    seconds: float  # since the block began
    done: dict[str, int]  # how often each stage was finished in the block

    def __str__(self) -> str:
        parts = [f"{self.done[s]} {words}" for s, words in _TOLD.items()
                 if self.done.get(s)]
        return f"compiling, {self.seconds:.1f} s: {', '.join(parts) or 'started'}"


class progress:
    """`with ompjit.progress(): ...` tells how far compiling is in the block,
    which compiles and launches as ever: on standard error, in one line that
    goes away at the end, from the second second on.

    Args:
        callback: gets each Step instead, in another thread. Its exception
            ends the telling, and is raised at the end of the block.
        after: seconds before the first step. Default: 1.
        every: seconds from one step to the next. Default: 0.25.
        context: Default: the current one.
    """

    def __init__(
        self,
        callback: Callable[[Step], Any] | None = None,
        after: float = 1.0,
        every: float = 0.25,
        context: Context | None = None,
    ) -> None:
        self._tell = callback or self._show
        self._waits = after, every
        self._context = (
            current_context()
            if context is None
            else expect(Context, "context", context)
        )
        self._width = 0
        self._failed: BaseException | None = None

    def _counts(self) -> dict[str, int]:
        return {row["stage"]: row["count"] for row in self._context.times()}

    def _show(self, step: Step) -> None:
        self._write(f"ompjit: {step}")

    def _write(self, text: str) -> None:
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def _run(self) -> None:
        begin, before = monotonic(), self._before
        wait, every = self._waits
        try:
            while not self._over.wait(wait):
                done = {s: n - before[s] for s, n in self._counts().items()}
                self._tell(Step(monotonic() - begin, done))
                wait = every
        except BaseException as error:
            self._failed = error

    def __enter__(self) -> progress:
        self._before = self._counts()
        self._over = threading.Event()
        self._failed = None
        self._thread = threading.Thread(
            target=self._run, name="ompjit progress", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self._over.set()
        self._thread.join()
        if self._width:
            self._write("")
            print("\r", end="", file=sys.stderr, flush=True)
        if self._failed is not None and kind is None:
            raise self._failed
