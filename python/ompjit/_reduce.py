# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that reduce: sums, products, extremes of an expression's values.

A piece of a loop is reduced in several lanes, for vectors and for precision,
then pieces by the threads. float32 and float16 are summed in float64 beyond a
piece. Over axes, each element of the result is one thread's, or one lane's
where its neighbours lie beside it in memory.
"""
from __future__ import annotations

import ctypes
from ctypes import addressof, c_void_p

from . import TYPE_CHECKING, _functions as functions
from ._array import ndarray
from ._device import Device
from ._direct import Call, Total
from ._dtype import DType, bool_, dtype as dtype_of, float32, float64, int64, uint64
from ._emit import strong
from ._errors import ArgumentError, integers, string
from ._expression import Elementwise
from ._host import c_strides
from ._layout import broadcast, extent, layout, spread
from ._lib import call
from ._loops import (
    ArraySpec,
    NumberSpec,
    array_params,
    loads,
    number_params,
    pointers,
    unravel,
)
from ._make import empty
from ._native import by_vector
from ._once import once
from ._operand import (
    UNKNOWN,
    Number,
    device_of,
    element_strides,
    host_address,
    key_of,
    place_key,
    weak_type,
)
from ._plan import Check, Passed, Pointer, passed, slots_of
from ._program import Program, program
from ._weak import Bounds

if TYPE_CHECKING:
    from typing import Any, NamedTuple, Sequence

    from ._queue import Queue
else:
    from ._typing import Any, NamedTuple, Queue, Sequence

PIECE, BLOCK = 1 << 14, 64

Axis = "int | Sequence[int] | None"


class Operator(NamedTuple):
    """How two values become one, in C, and what changes nothing."""

    text: str  # of a and b
    identity: str  # {low} and {high} are the type's least and largest number
    same: bool  # the result has the type of the values


OPERATORS = {
    "+": Operator("a + b", "0", False),
    "*": Operator("a * b", "1", False),
    "min": Operator("{min}", "{high}", True),
    "max": Operator("{max}", "{low}", True),
    "&": Operator("a & b", "{ones}", True),
    "|": Operator("a | b", "0", True),
    "^": Operator("a ^ b", "0", True),
    "&&": Operator("a && b", "1", True),
    "||": Operator("a || b", "0", True),
}


class Types(NamedTuple):
    """Of one reduction."""

    value: DType  # of the expression
    lane: DType  # within a piece
    total: DType  # beyond it
    result: DType


def types_of(name: str, value: DType, result: DType | None) -> Types:
    """The types of a reduction of values, by numpy's rules."""
    if name in ("&&", "||"):
        return Types(value, bool_, bool_, result or bool_)
    if OPERATORS[name].same:
        return Types(value, value, value, result or value)
    if result is not None and result.kind in "fc" and value.kind not in "fc":
        return Types(value, result, result, result)
    if value.kind in "bi":
        return Types(value, int64, int64, result or int64)
    if value.kind == "u":
        return Types(value, uint64, uint64, result or uint64)
    if value.is_complex:
        return Types(value, value, value, result or value)
    lane = float32 if value.itemsize <= 4 else float64
    if result is float64:
        lane = float64
    return Types(value, lane, float64, result or value)


def _limit(kind: DType, low: bool) -> str:
    if kind.kind == "f":
        return f"({kind.c}){'-' if low else ''}__builtin_inf()"
    if kind.kind == "b":
        return "0" if low else "1"
    bits = 8 * kind.itemsize
    if kind.kind == "u":
        return "0" if low else f"({kind.c})-1"
    high = (1 << (bits - 1)) - 1
    return f"(-{high}l - 1)" if low else f"{high}l"


