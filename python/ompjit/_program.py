# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that the package makes itself: compiled once a context, launched with
as little work as can be."""
from __future__ import annotations

from ctypes import byref, c_char_p, c_int, c_uint, c_void_p

from . import TYPE_CHECKING, _abi as abi
from ._code import Code
from ._context import Context
from ._errors import from_error
from ._handle import Handle, ending
from ._interrupt import interruptible
from ._launcher import raw_launch
from ._lib import _local, call, library, system_flags

if TYPE_CHECKING:
    from typing import Any

    from ._device import Device
    from ._kernel import Kernel
    from ._queue import Queue
else:
    from ._typing import Any, Device, Kernel, Queue

# Complex products without a look at NaN, as numpy has them.
_FLAGS = (b"-fcomplex-arithmetic=basic",)


class Frame:
    """The arguments of a launch, in memory that is used again and again.

    `values` has the union of each parameter, in the order that the program was
    made with: `frame.values[0].p = address`.
    """

    __slots__ = ("array", "values", "options", "queued", "args")

    def __init__(
        self, kinds: list[int], indices: list[int], count: int
    ) -> None:
        self.array = (abi.ompjit_arg * (len(kinds) + 1))()
        self.values = []
        for kind, index in zip(kinds, indices):
            arg = self.array[index]
            arg.type = kind
            self.values.append(arg.value)
        self.options = abi.ompjit_launch()
        self.options.specialize.mode = abi.ompjit_specialize.OFF
        self.queued = False  # options.queue is set
        self.args = byref(self.options), byref(self.array), c_uint(count)


class Program(Code):
    """One kernel, of C source.

    Args:
        context: it is compiled in.
        source: C with one target region, in a function `name`.
        params: the region's parameters by name, each with the member of
            ompjit_arg's value that it is: "p", "i64", "f32", ...
    """

    __slots__ = (
        "context",
        "source",
        "params",
        "count",
        "_kernel",
        "_launch",
        "_kinds",
        "_indices",
    )

    def __init__(
        self, context: Context, source: str, params: list[tuple[str, str]]
    ) -> None:
        self.context = context
        options = abi.ompjit_module_options()
        more = [flag.encode() for flag in system_flags()]
        flags = (c_char_p * (len(_FLAGS) + len(more)))(*_FLAGS, *more)
        options.flags = flags
        options.nflags = len(flags)
        self._handle = Handle(
            ending(library().module_destroy), context._handle
        )
        module = self._handle.place

        def compile() -> None:
            call("module_from_c", context.address, source.encode(),
                 byref(options), module)

        interruptible(compile, context)
        self._kernel = c_void_p(library().module_kernel_at(module, 0))
        self._launch = raw_launch(context.address)
        self.source = source
        self.params = params
        places = self._places()
        # A parameter that the kernel does not use has no argument.
        self._kinds, self._indices = [], []
        spare = len(places)
        for name, member in params:
            self._kinds.append(
                abi.values(abi.ompjit_arg_type)[
                    "pointer" if member == "p" else member
                ]
            )
            self._indices.append(places.get(name, spare))
            spare += name not in places

    def _places(self) -> dict[str, int]:
        info = abi.ompjit_kernel_info()
        call("kernel_info_get", self._kernel, byref(info))
        found, p = {}, abi.ompjit_param_info()
        for i in range(info.nparams):
            call("kernel_param", self._kernel, i, byref(p))
            found[p.name.decode()] = i
        self.count = len(found)
        return found

    def frame(self) -> Frame:
        """Room for the arguments of a launch."""
        return Frame(self._kinds, self._indices, self.count)

    @property
    def kernel(self) -> Kernel:
        from ._kernel import Kernel, Known

        return Kernel(Known(self._kernel.value or 0, self), self)

    def is_compiled(self, device: Device) -> bool:
        """Whether what prepare() compiles is there."""
        frame, ready = self.frame(), c_int()
        call(
            "kernel_ready",
            self._kernel,
            device.address,
            byref(frame.options),
            frame.array,
            self.count,
            byref(ready),
        )
        return bool(ready.value)

    def prepare(self, device: Device) -> None:
        """Compiles it for a device, without a launch."""
        frame = self.frame()
        bound = Handle(ending(library().bound_destroy), self._handle)

        def bind() -> None:
            call("kernel_bind", self._kernel, device.address,
                 byref(frame.options), frame.array, self.count, bound.place)

        interruptible(bind, self.context)

    def run(
        self, frame: Frame, device: c_void_p, queue: Queue | None
    ) -> None:
        """Launches on a device with the frame's options and arguments, and
        waits unless there is a queue."""
        if queue is not None or frame.queued:
            frame.options.queue = None if queue is None else queue.address
            frame.queued = queue is not None
        local = _local
        options, array, count = frame.args
        if self._launch(
            self._kernel, device, options, array, count, local.pointer
        ):
            raise from_error(local.error)


def program(
    context: Context, source: str, params: list[tuple[str, str]]
) -> Program:
    """The program of that source in a context, made once."""
    known: dict[str, Any] = context._programs
    found = known.get(source)
    if found is None:
        # Two threads may both make it; one stays.
        found = known.setdefault(source, Program(context, source, params))
    return found  # type: ignore[no-any-return]
