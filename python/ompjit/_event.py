# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Events: points in queues, to wait for and to measure between."""
from __future__ import annotations

from ctypes import byref, c_double, c_int, c_void_p

from . import TYPE_CHECKING
from ._device import Device, chosen
from ._errors import expect
from ._handle import Handle, Owned, ending
from ._lib import call, library
from ._queue import Queue

if TYPE_CHECKING:
    from typing import Any
else:
    from ._typing import Any


class Event(Owned):
    """A point in a queue: a time, and something to wait for.

    queue.record() makes one and records it.

    Args:
        device: whose queues it is for. Default: the current one.
    """

    __slots__ = ("device",)

    def __init__(self, device: Device | None = None) -> None:
        self._begin(chosen(device), None)

    @classmethod
    def adopt(cls, native: Any, device: Device | None = None) -> Event:
        """An event that is a CUevent of something else, by its address. It
        must live as long."""
        made = cls.__new__(cls)
        made._begin(chosen(device), int(native))
        return made

    def _begin(self, device: Device, native: int | None) -> None:
        self._handle = Handle(
            ending(library().event_destroy), device.context._handle
        )
        place = self._handle.place
        if native is None:
            call("event_create", device.address, place)
        else:
            call("event_adopt", device.address, native, place)
        self.device = device

    def record(self, queue: Queue) -> None:
        """The event comes when all is done that the queue has now. What it
        meant before is forgotten."""
        call("event_record", self.address, expect(Queue, "queue", queue).address)

    def wait(self) -> None:
        """Waits for it. ArgumentError if it was never recorded."""
        call("event_wait", self.address)

    synchronize = wait

    @property
    def done(self) -> bool:
        """Whether it has come."""
        done = c_int()
        call("event_query", self.address, byref(done))
        return bool(done.value)

    def elapsed(self, since: Event) -> float:
        """Seconds on the device from another event to this one; both have
        come."""
        seconds = c_double()
        expect(Event, "since", since)
        call("event_elapsed", since.address, self.address, byref(seconds))
        return seconds.value

    @property
    def native(self) -> int | None:
        """The CUevent; None on the host device."""
        found = c_void_p()
        call("event_native", self.address, byref(found))
        return found.value


class timed:
    """`with ompjit.timed(queue) as t:` measures what is put into the queue in
    the block. t.seconds is the time on the device; asking for it waits."""

    def __init__(self, queue: Queue) -> None:
        self.queue = expect(Queue, "queue", queue)
        self._begin = Event(queue.device)
        self._end = Event(queue.device)

    def __enter__(self) -> timed:
        self._begin.record(self.queue)
        return self

    def __exit__(self, *error: object) -> None:
        self._end.record(self.queue)

    @property
    def seconds(self) -> float:
        self._end.wait()
        return self._end.elapsed(self._begin)
