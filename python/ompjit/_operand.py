# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of expressions: arrays of a device, and numbers."""
from __future__ import annotations

from ctypes import addressof, c_char, memmove

from . import TYPE_CHECKING, _context, _device, _host
from ._array import ndarray
from ._device import Device, chosen
from ._dtype import DType, bool_, dtype, result_type, uint64
from ._emit import Kind, is_whole
from ._errors import ArgumentError, RangeError
from ._make import _source, empty, view_host

if TYPE_CHECKING:
    from typing import Any, Iterable, NamedTuple, Sequence
else:
    from ._typing import Any, Iterable, NamedTuple, Sequence


class Number(NamedTuple):
    """A number: of Python's, which takes the type of what it meets, or of a
    type of its own."""

    value: Any
    kind: Kind


_WEAK = {int: "i", float: "f", complex: "c"}


def number(value: Any) -> Number | None:
    """A number, or None where the value is none."""
    kind = _WEAK.get(type(value))
    if kind is not None:
        return Number(value, kind)
    if isinstance(value, bool):
        return Number(value, bool_)
    if is_numpy_scalar(value):
        return Number(value.item(), dtype(value.dtype))
    for python, kind in _WEAK.items():
        if isinstance(value, python):
            return Number(python(value), kind)
    return None


def is_numpy_scalar(value: Any) -> bool:
    cls = type(value)
    return (
        cls.__module__ == "numpy"
        and cls.__name__ != "ndarray"
        and hasattr(value, "item")
        and getattr(value, "shape", None) == ()
    )


def weak_type(kinds: Iterable[Kind]) -> DType | None:
    """The type that weak values take beside these."""
    found = [kind for kind in kinds if isinstance(kind, DType)]
    return result_type(*found) if found else None


def wide(values: list[Any]) -> list[Any]:
    """Gives Python's integers that no int64 can be the type of the arrays: a
    float's, or uint64."""
    if not any(_is_wide(v) for v in values):
        return values
    kinds: list[Kind] = [v.dtype for v in values if isinstance(v, ndarray)]
    kinds += [v.kind for v in values if isinstance(v, Number)]
    by = weak_type(kinds)
    return [_widened(v, by) if _is_wide(v) else v for v in values]


def _is_wide(value: Any) -> bool:
    return (
        isinstance(value, Number)
        and is_whole(value.kind)
        and not is_int64(value.value)
    )


def is_int64(value: int) -> bool:
    return -(1 << 63) <= value < 1 << 63


def _widened(value: Number, by: DType | None) -> Number:
    if by is not None and by.kind in "fc":
        try:
            return Number(float(value.value), "f")
        except OverflowError:
            raise RangeError(f"{value.value} is no {by}") from None
    if by is uint64 and 0 <= value.value < 1 << 64:
        return Number(value.value, uint64)
    return value


def device_of(values: Sequence[Any], device: Device | None) -> Device:
    """The device that arguments are on."""
    found = device
    for value in values:
        if isinstance(value, ndarray):
            if found is None:
                found = value.device
            elif found != value.device:
                raise ArgumentError(
                    f"an array is on {value.device!r}, and the expression "
                    f"runs on {found!r}"
                )
    return chosen(found)


def array(value: Any, device: Device, name: str, written: bool) -> ndarray:
    """An array on the device: the value itself, a view of it, or a copy, which
    give_back() copies back."""
    if isinstance(value, ndarray):
        found = value
    else:
        try:
            source = _source(value, device, None)
        except ArgumentError as error:
            raise ArgumentError(f"{name}: {error}") from None
        if isinstance(source, ndarray):
            found = source
        elif device.is_host:
            found = view_host(source, device)
        else:
            found = empty(source.shape, source.dtype, device=device)
            found.set(source)
            found.readonly = source.readonly
    if written and found.readonly:
        raise ArgumentError(f"{name} {_unwritable(value)}")
    return found


def _unwritable(value: Any) -> str:
    """Why nothing can be written to what is read-only."""
    if isinstance(value, ndarray) or _host.view(value) is not None:
        return "is read-only, and is written to"
    return f"is a {type(value).__name__}, which cannot be written to; pass an array"


def give_back(given: Any, found: ndarray) -> None:
    """Copies what was written to the host array that `found` is a copy of."""
    if isinstance(given, ndarray) or found.device.is_host:
        return
    host = _host.view(given)
    if host is not None:
        _host.write(host, found.tobytes())


def host_address(value: Any, written: bool, name: str) -> int:
    """The address of a numpy array's first element."""
    try:
        return addressof(c_char.from_buffer(value))
    except (TypeError, ValueError, BufferError):  # read-only, strided, empty
        host = _host.view(value)
        assert host is not None
        if written and host.readonly:
            raise ArgumentError(
                f"{name} is read-only, and is written to"
            ) from None
        return host.address


def element_strides(a: ndarray) -> tuple[int, ...] | None:
    """Strides in elements; None where they are no whole numbers of them."""
    size = a.dtype.itemsize
    if any(s % size for s, n in zip(a.strides, a.shape) if n > 1):
        return None
    return tuple(s // size for s in a.strides)


UNKNOWN = object()


def key_of(value: Any) -> Any:
    """What a plan depends on of an argument; UNKNOWN: a plan is not kept."""
    if value is None:
        return None
    if type(value) is ndarray:
        return value.dtype, value.shape, value.strides, value.device.address
    cls = type(value)
    if cls is int:
        return cls if is_int64(value) else UNKNOWN
    if cls in _WEAK or cls is bool:
        return cls
    if cls.__module__ == "numpy":
        if cls.__name__ == "ndarray":
            return value.dtype, value.shape, value.strides
        if is_numpy_scalar(value):
            return cls
    return UNKNOWN


def place_key() -> Any:
    """What a plan depends on beside its arguments: the current device and the
    current context; None: the defaults."""
    device, context = _device._current.get(), _context._current.get()
    if device is None and context is None:
        return None
    return device and device.address, context and id(context)


def packed(a: ndarray) -> ndarray:
    """A C-contiguous copy of an array whose strides are no whole numbers of
    elements, as those of numpy's records."""
    if not a.device.is_host:
        raise ArgumentError(f"an array on a GPU has strides {a.strides}")
    data = _host.packed_bytes(a)
    made = empty(a.shape, a.dtype, device=a.device)
    memmove(made.address, data, len(data))
    return made