def _combine(name: str, kind: DType) -> tuple[str, str]:
    """The name and the C of a function that combines two values."""
    op = OPERATORS[name]
    called = f"ompjit_combine_{kind.name}"
    extreme = {n: functions.SAME[n][1] for n in ("min", "max")}
    text = op.text.format(**extreme)
    if kind.kind != "f":
        text = text.replace(" || a != a", "")
    return called, (
        f"static inline {kind.c} {called}({kind.c} a, {kind.c} b)\n"
        f"{{\n    return {text};\n}}\n"
    )


def _identity(name: str, kind: DType) -> str:
    text = OPERATORS[name].identity
    return text.format(
        low=_limit(kind, True),
        high=_limit(kind, False),
        ones="1" if kind.kind == "b" else f"({kind.c})-1",
    )


class _Loops(NamedTuple):
    """Kept and reduced loops of a reduction."""

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    specs: list[ArraySpec]
    strides: list[tuple[int, ...]]  # of each array, kept then reduced loops


class _Ready:
    """A reduction's kernel for types, shapes and strides, with the arguments
    that do not change set."""

    def __init__(self, made: Program, device: Device, types: Types) -> None:
        self.made = made
        self.device = device
        self.types = types
        self.slots = slots_of(made.params)
        self.fixed: list[tuple[str, int]] = []
        self.pointers: list[tuple[int, int, str]] = []  # slot, place, name
        # Slot, first byte and the one behind the last, strides.
        self.extents: list[tuple[int, int, int, tuple[int, ...]]] = []
        self.numbers: list[Passed] = []
        self.check: Check | None = None
        self.tripcount = self.teams = 0
        self.shape: tuple[int, ...] = ()
        self.frames: list[Any] = []

    def frame(self, values: list[Any]) -> Any:
        """A frame with the arguments of a call."""
        try:
            frame = self.frames.pop()
        except IndexError:
            frame = self.made.frame()
            frame.options.tripcount = self.tripcount
            frame.options.teams = self.teams
            for name, value in self.fixed:
                slot = self.slots.get(name)
                if slot is not None:
                    frame.values[slot].i64 = value
        for slot, place, name in self.pointers:
            value = values[place]
            frame.values[slot].p = (
                value.address
                if type(value) is ndarray
                else host_address(value, False, name)
            )
        if self.check is not None:
            self.check(values)
        for number in self.numbers:
            number.set(frame.values, values[number.place])
        return frame

    def call(self, values: Sequence[Any], resolved: Sequence[Any]) -> Call:
        """Such a call, for C to make; it returns nothing yet."""
        places = {slot: place for slot, place, _ in self.pointers}
        return Call(
            self.made,
            self.device,
            self.tripcount,
            self.teams,
            values,
            [r if isinstance(r, ndarray) else None for r in resolved],
            [
                Pointer("", places[slot], slot, False, begin, end, strides)
                for slot, begin, end, strides in self.extents
            ],
            self.numbers,
            [
                (self.slots[name], "i64", value)
                for name, value in self.fixed
                if name in self.slots
            ],
            [],
            check=self.check,
        )

    def overlaps(self, frame: Any, out: ndarray, in_place: bool) -> bool:
        """Whether an output shares memory with an argument: in other places
        than its own, or at all."""
        first = out.address
        for slot, begin, end, strides in self.extents:
            address = frame.values[slot].p or 0
            if address + end <= first or first + out.nbytes <= address + begin:
                continue
            if not in_place or address != first or strides != out.strides:
                return True
        return False

    def run(self, frame: Any) -> None:
        self.made.run(frame, c_void_p(self.device.address), None)
        self.frames.append(frame)


