# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of expressions that are made by C (python/native/launch.c): the tables
that say for which arguments, and their launches.

A call that Python has made by a plan is added to the table, if its arguments
are usual ones; the next with such arguments comes no more to Python.
"""
from __future__ import annotations

import ctypes
import sys
from ctypes import addressof, c_int64, c_uint32, c_void_p, sizeof

from . import TYPE_CHECKING, _abi as abi, _host, _launcher
from ._array import ndarray
from ._device import Device
from ._dtype import DType
from ._plan import Check, Made, Passed, Pointer
from ._program import Program

if TYPE_CHECKING:
    from functools import partial
    from typing import Any, NamedTuple, Sequence
else:
    from _functools import partial

    from ._typing import Any, NamedTuple, Sequence

_PARAMS, _LAUNCHES, _DIMS, _PAIRS, _ARGS = 12, 16, 4, 16, 64
_NONE, _FLOAT, _INT, _BOOL, _BUFFER, _ARRAY = range(6)
_NUMBERS = {float: _FLOAT, int: _INT, bool: _BOOL}


class _Operand(ctypes.Structure):
    _fields_ = [
        ("kind", c_uint32),
        ("slot", c_uint32),
        ("type", c_uint32),
        ("bytes", c_uint32),
        ("writes", c_uint32),
        ("ndim", c_uint32),
        ("shape", c_int64 * _DIMS),
        ("strides", c_int64 * _DIMS),
        ("dtype", c_void_p),
        ("device", c_void_p),
    ]


class _Pair(ctypes.Structure):
    _fields_ = [
        ("first", c_uint32),
        ("second", c_uint32),
        ("same", c_uint32),
        ("unused", c_uint32),
        ("first_begin", c_int64),
        ("first_end", c_int64),
        ("second_begin", c_int64),
        ("second_end", c_int64),
    ]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("context", c_void_p),
        ("kernel", c_void_p),
        ("device", c_void_p),
        ("options", c_void_p),
        ("args", c_void_p),
        ("nargs", c_uint32),
        ("room", c_uint32),
        ("npairs", c_uint32),
        ("returned", c_uint32),
        ("make", c_void_p),
        ("total", c_uint32),
        ("total_slot", c_uint32),
        ("total_type", c_uint32),
        ("total_bytes", c_uint32),
        ("rounded", c_uint32),
        ("neutral", ctypes.c_uint64),
        ("operands", _Operand * _PARAMS),
        ("pairs", _Pair * _PAIRS),
    ]


class _Table(ctypes.Structure):
    _fields_ = [
        ("count", c_uint32),
        ("nparams", c_uint32),
        ("out", c_uint32),
        ("unused", c_uint32),
        ("names", c_void_p * _PARAMS),
        ("launches", c_void_p * _LAUNCHES),
    ]


class Total(NamedTuple):
    """A number that a launch comes to."""

    slot: int
    dtype: DType
    neutral: bytes
    result: DType


class Call(NamedTuple):
    """A call that has been made by a plan.

    Attributes:
        program, device, tripcount, teams: the launch.
        values: the arguments, for each parameter; None: none was given.
        arrays: the arguments that are arrays, as ompjit's.
        pointers, numbers, fixed: as of a Plan.
        pairs: of `pointers`, as of a Plan.
        made: the output that the call makes.
        returned: the parameter that is returned; None: a total is.
        check: as of a Plan; Python makes such calls.
    """

    program: Program
    device: Device
    tripcount: int
    teams: int
    values: Sequence[Any]
    arrays: Sequence[Any]
    pointers: Sequence[Pointer]
    numbers: Sequence[Passed]
    fixed: Sequence[tuple[int, str, int]]
    pairs: Sequence[tuple[Pointer, Pointer]]
    made: Made | None = None
    returned: int | None = None
    total: Total | None = None
    check: Check | None = None


def _array(o: _Operand, value: Any, a: ndarray) -> bool:
    """Fills an operand of an array."""
    if len(a.shape) > _DIMS:
        return False
    o.type, o.bytes = ord(a.dtype.kind), a.dtype.itemsize
    o.ndim = len(a.shape)
    for d, (n, stride) in enumerate(zip(a.shape, a.strides)):
        o.shape[d], o.strides[d] = n, stride
    o.kind = _BUFFER
    if type(value) is ndarray:
        o.kind = _ARRAY
        o.dtype, o.device = id(a.dtype), a.device.address
    return o.kind == _ARRAY or a.device.is_host


def _number(o: _Operand, value: Any, passed: Passed) -> bool:
    """Fills an operand of a number. C knows one type that it must fit."""
    o.kind = _NUMBERS.get(type(value), _NONE)
    found, *more = passed.kinds
    o.type = ord(found.kind)
    # float16 is passed as float32.
    o.bytes = max(found.itemsize, 4 if found.kind == "f" else 1)
    fitting = {_FLOAT: "f", _INT: "fi", _BOOL: "b"}
    return not more and passed.dtype.kind in fitting.get(o.kind, "")


def _maker(made: Made, call: Call) -> Any:
    """What makes numpy's array for an output; None: it is none of numpy's."""
    numpy = sys.modules.get("numpy")
    ours = any(type(v) is ndarray for v in call.values)
    if numpy is None or ours or not call.device.is_host:
        return None
    new = numpy.zeros if made.zeros else numpy.empty
    return partial(new, made.shape, made.dtype.str, made.order)


class Direct:
    """The table of one expression.

    Args:
        owner: the expression.
        names: its parameters.
        out: the one that `out` is; None: there is none, or several.
    """

    def __init__(
        self, owner: object, names: Sequence[str], out: str | None
    ) -> None:
        self._table = _Table()
        self._keep: list[Any] = []
        self._next = 0
        self._usual = len(names) <= _PARAMS
        if _add is None:
            return
        if self._usual:
            interned = [sys.intern(name) for name in names]
            self._keep.append(interned)
            self._table.nparams = len(names)
            self._table.out = names.index(out) if out else len(names)
            for i, name in enumerate(interned):
                self._table.names[i] = id(name)
        _add(owner, addressof(self._table))

    def add(self, call: Call) -> None:
        """Has C make the next calls with such arguments."""
        if _add is None or not self._usual or len(self._keep) > 64:
            return
        made = _Launch()
        keep = self._fill(made, call)
        if keep is None:
            return
        # Calls that go on may still use a launch that is replaced, so none
        # is ever freed.
        self._keep.append((made, *keep))
        place = self._next % _LAUNCHES
        self._next += 1
        self._table.launches[place] = addressof(made)
        self._table.count = min(self._next, _LAUNCHES)

    def _fill(self, made: _Launch, call: Call) -> tuple[Any, ...] | None:
        program = call.program
        frame = program.frame()
        many = len(frame.array) > _ARGS or len(call.pairs) > _PAIRS
        if many or call.check is not None:
            return None
        frame.options.teams, frame.options.tripcount = call.teams, call.tripcount
        for slot, member, value in call.fixed:
            setattr(frame.values[slot], member, value)
        made.context = program.context.address
        made.kernel = program._kernel.value
        made.device = call.device.address
        made.options = addressof(frame.options)
        made.args = addressof(frame.array)
        made.nargs, made.room = program.count, len(frame.array)
        if not self._operands(made, call):
            return None
        make = None
        if call.made is not None:
            make = _maker(call.made, call)
            if make is None:
                return None
            made.make = id(make)
        made.returned = call.returned or 0
        if call.total and not _total(made, call.total, program):
            return None
        made.npairs = len(call.pairs)
        for to, (a, b) in zip(made.pairs, call.pairs):
            to.first, to.second = a.place, b.place
            to.first_begin, to.first_end = a.begin, a.end
            to.second_begin, to.second_end = b.begin, b.end
            to.same = not b.written and a.strides == b.strides
        arrays = [(a.dtype, a.device) for a in call.arrays if a is not None]
        return frame, program, make, call.device, arrays

    def _operands(self, made: _Launch, call: Call) -> bool:
        places = {p.place: p for p in call.pointers}
        numbers = {n.place: n for n in call.numbers}
        for place, value in enumerate(call.values):
            o = made.operands[place]
            new = call.made is not None and call.made.place == place
            pointer = places.get(place)
            if pointer is not None:
                o.slot = call.program._indices[pointer.slot]
                o.writes = pointer.written
            if new or value is None:
                o.kind = _NONE
            elif place in numbers:
                passed = numbers[place]
                o.slot = call.program._indices[passed.slot]
                if not _number(o, value, passed):
                    return False
            elif pointer is None or not _array(o, value, call.arrays[place]):
                return False
        return True


def _total(made: _Launch, total: Total, program: Program) -> bool:
    kind, result = total.dtype, total.result
    rounded = kind.str[1:] == "f8" and result.str[1:] == "f4"
    usual = kind.kind in "fiub" and (kind.kind != "f" or kind.itemsize > 2)
    if not usual or (result is not kind and not rounded):
        return False
    made.total, made.total_slot = 1, program._indices[total.slot]
    made.total_type, made.total_bytes = ord(kind.kind), kind.itemsize
    made.rounded = rounded
    made.neutral = int.from_bytes(total.neutral, sys.byteorder)
    return True


_add = _launcher.binder("table", sizeof(_Launch) + sizeof(_Table))
