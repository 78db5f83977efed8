# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements copied into an array of a device, from anywhere.

Bytes that lie as they shall are copied as they are; a GPU's elements in any
other order, of another type, or broadcast, are one kernel.
"""
from __future__ import annotations

import ctypes
from ctypes import c_int, c_size_t, c_void_p

from . import TYPE_CHECKING, _host
from ._array import ndarray
from ._device import Device
from ._errors import ArgumentError, DeviceError
from ._host import HostView
from ._lib import call, library
from ._make import _source, view_host
from ._numbers import pack, type_of_number

if TYPE_CHECKING:
    from typing import Any
else:
    from ._typing import Any


def assign(to: ndarray, value: Any) -> None:
    """Copies a number, or an array that broadcasts to the shape."""
    if type_of_number(value) is not None and not hasattr(value, "shape"):
        fill(to, value)
        return
    source = _source(value, to.device, None)
    _check(to, source)
    if not to.size:
        return
    if isinstance(source, ndarray) and source.device != to.device:
        source = _moved(source, to.device)
    if isinstance(source, HostView):
        if to.device.is_host:
            source = view_host(source, to.device)
        elif _same_bytes(to, source):
            call(
                "device_upload",
                to.device.address,
                to.address,
                source.address,
                to.nbytes,
            )
            return
        else:
            source = _uploaded(source, to.device)
    if _same_bytes(to, source):
        copy_bytes(to.device, to.address, source.address, to.nbytes)
    else:
        from ._expression import copy_elements

        copy_elements(to, source)


def _check(to: ndarray, source: ndarray | HostView) -> None:
    extra = len(source.shape) - to.ndim
    shape = source.shape[max(extra, 0) :]
    fits = all(n == 1 for n in source.shape[: max(extra, 0)]) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(to.shape))
    )
    if not fits:
        raise ArgumentError(
            f"an array of shape {source.shape} does not fit into {to.shape}"
        )
    if source.dtype.is_complex and not to.dtype.is_complex:
        raise ArgumentError(f"{source.dtype} does not become {to.dtype}")


def _same_bytes(to: ndarray, source: ndarray | HostView) -> bool:
    """Whether the bytes of one are those of the other."""
    if to.dtype is not source.dtype or to.shape != source.shape:
        return False
    size, shape = to.itemsize, to.shape
    if _host.is_packed(shape, to.strides, size):
        return _host.is_packed(shape, source.strides, size)
    back = shape[::-1]
    return _host.is_packed(back, to.strides[::-1], size) and _host.is_packed(
        back, source.strides[::-1], size
    )


def copy_bytes(device: Device, to: int, source: int, size: int) -> None:
    """Copies within a device, and waits."""
    if device.is_host:
        ctypes.memmove(to, source, size)
    else:
        _memcpy(device, to, source, size, device.number, device.number)


def _memcpy(
    device: Device, to: int, source: int, size: int, dst: int, src: int
) -> None:
    """omp_target_memcpy, between devices of a context."""
    address = library().process_function(b"omp_target_memcpy")
    kind = ctypes.CFUNCTYPE(
        c_int,
        *(c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_size_t),
        *(c_int, c_int),
    )
    ctx = device.context
    if kind(address)(ctx.address, to, source, size, 0, 0, dst, src):
        call("context_failure", ctx.address)
        raise DeviceError(f"{size} bytes could not be copied on {device!r}")


def _uploaded(host: HostView, device: Device) -> ndarray:
    """A packed copy on the device."""
    from ._make import empty

    made = empty(host.shape, host.dtype, device=device)
    data = _host.packed_bytes(host)
    call("device_upload", device.address, made.address, data, len(data))
    return made


def _moved(source: ndarray, device: Device) -> ndarray:
    """A packed copy on another device."""
    from ._make import empty

    packed = source if source.c_contiguous else source.copy()
    made = empty(source.shape, source.dtype, device=device)
    a, b = source.device, device
    if a.context is b.context:
        _memcpy(
            b, made.address, packed.address, made.nbytes, b.number, a.number
        )
        return made
    data = packed.tobytes()
    call("device_upload", b.address, made.address, data, len(data))
    return made


def fill(to: ndarray, value: Any) -> None:
    """Sets all elements to a number."""
    element = pack(to.dtype, [value])
    size = to.nbytes
    dense = to.c_contiguous or to.f_contiguous
    if not size:
        return
    if not dense:
        from ._expression import fill_elements

        fill_elements(to, value)
    elif len(set(element)) == 1:
        _memset(to.device, to.address, element[0], size)
    elif to.device.is_host and size <= 1 << 16:
        ctypes.memmove(to.address, element * to.size, size)
    else:
        from ._expression import fill_elements

        fill_elements(to, value)


def _memset(device: Device, to: int, byte: int, size: int) -> None:
    if device.is_host:
        ctypes.memset(to, byte, size)
        return
    address = library().process_function(b"omp_target_memset")
    kind = ctypes.CFUNCTYPE(
        c_void_p, c_void_p, c_void_p, c_int, c_size_t, c_int
    )
    ctx = device.context
    if not kind(address)(ctx.address, to, byte, size, device.number):
        call("context_failure", ctx.address)
        raise DeviceError(f"{size} bytes could not be set on {device!r}")


def progression(to: ndarray, start: Any, step: Any) -> None:
    """Elements start, start + step, ..."""
    from ._expression import elementwise

    if to.size:
        elementwise("y = start + i * step")(y=to, start=start, step=step)
