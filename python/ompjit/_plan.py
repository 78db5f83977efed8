# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans: all of an expression's call that depends neither on addresses nor on
values, and calls by them."""
from __future__ import annotations

import importlib
import operator
import sys
from ctypes import c_void_p

from . import TYPE_CHECKING
from ._array import ndarray
from ._device import Device
from ._dtype import DType, float32
from ._errors import ArgumentError, OutOfMemory
from ._functions import real_of
from ._layout import extent
from ._loops import NumberSpec
from ._make import empty
from ._operand import host_address
from ._program import Frame, Program
from ._weak import Bounds, check, limits

if TYPE_CHECKING:
    from typing import Any, Callable, NamedTuple, Sequence

    from ._queue import Queue
else:
    from ._typing import Any, Callable, NamedTuple, Queue, Sequence


class Pointer(NamedTuple):
    """An array among the arguments."""

    name: str
    place: int  # among the arguments
    slot: int  # among the kernel's parameters
    written: bool
    begin: int  # of its memory, bytes from its first element
    end: int
    strides: tuple[int, ...] | None  # in bytes; None: accessed by an index


class Made(NamedTuple):
    """An output that the call makes."""

    place: int
    dtype: DType
    shape: tuple[int, ...]
    order: str
    zeros: bool


Setter = Callable[[Any, Any], None]  # of the frame's values, to an argument
Check = Callable[[Sequence[Any]], None]  # of a call's arguments


def number_setter(
    name: str, kind: DType, slot: int, kinds: Sequence[DType]
) -> Setter:
    """What sets a number of that type from slot `slot` on. An integer must be
    one of each of `kinds`."""
    if kind.is_complex:
        member = "f32" if real_of(kind) is float32 else "f64"

        def set_complex(values: Any, value: Any) -> None:
            value = complex(value)
            setattr(values[slot], member, value.real)
            setattr(values[slot + 1], member, value.imag)

        return set_complex
    if kind.kind == "f":
        member = "f64" if kind.itemsize == 8 else "f32"

        def set_float(values: Any, value: Any) -> None:
            setattr(values[slot], member, value)

        return set_float
    member = f"i{8 * kind.itemsize}"
    if kind.kind == "b":

        def set_bool(values: Any, value: Any) -> None:
            values[slot].i8 = bool(value)

        return set_bool
    ranges = [limits(one) for one in kinds]
    low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)

    def set_integer(values: Any, value: Any) -> None:
        value = operator.index(value)
        if not low <= value <= high:
            for one in kinds:
                check(name, value, one)
        setattr(values[slot], member, value)

    return set_integer


class Passed(NamedTuple):
    """A number among the arguments."""

    place: int  # among the arguments
    slot: int  # among the kernel's parameters; of a complex one, the first
    dtype: DType
    kinds: Sequence[DType]  # an integer must be a number of these
    set: Setter


def passed(
    specs: Sequence[NumberSpec],
    places: dict[str, int],
    slots: dict[str, int],
    bounds: Bounds,
) -> list[Passed]:
    """The numbers of a call."""
    found = []
    for name, kind in specs:
        slot = slots[("re_" if kind.is_complex else "h_") + name]
        kinds = bounds.of(name) or [kind]
        setter = number_setter(name, kind, slot, kinds)
        found.append(Passed(places[name], slot, kind, kinds, setter))
    return found


class Plan:
    """See above.

    Attributes:
        program, device: the kernel, and where it runs.
        pointers: the arrays.
        numbers: likewise.
        fixed: parameters that are the same in every call: slot, member, value.
        made: outputs that the call makes.
        returned: places of the outputs.
        pairs: of arrays that may not overlap; the first one is written.
        tripcount: iterations; 0: nothing is launched.
        teams: 0: the device's choice.
        check: of the arguments, before a launch; None: there is nothing.
    """

    __slots__ = (
        "program",
        "device",
        "pointers",
        "numbers",
        "fixed",
        "made",
        "returned",
        "tripcount",
        "teams",
        "check",
        "_frames",
        "pairs",
        "_addresses",
        "_device",
    )

    def __init__(
        self,
        program: Program,
        device: Device,
        pointers: list[Pointer],
        numbers: list[Passed],
        fixed: list[tuple[int, str, int]],
        made: list[Made],
        returned: list[int],
        tripcount: int,
        teams: int = 0,
        check: Check | None = None,
    ) -> None:
        self.program = program
        self.device = device
        self.pointers = pointers
        self.numbers = numbers
        self.fixed = fixed
        self.made = made
        self.returned = returned
        self.tripcount = tripcount
        self.teams = teams
        self.check = check
        self._frames: list[Frame] = []
        self._device = c_void_p(device.address)
        self._addresses = [(p.slot, p.place, p.written, p.name) for p in pointers]
        new = {m.place for m in made}  # share memory with none
        self.pairs = [
            (w, other)
            for w in pointers
            for other in pointers
            if w.written
            and other is not w
            and w.place not in new
            and other.place not in new
            # Of two that are written, one look is enough.
            and (not other.written or other.slot > w.slot)
        ]

    def _frame(self) -> Frame:
        try:
            return self._frames.pop()
        except IndexError:
            frame = self.program.frame()
            frame.options.teams = self.teams
            frame.options.tripcount = self.tripcount
            for slot, member, value in self.fixed:
                setattr(frame.values[slot], member, value)
            return frame

    def make(self, values: list[Any]) -> None:
        """Makes the outputs that are missing: numpy's arrays, unless an
        argument is ompjit's."""
        ours = any(type(v) is ndarray for v in values)
        for m in self.made:
            if ours or not self.device.is_host or not _numpy():
                array: Any = empty(m.shape, m.dtype, m.order, self.device)
                if m.zeros:
                    array.set(0)
            else:
                new = _numpy().zeros if m.zeros else _numpy().empty
                try:
                    array = new(m.shape, m.dtype.str, m.order)
                except MemoryError as error:
                    raise OutOfMemory(str(error)) from None
            values[m.place] = array

    def run(self, values: list[Any], queue: Queue | None) -> int | None:
        """Launches with these arguments. An argument's place where it has to
        be copied first, since it overlaps with one that is written."""
        frame = self._frame()
        slots = frame.values
        at = {}
        for slot, place, written, name in self._addresses:
            value = values[place]
            if type(value) is ndarray:
                if written and value.readonly:
                    raise ArgumentError(
                        f"{name} is read-only, and is written to"
                    )
                address = value.address
            else:
                address = host_address(value, written, name)
            slots[slot].p = at[slot] = address
        for w, other in self.pairs:
            if at[w.slot] + w.end <= at[other.slot] + other.begin:
                continue
            if at[other.slot] + other.end <= at[w.slot] + w.begin:
                continue
            same = at[other.slot] == at[w.slot] and other.strides == w.strides
            if same and not other.written:
                continue
            if other.written:
                raise ArgumentError(
                    f"{w.name} and {other.name} share memory, and both are "
                    "written to"
                )
            return other.place
        if self.check is not None:
            self.check(values)
        for number in self.numbers:
            number.set(slots, values[number.place])
        self.program.run(frame, self._device, queue)
        self._frames.append(frame)
        if queue is not None:
            queue.keep(*values, self)
        return None


def _numpy() -> Any:
    found = sys.modules.get("numpy")
    if found is None:
        try:
            found = importlib.import_module("numpy")
        except ImportError:
            return None
    return found


def pointer(
    name: str, place: int, slot: int, written: bool, a: ndarray | Made
) -> Pointer:
    """An array that is looped over, or that the call makes."""
    if isinstance(a, Made):
        end = a.dtype.itemsize
        for n in a.shape:
            end *= n
        return Pointer(name, place, slot, written, 0, end, None)
    begin, end = extent(a.shape, a.strides, a.itemsize)
    return Pointer(name, place, slot, written, begin, end, a.strides)


def slots_of(params: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Places of a kernel's parameters by name."""
    return {name: i for i, (name, _) in enumerate(params)}
