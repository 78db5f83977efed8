# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`with` of a queue, a device or a context: it is the current one until the end.

Ctrl-C may come between the last instruction of `__enter__` and the body, or
before the first one of `__exit__`: then Python never calls `__exit__`. But the
`with` statement has what it calls as `__exit__` from before until after, so each
has an object of its own there, and what it has set is set back when that is
dropped.
"""
from __future__ import annotations

from _thread import _local as local
from ctypes import byref, c_int

from . import TYPE_CHECKING
from ._lib import _inside

if TYPE_CHECKING:
    from functools import partial
    from typing import Any, Callable
else:
    from _functools import partial

    from ._typing import Any, Callable

_half = local()  # what the thread's `with` has asked for only one of


def _count(cell: c_int, there: bool) -> None:
    """A `with`, whose cell that is, begins or ends. By C, in one step: a lock
    could be left taken. Without the native library nobody counts them."""
    from ._native import Library

    if Library is not None:
        Library.ompjit_python_inside(byref(_inside), byref(cell), there)


def _undo(cell: c_int, settings: list[tuple[Any, Any, Any]]) -> None:
    """May be done twice."""
    for variable, value, before in reversed(settings):
        if variable.get() is value:
            variable.set(before)
    _count(cell, False)


class _Stretch:
    """The `__exit__` of one `with`."""

    __slots__ = ("__del__", "_of")
    __del__: Callable[[], Any]

    def __init__(self, of: Within) -> None:
        self._of = of

    def enter(self) -> Within:
        values = self._of._settings()
        settings = [(one, values[one], one.get()) for one in values]
        cell = c_int()
        self.__del__ = partial(_undo, cell, settings)
        _count(cell, True)
        for variable, value, _ in settings:
            variable.set(value)
        return self._of

    def __call__(self, kind: object = None, *error: object) -> None:
        self.__del__()
        del self.__del__
        self._of._left(kind is not None)


class _Method:
    """`__enter__` or `__exit__`. Python's `with` asks the object for both, in an
    order that depends on its version; contextlib asks the class."""

    __slots__ = ("_is_exit",)

    def __init__(self, is_exit: bool) -> None:
        self._is_exit = is_exit

    def __get__(self, of: Within | None, cls: type) -> Any:
        if of is None:
            return _exit if self._is_exit else _enter
        made = getattr(_half, "made", None)
        _half.made = None
        if made is None or made._of is not of or _half.is_exit is self._is_exit:
            _half.made = made = _Stretch(of)
            _half.is_exit = self._is_exit
        return made if self._is_exit else made.enter


def _enter(of: Within) -> Within:
    stretch = _Stretch(of)
    of._stretches.append(stretch)
    return stretch.enter()


def _exit(of: Within, kind: object = None, *error: object) -> None:
    of._stretches.pop()(kind, *error)


class Within:
    """What has such a `with`. Classes set `_stretches` to an empty list."""

    __slots__ = ()
    _stretches: list[_Stretch]

    def _settings(self) -> dict[Any, Any]:
        """The variables of contextvars that are set meanwhile, with their
        values."""
        raise NotImplementedError

    def _left(self, failed: bool) -> None:
        """The end of a `with`."""

    if not TYPE_CHECKING:
        __enter__, __exit__ = _Method(False), _Method(True)
