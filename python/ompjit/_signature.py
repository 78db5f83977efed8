# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of C, and how Python's values become arguments of them.

A converter is called with a value, the place for it in the argument array, and a
list for what must live until the call returns. It returns how many bytes the
argument points to, UNKNOWN where that is not known, or raises ArgumentError.
"""
from __future__ import annotations

import ctypes
import math
import operator

from . import TYPE_CHECKING, _abi as abi, _host
from ._array import ndarray
from ._errors import ArgumentError, RangeError
from ._handle import Handle, ending
from ._interface import layout
from ._lib import call, failed_callback, library, type_of

if TYPE_CHECKING:
    from typing import Any, Callable, List
else:
    from ._typing import Any, Callable, List

Converter = Callable[[Any, Any, List[Any]], int]

kinds = abi.ompjit_type_kind
UNKNOWN = (1 << 64) - 1
_INVALID = abi.ompjit_status.INVALID


class CType:
    """A type: kind, bytes, text, and what it leads to."""

    __slots__ = ("pointer", "kind", "bytes", "text", "const", "count")

    def __init__(self, pointer: Any) -> None:
        found = pointer.contents
        self.pointer = pointer
        self.kind: int = found.kind
        self.bytes: int = found.bytes
        self.text: str = found.text.decode("utf-8", "replace")
        self.const = bool(found.flags & abi.ompjit_type_flags.CONST)
        self.count: int = found.count

    @property
    def target(self) -> CType:
        return CType(self.pointer.contents.target)

    def members(self) -> list[tuple[str, CType]]:
        """Names and types of parameters, or of a struct's members."""
        first = self.pointer.contents.members
        return [
            (first[i].name.decode(), CType(first[i].type))
            for i in range(self.count)
        ]

    def element(self) -> CType:
        """The type of the elements of what it points to."""
        found = self.target
        while found.kind == kinds.ARRAY:
            found = found.target
        return found

    def number(self) -> CType:
        """Of an enumeration its integer, of std::complex the number."""
        if self.kind == kinds.ENUM and self.pointer.contents.target:
            return self.target
        if self.kind == kinds.STRUCT and self.count == 1:
            only = self.members()[0][1]
            if only.kind == kinds.COMPLEX and only.bytes == self.bytes:
                return only
        return self


def _class(value: Any) -> str:
    kind = type(value)
    home = kind.__module__
    return kind.__name__ if home == "builtins" else f"{home}.{kind.__name__}"


# ---------------------------------------------------------------- numbers


def _integer(name: str, kind: CType) -> Converter:
    signed = kind.number().kind == kinds.SIGNED
    bits = 8 * kind.bytes
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - signed)) - 1

    def convert(value: Any, slot: Any, keep: list[Any]) -> int:
        try:
            number = operator.index(value)
        except TypeError:
            raise ArgumentError(
                f"{name} is a {_class(value)}; it is an integer ({kind.text})"
            ) from None
        if not low <= number <= high:
            raise RangeError(
                f"{name} is {number}, which no {kind.text} can be: {low} to "
                f"{high}"
            )
        slot.u = number & UNKNOWN
        return UNKNOWN

    return convert


def _bool(name: str, kind: CType) -> Converter:
    def convert(value: Any, slot: Any, keep: list[Any]) -> int:
        if isinstance(value, (bool, int)) or hasattr(value, "dtype"):
            truth = bool(value)
            if truth == value:
                slot.u = truth
                return UNKNOWN
        raise ArgumentError(f"{name} is {value!r}; it is True or False")

    return convert


def _real(name: str, kind: CType, value: Any) -> float:
    if not isinstance(value, (str, bytes, bytearray)):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
        except OverflowError:
            raise RangeError(
                f"{name} is too large for a {kind.text}"
            ) from None
    raise ArgumentError(
        f"{name} is a {_class(value)}; it is a number ({kind.text})"
    )


def _float(name: str, kind: CType) -> Converter:
    def double(value: Any, slot: Any, keep: list[Any]) -> int:
        slot.f64 = value if type(value) is float else _real(name, kind, value)
        return UNKNOWN

    def single(value: Any, slot: Any, keep: list[Any]) -> int:
        number = value if type(value) is float else _real(name, kind, value)
        slot.f32 = number
        if math.isinf(slot.f32) and not math.isinf(number):
            raise RangeError(
                f"{name} is {number}, which is too large for a {kind.text}"
            )
        return UNKNOWN

    if kind.bytes == 4:
        return single
    if kind.bytes == 8:
        return double
    return _bytes_of(name, kind)


