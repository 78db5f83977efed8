# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices: what they are, their memory, and which one is current."""
from __future__ import annotations

import contextvars
from ctypes import byref, c_void_p

from . import TYPE_CHECKING, _abi as abi
from ._context import Context, context
from ._errors import ArgumentError, NotFound, expect, integers
from ._handle import Handle, Owned, freeing
from ._lib import call, library
from ._within import Within

if TYPE_CHECKING:
    from typing import Any

    from ._queue import Queue
else:
    from ._typing import Any, Queue


class Device(Within):
    """This machine's CPU, or a GPU.

    Two Device objects of one context and number are equal. `with device:`
    makes it and its context current for a block.

    Attributes:
        context: its context.
        number: 0 to the number of devices - 1.
        kind: "host" or "cuda".
        name: "NVIDIA H200", or the CPU's name.
        arch: "sm_90", or the CPU that LLVM compiles for.
        memory: bytes.
        multiprocessors: or cores that kernels use.
        max_threads: that a team may have.
        max_shared: bytes of static team-shared memory.
        warp_size: 32.
        driver_version: CUDA's, 13000 for 13.0; 0 on the host.
    """

    __slots__ = ("context", "number", "address", "_stretches")

    def __init__(self, context: Context, number: int) -> None:
        addresses = context._device_addresses()
        if not isinstance(number, int):
            raise ArgumentError(f"{number!r} is no number of a device")
        if not 0 <= number < len(addresses):
            raise NotFound(
                f"there is no device {number}; the context has "
                f"{len(addresses)}, counted from 0"
            )
        self.context = context
        self.number = number
        self.address = addresses[number]
        self._stretches = []

    def _get(self) -> abi.ompjit_device_info:
        known = self.context._device_infos
        info = known.get(self.number)
        if info is None:
            info = abi.ompjit_device_info()
            call("device_info_get", self.address, byref(info))
            known[self.number] = info
        return info

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.number,)

    def _kind(self) -> int:
        """Asks for nothing else: the name of a CPU starts a compiler."""
        known = self.context._device_kinds
        kind = known.get(self.number)
        if kind is None:
            info = self._ask(abi.ompjit_device_info.multiprocessors.offset)
            known[self.number] = kind = int(info.kind)
        return kind

    def _ask(self, size: int) -> Any:
        """The first bytes of what is known of it."""
        info = abi.ompjit_device_info()
        info.size = size
        call("device_info_get", self.address, byref(info))
        return info

    @property
    def kind(self) -> str:
        return abi.name_of(abi.ompjit_device_kind, self._kind())

    @property
    def is_host(self) -> bool:
        """Whether kernels run on this machine's CPU."""
        return self._kind() == abi.ompjit_device_kind.HOST

    @property
    def name(self) -> str:
        return str(self._get().name.decode("utf-8", "replace"))

    @property
    def arch(self) -> str:
        return str(self._get().arch.decode("utf-8", "replace"))

    @property
    def memory(self) -> int:
        return int(self._get().memory)

    @property
    def multiprocessors(self) -> int:
        asked = self._ask(abi.ompjit_device_info.name.offset)
        return int(asked.multiprocessors)

    @property
    def max_threads(self) -> int:
        return int(self._get().max_threads)

    @property
    def max_shared(self) -> int:
        return int(self._get().max_shared)

    @property
    def warp_size(self) -> int:
        return int(self._get().warp_size)

    @property
    def driver_version(self) -> int:
        return int(self._get().driver_version)

    def __repr__(self) -> str:
        return f"<ompjit.Device {self.number}: {self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    if TYPE_CHECKING:

        def __enter__(self) -> Device: ...
        def __exit__(self, *error: object) -> None: ...

    def _settings(self) -> dict[Any, Any]:
        return {**self.context._settings(), _current: self}

    def alloc(self, size: int) -> Memory:
        """Memory of the device, `size` bytes, freed with the object."""
        return Memory(self, size)

    def queue(self) -> Queue:
        """A new queue of this device."""
        from ._queue import Queue

        return Queue(self)

    def abort(self) -> None:
        """Ends all launches that run now on the host device; they raise
        Aborted. NotAvailable for a GPU."""
        call("device_abort", self.address)


class Memory(Owned):
    """Memory of a device. `address` is a device pointer."""

    __slots__ = ("device", "size")

    def __init__(self, device: Device, size: int) -> None:
        given = integers("size", size)
        if len(given) != 1 or not 0 <= given[0] < 1 << 62:
            raise ArgumentError(f"size is {given}; it is a number of bytes")
        size = given[0]
        of = device.address
        self._handle = Handle(
            freeing(library().device_free, of),
            device.context._handle,
            rest=(None,),
        )
        call("device_alloc", of, max(size, 1), self._handle.place)
        self.device = device
        self.size = size


_current: contextvars.ContextVar[Device | None] = contextvars.ContextVar(
    "ompjit device", default=None
)


def device(number: int | None = None) -> Device:
    """The device of that number in the current context. Without a number: the
    current device, that of the innermost `with device:`, else device 0."""
    current = context()
    if number is not None:
        return Device(current, number)
    chosen = _current.get()
    if chosen is not None and chosen.context is current:
        return chosen
    return Device(current, 0)


def chosen(given: Device | None) -> Device:
    """The device that a caller has given, else the current one."""
    return device() if given is None else expect(Device, "device", given)


def devices() -> tuple[Device, ...]:
    """The devices of the current context. GPUs are looked for when this is
    first asked for."""
    return context().devices
