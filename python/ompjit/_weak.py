# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers of Python's in expressions: constants, arguments, and what is
calculated from these alone.

Such an integer takes the type of the elements that it meets. By numpy's rule it
must be one of that type's numbers. That of a constant is known when the kernel
is written; the others are known when it is called.
"""
from __future__ import annotations

import operator

from . import TYPE_CHECKING
from ._dtype import DType
from ._errors import RangeError

if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, NamedTuple, Sequence
else:
    from ._typing import Any, Callable, Mapping, NamedTuple, Sequence


class Weak(NamedTuple):
    """One integer.

    Attributes:
        text: it, for messages.
        names: the arguments that it is calculated from.
        value: of arguments, by their names.
    """

    text: str
    names: frozenset[str]
    value: Callable[[Mapping[str, int]], int]


def _quotient(a: int, b: int) -> int:
    """As C divides; 0 where it cannot."""
    if not b:
        return 0
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _left(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0


def _right(a: int, b: int) -> int:
    return a >> b if 0 <= b < 64 else 0


_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "/": _quotient,
    "%": lambda a, b: a - _quotient(a, b) * b,
    "<<": _left,
    ">>": _right,
}
_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}
_MOST = 16  # alternatives that are looked at


def constant(value: int) -> Weak:
    return Weak(str(value), frozenset(), lambda _: value)


def argument(name: str) -> Weak:
    return Weak(name, frozenset((name,)), operator.itemgetter(name))


def unary(symbol: str, parts: Sequence[Weak]) -> tuple[Weak, ...]:
    """What an operation makes of each of an operand's alternatives."""
    apply = _UNARY.get(symbol)
    if apply is None:
        return ()
    return tuple(_unary(symbol, apply, one) for one in parts)


def _unary(symbol: str, apply: Callable[[int], int], a: Weak) -> Weak:
    if not a.names:
        return constant(apply(a.value({})))
    return Weak(symbol + a.text, a.names, lambda given: apply(a.value(given)))


def binary(
    symbol: str, left: Sequence[Weak], right: Sequence[Weak]
) -> tuple[Weak, ...]:
    apply = _BINARY.get(symbol)
    if apply is None or len(left) * len(right) > _MOST:
        return ()
    return tuple(_binary(symbol, apply, a, b) for a in left for b in right)


def _binary(
    symbol: str, apply: Callable[[int, int], int], a: Weak, b: Weak
) -> Weak:
    if not a.names and not b.names:
        return constant(apply(a.value({}), b.value({})))
    return Weak(
        f"({a.text} {symbol} {b.text})",
        a.names | b.names,
        lambda given: apply(a.value(given), b.value(given)),
    )


def known(parts: Sequence[Weak]) -> int | None:
    """The value of a constant; None: it is none."""
    if len(parts) != 1 or parts[0].names:
        return None
    return parts[0].value({})


# ------------------------------------------------------------------- bounds


def limits(kind: DType) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    bits = 8 * kind.itemsize
    if kind.kind == "i":
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1


def check(what: str, value: int, kind: DType) -> None:
    """RangeError for an integer that the type does not have."""
    low, high = limits(kind)
    if not low <= value <= high:
        no = "is no" if what == str(value) else f"is {value}, which is no"
        raise RangeError(f"{what} {no} {kind} ({low} to {high})")


class Bound(NamedTuple):
    """An integer that must be one of a type's numbers when a call is made."""

    weak: Weak
    kind: DType

    @property
    def is_argument(self) -> bool:
        return self.weak.text in self.weak.names

    def check(self, given: Mapping[str, int]) -> None:
        check(self.weak.text, self.weak.value(given), self.kind)


class Bounds:
    """Those of an expression's kernel for types of its arguments."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: dict[tuple[str, DType], Bound] = {}

    def add(self, parts: Sequence[Weak], kind: DType) -> None:
        """Alternatives of a value meet elements of an integer type. RangeError
        for a constant that is none of its numbers."""
        for one in parts:
            if one.names:
                self.found.setdefault((one.text, kind), Bound(one, kind))
            else:
                check(one.text, one.value({}), kind)

    def of(self, name: str) -> list[DType]:
        """The types that an argument itself meets."""
        return [
            b.kind
            for b in self.found.values()
            if b.is_argument and b.weak.text == name
        ]

    def calculated(
        self, places: Mapping[str, int]
    ) -> Callable[[Sequence[Any]], None] | None:
        """A function that checks what is calculated from a call's arguments;
        None: there is nothing."""
        rest = [b for b in self.found.values() if not b.is_argument]
        if not rest:
            return None
        names = {name: places[name] for b in rest for name in b.weak.names}

        def checked(values: Sequence[Any]) -> None:
            given = {name: int(values[at]) for name, at in names.items()}
            for bound in rest:
                bound.check(given)

        return checked
