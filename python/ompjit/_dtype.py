# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of array elements, with numpy's names and C's.

numpy is not needed for them; where it is there, its dtypes are taken and
compare equal.
"""
from __future__ import annotations

import sys

from . import TYPE_CHECKING
from ._errors import ArgumentError

if TYPE_CHECKING:
    from typing import Any
else:
    from ._typing import Any

_ORDER = "<" if sys.byteorder == "little" else ">"


class DType:
    """The type of an array's elements.

    Attributes:
        name: numpy's, "float32".
        kind: "b", "i", "u", "f" or "c".
        itemsize: bytes.
        str: numpy's type string, "<f4".
        c: the type in C, "float".
        format: as the struct module and the buffer protocol have it, "f".
    """

    __slots__ = ("name", "kind", "itemsize", "str", "c", "format")

    def __init__(
        self, name: str, kind: str, itemsize: int, c: str, format: str
    ) -> None:
        self.name = name
        self.kind = kind
        self.itemsize = itemsize
        self.str = ("|" if itemsize == 1 else _ORDER) + kind + str(itemsize)
        self.c = c
        self.format = format

    def __repr__(self) -> str:
        return f"ompjit.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        try:
            return dtype(other) is self
        except ArgumentError:
            return False

    def __hash__(self) -> int:
        return hash(("ompjit", self.str))  # no key of _known has it

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype, (self.name,)

    @property
    def dtype(self) -> Any:
        """numpy's dtype; numpy looks for it here."""
        import numpy

        return numpy.dtype(self.str)

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"


bool_ = DType("bool", "b", 1, "_Bool", "?")
int8 = DType("int8", "i", 1, "signed char", "b")
uint8 = DType("uint8", "u", 1, "unsigned char", "B")
int16 = DType("int16", "i", 2, "short", "h")
uint16 = DType("uint16", "u", 2, "unsigned short", "H")
int32 = DType("int32", "i", 4, "int", "i")
uint32 = DType("uint32", "u", 4, "unsigned", "I")
int64 = DType("int64", "i", 8, "long", "l")
uint64 = DType("uint64", "u", 8, "unsigned long", "L")
float16 = DType("float16", "f", 2, "_Float16", "e")
float32 = DType("float32", "f", 4, "float", "f")
float64 = DType("float64", "f", 8, "double", "d")
complex64 = DType("complex64", "c", 8, "float _Complex", "Zf")
complex128 = DType("complex128", "c", 16, "double _Complex", "Zd")

ALL = (
    bool_,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float16,
    float32,
    float64,
    complex64,
    complex128,
)

# The remedy for numpy's other types, by their letter.
_HINTS = {
    "M": "dates: .view('int64') has their numbers",
    "m": "times: .view('int64') has their numbers",
    "O": "Python objects: .astype(float) makes numbers of them",
    "U": "text",
    "S": "text",
    "V": "records or raw bytes",
    "f": "long double: .astype(float) rounds it",
    "c": "long double: .astype(complex) rounds it",
}


def unknown(what: object) -> ArgumentError:
    """The error that something names no element type."""
    text = what if isinstance(what, str) else getattr(what, "str", None)
    names = ", ".join(one.name for one in ALL)
    hint = ""
    if isinstance(text, str) and text[:1] in ("<", ">", "|"):
        hint = _HINTS.get(text[1:2], "")
        if getattr(what, "isbuiltin", 0) == 2:  # of a package, as bfloat16
            hint = ".astype('float32') converts it"
        if text[0] not in ("|", _ORDER):
            hint = f"another byte order: .astype('={text[1:]}') swaps it"
    return ArgumentError(
        f"{what!r} is no element type{hint and f' ({hint})'}; there are {names}"
    )


# Every spelling that is known, and every object that was looked up.
_known: dict[Any, DType] = {}


def dtype(what: object) -> DType:
    """The DType that something names: a DType, one of numpy's, bool, int,
    float, complex, or a text such as "float32", "f4", "<f4" or "d".

    ArgumentError for anything else; byte orders other than the machine's,
    structures and text are no element types here.
    """
    try:
        found = _known.get(what)
    except (TypeError, ValueError):  # it cannot be hashed
        found = None
    if found is not None:
        return found
    text = getattr(what, "str", None)
    if not isinstance(text, str):
        numpy = sys.modules.get("numpy")
        if numpy is not None and not isinstance(what, str):
            try:
                text = numpy.dtype(what).str
            except (TypeError, ValueError):
                text = None
    found = _known.get(text) if isinstance(text, str) else None
    if found is None:
        raise unknown(what)
    try:
        _known[what] = found
    except (TypeError, ValueError):
        pass
    return found


def result_type(*types: DType) -> DType:
    """The type of an operation on such operands, by numpy's rules."""
    if not types:
        raise ArgumentError("there is no type")
    types = tuple(map(dtype, types))
    result = types[0]
    for other in types[1:]:
        result = _pair(result, other)
    return result


def _pair(a: DType, b: DType) -> DType:
    if a is b:
        return a
    rank = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    if rank[a.kind] > rank[b.kind]:
        a, b = b, a
    if a.kind == "b":
        return b
    if b.kind == "c":
        real = {8: float32, 16: float64}[b.itemsize]
        part = {8: float32, 16: float64}[a.itemsize] if a.is_complex else a
        return complex64 if _pair(real, part) is float32 else complex128
    if b.kind == "f":
        if a.kind == "f":
            return a if a.itemsize > b.itemsize else b
        least = {1: 2, 2: 4}.get(a.itemsize, 8)
        return _known[f"f{max(least, b.itemsize)}"]
    if a.kind == b.kind:
        return a if a.itemsize > b.itemsize else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    if unsigned.itemsize == 8:
        return float64
    return _known[f"i{2 * unsigned.itemsize}"]


for _one in ALL:
    _known[_one] = _known[_one.name] = _known[_one.str] = _one
    _known[_one.str[1:]] = _known[_one.format] = _known[_one.c] = _one
    _known["=" + _one.str[1:]] = _one
_known.update(
    {
        bool: bool_,
        int: int64,
        float: float64,
        complex: complex128,
        "float": float64,
        "int": int64,
        "complex": complex128,
        "q": int64,
        "Q": uint64,
        "F": complex64,
        "D": complex128,
        "half": float16,
        "double": float64,
    }
)
del _one
