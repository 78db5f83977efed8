# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLPack: arrays lent to other libraries, and taken from them, without a copy.

Structs are those of dlpack.h 1.1. Both kinds of capsules are made and taken:
"dltensor", and "dltensor_versioned", which can say that data is read-only.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import (
    CDLL,
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
    pythonapi,
)
from functools import lru_cache

from . import TYPE_CHECKING, _host
from ._array import ndarray
from ._device import Device, chosen, device as current_device
from ._dtype import DType, dtype
from ._errors import ArgumentError
from ._handle import Handle
from ._lib import library

if TYPE_CHECKING:
    from typing import Any, Union
else:
    from ._typing import Any, Union

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_KINDS = {code: kind for kind, code in _CODES.items()}
_READ_ONLY, _COPIED = 1, 2


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [
        ("tensor", _Tensor),
        ("manager", c_void_p),
        ("deleter", c_void_p),
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    ]


_OLD, _NEW = b"dltensor", b"dltensor_versioned"
_USED = {_OLD: b"used_dltensor", _NEW: b"used_dltensor_versioned"}
_STRUCTS: dict[bytes, Any] = {_OLD: _Managed, _NEW: _Versioned}

_new = pythonapi.PyCapsule_New
_new.argtypes, _new.restype = (c_void_p, c_char_p, c_void_p), py_object
_valid = pythonapi.PyCapsule_IsValid
_valid.argtypes, _valid.restype = (c_void_p, c_char_p), c_int
_pointer = pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (c_void_p, c_char_p), c_void_p
_rename = pythonapi.PyCapsule_SetName
_rename.argtypes, _rename.restype = (py_object, c_char_p), c_int

# ---------------------------------------------------------------- lending

# What is lent, by the address of its struct.
_lent: dict[int, object] = {}


def _delete(address: int) -> None:
    _lent.pop(address, None)


def _capsule_end(capsule: int) -> None:
    """Of a capsule that nobody has taken."""
    for name in (_OLD, _NEW):
        if _valid(capsule, name):
            _lent.pop(_pointer(capsule, name), None)


_DELETER = CFUNCTYPE(None, c_void_p)
_delete_c = _DELETER(_delete)
_capsule_end_c = PYFUNCTYPE(None, c_void_p)(_capsule_end)


def _ordinal(a: ndarray) -> int:
    """The number that CUDA gives to the GPU that has the array."""
    found = c_int()
    try:
        get = CDLL("libcuda.so.1").cuPointerGetAttribute
        failed = get(byref(found), 9, c_uint64(a.address))
    except (OSError, AttributeError):
        failed = True
    return a.device.number if failed else found.value


def device_of(a: ndarray) -> tuple[int, int]:
    """DLPack's type and number of the array's device."""
    return (CPU, 0) if a.device.is_host else (CUDA, _ordinal(a))


