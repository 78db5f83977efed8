# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of expressions: arrays of a device, and numbers."""
from __future__ import annotations

from ctypes import addressof, c_char, memmove

from . import TYPE_CHECKING, _context, _device, _host
from ._array import ndarray
from ._device import Device, chosen
from ._dtype import DType, bool_, dtype, result_type
from ._emit import Kind
from ._errors import ArgumentError
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
        raise ArgumentError(f"{name} is read-only, and is written to")
    return found


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
