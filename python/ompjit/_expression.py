# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels from expressions: one operation on every element.

A call binds its arguments, finds the plan for their types and shapes, sets
addresses and numbers, and launches. A plan is made when such arguments are
first seen; its kernel is compiled when such types are.
"""
from __future__ import annotations

from . import TYPE_CHECKING, _host
from ._array import ndarray
from ._bind import Expression
from ._device import Device
from ._direct import Call
from ._dtype import DType, dtype as dtype_of, int64
from ._emit import C, Emitter, Kind, strong
from ._errors import ArgumentError, expect, string
from ._layout import Layout, broadcast, layout, spread
from ._loops import (
    ArraySpec,
    NumberSpec,
    RawSpec,
    elementwise_source,
)
from ._native import by_vector
from ._once import once
from ._operand import (
    UNKNOWN,
    Number,
    array,
    device_of,
    element_strides,
    give_back,
    key_of,
    place_key,
    number,
    packed,
    weak_type,
    wide,
)
from ._parse import Node, fail
from ._plan import Made, Plan, passed, pointer, slots_of
from ._program import Program, program
from ._queue import Queue, current_queue
from ._weak import Bounds

if TYPE_CHECKING:
    from typing import Any, NamedTuple, Sequence

    from ._kernel import Kernel
else:
    from ._typing import Any, Kernel, NamedTuple, Sequence

_KEPT = 256  # plans of an expression
# Elements of an inner loop that a thread of the CPU takes at a time.
PIECE = 1 << 14
# Elements that one thread of the CPU does sooner than several.
SMALL = 1 << 13

Resolved = "Number | ndarray | None"


class Body(NamedTuple):
    """The C of the statements for types of the arguments."""

    text: str
    head: str  # headers, preamble, helpers
    outputs: dict[str, DType]  # that the call makes
    bounds: Bounds  # of integers that are passed


class Shares(NamedTuple):
    """What the CPU's threads share."""

    outer: int  # iterations of the outer loops
    pieces: int  # of the innermost
    piece: int  # elements


