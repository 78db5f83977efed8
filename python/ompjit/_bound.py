# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bound launches: prepared once, run many times."""
from __future__ import annotations

from ctypes import byref

from . import TYPE_CHECKING, _abi as abi
from ._errors import ArgumentError, expect, from_error
from ._handle import Handle, Owned, ending
from ._interrupt import interruptible
from ._launch import launch_options
from ._launcher import runner
from ._lib import _local, call, library

if TYPE_CHECKING:
    from typing import Any

    from ._device import Device
    from ._kernel import Kernel
    from ._launch import Geometry
    from ._queue import Queue
else:
    from ._typing import Any, Device, Geometry, Kernel, Queue

_OPTIONS = (
    "tripcount",
    "dynamic_shared",
    "time_limit",
    "cooperative",
    "specialize",
    "fold",
    "resident_teams",
)


class Bound(Owned):
    """A launch that is prepared: bound() runs it and waits.

    Kernel.bind() makes one. The arrays that are its arguments live as long as
    it does.
    """

    __slots__ = ("kernel", "device", "_keep", "_run", "_start")

    def __init__(
        self,
        kernel: Kernel,
        args: tuple[Any, ...],
        teams: Geometry,
        threads: Geometry,
        device: Device | None,
        options: dict[str, Any],
    ) -> None:
        where = kernel._device(device)
        known = {n: options.pop(n) for n in _OPTIONS if n in options}
        noalias = options.pop("noalias", False)
        array, keep = kernel.arguments(args, options, where)
        if noalias:
            kernel.apart(array)
        launch = launch_options(teams, threads, **known)
        handle = Handle(ending(library().bound_destroy), kernel._handle)
        given = array, len(kernel.params)

        def bind() -> None:
            call("kernel_bind", kernel.address, where.address, byref(launch),
                 *given, handle.place)

        interruptible(bind, kernel.context)
        self._handle = handle
        self.kernel = kernel
        self.device = where
        self._keep = dict(enumerate(keep))
        self._run = runner(
            kernel.context.address, kernel.address, handle.address
        )
        self._start = library().bound_start

    def __call__(self) -> None:
        """Runs it and waits for it."""
        if self._run(_local.pointer):
            raise from_error(_local.error)

    run = __call__

    def start(self, queue: Queue) -> None:
        """Puts it into a queue of its device. The queue must be waited for
        before arguments are changed."""
        from ._queue import Queue

        expect(Queue, "queue", queue)
        kernel = self.kernel
        interruptible(
            lambda: call("bound_start", self.address, queue.address),
            kernel.context,
            kernel.address,
        )
        queue.keep(self)

    def set(self, **named: Any) -> None:
        """Changes the values of arguments, by name. ArgumentError where a
        value is compiled in (specialize="off" and fold=... say what is)."""
        for name, value in named.items():
            place = self.kernel._names.get(name)
            if place is None:
                raise ArgumentError(
                    f"{self.kernel.name} has no parameter {name!r}"
                )
            arg = abi.ompjit_arg()
            keep = self.kernel._fill(arg, place, value, self.device)
            index = self.kernel._indices[place]
            call("bound_set", self.address, index, byref(arg))
            self._keep[place] = keep

    def __repr__(self) -> str:
        return f"<ompjit.Bound {self.kernel.name} on {self.device!r}>"