def export(
    a: ndarray,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A capsule for ndarray.__dlpack__. `stream` has no part: what was called
    without a queue is done."""
    copied = bool(copy)
    if dl_device is not None and tuple(dl_device) != device_of(a):
        if dl_device[0] != CPU or copy is False:
            raise BufferError(f"the array is not on the device {dl_device}")
        return _host_copy(a, max_version)
    if copied:
        a = a.copy()
    return _capsule(
        *_managed(a, device_of(a), a.address, max_version, copied, a)
    )


def _host_copy(a: ndarray, max_version: tuple[int, int] | None) -> Any:
    data = ctypes.create_string_buffer(max(a.nbytes, 1))
    a._download(ctypes.addressof(data))
    like = ndarray(
        a.device,
        0,
        a.shape,
        _host.c_strides(a.shape, a.itemsize),
        a.dtype,
        None,
    )
    address = ctypes.addressof(data)
    return _capsule(*_managed(like, (CPU, 0), address, max_version, True, data))


def _describe(
    t: Any, a: ndarray, device: tuple[int, int], address: int
) -> None:
    t.data = address
    t.device_type, t.device_id = device
    t.ndim = a.ndim
    t.code, t.bits, t.lanes = _CODES[a.dtype.kind], 8 * a.itemsize, 1
    steps = [s // a.itemsize for s in a.strides]
    t.shape = (c_int64 * max(a.ndim, 1))(*a.shape)
    t.strides = (c_int64 * max(a.ndim, 1))(*steps)


def _capsule(address: int, name: bytes) -> Any:
    return _new(address, name, ctypes.cast(_capsule_end_c, c_void_p))


def _managed(
    a: ndarray,
    device: tuple[int, int],
    address: int,
    max_version: tuple[int, int] | None,
    copied: bool,
    owner: object,
) -> tuple[int, bytes]:
    """The address of a struct that lends an array, and its capsule's name."""
    name = _NEW if max_version and max_version[0] >= 1 else _OLD
    if a.readonly and name is _OLD:
        raise BufferError("the array is read-only, which DLPack 1.0 can say")
    made = _STRUCTS[name]()
    _describe(made.tensor, a, device, address)
    made.deleter = ctypes.cast(_delete_c, c_void_p)
    if name is _NEW:
        made.major, made.minor = 1, 1
        made.flags = _READ_ONLY * a.readonly + _COPIED * copied
    here = ctypes.addressof(made)
    _lent[here] = made, owner
    return here, name


# ---------------------------------------------------------------- taking


def _ask(value: Any, place: tuple[int, int]) -> Any:
    """The capsule, of the newest version that the library knows."""
    is_negated = getattr(value, "is_neg", None)
    if callable(is_negated) and is_negated() is True:
        # PyTorch lends the memory of a view that is negated when it is read.
        raise ArgumentError(
            f"a {type(value).__name__} is the negative of its memory; "
            ".resolve_neg() is an array"
        )
    try:
        return _capsule_of(value, place)
    except MemoryError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"a {type(value).__name__} gives no array by DLPack: {error}"
        ) from error


def _capsule_of(value: Any, place: tuple[int, int]) -> Any:
    options: dict[str, Any] = {"max_version": (1, 1)}
    if place[0] != CPU:
        options["stream"] = 1  # CUDA's default stream
    try:
        return value.__dlpack__(**options)
    except TypeError:  # it knows no versions
        del options["max_version"]
        return value.__dlpack__(**options)


Taken = Union[ndarray, _host.HostView]


def _place(value: Any) -> tuple[int, int]:
    """DLPack's type and number of the device that has an array."""
    try:
        kind, number = value.__dlpack_device__()
        return int(kind), int(number)
    except Exception as error:
        raise ArgumentError(
            f"__dlpack_device__ of a {type(value).__name__} tells no device"
        ) from error


def on_host(value: Any) -> _host.HostView | None:
    """An array in host memory; None: it is in another memory."""
    if _place(value)[0] not in (CPU, CUDA_HOST):
        return None
    found = source(value, None)
    assert isinstance(found, _host.HostView)
    return found


def elsewhere(value: Any, device: Device | None) -> ndarray | None:
    """An array in the device's memory; None: it is in host memory."""
    if _place(value)[0] in (CPU, CUDA_HOST):
        return None
    found = source(value, device)
    assert isinstance(found, ndarray)
    return found


def source(value: Any, device: Device | None) -> Taken:
    """Another library's array: in host memory, or as a device's."""
    if not hasattr(value, "__dlpack__"):
        raise ArgumentError(f"a {type(value).__name__} has no __dlpack__")
    place = _place(value)
    where = chosen(device)
    if place[0] not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise ArgumentError(
            f"the {type(value).__name__} is on a device of DLPack's type "
            f"{place[0]}, which is not supported"
        )
    if place[0] in (CUDA, CUDA_MANAGED) and where.is_host:
        raise ArgumentError(
            f"the {type(value).__name__} is in a GPU's memory, and "
            f"{where!r} cannot read it"
        )
    capsule = _ask(value, place)
    for name in (_NEW, _OLD):
        if _valid(id(capsule), name):
            return _take(capsule, name, where)
    raise ArgumentError(f"{capsule!r} is no capsule of DLPack's")