@by_vector
class Elementwise(Expression):
    """An operation on every element of arrays; ompjit.elementwise() makes it.

    Attributes:
        text: the statements.
        inputs: the names that it reads, in the order of arguments.
        outputs: the names that it writes.
        params: inputs, then outputs that are not read.
    """

    _needs_packed = True  # of arrays that are accessed by an index

    def __init__(self, text: str, preamble: str = "") -> None:
        super().__init__(text, preamble)
        both = self._indexed & self._plain()
        if both:
            raise ArgumentError(
                f"{self!r}: {min(both)} is used with an index and without"
            )
        if not set(self.params) - self._indexed:
            raise ArgumentError(f"{self!r}: no array that is looped over")
        self._plans: dict[Any, Plan] = {}
        self._bodies: dict[Any, Body] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return elementwise, (self.text, self.preamble)

    # ------------------------------------------------------------------ calls

    def _call(
        self,
        *args: Any,
        out: Any = None,
        dtype: object = None,
        queue: Queue | None = None,
        device: Device | None = None,
        **named: Any,
    ) -> Any:
        """Runs it.

        Args:
            args, named: a value for each of `params`: numbers, and arrays of
                shapes that broadcast. Arrays are ompjit's, or any in host
                memory.
            out: the array for an output that is not read (a tuple for
                several). Default: a new one, of numpy's where no argument is
                ompjit's.
            dtype: of the new ones. Default: by numpy's rules.
            queue: as of Kernel.launch; all arrays are ompjit's then.
            device: Default: that of the arrays, else the current one.

        Returns the outputs: one array, or a tuple in the order of `outputs`.
        """
        values = self._bind(args, out, named)
        if queue is None:
            queue = current_queue(device)
        else:
            expect(Queue, "queue", queue)
        key = (*map(key_of, values), dtype, device, place_key())
        plan = None if UNKNOWN in key else self._plans.get(key)
        if plan is not None:
            return self._run(plan, values, queue)
        where = device_of(values, queue.device if queue else device)
        resolved, direct = self._resolve(values, where)
        if UNKNOWN in key:
            plan = self._plan_of(resolved, dtype, where)
            direct = False
        else:
            plan = self._plan(resolved, dtype, where)
        if direct:
            self._keep(key, plan)
            given = tuple(values)
            result = self._run(plan, values, queue)
            if key[-3:] == (None, None, None) and queue is None:
                self._add_direct(plan, given, resolved)
            return result
        if queue is not None:
            raise ArgumentError(
                f"{self!r}: an array has to be copied, which is not done in a "
                "queue; pass arrays of the device"
            )
        return self._run_copies(plan, values, resolved)

    def _keep(self, key: Any, plan: Plan) -> None:
        if len(self._plans) >= _KEPT:
            self._plans.clear()
        self._plans[key] = plan

    def _plan_of(
        self, resolved: list[Any], dtype: object, device: Device
    ) -> Plan:
        """The plan for arguments of classes that tell nothing of their types,
        as tensors."""
        kinds = [r.kind if isinstance(r, Number) else key_of(r) for r in resolved]
        key = (*kinds, dtype, device.address)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(resolved, dtype, device)
            self._keep(key, plan)
        return plan

    if TYPE_CHECKING:  # C makes the call, by this or without it
        __call__ = _call

    def compile(self, *types: Any, device: Device | None = None) -> None:
        """Compiles it for arguments of such types without running it.

        Args:
            types: for each of `params`, or of `inputs`: a dtype for an array,
                int, float or complex for a number of Python's, or an array or
                a number to take after. Arrays are taken to be contiguous and
                of one shape.
            device: it is compiled for. Default: the current one.
        """
        programs, where = self._of_types(types, device)
        for one in programs:
            one.prepare(where)

    def is_compiled(self, *types: Any, device: Device | None = None) -> bool:
        """Whether compile() of these types has nothing left to do. The C
        itself is compiled by the first that asks."""
        programs, where = self._of_types(types, device)
        return all(one.is_compiled(where) for one in programs)

    def kernels(
        self, *types: Any, device: Device | None = None
    ) -> tuple[Kernel, ...]:
        """The kernels for arguments of such types, as compile() takes them:
        for explain(), resources(), ptx(), sass(), ..."""
        return tuple(p.kernel for p in self._of_types(types, device)[0])

    def resources(
        self, *types: Any, arch: str = "sm_90", device: Device | None = None
    ) -> list[dict[str, int]]:
        """What each of its kernels for arguments of such types takes on a GPU's
        architecture; as of Kernel.resources. `device` is what the loops are
        written for: a CPU's are pieces of rows."""
        kernels = self.kernels(*types, device=device)
        return [kernel.resources(arch) for kernel in kernels]

    def occupancy(
        self,
        *types: Any,
        arch: str = "sm_90",
        threads: int = 128,
        dynamic_shared: int = 0,
        device: Device | None = None,
    ) -> list[dict[str, Any]]:
        """How much of a GPU's multiprocessor launches of each of its kernels
        fill; as of Kernel.occupancy."""
        options = arch, threads, dynamic_shared
        kernels = self.kernels(*types, device=device)
        return [kernel.occupancy(*options) for kernel in kernels]

    def _of_types(
        self, types: Sequence[Any], device: Device | None
    ) -> tuple[list[Program], Device]:
        if not len(self.inputs) <= len(types) <= len(self.params):
            raise ArgumentError(f"{self!r} takes {', '.join(self.params)}")
        where = device_of(types, device)
        values: list[Any] = [_example(t, where) for t in types]
        values += [None] * (len(self.params) - len(types))
        resolved, _ = self._resolve(values, where)
        return self._programs(resolved, where), where

    def _programs(self, resolved: list[Any], device: Device) -> list[Program]:
        return [self._plan(resolved, None, device).program]

    def _resolve(
        self, values: list[Any], device: Device
    ) -> tuple[list[Any], bool]:
        """Numbers and arrays of the device, and whether these are the memory
        that was passed."""
        found: list[Any] = []
        direct = True
        for name, value in zip(self.params, values):
            if value is None:
                found.append(None)
                continue
            written = name in self.outputs
            plain = number(value)
            if plain is not None:
                if written or name in self._indexed:
                    raise ArgumentError(
                        f"{_called(name)} is {value!r}, and no array"
                    )
                found.append(plain)
                continue
            a = array(value, device, _called(name), written)
            if value is not a and not device.is_host:
                direct = False
            strides = element_strides(a)
            loose = name in self._indexed and not a.c_contiguous
            if strides is None or (loose and self._needs_packed):
                if written:
                    raise ArgumentError(
                        f"{_called(name)} has strides {a.strides}, and cannot "
                        "be written to"
                    )
                a = a.copy() if strides else packed(a)
                direct = False
            found.append(a)
        return wide(found), direct

    def _run(self, plan: Plan, values: list[Any], queue: Queue | None) -> Any:
        if plan.made:
            plan.make(values)
        if plan.tripcount:
            place = plan.run(values, queue)
            if place is not None:
                return self._run_apart(plan, values, place, queue)
        returned = [values[place] for place in plan.returned]
        return returned[0] if len(returned) == 1 else tuple(returned)

    def _run_apart(
        self, plan: Plan, values: list[Any], place: int, queue: Queue | None
    ) -> Any:
        """The call with a copy of one argument."""
        name = self.params[place]
        values[place] = array(values[place], plan.device, name, False).copy()
        named = dict(zip(self.params, values))
        return self._call(queue=queue, device=plan.device, **named)

    def _add_direct(
        self, plan: Plan, values: tuple[Any, ...], resolved: list[Any]
    ) -> None:
        """Has C make the next calls by a plan."""
        if not plan.tripcount or len(plan.returned) != 1 or len(plan.made) > 1:
            return
        self._direct.add(
            Call(
                plan.program,
                plan.device,
                plan.tripcount,
                plan.teams,
                values,
                [r if isinstance(r, ndarray) else None for r in resolved],
                plan.pointers,
                plan.numbers,
                plan.fixed,
                plan.pairs,
                plan.made[0] if plan.made else None,
                plan.returned[0],
                check=plan.check,
            )
        )

    def _run_copies(
        self, plan: Plan, values: list[Any], resolved: list[Any]
    ) -> Any:
        """The call with copies of arguments, which go back where they were
        written."""
        used = [v.value if isinstance(v, Number) else v for v in resolved]
        made = {m.place for m in plan.made}
        self._run(plan, used, None)
        returned = []
        for place in plan.returned:
            if place in made:
                ours = any(isinstance(v, ndarray) for v in values)
                result = used[place]
                returned.append(result if ours else _to_host(result))
            else:
                give_back(values[place], used[place])
                returned.append(values[place])
        return returned[0] if len(returned) == 1 else tuple(returned)

    # ------------------------------------------------------------------ plans

    def _body(self, kinds: tuple[Kind | None, ...]) -> Body:
        """The C for such types; None for outputs that the call makes."""
        known = self._bodies.get(kinds)
        if known is not None:
            return known
        given = {n: k for n, k in zip(self.params, kinds) if k is not None}
        types = {n: k for n, k in given.items() if n not in self._indexed}
        types.setdefault("i", int64)
        by = weak_type(given.values())

        def element(emitter: Emitter, n: Node) -> C:
            name, *indices = n.parts
            if len(indices) != 1:
                fail(self.text, n.place, "an element has one index here")
            index = emitter.value(indices[0])
            kind = given.get(name)
            if not isinstance(kind, DType):
                fail(self.text, n.place, f"'{name}' is no array here")
            return C(f"v_{name}[(long){index.text}]", kind)

        emitter = Emitter(self.text, types, by, element, self.preamble)
        text = emitter.statements(self.statements, "        ")
        outputs = {
            name: strong(kind, by)
            for name, kind in emitter.assigned.items()
            if name not in given
        }
        head = emitter.head(self.preamble)
        body = Body(text, head, outputs, emitter.bounds)
        self._bodies[kinds] = body
        return body

    def _plan(
        self, resolved: list[Any], dtype: object, device: Device
    ) -> Plan:
        kinds = tuple(
            None if r is None else r.kind if isinstance(r, Number) else r.dtype
            for r in resolved
        )
        body = self._body(kinds)
        by = weak_type(kind for kind in kinds if kind is not None)
        looped = [
            (place, name, r)
            for place, (name, r) in enumerate(zip(self.params, resolved))
            if isinstance(r, ndarray) and name not in self._indexed
        ]
        shape = broadcast([a.shape for _, _, a in looped])
        for _, name, a in looped:
            if name in self.outputs and a.shape != shape:
                raise ArgumentError(
                    f"{_called(name)} is of shape {a.shape}, and the result of "
                    f"{shape}"
                )
        made = self._made(resolved, body, dtype, shape, looped)
        if made and not looped:
            raise ArgumentError(f"{self!r}: no array to take the shape of")
        arrays: list[Any] = [*looped]
        arrays += [(m.place, self.params[m.place], m) for m in made]
        strides = [_strides(a, shape) for _, _, a in arrays]
        size = 1
        for n in shape:
            size *= n
        written = [name in self.outputs for _, name, _ in arrays]
        first = written.index(True) if True in written else 0
        uses_index = "i" not in self._places and self._uses_index()
        nest = (
            layout(shape, strides, None if uses_index else first)
            if size
            else Layout((1,), ((1,),) * len(arrays))
        )
        specs = [
            ArraySpec(
                name,
                a.dtype,
                name in self.inputs or name in self._partial,
                name in self.outputs,
                _classes(nest.strides[i]),
            )
            for i, (_, name, a) in enumerate(arrays)
        ]
        raws = [
            RawSpec(name, r.dtype, name in self.outputs)
            for name, r in zip(self.params, resolved)
            if name in self._indexed
        ]
        numbers = [
            NumberSpec(name, strong(r.kind, by))
            for name, r in zip(self.params, resolved)
            if isinstance(r, Number)
        ]
        loops = len(nest.lengths)
        source, params = elementwise_source(
            self.text.replace("*/", "* /"),
            body.head,
            body.text,
            specs,
            raws,
            numbers,
            loops,
            not device.is_host,
            uses_index,
        )
        slots = slots_of(params)
        pointers = [
            pointer(name, place, slots[f"p_{name}"], name in self.outputs, a)
            for place, name, a in arrays
        ]
        for r in raws:
            place, slot = self._places[r.name], slots[f"v_{r.name}"]
            p = pointer(r.name, place, slot, r.written, resolved[place])
            pointers.append(p._replace(strides=None))
        return Plan(
            program(device.context, source, params),
            device,
            pointers,
            passed(numbers, self._places, slots, body.bounds),
            _fixed(slots, specs, nest, device),
            made,
            [self._places[name] for name in self.outputs],
            _tripcount(nest, device) if size else 0,
            1 if device.is_host and size <= SMALL else 0,
            body.bounds.calculated(self._places),
        )

    def _made(
        self,
        resolved: list[Any],
        body: Body,
        dtype: object,
        shape: tuple[int, ...],
        looped: Sequence[Any],
    ) -> list[Made]:
        fortran = all(
            a.f_contiguous and not a.c_contiguous
            for _, _, a in looped
            if a.shape == shape
        )
        return [
            Made(
                place,
                dtype_of(dtype) if dtype else body.outputs[name],
                shape,
                "F" if fortran and len(shape) > 1 else "C",
                name in self._partial,
            )
            for place, (name, r) in enumerate(zip(self.params, resolved))
            if r is None
        ]

    def _uses_index(self) -> bool:
        return "i" in self._plain()


