# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device pointers of whatever a caller passes as an array."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p

from . import TYPE_CHECKING, _abi as abi, _host
from ._array import ndarray
from ._device import Device
from ._dtype import dtype
from ._errors import ArgumentError, NotFound, RangeError
from ._interface import layout
from ._lib import call

if TYPE_CHECKING:
    from typing import Any
else:
    from ._typing import Any


def _readonly(name: str) -> ArgumentError:
    return ArgumentError(
        f"{name} is read-only, and a kernel may write to what it gets; pass a "
        "copy"
    )


def _cuda_view(
    name: str, value: Any, interface: dict[str, Any]
) -> tuple[int, object]:
    stream = interface.get("stream")
    if stream is not None:
        raise ArgumentError(
            f"a {type(value).__name__} says that its stream {stream} has to be "
            "waited for; synchronize it first"
        )
    found = layout(value, "__cuda_array_interface__", interface)
    _check_packed(name, found, found.dtype.itemsize)
    return found.address, value


def _lent(value: Any, device: Device) -> ndarray | None:
    if not _host.lends(value):
        return None
    from ._dlpack import elsewhere

    return elsewhere(value, device)


def _check_packed(name: str, a: Any, size: int) -> None:
    """ArgumentError for an array with gaps: C finds its elements behind each
    other, in C's order or in Fortran's."""
    shape, strides = a.shape, a.strides
    if _host.is_packed(shape, strides, size):
        return
    if not _host.is_packed(shape[::-1], strides[::-1], size):
        raise ArgumentError(
            f"{name} has strides {strides}, and the kernel takes a pointer to "
            "elements that lie behind each other; pass a copy, or the address "
            "where the kernel knows the strides"
        )


def mapped(device: Device, host: int) -> int | None:
    """The device's counterpart of host memory that is mapped, or None."""
    found = c_void_p()
    try:
        call("device_mapped", device.address, host, byref(found))
    except NotFound:
        return None
    return found.value


def device_pointer(value: Any, device: Device, name: str) -> tuple[int, object]:
    """The address of an array on a device, and what must live as long as it is
    used. ArgumentError where the array is elsewhere."""
    if isinstance(value, ndarray):
        if value.device != device:
            raise ArgumentError(
                f"{name} is on {value.device!r}, and the kernel runs on "
                f"{device!r}"
            )
        if value.readonly:
            raise _readonly(name)
        _check_packed(name, value, value.itemsize)
        return value.address, value
    if value is None:
        return 0, None
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value < 1 << 64:
            raise ArgumentError(f"{name} is {value}, which is no address")
        return value, None
    if not device.is_host:
        interface = getattr(value, "__cuda_array_interface__", None)
        if isinstance(interface, dict):
            return _cuda_view(name, value, interface)
    try:
        host = _host.view(value)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None
    if host is None:
        lent = _lent(value, device)
        if lent is not None:
            return device_pointer(lent, device, name)
        raise ArgumentError(
            f"{name} is a {type(value).__name__}; the kernel takes a pointer: "
            "an ompjit array, or a host array where it runs on the host"
        )
    if host.readonly:
        raise _readonly(name)
    _check_packed(name, host, host.dtype.itemsize)
    here = device.is_host
    if not here or device.context.options.get("host_memory"):
        found = mapped(device, host.address)
        if found is not None:
            return found, value
        if not here:
            raise ArgumentError(
                f"{name} is in host memory, and the kernel runs on "
                f"{device!r}; pass ompjit.array({name}), or map it by "
                "ompjit.data()"
            )
    return host.address, host


_INTEGERS = {
    1: (abi.ompjit_arg_type.I8, "i8"),
    2: (abi.ompjit_arg_type.I16, "i16"),
    4: (abi.ompjit_arg_type.I32, "i32"),
    8: (abi.ompjit_arg_type.I64, "i64"),
}
_FLOATS = {
    4: (abi.ompjit_arg_type.F32, "f32"),
    8: (abi.ompjit_arg_type.F64, "f64"),
}


def scalar_kind(size: int, is_float: bool) -> tuple[int, str] | None:
    """The type of an argument, and the member of its value."""
    if is_float and size in _FLOATS:
        return _FLOATS[size]
    return _INTEGERS.get(size)


def scalar_value(value: Any, size: int, is_float: bool, name: str) -> Any:
    """A number as the member takes it; ArgumentError where it does not fit.
    A float16 and a complex64, which is an integer of 8 bytes to the kernel,
    are passed as their bits."""
    from ._numbers import pack

    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if is_float:
        if isinstance(value, (int, float)):
            if size == 2:
                return int.from_bytes(pack(dtype("f2"), [value]), "little")
            try:
                return float(value)
            except OverflowError:
                raise RangeError(
                    f"{name} is too large for a float{8 * size}"
                ) from None
        raise ArgumentError(f"{name} is {value!r}; it is a float{8 * size}")
    if isinstance(value, complex) and size == 8:
        return int.from_bytes(pack(dtype("c8"), [value]), "little", signed=True)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        raise ArgumentError(
            f"{name} is {value!r}; the kernel takes an integer of {size} bytes"
        )
    bits = 8 * size
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise RangeError(
            f"{name} is {value}, which has no place in {size} bytes"
        )
    return ctypes.c_int64(value).value if size == 8 else value
