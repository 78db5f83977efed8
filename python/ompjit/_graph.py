# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs: what was put into a queue, recorded once and done many times."""
from __future__ import annotations

from ._errors import ArgumentError, expect
from ._handle import Handle, Owned, Shown, ending
from ._lib import call, library
from ._queue import Queue, _current


class Graph(Owned):
    """Launches, copies and updates, recorded once and done many times; on a
    GPU one CUDA graph.

        with queue.capture() as graph:
            kernel(n, x, y)          # in the queue without being named
        graph.run()

    Copies and updates read and write host memory each time it is run. What it
    uses lives as long as the graph.
    """

    __slots__ = ("queue", "kept", "_token", "_modules")

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.kept: list[object] = []

    def __enter__(self) -> Graph:
        if getattr(self, "_handle", None) is not None:
            raise ArgumentError("the graph is recorded already")
        call("graph_begin", self.queue.address)
        self.queue._graph = self
        self._token = _current.set(self.queue)
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        _current.reset(self._token)
        self.queue._graph = None
        parents = [
            one._handle for one in self.kept if isinstance(one, Shown)
        ]
        handle = Handle(
            ending(library().graph_destroy),
            self.queue.device.context._handle,
            *parents,
        )
        if kind is not None:
            library().graph_end(self.queue.address, handle.place, None)
            return
        call("graph_end", self.queue.address, handle.place)
        self._handle = handle

    def run(self, queue: Queue | None = None) -> None:
        """Does what was recorded and waits; with a queue of the same device,
        puts it there. One run at a time."""
        if getattr(self, "_handle", None) is None:
            raise ArgumentError("the graph is not recorded yet")
        if queue is not None:
            expect(Queue, "queue", queue)
        call(
            "graph_run", self.address, None if queue is None else queue.address
        )
        if queue is not None:
            queue.keep(self)

    __call__ = run
