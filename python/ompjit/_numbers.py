# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's numbers as elements of arrays, and back."""
from __future__ import annotations

import struct
import sys

from . import TYPE_CHECKING
from ._dtype import (
    DType,
    bool_,
    complex128,
    dtype,
    float64,
    int64,
    result_type,
)
from ._errors import ArgumentError, RangeError

if TYPE_CHECKING:
    from typing import Any, Iterable, Sequence

    from ._array import ndarray
else:
    from ._typing import Any, Iterable, Sequence, ndarray


def pack(kind: DType, values: Sequence[Any]) -> bytes:
    """Numbers as elements; ArgumentError for one that does not fit."""
    try:
        if kind.kind == "c":
            parts: Iterable[Any] = (
                part
                for value in map(complex, values)
                for part in (value.real, value.imag)
            )
            return struct.pack(f"={2 * len(values)}{kind.format[1]}", *parts)
        if kind.kind == "b":
            values = [bool(value) for value in values]
        elif kind.kind in "iu":
            values = [_integer(value) for value in values]
        return struct.pack(f"{len(values)}{kind.format}", *values)
    except (struct.error, TypeError, OverflowError) as error:
        for value in values:
            if not _fits(kind, value):
                number = isinstance(value, (int, float, complex))
                error_type = RangeError if number else ArgumentError
                raise error_type(f"{value!r} is no {kind}") from None
        raise ArgumentError(f"not {kind}: {error}") from None


def _integer(value: Any) -> Any:
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def _fits(kind: DType, value: Any) -> bool:
    try:
        pack(kind, [value]) if kind.kind in "bc" else struct.pack(
            kind.format, _integer(value)
        )
    except (struct.error, TypeError, OverflowError, ArgumentError):
        return False
    return True


def unpack(kind: DType, data: bytes) -> tuple[Any, ...]:
    """Elements as Python's numbers."""
    count = len(data) // kind.itemsize
    if kind.kind != "c":
        return struct.unpack(f"{count}{kind.format}", data)
    parts = struct.unpack(f"={2 * count}{kind.format[1]}", data)
    return tuple(map(complex, parts[::2], parts[1::2]))


def type_of_number(value: object) -> DType | None:
    """The type that numpy gives to a Python number; None: it is none. A number
    of numpy's has its own."""
    if isinstance(value, (bool, int, float, complex)):
        numpy_type = getattr(value, "dtype", None)  # numpy.float64 is a float
        return dtype(numpy_type or type(value))
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        return dtype(value.dtype)
    return None


def flatten(values: Any) -> tuple[list[Any], tuple[int, ...]]:
    """Nested sequences as one list, and their shape."""
    if not isinstance(values, (list, tuple, range)):
        return [values], ()
    if not values:
        return [], (0,)
    flat: list[Any] = []
    shapes = set()
    for value in values:
        more, shape = flatten(value)
        flat += more
        shapes.add(shape)
    if len(shapes) != 1:
        raise ArgumentError("nested lists of different lengths")
    return flat, (len(values), *shapes.pop())


def common_type(values: Sequence[Any]) -> DType:
    """The type for a list of numbers."""
    kinds = set()
    for value in values:
        kind = type_of_number(value)
        if kind is None:
            raise ArgumentError(f"a {type(value).__name__} is no number")
        kinds.add(kind)
    return result_type(*kinds) if kinds else float64


def render(array: ndarray, prefix: str = "") -> str:
    """The elements as text, shortened where there are many; behind `prefix`."""
    if "numpy" in sys.modules:
        import numpy

        return str(
            numpy.array2string(
                numpy.asarray(array), separator=", ", prefix=prefix
            )
        )
    if array.size > 1000:
        return f"<{array.size} elements of shape {array.shape}>"
    return str(array.tolist())


__all__ = [
    "bool_",
    "common_type",
    "complex128",
    "flatten",
    "int64",
    "pack",
    "render",
    "type_of_number",
    "unpack",
]
