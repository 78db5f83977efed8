# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stencils: each element of a result from neighbours in the arguments.

A row of the innermost dimension is done in three parts: its ends, where indices
are corrected, and the middle, where nothing is, for vectors. On a GPU each
element is an iteration, with corrected indices.
"""
from __future__ import annotations

from . import TYPE_CHECKING
from ._array import ndarray
from ._bind import Expression
from ._device import Device
from ._dtype import DType, dtype as dtype_of, int64
from ._emit import C, Emitter, constant_of, strong
from ._errors import ArgumentError, string
from ._expression import Elementwise
from ._host import c_strides
from ._loops import NumberSpec, Params, Row, number_params, turns, unravel
from ._native import by_vector
from ._once import once
from ._operand import Number, element_strides, number, weak_type
from ._parse import Node, fail
from ._plan import Made, Plan, passed, pointer, slots_of
from ._program import program

if TYPE_CHECKING:
    from typing import Any, NamedTuple
else:
    from ._typing import Any, NamedTuple

_Arrays = dict[str, tuple[DType, tuple[int, ...]]]  # types and strides

PIECE = 1 << 12
_MODES = ("keep", "nearest", "wrap")


class _Shape(NamedTuple):
    """How far a stencil reaches, in each dimension, and its offsets."""

    ndim: int
    below: tuple[int, ...]
    above: tuple[int, ...]
    rows: dict[str, list[tuple[int, ...]]]  # of each array, all but the last


def _offset(text: str, n: Node) -> int:
    """A constant index."""
    if n.kind == "unary" and n.parts[0] in "+-":
        value = _offset(text, n.parts[1])
        return -value if n.parts[0] == "-" else value
    if n.kind == "number" and n.parts[0].isdigit():
        return int(n.parts[0])
    fail(text, n.place, "an offset is a whole number")


@by_vector
class Stencil(Elementwise):
    """A stencil; ompjit.stencil() makes it.

    Attributes:
        text: the statements.
        boundary: what is beside the arrays.
        inputs, outputs, params: as of an Elementwise.
    """

    _needs_packed = False

    def __init__(
        self, text: str, boundary: str | complex = "keep", preamble: str = ""
    ) -> None:
        Expression.__init__(self, text, preamble)
        self._plans = {}
        if isinstance(boundary, str) and boundary not in _MODES:
            raise ArgumentError(
                f"boundary is {boundary!r}; it is 'keep', 'nearest', 'wrap', "
                "or a number"
            )
        self.boundary = boundary
        for name in self.outputs:
            if name in self._indexed:
                raise ArgumentError(f"{self!r}: {name} is written with offsets")
        self._reach = self._find()

    def __reduce__(self) -> tuple[Any, ...]:
        return stencil, (self.text, self.boundary, self.preamble)

    def _find(self) -> _Shape:
        found: dict[str, set[tuple[int, ...]]] = {}

        def walk(part: Any) -> None:
            if isinstance(part, Node) and part.kind == "element":
                name, *indices = part.parts
                offsets = tuple(_offset(self.text, n) for n in indices)
                found.setdefault(name, set()).add(offsets)
                return
            inside = getattr(part, "parts", part)
            if isinstance(inside, (tuple, list)):
                for inner in inside:
                    walk(inner)

        for s in self.statements:
            walk(s)
        sizes = {len(o) for offsets in found.values() for o in offsets}
        if len(sizes) != 1:
            raise ArgumentError(
                f"{self!r}: elements have "
                + ("different numbers of offsets" if sizes else "no offsets")
            )
        (ndim,) = sizes
        every = [o for offsets in found.values() for o in offsets]
        return _Shape(
            ndim,
            tuple(max(0, -min(o[d] for o in every)) for d in range(ndim)),
            tuple(max(0, max(o[d] for o in every)) for d in range(ndim)),
            {n: sorted({o[:-1] for o in offs}) for n, offs in found.items()},
        )

    def _shape(self, resolved: list[Any]) -> tuple[int, ...]:
        arrays = [
            (name, r)
            for name, r in zip(self.params, resolved)
            if isinstance(r, ndarray)
        ]
        first, shape = arrays[0][0], arrays[0][1].shape
        if len(shape) != self._reach.ndim:
            raise ArgumentError(
                f"{first} has {len(shape)} dimensions, and the stencil "
                f"{self._reach.ndim}"
            )
        for name, a in arrays:
            if a.shape != shape:
                raise ArgumentError(
                    f"{name} is of shape {a.shape}, and {first} of {shape}"
                )
        return tuple(shape)

    # ------------------------------------------------------------------ code

    def _texts(
        self, resolved: list[Any], dtype: object
    ) -> tuple[Any, dict[str, DType]]:
        """The C of the statements, and the types of outputs."""
        given = {
            name: r.kind if isinstance(r, Number) else r.dtype
            for name, r in zip(self.params, resolved)
            if r is not None
        }
        by = weak_type(given.values())
        types = {n: k for n, k in given.items() if n not in self._indexed}
        types.setdefault("i", int64)

        def make(edge: bool) -> tuple[str, Emitter]:
            def element(emitter: Emitter, n: Node) -> C:
                name, *indices = n.parts
                kind = given[name]
                assert isinstance(kind, DType)
                offsets = tuple(_offset(self.text, i) for i in indices)
                return C(self._element(name, offsets, edge, kind), kind)

            emitter = Emitter(self.text, types, by, element, self.preamble)
            text = emitter.statements(self.statements, "        ")
            return text, emitter

        middle, emitter = make(False)
        ends, _ = make(True)
        outputs = {
            name: dtype_of(dtype) if dtype else strong(kind, by)
            for name, kind in emitter.assigned.items()
        }
        numbers = [
            NumberSpec(name, strong(kind, by))
            for name, kind in given.items()
            if isinstance(kind, str)
            or isinstance(resolved[self._places[name]], Number)
        ]
        for name, r in zip(self.params, resolved):
            if isinstance(r, ndarray) and name in outputs:
                outputs[name] = r.dtype
        head = emitter.head(self.preamble)
        return (middle, ends, head, numbers, emitter.bounds), outputs

    def _element(
        self, name: str, offsets: tuple[int, ...], edge: bool, kind: DType
    ) -> str:
        row = self._reach.rows[name].index(offsets[:-1])
        stride = f"s_{name}_{self._reach.ndim - 1}"
        last = offsets[-1]
        value = f"r_{name}_{row}[(j + {last}) * {stride}]"
        if isinstance(self.boundary, str):
            if edge:
                value = f"r_{name}_{row}[ompjit_at(j + {last}, n) * {stride}]"
            return value
        tests = [f"r_{name}_{row}"] if any(offsets[:-1]) else []
        if edge:
            tests.append(f"j + {last} >= 0 && j + {last} < n")
        if not tests:
            return value
        constant = constant_of(kind, self.boundary)
        return f"({' && '.join(tests)} ? {value} : {constant})"

    def _rows(self, arrays: _Arrays) -> str:
        """Pointers to the rows that are accessed."""
        text, last = "", self._reach.ndim - 1
        for name, rows in self._reach.rows.items():
            kind = arrays[name][0]
            for k, offsets in enumerate(rows):
                terms, tests = [], []
                for d, o in enumerate(offsets):
                    index = f"j{d} + {o}"
                    if self.boundary in ("nearest", "wrap"):
                        index = f"ompjit_at({index}, n{d})"
                    elif self.boundary != "keep" and o:
                        tests.append(f"{index} >= 0 && {index} < n{d}")
                    terms.append(f"({index}) * s_{name}_{d}")
                place = f"p_{name} + {' + '.join(terms) or '0'}"
                if tests:
                    place = f"{' && '.join(tests)} ? {place} : 0"
                text += f"        const {kind.c} *const r_{name}_{k} = {place};\n"
        for name, (kind, _) in arrays.items():
            if name not in self._indexed:
                terms = [f"j{d} * s_{name}_{d}" for d in range(last)]
                const = "" if name in self.outputs else "const "
                text += (
                    f"        {const}{kind.c} *const r_{name} = p_{name} + "
                    f"{' + '.join(terms) or '0'};\n"
                )
        return text

    def _row(self, arrays: _Arrays) -> Row | None:
        """A row that is read at several places: more than is written."""
        for name in self._reach.rows:
            kind, steps = arrays[name]
            if steps[-1] == 1:
                return f"r_{name}_0", kind
        return None

    def _one(self, arrays: _Arrays, body: str, inside: str) -> str:
        """What is done for one element, j in its row."""
        last = self._reach.ndim - 1
        before = after = ""
        for name, (kind, _) in arrays.items():
            if name in self._indexed:
                continue
            at = f"r_{name}[j * s_{name}_{last}]"
            written = name in self.outputs
            read = name in self.inputs or name in self._partial
            const = "" if written else "const "
            value = f" = {at}" if read else ""
            before += f"        {const}{kind.c} v_{name}{value};\n"
            if written:
                after += f"        {at} = v_{name};\n"
        flat = "j0" if last else "j"
        for d in range(1, last + 1):
            flat = f"({flat} * n{d} + {f'j{d}' if d < last else 'j'})"
        index = "" if "i" in self._places else f"        const long v_i = {flat};\n"
        return index + inside + before + body + after

    def _source(
        self, arrays: _Arrays, body: Any, gpu: bool
    ) -> tuple[str, Params]:
        middle, ends, head, numbers, _ = body
        ndim = self._reach.ndim
        last = ndim - 1
        params: Params = [(f"n{d}", "i64") for d in range(ndim)]
        params += [("count", "i64"), ("pieces", "i64")]
        texts = [f"long {name}" for name, _ in params]
        more, more_texts, inside = number_params(numbers)
        params += more
        texts += more_texts
        names = []
        for name, (kind, steps) in arrays.items():
            const = "" if name in self.outputs else "const "
            names.append(f"p_{name}")
            params.append((f"p_{name}", "p"))
            texts.append(f"{const}{kind.c} *p_{name}")
            for d in range(ndim):
                if d == last and steps[d] == 1:
                    continue
                params.append((f"s_{name}_{d}", "i64"))
                texts.append(f"long s_{name}_{d}")
        units = "".join(
            f"#define s_{name}_{last} 1\n"
            for name, (_, steps) in arrays.items()
            if steps[last] == 1
        )
        corrected = {
            "nearest": "j < 0 ? 0 : j >= n ? n - 1 : j",
            "wrap": "(j % n + n) % n",
        }.get(str(self.boundary), "j")
        below, above = self._reach.below, self._reach.above
        keep = self.boundary == "keep"
        skip = " || ".join(
            f"j{d} < {below[d]} || j{d} >= n{d} - {above[d]}"
            for d in range(last)
            if keep and (below[d] or above[d])
        )
        guard = f"        if ({skip}) continue;\n" if skip else ""
        shared = (
            "    #pragma omp target teams distribute parallel for "
            f"is_device_ptr({', '.join(names)})\n"
        )
        rows = self._rows(arrays)
        whole = self._one(arrays, ends, inside)
        if gpu:
            outside = f"j < {below[last]} || j >= n - {above[last]}"
            guard += f"        if ({outside}) continue;\n" if keep else ""
            text = (
                f"{shared}    for (long o = 0; o < count * n{last}; o++) {{\n"
                f"        const long n = n{last}, j = o % n;\n"
                f"{unravel(last, '(o / n)', '        ')}{guard}{rows}"
                f"{whole}    }}\n"
            )
        else:
            text = (
                f"{shared}    for (long o = 0; o < count * pieces; o++) {{\n"
                f"        const long n = n{last};\n"
                f"        const long begin = o % pieces * {PIECE};\n"
                f"        const long end = begin + {PIECE} < n ? begin + {PIECE}"
                " : n;\n"
                f"{unravel(last, '(o / pieces)', '        ')}{guard}{rows}"
                f"        const long first = begin > {below[last]} ? begin : "
                f"{below[last]};\n"
                f"        const long behind = end < n - {above[last]} ? end : "
                f"n - {above[last]};\n"
            )
            edge = (
                ""
                if keep
                else "        for (long j = {0}; j < {1}; j++) {{\n"
                + whole.replace("{", "{{").replace("}", "}}")
                + "        }}\n"
            )
            left = edge.format("begin", "(first < end ? first : end)")
            right = edge.format(
                "(behind > first ? behind : first < end ? first : end)", "end"
            )
            text += (
                f"{left}{turns(self._row(arrays), 'first', 'behind')}"
                "        #pragma omp simd\n"
                "        for (long j = from; j < to; j++) {\n"
                f"{self._one(arrays, middle, inside)}        }}\n        }}\n"
                f"{right}    }}\n"
            )
        source = (
            f"{head}{units}"
            "static inline long ompjit_at(long j, long n)\n"
            f"{{\n    return {corrected};\n}}\n"
            f"/* {self.text.replace('*/', '* /')} */\n"
            f"void stencil({', '.join(texts)})\n{{\n{text}}}\n"
        )
        return source, params

    def _plan(
        self, resolved: list[Any], dtype: object, device: Device
    ) -> Plan:
        shape = self._shape(resolved)
        body, kinds = self._texts(resolved, dtype)
        bounds = body[-1]
        arrays: _Arrays = {}
        made = []
        for place, (name, r) in enumerate(zip(self.params, resolved)):
            if isinstance(r, ndarray):
                arrays[name] = r.dtype, element_strides(r) or ()
            elif r is None:
                zeros = self.boundary == "keep" or name in self._partial
                made.append(Made(place, kinds[name], shape, "C", zeros))
                arrays[name] = kinds[name], c_strides(shape, 1)
        source, params = self._source(arrays, body, not device.is_host)
        slots = slots_of(params)
        count = 1
        for n in shape[:-1]:
            count *= n
        pieces = -(-shape[-1] // PIECE)
        known = {f"n{d}": n for d, n in enumerate(shape)}
        known.update(count=count, pieces=pieces)
        for name, (_, steps) in arrays.items():
            known.update((f"s_{name}_{d}", s) for d, s in enumerate(steps))
        new = {self.params[m.place]: m for m in made}
        pointers = []
        for name in arrays:
            place, slot = self._places[name], slots[f"p_{name}"]
            written = name in self.outputs
            p = pointer(name, place, slot, written, new.get(name, resolved[place]))
            if name in self._indexed:
                p = p._replace(strides=None)
            pointers.append(p)
        size = count * shape[-1]
        return Plan(
            program(device.context, source, params),
            device,
            pointers,
            passed(body[3], self._places, slots, bounds),
            [(slots[n], "i64", v) for n, v in known.items() if n in slots],
            made,
            [self._places[name] for name in self.outputs],
            count * pieces if device.is_host else size,
            int(device.is_host and size <= 1 << 13),
            bounds.calculated(self._places),
        )


@once
def _made(text: str, boundary: str | complex, preamble: str) -> Stencil:
    return Stencil(text, boundary, preamble)


def stencil(
    text: str, boundary: str | complex = "keep", preamble: str = ""
) -> Stencil:
    """A kernel whose elements come from neighbours.

        smooth = ompjit.stencil("v = (u[-1] + 2*u[0] + u[1]) / 4")
        step = ompjit.stencil(
            "v = u[0,0] + a*(u[-1,0] + u[1,0] + u[0,-1] + u[0,1] - 4*u[0,0])",
            boundary="wrap")
        v = step(u, 0.1)

    The text is that of ompjit.elementwise, but that u[...] has a constant offset
    for each dimension: u[0,0] is the element itself. All arrays are of one
    shape; a name without offsets is the element itself, or a number.

    Args:
        text: as above.
        boundary: what is beside the arrays. "keep": elements whose neighbours
            are not all there are not written, and are 0 in a new array.
            "nearest": the nearest element. "wrap": the other side. A number:
            that, which must be one of the arrays' types.
        preamble: C with functions that the text calls.
    """
    if not isinstance(boundary, str):
        found = number(boundary)
        if found is None or isinstance(found.value, bool):
            raise ArgumentError(
                f"boundary is a {type(boundary).__name__}; it is a text or a "
                "number"
            )
        boundary = found.value
    return _made(string("text", text), boundary, string("preamble", preamble))
