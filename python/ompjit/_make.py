# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Making arrays on a device."""
from __future__ import annotations

import ctypes

from . import TYPE_CHECKING, _host
from ._array import bytes_of, ndarray, shape_of
from ._device import Device, chosen
from ._dtype import DType, dtype as dtype_of, float64
from ._errors import ArgumentError
from ._interface import layout
from ._lib import call

if TYPE_CHECKING:
    from typing import Any

    from ._array import Shape
else:
    from ._typing import Any, Shape


def empty(
    shape: Shape,
    dtype: object = float64,
    order: str = "C",
    device: Device | None = None,
) -> ndarray:
    """An array whose elements are not set.

    Args:
        shape: a length, or one for each dimension.
        dtype: of the elements; float64.
        order: "C" or "F", Fortran's.
        device: Default: the current one.
    """
    lengths, kind = shape_of(shape), dtype_of(dtype)
    where = chosen(device)
    if not isinstance(order, str) or order not in ("C", "F"):
        raise ArgumentError(f"order is {order!r}; it is 'C' or 'F'")
    strides = _host.c_strides if order == "C" else _host.f_strides
    memory = where.alloc(bytes_of(lengths, kind))
    return ndarray(
        where,
        memory.address,
        lengths,
        strides(lengths, kind.itemsize),
        kind,
        memory,
    )


def full(
    shape: Shape,
    value: Any,
    dtype: object = None,
    order: str = "C",
    device: Device | None = None,
) -> ndarray:
    """An array whose elements are all one number. Without a dtype they are of
    the number's type."""
    from ._numbers import type_of_number

    kind = type_of_number(value) if dtype is None else dtype_of(dtype)
    if kind is None:
        raise ArgumentError(f"a {type(value).__name__} is no number")
    made = empty(shape, kind, order, device)
    made.set(value)
    return made


def zeros(
    shape: Shape,
    dtype: object = float64,
    order: str = "C",
    device: Device | None = None,
) -> ndarray:
    """An array of zeros."""
    return full(shape, 0, dtype, order, device)


def ones(
    shape: Shape,
    dtype: object = float64,
    order: str = "C",
    device: Device | None = None,
) -> ndarray:
    """An array of ones."""
    return full(shape, 1, dtype, order, device)


def empty_like(like: Any, dtype: object = None) -> ndarray:
    """An array of the shape, and unless a dtype is given of the type, of
    another one. It is on the same device where that is ompjit's, else on the
    current one."""
    try:
        shape = tuple(like.shape)
        kind = like.dtype if dtype is None else dtype
    except (AttributeError, TypeError, ValueError):
        raise ArgumentError(f"a {type(like).__name__} is no array") from None
    where = like.device if isinstance(like, ndarray) else None
    return empty(shape, kind, device=where)


def zeros_like(like: Any, dtype: object = None) -> ndarray:
    """As empty_like, of zeros."""
    made = empty_like(like, dtype)
    made.set(0)
    return made


def array(
    value: Any,
    dtype: object = None,
    order: str | None = None,
    device: Device | None = None,
) -> ndarray:
    """A new array on a device with a copy of the elements of another.

    Args:
        value: an array of any library, in host or device memory: the buffer
            protocol, __array_interface__, __cuda_array_interface__ or DLPack;
            or a number; or numbers in nested lists.
        dtype: of the new array. Default: that of `value`.
        order: "C" or "F". Default: "F" where `value` is in Fortran's order
            only, else "C".
        device: Default: that of an ompjit array, else the current one.
    """
    source = _source(value, device, dtype)
    kind = source.dtype if dtype is None else dtype_of(dtype)
    if order is None:
        fortran = isinstance(source, (ndarray, _host.HostView)) and not (
            _host.is_packed(source.shape, source.strides, source.dtype.itemsize)
        )
        reverse = source.shape[::-1], source.strides[::-1]
        fortran = fortran and _host.is_packed(*reverse, source.dtype.itemsize)
        order = "F" if fortran else "C"
    if device is None and isinstance(source, ndarray):
        device = source.device
    made = empty(source.shape, kind, order, device)
    from ._assign import assign

    assign(made, source)
    return made


def unpickled(shape: tuple[int, ...], kind: DType, data: bytes) -> ndarray:
    """An array of those elements on the current device."""
    made = empty(shape, kind)
    made.set(_from_bytes(shape, kind, data))
    return made