def _complex(name: str, kind: CType) -> Converter:
    part = ctypes.c_float if kind.bytes == 8 else ctypes.c_double

    def convert(value: Any, slot: Any, keep: list[Any]) -> int:
        try:
            number = complex(value)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"{name} is a {_class(value)}; it is a number ({kind.text})"
            ) from None
        place = (part * 2)(number.real, number.imag)
        keep.append(place)
        slot.p = ctypes.addressof(place)
        return UNKNOWN

    return convert


def _bytes_of(name: str, kind: CType) -> Converter:
    """A struct by value: a ctypes structure, or anything with so many bytes."""

    def convert(value: Any, slot: Any, keep: list[Any]) -> int:
        try:
            data = bytes(memoryview(value).cast("B"))
        except TypeError:
            data = b""
        if len(data) != kind.bytes:
            raise ArgumentError(
                f"{name} is a {_class(value)}; it is {kind.bytes} bytes "
                f"({kind.text}), as of a ctypes.Structure"
            )
        place = ctypes.create_string_buffer(data, len(data))
        keep.append(place)
        slot.p = ctypes.addressof(place)
        return UNKNOWN

    return convert


# --------------------------------------------------------------- pointers

_LETTERS = {
    kinds.BOOL: "b",
    kinds.SIGNED: "i",
    kinds.UNSIGNED: "u",
    kinds.FLOAT: "f",
    kinds.COMPLEX: "c",
}


def _fits(element: CType, letter: str, size: int) -> bool:
    """May elements be of this numpy kind and size?"""
    number = element.number()
    if number.kind in (kinds.VOID, kinds.UNKNOWN):
        return True
    if number.kind not in _LETTERS or size != number.bytes:
        return False
    return letter == _LETTERS[number.kind] or (size == 1 and letter in "biu")


def _host_array(
    name: str, element: CType, writes: bool, value: Any, keep: list[Any]
) -> tuple[int, int]:
    """Address and bytes of an array in host memory."""
    if element.number().kind in (kinds.STRUCT, kinds.UNION):
        return _structs(name, element, writes, value, keep)
    try:
        found = _host.view(value)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None
    if found is None:
        way = ""
        if hasattr(value, "__array__"):  # which need be no copy
            way = "; pass numpy.asarray() of it"
        elif isinstance(value, (list, tuple)):
            way = "; pass numpy.array() of it"
        raise ArgumentError(
            f"{name} is a {_class(value)}; it is an array of {element.text}, "
            f"or None{way}"
        )
    kind = found.dtype
    if not _fits(element, kind.kind, kind.itemsize):
        raise ArgumentError(
            f"{name} has elements of {kind.name}; the function takes "
            f"{element.text}"
        )
    if not _host.is_packed(found.shape, found.strides, kind.itemsize):
        raise ArgumentError(
            f"{name} is not contiguous (strides {found.strides}); pass a copy"
        )
    if writes and found.readonly:
        raise ArgumentError(
            f"{name} is read-only, and the function writes to it"
        )
    keep.append(found)
    return found.address, found.nbytes


def _structs(
    name: str, element: CType, writes: bool, value: Any, keep: list[Any]
) -> tuple[int, int]:
    try:
        _host.check_plain(value)
        view = memoryview(value)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None
    except TypeError:
        raise ArgumentError(
            f"{name} is a {_class(value)}; it is an array of {element.text}, "
            "or None"
        ) from None
    if element.bytes and view.itemsize not in (1, element.bytes):
        raise ArgumentError(
            f"{name} has elements of {view.itemsize} bytes; a {element.text} "
            f"has {element.bytes}"
        )
    if not view.c_contiguous:
        raise ArgumentError(f"{name} is not contiguous; pass a copy")
    if writes and view.readonly:
        raise ArgumentError(
            f"{name} is read-only, and the function writes to it"
        )
    buffer, owner = _host.held_buffer(value)
    keep.append(owner)
    return buffer.buf or 0, view.nbytes


_POINTERS = (ctypes.c_void_p, ctypes._Pointer)


def _on_a_gpu(value: Any) -> int:
    name = "__cuda_array_interface__"
    return layout(value, name, getattr(value, name)).address


def _lent(value: Any) -> Any:
    """The value, or the array that it is in a GPU's memory by DLPack."""
    if hasattr(value, "__array_interface__") or not _host.lends(value):
        return value
    from ._dlpack import elsewhere

    found = elsewhere(value, None)
    return value if found is None else found


