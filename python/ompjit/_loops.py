# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C of a kernel that loops over arrays together.

On the CPU the innermost loop is one of its own, for vectors, and the others,
times pieces of it, are shared by threads. A vector across two lines of the
cache takes twice as long, so a piece begins with the elements before a line of
one array; not where it is summed, since sums would depend on where an array
begins. On a GPU one loop goes over all elements, so that neighbours access
neighbours.
"""
from __future__ import annotations

from . import TYPE_CHECKING
from ._dtype import DType, float16, float32
from ._functions import real_of

if TYPE_CHECKING:
    from typing import NamedTuple, Sequence
else:
    from ._typing import NamedTuple, Sequence

_LINE = 64  # bytes of the cache
_ALIGNED = 128  # elements, of which the first ones are apart


class ArraySpec(NamedTuple):
    """An array that is looped over."""

    name: str
    dtype: DType
    read: bool
    written: bool
    strides: tuple[str, ...]  # for each loop: "1", "0" or "s", given at run time


class RawSpec(NamedTuple):
    """An array that is accessed by indices."""

    name: str
    dtype: DType
    written: bool


class NumberSpec(NamedTuple):
    """A number, in the type that it is passed in."""

    name: str
    dtype: DType


Params = list[tuple[str, str]]
Row = tuple[str, DType]  # a pointer to its first element


def number_params(numbers: Sequence[NumberSpec]) -> tuple[Params, list[str], str]:
    """Parameters for numbers: their names with members of ompjit_arg's value,
    their C, and the declarations that make variables of them."""
    params: Params = []
    texts: list[str] = []
    inside = ""
    for name, kind in numbers:
        if kind.is_complex:
            part = real_of(kind)
            member = "f32" if part is float32 else "f64"
            params += [(f"re_{name}", member), (f"im_{name}", member)]
            texts += [f"{part.c} re_{name}", f"{part.c} im_{name}"]
            made = f"__builtin_complex(re_{name}, im_{name})"
            inside += f"        const {kind.c} v_{name} = {made};\n"
        elif kind.kind == "f":
            passed = float32 if kind is float16 else kind
            params.append((f"h_{name}", f"f{8 * passed.itemsize}"))
            texts.append(f"{passed.c} h_{name}")
            inside += f"        const {kind.c} v_{name} = ({kind.c})h_{name};\n"
        else:
            size = kind.itemsize
            params.append((f"h_{name}", f"i{8 * size}"))
            passed_c = kind.c if kind.kind != "b" else "signed char"
            texts.append(f"{passed_c} h_{name}")
            inside += f"        const {kind.c} v_{name} = ({kind.c})h_{name};\n"
    return params, texts, inside


def array_params(
    arrays: Sequence[ArraySpec], raws: Sequence[RawSpec]
) -> tuple[Params, list[str]]:
    """Parameters for pointers, and for strides that are given at run time."""
    params: Params = []
    texts: list[str] = []
    for a in arrays:
        params.append((f"p_{a.name}", "p"))
        const = "" if a.written else "const "
        texts.append(f"{const}{a.dtype.c} *p_{a.name}")
        for d, stride in enumerate(a.strides):
            if stride == "s":
                params.append((f"s_{a.name}_{d}", "i64"))
                texts.append(f"long s_{a.name}_{d}")
    for r in raws:
        params.append((f"v_{r.name}", "p"))
        const = "" if r.written else "const "
        texts.append(f"{const}{r.dtype.c} *v_{r.name}")
    return params, texts


def place(a: ArraySpec, indices: Sequence[str]) -> str:
    """The index of an array's element, of the loops' variables."""
    terms = []
    for d, (stride, index) in enumerate(zip(a.strides, indices)):
        if stride == "1":
            terms.append(index)
        elif stride == "s":
            terms.append(f"{index} * s_{a.name}_{d}")
    return " + ".join(terms) or "0"


def loads(arrays: Sequence[ArraySpec], indices: Sequence[str]) -> str:
    """Declares a variable for each array, with its element where it is read."""
    text = ""
    for a in arrays:
        const = "" if a.written else "const "
        value = f" = p_{a.name}[{place(a, indices)}]" if a.read else ""
        text += f"        {const}{a.dtype.c} v_{a.name}{value};\n"
    return text


def stores(arrays: Sequence[ArraySpec], indices: Sequence[str]) -> str:
    return "".join(
        f"        p_{a.name}[{place(a, indices)}] = v_{a.name};\n"
        for a in arrays
        if a.written
    )


def pointers(arrays: Sequence[ArraySpec], raws: Sequence[RawSpec]) -> str:
    """The clause that says that these are device pointers."""
    names = [f"p_{a.name}" for a in arrays] + [f"v_{r.name}" for r in raws]
    return f"is_device_ptr({', '.join(names)})" if names else ""


def unravel(loops: int, index: str, indent: str) -> str:
    """Declares j0, j1, ... of the loops from one number."""
    text, rest = "", index
    for d in reversed(range(loops)):
        if d == 0:
            text += f"{indent}const long j0 = {rest};\n"
        else:
            text += f"{indent}const long j{d} = {rest} % n{d};\n"
            text += f"{indent}const long q{d} = {rest} / n{d};\n"
            rest = f"q{d}"
    return text


def row(arrays: Sequence[ArraySpec], indices: Sequence[str]) -> Row | None:
    """The row whose lines an innermost loop follows: of an array that is
    written, else of one that is read."""
    beside = [a for a in arrays if a.strides and a.strides[-1] == "1"]
    for a in sorted(beside, key=lambda a: not a.written):
        at = place(a, [*indices[: len(a.strides) - 1], "0"])
        return f"(p_{a.name} + {at})", a.dtype
    return None


def turns(row: Row | None, begin: str, end: str) -> str:
    """The C that begins to loop from `begin` to `end` in two turns, each from
    `from` to `to`: to where the row is at a line of the cache, then from there.
    Few elements have one turn. A brace ends it."""
    first = end
    if row is not None:
        pointer, kind = row
        before = f"-(unsigned long)({pointer} + {begin}) % {_LINE}"
        first = (
            f"{end} - {begin} < {_ALIGNED} ? {end} : "
            f"{begin} + (long)({before} / {kind.itemsize})"
        )
    return (
        f"        for (long from = {begin}, to = {first}; from < {end}; "
        f"from = to, to = {end}) {{\n"
    )


_SHARED = "    #pragma omp target teams distribute parallel for"


def elementwise_source(
    title: str,
    preamble: str,
    body: str,
    arrays: Sequence[ArraySpec],
    raws: Sequence[RawSpec],
    numbers: Sequence[NumberSpec],
    loops: int,
    gpu: bool,
    index: bool,
) -> tuple[str, Params]:
    """The C of a kernel for a body that works on one element, and its
    parameters. `index`: the body uses i, the number of the element."""
    params: Params = [(f"n{d}", "i64") for d in range(loops)]
    texts = [f"long n{d}" for d in range(loops)]
    if not gpu:
        shares = ("outer", "pieces", "piece")
        params += [(name, "i64") for name in shares]
        texts += [f"long {name}" for name in shares]
    more, more_texts, inside = number_params(numbers)
    pointer_params, pointer_texts = array_params(arrays, raws)
    params += more + pointer_params
    texts += more_texts + pointer_texts
    clause = pointers(arrays, raws)
    indices = [f"j{d}" for d in range(loops)]
    inner = inside + loads(arrays, indices) + body + stores(arrays, indices)
    last = loops - 1
    flat = "j0"
    for d in range(1, loops):
        flat = f"({flat} * n{d} + j{d})"
    if index:
        inner = f"        const long v_i = {flat};\n{inner}"
    if not gpu:
        shared = (
            f"{_SHARED} {clause}\n"
            "    for (long o = 0; o < outer * pieces; o++) {\n"
            "        const long begin = o % pieces * piece;\n"
            f"        const long end = begin + piece < n{last} ? "
            f"begin + piece : n{last};\n"
            f"{unravel(last, '(o / pieces)', '        ')}"
            f"{turns(row(arrays, indices), 'begin', 'end')}"
            "        #pragma omp simd\n"
            f"        for (long j{last} = from; j{last} < to; j{last}++) {{\n"
            f"{inner}        }}\n        }}\n    }}\n"
        )
    elif loops > 1:
        count = " * ".join(f"n{d}" for d in range(loops))
        shared = (
            f"{_SHARED} {clause}\n"
            f"    for (long j = 0; j < {count}; j++) {{\n"
            f"{unravel(loops, 'j', '        ')}{inner}    }}\n"
        )
    else:
        shared = (
            f"{_SHARED} simd {clause}\n"
            f"    for (long j0 = 0; j0 < n0; j0++) {{\n{inner}    }}\n"
        )
    source = (
        f"{preamble}/* {title} */\n"
        f"void elementwise({', '.join(texts)})\n{{\n{shared}}}\n"
    )
    return source, params
