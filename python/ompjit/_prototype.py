# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of a module's C functions, with types from the prototype in the source.

Only prototypes of numbers and of pointers to numbers are understood; others are
called by Module.function(), with types of ctypes.
"""
from __future__ import annotations

import ctypes
import operator
import re
from ctypes import c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _host
from ._array import ndarray
from ._dtype import DType
from ._errors import ArgumentError, NotAvailable
from ._parse import Parser

if TYPE_CHECKING:
    from ._module import Module

_CTYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
    "int16": ctypes.c_int16,
    "uint16": ctypes.c_uint16,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


class Parameter(NamedTuple):
    """A parameter of a function."""

    name: str
    dtype: DType | None  # of the number, or of what is pointed to; None: void
    pointer: bool
    const: bool  # nothing is written through the pointer

    def __str__(self) -> str:
        kind = "void" if self.dtype is None else self.dtype.c
        if not self.pointer:
            return f"{kind} {self.name}"
        return f"{'const ' if self.const else ''}{kind} *{self.name}"


def _plain(source: str) -> str:
    """The source without comments, texts and lines of the preprocessor."""
    source = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)
    source = re.sub(r'"(\\.|[^"\\])*"', '""', source)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", source, flags=re.MULTILINE)


_STARTS = re.compile(
    r"(?:^|[;}])\s*((?:[A-Za-z_]\w*[\s*]+)+)([A-Za-z_]\w*)\s*\(([^()]*)\)\s*\{"
)


def prototypes(source: str) -> dict[str, tuple[str, str]]:
    """Results and parameters of the functions that a source defines."""
    text = _plain(source)
    depth, flat = 0, []
    for char in text:  # what is in braces is no definition
        if char == "{":
            flat.append("{" if not depth else "")
            depth += 1
        elif char == "}":
            depth -= 1
            flat.append("}" if not depth else "")
        elif not depth:
            flat.append(char)
    return {
        m[2]: (m[1], m[3])
        for m in _STARTS.finditer("".join(flat).replace("{}", "{};"))
        if "static" not in m[1].split() and m[1].split()[0] != "else"
    }


def _type(text: str) -> tuple[DType | None, bool, bool, str]:
    """Type, whether it is a pointer, whether what it points to is constant,
    and the name, of a declaration."""
    before, star, after = text.partition("*")
    constant = "const" in before.split()
    array = "[" in text
    if not star:
        before = before.split("[")[0]
    rest = re.sub(r"\b(restrict|__restrict|const|volatile)\b", " ", after)
    if "*" in rest or text.count("[") > 1 or (star and array):
        raise ArgumentError(text)
    skip = ("extern", "inline", "register")
    words = [w for w in before.split() if w not in skip]
    name = rest.strip()
    if not star:
        name = words.pop() if len(words) > 1 and words[-1] != "int" else ""
    if words and [w for w in words if w != "const"] == ["void"]:
        return None, bool(star), constant, name
    parser = Parser(" ".join(words))
    found = parser.type()
    if found is None or parser.kind != "end":
        raise ArgumentError(text)
    return found, bool(star) or array, constant, name


class CFunction:
    """A C function of a module, called with numbers and arrays.

    Its target regions map their data and run on the default device. Arrays
    are contiguous, of the parameter's type, in host memory, or on the device
    where the function takes device pointers. How long they must be is not
    checked.

    Attributes:
        name: of the function.
        params: its parameters.
        result: the type of what it returns; None: nothing.
    """

    def __init__(self, module: Module, name: str, result: str, params: str):
        self.module = module
        self.name = name
        try:
            self.result = _type(result + " f")[0]
            pointer = _type(result + " f")[1]
            self.params = tuple(
                self._parameter(text, i)
                for i, text in enumerate(params.split(","))
                if text.strip() not in ("", "void")
            )
        except ArgumentError as error:
            raise NotAvailable(
                f"{name}: no call with the type {error}; "
                "Module.function() takes types of ctypes"
            ) from None
        if pointer or (self.result and self.result.name not in _CTYPES):
            raise NotAvailable(f"{name}: its result is no number")
        self._call = module.function(
            name,
            None if self.result is None else _CTYPES[self.result.name],
            [
                c_void_p if p.pointer or p.dtype is None
                else _CTYPES[p.dtype.name]
                for p in self.params
            ],
        )  # fmt: skip

    def _parameter(self, text: str, place: int) -> Parameter:
        dtype, pointer, const, name = _type(text)
        if not pointer and (dtype is None or dtype.name not in _CTYPES):
            raise ArgumentError(text)
        return Parameter(name or f"argument {place}", dtype, pointer, const)

    def __repr__(self) -> str:
        result = "void" if self.result is None else self.result.c
        params = ", ".join(map(str, self.params)) or "void"
        return f"<ompjit function {result} {self.name}({params})>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls it. ArgumentError for arguments that do not fit; what fails in
        a target region is raised."""
        if len(args) + len(named) != len(self.params):
            raise ArgumentError(
                f"{self.name} takes {len(self.params)} arguments, and "
                f"{len(args) + len(named)} are given"
            )
        keep: list[object] = []
        values = [
            self._value(p, value, keep) for p, value in zip(self.params, args)
        ]
        for p in self.params[len(args) :]:
            if p.name not in named:
                raise ArgumentError(f"{self.name}: no value for {p.name}")
            values.append(self._value(p, named[p.name], keep))
        return self._call(*values)

    def _value(self, p: Parameter, value: Any, keep: list[object]) -> Any:
        if p.pointer:
            return self._address(p, value, keep)
        assert p.dtype is not None
        if hasattr(value, "item") and getattr(value, "shape", None) == ():
            value = value.item()
        if p.dtype.kind == "f":
            if not isinstance(value, (int, float)):
                raise ArgumentError(f"{p.name} is {value!r}; it is {p.dtype}")
            return float(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        try:
            value = operator.index(value)
        except TypeError:
            raise ArgumentError(
                f"{p.name} is {value!r}; it is {p.dtype}"
            ) from None
        if p.dtype.kind == "b":
            return bool(value)
        bits = 8 * p.dtype.itemsize - (p.dtype.kind == "i")
        if not (-(1 << bits) if p.dtype.kind == "i" else 0) <= value < 1 << bits:
            raise ArgumentError(f"{p.name} is {value}, which is no {p.dtype}")
        return value

    def _address(self, p: Parameter, value: Any, keep: list[object]) -> int:
        if value is None:
            return 0
        found: Any = value
        if not isinstance(value, ndarray):
            if isinstance(value, (str, int, float, complex)):
                raise ArgumentError(f"{p.name} is {value!r}; it is an array")
            found = _host.view(value)
        if found is None:
            raise ArgumentError(
                f"{p.name} is a {type(value).__name__}; it is an array"
            )
        if p.dtype is not None and found.dtype is not p.dtype:
            raise ArgumentError(
                f"{p.name} is of {found.dtype}, and the function takes {p.dtype}"
            )
        shape, strides, size = found.shape, found.strides, found.dtype.itemsize
        if not (
            _host.is_packed(shape, strides, size)
            or _host.is_packed(shape[::-1], strides[::-1], size)
        ):
            raise ArgumentError(f"{p.name} is not contiguous")
        if found.readonly and not p.const:
            raise ArgumentError(f"{p.name} is read-only, and may be written to")
        keep.append(found)
        return int(found.address)


def functions(module: Module) -> dict[str, tuple[str, str]]:
    """The prototypes of a module's C sources."""
    found: dict[str, tuple[str, str]] = {}
    for language, _, text in module._how["sources"]:
        if language == "c" and isinstance(text, str):
            found.update(prototypes(text))
    return found
