# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts: the settings and caches that everything hangs from."""
from __future__ import annotations

import contextvars
import os
from _thread import allocate_lock
from ctypes import byref, c_uint, c_void_p, string_at

from . import TYPE_CHECKING, _abi as abi
from ._errors import ArgumentError, unsigned
from ._handle import Handle, Owned, ending
from ._lib import call, library
from ._within import Within

if TYPE_CHECKING:
    from typing import Any, Callable, Union

    from ._cache import Cache
    from ._callback import Report
    from ._device import Device
    from ._profile import Profile
else:
    from ._typing import Any, Cache, Callable, Device, Profile, Report, Union

Text = Union[str, "os.PathLike[str]"]


def milliseconds(name: str, seconds: float | None) -> int:
    """A time limit for the C API: 0 for None, and at least 1."""
    if seconds is None:
        return 0
    try:
        given = float(seconds)
    except (TypeError, ValueError):
        given = 0.0
    if not 0 < given < 4e6:
        raise ArgumentError(
            f"{name} is {seconds!r}; it is in seconds, above 0 and below 4e6"
        )
    return max(1, round(given * 1000))


def choice(name: str, value: str | None, enum: type[abi.Enum]) -> int:
    """The value of an enumeration by its name; None is the default."""
    if value is None:
        return 0
    known = abi.values(enum)
    if not isinstance(value, str) or value not in known:
        names = ", ".join(repr(one) for one in known)
        raise ArgumentError(f"{name} is {value!r}; it can be {names}")
    return known[value]


