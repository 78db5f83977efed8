# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control and sight of a kernel: what is compiled, what it takes, what is
known of its arguments, tuning."""
from __future__ import annotations

from ctypes import byref, c_int, c_void_p

from . import TYPE_CHECKING, _abi as abi
from ._callback import guarded
from ._context import text_of
from ._errors import ArgumentError, unsigned, utf8
from ._handle import Shown
from ._interrupt import interruptible
from ._launch import launch_options
from ._lib import call, library

if TYPE_CHECKING:
    from typing import Any, Iterable, Sequence

    from ._array import ndarray
    from ._code import Code
    from ._context import Context
    from ._device import Device
    from ._launch import Geometry
else:
    from ._typing import (
        Any,
        Code,
        Context,
        Device,
        Geometry,
        Iterable,
        Sequence,
        ndarray,
    )


def _row(struct: Any, skip: Iterable[str] = ()) -> dict[str, int]:
    """A struct's numbers by name."""
    leave = {"size", "unused", *skip}
    return {
        field[0]: int(getattr(struct, field[0]))
        for field in struct._fields_
        if field[0] not in leave
    }


class Inspected(Shown):
    """What a kernel tells of itself. Kernel is one."""

    __slots__ = ()

    if TYPE_CHECKING:
        params: tuple[Any, ...]
        _code: Code

        @property
        def context(self) -> Context: ...

        def _device(self, given: Device | None) -> Device: ...
        def arguments(
            self,
            args: tuple[Any, ...],
            named: dict[str, Any],
            device: Device,
            partial: bool = False,
        ) -> tuple[Any, list[object]]: ...

    # -------------------------------------------------------- ahead of time

    def _launch(
        self,
        args: tuple[Any, ...],
        named: dict[str, Any],
        device: Device | None,
        partial: bool = False,
    ) -> tuple[Device, Any, Any, int]:
        known = ["teams", "threads", *(launch_options.__kwdefaults__ or ())]
        options: dict[str, Any] = {
            name: named.pop(name) for name in known if name in named
        }
        where = self._device(device)
        array, keep = self.arguments(args, named, where, partial)
        launch = launch_options(**options)
        launch._keep = keep
        return where, launch, array, len(args) + len(named)

    def prepare(
        self, *args: Any, device: Device | None = None, **named: Any
    ) -> None:
        """Has the code that such a launch would run compiled and loaded in the
        background. Takes what `launch` does; a failure shows at the launch."""
        where, launch, array, count = self._launch(args, named, device)
        call(
            "kernel_prepare",
            self.address,
            where.address,
            byref(launch),
            array,
            count,
        )

    def is_compiled(
        self, *args: Any, device: Device | None = None, **named: Any
    ) -> bool:
        """Whether the code that such a launch would run is ready. Takes what
        `launch` does."""
        where, launch, array, count = self._launch(args, named, device)
        ready = c_int()
        call(
            "kernel_ready",
            self.address,
            where.address,
            byref(launch),
            array,
            count,
            byref(ready),
        )
        return bool(ready.value)

    def cancel(self) -> None:
        """Gives up background compiles that have not begun."""
        library().kernel_cancel(self.address)

    def abort(self) -> None:
        """Ends launches that run now on the host device; they raise Aborted.
        NotAvailable for a GPU."""
        call("kernel_abort", self.address)

    def fold_contents(self, param: str) -> None:
        """Asks that what target regions map to this parameter, a small array,
        be compiled into the kernel where values are."""
        call("kernel_fold_contents", self.address, utf8("param", param))

    # ----------------------------------------------------------------- sight

    @property
    def ir(self) -> str:
        """The IR of its module, before the runtime is linked."""
        return self._code.ir

    def ptx(self, arch: str | None = None) -> str:
        """The PTX of its module for an architecture of GPUs."""
        return self._code.ptx(arch)

    def sass(self, arch: str | None = None) -> str:
        """The machine code of its module for an architecture of GPUs,
        disassembled. Needs an assembler and CUDA's nvdisasm."""
        return self._code.sass(arch)

    def explain(self) -> str:
        """What can be compiled in and what is, and what is tuned, as text."""
        data = c_void_p()
        call("kernel_explain", self.address, byref(data))
        return text_of(data.value)

    def variants(self) -> list[dict[str, Any]]:
        """A row for each loaded variant: "generic", "teams", "threads",
        "resident_teams", and "params", a dict of what is folded by name."""
        rows: list[dict[str, Any]] = []

        def add(data: int | None, pointer: Any) -> int:
            v = pointer.contents
            row = _row(v, ("device", "nparams", "params"))
            known = {}
            for i in range(v.nparams):
                facts = abi.values(abi.ompjit_fold)
                p = v.params[i]
                found = [n for n, bit in facts.items() if p.facts & bit and n != "all"]
                if found:
                    known[i] = {"facts": found, "value": p.value, "bytes": p.bytes}
            rows.append({**row, "generic": bool(v.generic), "params": known})
            return 0

        callback = guarded("ompjit_variant_fn", add, 1)
        call("kernel_variants", self.address, callback, None)
        return rows

    def last_launch(self, device: Device | None = None) -> dict[str, int]:
        """Geometry of the last launch: "teams", "threads", and what of it and
        of the arguments was compiled in."""
        info = abi.ompjit_launch_info()
        where = self._device(device)
        call("kernel_last_launch", self.address, where.address, byref(info))
        return _row(info)

    def parameters(self) -> list[dict[str, Any]]:
        """A row for each parameter in the kernel's own order: "foldable",
        "why" in words, "given_up", "storage", "launches", "changes"."""
        rows = []
        for i in range(len(self.params)):
            state = abi.ompjit_param_state()
            call("kernel_param_state", self.address, i, byref(state))
            rows.append(
                {
                    "foldable": abi.name_of(
                        abi.ompjit_foldable, state.foldable
                    ),
                    "why": state.why.decode(),
                    "given_up": bool(state.given_up),
                    "storage": state.storage,
                    "launches": state.launches,
                    "changes": state.changes,
                }
            )
        return rows

    def resources(self, arch: str = "sm_90") -> dict[str, int]:
        """What the generic kernel takes on a GPU's architecture: "registers",
        "shared_static" and "local" in bytes, "spill_stores", "spill_loads",
        "code", "instructions", ... Needs no GPU, but an assembler."""
        found = abi.ompjit_resources()
        self._resources(arch, found)
        return _row(found)

    def _resources(self, arch: str, found: abi.ompjit_resources) -> None:
        text = utf8("arch", arch)
        interruptible(
            lambda: call("kernel_resources", self.address, text, byref(found)),
            self.context,
        )

    def code(
        self,
        arch: str,
        *args: Any,
        teams: Geometry = None,
        threads: Geometry = None,
        fold: Iterable[str] | None = None,
        resident_teams: int = 0,
        **named: Any,
    ) -> dict[str, int]:
        """As resources(), of the kernel as a launch with these arguments would
        have it. Only what is given is folded. `arch` can be "host"."""
        where = self._device(None)
        array, keep = self.arguments(args, named, where, partial=True)
        launch = launch_options(
            teams, threads, fold=fold, resident_teams=resident_teams
        )
        found = abi.ompjit_resources()
        text, count = utf8("arch", arch), len(args) + len(named)
        given = byref(launch), array, count, byref(found)
        interruptible(
            lambda: call("kernel_code", self.address, text, *given),
            self.context,
        )
        del keep
        return _row(found)

    def occupancy(
        self,
        arch: str = "sm_90",
        threads: int = 128,
        dynamic_shared: int = 0,
    ) -> dict[str, Any]:
        """How much of a multiprocessor launches with so many threads a team
        fill: "teams" and "warps" at the same time, "most_warps" that there
        could be, "limits", the names of what keeps more away, and "occupancy",
        0 to 1. Needs no GPU, but an assembler."""
        use = abi.ompjit_resources()
        self._resources(arch, use)
        found = abi.ompjit_occupancy()
        call(
            "occupancy_get",
            utf8("arch", arch),
            byref(use),
            unsigned("threads", threads),
            unsigned("dynamic_shared", dynamic_shared),
            byref(found),
        )
        known = abi.values(abi.ompjit_limit)
        row: dict[str, Any] = _row(found)
        row["limits"] = [n for n, bit in known.items() if found.limits & bit]
        row["occupancy"] = found.warps / max(found.most_warps, 1)
        return row

    # ---------------------------------------------------------------- tuning

    def tune(
        self,
        *args: Any,
        tries: Sequence[tuple[int, int]] | None = None,
        saved: Sequence[ndarray] = (),
        repeats: int = 0,
        device: Device | None = None,
        **named: Any,
    ) -> dict[str, int]:
        """Runs the kernel many times, and remembers the fastest geometry for
        launches of the tripcount's size class.

        Args:
            args, named: as of `launch`.
            tries: pairs of teams and threads. Default: a set for the device.
            saved: the arrays that the kernel changes, which are put back.
            repeats: runs of each geometry (3).

        Returns "teams", "threads", "ns" of the fastest run, "default_ns",
        "tried" and "failed".
        """
        where, launch, array, count = self._launch(args, named, device)
        options = abi.ompjit_tune_options()
        regions = (abi.ompjit_region * max(len(saved), 1))()
        for region, a in zip(regions, saved):
            if not a.c_contiguous:
                raise ArgumentError("an array to save is not C-contiguous")
            region.device, region.size = a.address, a.nbytes
        options.saved, options.nsaved = regions, len(saved)
        given = [
            abi.ompjit_geometry(
                unsigned("teams", teams), unsigned("threads", threads)
            )
            for teams, threads in tries or ()
        ]
        geometries = (abi.ompjit_geometry * max(len(given), 1))(*given)
        if given:
            options.tries, options.ntries = geometries, len(given)
        options.repeats = unsigned("repeats", repeats)
        tuned = abi.ompjit_tuned()
        rest = byref(launch), array, count, byref(options), byref(tuned)
        interruptible(
            lambda: call("kernel_tune", self.address, where.address, *rest),
            self.context,
            self.address,
        )
        return _row(tuned)

    def tuned(
        self, tripcount: int = 0, device: Device | None = None
    ) -> dict[str, int]:
        """The geometry that is known for a tripcount; NotFound if none is."""
        found = abi.ompjit_tuned()
        where = self._device(device)
        call(
            "kernel_tuned",
            self.address,
            where.address,
            unsigned("tripcount", tripcount, 64),
            byref(found),
        )
        return _row(found)

    def _repr_html_(self) -> str:
        from ._html import preformatted

        return preformatted(self.explain())
