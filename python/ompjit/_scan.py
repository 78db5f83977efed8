# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans: running sums, products and extremes of an expression's values.

A row is cut into blocks. One kernel reduces each block; another one runs
through each block from what the blocks before it have come to.

On the CPU four values at a time become a vector that is scanned by two
shuffles, so that a step from one to the next is one addition for all of them.
Some shuffles of vectors of eight are slow with AVX-512.
"""
from __future__ import annotations

from . import TYPE_CHECKING
from ._array import ndarray
from ._device import Device
from ._errors import ArgumentError, integers, string
from ._host import c_strides
from ._layout import broadcast, spread
from ._loops import (
    ArraySpec,
    NumberSpec,
    array_params,
    loads,
    number_params,
    place,
    pointers,
    unravel,
)
from ._make import empty
from ._native import by_vector
from ._once import once
from ._operand import UNKNOWN, Number, device_of, element_strides, key_of, place_key
from ._plan import Made, pointer
from ._program import Program, program
from ._reduce import (
    Reduction,
    Types,
    _combine,
    _head,
    _host_result,
    _identity,
    _innermost,
    _piece,
    _Ready,
    _step,
)

if TYPE_CHECKING:
    from typing import Any, Sequence
else:
    from ._typing import Any, Sequence

_LEAST = 1 << 16  # elements of a block on the CPU
_VECTORS = ("+", "*", "&", "|", "^")  # operators that C has for vectors


@by_vector
class Scan(Reduction):
    """A scan of the values of an expression; ompjit.scan() makes it."""

    def __repr__(self) -> str:
        return f"ompjit.scan({self.text!r}, {self.op!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return scan, (self.text, self.op, self.preamble)

    def _call(
        self,
        *args: Any,
        axis: Any = -1,
        exclusive: bool = False,
        dtype: object = None,
        out: Any = None,
        device: Device | None = None,
        **named: Any,
    ) -> Any:
        """Scans.

        Args:
            args, named: a value for each of `inputs`.
            axis: the dimension along which it goes.
            exclusive: an element of the result is that of all before it, and
                the first one what changes nothing.
            dtype: of the result. Default: as of a reduction.
            out: the array for the result.
            device: Default: that of the arrays, else the current one.
        """
        values = self._bind_inputs(args, named)
        if type(axis) is not int:
            axes = integers("axis", axis)
            if len(axes) != 1:
                raise ArgumentError(f"axis is {axes}; a scan has one")
            axis = axes[0]
        options = axis, exclusive, dtype, device, place_key()
        key = (*map(key_of, values), *options)
        found = None if UNKNOWN in key else self._ready.get(key)
        if found is None:
            where = device_of(values, device)
            resolved, direct = self._resolve(values, where)
            found = self._prepared(resolved, axis, exclusive, dtype, where)
            usual = options == (-1, False, None, None, None)
            if usual and direct and len(found[0]) == 1 and UNKNOWN not in key:
                self._add_scan(found[0][0], values, resolved, out)
            if direct and UNKNOWN not in key:
                if len(self._ready) >= 256:
                    self._ready.clear()
                self._ready[key] = found
            else:
                values = [
                    r.value if isinstance(r, Number) else r for r in resolved
                ]
        kernels, blocks = found
        ready = kernels[-1]
        where, types = ready.device, ready.types
        ours = any(isinstance(v, ndarray) for v in values) or out is not None
        made = self._output(out, ready.shape, types.result, where)
        if made.size:
            # The last kernel alone, of one block a row, reads no sums.
            sums = None
            if len(kernels) > 1:
                sums = empty(blocks, types.total, device=where)
            frames = [one.frame(values) for one in kernels]
            target = made
            if out is not None and ready.overlaps(frames[-1], made, True):
                target = empty(made.shape, made.dtype, device=where)
            for one, frame in zip(kernels, frames):
                if sums is not None:
                    frame.values[one.slots["p_sums"]].p = sums.address
                frame.values[one.slots["p_out"]].p = target.address
                one.run(frame)
            if target is not made:
                made.set(target)
        if out is not None:
            return out
        return made if ours else _host_result(made)

    if TYPE_CHECKING:
        __call__ = _call

    def _out(self) -> str | None:
        return "result"

    def _add_scan(
        self, ready: _Ready, values: list[Any], resolved: list[Any], out: Any
    ) -> None:
        """Has C make the next calls with one kernel."""
        if 0 in ready.shape:
            return
        shape, kind = ready.shape, ready.types.result
        slot, place = ready.slots["p_out"], self._places["result"]
        made = Made(place, kind, shape, "C", False)
        call = ready.call(values, resolved)
        target = pointer("", place, slot, True, made)
        if out is None:
            call = call._replace(made=made)
        else:
            found = self._output(out, shape, kind, ready.device)
            target = pointer("", place, slot, True, found)
            given, arrays = list(values), list(call.arrays)
            given[place], arrays[place] = out, found
            call = call._replace(
                values=given,
                arrays=arrays,
                pairs=[(target, p) for p in call.pointers],
            )
        pointers = [*call.pointers, target]
        self._direct.add(call._replace(pointers=pointers, returned=place))

    def _prepared(
        self,
        resolved: list[Any],
        axis: int,
        exclusive: bool,
        dtype: object,
        device: Device,
    ) -> tuple[list[_Ready], int]:
        """The kernels for such arguments, and how many blocks there are."""
        shape = broadcast(
            [
                r.shape
                for name, r in zip(self.params, resolved)
                if isinstance(r, ndarray) and name not in self._indexed
            ]
        )
        if not shape or not -len(shape) <= axis < len(shape):
            raise ArgumentError(f"axis {axis!r} of {len(shape)} dimensions")
        body, types = self._typed(resolved, dtype)
        axis %= len(shape)
        order = [i for i in range(len(shape)) if i != axis] + [axis]
        lengths = [shape[i] for i in order]
        specs, strides = [], []
        for name, r in zip(self.params, resolved):
            if isinstance(r, ndarray) and name not in self._indexed:
                steps = spread(r.shape, element_strides(r) or (), shape)
                strides.append(tuple(steps[i] for i in order))
                stride = _innermost(strides[-1], len(order) - 1)
                specs.append(ArraySpec(name, r.dtype, True, False, stride))
        packed = c_strides(shape, 1)
        rows, length = 1, max(lengths[-1], 1)
        for n in lengths[:-1]:
            rows *= n
        blocks = self._blocks(max(rows, 1), length, device)
        known = {f"n{d}": n for d, n in enumerate(lengths)}
        known.update(blocks=blocks, step=-(-length // blocks))
        for name, steps in (
            *zip([s.name for s in specs], strides),
            ("out", tuple(packed[i] for i in order)),
        ):
            known.update((f"s_{name}_{d}", n) for d, n in enumerate(steps))
        numbers, raws = self._numbers(resolved), self._raws(resolved)
        kernels = []
        for source, params in _sources(
            self, body, types, specs, numbers, raws, len(order), exclusive,
            packed[axis] == 1, device.is_host,
        )[blocks == 1 :]:
            made = program(device.context, source, params)
            ready = _Ready(made, device, types)
            ready.shape = shape
            ready.fixed = list(known.items())
            ready.tripcount = rows * blocks
            ready.teams = int(device.is_host and rows * blocks == 1)
            self._arguments(ready, resolved, numbers, body.bounds)
            kernels.append(ready)
        return kernels, max(rows * blocks, 1)

    def _programs(self, resolved: list[Any], device: Device) -> list[Program]:
        kernels, _ = self._prepared(resolved, -1, False, None, device)
        return [one.made for one in kernels]

    def _blocks(self, rows: int, length: int, device: Device) -> int:
        """How many blocks a row is cut into."""
        if device.is_host:
            wanted, least = device.multiprocessors, _LEAST
        else:
            wanted, least = device.multiprocessors * 128, 1 << 13
        return max(1, min(-(-wanted // rows), length // least))


def _sources(
    scan: Scan,
    body: Any,
    types: Types,
    specs: list[ArraySpec],
    numbers: Sequence[NumberSpec],
    raws: Sequence[Any],
    loops: int,
    exclusive: bool,
    beside: bool,
    host: bool,
) -> list[tuple[str, list[tuple[str, str]]]]:
    """The C of both kernels. `beside`: the elements of a row of the result are
    neighbours."""
    last = loops - 1
    params = [(f"n{d}", "i64") for d in range(loops)]
    params += [("blocks", "i64"), ("step", "i64")]
    texts = [f"long {name}" for name, _ in params]
    more, more_texts, inside = number_params(numbers)
    unit = ("1" if beside else "s",)
    strides = ("s",) * last + unit
    out = ArraySpec("out", types.result, False, True, strides)
    sums = ArraySpec("sums", types.total, True, True, ())
    arrays, array_texts = array_params([*specs, out, sums], raws)
    params += more + arrays
    texts += more_texts + array_texts
    inner = inside + loads(specs, [f"j{d}" for d in range(loops)])
    clause = pointers([*specs, out, sums], raws)
    rows = " * ".join([f"n{d}" for d in range(last)] or ["1"])
    begin = (
        f"{_head(scan, body, types)}void scan({', '.join(texts)})\n{{\n"
        f"    #pragma omp target teams distribute parallel for {clause}\n"
        f"    for (long o = 0; o < {rows} * blocks; o++) {{\n"
        "        const long block = o % blocks;\n"
        "        const long begin = block * step;\n"
        f"        const long end = begin + step < n{last} ? begin + step : "
        f"n{last};\n"
        f"{unravel(last, '(o / blocks)', '        ')}"
    )
    called = _combine(scan.op, types.total)[0]
    step = _step(scan, body, types, inner, "@")
    reduce = (
        f"{begin}{_piece(scan, types, step, f'j{last}', 'begin', 'end')}"
        "        p_sums[o] = part;\n    }\n}\n"
    )
    indices = [f"j{d}" for d in range(loops)]
    store = f"        p_out[{place(out, indices)}] = ({types.result.c})@;\n"
    combine = f"        @ = {called}(@, ({types.total.c})v_result);\n"
    value = f"{inner}        {types.value.c} v_result;\n{body.text}"
    each = value + (store + combine if exclusive else combine + store)
    var = f"j{last}"
    vectors = ""
    if host and scan.op in _VECTORS and not types.total.is_complex:
        vectors = _vectors(scan.op, types, var, value, place(out, indices), exclusive)
    run = (
        f"{begin}        {types.total.c} all = "
        f"{_identity(scan.op, types.total)};\n"
        "        for (long b = o - block; b < o; b++)\n"
        f"            all = {called}(all, p_sums[b]);\n"
        f"        long at = begin;\n{vectors}"
        f"        for (; at < end; at++) {{\n        const long {var} = at;\n"
        f"{each.replace('@', 'all')}        }}\n    }}\n}}\n"
    )
    return [(reduce, params), (run, params)]


def _vectors(
    op: str, types: Types, var: str, value: str, place: str, exclusive: bool
) -> str:
    """The C that runs through a block as far as there are four values."""
    total = types.total
    none = _identity(op, total)
    moved = "".join(
        f"        now = now {op} __builtin_shufflevector(none, now, "
        f"{', '.join(str(i if i < by else 4 + i - by) for i in range(4))});\n"
        for by in (1, 2)
    )
    shown = "now"
    if exclusive:
        shown = "__builtin_shufflevector(none, now, 0, 4, 5, 6)"
    return (
        f"        typedef {total.c} vector "
        f"__attribute__((vector_size({4 * total.itemsize})));\n"
        f"        const vector none = {{{', '.join([none] * 4)}}};\n"
        "        vector before = {all, all, all, all};\n"
        "        for (; at + 4 <= end; at += 4) {\n"
        f"        {total.c} values[4];\n"
        "        #pragma omp simd\n"
        "        for (int l = 0; l < 4; l++) {\n"
        f"        const long {var} = at + l;\n{value}"
        f"        values[l] = ({total.c})v_result;\n        }}\n"
        "        vector now;\n"
        "        __builtin_memcpy(&now, values, sizeof now);\n"
        f"{moved}        const vector shown = before {op} {shown};\n"
        f"        before = before {op} __builtin_shufflevector(now, now, "
        "3, 3, 3, 3);\n"
        "        #pragma omp simd\n"
        "        for (int l = 0; l < 4; l++) {\n"
        f"        const long {var} = at + l;\n"
        f"        p_out[{place}] = ({types.result.c})shown[l];\n        }}\n"
        "        }\n        all = before[0];\n"
    )


@once
def _made(text: str, op: str, preamble: str) -> Scan:
    return Scan(text, op, preamble)


def scan(text: str = "x", op: str = "+", preamble: str = "") -> Scan:
    """A kernel that scans the values of an expression: each element of the
    result is the reduction of all up to it.

        ompjit.scan()(x)                       # running sums
        ompjit.scan("x*x", "max")(x, axis=0)

    Args:
        text: an expression, as of ompjit.elementwise.
        op: an operator, as of ompjit.reduction.
        preamble: C with functions that the expression calls.
    """
    return _made(
        string("text", text), string("op", op), string("preamble", preamble)
    )
