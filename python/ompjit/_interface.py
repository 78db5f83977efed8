# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads __array_interface__ and __cuda_array_interface__. Another library made
them: each entry is checked, and an array must lie within the address space."""
from __future__ import annotations

import operator

from . import TYPE_CHECKING
from ._dtype import DType, dtype
from ._errors import ArgumentError

if TYPE_CHECKING:
    from typing import Any
else:
    from ._typing import Any

_SPACE = 1 << 63


class Layout:
    """Where an array is: strides in bytes."""

    __slots__ = ("address", "shape", "strides", "dtype", "readonly")

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: DType,
        readonly: bool,
    ) -> None:
        self.address = address
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.readonly = readonly


def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of a C-contiguous array."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def _integers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)):
        raise TypeError("no tuple")
    return tuple(operator.index(n) for n in value)


def _fits(address: int, shape: tuple[int, ...], strides: tuple[int, ...],
          itemsize: int) -> bool:
    if 0 in shape:
        return 0 <= address < _SPACE
    steps = [(n - 1) * s for n, s in zip(shape, strides)]
    first = address + sum(s for s in steps if s < 0)
    last = address + sum(s for s in steps if s > 0) + itemsize
    return 0 < first and last <= _SPACE


def _element(obj: object, typestr: str) -> DType:
    """The type of the elements. Errors name numpy's dtype, which tells more."""
    own = getattr(obj, "dtype", None)
    return dtype(own if getattr(own, "str", None) == typestr else typestr)


def layout(obj: object, name: str, interface: Any) -> Layout:
    """The array of an object's interface of that name; ArgumentError where it
    describes none."""

    def wrong(why: str) -> ArgumentError:
        return ArgumentError(f"the {name} of a {type(obj).__name__}: {why}")

    if not isinstance(interface, dict):
        raise wrong("it is no dict")
    typestr = interface.get("typestr")
    if not isinstance(typestr, str):
        raise wrong(f"`typestr` is {typestr!r}; it is a text")
    kind = _element(obj, typestr)
    data, strides = interface.get("data"), interface.get("strides")
    if not isinstance(data, tuple) or len(data) != 2:
        raise wrong(f"`data` is {data!r}; it is an address and a flag")
    try:
        address = operator.index(data[0] or 0)
        shape = _integers(interface.get("shape"))
        steps = (
            c_strides(shape, kind.itemsize)
            if strides is None
            else _integers(strides)
        )
    except TypeError:
        raise wrong("address, `shape` and `strides` are integers") from None
    if any(n < 0 for n in shape) or len(steps) != len(shape):
        raise wrong(f"there is no array of shape {shape} and strides {steps}")
    if not _fits(address, shape, steps, kind.itemsize):
        raise wrong(f"no memory has {shape} elements at {address:#x}")
    return Layout(address, shape, steps, kind, bool(data[1]))
