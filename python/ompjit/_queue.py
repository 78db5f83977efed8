# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Queues (streams): work that a device does in order, while Python goes on."""
from __future__ import annotations

import contextvars
from ctypes import byref, c_void_p

from . import TYPE_CHECKING, _host
from ._array import ndarray
from ._device import Device, chosen
from ._errors import ArgumentError, expect
from ._handle import Handle, Owned, ending
from ._lib import call, library
from ._within import Within

if TYPE_CHECKING:
    from typing import Any

    from ._event import Event
    from ._graph import Graph
else:
    from ._typing import Any, Event, Graph


class Queue(Within, Owned):
    """Work that a device does in order, while the caller goes on.

    On a GPU a queue is a CUDA stream; the host device does everything at once.
    Launches and copies take one as `queue=`, or go into that of the innermost
    `with queue:`, which waits for the queue at its end. Arrays that are used in
    a queue live until it was waited for. A failure is raised by the call that
    finds it, at the latest by wait().

    Args:
        device: Default: the current one.
    """

    __slots__ = ("device", "_keep", "_stretches", "_graph")

    def __init__(self, device: Device | None = None) -> None:
        self._begin(chosen(device), None)

    @classmethod
    def adopt(cls, stream: Any, device: Device | None = None) -> Queue:
        """A queue on a CUDA stream that something else has made: its address,
        or an object with `__cuda_stream__`. The stream must live as long."""
        made = cls.__new__(cls)
        if hasattr(stream, "__cuda_stream__"):
            stream = stream.__cuda_stream__()[1]
        made._begin(chosen(device), int(stream))
        return made

    def _begin(self, device: Device, stream: int | None) -> None:
        self._handle = Handle(
            ending(library().queue_destroy), device.context._handle
        )
        place = self._handle.place
        if stream is None:
            call("queue_create", device.address, place)
        else:
            call("queue_adopt", device.address, stream, place)
        self.device = device
        self._keep: list[object] = []
        self._stretches = []
        self._graph: Graph | None = None

    def keep(self, *objects: object) -> None:
        """Has objects live until the queue was waited for, or as long as the
        graph that is being recorded."""
        keep = self._keep if self._graph is None else self._graph.kept
        keep.extend(objects)

    def wait(self) -> None:
        """Waits until all is done, and raises what went wrong."""
        call("queue_wait", self.address)
        self._keep.clear()

    synchronize = wait

    @property
    def stream(self) -> int | None:
        """The CUstream; None on the host device."""
        found = c_void_p()
        call("queue_stream", self.address, byref(found))
        return found.value

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.stream or 0

    if TYPE_CHECKING:

        def __enter__(self) -> Queue: ...
        def __exit__(self, *error: object) -> None: ...

    def _settings(self) -> dict[Any, Any]:
        return {_current: self}

    def _left(self, failed: bool) -> None:
        if failed:
            self._drain()
        else:
            self.wait()

    def _drain(self) -> None:
        """Waits while another error is on its way, which counts more."""
        library().queue_wait(self.address, None)
        self._keep.clear()

    # ---------------------------------------------------------------- copies

    def upload(self, array: ndarray, source: Any) -> None:
        """Copies a host array into an array of the device, of the same shape
        and type, both C-contiguous. The host array stays as it is until the
        queue was waited for."""
        host = self._host(array, source)
        call(
            "queue_upload",
            self.address,
            array.address,
            host.address,
            array.nbytes,
        )
        self.keep(array, host)

    def download(self, out: Any, array: ndarray) -> None:
        """Copies an array of the device into a host array of the same shape
        and type, which is filled when the queue was waited for."""
        host = self._host(array, out)
        if host.readonly:
            raise ArgumentError("the host array is read-only")
        self._download(host.address, array, host)

    def _download(self, address: int, array: ndarray, keep: object) -> None:
        call(
            "queue_download",
            self.address,
            address,
            array.address,
            array.nbytes,
        )
        self.keep(array, keep)

    def copy(self, to: ndarray, source: ndarray) -> None:
        """Copies an array of the device into another of the same shape and
        type, both C-contiguous."""
        self._check(to)
        self._check(source)
        if to.shape != source.shape or to.dtype is not source.dtype:
            raise ArgumentError(
                f"{to.dtype} of shape {to.shape} is not filled by "
                f"{source.dtype} of shape {source.shape}"
            )
        call(
            "queue_copy", self.address, to.address, source.address, to.nbytes
        )
        self.keep(to, source)

    def _check(self, array: ndarray) -> None:
        if not isinstance(array, ndarray) or array.device != self.device:
            raise ArgumentError(f"not an array on {self.device!r}")
        if not array.c_contiguous:
            raise ArgumentError("the array is not C-contiguous")

    def _host(self, array: ndarray, other: Any) -> _host.HostView:
        self._check(array)
        host = _host.view(other)
        if host is None:
            raise ArgumentError(f"a {type(other).__name__} is no host array")
        if host.shape != array.shape or host.dtype is not array.dtype:
            raise ArgumentError(
                f"the host array is {host.dtype} of shape {host.shape}, the "
                f"device's {array.dtype} of shape {array.shape}"
            )
        if not _host.is_packed(host.shape, host.strides, array.itemsize):
            raise ArgumentError("the host array is not C-contiguous")
        return host

    def update_to(self, host: Any) -> None:
        """As `target update to`: mapped host memory is copied to the device."""
        self._update("queue_update_to", host)

    def update_from(self, host: Any) -> None:
        """As `target update from`: the device's copy goes to the host."""
        self._update("queue_update_from", host)

    def _update(self, function: str, array: Any) -> None:
        host = _host.view(array)
        if host is None:
            raise ArgumentError(f"a {type(array).__name__} is no host array")
        if not _host.is_packed(host.shape, host.strides, host.dtype.itemsize):
            raise ArgumentError("the host array is not C-contiguous")
        call(function, self.address, host.address, host.nbytes)
        self.keep(host)

    # ----------------------------------------------------------------- order

    def after(self, *others: Queue | Event) -> None:
        """What is put into the queue from now on comes after the present work
        of other queues, or after events. Nobody waits."""
        for other in others:
            if isinstance(other, Queue):
                call("queue_after", self.address, other.address)
            else:
                from ._event import Event

                event = expect(Event, "an argument", other)
                call("queue_after_event", self.address, event.address)

    def record(self) -> Event:
        """A new event that comes when all is done that the queue has now."""
        from ._event import Event

        event = Event(self.device)
        event.record(self)
        return event

    def capture(self) -> Graph:
        """`with queue.capture() as graph:` records what is put into the queue
        instead of doing it; graph.run() does it."""
        from ._graph import Graph

        return Graph(self)

    def __repr__(self) -> str:
        return f"<ompjit.Queue of {self.device!r}>"


Stream = Queue

_current: contextvars.ContextVar[Queue | None] = contextvars.ContextVar(
    "ompjit queue", default=None
)


def current_queue(device: Device | None = None) -> Queue | None:
    """The queue of the innermost `with queue:`, if it is of that device (None:
    of any)."""
    queue = _current.get()
    if queue is None or device is None or queue.device == device:
        return queue
    return None
