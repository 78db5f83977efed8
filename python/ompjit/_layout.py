# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes and strides of several arrays that are looped over together."""
from __future__ import annotations

from . import TYPE_CHECKING
from ._errors import ArgumentError

if TYPE_CHECKING:
    from typing import NamedTuple, Sequence
else:
    from ._typing import NamedTuple, Sequence

Numbers = tuple[int, ...]


class Layout(NamedTuple):
    """A loop nest over arrays.

    Attributes:
        lengths: of the loops, the outermost first.
        strides: for each array, a stride in elements for each loop.
    """

    lengths: Numbers
    strides: tuple[Numbers, ...]


def broadcast(shapes: Sequence[Numbers]) -> Numbers:
    """The shape that all shapes broadcast to, by numpy's rules."""
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for i, n in enumerate(shape, ndim - len(shape)):
            if n == 1:
                continue
            if result[i] not in (1, n):
                shown = " and ".join(map(str, shapes))
                raise ArgumentError(f"shapes {shown} do not fit together")
            result[i] = n
    return tuple(result)


def spread(shape: Numbers, strides: Numbers, to: Numbers) -> Numbers:
    """An array's strides where it is broadcast to a shape."""
    extra = len(to) - len(shape)
    return (0,) * extra + tuple(
        0 if n == 1 else s for n, s in zip(shape, strides)
    )


def layout(
    shape: Numbers, strides: Sequence[Numbers], order: int | None
) -> Layout:
    """The shortest loop nest over arrays of one shape.

    Args:
        shape: of all of them; none of its lengths is 0.
        strides: in elements.
        order: the array whose order in memory the loops follow; None: loops
            stay in the order of the dimensions.
    """
    axes = [i for i, n in enumerate(shape) if n != 1]
    if order is not None and len(axes) > 1:
        by = strides[order]
        axes.sort(key=lambda i: -abs(by[i]))
    lengths: list[int] = []
    found: list[list[int]] = [[] for _ in strides]
    for i in axes:
        n = shape[i]
        joins = lengths and all(
            steps[-1] == s[i] * n for steps, s in zip(found, strides)
        )
        if joins:
            lengths[-1] *= n
            for steps, s in zip(found, strides):
                steps[-1] = s[i]
        else:
            lengths.append(n)
            for steps, s in zip(found, strides):
                steps.append(s[i])
    if not lengths:
        return Layout((1,), ((1,),) * len(strides))
    return Layout(tuple(lengths), tuple(map(tuple, found)))


def extent(shape: Numbers, strides: Numbers, size: int) -> tuple[int, int]:
    """The first byte that an array has, and the one behind its last, counted
    from its first element; strides in bytes."""
    low, high = 0, size
    for n, s in zip(shape, strides):
        if not n:
            return 0, 0
        if s < 0:
            low += s * (n - 1)
        else:
            high += s * (n - 1)
    return low, high