def asarray(
    value: Any, dtype: object = None, device: Device | None = None
) -> ndarray:
    """The array itself where it is on the device already and of that type:
    an ompjit array, one that is in the GPU's memory, or, where the device is
    the host, an array in host memory (numpy's), of which this is a view. Else a
    copy, as ompjit.array makes it."""
    where = device
    if isinstance(value, ndarray):
        where = value.device if where is None else chosen(where)
    else:
        where = chosen(where)
    source = _source(value, where, dtype)
    if isinstance(source, _host.HostView) and where.is_host:
        source = view_host(source, where)
    same = isinstance(source, ndarray) and source.device == where
    if same and (dtype is None or dtype_of(dtype) is source.dtype):
        assert isinstance(source, ndarray)
        return source
    return array(source, dtype, None, where)


def view_host(host: _host.HostView, device: Device) -> ndarray:
    """An array in host memory as one of the host device."""
    return ndarray(
        device,
        host.address,
        host.shape,
        host.strides,
        host.dtype,
        host,
        host.readonly,
    )


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: object = None,
    device: Device | None = None,
) -> ndarray:
    """Numbers from start to below stop, as numpy.arange."""
    from ._numbers import common_type

    if stop is None:
        start, stop = 0, start
    kind = dtype_of(dtype) if dtype else common_type([start, stop, step])
    if not step:
        raise ArgumentError("step is 0")
    count = max(0, -int(-((stop - start) / step) // 1))
    made = empty(count, kind, device=device)
    from ._assign import progression

    progression(made, start, step)
    return made


def from_dlpack(value: Any, device: Device | None = None) -> ndarray:
    """A view of another library's array, through DLPack: on the current
    context's device that its memory belongs to."""
    from ._dlpack import take

    return take(value, device)


def _source(
    value: Any, device: Device | None, dtype: object
) -> ndarray | _host.HostView:
    """What a caller has passed, as an array of the host or of a device."""
    if isinstance(value, (ndarray, _host.HostView)):
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    if isinstance(interface, dict):
        return _from_cuda(value, interface, device)
    host = None if isinstance(value, (list, tuple)) else _host.view(value)
    if host is not None:
        return host
    if _host.lends(value):
        from ._dlpack import source

        return source(value, device)
    if not isinstance(value, (list, tuple)) and hasattr(value, "__array__"):
        return _from_array_method(value)
    return _from_numbers(value, dtype)


def _from_array_method(value: Any) -> _host.HostView:
    """What an object, such as a column of pandas, gives as numpy's array. It
    may be a copy, so it is only read."""
    import numpy

    host = _host.view(numpy.asarray(value))
    if host is None:
        raise ArgumentError(f"a {type(value).__name__} is no array of numbers")
    host.readonly = True
    return host


def _from_numbers(value: Any, dtype: object) -> _host.HostView:
    from ._numbers import common_type, flatten, pack

    if isinstance(value, (list, tuple)) and any(
        hasattr(one, "__array_interface__") for one in value[:1]
    ):
        raise ArgumentError("a list of arrays; numpy.stack() makes one of it")
    flat, shape = flatten(value)
    kind: DType = common_type(flat) if dtype is None else dtype_of(dtype)
    return _from_bytes(shape, kind, pack(kind, flat))


def _from_bytes(
    shape: tuple[int, ...], kind: DType, data: bytes
) -> _host.HostView:
    buffer = ctypes.create_string_buffer(data, max(len(data), 1))
    return _host.HostView(
        ctypes.addressof(buffer),
        shape,
        _host.c_strides(shape, kind.itemsize),
        kind,
        True,
        buffer,
    )


def _from_cuda(
    value: Any, interface: dict[str, Any], device: Device | None
) -> ndarray:
    where = chosen(device)
    if where.is_host:
        raise ArgumentError(
            f"the {type(value).__name__} is in a GPU's memory, and "
            f"{where!r} cannot read it"
        )
    found = layout(value, "__cuda_array_interface__", interface)
    if interface.get("stream") is not None:
        _wait(where, interface["stream"])
    return ndarray(
        where,
        found.address,
        found.shape,
        found.strides,
        found.dtype,
        value,
        found.readonly,
    )


def _wait(device: Device, stream: int) -> None:
    """Waits for what another library has put into a CUDA stream."""
    from ._queue import Queue

    queue = Queue.adopt(stream, device)
    call("queue_wait", queue.address)
