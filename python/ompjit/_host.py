# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in host memory, of other libraries: where they are and what they are.

`view(obj)` reads the buffer protocol (numpy arrays, array.array, bytes, mmap,
memoryview), `__array_interface__` or DLPack.
"""
from __future__ import annotations

import ctypes
import itertools
import operator
import sys
from ctypes import byref, c_char_p, c_int, c_ssize_t, c_void_p, py_object

from . import TYPE_CHECKING
from ._dtype import _ORDER, DType, dtype, unknown
from ._errors import ArgumentError
from ._handle import Handle, raw
from ._interface import Layout, c_strides as c_strides, layout

if TYPE_CHECKING:
    from typing import Any, Iterator, Protocol

    class Strided(Protocol):
        """An array in host memory, of whatever class."""

        address: int
        shape: tuple[int, ...]
        strides: tuple[int, ...]
        dtype: DType
else:
    from ._typing import Any, Iterator

    Strided = Any


class _Buffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = [
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", ctypes.POINTER(c_ssize_t)),
        ("strides", ctypes.POINTER(c_ssize_t)),
        ("suboffsets", ctypes.POINTER(c_ssize_t)),
        ("internal", c_void_p),
    ]


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = (py_object, ctypes.POINTER(_Buffer), c_int)
_get.restype = c_int
_release = raw(
    ctypes.PYFUNCTYPE(None, ctypes.POINTER(_Buffer)),
    ctypes.pythonapi.PyBuffer_Release,
)
_STRIDED_WITH_FORMAT = 0x18 | 0x4  # PyBUF_STRIDES | PyBUF_FORMAT


class HostView(Layout):
    """An array in host memory. Its owner does not move it as long as this
    lives.

    Attributes:
        address: of the first element.
        shape, strides: strides in bytes.
        dtype: of its elements.
        readonly: whether nothing may be written.
    """

    __slots__ = ("_owner",)

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: DType,
        readonly: bool,
        owner: object,
    ) -> None:
        super().__init__(address, shape, strides, dtype, readonly)
        self._owner = owner

    @property
    def nbytes(self) -> int:
        size = self.dtype.itemsize
        for n in self.shape:
            size *= n
        return size


def f_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of a Fortran-contiguous array."""
    return c_strides(shape[::-1], itemsize)[::-1]


def is_packed(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> bool:
    """Whether the elements lie behind each other in C's order."""
    step = itemsize
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n == 0:
            return True
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def _element(obj: object, buffer: _Buffer) -> DType:
    """The type of a buffer's elements. Errors name numpy's dtype. A date of
    numpy's has its bytes as a buffer."""
    kind = getattr(obj, "dtype", None)
    if getattr(kind, "kind", None) in ("M", "m"):
        raise unknown(kind)
    try:
        return _format(buffer.format or b"B", buffer.itemsize)
    except ArgumentError:
        raise unknown(getattr(obj, "dtype", buffer.format)) from None


def _format(text: bytes, itemsize: int) -> DType:
    name = text.decode("ascii", "replace").lstrip("@=^" + _ORDER)
    if name in ("l", "L", "q", "Q", "n", "N", "i", "I"):
        kind = "i" if name.islower() else "u"
        return dtype(kind + str(itemsize))
    if name == "c":
        return dtype("u1")
    return dtype(name)


def is_plain(cls: type) -> bool:
    """Whether arrays of a class are all that their memory is: numpy's masked
    arrays have a mask beside it."""
    ma = sys.modules.get("numpy.ma")
    return ma is None or not issubclass(cls, ma.MaskedArray)


def check_plain(obj: object) -> None:
    """ArgumentError for an array that is not."""
    if not is_plain(type(obj)):
        raise ArgumentError(
            "the mask of a numpy.ma.MaskedArray would be lost; pass its "
            ".filled(value), or .data, which has the masked elements, too"
        )


def held_buffer(obj: object) -> tuple[_Buffer, Handle]:
    """An object's buffer, and what releases it in the end."""
    buffer = _Buffer()
    owner = Handle(_release, place=buffer)
    _get(obj, byref(buffer), _STRIDED_WITH_FORMAT)
    return buffer, owner


def _from_buffer(obj: object) -> HostView | None:
    try:
        buffer, owner = held_buffer(obj)
    except (TypeError, BufferError, ValueError):
        return None
    ndim = buffer.ndim
    shape = tuple(buffer.shape[:ndim]) if ndim else ()
    strides = buffer.strides  # arrays of ctypes have none
    return HostView(
        buffer.buf or 0,
        shape,
        tuple(strides[:ndim]) if strides else c_strides(shape, buffer.itemsize),
        _element(obj, buffer),
        bool(buffer.readonly),
        owner,
    )


def _from_interface(obj: object, interface: dict[str, Any]) -> HostView:
    # Some make the memory only for the interface, which then owns it.
    found = layout(obj, "__array_interface__", interface)
    return HostView(
        found.address,
        found.shape,
        found.strides,
        found.dtype,
        found.readonly,
        (obj, interface),
    )


def lends(obj: object) -> bool:
    """Whether it is an array that DLPack can lend."""
    return hasattr(obj, "__dlpack__") and not isinstance(obj, type)


def view(obj: object) -> HostView | None:
    """The array in host memory that an object is; None: it is none.
    ArgumentError where its elements are none of a kernel's."""
    check_plain(obj)
    found = _from_buffer(obj)
    if found is None:
        interface = getattr(obj, "__array_interface__", None)
        if isinstance(interface, dict):
            found = _from_interface(obj, interface)
    if found is None and lends(obj):
        from ._dlpack import on_host

        found = on_host(obj)
    return found


def packed_bytes(host: Strided) -> bytes:
    """The elements in C's order, copied."""
    out = bytearray()
    for address, size in runs(host.address, host.shape, host.strides, host.dtype):
        out += ctypes.string_at(address, size)
    return bytes(out)


def runs(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], kind: DType
) -> Iterator[tuple[int, int]]:
    """Address and bytes of each contiguous run, in C's order."""
    if 0 in shape:
        return
    size, inner = kind.itemsize, len(shape)
    while inner and (strides[inner - 1] == size or shape[inner - 1] == 1):
        inner -= 1
        size *= shape[inner]
    places = [range(n) for n in shape[:inner]]
    for index in itertools.product(*places):
        yield address + sum(map(operator.mul, index, strides)), size


def write(host: HostView, data: bytes) -> None:
    """Sets all elements, from bytes in C's order."""
    whole = ctypes.create_string_buffer(data, max(len(data), 1))
    place = ctypes.addressof(whole)
    for address, size in runs(host.address, host.shape, host.strides, host.dtype):
        ctypes.memmove(address, place, size)
        place += size
