# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions of the package: one class for each kind of failure.

OmpjitError is the base of all. Where Python has a class for the same thing, an
exception is of that class too, so that `except ValueError` or `except
MemoryError` do what they say.
"""
from __future__ import annotations

import operator

from . import TYPE_CHECKING, _abi as abi

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from ._diagnostics import Diagnostic
else:
    from ._typing import Any, Diagnostic, TypeVar

_T = TypeVar("_T")


class OmpjitError(Exception):
    """A failure of the library or of this package.

    Attributes:
        text: what went wrong, in full; also str(error).
        status: the kind, as the C API has it: "source", "argument", ...
        stage: when it happened: "api", "frontend", "launch", ...
    """

    _status = "internal"

    def __init__(
        self, text: str = "", *, status: str = "", stage: str = "api"
    ) -> None:
        super().__init__(text)
        self.text = text
        self.status = status or self._status
        self.stage = stage

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.text, self.status, self.stage)


def _again(
    kind: type[OmpjitError], text: str, status: str, stage: str
) -> OmpjitError:
    return kind(text, status=status, stage=stage)


class CompileError(OmpjitError):
    """Source or IR that does not compile, assemble or link.

    str(error) is the compiler's own text, with excerpts and carets.

    Attributes:
        diagnostics: the compiler's messages, each with file, line, column,
            severity, message and excerpt.
        file, line, column, excerpt: those of the first error; "" and 0 where
            the compiler names no place.
    """

    _status = "source"

    @property
    def diagnostics(self) -> list[Diagnostic]:
        from ._diagnostics import parse

        return parse(self.text)

    def _repr_html_(self) -> str:
        from ._jupyter import error_html

        return error_html(self)

    def _first(self) -> Diagnostic:
        found = self.diagnostics
        for one in found:
            if "error" in one.severity:
                return one
        if found:
            return found[0]
        from ._diagnostics import Diagnostic

        return Diagnostic("", 0, 0, "error", "", "")

    @property
    def file(self) -> str:
        return self._first().file

    @property
    def line(self) -> int:
        return self._first().line

    @property
    def column(self) -> int:
        return self._first().column

    @property
    def excerpt(self) -> str:
        return self._first().excerpt


class ArgumentError(OmpjitError, TypeError, ValueError):
    """An argument of a wrong type, shape or value. Nothing was run."""

    _status = "argument"


class RangeError(ArgumentError, OverflowError):
    """A number that its type does not have. Nothing was run."""


class LaunchError(OmpjitError):
    """A launch that the kernel or the device cannot do."""

    _status = "geometry"


class MappingError(OmpjitError):
    """Data mapping that cannot be done."""

    _status = "mapping"


class DeviceError(OmpjitError):
    """A kernel, or a function's own code, that failed while it ran, or a
    refusal of the GPU's driver."""

    _status = "device"


class OutOfMemory(OmpjitError, MemoryError):
    """Memory of the host or of a device ran out."""

    _status = "no_memory"


class NotFound(OmpjitError, LookupError):
    """No such function, kernel or device; the text lists those there are."""

    _status = "not_found"


class NotAvailable(OmpjitError):
    """A library, program or device that is not there, or something that this
    device cannot do."""

    _status = "unavailable"


class TimeLimit(OmpjitError, TimeoutError):
    """A time limit passed."""

    _status = "timeout"


class CompileTimeout(TimeLimit, CompileError):
    """A compile that took longer than its time limit."""

    _status = "timeout"


class LaunchTimeout(TimeLimit):
    """A kernel that ran longer than its time limit, and was stopped."""

    _status = "timeout"


class Aborted(OmpjitError):
    """A launch that was aborted."""

    _status = "aborted"


class Cancelled(Aborted):
    """A compile that was cancelled."""

    _status = "aborted"


class FileError(OmpjitError):
    """A file that cannot be read or written."""

    _status = "io"


class InternalError(OmpjitError):
    """A defect of the library; please report it."""

    _status = "internal"


_CLASSES: dict[str, type[OmpjitError]] = {
    "invalid": ArgumentError,
    "no_memory": OutOfMemory,
    "source": CompileError,
    "ir": CompileError,
    "abi": CompileError,
    "not_found": NotFound,
    "argument": ArgumentError,
    "geometry": LaunchError,
    "target": ArgumentError,
    "compile": CompileError,
    "assemble": CompileError,
    "link": CompileError,
    "unavailable": NotAvailable,
    "driver": DeviceError,
    "mapping": MappingError,
    "device": DeviceError,
    "timeout": CompileTimeout,
    "io": FileError,
    "internal": InternalError,
    "aborted": Cancelled,
}
_RUNNING = {"launch": {"timeout": LaunchTimeout, "aborted": Aborted}}


def expect(kind: type[_T], name: str, value: Any) -> _T:
    """The value; ArgumentError where it is of another class. Addresses of C
    objects are taken of nothing that has not been here."""
    if isinstance(value, kind):
        return value
    raise ArgumentError(
        f"{name} is a {type(value).__name__}; it is an ompjit.{kind.__name__}"
    )


def integers(name: str, value: Any) -> tuple[int, ...]:
    """One whole number, or several; ArgumentError where it is neither."""
    try:
        return (operator.index(value),)
    except TypeError:
        pass
    try:
        return tuple(operator.index(one) for one in value)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{name} is {_shown(value)}; it is a whole number, or several"
        ) from None


def unsigned(name: str, value: Any, bits: int = 32) -> int:
    """A number from 0 on that has so many bits at most; ArgumentError where it
    is none. ctypes would take it modulo 2**bits."""
    given = integers(name, value)
    if len(given) != 1 or not 0 <= given[0] < 1 << bits:
        raise ArgumentError(
            f"{name} is {_shown(value)}; it is a whole number from 0 to "
            f"2**{bits} - 1"
        )
    return given[0]


def string(name: str, value: Any) -> str:
    """A text; ArgumentError where it is none."""
    if isinstance(value, str):
        return value
    raise ArgumentError(f"{name} is {_shown(value)}; it is a text")


def _shown(value: Any) -> str:
    """A number or a text itself, of anything else the class."""
    if isinstance(value, (int, float, complex, str)) or value is None:
        return repr(value)
    return f"a {type(value).__name__}"


def utf8(name: str, value: Any) -> bytes:
    """A text as C takes it; ArgumentError where it is none."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name} is a {type(value).__name__}; it is a text")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{name}: {error}") from None


def from_parts(status: int, stage: int, text: str) -> OmpjitError:
    """The exception for a failure that C code describes so."""
    kind = abi.name_of(abi.ompjit_status, status)
    when = abi.name_of(abi.ompjit_stage, stage)
    cls = _RUNNING.get(when, {}).get(kind) or _CLASSES.get(kind, InternalError)
    return cls(text, status=kind, stage=when)


def from_error(error: abi.ompjit_error) -> OmpjitError:
    """The exception for an ompjit_error."""
    text = error.text.decode("utf-8", "replace")
    return from_parts(error.status, error.stage, text)