def _take(capsule: Any, name: bytes, device: Device) -> Taken:
    address = _pointer(id(capsule), name)
    made = _STRUCTS[name].from_address(address)
    if name is _NEW and made.major != 1:
        raise ArgumentError(f"DLPack {made.major}.{made.minor} is not known")
    _rename(capsule, _USED[name])
    return _owned(address, name, device)


def _name(t: Any) -> str:
    """What another library calls the type of the elements."""
    known = {3: "opaque handles", 4: "bfloat16"}.get(t.code)
    if 7 <= t.code <= 14:
        known = "an 8-bit float"
    lanes = f" in {t.lanes} lanes" if t.lanes != 1 else ""
    return f"{known or f'DLPack type {t.code}'} with {t.bits} bits{lanes}"


def _owned(address: int, name: bytes, device: Device) -> Taken:
    """The array that a struct is, which is given back in the end."""
    made = _STRUCTS[name].from_address(address)
    give_back = _DELETER(made.deleter) if made.deleter else None
    owner = Handle(give_back, place=c_void_p(address))
    t = made.tensor
    if t.lanes != 1 or t.code not in _KINDS or t.bits % 8:
        raise ArgumentError(
            f"elements of {_name(t)} are no element type; convert them to "
            "float32, say"
        )
    kind: DType = dtype(f"{_KINDS[t.code]}{t.bits // 8}")
    shape = tuple(t.shape[: t.ndim])
    strides = (
        tuple(s * kind.itemsize for s in t.strides[: t.ndim])
        if t.strides
        else _host.c_strides(shape, kind.itemsize)
    )
    address = (t.data or 0) + t.byte_offset
    readonly = name is _NEW and bool(made.flags & _READ_ONLY)
    if t.device_type in (CPU, CUDA_HOST):
        return _host.HostView(address, shape, strides, kind, readonly, owner)
    return ndarray(device, address, shape, strides, kind, owner, readonly)


def take(value: Any, device: Device | None) -> ndarray:
    """What ompjit.from_dlpack returns."""
    where = chosen(device)
    found = source(value, where)
    if isinstance(found, ndarray):
        return found
    if not where.is_host:
        raise ArgumentError(
            f"the {type(value).__name__} is in host memory; "
            "ompjit.array() copies it to the device"
        )
    from ._make import view_host

    return view_host(found, where)


# ------------------------------------------------------------ C exchange API


def _lend(a: ndarray) -> int:
    return _managed(a, device_of(a), a.address, (1, 1), False, a)[0]


def _borrow(a: ndarray) -> int:
    """The address of a DLTensor that the array keeps."""
    t = a._tensor
    if t is None:
        t = _Tensor()
        _describe(t, a, device_of(a), a.address)
        a._tensor = t
    return ctypes.addressof(t)


def _of_address(address: int) -> ndarray:
    where = current_device()
    found = _owned(address, _NEW, where)
    if isinstance(found, ndarray):
        return found
    from ._make import array, view_host

    return view_host(found, where) if where.is_host else array(found)


def _made(address: int) -> int:
    """Lends a new array as the DLTensor at that address describes it."""
    from ._make import empty

    t = _Tensor.from_address(address)
    where = current_device()
    if (t.device_type == CPU) != where.is_host or t.code not in _KINDS:
        raise ArgumentError(f"no array of DLPack's kind {t.code} on {where!r}")
    kind = dtype(f"{_KINDS[t.code]}{t.bits // 8}")
    return _lend(empty(tuple(t.shape[: t.ndim]), kind, device=where))


@lru_cache(maxsize=None)
def exchange() -> Any:
    """The capsule of ndarray.__dlpack_c_exchange_api__, with a table of C
    functions. AttributeError where libompjit-python.so is not."""
    path = os.path.join(os.path.dirname(library().path), "libompjit-python.so")
    try:
        make = ctypes.PyDLL(path).ompjit_python_exchange
    except (OSError, AttributeError):
        raise AttributeError("__dlpack_c_exchange_api__") from None
    make.argtypes, make.restype = (py_object,) * 4, c_void_p
    table = make(_lend, _borrow, _of_address, _made)
    return _new(table, b"dlpack_exchange_api", None)
