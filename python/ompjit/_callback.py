# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python functions that the C library calls.

An exception in one cannot pass through C. Where the library was called by this
thread, the exception is raised when that call returns; else ctypes
hands it to sys.unraisablehook.
"""
from __future__ import annotations

from . import TYPE_CHECKING, _abi as abi
from ._lib import failed_callback, type_of

if TYPE_CHECKING:
    from typing import Any, Callable, NamedTuple
else:
    from ._typing import Any, Callable, NamedTuple


class Access(NamedTuple):
    """One access of device code, or call."""

    file: str  # "": unknown
    line: int
    column: int
    function: str
    thread: int  # in the team
    write: bool
    bytes: int


class Report(NamedTuple):
    """A fault of a checked kernel."""

    kind: str  # "bounds", "race", "uninitialized", ...
    text: str  # all of it, for people
    kernel: str  # the function that the region stands in
    line: int  # of the region; 0: unknown
    team: int
    access: Access | None
    other: Access | None  # of a race: the earlier access


def guarded(name: str, function: Callable[..., Any], failure: Any = None) -> Any:
    """A C function that calls a Python one, of a type of CALLBACKS."""

    def run(*args: Any) -> Any:
        try:
            return function(*args)
        except BaseException as error:  # KeyboardInterrupt, too
            if not failed_callback(error):
                raise
            return failure

    return type_of(name)(run)


def text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")


def log_callback(log: Callable[[str], object] | None) -> Any:
    if log is None:
        return None

    def run(data: int | None, message: bytes | None) -> None:
        log(text(message))

    return guarded("ompjit_log_fn", run)


def _access(pointer: Any) -> Access | None:
    if not pointer:
        return None
    a = pointer.contents
    return Access(
        text(a.file),
        a.line,
        a.column,
        text(a.function),
        a.thread,
        bool(a.write),
        a.bytes,
    )


def check_callback(on_report: Callable[[Report], object] | None) -> Any:
    if on_report is None:
        return None

    def run(data: int | None, pointer: Any) -> None:
        r = pointer.contents
        kind = abi.name_of(abi.ompjit_check_kind, r.kind)
        on_report(
            Report(
                kind,
                text(r.text),
                text(r.kernel),
                r.kernel_line,
                r.team,
                _access(r.access),
                _access(r.other),
            )
        )

    return guarded("ompjit_check_fn", run)