def encoded(value: Text | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


class Context(Within, Owned):
    """Everything hangs from a context: devices, modules, settings, the cache.

    Most programs need none of their own: functions that take no context use the
    current one, which is made when it is first needed. `with context:` makes
    another one current for a block. A context ends when nothing of it is left.

    Args:
        devices: "host", "cuda", "cuda:1" or "auto" (every GPU there is, else
            the host). Default: OMPJIT_DEVICE, else "auto".
        log: called with each message of the library, from any thread.
        check: kernels run on the host device and are checked: accesses outside
            of mapped data, uninitialized data, races. Slow.
        on_report: called with a Report for each fault that `check` finds;
            default: reports go to the log.
        profile: keep what was done when (`context.profile`).
        explain: tell the log what was specialized when a module ends.
        specialize: "off", "auto" or "now": when argument values and geometry
            are compiled into kernels. Default: OMPJIT_SPECIALIZE, else "off".
        launches_before_variant: of "auto", with the same values (3).
        max_variants: that a kernel keeps on a device (64).
        tune: tune target regions when they first run.
        record: file to which a line is added for each variant that is built.
        cache: "off", "memory" or "disk"; False is "off". Default:
            OMPJIT_CACHE, else "disk".
        cache_dir: folder. Default: OMPJIT_CACHE_DIR, else ~/.cache/ompjit.
        cache_limit: bytes on disk (1 GiB).
        time_limit: seconds that a kernel may run on the host device.
        compile_time_limit: seconds that each stage of a compile may take.
        compile_memory_limit: bytes that the compiler's process may take.
        compiler: "worker", a process of its own, or "inprocess".
        clang: path of the clang 22 to use instead of the built-in one.
        assembler: "nvjitlink", "ptxas" or "driver".
        host_memory: "shared" (the host device works on the arrays themselves),
            "separate" (on copies, as a GPU does) or "auto".
        device_heap: bytes that malloc in kernels has on each GPU.
        device_stack: bytes of stack of each GPU thread.
        keep_signals: install no signal handlers. A kernel's fault on the host
            device then ends the process.
    """

    __slots__ = (
        "options",
        "_stretches",
        "_devices",
        "_device_infos",
        "_device_kinds",
        "_programs",
    )

    def __init__(
        self,
        devices: str | None = None,
        *,
        log: Callable[[str], object] | None = None,
        check: bool = False,
        on_report: Callable[[Report], object] | None = None,
        profile: bool = False,
        explain: bool = False,
        specialize: str | None = None,
        launches_before_variant: int | None = None,
        max_variants: int | None = None,
        tune: bool = False,
        record: Text | None = None,
        cache: str | bool | None = None,
        cache_dir: Text | None = None,
        cache_limit: int | None = None,
        time_limit: float | None = None,
        compile_time_limit: float | None = None,
        compile_memory_limit: int | None = None,
        compiler: str | None = None,
        clang: Text | None = None,
        assembler: str | None = None,
        host_memory: str | None = None,
        device_heap: int | None = None,
        device_stack: int | None = None,
        keep_signals: bool = False,
    ) -> None:
        self.options: dict[str, Any] = {
            name: value
            for name, value in locals().items()
            if name != "self" and value is not None and value is not False
        }
        self._stretches = []
        self._devices: list[int] | None = None
        self._device_infos: dict[int, abi.ompjit_device_info] = {}
        self._device_kinds: dict[int, int] = {}
        self._programs: dict[str, Any] = {}  # of expressions, by source
        o = abi.ompjit_context_options()
        o.devices = encoded(devices)
        o.after_failure = abi.ompjit_after_failure.KEEP
        o.host_memory = choice(
            "host_memory", host_memory, abi.ompjit_host_memory
        )
        o.device_heap = unsigned("device_heap", device_heap or 0, 64)
        o.device_stack = unsigned("device_stack", device_stack or 0, 64)
        o.time_limit_ms = milliseconds("time_limit", time_limit)
        o.keep_signals = keep_signals
        o.compiler.clang = encoded(clang)
        o.compiler.assembler = choice(
            "assembler", assembler, abi.ompjit_assembler
        )
        o.compiler.time_limit_ms = milliseconds(
            "compile_time_limit", compile_time_limit
        )
        o.compiler.process = choice(
            "compiler", compiler, abi.ompjit_compiler_process
        )
        o.compiler.memory_limit = unsigned(
            "compile_memory_limit", compile_memory_limit or 0, 64
        )
        o.specialize.mode = choice(
            "specialize", specialize, abi.ompjit_specialize
        )
        o.specialize.launches_before_variant = unsigned(
            "launches_before_variant", launches_before_variant or 0
        )
        o.specialize.max_variants = unsigned("max_variants", max_variants or 0)
        o.specialize.tune = tune
        o.specialize.record = encoded(record)
        if isinstance(cache, bool):
            cache = "disk" if cache else "off"
        o.cache.mode = choice("cache", cache, abi.ompjit_cache_mode)
        o.cache.dir = encoded(cache_dir)
        o.cache.limit = unsigned("cache_limit", cache_limit or 0, 64)
        o.debug.check = check
        o.debug.profile = profile
        o.debug.explain = explain
        keep: tuple[Any, ...] = ()
        if log or on_report:
            from ._callback import check_callback, log_callback

            keep = log_callback(log), check_callback(on_report)
            o.log, o.debug.on_report = (
                callback and c_void_p.from_buffer(callback).value
                for callback in keep
            )
        self._handle = Handle(ending(library().context_destroy), keep=keep)
        call("context_create", byref(o), self._handle.place)

    def __repr__(self) -> str:
        options = ", ".join(f"{k}={v!r}" for k, v in self.options.items())
        return f"ompjit.Context({options})"

    if TYPE_CHECKING:

        def __enter__(self) -> Context: ...
        def __exit__(self, *error: object) -> None: ...

    def _settings(self) -> dict[Any, Any]:
        return {_current: self}

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices. GPUs are looked for when this is first asked for."""
        from ._device import Device

        return tuple(
            Device(self, number)
            for number in range(len(self._device_addresses()))
        )

    def device(self, number: int = 0) -> Device:
        """The device of that number."""
        from ._device import Device

        return Device(self, number)

    def _device_addresses(self) -> list[int]:
        if self._devices is None:
            ctx = self.address
            count = c_uint()
            call("context_device_count", ctx, byref(count))
            found = []
            for number in range(count.value):
                address = c_void_p()
                call("context_device", ctx, number, byref(address))
                found.append(address.value or 0)
            self._devices = found
        return self._devices

    @property
    def cache(self) -> Cache:
        """The cache of compiled code."""
        from ._cache import Cache

        return Cache(self)

    @property
    def profile(self) -> Profile:
        """What was done when, of a context with profile=True."""
        from ._profile import Profile

        return Profile(self)

    def times(self) -> list[dict[str, Any]]:
        """A row for each stage of the pipeline: "stage", "seconds", "count"."""
        times = abi.ompjit_times()
        call("context_times", self.address, byref(times))
        names = abi.values(abi.ompjit_stage)
        return [
            {
                "stage": name,
                "seconds": times.stage[i].ns * 1e-9,
                "count": times.stage[i].count,
            }
            for name, i in names.items()
        ]

    def cancel(self) -> None:
        """Ends what other threads compile; their calls raise Cancelled."""
        call("context_cancel", self.address)


_current: contextvars.ContextVar[Context | None] = contextvars.ContextVar(
    "ompjit context", default=None
)
_default: Context | None = None
_making = allocate_lock()


def context() -> Context:
    """The current context: that of the innermost `with`, else the default one,
    which is made by the first call that needs it."""
    return _current.get() or _default or _make_default()


def _make_default(**options: Any) -> Context:
    global _default
    with _making:
        if _default is None:
            _default = Context(**options)
        elif options:
            raise ArgumentError(
                "the default context is there already: call configure() "
                "earlier, or make an ompjit.Context of your own"
            )
        return _default


def configure(**options: Any) -> Context:
    """Makes the default context with options of Context other than the
    defaults, before anything has needed it; ArgumentError afterwards."""
    return _make_default(**options)


def text_of(address: int | None) -> str:
    """A text that the library has allocated; frees it."""
    try:
        return string_at(address or 0).decode("utf-8", "replace")
    finally:
        library().bytes_free(address)