@by_vector
class Reduction(Elementwise):
    """A reduction of the values of an expression; ompjit.reduction() makes it.

    Attributes:
        text: the expression.
        op: the operator.
        inputs: the names of its arguments.
    """

    def __init__(self, text: str, op: str, preamble: str = "") -> None:
        if op not in OPERATORS:
            raise ArgumentError(f"op is {op!r}; it can be {', '.join(OPERATORS)}")
        super().__init__(text, preamble)
        if self.outputs != ("result",):
            raise ArgumentError(f"{text!r} is no expression with one value")
        self.op = op
        self._ready: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"ompjit.reduction({self.text!r}, {self.op!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return reduction, (self.text, self.op, self.preamble)

    def _call(
        self,
        *args: Any,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        dtype: object = None,
        out: Any = None,
        device: Device | None = None,
        **named: Any,
    ) -> Any:
        """Reduces.

        Args:
            args, named: a value for each of `inputs`: arrays whose shapes
                broadcast, and numbers.
            axis: the dimensions that are reduced. Default: all, and the
                result is a number.
            keepdims: they stay, with length 1.
            dtype: of the result. Default: numpy's.
            out: the array for the result over axes.
            device: Default: that of the arrays, else the current one.
        """
        values = self._bind_inputs(args, named)
        if axis is not None and type(axis) is not int:
            axis = integers("axis", axis)
        key = (*map(key_of, values), axis, dtype, device, place_key())
        ready = None if UNKNOWN in key else self._ready.get(key)
        if ready is None:
            where = device_of(values, device)
            resolved, direct = self._resolve(values, where)
            ready = self._prepare(resolved, axis, dtype, where)
            if direct and UNKNOWN not in key:
                if len(self._ready) >= 256:
                    self._ready.clear()
                self._ready[key] = ready
                if key[-4:] == (None, None, None, None):
                    self._add_total(ready, values, resolved)
            else:
                values = [
                    r.value if isinstance(r, Number) else r for r in resolved
                ]
        if axis is None:
            return self._number(ready, values)
        return self._array(ready, values, axis, keepdims, out)

    if TYPE_CHECKING:
        __call__ = _call

    def _bind_inputs(
        self, args: tuple[Any, ...], named: dict[str, Any]
    ) -> list[Any]:
        """As _bind, but what the result is called here is no parameter."""
        extra = "result" in named and "result" not in self.inputs
        if extra or len(args) > len(self.inputs):
            raise ArgumentError(
                f"{self!r} takes {', '.join(self.inputs)}, and `out`"
            )
        return self._bind(args, None, named)

    def _prepare(
        self, resolved: list[Any], axis: Any, dtype: object, device: Device
    ) -> _Ready:
        shape = broadcast(
            [
                r.shape
                for name, r in zip(self.params, resolved)
                if isinstance(r, ndarray) and name not in self._indexed
            ]
        )
        body, types = self._typed(resolved, dtype)
        axes = _axes(axis, len(shape))
        numbers = self._numbers(resolved)
        raws = self._raws(resolved)
        some = tuple(1 if 0 in shape else n for n in shape)  # not run then
        if axes is None:
            loops = self._loops(resolved, some, (), None)
            source, params = _whole_source(
                self, body, types, loops, numbers, raws, device
            )
        else:
            kept = tuple(i for i in range(len(shape)) if i not in axes)
            target = tuple(some[i] for i in kept)
            loops = self._loops(resolved, some, kept, target)
            beside = bool(kept and loops.strides[:-1]) and all(
                s[len(loops.kept) - 1] in (0, 1) for s in loops.strides[:-1]
            )
            source, params = _axes_source(
                self, body, types, loops, numbers, raws,
                device.is_host and beside,
            )
        made = program(device.context, source, params)
        ready = _Ready(made, device, types)
        ready.shape = shape
        self._fill(ready, resolved, loops, numbers, body.bounds, axes is None)
        return ready

    def _programs(self, resolved: list[Any], device: Device) -> list[Program]:
        return [self._prepare(resolved, None, None, device).made]

    def _fill(
        self,
        ready: _Ready,
        resolved: list[Any],
        loops: _Loops,
        numbers: Sequence[NumberSpec],
        bounds: Bounds,
        whole: bool,
    ) -> None:
        """What frames have, and where arguments go."""
        lengths = loops.kept + loops.reduced
        work = kept = 1
        for n in lengths:
            work *= n
        for n in loops.kept:
            kept *= n
        ready.fixed = [(f"n{d}", n) for d, n in enumerate(lengths)]
        outer = work // lengths[-1]
        pieces = -(-lengths[-1] // PIECE)
        if whole:
            ready.fixed += [("outer", outer), ("pieces", pieces)]
            ready.tripcount = outer * pieces if ready.device.is_host else work
        else:
            ready.tripcount = kept
        ready.teams = int(ready.device.is_host and work <= 1 << 14)
        names = [spec.name for spec in loops.specs]
        if not whole:
            names.append("out")
        for name, strides in zip(names, loops.strides):
            ready.fixed += [
                (f"s_{name}_{d}", stride) for d, stride in enumerate(strides)
            ]
        self._arguments(ready, resolved, numbers, bounds)

    def _arguments(
        self,
        ready: _Ready,
        resolved: list[Any],
        numbers: Sequence[NumberSpec],
        bounds: Bounds,
    ) -> None:
        """Where arguments go, and what is checked of them."""
        for place, (name, r) in enumerate(zip(self.params, resolved)):
            if isinstance(r, ndarray):
                prefix = "v_" if name in self._indexed else "p_"
                slot = ready.slots[prefix + name]
                ready.pointers.append((slot, place, name))
                reach = extent(r.shape, r.strides, r.itemsize)
                strides = () if name in self._indexed else r.strides
                ready.extents.append((slot, *reach, strides))
        ready.numbers = passed(numbers, self._places, ready.slots, bounds)
        ready.check = bounds.calculated(self._places)

    def _out(self) -> str | None:
        return None

    def _add_total(
        self, ready: _Ready, values: list[Any], resolved: list[Any]
    ) -> None:
        """Has C make the next calls that come to a number."""
        if 0 in ready.shape or not ready.device.is_host:
            return
        kind = ready.types.total
        total = Total(
            ready.slots["r"], kind, _neutral(self.op, kind), ready.types.result
        )
        self._direct.add(
            ready.call(values, resolved)._replace(total=total, returned=None)
        )

    def _number(self, ready: _Ready, values: list[Any]) -> Any:
        if 0 in ready.shape:
            return _empty_result(self, ready.types)
        return _run_total(self.op, ready, ready.frame(values))

    def _array(
        self,
        ready: _Ready,
        values: list[Any],
        axis: Any,
        keepdims: bool,
        out: Any,
    ) -> Any:
        axes = _axes(axis, len(ready.shape)) or frozenset()
        kept = tuple(n for i, n in enumerate(ready.shape) if i not in axes)
        target = (
            tuple(1 if i in axes else n for i, n in enumerate(ready.shape))
            if keepdims
            else kept
        )
        made = self._output(out, target, ready.types.result, ready.device)
        if made.size and 0 in ready.shape:
            made.set(_empty_result(self, ready.types))
        elif made.size:
            frame = ready.frame(values)
            place = made
            if out is not None and ready.overlaps(frame, made, False):
                place = empty(made.shape, made.dtype, device=ready.device)
            frame.values[ready.slots["p_out"]].p = place.address
            ready.run(frame)
            if place is not made:
                made.set(place)
        if out is not None:
            return out
        ours = any(isinstance(v, ndarray) for v in values)
        return made if ours else _host_result(made)

    def _typed(self, resolved: list[Any], dtype: object) -> tuple[Any, Types]:
        kinds = tuple(
            None if r is None else r.kind if isinstance(r, Number) else r.dtype
            for r in resolved
        )
        body = self._body(kinds)
        wanted = None if dtype is None else dtype_of(dtype)
        types = types_of(self.op, body.outputs["result"], wanted)
        if types.value.is_complex and self.op not in ("+", "*"):
            raise ArgumentError(f"{self.op} of complex numbers")
        if types.value.kind == "f" and self.op in ("&", "|", "^"):
            raise ArgumentError(f"{self.op} of numbers that are no integers")
        return body, types

    def _output(
        self, out: Any, shape: tuple[int, ...], kind: DType, device: Device
    ) -> ndarray:
        if out is None:
            return empty(shape, kind, device=device)
        from ._operand import array

        found = array(out, device, "out", True)
        if found.shape != shape or found.dtype is not kind:
            raise ArgumentError(
                f"out is {found.dtype} of shape {found.shape}; the result is "
                f"{kind} of shape {shape}"
            )
        if not found.c_contiguous or (found.address and out is not found
                                      and not device.is_host):
            raise ArgumentError("out is not a C-contiguous array of the device")
        return found

    def _loops(
        self,
        resolved: list[Any],
        shape: tuple[int, ...],
        kept: tuple[int, ...],
        out: tuple[int, ...] | None,
    ) -> _Loops:
        """Loops over the kept dimensions, then over the others. `out` is the
        shape of the result, which is packed."""
        names, arrays = [], []
        for name, r in zip(self.params, resolved):
            if isinstance(r, ndarray) and name not in self._indexed:
                names.append(name)
                arrays.append(r)
        steps = [
            spread(a.shape, element_strides(a) or (), shape) for a in arrays
        ]
        reduced = tuple(i for i in range(len(shape)) if i not in kept)
        inner = layout(
            tuple(shape[i] for i in reduced),
            [tuple(s[i] for i in reduced) for s in steps],
            0 if steps else None,
        )
        strides = [tuple(s) for s in inner.strides]
        lengths: tuple[int, ...] = ()
        if out is not None:
            outer = layout(
                tuple(shape[i] for i in kept),
                [tuple(s[i] for i in kept) for s in steps]
                + [c_strides(out, 1)],
                len(steps),
            )
            lengths = outer.lengths
            strides = [
                tuple(o) + i for o, i in zip(outer.strides, strides)
            ] + [tuple(outer.strides[-1])]
        specs = [
            ArraySpec(name, a.dtype, True, False, ("s",) * len(s))
            for name, a, s in zip(names, arrays, strides)
        ]
        return _Loops(lengths, inner.lengths, specs, strides)

    def _numbers(self, resolved: list[Any]) -> list[NumberSpec]:
        kinds = [
            r.kind if isinstance(r, Number) else r.dtype
            for r in resolved
            if r is not None
        ]
        by = weak_type(kinds)
        return [
            NumberSpec(name, strong(r.kind, by))
            for name, r in zip(self.params, resolved)
            if isinstance(r, Number)
        ]

    def _raws(self, resolved: list[Any]) -> list[Any]:
        from ._loops import RawSpec

        return [
            RawSpec(name, r.dtype, False)
            for name, r in zip(self.params, resolved)
            if name in self._indexed
        ]


def _axes(axis: Any, ndim: int) -> frozenset[int] | None:
    if axis is None:
        return None
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    if len(given) == ndim and ndim == 0:
        return None
    found = []
    for a in given:
        if not -ndim <= a < ndim:
            raise ArgumentError(f"axis {a!r} of {ndim} dimensions")
        found.append(a % ndim)
    if len(set(found)) != len(found):
        raise ArgumentError(f"axis {axis!r} names a dimension twice")
    return frozenset(found)


def _host_result(made: ndarray) -> Any:
    try:
        return made.get()
    except ImportError:
        return made


def _empty_result(reduction: Reduction, types: Types) -> Any:
    """Of no values."""
    op = reduction.op
    if op in ("min", "max"):
        raise ArgumentError(f"{reduction!r} of no elements has no value")
    if op == "&" and types.result is not bool_:
        return -1 if types.result.kind == "i" else (1 << 8 * types.result.itemsize) - 1
    first = op in ("*", "&&", "&")
    kinds = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
    return kinds[types.result.kind](first)


@once
def _neutral(op: str, kind: DType) -> bytes:
    """What changes nothing, as bytes."""
    from ._numbers import pack

    bits = 8 * kind.itemsize
    neutral: Any = {"*": 1, "&&": 1}.get(op, 0)
    if op in ("min", "max"):
        low = op == "max"
        if kind.kind == "f":
            neutral = float("-inf" if low else "inf")
        elif kind.kind == "i":
            neutral = -(1 << (bits - 1)) if low else (1 << (bits - 1)) - 1
        elif kind.kind == "u":
            neutral = 0 if low else (1 << bits) - 1
        else:
            neutral = not low
    elif op == "&":
        neutral = {"b": True, "i": -1}.get(kind.kind, (1 << bits) - 1)
    return pack(kind, [neutral])


def _run_total(op: str, ready: _Ready, frame: Any) -> Any:
    """Launches with room for the total, and returns that."""
    from ._numbers import pack, unpack

    types, device = ready.types, ready.device
    kind = types.total
    data = ctypes.create_string_buffer(_neutral(op, kind), kind.itemsize)
    place = addressof(data)
    memory = None
    if not device.is_host:
        memory = device.alloc(kind.itemsize)
        size = kind.itemsize
        call("device_upload", device.address, memory.address, place, size)
        place = memory.address
    frame.values[ready.slots["r"]].p = place
    ready.run(frame)
    if memory is not None:
        here, size = addressof(data), kind.itemsize
        call("device_download", device.address, here, memory.address, size)
    (total,) = unpack(kind, data.raw)
    if types.result is not kind:
        (total,) = unpack(types.result, pack(types.result, [total]))
    return total


def _head(reduction: Reduction, body: Any, types: Types) -> str:
    """Functions that combine, and the total's reduction for OpenMP."""
    kinds = dict.fromkeys((types.lane, types.total))
    texts = [_combine(reduction.op, kind)[1] for kind in kinds]
    total = types.total
    called = _combine(reduction.op, total)[0]
    declared = (
        f"#pragma omp declare reduction(ompjit_total: {total.c}: "
        f"omp_out = {called}(omp_out, omp_in)) "
        f"initializer(omp_priv = {_identity(reduction.op, total)})\n"
    )
    return f"{body.head}{''.join(texts)}{declared}/* {reduction.text} */\n"


def _step(
    reduction: Reduction, body: Any, types: Types, inside: str, target: str
) -> str:
    """One value combined into a variable of the lanes' type."""
    called = _combine(reduction.op, types.lane)[0]
    return (
        f"{inside}        {types.value.c} v_result;\n{body.text}"
        f"        {target} = {called}({target}, ({types.lane.c})v_result);\n"
    )


def _lanes(kind: DType) -> int:
    """Half a kilobyte of one array is read before another one is, which memory
    gives 5 to 20 % sooner than a quarter. Lanes of 4 bytes are summed faster
    by 32."""
    return 64 if kind.itemsize == 8 else 32


def _piece(
    reduction: Reduction, types: Types, step: str, var: str, begin: str, end: str
) -> str:
    """Reduces a stretch of the innermost loop to `part`, in lanes."""
    lane, identity = types.lane.c, _identity(reduction.op, types.lane)
    lanes = _lanes(types.lane)
    called = _combine(reduction.op, types.total)[0]
    return (
        f"        {lane} one = {identity};\n"
        f"        {types.total.c} part = {_identity(reduction.op, types.total)};\n"
        f"        long at = {begin};\n"
        f"        if ({end} - at >= {2 * lanes}) {{\n"
        f"        {lane} lane[{lanes}];\n"
        f"        for (int l = 0; l < {lanes}; l++) lane[l] = {identity};\n"
        f"        for (; at + {lanes} <= {end}; at += {lanes}) {{\n"
        "        #pragma omp simd\n"
        f"        for (int l = 0; l < {lanes}; l++) {{\n"
        f"        const long {var} = at + l;\n"
        f"{step.replace('@', 'lane[l]')}        }}\n        }}\n"
        f"        for (int l = 0; l < {lanes}; l++)\n"
        f"            part = {called}(part, ({types.total.c})lane[l]);\n"
        "        }\n"
        f"        for (; at < {end}; at++) {{\n"
        f"        const long {var} = at;\n"
        f"{step.replace('@', 'one')}        }}\n"
        f"        part = {called}(part, ({types.total.c})one);\n"
    )


def _whole_source(
    reduction: Reduction,
    body: Any,
    types: Types,
    loops: _Loops,
    numbers: Sequence[NumberSpec],
    raws: Sequence[Any],
    device: Device,
) -> tuple[str, list[tuple[str, str]]]:
    """The C of a kernel that reduces to one number."""
    count = len(loops.reduced)
    last = count - 1
    specs = [
        s._replace(strides=_innermost(steps, last))
        for s, steps in zip(loops.specs, loops.strides)
    ]
    params = [(f"n{d}", "i64") for d in range(count)]
    params += [("outer", "i64"), ("pieces", "i64")]
    texts = [f"long {name}" for name, _ in params]
    more, more_texts, inside = number_params(numbers)
    arrays, array_texts = array_params(specs, raws)
    params += more + arrays + [("r", "p")]
    texts += more_texts + array_texts
    indices = [f"j{d}" for d in range(count)]
    total = types.total.c
    shared = (
        "    #pragma omp target teams distribute parallel for "
        f"reduction(ompjit_total: r) map(tofrom: r) {pointers(specs, raws)}\n"
    )
    called = _combine(reduction.op, types.total)[0]
    if device.is_host:
        step = _step(
            reduction, body, types, inside + loads(specs, indices), "@"
        )
        text = (
            f"{shared}    for (long o = 0; o < outer * pieces; o++) {{\n"
            f"        const long begin = o % pieces * {PIECE};\n"
            f"        const long end = begin + {PIECE} < n{last} ? "
            f"begin + {PIECE} : n{last};\n"
            f"{unravel(last, '(o / pieces)', '        ')}"
            f"{_piece(reduction, types, step, f'j{last}', 'begin', 'end')}"
            f"        r = {called}(r, part);\n    }}\n"
        )
    else:
        step = _step(
            reduction, body, types, inside + loads(specs, indices), "one"
        )
        size = " * ".join(f"n{d}" for d in range(count))
        text = (
            f"{shared}    for (long j = 0; j < {size}; j++) {{\n"
            f"{unravel(count, 'j', '        ')}"
            f"        {types.lane.c} one = "
            f"{_identity(reduction.op, types.lane)};\n{step}"
            f"        r = {called}(r, ({total})one);\n    }}\n"
        )
    source = (
        f"{_head(reduction, body, types)}"
        f"void reduction({', '.join(texts)})\n{{\n"
        f"    {total} r = {_identity(reduction.op, types.total)};\n{text}}}\n"
    )
    return source, params


def _innermost(steps: tuple[int, ...], at: int) -> tuple[str, ...]:
    """What is known of the strides when the kernel is compiled: that of one
    loop."""
    known = {0: "0", 1: "1"}.get(steps[at], "s")
    return tuple(known if d == at else "s" for d in range(len(steps)))


def _axes_source(
    reduction: Reduction,
    body: Any,
    types: Types,
    loops: _Loops,
    numbers: Sequence[NumberSpec],
    raws: Sequence[Any],
    beside: bool,
) -> tuple[str, list[tuple[str, str]]]:
    """The C of a kernel that reduces over some axes. `beside`: neighbours in
    the result are neighbours in the arguments."""
    kept, count = len(loops.kept), len(loops.kept) + len(loops.reduced)
    at = kept - 1 if beside else count - 1
    specs = [
        s._replace(strides=_innermost(steps, at))
        for s, steps in zip(loops.specs, loops.strides)
    ]
    out = ArraySpec("out", types.result, False, True, ("s",) * kept)
    params = [(f"n{d}", "i64") for d in range(count)]
    texts = [f"long n{d}" for d in range(count)]
    more, more_texts, inside = number_params(numbers)
    arrays, array_texts = array_params([*specs, out], raws)
    params += more + arrays
    texts += more_texts + array_texts
    indices = [f"j{d}" for d in range(count)]
    place = " + ".join(f"j{d} * s_out_{d}" for d in range(kept)) or "0"
    clause = pointers([*specs, out], raws)
    shared = f"    #pragma omp target teams distribute parallel for {clause}\n"
    inner = inside + loads(specs, indices)
    nest = _nest(range(kept, count - (not beside)))
    if beside:
        step = _step(reduction, body, types, inner, "acc[l]")
        outer = " * ".join([f"n{d}" for d in range(kept - 1)] or ["1"])
        text = (
            f"{shared}    for (long o = 0; o < {outer} * "
            f"((n{at} + {BLOCK - 1}) / {BLOCK}); o++) {{\n"
            f"        const long blocks = (n{at} + {BLOCK - 1}) / {BLOCK};\n"
            f"        const long begin = o % blocks * {BLOCK};\n"
            f"        const long width = n{at} - begin < {BLOCK} ? "
            f"n{at} - begin : {BLOCK};\n"
            f"{unravel(kept - 1, '(o / blocks)', '        ')}"
            f"        {types.total.c} acc[{BLOCK}];\n"
            f"        for (int l = 0; l < {BLOCK}; l++) "
            f"acc[l] = {_identity(reduction.op, types.total)};\n"
            f"{nest}        {{\n        #pragma omp simd\n"
            "        for (long l = 0; l < width; l++) {\n"
            f"        const long j{at} = begin + l;\n{step}        }}\n"
            "        }\n        for (long l = 0; l < width; l++) {\n"
            f"        const long j{at} = begin + l;\n"
            f"        p_out[{place}] = ({types.result.c})acc[l];\n"
            "        }\n    }\n"
        ).replace(
            _combine(reduction.op, types.lane)[0] + "(acc[l], ("
            + types.lane.c + ")",
            _combine(reduction.op, types.total)[0] + "(acc[l], ("
            + types.total.c + ")",
        )
    else:
        step = _step(reduction, body, types, inner, "@")
        size = " * ".join([f"n{d}" for d in range(kept)] or ["1"])
        last = count - 1
        called = _combine(reduction.op, types.total)[0]
        text = (
            f"{shared}    for (long o = 0; o < {size}; o++) {{\n"
            f"{unravel(kept, 'o', '        ')}"
            f"        {types.total.c} all = "
            f"{_identity(reduction.op, types.total)};\n"
            f"{nest}        {{\n"
            f"{_piece(reduction, types, step, f'j{last}', '0', f'n{last}')}"
            f"        all = {called}(all, part);\n        }}\n"
            f"        p_out[{place}] = ({types.result.c})all;\n    }}\n"
        )
    source = (
        f"{_head(reduction, body, types)}"
        f"void reduction({', '.join(texts)})\n{{\n{text}}}\n"
    )
    return source, params


def _nest(loops: Any) -> str:
    return "".join(
        f"        for (long j{d} = 0; j{d} < n{d}; j{d}++)\n" for d in loops
    )


@once
def _made(text: str, op: str, preamble: str) -> Reduction:
    return Reduction(text, op, preamble)


def reduction(text: str, op: str = "+", preamble: str = "") -> Reduction:
    """A kernel that reduces the values of an expression.

        dot = ompjit.reduction("a*b", "+")
        dot(x, y)                                   # a number
        ompjit.reduction("abs(x)", "max")(x, axis=0)

    Args:
        text: an expression, as of ompjit.elementwise.
        op: "+", "*", "min", "max", "&", "|", "^", "&&" or "||".
        preamble: C with functions that the expression calls.

    Sums and products of integers are 64 bits wide. float32 and float16 are
    summed in double precision, but for the 512 numbers that a lane sums first.
    A minimum is NaN where a value is. The same text gives the same object.
    """
    return _made(
        string("text", text), string("op", op), string("preamble", preamble)
    )


