# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in the memory of a device."""
from __future__ import annotations

import ctypes
import operator

from . import TYPE_CHECKING, _host
from ._arithmetic import Arithmetic
from ._device import Device, Memory
from ._dtype import DType, dtype as dtype_of
from ._errors import ArgumentError, NotAvailable, expect, integers
from ._lib import call

if TYPE_CHECKING:
    from typing import Any, Iterator, Sequence, Union

    from ._queue import Queue
else:
    from ._typing import Any, Iterator, Queue, Sequence, Union

Shape = Union[int, Sequence[int]]


def shape_of(shape: Shape) -> tuple[int, ...]:
    """A shape as a tuple; ArgumentError where it is none."""
    found = integers("a shape", shape)
    if any(n < 0 for n in found):
        raise ArgumentError(f"a length of {found} is negative")
    return found


def bytes_of(shape: tuple[int, ...], kind: DType) -> int:
    size = kind.itemsize
    for n in shape:
        size *= n
    if size >= 1 << 62:
        raise ArgumentError(f"an array of shape {shape} has {size} bytes")
    return size


class _Exchange:
    """An attribute of the class, made when it is asked for."""

    def __get__(self, array: object, cls: type | None = None) -> Any:
        from ._dlpack import exchange

        return exchange()


class ndarray(Arithmetic):
    """An array in the memory of a device, of numbers of one type.

    ompjit.array(), empty(), zeros(), full() and asarray() make one. Slices,
    .T and .reshape() are views of the same memory. On the host device it is
    ordinary memory, and numpy.asarray(a) is a view of it.

    Attributes:
        shape: a length for each dimension.
        strides: bytes from one element to the next, for each dimension.
        dtype: of the elements.
        device: where it is.
        address: of the first element, on the device.
        readonly: whether nothing may write to it.
    """

    __slots__ = (
        "shape",
        "strides",
        "dtype",
        "device",
        "address",
        "readonly",
        "_memory",
        "_tensor",
        "__weakref__",
    )

    # Sorts before numpy's arrays in a binary operation.
    __array_priority__ = 1000

    def __init__(
        self,
        device: Device,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: DType,
        memory: object,
        readonly: bool = False,
    ) -> None:
        self.device = device
        self.address = address
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.readonly = readonly
        self._memory = memory  # what owns the elements
        self._tensor: Any = None  # DLPack's description, once asked for

    # ---------------------------------------------------------------- shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def c_contiguous(self) -> bool:
        """Whether the elements lie behind each other in C's order."""
        return _host.is_packed(self.shape, self.strides, self.itemsize)

    @property
    def f_contiguous(self) -> bool:
        """Whether they do in Fortran's order."""
        return _host.is_packed(
            self.shape[::-1], self.strides[::-1], self.itemsize
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def _view(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> ndarray:
        return ndarray(
            self.device,
            address,
            shape,
            strides,
            self.dtype,
            self._memory,
            self.readonly,
        )

    def __getitem__(self, key: Any) -> ndarray:
        """A view: integers, slices, `...` and None, as numpy has them."""
        keys = key if isinstance(key, tuple) else (key,)
        used = sum(k is not None and k is not Ellipsis for k in keys)
        if used > self.ndim:
            raise IndexError(
                f"{used} indices for an array of {self.ndim} dimensions"
            )
        if not any(k is Ellipsis for k in keys):
            keys = (*keys, Ellipsis)
        address, shape, strides, axis = self.address, [], [], 0
        for k in keys:
            if k is None:
                shape.append(1)
                strides.append(0)
                continue
            if k is Ellipsis:
                skip = self.ndim - used
                shape += self.shape[axis : axis + skip]
                strides += self.strides[axis : axis + skip]
                axis += skip
                used = self.ndim  # a second one stands for nothing
                continue
            n, stride = self.shape[axis], self.strides[axis]
            if isinstance(k, slice):
                start, stop, step = k.indices(n)
                length = len(range(start, stop, step))
                address += start * stride if length else 0
                shape.append(length)
                strides.append(step * stride)
            else:
                address += self._index(k, n, axis) * stride
            axis += 1
        return self._view(address, tuple(shape), tuple(strides))

    @staticmethod
    def _index(key: Any, n: int, axis: int) -> int:
        if isinstance(key, bool):
            raise IndexError("an index is an integer, a slice, ... or None")
        try:
            i = operator.index(key)
        except TypeError:
            raise IndexError(
                "an index is an integer, a slice, ... or None; arrays of "
                f"indices or masks are not supported ({key!r})"
            ) from None
        if not -n <= i < n:
            raise IndexError(f"index {i} of {n} elements in dimension {axis}")
        return i % n

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key].set(value)

    def __iter__(self) -> Iterator[ndarray]:
        return (self[i] for i in range(len(self)))

    @property
    def T(self) -> ndarray:
        """A view with the dimensions in reverse order."""
        return self.transpose()

    def transpose(self, *axes: int) -> ndarray:
        """A view with the dimensions in that order; reversed by default."""
        order = axes or tuple(reversed(range(self.ndim)))
        order = integers("axes", order[0] if len(order) == 1 else order)
        order = tuple(i + self.ndim if i < 0 else i for i in order)
        if sorted(order) != list(range(self.ndim)):
            raise ArgumentError(
                f"{axes} is no order of {self.ndim} dimensions"
            )
        return self._view(
            self.address,
            tuple(self.shape[i] for i in order),
            tuple(self.strides[i] for i in order),
        )

    def reshape(self, *shape: Any) -> ndarray:
        """The elements, in C's order, in another shape; one length can be -1.
        A view of a C-contiguous array, else of a copy."""
        given = shape[0] if len(shape) == 1 else shape
        wanted = list(integers("a shape", given))
        if wanted.count(-1) == 1:
            rest = 1
            for n in wanted:
                rest *= n if n != -1 else 1
            whole = self.size // rest if rest else 0
            wanted[wanted.index(-1)] = whole
        new = shape_of(wanted)
        count = 1
        for n in new:
            count *= n
        if count != self.size:
            raise ArgumentError(
                f"an array of shape {self.shape} has {self.size} elements; "
                f"shape {tuple(shape)} has not"
            )
        source = self if self.c_contiguous else self.copy()
        return source._view(
            source.address, new, _host.c_strides(new, self.itemsize)
        )

    def ravel(self) -> ndarray:
        """All elements in one dimension: a view where it can be."""
        return self.reshape(self.size)

    def view(self, dtype: object) -> ndarray:
        """The same bytes as elements of another type of the same size."""
        kind = dtype_of(dtype)
        if kind.itemsize != self.itemsize:
            raise ArgumentError(
                f"elements of {self.itemsize} bytes are not {kind}"
            )
        made = self._view(self.address, self.shape, self.strides)
        made.dtype = kind
        return made

    # --------------------------------------------------------------- copies

    def copy(self, device: Device | None = None) -> ndarray:
        """A C-contiguous copy, on the same device unless one is named."""
        from ._make import empty

        target = self.device if device is None else device
        made = empty(self.shape, self.dtype, device=target)
        made.set(self)
        return made

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: object) -> ndarray:
        return self.copy()

    def __reduce__(self) -> Any:
        """Pickled as its elements, which go to the current device."""
        from ._make import unpickled

        return unpickled, (self.shape, self.dtype, self.tobytes())

    def astype(self, dtype: object, copy: bool = True) -> ndarray:
        """The elements converted to another type."""
        kind = dtype_of(dtype)
        if kind is self.dtype:
            return self.copy() if copy else self
        from ._expression import convert

        return convert(self, kind)

    def set(self, value: Any) -> None:
        """Copies into all elements: a number, or an array of any kind whose
        shape is this one or can be broadcast to it."""
        if self.readonly:
            raise ArgumentError("the array is read-only")
        from ._assign import assign

        assign(self, value)

    def fill(self, value: Any) -> None:
        """Sets all elements to a number."""
        self.set(value)

    def get(self, out: Any = None, queue: Queue | None = None) -> Any:
        """The elements in host memory: a new numpy array, or `out`, a
        C-contiguous host array of the same shape and type. With a queue, `out`
        is filled when the queue was waited for."""
        if out is None:
            import numpy

            out = numpy.empty(self.shape, self.dtype.str)
        host = _host.view(out)
        if host is None:
            raise ArgumentError(f"out is a {type(out).__name__}, no host array")
        if host.shape != self.shape or host.dtype is not self.dtype:
            raise ArgumentError(
                f"out is {host.dtype} of shape {host.shape}; it must be "
                f"{self.dtype} of shape {self.shape}"
            )
        if host.readonly:
            raise ArgumentError("out is read-only")
        if not _host.is_packed(host.shape, host.strides, self.itemsize):
            raise ArgumentError("out is not C-contiguous")
        self._download(host.address, queue, out)
        return out

    numpy = get

    def _download(
        self, address: int, queue: Queue | None = None, keep: object = None
    ) -> None:
        source = self if self.c_contiguous else self.copy()
        size = self.nbytes
        if not size:
            return
        if queue is not None:
            from ._queue import Queue

            expect(Queue, "queue", queue)._download(address, source, keep)
        elif self.device.is_host:
            ctypes.memmove(address, source.address, size)
        else:
            call(
                "device_download",
                self.device.address,
                address,
                source.address,
                size,
            )

    def tobytes(self) -> bytes:
        """The elements in C's order."""
        out = ctypes.create_string_buffer(self.nbytes)
        self._download(ctypes.addressof(out))
        return out.raw

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        from ._numbers import unpack

        flat = unpack(self.dtype, self.tobytes())
        return _nested(flat, self.shape)

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.size != 1:
            raise ArgumentError(
                f"an array of shape {self.shape} is not one element"
            )
        from ._numbers import unpack

        return unpack(self.dtype, self.tobytes())[0]

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __format__(self, spec: str) -> str:
        """Of one element as of a number: f"{x[0]:.2f}"."""
        if self.shape or not spec:
            return super().__format__(spec)
        return format(self.item(), spec)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __index__(self) -> int:
        return operator.index(self.item())

    # ------------------------------------------------------------- protocols

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self.device.is_host:
            raise AttributeError("__array_interface__: not in host memory")
        return self._interface()

    def _interface(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, self.readonly),
            "strides": None if self.c_contiguous else self.strides,
            "version": 3,
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.is_host:
            raise AttributeError("__cuda_array_interface__: in host memory")
        return {**self._interface(), "stream": None}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        if copy is False and not self.device.is_host:
            raise ArgumentError("an array on a GPU is copied to be numpy's")
        if self.device.is_host and not copy:
            found = numpy.asarray(_Interface(self))
        else:
            found = self.get()
        return found if dtype is None else found.astype(dtype, copy=False)

    __dlpack_c_exchange_api__ = _Exchange()

    def __dlpack__(self, **options: Any) -> Any:
        from ._dlpack import export

        return export(self, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        from ._dlpack import device_of

        return device_of(self)

    # -------------------------------------------------------------- display

    def __repr__(self) -> str:
        from ._numbers import render

        place = "" if self.device.is_host else f", device={self.device.number}"
        begin = "ompjit.array("
        return f"{begin}{render(self, begin)}, dtype={self.dtype}{place})"

    def __str__(self) -> str:
        from ._numbers import render

        return render(self)


class _Interface:
    """What numpy makes a view of, without asking for __array__ again."""

    def __init__(self, array: ndarray) -> None:
        self.array = array
        self.__array_interface__ = array._interface()


def _nested(flat: Sequence[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return list(flat)
    step = len(flat) // shape[0] if shape[0] else 0
    return [
        _nested(flat[i * step : (i + 1) * step], shape[1:])
        for i in range(shape[0])
    ]
