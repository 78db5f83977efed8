# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ownership of the C library's objects.

A Handle destroys its object when Python has no use for the handle any more, and
no handle is left of what lives in the object (a context's modules). So objects
are destroyed after what is in them, in whatever order Python finalizes: Python's
collector has no order for objects of one cycle, and none when the interpreter
ends.

No line of Python runs between the end of a handle and the end of its object,
since Ctrl-C may raise at any line. `__del__` is no function but a slot, with a
callable of C in it, which takes the handle's record out of a table. The table
or the records of children have the record's last reference, and the record's
own `__del__` is a C function with its arguments. The collector sees no record
as garbage: the table is never freed.
"""
from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, c_int, c_void_p
from itertools import count

from . import TYPE_CHECKING
from ._errors import ArgumentError

if TYPE_CHECKING:
    from functools import partial
    from typing import Any, Callable
else:  # without functools, which would take a part of a first call
    from _functools import partial
    from ._typing import Any, Callable


class _Record:
    """What a Handle has to end: `__del__` destroys the object, then `parents`,
    the records of what it lives in, are let go."""

    __slots__ = ("__del__", "parents")
    __del__: Callable[[], Any]
    parents: tuple[_Record, ...]


_records: dict[int, _Record] = {}
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_records))
_numbers = count()

_END = CFUNCTYPE(None, c_void_p)
_FREE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)


def raw(kind: Any, function: Any) -> Any:
    """The C function without ctypes' object for its library, from which all of
    Python can be reached: nothing of it may be in the table."""
    return kind(ctypes.cast(function, c_void_p).value)


def ending(function: Any) -> Callable[[c_void_p], Any]:
    """A C function as the end of a Handle."""
    found: Any = function.__dict__.get("ending")
    if found is None:
        found = function.ending = raw(_END, function)
    return found  # type: ignore[no-any-return]


def freeing(function: Any, device: int) -> Callable[[c_void_p], Any]:
    """ompjit_device_free as the end of a Handle."""
    return partial(raw(_FREE, function), device)


class Handle:
    """One object of the C library.

    It is made before its object, for which `place` is: a call that makes the
    object and is interrupted behind that leaves an object with an owner.

    Args:
        end: of C; called with the place, and `rest`, in the end. It takes NULL.
        parents: handles of what the object lives in.
        place: the address of the object, or the struct that `end` takes.
        rest: arguments of `end` behind the place.
        keep: what the object points to, such as callbacks.
    """

    __slots__ = ("__del__", "_number", "_keep", "place")
    __del__: Callable[[], Any]

    def __init__(
        self,
        end: Callable[..., Any] | None,
        *parents: Handle,
        place: Any = None,
        rest: tuple[Any, ...] = (),
        keep: object = None,
    ) -> None:
        self.place = c_void_p() if place is None else place
        self._number = number = next(_numbers)
        self._keep = keep, parents
        record = _Record()
        record.parents = tuple(parent._record() for parent in parents)
        if end is not None:
            record.__del__ = partial(end, self.place, *rest)
        self.__del__ = partial(_records.pop, number, None)
        _records[number] = record

    def _record(self) -> _Record:
        """ArgumentError: a finalizer of the same cycle has come first."""
        found = _records.get(self._number)
        if found is None:
            raise ArgumentError("the object is closed", status="invalid")
        return found

    @property
    def address(self) -> int:
        """The object's address; 0 before it is made."""
        self._record()
        return self.place.value or 0


class Shown:
    """A Python object that shows an object of the C library. It has no room of
    its own, so that it goes with other base classes."""

    __slots__ = ()
    _handle: Handle

    @property
    def address(self) -> int:
        """The address of the C object, for those who call the C API."""
        return self._handle.address

    def __reduce__(self) -> Any:
        raise TypeError(
            f"an ompjit.{type(self).__name__} is of this process: it can be "
            "neither pickled nor copied"
        )


class Owned(Shown):
    """One with the room for it."""

    __slots__ = ("_handle", "__weakref__")
