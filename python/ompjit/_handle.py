# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ownership of the C library's objects.

A Handle destroys its object when the last user drops it. Users are the Python
object that shows it, the handles of objects that live in it (a context's
modules), and calls that are under way. So objects are destroyed after what is
in them, in whatever order Python finalizes: Python's collector has no order
for objects of one cycle, and none when the interpreter ends.
"""
from __future__ import annotations

import os
from _thread import RLock, start_new_thread
from time import sleep

from . import TYPE_CHECKING
from ._errors import ArgumentError

if TYPE_CHECKING:
    from signal import SIGINT
    from typing import Any, Callable
else:  # without the enumerations of `signal`, and what they import
    from _signal import SIGINT
    from ._typing import Any, Callable

# One lock. Reentrant: the collector can run a finalizer within it. A list, which
# methods have as a default: the names of a module are gone before its last
# finalizer runs.
_locks = [RLock()]


def _after_fork() -> None:
    _locks[0] = RLock()


os.register_at_fork(after_in_child=_after_fork)


class Handle:
    """One object of the C library, counted.

    Args:
        address: the object.
        destroy: called with the address in the end.
        parents: handles that must outlive it.
        keep: what the object points to, such as callbacks.
    """

    __slots__ = ("address", "_destroy", "_parents", "_users", "_keep")

    def __init__(
        self,
        address: int | None,
        destroy: Callable[[int], Any],
        *parents: Handle,
        keep: object = None,
    ) -> None:
        assert address
        self.address: int = address
        self._destroy = destroy
        self._parents = parents
        self._users = 1
        self._keep = keep
        for parent in parents:
            parent.hold()

    def hold(self, locks: list[Any] = _locks) -> None:
        """One user more."""
        with locks[0]:
            if not self._users:
                raise ArgumentError("the object is closed", status="invalid")
            self._users += 1

    def drop(self, locks: list[Any] = _locks) -> None:
        """One user less; the last one destroys the object."""
        with locks[0]:
            self._users -= 1
            if self._users:
                return
        address, self.address = self.address, 0
        self._destroy(address)
        for parent in self._parents:
            parent.drop()

    def __enter__(self) -> int:
        self.hold()
        return self.address

    def __exit__(self, *error: object) -> None:
        self.drop()


def _interrupt_later(
    start: Callable[..., Any] = start_new_thread,
    pause: Callable[[float], Any] = sleep,
    kill: Callable[[int, int], Any] = os.kill,
    getpid: Callable[[], int] = os.getpid,
    number: int = SIGINT,
) -> None:
    """Sends the signal when the caller is over."""

    def again() -> None:
        pause(0.001)
        kill(getpid(), number)

    start(again, ())


def finalizer(work: Callable[[Any], None]) -> Callable[[Any], None]:
    """Decorates __del__. Python drops the exceptions of finalizers: a Ctrl-C that
    came in one comes again."""

    def __del__(
        self: Any,
        work: Callable[[Any], None] = work,
        interrupt_later: Callable[[], None] = _interrupt_later,
    ) -> None:
        try:
            work(self)
        except KeyboardInterrupt:
            interrupt_later()

    return __del__


class Shown:
    """A Python object that shows an object of the C library. It has no room of
    its own, so that it goes with other base classes."""

    __slots__ = ()
    _handle: Handle

    @property
    def address(self) -> int:
        """The address of the C object, for those who call the C API."""
        return self._handle.address

    @finalizer
    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            handle.drop()


class Owned(Shown):
    """One with the room for it."""

    __slots__ = ("_handle", "__weakref__")