def _called(name: str) -> str:
    """What the caller knows a parameter by."""
    return "out" if name == "result" else name


def _example(like: Any, device: Device) -> Any:
    """An array of one element for a dtype; a number for a type of Python's."""
    if isinstance(like, type) and like in (int, float, complex):
        return like()
    if isinstance(like, ndarray) or number(like) is not None:
        return like
    from ._make import empty

    kind = dtype_of(getattr(like, "dtype", like))
    return empty(1, kind, device=device)


def _to_host(a: ndarray) -> Any:
    """A numpy array where there is numpy."""
    try:
        return a.get()
    except ImportError:
        return a


def _strides(a: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements, where an array is broadcast to a shape."""
    if isinstance(a, Made):
        make = _host.c_strides if a.order == "C" else _host.f_strides
        return make(a.shape, 1)
    return spread(a.shape, element_strides(a) or (), shape)


def _classes(strides: Sequence[int]) -> tuple[str, ...]:
    """What is known of strides when the kernel is compiled: little of outer
    loops, so that there are few kernels."""
    *outer, inner = strides
    last = {0: "0", 1: "1"}.get(inner, "s")
    return (*["s"] * len(outer), last)


def _fixed(
    slots: dict[str, int],
    specs: Sequence[ArraySpec],
    nest: Layout,
    device: Device,
) -> list[tuple[int, str, int]]:
    """Lengths and strides for the kernel's parameters."""
    known = {f"n{d}": n for d, n in enumerate(nest.lengths)}
    if device.is_host:
        known.update(_shares(nest, device)._asdict())
    for spec, strides in zip(specs, nest.strides):
        for d, stride in enumerate(strides):
            known[f"s_{spec.name}_{d}"] = stride
    return [(slots[n], "i64", v) for n, v in known.items() if n in slots]


def _shares(nest: Layout, device: Device) -> Shares:
    """One loop is shared by the cores evenly."""
    *others, n = nest.lengths
    outer, piece = 1, PIECE
    for length in others:
        outer *= length
    if not others:
        share = max(-(-n // device.multiprocessors), SMALL // 8)
        piece = n if n <= SMALL else -(-share // 64) * 64
    return Shares(outer, -(-n // piece), piece)


def _tripcount(nest: Layout, device: Device) -> int:
    if device.is_host:
        shares = _shares(nest, device)
        return shares.outer * shares.pieces
    count = 1
    for n in nest.lengths:
        count *= n
    return count


@once
def _made(text: str, preamble: str) -> Elementwise:
    return Elementwise(text, preamble)


def elementwise(text: str, preamble: str = "") -> Elementwise:
    """A kernel that does an operation on every element of arrays.

    The text is C: statements that assign to the elements of arrays, or one
    expression, whose value is the result.

        axpy = ompjit.elementwise("y = a*x + y")
        axpy(2.0, x, y)                       # y is changed, and returned
        z = ompjit.elementwise("sqrt(x*x + y*y)")(x, y)

    Names are arguments, in the order in which they are read. What is written
    but not read is made and returned, or is passed as `out=`. Arguments are
    arrays, which broadcast, and numbers; their types are those of the call.
    `i` is the number of the element; `t[k]` is element k of an array that is
    not looped over. Types of results are numpy's, and so are functions: those
    of <math.h> work on all floating-point and complex types, beside min, max,
    abs, sign, clip, where, isnan, isinf, isfinite, real, imag, conj, angle.
    `float t = ...;` and `auto t = ...;` declare variables; if, for and while
    are C's; x ** y is a power; 2j is imaginary; integers are divided as C does.

    Args:
        text: as above.
        preamble: C before the kernel, with functions that the text calls.

    The same text gives the same object. Raises CompileError, which shows the
    place, for what is no C.
    """
    return _made(string("text", text), string("preamble", preamble))


def convert(source: ndarray, kind: DType) -> ndarray:
    """A copy with elements of another type."""
    from ._make import empty

    order = "F" if source.f_contiguous and not source.c_contiguous else "C"
    made = empty(source.shape, kind, order, source.device)
    made.set(source)
    return made


def copy_elements(to: ndarray, source: ndarray) -> None:
    """Copies, converts and broadcasts on the device."""
    extra = len(source.shape) - to.ndim
    if extra > 0:
        source = source.reshape(source.shape[extra:])
    elementwise("y = x")(source, to)


def fill_elements(to: ndarray, value: Any) -> None:
    elementwise("y = x")(value, to)