def _pointer(name: str, kind: CType, mapped: int) -> Converter:
    element = kind.element()
    # Fortran's scalars: numbers are passed by the address of a copy.
    by_reference = kind.text == kind.target.text and (
        kind.target.kind != kinds.ARRAY
    )
    scalar = converter(name, element, 0) if by_reference else None
    writes = bool(mapped & abi.ompjit_mapped.FROM) or not (
        mapped or kind.target.const or element.const
    )
    text = element.bytes == 1 and element.const

    def convert(value: Any, slot: Any, keep: list[Any]) -> int:
        if value is None:
            slot.p = None
            return 0
        if scalar is not None and isinstance(value, (int, float, complex)):
            place = abi.ompjit_value()
            scalar(value, place, keep)
            keep.append(place)
            memory = element.number().kind == kinds.COMPLEX
            slot.p = place.p if memory else ctypes.addressof(place)
            return element.bytes
        if isinstance(value, str) and text:
            value = value.encode() + b"\0"
        if isinstance(value, int):
            raise ArgumentError(
                f"{name} is {value}; an address is passed as a "
                "ctypes.c_void_p, whose memory nobody checks"
            )
        if isinstance(value, _POINTERS):
            slot.p = ctypes.cast(value, ctypes.c_void_p).value
            keep.append(value)
            return UNKNOWN
        value = _lent(value)
        if isinstance(value, ndarray):
            if not value.device.is_host:
                if mapped:
                    raise ArgumentError(
                        f"{name} is on {value.device!r}, but the function maps "
                        "it; pass an array in host memory"
                    )
                keep.append(value)
                slot.p = value.address
                return value.nbytes
        elif not mapped and hasattr(value, "__cuda_array_interface__"):
            keep.append(value)
            slot.p = _on_a_gpu(value)
            return UNKNOWN
        slot.p, size = _host_array(name, element, writes, value, keep)
        return size

    return convert


# -------------------------------------------------------------- callbacks


class Callback:
    """A C function that calls a Python one; destroyed with this object."""

    __slots__ = ("_handle",)

    def __init__(self, kind: CType, function: Callable[..., Any]) -> None:
        target = kind.target
        result = target.target
        readers = [reader(one) for _, one in target.members()]
        write = (
            None
            if result.kind == kinds.VOID
            else converter("the callback's result", result, 0)
        )

        def run(data: Any, args: Any, out: Any, err: Any) -> int:
            try:
                value = function(*[read(args[i]) for i, read in
                                   enumerate(readers)])
                if write is not None:
                    write(value, out[0], [])
                return 0
            except BaseException as error:  # KeyboardInterrupt, too
                if not failed_callback(error):
                    raise
                return _INVALID

        called = type_of("ompjit_callback_fn")(run)
        self._handle = Handle(ending(library().callback_destroy), keep=called)
        call("callback_create", kind.pointer, called, None,
             self._handle.place)

    @property
    def address(self) -> int:
        return self._handle.address


_C_FUNCTION: Any = ctypes.CFUNCTYPE(None).__mro__[1]


def _function(name: str, kind: CType) -> Converter:
    def convert(value: Any, slot: Any, keep: list[Any]) -> int:
        if value is None:
            slot.f = None
            return 0
        if isinstance(value, _C_FUNCTION):
            slot.f = ctypes.cast(value, ctypes.c_void_p).value
            keep.append(value)
            return UNKNOWN
        if not callable(value):
            raise ArgumentError(
                f"{name} is a {_class(value)}; it is a function ({kind.text})"
            )
        made = Callback(kind, value)
        keep.append(made)
        slot.f = made.address
        return UNKNOWN

    return convert


# ------------------------------------------------------------------ types


def converter(name: str, kind: CType, mapped: int) -> Converter:
    """How a value becomes an argument of the type."""
    number = kind.number()
    if number.kind == kinds.POINTER:
        if kind.target.kind == kinds.FUNCTION:
            return _function(name, kind)
        return _pointer(name, kind, mapped)
    if number.kind == kinds.BOOL:
        return _bool(name, kind)
    if number.kind in (kinds.SIGNED, kinds.UNSIGNED) and number.bytes <= 8:
        return _integer(name, kind)
    if number.kind == kinds.FLOAT:
        return _float(name, kind)
    if number.kind == kinds.COMPLEX and number.bytes <= 16:
        return _complex(name, number)
    return _bytes_of(name, kind)


def reader(kind: CType) -> Callable[[Any], Any]:
    """How a value of the type becomes Python's."""
    number = kind.number()
    if number.kind == kinds.FLOAT and number.bytes == 8:
        return operator.attrgetter("f64")
    if number.kind == kinds.FLOAT and number.bytes == 4:
        return operator.attrgetter("f32")
    if number.kind == kinds.BOOL:
        return lambda value: bool(value.u)
    if number.kind == kinds.UNSIGNED:
        return operator.attrgetter("u")
    if number.kind == kinds.POINTER:
        return operator.attrgetter("p")
    return operator.attrgetter("i")
